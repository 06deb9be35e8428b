"""``run_study``: all batches of a study, here, on processes, or on the cluster that joblib has."""

import contextlib
import math
import os
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeAlias

from fastad._core.extras import import_extra
from fastad._core.parameters import check_flag, check_positive
from fastad._core.threads import available_threads
from fastad._core.user_warnings import warn_user
from fastad.errors import InvalidInputError
from fastad.study.config import StudyConfig
from fastad.study.configurations import Configuration
from fastad.study.digests import own_code
from fastad.study.execution import Executor, check_timeout, runs_here
from fastad.study.extensions import Batch, BatchResult
from fastad.study.manifest import Manifest, read_manifest
from fastad.study.plan import make_manifest, plan_batches, try_detectors
from fastad.study.problems import find_problems
from fastad.study.results import StudyTables, read_study
from fastad.study.store import WorkNote, open_store
from fastad.unsupervised.subspaces import check_jobs

# Weight of the first guess of the speed, in seconds of work.
_GUESS = 20.0
# Runs of damaged batches, at most: not for ever on a bad disk.
_ATTEMPTS = 3
# Seconds between two calls of progress without a result, and between two notes of the work in
# progress.
_PROGRESS_S, _NOTE_S = 10.0, 0.5
# Seconds that a detector may take on a few rows at least.
_TRIAL_S = 60.0


class Progress(NamedTuple):
    """State of a study that runs.

    Attributes
    ----------
    done, total : int
        Batches that are done, and all.
    n_failed : int
        Tasks that have failed since the start.
    seconds_left : float
        Estimate from the sizes of the batches, and the times of finished ones.
    at_work : tuple of (str, float)
        Titles of the work in progress, and its seconds so far.
    """

    done: int
    total: int
    n_failed: int
    seconds_left: float
    at_work: tuple[tuple[str, float], ...] = ()


ProgressCall: TypeAlias = Callable[[Progress], object]


def run_study(
    config: StudyConfig,
    output: str | os.PathLike[str],
    *,
    n_jobs: int | None = None,
    progress: ProgressCall | None = None,
    timeout: float | None = None,
    retry_failed: bool = False,
) -> StudyTables:
    """Run a study, or go on with one.

    Parameters
    ----------
    config : StudyConfig
        Configuration to run; `read_config` reads it from a file.
    output : path
        Folder of the results: a new one, or the study's own, which is resumed. Tasks in common
        with a study of other detectors, data, repeats or contaminations are not run again.
    n_jobs : int, optional
        Worker processes, -1 is one for each processor. None runs everything in this process,
        unless `joblib.parallel_config` says otherwise, such as a Dask cluster.
    progress : callable, optional
        Called with a `Progress` at the start, whenever a batch is done, and every 10 seconds
        while workers are at work.
    timeout : float, optional
        Seconds that a task, a detector on a split, may take; if it takes longer, its process is
        ended, and it has failed. A data set in goix's protocol may take as long for each fit of
        each detector. Needs worker processes of this machine: workers of Dask and other backends
        of joblib cannot be ended one by one.
    retry_failed : bool, default False
        Whether tasks that failed in an earlier run are run again.

    Returns
    -------
    StudyTables
        All results, which are in the folder too.

    Raises
    ------
    InvalidInputError
        If an argument or a data set is invalid, a detector fails on a few rows and on all rows
        of a split, the folder contains a study of another seed, protocol, volumes or measures, or
        another runner is at work there; before any work.
    MissingExtraError
        If a library of the extra ``study`` is not installed.

    Warns
    -----
    UserWarning
        If the study was begun with other versions of libraries, if data or code of a detector
        changed, so that dependent tasks are run anew, or if files were damaged.

    Notes
    -----
    Every batch that is done is saved at once, so that a run may be stopped in any way. The same
    seed gives the same tables on any number of processes, but for the times.

    A detector that ends its process fails with that reason on worker processes, and the rest goes
    on. In this process it ends the study: `study_status` then names the work in progress.

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
    import_extra("joblib", "run_study", extra="study")
    check_jobs(n_jobs)
    check_flag(retry_failed, "retry_failed")
    if timeout is not None:
        timeout = float(check_positive(timeout, "timeout"))
        check_timeout(n_jobs)
    available_threads()  # which refuses a variable that is wrong, else every task would fail
    selected = find_problems(config.data, folder=config.folder, seed=config.seed)
    batches = plan_batches(config, selected.problems)
    new = _untried(config.detectors, read_manifest(Path(output)))
    # Time to load libraries at their first use is no reason to refuse a detector.
    patience_s = None if timeout is None else max(timeout, _TRIAL_S)
    with Executor(n_jobs) as executor:
        trial = partial(executor.run, timeout=patience_s, at_work=lambda _: None)
        try_detectors(config, selected.problems, new, trial)
        with open_store(output, make_manifest(config, selected, batches)) as store:
            if retry_failed:
                store.forget_failed()
            for note in store.notes:
                warn_user(note, UserWarning)
            n_notes = len(store.notes)
            for attempt in range(1, _ATTEMPTS + 1):
                waiting = _waiting(batches, store.done)
                if waiting:
                    store.remove_results()
                monitor = _Monitor(batches, waiting, n_jobs, progress, store.note_work)
                results = executor.run(waiting, timeout=timeout, at_work=monitor.note)
                with contextlib.closing(results):
                    for batch, result in results:
                        store.save(batch.tasks, result.rows)
                        monitor.tick(batch, result)
                try:
                    store.finish()
                    break
                except InvalidInputError:  # results were damaged meanwhile
                    if attempt == _ATTEMPTS:
                        raise
            for note in store.notes[n_notes:]:
                warn_user(note, UserWarning)
    return read_study(output)


def _untried(detectors: Sequence[Configuration], before: Manifest | None) -> list[Configuration]:
    """Return the detectors that a study does not have, or with other code."""
    if before is None:
        return list(detectors)
    tried, code = set(before.config.get("detectors", ())), before.code.items()
    return [
        detector
        for detector in detectors
        if repr(detector) not in tried or not own_code(detector.code()).items() <= code
    ]


def _waiting(batches: Sequence[Batch], done: Collection[str]) -> list[Batch]:
    """Return the batches of the tasks that are not done."""
    waiting = []
    for batch in batches:
        missing = [task for task in batch.tasks if task not in done]
        if missing:
            waiting.append(batch.only(missing))
    return waiting


class _Monitor:
    """Notes the work in progress in the folder, counts what is done, and estimates what is left."""

    def __init__(
        self,
        batches: Sequence[Batch],
        waiting: Sequence[Batch],
        n_jobs: int | None,
        progress: ProgressCall | None,
        note_work: WorkNote,
    ) -> None:
        from joblib import effective_n_jobs

        self._progress, self._note_work = progress, note_work
        self._patience_s = 0.0 if runs_here(n_jobs) else _NOTE_S
        # Start of each batch at work by its title: to be read, and in seconds.
        self._at_work: dict[str, tuple[str, float]] = {}
        self._noted: set[str] = set()
        self._when = -math.inf
        self._left = sum(batch.estimated_seconds() for batch in waiting) if progress else 0.0
        self._total, self._done, self._n_failed = len(batches), len(batches) - len(waiting), 0
        # Before the first batch is done, a guess; each that is done counts against it.
        self._speed = effective_n_jobs(n_jobs)
        self._began, self._worked = perf_counter(), 0.0
        self._report()

    def note(self, batches: Sequence[Batch]) -> None:
        """Note the batches at work, and report them if nothing was reported for a while."""
        now = perf_counter()
        since = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._at_work = {
            batch.title: self._at_work.get(batch.title, (since, now)) for batch in batches
        }
        if self._at_work.keys() != self._noted and now - self._when >= self._patience_s:
            self._note_work({title: start for title, (start, _) in self._at_work.items()})
            self._noted, self._when = set(self._at_work), now
        if now - self._reported >= _PROGRESS_S:
            self._report()

    def tick(self, batch: Batch, result: BatchResult) -> None:
        """Count a batch that is done."""
        if self._progress is None:
            return
        seconds = batch.estimated_seconds()
        self._done += 1
        self._n_failed += result.n_failed
        self._left -= seconds
        self._worked += seconds
        self._report()

    def _report(self) -> None:
        self._reported = perf_counter()
        if self._progress is None:
            return
        elapsed = self._reported - self._began
        # The guess weighs as much as some seconds of work.
        speed = (self._worked + _GUESS * self._speed) / (elapsed + _GUESS)
        left = max(self._left, 0.0) / speed
        at_work = tuple(
            (title, self._reported - began) for title, (_, began) in self._at_work.items()
        )
        self._progress(Progress(self._done, self._total, self._n_failed, left, at_work))
