"""Displays of fitted detectors and of the folds of a cross-validation."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

import fastad
from fastad import plot
from fastad.sklearn import from_sklearn
from tests.support.cells import FOLDS, NORMAL, WEIGHTS, X, Y
from tests.support.drawn import legend_of, new_axes, x_of, y_of

FOREST = IsolationForest(n_estimators=10, random_state=0).fit(NORMAL)
CURVES: dict[str, Any] = {
    "roc": plot.RocCurveDisplay,
    "precision_recall": plot.PrecisionRecallDisplay,
    "det": plot.DetCurveDisplay,
    "rp": plot.RpCurveDisplay,
}


@pytest.fixture(scope="module")
def cv_results() -> dict[str, Any]:
    results: dict[str, Any] = cross_validate(
        IsolationForest(n_estimators=10, random_state=0),
        X,
        Y,
        cv=FOLDS,
        scoring=fastad.sklearn.roc_auc_scorer(),
        return_estimator=True,
        return_indices=True,
    )
    return results


@pytest.mark.parametrize("kind", CURVES)
def test_estimator_is_scored_as_anomaly_detector(kind: str) -> None:
    scores = {"IsolationForest": -FOREST.score_samples(X)}
    expected = CURVES[kind].from_predictions(Y, scores, ax=new_axes())
    for estimator in (FOREST, from_sklearn(FOREST)):
        display = CURVES[kind].from_estimator(estimator, X, Y, ax=new_axes())
        assert list(display.lines_) == ["IsolationForest"]
        np.testing.assert_array_equal(display.line_.get_xydata(), expected.line_.get_xydata())
        assert legend_of(display.ax_) == legend_of(expected.ax_)


def test_options_of_estimators() -> None:
    names = np.where(Y == 1, "bad", "good")
    model = LogisticRegression().fit(X, names)
    display = plot.RocCurveDisplay.from_estimator(
        model,
        X,
        names,
        pos_label="bad",
        response_method="predict_proba",
        name="model",
        sample_weight=WEIGHTS,
        fpr=0.1,
        ax=new_axes(),
    )
    scores = model.predict_proba(X)[:, list(model.classes_).index("bad")]
    curve = fastad.roc_curve(Y, scores, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(y_of(display.lines_["model"]), curve.tpr)
    assert [mark.fpr for mark in display.marks["model"]] == [0.1]
    histogram = plot.ScoreDistributionDisplay.from_estimator(FOREST, X, Y, ax=new_axes())
    assert list(histogram.distributions) == ["IsolationForest"]
    with pytest.raises(TypeError, match="found object"):
        plot.RocCurveDisplay.from_estimator(object(), X, Y)


@pytest.mark.parametrize("kind", CURVES)
def test_each_fold_has_a_curve(kind: str, cv_results: dict[str, Any]) -> None:
    display = CURVES[kind].from_cv_results(cv_results, X, Y, ax=new_axes())
    tests = cv_results["indices"]["test"]
    assert list(display.lines_) == [f"fold {i}" for i in range(len(tests))]
    for i, (fitted, rows) in enumerate(zip(cv_results["estimator"], tests, strict=True)):
        alone = CURVES[kind].from_predictions(Y[rows], -fitted.score_samples(X[rows]))
        curve, expected = display.curves[f"fold {i}"], alone.curves["score"]
        for field in ("fpr", "tpr", "fnr", "recall", "precision", "p", "distance"):
            if hasattr(expected, field):
                np.testing.assert_array_equal(getattr(curve, field), getattr(expected, field))
        label = str(display.lines_[f"fold {i}"].get_label())
        assert label.partition(" (")[2] == str(alone.line_.get_label()).partition(" (")[2]


def test_options_of_folds(cv_results: dict[str, Any]) -> None:
    display = plot.RocCurveDisplay.from_cv_results(
        cv_results, X, Y, measures=["ap"], sample_weight=WEIGHTS, xscale="log", ax=new_axes()
    )
    rows = cv_results["indices"]["test"][1]
    scores = -cv_results["estimator"][1].score_samples(X[rows])
    value = fastad.average_precision(Y[rows], scores, sample_weight=WEIGHTS[rows])
    assert display.lines_["fold 1"].get_label() == f"fold 1 (ap {value:.3f})"
    assert display.ax_.get_xscale() == "log"
    incomplete: list[dict[str, Any]] = [{"estimator": []}, {"test_score": [1.0]}]
    for bad in incomplete:
        with pytest.raises(fastad.InvalidInputError, match="return_indices=True; found the keys"):
            plot.RocCurveDisplay.from_cv_results(bad, X, Y)


def test_variation_over_folds(cv_results: dict[str, Any]) -> None:
    display = plot.RocVariationDisplay.from_cv_results(
        cv_results, X, Y, name="forest", ax=new_axes()
    )
    tests = cv_results["indices"]["test"]
    curves = [
        fastad.roc_curve(Y[rows], -fitted.score_samples(X[rows]))
        for fitted, rows in zip(cv_results["estimator"], tests, strict=True)
    ]
    n_normals = min(int((Y[rows] == 0).sum()) for rows in tests)
    expected = plot.RocVariationDisplay({"forest": curves}, n_normals=n_normals).plot(new_axes())
    np.testing.assert_array_equal(x_of(display.line_), x_of(expected.line_))
    np.testing.assert_array_equal(y_of(display.line_), y_of(expected.line_))
    assert display.variations["forest"].n_runs == len(tests)
