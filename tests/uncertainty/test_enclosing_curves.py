"""Intervals from curves that enclose that of the population, against literal constructions."""

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import beta, binomtest

import fastad
from fastad._core.random import random_key
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.curves import many
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.uncertainty.intervals import enclosing_curves
from fastad.uncertainty.intervals.enclosing_curves import (
    fiducial,
    fiducial_values,
    has_fiducial,
    order_interval,
    step_at,
)
from tests.support.strategies import Sample, samples

RISING = [
    "auc",
    "eer",
    "auc@0.1",
    "tpr@0.1",
    "fpr@tpr0.8",
    "auc@tpr0.7",
    "ap",
    "auc_pr",
    "f1_best",
    "recall@precision0.5",
    "precision@k3",
    "recall@k4",
    "f1@0.2",
    "precision@fpr0.2",
    "np@0.1",
    "auc_log@0.01",
    "ef@0.3",
    "rie@20",
    "bedroc@5",
    "mindcf@0.3",
    "precision@recall0.5",
]


def test_all_measures_that_rise_with_the_curve_are_tried() -> None:
    declared = {row.name for row in MEASURES.values() if row.rises_with_curve}
    assert {bind(key, {}).measure.name for key in RISING} == declared


@pytest.mark.parametrize("key", RISING)
@given(st.lists(st.booleans(), min_size=4, max_size=14), st.data())
def test_a_higher_curve_has_no_worse_value(
    key: str, labels: list[bool], data: st.DataObject
) -> None:
    """Exchange a normal sample with the anomaly just below it, with real weights too."""
    # A normal sample above an anomaly.
    lower = [i for i in range(len(labels) - 1) if not labels[i] and labels[i + 1]]
    assume(lower)
    i = data.draw(st.sampled_from(lower))
    better = labels.copy()
    better[i], better[i + 1] = better[i + 1], better[i]
    weights = data.draw(st.sampled_from([None, 0.5, 1.7]))
    bound = bind(key, {})
    values = []
    for each in (labels, better):
        sample_weight = None if weights is None else np.where(each, weights, 1.0)
        counts = count(each, -np.arange(len(each)), sample_weight=sample_weight)
        values.append(bound.value_or_nan(counts))
    before, after = values if bound.measure.higher_is_better else values[::-1]
    # Precision where nothing was flagged was undefined.
    assert np.isnan(before) or np.isnan(after) or after >= before - 1e-12


def literal_curves(
    labels: list[bool], tpr: list[float], fpr: list[float]
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Return the corners of both curves for distinct scores, sample by sample from the highest.

    A rate at rank r is that of the r-th sample; below all samples it is 1.
    """
    lower, upper = [(0.0, 0.0), (fpr[1], 0.0)], [(0.0, 0.0), (0.0, tpr[1])]
    n, m = 0, 0
    for is_anomaly in labels:
        n, m = n + is_anomaly, m + (not is_anomaly)
        # At worst, the next normal sample's rate is reached before this anomaly's.
        lower.append((fpr[m + 1], tpr[n]))
        upper.append((fpr[m], tpr[n + 1]))
    return [*lower, (1.0, 1.0)], [*upper, (1.0, 1.0)]


def literal_area(corners: list[tuple[float, float]]) -> float:
    pairs = pairwise(corners)
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairs)


def test_random_curves_follow_the_literal_construction() -> None:
    labels = [True, False, True, True, False, False, True, False, False]
    counts = count(labels, -np.arange(9))
    values = fiducial_values(counts, [bind("auc", {})], 20, np.uint64(5))[0]
    rng = np.random.Generator(np.random.Philox(key=[5, 0]))
    drawn = [rng.standard_gamma(np.ones((20, size + 1))) for size in (4, 5)]
    for replicate in range(20):
        rates = [
            [0.0, *(np.cumsum(each[replicate]) / each[replicate].sum()).tolist()] for each in drawn
        ]
        for end, corners in enumerate(literal_curves(labels, *rates)):
            # Counted in parts of a sample, of which there are some 10^8.
            assert values[end, replicate] == pytest.approx(literal_area(corners), abs=1e-7)


def test_one_rate_gives_the_interval_of_clopper_and_pearson() -> None:
    """Half of 40 anomalies lie above all of very many normals, the others below."""
    labels = np.repeat([1, 0, 1], [20, 30_000, 20])
    counts = count(labels, -np.arange(labels.size))
    bound = bind("tpr@0.5", {})
    values = fiducial_values(counts, [bound], 4000, np.uint64(0))[0]
    low, high = fiducial(bound, values, 0.05)
    # Quantiles of 4 000 draws.
    assert low == pytest.approx(beta.ppf(0.025, 20, 21), abs=0.012)
    assert high == pytest.approx(beta.ppf(0.975, 21, 20), abs=0.012)


@pytest.mark.parametrize("key", [key for key in RISING if has_fiducial(bind(key, {}))])
@given(st.data())
def test_the_lower_curve_is_no_better_than_the_upper(key: str, data: st.DataObject) -> None:
    labels = [True, False, *data.draw(st.lists(st.booleans(), max_size=12))]
    scores = data.draw(st.lists(st.integers(0, 6), min_size=len(labels), max_size=len(labels)))
    bound = bind(key, {})
    lower, upper = fiducial_values(count(labels, scores), [bound], 8, np.uint64(3))[0]
    if not bound.measure.higher_is_better:
        lower, upper = upper, lower
    defined = ~(np.isnan(lower) | np.isnan(upper))
    assert np.all(lower[defined] <= upper[defined] + 1e-6)


def test_threads_and_other_measures_leave_the_curves_as_they_are() -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(300) < 0.3
    counts = count(labels, rng.normal(size=300))
    measures = [bind(key, {}) for key in ("auc", "ap")]
    together = fiducial_values(counts, measures, 50, np.uint64(1))
    for i, bound in enumerate(measures):
        alone = fiducial_values(counts, [bound], 50, np.uint64(1))[0]
        assert np.array_equal(alone, together[i])


@pytest.mark.slow
def test_some_corners_of_large_samples_have_the_quantiles_of_all() -> None:
    """One anomaly in ten lies at one score with normals."""
    rng = np.random.default_rng(0)
    labels = np.arange(8000) < 3000
    scores = rng.normal(1.5 * labels)
    scores = np.where(rng.random(8000) < 0.1, 1.0, scores)
    counts = count(labels, scores)
    keys = ("auc", "ap", "eer", "tpr@0.01", "fpr@tpr0.9", "auc@tpr0.9", "precision@recall0.5")
    measures = [bind(key, {}) for key in keys]
    some = fiducial_values(counts, measures, 1000, np.uint64(1))
    all_corners: dict[str, Any] = {"_MOST_CORNERS": 10**6, "_MOST_CORNERS_OF_AREAS": 10**6}
    with mock.patch.multiple(enclosing_curves, **all_corners):
        every = fiducial_values(counts, measures, 1000, np.uint64(2))
    assert not np.array_equal(some, every)
    deviations = every.std(axis=2)
    # Means and quantiles of 1 000 curves, 4.5 standard errors.
    np.testing.assert_array_less(abs(some.mean(axis=2) - every.mean(axis=2)), 0.2 * deviations)
    for level in (0.05, 0.95):
        both = [np.quantile(values, level, axis=2) for values in (some, every)]
        np.testing.assert_array_less(abs(both[0] - both[1]), 0.42 * deviations)


@pytest.mark.slow
def test_corners_of_few_samples_are_all_drawn() -> None:
    """One tie of all but the highest scores leaves few corners, and the top of the curve."""
    rng = np.random.default_rng(7)
    n = 100_000
    labels = np.repeat([1, 0], n)
    scores = rng.normal(0.5 * labels)
    tied = np.maximum(scores, np.partition(scores, -2000)[-2000])
    measures = [bind(key, {}) for key in ("precision@k10", "precision@k30", "tpr@3e-05")]
    some, every = (
        fiducial_values(count(labels, each), measures, 2000, np.uint64(1))
        for each in (scores, tied)
    )
    deviations = every.std(axis=2)
    np.testing.assert_allclose(some.std(axis=2), deviations, rtol=0.1)
    np.testing.assert_array_less(abs(some.mean(axis=2) - every.mean(axis=2)), 0.15 * deviations)
    if_kept = enclosing_curves._resolved(count(labels, scores), np.arange(2 * n + 1), 2**12)
    assert if_kept[:10].tolist() == list(range(10))


def order_by_search(
    counts: OrderedCounts, bound: BoundMeasure, fpr: Fraction
) -> tuple[float, float]:
    """Bound the measure by trying all thresholds, for scores without ties."""
    n, m, alpha = int(counts.n_anomalies), int(counts.n_normals), 0.05

    def ends(rank: int, size: int) -> tuple[float, float]:
        if rank < 1:
            return 0.0, 0.0
        if rank > size:
            return 1.0, 1.0
        return (
            beta.ppf(alpha / 2, rank, size - rank + 1),
            beta.ppf(1 - alpha / 2, rank, size - rank + 1),
        )

    within = max(r for r in range(m + 2) if ends(r, m)[1] <= fpr)
    beyond = max(r for r in range(m + 2) if ends(r, m)[0] <= fpr) + 1
    # Anomalies strictly above the one normal sample, and down to the other.
    above = max(
        (tp for fp, tp in zip(counts.fps, counts.tps, strict=True) if fp < within), default=0
    )
    above = n + 1 if within > m else above
    below = min(
        (tp for fp, tp in zip(counts.fps, counts.tps, strict=True) if fp >= beyond), default=n
    )
    low, high = ends(above, n)[0], ends(min(below, n) + 1, n)[1]

    def value(tpr: float) -> float:
        tp, fp = tpr * n, float(fpr) * m
        if bound.measure.name == "precision_at_fpr":
            return tp / (tp + fp)
        return 2 * tp / (tp + fp + n)

    return value(low), value(high)


@pytest.mark.parametrize("key", ["f1@0.2", "precision@fpr0.2"])
@pytest.mark.parametrize("seed", range(6))
def test_order_intervals_of_f1_and_precision(key: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.arange(70) < rng.integers(5, 30)
    counts = count(labels, rng.normal(size=70) + 2 * labels)
    bound = bind(key, {})
    low, high = order_interval(counts, bound, Fraction(95, 100))
    assert (low, high) == pytest.approx(order_by_search(counts, bound, Fraction(1, 5)), abs=1e-9)


def of_levels(normals: list[int], anomalies: list[int]) -> OrderedCounts:
    """Return counts of scores with so many samples of each class at each level, highest first."""
    levels = -np.arange(len(normals))
    scores = np.concatenate([np.repeat(levels, normals), np.repeat(levels, anomalies)])
    return count(np.arange(scores.size) >= sum(normals), scores)


def clopper_pearson(k: int, size: int) -> tuple[float, float]:
    low = 0.0 if k == 0 else beta.ppf(0.025, k, size - k + 1)
    return low, 1.0 if k == size else beta.ppf(0.975, k + 1, size - k)


LEVELS = [
    ([10, 40, 150], [60, 30, 10]),  # 5 % is at the end of a tie
    ([2, 40, 158], [20, 60, 20]),  # and within one
    ([4, 3, 3, 190], [5, 60, 20, 15]),
    ([0, 30, 170], [10, 60, 30]),
]


@pytest.mark.parametrize("key", ["f1@0.05", "precision@fpr0.05", "tpr@0.05"])
@pytest.mark.parametrize(("normals", "anomalies"), LEVELS)
def test_order_intervals_of_ties_are_boxes_of_the_thresholds(
    key: str, normals: list[int], anomalies: list[int]
) -> None:
    """No threshold parts a tie: both rates of each that is possible are binomial."""
    counts, m, n = of_levels(normals, anomalies), sum(normals), sum(anomalies)
    bound = bind(key, {})
    if key == "tpr@0.05":
        bound = bind("tpr_at_fpr", {"fpr": 0.05, "interpolation": "conservative"})
    fps, tps = np.cumsum([0, *normals]), np.cumsum([0, *anomalies])
    # A threshold is possible unless its own FPR is too high, or that of the next one too low.
    possible = [
        i
        for i in range(len(fps) - 1)
        if clopper_pearson(fps[i], m)[0] <= 0.05
        and fps[i + 1] > 0
        and beta.ppf(0.975, fps[i + 1], m - fps[i + 1] + 1) > 0.05
    ]
    assert possible

    def value(tpr: float, fpr: float) -> float:
        tp, fp = tpr * n, fpr * m
        if key == "tpr@0.05":
            return tpr
        return tp / (tp + fp) if key.startswith("precision") else 2 * tp / (tp + fp + n)

    boxes = []
    for i in possible:
        tpr_low, tpr_high = clopper_pearson(tps[i], n)
        fpr_low, fpr_high = clopper_pearson(fps[i], m)
        boxes.append((value(tpr_low, min(fpr_high, 0.05)), value(tpr_high, fpr_low)))
    low, high = order_interval(counts, bound, Fraction(95, 100))
    expected = min(box[0] for box in boxes), max(box[1] for box in boxes)
    if len(possible) <= 2:
        assert (low, high) == pytest.approx(expected)
    assert low <= expected[0] + 1e-12
    assert high >= expected[1] - 1e-12


def heights(curves: FloatMatrix, at: FloatVector) -> FloatVector:
    """Return the height of each curve, whose corners these are, at a place of its own."""
    return np.array(
        [np.interp(x, [0, *xs, 1], [0, *ys, 1]) for x, (xs, ys) in zip(at, curves, strict=True)]
    )


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("rate", [0.04, 0.1, 0.2, 0.42])
def test_the_fiducial_interval_of_ties_is_that_of_each_line(rate: float, *, swapped: bool) -> None:
    """From the rates of the corners: what lies on the tie's own line, and before or after it."""
    normals, anomalies = [16, 50, 94], [3, 50, 12]
    n, m, draws, rng = sum(anomalies), sum(normals), 6000, np.random.default_rng(0)
    ends = []
    for beyond in (0, 1):
        # Normals above a corner, one more on the lower curve; anomalies, one more on the upper one.
        corners = []
        for of_levels_, size, more in ((normals, m, 1 - beyond), (anomalies, n, beyond)):
            ranks = np.cumsum([0, *of_levels_]) + more
            gaps = np.diff([0, *ranks, size + 1]).astype(float)
            spacings = rng.standard_gamma(np.maximum(gaps, 1e-300), (draws, gaps.size))
            spacings[:, gaps == 0] = 0
            corners.append(np.cumsum(spacings, axis=1)[:, :-1] / spacings.sum(axis=1)[:, None])
        curves = np.stack(corners, axis=1)
        near = [
            curves[:, 0, i]
            for i, k in ((1, normals[0]), (2, sum(normals[:2])))
            if is_open(k, m, rate)
        ]
        alpha = (0.025, 0.975)[beyond]
        places = [np.full(draws, rate)]
        places += [(np.minimum, np.maximum)[beyond](rate, corner) for corner in near]
        of_places = [np.quantile(heights(curves, place), alpha) for place in places]
        ends.append((min, max)[beyond](of_places))
    counts = of_levels(normals, anomalies)
    bound = bind("tpr_at_fpr", {"fpr": rate})
    if swapped:
        counts = of_levels(anomalies[::-1], normals[::-1])
        bound = bind("fpr_at_tpr", {"tpr": 1 - rate})
        ends = [1 - ends[1], 1 - ends[0]]
    step = step_at(counts, bound)
    assert step is not None
    assert step.is_tie
    values = fiducial_values(counts, [bound], draws, np.uint64(0))[0]
    # Quantiles of 6 000 draws.
    assert fiducial(bound, values, 0.05) == pytest.approx(ends, abs=0.02)


def is_open(k: int, size: int, rate: float) -> bool:
    """Return whether the rate of a corner with so many samples above may be this one."""
    low, high = (beta.ppf(p, k, size - k + 1) for p in (0.025, 0.975))
    return bool(low <= rate <= high)


def smooth(n: int, m: int) -> OrderedCounts:
    """Return counts of a smooth curve: quantiles of N(0, 1), and of N(1.5, 1)."""
    normals, anomalies = (ndtri((np.arange(size) + 0.5) / size) for size in (m, n))
    scores = np.concatenate([normals, anomalies + 1.5])
    return count(np.arange(n + m) >= m, scores)


@pytest.mark.parametrize("key", ["tpr@0.05", "f1@0.05", "precision@fpr0.05"])
def test_a_gap_with_many_anomalies_is_a_step(key: str) -> None:
    """Of 1 000 normals 50 lie above a gap in which there are half of 200 anomalies."""
    bound = bind(key, {})
    labels = np.repeat([0, 1, 0, 1], [950, 100, 50, 100])
    assert step_at(count(labels, np.arange(1200)), bound)
    assert not step_at(count(labels, np.arange(1200)), bind(key.replace("0.05", "0.2"), {}))
    assert not step_at(smooth(200, 1000), bound)
    # Ties that have as much of the curve.
    assert step_at(count(labels, np.repeat([0, 1, 2, 3], [950, 100, 50, 100])), bound)


def test_a_gap_with_many_normals_is_a_step_at_a_rate_of_anomalies() -> None:
    """Of 200 anomalies 190 lie above a gap in which there are 300 of 1 000 normals."""
    labels = np.repeat([0, 1, 0, 1], [500, 10, 300, 190])
    scores = np.concatenate([np.linspace(0, 1, 500), np.linspace(0.9, 1, 10), np.full(300, 2)])
    scores = np.append(scores, np.linspace(3, 4, 190))
    for spread in (0.0, 1e-3):
        moved = scores + spread * np.where(scores == 2, np.arange(1000), 0) / 1000
        assert step_at(count(labels, moved), bind("fpr@tpr0.95", {}))
        assert not step_at(count(labels, moved), bind("fpr@tpr0.5", {}))
        assert not step_at(count(labels, moved), bind("precision@recall0.95", {}))
    assert not step_at(smooth(200, 1000), bind("fpr@tpr0.8", {}))


def test_only_ties_are_steps_of_the_best_precision_at_a_recall() -> None:
    """Both classes at 2: of 200 anomalies, 185 above it or there, and of 1 000 normals 400."""
    bound = bind("precision@recall0.9", {})
    levels = np.repeat([0, 2, 3, 0, 2, 3], [600, 350, 50, 15, 35, 150])
    labels = np.repeat([0, 1], [1000, 200])
    assert step_at(count(labels, levels), bound)
    distinct = levels + np.random.default_rng(0).random(1200) / 2
    assert not step_at(count(labels, distinct), bound)


@pytest.mark.parametrize("interpolation", ["linear", "conservative"])
@pytest.mark.parametrize("rate", [0.0, 0.05, 0.5, 1.0])
@given(sample=samples(max_size=30, both=True))
def test_measures_of_many_curves_are_those_of_each(
    interpolation: str, rate: float, sample: Sample
) -> None:
    """Written by a kernel, and computed one by one from counts of parts of a sample."""
    points = {"interpolation": interpolation}
    measures = [
        bind("auc", {}),
        bind("eer", {}),
        bind("tpr_at_fpr", {"fpr": rate, **points}),
        bind("fpr_at_tpr", {"tpr": rate, **points}),
    ]
    if rate > 0:
        measures += [
            bind("auc_at_fpr", {"fpr": rate, "normalize": each}) for each in ("width", "none")
        ]
    prevalences = [None, rate] if 0 < rate < 1 else [None]
    measures += [
        bind(name, {"prevalence": each})
        for name in ("average_precision", "pr_auc")
        for each in prevalences
    ]
    counts = count(sample.y, sample.s)
    values = fiducial_values(counts, measures, 5, np.uint64(1))
    with mock.patch.object(enclosing_curves, "_kernel_of", return_value=None):
        expected = fiducial_values(counts, measures, 5, np.uint64(1))
    n = len(prevalences)
    # On lower curves the average precision is no more than along the curve.
    integrals = values[-n:, 0]
    assert np.all(values[-2 * n : -n, 0] <= np.minimum(integrals, expected[-2 * n : -n, 0]) + 1e-6)
    expected[-2 * n : -n, 0] = values[-2 * n : -n, 0]
    np.testing.assert_allclose(values, expected, atol=1e-6)
    # It is read from the same counts, and divided once.
    np.testing.assert_array_equal(values[1], expected[1])


@given(st.integers(1, 8), st.floats(0.01, 100), st.integers(0, 2**32))
def test_the_lower_precision_of_each_piece(k: int, ratio: float, seed: int) -> None:
    """At its end or along it, which is a mean over many points of a piece."""
    rng = np.random.default_rng(seed)
    xs, ys = np.sort(rng.choice(9, (2, k))) / 9
    at = np.linspace(0, 1, 4001)[1::2]
    expected = 0.0
    points = list(zip([0, *xs, 1], [0, *ys, 1], strict=True))
    for (x, y), (next_x, next_y) in pairwise(points):
        if next_y > y:
            along_x, along_y = ratio * (x + at * (next_x - x)), y + at * (next_y - y)
            along = np.mean(along_y / (along_x + along_y))
            expected += (next_y - y) * min(along, next_y / (ratio * next_x + next_y))
    value = np.empty(1)
    many.precisions(xs[np.newaxis], ys[np.newaxis], ratio, True, True, value)
    assert value == pytest.approx(expected, abs=1e-3)


@pytest.mark.evidence
def test_an_average_precision_at_chance_is_not_below_its_lower_bound() -> None:
    """Of random scores the mean precision over the TPR is the prevalence, in samples more."""
    bound, n_above, n_tried = bind("ap", {}), 0, 200
    for seed in range(n_tried):
        scores = np.random.default_rng(seed).random(250)
        counts = count(np.arange(250) < 50, scores)
        lower, _ = fiducial_values(counts, [bound], 200, np.uint64(seed))[0]
        n_above += np.quantile(lower, 0.05) > 0.2
    assert binomtest(n_above, n_tried, 0.05, "greater").pvalue > 1e-3


@pytest.mark.parametrize("key", ["ap", "auc_pr"])
def test_combined_intervals_contain_the_logit_and_the_middles_of_both_curves(key: str) -> None:
    """For a sample that the other one covers on each side, in quantiles of the means."""
    bound = bind(key, {})
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.arange(130) < 30
        scores = rng.standard_t(2, 130) + (1 + seed) * y
        counts = count(y, scores)
        options: Any = {"confidence_level": 0.9, "n_resamples": 300, "rng": 5}
        logit = fastad.interval(y, scores, measure=key, method="logit", confidence_level=0.9)
        curves = fiducial_values(counts, [bound], 300, random_key(5))[0]
        middles = np.sort((curves[0] + curves[1]) / 2)
        result = fastad.interval(y, scores, measure=key, method="combined", **options)
        # 5 % of 300 are 15, beyond which the quantiles are the next ones.
        assert result.low == min(logit.low, middles[math.floor(0.05 * 299)])
        assert result.high == max(logit.high, middles[math.ceil(0.95 * 299)])
        whole = fastad.interval(y, scores, measure=key, method="fiducial", **options)
        assert result.method == "combined"
        assert result.standard_error == whole.standard_error


@pytest.mark.parametrize("key", ["ap", "auc_pr"])
def test_without_variance_a_combined_interval_is_fiducial(key: str) -> None:
    y = np.arange(50) < 20
    results = [
        fastad.interval(y, y * 1.0, measure=key, method=method, n_resamples=200, rng=0)
        for method in ("combined", "fiducial")
    ]
    assert results[0] == results[1]
    assert results[0].method == "fiducial"


def test_random_curves_do_not_depend_on_how_many_are_drawn_together() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    counts, auc = count(y, rng.normal(size=4000) + y), [bind("auc", {})]
    reported: list[tuple[int, int | None]] = []
    values = fiducial_values(
        counts, auc, 70, np.uint64(1), lambda done, total: reported.append((done, total))
    )
    np.testing.assert_array_equal(values, fiducial_values(counts, auc, 70, np.uint64(1)))
    assert reported[-1] == (70, 70)
    assert len(np.unique(values)) == 140
