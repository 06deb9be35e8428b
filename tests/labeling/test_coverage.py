"""Intervals cover the true value, also with wrong working models and at all looks."""

import math

import numpy as np
import pytest

import fastad
from fastad.labeling import design, draw, estimate
from tests.support.labeling import population

pytestmark = pytest.mark.evidence
TARGET = "tpr@0.02 a vs b"


@pytest.mark.parametrize(("hidden", "prevalence"), [(0.0, 0.05), (0.3, 0.01)])
def test_difference_is_covered(hidden: float, prevalence: float) -> None:
    """At least 92 % of 100 draws, less three standard errors."""
    y_true, scores = population(10_000, 0.05, np.random.default_rng(3), hidden=hidden)
    a, b = (fastad.tpr_at_fpr(y_true, values, fpr=0.02) for values in scores.values())
    plan = design(scores, budget=400, target=TARGET, prevalence=prevalence)
    covered, never_missed = 0, 0
    for seed in range(100):
        drawn = draw(plan, rng=seed)
        looks = []
        for k in (100, 200, 400):
            labels = np.where(np.arange(400) < k, y_true[drawn.row], math.nan)
            looks += estimate(scores, drawn.with_labels(labels), target=TARGET).estimates
        covered += looks[-1].low <= a - b <= looks[-1].high
        never_missed += all(x.sequence_low <= a - b <= x.sequence_high for x in looks)
    assert covered >= 84
    assert never_missed >= 84
