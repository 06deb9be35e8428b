import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastad.errors import InvalidInputError
from fastad.study import batch_files
from fastad.study.batch_files import BatchFolder
from fastad.study.results import read_study, study_status
from fastad.study.store import StudyStore
from tests.support.stored import (
    BATCHES,
    GOIX,
    TASKS,
    check_tables,
    finish,
    keep,
    leftovers,
    plan,
    rows_of,
    single,
)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return finish(tmp_path_factory.mktemp("expected"))


@settings(max_examples=8)
@given(st.permutations([*TASKS, *GOIX]), st.lists(st.sampled_from(["", "merge", "again"])))
def test_results_do_not_depend_on_the_order_of_runs(
    expected: dict[str, bytes], order: list[str], steps: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, done = Path(name), set()
        store = StudyStore.open(folder, plan())
        for batch, step in itertools.zip_longest(order, steps[: len(order)], fillvalue=""):
            keep(store, batch)
            done.add(batch)
            if step:
                store.compact()
            if step == "again":
                store.close()
                store = StudyStore.open(folder, plan())
            assert store.done() == done
        check_tables(folder, done)
        store.finish()
        check_tables(folder, done)
        assert store.notes == ()
        store.close()
        assert {x.name: x.read_bytes() for x in folder.glob("*.parquet")} == expected


def test_types_are_the_same_whatever_single_batches_hold(tmp_path: Path) -> None:
    finish(tmp_path)
    study = read_study(tmp_path)
    assert [str(one) for one in study.tasks.schema.types] == [
        *("string", "string", "int64", "double", "double", "string")
    ]
    assert [str(one.type) for one in study.curves.schema] == [
        *("string", "string", "int64", "list<element: float>", "list<element: float>")
    ]
    assert [str(one) for one in study.extra["goix"].schema.types] == ["string", "double"]
    assert study.tasks["ap"].null_count == 0  # NaN stays what it is
    assert study.manifest == json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))


def test_a_new_study_has_empty_tables(tmp_path: Path) -> None:
    with StudyStore.open(tmp_path / "a" / "b", plan()) as store:
        assert store.done() == frozenset()
        with pytest.raises(
            InvalidInputError, match=f"7 are not: {single('uci-b')}, {single('uci-a')}"
        ):
            store.finish()
    study = read_study(tmp_path / "a" / "b")
    assert study.tasks.num_rows == study.curves.num_rows == study.extra["goix"].num_rows == 0
    assert study.n_done == 0
    assert study.failed_detectors() == []
    with pytest.raises(InvalidInputError, match="found no task of 'uci' and None"):
        study.results(collection="uci")
    with pytest.raises(InvalidInputError, match=r"no study\.json"):
        read_study(tmp_path)
    with pytest.raises(InvalidInputError, match=r"no study\.json"):
        study_status(tmp_path / "nowhere")


def test_status(tmp_path: Path) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in [*TASKS[:3], GOIX[0]]:
            keep(store, batch)
        status = study_status(tmp_path)
        assert status.runner is not None
        assert f"process {os.getpid()} on " in status.runner
    reasons = [x for batch in TASKS[:3] for x in rows_of(batch)["reason"] if x]
    assert (status.n_batches, status.n_done) == (7, 4)
    assert status.failures == {reason: reasons.count(reason) for reason in set(reasons)}
    assert study_status(tmp_path).runner is None
    assert not (tmp_path / "study.runner.json").exists()
    finish(tmp_path)
    assert study_status(tmp_path).n_done == 7


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def cut_all(path: Path) -> None:
    path.write_bytes(b"")


def overwrite(path: Path) -> None:
    path.write_text("not a table")


def swap(path: Path) -> None:
    shutil.copy(path.with_name(f"{single('uci-b')}.parquet"), path)


def foreign(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"dataset": ["x"]}), path)


@pytest.mark.parametrize("spoil", [truncate, cut_all, overwrite, swap, foreign])
def test_damaged_batches_run_again(
    tmp_path: Path, expected: dict[str, bytes], spoil: Callable[[Path], None]
) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in TASKS:
            keep(store, batch)
    spoil(tmp_path / BATCHES / f"{single('uci-d')}.parquet")
    check_tables(tmp_path, {*TASKS} - {"uci-d"})
    with StudyStore.open(tmp_path, plan()) as store:
        assert store.done() == {*TASKS} - {"uci-d"}
        assert len(store.notes) == 1
        assert f"{single('uci-d')}.parquet is damaged" in store.notes[0]
    assert finish(tmp_path) == expected


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 255
    path.write_bytes(data)


@pytest.mark.parametrize("merge", [False, True])
def test_damage_in_the_middle_of_a_file_is_found_when_it_is_read(
    tmp_path: Path, expected: dict[str, bytes], merge: bool
) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in [*TASKS, *GOIX]:
            keep(store, batch)
        flip(tmp_path / BATCHES / f"{single('uci-d')}.parquet")
        if merge:
            store.compact()
            assert store.done() == {*TASKS, *GOIX} - {"uci-d"}
        with pytest.raises(InvalidInputError, match=f"1 are not: {single('uci-d')}"):
            store.finish()
        assert len(store.notes) == 1
        assert not list(tmp_path.glob("*.parquet"))
    assert finish(tmp_path) == expected


def test_damage_in_the_middle_of_a_merged_file_is_found_at_once(
    tmp_path: Path, expected: dict[str, bytes]
) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in TASKS[:3]:
            keep(store, batch)
        store.compact()
    flip(tmp_path / BATCHES / "all-1.parquet")
    with StudyStore.open(tmp_path, plan()) as store:
        assert store.done() == set()
        assert len(store.notes) == 1
    assert finish(tmp_path) == expected


def test_a_damaged_merged_file_runs_again(tmp_path: Path, expected: dict[str, bytes]) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in TASKS[:3]:
            keep(store, batch)
        store.compact()
        keep(store, TASKS[3])
    truncate(tmp_path / BATCHES / "all-1.parquet")
    with StudyStore.open(tmp_path, plan()) as store:
        assert store.done() == {TASKS[3]}
    assert finish(tmp_path) == expected


def test_damaged_results_are_said_and_written_again(
    tmp_path: Path, expected: dict[str, bytes]
) -> None:
    finish(tmp_path)
    truncate(tmp_path / "results.parquet")
    with pytest.raises(InvalidInputError, match=r"results.parquet is damaged.*run the study again"):
        read_study(tmp_path)
    assert finish(tmp_path) == expected


def test_files_of_no_batch_are_left_alone(tmp_path: Path, expected: dict[str, bytes]) -> None:
    finish(tmp_path)
    (tmp_path / "results.parquet").unlink()
    shutil.copy(tmp_path / "study.json", tmp_path / BATCHES / "other.parquet")
    (tmp_path / BATCHES / ".fastad-0.parquet").touch()
    with StudyStore.open(tmp_path, plan()) as store:
        assert len(store.notes) == 1
        assert "other.parquet" in store.notes[0]
    assert not leftovers(tmp_path)
    assert finish(tmp_path) == expected
    assert (tmp_path / BATCHES / "other.parquet").exists()


def test_a_batch_in_two_files_counts_once(tmp_path: Path, expected: dict[str, bytes]) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in TASKS:
            keep(store, batch)
        # As if killed before they were removed.
        shutil.copytree(tmp_path / BATCHES, tmp_path / "copies")
        store.compact()
        for path in (tmp_path / "copies").iterdir():
            shutil.move(path, tmp_path / BATCHES)
        (tmp_path / "copies").rmdir()
        check_tables(tmp_path, {*TASKS})
        store.compact()
        assert len(list((tmp_path / BATCHES).iterdir())) == 2
        check_tables(tmp_path, {*TASKS})
    assert finish(tmp_path) == expected


def test_a_reader_follows_what_is_merged_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        for batch in TASKS:
            keep(store, batch)
        read = batch_files._read

        def merge_first(*arguments: Any) -> Any:
            monkeypatch.undo()
            store.compact()
            return read(*arguments)

        monkeypatch.setattr(batch_files, "_read", merge_first)
        check_tables(tmp_path, {*TASKS})

        def missed(folder: BatchFolder) -> list[Path]:
            monkeypatch.undo()
            return []

        monkeypatch.setattr(BatchFolder, "files", missed)
        assert BatchFolder(tmp_path / BATCHES, TASKS).read().tasks == {*TASKS}


@pytest.mark.parametrize(
    ("rows", "error", "says"),
    [
        ({}, InvalidInputError, "at least one row"),
        ({"a": []}, InvalidInputError, "at least one row"),
        ({"a": [1], "b": [1, 2]}, InvalidInputError, "1 of a, 2 of b"),
        ({"task": ["x"]}, InvalidInputError, "column 'task'"),
        ([{"a": 1}], TypeError, "must map columns"),
        ({"a": [1, "x"]}, TypeError, r"rows\['a'\]"),
        ({"a": [b"x"]}, TypeError, "found binary"),
        ({"a": [["x"]]}, TypeError, r"rows\['a'\]"),
        ({"other": [1]}, InvalidInputError, "not all have .*other"),
        (rows_of("four") | {"auc": ["high"]}, InvalidInputError, "rows must have the same"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    tmp_path: Path, rows: Any, error: type[Exception], says: str
) -> None:
    with StudyStore.open(tmp_path, plan()) as store:
        keep(store, "uci-a")
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(error, match=says):
            store.save(single("uci-b"), ["uci-b"], rows)
        with pytest.raises(InvalidInputError, match="planned; found 'uci-z'"):
            keep(store, "uci-z")
        with pytest.raises(InvalidInputError, match="done already; found 'uci-a'"):
            keep(store, "uci-a")
        assert sorted(tmp_path.rglob("*")) == before
        assert store.done() == {"uci-a"}
        keep(store, "uci-b")
