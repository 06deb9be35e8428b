"""``run_study``: all batches of a study, on the processes or the cluster that joblib has."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from time import perf_counter
from typing import NamedTuple, TypeAlias

from fastad._core.threads import available_threads, thread_limit
from fastad.errors import MissingExtraError
from fastad.study.config import StudyConfig
from fastad.study.extensions import Batch, BatchResult
from fastad.study.plan import make_manifest, plan_batches
from fastad.study.problems import find_problems
from fastad.study.results import StudyTables, read_study
from fastad.study.store import StudyStore
from fastad.unsupervised.subspaces import check_jobs

# A guess of the speed weighs as much as so many seconds of work.
_GUESS = 20.0
# The files of single batches are merged after so many.
_MERGE_EVERY = 500
# The warning of loky when a worker has grown by 300 MB since its first batch and is started anew.
# Data, and code that is compiled on first use, can do that; no batch is lost.
_RESTARTED = "A worker stopped while some jobs were given to the executor"


class Progress(NamedTuple):
    """How far a study is.

    Attributes
    ----------
    done, total : int
        Batches that are done, and all.
    n_failed : int
        Tasks that have failed since the start.
    seconds_left : float
        As estimated from the sizes of the batches, and the times of those that are done.
    """

    done: int
    total: int
    n_failed: int
    seconds_left: float


ProgressCall: TypeAlias = Callable[[Progress], object]
_Results: TypeAlias = Generator[tuple[str, BatchResult], None, None]


def run_study(
    config: StudyConfig,
    output: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: ProgressCall | None = None,
) -> StudyTables:
    """Run a study, or go on with one.

    Parameters
    ----------
    config : StudyConfig
        What to run; `read_config` reads it from a file.
    output : path
        Folder of the results: a new one, or that of the same study, which is resumed.
    n_jobs : int, optional
        Processes, as joblib takes them: None is one, unless `joblib.parallel_config` says
        otherwise, such as a Dask cluster; -1 is one for each processor.
    progress : callable, optional
        Called with a `Progress` at the start, and whenever a batch is done.

    Returns
    -------
    StudyTables
        All results, which are in the folder too.

    Raises
    ------
    InvalidInputError
        If an argument or a data set is not as described, the folder contains another study, or
        another runner is at work there; before any work.
    MissingExtraError
        If a library of the extra ``study`` is not installed.

    Warns
    -----
    UserWarning
        If what is resumed was begun with other versions of libraries, or files were damaged.

    Notes
    -----
    Every batch that is done is saved at once, so that a run may be stopped in any way. The same
    seed gives the same tables on any number of processes, but for the times.

    Examples
    --------
    >>> import tempfile
    >>> from fastad.study import make_config, run_study
    >>> config = make_config({
    ...     "data": {"bundled": True, "include": ["*/iris"]},
    ...     "protocol": {"repeats": 2, "contaminations": [0]},
    ...     "volumes": {"n_draws": 1000},
    ...     "detectors": [{"kind": "knn", "k": [1, 5]}, {"kind": "lof", "n_neighbors": [10]}],
    ... })
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = run_study(config, folder)
    >>> study.tasks.num_rows
    12
    """
    try:
        from joblib import Parallel, delayed
    except ModuleNotFoundError:
        raise MissingExtraError("run_study needs joblib: pip install 'fastad[study]'") from None
    check_jobs(n_jobs)
    available_threads()  # which refuses a variable that is wrong, else every task would fail
    selected = find_problems(config.data, folder=config.folder, seed=config.seed)
    batches = plan_batches(config, selected.problems)
    with StudyStore.open(output, make_manifest(config, selected, batches)) as store:
        for note in store.notes:
            warnings.warn(note, stacklevel=2)
        done = store.done()
        waiting = [batch for batch in batches if batch.name not in done]
        clock = _Clock(batches, waiting, n_jobs, progress)
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        results = parallel(delayed(_run)(batch, os.getpid()) for batch in waiting)
        _save(store, results, clock)
        store.finish()
    return read_study(output)


def _run(batch: Batch, runner: int) -> tuple[str, BatchResult]:
    """Run a batch on one thread, in the process of the runner or one of its workers."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    if os.getpid() != runner and threading.current_thread() is threading.main_thread():
        # A terminal's Ctrl-C reaches workers too: the runner is told, and ends them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Within a task of Dask, joblib in a detector would make tasks of Dask.
    with thread_limit(1), threadpool_limits(1), parallel_config("sequential"):
        return batch.name, batch.run()


def _save(store: StudyStore, results: _Results, clock: "_Clock") -> None:
    """Save each result when it is there."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _RESTARTED, UserWarning)
        try:
            for number, (name, result) in enumerate(results, 1):
                store.save(name, result.rows)
                if number % _MERGE_EVERY == 0:
                    store.compact()
                clock.tick(name, result)
        finally:
            warnings.simplefilter("ignore")  # of lost tasks: the run is being stopped
            results.close()


class _Clock:
    """Counts what is done, and estimates the time that is left."""

    def __init__(
        self,
        batches: Sequence[Batch],
        waiting: Sequence[Batch],
        n_jobs: int | None,
        progress: ProgressCall | None,
    ) -> None:
        self._progress = progress
        if progress is None:
            return
        from joblib import effective_n_jobs

        self._seconds = {batch.name: batch.estimated_seconds() for batch in waiting}
        self._left = sum(self._seconds.values())
        self._total, self._done, self._n_failed = len(batches), len(batches) - len(waiting), 0
        # Before the first batch is done, a guess; each that is done counts against it.
        self._speed = effective_n_jobs(n_jobs)
        self._began, self._worked = perf_counter(), 0.0
        self._report()

    def tick(self, name: str, result: BatchResult) -> None:
        """Count a batch that is done."""
        if self._progress is None:
            return
        seconds = self._seconds[name]
        self._done += 1
        self._n_failed += result.n_failed
        self._left -= seconds
        self._worked += seconds
        self._report()

    def _report(self) -> None:
        assert self._progress is not None
        elapsed = perf_counter() - self._began
        # The guess weighs as much as some seconds of work.
        speed = (self._worked + _GUESS * self._speed) / (elapsed + _GUESS)
        left = max(self._left, 0.0) / speed
        self._progress(Progress(self._done, self._total, self._n_failed, left))
