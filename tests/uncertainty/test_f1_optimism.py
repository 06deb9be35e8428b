"""What the best F1 gains by a threshold chosen on the same labels."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.random import random_key
from fastad._kernels.random import bits
from fastad._kernels.resampling import draws
from fastad.uncertainty import best_f1_optimism
from tests.support.loops import loop
from tests.support.strategies import Sample, samples


def exact_f1(flagged: npt.NDArray[Any], y: npt.NDArray[Any], weight: Fraction) -> Fraction:
    tp, fp = int(np.sum(flagged & (y == 1))), int(np.sum(flagged & (y == 0)))
    return Fraction(2 * tp) / (tp + weight * fp + int(np.sum(y)))


def best_threshold(y: npt.NDArray[Any], s: npt.NDArray[Any], weight: Fraction) -> Any:
    """Of all thresholds the best, of equal ones the highest, by trying each."""
    thresholds = [np.inf, *sorted(set(s.tolist()), reverse=True)]
    return max(thresholds, key=lambda t: exact_f1(s >= t, y, weight))


def weight_at(y: npt.NDArray[Any], prevalence: Fraction | None) -> Fraction:
    if prevalence is None:
        return Fraction(1)
    return (1 - prevalence) / prevalence * Fraction(int(np.sum(y)), int(np.sum(y == 0)))


def judged_by_others(y: npt.NDArray[Any], s: npt.NDArray[Any], weight: Fraction) -> float:
    flagged = np.empty(len(y), bool)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        flagged[i] = s[i] >= best_threshold(y[others], s[others], weight)
    return float(exact_f1(flagged, y, weight))


def two_of_each(sample: Sample) -> Sample:
    assume(2 <= np.sum(sample.y) <= len(sample.y) - 2)
    return sample


@given(samples().map(two_of_each), st.sampled_from([None, Fraction(1, 3), Fraction(1, 100)]))
def test_each_sample_is_judged_by_the_best_threshold_of_the_others(
    sample: Sample, prevalence: Fraction | None
) -> None:
    y = np.asarray(sample.y).astype(int)
    result = best_f1_optimism(sample.y, sample.s, prevalence=prevalence, method="leave-one-out")
    best = fastad.best_f1(sample.y, sample.s, prevalence=prevalence)
    assert (result.value, result.threshold) == (float(best), best.threshold)
    assert result.corrected == pytest.approx(
        judged_by_others(y, np.asarray(sample.s), weight_at(y, prevalence)), rel=1e-14
    )
    assert result.optimism == result.value - result.corrected
    assert (result.method, result.n_resamples) == ("leave-one-out", 0)


def gain_of_replicates(
    y: npt.NDArray[Any], s: npt.NDArray[Any], seed: int, n_resamples: int
) -> float:
    """Draw the replicates that intervals draw, from the highest score of a class down."""
    gains = []
    for replicate in range(n_resamples):
        stream = np.uint64(bits(random_key(seed), replicate))
        times = np.empty(len(y), int)
        for of_class, label in enumerate((1, 0)):
            rows = np.flatnonzero(y == label)[np.argsort(-s[y == label], kind="stable")]
            drawn = np.empty(len(rows), np.uint8)
            key = np.uint64(bits(stream, of_class))
            draws.draw(key, len(rows), len(rows), 0, drawn, np.empty(7, np.int64))
            times[rows] = drawn
        replicate_y, replicate_s = np.repeat(y, times), np.repeat(s, times)
        threshold = best_threshold(replicate_y, replicate_s, Fraction(1))
        on_replicate = exact_f1(replicate_s >= threshold, replicate_y, Fraction(1))
        left_y, flagged = y[times == 0], s[times == 0] >= threshold
        if 0 < np.sum(left_y) < len(left_y):
            tp = Fraction(int(np.sum(flagged & (left_y == 1))), int(np.sum(left_y)))
            fp = Fraction(int(np.sum(flagged & (left_y == 0))), int(np.sum(left_y == 0)))
            n, m = int(np.sum(y)), int(np.sum(y == 0))
            gains.append(float(on_replicate - 2 * n * tp / (n * tp + m * fp + n)))
    return 0.632 * math.fsum(gains) / len(gains)


@loop("seed", range(5))
@loop("decimals", [0, 1, 9])
def test_replicates_are_judged_on_what_they_leave_out(seed: int, decimals: int) -> None:
    rng = np.random.default_rng([seed, decimals])
    y = (rng.random(40) < 0.3).astype(int)
    s = np.round(rng.normal(size=40) + y, decimals)
    result = best_f1_optimism(y, s, method="bootstrap", n_resamples=50, rng=seed)
    assert result.optimism == pytest.approx(gain_of_replicates(y, s, seed, 50), abs=1e-13)
    assert (result.method, result.n_resamples) == ("bootstrap", 50)


DATA = np.random.default_rng(5)
Y = np.arange(3000) < 200
S = DATA.normal(size=3000) + 2 * Y


def test_a_seed_gives_the_same_bits_with_any_threads_and_progress() -> None:
    steps: list[tuple[int, int]] = []
    options: dict[str, Any] = {"method": "bootstrap", "n_resamples": 300, "rng": 7}
    one = best_f1_optimism(Y, S, **options, n_threads=1)
    two = best_f1_optimism(Y, S, **options, n_threads=2)
    shown = best_f1_optimism(Y, S, **options, progress=lambda *done: steps.append(done))
    assert one.corrected == two.corrected == shown.corrected
    assert steps[-1] == (300, 300)
    other = best_f1_optimism(Y, S, **(options | {"rng": 8}))
    assert other.corrected != one.corrected


@loop("method", ["leave-one-out", "bootstrap"])
def test_only_the_order_of_scores_counts(method: Any) -> None:
    options: dict[str, Any] = {"method": method, "n_resamples": 20, "rng": 1}
    shuffled = np.random.default_rng(2).permutation(len(Y))
    expected = best_f1_optimism(Y, S, **options).corrected
    assert best_f1_optimism(Y, np.exp(S), **options).corrected == expected
    assert best_f1_optimism(Y[shuffled], S[shuffled], **options).corrected == expected


@loop("method", ["leave-one-out", "bootstrap"])
def test_integer_weights_are_samples(method: Any) -> None:
    w = np.random.default_rng(3).integers(0, 4, len(Y))
    options: dict[str, Any] = {"method": method, "n_resamples": 20, "rng": 1}
    weighted = best_f1_optimism(Y, S, sample_weight=w, **options)
    repeated = best_f1_optimism(np.repeat(Y, w), np.repeat(S, w), **options)
    assert weighted.to_dict() == repeated.to_dict()


@loop("decimals", [0, 9])
def test_the_method_is_chosen_by_ties(decimals: int) -> None:
    scores = np.round(S, decimals)
    result = best_f1_optimism(Y, scores, n_resamples=20, rng=3)
    expected = "bootstrap" if decimals else "leave-one-out"
    assert result.method == expected
    alone = best_f1_optimism(Y, scores, n_resamples=20, rng=3, method=result.method)
    assert result.to_dict() == alone.to_dict()


def test_a_perfect_order_is_corrected_by_its_margin_alone() -> None:
    # Without the lowest anomaly the threshold is the next higher one, which misses it.
    result = best_f1_optimism([0, 0, 1, 1, 1], [1, 2, 3, 4, 5], method="leave-one-out")
    assert (result.value, result.corrected) == (1.0, 0.8)


@loop("data", [([0, 0, 1], [1, 2, 3]), ([0, 1, 1], [1, 2, 3])])
def test_a_class_of_one_sample_is_refused(data: Any) -> None:
    with pytest.raises(UndefinedMeasureError, match="needs two samples of each class; found"):
        best_f1_optimism(*data)


@loop(
    "option",
    [
        ({"method": "jackknife"}, "method"),
        ({"prevalence": 2}, "prevalence"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"sample_weight": [0.5, 1, 1, 1]}, "sample_weight"),
    ],
)
def test_wrong_options_are_refused(option: Any) -> None:
    options, name = option
    with pytest.raises(InvalidInputError, match=name):
        best_f1_optimism([0, 0, 1, 1], [1, 2, 3, 4], **options)


@pytest.mark.evidence
@loop("scale", [(2.0, 0.0), (2.0, 0.5), (5.0, 0.0)])
def test_the_corrected_value_is_that_of_new_samples(scale: Any) -> None:
    # Within 0.005, and three standard errors of some 0.004; without a correction 0.03 to 0.08 off.
    shift, step = scale
    rng = np.random.default_rng(11)
    n, m, n_sets = 20, 200, 500
    differences = []
    for _ in range(n_sets):
        y = np.arange(n + m) < n
        s = rng.normal(size=n + m) + shift * y
        s = np.floor(s / step) * step if step else s
        result = best_f1_optimism(y, s, n_resamples=20, rng=rng)
        tpr = stats.norm.sf(result.threshold - shift)
        fpr = stats.norm.sf(result.threshold)
        differences.append(result.corrected - 2 * n * tpr / (n * tpr + m * fpr + n))
    error = np.std(differences) / math.sqrt(n_sets)
    assert abs(np.mean(differences)) < 0.005 + 3 * error
