"""Notes on scores that look like a mistake."""

from typing import Any

import numpy as np
import pytest

import fastad
from fastad.ordering.labels import check_labels
from tests.support.loops import loop

Y = np.arange(200) % 10 == 0
RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=200) + 2 * Y
GROUPS = np.arange(200) // 20 % 4
EQUAL = "note: scores of {} are equal and order nothing"
DECISIONS = "note: scores of {} have two values and look like decisions"
REVERSED = "note: the AUC of {} is far below 0.5: the orientation of the scores may be reversed"


def notes_of(scores: Any, **options: Any) -> str:
    return "\n".join(fastad.evaluate(Y, scores, **options).notes)


@loop("value", [0, np.inf, -np.inf, 1e-300])
@loop("measures", [None, ["auc"], ["tpr@0.05"]])
def test_equal_scores_are_noted(value: float, measures: Any) -> None:
    scores = {"good": GOOD, "equal": np.full(200, value)}
    assert EQUAL.format("equal") in notes_of(scores, measures=measures)
    grouped = notes_of(scores, measures=measures, groups=GROUPS)
    assert EQUAL.format("equal in 4 of 4 runs") in grouped
    some = np.where(GROUPS == 1, value, GOOD)
    assert EQUAL.format("score in 1 of 4 runs") in notes_of(some, measures=measures, groups=GROUPS)
    assert "note" not in notes_of(GOOD, measures=measures)


def test_scores_of_two_values_are_noted_as_decisions() -> None:
    decisions = GOOD > 1
    assert DECISIONS.format("score") in notes_of(decisions.astype(float))
    for measures in (["auc"], ["auc", "ap"]):
        grouped = notes_of(decisions.astype(int), groups=GROUPS, measures=measures)
        assert DECISIONS.format("score in 4 of 4 runs") in grouped
        one_alone = notes_of(np.where(GROUPS, GOOD, GOOD > 3), groups=GROUPS, measures=measures)
        assert DECISIONS.format("score in 1 of 4 runs") in one_alone
    assert "two values" not in notes_of(np.round(GOOD))
    few = fastad.evaluate([0, 0, 1, 1], [0, 0, 1, 1])
    assert "two values" not in "\n".join(few.notes)


def test_an_area_far_below_one_half_on_all_data_sets_is_noted() -> None:
    assert REVERSED.format("worse") in notes_of({"good": GOOD, "worse": -GOOD})
    assert REVERSED.format("score") in notes_of(-GOOD, groups=GROUPS)
    assert "reversed" not in notes_of(np.where(GROUPS == 2, GOOD, -GOOD), groups=GROUPS)
    # Below 0.4, but not beyond chance.
    few = fastad.evaluate([0, 1, 0, 1, 0], [3, 2, 5, 1, 2.5])
    assert few["score"]["auc"] == 0
    assert "reversed" not in "\n".join(few.notes)


@loop("unit", [1e-90, 0.01, 1.0, 1000.5])
def test_notes_do_not_depend_on_the_unit_of_real_weights(unit: float) -> None:
    def notes(scores: Any, relative: Any = 1.0) -> str:
        # One weight that is no integer, so that all are real.
        weights = unit * np.where(np.arange(200) == 1, 1.5, 1.0) * relative
        return notes_of(scores, sample_weight=weights, measures=["auc"])

    assert EQUAL.format("score") in notes(np.zeros(200))
    assert DECISIONS.format("score") in notes(GOOD > 1)
    assert REVERSED.format("score") in notes(-GOOD)
    # An anomaly with nearly all weight of its class is one anomaly, which may lie below by chance.
    assert "reversed" not in notes(-GOOD, np.where(np.arange(200) == 0, 1e6, 1.0))
    few = fastad.evaluate([0, 1, 0, 1, 0], [3, 2, 5, 1, 2.5], sample_weight=[unit * 1.1] * 5)
    assert "reversed" not in "\n".join(few.notes)


def test_effective_sizes_are_computed_once_and_do_not_depend_on_the_order_of_rows() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 2000)
    y = np.arange(2000) % 2
    labels = check_labels(y, sample_weight=weights)
    sizes = labels.effective_sizes
    assert labels.effective_sizes is sizes
    expected = [w.sum() ** 2 / (w**2).sum() for w in (weights[y == 1], weights[y == 0])]
    assert sizes == pytest.approx(expected, abs=1e-6)
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(2000)
        assert check_labels(y[rows], sample_weight=weights[rows]).effective_sizes == sizes


def test_summaries_have_the_notes_of_their_runs() -> None:
    summary = fastad.evaluate(Y, np.zeros(200), groups=GROUPS).summary()
    assert EQUAL.format("score in 4 of 4 runs") in str(summary)
