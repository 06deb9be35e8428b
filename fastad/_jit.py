"""The one place that names Numba's options and the cache policy."""

import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from fastad.errors import CompilationCacheWarning

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars, cached on disk where a folder can be written.

    Numba raises at decoration when no cache folder is writable (a read-only container); the
    kernel then works all the same, compiled anew in each process.
    """
    try:
        return _compile(function, cache=True)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
        warnings.warn(
            "fastad found no writable folder for its compiled kernels; they are compiled anew in "
            "every process. Set NUMBA_CACHE_DIR to a writable folder to keep them.",
            CompilationCacheWarning,
            stacklevel=2,
        )
        return _compile(function, cache=False)


def _compile(function: Function, *, cache: bool) -> Function:
    # nogil: callers may use threads. error_model: a division is IEEE and loops can vectorise.
    # No fastmath: thresholds start at +inf and a tie is an exact equality.
    compiled = numba.njit(cache=cache, nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)
