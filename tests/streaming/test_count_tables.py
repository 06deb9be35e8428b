"""Tables of counts that databases made: queries, files, groups, the command line, bad tables."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
import sqlglot

import fastad
from fastad import streaming
from fastad.errors import InvalidInputError
from fastad.streaming import ScoreSketch, counts_query
from fastad.streaming.sketches.sql import DIALECTS, Dialect
from tests.support.command_line import invoke, pipe
from tests.support.loops import loop

RNG = np.random.default_rng(0)
N = 4000
Y = (RNG.random(N) < 0.1).astype(np.int64)
# Half of the scores are ties.
S = np.where(RNG.random(N) < 0.5, np.round(RNG.normal(size=N) + Y, 1), RNG.normal(size=N) + Y)
S[:3], S[3:5] = np.inf, -np.inf
G = np.where(np.arange(N) % 3 == 0, "a", 'b "1"')
MEASURES = ["auc", "ap", "tpr@0.01", "f1_best"]
ASKED = ["counts", "--sql", "duckdb", "--table", "t", "--score", "s"]
# Names with quotes, and a label that is a boolean.
COLUMNS: dict[str, Any] = {"table": "scored", "score_column": 's "1"', "label_column": "select"}


def engine(dialect: str, folder: Path) -> Any:
    """Return what executes a query in a database with the samples, and returns a frame."""
    frame = pd.DataFrame({COLUMNS["score_column"]: S, COLUMNS["label_column"]: Y == 1, "g": G})
    if dialect == "duckdb":
        connection = duckdb.connect()
        connection.register("scored", frame)
        return lambda query: connection.execute(query).df()
    path = folder / "scored.parquet"
    frame.to_parquet(path)
    chdb = importlib.import_module("chdb")

    def execute(query: str) -> Any:
        return chdb.query(query.replace("FROM scored)", f"FROM file('{path}'))"), "DataFrame")

    return execute


def sketch_of(rows: pd.DataFrame) -> ScoreSketch:
    ends = rows[["low", "high"]].to_numpy()
    return ScoreSketch.from_counts(ends, rows["normals"], rows["anomalies"], closed="both")


def check_bounds(result: Any, y: Any, s: Any) -> None:
    exact = fastad.evaluate(y, s, measures=MEASURES)["score"]
    for key in MEASURES:
        assert result[key].low <= exact[key] <= result[key].high, key


@pytest.mark.slow
@pytest.mark.parametrize("bins", [1, 7, 64, 100_000])
def test_the_counts_of_duckdb_bound_the_values_of_all_scores(bins: int, tmp_path: Path) -> None:
    execute = engine("duckdb", tmp_path)
    rows = execute(counts_query("duckdb", **COLUMNS, bins=bins))
    assert not rows["others"].any()
    # The infinities have bins of their own, and so has the highest score.
    assert len(rows) <= bins + 3
    assert list(rows["low"][[0, len(rows) - 1]]) == [-np.inf, np.inf]
    result = sketch_of(rows).evaluate(MEASURES)
    check_bounds(result, Y, S)
    assert result["auc"].error < max(2 / bins, 1e-3)
    # Bins are found again from the ends, whatever the rounding.
    inside = (S[:, None] >= rows["low"].to_numpy()) & (S[:, None] <= rows["high"].to_numpy())
    assert inside.sum(axis=1).tolist() == [1] * N
    assert (inside[Y == 1].sum(axis=0) == rows["anomalies"]).all()


def test_names_of_tables_and_columns_do_not_clash() -> None:
    connection = duckdb.connect()
    connection.register("scored", pd.DataFrame({"lowest": S, "scale": Y, "n": G, "bin": G}))
    names: dict[str, Any] = {"table": "scored", "score_column": "lowest", "label_column": "scale"}
    rows = connection.execute(
        counts_query("duckdb", **names, group_columns=["n", "bin"], bins=9)
    ).df()
    assert [*rows] == ["n", "bin", "low", "high", "normals", "anomalies", "others"]
    assert rows["normals"].sum() + rows["anomalies"].sum() == N


@pytest.mark.system
def test_clickhouse_counts_as_duckdb_does(tmp_path: Path) -> None:
    if importlib.util.find_spec("chdb") is None:
        pytest.skip("chdb is not installed: pip install chdb")
    results: dict[str, list[Any]] = {}
    dialects: tuple[Dialect, ...] = ("duckdb", "clickhouse")
    for dialect in dialects:
        execute = engine(dialect, tmp_path)
        first = execute(counts_query(dialect, **COLUMNS, bins=50, group_columns="g"))
        refinement = sketch_of(first[first["g"] == "a"]).refine(measure="tpr@0.01")
        second = execute(refinement.to_sql(dialect, **COLUMNS, bins=50, group_columns="g"))
        results[dialect] = [first.to_numpy(), second.to_numpy()]
    for ours, other in zip(*results.values(), strict=True):
        np.testing.assert_array_equal(ours, other)


@pytest.mark.slow
@loop("dialect", DIALECTS)
def test_queries_are_parsed_in_every_dialect(dialect: Any) -> None:
    sketch = ScoreSketch.from_counts([-np.inf, -1, 0, 1, np.inf], [9, 5, 2, 1], [1, 1, 3, 4])
    names: dict[str, Any] = {**COLUMNS, "score_column": "s `1`", "group_columns": ["g", "from"]}
    queries = [counts_query(dialect, **names)]
    queries += [
        sketch.refine(measure=measure).to_sql(dialect, **names) for measure in ("auc", "tpr@0.1")
    ]
    for query in queries:
        parsed = sqlglot.parse_one(query, read=dialect)
        assert isinstance(parsed, sqlglot.exp.Select)
        names_of = [column.alias_or_name for column in parsed.selects]
        assert names_of == ["g", "from", "low", "high", "normals", "anomalies", "others"]
        tables = {table.name for table in parsed.find_all(sqlglot.exp.Table)}
        assert tables == {"scored", "fastad_ends", "fastad_range", "fastad_counts"}


def test_a_query_has_each_column_once() -> None:
    for name in ("low", "high", "normals", "anomalies", "others"):
        with pytest.raises(InvalidInputError, match=f"group_columns must not .* found '{name}'"):
            counts_query("duckdb", **COLUMNS, group_columns=["g", name])
    once, twice = (counts_query("duckdb", **COLUMNS, group_columns=x) for x in ("g", ["g", "g"]))
    assert once == twice


@pytest.mark.parametrize(
    ("measure", "tolerance", "n_ranges"),
    [("tpr@0.01", 0, 1), ("ap", 0, 14), ("auc", 1e-3, 14), ("auc", 1e-2, 4), ("f1_best", 1e-3, 9)],
)
def test_the_second_query_is_certain_to_the_tolerance(
    measure: str, tolerance: float, n_ranges: int, tmp_path: Path
) -> None:
    # Scores on a grid of which a bin may be a single value, or many.
    scores = np.round(S, 2) if tolerance else S
    connection = duckdb.connect()
    connection.register(
        "scored", pd.DataFrame({COLUMNS["score_column"]: scores, COLUMNS["label_column"]: Y})
    )
    first = sketch_of(connection.execute(counts_query("duckdb", **COLUMNS, bins=16)).df())
    assert first.evaluate([measure])[measure].error > tolerance
    refinement = first.refine(measure=measure, tolerance=tolerance)
    assert 0 < len(refinement.ranges) <= n_ranges
    query = refinement.to_sql("duckdb", **COLUMNS, bins=16)
    second = sketch_of(connection.execute(query).df())
    assert second.evaluate([measure])[measure].error <= tolerance
    check_bounds(second.evaluate(MEASURES), Y, scores)
    assert (second.n_normals, second.n_anomalies) == (first.n_normals, first.n_anomalies)


@pytest.mark.parametrize("tolerance", [0, 1e-5])
def test_many_ranges_are_split_by_more_bins(tolerance: float) -> None:
    inside = np.isfinite(S)
    y, s = Y[inside], S[inside]
    edges = np.linspace(s.min(), s.max(), 301)
    counted = [np.histogram(s[y == k], edges)[0] for k in (0, 1)]
    sketch = ScoreSketch.from_counts(edges, *counted)
    refinement = sketch.refine(measure="auc", tolerance=tolerance)
    query = refinement.to_sql("duckdb", **COLUMNS, bins=10)
    assert "fastad_part" not in query
    connection = duckdb.connect()
    connection.register(
        "scored", pd.DataFrame({COLUMNS["score_column"]: s, COLUMNS["label_column"]: y})
    )
    second = sketch_of(connection.execute(query).df())
    assert second.roc_auc().is_exact == (tolerance == 0)
    # Ties stay beside other scores in their part.
    assert second.roc_auc().error < max(tolerance, sketch.roc_auc().error / 10)
    check_bounds(second.evaluate(MEASURES), y, s)


def test_a_query_without_ranges_is_the_first_one() -> None:
    weighted = ScoreSketch.from_counts([0, 1, 2], [1.5, 2], [1, 2]).refine(measure="auc")
    assert len(weighted.ranges) == 1
    with pytest.raises(InvalidInputError, match="found real weights"):
        weighted.to_sql("duckdb", **COLUMNS)
    exact = ScoreSketch.from_counts([[0, 0], [1, 1]], [1, 0], [0, 1], closed="both")
    query = exact.refine(measure="auc").to_sql("duckdb", **COLUMNS)
    assert query == counts_query("duckdb", **COLUMNS)


def test_points_can_refine_counts(tmp_path: Path) -> None:
    first = sketch_of(engine("duckdb", tmp_path)(counts_query("duckdb", **COLUMNS, bins=16)))
    refinement = first.refine(measure="tpr@0.01")
    refinement.update(Y, S)
    assert refinement.result().value == fastad.tpr_at_fpr(Y, S, fpr=0.01)
    assert refinement.result().is_exact
    refinement.update(Y, S)
    with pytest.raises(InvalidInputError, match="each once"):
        refinement.result()


@pytest.fixture
def counts_file(tmp_path: Path) -> Path:
    path = tmp_path / "counts.csv"
    query = counts_query("duckdb", **COLUMNS, group_columns="g", bins=50)
    engine("duckdb", tmp_path)(query).to_csv(path, index=False)
    return path


def test_a_table_of_counts_is_evaluated_in_groups(counts_file: Path) -> None:
    result = streaming.evaluate(counts_file, measures=MEASURES, group_columns="g")
    assert list(result) == [(name, "score") for name in np.unique(G)]
    for name, column in result:
        check_bounds(result[name, column], Y[name == G], S[name == G])
    whole = streaming.evaluate(counts_file, measures=MEASURES)
    check_bounds(whole["score"], Y, S)
    (note,) = whole["score"].notes
    assert note.startswith("bins of merged counts that overlap were joined")


@pytest.mark.parametrize("exact", [False, True])
def test_intervals_stand_beside_the_bounds(exact: bool, counts_file: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"measures": ["auc"], "confidence_level": 0.9, "rng": 0}
    counted = streaming.evaluate(counts_file, **options)
    path = tmp_path / "scores.parquet"
    pd.DataFrame({"y": Y, "score": S}).to_parquet(path)
    of_scores = streaming.evaluate(path, exact=exact, **options)
    expected = fastad.interval(Y, S, measure="auc", confidence_level=0.9)
    for result, width_of_bins in ((counted, 0.02), (of_scores, 1e-5)):
        interval = result["score"].intervals["auc"]
        assert expected.low - width_of_bins < interval.low <= expected.low + 1e-12
        assert expected.high - 1e-12 <= interval.high < expected.high + width_of_bins
        assert result.to_columns()["interval_low"][0] == interval.low
        assert "90 % confidence" in str(result)


def test_intervals_are_of_the_exact_values_that_later_passes_find(tmp_path: Path) -> None:
    """They were those of the values of the first pass, and as much wider as its bounds."""
    path = tmp_path / "scores.parquet"
    pd.DataFrame({"y": Y, "score": S}).to_parquet(path)
    options: dict[str, Any] = {"measures": ["auc", "ap"], "confidence_level": 0.9, "rng": 0}
    first = streaming.evaluate(path, memory="40kB", **options)["score"]
    exact = streaming.evaluate(path, memory="9MB", exact=True, **options)["score"]
    small = streaming.evaluate(path, memory="40kB", exact=True, **options)["score"]
    for key in ("auc", "ap"):
        assert not first[key].is_exact
        assert small[key] == exact[key]
        assert small[key].is_exact
        interval, wide = small.intervals[key], first.intervals[key]
        assert interval.value == small[key].value
        assert wide.low < interval.low < interval.value < interval.high < wide.high
        assert interval.low == pytest.approx(exact.intervals[key].low, abs=5e-3)
        assert interval.high == pytest.approx(exact.intervals[key].high, abs=5e-3)


@pytest.mark.parametrize("extension", ["parquet", "csv.gz", "npz"])
def test_counts_are_read_from_other_files_and_folders(
    extension: str, counts_file: Path, tmp_path: Path
) -> None:
    frame = pd.read_csv(counts_file)
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(2):
        path, part = folder / f"{i}.{extension}", frame[i::2]
        if extension == "npz":
            np.savez(path, **{name: part[name].to_numpy() for name in part if name != "g"})
        elif extension == "parquet":
            part.to_parquet(path)
        else:
            part.to_csv(path, index=False)
    result = streaming.evaluate(folder, measures=MEASURES)
    assert dict(result["score"]) == dict(
        streaming.evaluate(counts_file, measures=MEASURES)["score"]
    )


def test_sums_of_weights_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    weights = np.random.default_rng(0).random((200, 2))
    frame = pd.DataFrame(weights, columns=["normals", "anomalies"])
    frame = frame.assign(low=np.arange(200) % 4, high=np.arange(200) % 4 + 0.5)
    results = []
    for seed in range(4):
        frame.sample(frac=1, random_state=seed).to_csv(path, index=False)
        results.append(dict(streaming.evaluate(path, measures=["auc", "ap"])["score"]))
    assert results == results[:1] * 4


def test_buckets_of_prometheus_are_cumulative(tmp_path: Path) -> None:
    edges = [0.1, 0.5, 1, 2.5, np.inf]
    rows = {"normals": [int(((le >= S) & (Y == 0)).sum()) for le in edges]}
    rows["anomalies"] = [int(((le >= S) & (Y == 1)).sum()) for le in edges]
    path = tmp_path / "buckets.csv"
    text = ["0.1", "0.5", "1", "2.5", "+Inf"]
    pd.DataFrame({"le": text, **rows}).iloc[::-1].to_csv(path, index=False)
    result = streaming.evaluate(path, measures=MEASURES)["score"]
    check_bounds(result, Y, S)
    counted = [np.diff(rows[name], prepend=0) for name in ("normals", "anomalies")]
    sketch = ScoreSketch.from_counts([-np.inf, *edges], *counted, closed="right")
    assert dict(sketch.evaluate(MEASURES)) == dict(result)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("low,high,normals,anomalies\n0,1,3,1\n3,2,1,1\n", "high must not be below low; found 1"),
        ("low,high,normals,anomalies\n0,1,3,-1\n", "anomalies must be finite and not negative"),
        ("low,high,normals,anomalies\n0,1,inf,1\n", "normals must be finite and not negative"),
        ("low,high,normals,anomalies\n0,1,,1\n", "column 'normals', line 2: the cell is missing"),
        ("low,high,normals,anomalies\n0,1,3,1\n,,2,0\n", "'low' must be a score; found 1 row with"),
        ("low,high,normals,anomalies\n0,NaN,3,1\n", "'high' must be a score; found 1 row without"),
        ("low,high,normals,anomalies,others\n0,1,3,1,2\n", "found 2 rows whose label is neither"),
        ("low,high,normals,anomalies\n0,x,3,1\n", "column 'high', line 2"),
        ("low,high,normals,anomalies\n9007199254740993,9007199254740995,3,1\n", "low must be floa"),
        ("low,high,normals,anomalies\n", "there are no rows"),
        ("le,normals,anomalies\n1,3,1\n2,5,1\n", "le must end with +Inf, the number of all"),
        ("le,normals,anomalies\n1,3,1\ninf,2,1\n", "normals must not fall with le, as they are"),
        ("le,normals,anomalies\n1,3,1\n1,3,1\ninf,5,1\n", "edges must rise"),
        ("low,high,normals,normals,anomalies\n0,1,3,1,1\n", "more than one column 'normals'"),
    ],
)  # fmt: skip
def test_bad_tables_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text(text, "utf-8")
    with pytest.raises(InvalidInputError) as error:
        streaming.evaluate(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("label", "score", "message"),
    [
        (2, 1.5, "found 1 row whose label is neither 0 nor 1"),
        (0.3, 1.5, "found 1 row whose label is neither 0 nor 1"),
        (None, 1.5, "found 1 row whose label is neither 0 nor 1"),
        (1, None, "column 'low' must be a score; found 1 row without one"),
        (0, np.nan, "column 'low' must be a score; found 1 row without one"),
    ],
)
def test_rows_that_cannot_be_counted_are_not_lost(
    label: Any, score: Any, message: str, tmp_path: Path
) -> None:
    connection = duckdb.connect()
    columns = "(i % 2)::DOUBLE AS y, i / 10 AS s"
    connection.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(40) r(i)")
    connection.execute("INSERT INTO t VALUES (?, ?)", [label, score])
    query = counts_query("duckdb", table="t", score_column="s", label_column="y", bins=4)
    path = tmp_path / "counts.csv"
    connection.execute(f"COPY ({query}) TO '{path}' (HEADER)")
    with pytest.raises(InvalidInputError, match=message):
        streaming.evaluate(path)


def test_infinite_scores_alone_are_counted_apart() -> None:
    connection = duckdb.connect()
    rows = "(0, '-inf'), (0, 'inf'), (1, 'inf'), (1, NULL)"
    connection.execute(f"CREATE TABLE t AS SELECT y, s::DOUBLE AS s FROM (VALUES {rows}) r(y, s)")
    query = counts_query("duckdb", table="t", score_column="s", label_column="y")
    low, infinity, missing = connection.execute(query).fetchall()
    assert low == (-np.inf, -np.inf, 1, 0, 0)
    assert infinity == (np.inf, np.inf, 1, 1, 0)
    assert missing == (None, None, 0, 1, 0)


@loop("kind", ["BOOLEAN", "TINYINT", "UBIGINT", "DECIMAL(9, 3)", "FLOAT", "VARCHAR"])
def test_labels_of_any_type_are_counted(kind: str) -> None:
    connection = duckdb.connect()
    columns = f"(i % 4 = 0)::INT::{kind} AS y, i AS s"
    connection.execute(f"CREATE TABLE t AS SELECT {columns} FROM range(8) r(i)")
    query = counts_query("duckdb", table="t", score_column="s", label_column="y", bins=1)
    rows = connection.execute(query).df()
    assert rows[["normals", "anomalies", "others"]].sum().tolist() == [6, 2, 0]


def test_counts_without_samples_are_undefined(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("low,high,normals,anomalies\n0,1,0,0\n", "utf-8")
    table = streaming.evaluate(path, measures=["auc"])["score"]
    assert not table
    assert "auc" in table.undefined


def test_rows_of_scores_are_never_taken_for_counts(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("y,low,high,normals,anomalies\n0,1,2,3,4\n1,2,3,4,5\n", "utf-8")
    result = streaming.evaluate(path, measures=["auc"])
    assert list(result) == ["low", "high", "normals", "anomalies"]
    for options in ({"exact": True}, {"score_columns": "low"}, {"pos_label": 1}):
        path.write_text("low,high,normals,anomalies\n0,1,3,1\n", "utf-8")
        (name,) = options
        with pytest.raises(InvalidInputError, match=f"{name} must not be given for a table of"):
            streaming.evaluate(path, **options)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sql": "oracle"}, "sql must be one of 'duckdb'"),
        ({"table": " "}, "table must be a name; found ' '"),
        ({"bins": 0}, "bins must be at least 1"),
        ({"score_column": None}, "score_column must be a string; found NoneType"),
    ],
)
def test_bad_arguments_of_a_query_are_refused(changed: Any, message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        counts_query(**{"sql": "duckdb", **COLUMNS, **changed})


def test_the_command_line_prints_queries_and_reads_counts(
    counts_file: Path, tmp_path: Path
) -> None:
    names = [x for key in COLUMNS for x in (f"--{key.removesuffix('_column')}", COLUMNS[key])]
    asked = ["counts", "--sql", "duckdb", *names, "--group", "g", "--bins", "50"]
    printed = invoke(*asked)
    assert (
        printed.stdout.strip()
        == counts_query("duckdb", **COLUMNS, group_columns="g", bins=50).strip()
    )
    refine = ["--refine", str(counts_file), "--measure", "tpr@0.01"]
    second = engine("duckdb", tmp_path)(invoke(*asked, *refine).stdout)
    for name in np.unique(G):
        value = sketch_of(second[second["g"] == name]).tpr_at_fpr(fpr=0.01)
        assert value.low <= fastad.tpr_at_fpr(Y[name == G], S[name == G], fpr=0.01) <= value.high
        assert value.error < 0.02
    result = invoke("evaluate", str(counts_file), "--group", "g", "--measure", "auc")
    assert "certain bounds" in result.stdout
    assert result.stderr == ""
    piped = pipe(counts_file.read_bytes(), "evaluate", "-", "--group", "g", "--measure", "auc")
    assert piped.stdout == result.stdout
    level = ["--ci", "--confidence-level", "0.9", "--seed", "1"]
    result = invoke("evaluate", str(counts_file), "--measure", "auc", *level)
    assert "90 % confidence" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "COUNTS", "--chance"], "--chance: would be ignored: COUNTS has counts in"),
        (["evaluate", "COUNTS", "--memory", "9MB"], "--memory: would be ignored"),
        (["evaluate", "COUNTS", "SCORES"], "SCORES: all files must have counts, as COUNTS"),
        ([*ASKED, "--measure", "auc"], "--measure: is of use only with --refine"),
        ([*ASKED, "--refine", "COUNTS"], "--refine: needs --measure"),
        ([*ASKED, "--refine", "SCORES", "--measure", "auc"], "SCORES: there are no counts: col"),
    ],
)
def test_the_command_line_refuses_what_would_be_ignored(
    arguments: list[str], message: str, counts_file: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("y,score\n0,1\n1,2\n", "utf-8")
    named = {"COUNTS": str(counts_file), "SCORES": str(scores)}
    for key, path in named.items():
        message = message.replace(key, path)
    result = invoke(*(named.get(each, each) for each in arguments))
    assert message in " ".join(result.stderr.split())
