"""Thresholds and what they flag against their definitions."""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fastad
from fastad.measures import threshold_at_rate
from tests.support import oracles
from tests.support.agreement import assert_measure
from tests.support.strategies import Sample, rates_of, samples

INTERPOLATIONS = st.sampled_from(["linear", "conservative"])
RATES = ("tpr", "recall", "fpr", "tnr", "fnr", "precision", "npv", "fdr", "fomr", "accuracy")
WEIGHTS = pytest.mark.parametrize("weights", ["none", "integer"])


def assert_threshold(result: Any, exact: Any, lower: Any, scores: Any) -> None:
    """The exact threshold in the type of the scores, strictly above the next score."""
    dtype = scores.dtype.newbyteorder("=")
    if isinstance(exact, float) and math.isinf(exact):
        assert result == exact
    elif dtype.kind in "iub":
        assert type(result) is int
        assert result == math.ceil(exact)
    elif dtype == np.float64:
        assert type(result) is float
        bound = math.nextafter(lower, math.inf) if math.isfinite(lower) else lower
        assert result >= bound
        nearest = max(float(exact), bound)
        assert abs(Fraction(result) - Fraction(nearest)) <= Fraction(math.ulp(nearest))
    else:
        assert type(result) is float
        assert result == rounded_up(Fraction(exact), dtype.type)


def rounded_up(exact: Fraction, dtype: Any) -> float:
    """The smallest number of a float type that is not below an exact one."""
    near = dtype(float(exact))  # within one step of the exact number
    candidates = [near]
    with np.errstate(over="ignore"):
        for end in (-np.inf, np.inf):
            step = np.nextafter(near, dtype(end))
            candidates += [step, np.nextafter(step, dtype(end))]
    finite = [float(x) for x in candidates if np.isfinite(x)]
    return min(x for x in finite if Fraction(x) >= exact)


@WEIGHTS
@given(data=st.data(), interpolation=INTERPOLATIONS)
def test_threshold_at_a_rate(weights: str, data: st.DataObject, interpolation: Any) -> None:
    """Of normals, and where all samples are normal."""
    sample = data.draw(samples(weights=weights))
    rate = data.draw(rates_of(sample.n_normals))
    options: Any = {"interpolation": interpolation, "sample_weight": sample.w}
    calls: list[tuple[Callable[[], Any], oracles.Rows]] = [
        (lambda: fastad.threshold_at_fpr(sample.y, sample.s, fpr=rate, **options), sample.rows)
    ]
    if weights == "none":
        at_rate = partial(threshold_at_rate, interpolation=interpolation)
        calls.append((lambda: at_rate(sample.s, rate=rate), oracles.all_normal(sample.s)))
    alpha = oracles.written(rate)
    for call, rows in calls:
        exact = oracles.attempt(partial(oracles.threshold_at_fpr, rows, alpha, interpolation))
        if exact is None:
            with pytest.raises(fastad.UndefinedMeasureError):
                call()
            continue
        _, following = oracles.ends_at_fpr(rows, alpha)
        assert_threshold(call(), exact, following[2] if following else -math.inf, sample.s)


@pytest.mark.parametrize("interpolation", ["linear", "conservative"])
@pytest.mark.parametrize("fpr", [0.5, 0.75, 1])
def test_thresholds_of_boolean_scores_are_whole(interpolation: Any, fpr: float) -> None:
    scores = np.array([True, False])
    result = fastad.threshold_at_fpr([0, 0], scores, fpr=fpr, interpolation=interpolation)
    assert type(result) is int
    assert result == (0 if fpr == 1 else 1)
    assert fastad.confusion_at([0, 0], scores, threshold=result).fp == 2 * fpr // 1


def test_a_rate_that_infinite_scores_exceed() -> None:
    message = "rate of at most 0.1: every threshold flags scores of .inf, .* the lowest rate 0.25$"
    with pytest.raises(fastad.UndefinedMeasureError, match=message):
        threshold_at_rate([math.inf, 1, 2, 3], rate=0.1)
    with pytest.raises(fastad.UndefinedMeasureError, match=message):
        fastad.threshold_at_fpr([0, 0, 0, 0, 1], [math.inf, 1, 2, 3, 4], fpr=0.1)


@given(sample=samples(), data=st.data(), interpolation=INTERPOLATIONS)
def test_flagged_rate_never_exceeds_what_was_requested(
    sample: Sample, data: st.DataObject, interpolation: Any
) -> None:
    fpr = data.draw(rates_of(sample.n_normals))
    alpha = oracles.written(fpr)
    expected = oracles.attempt(lambda: oracles.flagged(sample.rows, alpha))
    assume(expected is not None)
    threshold = fastad.threshold_at_fpr(sample.y, sample.s, fpr=fpr, interpolation=interpolation)
    # NumPy's own comparison with the array as it came: the flagged set is that of L.
    alarm = np.asarray(sample.s >= threshold)
    assert (np.sum(alarm & (sample.y == 0)), np.sum(alarm & (sample.y == 1))) == expected
    assert np.sum(alarm & (sample.y == 0)) <= alpha * sample.n_normals


@pytest.mark.parametrize("name", ["f1_at_fpr", "precision_at_fpr"])
@WEIGHTS
@given(data=st.data())
def test_what_is_flagged_at_fpr(name: str, weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    fpr, oracle = data.draw(rates_of(sample.n_normals)), getattr(oracles, name)
    assert_measure(name, sample, lambda rows: oracle(rows, oracles.written(fpr)), fpr=fpr)


@WEIGHTS
@given(data=st.data())
def test_confusion_at_a_threshold(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    offered: list[Any] = [0, 1, -1, 0.5, -0.0, math.inf, -math.inf, 2**53 + 1, 2**63, -(2**63)]
    offered += [2**64, 1e300, -1e300, 5e-324, 2.0**53, 2.0**53 + 4, 2.0**63, 2.0**64]
    if sample.s.dtype.kind == "f" and sample.s.dtype.itemsize < 8:
        # NumPy warns where a number does not fit into the type of the scores.
        offered = [t for t in offered if abs(t) < 1e4 or abs(t) == math.inf]
    # Thresholds are numbers: of boolean scores 0 and 1.
    scores = sample.s.astype(np.int8) if sample.s.dtype == bool else sample.s
    threshold = data.draw(st.sampled_from([*offered, *scores.tolist()]))
    result = fastad.confusion_at(sample.y, sample.s, threshold=threshold, sample_weight=sample.w)
    expected = oracles.confusion(sample.y, sample.s, threshold, sample.w)
    assert (result.tp, result.fp, result.tn, result.fn) == expected


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7, 1 / 3])
def test_confusion_of_short_floats_compares_in_their_type(dtype: Any, threshold: float) -> None:
    # 0.1 as a float32 is above 0.1 as a float64; NumPy brings a Python number to float32.
    y, s = np.array([0, 1, 0, 1]), np.array([0.1, 0.3, 0.7, 1 / 3], dtype)
    result = fastad.confusion_at(y, s, threshold=threshold)
    expected = oracles.confusion(y, s, threshold)
    assert (result.tp, result.fp, result.tn, result.fn) == expected


@given(sample=samples(weights="real"), data=st.data())
def test_confusion_under_real_weights(sample: Sample, data: st.DataObject) -> None:
    threshold = data.draw(st.sampled_from([score + 0 for score in sample.s.tolist()]))
    result = fastad.confusion_at(sample.y, sample.s, threshold=threshold, sample_weight=sample.w)
    expected = oracles.confusion(sample.y, sample.s, threshold, sample.w)
    assert (result.tp, result.fp) == pytest.approx(expected[:2], rel=1e-14, abs=0)
    # The rest is a difference: its error is that of the totals.
    total = math.fsum(expected)
    assert (result.tn, result.fn) == pytest.approx(expected[2:], rel=1e-14, abs=1e-14 * total)


@WEIGHTS
@given(data=st.data())
def test_confusion_of_the_k_highest_shares_out_ties(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    n, m = oracles.totals(sample.rows)
    k = data.draw(st.integers(1, int(n + m) + 1))
    expected = oracles.attempt(lambda: oracles.top(sample.rows, k))
    if expected is None:
        with pytest.raises(fastad.UndefinedMeasureError):
            fastad.confusion_at(sample.y, sample.s, k=k, sample_weight=sample.w)
        return
    result = fastad.confusion_at(sample.y, sample.s, k=k, sample_weight=sample.w)
    fp, tp = expected
    assert (result.tp, result.fp, result.tn, result.fn) == (
        float(tp),
        float(fp),
        float(m - fp),
        float(n - tp),
    )


@pytest.mark.parametrize("weight", [1e-100, 1e-80, 1e77, 1e100])
def test_correlation_under_weights_whose_products_no_float_holds(weight: float) -> None:
    y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    result = fastad.confusion_at(y, s, threshold=0.35, sample_weight=[weight] * 4)
    assert result.mcc == pytest.approx(1 / math.sqrt(3), rel=1e-14)


def test_correlation_stays_in_its_range_under_real_weights() -> None:
    for w in np.random.default_rng(0).choice([0.1, 0.2, 0.3, 0.7, 0.9], (100, 4)):
        for y in ([0, 0, 1, 1], [1, 1, 0, 0]):
            assert abs(fastad.confusion_at(y, y, threshold=1, sample_weight=w).mcc) <= 1
            assert abs(fastad.confusion_at(y, [1, 1, 0, 0], threshold=1, sample_weight=w).mcc) <= 1


@given(counts=st.tuples(*[st.integers(0, 4)] * 4))
@example(counts=(0, 0, 1, 1))
def test_rates_of_a_confusion_are_ratios_of_counts(counts: tuple[int, int, int, int]) -> None:
    tp, fp, tn, fn = counts
    assume(sum(counts))
    y = [1] * tp + [0] * fp + [0] * tn + [1] * fn
    s = [1] * (tp + fp) + [0] * (tn + fn)
    result = fastad.confusion_at(y, s, threshold=1)
    assert result.n_flagged == tp + fp
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    both = tp * (fp + tn) + tn * (tp + fn)
    expected = {
        **{rate: oracles.trials(rate, tp, fp, tn, fn) for rate in RATES},
        "f1": (2 * tp, 2 * tp + fp + fn),
        "balanced_accuracy": (both, 2 * (tp + fn) * (fp + tn)),
        "mcc": (tp * tn - fp * fn, math.sqrt(margins)),
    }
    for name, (part, whole) in expected.items():
        ratio = part / whole if whole else math.nan
        assert getattr(result, name) == pytest.approx(ratio, rel=1e-15, nan_ok=True), name
