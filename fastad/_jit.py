"""The one place that names Numba's options and the cache policy."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from fastad._cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function of arrays and scalars, cached on disk where that is possible."""
    # nogil: callers may use threads. error_model: a division is IEEE and loops can vectorise.
    # No fastmath: thresholds start at +inf and a tie is an exact equality.
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    if compiled is not function:  # as it is where compilation is switched off
        compiled._cache = KernelCache(function)
    return cast(Function, compiled)
