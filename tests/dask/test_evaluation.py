"""Evaluation on Dask: the numbers of one machine, however the rows are partitioned."""

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastad
from fastad import streaming
from fastad.errors import InvalidInputError, InvalidTypeError

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
from dask.diagnostics.progress import ProgressBar  # noqa: E402

from fastad.dask import tasks  # noqa: E402

MEASURES = ["auc", "ap", "auc@0.05", "tpr@0.01", "f1@0.05", "eer", "precision@k50"]


@pytest.fixture(scope="module")
def table() -> Any:
    rng = np.random.default_rng(0)
    n = 6000
    labels = rng.random(n) < 0.1
    return pd.DataFrame(
        {
            "y": labels,
            "a": rng.normal(size=n) + labels,
            "b": np.round(rng.normal(size=n) + 2 * labels, 1).astype(np.float32),
            "tenant": rng.choice(["x", "y", "z"], n),
        }
    )


@pytest.fixture(autouse=True)
def in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def values(result: Any) -> dict[Any, Any]:
    return {
        key: {name: each.to_dict() for name, each in table.items()} for key, table in result.items()
    }


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_bounds_are_those_of_one_machine(table: pd.DataFrame, n_parts: int) -> None:
    frame = dd.from_pandas(table, npartitions=n_parts, sort=False)
    options: dict[str, Any] = {"measures": [*MEASURES, "auc_p"], "score_range": (-10, 10)}
    result = fastad.dask.evaluate(frame, score_columns=["a", "b"], memory="20kB", **options)
    for name in ("a", "b"):
        sketch = streaming.ScoreSketch(20_000 // 2 // 4)
        sketch.update(table.y, table[name])
        assert values({name: result[name]}) == values({name: sketch.evaluate(**options)})


def test_what_is_not_exact_is_named(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    measures = ["auc", "auc_w"]
    options: dict[str, Any] = {"score_columns": "a", "measures": measures, "memory": "100kB"}
    result = fastad.dask.evaluate(frame, **options, exact=True)
    assert [key for key, value in result["a"].items() if not value.is_exact] == ["auc_w"]
    (note,) = result.notes
    assert note.startswith("a: not exact: auc_w, ")
    assert note in str(result)
    assert fastad.dask.evaluate(frame, **options).notes == []


def test_equal_scores_are_noted(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table.assign(a=np.inf), npartitions=3, sort=False)
    result = fastad.dask.evaluate(frame, score_columns=["a", "b"], measures=["auc"])
    assert result.notes == ["a: all scores are equal and order nothing"]


@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_exact_values_have_the_bits_of_one_machine(table: pd.DataFrame, n_parts: int) -> None:
    frame = dd.from_pandas(table, npartitions=n_parts, sort=False)
    result = fastad.dask.evaluate(
        frame, score_columns=["a", "b"], measures=MEASURES, memory="1MB", exact=True
    )
    expected = fastad.evaluate(
        table.y, {"a": table.a.to_numpy(), "b": table.b.to_numpy()}, measures=MEASURES
    )
    for name in ("a", "b"):
        for key in MEASURES:
            assert result[name][key].is_exact
            assert result[name][key].value == expected[name][key]


def test_groups_cross_partitions(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=5, sort=False)
    result = fastad.dask.evaluate(
        frame, score_columns="a", group_columns="tenant", measures=["auc", "tpr@0.05"], exact=True
    )
    assert list(result) == [("x", "a"), ("y", "a"), ("z", "a")]
    for name, rows in table.groupby("tenant"):
        assert result[name, "a"]["auc"].value == fastad.roc_auc(rows.y, rows.a)
        assert result[name, "a"]["tpr@0.05"].value == fastad.tpr_at_fpr(rows.y, rows.a, fpr=0.05)


def test_groups_may_be_objects_without_an_order() -> None:
    rows = {"y": [0, 1, 0, 1, 1], "s": [2, 1, 1, 2, 2], "g": np.array([7, 7, "a", "a", 7], object)}
    columns = {name: da.from_array(np.array(values), chunks=3) for name, values in rows.items()}
    result = fastad.dask.evaluate(columns, score_columns="s", group_columns="g", measures="auc")
    assert {key: table["auc"].value for key, table in result.items()} == {
        (7, "s"): 1 / 4,
        ("a", "s"): 1,
    }


def test_groups_that_are_times_of_a_zone_are_datetimes() -> None:
    times = pd.DatetimeIndex(["2026-07-01T12:00Z"] * 4).tz_convert("Europe/Berlin")
    frame = dd.from_pandas(pd.DataFrame({"y": [0, 0, 1, 1], "s": 1.0, "g": times}), npartitions=2)
    result = fastad.dask.evaluate(frame, score_columns="s", group_columns="g", measures="auc")
    ((name, _),) = result
    assert type(name) is datetime
    assert name.isoformat() == "2026-07-01T14:00:00+02:00"


def test_skewed_empty_and_one_class_partitions(table: pd.DataFrame) -> None:
    ordered = pd.concat([table[table.y], table[~table.y]])
    n = int(table.y.sum())
    parts = [ordered[:n], ordered[n:n], ordered[n : n + 1], ordered[n + 1 :]]
    frame = dd.from_map(lambda i: parts[i], range(4), meta=table[:0])
    result = fastad.dask.evaluate(frame, score_columns="a", measures="auc", exact=True)
    assert result["a"]["auc"].value == fastad.roc_auc(table.y, table.a)


@pytest.mark.slow
def test_partitions_that_tasks_cannot_make_apart(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=12, sort=False)
    # All partitions need the mean, and each is needed for it.
    moved = frame.assign(a=frame.a - frame.a.mean())
    shuffled = frame.shuffle("tenant", npartitions=5)
    for source in (moved, shuffled, frame.persist()):
        result = fastad.dask.evaluate(source, score_columns="a", measures="auc", exact=True)
        assert result["a"]["auc"].value == fastad.roc_auc(table.y, table.a)


@pytest.mark.parametrize("n_parts", [3, 70])
def test_each_partition_is_made_once(table: pd.DataFrame, n_parts: int) -> None:
    parts = np.array_split(np.arange(len(table)), n_parts)
    made: list[int] = []

    def make(i: int) -> Any:
        made.append(i)
        return table.iloc[parts[i]]

    frame = dd.from_map(make, range(n_parts), meta=table[:0])
    result = fastad.dask.evaluate(frame, score_columns="a", measures="auc")
    assert sorted(made) == list(range(n_parts))
    sketch = streaming.ScoreSketch(8_000_000)
    sketch.update(table.y, table.a)
    assert result["a"]["auc"] == sketch.roc_auc()


def test_nothing_at_all(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table[:0], npartitions=1, sort=False)
    result = fastad.dask.evaluate(frame, score_columns="a", measures="auc")
    assert not result["a"]
    assert "auc" in result["a"].undefined
    grouped = fastad.dask.evaluate(frame, score_columns="a", measures="auc", group_columns="tenant")
    assert repr(grouped) == "<StreamedEvaluation of 0 detectors, 0 groups>"


def test_decimals_are_scores_and_groups() -> None:
    decimals = [Decimal("0.1"), Decimal("0.3"), Decimal("0.2"), Decimal("0.4")]
    dtype: Any = pd.ArrowDtype(pa.decimal128(10, 2))
    columns = {"y": [0, 0, 1, 1], "s": pd.array(decimals, dtype)}
    grouped = pd.DataFrame({**columns, "g": pd.array([Decimal("1.5")] * 4, dtype)})
    both: list[Any] = [{}, {"score_columns": "s", "group_columns": "g"}]
    for options in both:
        frame = dd.from_pandas(grouped if options else pd.DataFrame(columns), npartitions=2)
        result = fastad.dask.evaluate(frame, measures="auc", **options)
        key = (Decimal("1.5"), "s") if options else "s"
        assert result[key]["auc"].value == 3 / 4


def test_categories_that_are_numbers_are_scores() -> None:
    scores = pd.Categorical([1, 3, 2, 4])
    frame = dd.from_pandas(pd.DataFrame({"y": [0, 0, 1, 1], "s": scores}), npartitions=2)
    assert fastad.dask.evaluate(frame, measures="auc")["s"]["auc"].value == 3 / 4


@pytest.mark.parametrize("dtype", ["category", "Int64"])
def test_kinds_that_are_large_integers_beside_missing_values_stay_apart(dtype: Any) -> None:
    kinds: Any = pd.Series([2**53, 2**53 + 1, None, None], dtype=object).astype(dtype)
    frame = dd.from_pandas(pd.DataFrame({"y": [1, 1, 0, 0], "s": 1.0, "k": kinds}), npartitions=1)
    result = fastad.dask.evaluate(frame, score_columns="s", measures="auc", kind_columns="k")
    assert {2**53, 2**53 + 1} < set(result.breakdown.to_columns()["name"])


def test_arrays_with_other_chunks_and_of_unknown_sizes(table: pd.DataFrame) -> None:
    labels, scores = table.y.to_numpy(), table.a.to_numpy()
    columns = {"y": da.from_array(labels, chunks=1000), "score": da.from_array(scores, chunks=1700)}
    expected = fastad.roc_auc(labels, scores)
    assert fastad.dask.evaluate(columns, measures="auc")["score"]["auc"].value == expected
    some = columns["y"] | True
    columns = {"y": columns["y"], "score": columns["score"].rechunk(1000)}
    unknown = {name: array[some] for name, array in columns.items()}
    assert np.isnan(unknown["y"].shape[0])
    assert fastad.dask.evaluate(unknown, measures="auc")["score"]["auc"].value == expected
    unknown["score"] = da.concatenate([unknown["score"], unknown["score"]])
    with pytest.raises(InvalidInputError, match="same chunks where their sizes are unknown"):
        fastad.dask.evaluate(unknown, measures="auc")


@pytest.mark.parametrize(
    ("labels", "pos_label", "scores"),
    [
        ("boolean", None, "Float64"),
        ("Int64", None, "Float32"),
        ("UInt8", None, "Int64"),
        ("Float64", None, "float64"),
        ("category of numbers", None, "Float64"),
        ("category", "bad", "Float32"),
        ("category without a label in a partition", "bad", "Int64"),
        ("string", "bad", "Float64"),
        ("object", "bad", "float64"),
    ],
)
def test_nullable_and_categorical_columns(
    table: pd.DataFrame, labels: str, pos_label: str | None, scores: str
) -> None:
    named = table.y.map({True: "bad", False: "good"})
    dtype: Any = "category" if "category" in labels else labels
    column: Any = named if pos_label else table.y.astype("int64")
    column = column.astype(dtype)
    score: Any = np.round(table.a * 100) if scores == "Int64" else table.a
    score = score.astype(scores)
    nullable = pd.DataFrame({"y": column, "a": score, "tenant": table.tenant.astype("category")})
    if "without" in labels:
        # Sorted, so that the first partitions have normals alone.
        nullable = nullable.iloc[np.argsort(named == "bad", kind="stable")]
    frame = dd.from_pandas(nullable, npartitions=3, sort=False)
    options: dict[str, Any] = {"score_columns": "a", "measures": "auc", "exact": True}
    result = fastad.dask.evaluate(frame, pos_label=pos_label, **options)
    values = score.to_numpy(dtype=scores.lower())
    assert result["a"]["auc"].value == fastad.roc_auc(table.y, values)
    by_group = fastad.dask.evaluate(frame, pos_label=pos_label, group_columns="tenant", **options)
    for tenant in "xyz":
        rows = (table.tenant == tenant).to_numpy()
        expected = fastad.roc_auc(table.y[rows], values[rows])
        assert by_group[tenant, "a"]["auc"].value == expected


def test_a_bar_of_dask_shows_the_tasks(
    table: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    with ProgressBar():
        fastad.dask.evaluate(frame, score_columns="a", measures="auc")
    assert "100% Completed" in capsys.readouterr().out


def test_later(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=3, sort=False)
    delayed = fastad.dask.evaluate(
        frame, score_columns="a", measures="auc", exact=True, compute=False
    )
    assert delayed.compute()["a"]["auc"].value == fastad.roc_auc(table.y, table.a)


# Refusals.


def refused(source: Any, **options: Any) -> str:
    with pytest.raises(InvalidInputError) as caught:
        fastad.dask.evaluate(source, **{"score_columns": "a", "measures": "auc", **options})
    return str(caught.value)


def damaged(table: pd.DataFrame, damage: Any) -> Any:
    """Return three partitions, the second of which is not as the others."""
    parts = [table[:2000], damage(table[2000:4000].copy()), table[4000:]]
    return dd.from_map(lambda i: parts[i], range(3), meta=table[:0], enforce_metadata=False)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda part: part.assign(a=np.nan), "partition 1: column 'a', row 0: the value must not"),
        (lambda part: part.assign(a=part.a.astype(np.float32)), "found float32 in partition 1"),
        (
            lambda part: part.assign(y=part.y.astype("boolean").mask(part.index < 2002)),
            "found boolean in partition 1",
        ),
        (lambda part: part.drop(columns="a"), r"columns y, a in all.*partition 1: \['a'\]"),
        (lambda part: part.rename(columns={"y": "label"}), r"partition 1: \['y'\]"),
        (lambda part: part.assign(y="bad"), "column 'y' of all partitions; found"),
    ],
)
def test_a_partition_that_is_not_as_the_others_is_named(
    table: pd.DataFrame, damage: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.dask.evaluate(damaged(table, damage), score_columns="a", measures="auc")


def test_missing_values_are_named(table: pd.DataFrame) -> None:
    labels = table.y.map({True: "bad", False: "good"})
    labels[2500] = None
    frame = dd.from_pandas(table.assign(y=labels), npartitions=3, sort=False)
    message = "partition 1: column 'y', row 500: the value is missing"
    assert message in refused(frame, pos_label="bad")
    groups = np.where(table.index == 2500, np.nan, 1.0)
    frame = dd.from_pandas(table.assign(group=groups), npartitions=3, sort=False)
    assert message.replace("y", "group") in refused(frame, group_columns="group")


def test_a_third_label_in_another_partition_is_refused(table: pd.DataFrame) -> None:
    labels = table.y.map({True: "bad", False: "good"}).mask(table.index >= 5500, "ugly")
    labels[table.y] = "bad"
    frame = dd.from_pandas(table.assign(y=labels), npartitions=12, sort=False)
    message = refused(frame, pos_label="bad")
    assert "must have one label beside pos_label='bad'; found 'good' and 'ugly'" in message


def test_wrong_sources_and_columns(table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=2, sort=False)
    assert "did you mean 'y'" in refused(frame, label_column="Y")
    assert "score_columns must be a column" in refused(frame, score_columns="c")
    assert "group_columns must be a column" in refused(frame, group_columns="tenants")
    assert "found no other column of numbers" in refused(frame[["y"]], score_columns=None)
    with pytest.raises(InvalidTypeError, match="source must be a Dask data frame"):
        fastad.dask.evaluate(table.to_numpy())
    arrays = {"y": da.zeros(5), "a": da.zeros(6)}
    assert "arrays of one length" in refused(arrays)
    assert "of shape (5, 1) in 'a'" in refused({"y": da.zeros(5), "a": da.zeros((5, 1))})
    for column in ([0.0] * 5, np.zeros(5), frame["a"]):
        assert f"{type(column).__name__} in 'a'" in refused({"y": da.zeros(5), "a": column})
    assert "found none" in refused({})


def test_other_versions_are_refused(table: pd.DataFrame, monkeypatch: Any) -> None:
    others = tasks.Versions("0.0.1", np.__version__)
    monkeypatch.setattr(tasks.Versions, "here", classmethod(lambda cls: others))
    here = tasks.Versions(fastad.__version__, np.__version__)
    with pytest.raises(InvalidInputError, match=r"workers and client must .* found fastad 0\.0\.1"):
        here.check()
