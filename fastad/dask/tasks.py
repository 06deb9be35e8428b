"""Shared by all computations on Dask: the library, laziness, and versions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fastad._core.extras import import_extra
from fastad._core.threads import RemoteHook, thread_limit
from fastad._core.version import __version__
from fastad.errors import InvalidInputError


def dask_module() -> Any:
    """Return dask, or raise an error with the command that installs it."""
    return import_extra("dask", "fastad.dask", extra="dask")


def now_or_later(run: Callable[[], Any], *, compute: bool) -> Any:
    """Call a function that computes on the cluster, or return a delayed object that will."""
    dask = dask_module()
    if compute:
        return run()
    # Nothing in a closure is taken for a part of the graph.
    return dask.delayed(lambda: _in_task(run), pure=False)()


def _in_task(run: Callable[[], Any]) -> Any:
    """Call a function in a task, which gives its place to the tasks that it waits for."""
    try:
        from distributed import get_worker, worker_client  # Dask may be here without it.

        get_worker()
    except (ModuleNotFoundError, ValueError):
        return run()
    with worker_client():
        return run()


class Versions(NamedTuple):
    """Versions that must be the same on all machines, or numbers may differ."""

    fastad: str
    numpy: str

    @classmethod
    def here(cls) -> "Versions":
        """Return the versions of this process."""
        return cls(__version__, np.__version__)

    def check(self) -> None:
        """Refuse a process with others."""
        here = Versions.here()
        if here != self:
            raise InvalidInputError(
                "workers and client must have the same versions, or numbers could differ; found "
                f"fastad {here.fastad} and NumPy {here.numpy}, and fastad {self.fastad} and NumPy "
                f"{self.numpy} of the client"
            )


@contextmanager
def on_worker(versions: Versions, hook: RemoteHook[..., Any]) -> Iterator[None]:
    """Check the versions of a worker, which computes a task here and on one thread.

    Its other threads have tasks of their own, and may have the context of the caller, in which the
    hook computes elsewhere.
    """
    versions.check()
    with hook.use(None), thread_limit(1):
        yield
