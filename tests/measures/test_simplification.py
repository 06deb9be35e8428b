"""Curves through fewer points: no rate that is read off and no area errs by more than is said."""

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad.errors import InvalidInputError
from fastad.measures import RocCurve

Points = npt.NDArray[np.float64]


def area(x: Points, y: Points, low: float, high: float) -> float:
    """Area below a path of straight pieces over a range of its abscissa."""
    grid = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    total = 0.0
    for left, right in pairwise(grid):
        # Within an upright piece neither end is the path's value.
        first = np.searchsorted(x, left, side="right") - 1
        slope = (y[first + 1] - y[first]) / (x[first + 1] - x[first])
        ends = [y[first] + slope * (at - x[first]) for at in (left, right)]
        total += (right - left) * sum(ends) / 2
    return total


def read(x: Points, y: Points, at: float) -> Points:
    """Ordinates of a path at an abscissa: one, or both ends of an upright piece."""
    exact = y[x == at]
    return exact[[0, -1]] if exact.size else np.array([np.interp(at, x, y)] * 2)


def check(curve: RocCurve, max_points: int, rng: np.random.Generator) -> Any:
    simplified = curve.simplify(max_points)
    few = simplified.curve
    assert len(few.fpr) <= max(max_points, 8)
    rows = set(zip(*curve, strict=True))
    assert set(zip(*few, strict=True)) <= rows
    assert (few.fpr[0], few.tpr[0], few.fpr[-1], few.tpr[-1]) == (0, 0, 1, 1)
    paths = ((curve.fpr, curve.tpr, few.fpr, few.tpr), (curve.tpr, curve.fpr, few.tpr, few.fpr))
    for (x, y, u, v), error in zip(
        paths, (simplified.tpr_error, simplified.fpr_error), strict=True
    ):
        for at in np.append(rng.choice(x, 20), rng.random(10)):
            # Where the curve is upright, some point of the piece is read off.
            whole, drawn = read(x, y, at), read(u, v, at)
            assert drawn[0] >= whole[0] - error
            assert drawn[-1] <= whole[-1] + error
        for _ in range(5):
            low, high = np.sort(np.append(rng.choice(x), rng.random()))
            if low < high:
                difference = area(x, y, low, high) - area(u, v, low, high)
                assert abs(difference) <= simplified.area_error
    return simplified


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(10, 400),
    max_points=st.integers(8, 60),
    digits=st.sampled_from([0, 1, 9]),
    weighted=st.booleans(),
)
def test_no_rate_and_no_area_errs_by_more(
    seed: int, n: int, max_points: int, digits: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.random(n) < rng.random())
    s = np.round(rng.normal(size=n + 2) + rng.integers(0, 3) * y, digits)
    weights = rng.uniform(0.1, 2, n + 2) if weighted else None
    check(fastad.roc_curve(y, s, sample_weight=weights), max_points, rng)


@pytest.mark.slow
def test_a_thousand_points_err_by_less_than_a_ten_thousandth_in_area() -> None:
    rng = np.random.default_rng(0)
    y = rng.random(100_000) < 0.05
    curve = fastad.roc_curve(y, rng.normal(size=y.size) + 1.5 * y)
    simplified = check(curve, 1000, rng)
    assert len(simplified.curve.fpr) == 1000
    assert 0 < simplified.area_error < 1e-4
    assert 0 < simplified.tpr_error < 1e-3
    # The stated errors are near to those that there are.
    drawn = np.interp(curve.fpr, simplified.curve.fpr, simplified.curve.tpr)
    last = np.append(np.diff(curve.fpr) > 0, True)
    assert np.abs(drawn - curve.tpr)[last].max() == pytest.approx(simplified.tpr_error, rel=0.5)


def test_a_curve_of_few_points_stays_as_it_is() -> None:
    curve = fastad.roc_curve([0, 1, 0, 1], [1, 2, 3, 4])
    simplified = curve.simplify()
    assert [x.tolist() for x in simplified.curve] == [x.tolist() for x in curve]
    assert (simplified.tpr_error, simplified.fpr_error, simplified.area_error) == (0, 0, 0)
    with pytest.raises(InvalidInputError, match="max_points must be at least 8; found 7"):
        curve.simplify(7)
