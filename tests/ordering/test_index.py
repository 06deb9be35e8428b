"""Rows are paired by position: Series of pandas whose indexes differ are refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad
import fastad.explain
from fastad.errors import InvalidInputError
from tests.support.loops import loop

LABELS = [0, 0, 1, 1, 0, 1]
SCORES = [0.1, 0.5, 0.4, 0.9, 0.2, 0.8]
INDEX = list("abcdef")
Y_TRUE = pd.Series(LABELS, INDEX)
Y_SCORE = pd.Series(SCORES, INDEX)

# What pairs labels with scores.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "measure": fastad.roc_auc,
    "value": fastad.average_precision,
    "counts": fastad.rank_scores,
    "evaluate": fastad.evaluate,
    "evaluate groups": lambda y, s: fastad.evaluate(y, s, groups=np.zeros(6, int)),
    "mapping": lambda y, s: fastad.evaluate(y, {"a": s}),
    "frame": lambda y, s: fastad.evaluate(y, s.to_frame() if hasattr(s, "index") else s[None]),
    "interval": lambda y, s: fastad.interval(y, s, measure="auc", rng=0),
    "groups": lambda y, s: fastad.evaluate(y, SCORES, groups=s),
    "a column of groups": lambda y, s: fastad.evaluate(y, SCORES, groups={"a": [1] * 6, "b": s}),
    "explain": lambda y, s: fastad.explain.explain(y, SCORES, value=0.9, groups=s),
    "compare first": lambda y, s: fastad.compare(
        y, s, SCORES[::-1], measure="auc", method="delong"
    ),
    "compare second": lambda y, s: fastad.compare(
        y, SCORES[::-1], s, measure="auc", method="delong"
    ),
}
INDEXES = {
    "others": list("abcdeg"),
    "another order": list("abcdfe"),
    "positions": range(6),
    "levels": pd.MultiIndex.from_product([["a", "b"], range(3)]),
}
every_function = loop("function", FUNCTIONS.values())


@every_function
@loop("index", INDEXES.values())
def test_different_indexes_are_refused(function: Callable[[Any, Any], Any], index: Any) -> None:
    message = r"must have the index of y_true; found \d rows of other names, the first at index \d"
    with pytest.raises(InvalidInputError, match=message) as caught:
        function(Y_TRUE, pd.Series(SCORES, index))
    assert "reindex" in str(caught.value)


@pytest.mark.filterwarnings("ignore:.* with fewer than 5 anomalies")
@every_function
def test_one_index_or_none_is_as_good_as_arrays(function: Callable[[Any, Any], Any]) -> None:
    expected = repr(function(np.array(LABELS), np.array(SCORES)))
    assert repr(function(Y_TRUE, Y_SCORE)) == expected
    assert repr(function(Y_TRUE, pd.Series(SCORES, pd.Index(INDEX, dtype=object)))) == expected
    assert repr(function(Y_TRUE, np.array(SCORES))) == expected
    assert repr(function(LABELS, pd.Series(SCORES, range(3, 9)))) == expected


def test_the_message_names_the_first_row_that_differs() -> None:
    message = "found 2 rows of other names, the first at index 4: 'f' where y_true has 'e'"
    with pytest.raises(InvalidInputError, match=message):
        fastad.roc_auc(Y_TRUE, pd.Series(SCORES, list("abcdfe")))


def test_missing_names_are_equal() -> None:
    index = [1.0, np.nan, 3, 4, 5, 6]
    assert fastad.roc_auc(pd.Series(LABELS, index), pd.Series(SCORES, index)) == fastad.roc_auc(
        LABELS, SCORES
    )


def test_weights_are_paired_too() -> None:
    weights = pd.Series([1.0] * 6, list("abcdfe"))
    with pytest.raises(InvalidInputError, match="sample_weight must have the index of y_true"):
        fastad.roc_auc(Y_TRUE, Y_SCORE, sample_weight=weights)


@pytest.mark.parametrize(
    ("arguments", "name", "other"),
    [
        ({"groups": Y_SCORE, "y_score": Y_SCORE[::-1]}, r"groups\['group'\]", "y_score"),
        ({"y_score": {"a": Y_SCORE, "b": Y_SCORE[::-1]}}, r"y_score\['b'\]", r"y_score\['a'\]"),
        ({"y_score": [Y_SCORE, Y_SCORE[::-1]]}, r"y_score\['score_1'\]", r"y_score\['score_0'\]"),
        ({"y_score": Y_SCORE, "sample_weight": Y_SCORE[::-1]}, "y_score", "sample_weight"),
    ],
)
def test_the_first_index_counts_where_labels_have_none(
    arguments: dict[str, Any], name: str, other: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"^{name} must have the index of {other}; found 6"):
        fastad.evaluate(LABELS, **arguments)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_of_detectors_that_contradict_each_other_the_first_is_evaluated(n_threads: int) -> None:
    scores = {"short": Y_SCORE[:5], "a": Y_SCORE, "b": Y_SCORE[::-1], "c": Y_SCORE}
    result = fastad.evaluate(LABELS, scores, on_error="record", n_threads=n_threads)
    errors = {name: str(result[name].error).partition(" must ")[2][:14] for name in scores}
    assert errors == {"short": "have one score", "a": "", "b": "have the index", "c": ""}


def test_missing_names_of_any_type_are_the_same() -> None:
    index = pd.Index(["a", None, "c", pd.NA, "e", "f"], dtype=object)
    same = pd.Index(["a", np.nan, "c", pd.NA, "e", "f"], dtype=object)
    assert fastad.roc_auc(pd.Series(LABELS, index), pd.Series(SCORES, index)) > 0
    assert fastad.roc_auc(pd.Series(LABELS, index), pd.Series(SCORES, same)) > 0


class Column(pd.Series):
    """A column of a library that is built on pandas."""


def test_columns_of_libraries_that_are_built_on_pandas_have_an_index() -> None:
    Column.__module__ = "geopandas"
    with pytest.raises(InvalidInputError, match="y_score must have the index of y_true"):
        fastad.roc_auc(Column(LABELS, INDEX), Column(SCORES, INDEX[::-1]))
