"""A function of confusion counts that a user gives, checked wherever it is called."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from fastad._core.parameters import nearest_float
from fastad._core.threads import in_steps
from fastad._core.types import Count, CountVector, FloatVector
from fastad._kernels.curves.counts import over_counts
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.points import thresholds_from_infinity
from fastad.ordering.counts import OrderedCounts

# Points whose values are computed at a time: they stay in a core's cache.
_BLOCK = 1 << 15

# Samples on whose counts a function is tried, each point by itself and all at once.
_TRIED_ANOMALIES, _TRIED_NORMALS = 3, 4

# Relative rounding error between a value alone and among others, and beyond its range.
_ROUNDING = 1e-9


# Without slots: a study finds the function among its attributes, and notes its code.
@dataclass(frozen=True)
class CountsFunction:
    """A function of confusion counts, checked wherever it is called."""

    name: str
    function: Any  # as the user gave it
    takes_threshold: bool
    value_range: tuple[float, float]  # lowest and highest value that it may return
    higher_is_better: bool | None

    def values(
        self,
        tps: CountVector,
        fps: CountVector,
        n_anomalies: Count,
        n_normals: Count,
        thresholds: FloatVector,
    ) -> FloatVector:
        """Return the values at counts of shape (n_points,), NaN where they are undefined."""
        # Copies, which the function may do with as it likes.
        points = [tps.astype(np.float64), fps.astype(np.float64), thresholds]
        sizes = np.float64(n_anomalies), np.float64(n_normals)

        def call(part: slice) -> FloatVector:
            tp, fp, threshold = (each[part] for each in points)
            if isinstance(self.function, Dispatcher):
                values = np.empty(tp.shape[0])
                loop = over_counts(self.function, takes_threshold=self.takes_threshold)
                loop(tp, fp, *sizes, threshold, values)
                return values
            more = (threshold.copy(),) if self.takes_threshold else ()
            # 0 / 0 where nothing is flagged is no reason for a warning.
            with np.errstate(all="ignore"):
                result = np.asarray(self.function(tp.copy(), fp.copy(), *sizes, *more))
            if result.shape != tp.shape or result.dtype.kind not in "biuf":
                raise InvalidInputError(
                    f"function must return one number for each of {tp.shape[0]} points; found "
                    f"shape {result.shape} of {result.dtype}, the first at {text(part.start)}"
                )
            return result.astype(np.float64)

        def text(i: int) -> str:
            return _counts_text(points[0][i], points[1][i], *sizes)

        try:
            values = call(slice(0, tps.shape[0]))
        except InvalidInputError:
            raise
        except Exception as error:
            i = _first_raising(call, tps.shape[0])
            alone = f"at {text(i)}" if i >= 0 else "for several points at once, and for none alone"
            raise InvalidInputError(
                f"function must return one number for each of {tps.shape[0]} points; it raised "
                f"{type(error).__name__} ({error}) {alone}"
            ) from error
        self._check(values, points[0], points[1], *sizes)
        return values

    def _check(
        self, values: FloatVector, tp: FloatVector, fp: FloatVector, n: float, m: float
    ) -> None:
        """Refuse NaN where no count is 0, and values beyond the range."""
        low, high = self.value_range
        slack = _ROUNDING * max((abs(end) for end in (low, high) if math.isfinite(end)), default=0)
        undefined = np.isnan(values)
        wrong = {
            "a number where none of the four confusion counts is 0": (
                undefined & (tp > 0) & (tp < n) & (fp > 0) & (fp < m)
            ),
            f"values from {low:g} to {high:g}": (values < low - slack) | (values > high + slack),
        }
        for expected, where in wrong.items():
            if where.any():
                i = int(np.argmax(where))
                raise InvalidInputError(
                    f"function must return {expected}; found {values[i]:g} at "
                    f"{_counts_text(tp[i], fp[i], n, m)}"
                )

    def value(
        self, counts: OrderedCounts, tp: Fraction | Count, fp: Fraction | Count, threshold: Any
    ) -> float:
        """Return the value at the counts of one point."""
        value: float = self.values(
            np.array([float(tp)]),
            np.array([float(fp)]),
            counts.n_anomalies,
            counts.n_normals,
            np.array([nearest_float(threshold)]),
        ).item()
        if value != value:
            where = _counts_text(float(tp), float(fp), counts.n_anomalies, counts.n_normals)
            raise UndefinedMeasureError(f"{self.name} is undefined at {where}")
        return value

    def at_point(self, counts: OrderedCounts, point: int, threshold: Any = None) -> float:
        """Return the value at a point of the curve."""
        reached = counts.threshold(point) if threshold is None else threshold
        return self.value(counts, counts.tps.item(point), counts.fps.item(point), reached)

    def at_all(self, counts: OrderedCounts) -> FloatVector:
        """Return the values at all points of the curve."""
        n_points = counts.tps.shape[0]
        values = np.empty(n_points)
        thresholds = np.empty(n_points)
        if self.takes_threshold:
            thresholds[:] = thresholds_from_infinity(counts)
        for points in in_steps(0, n_points, _BLOCK):
            block = slice(points.start, points.stop)
            values[block] = self.values(
                counts.tps[block],
                counts.fps[block],
                counts.n_anomalies,
                counts.n_normals,
                thresholds[block],
            )
        return values

    def try_out(self, *, monotone: bool) -> None:
        """Call the function at all counts of a few samples, and check the result."""
        n, m = _TRIED_ANOMALIES, _TRIED_NORMALS
        tps, fps = (each.ravel() for each in np.mgrid[: n + 1, : m + 1])
        thresholds = np.full(tps.shape[0], 0.5)
        values = self.values(tps, fps, n, m, thresholds)
        for i in range(tps.shape[0]):
            one = slice(i, i + 1)
            alone = self.values(tps[one], fps[one], n, m, thresholds[one])
            if not np.allclose(alone, values[one], _ROUNDING, _ROUNDING, equal_nan=True):
                raise InvalidInputError(
                    "function must be one of each point by itself; found "
                    f"{alone[0]:g} alone and {values[i]:g} among {tps.shape[0]} points at "
                    f"{_counts_text(tps[i], fps[i], n, m)}"
                )
        if not monotone:
            return
        merits = (values if self.higher_is_better else -values).reshape(n + 1, m + 1)
        for steps, what in ((np.diff(merits, axis=0), "anomaly"), (-np.diff(merits), "normal")):
            worse = np.argwhere(steps < -_ROUNDING)
            if worse.shape[0]:
                tp, fp = worse[0].tolist()
                raise InvalidInputError(
                    f"monotone must be False for a function that gets "
                    f"{'worse' if what == 'anomaly' else 'better'} with one flagged {what} more; "
                    f"found True, and such a function at {_counts_text(tp, fp, n, m)}"
                )


def _counts_text(tp: float, fp: float, n: float, m: float) -> str:
    return f"tp = {tp:g}, fp = {fp:g}, n_anomalies = {n:g}, n_normals = {m:g}"


def _first_raising(call: Callable[[slice], Any], n_points: int) -> int:
    """Return the first point at which a function raises, -1 where it raises at none alone."""
    first, stop = 0, n_points
    while stop - first > 1:
        middle = (first + stop) // 2
        try:
            call(slice(first, middle))
        except Exception:
            stop = middle
        else:
            first = middle
    try:
        call(slice(first, first + 1))
    except Exception:
        return first
    return -1
