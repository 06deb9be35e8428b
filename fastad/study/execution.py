"""Execution of batches: in this process, on worker processes, or on joblib's configured backend."""

import os
import signal
import threading
import warnings
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from fastad._core.threads import thread_limit
from fastad.errors import InvalidInputError
from fastad.study.extensions import Batch, BatchResult
from fastad.study.workers import WorkCall, run_on_workers

Results: TypeAlias = Generator[tuple[Batch, BatchResult], None, None]

# The warning of loky when a worker has grown by 300 MB since its first batch and is started anew.
# Data, and code that is compiled on first use, can do that; no batch is lost.
_RESTARTED = "A worker stopped while some jobs were given to the executor"


def runs_here(n_jobs: int | None) -> bool:
    """Tell whether batches run in this process, one after the other."""
    backend, configured = _backend()
    return n_jobs is None and _is_local(backend) and configured in (None, 1)


def check_timeout(n_jobs: int | None) -> None:
    """Check that batches run where they can be ended.

    Raises
    ------
    InvalidInputError
        If they would run in this process, or on another backend of joblib.
    """
    backend = _backend()[0]
    if runs_here(n_jobs):
        raise InvalidInputError(
            "n_jobs must be given with timeout, which needs worker processes, such as n_jobs=1; "
            "found None",
            argument="n_jobs",
        )
    if not _is_local(backend):
        raise InvalidInputError(
            "timeout must be None on a backend of joblib whose processes cannot be ended one by "
            f"one; found {type(backend).__name__}",
            argument="timeout",
        )


def run_batches(
    batches: Sequence[Batch], *, n_jobs: int | None, timeout: float | None, at_work: WorkCall
) -> Results:
    """Run batches, and give each with its result when that is there.

    Parameters
    ----------
    batches : sequence of Batch
        Batches to run.
    n_jobs : int or None
        Worker processes, as for `run_study`.
    timeout : float or None
        Seconds that a task may take; on worker processes only.
    at_work : callable
        Called with the batches at work, where that is known.
    """
    from joblib import effective_n_jobs

    if runs_here(n_jobs):
        yield from _here(batches, at_work)
    elif _is_local(_backend()[0]):
        n_workers = effective_n_jobs(n_jobs)
        yield from run_on_workers(
            batches, run_alone, n_workers=n_workers, timeout=timeout, at_work=at_work
        )
    else:
        yield from _by_joblib(batches, n_jobs)


def run_alone(batch: Batch) -> BatchResult:
    """Run a batch on one thread."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    # Within a task of Dask, joblib in a detector would make tasks of Dask.
    with thread_limit(1), threadpool_limits(1), parallel_config("sequential"):
        return batch.run()


def _here(batches: Sequence[Batch], at_work: WorkCall) -> Results:
    for batch in batches:
        at_work([batch])
        yield batch, run_alone(batch)


def _by_joblib(batches: Sequence[Batch], n_jobs: int | None) -> Results:
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    results = parallel(delayed(_numbered)(i, batch, os.getpid()) for i, batch in enumerate(batches))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _RESTARTED, UserWarning)
        try:
            for i, result in results:
                yield batches[i], result
        finally:
            warnings.simplefilter("ignore")  # of lost tasks: the run is being stopped
            results.close()


def _numbered(i: int, batch: Batch, runner: int) -> tuple[int, BatchResult]:
    if os.getpid() != runner and threading.current_thread() is threading.main_thread():
        # A terminal's Ctrl-C reaches workers too: the runner is told, and ends them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return i, run_alone(batch)


def _backend() -> tuple[Any, int | None]:
    """Return joblib's configured backend, and the number of jobs."""
    from joblib.parallel import get_active_backend

    backend, n_jobs = get_active_backend()
    return backend, n_jobs


def _is_local(backend: Any) -> bool:
    """Tell whether joblib would use its own processes, which it does by default."""
    from joblib._parallel_backends import LokyBackend

    return isinstance(backend, LokyBackend)
