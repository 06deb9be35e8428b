"""Measures of the outlier literature and of score values equal their definitions.

Every definition is written out over points and pairs, in fractions.
"""

import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import pairwise, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.measures import (
    cost_auc,
    np_curve,
    np_score,
    pr_auc,
    rank_power,
    recall_at_precision,
    rp_distance,
    smooth_roc,
)
from tests.support.oracles import written

Points = tuple[list[int], list[int]]
HALF = Fraction(1, 2)


@st.composite
def points(draw: st.DrawFn, most: int = 12) -> Points:
    """Labels of both classes and scores with heavy ties."""
    n = draw(st.integers(2, most))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    assume(0 < sum(y) < n)
    s = draw(st.lists(st.integers(-4, 4), min_size=n, max_size=n))
    return y, s


rates = st.integers(0, 20).map(lambda k: k / 20)
positive = st.integers(1, 40).map(lambda k: k / 16)


def classes(sample: Points) -> tuple[list[int], list[int]]:
    y, s = sample
    return [v for v, label in zip(s, y, strict=True) if label], [
        v for v, label in zip(s, y, strict=True) if not label
    ]


def win(anomaly: Any, normal: Any) -> Fraction:
    return Fraction(1) if anomaly > normal else HALF if anomaly == normal else Fraction(0)


def curve(sample: Points) -> list[tuple[int, int]]:
    """Points (fp, tp) by falling threshold, from nothing flagged."""
    anomalies, normals = classes(sample)
    cuts = sorted({*anomalies, *normals}, reverse=True)
    return [(0, 0)] + [
        (sum(v >= cut for v in normals), sum(v >= cut for v in anomalies)) for cut in cuts
    ]


def mean_ranks(scores: Sequence[int]) -> list[Fraction]:
    """Rank 1 is the highest score; ties fraction the mean of their ranks."""
    return [
        Fraction(sum(v > score for v in scores)) + Fraction(sum(v == score for v in scores) + 1, 2)
        for score in scores
    ]


@given(points(), rates)
def test_trimmed_areas_drop_the_highest_normals_or_the_lowest_anomalies(
    sample: Points, alpha: float
) -> None:
    anomalies, normals = classes(sample)
    n, m = len(anomalies), len(normals)
    dropped, kept = (math.floor(written(alpha) * size) for size in (m, n))
    rest = sorted(normals, reverse=True)[dropped:]
    expected = sum((win(a, b) for a in anomalies for b in rest), Fraction(0)) / (m * n)
    ht_auc = fastad.measures.ht_auc(*sample, alpha=alpha)
    assert ht_auc == float(expected + Fraction(dropped, m))
    highest = sorted(anomalies, reverse=True)[:kept]
    expected = sum((win(a, b) for a in highest for b in normals), Fraction(0)) / (m * n)
    lf_auc = fastad.measures.lf_auc(*sample, alpha=alpha)
    assert lf_auc == float(expected + Fraction(n - kept, n))


@given(points(), positive)
def test_cost_auc_compares_ranks_in_a_ratio(sample: Points, cost_ratio: float) -> None:
    y, s = sample
    ranks = mean_ranks(s)
    c = written(cost_ratio)
    pairs = [
        win(ranks[j], c * ranks[i])
        for i in range(len(y))
        for j in range(len(y))
        if y[i] and not y[j]
    ]
    assert cost_auc(y, s, cost_ratio=cost_ratio) == float(sum(pairs) / len(pairs))
    assert cost_auc(y, s, cost_ratio=1) == fastad.roc_auc(y, s)


@settings(max_examples=25)
@given(points(most=6), st.integers(1, 6))
def test_rank_power_is_the_mean_over_orders_of_ties(sample: Points, k: int) -> None:
    y, s = sample
    assume(k <= len(y))
    ranks = mean_ranks(s)
    values = []
    for order in permutations(range(len(y))):
        if all(s[a] >= s[b] for a, b in pairwise(order)):
            results = [i for i in order[:k] if y[i]]
            j = len(results)
            if j == 0:
                with pytest.raises(UndefinedMeasureError, match="rank_power"):
                    rank_power(y, s, k=k)
                return
            values.append(Fraction(j * (j + 1)) / (2 * sum(ranks[i] for i in results)))
    expected = float(sum(values) / len(values))
    assert rank_power(y, s, k=k) == pytest.approx(expected, rel=1e-14)


@given(points(), positive)
def test_np_score_is_the_lowest_on_the_curve(sample: Points, alpha: float) -> None:
    anomalies, normals = classes(sample)
    a = written(alpha)
    scores = [
        max(Fraction(fp, len(normals)) - a, Fraction(0)) / a + 1 - Fraction(tp, len(anomalies))
        for fp, tp in curve(sample)
    ]
    assert np_score(*sample, alpha=alpha) == float(min(scores))
    result = np_curve(*sample, alpha=alpha).score
    np.testing.assert_allclose(result, [float(x) for x in scores], rtol=1e-15, atol=1e-15)


@given(points())
def test_the_equal_error_rate_lies_on_the_interpolated_curve(sample: Points) -> None:
    anomalies, normals = classes(sample)
    path = [
        (Fraction(fp, len(normals)), 1 - Fraction(tp, len(anomalies))) for fp, tp in curve(sample)
    ]
    for (x0, y0), (x1, y1) in pairwise(path):
        if x1 >= y1:
            t = (y0 - x0) / ((x1 - x0) - (y1 - y0))
            expected = float(x0 + t * (x1 - x0))
            # By its digits, as -0.0 would be equal to 0.0.
            assert repr(fastad.measures.equal_error_rate(*sample)) == repr(expected)
            break
    result = fastad.measures.det_curve(*sample)
    assert result.fpr.tolist() == [float(x) for x, _ in path]
    assert result.fnr.tolist() == [float(y) for _, y in path]


def prevalence_weight(sample: Points, prevalence: float | None) -> Fraction:
    anomalies, normals = classes(sample)
    if prevalence is None:
        return Fraction(1)
    p = written(prevalence)
    return (1 - p) / p * Fraction(len(anomalies), len(normals))


prevalences = st.none() | st.integers(1, 19).map(lambda k: k / 20)


@given(points(), prevalences)
def test_best_f1_and_its_highest_threshold(sample: Points, prevalence: float | None) -> None:
    weight = prevalence_weight(sample, prevalence)
    n = sum(sample[0])
    cuts = [math.inf, *sorted(set(sample[1]), reverse=True)]
    values = [Fraction(2 * tp) / (tp + weight * fp + n) for fp, tp in curve(sample)]
    result = fastad.best_f1(*sample, prevalence=prevalence)
    assert (result, result.threshold) == (float(max(values)), cuts[values.index(max(values))])


@given(points(), rates, prevalences)
def test_recall_at_precision(sample: Points, bound: float, prevalence: float | None) -> None:
    weight = prevalence_weight(sample, prevalence)
    n = sum(sample[0])
    cuts = [math.inf, *sorted(set(sample[1]), reverse=True)]
    good = [
        (tp, -i)
        for i, (fp, tp) in enumerate(curve(sample))
        if tp and tp / (tp + weight * fp) >= written(bound)
    ]
    if not good:
        with pytest.raises(UndefinedMeasureError, match="recall_at_precision"):
            recall_at_precision(*sample, precision=bound, prevalence=prevalence)
        return
    tp, i = max(good)
    result = recall_at_precision(*sample, precision=bound, prevalence=prevalence)
    assert (result, result.threshold) == (tp / n, cuts[-i])


@given(points(), prevalences)
def test_pr_auc_integrates_precision_along_the_straight_roc(
    sample: Points, prevalence: float | None
) -> None:
    """In 40 digits, with the logarithm as it stands in the closed form."""
    weight = prevalence_weight(sample, prevalence)
    with localcontext() as context:
        context.prec = 40
        total = Decimal(0)
        path = curve(sample)
        for (fp0, tp0), (fp1, tp1) in pairwise(path):
            if tp1 == tp0:
                continue
            dy = tp1 - tp0
            slope = weight * (fp1 - fp0) / dy
            a, b = 1 + slope, weight * fp0 - slope * tp0
            term = Decimal((dy / a).numerator) / (dy / a).denominator
            if b != 0:
                ratio = (a * tp1 + b) / (a * tp0 + b)
                log = (Decimal(ratio.numerator) / ratio.denominator).ln()
                term -= Decimal((b / a**2).numerator) / (b / a**2).denominator * log
            total += term
    result = pr_auc(*sample, prevalence=prevalence)
    assert result == pytest.approx(float(total) / sum(sample[0]), rel=2e-15)


def test_pr_auc_keeps_its_digits_where_the_closed_form_cancels() -> None:
    """One anomaly last of 10**5: the precision 1 / (1 + 99999) over a step of recall of 1."""
    y = np.zeros(100_000, int)
    y[0] = 1
    # From (99999, 0) straight up to (99999, 1): the integral of t / (t + 99999) over [0, 1].
    with localcontext() as context:
        context.prec = 40
        expected = float(1 - 99_999 * (Decimal(100_000) / 99_999).ln())
    assert pr_auc(y, np.arange(100_000)) == pytest.approx(expected, rel=1e-14)


@given(points())
def test_precision_gain_area(sample: Points) -> None:
    """By slices of the straight pieces, from where the recall gain is 0."""
    anomalies, normals = classes(sample)
    n, odds = len(anomalies), Fraction(len(anomalies), len(normals))
    start = Fraction(n * n, len(sample[0]))
    gains = []
    for (fp0, tp0), (fp1, tp1) in pairwise(curve(sample)):
        if tp1 < start:
            continue
        first = (start - tp0) / (tp1 - tp0) if tp0 < start else Fraction(0)
        for k in range(8):
            part = first + (1 - first) * Fraction(k, 7)
            fp, tp = fp0 + part * (fp1 - fp0), tp0 + part * (tp1 - tp0)
            gains.append((1 - odds * (n - tp) / tp, 1 - odds * fp / tp))
    area = sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(gains))
    result = fastad.measures.precision_gain_auc(*sample)
    assert result == pytest.approx(float(area), rel=1e-13, abs=1e-14)


percentages = st.integers(0, 40).map(lambda k: k * 2.5)


@given(points(), percentages)
def test_rp_distance_is_that_of_inverted_cdf_percentiles(sample: Points, p: float) -> None:
    def percentile(values: list[int], fraction: Fraction) -> int:
        return next(
            v
            for v in sorted(values)
            if Fraction(sum(x <= v for x in values)) >= fraction * len(values)
        )

    anomalies, normals = classes(sample)
    fraction = written(p) / 100
    expected = percentile(anomalies, 1 - fraction) - percentile(normals, fraction)
    assert rp_distance(*sample, p=p) == expected
    result = fastad.measures.class_percentiles(*sample, p=[p])
    assert result.normals.tolist() == [percentile(normals, fraction)]
    assert result.anomalies.tolist() == [percentile(anomalies, fraction)]


@given(points())
def test_the_zero_of_the_rp_curve_is_where_it_stops_being_positive(sample: Points) -> None:
    result = fastad.measures.rp_curve(*sample)
    assert result.distance.tolist() == [rp_distance(*sample, p=p) for p in range(101)]
    y, s = sample
    n, m = sum(y), len(y) - sum(y)
    # All jumps of the two percentiles, and the middles between them.
    jumps = sorted(
        {Fraction(100 * i, n) for i in range(n + 1)} | {Fraction(100 * j, m) for j in range(m + 1)}
    )
    middles = [(a + b) / 2 for a, b in pairwise(jumps)]
    good = [p for p in sorted(jumps + middles) if rp_distance(y, s, p=p) <= 0]
    if not good:
        assert math.isnan(result.zero)
    elif good[0] in middles:
        assert result.zero == pytest.approx(float(max(j for j in jumps if j < good[0])), rel=1e-15)
    else:
        assert result.zero == pytest.approx(float(good[0]), rel=1e-15)


@given(points(), st.integers(0, 3), st.integers(1, 5))
def test_rp_auc_is_ferris_auc(sample: Points, below: int, above: int) -> None:
    """The integral of the steps of RP, and the means of the classes, are one thing."""
    y, s = sample
    n, m = sum(y), len(y) - sum(y)
    low, high = -4 - below, 4 + above
    jumps = sorted(
        {Fraction(100 * i, n) for i in range(n + 1)} | {Fraction(100 * j, m) for j in range(m + 1)}
    )
    integral = sum((b - a) * Fraction(rp_distance(y, s, p=(a + b) / 2)) for a, b in pairwise(jumps))
    expected = HALF + integral / (200 * (high - low))
    anomalies, normals = classes(sample)
    scaled = [[Fraction(v - low, high - low) for v in values] for values in (anomalies, normals)]
    ferri = (sum(scaled[0]) / n - sum(scaled[1]) / m + 1) / 2
    assert expected == ferri
    result = fastad.measures.rp_auc(y, s, score_range=(low, high))
    assert result == fastad.measures.probabilistic_auc(y, s, score_range=(low, high))
    assert result == pytest.approx(float(expected), rel=1e-14)


@given(points())
def test_scored_auc_is_the_mean_positive_difference(sample: Points) -> None:
    anomalies, normals = classes(sample)
    pairs = [max(Fraction(a - b, 8), Fraction(0)) for a in anomalies for b in normals]
    result = fastad.measures.scored_auc(*sample, score_range=(-4, 4))
    assert result == pytest.approx(float(sum(pairs) / len(pairs)), rel=1e-14, abs=0)


@given(points())
def test_smooth_roc_walks_from_the_top(sample: Points) -> None:
    y, s = sample
    scores = [Fraction(v + 4, 8) for v in s]
    mean = sum(scores) / len(scores)
    x = height = area = Fraction(0)
    for level in sorted(set(scores), reverse=True):
        dx = dy = Fraction(0)
        for label, score in zip(y, scores, strict=True):
            if score == level and level != mean:
                across, up = (
                    (1 - level, level) if bool(label) == (level > mean) else (level, 1 - level)
                )
                dx, dy = dx + across, dy + up
        area += dx * (height + dy / 2)
        x, height = x + dx, height + dy
    if x * height == 0:
        with pytest.raises(UndefinedMeasureError, match="smooth_roc"):
            smooth_roc(y, s, score_range=(-4, 4))
        return
    result = smooth_roc(y, s, score_range=(-4, 4))
    assert result == pytest.approx(float(area / (x * height)), rel=1e-14)


@pytest.mark.parametrize("name", ["rp_auc", "probabilistic_auc", "scored_auc", "smooth_roc"])
def test_a_range_that_scores_violate_is_refused(name: str) -> None:
    measure = getattr(fastad.measures, name)
    with pytest.raises(InvalidInputError, match=r"y_score must lie in score_range=\(0.0, 1.0\)"):
        measure([0, 1], [0.5, 1.5], score_range=(0, 1))
    with pytest.raises(InvalidInputError, match="score_range must rise"):
        measure([0, 1], [0.5, 0.6], score_range=(1, 0))
    with pytest.raises(TypeError, match="score_range must be a pair"):
        measure([0, 1], [0.5, 0.6], score_range=1.0)
    with pytest.raises(InvalidInputError, match=f"y_score must be finite for {name}"):
        measure([0, 1], [0.5, np.inf], score_range=(0, 1))


@pytest.mark.parametrize("alpha", [2e-309, Fraction(1, 10**400)])
def test_a_bound_near_zero_makes_infinite_scores_without_a_warning(alpha: Any) -> None:
    y, s = [0, 1, 0, 1], [1, 2, 3, 4]
    assert np_curve(y, s, alpha=alpha).score.tolist() == [1, 0.5] + [np.inf] * 3
    assert np_score(y, s, alpha=alpha) == 0.5


def test_a_bound_beyond_all_floats_makes_false_positives_free() -> None:
    y, s = [0, 1, 0, 1], [1, 2, 3, 4]
    assert np_curve(y, s, alpha=10**400).score.tolist() == [1, 0.5, 0.5, 0, 0]
    assert np_score(y, s, alpha=10**400) == 0


@given(sample=points(), weight=st.sampled_from([1 / 3, 0.1, 0.7, 1e7 / 3]))
@example(sample=([0, 1, 0], [0, 1, 2]), weight=1 / 3)
def test_smooth_roc_of_equal_real_weights_is_that_without(sample: Points, weight: float) -> None:
    y, s = sample
    limits = (min(s), max(s) + 2)
    weights = [weight] * len(y)
    try:
        expected = smooth_roc(y, s, score_range=limits)
    except UndefinedMeasureError:
        with pytest.raises(UndefinedMeasureError, match="smooth_roc"):
            smooth_roc(y, s, score_range=limits, sample_weight=weights)
        return
    weighted = smooth_roc(y, s, score_range=limits, sample_weight=weights)
    assert weighted == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
def test_rank_power_has_no_interval_and_no_comparison_with_real_weights() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [60, 40])
    first, second = rng.normal(size=(2, 100)) + y
    options: dict[str, Any] = {
        "measure": "rank_power@k10",
        "sample_weight": rng.uniform(0.5, 1.5, 100),
    }
    message = "rank_power takes integer sample weights only; found other values"
    for result in (
        partial(fastad.interval, y, first),
        partial(fastad.compare, y, first, second),
        partial(fastad.uncertainty.noninferiority, y, first, second, margin=0.1),
    ):
        with pytest.raises(UndefinedMeasureError, match=message):
            result(**options)
