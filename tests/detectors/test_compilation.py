"""Which detectors `compile_scorer` compiles, and what it refuses."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.ensemble import ExtraTreesRegressor, IsolationForest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC, OneClassSVM

import fastad
from fastad.detectors import KNNDetector, compile_scorer
from fastad.errors import BatchScorerWarning, InvalidInputError, InvalidTypeError
from tests.support.compiled_points import training
from tests.support.loops import loop

PYOD = [
    pytest.importorskip("pyod.models.hbos").HBOS(),
    pytest.importorskip("pyod.models.iforest").IForest(),
    pytest.importorskip("pyod.models.knn").KNN(),
    pytest.importorskip("pyod.models.lof").LOF(),
    pytest.importorskip("pyod.models.ocsvm").OCSVM(),
    pytest.importorskip("pyod.models.pca").PCA(),
    pytest.importorskip("pyod.models.loda").LODA(),
    pytest.importorskip("pyod.models.cblof").CBLOF(),
    pytest.importorskip("pyod.models.inne").INNE(),
    pytest.importorskip("pyod.models.mcd").MCD(),
    pytest.importorskip("pyod.models.gmm").GMM(),
    pytest.importorskip("pyod.models.kde").KDE(),
]
COMPILED = [
    IsolationForest(),
    OneClassSVM(),
    LocalOutlierFactor(novelty=True),
    NearestNeighbors(),
    KernelDensity(),
    EllipticEnvelope(),
    GaussianMixture(),
    *PYOD,
    KNNDetector(1),
]


def _name(estimator: Any) -> str:
    return type(estimator).__name__


@loop("estimator", COMPILED)
def test_unfitted_detectors_are_refused(estimator: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"an unfitted {_name(estimator)}$") as caught:
        compile_scorer(estimator)
    assert caught.value.argument == "detector"


@loop("estimator", COMPILED)
def test_subclasses_of_the_same_name_are_refused(estimator: Any) -> None:
    """They may score in another way."""
    module = type(estimator).__module__
    subclass = type(_name(estimator), (type(estimator),), {"__module__": module})
    other = subclass(1) if subclass.__name__ == "KNNDetector" else subclass()
    with pytest.raises(InvalidInputError, match=f"the {_name(estimator)} of .* no subclass"):
        compile_scorer(other)


def test_subclasses_of_another_name_score_batch_by_batch() -> None:
    class Mine(IsolationForest):  # type: ignore[misc]
        """May score in another way."""

    with pytest.warns(BatchScorerWarning, match="Mine has no compiled form"):
        scorer = compile_scorer(Mine(n_estimators=5).fit(training(2)))
    assert not scorer.on_threads


def test_a_frozen_detector_is_compiled_as_the_one_inside() -> None:
    fitted = pytest.importorskip("pyod.models.knn").KNN().fit(training(2))
    scorer, X = compile_scorer(FrozenEstimator(fitted)), np.array([[0.1, 0.2], [5.0, 5.0]])
    assert scorer.on_threads
    np.testing.assert_allclose(scorer.score_samples(X), fitted.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("last", [SGDOneClassSVM(random_state=0), EllipticEnvelope(random_state=0)])
@pytest.mark.parametrize("selects", [False, True])
def test_detectors_fitted_on_a_frame_are_given_its_names(last: Any, selects: bool) -> None:
    pandas = pytest.importorskip("pandas")
    X = training(3)
    first = (
        ColumnTransformer([("two", StandardScaler(), ["c", "a"])])
        if selects
        else PowerTransformer()
    )
    fitted = Pipeline([("first", first), ("last", last)])
    fitted.fit(pandas.DataFrame(X, columns=["a", "b", "c"]))
    with pytest.warns(BatchScorerWarning):
        scorer = compile_scorer(fitted)
    # A warning of missing names would be an error here.
    expected = -fitted.score_samples(pandas.DataFrame(X, columns=["a", "b", "c"]))
    np.testing.assert_array_equal(scorer.score_samples(X), expected)


@pytest.mark.slow
def test_samples_without_features_are_refused_by_name() -> None:
    """Also by detectors that do not say how many they have."""
    abod = pytest.importorskip("pyod.models.abod").ABOD()
    with pytest.warns(BatchScorerWarning):
        scorer = compile_scorer(abod.fit(training(2)))
    assert scorer.n_features is None
    with pytest.raises(InvalidInputError, match=r"X must have at least one feature; found shape"):
        scorer.score_samples(np.empty((3, 0)))


def test_a_class_is_no_fitted_detector() -> None:
    for call in (compile_scorer, lambda one: fastad.volume(one, 0.5, fastad.Box([0], [1]))):
        with pytest.raises(
            InvalidTypeError, match=r"must be a fitted .* the class IsolationForest"
        ):
            call(IsolationForest)


@pytest.mark.parametrize(
    "call",
    [
        compile_scorer,
        lambda one: fastad.volume(one, 0.0, fastad.Box([-1, -1], [1, 1]), n_draws=10),
        lambda one: fastad.volumes({"a": one}, training(2), [0] * len(training(2)), n_draws=10),
    ],
    ids=["compile_scorer", "volume", "volumes"],
)
def test_the_warning_is_at_the_line_of_the_user(call: Callable[[Any], Any]) -> None:
    fitted = SGDOneClassSVM(random_state=0).fit(training(2))
    with pytest.warns(BatchScorerWarning) as result:
        call(fitted)
    assert {one.filename for one in result} == {__file__}


@pytest.mark.parametrize("other", [ExtraTreesRegressor(), SVC(), None, 3], ids=_name)
def test_what_is_no_detector_is_refused(other: Any) -> None:
    with pytest.raises(InvalidInputError, match=f"found '{_name(other)}'"):
        compile_scorer(other)


def test_a_pipeline_of_a_detector_alone_is_that_detector() -> None:
    detector = KNNDetector(2).fit(training(2))
    assert compile_scorer(Pipeline([("score", detector)])) is compile_scorer(detector)


def test_steps_that_cannot_be_compiled_are_refused_by_name() -> None:
    last = KNNDetector(1).fit(training(2))
    for step, message in (
        (StandardScaler(), "step 'first' must be fitted; found an unfitted StandardScaler"),
        (StandardScaler().fit([[1.0]]), "must return the 2 features of KNNDetector; found 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            compile_scorer(Pipeline([("first", step), ("last", last)]))


def test_pipelines_with_other_steps_score_batch_by_batch() -> None:
    fitted = Pipeline([("first", PowerTransformer()), ("last", EllipticEnvelope(random_state=0))])
    with pytest.warns(BatchScorerWarning, match="EllipticEnvelope has no compiled form"):
        compile_scorer(fitted.fit(training(2)))


@pytest.mark.parametrize(
    "estimator", [BayesianGaussianMixture(random_state=0), PCA(1), FactorAnalysis(1)], ids=_name
)
def test_log_likelihoods_without_a_compiled_form_are_refused(estimator: Any) -> None:
    score = estimator.fit(training(2)).score_samples
    message = f"found score_samples of {_name(estimator)}, which is lower. Give a function of its"
    box = fastad.Box([-1, -1], [1, 1])
    with pytest.raises(InvalidInputError, match=message):
        fastad.volume(score, 0.5, box)
    found = fastad.volume(lambda rows: -score(rows), 0.0, box, n_draws=100, rng=0)
    assert found.n_drawn == 100
