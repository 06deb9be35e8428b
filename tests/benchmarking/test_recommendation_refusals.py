"""What `recommend` and `discriminability` refuse."""

import math
from typing import Any

import numpy as np
import pytest

from fastad import ResultTable
from fastad.benchmarking import discriminability, recommend
from fastad.errors import InvalidInputError, UndefinedMeasureError

nan = math.nan


def two_models() -> ResultTable:
    values = np.random.default_rng(0).uniform(size=(1, 2, 3))
    return ResultTable.from_arrays({"tpr@0.1": values, "tpr@0.2": values + 1})


# Recommend.

TABLE = ResultTable.from_arrays({"auc": [[0.9, 0.8]], "tpr@0.1": [[0.5, 0.6]]})


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, InvalidInputError, "target_measure must be given, .* found neither"),
        ({"operating_fpr": 0.1, "target_measure": "auc"}, InvalidInputError, "found both"),
        ({"operating_fpr": 0.2}, InvalidInputError, r"operating_fpr .* tpr@0\.1; found 0\.2"),
        ({"operating_fpr": 1.5}, InvalidInputError, r"operating_fpr must lie in \[0, 1\]"),
        ({"operating_fpr": "0.1"}, TypeError, "operating_fpr must be a number; found str"),
        ({"operating_fpr": True}, TypeError, "operating_fpr must be a number; found bool"),
        ({"target_measure": "ap"}, InvalidInputError, "target_measure must be one of auc, tpr@0.1"),
        ({"target_measure": 5}, TypeError, "target_measure must be a key; found 5"),
        (
            {"operating_fpr": 0.1, "unseen_anomaly_classes": True},
            InvalidInputError,
            "unseen_anomaly_classes must be False .* anomaly_class",
        ),
        (
            {"operating_fpr": 0.1, "unseen_anomaly_classes": 1},
            TypeError,
            "unseen_anomaly_classes must be True",
        ),
    ],
)
def test_bad_arguments_of_recommend(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        recommend(TABLE, **options)


def test_no_column_at_a_rate() -> None:
    table = ResultTable.from_arrays({"auc": [[0.9, 0.8]]})
    with pytest.raises(InvalidInputError, match=r"which has none; found 0\.1: evaluate with fpr="):
        recommend(table, operating_fpr=0.1)


def test_no_loss_anywhere() -> None:
    for tpr in ([[0, 0]], [[nan, nan]]):
        table = ResultTable.from_arrays({"auc": [[0.9, 0.8]], "tpr@0.1": tpr})
        with pytest.raises(UndefinedMeasureError, match=r"tpr@0\.1 has no loss on any of 1 data"):
            recommend(table, operating_fpr=0.1)


# Discriminability.


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"measure": "ap"}, InvalidInputError, "measure must be one of 'auc', 'tpr'; found 'ap'"),
        ({"measure": "auc"}, InvalidInputError, "must have columns auc@ at false positive rates"),
    ],
)
def test_bad_arguments_of_discriminability(options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        discriminability(two_models(), **options)


def test_too_few_folds_or_models() -> None:
    with pytest.raises(InvalidInputError, match=r"at least two folds.*; found 1"):
        discriminability(ResultTable.from_arrays({"tpr@0.1": [[1, 2]]}))
    with pytest.raises(InvalidInputError, match=r"found none of 1: 0: 1 of 2 models lack a value"):
        discriminability(ResultTable.from_arrays({"tpr@0.1": [[[1.0, 2.0], [1.0, nan]]]}))


def test_two_columns_at_one_rate() -> None:
    values = np.random.default_rng(0).uniform(size=(2, 3, 4))
    with pytest.raises(InvalidInputError, match=r"tpr@0\.10"):
        discriminability(ResultTable.from_arrays({"tpr@0.1": values, "tpr@0.10": values[::-1]}))


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"dataset": "1"}, InvalidInputError, "dataset must be one of 0; found '1'"),
        ({"fpr": 0.15}, InvalidInputError, "fpr must be one of the 2 rates from 0.1 to 0.2; found"),
        ({"fpr": "x"}, TypeError, "fpr must be a number"),
        ({"fpr": 7}, InvalidInputError, "fpr must lie in"),
        ({"test": "tukey", "correction": "holm"}, InvalidInputError, "correction must be 'none'"),
        ({"test": "student"}, InvalidInputError, "test must be one of"),
        ({"correction": "sidak"}, InvalidInputError, "correction must be one of"),
    ],
)  # fmt: skip
def test_bad_arguments_of_p_values(options: Any, error: Any, words: str) -> None:
    result = discriminability(two_models(), rng=0)
    with pytest.raises(error, match=words):
        result.p_values(**{"dataset": "0", "fpr": 0.1, **options})


def test_the_curve_of_no_criterion() -> None:
    with pytest.raises(InvalidInputError, match="criterion must be one of 'tukey-q'"):
        discriminability(two_models(), rng=0).curve("tukey")  # type: ignore[arg-type]
