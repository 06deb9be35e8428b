"""Labels and containers of all kinds that are accepted, and how anomalies are named."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fastad
from fastad import InvalidInputError

Y = [0, 0, 1, 1, 0]
S = [0.1, 0.4, 0.35, 0.8, 0.2]

LABELS: list[tuple[Any, Any]] = [
    ([-1, 1, 1, -1], -1),
    ([2, 1, 1, 2], 2),
    ([1, 0, 0, 1], 1),
    ([1.5, 0.5, 0.5, 1.5], 1.5),
    (["fraud", "ok", "ok", "fraud"], "fraud"),
    (np.array(["b", "a", "a", "b"], object), "b"),
    (pd.Series(["b", "a", "a", "b"]), "b"),
    (pd.Series(["b", "a", "a", "b"]).astype("category"), "b"),
    (pl.Series(["b", "a", "a", "b"]), "b"),
    ([True, False, False, True], True),
    ([False, True, True, False], False),
]


@pytest.mark.parametrize(("labels", "positive"), LABELS)
def test_pos_label_names_the_anomalies(labels: Any, positive: Any) -> None:
    # Anomalies 0.9 and 0.2, normals 0.5 and 0.1: three of four pairs in order.
    scores = [0.9, 0.5, 0.1, 0.2]
    assert fastad.roc_auc(labels, scores, pos_label=positive) == 0.75
    assert fastad.rank_scores(labels, scores, pos_label=positive).roc_auc() == 0.75


def test_pos_label_beside_two_other_labels_is_refused() -> None:
    two = r"^y_true must contain at most two labels, pos_label={} and one other; found {} and {} "
    with pytest.raises(InvalidInputError, match=two.format("'a'", "'b'", "'c'")):
        fastad.roc_auc(["a", "b", "c"], [1, 2, 3], pos_label="a")
    with pytest.raises(InvalidInputError, match=two.format(1, 0.0, 0.5)):
        fastad.roc_auc([0, 1, 0.5], [1, 2, 3], pos_label=1)
    with pytest.raises(InvalidInputError, match=r"^pos_label must be a label.* 7 beside 0 and 1$"):
        fastad.roc_auc([0, 1, 0], [1, 2, 3], pos_label=7)


@pytest.mark.parametrize("value", [[0, 0, 1, 1, 0], np.array(Y), {1}, (1,)])
def test_pos_label_is_one_label(value: Any) -> None:
    with pytest.raises(TypeError, match="pos_label must be a single label; found"):
        fastad.roc_auc(Y, S, pos_label=value)


class Subclass(np.ndarray):
    """An array that claims to be something else."""


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.array,
        lambda x: np.array(x).view(Subclass),
        lambda x: pd.Series(x, index=[9, 8, 7, 6, 5]),
        pd.Index,
        pl.Series,
        memoryview,
    ],
    ids=["list", "tuple", "array", "subclass", "pandas", "index", "polars", "buffer"],
)
def test_containers_of_all_kinds(wrap: Callable[[Any], Any]) -> None:
    scores = wrap(np.array(S) if wrap is memoryview else S)
    labels = wrap(np.array(Y) if wrap is memoryview else Y)
    # Anomalies 0.35 and 0.8, normals 0.1, 0.4 and 0.2: five of six pairs.
    result = fastad.roc_auc(labels, scores, sample_weight=wrap(np.ones(5)))
    assert type(result) is float
    assert result == fastad.roc_auc(labels, scores) == 5 / 6
