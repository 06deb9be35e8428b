"""What `pairwise_agreement` and `rank_label_agreement` accept and refuse."""

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fastad.benchmarking import pairwise_agreement, rank_label_agreement
from fastad.errors import InvalidInputError
from tests.support.loops import loop


def test_one_data_set_may_be_a_vector() -> None:
    a, b, c = [1, 2, 3], [1, 3, 2], [1, 4, 2]
    assert pairwise_agreement(a, b, references=(a, b)) == pairwise_agreement(
        [a], [b], references=([a], [b])
    )
    assert rank_label_agreement(a, (b, c)) == rank_label_agreement([a], ([b], [c]))


@pytest.mark.parametrize(
    "values",
    [
        np.array([0, 1, 255], np.uint8),
        np.array([-128, 0, 127], np.int8),
        np.array([-(2**63), 0, 2**63 - 1]),
        np.array([2**53, 2**53 + 1, 2**53 + 2], np.uint64),
        [2**53, 2**53 + 1, 2**53 + 2],
        np.array([1, 2, 3], ">f4"),
        np.array([3, 2, 1], np.float16)[::-1],
        (1, 2.5, 3),
        pd.Series([1, 2, 3], index=[2, 1, 0]),
        np.array([-1e308, 0, 1e308]),
    ],
)
def test_values_of_any_real_type_are_compared_exactly(values: Any) -> None:
    for up in (True, False):
        result = pairwise_agreement(values, [1, 2, 3], higher_is_better=(up, True))
        assert result.fraction == up
        labels = rank_label_agreement(values, ([1, 2, 3], [1, 2, 3]), higher_is_better=up)
        assert labels.n_recovered == (3 if up else 1)


def test_a_frame_is_a_table_of_data_sets() -> None:
    frame = pd.DataFrame({"iForest": [1.0, 2.0], "LOF": [3.0, 1.0]}, index=["adult", "http"])
    assert pairwise_agreement(frame, [[1, 2], [1, 2]]).fraction == 0.5
    assert rank_label_agreement([[1, 2], [1, 2]], (frame, frame)).fraction == 0.5


def test_arguments_are_left_as_they_were() -> None:
    a, b = np.array([[3.0, 1.0, 2.0]]), np.array([[1.0, 2.0, np.nan]])
    before = a.copy(), b.copy()
    for values in (a, b):
        values.flags.writeable = False
    pairwise_agreement(a, b, higher_is_better=(False, True), references=(a, a))
    rank_label_agreement(b, (a, a))
    np.testing.assert_array_equal(a, before[0])
    np.testing.assert_array_equal(b, before[1])


def test_results_are_frozen() -> None:
    for result in (pairwise_agreement([1, 2], [1, 2]), rank_label_agreement([1, 2], ([1, 2],) * 2)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.fraction = 0.0  # type: ignore[misc]


# Bad input.

BAD_TABLES: list[tuple[Any, str]] = [
    ([], r"must not be empty; found shape \(0,\)"),
    (np.zeros((0, 3)), r"must not be empty; found shape \(0, 3\)"),
    ([[], []], r"must not be empty; found shape \(2, 0\)"),
    ([[1, 2, 3], [1, 2]], "must have as many values for each data set"),
    (np.zeros((1, 1, 2)), r"must have shape .* found \(1, 1, 2\)"),
    (3.0, r"must have shape .* found \(\)"),
    (None, r"must have shape .* found \(\)"),
    ({"a": 1}, r"must have shape .* found \(\)"),
    (["x", "y", "z"], "must contain booleans, integers or floats .* found strings"),
    ([1, None, 3], "must not have missing values; found 1, the first at index 1"),
    ([1j, 2, 3], "found complex numbers"),
    (np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False]), "must not be a masked array"),
    (np.ma.masked_array([[1.0, 2.0, 3.0]], [[False, True, False]]), "must not be a masked array"),
    ([2**53 + 1, 0.5, 1], "must contain numbers that a single type holds"),
    ([1, 2], "data set of . detectors"),
    ([[1, 2, 3], [1, 2, 3]], "data sets? of 3 detectors"),
]


@loop(("bad", "message"), BAD_TABLES)
def test_bad_values_are_named(bad: Any, message: str) -> None:
    good = [1, 2, 3]
    with pytest.raises(InvalidInputError, match=f"^(a|b) .*{message}"):
        pairwise_agreement(bad, good)
    with pytest.raises(InvalidInputError, match=f"^b .*{message}"):
        pairwise_agreement(good, bad)
    with pytest.raises(InvalidInputError, match=rf"^references\[1\] .*{message}"):
        pairwise_agreement(good, good, references=(good, bad))
    with pytest.raises(InvalidInputError, match=rf"^(criterion|references\[0\]) .*{message}"):
        rank_label_agreement(bad, (good, good))
    with pytest.raises(InvalidInputError, match=rf"^references\[0\] .*{message}"):
        rank_label_agreement(good, (bad, good))


def test_a_bad_row_is_named() -> None:
    bad: Any = [[1, 2], [None, 3]]
    with pytest.raises(InvalidInputError, match=r"^a\[1\] must not have missing values; found 1"):
        pairwise_agreement(bad, [[1, 2], [2, 3]])


def test_shapes_are_described() -> None:
    with pytest.raises(
        InvalidInputError,
        match=r"^b must have the shape of a; found 2 data sets of 1 detector and 1 data set of 2 ",
    ):
        pairwise_agreement([1, 2], [[1], [2]])


@pytest.mark.parametrize("bad", [True, None, (True,), (True,) * 3, "ab", {True, False}])
def test_directions_come_in_a_pair(bad: Any) -> None:
    with pytest.raises(TypeError, match=r"^higher_is_better must be a pair"):
        pairwise_agreement([1, 2], [1, 2], higher_is_better=bad)


def test_a_direction_is_true_or_false() -> None:
    with pytest.raises(TypeError, match=r"^higher_is_better\[1\] must be True or False; found int"):
        pairwise_agreement([1, 2], [1, 2], higher_is_better=(True, 0))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^higher_is_better must be True or False; found tuple"):
        rank_label_agreement(
            [1, 2],
            ([1, 2], [1, 2]),
            higher_is_better=(True, True),  # type: ignore[arg-type]
        )


@pytest.mark.parametrize(
    ("bad", "found"),
    [
        (([1, 2],), "found 1"),
        ([[1, 2]] * 3, "found 3"),
        (np.ones((2, 2)), "found ndarray"),
        ({"roc": [1, 2], "pr": [1, 2]}, "found dict"),
        (7, "found int"),
    ],
)
def test_references_come_in_a_pair(bad: Any, found: str) -> None:
    with pytest.raises(TypeError, match=f"^references must be a pair of arrays; {found}"):
        pairwise_agreement([1, 2], [1, 2], references=bad)
    with pytest.raises(TypeError, match=f"^references must be a pair of arrays; {found}"):
        rank_label_agreement([1, 2], bad)
