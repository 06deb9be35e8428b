"""Scorers in scikit-learn's model selection: cross-validation, searches, routed weights."""

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import sklearn
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import GridSearchCV, ParameterGrid, cross_val_score, cross_validate
from sklearn.svm import OneClassSVM

import fastad
import fastad.sklearn as scorers
from tests.support.cells import FOLDS, WEIGHTS, X, Y

GRID = {"max_samples": [16, 64, 256], "max_features": [0.4, 1.0]}
SMALL_FOREST = IsolationForest(n_estimators=10, random_state=0)


def _by_hand(
    estimator: Any, folds: Any, measure: Callable[[npt.ArrayLike, npt.ArrayLike], float]
) -> list[float]:
    values = []
    for train, test in folds:
        fitted = sklearn.clone(estimator).fit(X[train])
        values.append(measure(Y[test], -fitted.score_samples(X[test])))
    return values


# Cross-validation and searches


@pytest.fixture(scope="module")
def search() -> GridSearchCV:
    scoring = scorers.tpr_at_fpr_scorer(fpr=0.1)
    return GridSearchCV(SMALL_FOREST, GRID, scoring=scoring, cv=FOLDS).fit(X, Y)


@pytest.mark.slow
def test_search_finds_the_best_mean_computed_by_hand(search: GridSearchCV) -> None:
    results = search.cv_results_
    means = []
    for i, parameters in enumerate(ParameterGrid(GRID)):
        assert results["params"][i] == parameters
        values = _by_hand(
            sklearn.clone(SMALL_FOREST).set_params(**parameters),
            FOLDS.split(X, Y),
            lambda y, s: fastad.tpr_at_fpr(y, s, fpr=0.1),
        )
        assert [results[f"split{fold}_test_score"][i] for fold in range(3)] == values
        means.append(np.mean(values))
    assert len(set(means)) == len(means)
    assert search.best_index_ == np.argmax(means)
    assert search.best_score_ == pytest.approx(max(means), abs=1e-15)


@pytest.mark.system
def test_search_in_other_processes_is_the_same(search: GridSearchCV) -> None:
    there = sklearn.clone(search).set_params(n_jobs=2).fit(X, Y)
    assert there.best_params_ == search.best_params_
    for fold in range(3):
        key = f"split{fold}_test_score"
        np.testing.assert_array_equal(there.cv_results_[key], search.cv_results_[key])


@pytest.mark.slow
def test_search_of_what_is_better_when_lower() -> None:
    scoring = scorers.equal_error_rate_scorer()
    grid = {"max_samples": [16, 256]}
    search = GridSearchCV(SMALL_FOREST, grid, scoring=scoring, cv=FOLDS).fit(X, Y)
    models = [sklearn.clone(SMALL_FOREST).set_params(**each) for each in ParameterGrid(grid)]
    means = [
        np.mean(_by_hand(model, FOLDS.split(X, Y), fastad.measures.equal_error_rate))
        for model in models
    ]
    assert means[0] != means[1]
    assert search.best_index_ == np.argmin(means)
    assert search.best_score_ == pytest.approx(-min(means), abs=1e-15)


class CountingForest(IsolationForest):  # type: ignore[misc]
    calls = 0

    def score_samples(self, X: Any) -> Any:
        type(self).calls += 1
        return super().score_samples(X)


def test_evaluation_scorer_scores_once_and_turns_what_is_better_when_lower() -> None:
    scoring = scorers.evaluation_scorer(measures=["auc", "tpr_at_fpr", "eer"], fpr=[0.05, 0.1])
    detector = CountingForest(n_estimators=10, random_state=0)
    search = GridSearchCV(detector, {"max_samples": [64]}, scoring=scoring, cv=FOLDS, refit="auc")
    CountingForest.calls = 0
    search.fit(X, Y)
    assert CountingForest.calls == 3
    model = IsolationForest(n_estimators=10, random_state=0, max_samples=64)
    for i, (train, test) in enumerate(FOLDS.split(X, Y)):
        scores = -sklearn.clone(model).fit(X[train]).score_samples(X[test])
        table = fastad.evaluate(
            Y[test], scores, measures=["auc", "tpr_at_fpr", "eer"], fpr=[0.05, 0.1]
        )
        expected = dict(table["score"])
        expected["eer"] = -expected["eer"]
        results = {x: search.cv_results_[f"split{i}_test_{x}"][0] for x in expected}
        assert results == expected
    again = pickle.loads(pickle.dumps(scoring))
    assert again(search, X, Y) == scoring(search, X, Y)
    assert repr(again).startswith("evaluation_scorer(measures=['auc', 'tpr_at_fpr', 'eer'], fpr=")


def test_undefined_values_are_left_to_error_score() -> None:
    everything, normals = np.arange(Y.shape[0]), np.flatnonzero(Y == 0)
    folds = [(everything, everything), (everything, normals)]
    detector = IsolationForest(n_estimators=5, random_state=0)
    for scoring in (scorers.roc_auc_scorer(), scorers.evaluation_scorer(measures=["auc", "ap"])):
        with pytest.raises(fastad.UndefinedMeasureError, match="roc_auc is undefined"):
            cross_validate(detector, X, Y, cv=folds, scoring=scoring, error_score="raise")
    with pytest.warns(UserWarning, match="UndefinedMeasureError"):
        values = cross_val_score(detector, X, Y, cv=folds, scoring=scorers.roc_auc_scorer())
    assert np.isfinite(values[0])
    assert np.isnan(values[1])


# Weights


@pytest.fixture
def routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("several", [False, True])
def test_weights_through_metadata_routing(several: bool) -> None:
    scorer = scorers.roc_auc_scorer().set_score_request(sample_weight=True)
    plain = scorers.average_precision_scorer().set_score_request(sample_weight=False)
    scoring = {"score": scorer, "plain": plain} if several else scorer
    model = OneClassSVM().set_fit_request(sample_weight=False)
    result = cross_validate(
        model, X, Y, cv=FOLDS, scoring=scoring, params={"sample_weight": WEIGHTS}
    )
    for i, (train, test) in enumerate(FOLDS.split(X, Y)):
        scores = -OneClassSVM().fit(X[train]).score_samples(X[test])
        expected = fastad.roc_auc(Y[test], scores, sample_weight=WEIGHTS[test])
        assert result["test_score"][i] == expected
        if several:
            assert result["test_plain"][i] == fastad.average_precision(Y[test], scores)


@pytest.mark.usefixtures("routing")
def test_weights_that_were_not_requested_are_an_error() -> None:
    model = OneClassSVM().set_fit_request(sample_weight=False)
    with pytest.raises(ValueError, match="sample_weight"):
        cross_validate(
            model,
            X,
            Y,
            cv=FOLDS,
            scoring=scorers.roc_auc_scorer(),
            params={"sample_weight": WEIGHTS},
            error_score="raise",
        )
