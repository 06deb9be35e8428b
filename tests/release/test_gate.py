"""The release gate: verdicts of a policy, tables that do not fit, and what is saved."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures import from_counts
from fastad.release import GateResult, GateRow, power_of_policy, read_policy
from fastad.uncertainty import MarginTest, at_least, equivalence, gate_power, noninferiority

N = 1200
RNG = np.random.default_rng(5)
Y = (np.arange(N) % 6 == 0).astype(np.int64)
SITE = np.array(["a", "b", "c"])[np.arange(N) // 6 % 3]
COMMON, *OWN = RNG.normal(size=(3, N))
OLD = COMMON + 0.3 * OWN[0] + 2 * Y
NEW = COMMON + 0.3 * OWN[1] + 2 * Y
MARGIN = {"measure": "auc", "margin": 0.05}


def table(scores: Any, **columns: Any) -> dict[str, Any]:
    return {"id": np.arange(N), "y": Y, "site": SITE, "score": scores, **columns}


def decide(*require: dict[str, Any], new: Any = NEW, old: Any = OLD, **policy: Any) -> GateResult:
    new, old = (each if isinstance(each, dict) else table(each) for each in (new, old))
    return fastad.gate({"require": list(require), **policy}, new, old)


def result_of(row: GateRow) -> MarginTest:
    assert row.test is not None
    return row.test


def test_rows_are_the_tests_of_the_library() -> None:
    result = decide(
        MARGIN,
        {"measure": "tpr@0.05", "equivalence": 0.2},
        {"measure": "auc", "at_least": 0.8},
        {"measure": "fpr@threshold4", "at_most": 0.05},
        n_resamples=200,
        seed=3,
    )
    options: dict[str, Any] = {"n_resamples": 200, "rng": 3}
    expected = [
        noninferiority(Y, NEW, OLD, measure="auc", margin=0.05, **options),
        equivalence(Y, NEW, OLD, measure="tpr@0.05", margin=0.2, **options),
        at_least(Y, NEW, measure="auc", value=0.8, **options),
        at_least(Y, NEW, measure="fpr@threshold4", value=0.05, **options),
    ]
    assert [row.test for row in result.rows] == expected
    assert (result.verdict, result.exit_code) == ("pass", 0)
    assert str(result).startswith("gate: pass\n\nrequirement ")


def test_rows_are_joined_by_an_id() -> None:
    order = RNG.permutation(N)
    old = {"id": np.arange(N)[order], "score": OLD[order]}
    result = decide(MARGIN, old=old, id="id")
    assert result.rows[0].test == decide(MARGIN).rows[0].test
    names = np.array([f"row {i}" for i in range(N)])
    named = decide(
        MARGIN, new=table(NEW, id=names), old={"id": names[order], "score": OLD[order]}, id="id"
    )
    assert named.rows[0].test == result.rows[0].test


def test_one_requirement_that_fails_or_is_open_decides() -> None:
    limit = {"measure": "auc", "at_least": 0.99}
    assert decide(MARGIN, limit).exit_code == 1
    near = {"measure": "auc", "margin": 0.0005}
    assert decide(MARGIN, near).exit_code == 3
    assert decide(near, limit).verdict == "fail"
    assert decide({**near, "undecided": "pass"}).verdict == "pass"


def test_slices_have_rows_of_their_own_and_the_worst_is_named() -> None:
    new = NEW - 1.0 * (Y * (SITE == "b"))
    result = decide({**MARGIN, "slices": ["site"]}, new=new)
    assert [row.slice_value for row in result.rows] == ["a", "b", "c"]
    assert [row.verdict for row in result.rows] == ["pass", "fail", "pass"]
    (worst,) = result.worst_slices
    assert worst.slice_value == "b"
    assert (
        f"worst slice, auc not worse by 0.05: site b: new - old = {result_of(worst).estimate:.4f}"
        in (result.notes[0])
    )
    rows = SITE == "b"
    alone = noninferiority(Y[rows], new[rows], OLD[rows], measure="auc", margin=0.05)
    assert worst.test == alone


@pytest.mark.parametrize("columns", [("group",), ("group", "half")])
def test_failures_are_adjusted_for_the_number_of_slices(columns: tuple[str, ...]) -> None:
    """Holm: of slices the least p-value times their number, and so on; of all columns."""
    groups = np.arange(N) // 6 % 8
    new = NEW - 0.8 * (Y * (groups == 0)) - 0.6 * (Y * (groups == 1))
    values = {"group": groups, "half": groups // 4}
    n_slices = sum(np.unique(values[column]).size for column in columns)
    result = decide(
        {"measure": "auc", "margin": 0.01, "slices": list(columns)},
        new=table(new, **values),
        old=table(OLD, **values),
    )
    raw = np.array([result_of(row).p_value_inside for row in result.rows])
    order = np.argsort(raw)
    holm = np.maximum.accumulate(raw[order] * np.arange(n_slices, 0, -1)).clip(max=1)
    assert [result.rows[i].adjusted_p_value for i in order] == pytest.approx(holm.tolist())
    adjusted = np.array([row.adjusted_p_value for row in result.rows])
    assert [row.verdict == "fail" for row in result.rows] == (adjusted <= 0.05).tolist()
    alone = [f"not among {n_slices} slices (Holm)" in row.reason for row in result.rows]
    assert alone == ((raw <= 0.05) & (adjusted > 0.05)).tolist()
    assert sum(alone) >= 1


def test_small_slices_follow_their_rule() -> None:
    site = np.where(np.arange(N) < 24, "rare", SITE)
    tables = {"new": table(NEW, site=site), "old": table(OLD, site=site)}
    requirement = {**MARGIN, "slices": ["site"], "undecided": "pass"}
    open_ = decide(requirement, **tables)
    assert open_.verdict == "not enough data"
    row = open_.rows[-1]
    assert (row.slice_value, row.test) == ("rare", None)
    assert row.reason == "4 anomalies and 20 normal samples; the policy takes 10 and 30"
    skipped = decide(requirement, small_slices="skip", **tables)
    assert (skipped.verdict, skipped.rows[-1].verdict) == ("pass", "skip")


def test_undefined_measures_are_no_verdict() -> None:
    result = decide(
        {"measure": "precision@threshold99", "margin": 0.1}, {"measure": "auc", "at_least": 0.5}
    )
    assert result.verdict == "not enough data"
    assert (
        result.rows[0].reason == "precision is undefined where nothing is flagged, at threshold 99"
    )


def test_independent_samples_have_labels_of_their_own() -> None:
    half = {name: values[: N // 2] for name, values in table(NEW).items()}
    rest = {name: values[N // 2 :] for name, values in table(OLD).items()}
    result = decide(
        {"measure": "tpr@threshold1.5", "margin": 0.3, "slices": ["site"]},
        {"measure": "auc", "margin": 0.2},
        {"measure": "tpr@0.1", "margin": 0.2},
        new=half,
        old=rest,
        design="independent",
    )
    y = half["y"], rest["y"]
    for row, measure in zip(result.rows[-2:], ("auc", "tpr@0.1"), strict=True):
        options: dict[str, Any] = {"measure": measure, "margin": 0.2, "rng": 0}
        expected = noninferiority(y, half["score"], rest["score"], **options)
        found = result_of(row)
        assert (found.low, found.p_value) == (expected.low, expected.p_value)
        assert found.method == expected.method
    assert [row.slice_value for row in result.rows[:-2]] == ["a", "b", "c"]
    other = {**rest, "site": np.where(rest["site"] == "a", "d", rest["site"])}
    only = decide({**MARGIN, "slices": ["site"]}, new=half, old=other, design="independent")
    reasons = {row.slice_value: row.reason for row in only.rows}
    assert reasons["a"].startswith("0 anomalies and 0 normal samples in old")
    assert reasons["d"].startswith("0 anomalies and 0 normal samples in new")


def test_clusters_blocks_and_weights_are_those_of_the_tests() -> None:
    users = np.arange(N) % 150
    for policy, options in (
        ({"clusters": "user"}, {"clusters": users}),
        ({"blocks": 3}, {"blocks": 3}),
        ({"weights": "w"}, {"sample_weight": 1 + np.arange(N) % 2}),
    ):
        new = table(NEW, user=users, w=1 + np.arange(N) % 2)
        result = decide(MARGIN, new=new, **policy)
        expected = noninferiority(Y, NEW, OLD, measure="auc", margin=0.05, **options)
        assert result.rows[0].test == expected


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv", "parquet"])
def test_tables_of_any_kind(kind: str, tmp_path: Path) -> None:
    tables: list[Any] = [pl.DataFrame(table(each)) for each in (NEW, OLD)]
    if kind == "pandas":
        tables = [pd.DataFrame(table(each)) for each in (NEW, OLD)]
    elif kind != "polars":
        paths = [tmp_path / f"{name}.{kind}" for name in ("new", "old")]
        for frame, path in zip(tables, paths, strict=True):
            getattr(frame, f"write_{kind}")(path)
        tables = paths
    policy = {"require": [MARGIN, {**MARGIN, "slices": ["site"]}], "id": "id"}
    assert [row.test for row in fastad.gate(policy, *tables).rows] == [
        row.test for row in fastad.gate(policy, table(NEW), table(OLD)).rows
    ]


def test_what_is_saved_says_the_same() -> None:
    new = NEW - 1.0 * (Y * (SITE == "b"))
    result = decide({**MARGIN, "slices": ["site"]}, {"measure": "auc", "margin": 0.001}, new=new)
    content = json.loads(result.to_json())
    assert (content["verdict"], content["exit_code"]) == ("fail", 1)
    assert [row["verdict"] for row in content["rows"]] == [row.verdict for row in result.rows]
    assert content["rows"][1]["test"]["low"] == result_of(result.rows[1]).low
    assert result.to_markdown().startswith("**Gate: fail**\n\n| requirement |")
    suite = ElementTree.fromstring(result.to_junit())
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "4",
        "failures": "2",
        "errors": str(result.to_columns()["verdict"].count("not enough data")),
        "skipped": "0",
    }
    failure = suite.find("testcase[2]/failure")
    assert failure is not None
    assert failure.text == result_of(result.rows[1]).summary


@pytest.mark.slow
def test_power_is_that_of_the_old_scores() -> None:
    limit, equal = {"measure": "auc", "at_least": 0.8}, {"measure": "auc", "equivalence": 0.1}
    policy = {"require": [MARGIN, {**MARGIN, "slices": ["site"]}, limit, equal]}
    planned = power_of_policy(policy, table(OLD), loss=0.01, n_draws=6)
    columns = planned.to_columns()
    assert columns["rows"] == ["all rows", "site a", "site b", "site c", "all rows"]
    assert columns["power"][0] > max(columns["power"][1:4])
    options: dict[str, Any] = {"measure": "auc", "value": 0.8, "loss": 0.01, "n_draws": 6}
    assert planned.rows[-1][2] == gate_power(Y, OLD, rng=0, **options)
    assert planned.notes == [
        "auc differs by less than 0.1: the power of margins and limits alone is estimated"
    ]
    in_clusters = {"require": [MARGIN], "clusters": "user", "weights": "w"}
    (note,) = power_of_policy(in_clusters, table(OLD, user=SITE, w=Y + 1), n_draws=2).notes
    assert note.endswith("it does not allow for clusters, weights of the policy")
    with pytest.raises(InvalidInputError, match=r"old must have a column 'sites'; .*'site'"):
        power_of_policy({"require": [{**MARGIN, "slices": ["sites"]}]}, table(OLD))


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"margins": 1}, "margins is no key of a policy; Known are require"),
    ({"desing": "paired"}, "desing is no key of a policy; did you mean design"),
    ({"require": []}, "require must have at least one requirement; found none"),
    ({"require": {"measure": "auc"}}, "require must be an array of tables"),
    ({"require": [{"margin": 1}]}, r"require\[0\].measure must be the key of a measure"),
    (
        {"require": [{"measure": "aoc", "margin": 0.1}]},
        r"require\[0\]: measure must be a key .* did",
    ),
    (
        {"require": [{**MARGIN, "slice": "site"}]},
        r"require\[0\].slice is no .* did you mean require",
    ),
    ({"require": [{"measure": "auc"}]}, "must have one of margin, .*; found none"),
    ({"require": [{**MARGIN, "at_least": 0.5}]}, "found margin and at_least"),
    ({"require": [{"measure": "auc", "margin": 1.5}]}, "margin must be below 1, the largest diff"),
    ({"require": [{"measure": "auc", "margin": 0}]}, "margin must lie above 0"),
    ({"require": [{"measure": "auc", "at_least": 7}]}, r"at_least must lie in \[0, 1\]"),
    ({"require": [{"measure": "auc", "at_most": 0.5}]}, "at_most must be at_least for auc"),
    ({"require": [{"measure": "fpr@threshold1", "at_least": 0.5}]}, "at_least must be at_most for"),
    ({"require": [{**MARGIN, "undecided": "fail"}]}, "undecided must be one of"),
    ({"confidence_level": 0.3}, "confidence_level must lie above 0.5"),
    ({"design": "unpaired"}, "design must be one of 'paired', 'independent'"),
    ({"design": "independent", "id": "id"}, "id must not be given for independent samples"),
    *[
        (
            {"contamination": 0.01, **design},
            "contamination must not be given with clusters or blocks; found 0.01",
        )
        for design in ({"clusters": "site"}, {"blocks": 3}, {"blocks": "auto"})
    ],
    ({"contamination": 2}, r"contamination must lie in \[0, 1\)"),
    ({"score": "scroe"}, "new must have a column 'scroe'; found .*; did you mean 'score'"),
    ({"clusters": "user"}, "new must have a column 'user'"),
    (
        {"require": [{**MARGIN, "slices": ["sites"]}]},
        "new or old must have a column 'sites'.*'site'",
    ),
]


@pytest.mark.parametrize(("policy", "message"), REFUSED)
def test_policies_that_are_refused(policy: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        fastad.gate({"require": [MARGIN], **policy}, table(NEW), table(OLD))


def test_a_message_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[require]]\nmeasure = "auc"\nmargn = 0.1\n')
    with pytest.raises(InvalidInputError, match=r"policy.toml: require\[0\].margn is no key"):
        read_policy(path)
    with pytest.raises(InvalidTypeError, match="policy must be a path, a mapping or a Policy"):
        read_policy(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "policy", "message"),
    [
        (
            {"id": np.arange(N) + 2},
            {"id": "id"},
            r"2 in new alone \(0, 1\) and 2 in old alone \(1200",
        ),
        (
            {"id": np.arange(N) // 2},
            {"id": "id"},
            r"old must have each 'id' once; found 600 that re",
        ),
        ({"y": 1 - Y}, {}, "must have the same labels; found 1200 rows that differ, index 0"),
        ({"y": np.where(np.arange(N) == 7, 1, Y)}, {"id": "id"}, "1 rows that differ, id 7"),
        ({"site": SITE[::-1]}, {}, "must have the same column 'site'"),
        ({"score": None}, {}, "old must have a column 'score'"),
        ({"id": None}, {"id": "id"}, "old must have a column 'id'"),
    ],
)
def test_tables_that_do_not_fit(
    changed: dict[str, Any], policy: dict[str, Any], message: str
) -> None:
    old = {name: values for name, values in {**table(OLD), **changed}.items() if values is not None}
    with pytest.raises(InvalidInputError, match=message):
        decide({**MARGIN, "slices": ["site"]}, old=old, **policy)


def test_tables_of_other_lengths_want_an_id() -> None:
    old = {name: values[1:] for name, values in table(OLD).items()}
    with pytest.raises(InvalidInputError, match=r"found 1200 and 1199\. The policy's id names"):
        decide(MARGIN, old=old)
    with pytest.raises(InvalidTypeError, match="new must be the path of a table, or a table in"):
        fastad.gate({"require": [MARGIN]}, 3, old)


def test_rows_of_frames_are_paired_by_the_same_index() -> None:
    """By position the scores of other samples would be compared."""
    new, old = pd.DataFrame(table(NEW)), pd.DataFrame(table(OLD))[["id", "score"]]
    mixed = old.sample(frac=1, random_state=0)
    assert fastad.gate({"require": [MARGIN]}, new, old).rows == decide(MARGIN).rows
    with pytest.raises(InvalidInputError, match=r"old\['score'\] must have the index of new\['sco"):
        fastad.gate({"require": [MARGIN]}, new, mixed)
    by_id = fastad.gate({"id": "id", "require": [MARGIN]}, new, mixed)
    assert by_id.rows == decide(MARGIN).rows
    columns = {"y": new.y, "score": new.score.iloc[::-1]}
    with pytest.raises(
        InvalidInputError, match=r"new\['y'\] must have the index of new\['score'\]"
    ):
        fastad.gate({"require": [MARGIN]}, columns, old)


def test_a_missing_score_is_named_by_its_row_in_the_table() -> None:
    scores = np.where(np.arange(N) == 7, np.nan, NEW)
    with pytest.raises(
        InvalidInputError, match=r"new\['score'\] must not .* the first at index 7$"
    ):
        decide({**MARGIN, "slices": ["site"]}, new=scores)


@pytest.mark.parametrize("kind", ["memory", "csv"])
def test_scores_of_weight_zero_may_be_missing_and_labels_in_memory_any(
    kind: str, tmp_path: Path
) -> None:
    """In the old table, which has no weights and another order, the scores of these ids."""
    w = np.where(np.arange(N) % 100 == 7, 0.0, 1.5)
    new: Any = pl.DataFrame(table(np.where(w == 0, np.nan, NEW), w=w))
    old: Any = pl.DataFrame(table(np.where(w == 0, np.nan, OLD)))[::-1]
    policy = {"id": "id", "weights": "w", "require": [{**MARGIN, "slices": ["site"]}]}
    kept = [each.filter(pl.Series(each["id"].to_numpy() % 100 != 7)) for each in (new, old)]
    expected = fastad.gate(policy, *kept).rows
    worse = old.with_columns(score=np.where(old["id"].to_numpy() == 30, np.nan, old["score"]))
    says = rf"old\['score'\] must not contain NaN; found 1, the first at index {N - 31}$"
    if kind == "csv":
        for name, each in (("new", new), ("old", old), ("worse", worse)):
            each.with_columns(pl.col("score").fill_nan(None)).write_csv(tmp_path / f"{name}.csv")
        new, old, worse = (tmp_path / f"{name}.csv" for name in ("new", "old", "worse"))
        says = rf"worse\.csv: column 'score', line {N - 29}: the value is missing$"
    else:
        new = new.with_columns(y=np.where(w == 0, 5, new["y"].to_numpy()))
    assert fastad.gate(policy, new, old).rows == expected
    with pytest.raises(InvalidInputError, match=says):
        fastad.gate(policy, new, worse)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_large_integers_of_weight_zero_may_be_missing(kind: str, tmp_path: Path) -> None:
    """Neighbours beyond 2^53 share a float, so that integers with gaps have no type of NumPy's."""
    w = np.where(np.arange(N) % 100 == 7, 0, 1)
    policy = {"id": "id", "weights": "w", "require": [MARGIN]}
    ranks = (2**60 + np.argsort(np.argsort(scores)) for scores in (NEW, OLD))
    tables = [pl.DataFrame(table(each, w=w)) for each in ranks]
    kept = [each.filter(pl.col("w") == 1) for each in tables]
    gap = pl.when(pl.col("w") == 1).then("score").alias("score")
    wrong = pl.when(pl.col("id") != 5).then("score").alias("score")
    paths = [tmp_path / f"{name}.{kind}" for name in ("new", "old", "wrong")]
    frames = [tables[0].with_columns(gap), tables[1].with_columns(gap)[::-1]]
    for path, each in zip(paths, [*frames, frames[0].with_columns(wrong)], strict=True):
        getattr(each, f"write_{kind}")(path)
    new, old, worse = paths
    assert fastad.gate(policy, new, old).rows == fastad.gate(policy, *kept).rows
    row = "line 7" if kind == "csv" else "row 5"
    with pytest.raises(InvalidInputError, match=f"column 'score', {row}: the value is missing"):
        fastad.gate(policy, worse, old)


@pytest.mark.parametrize("weight", [0.0, -1.0, np.where(Y == 1, 0.0, 1.0)])
def test_weights_of_a_paired_old_table_do_not_count(weight: Any) -> None:
    own = np.full(N, weight)
    weighted = {"new": table(NEW, w=np.ones(N)), "weights": "w"}
    assert decide(MARGIN, **weighted, old=table(OLD, w=own)).rows == decide(MARGIN).rows


@pytest.mark.parametrize("kinds", [("csv", "parquet"), ("parquet", "csv"), ("csv", "csv")])
def test_integers_name_the_same_slices_in_files_of_two_kinds(
    kinds: tuple[str, str], tmp_path: Path
) -> None:
    """As text, 10 comes before 2, and sums of clusters would be rounded in another order."""
    columns = {"group": np.arange(N) // 6 % 12, "user": np.arange(N) // 3}
    paths = [tmp_path / f"{name}.{kind}" for name, kind in zip(("new", "old"), kinds, strict=True)]
    for path, scores in zip(paths, (NEW, OLD), strict=True):
        frame = pl.DataFrame(table(scores, **columns))
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
    margin = {**MARGIN, "slices": ["group"]}
    result = fastad.gate({"id": "id", "clusters": "user", "require": [margin]}, *paths)
    expected = decide(margin, clusters="user", new=table(NEW, **columns), old=table(OLD, **columns))
    assert result.rows == expected.rows


def test_an_empty_name_is_no_name_in_files_of_two_kinds(tmp_path: Path) -> None:
    named = table(NEW, kind=np.where(Y == 1, "dos", ""))
    pl.DataFrame(named).write_csv(tmp_path / "new.csv")
    pl.DataFrame(named).write_parquet(tmp_path / "old.parquet")
    policy = {"id": "id", "require": [{**MARGIN, "kinds": ["kind"]}]}
    assert fastad.gate(policy, tmp_path / "new.csv", tmp_path / "old.parquet").verdict == "pass"
    other = {**named, "kind": np.where(np.arange(N) == 7, "scan", named["kind"])}
    with pytest.raises(InvalidInputError, match=r"1 rows that differ, id 7: '.*' and '' in the"):
        fastad.gate({**policy, "require": [{**MARGIN, "kinds": ["kind"]}]}, other, named)


def test_nothing_tested_is_nothing_passed() -> None:
    """Where no sample has a kind, and where all slices are skipped."""
    normal = {name: values[Y == 0] for name, values in table(NEW, kind=KIND).items()}
    limit = {"measure": "fpr@threshold0.5", "at_most": 0.9}
    alone = decide(limit, new=normal, old=normal)
    beside = decide(limit, {**limit, "kinds": ["kind"]}, new=normal, old=normal)
    assert (alone.verdict, beside.verdict) == ("pass", "not enough data")
    assert [row.place for row in beside.rows] == ["", "kind"]
    skipped = decide({**MARGIN, "slices": ["site"]}, min_anomalies=N, small_slices="skip")
    assert {row.verdict for row in skipped.rows} == {"skip"}
    assert (skipped.verdict, skipped.exit_code) == ("not enough data", 3)
    assert (
        decide(
            MARGIN, {**MARGIN, "slices": ["site"]}, min_anomalies=N, small_slices="skip"
        ).exit_code
        == 0
    )


KIND: Any = np.array([None] * N, object)
KIND[Y == 1] = np.resize(["dos", "r2l"], Y.sum())
LANGUAGE: Any = np.array([None] * N, object)
LANGUAGE[Y == 0] = np.resize(["en", "de", "fr"], N - Y.sum())


def test_kinds_stand_beside_all_normals_and_segments_beside_all_anomalies() -> None:
    new, old = (table(scores, kind=KIND, lang=LANGUAGE) for scores in (NEW, OLD))
    result = decide(
        {"measure": "tpr@threshold0.5", "at_least": 0.7, "kinds": ["kind"]},
        {"measure": "auc", "margin": 0.1, "kinds": ["kind"]},
        {"measure": "fpr@threshold3", "at_most": 0.1, "segments": ["lang"]},
        new=new,
        old=old,
        n_resamples=200,
    )
    assert [(row.slice_column, row.slice_value) for row in result.rows] == [
        *[("kind", "dos"), ("kind", "r2l")] * 2, ("lang", "de"), ("lang", "en"), ("lang", "fr"),
    ]  # fmt: skip
    for row, name in zip(result.rows, ["dos", "r2l"], strict=False):
        rows = (Y == 0) | (name == KIND)
        options: dict[str, Any] = {"measure": "tpr@threshold0.5", "value": 0.7}
        assert row.test == at_least(Y[rows], NEW[rows], n_resamples=200, rng=0, **options)
    for row, name in zip(result.rows[4:], ["de", "en", "fr"], strict=True):
        rows = (Y == 1) | (name == LANGUAGE)
        options = {"measure": "fpr@threshold3", "value": 0.1}
        assert row.test == at_least(Y[rows], NEW[rows], n_resamples=200, rng=0, **options)


def test_kinds_are_read_from_files_and_of_independent_samples(tmp_path: Path) -> None:
    floor = {"measure": "tpr@0.1", "at_least": 0.5, "kinds": ["kind"]}
    paths = []
    for name, scores in (("new", NEW), ("old", OLD)):
        paths.append(tmp_path / f"{name}.csv")
        pd.DataFrame(table(scores, kind=KIND)).to_csv(paths[-1], index=False)
    expected = decide(floor, new=table(NEW, kind=KIND), old=table(OLD, kind=KIND))
    assert fastad.gate({"require": [floor]}, *paths).rows == expected.rows
    few = np.where(KIND == "dos", "r2l", KIND)
    apart = decide(floor, new=table(NEW, kind=KIND), old=table(OLD, kind=few), design="independent")
    assert [row.slice_value for row in apart.rows] == ["dos", "r2l"]
    assert "0 anomalies" in apart.rows[0].reason


def test_kinds_that_are_missing_are_named() -> None:
    margin = {**MARGIN, "kinds": ["site"]}
    with pytest.raises(InvalidInputError, match=r"kinds must name the kind of each anomaly"):
        decide({**MARGIN, "kinds": ["lang"]}, new=table(NEW, lang=LANGUAGE))
    with pytest.raises(InvalidInputError, match="have a column 'kin'"):
        decide({**MARGIN, "kinds": ["kin"]})
    assert [row.slice_value for row in decide(margin).rows] == ["a", "b", "c"]
    with pytest.raises(InvalidInputError, match="segments must be given for a measure at one thr"):
        read_policy({"require": [{"measure": "tpr@0.1", "margin": 0.1, "segments": ["site"]}]})


def test_slices_by_dates_are_named_as_kinds_by_dates_are() -> None:
    days = np.array(["2026-11-27", "2026-11-28"], "datetime64[ns]")[np.arange(N) // 6 % 2]
    result = decide({**MARGIN, "slices": ["day"]}, new=table(NEW, day=days))
    names = [row.slice_value for row in result.rows]
    assert names == ["2026-11-27 00:00:00", "2026-11-28 00:00:00"]


def test_large_ids_of_two_types_are_joined_exactly() -> None:
    """As one type of NumPy both would be floats, of which two integers are one."""
    ids = np.arange(N, dtype=np.int64) + 2**53
    shifted = np.append(ids[1:], ids[-1] + 1).astype(np.uint64)
    with pytest.raises(InvalidInputError, match="1 in new alone"):
        decide(MARGIN, new=table(NEW, id=ids), old=table(OLD, id=shifted), id="id")
    same = decide(MARGIN, new=table(NEW, id=ids), old=table(OLD, id=ids.astype("u8")), id="id")
    assert same.rows[0].test == decide(MARGIN).rows[0].test


def test_replicates_that_reach_no_verdict_pass_nothing() -> None:
    """A p-value is at least 1 / 2001, which is above 1 - 0.9999."""
    highest = {"measure": "precision@k80", "margin": 0.02, "undecided": "pass"}
    worse = NEW - 4 * Y
    (row,) = decide(highest, new=worse, confidence_level=0.9999).rows
    reason = "2000 replicates are too few for any verdict at this level"
    assert (row.verdict, row.reason) == ("not enough data", reason)
    assert result_of(row).reliability_note == reason
    assert decide(highest, new=worse).verdict == "fail"


def test_the_power_of_a_policy_with_weights_needs_none_in_the_old_table() -> None:
    margin = {**MARGIN, "slices": ["site"]}
    plain, weighted = (
        power_of_policy({"require": [margin], **rules}, table(OLD), n_draws=2)
        for rules in ({}, {"weights": "w"})
    )
    assert weighted.rows == plain.rows
    assert "weights" in weighted.notes[-1]


@pytest.mark.slow
def test_the_power_has_as_many_replicates_as_the_level_takes() -> None:
    """By 200 replicates no p-value is below 1 - 0.999."""
    limit = {"measure": "ap", "at_least": 0.3}
    policy = {"require": [limit], "confidence_level": 0.999, "n_resamples": 5000}
    assert fastad.gate(policy, table(OLD), table(OLD)).verdict == "pass"
    assert power_of_policy(policy, table(OLD), n_draws=2).to_columns()["power"][0] > 0


@pytest.mark.parametrize(
    ("scores", "requirement", "loss", "note"),
    [
        (
            -5.0,
            {"measure": "precision@threshold1", "margin": 0.1},
            0.0,
            "precision@threshold1 not worse by 0.1, site b: precision is undefined where nothing",
        ),
        (0.0, MARGIN, 0.3, "auc not worse by 0.05, site b: loss must be possible"),
    ],
    ids=["undefined", "loss"],
)
def test_a_slice_without_a_power_is_noted_beside_those_of_the_others(
    scores: float, requirement: dict[str, Any], loss: float, note: str
) -> None:
    policy = {"require": [{**requirement, "slices": ["site"]}]}
    old = table(np.where(SITE == "b", scores, OLD))
    planned = power_of_policy(policy, old, loss=loss, n_draws=2)
    assert [place for _, place, _ in planned.rows] == ["site a", "site c"]
    (found,) = planned.notes
    assert found.startswith(note)


def test_a_policy_of_contaminated_clusters_is_refused_before_a_table_is_read() -> None:
    for design in ({"clusters": "site"}, {"blocks": 3}):
        with pytest.raises(InvalidInputError, match="not be given with clusters or blocks"):
            read_policy({"require": [MARGIN], "contamination": 0.01, **design})


@pytest.mark.parametrize(
    ("weight", "sizes"), [(1, (6, 30)), (2, None), (2.5, (6, 30)), (0, (0, 0))]
)
def test_whole_weights_of_a_slice_are_repeated_rows(
    weight: float, sizes: tuple[int, int] | None
) -> None:
    """Six anomalies and 30 normal samples, twice as many by weights of 2; real ones are no more."""
    site = np.where(np.arange(N) < 36, "rare", SITE)
    # One row of it has a weight in any case.
    weights = np.where((site == "rare") & (np.arange(N) > 0), weight, 1)
    weights[0] = weight or 1
    new = table(NEW, site=site, w=weights)
    margin = {**MARGIN, "slices": ["site"]}
    row = decide(margin, new=new, old=table(OLD, site=site), weights="w").rows[-1]
    assert row.slice_value == "rare"
    anomalies, normals = sizes or (12, 60)
    if weight == 0:
        anomalies += 1
    reason = f"{anomalies} anomalies and {normals} normal samples; the policy takes 10 and 30"
    assert (row.reason == reason, row.test is None) == ((True, True) if sizes else (False, False))
    if row.test is not None:
        assert row.test.n_anomalies == (anomalies, anomalies)
        assert row.test.n_normals == (normals, normals)


def test_rows_of_weight_zero_need_no_kind() -> None:
    first = np.flatnonzero(Y)[:3]
    weights, kinds = np.ones(N, np.int64), KIND.copy()
    weights[first], kinds[first] = 0, None
    margin = {**MARGIN, "kinds": ["kind"]}
    result = decide(
        margin, new=table(NEW, w=weights, kind=kinds), old=table(OLD, kind=kinds), weights="w"
    )
    assert [row.slice_value for row in result.rows] == ["dos", "r2l"]
    kinds[first] = "other"
    assert (
        result.rows
        == decide(
            margin, new=table(NEW, w=weights, kind=kinds), old=table(OLD, kind=kinds), weights="w"
        ).rows
    )


@pytest.mark.filterwarnings("ignore:.*is not known")
def test_the_worst_slice_of_a_measure_without_a_lowest_value_is_the_nearest_to_its_limit() -> None:
    """Costs, in units of money, of which less is better; one slice has no bound at all."""

    def cost(tp: Any, fp: Any, n: Any, m: Any) -> Any:
        return (5 * (n - tp) + fp) / (n + m)

    measure = from_counts("mean_cost", cost, at="threshold", higher_is_better=False)
    rows = []
    for site, shift in (("a", 0.0), ("b", 1.0), ("c", 0.0)):
        y, scores = Y[site == SITE], (NEW - shift * Y)[site == SITE]
        options: dict[str, Any] = {"measure": measure, "threshold": 1.5, "n_resamples": 200}
        test = at_least(y, scores, value=0.9, rng=0, **options)
        assert test.accepted == (-math.inf, 0.9)
        rows.append(GateRow("mean cost", "site", site, test.verdict, "", test))
    assert [row.slice_value for row in GateResult(rows, 0.95).worst_slices] == ["b"]
    without = replace(result_of(rows[2]), low=-math.inf, high=math.inf)
    rows[2] = replace(rows[2], test=without)
    assert [row.slice_value for row in GateResult(rows, 0.95).worst_slices] == ["c"]


def test_limits_and_margins_have_the_same_numbers_of_weighted_samples() -> None:
    weights = np.full(N, 3)
    limit = {"measure": "auc", "at_least": 0.5}
    result = decide(MARGIN, limit, new=table(NEW, w=weights), weights="w")
    sizes = [(result_of(row).n_anomalies[0], result_of(row).n_normals[0]) for row in result.rows]
    assert sizes == [(3 * np.sum(Y == 1), 3 * np.sum(Y == 0))] * 2
