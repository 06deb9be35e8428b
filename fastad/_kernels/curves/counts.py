"""Functions of confusion counts over many points."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from fastad._core.jit import uncached
from fastad._core.types import FloatVector


@lru_cache(maxsize=64)
def over_counts(function: Any, *, takes_threshold: bool) -> Callable[..., None]:
    """Make the loop of a jitted function of the counts of one point, compiled into it."""

    @uncached
    def without_threshold(tp: float, fp: float, n: float, m: float, _: float) -> Any:
        return function(tp, fp, n, m)

    of_point = function if takes_threshold else without_threshold

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
            values[i] = of_point(tps[i], fps[i], n, m, thresholds[i])

    return write
