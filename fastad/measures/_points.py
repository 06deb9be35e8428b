"""Finding operating points on ordered counts, exactly."""

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from fastad._types import Count, CountVector, FloatVector
from fastad.counts import OrderedCounts
from fastad.errors import UndefinedMeasureError

# One operating point, or several; several give an array.
Rates: TypeAlias = Fraction | list[Fraction]


def need_anomalies(counts: OrderedCounts, measure: str) -> None:
    """Raise where there is no anomaly."""
    if counts.n_anomalies == 0:
        raise UndefinedMeasureError(f"{measure} is undefined without anomalies (label 1)")


def need_normals(counts: OrderedCounts, measure: str) -> None:
    """Raise where there is no normal point."""
    if counts.n_normals == 0:
        raise UndefinedMeasureError(f"{measure} is undefined without normal points (label 0)")


def need_both(counts: OrderedCounts, measure: str) -> None:
    """Raise where one of the two classes is absent."""
    need_anomalies(counts, measure)
    need_normals(counts, measure)


def at_each(rates: Rates, measure: Callable[[Fraction], float]) -> float | FloatVector:
    """Return the value at one rate, or an array of the values at several."""
    if isinstance(rates, Fraction):
        return measure(rates)
    return np.array([measure(rate) for rate in rates], np.float64)


def last_within(counts: CountVector, limit: Fraction) -> int:
    """Return the last point whose cumulative count is at most an exact limit."""
    return int(counts.searchsorted(_round_down(limit, counts), side="right")) - 1


def first_reaching(counts: CountVector, goal: Fraction) -> int:
    """Return the first point whose cumulative count is at least an exact goal."""
    return int(counts.searchsorted(-_round_down(-goal, counts), side="left"))


def last_flagging(counts: OrderedCounts, n_flagged: Count) -> int:
    """Return the last point that flags at most so many points."""
    points = range(counts.fps.shape[0])
    return bisect_right(points, n_flagged, key=lambda i: counts.fps[i] + counts.tps[i]) - 1


def hits_among(counts: OrderedCounts, k: Count, measure: str) -> Fraction:
    """Return the anomalies among the k highest scores, ties at the cut by expectation."""
    if k > counts.total:
        raise UndefinedMeasureError(
            f"{measure} is undefined for more than all points: k = {k} of {counts.total}"
        )
    left = last_flagging(counts, k)
    hits = exact(counts.tps[left])
    rest = exact(k) - hits - exact(counts.fps[left])
    # The float total of real weights may exceed the sum of what was counted by its last digit.
    if rest == 0 or left + 1 == counts.tps.shape[0]:
        return hits
    anomalies = exact(counts.tps[left + 1]) - hits
    return hits + rest * anomalies / (anomalies + exact(counts.fps[left + 1] - counts.fps[left]))


def exact(count: CountVector | Count) -> Fraction:
    """Return a count, or a real total weight, as an exact fraction."""
    return Fraction(count.item() if isinstance(count, np.generic) else count)  # type: ignore[arg-type]


def plain(count: CountVector | Count) -> Fraction | int:
    """Return a whole count as an int, a real one as an exact fraction.

    Cheaper than `exact` where the count meets a fraction; a quotient of two ints would be rounded.
    """
    number = count.item() if isinstance(count, np.generic) else count
    return number if isinstance(number, int) else Fraction(number)  # type: ignore[arg-type]


def between(xs: CountVector, ys: CountVector, left: int, right: int, x: Fraction) -> Fraction:
    """Return the height at x on the straight segment between two points of a curve."""
    x0, x1, y0, y1 = plain(xs[left]), plain(xs[right]), plain(ys[left]), plain(ys[right])
    if isinstance(x0, int) and isinstance(x1, int):
        # The same with whole numbers and one fraction: most of the time goes into fractions.
        part = (y1 - y0) * (x.numerator - x0 * x.denominator)
        whole = (x1 - x0) * x.denominator
        return Fraction(y0 * whole + part, whole)
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def _round_down(limit: Fraction, counts: CountVector) -> Count:
    """Return the largest number of the counts' type that is at most a limit."""
    if counts.dtype.kind == "i":
        return limit.numerator // limit.denominator
    nearest = float(limit)
    return nearest if Fraction(nearest) <= limit else float(np.nextafter(nearest, -np.inf))
