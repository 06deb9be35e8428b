"""Results that are kept: their tables, and what happens to damaged files."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastad.errors import InvalidInputError
from fastad.study.files import DamagedFileError, read_table
from fastad.study.results import read_study, study_status
from fastad.study.store import open_store
from tests.support.stored import GOIX, LOG, TASKS, begin, check_tables, finish, keep, plan, rows_of


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return finish(tmp_path_factory.mktemp("expected"))


@settings(max_examples=8)
@given(order=st.permutations([*TASKS, *GOIX]), n_first=st.integers(0, 7))
def test_results_do_not_depend_on_the_order_of_runs(
    expected: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
    order: list[str],
    n_first: int,
) -> None:
    folder, done = tmp_path_factory.mktemp("order"), set[str]()
    for part in (order[:n_first], order[n_first:]):
        with open_store(folder, plan()) as store:
            assert store.done == done
            for batch in part:
                keep(store, batch)
                done.add(batch)
                assert store.done == done
                check_tables(folder, done)
            assert store.notes == []
    assert finish(folder) == expected
    check_tables(folder, done)


def test_types_are_the_same_whatever_single_batches_hold(tmp_path: Path) -> None:
    finish(tmp_path)
    study = read_study(tmp_path)
    assert [str(one) for one in study.tasks.schema.types] == [
        *("string", "string", "int64", "double", "double", "string")
    ]
    assert [str(one.type) for one in study.curves.schema] == [
        *("string", "string", "int64", "list<element: float>", "list<element: float>")
    ]
    assert [str(one) for one in study.extra["goix"].schema.types] == ["string", "double", "string"]
    assert study.tasks["ap"].null_count == 0  # NaN stays what it is
    assert study.manifest == json.loads((tmp_path / "study.json").read_text(encoding="utf-8"))


def test_a_new_study_has_empty_tables(tmp_path: Path) -> None:
    with open_store(tmp_path / "a" / "b", plan()) as store:
        assert store.done == set()
        with pytest.raises(InvalidInputError, match="all 7 batches must be done; 7 are not"):
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
    with open_store(tmp_path, plan()) as store:
        for batch in [*TASKS[:3], GOIX[0]]:
            keep(store, batch)
        status = study_status(tmp_path)
        assert status.runner is not None
        assert f"process {os.getpid()} on " in status.runner
    reasons = [x for batch in TASKS[:3] for x in rows_of(batch)["reason"] if x] + ["no room"]
    assert (status.n_batches, status.n_done) == (7, 4)
    assert status.failures == {reason: reasons.count(reason) for reason in set(reasons)}
    assert study_status(tmp_path).runner is None
    assert not (tmp_path / "study.runner.json").exists()
    finish(tmp_path)
    assert study_status(tmp_path).n_done == 7


def keep_tasks(folder: Path) -> list[bytes]:
    """Do all tasks of the first table; return the lines of the log."""
    with open_store(folder, plan()) as store:
        for batch in TASKS:
            keep(store, batch)
    return (folder / LOG).read_bytes().splitlines(keepends=True)


def test_a_log_that_was_cut_anywhere_goes_on(tmp_path: Path, expected: dict[str, bytes]) -> None:
    """As by a process that is killed while it writes, or a power cut that loses the end."""
    lines = keep_tasks(tmp_path)
    for n, line in enumerate(lines):
        for n_bytes in (0, 1, len(line) // 2, len(line) - 1):
            content = b"".join(lines[:n])
            (tmp_path / LOG).write_bytes(content + line[:n_bytes])
            check_tables(tmp_path, {*TASKS[:n]})
            with open_store(tmp_path, plan()) as store:
                assert store.done == {*TASKS[:n]}
                assert store.notes == []
            assert (tmp_path / LOG).read_bytes() == content
    assert finish(tmp_path) == expected


@pytest.mark.slow
def test_damaged_lines_run_again(tmp_path: Path, expected: dict[str, bytes]) -> None:
    lines = keep_tasks(tmp_path)
    line = lines[2]
    others = {*TASKS} - {TASKS[2]}
    flipped = [line[:i] + bytes([line[i] ^ 1]) + line[i + 1 :] for i in range(len(line) - 1)]
    for damaged in (*flipped, line[:-9] + b"\n", b"\n", b"foreign\n", b"\0" * 9 + b"\n"):
        (tmp_path / LOG).write_bytes(b"".join([*lines[:2], damaged, *lines[3:]]))
        check_tables(tmp_path, others)
        with open_store(tmp_path, plan()) as store:
            assert store.done == others
            (note,) = store.notes
            assert "done.log is damaged: " in note
        begin(tmp_path)
        assert (tmp_path / LOG).read_bytes() == b"".join([*lines[:2], *lines[3:]])
    assert finish(tmp_path) == expected


def test_damage_while_a_runner_works_is_found_when_it_finishes(
    tmp_path: Path, expected: dict[str, bytes]
) -> None:
    with open_store(tmp_path, plan()) as store:
        for batch in [*TASKS, *GOIX]:
            keep(store, batch)
        log = tmp_path / LOG
        log.write_bytes(log.read_bytes().replace(b"A", b"B", 1))
        with pytest.raises(InvalidInputError, match="1 are not"):
            store.finish()
        assert len(store.notes) == 1
        assert not list(tmp_path.glob("*.parquet"))
    assert finish(tmp_path) == expected


def test_damaged_results_are_said_and_written_again(
    tmp_path: Path, expected: dict[str, bytes]
) -> None:
    finish(tmp_path)
    results = tmp_path / "results.parquet"
    results.write_bytes(results.read_bytes()[:-100])
    with pytest.raises(InvalidInputError, match=r"results.parquet is damaged.*run the study again"):
        read_study(tmp_path)
    assert finish(tmp_path) == expected


def test_each_damaged_byte_of_results_is_noticed(
    tmp_path: Path, expected: dict[str, bytes]
) -> None:
    finish(tmp_path)
    results = tmp_path / "results.parquet"
    whole = results.read_bytes()
    key = whole.rfind(b"fastad.crc32")
    # The names and types of columns are at the end, beyond the checksums of pages.
    for i in (*range(0, len(whole), 97), *range(len(whole) - 600, len(whole))):
        damaged = bytearray(whole)
        damaged[i] ^= 0x10
        results.write_bytes(damaged)
        if key <= i < key + len(b"fastad.crc32"):  # which is then a file of an earlier version
            assert read_table(results) is not None
        else:
            with pytest.raises(DamagedFileError, match=r"results\.parquet is damaged"):
                read_table(results)
    assert finish(tmp_path) == expected


def test_results_are_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    lines = keep_tasks(tmp_path)
    tmp_path.chmod(0o555)
    try:
        check_tables(tmp_path, {*TASKS})
        assert study_status(tmp_path).n_done == len(lines)
    finally:
        tmp_path.chmod(0o755)
