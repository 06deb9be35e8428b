"""Measures of scores in a Spark data frame: sketches of partitions, merged in the driver.

    python docs/examples/spark.py

needs Java and what ``pip install . -r docs/examples/requirements-spark.txt`` installs. Spark sends
batches of Arrow to each partition's task, and one row of bytes comes back.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, functions

import fastad
from fastad.streaming import BoundedEvaluation, ScoreSketch

MEMORY = "8MB"


def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Map: one sketch for all batches of a partition."""
    sketch = ScoreSketch(MEMORY)
    for batch in batches:
        sketch.update(
            batch.column("label").to_numpy(zero_copy_only=False), batch.column("score").to_numpy()
        )
    yield pa.RecordBatch.from_pydict({"sketch": pa.array([sketch.to_bytes()], pa.binary())})


def evaluate(frame: DataFrame, measures: list[str]) -> BoundedEvaluation:
    """Map, merge and finish."""
    parts = frame.select("label", "score").mapInArrow(count, "sketch binary")
    whole = ScoreSketch(MEMORY)
    for row in parts.toLocalIterator():
        whole.merge(ScoreSketch.from_bytes(bytes(row.sketch)))
    return whole.evaluate(measures)


def main() -> None:
    """Evaluate made-up scores, and compare with all of them in memory."""
    spark = SparkSession.builder.master("local[2]").appName("fastad").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = (
        spark.range(1_000_000, numPartitions=6)
        .withColumn("label", (functions.rand(seed=1) < 0.02).cast("int"))
        .withColumn("score", functions.randn(seed=2) + 2 * functions.col("label"))
        .cache()
    )
    result = evaluate(frame, ["auc", "tpr@0.001"])
    print(result)
    rows = frame.select("label", "score").toPandas()
    exact = fastad.roc_auc(rows.label.to_numpy(), rows.score.to_numpy())
    within = result["auc"].low <= exact <= result["auc"].high
    print(f"exact AUC {exact:.6f}, within the bounds: {within}")
    spark.stop()


if __name__ == "__main__":
    main()
