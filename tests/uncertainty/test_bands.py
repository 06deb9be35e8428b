"""Confidence bands of curves: bounds, invariances, arguments."""

import math
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.rates.bands import (
    PrecisionRecallBand,
    RocBand,
    precision_recall_band,
    precision_recall_band_of,
    roc_band,
    roc_band_of,
)
from tests.support.strategies import Sample, samples

Vector = npt.NDArray[Any]
Band = RocBand | PrecisionRecallBand
BANDS: tuple[Callable[..., Band], ...] = (roc_band, precision_recall_band)


def x_and_y(band: Band) -> tuple[Vector, Vector]:
    if isinstance(band, RocBand):
        return band.fpr, band.tpr
    return band.recall, band.precision


def at_least(k: int, n: int, rate: Any) -> Any:
    """Probability that a binomial number of n trials is at least k."""
    terms = (math.comb(n, i) * rate**i * (1 - rate) ** (n - i) for i in range(max(k, 0), n + 1))
    return sum(terms, 0 * rate)


def rate_with(k: int, n: int, probability: Fraction) -> float:
    """The rate at which a binomial number is at least k with a probability, by halving."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if at_least(k, n, middle) < probability:
            low = middle
        else:
            high = middle
    return low


def beyond(
    of_class: Sequence[int], of_other: Sequence[int], x: Fraction, tail: Fraction
) -> tuple[float, float]:
    """Bounds on the rate of the other class where that of a class is x, by definition."""
    m, n = len(of_class), len(of_other)
    falling = sorted(of_class, reverse=True)
    # The lowest threshold above a sample of the class whose rate is surely at most x.
    sure = [i for i in range(1, m + 1) if 1 - at_least(i, m, x) <= tail]
    low = 0.0
    if x == 1:
        low = 1.0
    elif sure:
        k = sum(score > falling[sure[-1] - 1] for score in of_other)
        low = rate_with(k, n, tail) if k else 0.0
    # The highest threshold at a sample of the class whose rate is surely above x.
    sure = [i for i in range(1, m + 1) if at_least(i, m, x) <= tail]
    high = 1.0
    if sure:
        k = sum(score >= falling[sure[0] - 1] for score in of_other)
        high = rate_with(k + 1, n, 1 - tail) if k < n else 1.0
    return low, high


# No binomial probability of these rates equals a tail of these levels.
awkward_rates = st.integers(0, 13).map(lambda k: Fraction(k, 13))
small_scores = st.lists(st.integers(0, 6), min_size=1, max_size=12)
levels = st.sampled_from([Fraction(93, 100), Fraction(52, 100)])


@given(small_scores, small_scores, awkward_rates, levels)
def test_pointwise_bounds_are_those_of_two_binomial_distributions(
    normals: list[int], anomalies: list[int], x: Fraction, level: Fraction
) -> None:
    y = np.repeat([0, 1], [len(normals), len(anomalies)])
    s = np.array(normals + anomalies)
    low, high = beyond(normals, anomalies, x, (1 - level) / 2)
    band = roc_band(y, s, fpr=x, confidence_level=level)
    assert (band.low[0], band.high[0]) == pytest.approx((low, high), abs=1e-12)
    assert band.tpr[0] == fastad.tpr_at_fpr(y, s, fpr=x)

    fewest, most = beyond(anomalies, normals, x, (1 - level) / 2)
    if 0 < x < 1:
        r, n, m = float(x), len(anomalies), len(normals)
        bounds = [n * r / (n * r + m * rate) for rate in (most, fewest)]
        recall = precision_recall_band(y, s, recall=x, confidence_level=level)
        assert [recall.low[0], recall.high[0]] == pytest.approx(bounds, abs=1e-12)
        weighted = precision_recall_band(
            y, s, recall=x, confidence_level=level, prevalence=Fraction(1, 10)
        )
        bounds = [r / (r + 9 * rate) for rate in (most, fewest)]
        assert [weighted.low[0], weighted.high[0]] == pytest.approx(bounds, abs=1e-12)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_ends_of_the_curves(simultaneous: bool) -> None:
    y = np.repeat([0, 1], [50, 30])
    ends: dict[str, Any] = {"simultaneous": simultaneous}
    for s in (y, -y, np.zeros(80)):
        band = roc_band(y, s, fpr=[0, 1e-300, 1 - 2**-53, 1], **ends)
        assert band.low[[0, 1, 3]].tolist() == [0, 0, 1]
        assert band.low[2] < 1
        assert band.high[[2, 3]].tolist() == [1, 1]
        recall = precision_recall_band(y, s, recall=[0, 1e-300, 1], **ends)
        assert (recall.low[0], recall.high[0]) == (0, 1)
        assert recall.low[2] == 30 / 80 <= recall.high[2]
        assert (recall.high > recall.low).all()
    # A rate that no float tells from 1 is not 1.
    assert roc_band(y, y, fpr=1 - Fraction(1, 10**30), **ends).low[0] < 1


def test_one_sample_of_each_class() -> None:
    """Level 0.95: the rate at one point is uniform."""
    band = roc_band([0, 1], [0, 1], fpr=[0.02, 0.03, 0.98])
    # Below 0.025, the normal sample surely has a higher FPR.
    assert band.high.tolist() == [1, 1, 1]
    assert band.low == pytest.approx([0, 0, 0.025])
    tied = roc_band([0, 1], [5, 5], fpr=[0.02, 0.03, 0.98])
    assert tied.low.tolist() == [0, 0, 0]
    below = roc_band([0, 1], [1, 0], fpr=[0.02, 0.03, 0.98])
    assert below.high == pytest.approx([0.975, 1, 1])


def test_the_band_is_narrow_for_large_samples() -> None:
    """All anomalies above all normals: Clopper and Pearson's bound, (0.025)**(1/n)."""
    y = np.repeat([0, 1], [500, 80])
    assert roc_band(y, y, fpr=0.05).low[0] == pytest.approx(0.025 ** (1 / 80))
    # One of the normals is above another that 0.05 of all normals are surely not above.
    assert roc_band(y, y, fpr=1 - 0.974 ** (1 / 500)).low[0] == 0


@pytest.mark.slow
@settings(max_examples=30)
@given(samples(both=True), st.sampled_from([0.95, 0.6, 0.01]), st.booleans())
def test_the_curve_lies_in_its_band(sample: Sample, level: float, simultaneous: bool) -> None:
    for make in BANDS:
        band = make(sample.y, sample.s, simultaneous=simultaneous, confidence_level=level)
        x, y = x_and_y(band)
        assert len(x) <= 201
        assert (band.low >= 0).all()
        assert (band.low <= y).all()
        assert (y <= band.high).all()
        assert (band.high <= 1).all()
        assert (band.low < band.high)[x < 1].all()
        assert (np.diff(x) > 0).all()
        if isinstance(band, RocBand):
            assert (np.diff(band.low) >= 0).all()
            assert (np.diff(band.high) >= 0).all()
        assert band.confidence_level == level
        assert band.simultaneous is simultaneous


@pytest.mark.slow
@given(samples(both=True), st.sampled_from([0.95, 0.3]))
def test_the_simultaneous_band_contains_the_pointwise_one(sample: Sample, level: float) -> None:
    for make in BANDS:
        narrow = make(sample.y, sample.s, confidence_level=level)
        wide = make(sample.y, sample.s, confidence_level=level, simultaneous=True)
        assert (wide.low <= narrow.low).all()
        assert (narrow.high <= wide.high).all()


@pytest.mark.slow
@given(samples(both=True), st.booleans(), st.randoms(use_true_random=False))
def test_only_the_order_of_the_scores_counts(
    sample: Sample, simultaneous: bool, random: Any
) -> None:
    rows = list(range(len(sample.y)))
    random.shuffle(rows)
    _, ranks = np.unique(sample.s, return_inverse=True)
    for make in BANDS:
        band = make(sample.y, sample.s, simultaneous=simultaneous)
        for other in (
            make(sample.y[rows], sample.s[rows], simultaneous=simultaneous),
            make(sample.y, ranks.astype(np.float64) ** 3, simultaneous=simultaneous),
        ):
            for field in ("low", "high"):
                np.testing.assert_array_equal(getattr(band, field), getattr(other, field))


@given(samples(both=True))
def test_the_precision_is_that_of_the_curve(sample: Sample) -> None:
    for prevalence in (None, 0.01):
        curve = fastad.precision_recall_curve(sample.y, sample.s, prevalence=prevalence)
        # Of points with equal recall, the one that flags the fewest normals.
        first = np.unique(curve.recall, return_index=True)[1]
        n = int(np.sum(sample.y == 1))
        recalls: list[Any] = [Fraction(round(float(r) * n), n) for r in curve.recall[first]]
        band = precision_recall_band(sample.y, sample.s, recall=recalls, prevalence=prevalence)
        np.testing.assert_allclose(band.precision, curve.precision[first], rtol=1e-14)


def test_whole_weights_are_repeated_rows_and_real_ones_are_refused() -> None:
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 60), rng.normal(size=60).round(1)
    weights = rng.integers(0, 4, 60)
    options: dict[str, Any] = {"simultaneous": False, "confidence_level": Fraction(9, 10)}
    for of, make in ((roc_band_of, roc_band), (precision_recall_band_of, precision_recall_band)):
        counts = fastad.rank_scores(y, s, sample_weight=weights).counts
        weighted: Any = of(counts, None, **options)
        repeated: Any = make(y.repeat(weights), s.repeat(weights), confidence_level=0.9)
        np.testing.assert_array_equal(weighted.low, repeated.low)
        np.testing.assert_array_equal(weighted.high, repeated.high)
        counts = fastad.rank_scores(y, s, sample_weight=weights + 0.5).counts
        with pytest.raises(InvalidInputError, match="sample_weight must contain integers"):
            of(counts, None, **options)


@pytest.mark.parametrize("level", [Fraction(1, 10**100), 1e-9, 1 - Fraction(1, 10**100)])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_levels_near_0_and_1(level: Any, simultaneous: bool) -> None:
    rng = np.random.default_rng(0)
    y, s = np.repeat([0, 1], [300, 20]), rng.normal(size=320)
    for make in BANDS:
        band = make(y, s, confidence_level=level, simultaneous=simultaneous)
        assert (band.low <= x_and_y(band)[1]).all()
        assert (x_and_y(band)[1] <= band.high).all()


def test_the_largest_number_of_samples() -> None:
    options: dict[str, Any] = {"simultaneous": True, "confidence_level": Fraction(95, 100)}
    weights = np.array([10**10, 10**10, 10])
    counts = fastad.rank_scores([0, 1, 0], [0, 1, 2], sample_weight=weights - [10, 0, 0]).counts
    band = roc_band_of(counts, [Fraction(1, 10**9), Fraction(1, 2)], **options)
    # Ten normals are beyond all anomalies, and a thousand millionth is as many.
    assert band.low == pytest.approx([0, 1], abs=1e-8)
    counts = fastad.rank_scores([0, 1, 0], [0, 1, 2], sample_weight=weights).counts
    with pytest.raises(InvalidInputError, match="at most 10000000000 samples of a class"):
        roc_band_of(counts, None, **options)


def test_results_do_not_change() -> None:
    y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    for make in BANDS:
        band = make(y, s)
        for values in (*x_and_y(band), band.low, band.high):
            assert not values.flags.writeable
        with pytest.raises(FrozenInstanceError):
            band.low = band.high  # type: ignore[misc]
    given_rates = roc_band(y, s, fpr=[0.5, 0.1, 0.5])
    assert given_rates.fpr.tolist() == [0.5, 0.1, 0.5]
    assert given_rates.low[0] == given_rates.low[2]
    assert roc_band(y, s, fpr=0.5).low.tolist() == given_rates.low[:1].tolist()
    named = ["bad" if label else "good" for label in y]
    assert roc_band(named, s, pos_label="bad").low.tolist() == roc_band(y, s).low.tolist()


@pytest.mark.parametrize("make", BANDS)
@pytest.mark.parametrize("present", [0, 1])
def test_both_classes_are_needed(make: Callable[..., Band], present: int) -> None:
    with pytest.raises(UndefinedMeasureError, match=f"{make.__name__} is undefined without"):
        make([present] * 3, [1, 2, 3])


@pytest.mark.parametrize("make", BANDS)
@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"confidence_level": 1}, "confidence_level must lie strictly between 0 and 1"),
        ({"confidence_level": 0.0}, "confidence_level must lie strictly between 0 and 1"),
        ({"confidence_level": 95}, "confidence_level must lie in"),
        ({"confidence_level": "0.95"}, "confidence_level must be a number"),
        ({"confidence_level": math.nan}, "confidence_level must be finite"),
        ({"simultaneous": "yes"}, "simultaneous must be True or False"),
        ({"pos_label": "bad"}, "pos_label|y_true"),
    ],
)
def test_invalid_options_are_named(
    make: Callable[..., Band], keywords: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        make([0, 1], [0, 1], **keywords)


def test_invalid_points_and_scores_are_named() -> None:
    makers: tuple[tuple[Callable[..., Band], str], ...] = (
        (roc_band, "fpr"),
        (precision_recall_band, "recall"),
    )
    for make, name in makers:
        for bad in ([0.1, 1.5], -0.1, [], [math.nan], "0.1", [[0.1]]):
            with pytest.raises((InvalidInputError, TypeError), match=name):
                make([0, 1], [0, 1], **{name: bad})
        with pytest.raises(InvalidInputError, match="y_score must not contain NaN"):
            make([0, 1], [0, np.nan])
        with pytest.raises(InvalidInputError, match="one score for each label"):
            make([0, 1], [0, 1, 2])
    with pytest.raises(InvalidInputError, match="prevalence"):
        precision_recall_band([0, 1], [0, 1], prevalence=1)
