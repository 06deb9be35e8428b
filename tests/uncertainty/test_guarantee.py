"""Thresholds with a guarantee, against the binomial distribution term by term and by simulation."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.rates.order_statistics import guaranteed_rank, required_sample_size
from tests.support.strategies import FLOATS, INTEGERS


def below(rank: int, n: int, rate: Fraction) -> Fraction:
    """Probability that fewer of n samples than the rank lie beyond the quantile of a rate."""
    return sum(
        (math.comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(rank)), Fraction(0)
    )


exact_rates = st.fractions(0, 1, max_denominator=40).filter(lambda x: 0 < x < 1)


@given(st.integers(1, 60), exact_rates, exact_rates)
def test_the_rank_is_the_largest_that_the_distribution_allows(
    n: int, rate: Fraction, alpha: Fraction
) -> None:
    allowed = [rank for rank in range(1, n + 1) if below(rank, n, rate) <= alpha]
    assert guaranteed_rank(n, rate, alpha) == max(allowed, default=0)


@given(exact_rates.filter(lambda x: x > Fraction(1, 20)), exact_rates)
def test_the_required_sample_size_is_minimal(rate: Fraction, alpha: Fraction) -> None:
    n = required_sample_size(rate, alpha)
    assert (1 - rate) ** n <= alpha
    assert n == 1 or (1 - rate) ** (n - 1) > alpha


def test_bounds_that_floats_cannot_decide() -> None:
    """(1/2)**n is 1 of 2**n: the float probability is at the bound itself."""
    for n in range(1, 200):
        assert required_sample_size(Fraction(1, 2), Fraction(1, 2**n)) == n
        assert guaranteed_rank(n, Fraction(1, 2), Fraction(1, 2**n)) == 1
        assert guaranteed_rank(n, Fraction(1, 2), Fraction(1, 2**n + 1)) == 0


@pytest.mark.parametrize(
    ("fpr", "confidence_level", "n"), [(0.05, 0.95, 59), (0.01, 0.95, 299), (0.1, 0.99, 44)]
)
def test_well_known_sample_sizes(fpr: float, confidence_level: float, n: int) -> None:
    """Wilks' one-sided tolerance limits: 59 for 95 %/95 %, 299 for 99 %/95 %, 44 for 90 %/99 %."""
    assert fastad.sample_size_for_guarantee(fpr=fpr, confidence_level=confidence_level) == n
    tpr = 1 - Fraction(repr(fpr))
    assert fastad.sample_size_for_guarantee(tpr=tpr, confidence_level=confidence_level) == n
    scores = np.arange(n)
    result = fastad.threshold_with_guarantee(scores, fpr=fpr, confidence_level=confidence_level)
    assert (result.threshold, result.n_exceeding, result.n_samples) == (n, 0, n)
    with pytest.raises(UndefinedMeasureError, match=f"at least {n} scores; found {n - 1}"):
        fastad.threshold_with_guarantee(scores[1:], fpr=fpr, confidence_level=confidence_level)


@given(st.sampled_from([*FLOATS, *INTEGERS]), st.integers(30, 90), st.integers(0, 2**32))
def test_the_threshold_is_next_to_the_score_of_the_rank(dtype: Any, n: int, seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 100, n).astype(dtype)
    rank = guaranteed_rank(n, Fraction(1, 5), Fraction(1, 10))
    falling = sorted(scores.tolist(), reverse=True)
    result = fastad.threshold_with_guarantee(scores, fpr=0.2, confidence_level=0.9)
    assert result.threshold > falling[rank - 1]
    # Nothing of the type lies between the score and the threshold.
    if np.dtype(dtype).kind == "f":
        assert np.nextafter(dtype(falling[rank - 1]), dtype(np.inf)) == result.threshold
    else:
        assert result.threshold == falling[rank - 1] + 1
    assert result.n_exceeding == sum(score >= result.threshold for score in falling) < rank
    lowest = fastad.threshold_with_guarantee(scores, tpr=0.8, confidence_level=0.9)
    assert lowest.threshold == falling[n - rank]
    assert lowest.n_exceeding == sum(score < lowest.threshold for score in falling) < rank
    assert (
        result.confidence
        == lowest.confidence
        == pytest.approx(1 - float(below(rank, n, Fraction(1, 5))), abs=1e-12)
    )


@pytest.mark.evidence
@pytest.mark.parametrize("digits", [None, 1])
def test_the_rate_holds_with_the_stated_confidence(digits: int | None) -> None:
    """4 000 samples of 200 normal scores, whose true rate is known; ties are conservative."""
    rng = np.random.default_rng(0)
    n_held = 0
    for _ in range(4000):
        scores = rng.normal(size=200)
        if digits is not None:
            scores = scores.round(digits)
        result = fastad.threshold_with_guarantee(scores, fpr=0.05)
        # Rounded scores reach a threshold from half a step below it.
        reach = result.threshold if digits is None else math.ceil(result.threshold * 10) / 10 - 0.05
        n_held += 0.5 * math.erfc(reach / math.sqrt(2)) <= 0.05
    expected = 4000 * result.confidence
    deviation = math.sqrt(4000 * result.confidence * (1 - result.confidence))
    if digits is None:
        assert abs(n_held - expected) < 4 * deviation
    assert n_held > expected - 4 * deviation


def test_infinite_scores() -> None:
    scores = np.r_[np.zeros(97), [np.inf] * 3]
    with pytest.raises(UndefinedMeasureError, match="3 scores are"):
        fastad.threshold_with_guarantee(scores, fpr=0.05)
    assert fastad.threshold_with_guarantee(-scores, tpr=0.95).threshold == -np.inf
    assert fastad.threshold_with_guarantee(scores, fpr=0.2).threshold == 5e-324


@pytest.mark.parametrize("dtype", FLOATS)
def test_above_the_largest_float_is_infinity(dtype: Any) -> None:
    scores = np.full(100, np.finfo(dtype).max, dtype)
    assert fastad.threshold_with_guarantee(scores, fpr=0.05).threshold == math.inf


def test_the_largest_integers_have_a_threshold_above_them() -> None:
    scores = np.full(100, 2**64 - 1, np.uint64)
    assert fastad.threshold_with_guarantee(scores, fpr=0.05).threshold == 2**64
    assert fastad.threshold_with_guarantee(scores, fpr=0.05).n_exceeding == 0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "fpr must be given, or tpr"),
        ({"fpr": 0.1, "tpr": 0.9}, "fpr must be given, or tpr"),
        ({"fpr": 0}, "fpr must lie strictly between 0 and 1"),
        ({"tpr": 1.0}, "tpr must lie strictly between 0 and 1"),
        ({"fpr": 1.5}, "fpr must lie in"),
        ({"fpr": 0.1, "confidence_level": 1}, "confidence_level must lie strictly"),
        ({"fpr": 0.1, "confidence_level": "high"}, "confidence_level"),
    ],
)
def test_invalid_options_are_named(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        fastad.threshold_with_guarantee([0.0] * 100, **keywords)
    with pytest.raises((InvalidInputError, TypeError), match=message):
        fastad.sample_size_for_guarantee(**keywords)


@pytest.mark.parametrize("scores", [[np.nan] * 100, [], ["a"] * 100, [[0.0]] * 100])
def test_invalid_scores_are_named(scores: Any) -> None:
    with pytest.raises(InvalidInputError, match="y_score"):
        fastad.threshold_with_guarantee(scores, fpr=0.05)


def test_the_score_of_a_row_of_weight_0_may_be_nan() -> None:
    scores = np.arange(100.0)
    scores[7] = np.nan
    weights = np.arange(100) != 7
    assert fastad.threshold_with_guarantee(scores, fpr=0.05, sample_weight=weights) == (
        fastad.threshold_with_guarantee(scores[weights], fpr=0.05)
    )
    scores[[3, 9]] = np.nan
    with pytest.raises(InvalidInputError, match="found 2, the first at index 3"):
        fastad.threshold_with_guarantee(scores, fpr=0.05, sample_weight=weights)


def test_a_rare_tail_of_large_weights_is_allowed_for() -> None:
    """The rate held in 90 % where 95 % were asked for."""
    rng, n_tried, n_held = np.random.default_rng(0), 300, 0
    for _ in range(n_tried):
        scores = rng.normal(size=1000)
        probability = np.where(scores > 1.8, 0.13, 0.9)
        kept = rng.random(1000) < probability
        threshold = fastad.threshold_with_guarantee(
            scores[kept], fpr=0.05, sample_weight=1 / probability[kept]
        ).threshold
        n_held += stats.norm.sf(threshold) <= 0.05
    assert n_held >= stats.binom.ppf(0.01, n_tried, 0.95)


def test_nearly_equal_weights_allow_as_many_errors_as_independent_scores() -> None:
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=2000), rng.uniform(0.29, 0.31, 2000)
    alone = fastad.threshold_with_guarantee(scores, fpr=0.05)
    for of_rows in (weights, np.full(2000, 0.3)):
        weighted = fastad.threshold_with_guarantee(scores, fpr=0.05, sample_weight=of_rows)
        assert alone.n_exceeding - 2 <= weighted.n_exceeding <= alone.n_exceeding
        assert 0.95 <= weighted.confidence <= alone.confidence


@pytest.mark.parametrize(
    "options",
    [
        {"tpr": 1e-20},
        {"tpr": 1e-17, "confidence_level": 0.5},
        {"fpr": 0.01, "confidence_level": 1e-20},
    ],
)
def test_one_score_suffices_for_rates_next_to_nothing(options: dict[str, Any]) -> None:
    assert fastad.uncertainty.sample_size_for_guarantee(**options) == 1
