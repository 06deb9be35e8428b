"""Numbers are read exactly, whatever holds them, or refused with the reason."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastad
from fastad import InvalidInputError
from tests.support import oracles
from tests.support.loops import loop

Y = [1, 0, 0, 1]
LARGE = 1_556_559_573_141_592_653
# As floats, all of them are equal.
CLOSE = [LARGE, LARGE + 1, LARGE + 2, LARGE + 3]
GAP = [LARGE, LARGE + 1, None, LARGE + 3]
ROUNDED = r"must contain numbers that a single type holds; found {} at index {}, which a float"


def auc_by_pairs(y: list[int], s: list[Any]) -> float:
    """The definition, in the numbers of Python."""
    return float(oracles.roc_auc(oracles.rows(y, s)))


def objects(values: Any) -> Any:
    array = np.empty(len(values), object)
    array[:] = values
    return array


# Integers that floats would merge.
EXACT: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "objects": objects,
    "objects of NumPy": lambda values: objects([np.int64(value) for value in values]),
    "object column": lambda values: pd.Series(values, dtype=object),
    "nullable": lambda values: pd.Series(values, dtype="Int64"),
    "category": lambda values: pd.Series(values).astype("category"),
    "Arrow in pandas": lambda values: pd.Series(values, dtype="int64[pyarrow]"),
    "polars": pl.Series,
    "arrow": pa.array,
    "chunked": lambda values: pa.chunked_array([values[:1], values[1:]]),
}
WITH_GAPS: dict[str, Callable[[list[Any]], Any]] = {
    "nullable": EXACT["nullable"],
    "array": lambda values: pd.array(values, dtype="Int64"),
    "category": lambda values: pd.Series(values, dtype="Int64").astype("category"),
    "Arrow in pandas": EXACT["Arrow in pandas"],
    "polars": pl.Series,
    "unsigned polars": lambda values: pl.Series(values, dtype=pl.UInt64),
    "arrow": pa.array,
    "chunked": EXACT["chunked"],
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "NaN in a list": lambda values: [np.nan if value is None else value for value in values],
}


@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_large_integers_are_ordered_as_they_are(make: Callable[[list[int]], Any]) -> None:
    assert fastad.roc_auc(Y, make(CLOSE)) == auc_by_pairs(Y, CLOSE) == 0.5
    swapped = [CLOSE[i] for i in (3, 0, 1, 2)]
    assert fastad.roc_auc(Y, make(swapped)) == auc_by_pairs(Y, swapped) == 1.0
    runs = fastad.evaluate(Y, [1, 2, 3, 4], groups=make(CLOSE), measures="auc")
    assert list(runs) == CLOSE


@loop("make", WITH_GAPS.values())
@loop("argument", ["y_score", "groups", "clusters"])
def test_integers_that_a_gap_has_made_floats_are_refused(
    make: Callable[[list[Any]], Any], argument: str
) -> None:
    arguments: dict[str, Any] = {"y_score": [1, 2, 3, 4], "nan_policy": "omit"}
    arguments["confidence_level"] = 0.9
    message = ROUNDED.format(LARGE, 0)
    if make is WITH_GAPS["category"] and argument != "y_score":
        message = "must not have missing values"  # its codes are read, which are exact
    with pytest.raises(InvalidInputError, match=rf"^{argument}.* {message}"):
        fastad.evaluate(Y, **(arguments | {argument: make(GAP)}))


@pytest.mark.parametrize("make", WITH_GAPS.values(), ids=WITH_GAPS)
def test_integers_that_floats_have_are_omitted_where_one_is_missing(
    make: Callable[[list[Any]], Any],
) -> None:
    scores = [2**53, 2**53 + 2, None, 2**60]
    result = fastad.evaluate(Y, make(scores), nan_policy="omit", measures="auc")["score"]
    assert result["auc"] == auc_by_pairs([1, 0, 1], [2**53, 2**53 + 2, 2**60])
    assert result.n_omitted == 1


def test_no_detector_of_a_list_rounds_the_scores_of_another() -> None:
    scores: list[Any] = [CLOSE, [0.5, 0.1, 0.2, 0.3], np.array(CLOSE, np.uint64)]
    result = fastad.evaluate(Y, scores, measures="auc")
    expected = [
        auc_by_pairs(Y, list(map(float, row)) if i == 1 else list(map(int, row)))
        for i, row in enumerate(scores)
    ]
    assert [result[name]["auc"] for name in ("score_0", "score_1", "score_2")] == expected


def test_groups_of_integers_that_no_type_has_are_not_merged() -> None:
    for groups in ([LARGE, LARGE + 1, 1.5, LARGE], [2**63 + 1, 2**63 + 2, -1, 5]):
        with pytest.raises(InvalidInputError, match=r"groups\['group'\] must contain numbers that"):
            fastad.evaluate(Y, [1, 2, 3, 4], groups=groups)


def test_groups_of_strings_and_numbers_are_not_merged() -> None:
    runs = fastad.evaluate(Y, [1, 2, 3, 4], groups=["1", 1, "1", 1], measures="auc")
    assert list(runs) == ["1", 1]


def test_parameters_of_models_that_a_gap_has_made_floats_are_refused() -> None:
    table = {
        "dataset": ["a"] * 3,
        "detector": ["knn"] * 3,
        "params": pl.Series([LARGE, LARGE + 1, None]),
        "auc": [0.1, 0.2, 0.3],
    }
    with pytest.raises(InvalidInputError, match=r"table\['params'\] must contain numbers that"):
        fastad.ResultTable.from_table(table)


# Numbers that are objects.
READ: dict[str, Any] = {
    "integers": objects([1, 0, 0, 1]),
    "booleans": objects([True, False, False, True]),
    "floats": objects([1.0, 0.0, 0.0, 1.0]),
    "of NumPy": objects([np.int8(1), np.float16(0), np.bool_(False), np.uint64(1)]),
    "mixed": objects([True, 0, 0.0, np.float32(1)]),
    "column": pd.Series([1, 0, 0, 1], dtype=object),
    "polars": pl.Series([1, 0, 0, 1], dtype=pl.Object),
    "fractions": [Fraction(1), Fraction(0), 0, 1],
    "decimals": [Decimal("1.0"), Decimal("0.00"), 0, 1],
    "decimal128": pa.array([Decimal(1), Decimal(0), Decimal(0), Decimal(1)]),
    "decimals in polars": pl.Series([Decimal(1), Decimal(0), Decimal(0), Decimal(1)]),
    "decimals in pandas": pd.Series(
        [Decimal(1), Decimal(0), Decimal(0), Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(5, 2))
    ),
    **{
        name: np.array([1, 0, 0, 1], getattr(ml_dtypes, name))
        for name in ("bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4")
    },
}


@pytest.mark.parametrize("values", READ.values(), ids=READ)
def test_objects_and_short_floats_are_read(values: Any) -> None:
    scores = [0.1, 0.3, 0.2, 0.25]
    assert fastad.roc_auc(values, scores) == fastad.roc_auc(Y, scores)
    assert fastad.roc_auc([0, 1, 0, 1], values) == fastad.roc_auc([0, 1, 0, 1], Y)
    expected = fastad.roc_auc([0, 1, 0, 1], scores, sample_weight=Y)
    assert fastad.roc_auc([0, 1, 0, 1], scores, sample_weight=values) == expected
    runs = fastad.evaluate([0, 1, 0, 1], scores, groups=values, measures="auc")
    assert sorted(map(float, runs)) == [0, 1]


def test_bfloat16_keeps_its_ties_and_its_nan() -> None:
    scores = np.array([256, 257, 258, np.nan], ml_dtypes.bfloat16)
    result = fastad.evaluate([1, 0, 1, 0], scores, nan_policy="omit", measures="auc")["score"]
    assert result["auc"] == 0.75  # 257 is between two neighbours
    assert result.n_omitted == 1


# The decimal next to it is the same float.
LONG = Decimal("0.10000000000000000001")
REFUSED: dict[str, tuple[Any, str]] = {
    "decimal": ([0, 1, 0, LONG], ROUNDED.format(f"Decimal\\('{LONG}'\\)", 3)),
    "decimal128": (
        pa.array([Decimal("0.5"), LONG, Decimal(1), Decimal(2)]),
        ROUNDED.format(f"Decimal\\('{LONG}'\\)", 1),
    ),
    "fraction": ([0, Fraction(1, 3), 0, 1], ROUNDED.format(r"Fraction\(1, 3\)", 1)),
    "long integer": (objects([1, 2**64 + 1, 3, 4]), ROUNDED.format(2**64 + 1, 1)),
    "mixed integers": (objects([0.5, 2**53 + 1, 3, 4]), ROUNDED.format(2**53 + 1, 1)),
    "NumPy's integer": (objects([0.5, np.int64(2**53 + 1), 3, 4]), ROUNDED.format(2**53 + 1, 1)),
    "endless": ([1, 0, 10**400, 0], "which a float would round"),
    "signalling": ([1, Decimal("sNaN"), 0, 0], "which a float would round|missing values"),
    "string": (objects([0, 1, "1", 0]), "found objects such as '1'"),
    "None": ([0.5, None, 0.25, 1], "must not have missing values; found 1, the first at index 1"),
    "NA": (objects([1, pd.NA, pd.NaT, 0]), "missing values; found 2, the first at index 1"),
    "duration": (objects([np.timedelta64(1, "s"), 1, 2, 3]), "found objects such as np.timede"),
    "complex": (objects([1, 0, 1j, 0]), "found objects such as 1j"),
}


@loop(("values", "message"), REFUSED.values())
def test_other_objects_are_refused_with_the_reason(values: Any, message: str) -> None:
    for arguments, name in (
        ((values, [1, 2, 3, 4]), "y_true"),
        ((Y, values), "y_score"),
        ((Y, [1, 2, 3, 4], values), "sample_weight"),
    ):
        with pytest.raises(InvalidInputError, match=f"^{name} .*{message}"):
            fastad.measures.registry.MEASURES["roc_auc"].of(*arguments)


def test_decimals_are_the_floats_that_stand_for_them() -> None:
    cells = ["0.3", "0.1", "0.10000000000000002", "0.1"]
    decimals: Any = [Decimal(cell) for cell in cells]
    expected = auc_by_pairs(Y, decimals)
    for scores in (decimals, pa.array(decimals), pl.Series(decimals)):
        assert fastad.roc_auc(Y, scores) == expected
    assert fastad.confusion_at(Y, decimals, threshold=0.1).fn == 0


def test_exact_long_numbers_are_read() -> None:
    scores: Any = [Fraction(1, 4), Decimal("Infinity"), 2**70, -(2**80)]
    assert fastad.roc_auc(Y, scores) == auc_by_pairs(Y, [0.25, np.inf, 2.0**70, -(2.0**80)])
    quiet: Any = [Decimal("NaN"), Decimal(1), 2, 3]
    assert fastad.rank_scores(Y, quiet, nan_policy="omit").n_omitted == 1


class Tensor:
    """Of PyTorch, whose bfloat16 no array has."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("Got unsupported ScalarType BFloat16")


@pytest.mark.parametrize("function", [fastad.roc_auc, fastad.evaluate])
def test_a_tensor_that_no_array_holds_is_refused_by_name(function: Callable[..., Any]) -> None:
    for arguments, name in (((Tensor(), Y), "y_true"), ((Y, Tensor()), "y_score")):
        message = f"^{name} must be a column for NumPy; found .*BFloat16"
        with pytest.raises(InvalidInputError, match=message):
            function(*arguments)
