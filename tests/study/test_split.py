"""Which rows of a problem train and test, and how features are standardized."""

import dataclasses
import math
import re
import statistics
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastad.errors import InvalidInputError
from fastad.study.split import Protocol, Split, split_problem, standardized
from tests.support.loops import loop

Matrix = npt.NDArray[np.float64]

PLAIN = Protocol(standardize=False)


def decimal(value: float | Fraction) -> Fraction:
    return Fraction(repr(float(value)))


def expected_counts(n: int, m: int, contamination: float, protocol: Protocol) -> tuple[int, ...]:
    """Count normal rows and anomalies in training and in test: points 5 to 7 of the README."""
    most_train = math.floor(decimal(protocol.train_fraction) * n)

    def in_training(n_train: int) -> int:
        return min(math.floor(decimal(contamination) * n_train), m // 2)

    limit = math.inf if protocol.max_train is None else protocol.max_train
    n_train = max(k for k in range(most_train + 1) if k + in_training(k) <= limit)
    most = math.inf if protocol.max_test is None else protocol.max_test
    n_test, m_test = min(n - most_train, most), min(m - in_training(n_train), most)
    return n_train, in_training(n_train), int(n_test), int(m_test)


def numbered(n: int, m: int, seed: int = 0) -> tuple[Matrix, npt.NDArray[np.uint8]]:
    """Rows that hold their numbers, so that it shows where each went."""
    y = np.random.default_rng(seed).permutation(np.repeat([0, 1], [n, m])).astype(np.uint8)
    return np.arange(n + m, dtype=np.float64)[:, None], y


def cut(
    n: int, m: int, c: float = 0.0, repeat: int = 1, protocol: Protocol = PLAIN, key: int = 5
) -> Split:
    X, y = numbered(n, m)
    return split_problem(X, y, contamination=c, repeat=repeat, seed_key=(key, 7), protocol=protocol)


def parts(split: Split) -> list[list[int]]:
    """Return the rows in training and test: normal ones, anomalies, normal ones, anomalies."""
    n_train = split.X_train.shape[0] - split.n_train_anomalies
    train, test = split.X_train[:, 0].astype(int), split.X_test[:, 0].astype(int)
    return [
        rows.tolist()
        for rows in (
            train[:n_train],
            train[n_train:],
            test[split.y_test == 0],
            test[split.y_test == 1],
        )
    ]


sizes = st.integers(10, 400)
rates = st.sampled_from([0.0, 0.01, 0.05, 0.07, 0.29, 0.3, 1.0])
limits = st.none() | st.integers(4, 300)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    n=sizes,
    m=st.integers(1, 200),
    c=rates,
    fraction=st.sampled_from([0.2, 0.29, 0.5, 0.57, 0.6, 0.8, 0.9, 0.99]),
    max_train=limits,
    max_test=st.none() | st.integers(1, 100),
)
def test_rows_go_where_the_protocol_says(
    n: int, m: int, c: float, fraction: float, max_train: int | None, max_test: int | None
) -> None:
    protocol = Protocol(fraction, max_train=max_train, max_test=max_test, standardize=False)
    split = cut(n, m, c, protocol=protocol)
    found_parts = parts(split)
    assert tuple(map(len, found_parts)) == expected_counts(n, m, c, protocol)
    _, y = numbered(n, m)
    for rows, label in zip(found_parts, (0, 1, 0, 1), strict=True):
        assert all(y[row] == label for row in rows)
    everywhere = [row for rows in found_parts for row in rows]
    assert len(set(everywhere)) == len(everywhere)
    assert split.y_test.dtype == np.uint8
    for X in split[:2]:
        assert X.dtype == np.float64
        assert X.flags.c_contiguous
        assert X.flags.writeable


def test_examples_of_the_protocol() -> None:
    # 0.29 of 100 normal rows is 29, although the float is less.
    protocol = Protocol(0.29, contaminations=(0.07,), standardize=False)
    assert [len(rows) for rows in parts(cut(100, 50, protocol=protocol))] == [29, 0, 71, 50]
    assert [len(rows) for rows in parts(cut(125, 50, 0.07))] == [100, 7, 25, 43]
    # A ratio to the normal rows of training; at most half of the anomalies.
    assert [len(rows) for rows in parts(cut(1000, 90, 0.05))] == [800, 40, 200, 50]
    assert [len(rows) for rows in parts(cut(1000, 15, 0.05))] == [800, 7, 200, 8]
    small = dataclasses.replace(PLAIN, max_train=105, max_test=30)
    assert [len(rows) for rows in parts(cut(1000, 90, 0.05, protocol=small))] == [100, 5, 30, 30]
    assert [len(rows) for rows in parts(cut(1000, 6, 0.05, protocol=small))] == [102, 3, 30, 3]


@settings(max_examples=50, deadline=None)
@given(n=sizes, m=st.integers(2, 100), max_train=limits, max_test=limits)
def test_contaminations_of_a_repeat_share_their_rows(
    n: int, m: int, max_train: int | None, max_test: int | None
) -> None:
    whole = parts(cut(n, m, protocol=PLAIN))
    protocol = dataclasses.replace(PLAIN, max_train=max_train, max_test=max_test)
    clean = parts(cut(n, m, protocol=protocol))
    before = clean
    for c in (0.01, 0.05, 0.5):
        these = parts(cut(n, m, c, protocol=protocol))
        # Fewer normal rows train, the first of them; the same ones test.
        assert these[0] == before[0][: len(these[0])] == whole[0][: len(these[0])]
        assert these[2] == clean[2]
        assert set(before[1]) <= set(these[1])
        assert these[3] == clean[3][: len(these[3])]
        before = these
    # The normal rows that the limit takes from training do not test.
    assert clean[2] == whole[2][:max_test]


def test_splits_depend_on_the_seeds_and_the_repeat_alone() -> None:
    one = cut(100, 40, 0.05, 3)
    cut(50, 10, 0.0, 1)
    again = cut(100, 40, 0.05, 3)
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
    assert parts(one) != parts(cut(100, 40, 0.05, 4))
    assert parts(one) != parts(cut(100, 40, 0.05, 3, key=6))
    X, y = numbered(100, 40)
    other = split_problem(X, y, contamination=0.05, repeat=3, seed_key=(5, 8), protocol=PLAIN)
    assert parts(one) != parts(other)
    # The global state of NumPy has no part in it.
    np.random.seed(0)  # noqa: NPY002
    state = np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
    assert parts(cut(100, 40, 0.05, 3)) == parts(one)
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index]  # noqa: NPY002


def test_each_row_trains_as_often_as_any_other() -> None:
    _, y = numbered(50, 20)
    times = np.zeros(70)
    n_repeats = 400
    for repeat in range(1, n_repeats + 1):
        train_normals, train_anomalies, *_ = parts(cut(50, 20, 0.1, repeat))
        times[train_normals + train_anomalies] += 1
    # Four of five normal rows, four of twenty anomalies; five deviations around.
    for label, fraction in ((0, 0.8), (1, 0.2)):
        spread = 5 * math.sqrt(n_repeats * fraction * (1 - fraction))
        assert np.all(np.abs(times[y == label] - n_repeats * fraction) < spread)


def standardized_slowly(X: Matrix) -> Matrix:
    """Point 4 of the README, a feature at a time."""
    scaled = np.empty_like(X)
    for j, column in enumerate(X.T.tolist()):
        mean, variance = statistics.mean(column), statistics.variance(column)
        deviation = 1.0 if variance <= 1e-15 else math.sqrt(variance)
        for i, value in enumerate(column):
            centred = 0.0 if abs(value - mean) <= 1e-8 else value - mean
            scaled[i, j] = centred / deviation
    return scaled


def test_features_are_standardized_over_all_rows() -> None:
    X, y = numbered(60, 20)
    rng = np.random.default_rng(0)
    tiny = np.where(X[:, 0] == 0, 1e-8 * 3, 0.0)  # a variance of 1e-17: not divided
    small = rng.normal(size=80) * 1e-7  # a variance of 1e-14: divided, some of it 0
    constant = np.full(80, 1e15 / 3)  # its mean is not it, as sums are rounded
    X = np.column_stack([X, rng.exponential(size=80) + 1e6, constant, tiny, small])
    want = standardized_slowly(X)
    np.testing.assert_allclose(standardized(X), want, rtol=1e-9, atol=1e-12)
    assert not standardized(X)[:, 2].any()
    assert np.count_nonzero(standardized(X)[:, 3]) == 1
    assert 0 < np.count_nonzero(want[:, 4] == 0) == np.count_nonzero(standardized(X)[:, 4] == 0)
    before = X.copy()
    arguments: dict[str, Any] = {"contamination": 0.05, "repeat": 2, "seed_key": (1,)}
    plain = split_problem(X, y, protocol=PLAIN, **arguments)
    split = split_problem(X, y, protocol=Protocol(), **arguments)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(plain.y_test, split.y_test)
    for rows, scaled in zip(plain[:2], split[:2], strict=True):
        np.testing.assert_allclose(scaled, want[rows[:, 0].astype(int)], rtol=1e-9, atol=1e-12)


def test_one_hot_and_label_columns_have_unit_variance_with_test_rows() -> None:
    X, y = numbered(60, 20)
    X = np.column_stack([X % 2, y])
    split = split_problem(X, y, contamination=0.0, repeat=1, seed_key=(1,), protocol=Protocol())
    rows = np.concatenate([split.X_train, split.X_test])
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.var(axis=0, ddof=1), 1)


@loop(
    ("options", "message"),
    [
        ({"train_fraction": 1.0}, "protocol.train_fraction must lie strictly between 0 and 1"),
        ({"train_fraction": 0.1}, "protocol.train_fraction must be at least 0.2; found 0.1"),
        ({"train_fraction": "0.8"}, "protocol.train_fraction must be a number; found str"),
        ({"contaminations": 0.1}, "protocol.contaminations must be a list of numbers; found float"),
        ({"contaminations": ()}, "protocol.contaminations must be numbers that differ in six digi"),
        ({"contaminations": (0, 0.0)}, "in six digits, at least one; found (0, 0.0)"),
        ({"contaminations": (0.1, 0.1 + 1e-9)}, "in six digits, at least one; found (0.1, 0.1000"),
        ({"contaminations": (0.1, 1.5)}, "protocol.contaminations[1] must lie in [0, 1]"),
        ({"contaminations": (True,)}, "protocol.contaminations[0] must be a number; found bool"),
        ({"repeats": 0}, "protocol.repeats must be at least 1; found 0"),
        ({"max_train": 3}, "protocol.max_train must be at least 4; found 3"),
        ({"max_train": 10.5}, "protocol.max_train must be an integer; found 10.5"),
        ({"max_test": 0}, "protocol.max_test must be at least 1; found 0"),
        ({"standardize": "yes"}, "protocol.standardize must be True or False; found str"),
    ],
)
def test_protocols_that_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=re.escape(message)):
        Protocol(**options)


def test_contaminations_of_a_configuration_become_floats() -> None:
    lists: dict[str, Any] = {"contaminations": [0, 0.05]}
    rates_found = Protocol(**lists).contaminations
    assert rates_found == (0.0, 0.05)
    assert [type(rate) for rate in rates_found] == [float, float]


@pytest.mark.parametrize(("n", "m"), [(2, 5), (0, 5), (50, 0)])
def test_too_few_rows_are_refused(n: int, m: int) -> None:
    message = f"found {n} normal rows and {m} anomalies"
    with pytest.raises(InvalidInputError, match=message):
        cut(n, m)


def test_the_smallest_problem_can_be_split_by_any_protocol() -> None:
    for protocol in (Protocol(0.2), Protocol(0.99), Protocol(max_train=4, max_test=1)):
        for c in (0.0, 1.0):
            n_train, _, n_test, m_test = expected_counts(10, 1, c, protocol)
            assert n_train >= 2
            assert min(n_test, m_test) >= 1
            split = cut(10, 1, c, protocol=protocol)
            assert split.X_train.shape[0] == n_train


def test_repeats_and_ratios_are_checked() -> None:
    with pytest.raises(InvalidInputError, match="repeat must be at least 1; found 0"):
        cut(20, 5, repeat=0)
    with pytest.raises(InvalidInputError, match=r"contamination must lie in \[0, 1\]; found 1.5"):
        cut(20, 5, c=1.5)
