"""The one place that names Numba's options and the cache policy."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from fastad._core.cache import KernelCache

Function = TypeVar("Function", bound=Callable[..., Any])


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

    A user's function is known by what it is, which no name of a file tells.
    """
    if not isinstance(getattr(inner, "_cache", None), KernelCache):
        return uncached(function)
    function.__qualname__ += f"({inner.__module__}.{inner.__qualname__})"
    return kernel(function)
