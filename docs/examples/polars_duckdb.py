"""Measures from a query that counts: a database sends each score once, with how often it came.

    python docs/examples/polars_duckdb.py

needs what ``pip install . polars duckdb`` installs. It pays where scores repeat, as
those of trees and rounded ones do; others are better counted by `fastad.streaming.evaluate`.
"""

import tempfile
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import fastad

QUERY = "SELECT label, score, count(*) AS n FROM read_parquet(?) GROUP BY label, score"


def by_duckdb(files: str) -> dict[str, np.ndarray]:
    """Count in DuckDB, which may need more memory than there is, and then uses its disk."""
    return duckdb.execute(QUERY, [files]).fetchnumpy()


def by_polars(files: str) -> dict[str, np.ndarray]:
    """Count in Polars, batch by batch."""
    query = pl.scan_parquet(files).group_by("label", "score").agg(pl.len().alias("n"))
    return {column.name: column.to_numpy() for column in query.collect(engine="streaming")}


def main() -> None:
    """Write made-up scores, count them by both, and compare with all of them in memory."""
    rng = np.random.default_rng(0)
    labels = rng.random(1_000_000) < 0.02
    scores = (rng.standard_normal(labels.size) + 2 * labels).round(2)
    exact = fastad.evaluate(labels, scores, measures=["auc", "ap"])["score"]
    with tempfile.TemporaryDirectory() as folder:
        pl.DataFrame({"label": labels, "score": scores}).write_parquet(Path(folder, "0.parquet"))
        for count in (by_duckdb, by_polars):
            rows = count(f"{folder}/*.parquet")
            counted = fastad.evaluate(
                rows["label"], rows["score"], measures=["auc", "ap"], sample_weight=rows["n"]
            )["score"]
            same = dict(counted.items()) == dict(exact.items())
            print(f"{count.__name__}: {len(rows['n'])} rows, same: {same}")


if __name__ == "__main__":
    main()
