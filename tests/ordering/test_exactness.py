"""No drift: counts whose products exceed 2**53 and 2**63, and accuracy of the sums."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fastad
from fastad._kernels.ordering import cell_curves
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.counts import count as count_rows
from tests.support import oracles
from tests.support.loops import loop

HUGE = pytest.mark.parametrize("bits", [20, 31, 40, 53, 58])
SEEDS = range(5)


def weighted(seed: int, bits: int) -> tuple[list[int], list[int], npt.NDArray[np.int64]]:
    """Twelve tied groups with weights of up to so many bits."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(2 ** (bits - 1), 2**bits, 12)
    return [0, 1] * 6, rng.integers(0, 6, 12).tolist(), weights


@HUGE
def test_areas_and_rates_of_huge_counts_are_rounded_once(bits: int) -> None:
    for seed in SEEDS:
        y, s, w = weighted(seed, bits)
        rows = oracles.rows(y, s, w)
        ranked = fastad.rank_scores(y, s, sample_weight=w)
        assert ranked.roc_auc() == float(oracles.roc_auc(rows))
        assert fastad.roc_auc(y, s, sample_weight=w) == float(oracles.roc_auc(rows))
        for rate in (0.29, 0.05, 1e-9, Fraction(1, 3), np.float32(0.7)):
            exact = oracles.written(rate)
            for way in ("linear", "conservative"):
                expected = oracles.tpr_at_fpr(rows, exact, way)
                assert ranked.tpr_at_fpr(fpr=rate, interpolation=way) == float(expected)
                expected = oracles.fpr_at_tpr(rows, exact, way)
                assert ranked.fpr_at_tpr(tpr=rate, interpolation=way) == float(expected)
            for normalize in ("none", "width"):
                expected = oracles.auc_at_fpr(rows, exact, Fraction(0), normalize)
                assert ranked.auc_at_fpr(fpr=rate, normalize=normalize) == float(expected)
                expected = oracles.auc_at_tpr(rows, exact, Fraction(1), normalize)
                assert ranked.auc_at_tpr(min_tpr=rate, normalize=normalize) == float(expected)
            assert ranked.f1_at_fpr(fpr=rate) == float(oracles.f1_at_fpr(rows, exact))


@HUGE
def test_curves_and_counts_of_huge_counts(bits: int) -> None:
    y, s, w = weighted(1, bits)
    rows = oracles.rows(y, s, w)
    curve = fastad.roc_curve(y, s, sample_weight=w)
    recall = fastad.precision_recall_curve(y, s, sample_weight=w)
    # Arrays are divided as float64. Up to 2**53 that rounds once; beyond, both counts are
    # rounded, too: three times 2**-53.
    relative = 0 if bits < 50 else 4e-16
    for result, expected in (
        (curve.fpr, [float(x) for x, _ in oracles.rates(rows)]),
        (curve.tpr, [float(x) for _, x in oracles.rates(rows)]),
        (recall.precision, [float(p) for p, _, _ in oracles.precision_recall(rows)]),
        (recall.recall, [float(r) for _, r, _ in oracles.precision_recall(rows)]),
    ):
        assert result.tolist() == pytest.approx(expected, rel=relative, abs=0)
    thinned = fastad.roc_curve(y, s, sample_weight=w, drop_collinear=True)
    assert len(thinned.fpr) == len(curve.fpr)  # random weights put no three points on a line
    total = int(w.sum())
    for k in (1, 2**bits + 1, total // 3, total - 1, total):
        precision = fastad.precision_at_k(y, s, k=k, sample_weight=w)
        assert precision == float(oracles.precision_at_k(rows, k))
        recall_at_k = fastad.recall_at_k(y, s, k=k, sample_weight=w)
        assert recall_at_k == float(oracles.recall_at_k(rows, k))


@HUGE
def test_sums_of_fractions_of_huge_counts(bits: int) -> None:
    y, s, w = weighted(2, bits)
    rows = oracles.rows(y, s, w)
    expected = float(oracles.average_precision(rows))
    result = fastad.average_precision(y, s, sample_weight=w)
    assert result == pytest.approx(expected, rel=1e-15, abs=0)
    expected = float(oracles.weighted_auc(rows))
    assert fastad.weighted_auc(y, s, sample_weight=w) == pytest.approx(expected, rel=1e-15, abs=0)


def test_matthews_coefficient_of_huge_counts() -> None:
    tp, fp, tn, fn = 3 * 2**50, 2**49 + 1, 5 * 2**51 + 3, 2**48 + 7
    result = fastad.confusion_at(
        [1, 0, 0, 1], [1, 1, 0, 0], threshold=1, sample_weight=[tp, fp, tn, fn]
    )
    assert (result.tp, result.fp, result.tn, result.fn) == (tp, fp, tn, fn)
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    squared = Fraction((tp * tn - fp * fn) ** 2, margins)
    assert result.mcc == pytest.approx(math.sqrt(squared), rel=1e-15)


def made_up(fps: list[int], tps: list[int]) -> fastad.evaluation.RankedScores:
    """Counts that no array of scores could hold in memory."""
    scores = np.arange(len(fps) - 1)
    like = count_rows(np.arange(len(scores)) % 2, scores)
    return fastad.evaluation.RankedScores(
        OrderedCounts(
            fps=np.array(fps),
            tps=np.array(tps),
            keys=like.keys,
            codec=like.codec,
            n_anomalies=tps[-1],
            n_normals=fps[-1],
            n_points=fps[-1] + tps[-1],
            n_tied=0,
            weighting="none",
        )
    )


@pytest.mark.parametrize("total", [2 * 10**8, 2**32 + 1, 2**52 - 1, 2**61 - 5])
def test_made_up_counts_where_the_number_of_pairs_exceeds_all_integers(total: int) -> None:
    fps = [0, 1, 1, total // 3, total - 1, total]
    tps = [0, 0, total // 2 + 1, total // 2 + 1, total - 2, total]
    ranked = made_up(fps, tps)
    twice = sum(
        (f1 - f0) * (t0 + t1) for f0, f1, t0, t1 in zip(fps, fps[1:], tps, tps[1:], strict=False)
    )
    assert ranked.roc_auc() == float(Fraction(twice, 2 * total * total))
    assert ranked.auc_at_fpr(fpr=1) == ranked.roc_auc()
    assert ranked.auc_at_tpr() == ranked.roc_auc()
    alpha = Fraction(1, total)
    assert ranked.tpr_at_fpr(fpr=alpha) == float(Fraction(total // 2 + 1, total))
    below = Fraction(1, total + 1)
    assert ranked.tpr_at_fpr(fpr=below) == 0
    assert ranked.tpr_at_fpr(fpr=below, interpolation="conservative") == 0
    assert ranked.threshold_at_fpr(fpr=below) == math.inf
    assert ranked.threshold_at_fpr(fpr=alpha, interpolation="conservative") == 3


@loop("m", [100, 10**4, 10**8, 10**15])
@loop("percent", [1, 7, 14, 28, 29, 55, 56, 57, 58])
def test_percent_of_hundreds_are_whole_at_any_size(m: int, percent: int) -> None:
    # 0.29 · 100 is 28.999999999999996 in floats, and 0.07 · 100 is 7.000000000000001.
    reached = m // 100 * percent
    y, s = [0, 0, 1, 0], [3.0, 2.0, 0.5, 1.0]
    for extra, threshold, flagged in ((0, 2.0, reached), (1, 3.0, reached - 1)):
        # The second group reaches the rate exactly, or one beyond it.
        weights = [reached - 1, 1 + extra, 1, m - reached - extra]
        if weights[0] == 0:
            threshold = 2.0 if not extra else math.inf
        for rate in (percent / 100, np.float32(percent / 100), Fraction(percent, 100)):
            result = fastad.threshold_at_fpr(
                y, s, fpr=rate, interpolation="conservative", sample_weight=weights
            )
            assert result == threshold
            alarms = fastad.confusion_at(y, s, threshold=result, sample_weight=weights)
            assert alarms.fp == flagged


@pytest.mark.parametrize("percent", [1, 5, 7, 10, 14, 29, 35, 55, 57, 58])
def test_drawn_anomalies_are_counted_with_the_decimal_as_written(percent: int) -> None:
    for units in (1, 2, 3, 7):
        # Beside (100 - percent) units of normals the fraction takes percent units of anomalies.
        m, k = (100 - percent) * units, percent * units
        # One normal is on top of k anomalies: k - 1 of the k highest are anomalies.
        y, s, w = [0, 1, 0], [3, 2, 1], [1, k, m - 1]
        for p in (percent / 100, np.float32(percent / 100), Fraction(percent, 100)):
            result = fastad.precision_at_p(y, s, p=p, sample_weight=w)
            assert result == pytest.approx((k - 1) / k, rel=1e-14)
        below = math.nextafter(percent / 100, 0)
        if k == 1:
            with pytest.raises(fastad.UndefinedMeasureError):
                fastad.precision_at_p(y, s, p=below, sample_weight=w)
        else:
            result = fastad.precision_at_p(y, s, p=below, sample_weight=w)
            assert result == pytest.approx((k - 2) / (k - 1), rel=1e-14)


def test_all_perfect_detectors_have_the_same_precision() -> None:
    """Exactly 1, however their anomalies and normals are tied among themselves."""
    y = np.repeat([1, 0], [300, 5000])
    for size in (1, 2, 7, 300):
        s = np.concatenate([10 + np.arange(300) // size, -(np.arange(5000) // size)])
        for p in (0.001, 0.01, 0.05):
            assert fastad.precision_at_p(y, s, p=p) == 1


@loop("seed", range(20))
def test_ties_within_a_class_do_not_move_the_expected_precision(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 400)
    s = rng.normal(size=400) + y
    order = np.argsort(s)
    # A run of neighbours of one class becomes one score, and the curve is the same.
    runs = np.cumsum(np.diff(y[order], prepend=y[order][0]) != 0)
    tied = np.empty(400)
    tied[order] = runs
    for p in (0.01, 0.1, 0.4):
        result = fastad.precision_at_p(y, s, p=p)
        assert result == fastad.precision_at_p(y, tied, p=p)
        assert 0 <= result <= 1


def test_rates_meet_real_weights_exactly() -> None:
    # The first normal has FPR 3/4; a rate less than half an ulp below does not reach it.
    arguments: Any = ([0, 0, 1], [3.0, 2.0, 1.0])
    w = [1.5, 0.5, 0.25]
    for rate, threshold in ((Fraction(3, 4), 3), (Fraction(3, 4) - Fraction(1, 2**60), math.inf)):
        result = fastad.threshold_at_fpr(
            *arguments, fpr=rate, interpolation="conservative", sample_weight=w
        )
        assert result == threshold


def test_float32_operating_points_are_their_own_decimals() -> None:
    # float32(0.1) is 0.100000001490116, float32(0.7) is 0.699999988079071.
    y, s = [0] * 10 + [1], [*range(10), 8.5]
    for rate, flagged in ((0.1, 9), (0.2, 8), (0.7, 3), (0.9, 1)):
        for kind in (float, np.float16, np.float32, np.float64):
            result = fastad.threshold_at_fpr(y, s, fpr=kind(rate), interpolation="conservative")
            assert result == (8.5 if flagged == 9 else flagged), kind


@loop(
    ("high", "low"),
    [
        (2**63 - 1, 2**63 - 4),
        (2**53 + 5, 2**53 + 1),
        (-(2**63) + 3, -(2**63)),
        (2**63 - 1, -(2**63)),
    ],
)
@loop("rate", [Fraction(1, 2), Fraction(5, 6), Fraction(999, 1000)])
def test_thresholds_between_huge_integers(high: int, low: int, rate: Fraction) -> None:
    # One normal at each end: the rate lies between the ends 1/2 and 1.
    exact = high + 2 * (rate - Fraction(1, 2)) * (low - high)
    result = fastad.threshold_at_fpr([0, 0], np.array([high, low]), fpr=rate)
    assert type(result) is int
    assert result == math.ceil(exact)
    assert result > low
    for end, threshold in ((0.5, high), (1, low)):
        assert fastad.threshold_at_fpr([0, 0], np.array([high, low]), fpr=end) == threshold


def test_thresholds_at_the_end_of_unsigned_integers() -> None:
    scores = np.array([2**64 - 1, 2**64 - 5], np.uint64)
    assert fastad.threshold_at_fpr([0, 0], scores, fpr=0.75) == 2**64 - 3
    assert fastad.threshold_at_fpr([0, 0], scores, fpr=Fraction(7, 10)) == 2**64 - 2
    curve = fastad.roc_curve([0, 1], scores)
    assert curve.thresholds.tolist() == [math.inf, 2**64 - 1, 2**64 - 5]


def test_thresholds_between_the_largest_floats() -> None:
    largest = float(np.finfo(np.float64).max)
    assert fastad.threshold_at_fpr([0, 0], [largest, -largest], fpr=0.75) == 0
    expected = float(Fraction(largest) / 2)
    result = fastad.threshold_at_fpr([0, 0], [largest, -largest], fpr=Fraction(5, 8))
    assert result == pytest.approx(expected, rel=2**-52)


def test_thresholds_between_neighbours_stay_above_the_lower_one() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        low = dtype(1)
        high = np.nextafter(low, dtype(2))
        result = fastad.threshold_at_fpr([0, 0], np.array([high, low]), fpr=0.999)
        assert result == float(high)


@pytest.mark.parametrize("decimals", [1, 4])
@pytest.mark.parametrize("p", [0.01, 0.05, 0.2])
def test_precision_at_p_to_1e_13(p: float, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    y = np.repeat([0, 1], [450, 150])
    s: Any = np.round(rng.normal(size=600) + 1.2 * y, decimals)
    if decimals == 4:
        s = np.argsort(np.argsort(s, kind="stable"))  # no ties
    rows = oracles.rows(y, s)
    expected = float(oracles.precision_at_p_groups(rows, oracles.written(p)))
    if decimals == 4:
        assert float(oracles.precision_at_p_untied(rows, oracles.written(p))) == expected
    assert fastad.precision_at_p(y, s, p=p) == pytest.approx(expected, rel=1e-13, abs=0)


def test_precision_at_p_of_thousands_to_1e_13() -> None:
    rng = np.random.default_rng(8)
    y = (rng.random(6000) < 0.4).astype(int)
    s = rng.permutation(6000) + 1500 * y + 0.5 * y
    rows = oracles.rows(y, s)
    falling = sorted(rows, key=lambda row: row[1], reverse=True)
    n, m = int(y.sum()), int((1 - y).sum())
    fraction = Fraction(1, 20)
    k = math.floor(m * fraction / (1 - fraction))
    # P(TP >= j) = P(Hypergeom(n, A(k - j), k) >= j), summed by complements where that is short.
    above = np.cumsum([1 - label for label, _, _ in falling])[[r[0] == 1 for r in falling]]
    total = Fraction(0)
    for j in range(1, k + 1):
        reachable = int(np.sum(above <= k - j))
        ways = sum(
            math.comb(reachable, x) * math.comb(n - reachable, k - x)
            for x in range(j, min(k, reachable) + 1)
        )
        total += Fraction(ways, math.comb(n, k))
    expected = float(total / k)
    assert fastad.precision_at_p(y, s, p=0.05) == pytest.approx(expected, rel=1e-13, abs=0)


def sums(fps: list[int], tps: list[int]) -> tuple[float, float]:
    """Average precision and weighted AUC as correctly rounded sums of rounded terms."""
    n = tps[-1]
    steps: list[Any] = list(zip(fps, fps[1:], tps, tps[1:], strict=False))
    precision = math.fsum((t1 - t0) * t1 / (f1 + t1) for _, f1, t0, t1 in steps)
    area = math.fsum((f1 - f0) * (t0 + t1) / (2 * f1) for f0, f1, t0, t1 in steps if f1)
    return precision / n, area / n


@pytest.mark.parametrize("decimals", [1, 9])
def test_sums_at_ten_thousand_points_to_1e_15(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    y = (rng.random(10**4) < 0.1).astype(int)
    s = np.round(rng.normal(size=10**4) + y, decimals)
    order = np.argsort(-s, kind="stable")
    ends = np.append(np.diff(s[order]) != 0, True)
    tps = [0, *np.cumsum(y[order])[ends].tolist()]
    fps = [0, *np.cumsum(1 - y[order])[ends].tolist()]
    precision, area = sums(fps, tps)
    assert fastad.average_precision(y, s) == pytest.approx(precision, rel=1e-15, abs=0)
    assert fastad.weighted_auc(y, s) == pytest.approx(area, rel=1e-15, abs=0)


@pytest.mark.parametrize("decimals", [2, 9])
def test_real_weights_to_1e_14_at_a_hundred_thousand_points(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    y = (rng.random(10**5) < 0.03).astype(int)
    s = np.round(rng.normal(size=10**5) + y, decimals)
    # The same weights in units of 2**-41 are whole, and whole weights are exact.
    whole = rng.integers(2**38, 2**42, 10**5)
    real = whole / 2**41
    exact = fastad.rank_scores(y, s, sample_weight=whole)
    result = fastad.rank_scores(y, s, sample_weight=real)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("roc_auc", {}),
        ("weighted_auc", {}),
        ("average_precision", {}),
        ("auc_at_fpr", {"fpr": 0.01}),
        ("auc_at_tpr", {"min_tpr": 0.9}),
        ("tpr_at_fpr", {"fpr": 0.01}),
        ("fpr_at_tpr", {"tpr": 0.95}),
        ("f1_at_fpr", {"fpr": 0.01}),
    ]
    for name, parameters in asked:
        expected = getattr(exact, name)(**parameters)
        value = getattr(result, name)(**parameters)
        assert value == pytest.approx(expected, rel=1e-14, abs=0), name


@pytest.mark.parametrize("n", [99_999, 100_000, 10**6])
def test_the_lowest_precision_of_anomalies_without_normals_above_is_1(n: int) -> None:
    """From 100 000 of them on the sum in a cell is an integral, here over 0 / 0."""
    counts = np.array([0, 0, 5]), np.array([0, n, n])
    for tied in (True, False):
        ties = np.array([tied, False])
        assert cell_curves.lowest_precision_sum(*counts, ties, 1.0) == n


def test_standardized_area_of_constant_scores_is_one_half_at_every_rate() -> None:
    for n, m in ((1, 1), (3, 7), (11, 1000)):
        y = [1] * n + [0] * m
        ranked = fastad.rank_scores(y, [0.5] * (n + m))
        for i in range(1, 100):
            assert ranked.auc_at_fpr(fpr=i / 100, normalize="mcclish") == 0.5
            assert ranked.auc_at_tpr(min_tpr=i / 100, normalize="mcclish") == 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_standardized_area_of_constant_scores_under_real_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.arange(200) % 3 == 0
    ranked = fastad.rank_scores(y, np.full(200, 7.5), sample_weight=rng.uniform(0.1, 5, 200))
    for i in range(1, 100):
        # Chance level may not come out undefined because rounding takes it below chance.
        result = ranked.auc_at_fpr(fpr=i / 100, normalize="mcclish")
        assert result == pytest.approx(0.5, rel=1e-13)
        result = ranked.auc_at_tpr(min_tpr=i / 100, normalize="mcclish")
        assert result == pytest.approx(0.5, rel=1e-13)
