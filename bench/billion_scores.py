"""Exact measures of a billion scores in Parquet, beside reading the file: one run, not a benchmark.

``python -m bench.billion_scores FOLDER [N_SCORES]`` writes the file where it is missing (12 bytes a
score), reads it, evaluates it with and without a second pass, each in a process of its own, from
the system's cache and from disk, and prints seconds and the memory of each process as a line of
CSV; ``code`` is the same evaluation of a few scores.
"""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bench.processor import describe, processor

_ROW_GROUP = 2**22
_FEW = 10_000
_MEASURES = ["auc", "ap", "tpr@0.0001"]


def write(path: Path, n_scores: int) -> None:
    """Write normal scores, anomalies shifted by two, one row in a hundred."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([("y", pa.int8()), ("score", pa.float64())])
    aside = path.with_suffix(".part")
    rng = np.random.default_rng(0)
    with parquet.ParquetWriter(aside, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n_scores, _ROW_GROUP):
            size = min(_ROW_GROUP, n_scores - start)
            labels = (rng.random(size) < 0.01).astype(np.int8)
            scores = rng.standard_normal(size) + 2.0 * labels
            writer.write_table(pa.table([labels, scores], schema=schema))
    aside.rename(path)


def forget(path: Path) -> None:
    """Let the system forget what it has read of a file."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read(path: Path) -> str:
    """Read both columns as batches and do nothing with them."""
    from fastad._tables.columns import Labels, Numbers
    from fastad._tables.table import Table

    batches = Table(path).batches({"y": Labels(), "score": Numbers()})
    n_rows = sum(batch.n_rows for batch in batches)
    return str(n_rows)


def evaluate(path: Path, *, exact: bool) -> str:
    """Evaluate the file."""
    from fastad import streaming

    result = streaming.evaluate(path, measures=_MEASURES, exact=exact, memory="200MB")
    return " | ".join(str(result["score"]).splitlines())


def main(folder: Path, n_scores: int) -> None:
    paths = {n: folder / f"scores-{n}.parquet" for n in (n_scores, _FEW)}
    for n, path in paths.items():
        if not path.exists():
            write(path, n)
    print(describe(processor()))
    print("what,seconds,peak_memory_mb,result")
    for what in ("code", "read", "read", "sketch", "exact", "read from disk", "exact from disk"):
        path = paths[_FEW if what == "code" else n_scores]
        if what.endswith("disk"):
            forget(path)
        task = "exact" if what == "code" else what.split()[0]
        command = [sys.executable, "-m", "bench.billion_scores", "--run", task, str(path)]
        start = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - start
        memory, _, result = done.stdout.strip().partition(" ")
        print(f"{what},{seconds:.1f},{memory},{result}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        what, path = sys.argv[2], Path(sys.argv[3])
        result = read(path) if what == "read" else evaluate(path, exact=what == "exact")
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, result)
    else:
        main(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**9)
