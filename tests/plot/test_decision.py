"""Decision curves."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.svm import LinearSVC

import fastad
from fastad.plot import DecisionCurve, DecisionCurveDisplay
from tests.support.drawn import legend_of, new_axes, picture, x_of, y_of

RNG = np.random.default_rng(4)
LABELS = np.repeat([0, 1], [70, 30])
# Rounded, so that scores tie with each other and with thresholds.
SCORES = {
    name: (1 / (1 + np.exp(-RNG.normal(size=100) - shift * LABELS + 1))).round(2)
    for name, shift in (("a", 2), ("b", 1))
}


def by_definition(scores: Any, threshold: float, weights: Any) -> float:
    """Vickers and Elkin 2006: true positives, minus false positives by the odds, by sample."""
    flagged = scores >= threshold
    tp, fp = weights[flagged & (LABELS == 1)].sum(), weights[flagged & (LABELS == 0)].sum()
    return float((tp - fp * threshold / (1 - threshold)) / weights.sum())


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 4, 100)], ids=["plain", "weights"])
def test_lines_are_net_benefit_by_its_definition(weights: Any) -> None:
    display = picture(DecisionCurveDisplay, LABELS, SCORES, sample_weight=weights)
    used = np.ones(100) if weights is None else weights
    for name, line in display.lines_.items():
        thresholds = np.arange(1, 100) / 100
        np.testing.assert_array_equal(x_of(line), thresholds)
        expected = [by_definition(SCORES[name], x, used) for x in thresholds]
        np.testing.assert_allclose(y_of(line), expected, atol=1e-12)
    share = used[LABELS == 1].sum() / used.sum()
    assert legend_of(display.ax_) == [f"all flagged ({share:.3g})", "none flagged", "a", "b"]
    everything, nothing = display.ax_.lines[:2]
    expected = [by_definition(np.ones(100), x, used) for x in x_of(everything)]
    np.testing.assert_allclose(y_of(everything), expected, atol=1e-12)
    assert not y_of(nothing).any()


def test_samples_of_other_proportions_have_a_line_of_their_own() -> None:
    ax = new_axes()
    for labels in (LABELS, 1 - LABELS, LABELS):
        DecisionCurveDisplay.from_predictions(labels, SCORES["a"], ax=ax)
    drawn = {str(line.get_label()): float(y_of(line)[-1]) for line in ax.lines}
    # At the threshold 0.99 the odds are 99.
    assert drawn["all flagged (0.3)"] == pytest.approx(0.3 - 0.7 * 99)
    assert drawn["all flagged (0.7)"] == pytest.approx(0.7 - 0.3 * 99)


def test_thresholds_and_existing_curves() -> None:
    display = picture(DecisionCurveDisplay, LABELS, SCORES["a"], threshold=[0.5, 0.1])
    assert x_of(display.line_).tolist() == [0.1, 0.5]
    curve = DecisionCurve(np.array([0.2, 0.4]), np.array([0.1, 0.05]), 0.3)
    drawn = DecisionCurveDisplay({"knn": curve}).plot(new_axes(), legend=False)
    assert y_of(drawn.line_).tolist() == [0.1, 0.05]
    assert drawn.ax_.get_legend() is None
    # What curves are compared with does not end with their thresholds.
    for line in drawn.ax_.lines[:2]:
        assert (x_of(line)[0], x_of(line)[-1]) == (0.01, 0.99)


def test_no_curve_is_cut_at_its_proportion_of_anomalies() -> None:
    ax, thresholds = new_axes(), np.array([0.2, 0.4])
    curves = {
        name: DecisionCurve(thresholds, np.full(2, prevalence), prevalence)
        for name, prevalence in (("rare", 0.1), ("frequent", 0.4))
    }
    for shown in (curves, {"rare": curves["rare"]}):
        DecisionCurveDisplay(shown).plot(ax)
        low, high = ax.get_ylim()
        assert low < 0
        assert high > 0.4


def test_a_fraction_just_below_one_is_a_threshold() -> None:
    threshold: Any = [Fraction(1, 2), 1 - Fraction(1, 10**30)]
    curve = DecisionCurveDisplay.from_predictions(LABELS, SCORES, threshold=threshold).curves["a"]
    assert curve.thresholds[0] == 0.5
    assert 0.999 < curve.thresholds[1] < 1
    assert np.isfinite(curve.net_benefit).all()


@pytest.mark.parametrize("threshold", [[], [0.0, 0.5], [0.5, 1.0], [-0.1], [np.nan], 1])
def test_thresholds_are_checked(threshold: Any) -> None:
    with pytest.raises(fastad.InvalidInputError, match=r"^threshold(\[[01]\])? must"):
        DecisionCurveDisplay.from_predictions(LABELS, SCORES, threshold=threshold)


def test_scores_must_be_probabilities() -> None:
    scores = {"a": SCORES["a"], "b": 2 * SCORES["b"]}
    with pytest.raises(fastad.InvalidInputError, match=r"y_score\['b'\] must be probabilities"):
        DecisionCurveDisplay.from_predictions(LABELS, scores)
    with pytest.raises(fastad.UndefinedMeasureError):
        DecisionCurveDisplay.from_predictions(np.ones(100), SCORES["a"])


def test_a_classifier_gives_its_probabilities() -> None:
    X = np.column_stack([SCORES["a"], SCORES["b"]])
    model = LogisticRegression().fit(X, LABELS)
    drawn = DecisionCurveDisplay.from_estimator(model, X, LABELS, name="a", ax=new_axes())
    likely = {"a": model.predict_proba(X)[:, 1]}
    expected = DecisionCurveDisplay.from_predictions(LABELS, likely, ax=new_axes()).curves["a"]
    assert np.array_equal(drawn.curves["a"].net_benefit, expected.net_benefit)
    runs = cross_validate(
        LogisticRegression(), X, LABELS, cv=3, return_estimator=True, return_indices=True
    )
    folds = DecisionCurveDisplay.from_cv_results(runs, X, LABELS, ax=new_axes())
    assert list(folds.curves) == ["fold 0", "fold 1", "fold 2"]
    # Without probabilities scores are refused as before.
    with pytest.raises(fastad.InvalidInputError, match="must be probabilities"):
        DecisionCurveDisplay.from_estimator(LinearSVC().fit(X, LABELS), X, LABELS, ax=new_axes())
