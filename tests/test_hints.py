"""Messages on likely mistakes say what to write instead."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression

import fastad
from tests.support.loops import loop

RNG = np.random.default_rng(0)
Y = (np.arange(200) < 40).astype(int)
X = RNG.normal(size=(200, 2)) + 2 * Y[:, np.newaxis]
S = X[:, 0]
FOREST = IsolationForest(n_estimators=5, random_state=0).fit(X)
PROBABILITIES = LogisticRegression().fit(X, Y).predict_proba(X)
NAN = np.where(np.arange(200) == 5, np.nan, S)
WIDE = pd.DataFrame({"knn": [0.5, 0.6], "lof": [0.5, 0.8]}, index=["a", "b"])

READERS: dict[str, Callable[[Any, Any], object]] = {
    "evaluate": fastad.evaluate,
    "evaluate of groups": lambda y, s: fastad.evaluate(y, s, groups=np.arange(200) % 2),
    "rank_scores": fastad.rank_scores,
    "roc_auc": fastad.roc_auc,
    "roc_curve": fastad.roc_curve,
    "interval": lambda y, s: fastad.interval(y, s, measure="auc"),
}


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(fastad.InvalidInputError) as caught:
        call()
    return str(caught.value)


@loop("reader", READERS.values())
@loop(
    ("labels", "scores", "hint"),
    [
        (Y, IsolationForest(), "found IsolationForest. Of a fitted detector pass the scores"),
        (Y, FOREST, "PyOD, -decision_function(X) of scikit-learn"),
        (Y, FOREST.decision_function, "found decision_function. Of a fitted detector"),
        (Y, PROBABILITIES, "looks like the probabilities of two classes: pass y_score[:, 1]"),
        (Y, NAN, "index 5; fastad.evaluate with nan_policy='omit' leaves such rows out"),
        (1 - 2 * Y, S, "with pos_label= if it is another, such as scikit-learn's -1"),
    ],
)
def test_scores_and_labels_of_another_form_are_refused_with_what_to_pass(
    reader: Callable[[Any, Any], object], labels: Any, scores: Any, hint: str
) -> None:
    assert hint in refusal(lambda: reader(labels, scores))


@loop(
    ("labels", "scores", "hint"),
    [
        (Y, {"forest": FOREST}, "y_score['forest'] must be an array; found IsolationForest"),
        (Y, RNG.normal(size=(200, 2)), "looks transposed: pass y_score.T"),
        (np.where(Y, -1, 2), S, "with pos_label= if it is another"),
    ],
)
def test_a_hint_is_of_what_was_found(labels: Any, scores: Any, hint: str) -> None:
    message = refusal(lambda: fastad.evaluate(labels, scores))
    assert hint in message
    assert "probabilities" not in message
    assert "scikit-learn's -1" not in message


def test_what_a_hint_says_works() -> None:
    assert fastad.roc_auc(Y, -FOREST.decision_function(X)) > 0.6
    assert fastad.roc_auc(Y, PROBABILITIES[:, 1]) > 0.9
    assert fastad.evaluate(Y, NAN, nan_policy="omit")["score"].n_omitted == 1
    assert fastad.roc_auc(1 - 2 * Y, S, pos_label=-1) == fastad.roc_auc(Y, S)
    assert fastad.evaluate_unsupervised({"forest": FOREST}, X, n_draws=1000, rng=0) is not None


@pytest.mark.parametrize("values", [[[np.inf, -np.inf]] * 200, [[0.5, np.nan]] * 200])
def test_two_columns_that_are_no_probabilities_are_not_called_so(values: Any) -> None:
    assert "probabilities" not in refusal(lambda: fastad.roc_auc(Y, np.array(values)))
    assert "probabilities" not in refusal(lambda: fastad.roc_auc(Y, np.empty((0, 2))))


@loop(
    ("scores", "note"),
    [
        (-S, "scikit-learn's decision_function is higher for normals"),
        (FOREST.predict(X), "look like decisions, as predict returns"),
        (Y, "scores of score have two values and separate the classes exactly, as the labels"),
    ],
)
def test_scores_that_look_like_a_mistake_are_noted(scores: Any, note: str) -> None:
    assert note in str(fastad.evaluate(Y, scores))
    assert note not in str(fastad.evaluate(Y, S))


def test_a_wide_table_whose_index_has_the_data_sets_is_refused_with_what_reads_it() -> None:
    message = refusal(lambda: fastad.ResultTable.from_table(WIDE))
    call = message.partition(" pass ")[2]
    results = eval(call, {"ResultTable": fastad.ResultTable, "table": WIDE})
    assert (results.n_datasets, results.models) == (2, ["knn", "lof"])
    # With a column of detectors the table is not wide.
    long = {"data": ["a", "a"], "detector": ["k", "l"], "auc": [0.5, 0.6]}
    assert "from_arrays" not in refusal(lambda: fastad.ResultTable.from_table(long))


@pytest.mark.parametrize("package", [fastad, fastad.measures])
def test_f1_score_suggests_its_kinds(package: Any) -> None:
    with pytest.raises(AttributeError, match="did you mean 'f1_at_fpr' or 'best_f1'"):
        _ = package.f1_score


def test_random_state_suggests_rng() -> None:
    with pytest.raises(fastad.errors.InvalidTypeError, match="did you mean 'rng'"):
        fastad.interval(Y, S, measure="auc", random_state=0)


@loop("name", ["pr_auc", "np_score", "equal_error_rate", "scored_auc"])
def test_a_measure_is_found_where_it_is(name: str) -> None:
    meant = f"no attribute '{name}'; did you mean 'fastad.measures.{name}'"
    with pytest.raises(AttributeError, match=meant):
        getattr(fastad, name)


@loop(
    ("labels", "found"),
    [
        ({"knn": S, "lof": S}, "found dict of 'knn', 'lof'"),
        ({}, "found dict of nothing"),
        (pd.DataFrame({"knn": S}), "found DataFrame of shape (200, 1) with columns 'knn'"),
        (pa.table({"knn": S, "lof": S}), "found Table of shape (200, 2) with columns 'knn', 'lof'"),
        (3, "found int of shape ()"),
        (np.ones((2, 3)), "found shape (2, 3)"),
    ],
)
def test_scores_for_labels_are_refused_by_what_they_are(labels: Any, found: str) -> None:
    assert f"y_true must be one-dimensional; {found}" in refusal(lambda: fastad.evaluate(labels, Y))
