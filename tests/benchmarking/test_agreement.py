"""Agreement of criteria: pairs in the same order, labels best, between and worst recovered."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fastad.benchmarking.agreement import (
    LabelAgreement,
    PairAgreement,
    pairwise_agreement,
    rank_label_agreement,
)
from fastad.errors import UndefinedMeasureError

GOIX = json.loads((Path(__file__).parents[1] / "golden" / "goix_tables.json").read_text("utf-8"))
# The mass-volume criterion is a volume.
UP = {"roc": True, "pr": True, "em": True, "mv": False}


def printed(table: str, criterion: str) -> list[list[float]]:
    return [row[criterion] for row in GOIX[table].values()]


def marked(table: str, criterion: str) -> list[list[int]]:
    """Order as bold and underlining tell it, the best highest."""
    return [["WIB".index(mark) for mark in row["marks"][criterion]] for row in GOIX[table].values()]


def of_pairs(table: str, a: str, b: str) -> PairAgreement:
    return pairwise_agreement(printed(table, a), printed(table, b), higher_is_better=(UP[a], UP[b]))


def of_clear_pairs(table: str, a: str) -> PairAgreement:
    references = (printed(table, "roc"), printed(table, "pr"))
    return pairwise_agreement(
        printed(table, a), references[0], higher_is_better=(UP[a], True), references=references
    )


# The tables of the paper.


def test_the_tables_are_whole() -> None:
    for table in ("novelty", "unsupervised"):
        assert len(GOIX[table]) == 12
        for row in GOIX[table].values():
            assert all(len(row[criterion]) == 3 for criterion in UP)
            assert all(sorted(row["marks"][criterion]) == ["B", "I", "W"] for criterion in UP)


# The text counts for EM 28 (ROC) and 29 (PR) of 36, and 27 of 33; for MV 27, 26 and 25, its first
# two swapped. EM has one tie, by rounding: OCSVM and LOF on annthyroid, 6.3e-05. Broken as the
# table marks it, EM has 27 of 33 as in the text, but 27 with ROC and 30 with PR.
#
# For the unsupervised table the text counts for EM 26 (ROC) and 27 (PR) of 36, and 24 of 31; for
# MV 27, 28 and 24 of 31. The values give less, even if every tie (pima and shuttle in EM,
# arrhythmia in ROC) is broken for the best: 25, 26 and 23; 26, 25 and 23. The 31st clear pair is
# the one tied in ROC.
@pytest.mark.parametrize(
    ("table", "criterion", "with_roc", "with_pr", "clear", "n_clear"),
    [
        ("novelty", "em", 26.5, 29.5, 26.5, 33),
        ("novelty", "mv", 26, 27, 25, 33),
        ("unsupervised", "em", 23.5, 25, 21, 30),
        ("unsupervised", "mv", 25.5, 25, 22, 30),
    ],
)
def test_pairs_of_the_printed_tables(
    table: str, criterion: str, with_roc: float, with_pr: float, clear: float, n_clear: int
) -> None:
    assert of_pairs(table, criterion, "roc") == PairAgreement(with_roc / 36, with_roc, 36, 0, 0)
    assert of_pairs(table, criterion, "pr") == PairAgreement(with_pr / 36, with_pr, 36, 0, 0)
    estimate = of_clear_pairs(table, criterion)
    assert estimate == PairAgreement(clear / n_clear, clear, n_clear, 36 - n_clear, 0)


def test_the_one_tie_of_the_novelty_table_is_a_rounded_one() -> None:
    ties = [name for name, row in GOIX["novelty"].items() if len(set(row["em"])) < 3]
    assert ties == ["annthyroid"]


# A strict reading, in which a tie recovers nothing, would give 25 and not 26 for EM.
@pytest.mark.parametrize(
    ("table", "criterion", "recovered", "n_labels"),
    [
        ("novelty", "em", 26, 31),
        ("novelty", "mv", 21, 31),
        ("unsupervised", "em", 14, 26),
        ("unsupervised", "mv", 13, 26),
    ],
)
def test_labels_of_the_printed_tables(
    table: str, criterion: str, recovered: float, n_labels: int
) -> None:
    references = (printed(table, "roc"), printed(table, "pr"))
    estimate = rank_label_agreement(
        printed(table, criterion), references, higher_is_better=UP[criterion]
    )
    expected = recovered / n_labels
    assert estimate == LabelAgreement(expected, recovered, n_labels, 36 - n_labels, 0)


# The remark's 87 %, 65 %, 59 % and 59 % are those of the marks, not of the values. The marks break
# rounded ties, and two of them contradict the values: MV on pima (novelty) underlines OCSVM though
# LOF's volume is larger, and MV on ionosphere (unsupervised) iForest though LOF's is.
@pytest.mark.parametrize(
    ("table", "criterion", "recovered", "n_labels", "percent"),
    [
        ("novelty", "em", 27, 31, 87),
        ("novelty", "mv", 20, 31, 65),
        ("unsupervised", "em", 16, 27, 59),
        ("unsupervised", "mv", 16, 27, 59),
    ],
)
def test_labels_of_the_marks_are_those_of_the_text(
    table: str, criterion: str, recovered: float, n_labels: int, percent: int
) -> None:
    references = (marked(table, "roc"), marked(table, "pr"))
    estimate = rank_label_agreement(marked(table, criterion), references)
    assert (estimate.n_recovered, estimate.n_labels) == (recovered, n_labels)
    assert round(100 * estimate.fraction) == percent


# The marks count 24 of 31 clear pairs for MV, as the text does; 23 for EM, where it has 24.
@pytest.mark.parametrize(("criterion", "agreeing"), [("em", 23), ("mv", 24)])
def test_clear_pairs_of_the_unsupervised_marks(criterion: str, agreeing: float) -> None:
    roc, pr = marked("unsupervised", "roc"), marked("unsupervised", "pr")
    estimate = pairwise_agreement(marked("unsupervised", criterion), roc, references=(roc, pr))
    assert (estimate.n_agreeing, estimate.n_pairs) == (agreeing, 31)


def test_the_opposite_of_roc_recovers_one_label_of_three_and_no_pair() -> None:
    """The remark's own example."""
    roc = printed("novelty", "roc")
    assert rank_label_agreement(roc, (roc, roc), higher_is_better=False).fraction == 1 / 3
    assert pairwise_agreement(roc, roc, higher_is_better=(False, True)).fraction == 0


# Slow, obvious definitions.


def order(x: float, y: float) -> int:
    return (x > y) - (x < y)


def slow_pairs(
    a: list[list[float]],
    b: list[list[float]],
    up: tuple[bool, bool],
    references: tuple[list[list[float]], list[list[float]]] | None,
) -> PairAgreement | None:
    agreeing, counts = Fraction(0), {"pairs": 0, "undecided": 0, "left out": 0}
    tables = (a, b, *(references or ()))
    for row in range(len(a)):
        for i, j in itertools.combinations(range(len(a[0])), 2):
            if any(math.isnan(table[row][k]) for table in tables for k in (i, j)):
                counts["left out"] += 1
                continue
            orders = [order(table[row][i], table[row][j]) for table in tables]
            if references and not (orders[2] == orders[3] and orders[2]):
                counts["undecided"] += 1
                continue
            counts["pairs"] += 1
            x = orders[0] if up[0] else -orders[0]
            y = orders[1] if up[1] else -orders[1]
            if x == y:
                agreeing += 1
            elif x == 0 or y == 0:
                agreeing += Fraction(1, 2)
    if not counts["pairs"]:
        return None
    return PairAgreement(float(agreeing / counts["pairs"]), float(agreeing), *counts.values())


def label_chances(values: list[float], *, up: bool) -> list[dict[str, Fraction]]:
    """For each detector, the fraction of the orders that fit the values in which it has a label."""
    n = len(values)
    better = [x if up else -x for x in values]
    orders = [
        places
        for places in itertools.permutations(range(n))
        if all(better[one] >= better[after] for one, after in itertools.pairwise(places))
    ]
    names = ["best", *["between"] * (n - 2), "worst"]
    return [
        {
            name: Fraction(sum(names[places.index(i)] == name for places in orders), len(orders))
            for name in ("best", "between", "worst")
        }
        for i in range(n)
    ]


def slow_labels(
    criterion: list[list[float]],
    references: tuple[list[list[float]], list[list[float]]],
    *,
    up: bool,
) -> LabelAgreement | None:
    recovered, labels, undecided, left_out = Fraction(0), 0, 0, 0
    for rows in zip(criterion, *references, strict=True):
        kept = [i for i in range(len(rows[0])) if not any(math.isnan(row[i]) for row in rows)]
        if len(kept) < 2:
            left_out += len(rows[0])
            continue
        left_out += len(rows[0]) - len(kept)
        by, one, other = (
            label_chances([row[i] for i in kept], up=up if row is rows[0] else True) for row in rows
        )
        for i in range(len(kept)):
            sure = [name for name in one[i] if one[i][name] == 1 and other[i][name] == 1]
            if sure:
                labels += 1
                recovered += by[i][sure[0]]
            else:
                undecided += 1
    if not labels:
        return None
    return LabelAgreement(float(recovered / labels), float(recovered), labels, undecided, left_out)


POOL = [-math.inf, -1.5, -0.0, 0.0, 5e-324, 1.0, math.nextafter(1.0, 2.0), math.inf]


@st.composite
def criteria(draw: st.DrawFn, n: int, *, nan: bool = True) -> Any:
    """Tables of n criteria of the same detectors on the same data sets."""
    n_datasets, n_detectors = draw(st.integers(1, 3)), draw(st.integers(1, 5))
    values = st.sampled_from([*draw(st.sampled_from([POOL, [0.0, 1.0]])), *[math.nan] * nan])
    row = st.lists(values, min_size=n_detectors, max_size=n_detectors)
    table = st.lists(row, min_size=n_datasets, max_size=n_datasets)
    return [draw(table) for _ in range(n)]


def result(function: Any, *arguments: Any, **options: Any) -> Any:
    try:
        return function(*arguments, **options)
    except UndefinedMeasureError:
        return None


directions = st.tuples(st.booleans(), st.booleans())


@pytest.mark.slow
@given(
    tables=st.one_of(criteria(4), criteria(4, nan=False)),
    up=directions,
    with_references=st.booleans(),
)
def test_pairs_are_those_of_the_definition(tables: Any, up: Any, with_references: bool) -> None:
    references = tuple(tables[2:]) if with_references else None
    estimate = result(
        pairwise_agreement, tables[0], tables[1], higher_is_better=up, references=references
    )
    assert estimate == slow_pairs(tables[0], tables[1], up, references)


@pytest.mark.slow
@given(tables=st.one_of(criteria(3), criteria(3, nan=False)), up=st.booleans())
def test_labels_are_those_of_the_definition(tables: Any, up: bool) -> None:
    estimate = result(rank_label_agreement, tables[0], tables[1:], higher_is_better=up)
    assert estimate == slow_labels(tables[0], tables[1:], up=up)


# Properties.


@given(tables=criteria(4), up=directions, data=st.data())
def test_only_the_order_within_a_data_set_matters(tables: Any, up: Any, data: Any) -> None:
    def rising(row: list[float]) -> list[float]:
        """The same order in other numbers, drawn for each data set alone."""
        distinct = sorted({x for x in row if not math.isnan(x)})
        n = len(distinct)
        drawn = data.draw(
            st.lists(st.floats(allow_nan=False), min_size=n, max_size=n, unique_by=float)
        )
        to = dict(zip(distinct, sorted(drawn), strict=True))
        return [x if math.isnan(x) else to[x] for x in row]

    moved = [[rising(row) for row in table] for table in tables]
    assert result(
        pairwise_agreement, *tables[:2], higher_is_better=up, references=tables[2:]
    ) == result(pairwise_agreement, *moved[:2], higher_is_better=up, references=moved[2:])
    assert result(rank_label_agreement, tables[0], tables[1:3], higher_is_better=up[0]) == result(
        rank_label_agreement, moved[0], moved[1:3], higher_is_better=up[0]
    )


@given(tables=criteria(3))
def test_of_two_detectors_labels_and_pairs_agree(tables: Any) -> None:
    assume(len(tables[0][0]) >= 2)
    criterion, *references = [[row[:2] for row in table] for table in tables]
    pairs = result(pairwise_agreement, criterion, references[0], references=references)
    labels = result(rank_label_agreement, criterion, references)
    assert (pairs is None) == (labels is None)
    if pairs is not None:
        assert labels.fraction == pairs.fraction
        assert dataclasses.astuple(labels)[1:] == tuple(
            2 * count for count in dataclasses.astuple(pairs)[1:]
        )


# Ties.


@pytest.mark.parametrize(
    ("a", "b", "agreeing"),
    [
        ([1, 2], [1, 2], 1),
        ([1, 2], [2, 1], 0),
        ([1, 1], [2, 1], 0.5),
        ([1, 2], [3, 3], 0.5),
        ([1, 1], [3, 3], 1),
        ([-0.0, 0.0], [3, 3], 1),
        ([math.inf, math.inf], [3, 3], 1),
        ([-math.inf, math.inf], [3, 4], 1),
        ([1.0, math.nextafter(1.0, 2.0)], [3, 4], 1),
    ],
)
def test_a_tie_counts_half_and_two_ties_agree(a: Any, b: Any, agreeing: float) -> None:
    assert pairwise_agreement(a, b) == PairAgreement(agreeing, agreeing, 1, 0, 0)


def test_a_tie_in_a_reference_is_no_strict_order() -> None:
    a, tied, strict = [1, 2, 3], [1, 1, 2], [1, 2, 3]
    assert pairwise_agreement(a, a, references=(tied, strict)) == PairAgreement(1, 2, 2, 1, 0)
    with pytest.raises(UndefinedMeasureError, match="3 not strictly ordered in the same way"):
        pairwise_agreement(a, a, references=(strict, strict[::-1]))


@pytest.mark.parametrize(
    ("criterion", "recovered"),
    [
        ([3, 2, 1], "3"),
        ([2, 2, 1], "2"),  # one half for best, one for between, and the worst
        ([2, 1, 1], "2"),
        ([1, 1, 1], "1"),  # one third each
        ([1, 2, 2], "1/2"),  # the worst for the best: the other two share best and between
        ([1, 2, 3], "1"),
    ],
)
def test_a_tie_counts_by_the_ways_to_break_it(criterion: Any, recovered: str) -> None:
    estimate = rank_label_agreement(criterion, ([3, 2, 1], [30, 20, 10]))
    expected = Fraction(recovered)
    assert estimate == LabelAgreement(float(expected / 3), float(expected), 3, 0, 0)


@pytest.mark.parametrize(
    ("reference", "n_labels"),
    [
        ([4, 3, 2, 1], 4),
        ([4, 3, 3, 1], 4),  # both between, however the tie is broken
        ([4, 4, 2, 1], 2),
        ([4, 4, 4, 1], 1),
        ([4, 2, 1, 1], 2),
        ([4, 4, 1, 1], 0),
        ([4, 4, 4, 4], 0),
    ],
)
def test_a_tie_for_best_or_worst_in_a_reference_gives_no_label(
    reference: Any, n_labels: int
) -> None:
    criterion = [4, 3, 2, 1]
    if n_labels == 0:
        with pytest.raises(UndefinedMeasureError, match="4 without an agreed label"):
            rank_label_agreement(criterion, (reference, criterion))
        return
    estimate = rank_label_agreement(criterion, (reference, criterion))
    assert estimate == LabelAgreement(1, n_labels, n_labels, 4 - n_labels, 0)


# NaN, and what is undefined.


def test_pairs_with_nan_are_left_out_and_counted() -> None:
    nan = math.nan
    a, b = [[1.0, nan, 3], [1.0, 2, 3]], [[1.0, 2, 3], [3, 2, nan]]
    assert pairwise_agreement(a, b) == PairAgreement(0.5, 1, 2, 0, 4)
    c = [[1, 2, 3], [1, 2, 3]]
    assert pairwise_agreement(c, c, references=(a, c)) == PairAgreement(1, 4, 4, 0, 2)
    with pytest.raises(UndefinedMeasureError, match="found none: 1 left out for NaN, 0 not"):
        pairwise_agreement([1, nan], [1, 2])


def test_a_detector_with_nan_leaves_the_labels_to_the_others() -> None:
    nan = math.nan
    criterion = [[9.0, 3, 2, 1], [9, nan, nan, nan]]
    references = [[[nan, 3, 2, 1], [4.0, 3, 2, 1]], [[4.0, 3, 2, 1], [4.0, 3, 2, 1]]]
    # In the second data set the one that is left has nothing to be better than.
    assert rank_label_agreement(criterion, references) == LabelAgreement(1, 3, 3, 0, 5)


def test_one_detector_has_neither_pair_nor_label() -> None:
    with pytest.raises(UndefinedMeasureError, match="at least one pair of detectors"):
        pairwise_agreement([[1], [2]], [[1], [2]])
    with pytest.raises(UndefinedMeasureError, match=r"at least one label.*2 detectors left out"):
        rank_label_agreement([[1], [2]], ([[1], [2]], [[1], [2]]))
