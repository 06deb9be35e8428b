"""Measures of a stream of Spark, updated after every micro-batch.

    python docs/examples/spark_streaming.py

needs Java and what ``pip install . -r docs/examples/requirements-spark.txt`` installs.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from spark import MEMORY, count

import fastad
from fastad.streaming import ScoreSketch


class Counted:
    """A sketch and the number of the last micro-batch in it, in one file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.sketch, self.last = ScoreSketch(MEMORY), -1
        if file.exists():
            head, _, content = file.read_bytes().partition(b"\n")
            self.sketch, self.last = ScoreSketch.from_bytes(content), json.loads(head)

    def add(self, frame: DataFrame, batch_id: int) -> None:
        """Count a micro-batch; Spark may send the last one again after a failure."""
        if batch_id <= self.last:
            return
        # One sketch a partition, merged in the driver.
        for row in frame.select("label", "score").mapInArrow(count, "sketch binary").collect():
            self.sketch.merge(ScoreSketch.from_bytes(bytes(row.sketch)))
        self.last = batch_id
        aside = self._file.with_suffix(".new")
        aside.write_bytes(json.dumps(self.last).encode() + b"\n" + self.sketch.to_bytes())
        aside.replace(self._file)
        print(f"batch {batch_id}: AUC {self.sketch.roc_auc()}")


def run(spark: SparkSession, source: Path, state: Path) -> ScoreSketch:
    """Count all files that have come since the last run."""
    counted = Counted(state / "counted")
    stream = (
        spark.readStream.schema("label int, score double")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(source))
    )
    query = (
        stream.writeStream.foreachBatch(counted.add)
        .option("checkpointLocation", str(state / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return counted.sketch


def main() -> None:
    """Write made-up files, count them in two runs, and compare."""
    spark = SparkSession.builder.master("local[2]").appName("fastad").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # `count` is called by other processes.
    spark.sparkContext.addPyFile(str(Path(__file__).with_name("spark.py")))
    rng = np.random.default_rng(0)
    labels = (rng.random(40_000) < 0.02).astype(np.int32)
    scores = rng.standard_normal(40_000) + 2 * labels
    with tempfile.TemporaryDirectory() as folder:
        source, state = Path(folder, "scores"), Path(folder, "state")
        source.mkdir()
        state.mkdir()
        for part, rows in enumerate(np.split(np.arange(40_000), 4)):
            table = pa.table({"label": labels[rows], "score": scores[rows]})
            parquet.write_table(table, source / f"{part}.parquet")
            if part in (1, 3):
                sketch = run(spark, source, state)
    exact = fastad.roc_auc(labels, scores)
    print("same:", sketch.roc_auc().value == exact)
    spark.stop()


if __name__ == "__main__":
    main()
