"""Adapters: fitted detectors of two libraries with opposite signs, in one orientation."""

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import sklearn
from sklearn.cluster import KMeans
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDOneClassSVM
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.sklearn import (
    OrientationWarning,
    ThresholdedDetector,
    from_pyod,
    from_sklearn,
    roc_auc_scorer,
)

_rng = np.random.default_rng(0)
NORMAL = _rng.normal(size=(200, 2))
X = np.concatenate([_rng.normal(size=(60, 2)), _rng.normal(4, 1, size=(20, 2))])
Y = np.repeat([0, 1], [60, 20])

DETECTORS = [
    IsolationForest(n_estimators=10, random_state=0),
    LocalOutlierFactor(novelty=True),
    OneClassSVM(),
    SGDOneClassSVM(random_state=0, shuffle=False),
    EllipticEnvelope(random_state=0),
]


class Distance:
    """As PyOD's detectors do it.

    Convention of pyod.models.base.BaseDetector (PyOD 3.6): outliers have higher values of
    ``decision_function``, and ``decision_scores_`` holds those of the training data.
    """

    def fit(self, X: npt.NDArray[np.float64]) -> "Distance":
        self.centre_ = X.mean(axis=0)
        self.decision_scores_ = self.decision_function(X)
        return self

    def decision_function(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        distance: npt.NDArray[np.float64] = np.linalg.norm(X - self.centre_, axis=1)
        return distance


class ReversedForest(IsolationForest):  # type: ignore[misc]
    """Breaks scikit-learn's convention."""

    def score_samples(self, X: Any) -> Any:
        return -super().score_samples(X)


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda x: type(x).__name__)
def test_scikit_learn_is_negated(detector: Any) -> None:
    fitted = sklearn.clone(detector).fit(NORMAL)
    adapted = from_sklearn(fitted)
    scores = adapted.score_samples(X)
    np.testing.assert_array_equal(scores, -fitted.score_samples(X))
    assert adapted.name == type(detector).__name__
    swapped = fastad.roc_auc(Y, fitted.score_samples(X))
    assert fastad.roc_auc(Y, scores) == pytest.approx(1 - swapped, abs=1e-12)
    assert fastad.roc_auc(Y, scores) == roc_auc_scorer()(fitted, X, Y)


@pytest.mark.parametrize("detector", [d for d in DETECTORS if type(d) is not SGDOneClassSVM])
def test_sound_detectors_are_not_warned_of(detector: Any) -> None:
    adapted = from_sklearn(sklearn.clone(detector).fit(NORMAL))
    table = adapted.evaluate(X, Y)  # a warning would be an error here
    assert table[adapted.name]["auc"] > 0.9


def test_pyod_stays_as_it_is() -> None:
    fitted = Distance().fit(NORMAL)
    adapted = from_pyod(fitted)
    np.testing.assert_array_equal(adapted.score_samples(X), fitted.decision_function(X))
    assert adapted.name == "Distance"
    assert adapted.evaluate(X, Y)["Distance"]["auc"] > 0.9


@pytest.mark.parametrize("module", ["iforest.IForest", "knn.KNN", "ecod.ECOD"])
def test_detectors_of_pyod_itself(module: str) -> None:
    file, name = module.split(".")
    detector = getattr(pytest.importorskip(f"pyod.models.{file}"), name)()
    with pytest.raises(NotFittedError, match=f"call fit of {name}"):
        from_pyod(detector)
    fitted = detector.fit(NORMAL)
    np.testing.assert_array_equal(from_pyod(fitted).score_samples(X), fitted.decision_function(X))
    assert from_pyod(fitted).evaluate(X, Y)[name]["auc"] > 0.9
    with pytest.raises(TypeError, match=f"PyOD detector {name}; use from_pyod"):
        from_sklearn(fitted)
    # Scorers know the family too, inside of a pipeline as well.
    expected = fastad.roc_auc(Y, fitted.decision_function(X))
    assert roc_auc_scorer()(fitted, X, Y) == expected
    pipeline = make_pipeline(StandardScaler(), sklearn.clone(detector)).fit(NORMAL)
    assert roc_auc_scorer()(pipeline, X, Y) == fastad.roc_auc(Y, pipeline.decision_function(X))
    assert from_pyod(pipeline).name == name


def test_a_frozen_detector_has_the_orientation_of_the_one_inside() -> None:
    fitted = pytest.importorskip("pyod.models.knn").KNN().fit(NORMAL)
    frozen, expected = FrozenEstimator(fitted), fitted.decision_function(X)
    assert roc_auc_scorer()(frozen, X, Y) == fastad.roc_auc(Y, expected)
    np.testing.assert_array_equal(from_pyod(frozen).score_samples(X), expected)
    detector = ThresholdedDetector(frozen).fit(NORMAL)
    np.testing.assert_array_equal(-detector.score_samples(X), expected)
    forest = DETECTORS[0].fit(NORMAL)
    assert from_sklearn(FrozenEstimator(forest)).name == "IsolationForest"
    with pytest.raises(TypeError, match="PyOD detector KNN; use from_pyod"):
        from_sklearn(frozen)


def test_pipelines_and_searches_are_named_after_what_scores() -> None:
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=5, random_state=0))
    grid = {"isolationforest__max_samples": [32]}
    search = GridSearchCV(pipeline, grid, scoring=roc_auc_scorer(), cv=[(np.arange(80),) * 2])
    for fitted in (pipeline.fit(NORMAL), search.fit(X, Y)):
        adapted = from_sklearn(fitted)
        assert adapted.name == "IsolationForest"
        np.testing.assert_array_equal(adapted.score_samples(X), -fitted.score_samples(X))
    assert from_sklearn(pipeline, name="scaled").evaluate(X, Y)["scaled"]["auc"] > 0.9


def test_evaluate_passes_its_options_on() -> None:
    fitted = IsolationForest(n_estimators=10, random_state=0).fit(NORMAL)
    adapted, scores = from_sklearn(fitted), -fitted.score_samples(X)
    weights = np.arange(Y.shape[0]) % 3
    names = np.where(Y == 1, "bad", "good")
    options: dict[str, Any] = {
        "measures": ["auc", "tpr_at_fpr"],
        "fpr": 0.1,
        "sample_weight": weights,
        "pos_label": "bad",
    }
    table = adapted.evaluate(X, names, **options)
    assert table["IsolationForest"] == fastad.evaluate(names, scores, **options)["score"]


def test_evaluate_by_groups() -> None:
    adapted = from_pyod(Distance().fit(NORMAL), name="distance")
    groups = np.arange(Y.shape[0]) % 2
    table = adapted.evaluate(X, Y, groups=groups, measures=["auc"])
    scores = {"distance": adapted.score_samples(X)}
    expected = fastad.evaluate(Y, scores, groups=groups, measures=["auc"])
    assert table.to_frame("pandas").equals(expected.to_frame("pandas"))


def test_a_reversed_detector_is_warned_of_and_not_flipped() -> None:
    sound = from_sklearn(IsolationForest(n_estimators=10, random_state=0).fit(NORMAL))
    wrong = from_sklearn(ReversedForest(n_estimators=10, random_state=0).fit(NORMAL))
    with pytest.warns(OrientationWarning) as caught:
        table = wrong.evaluate(X, Y)
    (warning,) = caught
    assert warning.filename == __file__
    message = str(warning.message)
    for part in ("ReversedForest", "below 0.5", "pos_label", "score_samples", "negated"):
        assert part in message
    auc = table["ReversedForest"]["auc"]
    assert auc == pytest.approx(1 - sound.evaluate(X, Y)["IsolationForest"]["auc"], abs=1e-12)


def test_labels_the_wrong_way_round_are_warned_of() -> None:
    adapted = from_pyod(Distance().fit(NORMAL))
    with pytest.warns(OrientationWarning, match="Distance has an AUC of 0.0"):
        adapted.evaluate(X, 1 - Y)
    with pytest.warns(OrientationWarning, match="taken as they are"):
        adapted.evaluate(X, Y, pos_label=0)


def test_an_auc_of_one_half_is_not_warned_of() -> None:
    fitted = Distance().fit(NORMAL)
    same = np.zeros((4, 2))
    assert from_pyod(fitted).evaluate(same, [0, 0, 1, 1])["Distance"]["auc"] == 0.5


def test_without_an_auc_there_is_nothing_to_warn_of() -> None:
    fitted = Distance().fit(NORMAL)
    table = from_pyod(fitted).evaluate(X[:5], np.zeros(5, int), measures=["auc"])
    assert np.isnan(table["Distance"]["auc"])
    broken = X.copy()
    broken[3] = np.nan
    recorded = from_pyod(fitted).evaluate(broken, Y, on_error="record")
    assert "NaN" in str(recorded["Distance"].error)
    with pytest.raises(fastad.InvalidInputError, match="NaN"):
        from_pyod(fitted).evaluate(broken, Y)


@pytest.mark.parametrize(
    ("adapter", "estimator", "message"),
    [
        (from_sklearn, RandomForestClassifier(2).fit(X, Y), "the classifier RandomForest"),
        (from_sklearn, KMeans(2, n_init=1).fit(X), "found KMeans"),
        (from_sklearn, Distance().fit(X), "found Distance"),
        (from_sklearn, object(), "found object"),
        (from_sklearn, LocalOutlierFactor().fit(X), "novelty=True"),
        (from_pyod, OneClassSVM().fit(X), "OneClassSVM; use from_sklearn, which negates"),
        (from_pyod, RandomForestClassifier(2).fit(X, Y), "the classifier RandomForest"),
        (from_pyod, KMeans(2, n_init=1).fit(X), "found KMeans"),
        (from_pyod, object(), "found object"),
    ],
)
def test_the_wrong_family_is_refused(adapter: Any, estimator: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        adapter(estimator)


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(),
        make_pipeline(StandardScaler(), OneClassSVM()),
        GridSearchCV(IsolationForest(), {}, scoring=roc_auc_scorer()),
    ],
    ids=lambda x: type(x).__name__,
)
def test_a_detector_that_is_not_fitted(detector: Any) -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        from_sklearn(detector)


def test_adapters_survive_pickle() -> None:
    adapted = from_sklearn(OneClassSVM().fit(NORMAL), name="svm")
    again = pickle.loads(pickle.dumps(adapted))
    assert again.name == "svm"
    np.testing.assert_array_equal(again.score_samples(X), adapted.score_samples(X))


def test_reversed_scores_are_warned_of_though_one_is_missing() -> None:
    broken = X.copy()
    broken[3] = np.nan
    adapted = from_pyod(Distance().fit(NORMAL))
    with pytest.warns(OrientationWarning, match="Distance has an AUC of 0.0"):
        table = adapted.evaluate(broken, 1 - Y, nan_policy="omit", measures=["auc"])
    kept = np.arange(80) != 3
    scores = adapted.score_samples(X)[kept]
    assert table["Distance"]["auc"] == fastad.roc_auc(1 - Y[kept], scores)


@pytest.mark.parametrize("name", ["clusters", "kinds", "segments", "groups", "sample_weight"])
def test_rows_of_another_index_are_refused(name: str) -> None:
    adapted = from_pyod(Distance().fit(NORMAL))
    table = pd.DataFrame(X)
    other: dict[str, Any] = {name: pd.Series(1, index=np.arange(1, 81))}
    with pytest.raises(fastad.InvalidInputError, match=f"^{name} must have the index of X; found"):
        adapted.evaluate(table, Y, confidence_level=0.9, **other)
    own: dict[str, Any] = {name: pd.Series(1, index=table.index)}
    assert adapted.evaluate(table, Y, measures=["auc"], confidence_level=0.9, **own)


def test_columns_of_kinds_have_the_index_of_the_samples() -> None:
    frame = pd.DataFrame(X)
    detector = from_sklearn(IsolationForest(n_estimators=5, random_state=0).fit(frame))
    kinds = {"kind": pd.Series(np.where(Y == 1, "a", ""), index=frame.index[::-1])}
    with pytest.raises(fastad.InvalidInputError, match=r"kinds\['kind'\] must have the index of X"):
        detector.evaluate(frame, Y, kinds=kinds)
