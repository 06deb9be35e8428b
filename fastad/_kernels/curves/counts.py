"""Functions of confusion counts over many points."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fastad._core.jit import uncached
from fastad._core.types import FloatVector


@lru_cache(maxsize=64)
def over_counts(function: Any, *, takes_threshold: bool) -> Callable[..., None]:
    """Make the loop of a jitted function of the counts of one point, compiled into it."""
    if takes_threshold:

        @uncached
        def write(
            tps: FloatVector,
            fps: FloatVector,
            n: float,
            m: float,
            thresholds: FloatVector,
            values: FloatVector,
        ) -> None:
            for i in range(tps.shape[0]):
                values[i] = function(tps[i], fps[i], n, m, thresholds[i])

    else:

        @uncached
        def write(
            tps: FloatVector,
            fps: FloatVector,
            n: float,
            m: float,
            thresholds: FloatVector,
            values: FloatVector,
        ) -> None:
            for i in range(tps.shape[0]):
                values[i] = function(tps[i], fps[i], n, m)

    return write
