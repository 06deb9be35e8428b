"""Early recognition, costs and precision at a recall equal their definitions.

The definitions are written out in fractions, and where they contain logarithms or exponentials, in
40 digits.
"""

import json
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

import fastad
from fastad import InvalidInputError
from fastad.measures import (
    detection_cost,
    min_detection_cost,
    precision_at_recall,
    robust_initial_enhancement,
)
from tests.support import oracles
from tests.support.agreement import assert_measure
from tests.support.loops import loop
from tests.support.oracles import UndefinedError, written
from tests.support.strategies import rates_of, samples

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "low_fpr.json").read_text("utf-8"))
SETS = list(zip(PEERS["y"], PEERS["s"], strict=True))
EVERY_SET = loop("i", range(len(SETS)))
WEIGHTS = pytest.mark.parametrize("weights", ["none", "integer"])
# A sum of so many terms, and an exponential or logarithm, is right to this.
RELATIVE = 5e-15

alphas = st.sampled_from([0.001, 0.5, 1, 5, 20, 80.5, 1000])
prevalences = st.sampled_from([None, 0.001, 0.01, 0.3, 0.5, 0.97])
costs = st.sampled_from([0.1, 1, 7, 10])


def decimal(value: Fraction | float) -> Decimal:
    exact = Fraction(value)
    return Decimal(exact.numerator) / exact.denominator


def in_40_digits(function: Callable[..., Decimal]) -> Callable[..., float]:
    def with_context(*arguments: Any) -> float:
        with localcontext() as context:
            context.prec = 60
            return float(function(*arguments))

    return with_context


# Areas over the logarithm of the FPR


@in_40_digits
def log_auc(data: oracles.Rows, low: Fraction, high: Fraction) -> Decimal:
    """The integral of TPR / FPR over [low, high], piece by piece, over that of 1 / FPR."""
    if low == high:
        raise UndefinedError
    total = Decimal(0)
    for (x0, y0), (x1, y1) in pairwise(oracles.rates(data)):
        a, b = max(x0, low), min(x1, high)
        if a < b:
            slope = (y1 - y0) / (x1 - x0)
            total += decimal(y0 - slope * x0) * decimal(b / a).ln() + decimal(slope * (b - a))
    return total / decimal(high / low).ln()


@WEIGHTS
@given(data=st.data())
def test_log_auc(weights: str, data: st.DataObject) -> None:
    ends = st.lists(st.sampled_from([1e-6, 0.01, 0.2, 0.3, 0.5, 0.8]), min_size=2, max_size=2)
    low, high = sorted(data.draw(ends))
    assert_measure(
        "log_auc",
        data.draw(samples(weights=weights)),
        lambda rows: log_auc(rows, written(low), written(high)),
        relative=RELATIVE,
        absolute=1e-300,
        min_fpr=low,
        max_fpr=high,
    )


def test_log_auc_of_a_step_by_hand() -> None:
    """TPR 1/2 up to FPR 1/10, then 1: of three decades two at 1/2 and one at 1."""
    y = [1] + [0] * 100 + [1] + [0] * 900
    result = fastad.measures.log_auc(y, range(1001 + 1, 0, -1), min_fpr=0.001, max_fpr=1)
    assert result == pytest.approx(2 / 3, rel=1e-15)
    everything = fastad.measures.log_auc([0, 1], [0, 1], min_fpr=1e-9, max_fpr=1)
    assert everything == 1


def test_log_auc_of_chance_is_the_mean_fpr_on_its_scale() -> None:
    """Mendenhall and Meiler's 0.0215 for [0.001, 0.1]: (0.1 - 0.001) / ln(100)."""
    result = fastad.measures.log_auc([0, 1] * 50, [7] * 100)
    assert result == pytest.approx(0.099 / math.log(100), rel=1e-15)
    assert round(result, 4) == 0.0215


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 1e-12])
def test_log_auc_of_a_narrow_range(gap: float) -> None:
    y, s = [0, 1, 1, 0, 0, 1], [6, 5, 4, 3, 2, 1]
    ends = Fraction(1, 2), Fraction(1, 2) + Fraction(repr(gap))
    result = fastad.measures.log_auc(y, s, min_fpr=ends[0], max_fpr=ends[1])
    assert result == pytest.approx(2 / 3, rel=1e-14)


@pytest.mark.parametrize("low", [0, 1, -0.1, 5e-324])
def test_log_auc_begins_within_the_open_range(low: float) -> None:
    with pytest.raises(InvalidInputError, match="min_fpr must lie") as caught:
        fastad.measures.log_auc([0, 1], [1, 2], min_fpr=low)
    assert caught.value.argument == "min_fpr"
    with pytest.raises(InvalidInputError, match="max_fpr must not be less than min_fpr"):
        fastad.measures.log_auc([0, 1], [1, 2], min_fpr=0.2)


def test_all_samples_are_no_more_than_all_of_real_weights() -> None:
    """The product of 1 and the exact sum exceeded the rounded one."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, scores, weights = np.arange(50) < 15, rng.normal(size=50), rng.random(50)
        value = fastad.measures.enrichment_factor(y, scores, fraction=1, sample_weight=weights)
        assert value == pytest.approx(1, rel=1e-14)
    with pytest.raises(fastad.UndefinedMeasureError, match="for more than all samples: k = 3 of 2"):
        fastad.measures.recall_at_k([0, 1], [1.0, 2.0], k=3)


@pytest.mark.slow
@EVERY_SET
@loop("peer", ["torchmetrics", "TDC"])
def test_log_auc_is_that_of_other_libraries(peer: str, i: int) -> None:
    """torchmetrics 1.9.0 and PyTDC 1.1.15, in doubles; the odd sets have ties.

    Between two points they interpolate over the logarithm of the FPR, where the ROC curve is
    straight over the FPR itself. That is the same on steps, which is all there is without ties. On
    a grid along straight pieces their rule approaches the value here as the grid gets finer.

    PyTDC leaves out points on straight pieces, as scikit-learn does by default. torchmetrics sorts
    the points by FPR again, those of one FPR in no fixed order, and so may read the TPR at an end
    of the range from any two points of the FPRs beside it: it is the value at some of them.
    """
    y, s = SETS[i]
    expected = PEERS["values"][peer]["sets"][i]["log_auc"]
    fpr, tpr, _ = roc_curve(y, s, drop_intermediate=peer == "TDC")
    n_equal = 0
    for ends, value in zip(PEERS["ranges"], expected, strict=True):
        result = fastad.measures.log_auc(y, s, min_fpr=ends[0], max_fpr=ends[1])
        if peer == "TDC":
            theirs = [on_their_grid(fpr, tpr, ends, np.interp(ends, fpr, tpr).tolist())]
        else:
            heights = [possible_heights(fpr, tpr, end) for end in ends]
            theirs = [on_their_grid(fpr, tpr, ends, pair) for pair in product(*heights)]
        assert min(abs(each - value) for each in theirs) < 1e-12
        n_equal += result == pytest.approx(value, rel=1e-12)
        if peer == "torchmetrics":
            finer = finer_curve(y, s, 2000)
            at_ends = np.interp(ends, *finer).tolist()
            assert on_their_grid(*finer, ends, at_ends) == pytest.approx(result, rel=1e-5)
    # By chance, torchmetrics reads another TPR in three of the sets without ties.
    if i % 2 == 0 and (peer == "TDC" or i not in (4, 10, 18)):
        assert n_equal == 2
    if i % 2:
        assert n_equal == 0


def possible_heights(fpr: Any, tpr: Any, end: float) -> list[float]:
    """TPRs at an FPR, on a line between any two points with the FPRs on both sides of it."""
    left, right = fpr[fpr < end].max(), fpr[fpr >= end].min()
    return [
        low + (high - low) / (right - left) * (end - left)
        for low in tpr[fpr == left]
        for high in tpr[fpr == right]
    ]


def finer_curve(y: Any, s: Any, n_parts: int) -> tuple[Any, Any]:
    """The ROC curve with so many points on each straight piece."""
    curve = fastad.roc_curve(y, s)
    part = np.arange(n_parts) / n_parts
    fpr, tpr = (
        np.append((axis[:-1, None] + np.diff(axis)[:, None] * part).ravel(), axis[-1])
        for axis in (curve.fpr, curve.tpr)
    )
    return fpr, tpr


def on_their_grid(fpr: Any, tpr: Any, ends: Any, at_ends: Any) -> float:
    """Trapezoids over the logarithm of the FPR, after both axes are sorted, as in TDC."""
    tpr, fpr = np.sort(np.append(tpr, at_ends)), np.sort(np.append(fpr, ends))
    inside = slice(np.flatnonzero(fpr == ends[0])[-1], np.flatnonzero(fpr == ends[1])[-1] + 1)
    x, heights = np.log10(fpr[inside]), tpr[inside]
    return float(np.sum(np.diff(x) * (heights[1:] + heights[:-1])) / 2 / (x[-1] - x[0]))


# The highest scores


def enrichment_factor(data: oracles.Rows, fraction: Fraction) -> Fraction:
    n, m = oracles.totals(data)
    if n == 0 or fraction == 0:
        raise UndefinedError
    return oracles.top(data, fraction * (n + m))[1] / (fraction * n)


@WEIGHTS
@given(data=st.data())
def test_enrichment_factor(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    part = data.draw(rates_of(len(sample.y)))
    assert_measure(
        "enrichment_factor",
        sample,
        lambda rows: enrichment_factor(rows, written(part)),
        fraction=part,
    )


@EVERY_SET
def test_enrichment_factor_is_that_of_rdkit(i: int) -> None:
    """RDKit 2026.9.1, CalcEnrichment: it rounds up to whole samples, here there are some."""
    expected = PEERS["values"]["RDKit"]["sets"][i]["enrichment_factor"]
    factor = fastad.measures.enrichment_factor
    result = [factor(*SETS[i], fraction=fraction) for fraction in PEERS["fractions"]]
    assert result == pytest.approx(expected, rel=1e-12)


# Early recognition


def exact_enhancement(data: oracles.Rows, alpha: Fraction) -> Decimal:
    """Truchon and Bayly 2007, with the mean weight of the ranks of each tie."""
    n, m = oracles.totals(data)
    if n == 0:
        raise UndefinedError
    total = int(n + m)
    weights = [(-decimal(alpha * r) / total).exp() for r in range(1, total + 1)]
    gained = Decimal(0)
    for (fp0, tp0, _), (fp1, tp1, _) in pairwise(oracles.points(data)):
        tie = weights[int(fp0 + tp0) : int(fp1 + tp1)]
        gained += decimal(tp1 - tp0) * sum(tie, Decimal(0)) / len(tie)
    return gained / decimal(n) / (sum(weights, Decimal(0)) / total)


enhancement = in_40_digits(exact_enhancement)


@in_40_digits
def bedroc(data: oracles.Rows, alpha: Fraction) -> Decimal:
    """Truchon and Bayly 2007."""
    n, m = oracles.both_classes(data)
    a, ratio = decimal(alpha), decimal(n / (n + m))

    def cosh(x: Decimal) -> Decimal:
        return (x.exp() + (-x).exp()) / 2

    sinh = ((a / 2).exp() - (-a / 2).exp()) / 2
    scale = ratio * sinh / (cosh(a / 2) - cosh(a / 2 - a * ratio))
    return exact_enhancement(data, alpha) * scale + 1 / (1 - (a * (1 - ratio)).exp())


@WEIGHTS
@given(data=st.data(), alpha=alphas)
def test_early_recognition(weights: str, data: st.DataObject, alpha: float) -> None:
    sample, exact = data.draw(samples(weights=weights)), written(alpha)
    # The exponential of 1000 has 1000 times the error of its argument.
    options: Any = {"relative": RELATIVE + 1e-16 * alpha, "alpha": alpha}
    assert_measure(
        "robust_initial_enhancement",
        sample,
        lambda rows: enhancement(rows, exact),
        absolute=1e-300,
        **options,
    )
    # The last digits of the oracle.
    assert_measure("bedroc", sample, lambda rows: bedroc(rows, exact), absolute=1e-30, **options)


@loop(("n", "m"), [(1, 1), (3, 1), (1, 100_000), (100_000, 1), (5000, 5000)])
@loop("alpha", [1e-12, 1e-3, 1, 20, 321.9, 1e4])
def test_bedroc_of_the_best_and_the_worst_order_and_between(n: int, m: int, alpha: float) -> None:
    """Without cancellation: the written-out formula loses ten digits at some of these."""
    s = np.arange(n + m)
    best = fastad.measures.bedroc(s >= m, s, alpha=alpha)
    assert 1 - 1e-14 <= best <= 1
    assert fastad.measures.bedroc(s < n, s, alpha=alpha) == 0
    constant = fastad.measures.bedroc(s >= m, np.zeros(n + m), alpha=alpha)
    with localcontext() as context:
        context.prec = 80
        a, ratio = Decimal(repr(alpha)), Decimal(n) / (n + m)
        lowest = ((a * ratio).exp() - 1) / (ratio * (a.exp() - 1))
        highest = (1 - (-a * ratio).exp()) / (ratio * (1 - (-a).exp()))
        expected = float((1 - lowest) / (highest - lowest))
    assert constant == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alpha", [1e-9, 1e-50, 5e-324])
def test_bedroc_approaches_the_area_under_the_roc(alpha: float) -> None:
    rng = np.random.default_rng(2)
    y, s = rng.integers(0, 2, 90), rng.integers(0, 30, 90)
    area = fastad.roc_auc(y, s)
    assert fastad.measures.bedroc(y, s, alpha=alpha) == pytest.approx(area, rel=1e-8)
    assert robust_initial_enhancement(y, s, alpha=alpha) == pytest.approx(1)


def test_extreme_exponents_keep_only_the_first_rank() -> None:
    assert fastad.measures.bedroc([1, 0, 0], [3, 2, 1], alpha=1e308) == 1
    assert fastad.measures.bedroc([0, 1, 0], [3, 2, 1], alpha=1e308) == 0


@EVERY_SET
def test_early_recognition_is_that_of_rdkit(i: int) -> None:
    """RDKit 2026.9.1, CalcBEDROC and CalcRIE; of ties the mean over orders."""
    expected = PEERS["values"]["RDKit"]["sets"][i]
    for name in ("bedroc", "robust_initial_enhancement"):
        measure = getattr(fastad.measures, name)
        result = [measure(*SETS[i], alpha=alpha) for alpha in PEERS["alphas"]]
        assert result == pytest.approx(expected[name], rel=1e-12, abs=1e-12)


def test_the_versions_of_the_other_libraries() -> None:
    versions = {name: peer["version"] for name, peer in PEERS["values"].items()}
    assert versions == {
        "RDKit": "2026.9.1",
        "TDC": "1.1.15",
        "dcurves": "1.1.7",
        "torchmetrics": "1.9.0",
    }
    assert len(SETS) == 20


# Costs


def cost(point: oracles.Point, n: Fraction, m: Fraction, options: dict[str, Any]) -> Fraction:
    """NIST's C_norm, written out."""
    fp, tp = Fraction(point[0]), Fraction(point[1])
    p = written(options["prevalence"]) if options.get("prevalence") else n / (n + m)
    miss, alarm = (written(options[f"cost_{x}"]) for x in ("miss", "false_alarm"))
    detection = miss * p * (1 - tp / n) + alarm * (1 - p) * fp / m
    return detection / min(miss * p, alarm * (1 - p))


cost_options = st.fixed_dictionaries(
    {"prevalence": prevalences, "cost_miss": costs, "cost_false_alarm": costs}
)


@WEIGHTS
@given(data=st.data(), options=cost_options)
def test_detection_cost(weights: str, data: st.DataObject, options: dict[str, Any]) -> None:
    sample = data.draw(samples(weights=weights))
    threshold = data.draw(st.sampled_from(sample.s.tolist()))
    if isinstance(threshold, bool):
        threshold = int(threshold)

    def expected(rows: oracles.Rows) -> Fraction:
        n, m = oracles.both_classes(rows)
        tp, fp = oracles.totals([row for row in rows if row[1] >= threshold])
        return cost((fp, tp, threshold), n, m, options)

    assert_measure("detection_cost", sample, expected, threshold=threshold, **options)


@WEIGHTS
@given(data=st.data(), options=cost_options)
def test_min_detection_cost(weights: str, data: st.DataObject, options: dict[str, Any]) -> None:
    def expected(rows: oracles.Rows) -> tuple[Fraction, oracles.Number]:
        n, m = oracles.both_classes(rows)
        path = oracles.points(rows)
        values = [cost(point, n, m, options) for point in path]
        return min(values), path[values.index(min(values))][2]

    sample = data.draw(samples(weights=weights))
    assert_measure("min_detection_cost", sample, expected, **options)


def test_costs_that_no_float_can_weigh_together() -> None:
    y, s = [0, 1, 0, 1, 1], [5, 4, 3, 2, 1]
    result = min_detection_cost(y, s, prevalence=1e-90, cost_miss=1e-80, cost_false_alarm=1e300)
    assert (float(result), result.threshold) == (1, math.inf)
    cheap = min_detection_cost(y, s, prevalence=0.5, cost_miss=1e300, cost_false_alarm=1e-300)
    assert (float(cheap), cheap.threshold) == (1, 1)
    assert (
        detection_cost(y, s, threshold=6, prevalence=0.5, cost_miss=1e300, cost_false_alarm=1e-300)
        == math.inf
    )


def test_costs_at_the_prevalence_of_weights_of_which_one_is_nothing_beside_the_other() -> None:
    y, s, w = [0, 1, 1], [2, 3, 1], [1e-100, 1e100, 1e100]
    at_3 = detection_cost(y, s, threshold=3, sample_weight=w)
    assert at_3 == pytest.approx(1e200, rel=1e-14)  # 1e100 of misses beside 1e-100 of alarms
    best = min_detection_cost(y, s, sample_weight=w)
    assert (float(best), best.threshold) == (1, 1)


@pytest.mark.parametrize("name", ["cost_miss", "cost_false_alarm"])
@pytest.mark.parametrize("wrong", [0, -1, math.nan, math.inf])
def test_costs_are_positive(name: str, wrong: float) -> None:
    with pytest.raises(InvalidInputError) as caught:
        min_detection_cost([0, 1], [0, 1], **{name: wrong})
    assert caught.value.argument == name


# Precision at a recall


@WEIGHTS
@given(data=st.data(), prevalence=prevalences)
def test_precision_at_recall(weights: str, data: st.DataObject, prevalence: Any) -> None:
    sample = data.draw(samples(weights=weights))
    recall = data.draw(rates_of(int(np.sum(sample.y))))

    def expected(rows: oracles.Rows) -> tuple[Fraction, oracles.Number]:
        n, m = oracles.totals(rows)
        if n == 0 or (prevalence is not None and m == 0):
            raise UndefinedError
        p = n / (n + m) if prevalence is None else written(prevalence)
        weight = (1 - p) / p * n / m if m else Fraction(1)
        candidates = [
            (tp / (tp + weight * fp), threshold)
            for fp, tp, threshold in oracles.points(rows)
            if fp + tp > 0 and tp / n >= written(recall)
        ]
        best = max(value for value, _ in candidates)
        return best, next(cut for value, cut in candidates if value == best)

    assert_measure("precision_at_recall", sample, expected, recall=recall, prevalence=prevalence)


def test_precision_at_recall_where_precisions_differ_by_less_than_a_rounding() -> None:
    """Of 2**28 / (2**28 + 1) and its neighbours, in weights, the exact one decides."""
    big = 2**30
    # Points (1, big), (2, 2 * big - 1) and (3, 3 * big + 1): precisions agree to 1e-18.
    y, s = [0, 1, 0, 1, 0, 1], [6, 6, 5, 5, 4, 4]
    w = [1, big, 1, big - 1, 1, big + 2]
    result = precision_at_recall(y, s, recall=0, sample_weight=w)
    assert result.threshold == 4
    w = [1, big, 1, big - 1, 1, big]
    assert precision_at_recall(y, s, recall=0, sample_weight=w).threshold == 6


def test_many_perfect_points_are_not_compared_one_by_one() -> None:
    n = 300_000
    y = np.r_[np.ones(n, int), 0]
    result = precision_at_recall(y, -np.arange(n + 1), recall=0.5)
    assert (float(result), result.threshold) == (1, -(n // 2 - 1))
    result = fastad.measures.recall_at_precision(y, -np.arange(n + 1), precision=1)
    assert (float(result), result.threshold) == (1, 1 - n)


# Many points, of which blocks are read one after the other, or by threads


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [9, 3])
@pytest.mark.parametrize("proportion", [0.003, 0.4])
def test_many_points(proportion: float, decimals: int) -> None:
    rng = np.random.default_rng(11)
    y = (rng.random(200_000) < proportion).astype(int)
    s = np.round(rng.normal(size=200_000) + 1.5 * y, decimals)
    curve = fastad.roc_curve(y, s)
    n, m = int(y.sum()), int((1 - y).sum())
    tps, fps = np.rint(curve.tpr * n), np.rint(curve.fpr * m)
    # Ranks and weights of single samples; of ties the mean.
    order = np.argsort(-s, kind="stable")
    first = np.searchsorted(-s[order], -s[order], side="left")
    last = np.searchsorted(-s[order], -s[order], side="right")
    for alpha in (0.5, 20.0, 321.9):
        weights = np.exp(-alpha * np.arange(1, 200_001) / 200_000)
        sums = np.concatenate([[0.0], np.cumsum(weights.astype(np.longdouble))])
        of_samples = ((sums[last] - sums[first]) / (last - first)).astype(float)
        mean = math.fsum(of_samples[y[order] == 1]) / n
        rie = mean / (math.fsum(weights) / 200_000)
        ratio = n / (n + m)
        highest = -math.expm1(-alpha * ratio) / (ratio * -math.expm1(-alpha))
        lowest = math.expm1(alpha * ratio) / (ratio * math.expm1(alpha))
        result = robust_initial_enhancement(y, s, alpha=alpha)
        assert result == pytest.approx(rie, rel=1e-11)
        scaled = (rie - lowest) / (highest - lowest)
        assert fastad.measures.bedroc(y, s, alpha=alpha) == pytest.approx(scaled, rel=1e-10)
    for prevalence in (0.001, 0.1, 0.9):
        values = prevalence * (1 - tps / n) + (1 - prevalence) * fps / m
        best = min_detection_cost(y, s, prevalence=prevalence)
        assert best == pytest.approx(values.min() / min(prevalence, 1 - prevalence), rel=1e-11)
        assert best.threshold == curve.thresholds[np.argmin(np.round(values, 14))]
    precision = tps[1:] / (tps[1:] + fps[1:])
    for recall in (0.0, 0.5, 0.99):
        reached = tps[1:] >= recall * n
        best = precision_at_recall(y, s, recall=recall)
        assert best == precision[reached].max()
        assert best.threshold == curve.thresholds[1:][reached][np.argmax(precision[reached])]
    f1 = 2 * tps / (tps + fps + n)
    best = fastad.best_f1(y, s)
    assert (float(best), best.threshold) == (f1.max(), curve.thresholds[np.argmax(f1)])
    steps = np.diff(fps) > 0
    if decimals == 9:  # without ties the curve is made of steps
        ends = np.clip(fps / m, 0.001, 0.1)
        area = np.sum(tps[1:][steps] / n * np.log(ends[1:] / ends[:-1])[steps]) / math.log(100)
        assert fastad.measures.log_auc(y, s) == pytest.approx(area, rel=1e-11)


def test_threads_do_not_change_a_bit() -> None:
    rng = np.random.default_rng(12)
    y = (rng.random(400_000) < 0.1).astype(int)
    s = np.round(rng.normal(size=400_000) + y, 4)
    measures = [
        "bedroc@20",
        "rie@5",
        "mindcf@0.01",
        "f1_best",
        "precision@recall0.7",
        "auc_log@0.01",
    ]
    one, two = (
        dict(fastad.evaluate(y, s, measures=measures, n_threads=n)["score"]) for n in (1, 2)
    )
    assert one == two


@given(
    y=st.lists(st.integers(0, 1), min_size=2, max_size=8),
    scores=st.lists(st.integers(0, 4), min_size=8, max_size=8),
    weight=st.sampled_from([1 / 3, 0.1, 0.7, 1e7 / 3]),
)
@example(y=[0, 1, 1, 0, 1], scores=[1, 2, 1, 1, 0, 0, 0, 0], weight=1 / 3)
def test_the_least_cost_of_equal_real_weights_has_the_threshold_of_that_without(
    y: list[int], scores: list[int], weight: float
) -> None:
    assume(0 < sum(y) < len(y))
    s = scores[: len(y)]
    weighted = min_detection_cost(y, s, sample_weight=[weight] * len(y))
    plain = min_detection_cost(y, s)
    assert weighted.threshold == plain.threshold
    assert weighted == pytest.approx(plain, rel=1e-14)
