"""How the page is arranged: contents, folds, and tables that fit into their cards."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

from fastad._core.text_tables import TextTable
from fastad.benchmarking.matrix import MeasureMatrix
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.study.report.make import make_sections, write_report
from fastad.study.report.page import _MIN_FRACTION, PageTable
from fastad.study.report.sections import (
    Choice,
    Picture,
    Section,
    SectionBuilder,
    SimpleTable,
    Table,
)
from fastad.study.results import NOT_APPLICABLE, StudyTables
from tests.support.pages import Page
from tests.support.report_pages import Cells, small_figure
from tests.support.study_sections import OPTIONS, sections_of
from tests.support.study_tables import CONFIGURATIONS, PROBLEMS, make_study, with_reasons

pytestmark = pytest.mark.system

# Pixels in a window of 1400: of a card; of the widest characters of usual fonts, a digit in bold
# and the widest letter apart, in the type of tables; around the text of a cell.
CARD, DIGIT, AROUND = 1020, 0.636 * 13.44, 16


@pytest.fixture(scope="module")
def study() -> StudyTables:
    return make_study(n_repeats=2, contaminations=(0.0,), curves=False)


@pytest.fixture(scope="module")
def sections(study: StudyTables) -> dict[str, Section]:
    return sections_of(study)


def shown(study: StudyTables, folder: Path, *parts: Table | Picture | Choice) -> Page:
    path = write_report(study, folder, [Section("s", "S", (), parts)])
    return Page(path.read_text("utf-8"))


# Contents.


def test_contents_lead_to_every_section_collection_and_part(
    study: StudyTables, tmp_path: Path
) -> None:
    builder = SectionBuilder("b", "B")
    builder.table("all", "Of all", SimpleTable(("a",), [(1,)]))
    for group in ("uci", "<own>"):
        builder.group = group
        builder.table(f"t{len(group)}", f"Table of {group}", SimpleTable(("a",), [(1,)]))
        builder.parts.append(Picture(f"p{len(group)}", f"P {group}", small_figure, (), group))
    sections = [Section("bare", "Bare"), builder.section()]
    page = Page(write_report(study, tmp_path, sections).read_text("utf-8"))
    links = [str(one["href"])[1:] for one in page.of("a") if str(one["href"]).startswith("#")]
    # The name of a collection leads to the first that is of it.
    assert links == ["bare", "b", "all", "t3", "t3", "p3", "t5", "t5", "p5"]
    for text in ("uci", "<own>", "Table of uci", "P <own>"):
        assert text in page.text


def test_parts_are_of_the_collection_that_they_show(sections: dict[str, Section]) -> None:
    groups = set()
    for section in sections.values():
        for part in section.parts:
            groups.add(part.group)
            if part.group:
                assert part.group in part.title
                assert f"-{part.group}-0" in part.name
    assert groups == {"", *PROBLEMS}


# A click away.


def test_of_picture_and_table_one_is_a_click_away(sections: dict[str, Section]) -> None:
    n = 0
    for section in sections.values():
        drawn = {part.title for part in section.parts if isinstance(part, Picture)}
        tables = [part for part in section.parts if isinstance(part, Table)]
        for part in tables:
            kind = isinstance(part.content, MeasureMatrix | RankComparison)
            if f"{part.title.removesuffix(', as a table')}" in drawn or kind:
                n += 1
                assert part.folded
    assert n > 10
    ranks = next(part for part in sections["ranks"].parts if part.name == "ranks-uci-0")
    assert isinstance(ranks, Table)
    assert not ranks.folded


@pytest.mark.parametrize("folded", [True, False])
def test_folded_tables_are_details(study: StudyTables, tmp_path: Path, folded: bool) -> None:
    table = Table("t", "T", SimpleTable(("a", "b"), [(1, 2)]), folded=folded)
    page = shown(study, tmp_path, table)
    cards = [(tag, one["id"]) for tag, one in page.tags if one.get("class") == "part"]
    assert cards == [("details" if folded else "div", "t")]
    assert page.rows == [["a", "b"], ["1", "2"]]


def test_of_a_choice_all_tables_are_there_and_have_files(
    study: StudyTables, tmp_path: Path
) -> None:
    """A script hides all but one; without it all are shown."""
    builder = SectionBuilder("s", "S")
    contents = {key: SimpleTable(("a", "b"), [(key, i)]) for i, key in enumerate(("auc", "<ap>"))}
    builder.choice("v", "Values", contents, ["auc", "ap"])
    page = shown(study, tmp_path, *builder.section().parts)
    assert page.rows == [["a", "b"], ["auc", "0"], ["a", "b"], ["<ap>", "1"]]
    ids = [(one["class"], one["id"]) for one in page.of("div") if "id" in one]
    assert ids == [("part choice", "v"), ("chosen", "v-auc"), ("chosen", "v-ap")]
    options = [text for text in page.text if text in contents]
    assert len(page.of("option")) == 2
    assert options == ["auc", "<ap>", "auc", "<ap>"]
    # The contents at the side name the choice alone.
    assert [one["href"] for one in page.of("a") if str(one["href"]).startswith("#")] == ["#s", "#v"]
    files = {file.name for file in (tmp_path / "tables").iterdir()}
    assert files == {f"v-{key}{end}" for key in ("auc", "ap") for end in (".csv", ".md", ".tex")}
    assert {str(one["href"]) for one in page.of("a")} >= {f"tables/{name}" for name in files}


@pytest.mark.parametrize(("n", "folded"), [(0, False), (3, False), (4, True)])
def test_many_notes_are_a_click_away(
    study: StudyTables, tmp_path: Path, n: int, folded: bool
) -> None:
    notes = [f"note {i}" for i in range(n)]
    table = Cells(TextTable(["a"], [["b"]]), notes)
    page = shown(study, tmp_path, Table("t", "T", table))
    assert [text for text in page.text if text.startswith("note ")] == notes
    assert any(one.get("class") == "more" for one in page.of("details")) == folded


# Widths.


CELL = st.text("0123456789.", min_size=1, max_size=14)


@given(st.data())
def test_tables_fit_into_their_cards_whole(data: st.DataObject) -> None:
    n_columns, n_rows = data.draw(st.integers(1, 30)), data.draw(st.integers(0, 3))
    n_words = data.draw(st.integers(0, 2))
    cells = [
        [
            *(f"{'word ' * data.draw(st.integers(1, 12))}{i}" for _ in range(n_words)),
            *data.draw(st.lists(CELL, min_size=n_columns, max_size=n_columns)),
        ]
        for i in range(n_rows)
    ]
    heads = [f"head {i}" for i in range(n_words + n_columns)]
    table = PageTable(TextTable(heads, cells))
    seen = []
    for block_heads, rows in table.blocks:
        names = [head for head, _ in block_heads]
        seen += [name for name in names if name not in seen]
        width = 0.0
        for i, (_, style) in enumerate(block_heads):
            longest = max((len(row[i][0]) for row in rows), default=0)
            # Prose has lines that break, and 13 em of its own.
            width += 13 * 16 + AROUND if "prose" in style else longest * DIGIT + AROUND
        assert width <= CARD or len(names) <= 2
        # Each block says what its rows are.
        assert names[0] == heads[0]
        by_name = {name: heads.index(name) for name in names}
        for row, whole in zip(rows, cells, strict=True):
            assert [cell for cell, _ in row] == [whole[i] for i in by_name.values()]
    assert seen == heads


def test_narrow_tables_are_one() -> None:
    table = PageTable(TextTable(["a", "b"], [["x", "0.5"]]))
    assert len(table.blocks) == 1


# Type.


def test_type_of_all_pictures_can_be_read() -> None:
    made = make_sections(make_study(n_repeats=2, contaminations=(0.0,)), **OPTIONS)
    sizes: dict[float, str] = {}
    for part in (part for section in made for part in section.parts):
        if isinstance(part, Picture) and ("uci-0" in part.name or part.group == "uci"):
            figure = part.draw()
            figure.canvas.draw()
            for text in figure.findobj(Text):
                if text.get_visible() and text.get_text().strip():
                    sizes[float(text.get_fontsize())] = part.name
    assert len(sizes) > 3
    # Pixels of the smallest, in a picture that was made smaller for lack of room.
    smallest = min(sizes)
    assert smallest * 96 / 72 * _MIN_FRACTION >= 9, sizes[smallest]


# What a table lacks.


def test_what_a_table_has_no_values_of_is_named_below_it(study: StudyTables) -> None:
    few = f"{NOT_APPLICABLE}too few rows"
    rows = study.tasks.to_pylist()
    reasons = [
        "broken"
        if row["detector"] == "LOF" and row["collection"] == "uci"
        else few
        if row["params"] == "gamma=0.1, nu=0.5"
        else "once"
        if row["repeat"] == 1 and row["detector"] == "kNN"
        else ""
        for row in rows
    ]
    sections = sections_of(with_reasons(study, reasons))
    start = "without any value, as every task failed or was not applicable: "
    for name in ("values", "ranks", "correlation", "selection", "recommendation", "distance"):
        tables = [
            table
            for part in sections[name].parts
            for table in (part.tables.values() if isinstance(part, Choice) else [part])
            if isinstance(table, Table) and table.name[:14] != "selection-mean"
        ]
        assert tables
        for part in tables:
            lacking = "LOF, " * (part.group == "uci") + "OCSVM gamma=0.1, nu=0.5"
            assert part.notes == [f"{start}{lacking}"]
    # In all collections: those without values have a dash.
    (leaders,) = (part for part in sections["answer"].parts if part.name == "leaders-auc")
    assert isinstance(leaders, Table)
    by_detector = {row[0]: row for row in leaders.content.text_table().rows}
    assert by_detector["LOF"][2] == "-"
    assert {name for name, _ in CONFIGURATIONS} == {*by_detector}


def test_nothing_is_named_where_all_have_values(study: StudyTables) -> None:
    whole = sections_of(with_reasons(study, [""] * study.tasks.num_rows))
    tables = [part for one in whole.values() for part in one.parts if isinstance(part, Table)]
    assert tables
    assert not any(part.notes for part in tables)


def test_further_notes_are_in_the_files_too(study: StudyTables, tmp_path: Path) -> None:
    for content in (SimpleTable(("a",), [(1,)]), SimpleTable(("a",), [(1,)], ["first"])):
        page = shown(study, tmp_path, Table("t", "T", content, ["second"]))
        assert "second" in page.text
        assert (tmp_path / "tables" / "t.md").read_text().endswith("\n- second\n")
        assert (tmp_path / "tables" / "t.tex").read_text().endswith("\n% second\n")
        notes = (tmp_path / "tables" / "t.md").read_text().partition("\n\n")[2]
        assert notes == "".join(f"- {note}\n" for note in [*content.notes, "second"])


def test_marks_stay_with_their_cells() -> None:
    marks = (np.arange(40).reshape(2, 20) % 4).tolist()
    heads = ["a", *(f"h{i}" for i in range(20))]
    rows = [["r", *["0.12345"] * 20] for _ in range(2)]
    blocks = PageTable(TextTable(heads, rows, marks)).blocks
    assert len(blocks) > 1
    for block_heads, block_rows in blocks:
        for row, own in zip(block_rows, marks, strict=True):
            for (head, _), (_, style) in list(zip(block_heads, row, strict=True))[1:]:
                mark = own[int(head[1:])]
                assert style == (f"p{mark}" if mark else "")
