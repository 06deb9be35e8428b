"""Kinds of anomalies and segments of normals, against a call for each of them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.evaluation.breakdown import PART_COLUMNS
from tests.support.shared_data import needs_shared_data, shared_file
from tests.support.strategies import Sample, samples

Y = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 0])
S = np.array([0.1, 0.4, 0.3, 0.8, 0.9, 0.35, 0.8, 0.2, 0.7, 0.6])
KIND = np.array(["", "", "", "", "dos", "r2l", "dos", "r2l", "dos", ""])
SITE = np.array(["n", "n", "s", "s", "", "", "", "", "", "s"])
CORNERS = ["auc", "ap", "auc@0.2", "tpr@0.2", "f1@0.2", "precision@fpr0.2"]


def same(a: fastad.evaluation.DetectorEvaluation, b: fastad.evaluation.DetectorEvaluation) -> bool:
    """Whether all values, reasons and intervals are equal to the last bit."""
    fields = ["n_anomalies", "n_normals", "tied_fraction", "undefined", "unresolved", "n_distinct"]
    return (
        [*a] == [*b]
        and all(x == y or (x != x and y != y) for x, y in zip(a.values(), b.values(), strict=True))
        and all(getattr(a, name) == getattr(b, name) for name in fields[:2] + fields[3:5])
        and all(x == b.intervals[key] for key, x in a.intervals.items())
    )


def check(y: Any, s: Any, kind: Any, segment: Any, **options: Any) -> None:
    """Compare with evaluations of each kind beside all normals, and with counts in loops."""
    y, s, kind, segment = map(np.asarray, (y, s, kind, segment))
    given = options.pop("sample_weight", None)
    weights = np.ones(len(y), int) if given is None else given
    one = fastad.evaluate(y, s, kinds=kind, segments=segment, sample_weight=given, **options)[
        "score"
    ]
    plain = fastad.evaluate(y, s, sample_weight=given, **options)["score"]
    assert same(one, plain)
    for name, of_kind in one.by_kind.items():
        rows = (y == 0) | (kind == name)
        own = None if given is None else weights[rows]
        alone = fastad.evaluate(y[rows], s[rows], sample_weight=own, **options)["score"]
        assert same(of_kind, alone)
        assert of_kind.tied_fraction == pytest.approx(alone.tied_fraction)
        # Where no measure has a point, only kinds have those of fpr.
        for a, b in zip(of_kind.operating_points, alone.operating_points, strict=False):
            assert (a.fpr, a.tp, a.fp) == (b.fpr, b.tp, b.fp)
    for point in one.operating_points:
        if point.threshold is None:
            continue
        flagged = np.array([float(x) >= float(point.threshold) for x in s])
        for rates, names, label in ((point.kinds, kind, 1), (point.segments, segment, 0)):
            here = (y == label) & (weights > 0)
            assert (rates is None) == (not here.any())
            if rates is None:
                continue
            assert list(rates.names) == sorted(set(names[here].tolist()))
            for i, name in enumerate(rates.names):
                own = here & (names == name)
                assert rates.n_samples[i] == weights[own].sum()
                assert rates.n_events[i] == weights[own & flagged].sum()


@st.composite
def divided(draw: st.DrawFn) -> tuple[Sample, list[str], list[int]]:
    sample = draw(samples())
    n = len(sample.y)
    kinds = draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
    return sample, kinds, draw(st.lists(st.integers(-2, 1), min_size=n, max_size=n))


@given(divided())
def test_default_measures_are_those_of_a_call_for_each_kind(
    drawn: tuple[Sample, list[str], list[int]],
) -> None:
    sample, kinds, sites = drawn
    check(sample.y, sample.s, kinds, sites, fpr=[0.0, 0.3], threshold=0.5)


@given(divided())
def test_measures_read_at_corners_have_the_same_bits(
    drawn: tuple[Sample, list[str], list[int]],
) -> None:
    sample, kinds, sites = drawn
    check(sample.y, sample.s, kinds, sites, measures=["auc", "ap", "lf_auc@0.5"], fpr=0.4)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i2", "i8", "u8"])
def test_measures_at_points_read_corners_and_these(dtype: str) -> None:
    """With enough normals for the rate; ties and types of all widths."""
    rng = np.random.default_rng(0)
    n = 300
    y = rng.random(n) < 0.3
    s = (rng.normal(size=n) * 20 + 30 * y + 300).astype(dtype)
    kinds = rng.choice(["a", "b", "c"], n, p=[0.6, 0.39, 0.01])
    check(y, s, kinds, rng.integers(0, 4, n), measures=CORNERS, fpr=0.2)
    check(y, s, kinds, rng.integers(0, 4, n), measures=["auc", "tpr"], threshold=310)


def test_scores_that_differ_in_the_last_bit_are_told_apart() -> None:
    """Keys have no room for the code of a kind beside all bits of scores of both signs."""
    rng = np.random.default_rng(0)
    n = 400
    y = rng.random(n) < 0.5
    s = rng.choice([-1.0, 1.0], n) * (1 + rng.integers(0, 30, n) * 2.0**-52)
    check(y, s, rng.integers(0, 40, n), rng.integers(0, 40, n), measures=CORNERS, fpr=0.2)


@pytest.mark.parametrize(("lowest", "highest"), [(-7, 30), (10**12, 10**12 + 5), (0, 10**6)])
def test_kinds_are_any_integers(lowest: int, highest: int) -> None:
    rng = np.random.default_rng(0)
    n = 300
    y, names = rng.random(n) < 0.3, rng.integers(lowest, highest, (2, n), endpoint=True)
    s = np.round(rng.normal(size=n) + y, 1)
    check(y, s, *names, measures=["auc"], fpr=0.2)
    check(y, s, *names, measures=["auc"], fpr=0.2, sample_weight=rng.integers(0, 3, n))


@pytest.mark.parametrize("decimals", [1, 15])
def test_many_rows_are_counted_in_threads(decimals: int) -> None:
    rng = np.random.default_rng(0)
    n = 450_000
    y, names = rng.random(n) < 0.1, rng.integers(0, 3, (2, n))
    s = np.round(rng.normal(size=n) + y, decimals)
    check(y, s, *names, measures=["auc"], fpr=0.2, n_threads=3)


def test_integer_weights_count_rows() -> None:
    rng = np.random.default_rng(0)
    y, kinds, sites = rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    check(y, rng.normal(size=80), kinds, sites, sample_weight=rng.integers(0, 4, 80), fpr=0.2)


def test_intervals_and_chance_levels_are_of_each_kind() -> None:
    rng = np.random.default_rng(0)
    y, kinds = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    check(
        y, rng.normal(size=80) + y, kinds, kinds,
        measures=["auc", "tpr@0.2"], confidence_level=0.9, chance=True, n_resamples=99, rng=0,
    )  # fmt: skip
    result = fastad.evaluate(
        y, rng.normal(size=80), kinds=kinds, confidence_level=0.9, fpr=0.1, rng=0
    )
    kinds_at = result["score"].operating_points[0].kinds
    assert kinds_at is not None
    assert kinds_at.confidence_level == 0.9


def test_groups_and_rows_without_scores_stand_beside() -> None:
    rng = np.random.default_rng(0)
    n = 200
    y, kinds, sites = rng.integers(0, 2, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    fold, scores = rng.integers(0, 3, n), rng.normal(size=n)
    scores[rng.random(n) < 0.1] = np.nan
    names: Any = {"measures": ["auc"], "fpr": 0.2, "nan_policy": "omit"}
    result = fastad.evaluate(y, scores, groups=fold, kinds=kinds, segments=sites, **names)
    for group in range(3):
        rows = fold == group
        alone = fastad.evaluate(
            y[rows], scores[rows], kinds=kinds[rows], segments=sites[rows], **names
        )
        assert str(result[group].breakdown) == str(alone.breakdown)
        assert result[group]["score"].by_kind.keys() == alone["score"].by_kind.keys()
    assert result.breakdown is not None
    columns = result.breakdown.to_columns()
    assert list(columns)[:5] == ["group", "detector", "fpr", "threshold", "of"]
    assert set(columns["group"]) == {0, 1, 2}


def test_detectors_have_their_own_thresholds() -> None:
    result = fastad.evaluate(
        Y, {"a": S, "b": -S}, kinds=KIND, segments=SITE, threshold={"a": 0.5, "b": -0.3}
    )
    at_last = [result[name].operating_points[-1].kinds for name in "ab"]
    assert [rates and rates.n_events.tolist() for rates in at_last] == [[3, 0], [0, 1]]


def test_threshold_chosen_on_other_samples() -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, measures=["f1_best"], threshold_from=(Y, S))
    rates = result["score"].operating_points[0].kinds
    assert rates is not None
    assert rates.n_events.tolist() == [3, 2]


@pytest.mark.parametrize("measures", [["auc"], ["tpr@0.1"]])
def test_rates_stand_at_the_points_in_use_or_at_fpr(measures: list[str]) -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, measures=measures, fpr=[0.2, 0.4])
    expected = [0.2, 0.4] if measures == ["auc"] else [0.1]
    assert [point.fpr for point in result["score"].operating_points] == expected


def test_a_class_that_is_absent_has_no_rates() -> None:
    one = fastad.evaluate([0, 0], [1, 2], kinds=["", ""], segments=["a", "b"], fpr=0.5)["score"]
    assert one.by_kind == {}
    assert one.operating_points[0].kinds is None
    assert one.operating_points[0].segments is not None
    assert fastad.evaluate(Y, S).breakdown is None


def test_overlapping_kinds_are_counted_in_each() -> None:
    columns = {"fast": np.array([0, 0, 0, 0, 1, 1, 0, 0, 1, 0], bool), "dos": KIND == "dos",
               "r2l": KIND == "r2l"}  # fmt: skip
    with pytest.raises(InvalidInputError, match=r"found 3 rows of several, the first at index 4: "
                       r"'fast' and 'dos'. overlap='count' counts them in each"):  # fmt: skip
        fastad.evaluate(Y, S, kinds=columns)
    one = fastad.evaluate(Y, S, kinds=columns, overlap="count", fpr=0.4)["score"]
    rates = one.operating_points[0].kinds
    assert rates is not None
    assert list(zip(rates.names, rates.n_samples.tolist(), strict=True)) == [
        ("fast", 3), ("dos", 3), ("r2l", 2)]  # fmt: skip
    assert rates.total == (3, 5)
    for name, own in columns.items():
        rows = (Y == 0) | own
        assert one.by_kind[name]["auc"] == fastad.roc_auc(Y[rows], S[rows])


def test_nested_names_begin_with_their_column() -> None:
    names = {"family": KIND, "technique": np.char.add(KIND, [str(i % 2) for i in range(10)])}
    one = fastad.evaluate(Y, S, kinds=names, overlap="count")["score"]
    assert list(one.by_kind) == [
        "family=dos", "family=r2l", "technique=dos0", "technique=r2l1",
    ]  # fmt: skip


def test_one_column_of_a_table_has_plain_names() -> None:
    one = fastad.evaluate(Y, S, kinds={"family": KIND})["score"]
    assert list(one.by_kind) == ["dos", "r2l"]


MISSING = [x if x else None for x in KIND.tolist()]


@pytest.mark.parametrize(
    "make",
    [
        list,
        pd.Series,
        lambda x: pd.Series(x, dtype="string"),
        lambda x: pd.Series(x, dtype="category"),
        pl.Series,
        lambda x: pa.chunked_array([x]),
        lambda x: pd.DataFrame({"kind": x}),
        lambda x: pl.DataFrame({"kind": x}),
    ],
)
def test_other_rows_may_have_missing_values(make: Callable[[Any], Any]) -> None:
    one = fastad.evaluate(Y, S, kinds=make(MISSING), measures=["auc"])["score"]
    assert list(one.by_kind) == ["dos", "r2l"]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: pd.array(x, "Int64"),
        lambda x: pd.Series(x, dtype="int64[pyarrow]"),
        pl.Series,
        pa.array,
        lambda x: pa.chunked_array([x]),
    ],
)
def test_large_integers_beside_missing_values_stay_apart(make: Callable[[Any], Any]) -> None:
    kinds = make([2**53, 2**53 + 1, None, None])
    one = fastad.evaluate([1, 1, 0, 0], [4, 1, 2, 3], kinds=kinds, measures=["auc"])["score"]
    assert list(map(repr, one.by_kind)) == [str(2**53), str(2**53 + 1)]


def test_integers_beside_missing_values_are_found_by_either() -> None:
    column = pd.Series([5 if x else None for x in MISSING])
    one = fastad.evaluate(Y, S, kinds=column)["score"]
    assert one.by_kind[5] is one.by_kind[5.0]
    categories = column.astype("Int64").astype("category")
    (kind,) = fastad.evaluate(Y, S, kinds=categories)["score"].by_kind
    assert repr(kind) == "5"


UNNAMED = KIND.copy()
UNNAMED[[6, 8]] = ""
OTHER_INDEX = pd.Series(KIND, index=range(1, 11))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": {"dos": KIND == "dos", "kind": KIND}, "overlap": "count"},
         "kinds must have another name for each kind; found 'dos' in several columns"),
        ({"kinds": UNNAMED}, r"kinds must name the kind of each anomaly \(label 1\); found 2 "
         "without, the first at index 6"),
        ({"kinds": [*MISSING[:4], None, *MISSING[5:]]}, "found 1 without, the first at index 4"),
        ({"kinds": np.where(Y == 1, np.nan, 1.0)}, "found 5 without, the first at index 4"),
        ({"kinds": {"dos": KIND == "dos"}}, "found 2 without, the first at index 5"),
        ({"segments": KIND}, r"segments must name the segment of each normal sample \(label 0\); "
         "found 5 without, the first at index 0"),
        ({"kinds": KIND[:-1]}, r"kinds must have one value for each label; found shape \(9,\) for "
         "10 labels"),
        ({"segments": {"site": SITE[:3]}}, r"segments\['site'\] must have one value for each"),
        ({"kinds": KIND, "overlap": "both"}, "overlap must be one of"),
        ({"kinds": [[x] for x in KIND.tolist()]}, r"kinds must have one value for each label"),
        ({"kinds": KIND, "contamination": 0.1}, "contamination must not be given with kinds or"),
        ({"kinds": KIND, "clusters": KIND, "confidence_level": 0.9}, "clusters must not be given"),
        ({"segments": SITE, "blocks": 2, "confidence_level": 0.9}, "blocks must not be given with"),
        ({"kinds": KIND, "curves": True}, "curves must not be given with kinds"),
        ({"kinds": KIND, "sample_weight": [0.5] * 10}, "sample_weight must contain integers with"),
        ({"events_per_day": 100}, "events_per_day must be given with kinds or segments"),
        ({"overlap": "count"}, "overlap must be given with kinds or segments"),
        ({"kinds": KIND, "events_per_day": 0}, "events_per_day must lie above 0"),
        ({"kinds": {}}, "kinds must contain at least one column"),
    ],
)  # fmt: skip
def test_bad_input_is_named(options: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate(Y, S, **options)


def test_columns_of_another_index_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="kinds must have the index of y_true"):
        fastad.evaluate(pd.Series(Y), S, kinds=OTHER_INDEX)
    with pytest.raises(InvalidInputError, match=r"segments\['site'\] must have the index of y_sco"):
        fastad.evaluate(
            Y, pd.Series(S), segments={"site": pd.Series(SITE, index=OTHER_INDEX.index)}
        )


def test_rows_that_are_left_out_keep_their_numbers_in_messages() -> None:
    weights = np.ones(10, int)
    weights[[0, 1]] = 0
    with pytest.raises(InvalidInputError, match="found 2 without, the first at index 6"):
        fastad.evaluate(Y, S, kinds=UNNAMED, sample_weight=weights)


def test_an_unknown_kind_is_refused_by_name() -> None:
    rates = fastad.evaluate(Y, S, kinds=KIND)["score"].operating_points[0].kinds
    assert rates is not None
    with pytest.raises(InvalidInputError, match="found 'doss'; did you mean 'dos'"):
        rates.of("doss")


def test_kinds_of_one_row_are_too_few_to_say() -> None:
    kinds = KIND.astype(object)
    kinds[5] = "rare"
    rates = fastad.evaluate(Y, S, kinds=kinds, threshold=0.5)["score"].operating_points[-1].kinds
    assert rates is not None
    assert rates.too_few == {"dos": 3, "r2l": 1, "rare": 1}
    assert "which takes 10: dos (3), r2l (1), rare (1)" in "\n".join(rates.statements)


def test_groups_called_detector_name_the_rates_of_kinds() -> None:
    names = np.repeat(["forest", "svm"], 10)
    result = fastad.evaluate(
        np.tile(Y, 2), np.tile(S, 2), groups={"detector": names}, kinds=np.tile(KIND, 2),
        threshold=0.5, measures=["tpr"],
    )  # fmt: skip
    assert result.breakdown is not None
    assert list(dict.fromkeys(result.breakdown.to_columns()["detector"])) == ["forest", "svm"]


def test_a_kind_called_all_stands_beside_the_row_of_all() -> None:
    """Of its own anomalies the measure is another."""
    kinds = np.where(np.arange(10) == 5, "all", "rest")
    result = fastad.evaluate(Y, S, kinds=kinds, threshold=0.5, measures=["auc"])
    both = [fastad.roc_auc(Y[rows], S[rows]) for rows in (Y >= 0, (Y == 0) | (kinds == "all"))]
    assert both[0] != both[1]
    lines = [line.split()[:2] for line in str(result.breakdown).splitlines()[2:4]]
    assert lines == [["all", f"{value:.4f}"] for value in both]


def test_numbers_of_flagged_samples_print_as_integers_for_each_kind() -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, threshold=0.5, measures=["n_flagged"])
    first = [line.split() for line in str(result.breakdown).splitlines()[2:5]]
    # Three anomalies, all of one kind, and two normal samples.
    assert first == [["all", "5"], ["dos", "5"], ["r2l", "2"]]


def test_alarms_a_day_are_those_of_the_normal_events() -> None:
    result = fastad.evaluate(
        Y, S, kinds=KIND, segments=SITE, threshold=0.5, measures=["auc", "tpr"], events_per_day=1000
    )
    breakdown = result.breakdown
    assert breakdown is not None
    columns = breakdown.to_columns()
    assert [*columns] == ["detector", *PART_COLUMNS, "auc", "tpr@threshold0.5"]
    alarms = {
        (part, name): x
        for of, part, name, x in zip(
            columns["of"], columns["part"], columns["name"], columns["alarms_per_day"], strict=True
        )
        if of == "segment"
    }
    assert alarms == {("all", "all"): 400, ("segment", "n"): 0, ("segment", "s"): 400,
                      ("worst segment", "s"): 400}  # fmt: skip
    assert "0.4 of the normals, 400 false alarms a day" in str(result)


@pytest.mark.parametrize("threshold", [2**60 + 3, 10**400], ids=["60 bits", "no float"])
def test_thresholds_of_rates_have_all_digits_of_integers(threshold: int) -> None:
    result = fastad.evaluate(
        Y, np.arange(10) + 2**60, kinds=KIND, threshold=threshold, measures=["tpr"]
    )
    assert result.breakdown is not None
    assert set(result.breakdown.to_columns()["threshold"]) == {threshold}
    assert f"score, threshold {threshold}: flags" in str(result)


@pytest.mark.parametrize("first", ["detector", "group"])
def test_alarms_a_day_stand_behind_a_first_run_without_scores(first: str) -> None:
    options: dict[str, Any] = {"segments": SITE, "threshold": 0.5, "measures": ["tpr"]}
    options["events_per_day"] = 1000
    missing = np.full(10, np.nan)
    result: fastad.evaluation.Evaluation | fastad.evaluation.GroupedEvaluation
    if first == "detector":
        scores = {"bad": missing, "good": S}
        result = fastad.evaluate(Y, scores, on_error="record", **options)
    else:
        options["segments"] = np.tile(SITE, 2)
        result = fastad.evaluate(
            np.tile(Y, 2), np.append(missing, S), groups=[0] * 10 + [1] * 10, nan_policy="omit",
            **options,
        )  # fmt: skip
    assert result.breakdown is not None
    assert result.breakdown.events_per_day == 1000
    assert result.breakdown.to_columns()["alarms_per_day"] == [400, 0, 400, 400]


def test_printed_thresholds_that_are_integers_have_all_digits() -> None:
    thresholds, scores = [1_000_100, 1_000_101], 1_000_096 + np.arange(10)
    result = fastad.evaluate(Y, scores, kinds=KIND, threshold=thresholds, measures=["tpr"])
    titles = [line for line in str(result.breakdown).splitlines() if ", threshold " in line]
    assert [title.split(":")[0][-7:] for title in titles] == ["1000100", "1000101"]


def test_long_tables_print_the_worst_first() -> None:
    n = 40
    y, kinds = np.repeat([0, 1], n), np.tile(np.arange(n), 2)
    result = fastad.evaluate(
        y, np.tile(np.arange(n), 2), kinds=kinds, threshold=20, measures=["tpr"]
    )
    lines = str(result.breakdown).splitlines()
    # Of the measures of each kind, and of the rates.
    assert sum(line.startswith("and 20 more kinds") for line in lines) == 2
    assert any(line.startswith("19 ") for line in lines)
    assert not any(line.startswith("20 ") for line in lines)


def test_json_and_frames_have_the_rates(tmp_path: Any) -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, segments=SITE, fpr=0.4, measures=["auc"])
    (detector,) = result.to_dict()["detectors"]
    assert [x["kind"] for x in detector["by_kind"]] == ["dos", "r2l"]
    rates: list[dict[str, Any]] = detector["operating_points"][0]["kinds"]["rows"]
    assert [row["n_events"] for row in rates] == [3, 3, 0, 0]
    assert result.breakdown is not None
    frame = result.breakdown.to_frame("pandas")
    assert frame[frame.of == "kind"].auc.tolist()[1:3] == [
        result["score"].by_kind[name]["auc"] for name in ("dos", "r2l")
    ]
    assert "each kind against all normals" in result.to_html()


def test_detectors_that_fail_leave_the_others() -> None:
    scores = {"bad": [np.nan] * 10, "good": S}
    result = fastad.evaluate(Y, scores, kinds=KIND, fpr=0.4, on_error="record")
    assert result.breakdown is not None
    assert set(result.breakdown.to_columns()["detector"]) == {"good"}
    assert "| good | 0.4 |" in result.breakdown.to_markdown()
    alone = fastad.evaluate(Y, {"bad": scores["bad"]}, kinds=KIND, on_error="record")
    assert alone.breakdown is None


def test_permuted_rows_and_threads_change_no_bit() -> None:
    rng = np.random.default_rng(0)
    n = 5000
    y, s = rng.integers(0, 2, n), rng.integers(0, 500, n) / 7
    kinds, sites = rng.integers(0, 9, n), rng.integers(0, 9, n)
    order: npt.NDArray[Any] = rng.permutation(n)
    first = fastad.evaluate(y, s, kinds=kinds, segments=sites, n_threads=1)
    other = fastad.evaluate(
        y[order], s[order], kinds=kinds[order], segments=sites[order], n_threads=2
    )
    assert first.to_json() == other.to_json()


def test_types_of_arguments() -> None:
    with pytest.raises(InvalidTypeError, match="events_per_day"):
        fastad.evaluate(Y, S, kinds=KIND, events_per_day="many")  # type: ignore[call-overload]


def test_columns_of_classes_are_those_of_class_sensitivity() -> None:
    rng = np.random.default_rng(0)
    y, classes = rng.integers(0, 2, 400), rng.choice(["1", "2", "3"], 400)
    scores = {name: rng.normal(size=400) + y for name in "abc"}
    measures = ["auc", "tpr@0.05"]
    result = fastad.evaluate(y, scores, kinds=classes, measures=measures)
    alone: dict[str, list[Any]] = {}
    for name in np.unique(classes):
        rows = (y == 0) | (classes == name)
        some = {detector: values[rows] for detector, values in scores.items()}
        for detector, values in fastad.evaluate(y[rows], some, measures=measures).items():
            row = {"dataset": "x", "anomaly_class": str(name), "detector": detector, **values}
            for key, value in row.items():
                alone.setdefault(key, []).append(value)
    columns = result.class_columns("x")
    expected = fastad.benchmarking.class_sensitivity(alone, rng=0)
    assert (fastad.benchmarking.class_sensitivity(columns, rng=0).value == expected.value).all()


@needs_shared_data
@pytest.mark.parametrize("name", ["ecoli", "statlog-segment", "cardiotocography", "pendigits"])
def test_classes_of_the_papers_data_sets_are_sub_problems(name: str) -> None:
    with np.load(shared_file(f"uci/{name}")) as data:
        X, y, classes = data["X"], data["y"], data["cls"]
    standard = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    scores = {"norm": np.linalg.norm(standard, axis=1), "max": np.abs(standard).max(axis=1)}
    measures = ["auc", "auc_w", "tpr@0.05", "auc@0.05"]
    result = fastad.evaluate(y, scores, kinds=classes, measures=measures)
    for detector, values in scores.items():
        by_kind = result[detector].by_kind
        assert sorted(by_kind) == np.unique(classes[y == 1]).tolist()
        for kind, each in by_kind.items():
            rows = (y == 0) | (classes == kind)
            alone = fastad.evaluate(y[rows], values[rows], measures=measures)["score"]
            assert dict(each) == dict(alone)


def test_kinds_reach_a_threshold_as_the_curve_does() -> None:
    """Of float32 the number that 0.7 is printed for lies below it in float64."""
    scores = np.array([0.7, 0.2, 0.9, 0.1], np.float32)
    result = fastad.evaluate(
        [1, 0, 1, 0], scores, measures=["auc"], threshold=np.float64(0.7), kinds=["a", "", "b", ""]
    )["score"]
    (point,) = result.operating_points
    assert point.tp == 1
    assert point.kinds is not None
    assert dict(zip(point.kinds.names, point.kinds.n_events, strict=True)) == {"a": 0, "b": 1}


def test_values_of_kinds_with_too_few_samples_are_marked() -> None:
    """One miss in 8 is below a TPR of 0.95; one in 40 is not."""
    y = np.repeat([0, 1], [400, 48])
    s = np.random.default_rng(0).normal(size=448) + 2 * y
    kinds = np.repeat(["", "many", "rare"], [400, 40, 8])
    options: dict[str, Any] = {"measures": ["auc", "fpr@tpr0.95"], "fpr": 0.05}
    result = fastad.evaluate(y, s, kinds=kinds, **options)
    lines = str(result.breakdown).splitlines()
    start = next(
        i for i, line in enumerate(lines) if line.split() == ["kind", "auc", "fpr@tpr0.95"]
    )
    rows = {line.split()[0]: line for line in lines[start + 1 : start + 4]}
    assert list(rows) == ["all", "many", "rare"]
    marked = f"†{result['score'].by_kind['rare']['fpr@tpr0.95']:.4f}"
    assert rows["rare"].endswith(f" {marked}")
    assert [row.count("†") for row in rows.values()] == [0, 0, 1]
    note = "†: of fewer than 20 anomalies one miss is below TPR 0.95"
    assert result.breakdown is not None
    assert note in result.breakdown.notes
    assert note not in result.notes  # whose table has no mark
    twice = [np.tile(each, 2) for each in (y, s, kinds)]
    grouped = fastad.evaluate(
        twice[0], twice[1], kinds=twice[2], groups=np.repeat([0, 1], 448), **options
    )
    assert grouped.breakdown is not None
    assert note in grouped.breakdown.notes


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("threshold", [Fraction(3, 10), np.longdouble("0.3")])
def test_kinds_reach_an_exact_threshold_as_their_scores_do(dtype: Any, threshold: Any) -> None:
    """As float64, 0.3 lies below 3/10; as float32 it lies above."""
    scores = np.array([0.3, 0.2, 0.9, 0.1], dtype)
    exact = Fraction(*threshold.as_integer_ratio())
    reached = [Fraction(float(x)) >= exact for x in scores]
    assert reached == [dtype is np.float32, False, dtype is not np.int64, False]
    result = fastad.evaluate(
        [1, 0, 1, 0], scores, measures=["auc"], threshold=threshold, kinds=["a", "", "b", ""]
    )["score"]
    (point,) = result.operating_points
    assert (point.tp, point.n_flagged) == (sum(reached), sum(reached))
    assert point.kinds is not None
    assert point.kinds.n_events.tolist() == [reached[0], reached[2]]
    assert fastad.confusion_at([1, 0, 1, 0], scores, threshold=threshold).tp == sum(reached)


@pytest.mark.parametrize("threshold", [1e300, 2**63, -(2**64)])
def test_decisions_of_kinds_reach_a_threshold_of_any_size(threshold: float) -> None:
    result = fastad.evaluate(
        [1, 0], np.array([True, False]), measures=["auc"], threshold=threshold, kinds=["a", ""]
    )["score"]
    (point,) = result.operating_points
    assert point.kinds is not None
    assert point.kinds.n_events.tolist() == [threshold < 0]
