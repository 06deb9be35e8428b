"""Volumes and criteria of fitted detectors as they are, and of their methods."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity, LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.detectors import CompiledScorer, KNNDetector
from fastad.errors import BatchScorerWarning, InvalidInputError
from fastad.plot import DecisionRegionDisplay
from fastad.regions import volume_curve
from fastad.unsupervised import level_sets
from tests.support.compiled_points import interpreted_pyod, training

HBOS = pytest.importorskip("pyod.models.hbos").HBOS
ECOD = pytest.importorskip("pyod.models.ecod").ECOD
X = training(2)
BOX = fastad.Box.from_data(X)
# What each of them returns is lower where a point is more anomalous.
SCIKIT_LEARN = {
    "forest": IsolationForest(n_estimators=10, random_state=0),
    "svm": OneClassSVM(nu=0.2),
    "lof": LocalOutlierFactor(novelty=True),
    "envelope": EllipticEnvelope(random_state=0),
    "mixture": GaussianMixture(random_state=0),
    "density": KernelDensity(),
    "pipeline": make_pipeline(StandardScaler(), OneClassSVM(nu=0.2)),
    "search": GridSearchCV(KernelDensity(), {"bandwidth": [1.0, 2.0]}, cv=2),
}
OTHERS = {
    "neighbours": NearestNeighbors(),
    "histogram": HBOS(),
    "scaled histogram": make_pipeline(StandardScaler(), HBOS()),
    "knn": KNNDetector(2),
}
DETECTORS: Mapping[str, Any] = {**SCIKIT_LEARN, **OTHERS}
OPTIONS: Mapping[str, Any] = {"n_draws": 2000, "rng": 0}


# Whatever takes a score of any point takes a detector: what it returns, in numbers.
TAKERS: Mapping[str, Callable[[Any], Any]] = {
    "volume": lambda score: fastad.volume(score, 0.5, BOX, **OPTIONS).to_dict(),
    "volume_at_fpr": lambda score: fastad.volume_at_fpr(
        score, np.zeros(len(X)), X[:, 0], BOX, fpr=0.5, **OPTIONS
    ).to_dict(),
    "volumes": lambda score: fastad.volumes(
        {"it": score}, X, np.zeros(len(X)), fpr=0.1, **OPTIONS
    ).to_dict(),
    "volume_curve": lambda score: volume_curve(
        score, _high(score), BOX, n_draws=20_000, rng=0
    ).to_columns(),
    "level_sets": lambda score: level_sets(score, X, **OPTIONS).thresholds.tolist(),
    "evaluate_unsupervised": lambda score: fastad.evaluate_unsupervised(
        {"it": score}, X, n_resamples=20, **OPTIONS
    ).to_dict(),
}


@pytest.fixture(autouse=True, scope="module")
def pyod_is_interpreted() -> Iterator[None]:
    with interpreted_pyod():
        yield


@cache
def _fitted(name: str) -> Any:
    """Fit a detector when a test first needs it."""
    return DETECTORS[name].fit(X)


def _high(score: Any) -> float:
    return float(np.quantile(_compiled(score).score_samples(X), 0.9))


def _compiled(score: Any) -> Any:
    fitted = getattr(score, "__self__", score)
    is_compiled = isinstance(fitted, CompiledScorer)
    return fitted if is_compiled else fastad.compile_scorer(fitted)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_fitted_detector_stands_for_its_compiled_scorer(name: str) -> None:
    fitted = _fitted(name)
    compiled = fastad.compile_scorer(fitted)
    threshold = float(np.median(compiled.score_samples(X)))
    result, expected = (
        fastad.volume(score, threshold, BOX, **OPTIONS) for score in (fitted, compiled)
    )
    assert 0 < result.value < 1
    assert result.to_dict() == expected.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_detectors_are_taken_wherever_scores_are(take: Callable[[Any], Any]) -> None:
    for name in ("svm", "histogram"):
        assert take(_fitted(name)) == take(fastad.compile_scorer(_fitted(name)))


@pytest.mark.slow
def test_regions_of_a_detector_are_drawn() -> None:
    drawn, expected = (
        DecisionRegionDisplay.from_estimator(score, X, volume_kw=OPTIONS)
        for score in (_fitted("svm"), fastad.compile_scorer(_fitted("svm")))
    )
    assert drawn.regions[0].volume.to_dict() == expected.regions[0].volume.to_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("histogram", "decision_function"),
        ("scaled histogram", "decision_function"),
        ("knn", "score_samples"),
        ("compiled forest", "score_samples"),
    ],
)
def test_methods_that_are_higher_for_anomalies_stand_for_the_compiled_scorer(
    name: str, method: str
) -> None:
    fitted = _fitted(name.removeprefix("compiled "))
    own = fastad.compile_scorer(fitted) if name.startswith("compiled") else fitted
    scores = getattr(own, method)
    for take in TAKERS.values():
        assert take(scores) == take(_compiled(scores))


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, one in SCIKIT_LEARN.items()
        for method in ("score_samples", "decision_function", "predict")
        # The number of a component is no score.
        if hasattr(one, method) and (name, method) != ("mixture", "predict")
    ],
)
def test_methods_that_are_lower_for_anomalies_are_refused(
    name: str, method: str, take: Callable[[Any], Any]
) -> None:
    fitted = _fitted(name)
    message = f"must be higher for what is more anomalous; found {method} of [A-Za-z]+, which is"
    with pytest.raises(InvalidInputError, match=message) as caught:
        take(getattr(fitted, method))
    assert caught.value.argument in ("detector", "detectors")
    assert str(caught.value).startswith(("detector must", "detectors['it'] must"))


@pytest.mark.slow
def test_methods_of_other_objects_are_functions_of_a_batch() -> None:
    class Own:
        def score_samples(self, rows: Any) -> Any:
            return abs(rows).max(axis=1)

    for score in (Own().score_samples, _fitted("histogram").predict):
        assert fastad.volume(score, 0.5, BOX, **OPTIONS).to_dict() == (
            fastad.volume(lambda rows, score=score: score(rows), 0.5, BOX, **OPTIONS).to_dict()
        )


def test_detectors_without_a_compiled_form_score_batch_by_batch() -> None:
    fitted = SGDOneClassSVM(random_state=0).fit(X)
    with pytest.warns(BatchScorerWarning, match="SGDOneClassSVM has no compiled form"):
        result = fastad.volume(fitted, 0.0, BOX, **OPTIONS)
    assert result.to_dict() == (
        fastad.volume(lambda rows: -fitted.score_samples(rows), 0.0, BOX, **OPTIONS).to_dict()
    )


@pytest.mark.filterwarnings("ignore::fastad.errors.BatchScorerWarning")
def test_of_several_detectors_an_error_tells_which_one_raised_it() -> None:
    """A single detector raises its own error."""

    class Broken(SGDOneClassSVM):  # type: ignore[misc]
        def score_samples(self, rows: Any) -> Any:
            raise KeyError("no such thing")

    broken = Broken().fit(X)
    with pytest.raises(KeyError, match="no such thing"):
        fastad.volume(broken, 0.0, BOX, **OPTIONS)
    several = {"sum": lambda rows: rows.sum(axis=1), "broken": broken}
    message = r"detectors\['broken'\] raised KeyError \('no such thing'\) on"
    with pytest.raises(InvalidInputError, match=message) as caught:
        fastad.volumes(several, X, np.zeros(len(X)), fpr=0.1)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate_unsupervised(several, X, n_draws=100)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (IsolationForest(), "must be fitted; found an unfitted IsolationForest"),
        (ECOD().fit(X), "must score single points; ECOD scores a batch"),
        (StandardScaler().fit(X), "must be a detector of scikit-learn or PyOD; found 'Standard"),
    ],
)
def test_detectors_that_have_no_score_of_a_point_are_refused_by_name(
    score: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"^detector {message}"):
        fastad.volume(score, 0.5, BOX)
    several = {"good": _fitted("svm"), "bad": score}
    with pytest.raises(InvalidInputError, match=rf"^detectors\['bad'\] {message}"):
        fastad.volumes(several, X, np.zeros(len(X)))
    with pytest.raises(InvalidInputError, match=rf"^detectors\['bad'\] {message}"):
        fastad.evaluate_unsupervised(several, X)
