"""Execution of batches: in this process, on worker processes, or on joblib's configured backend.

On worker processes a batch that ends its process, or takes too long, stops no other. Neither joblib
nor `concurrent.futures` says which task broke a pool, and both give up all others; pebble does, but
its workers load tasks one after the other under one lock, where no limit holds: a batch that loads
slowly stops all others, and one that ends its process while it is loaded breaks the pool. So each
worker has a pipe of its own, and is given one batch at a time.
"""

import contextlib
import os
import pickle
import random
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from time import monotonic
from typing import Any, TypeAlias

import numpy as np

from fastad._core.parameters import refused
from fastad._core.threads import thread_limit
from fastad.study.extensions import Batch, BatchResult
from fastad.study.fitting import reason_of

Results: TypeAlias = Generator[tuple[Batch, BatchResult], None, None]

# The warning of loky when a worker has grown by 300 MB since its first batch and is started anew.
# Data, and code that is compiled on first use, can do that; no batch is lost.
_RESTARTED = "A worker stopped while some jobs were given to the executor"
# Called with the batches at work when they change, and every `_TICK_S` seconds.
WorkCall: TypeAlias = Callable[[Sequence[Batch]], object]
_TICK_S = 0.5
# Time to load libraries and kernels, which is no part of a task.
_IMPORT_S = 60.0
_STARTED, _BEGAN, _RESULT, _ERROR = "started", "began", "result", "error"
_TOO_LONG = "took longer than "


def runs_here(n_jobs: int | None) -> bool:
    """Tell whether batches run in this process, one after the other."""
    backend, configured = _backend()
    return n_jobs is None and _is_local(backend) and configured in (None, 1)


def check_timeout(n_jobs: int | None) -> None:
    """Check that batches run where they can be ended: not in this process, nor elsewhere."""
    backend = _backend()[0]
    if runs_here(n_jobs):
        raise refused(
            "n_jobs",
            "be given with timeout, which needs worker processes, such as n_jobs=1",
            "None",
        )
    if not _is_local(backend):
        raise refused(
            "timeout",
            "be None on a backend of joblib whose processes cannot be ended one by one",
            type(backend).__name__,
        )


class Executor:
    """Runs batches, all on the same worker processes; ``n_jobs`` is as for `run_study`."""

    def __init__(self, n_jobs: int | None) -> None:
        from joblib import effective_n_jobs

        self._n_jobs = n_jobs
        is_pool = not runs_here(n_jobs) and _is_local(_backend()[0])
        self._pool = _Pool(effective_n_jobs(n_jobs)) if is_pool else None

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()

    def run(self, batches: Sequence[Batch], *, timeout: float | None, at_work: WorkCall) -> Results:
        """Give each batch with its result when that is there.

        ``timeout`` are the seconds that a task may take, on worker processes only; ``at_work`` is
        called with the batches at work, where that is known.
        """
        if self._pool is not None:
            yield from self._pool.run(batches, timeout, at_work)
        elif runs_here(self._n_jobs):
            for batch in batches:
                at_work([batch])
                yield batch, run_alone(batch)
        else:
            yield from _by_joblib(batches, self._n_jobs)


def run_alone(batch: Batch, began: Callable[[], object] = lambda: None) -> BatchResult:
    """Run a batch on one thread; call a function when all that it needs is loaded."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    # Within a task of Dask, joblib in a detector would make tasks of Dask.
    with thread_limit(1), threadpool_limits(1), parallel_config("sequential"):
        # Detectors may draw from the generators of the process.
        states = np.random.get_state(), random.getstate()  # noqa: NPY002
        batch.warm_up()
        np.random.set_state(states[0])  # noqa: NPY002
        random.setstate(states[1])
        began()
        return batch.run()


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


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, the pipe to it, and its current batch."""

    process: Any
    pipe: Connection
    # Closed when this process ends, however it does: the worker ends too.
    life: Connection
    ready: bool = False
    batch: Batch | None = None
    began: float = 0.0


class _Pool:
    """Worker processes, which are started when there are batches for them."""

    def __init__(self, n_workers: int) -> None:
        self._n_workers = n_workers
        self._workers: list[_Worker] = []

    def run(self, batches: Iterable[Batch], timeout: float | None, at_work: WorkCall) -> Results:
        """Run batches in this order, and give each result when it is there.

        A batch whose process ends, which raises SystemExit or KeyboardInterrupt, or takes longer
        than its tasks may, is put aside. When all others are done, its parts run one by one, with
        nothing beside them: another failure is a failure of its own.
        """
        aside: list[Batch] = []
        for batch, result in self._results(batches, self._n_workers, timeout, at_work):
            if isinstance(result, str):
                if result.startswith(_TOO_LONG) and len(batch.tasks) == 1:
                    yield batch, batch.failed(result)
                else:
                    aside.append(batch)
            else:
                yield batch, result
        for batch in aside:
            alone = [batch.only([task]) for task in batch.tasks]
            parts = [
                part.failed(result) if isinstance(result, str) else result
                for part, result in self._results(alone, 1, timeout, at_work)
            ]
            yield batch, BatchResult.joined(parts)

    def _results(
        self, batches: Iterable[Batch], n_at_once: int, timeout: float | None, at_work: WorkCall
    ) -> Generator[tuple[Batch, BatchResult | str], None, None]:
        """Give each batch with its result, or why it has none."""
        queue = deque(batches)
        while queue or any(worker.batch is not None for worker in self._workers):
            self._give(queue, n_at_once)
            at_work([worker.batch for worker in self._workers if worker.batch is not None])
            pipes = [worker.pipe for worker in self._workers]
            ready = set(wait(pipes, _TICK_S))
            for worker in list(self._workers):
                batch = worker.batch
                outcome: BatchResult | str | None = None
                if worker.pipe in ready or not worker.process.is_alive():
                    outcome = self._receive(worker)
                elif batch is not None and timeout is not None:
                    limit = batch.time_limit(timeout)
                    if monotonic() - worker.began > limit:
                        self._end(worker)
                        outcome = f"{_TOO_LONG}{limit:g} s"
                if outcome is not None and batch is not None:
                    worker.batch = None
                    yield batch, outcome

    def close(self) -> None:
        """End all workers, whatever they are at."""
        for worker in list(self._workers):
            self._end(worker)

    def _give(self, queue: deque[Batch], n_at_once: int) -> None:
        """Give batches to workers that have none; start those that are missing."""
        while len(self._workers) < min(n_at_once, self._n_workers, len(self._workers) + len(queue)):
            self._workers.append(_start())
        busy = sum(worker.batch is not None for worker in self._workers)
        for worker in self._workers:
            if queue and worker.ready and worker.batch is None and busy < n_at_once:
                worker.batch, worker.began = queue.popleft(), monotonic() + _IMPORT_S
                busy += 1
                # One that has just ended is noticed when it is asked for the result.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    worker.pipe.send_bytes(_dumps(worker.batch))

    def _receive(self, worker: _Worker) -> BatchResult | str | None:
        """Return a worker's message, or how it ended."""
        message: tuple[str, Any] | None = None
        # An OSError where it ended in the middle of a message.
        with contextlib.suppress(EOFError, OSError):
            message = worker.pipe.recv() if worker.pipe.poll() else None
        if message is None:
            self._end(worker, patience_s=_TICK_S)  # it is ending, and its exit code comes last
            if not worker.ready:
                raise RuntimeError(
                    f"a worker process cannot be started: it {_end_of(worker.process.exitcode)}"
                )
            return _end_of(worker.process.exitcode)
        kind, value = message
        if kind == _STARTED:
            worker.ready = True
            return None
        if kind == _BEGAN:
            worker.began = monotonic()
            return None
        if kind == _ERROR:
            raise value
        result: BatchResult | str = value
        return result

    def _end(self, worker: _Worker, patience_s: float = 0.0) -> None:
        self._workers.remove(worker)
        worker.process.join(patience_s)
        with contextlib.suppress(ProcessLookupError):
            if worker.process.is_alive():
                os.kill(worker.process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
        worker.process.join()
        worker.pipe.close()
        worker.life.close()


def _start() -> _Worker:
    """Start a worker; like joblib's workers it need not import the program that runs the study."""
    from joblib.externals.loky.backend import get_context

    context = get_context("loky")
    ours, theirs = context.Pipe()
    watched, life = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(theirs, watched))
    process.start()
    theirs.close()
    watched.close()
    return _Worker(process, ours, life)


def _work(pipe: Connection, watched: Connection) -> None:
    """Run batches that come through a pipe, until it is closed."""
    # A terminal's Ctrl-C reaches workers too: the runner is told, and ends them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_runner, args=(watched,), daemon=True).start()
    pipe.send((_STARTED, None))
    while True:
        try:
            content = pipe.recv_bytes()
        except EOFError:
            return
        pipe.send_bytes(_dumps(_outcome(content, pipe)))


def _end_with_runner(watched: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        watched.recv_bytes()
    os._exit(1)


def _outcome(content: bytes, pipe: Connection) -> tuple[str, Any]:
    """Return the result of a batch, its exception that ends the process, or an error."""
    try:
        batch = pickle.loads(content)
        return _RESULT, run_alone(batch, lambda: pipe.send((_BEGAN, None)))
    except (SystemExit, KeyboardInterrupt) as error:
        return _RESULT, f"raised {reason_of(error)}"
    except Exception as error:
        return _ERROR, _sendable(error)


def _sendable(error: Exception) -> Exception:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an error of a library does
        return RuntimeError(reason_of(error))
    return error


def _dumps(value: Any) -> bytes:
    """Pickle definitions of the program that runs the study, too."""
    from joblib.externals.loky.backend.reduction import dumps

    return bytes(dumps(value))


def _end_of(code: int | None) -> str:
    if code is None or code >= 0:
        return f"ended its process: exit code {code}"
    if -code == getattr(signal, "SIGKILL", None):
        return f"ended its process: signal {-code}, as where memory runs out"
    return f"ended its process: signal {-code}"
