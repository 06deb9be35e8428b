"""Ranks of detectors from their scores on one data set, or on several that stay as they are."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import fastad
from fastad.benchmarking import RankIntervals, score_rank_intervals
from fastad.benchmarking.score_ranks import _factor
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty import delong_covariance

Floats = npt.NDArray[np.float64]


def draw(
    *shifts: float, n: tuple[int, int] = (40, 200), seed: int = 0
) -> tuple[npt.NDArray[np.int64], dict[str, Floats]]:
    """Labels, and scores of detectors that share a part."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], n)
    shared = rng.normal(size=len(y))
    scores = {
        "abcdef"[i]: shared + rng.normal(size=len(y)) + shift * y for i, shift in enumerate(shifts)
    }
    return y, scores


def is_better(result: RankIntervals, one: str, other: str) -> bool:
    names = list(result.detectors)
    return bool(result.better[names.index(one), names.index(other)])


@pytest.mark.parametrize("seed", range(6))
def test_two_detectors_are_compared_by_students_test(seed: int) -> None:
    y, scores = draw(1.6, 1.0, seed=seed)
    matrix = delong_covariance(y, scores)
    variance = matrix.matrix[0, 0] + matrix.matrix[1, 1] - 2 * matrix.matrix[0, 1]
    statistic = (matrix.values[0] - matrix.values[1]) / math.sqrt(variance)
    p_value = 2 * stats.t.sf(abs(statistic), 39)
    for confidence_level in (0.5, 0.8, 0.95, 0.99):
        alpha = 1 - confidence_level
        if abs(p_value - alpha) < 0.2 * alpha:
            continue  # nearer than the Monte Carlo error
        result = score_rank_intervals(
            y, scores, measure="auc", confidence_level=confidence_level, n_resamples=9999, rng=1
        )
        better, worse = ("a", "b") if statistic > 0 else ("b", "a")
        assert is_better(result, better, worse) == (p_value < alpha)
        assert not is_better(result, worse, better)
    probability = result.best_probabilities()[list(result.detectors).index("a")]
    assert probability == pytest.approx(stats.norm.cdf(statistic), abs=0.02)


def test_the_factor_has_the_products_of_the_errors() -> None:
    rng = np.random.default_rng(2)
    errors = rng.normal(size=(30, 4))
    errors[:, 3] = errors[:, 0]
    factor = _factor(errors)
    np.testing.assert_allclose(factor.T @ factor, errors.T @ errors, atol=1e-10)
    few = errors[:2]  # fewer samples than detectors
    np.testing.assert_allclose(_factor(few).T @ _factor(few), few.T @ few, atol=1e-10)


def test_ranks_and_what_is_said_of_them() -> None:
    y, scores = draw(2.5, 1.0, 1.0)
    scores["d"] = scores["a"]
    result = score_rank_intervals(y, scores, measure="auc", n_best=2, rng=0)
    assert set(result.tied_with_best) == {"a", "d"}
    assert result.rank.tolist()[:2] == [1, 1]
    assert result.best_probabilities(1).tolist()[:2] == [1, 1]
    expected = [fastad.roc_auc(y, scores[name]) for name in result.detectors]
    assert result.mean.tolist() == expected
    assert np.isnan(result.mean_rank).all()
    assert "40 anomalies and 200 normal samples" in result.summary
    assert result.notes[-1] == "of these data sets: the intervals say nothing of others"


def test_data_sets_stay_as_they_are() -> None:
    """The variance of a mean of two data sets is that of samples, however much they differ."""
    hard, easy = draw(0.4, 0.0, seed=1), draw(4.0, 3.0, seed=2)
    y = np.concatenate([hard[0], easy[0]])
    scores = {name: np.concatenate([hard[1][name], easy[1][name]]) for name in "ab"}
    groups = np.repeat(["hard", "easy"], [len(hard[0]), len(easy[0])])
    result = score_rank_intervals(y, scores, measure="auc", groups=groups, n_resamples=9999, rng=0)
    parts = [delong_covariance(*each) for each in (hard, easy)]
    values = np.mean([part.values for part in parts], axis=0)
    matrix = np.sum([part.matrix for part in parts], axis=0) / 4
    difference = values[0] - values[1]
    error = math.sqrt(matrix[0, 0] + matrix[1, 1] - 2 * matrix[0, 1])
    assert result.mean.tolist() == pytest.approx(sorted(values, reverse=True))
    probability = result.best_probabilities()[list(result.detectors).index("a")]
    assert probability == pytest.approx(stats.norm.cdf(difference / error), abs=0.02)
    assert "of 2 data sets" in result.summary
    rows = np.random.default_rng(0).permutation(len(y))
    again = score_rank_intervals(
        y[rows],
        {name: values[rows] for name, values in scores.items()},
        measure="auc",
        groups=groups[rows],
        n_resamples=9999,
        rng=0,
    )
    assert np.array_equal(again.better, result.better)
    np.testing.assert_allclose(again.best_probabilities(), result.best_probabilities(), atol=0.01)


@pytest.mark.parametrize("measure", ["tpr@0.1", "fpr@tpr0.8"])
def test_other_measures_are_resampled(measure: str) -> None:
    """And lower may be better."""
    y, scores = draw(3.0, 1.0, 0.9)
    result = score_rank_intervals(y, scores, measure=measure, n_resamples=400, rng=0)
    assert result.tied_with_best == ["a"]
    assert set(result.detectors[1:]) == {"b", "c"}
    assert result.low.tolist()[1:] == [2, 2]
    assert result.measure == measure
    one = score_rank_intervals(y, scores, measure=measure, n_resamples=400, rng=0, n_threads=1)
    assert np.array_equal(one.rank_probabilities, result.rank_probabilities)


def test_one_replicate_ranks_at_a_level_that_it_may_exceed() -> None:
    """Half of one replicate and the data: what is left after a step is looked for in none."""
    y, scores = draw(1.0)
    worst = {**scores, "worst": -1.0 * y}
    result = score_rank_intervals(
        y, worst, measure="ap", n_resamples=1, confidence_level=0.5, rng=0
    )
    assert list(result.rank) == [1, 2]


def test_refusals() -> None:
    y, scores = draw(1.0, 2.0)
    options: dict[str, Any] = {"measure": "auc"}
    with pytest.raises(InvalidInputError, match="two detectors; found one"):
        score_rank_intervals(y, scores["a"], **options)
    with pytest.raises(UndefinedMeasureError, match="two samples of each class; found 1 anomalies"):
        score_rank_intervals(y[39:], {name: x[39:] for name, x in scores.items()}, **options)
    with pytest.raises(UndefinedMeasureError, match="by auc on 0 needs two samples of each"):
        score_rank_intervals(y, scores, groups=y, **options)
    with pytest.raises(InvalidInputError, match=r"groups must .*; found"):
        score_rank_intervals(y, scores, groups=[1, 2], **options)
    scores["a"][3] = math.nan
    for groups in (None, np.arange(len(y)) % 2):
        message = r"y_score\['a'\] must not contain NaN; found 1, the first at index 3"
        with pytest.raises(InvalidInputError, match=message):
            score_rank_intervals(y, scores, groups=groups, **options)
    with pytest.raises(InvalidInputError, match="more, or less, is better; found flagged@thresho"):
        score_rank_intervals(y, scores, measure="n_flagged", threshold=0.5)
    with pytest.raises(InvalidInputError, match="n_best must be at least 1"):
        score_rank_intervals(y, scores, n_best=0, **options)


@pytest.mark.evidence
@pytest.mark.parametrize(("n", "k"), [((15, 200), 10), ((50, 500), 30)])
def test_equal_detectors_are_rarely_ranked(n: tuple[int, int], k: int) -> None:
    """Below 5 % by three standard errors, with fifteen anomalies and with fifty."""
    rng, wrong = np.random.default_rng(1), []
    y = np.repeat([1, 0], n)
    for _ in range(200):
        scores = rng.normal(size=len(y)) + rng.normal(size=(k, len(y))) + 1.2 * y
        result = score_rank_intervals(y, scores, measure="auc", n_resamples=199, rng=rng)
        wrong.append(result.better.any())
    assert np.mean(wrong) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
