"""Displays of fitted detectors and of the folds of a cross-validation."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate

import fastad
from fastad import plot
from fastad.sklearn import from_sklearn
from fastad.streaming import ScoreSketch
from tests.support.cells import FOLDS, NORMAL, WEIGHTS, X, Y
from tests.support.drawn import legend_of, new_axes, picture, x_of, y_of

FOREST = IsolationForest(n_estimators=10, random_state=0).fit(NORMAL)


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
    for name in ("RocCurveDisplay", "RocVariationDisplay", "ContaminationSensitivityDisplay"):
        show = getattr(plot, name)
        with pytest.raises(fastad.InvalidInputError, match=r"^y must have a value for each row"):
            show.from_cv_results(cv_results, X, Y[:20], **MORE.get(name, {}))
    for name in ("RocCurveDisplay", "RocVariationDisplay"):
        show = getattr(plot, name)
        with pytest.raises(fastad.InvalidInputError, match=r"^sample_weight must have a value for"):
            show.from_cv_results(cv_results, X, Y, sample_weight=WEIGHTS[:20])


def test_folds_take_the_options_of_predictions(cv_results: dict[str, Any]) -> None:
    display = plot.RocCurveDisplay.from_cv_results(
        cv_results, X, Y, fpr=0.2, band="pointwise", ax=new_axes()
    )
    fitted, rows = cv_results["estimator"][1], cv_results["indices"]["test"][1]
    alone = picture(
        plot.RocCurveDisplay, Y[rows], -fitted.score_samples(X[rows]), fpr=0.2, band="pointwise"
    )
    assert display.marks["fold 1"] == alone.marks["score"]
    np.testing.assert_array_equal(display.bands["fold 1"].low, alone.bands["score"].low)
    sensitivity = plot.ContaminationSensitivityDisplay.from_cv_results(
        cv_results, X, Y, measure="auc", contamination=[0, 0.01], confidence_level=0.9, rng=0
    )
    assert sensitivity.sensitivities["fold 1"].confidence_level == 0.9
    assert set(sensitivity.sensitivities) == set(display.lines_)


@pytest.mark.parametrize("name", ["RocCurveDisplay", "RocVariationDisplay"])
def test_weights_of_folds_belong_to_the_rows(name: str, cv_results: dict[str, Any]) -> None:
    table, weights = pd.DataFrame(X), pd.Series(WEIGHTS, index=np.arange(len(X))[::-1])
    with pytest.raises(fastad.InvalidInputError, match=r"(X|sample_weight) must have the index of"):
        getattr(plot, name).from_cv_results(cv_results, table, Y, sample_weight=weights)


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


# All displays.

# Of tables of results, which no estimator gives.
OF_TABLES = {
    *("CriticalDifferenceDisplay", "DiscriminabilityDisplay", "MatrixDisplay"),
    *("PairMatrixDisplay", "RankIntervalsDisplay", "RateComparisonDisplay"),
}
# Regions of one detector in the plane; volumes of all detectors on the same points.
WITHOUT_FOLDS = {"DecisionRegionDisplay", "VolumeDisplay", "VolumeCurveDisplay"}
DISPLAYS = {name for name in plot.__all__ if name.endswith("Display")} - OF_TABLES
MORE: dict[str, dict[str, Any]] = {
    "ContaminationSensitivityDisplay": {"measure": "auc", "contamination": [0, 0.01]},
    "DecisionRegionDisplay": {"volume_kw": {"rng": 0}},
    "VolumeDisplay": {"fpr": [0.1, 0.2], "volume_kw": {"rng": 0}},
    "VolumeCurveDisplay": {"volume_kw": {"rng": 0, "n_draws": 20_000}},
    "MassVolumeCurveDisplay": {"level_sets_kw": {"rng": 0}},
    "ExcessMassCurveDisplay": {"level_sets_kw": {"rng": 0}},
}
WITHOUT_LABELS = {"MassVolumeCurveDisplay", "ExcessMassCurveDisplay", "VolumeCurveDisplay"}


def drawn_of(display: Any) -> Any:
    """What a display has drawn: of each line its points and its label."""
    if isinstance(display, plot.ScoreDistributionDisplay):
        return {
            name: [np.asarray(step.get_path().vertices).tolist() for step in steps]
            for name, steps in display.steps_.items()
        }
    return {name: line.get_xydata().tolist() for name, line in display.lines_.items()}


def axes_for(name: str, n: int = 1) -> Any:
    """A distribution of scores has axes of its own for each detector, a variation two."""
    if name == "ScoreDistributionDisplay":
        return [new_axes() for _ in range(n)]
    return new_axes()


@pytest.mark.parametrize("name", sorted(DISPLAYS - {"RocVariationDisplay"}))  # needs runs
def test_every_display_takes_a_fitted_estimator(name: str) -> None:
    display = getattr(plot, name)
    labels = () if name in WITHOUT_LABELS else (Y[:60],)
    fitted = IsolationForest(n_estimators=5, random_state=0).fit(NORMAL[:, :2])
    points = X[:60, :2]
    drawn = display.from_estimator(fitted, points, *labels, ax=axes_for(name), **MORE.get(name, {}))
    if name == "DecisionRegionDisplay":
        assert list(drawn.lines_) == ["vol@0.05"]
        return
    shown = drawn_of(drawn)
    assert list(shown) == ["IsolationForest"]
    if labels and name != "VolumeDisplay":
        scores = {"IsolationForest": -fitted.score_samples(points)}
        alone = display.from_predictions(*labels, scores, ax=axes_for(name), **MORE.get(name, {}))
        assert drawn_of(alone) == shown
        assert legend_of(alone.ax_) == legend_of(drawn.ax_)
    adapted = from_sklearn(fitted, name="forest")
    if name not in ("VolumeDisplay", "VolumeCurveDisplay"):  # which compile the detector
        again = display.from_estimator(
            adapted, points, *labels, ax=axes_for(name), **MORE.get(name, {})
        )
        assert drawn_of(again) == {"forest": shown["IsolationForest"]}


@pytest.mark.parametrize("name", sorted(DISPLAYS - WITHOUT_FOLDS))
def test_every_display_takes_the_folds_of_a_cross_validation(
    name: str, cv_results: dict[str, Any]
) -> None:
    display, n = getattr(plot, name), len(cv_results["estimator"])
    labels = () if name in WITHOUT_LABELS else (Y,)
    drawn = display.from_cv_results(
        cv_results, X, *labels, ax=axes_for(name, n), **MORE.get(name, {})
    )
    if name == "RocVariationDisplay":
        assert drawn.variations["score"].n_runs == n
        return
    shown = drawn_of(drawn)
    assert list(shown) == [f"fold {i}" for i in range(n)]
    # Each is what its estimator alone gives on its test points.
    fitted, rows = cv_results["estimator"][1], cv_results["indices"]["test"][1]
    labels = () if name in WITHOUT_LABELS else (Y[rows],)
    alone = display.from_estimator(
        fitted, X[rows], *labels, name="fold 1", ax=axes_for(name), **MORE.get(name, {})
    )
    if name not in WITHOUT_LABELS and not name.startswith(("Det", "ScoreD")):
        assert drawn_of(alone)["fold 1"] == shown["fold 1"]
    with pytest.raises(fastad.InvalidInputError, match=r"^cv_results must"):
        display.from_cv_results({"test_score": [1.0]}, X, *labels, **MORE.get(name, {}))


def test_kinds_belong_to_the_rows(cv_results: dict[str, Any]) -> None:
    table = pd.DataFrame(X)
    kinds = pd.Series("one kind", index=np.arange(1, len(X) + 1))
    for draw, of in (
        (plot.RocCurveDisplay.from_estimator, FOREST),
        (plot.RocCurveDisplay.from_cv_results, cv_results),
    ):
        with pytest.raises(fastad.InvalidInputError, match=r"^kinds must have the index of X"):
            draw(of, table, Y, kinds=kinds, ax=new_axes())


def test_a_measure_of_counts_is_shown_by_the_name_of_its_function() -> None:
    """(8 * 90 + (2 * 90 + 8 * 10) / 2) of 10 * 100 pairs."""
    sketch = ScoreSketch.from_counts([0, 0.5, 1], [90, 10], [2, 8])
    for measure in ("auc", "roc_auc"):
        display = plot.RocCurveDisplay.from_sketch(sketch, measures=[measure], ax=new_axes())
        assert display.values == {"score": {"auc": 0.85}}
        assert display.line_.get_label() == "score (auc 0.850)"
