"""The files of a study's report: whole, the same every time, and none of an earlier report."""

import csv
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import fastad
from fastad.study.report import make
from fastad.study.report.make import write_report
from fastad.study.report.page import _template
from fastad.study.report.sections import Picture, Section, Table
from fastad.study.results import StudyTables
from tests.support.pages import Page
from tests.support.pictures import PDF_FONTS
from tests.support.report_pages import contents, made_up, small_figure


def test_tables_have_three_files_with_the_cells_of_the_page(page: Page, written: Path) -> None:
    tables = [part for one in made_up() for part in one.parts if isinstance(part, Table)]
    folder = written.parent / "tables"
    assert {one.name for one in folder.iterdir()} == {
        f"{table.name}{ending}" for table in tables for ending in (".csv", ".md", ".tex")
    }
    shown = iter(page.rows)
    for table in tables:
        content = table.content.text_table()
        cells = [list(content.header), *map(list, content.rows)]
        assert [next(shown) for _ in cells] == cells
        with (folder / f"{table.name}.csv").open(encoding="utf-8", newline="") as file:
            assert [*csv.reader(file)] == cells
        assert (folder / f"{table.name}.md").read_text("utf-8") == table.content.to_markdown()
        assert (folder / f"{table.name}.tex").read_text("utf-8") == table.content.to_latex()
    assert next(shown, None) is None


def test_pictures_have_a_file_of_each_kind(page: Page, written: Path) -> None:
    figures = written.parent / "figures"
    starts = {".png": b"\x89PNG\r\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}
    for file in figures.iterdir():
        assert file.read_bytes().startswith(starts[file.suffix])
    names = Counter(one.stem for one in figures.iterdir())
    assert {*names.values()} == {len(starts)}
    assert len(names) == len(page.of("img")) == 1 + 2


@pytest.mark.slow
def test_pdf_has_fonts_that_editors_read(
    small_study: StudyTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "_PDF_FONTS", PDF_FONTS)
    section = Section("s", "S", (), [Picture("one", "One", small_figure)])
    written = []
    for name in ("a", "b"):
        page = write_report(small_study, tmp_path / name, [section])
        written.append((page.parent / "figures" / "one.pdf").read_bytes())
    assert b"/CIDFontType2" in written[0]
    assert b"/Type3" not in written[0]
    assert written[0] == written[1]


@pytest.mark.evidence
def test_same_study_same_bytes(
    small_study: StudyTables, page_sections: list[Section], written: Path, tmp_path: Path
) -> None:
    """On top of an earlier one, too, of which no file is kept."""
    again = tmp_path / "again"
    shutil.copytree(written.parent, again)
    for file in again.rglob("*.*"):
        file.write_bytes(file.read_bytes() + b"earlier")
    write_report(small_study, again, page_sections)
    assert contents(again) == contents(written.parent)


def fails(*_: object) -> Any:
    raise OSError(28, "No space left on device")


def failing_figure() -> Figure:
    figure = small_figure()

    def half(file: Path, **_: object) -> None:
        file.write_bytes(b"half")
        fails()

    figure.savefig = half  # type: ignore[method-assign,assignment]
    return figure


def interrupted() -> Iterator[Section]:
    """Yield some sections, after which Ctrl-C comes."""
    yield from made_up()
    raise KeyboardInterrupt


FAILING: dict[str, Callable[[], Any]] = {
    "picture": lambda: [*made_up(), Section("s", "S", (), [Picture("b", "B", failing_figure)])],
    "section": lambda: map(fails, [1]),
    "interrupt": interrupted,
}


@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize("first", [True, False])
def test_a_report_that_fails_changes_nothing(
    small_study: StudyTables, tmp_path: Path, kind: str, first: bool
) -> None:
    if not first:
        write_report(small_study, tmp_path, [Section("old", "Old"), *made_up()[:1]])
        # So that a file that was written anew would be seen.
        (tmp_path / "tables" / "ranks.csv").write_text("mine")
    before = contents(tmp_path)
    with pytest.raises((OSError, KeyboardInterrupt)):
        write_report(small_study, tmp_path, FAILING[kind]())
    assert contents(tmp_path) == before
    assert {one.name for one in tmp_path.iterdir()} <= {"tables", "figures", "index.html"}


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no locks")
def test_what_a_killed_report_left_is_removed(small_study: StudyTables, tmp_path: Path) -> None:
    left: list[Path] = []

    def sections() -> Iterator[Section]:
        (aside,) = tmp_path.glob(".fastad-report-*")
        left.append(aside)
        yield from made_up()[:1]

    write_report(small_study, tmp_path, sections())
    (left[0] / "tables").mkdir(parents=True)
    (left[0] / "tables" / "half.csv").touch()
    write_report(small_study, tmp_path, made_up()[:1])
    assert list(tmp_path.glob(".fastad*")) == []


def test_a_disk_that_is_full_while_texts_are_written_changes_nothing(
    small_study: StudyTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(small_study, tmp_path, made_up()[:1])
    before = contents(tmp_path)
    write = Path.write_text

    def half(path: Path, text: str, **options: Any) -> int:
        if path.suffix == ".tex":
            write(path, text[: len(text) // 2], **options)
            raise OSError(28, "No space left on device")
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", half)
    with pytest.raises(OSError, match="No space left"):
        write_report(small_study, tmp_path, made_up())
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_files_of_an_earlier_report_are_removed_and_no_others(
    small_study: StudyTables, tmp_path: Path
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    sections = [Section("a", "A", (), [Picture("map", "Map", small_figure)])]
    write_report(small_study, new, sections)
    gone = [Picture(f"gone-{i}", "Gone", small_figure) for i in range(3)]
    write_report(small_study, old, [*made_up(), Section("b", "B", (), gone)])
    assert {"figures/gone-0.png", "tables/ranks.csv"} <= contents(old).keys()
    own = {
        **{f"{kind}/mine{end}": b"x" for kind in ("tables", "figures") for end in (".csv", ".png")},
        "notes.txt": b"y",
    }
    for name, text in own.items():
        (old / name).write_bytes(text)
    # A page names only what is in the two folders.
    page = old / "index.html"
    links = 'href="tables/../notes.txt" href="notes.txt" href="tables/gone.csv"'
    page.write_text(page.read_text("utf-8") + links, "utf-8")
    write_report(small_study, old, sections)
    assert contents(old) == {**contents(new), **own}


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_libraries_that_are_not_installed_are_named(
    small_study: StudyTables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    _template.cache_clear()
    with pytest.raises(fastad.errors.MissingExtraError, match=rf"{library}.*'\.\[study\]'"):
        write_report(small_study, tmp_path / "new", made_up())
    # What the page itself needs is missed before any work.
    assert (tmp_path / "new").exists() == (library == "matplotlib")
    assert not (tmp_path / "new" / "index.html").exists()


def test_folder_that_is_a_file_is_an_os_error(small_study: StudyTables, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OSError, match="taken"):
        write_report(small_study, tmp_path / "taken", made_up())
    assert (tmp_path / "taken").read_text() == "mine"
