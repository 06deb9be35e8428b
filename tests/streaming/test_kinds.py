"""Kinds and segments in files and on Dask: the rates of `fastad.evaluate`."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastad
from fastad import streaming
from fastad.errors import InvalidInputError
from tests.support.command_line import assert_wrong_usage, error_of, invoke, json_of
from tests.support.command_line import stdout_of as run
from tests.support.score_files import save

RNG = np.random.default_rng(3)
N = 3000
Y = (RNG.random(N) < 0.2).astype(np.int64)
KIND = np.where(Y == 1, RNG.choice(["dos", "probe", "7"], N, p=[0.7, 0.29, 0.01]), "")
SITE = np.where(Y == 0, RNG.choice(["1", "2", "3"], N), "")
COLUMNS: dict[str, Any] = {
    "y": Y,
    "knn": np.round(RNG.normal(size=N) + Y, 1),
    "forest": RNG.normal(size=N),
    "kind": KIND,
    "site": SITE,
    "fold": RNG.integers(0, 2, N),
}
SCORES = {name: COLUMNS[name] for name in ("knn", "forest")}
PARTS: dict[str, Any] = {"kind_columns": "kind", "segment_columns": "site"}


def columns_of(result: Any, measures: int = 0) -> dict[str, list[Any]]:
    """Return a breakdown without its measures, which files have none of."""
    columns = result.breakdown.to_columns()
    return dict(list(columns.items())[: len(columns) - measures])


def same(a: dict[str, list[Any]], b: dict[str, list[Any]]) -> bool:
    return bool(pd.DataFrame(a).equals(pd.DataFrame(b)))


def in_memory(site: Any, **options: Any) -> Any:
    given = {"measures": ["auc"], "fpr": [0.01, 0.1], **options}
    return fastad.evaluate(Y, SCORES, kinds=KIND, segments=site, **given)


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_exact_rates_are_those_in_memory(ending: str, tmp_path: Path) -> None:
    path = save(tmp_path / f"scores.{ending}", COLUMNS)
    result = streaming.evaluate(
        path, score_columns=list(SCORES), measures="auc", fpr=[0.01, 0.1], exact=True,
        memory="60kB", events_per_day=1000, **PARTS,
    )  # fmt: skip
    # Names are integers where text says nothing else of all of them.
    site = np.where(Y == 0, SITE, "0").astype(int) if ending == "csv" else SITE
    assert same(columns_of(result), columns_of(in_memory(site, events_per_day=1000), 1))
    assert "worst kind: 7" in str(result)


def test_intervals_of_rates_have_the_level_of_the_table(tmp_path: Path) -> None:
    """They were at 95 % whatever was asked for."""
    path = save(tmp_path / "scores.parquet", COLUMNS)
    options: dict[str, Any] = {"confidence_level": 0.8, "n_resamples": 99, "rng": 0}
    result = streaming.evaluate(
        path, score_columns=list(SCORES), measures="auc", fpr=[0.01, 0.1], exact=True,
        **PARTS, **options,
    )  # fmt: skip
    assert same(columns_of(result), columns_of(in_memory(SITE, **options), 1))


def test_rates_at_a_threshold_that_is_not_exact_are_exact_there(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.parquet", COLUMNS)
    result = streaming.evaluate(
        path, score_columns=["forest"], measures=["tpr@0.1", "tpr@threshold0.5"], memory="10kB",
        **PARTS,
    )  # fmt: skip
    threshold = result["forest"]["threshold@0.1"].value
    alone = in_memory(SITE, threshold=[threshold, 0.5], measures=["tpr"])
    found = {x: y for x, y in columns_of(result).items() if x not in ("fpr", "detector")}
    expected = columns_of(alone, 2)
    rows = [i for i, name in enumerate(expected["detector"]) if name == "forest"]
    for name, values in found.items():
        kept = [expected[name][i] for i in rows]
        # Thresholds in the order of the table.
        by_threshold = sorted(zip(expected["threshold"], map(str, kept), strict=False))
        assert sorted(map(str, values)) == sorted(text for _, text in by_threshold)


def test_groups_stand_beside(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.parquet", COLUMNS)
    result = streaming.evaluate(
        path, score_columns=list(SCORES), measures="auc", fpr=[0.01, 0.1], exact=True,
        group_columns="fold", **PARTS,
    )  # fmt: skip
    expected = columns_of(in_memory(SITE, groups={"fold": COLUMNS["fold"]}), 1)
    assert same(columns_of(result), expected)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("normal_kind", ["", "5", "none"])
def test_parts_of_groups_that_lack_some_have_the_names_in_memory(
    ending: str, normal_kind: str, tmp_path: Path
) -> None:
    """Text is integers if that of all groups is, whatever rows of the other class have."""
    numbers: dict[str, Any] = {"y": [1, 1, 0, 1, 1, 0, 0], "s": [3, 1, 2, 2, 4, 1, 5]}
    kind = ["1", "2", normal_kind, "1", "1", normal_kind, normal_kind]
    texts = {"group": list("aaabbbc"), "kind": kind, "site": ["", "", "1", "", "", "x", "1"]}
    path = save(tmp_path / f"scores.{ending}", {**numbers, **texts}, 2)
    given = ["--score", "s", "--measure", "tpr@threshold2.5"]
    given += ["--measure", "tpr@0.1", "--group", "group", "--kinds", "kind", "--segments", "site"]
    found = json_of("evaluate", path, *given, "--memory", "1MB", "--exact")["detectors"]
    expected = json_of("evaluate", path, *given)["detectors"]
    names = (1, 2) if ending == "csv" else ("1", "2")
    for of_file, of_memory in zip(found, expected, strict=True):
        points = of_memory["operating_points"]
        rows = [
            x for p in points for y in ("kinds", "segments") for x in p.get(y, {}).get("rows", ())
        ]
        assert [{k: x[k] for k in rows[0]} for x in of_file["breakdown"]] == rows
        assert {x["name"] for x in rows if x["part"] == "kind"} <= {*names}


def test_files_without_a_row_of_a_kind_have_no_rates_as_in_memory(tmp_path: Path) -> None:
    kind = np.array([""] * 4)
    table: dict[str, Any] = {"y": [0] * 4, "knn": [1.0, 2.0, 3.0, 4.0], "kind": kind}
    path = save(tmp_path / "scores.csv", table)
    result = streaming.evaluate(path, score_columns="knn", measures="auc", kind_columns="kind")
    alone = fastad.evaluate(table["y"], table["knn"], measures="auc", kinds=kind)
    assert result.breakdown is alone.breakdown is None
    given = ["--score", "knn", "--kinds", "kind", "--memory", "1MB"]
    (row,) = json_of("evaluate", path, *given)["detectors"]
    assert "breakdown" not in row
    # Without a normal sample there is no threshold at an FPR, and nothing is counted.
    path = save(tmp_path / "anomalies.csv", {**table, "y": [1] * 4, "kind": ["1"] * 4})
    result = streaming.evaluate(path, score_columns="knn", measures="auc", kind_columns="kind")
    assert result.breakdown is None


def test_rows_of_several_kinds_are_counted_in_each_as_in_memory(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.parquet", {**COLUMNS, "fast": np.where(KIND == "dos", "x", "y")})
    given: dict[str, Any] = {"kind_columns": ["kind", "fast"], "score_columns": "knn"}
    with pytest.raises(InvalidInputError, match=r"rows of several, .*: 'kind=\w+' and 'fast=\w'"):
        streaming.evaluate(path, **given)
    result = streaming.evaluate(path, overlap="count", measures="auc", exact=True, **given)
    names = {"kind": KIND, "fast": np.where(KIND == "dos", "x", "y")}
    alone = fastad.evaluate(Y, {"knn": SCORES["knn"]}, kinds=names, overlap="count", measures="auc")
    assert same(columns_of(result), columns_of(alone, 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind_columns": "site"}, "scores.csv: kinds must name the kind of each anomaly"),
        ({"segment_columns": "kind"}, "segments must name the segment of each normal sample"),
        ({"kind_columns": "kin"}, "there is no column 'kin'"),
        ({"overlap": "all", **PARTS}, "overlap must be one of 'raise', 'count'"),
        ({"overlap": "count"}, "overlap must be given with kind_columns or segment_columns"),
        ({"events_per_day": 7}, "events_per_day must be given with kind_columns or segment_col"),
    ],
)
def test_bad_columns_are_named(options: Any, message: str, tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", COLUMNS)
    with pytest.raises(InvalidInputError, match=message):
        streaming.evaluate(path, score_columns="knn", **options)


@pytest.mark.slow
def test_dask_counts_the_same_in_any_partitions(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask", reason="the extra dask is not installed")
    import dask.dataframe as dd

    table = pd.DataFrame(COLUMNS).replace("", None)
    path = save(tmp_path / "scores.parquet", COLUMNS)
    given: dict[str, Any] = {
        **PARTS, "score_columns": list(SCORES), "measures": "auc", "fpr": [0.01, 0.1],
        "group_columns": "fold", "exact": True,
    }  # fmt: skip
    expected = columns_of(streaming.evaluate(path, **given))
    for n_parts in (1, 4):
        frame = dd.from_pandas(table, npartitions=n_parts, sort=False)
        with dask.config.set(scheduler="synchronous"):
            assert same(columns_of(fastad.dask.evaluate(frame, **given)), expected)
            with pytest.raises(InvalidInputError, match=r"partition \d: segments must name"):
                fastad.dask.evaluate(frame, **{**given, "segment_columns": "kind"})


COMMAND = ["--score", "knn", "--fpr", "0.1", "--measure", "auc"]


def test_command_line_prints_and_writes_them(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", COLUMNS)
    options = ["--kinds", "kind", "--segments", "site", "--events-per-day", "1000"]
    text = run("evaluate", path, *COMMAND, *options)
    given: dict[str, Any] = {"measures": ["auc"], "fpr": 0.1, "events_per_day": 1000}
    site = np.where(Y == 0, SITE, "0").astype(int)
    one = fastad.evaluate(Y, {"knn": COLUMNS["knn"]}, kinds=KIND, segments=site, **given)
    assert str(one.breakdown) in text
    (row,) = json_of("evaluate", path, *COMMAND, *options)["detectors"]
    expected = one.to_dict()["detectors"][0]
    assert {key: row[key] for key in ("by_kind", "operating_points")} == {
        key: expected[key] for key in ("by_kind", "operating_points")
    }
    streamed = ["--memory", "60kB", "--exact"]
    assert "worst segment: " in run("evaluate", path, *COMMAND, *options, *streamed)
    (row,) = json_of("evaluate", path, *COMMAND, *options, *streamed)["detectors"]
    assert [x["n_events"] for x in row["breakdown"]] == columns_of(one, 1)["n_events"]


def test_command_line_names_what_is_wrong(tmp_path: Path) -> None:
    path = save(tmp_path / "scores.csv", COLUMNS)
    assert "no column 'nope'" in error_of("evaluate", path, *COMMAND, "--kinds", "nope")
    for options, message in (
        (["--overlap", "count"], "is of use only with --kinds or --segments"),
        (["--events-per-day", "9"], "is of use only with --kinds or --segments"),
    ):
        assert_wrong_usage(invoke("evaluate", path, *COMMAND, *options), message)
    page = tmp_path / "page.html"
    run("evaluate", path, *COMMAND, "--kinds", "kind", "--output", page)
    assert "each kind against all normals" in page.read_text("utf-8")


def test_groups_by_infinite_numbers_have_their_kinds(tmp_path: Path) -> None:
    levels = np.where(np.arange(N) % 2, np.inf, 1.5)
    path = save(tmp_path / "scores.parquet", {**COLUMNS, "level": levels})
    options: dict[str, Any] = {"measures": "auc", "fpr": [0.1], "kind_columns": "kind"}
    result = streaming.evaluate(path, score_columns="knn", group_columns="level", **options)
    assert all(each["breakdown"] for each in result.to_dict()["detectors"])
    arguments = ["--score", "knn", "--group", "level", "--memory", "64MB", "--json"]
    rows = json_of("evaluate", str(path), *arguments)["detectors"]
    assert {row["group"]["level"] for row in rows} == {1.5, "inf"}


def test_kinds_that_are_times_of_an_hour_that_comes_twice_stay_apart(tmp_path: Path) -> None:
    """When summer time ends, clocks show 02:30 twice."""
    first = 1_792_888_200 * 10**6  # 2026-10-25T00:30Z
    zoned = pa.array([first, first + 3600 * 10**6, None], pa.timestamp("us", "Europe/Berlin"))
    path = tmp_path / "scores.parquet"
    pq.write_table(pa.table({"y": [1, 1, 0], "s": [0.5, 0.7, 0.6], "k": zoned}), path)
    result = streaming.evaluate(path, score_columns="s", measures="auc", kind_columns="k")
    columns = columns_of(result)
    assert set(zip(map(str, columns["name"]), columns["n_samples"], strict=True)) == {
        ("all", 2),
        ("2026-10-25 02:30:00+02:00", 1),
        ("2026-10-25 02:30:00+01:00", 1),
    }
