"""Gradients against differences of the measures themselves, and the slope of a binormal curve."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.labeling.gradients import gradient, rows_near
from fastad.labeling.score_orders import ScoreOrder
from fastad.labeling.targets import check_targets
from fastad.measures.requests import bind
from tests.support.loops import loop

SMOOTH = [
    *("auc", "ap", "auc@0.3", "auc_at_tpr", "pr_auc", "precision_gain_auc", "log_auc", "bedroc"),
    *("weighted_auc", "robust_initial_enhancement", "tpr@threshold1"),
    *("precision@threshold1", "f1@threshold1"),
    *("fpr@threshold1", "precision@k20", "recall@k20", "balanced_accuracy@threshold1"),
    "mcc@threshold1",
]


@pytest.mark.slow
@loop("key", SMOOTH)
@loop("decimals", [1, 9])
def test_gradient_is_the_difference_by_one_soft_label(key: str, decimals: int) -> None:
    """Also where a label is known, so that its score may have one class alone; also with ties."""
    rng = np.random.default_rng(decimals)
    scores = np.round(rng.normal(size=60), decimals)
    labels = np.where(rng.random(60) < 0.3, 0.8, 0.05)
    labels = np.where(rng.random(60) < 0.4, np.round(labels), labels)
    order, bound = ScoreOrder.of(scores), bind(key, {})
    gradients = gradient(order.counts(labels), bound)[order.point]
    step = 1e-6
    for row in range(60):
        values, steps = [], []
        for sign in (-1, 1):
            moved = labels.copy()
            moved[row] = np.clip(labels[row] + sign * step, 0, 1)
            values.append(bound.value(order.counts(moved)))
            steps.append(moved[row])
        slope = (values[1] - values[0]) / (steps[1] - steps[0])
        assert gradients[row] == pytest.approx(slope, abs=2e-5)


@loop(
    ("measure", "parameters"),
    [
        ("precision_at_fpr", {"fpr": 0.1}),
        ("f1_at_fpr", {"fpr": 0.1}),
        ("fpr_at_tpr", {"tpr": 0.5, "interpolation": "conservative"}),
    ],
)
def test_a_threshold_between_large_ties_stays_where_it_is(
    measure: str, parameters: dict[str, Any]
) -> None:
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(900) < 0.3, 0.8, 0.05)
    scores = np.round(rng.normal(size=900) + 2 * (labels > 0.5))
    order, bound = ScoreOrder.of(scores), bind(measure, parameters)
    gradients = gradient(order.counts(labels), bound, at_steps=True)[order.point]
    step = 1e-4
    for row in range(0, 900, 9):
        values = []
        for sign in (-1, 1):
            moved = labels.copy()
            moved[row] += sign * step
            values.append(bound.value(order.counts(moved)))
        assert gradients[row] == pytest.approx((values[1] - values[0]) / (2 * step), abs=2e-5)


def test_missed_has_the_gradient_1_below_the_threshold() -> None:
    scores = np.array([3.0, 1.0, 2.0, 0.5])
    order = ScoreOrder.of(scores)
    (target,) = check_targets("missed@threshold2", ["score"])
    counts = order.counts(np.array([0.5, 0.25, 0.5, 0.25]))
    assert target.value({"score": counts}) == 0.5
    gradients = target.gradient({"score": counts}, {"score": order.point})
    assert gradients == pytest.approx([0, 1, 0, 1], abs=1e-9)


def test_threshold_at_an_fpr_moves_with_the_labels() -> None:
    """Of normal distributions: dTPR = (1 + r (1 - fpr) - TPR) / n above, with the local odds r."""
    n, prevalence, shift, fpr = 400_000, 0.02, 2.0, 0.05
    scores = norm.ppf((np.arange(n) + 0.5) / n) * 2
    odds = prevalence * norm.pdf(scores - shift) / norm.pdf(scores)
    # Rows weighted to densities of both classes.
    weight = norm.pdf(scores) / norm.pdf(scores / 2)
    order = ScoreOrder.of(scores)
    counts = order.counts(weight * odds, weight * (1 + odds))
    cut = norm.isf(fpr)
    tpr, anomalies = norm.sf(cut - shift), counts.n_anomalies
    local = prevalence * norm.pdf(cut - shift) / norm.pdf(cut)
    gradients = gradient(counts, bind("tpr@0.05", {})) * anomalies
    assert gradients[0] == pytest.approx(1 + local * (1 - fpr) - tpr, rel=5e-3)
    assert gradients[-1] == pytest.approx(-local * fpr - tpr, rel=5e-3)
    gradients = gradient(counts, bind("fpr@tpr0.5", {})) * counts.n_normals
    at_half = prevalence * norm.pdf(0) / norm.pdf(shift)
    half = norm.sf(shift)
    # The slope is that over TPRs from 0.4 to 0.6, where the curve is bent.
    assert gradients[0] == pytest.approx(-1 - 0.5 / at_half + half, rel=5e-2)
    assert gradients[-1] == pytest.approx(0.5 / at_half + half, rel=5e-2)


@pytest.mark.parametrize("threshold", [0.0, 9.0])
def test_a_correlation_of_no_decision_has_no_gradient(threshold: float) -> None:
    """All rows are flagged, or none is: it is undefined, and was a negative square root."""
    bound = bind(f"mcc@threshold{threshold:g}", {})
    counts = ScoreOrder.of(np.array([3.0, 1.0, 2.0, 0.5])).counts(np.array([0.5, 0.25, 0.5, 0.25]))
    with pytest.raises(UndefinedMeasureError):
        bound.value(counts)
    assert gradient(counts, bound).tolist() == [0, 0, 0, 0]


def test_measures_without_gradient_are_refused() -> None:
    for key in ("f1_best", "eer"):
        with pytest.raises(InvalidInputError, match="measure with a gradient"):
            check_targets(key, ["score"])


def test_rows_by_a_threshold_are_counted() -> None:
    """Of 1000 normals an FPR of 0.1 flags 100: with those from 80 to 120 one knows where."""
    order = ScoreOrder.of(-np.arange(1000.0))
    counts, rows = order.counts(np.zeros(1000)), np.array([0, 78, 79, 100, 119, 120, 900])
    assert rows_near(counts, bind("precision@fpr0.1", {}), order.point[rows]) == 3
    counts = order.counts(np.ones(1000))
    assert rows_near(counts, bind("fpr@tpr0.1", {}), order.point[rows]) == 3
    for key in ("precision@threshold-3", "precision@k100", "auc@0.1"):
        assert rows_near(counts, bind(key, {}), order.point[rows]) == np.inf
