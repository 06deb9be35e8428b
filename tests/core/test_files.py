"""Files are replaced whole or not at all."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from fastad._core.files import written_aside


@pytest.mark.parametrize("before", ["old", None])
def test_readers_see_the_old_file_until_the_new_one_is_whole(
    tmp_path: Path, before: str | None
) -> None:
    path = tmp_path / "out.csv"
    if before is not None:
        path.write_text(before)
    with path.open() if before else nullcontext() as reader:
        with written_aside(path) as aside:
            aside.write_text("new")
            assert (path.read_text() if path.exists() else None) == before
        assert reader is None or reader.read() == before
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("before", ["old", None])
def test_after_a_failure_nothing_has_changed(
    tmp_path: Path, before: str | None, error: type[BaseException]
) -> None:
    path = tmp_path / "out.csv"
    if before is not None:
        path.write_text(before)

    def fail(aside: Path) -> None:
        aside.write_text("half")
        raise error

    with pytest.raises(error), written_aside(path) as aside:
        fail(aside)
    assert [x.read_text() for x in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_folder_in_the_way_stays_and_nothing_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.mkdir()
    with pytest.raises(OSError), written_aside(path) as aside:  # noqa: PT011 - it varies by system
        aside.write_text("new")
    assert path.is_dir()
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_missing_folder_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), written_aside(tmp_path / "no" / "out.csv"):
        pytest.fail("there is no folder to write to")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["out.json", "out.csv", "ünï 中.png"])
def test_the_file_aside_has_the_ending_and_the_folder_of_the_result(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    with written_aside(path) as aside:
        assert aside.parent == tmp_path
        assert aside.suffix == path.suffix
        assert aside != path
        aside.touch()
    assert os.listdir(tmp_path) == [name]


def test_two_writers_do_not_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with written_aside(path) as first, written_aside(path) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    # The outer one ends last.
    assert path.read_text() == "first"
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_path_without_a_folder_is_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with written_aside(Path("out.csv")) as aside:
        aside.write_text("new")
    assert (tmp_path / "out.csv").read_text() == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002, 0o000])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with written_aside(tmp_path / "out.csv") as aside:
            aside.write_text("new")
        (tmp_path / "plain").touch()
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    modes = {x.name: x.stat().st_mode & 0o777 for x in tmp_path.iterdir()}
    assert modes == {"out.csv": 0o666 & ~mask, "plain": 0o666 & ~mask}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
def test_nobody_else_reads_the_file_before_it_is_whole(tmp_path: Path) -> None:
    with written_aside(tmp_path / "out.csv") as aside:
        assert aside.stat().st_mode & 0o077 == 0
