"""A detector with a threshold that was learnt on samples that it was not fitted to."""

import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, OutlierMixin, clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from sklearn.utils.estimator_checks import parametrize_with_checks

import fastad
from fastad.sklearn import ThresholdedDetector, from_sklearn, roc_auc_scorer, tpr_at_fpr_scorer
from tests.support.cells import FOLDS, NORMAL, X, Y
from tests.support.loops import loop

FOREST = IsolationForest(n_estimators=10)


class Recorder(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores are the first feature; remembers to what it was fitted."""

    def fit(self, X: Any, y: Any = None) -> "Recorder":
        self.seen_ = np.array(X)
        return self

    def score_samples(self, X: Any) -> Any:
        return -np.asarray(X)[:, 0]


def column(values: npt.ArrayLike) -> npt.NDArray[Any]:
    return np.asarray(values)[:, None]


@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        ThresholdedDetector(FOREST),
        ThresholdedDetector(FOREST, fpr=0.4, confidence_level=0.6),
        ThresholdedDetector(make_pipeline(StandardScaler(), OneClassSVM()), fpr=0.2, test_size=0.5),
        ThresholdedDetector(LocalOutlierFactor(n_neighbors=2, novelty=True), pos_label=None),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("test_size", [0.1, 0.25, 0.5, 37])
def test_the_detector_never_sees_what_sets_its_threshold(test_size: float) -> None:
    values = np.random.default_rng(0).permutation(211).astype(float)
    detector = ThresholdedDetector(Recorder(), fpr=0.1, test_size=test_size, random_state=3)
    detector.fit(column(values))
    held_out = np.setdiff1d(values, detector.estimator_.seen_)
    n_held_out = test_size if test_size > 1 else math.ceil(test_size * 211)
    assert held_out.shape[0] == detector.n_held_out_ == n_held_out
    assert detector.threshold_ == fastad.measures.threshold_at_rate(held_out, rate=0.1)
    assert np.count_nonzero(detector.predict(column(held_out)) == -1) == int(0.1 * n_held_out)


def test_a_guarantee_is_that_of_the_held_out_scores() -> None:
    values = np.random.default_rng(1).normal(size=2000)
    detector = ThresholdedDetector(
        Recorder(), fpr=0.02, confidence_level=0.9, test_size=0.5, random_state=0
    ).fit(column(values))
    held_out = np.setdiff1d(values, detector.estimator_.seen_)
    expected = fastad.threshold_with_guarantee(held_out, fpr=0.02, confidence_level=0.9)
    assert detector.guarantee_ == expected
    assert detector.threshold_ == expected.threshold


@pytest.mark.slow
def test_a_guarantee_holds_on_new_samples_as_often_as_it_says() -> None:
    """The rate of normal scores beyond a threshold is known: they are uniform."""
    rng = np.random.default_rng(7)
    n_runs, exceeded, exceeded_without = 400, 0, 0
    for run in range(n_runs):
        values = column(rng.uniform(size=400))
        detector = ThresholdedDetector(
            Recorder(), fpr=0.1, confidence_level=0.9, test_size=0.5, random_state=run
        )
        exceeded += 1 - detector.fit(values).threshold_ > 0.1
        detector.set_params(confidence_level=None)
        exceeded_without += 1 - detector.fit(values).threshold_ > 0.1
    # Three standard deviations of a binomial number.
    assert exceeded <= n_runs * 0.1 + 3 * math.sqrt(n_runs * 0.1 * 0.9)
    assert exceeded_without > n_runs * 0.3


@loop(
    "values",
    [
        [0.0, 1.0, 1.0, 1.0, 2.0, 2.0],
        [-3.0, -2.0, -1.0, -5e-324, 0.0, 5e-324],
        [-math.inf, -1e308, 0.0, 1e308, math.inf, math.inf],
        [1, 2, 3, 4, 4, 5],
        np.array([0.1, 0.2, 0.3, 0.30000003, 0.4, 0.5], np.float32),
    ],
)
@loop("fpr", [0.1, 0.2, 0.34, 0.5, 0.7, 0.9])
def test_flagged_is_what_scores_at_the_threshold_or_above(values: Any, fpr: float) -> None:
    X = column(values)
    detector = ThresholdedDetector(FrozenEstimator(Recorder().fit(X)), fpr=fpr)
    if np.mean(math.inf == X) > fpr:
        with pytest.raises(fastad.UndefinedMeasureError, match=r"\+inf"):
            detector.fit(X)
        return
    flagged = detector.fit(X).predict(X) == -1
    np.testing.assert_array_equal(flagged, X[:, 0] >= detector.threshold_)
    assert flagged.mean() <= fpr
    np.testing.assert_array_equal(detector.score_samples(X) < detector.offset_, flagged)
    np.testing.assert_array_equal(detector.decision_function(X) < 0, flagged)


def test_labelled_anomalies_are_left_out() -> None:
    values = np.arange(100.0)
    labels = np.where(values % 10 == 9, "bad", "good")
    detector = ThresholdedDetector(Recorder(), fpr=0.2, pos_label="bad", random_state=0)
    detector.fit(column(values), labels)
    assert not np.any(detector.estimator_.seen_ % 10 == 9)
    assert detector.estimator_.seen_.shape[0] + detector.n_held_out_ == 90
    normals = values[labels == "good"]
    alone = ThresholdedDetector(Recorder(), fpr=0.2, random_state=0).fit(column(normals))
    assert alone.threshold_ == detector.threshold_
    ignored = ThresholdedDetector(Recorder(), random_state=0).fit(column(values), labels)
    assert ignored.estimator_.seen_.shape[0] + ignored.n_held_out_ == 100


def test_a_frozen_detector_stays_as_it_is_and_all_samples_are_held_out() -> None:
    forest = IsolationForest(n_estimators=10, random_state=0).fit(NORMAL[:100])
    new = NORMAL[100:]
    detector = ThresholdedDetector(FrozenEstimator(forest), fpr=0.1).fit(new)
    scores = -forest.score_samples(new)
    assert detector.n_held_out_ == new.shape[0]
    assert detector.threshold_ == fastad.measures.threshold_at_rate(scores, rate=0.1)
    np.testing.assert_array_equal(detector.score_samples(X), forest.score_samples(X))


def pyod_knn() -> Any:
    return pytest.importorskip("pyod.models.knn").KNN()


@pytest.mark.parametrize(
    ("make", "features"),
    [
        (pyod_knn, None),
        (lambda: LocalOutlierFactor(novelty=True), NORMAL.shape[1]),
        (OneClassSVM, NORMAL.shape[1]),
    ],
)
def test_orientation_is_that_of_scikit_learn_whatever_the_detector(
    make: Any, features: int | None
) -> None:
    detector = ThresholdedDetector(make(), fpr=0.05, random_state=0).fit(NORMAL)
    assert roc_auc_scorer()(detector, X, Y) > 0.8
    assert (
        from_sklearn(detector).evaluate(X, Y, measures=["auc"])["ThresholdedDetector"]["auc"] > 0.8
    )
    flagged = detector.predict(X) == -1
    assert flagged[Y == 1].mean() > flagged[Y == 0].mean()
    assert getattr(detector, "n_features_in_", None) == features


def test_one_seed_makes_all_of_it_reproducible() -> None:
    inner = make_pipeline(StandardScaler(), IsolationForest(n_estimators=5))
    detectors = [ThresholdedDetector(inner, random_state=4).fit(NORMAL) for _ in range(2)]
    first, second = (detector.score_samples(X) for detector in detectors)
    np.testing.assert_array_equal(first, second)
    assert detectors[0].threshold_ == detectors[1].threshold_
    seeded = IsolationForest(n_estimators=5, random_state=11)
    fitted = ThresholdedDetector(seeded, random_state=4).fit(NORMAL).estimator_
    assert fitted.random_state == 11
    assert inner.get_params()["isolationforest__random_state"] is None


def test_in_a_search_and_pickled() -> None:
    search = GridSearchCV(
        ThresholdedDetector(FOREST, random_state=0, pos_label=1),
        {"estimator__max_samples": [16, 64]},
        scoring=tpr_at_fpr_scorer(fpr=0.1),
        cv=FOLDS,
    ).fit(X, Y)
    best = search.best_estimator_
    again = pickle.loads(pickle.dumps(best))
    np.testing.assert_array_equal(again.predict(X), best.predict(X))
    assert type(again) is ThresholdedDetector
    assert clone(best).get_params()["estimator__max_samples"] in (16, 64)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"fpr": 0}, "fpr"),
        ({"fpr": 1.5}, "fpr"),
        ({"fpr": math.nan}, "fpr"),
        ({"confidence_level": 1}, "confidence_level"),
        ({"confidence_level": "high"}, "confidence_level"),
        ({"pos_label": 1}, "y"),
        ({"estimator": LogisticRegression()}, "estimator"),
        ({"estimator": "forest"}, "estimator"),
        ({"estimator": None}, "estimator"),
    ],
    ids=str,
)
def test_refusals_name_the_argument(options: dict[str, Any], argument: str) -> None:
    detector = ThresholdedDetector(Recorder()).set_params(**options)
    with pytest.raises((ValueError, TypeError), match=f"^{argument} must") as caught:
        detector.fit(NORMAL)
    assert getattr(caught.value, "argument", None) == argument


@pytest.mark.parametrize(
    ("labels", "pos_label", "message"),
    [
        (["good", "bad", "odd"], "bad", "y must contain"),
        (["good", "bad"], "Bad", "pos_label must be a label of y"),
        ([0, 1], "1", "pos_label must be a label of y"),
        ([1], 1, "y must contain normal samples; found pos_label=1 alone"),
    ],
)
def test_labels_are_those_of_measures(labels: list[Any], pos_label: Any, message: str) -> None:
    """A label that is misspelt would leave anomalies among the rows of the fit."""
    detector = ThresholdedDetector(Recorder(), pos_label=pos_label)
    with pytest.raises(ValueError, match=message):
        detector.fit(column(np.arange(60.0)), np.array(labels * (60 // len(labels))))


def test_too_few_samples_are_refused_before_the_detector_is_fitted() -> None:
    class Never(Recorder):
        def fit(self, X: Any, y: Any = None) -> "Recorder":
            raise AssertionError

    detector = ThresholdedDetector(Never(), fpr=0.01, confidence_level=0.95)
    required = fastad.sample_size_for_guarantee(fpr=0.01)
    with pytest.raises(
        fastad.UndefinedMeasureError, match=f"at least {required} held-out samples; found 100"
    ):
        detector.fit(np.zeros((400, 1)))
    with pytest.raises(ValueError, match="y must be 3 labels"):
        detector.set_params(pos_label=1).fit(np.zeros((3, 1)), [0, 1])
    with pytest.raises(NotFittedError):
        detector.predict(X)
