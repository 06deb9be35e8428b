"""goix's benchmark: which rows and features train and test, and in which units."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from fastad.errors import InvalidInputError
from fastad.study.papers.goix_data import SETTINGS, GoixProtocol
from tests.support.goix import FEW, PLAIN, Matrix, cut, data, numbered


def test_features_with_fewer_than_ten_values_are_dropped() -> None:
    n = np.arange(200)
    X = np.column_stack([n % 9, n % 10, n, np.ones(200), n % 11]).astype(np.float64)
    split = cut(X, n >= 150, "novelty")
    assert split.X_train.shape[1] == split.evaluated.shape[1] == 3
    assert set(np.unique(split.X_test[:, 0])) <= set(range(10))
    assert (
        cut(X, n >= 150, "novelty", dataclasses.replace(PLAIN, min_distinct=9)).X_test.shape[1] == 4
    )


def test_values_are_counted_in_all_rows() -> None:
    X = np.column_stack([np.arange(200), np.repeat([0, 1], 100) * np.arange(200) % 9])
    X[190:, 1] = np.arange(100, 110)  # more values, in anomalies alone
    assert cut(X.astype(np.float64), np.arange(200) >= 190, "novelty").X_train.shape[1] == 2


def test_halves_of_the_novelty_setting() -> None:
    X, y = numbered(301, 50)
    split = cut(X, y, "novelty")
    train, test, judged = (rows[:, 0].astype(int) for rows in (split.X_train, *split[1::2]))
    assert test.shape[0] == 351 - 351 // 2
    assert set(train) | set(test) == set(range(301)) | (set(test) & set(range(301, 351)))
    assert not set(train) & set(test)
    np.testing.assert_array_equal(split.y_test, test >= 301)
    np.testing.assert_array_equal(judged, test[test < 301])
    assert 15 < split.y_test.sum() < 35
    assert np.any(np.diff(test) < 0)  # shuffled


def test_halves_of_the_unsupervised_setting() -> None:
    X, y = numbered(300, 20)
    split = cut(X, y, "unsupervised")
    train, test = split.X_train[:, 0], split.X_test[:, 0]
    assert sorted([*train, *test]) == list(range(320))
    assert len(train) == len(test) == 160
    np.testing.assert_array_equal(split.evaluated, split.X_test)
    np.testing.assert_array_equal(split.y_test, test >= 300)


@pytest.mark.parametrize(("fraction", "most"), [(0.1, 33), (0.25, 100), (0.29, 122), (0.5, 300)])
def test_surplus_anomalies_are_left_out_at_random(fraction: float, most: int) -> None:
    X, y = numbered(300, 400)
    split = cut(X, y, "unsupervised", dataclasses.replace(PLAIN, max_anomaly_fraction=fraction))
    rows = np.concatenate([split.X_train, split.X_test])[:, 0]
    kept = rows[rows >= 300]
    assert kept.shape[0] == most
    assert most / (300 + most) <= fraction < (most + 1) / (301 + most)
    assert np.unique(rows).shape[0] == rows.shape[0] == 300 + most
    # Neither the first of the data, nor all of them in one half.
    assert kept.max() > 300 + most
    assert 0.2 < split.y_test.sum() / most < 0.8


def test_novelty_keeps_all_anomalies_for_roc() -> None:
    X, y = numbered(300, 300)
    assert cut(X, y, "novelty").y_test.sum() > 100


def test_caps_take_the_first_rows_of_the_halves() -> None:
    X, y = numbered(400, 100)
    caps = dataclasses.replace(PLAIN, max_train=40, max_test=70)
    for setting in SETTINGS:
        whole, few = cut(X, y, setting), cut(X, y, setting, caps)
        np.testing.assert_array_equal(few.X_train, whole.X_train[:40])
        np.testing.assert_array_equal(few.X_test, whole.X_test[:70])
        assert few.evaluated.shape[0] == (
            70 if setting == "unsupervised" else np.count_nonzero(few.y_test == 0)
        )
    free = dataclasses.replace(PLAIN, max_train=None, max_test=None)
    assert cut(*numbered(2000, 10), "unsupervised", free).X_train.shape[0] == 1005


def test_units_are_those_of_the_training_rows() -> None:
    X, y = data(300, 30, 3)
    X = X * [1.0, 50.0, 1e-3] + 7
    for setting in SETTINGS:
        plain, split = cut(X, y, setting), cut(X, y, setting, FEW)
        np.testing.assert_allclose(split.X_train.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(split.X_train.std(axis=0), 1)
        train = plain.X_train
        np.testing.assert_allclose(
            split.X_test, (plain.X_test - train.mean(axis=0)) / train.std(axis=0), atol=1e-9
        )


def test_a_feature_constant_in_training_keeps_its_unit() -> None:
    X, y = numbered(100, 20)
    X = np.column_stack([X[:, 0], np.where(y, X[:, 0], 3.0)])
    split = cut(X, y, "novelty", FEW)
    assert np.all(split.X_train[:, 1] == 0)
    assert set(split.X_test[split.y_test == 1, 1]) <= set(range(97, 117))


def test_rounding_is_no_deviation() -> None:
    X, y = numbered(150, 20)
    # The mean of so many is not 0.1.
    X = np.column_stack([X[:, 0], np.where(y, X[:, 0], 0.1)])
    assert cut(X, y, "novelty").X_train[:, 1].std() > 0
    assert np.ptp(cut(X, y, "novelty", FEW).X_test[:, 1]) < 170


@pytest.mark.parametrize(
    ("X", "y", "setting", "message"),
    [
        (np.zeros((20, 2)), np.zeros(20), "novelty", "at least 10 distinct values; found none"),
        (np.arange(20.0)[:, None], np.ones(20), "novelty", "rows to train on; found none"),
        (np.arange(20.0)[:, None], np.zeros(19), "novelty", "each of the 20 rows; found 19"),
        (np.arange(20.0)[:, None], np.zeros(20), "other", "setting must be one of"),
        (np.full((20, 1), np.nan), np.zeros(20), "novelty", "finite"),
    ],
)
def test_data_that_cannot_be_cut(X: Matrix, y: Any, setting: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        cut(X, y, setting)


@pytest.mark.parametrize(
    "wrong",
    [{"min_distinct": 0}, {"max_anomaly_fraction": 1.0}, {"max_train": 0}, {"n_subspaces": 0}],
)
def test_numbers_of_the_protocol_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        GoixProtocol(**wrong)
    with pytest.raises(TypeError, match="standardize"):
        GoixProtocol(standardize=1)  # type: ignore[arg-type]
