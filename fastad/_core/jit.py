"""The one place that names Numba's options and the cache policy."""

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import compiler_lock

from fastad._core.cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])

if hasattr(os, "register_at_fork"):
    # A fork waits for a thread that compiles or loads a kernel: in the child, that thread is gone
    # and would never release the lock. The import system and logging treat their locks alike.
    _lock: Any = compiler_lock.global_compiler_lock
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


def uncached(function: Function) -> Function:
    """Compile a function of arrays and scalars for this process."""
    # nogil: callers may use threads. error_model: a division is IEEE and loops can vectorise.
    # No fastmath: thresholds start at +inf and a tie is an exact equality.
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars, cached on disk where that is possible."""
    compiled: Any = uncached(function)
    if compiled is not function:  # as it is where compilation is switched off
        compiled._cache = KernelCache(function)
    return compiled  # type: ignore[no-any-return]


def kernel_around(inner: Any, function: Function) -> Function:
    """Compile a function that was made to call another one, cached if that one is a kernel.

    A user's function is identified by its content, which no name of a file tells.
    """
    if not isinstance(getattr(inner, "_cache", None), KernelCache):
        return uncached(function)
    function.__qualname__ += f"({inner.__module__}.{inner.__qualname__})"
    return kernel(function)
