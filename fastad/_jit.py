"""The one place that names Numba's options and the cache policy."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numba

from fastad.errors import CompilationCacheWarning

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars, cached on disk where that is possible.

    Numba raises when no cache folder is writable (a read-only container), and when the disk is
    full; the kernel then works all the same, compiled anew in each process.
    """
    try:
        compiled = _compile(function, cached=True)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        _warn_once()
        return cast(Function, _compile(function, cached=False))
    _survive_full_disk(compiled)
    return cast(Function, compiled)


def _compile(function: Callable[..., Any], *, cached: bool) -> Any:
    # nogil: callers may use threads. error_model: a division is IEEE and loops can vectorise.
    # No fastmath: thresholds start at +inf and a tie is an exact equality.
    return numba.njit(cache=cached, nogil=True, error_model="numpy")(function)


def _survive_full_disk(compiled: Any) -> None:
    """Let a kernel that cannot be saved be used all the same."""
    disk = getattr(compiled, "_cache", None)
    if disk is None:
        return  # compilation is switched off
    save = disk.save_overload

    def save_if_possible(*args: Any) -> None:
        try:
            save(*args)
        except OSError:
            _warn_once()

    disk.save_overload = save_if_possible


@cache
def _warn_once() -> None:
    warnings.warn(
        "fastad cannot write its compiled kernels to a folder; they are compiled anew in every "
        "process. Set NUMBA_CACHE_DIR to a writable folder to keep them.",
        CompilationCacheWarning,
        stacklevel=3,
    )
