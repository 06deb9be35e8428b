"""Curves of fewer points: the bound against the true distance, of read-offs and of areas."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad._core.types import CountVector
from fastad.evaluation import roc_points
from fastad.evaluation.roc_points import simplified

Points = list[tuple[Fraction, Fraction]]

steps = st.tuples(st.sampled_from([0, 0, 1, 1, 2, 40]), st.sampled_from([0, 0, 1, 1, 3, 60]))
curves = st.lists(steps.filter(any), min_size=1, max_size=120)


def points_of(xs: CountVector, ys: CountVector) -> Points:
    return [(Fraction(x), Fraction(y)) for x, y in zip(xs.tolist(), ys.tolist(), strict=True)]


def sides(points: Points, x: Fraction) -> tuple[Fraction, Fraction]:
    """The ordinates where a curve comes to an abscissa, and where it goes on from there."""
    before = max(i for i, point in enumerate(points) if point[0] < x or i == 0)
    after = min(i for i, point in enumerate(points) if point[0] > x or i == len(points) - 1)
    at = [point[1] for point in points if point[0] == x]
    if at:
        return min(at), max(at)
    (x0, y0), (x1, y1) = points[before], points[after]
    return (y0 + (y1 - y0) * (x - x0) / (x1 - x0),) * 2


def distance(everything: Points, fewer: Points) -> Fraction:
    """The largest difference of what is read off, on both sides of each abscissa."""
    first, last = everything[0][0], everything[-1][0]
    largest = Fraction(0)
    for x in {point[0] for point in everything}:
        (comes, goes), (other_comes, other_goes) = sides(everything, x), sides(fewer, x)
        # The curve does not come to its first abscissa from a side, nor go on from its last.
        if x > first:
            largest = max(largest, abs(comes - other_comes))
        if x < last:
            largest = max(largest, abs(goes - other_goes))
    return largest


def area(points: Points, low: Fraction, high: Fraction) -> Fraction:
    total = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(points):
        start, end = max(x0, low), min(x1, high)
        if start < end:
            slope = (y1 - y0) / (x1 - x0)
            total += (end - start) * (y0 + slope * ((start + end) / 2 - x0))
    return total


def check(xs: CountVector, ys: CountVector, max_points: int) -> None:
    kept, bound = simplified(xs, ys, max_points)
    assert len(kept) == len(set(kept.tolist())) <= max(max_points, 2)
    assert kept.tolist() == sorted(kept.tolist())
    assert (kept[0], kept[-1]) == (0, len(xs) - 1)
    everything, fewer = points_of(xs, ys), points_of(xs[kept], ys[kept])
    limit = Fraction(bound)
    assert distance(everything, fewer) <= limit
    ends = sorted({point[0] for point in everything})[:: max(len(xs) // 8, 1)]
    for low in ends:
        for high in ends:
            difference = abs(area(everything, low, high) - area(fewer, low, high))
            assert difference <= limit * max(high - low, Fraction(0))
    if len(xs) <= max_points:
        assert bound == 0


@given(steps=curves, max_points=st.integers(8, 30), weight=st.sampled_from([1, 0.1]))
def test_nothing_is_farther_than_the_bound(
    steps: list[tuple[int, int]], max_points: int, weight: float
) -> None:
    xs, ys = np.cumsum([(0, 0), *steps], axis=0).T * weight
    check(np.ascontiguousarray(xs), np.ascontiguousarray(ys), max_points)


@given(steps=curves, n_steps=st.integers(2, 12))
def test_nor_where_only_candidates_are_searched(steps: list[tuple[int, int]], n_steps: int) -> None:
    xs, ys = map(np.ascontiguousarray, np.cumsum([(0, 0), *steps], axis=0).T)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roc_points, "_N_STEPS", n_steps)
        check(xs, ys, 8)


def test_the_bound_is_small_and_low_rates_keep_their_points() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(300_000) < 0.05
    counts = fastad.rank_scores(labels, rng.normal(size=300_000) + 2 * labels).counts
    kept, bound = simplified(counts.fps, counts.tps, 1000)
    assert len(kept) == 1000
    assert 0 < bound / counts.n_anomalies < 1 / 1000
    # From 10 normals on, no rate is more than a tenth from one that is kept.
    fps = np.unique(counts.fps[kept])
    assert (fps[1:] <= np.maximum(1.1 * fps[:-1], fps[:-1] + 1)).all()
    # The bound is not far from the distance itself.
    chords = np.interp(counts.fps, counts.fps[kept], counts.tps[kept])
    inside = np.flatnonzero(np.diff(counts.fps) > 0)[1:]
    true = np.abs(chords - counts.tps)[inside].max()
    assert true <= bound < 3 * true
