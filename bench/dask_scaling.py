"""Evaluation and volumes on a local cluster of one worker and of two, beside this process.

``python -m bench.dask_scaling FILE [N_DRAWS]`` reads a Parquet file of ``bench.billion_scores`` and
prints a line of CSV for each run: seconds, and whether the numbers are the same.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import distributed
import numba
import numpy as np
from dask.delayed import delayed
from pyarrow import parquet

import fastad
import fastad.dask
from fastad.streaming import ScoreSketch

_MEASURES = ["auc", "ap", "tpr@0.001"]
_BOX = fastad.Box([-1] * 5, [1] * 5)


@numba.njit(nogil=True)
def squared_radius(point: Any) -> float:
    """Score a point by its distance from the middle."""
    total = 0.0
    for x in point:
        total += x * x
    return total


def columns_of(path: Path) -> dict[str, Any]:
    """Return the columns of a file as Dask arrays, a chunk for each row group."""
    file = parquet.ParquetFile(path)
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    columns = {}
    for name, dtype in (("label", np.int8), ("score", np.float64)):
        chunks = [
            dask.array.from_delayed(delayed(_read)(path, i, name), (size,), dtype)
            for i, size in enumerate(groups)
        ]
        columns[name] = dask.array.concatenate(chunks)
    return columns


def _read(path: Path, group: int, name: str) -> Any:
    return parquet.ParquetFile(path).read_row_group(group, [name])[name].to_numpy()


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a second call, and what it returned."""
    run()
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def main(path: Path, n_draws: int) -> None:
    columns = columns_of(path)
    calls: dict[str, Callable[[], Any]] = {
        "evaluate": lambda: fastad.dask.evaluate(columns, measures=_MEASURES),
        "volume": lambda: fastad.dask.volume(squared_radius, 1.0, _BOX, n_draws=n_draws, rng=0),
    }
    found: dict[str, str] = {}
    print("what,workers,seconds,same_numbers")
    for n_workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster),
        ):
            for what, run in calls.items():
                seconds, result = timed(run)
                same = found.setdefault(what, str(result)) == str(result)
                print(f"{what},{n_workers},{seconds:.2f},{same}", flush=True)
    sketch = ScoreSketch()
    sketch.update(_read(path, 0, "label"), _read(path, 0, "score"))
    print(f"bytes of a sketch,,{len(sketch.to_bytes())},")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**9)
