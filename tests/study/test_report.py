"""The page of a study's report."""

import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image

from fastad._core.text_tables import TextTable
from fastad.plot.drawing import COLOURS
from fastad.study.report import make
from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.make import make_sections, write_report
from fastad.study.report.page import PageTable
from fastad.study.report.sections import Choice, Part, Picture, Section, Table
from fastad.study.results import StudyTables
from tests.support.pages import Page
from tests.support.report_pages import HOSTILE, SMALL, Cells, image_of, small_figure
from tests.support.study_sections import SECTIONS
from tests.support.study_tables import make_study


def with_small_figures(section: Section) -> list[Part]:
    """Return the parts of a section, with pictures that take no time."""
    return [
        replace(part, draw=small_figure) if isinstance(part, Picture) else part
        for part in section.parts
    ]


# The page.


@pytest.mark.slow
def test_ids_are_unique_and_links_lead_somewhere(page: Page, written: Path) -> None:
    ids = [str(one["id"]) for _, one in page.tags if "id" in one]
    assert {"first", "bare", "mute", "ranks", "map", "curves", "curves-uci-cardio"} <= {*ids}
    assert [name for name, n in Counter(ids).items() if n > 1] == []
    addresses = [str(one["href"]) for one in page.of("a")]
    linked = {written.parent / unquote(one) for one in addresses if not one.startswith("#")}
    assert {one[1:] for one in addresses if one.startswith("#")} <= {*ids}
    # Every file is linked, and every link is a file.
    assert linked == {one for one in written.parent.rglob("*.*") if one != written}
    labels = [one["aria-labelledby"] for _, one in page.tags if "aria-labelledby" in one]
    assert labels
    assert {*labels} <= {*ids}


@pytest.mark.slow
def test_page_asks_for_nothing_else(page: Page, written: Path) -> None:
    assert not re.search(r"https?:|@import|url\(|<script|<link|<iframe", written.read_text("utf-8"))
    assert page.of("img")
    for image in page.of("img"):
        assert str(image["src"]).startswith("data:image/png;base64,")


@pytest.mark.slow
def test_headings_go_down_one_by_one(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_what_users_named_is_text(page: Page, written: Path) -> None:
    assert "<b>" not in written.read_text("utf-8")
    # Contents and heading of the section, contents and title of the picture, cell.
    assert page.text.count(HOSTILE) == 5
    assert f"words of {HOSTILE}" in page.text
    assert HOSTILE in [image["alt"] for image in page.of("img")]


def test_pictures_have_texts_and_their_sizes(page: Page) -> None:
    images = page.of("img")
    assert images
    for image in images:
        assert image["alt"]
        size = np.array([int(str(image[side])) for side in ("width", "height")])
        with Image.open(io.BytesIO(image_of(image))) as seen:
            # 96 pixels an inch on the screen; files have more.
            np.testing.assert_allclose(seen.size, size * 110 / 96, atol=1)
        least = re.fullmatch(r"min-width: (\d+)px", str(image["style"]))
        assert least is not None
        assert 0.8 * size[0] < int(least[1]) < size[0]


def test_pictures_keep_the_colours_of_lines(small_study: StudyTables, tmp_path: Path) -> None:
    def draw() -> Figure:
        figure = Figure(figsize=(6, 4))
        axes = figure.subplots()
        for i, colour in enumerate(COLOURS):
            axes.plot(np.arange(200), np.sin(np.arange(200) / 9 + i), color=colour, linewidth=1.5)
        axes.grid(alpha=0.25)
        return figure

    parts = [Picture("lines", "Lines", draw)]
    path = write_report(small_study, tmp_path, [Section("one", "One", (), parts)])
    (image,) = Page(path.read_text("utf-8")).of("img")
    whole = (tmp_path / "figures" / "lines.png").read_bytes()
    few = image_of(image)
    assert len(few) < 0.6 * len(whole)
    pixels, kept = (np.asarray(Image.open(io.BytesIO(one)).convert("RGB")) for one in (whole, few))
    pixels, kept = pixels.reshape(-1, 3).astype(int), kept.reshape(-1, 3).astype(int)
    for colour in ("#ffffff", *COLOURS):
        same = np.all(pixels == np.array(to_rgb(colour)) * 255, axis=1)
        assert same.sum() > 50
        np.testing.assert_array_equal(kept[same], pixels[same])
    assert np.abs(kept - pixels).max() < 60


def test_best_three_are_marked_and_heads_are_heads(page: Page) -> None:
    heads = page.of("th")
    assert {one["scope"] for one in heads} == {"col", "row"}
    # Places of the first table, row by row, and a column of words.
    styles = [one.get("class") for one in page.of("td")]
    assert styles == ["p1", None, None, "p2", "p3", None, "words"]


@given(st.data())
def test_places_are_shown_as_they_are(data: st.DataObject) -> None:
    n_rows, n_columns = data.draw(st.integers(0, 4)), data.draw(st.integers(1, 4))
    places = np.array(data.draw(st.lists(st.integers(0, 3), min_size=16, max_size=16)))
    places = places.reshape(4, 4)[:n_rows, :n_columns]
    rows = [["name", *["0.5"] * n_columns] for _ in range(n_rows)]
    text = TextTable(["a"] * (n_columns + 1), rows, places.tolist())
    shown = [[style for _, style in row[1:]] for row in PageTable(text).rows]
    assert shown == [[f"p{place}" if place else "" for place in row] for row in places]


@pytest.mark.parametrize(("n", "scrolls"), [(25, False), (26, True)])
def test_long_tables_scroll(
    small_study: StudyTables, tmp_path: Path, n: int, scrolls: bool
) -> None:
    table = Cells(TextTable(["row"], [[str(i)] for i in range(n)]))
    parts = [Table("rows", "Rows", table)]
    result = Page(
        write_report(small_study, tmp_path, [Section("a", "A", (), parts)]).read_text("utf-8")
    )
    (style,) = (one["class"] for one in result.of("div") if "wide" in str(one.get("class")))
    assert style == ("wide long" if scrolls else "wide")
    assert len(result.rows) == 1 + n


def test_heads_break_where_their_rates_begin(small_study: StudyTables, tmp_path: Path) -> None:
    table = Cells(TextTable(["measure", "auc@<0.05>"], [["a@b", "0.5"]]))
    path = write_report(small_study, tmp_path, [Section("a", "A", (), [Table("t", "T", table)])])
    assert "auc@<wbr>&lt;0.05&gt;" in path.read_text("utf-8")
    assert Page(path.read_text("utf-8")).rows == [["measure", "auc@<0.05>"], ["a@b", "0.5"]]


def test_sections_without_parts_are_there(page: Page) -> None:
    assert [one["id"] for one in page.of("section")] == [
        *("first", "bare", "mute", "curves", "scores")
    ]
    assert "Missing: everything." in page.text


@pytest.mark.parametrize(
    ("cells", "style"),
    [
        ([], ""),
        (["0.5", "-", "1e-05", ""], ""),
        (["0.71 ± 0.1", "[-1.00, ∞]", "5 %", "< 0.001"], ""),
        (["5969.5 of 8027 (74.4 %)", "-", "2 of 4"], ""),
        (["[1e-05, 2.5e+03]"], ""),
        (["2 often 4"], "words"),
        (["e-05"], "words"),
        (["1" * 50_000 + "x"], "words prose"),
        (["0.5", "kNN"], "words"),
        (["NaN"], "words"),
        (["n_estimators=100, score=a"], "words prose"),
    ],
)
def test_columns_of_words_stand_to_the_left(cells: Sequence[str], style: str) -> None:
    text = TextTable(["name", "head"], [["a", cell] for cell in cells])
    result = PageTable(text)
    assert result.heads[1] == ("head", style)
    assert [row[1] for row in result.rows] == [(cell, style) for cell in cells]


@pytest.mark.parametrize(("n", "folded"), [(12, 0), (13, 13)])
def test_many_pictures_are_folded(
    small_study: StudyTables, tmp_path: Path, n: int, folded: int
) -> None:
    # Nothing is drawn: how many there are counts.
    pictures = [Picture(f"p{i}", f"P {i}", lambda: Figure((1, 1))) for i in range(n)]
    path = write_report(small_study, tmp_path, [Section("many", "Many", (), pictures)])
    result = Page(path.read_text("utf-8"))
    assert sum(one.get("class") == "part" for one in result.of("details")) == folded
    assert [one["loading"] for one in result.of("img")] == ["lazy"] * n


def test_summary_counts(page: Page, small_study: StudyTables) -> None:
    n_failed = sum(bool(reason) for reason in small_study.tasks["reason"].to_pylist())
    assert n_failed > 0
    # Problems, contaminations, repeats, configurations; goix's data sets, settings, detectors.
    n_tasks = 4 * 2 * 2 * 15 + 4 * 2 * 3
    assert (
        f"3 data sets, 4 problems, 15 configurations of detectors, {n_tasks} tasks done, of which "
        f"{n_failed} failed." in page.text
    )


def test_summary_says_what_is_not_done(tmp_path: Path) -> None:
    study = make_study(problems=SMALL, n_missing=3, failures=False, curves=False)
    text = "".join(Page(write_report(study, tmp_path, []).read_text("utf-8")).text)
    assert "failed" not in text
    assert f"; {study.n_done} of {study.n_batches} batches are done so far." in text


def test_study_without_anything_has_a_page(small_study: StudyTables, tmp_path: Path) -> None:
    empty = replace(
        small_study,
        tasks=small_study.tasks.slice(0, 0),
        curves=small_study.curves.slice(0, 0),
        n_done=0,
    )
    sections = [curves_section(empty), scores_section(empty)]
    assert [one.parts for one in sections] == [(), ()]
    result = Page(write_report(empty, tmp_path, sections).read_text("utf-8"))
    assert result.text.count("The study has no curves.") == 2
    assert Page(write_report(empty, tmp_path, []).read_text("utf-8")).of("section") == []


def test_progress_names_sections_as_they_are_reached(
    small_study: StudyTables, tmp_path: Path
) -> None:
    seen: list[str] = []

    def sections() -> Any:
        for i in range(3):
            assert len(seen) == i
            yield Section(f"s{i}", f"S {i}")

    write_report(small_study, tmp_path, sections(), progress=seen.append)
    assert seen == ["S 0", "S 1", "S 2"]


@pytest.mark.slow
def test_titles_are_no_formulas(tmp_path: Path) -> None:
    problems = {"uci": {"$x^{": (None,), "_y": (None,)}}
    study = make_study(
        problems=problems, n_repeats=1, contaminations=(0.0,), failures=False, goix=False
    )
    sections = [curves_section(study), scores_section(study)]
    for section in sections:
        for part in section.parts:
            assert isinstance(part, Picture)
            figure = part.draw()
            figure.canvas.draw()
            assert part.title in figure.texts[0].get_text().replace("\\", "")
    path = write_report(
        study, tmp_path, [replace(one, parts=with_small_figures(one)) for one in sections]
    )
    assert "$x^{ (uci)" in Page(path.read_text("utf-8")).text


# Whole reports.


HOSTILE_NAMES: dict[str, Any] = {
    "problems": {
        '<b>&"c': {"../x": ("</td>", "{{ 1 }}"), '<script>"': (None,)},
        "<B>": {"%2e": (None,)},
    },
    "configurations": (
        *(("<i>k", 'p="1" & <2>'), ("LOF", "k=1"), ("LOF", "k=2")),
        ("\u202eOC", "g=\n"),
    ),
}


@pytest.mark.slow
def test_no_name_of_a_study_leaves_its_place(tmp_path: Path) -> None:
    study = make_study(**HOSTILE_NAMES, n_repeats=2, contaminations=(0.0,), goix=False)
    sections = list(make_sections(study, n_resamples=10))
    # As many pictures as there are, but small ones.
    plain = [replace(one, parts=with_small_figures(one)) for one in sections]
    path = write_report(study, tmp_path / "report", plain)
    text = path.read_text("utf-8")
    result = Page(text)
    assert {one.name for one in tmp_path.iterdir()} == {"report"}
    assert {one.name for one in path.parent.iterdir()} == {"figures", "tables", path.name}
    assert not {tag for tag, _ in result.tags} & {"b", "i"}
    # Its own, which chooses among tables.
    assert len(result.of("script")) == 1
    ids = [str(one["id"]) for _, one in result.tags if "id" in one]
    assert len({*ids}) == len(ids)
    for link in result.of("a"):
        address = str(link["href"])
        if not address.startswith("#"):
            assert re.fullmatch(r"(tables|figures)/[A-Za-z0-9._-]+", address)
            assert (tmp_path / "report" / address).is_file()
    parts = [part for one in plain for part in one.parts]
    n_tables = sum(
        len(part.tables) if isinstance(part, Choice) else isinstance(part, Table) for part in parts
    )
    assert n_tables > 10
    assert len([*(path.parent / "tables").iterdir()]) == 3 * n_tables
    shown = "".join(result.text)
    for name in ('<b>&"c', "../x", '<script>"', "<i>k", 'p="1" & <2>'):
        assert name in shown


def test_report_of_a_study_that_has_only_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = make_study(problems=SMALL, goix=False)
    nothing = replace(
        whole, tasks=whole.tasks.slice(0, 0), curves=whole.curves.slice(0, 0), n_done=0
    )
    monkeypatch.setattr(make, "read_study", lambda folder: nothing)
    seen: list[str] = []
    path = make.make_report(tmp_path, n_resamples=10, progress=seen.append)
    assert path == tmp_path / "report" / "index.html"
    result = Page(path.read_text("utf-8"))
    assert [one["id"] for one in result.of("section")] == [*SECTIONS, "curves", "scores", "made"]
    assert len(seen) == len(SECTIONS) + 3
    assert not result.of("img")
    assert f"0 tasks done; 0 of {nothing.n_batches} batches are done so far." in "".join(
        result.text
    )
