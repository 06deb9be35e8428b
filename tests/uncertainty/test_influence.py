"""Influences against derivatives of the measures themselves, and DeLong's placements."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.samples.closed_forms import acceleration, variance
from fastad.uncertainty.samples.influence import INFLUENCES, Influence, influence
from tests.support import oracles
from tests.support.strategies import Sample, samples

RANGE = {"score_range": (-2, 12)}
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("roc_auc", {}),
    ("auc_at_fpr", {"fpr": 0.37}),
    ("auc_at_fpr", {"fpr": 0.37, "normalize": "none"}),
    ("auc_at_fpr", {"fpr": 0.83, "normalize": "mcclish"}),
    ("auc_at_fpr", {"fpr": 0.83, "min_fpr": 0.23}),
    ("auc_at_fpr", {"fpr": 0.83, "min_fpr": 0.23, "normalize": "none"}),
    ("auc_at_fpr", {"fpr": 0.87, "min_fpr": 0.04, "normalize": "mcclish"}),
    ("auc_at_fpr", {"fpr": 1e-3}),
    ("auc_at_fpr", {"fpr": 1}),
    ("auc_at_tpr", {"min_tpr": 0.57}),
    ("auc_at_tpr", {"min_tpr": 0.57, "normalize": "none"}),
    ("auc_at_tpr", {"min_tpr": 0.13, "normalize": "mcclish"}),
    ("auc_at_tpr", {"min_tpr": 0.13, "max_tpr": 0.71}),
    ("auc_at_tpr", {"min_tpr": 0, "max_tpr": 0.47, "normalize": "none"}),
    ("auc_at_tpr", {"min_tpr": 0.07, "max_tpr": 0.93, "normalize": "mcclish"}),
    ("average_precision", {}),
    ("average_precision", {"prevalence": 0.03}),
    ("average_precision", {"prevalence": 0.9}),
    ("pr_auc", {}),
    ("pr_auc", {"prevalence": 0.03}),
    ("pr_auc", {"prevalence": 0.9}),
    ("precision_gain_auc", {}),
    ("weighted_auc", {}),
    ("rp_auc", RANGE),
    ("probabilistic_auc", RANGE),
    ("scored_auc", RANGE),
    ("log_auc", {"min_fpr": 0.23, "max_fpr": 0.83}),
    ("log_auc", {"min_fpr": 1e-3, "max_fpr": 0.37}),
    ("log_auc", {"min_fpr": 0.04, "max_fpr": 1}),
    *((name, {"alpha": x}) for name in ("bedroc", "robust_initial_enhancement") for x in (0.3, 5)),
    ("detection_cost", {"threshold": 2}),
    ("detection_cost", {"threshold": 1.5, "prevalence": 0.2, "cost_miss": 10}),
]
# Cuts inside a tie: where a cut lies between two scores there is no derivative.
CUTS = [("ht_auc", 1), ("ht_auc", 3), ("lf_auc", 1), ("lf_auc", 4)]


def data(ties: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    rng = np.random.default_rng(5)
    y = np.array([0] * 19 + [1] * 11)
    s = rng.normal(4 + 1.7 * y, 2.0)
    if ties == "some":
        s = s.round()
    if ties == "heavy":
        s = np.clip(s // 3, 0, 2)
    if ties == "first":
        # The two highest scores are those of normals.
        s = np.r_[s.round(), [10.5, 11.0]]
        y = np.r_[y, [0, 0]]
    return y, np.clip(s, -2, 12)


def by_row(
    result: Influence, counts: OrderedCounts, y: npt.NDArray[Any], s: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    """The influence of each row, by its score."""
    falling = np.unique(s)[::-1].tolist()
    assert len(falling) == counts.keys.shape[0]
    positions = [falling.index(score) for score in s.tolist()]
    return np.where(y == 1, result.anomalies[positions], result.normals[positions])


def of_points(result: Influence, counts: OrderedCounts) -> npt.NDArray[np.float64]:
    """The influences of the points that there are, first of anomalies, then of normals."""
    anomalies = np.repeat(result.anomalies, np.diff(counts.tps))
    return np.concatenate([anomalies, np.repeat(result.normals, np.diff(counts.fps))])


def slopes(
    value: Callable[[npt.NDArray[Any]], float], y: npt.NDArray[Any], step: float, base: float
) -> npt.NDArray[np.float64]:
    """Derivative of a measure as mass moves to one row from all of its class."""

    def moved(row: int, fraction: float) -> float:
        of_class = y == y[row]
        weights = np.where(of_class, base * (1 - fraction), base)
        weights[row] += base * fraction * np.count_nonzero(of_class)
        whole = np.rint(weights)
        return value(whole.astype(np.int64) if base > 1 else weights)

    rows = range(len(y))
    return np.array([(moved(i, step) - moved(i, -step)) / (2 * step) for i in rows])


def test_every_measure_with_influences_is_tried() -> None:
    assert set(MEASURES) >= set(INFLUENCES)
    assert {name for name, _ in [*OPTIONS, *CUTS]} == set(INFLUENCES)


@pytest.mark.parametrize("ties", ["none", "some", "heavy", "first"])
@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_influences_are_derivatives(name: str, options: dict[str, Any], ties: str) -> None:
    y, s = data(ties)
    bound = bind(name, options)
    counts = count(y, s)
    expected = slopes(lambda w: bound.value(count(y, s, sample_weight=w)), y, 1e-5, 1.0)
    result = by_row(influence(counts, bound), counts, y, s)
    # A central difference is wrong by its step squared, and by rounding over the step.
    assert result == pytest.approx(expected, abs=2e-8)
    # Below the highest normals' scores a curve is 0 up to an FPR of 1/20 or so.
    assert np.ptp(result) > (-1 if ties == "first" and options.get("fpr") == 1e-3 else 1e-3)


@pytest.mark.parametrize("ties", ["some", "heavy"])
@pytest.mark.parametrize(("name", "k"), CUTS)
def test_influences_of_cut_areas_are_derivatives(name: str, k: int, ties: str) -> None:
    y, s = data(ties)
    n, m = int(y.sum()), int((y == 0).sum())
    bound = bind(name, {"alpha": Fraction(k, m if name == "ht_auc" else n)})
    counts = count(y, s)
    cumulative = counts.fps if name == "ht_auc" else counts.tps
    if k in cumulative:
        k += 1
        bound = bind(name, {"alpha": Fraction(k, m if name == "ht_auc" else n)})
    assert k not in cumulative
    expected = slopes(lambda w: bound.value(count(y, s, sample_weight=w)), y, 1e-4, 1e7)
    result = by_row(influence(counts, bound), counts, y, s)
    assert result == pytest.approx(expected, abs=2e-6)
    assert np.ptp(result) > 0.01


@pytest.mark.parametrize("ties", ["two", "heavy"])
def test_influences_on_the_exact_weighted_area_are_derivatives(ties: str) -> None:
    """It takes no weights, so that the curve of weights is integrated here, from 1 / m on."""
    y, s = data("none" if ties == "two" else ties)
    if ties == "two":
        # The two highest normals have one score: else the range begins at a corner of the curve,
        # where there is no derivative.
        first = np.sort(s[y == 0])[-2:]
        s[s == first[0]] = first[1]
    counts = count(y, s)
    assert 1 not in counts.fps

    def area(weights: npt.NDArray[Any]) -> float:
        falling = np.unique(s)[::-1]
        mass = [
            np.array([weights[(s == score) & (y == label)].sum() for score in falling])
            for label in (0, 1)
        ]
        x, z = (np.concatenate([[0.0], np.cumsum(x) / x.sum()]) for x in mass)
        corners = np.unique(np.concatenate([x[x > 1 / 19], [1 / 19]]))
        total = 0.0
        for low, high in pairwise(corners.tolist()):
            # On a piece the curve is a + b x, and its integral over x is a log(x) + b x.
            at = [float(np.interp(low + part * (high - low), x, z)) for part in (1 / 3, 2 / 3)]
            b = (at[1] - at[0]) * 3 / (high - low)
            a = at[0] - b * (low + (high - low) / 3)
            total += a * math.log(high / low) + b * (high - low)
        return total

    bound = bind("weighted_auc", {"quadrature": "exact"})
    assert area(np.ones(len(y))) == pytest.approx(bound.value(counts), rel=1e-12)
    result = by_row(influence(counts, bound), counts, y, s)
    assert result == pytest.approx(slopes(area, y, 1e-5, 1.0), abs=1e-7)
    assert np.ptp(result) > 1


@pytest.mark.parametrize("ties", ["none", "some", "heavy"])
@pytest.mark.parametrize(
    ("name", "end", "options"),
    [
        ("auc_at_fpr", "fpr", {"normalize": "none"}),
        ("auc_at_fpr", "min_fpr", {"normalize": "none", "fpr": 1}),
        ("auc_at_tpr", "min_tpr", {"normalize": "none"}),
        ("auc_at_tpr", "max_tpr", {"normalize": "none", "min_tpr": 0}),
    ],
)
def test_an_end_on_a_point_of_the_curve_is_one_just_beyond_it(
    name: str, end: str, options: dict[str, Any], ties: str
) -> None:
    """Where the curve is upright the measure has two derivatives; this is the upper one."""
    y, s = data(ties)
    counts = count(y, s)
    total = int(counts.n_normals if "fpr" in end else counts.n_anomalies)
    for k in range(1, total):
        at, beyond = (
            influence(counts, bind(name, {**options, end: Fraction(k, total) + shift}))
            for shift in (Fraction(0), Fraction(1, 10**12))
        )
        assert at.anomalies == pytest.approx(beyond.anomalies, abs=1e-9)
        assert at.normals == pytest.approx(beyond.normals, abs=1e-9)


def smooth_measures(sample: Sample) -> list[BoundMeasure]:
    """Every smooth measure, those of values only where scores are numbers in a range."""
    n, m = int(sample.y.sum()), sample.n_normals
    results = [bind(name, options) for name, options in OPTIONS if options is not RANGE]
    results.append(bind("weighted_auc", {"quadrature": "exact"}))
    results += [bind("ht_auc", {"alpha": Fraction(k, 3)}) for k in range(4)]
    results += [bind("lf_auc", {"alpha": Fraction(k, 3)}) for k in range(4)]
    results += [bind("auc_at_fpr", {"fpr": Fraction(k + 1, m)}) for k in range(m)]
    results += [bind("auc_at_tpr", {"min_tpr": Fraction(k, n)}) for k in range(n)]
    return results


@given(samples(both=True))
def test_influences_average_to_0_over_each_class(sample: Sample) -> None:
    counts = count(sample.y, sample.s)
    for bound in smooth_measures(sample):
        result = influence(counts, bound)
        # No influence exceeds 10 or so, but of the measures with a prevalence.
        size = 1 + max(np.abs(result.anomalies).max(), np.abs(result.normals).max())
        assert abs(np.dot(result.anomalies, np.diff(counts.tps))) < 1e-12 * size
        assert abs(np.dot(result.normals, np.diff(counts.fps))) < 1e-12 * size


@given(samples(both=True, weights="integer"))
def test_whole_weights_are_repeated_rows(sample: Sample) -> None:
    assert sample.w is not None
    times = sample.w.astype(np.int64)
    y, s = np.repeat(sample.y, times), np.repeat(sample.s, times)
    assume(np.unique(y).shape[0] == 2)
    weighted, repeated = count(sample.y, sample.s, sample_weight=sample.w), count(y, s)
    for bound in smooth_measures(Sample(y, s)):
        result, expected = influence(weighted, bound), influence(repeated, bound)
        assert result.anomalies.tobytes() == expected.anomalies.tobytes()
        assert result.normals.tobytes() == expected.normals.tobytes()


@given(samples(both=True))
def test_influences_on_the_area_are_placements(sample: Sample) -> None:
    counts = count(sample.y, sample.s)
    result = influence(counts, bind("auc", {}))
    above, below = oracles.placements(oracles.rows(sample.y, sample.s))
    # By falling score, as the counts are.
    for values, cumulative, placed in (
        (result.anomalies, counts.tps, above),
        (result.normals, counts.fps, below),
    ):
        mean = sum(placed, Fraction(0)) / len(placed)
        expected = sorted(float(x - mean) for x in placed)
        assert sorted(np.repeat(values, np.diff(cumulative))) == pytest.approx(expected, abs=1e-14)


@given(samples(both=True), st.sampled_from([None, "mcclish", "none"]))
def test_the_whole_range_is_the_area(sample: Sample, normalize: str | None) -> None:
    counts = count(sample.y, sample.s)
    options = {} if normalize is None else {"normalize": normalize}
    whole = of_points(influence(counts, bind("auc", {})), counts)
    for name, given_options in (
        ("auc_at_fpr", {"fpr": 1, **options}),
        ("auc_at_tpr", {"min_tpr": 0, **options}),
        ("ht_auc", {"alpha": 0}),
        ("lf_auc", {"alpha": 1}),
    ):
        part = of_points(influence(counts, bind(name, given_options)), counts)
        assert part == pytest.approx(whole, abs=1e-14)


def test_partial_influences_add_up() -> None:
    y, s = data("some")
    counts = count(y, s)
    parts = [
        influence(counts, bind("auc_at_fpr", {**ends, "normalize": "none"}))
        for ends in ({"fpr": 0.21}, {"min_fpr": 0.21, "fpr": 0.6}, {"min_fpr": 0.6, "fpr": 1})
    ]
    whole = influence(counts, bind("auc", {}))
    for of_class in range(2):
        total = sum(part[of_class] for part in parts)
        assert total == pytest.approx(whole[of_class], abs=1e-14)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_variance_and_acceleration_by_rows(name: str, options: dict[str, Any]) -> None:
    y, s = data("some")
    counts, bound = count(y, s), bind(name, options)
    result = influence(counts, bound)
    rows = by_row(result, counts, y, s)
    squares = cubes = spread = 0.0
    for of_class in range(2):
        values = rows[y == of_class]
        spread += float(np.var(values, ddof=1)) / len(values)
        squares += float(np.sum((values / len(values)) ** 2))
        cubes += float(np.sum((values / len(values)) ** 3))
    assert variance(counts, result) == pytest.approx(spread, rel=1e-12)
    assert acceleration(counts, result) == pytest.approx(cubes / 6 / squares**1.5, rel=1e-10)


# Of 150 normals none lies within an FPR of 0.001, and at a prevalence of 0.03 each of them weighs
# as much as seventeen: there the first order is not enough.
@pytest.mark.evidence
@pytest.mark.parametrize(
    ("name", "options"),
    [case for case in OPTIONS if 1e-3 not in case[1].values() and 0.03 not in case[1].values()],
)
def test_the_variance_is_that_of_new_samples(name: str, options: dict[str, Any]) -> None:
    """200 samples of 80 and 150 points: the variance of the values, and the mean estimate."""
    rng = np.random.default_rng(11)
    bound = bind(name, options)
    y = np.r_[np.zeros(150, int), np.ones(80, int)]
    values, estimates = [], []
    for _ in range(200):
        counts = count(y, np.clip(rng.normal(4 + 2 * y, 1.5).round(1), -2, 12))
        values.append(bound.value(counts))
        estimates.append(variance(counts, influence(counts, bound)))
    # The variance of 200 values is right to 10 %, the linearisation to some per cent more.
    assert np.mean(estimates) / np.var(values, ddof=1) == pytest.approx(1, abs=0.3)
