"""Intervals cover the true value, also with wrong working models and at all looks."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fastad
from fastad.labeling import LabeledEstimate, design, draw, estimate
from tests.support.labeling import population

pytestmark = pytest.mark.evidence
TARGET = "tpr@0.02 a vs b"


def estimates(
    y_true: npt.NDArray[np.bool_], scores: npt.NDArray[Any], target: str, n_draws: int
) -> Iterator[LabeledEstimate]:
    """Yield the estimate of a target by 300 labels, of so many draws."""
    plan = design(scores, budget=300, target=target, prevalence=float(y_true.mean()))
    for seed in range(n_draws):
        drawn = draw(plan, rng=seed)
        yield estimate(scores, drawn.with_labels(y_true[drawn.row]), target=target).estimates[0]


@pytest.mark.parametrize("target", ["precision@fpr0.05", "f1@0.05"])
def test_rates_at_thresholds_between_large_ties_are_covered(target: str) -> None:
    """At least 92 % of 200 draws, less three standard errors; 84 % where the threshold moved."""
    rng = np.random.default_rng(0)
    y_true = rng.random(4000) < 0.05
    scores = np.round((rng.normal(size=4000) + 2.2 * y_true) * 2) / 2
    truth = fastad.evaluate(y_true, scores, measures=[target])["score"][target]
    covered = [each.low <= truth <= each.high for each in estimates(y_true, scores, target, 200)]
    assert sum(covered) >= 173


def test_a_threshold_that_may_lie_at_another_score_has_a_note() -> None:
    """The FPR at the threshold is 0.0806, and 0.081 the highest that is allowed."""
    rng = np.random.default_rng(18)
    y_true = rng.random(4000) < 0.05
    scores = np.round((rng.normal(size=4000) + 2.2 * y_true) * 4) / 4
    for target, has_note in (("precision@fpr0.081", True), ("tpr@0.081", False)):
        (each,) = estimates(y_true, scores, target, 1)
        note = each.reliability_note
        assert ("another of the few scores" in (note or "")) == has_note


@pytest.mark.parametrize("target", ["f1@0.05", "precision@fpr1"])
def test_scores_of_few_values_have_a_note_or_are_covered(target: str) -> None:
    """No threshold is below a rate of 5 %, and all rows are flagged at a rate of 1."""
    rng = np.random.default_rng(5)
    y_true = rng.random(3000) < 0.2
    for scores in ((rng.normal(size=3000) + 2 * y_true > 1.7) * 1.0, np.zeros(3000)):
        truth = fastad.evaluate(y_true, scores, measures=[target])["score"][target]
        wrong = [
            each.reliability_note is None and not each.low <= truth <= each.high
            for each in estimates(y_true, scores, target, 60)
        ]
        assert sum(wrong) <= 8


def test_difference_is_covered() -> None:
    """At least 92 % of 60 draws, less three standard errors, with a wrong working model."""
    y_true, scores = population(10_000, 0.05, np.random.default_rng(3), hidden=0.3)
    a, b = (fastad.tpr_at_fpr(y_true, values, fpr=0.02) for values in scores.values())
    plan = design(scores, budget=400, target=TARGET, prevalence=0.01)
    covered, never_missed = 0, 0
    for seed in range(60):
        drawn = draw(plan, rng=seed)
        looks = []
        for k in (100, 400):
            labels = np.where(np.arange(400) < k, y_true[drawn.row], math.nan)
            looks += estimate(scores, drawn.with_labels(labels), target=TARGET).estimates
        covered += looks[-1].low <= a - b <= looks[-1].high
        never_missed += all(x.sequence_low <= a - b <= x.sequence_high for x in looks)
    assert covered >= 49
    assert never_missed >= 49
