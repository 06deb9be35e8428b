"""``run_study``: all batches of a study, on the processes or the cluster that joblib has."""

import os
import platform
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import NamedTuple, TypeAlias

from fastad._core.threads import available_threads
from fastad.errors import MissingExtraError
from fastad.study.batches import AnyBatch, Batch, plan_batches
from fastad.study.config import StudyConfig
from fastad.study.cost import seconds_of
from fastad.study.manifest import Manifest
from fastad.study.problems import FoundProblems, find_problems
from fastad.study.saved import read_study
from fastad.study.store import StudyStore
from fastad.study.tables import StudyTables
from fastad.study.tasks import Found, Settings, run_batch
from fastad.unsupervised.subspaces import check_jobs

# Whose versions are noted.
_LIBRARIES = ("fastad", "numpy", "scipy", "numba", "scikit-learn", "pyod")
# A guess of the speed weighs as much as so many seconds of work.
_GUESS = 20.0
# Parts of a study are put together after so many.
_PARTS = 500
# What loky says when a worker has grown by 300 MB since its first batch and is started anew. Data,
# and code that is compiled on first use, can do that; no batch is lost.
_ANEW = "A worker stopped while some jobs were given to the executor"


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
_Results: TypeAlias = Generator[tuple[AnyBatch, Found], None, None]


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
        If an argument or a data set is not as described, the folder holds another study, or
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
    found = find_problems(config.data, folder=config.folder, seed=config.seed)
    batches = plan_batches(config, found.problems)
    settings = Settings.of(config)
    with StudyStore.open(output, _manifest(config, found, batches)) as store:
        for remark in store.remarks:
            warnings.warn(remark, stacklevel=2)
        done = store.done()
        waiting = [batch for batch in batches if batch.name not in done]
        clock = _Clock(batches, waiting, settings, n_jobs, progress)
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
        results = parallel(delayed(_run)(batch, settings, os.getpid()) for batch in waiting)
        _keep(store, results, clock)
        store.finish()
    return read_study(output)


def _run(batch: AnyBatch, settings: Settings, runner: int) -> tuple[AnyBatch, Found]:
    """Run a batch, in the process of the runner or one of its workers."""
    if os.getpid() != runner and threading.current_thread() is threading.main_thread():
        # A terminal's Ctrl-C reaches workers too: the runner is told, and ends them.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return batch, run_batch(batch, settings)


def _keep(store: StudyStore, results: _Results, clock: "_Clock") -> None:
    """Save results as they come."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _ANEW, UserWarning)
        try:
            for number, (batch, found) in enumerate(results, 1):
                if isinstance(batch, Batch):
                    store.save(batch.name, found.rows, curves=found.curves or None)
                else:
                    store.save_goix(batch.name, found.rows)
                if number % _PARTS == 0:
                    store.compact()
                clock.tick(batch, found)
        finally:
            warnings.simplefilter("ignore")  # that tasks are lost, which whoever stops them knows
            results.close()


class _Clock:
    """Counts what is done, and estimates the time that is left."""

    def __init__(
        self,
        batches: Sequence[AnyBatch],
        waiting: Sequence[AnyBatch],
        settings: Settings,
        n_jobs: int | None,
        progress: ProgressCall | None,
    ) -> None:
        self._progress = progress
        if progress is None:
            return
        from joblib import effective_n_jobs

        self._seconds = {batch.name: seconds_of(batch, settings) for batch in waiting}
        self._left = sum(self._seconds.values())
        self._total, self._done, self._n_failed = len(batches), len(batches) - len(waiting), 0
        # Before the first batch is done, a guess; each that is done counts against it.
        self._speed = effective_n_jobs(n_jobs)
        self._began, self._worked = perf_counter(), 0.0
        self._say()

    def tick(self, batch: AnyBatch, found: Found) -> None:
        """Count a batch that is done."""
        if self._progress is None:
            return
        seconds = self._seconds[batch.name]
        self._done += 1
        self._n_failed += found.n_failed
        self._left -= seconds
        self._worked += seconds
        self._say()

    def _say(self) -> None:
        assert self._progress is not None
        elapsed = perf_counter() - self._began
        # The guess weighs as much as some seconds of work.
        speed = (self._worked + _GUESS * self._speed) / (elapsed + _GUESS)
        left = max(self._left, 0.0) / speed
        self._progress(Progress(self._done, self._total, self._n_failed, left))


def _manifest(config: StudyConfig, found: FoundProblems, batches: Sequence[AnyBatch]) -> Manifest:
    described = [
        {
            "name": one.name,
            "collection": one.collection,
            "dataset": one.dataset,
            "anomaly_class": one.anomaly_class,
            "n_normals": one.n_normals,
            "n_anomalies": one.n_anomalies,
            "n_features": one.n_features,
            "digest": one.digest,
        }
        for one in found.problems
    ]
    return Manifest(
        config=config.plain(),
        problems=described,
        batches=[batch.name for batch in batches],
        versions=_versions(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        remarks=found.remarks,
    )


def _versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    found = {"python": platform.python_version()}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
