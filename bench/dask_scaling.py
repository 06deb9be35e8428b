"""Evaluation and volumes in this process, and on a local cluster of one worker and of two.

``python -m bench.dask_scaling FILE [N_DRAWS]`` reads a Parquet file of ``bench.billion_scores`` and
prints a line of CSV for each run: seconds, megabytes that went between all processes, the largest
memory of a worker in megabytes, and whether the numbers are the same; and the milliseconds that a
partition takes beside the engine's own.
"""

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array
import distributed
import numpy as np
import psutil
from dask.dataframe import read_parquet
from dask.delayed import delayed

import fastad
from bench.processor import describe, processor
from fastad import streaming
from tests.support.volumes import square_of_point

_MEASURES = ["auc", "ap", "tpr@0.001"]
_BOX = fastad.Box([-1] * 5, [1] * 5)


def sent() -> float:
    """Return the megabytes that have gone through the loopback interface."""
    return float(psutil.net_io_counters(pernic=True)["lo"].bytes_sent) / 1e6


def memory(client: distributed.Client) -> int:
    """Return the largest memory that a worker has had, in megabytes."""
    return int(max(client.run(peak_memory).values()))


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def milliseconds_a_task(n_tasks: int = 1000) -> float:
    """Return what a partition of a few scores takes, less what an empty task takes."""
    few = np.arange(10.0 * n_tasks)
    columns = {
        "y": dask.array.from_array(few % 10 == 0, chunks=10),
        "score": dask.array.from_array(few, chunks=10),
    }
    tasks = [delayed(int)(i) for i in range(n_tasks)]
    runs: list[Callable[[], Any]] = [
        lambda: distributed.get_client().gather(distributed.get_client().compute(tasks)),
        lambda: fastad.dask.evaluate(columns, measures="auc"),
    ]
    seconds = []
    for run in runs:
        run()
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return 1000 * (seconds[1] - seconds[0]) / n_tasks


def main(path: Path, n_draws: int) -> None:
    # A row group is a partition, both of whose columns are read by one task.
    frame = read_parquet(path, columns=["y", "score"], split_row_groups=True)
    options: dict[str, Any] = {"n_draws": n_draws, "rng": 0}

    def scores_there(frame: Any) -> Any:
        return fastad.dask.evaluate(frame, measures=_MEASURES)["score"]

    def draws_there(**options: Any) -> Any:
        return fastad.dask.volume(square_of_point, 1.0, _BOX, **options)

    results: dict[str, str] = {}
    client: Any = None

    def report(what: str, n_workers: int, run: Callable[[], Any]) -> None:
        before = sent()
        start = time.perf_counter()
        result = str(run())
        seconds = time.perf_counter() - start
        moved = f"{sent() - before:.1f}"
        most = memory(client) if client else peak_memory()
        same = results.setdefault(what, result) == result
        print(f"{what},{n_workers},{seconds:.2f},{moved},{most},{same}", flush=True)

    print(describe(processor()))
    print("what,workers,seconds,sent_mb,peak_memory_mb,same_numbers")
    report("scores", 0, lambda: streaming.evaluate(path, measures=_MEASURES)["score"])
    report(
        "draws",
        0,
        lambda: fastad.volume(square_of_point, 1.0, _BOX, method="uniform", n_threads=1, **options),
    )
    for n_workers in (1, 2):
        with (
            distributed.LocalCluster(
                n_workers=n_workers, threads_per_worker=1, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as connected,
        ):
            client = connected
            # So many that both workers compile, or load, what they need.
            scores_there(frame.partitions[: 8 * n_workers])
            draws_there(n_draws=2**22, rng=0)
            report("scores", n_workers, lambda: scores_there(frame))
            report("draws", n_workers, lambda: draws_there(**options))
            if n_workers == 2:
                print(f"ms a task,2,{milliseconds_a_task():.2f},,,")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**9)
