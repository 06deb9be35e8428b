"""The page of a study's report, the files beside it, and the sections of curves."""

import base64
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

import fastad
from fastad._tables import TextTable
from fastad.comparison.tabular import Tabular
from fastad.study.report.curve_pictures import DetectorCurves, draw_curves, draw_scores
from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.page import PageTable
from fastad.study.report.parts import Part, Picture, Section, Table
from fastad.study.report.write import write_report
from fastad.study.tables import StudyTables
from tests import study_tables
from tests.study_tables import make_study

HOSTILE = '<b>"R&D"</b> \\{{ 1 }}'
VOID = {"meta", "img", "br", "hr", "link", "input"}
SMALL = {"uci": {"cardio": ("5", "8"), "wine": (None,)}, "adbench": {"wide": (None,)}}


@dataclass(frozen=True, slots=True)
class Cells(Tabular):
    """A table of given cells."""

    table: TextTable
    notes: Sequence[str] = ()

    def text_table(self) -> TextTable:
        return self.table

    def remarks(self) -> list[str]:
        return list(self.notes)

    def to_columns(self) -> dict[str, list[Any]]:
        return dict(
            zip(self.table.header, map(list, zip(*self.table.rows, strict=True)), strict=True)
        )


class Page(HTMLParser):
    """A page that was read: its tags must be balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def small_figure() -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.subplots().plot([0, 1], [1, 0])
    return figure


def made_up() -> list[Section]:
    places = [[1, 0], [0, 2], [3, 0]]
    rows = [["kNN", "0.91", "-"], [HOSTILE, "0.5", "1e-05"], ["µ ± ∞", "0.70", "50 %"]]
    table = Cells(TextTable(["detector", "auc", "mv"], rows, places), ["left out: <none>"])
    words = Cells(TextTable(["what", "why"], [["a", "it has words"]]))
    parts: list[Part] = [
        Table("ranks", "Ranks & places", table),
        Picture("map", HOSTILE, small_figure, ["a note"]),
        Table("plain", "Words", words),
    ]
    return [
        Section("first", HOSTILE, [f"words of {HOSTILE}"], parts),
        Section("bare", "Nothing found", ["Missing: everything."]),
        Section("mute", "No words"),
    ]


@pytest.fixture(scope="module")
def study() -> StudyTables:
    return make_study(problems=SMALL, n_repeats=2, contaminations=(0.0, 0.05))


@pytest.fixture(scope="module")
def written(study: StudyTables, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    sections = [*made_up(), curves_section(study), scores_section(study)]
    return write_report(study, folder / "new" / "report", sections)


@pytest.fixture(scope="module")
def page(written: Path) -> Page:
    return Page(written.read_text("utf-8"))


# --- the page


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


def test_page_asks_for_nothing_else(page: Page, written: Path) -> None:
    assert not re.search(r"https?:|@import|url\(|<script|<link|<iframe", written.read_text("utf-8"))
    assert page.of("img")
    for image in page.of("img"):
        assert str(image["src"]).startswith("data:image/png;base64,")


def test_headings_go_down_one_by_one(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_what_users_named_is_text(page: Page, written: Path) -> None:
    assert "<b>" not in written.read_text("utf-8")
    assert page.text.count(HOSTILE) == 4  # contents, heading, title of the picture, cell
    assert f"words of {HOSTILE}" in page.text
    assert HOSTILE in [image["alt"] for image in page.of("img")]


def test_pictures_have_texts_and_their_sizes(page: Page) -> None:
    for image in page.of("img"):
        assert image["alt"]
        content = base64.b64decode(str(image["src"]).partition(",")[2])
        with Image.open(io.BytesIO(content)) as seen:
            assert [image["width"], image["height"]] == [str(n) for n in seen.size]


def test_best_three_are_marked_and_heads_are_heads(page: Page) -> None:
    heads = page.of("th")
    assert {one["scope"] for one in heads} == {"col", "row"}
    assert Counter(one.get("class") for one in page.of("td")) == {
        **{None: 3, "p1": 1, "p2": 1, "p3": 1},
        "words": 1,
    }


def test_sections_without_parts_are_there(page: Page) -> None:
    assert [one["id"] for one in page.of("section")] == [
        *("first", "bare", "mute", "curves", "scores")
    ]
    assert "Missing: everything." in page.text


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["0.5", "-", "1e-05", ""], False),
        (["0.71 ± 0.1", "[-1.00, ∞]", "5 %", "< 0.001"], False),
        (["0.5", "kNN"], True),
        (["NaN"], True),
    ],
)
def test_columns_of_words_stand_to_the_left(cells: Sequence[str], words: bool) -> None:
    text = TextTable(["name", "head"], [["a", cell] for cell in cells])
    (_, style) = PageTable("a", "A", text, (), {}).heads[1]
    assert (style == "words") == words


@pytest.mark.parametrize(("n", "folded"), [(12, 0), (13, 13)])
def test_many_pictures_are_folded(study: StudyTables, tmp_path: Path, n: int, folded: int) -> None:
    pictures = [Picture(f"p{i}", f"P {i}", small_figure) for i in range(n)]
    path = write_report(study, tmp_path, [Section("many", "Many", (), pictures)])
    found = Page(path.read_text("utf-8"))
    assert len(found.of("details")) == folded
    assert [one["loading"] for one in found.of("img")] == ["lazy"] * n


def test_summary_counts(page: Page, study: StudyTables) -> None:
    n_failed = sum(bool(reason) for reason in study.tasks["reason"].to_pylist())
    assert n_failed > 0
    n_tasks = 4 * 2 * 2 * 15  # problems, contaminations, repeats, configurations
    assert (
        f"3 data sets, 4 problems, 15 configurations of detectors, {n_tasks} tasks done, of which "
        f"{n_failed} failed." in page.text
    )


def test_summary_says_what_is_not_done(tmp_path: Path) -> None:
    study = make_study(problems=SMALL, n_missing=3, failures=False, curves=False)
    text = "".join(Page(write_report(study, tmp_path, []).read_text("utf-8")).text)
    assert "failed" not in text
    assert f"; {study.n_done} of {study.n_batches} batches are done so far." in text


# --- files


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


def test_pictures_have_two_files(page: Page, written: Path) -> None:
    figures = written.parent / "figures"
    for picture in (part["id"] for part in page.of("div") if part.get("class") == "part"):
        if (figures / f"{picture}.png").exists():
            assert (figures / f"{picture}.svg").read_text("utf-8").startswith("<?xml")
    names = Counter(one.stem for one in figures.iterdir())
    assert {*names.values()} == {2}
    assert len(names) == len(page.of("img")) == 1 + 2 * 3


def contents(folder: Path) -> Mapping[str, bytes]:
    return {
        str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()
    }


def test_same_study_same_bytes(study: StudyTables, written: Path, tmp_path: Path) -> None:
    sections = [*made_up(), curves_section(study), scores_section(study)]
    again = write_report(study, tmp_path, sections).parent
    assert contents(again) == contents(written.parent)
    # On top of an earlier one, too.
    write_report(study, tmp_path, sections)
    assert contents(again) == contents(written.parent)


def test_study_without_anything_has_a_page(study: StudyTables, tmp_path: Path) -> None:
    empty = replace(study, tasks=study.tasks.slice(0, 0), curves=study.curves.slice(0, 0), n_done=0)
    sections = [curves_section(empty), scores_section(empty)]
    assert [one.parts for one in sections] == [(), ()]
    found = Page(write_report(empty, tmp_path, sections).read_text("utf-8"))
    assert found.text.count("The study has kept no curves.") == 2
    assert Page(write_report(empty, tmp_path, []).read_text("utf-8")).of("section") == []


def test_progress_names_sections_as_they_are_reached(study: StudyTables, tmp_path: Path) -> None:
    seen: list[str] = []

    def sections() -> Any:
        for i in range(3):
            assert len(seen) == i
            yield Section(f"s{i}", f"S {i}")

    write_report(study, tmp_path, sections(), progress=seen.append)
    assert seen == ["S 0", "S 1", "S 2"]


def failing_figure() -> Figure:
    figure = small_figure()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    figure.savefig = fail  # type: ignore[method-assign]
    return figure


def test_full_disk_leaves_whole_files_only(study: StudyTables, tmp_path: Path) -> None:
    path = write_report(study, tmp_path, [Section("old", "Old")])
    before = path.read_bytes()
    with pytest.raises(OSError, match="No space left"):
        write_report(
            study,
            tmp_path,
            [*made_up(), Section("s", "S", (), [Picture("bad", "Bad", failing_figure)])],
        )
    assert path.read_bytes() == before
    names = {one.name for one in tmp_path.rglob("*") if one.is_file()}
    assert not [name for name in names if name.startswith((".", "bad"))]
    assert "ranks.csv" in names


def test_folder_that_is_a_file_is_an_os_error(study: StudyTables, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(OSError, match="taken"):
        write_report(study, tmp_path / "taken", made_up())
    assert (tmp_path / "taken").read_text() == "mine"


# --- the sections of curves

SECTIONS = (curves_section, scores_section)


def with_curves(study: StudyTables, change: Callable[[dict[str, Any]], None]) -> StudyTables:
    rows = study.curves.to_pylist()
    for row in rows:
        change(row)
    return replace(study, curves=pa.Table.from_pylist(rows, study_tables.CURVE_SCHEMA))


def words_of(figure: Figure) -> list[str]:
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    return texts + [axes.get_title(loc="right") for axes in figure.axes]


@pytest.mark.parametrize("section", SECTIONS)
def test_best_configuration_of_each_detector_is_drawn(
    study: StudyTables, section: Callable[[StudyTables], Section]
) -> None:
    rows = [
        row
        for row in study.tasks.to_pylist()
        if (row["dataset"], row["anomaly_class"]) == ("cardio", "5")
        and (row["contamination"], row["repeat"]) == (0.0, 1)
        and not row["reason"]
    ]
    best = [
        max((row for row in rows if row["detector"] == name), key=lambda row: row["auc"])
        for name in ("kNN", "LOF", "IForest", "OCSVM")
    ]
    found = section(study)
    assert [part.title for part in found.parts] == [
        *("cardio (uci), anomalies of class 5", "wine (uci)", "wide (adbench)")
    ]
    part = found.parts[0]
    assert isinstance(part, Picture)
    texts = words_of(part.draw())
    assert [text for text in texts if "=" in text] == [
        f"{row['detector']} {row['params']}" for row in best
    ]
    if section is curves_section:
        assert f"{best[0]['auc']:.3f}" in "".join(texts)


def test_same_colours_whichever_detectors_a_data_set_has(study: StudyTables) -> None:
    curves = study.curves
    lacking = pa.array([row["detector"] != "kNN" for row in curves.to_pylist()])
    fewer = replace(study, curves=curves.filter(lacking))

    def colours(one: StudyTables) -> list[str]:
        part = curves_section(one).parts[0]
        assert isinstance(part, Picture)
        roc = part.draw().axes[0]
        return [to_hex(line.get_color()) for line in roc.lines[1:]]

    assert len({*colours(study)}) == 4
    assert colours(fewer) == colours(study)[1:]
    assert [part.notes for part in curves_section(fewer).parts if isinstance(part, Picture)] == [
        ["There are no curves of kNN: see the failures."]
    ] * 3


def test_names_of_files_are_plain_and_differ() -> None:
    problems = {"a/b": {"x y": (None,), "x:y": (None,), "X-Y": (None,), "ÄÖ": (None,)}}
    study = make_study(problems=problems, n_repeats=1, failures=False)
    for section in SECTIONS:
        names = [part.name for part in section(study).parts]
        assert len({name.lower() for name in names}) == 4
        assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name) for name in names)


def test_undefined_curves_are_named(study: StudyTables) -> None:
    def some(row: dict[str, Any]) -> None:
        if row["detector"] == "LOF":
            row.update(em_level=[], em_mass=[])

    def everyone(row: dict[str, Any]) -> None:
        row.update(em_level=[], em_mass=[])

    def drawn(change: Callable[[dict[str, Any]], None], place: int) -> str:
        part = curves_section(with_curves(study, change)).parts[place]
        assert isinstance(part, Picture)
        return " ".join(" ".join(words_of(part.draw())).split())

    assert "undefined: LOF" in drawn(some, 0)
    # The study knows why in many features, and has no reason in few.
    assert f"EM is undefined: {study_tables.NO_EM.removeprefix('em: ')}" in drawn(everyone, 2)
    assert "EM is undefined: no uniform point lies inside a level set" in drawn(everyone, 0)


def one_detector(name: str = "kNN", style: int = 0, **curves: npt.ArrayLike) -> DetectorCurves:
    row = study_tables._curve(np.random.default_rng(style))
    known = {key: np.array(curves.get(key, values)) for key, values in row.items()}
    return DetectorCurves(name, "k=1", style, known)


def test_volumes_of_nothing_are_no_undefined_ones() -> None:
    mass = [0.9, 0.95, 0.99]
    some = one_detector("LOF", 1, mv_mass=mass, mv_volume=[0, 1e-4, 0.5])
    none = one_detector(mv_mass=mass, mv_volume=[0, 0, 0])
    figure = draw_curves([some, none], "both", 0.1)
    texts = words_of(figure)
    assert "0" in texts
    assert not [text for text in texts if "undefined" in text]
    # 0 is seen, below all that is not 0.
    axes = figure.axes[2]
    assert axes.get_yscale() == "log"
    lowest = np.asarray(axes.lines[1].get_ydata())
    assert np.all((axes.get_ylim()[0] < lowest) & (lowest < 1e-4))
    alone = " ".join(" ".join(words_of(draw_curves([none], "one", 0.1))).split())
    assert "All volumes are 0: no uniform point lies inside a level set" in alone


@pytest.mark.parametrize(
    ("volumes", "scale"), [([0.01, 0.1, 0.9], "linear"), ([0.001, 0.1, 0.9], "log")]
)
def test_volumes_over_decades_are_logarithmic(volumes: Sequence[float], scale: str) -> None:
    one = one_detector(mv_mass=[0.9, 0.95, 0.99], mv_volume=volumes)
    assert draw_curves([one], "one", 0.1).axes[2].get_yscale() == scale


def test_distances_are_those_of_the_library() -> None:
    rng = np.random.default_rng(3)
    y_true = np.repeat([0, 1], [4000, 1000])
    y_score = rng.normal(5 + y_true, 2)
    percentiles = fastad.class_percentiles(y_true, y_score)
    one = one_detector(
        normal_percentiles=percentiles.normals, anomaly_percentiles=percentiles.anomalies
    )
    figure = draw_scores([one], "one")
    span = float(y_score.max() - y_score.min())
    curve = fastad.rp_curve(y_true, y_score)
    line = figure.axes[1].lines[-2]  # the last one is the mark
    np.testing.assert_allclose(np.asarray(line.get_ydata()), curve.distance / span, atol=1e-12)
    area, at_90, zero = words_of(figure)[2].split()
    # Straight lines between whole percentiles, in place of the exact integral.
    exact = fastad.rp_auc(y_true, y_score, score_range=(y_score.min(), y_score.max()))
    assert float(area) == pytest.approx(exact, abs=0.002)
    assert float(at_90) == pytest.approx(curve.distance[90] / span, abs=0.005)
    assert int(zero) == np.ceil(curve.zero)


def test_scores_without_percentiles_or_without_range() -> None:
    lacking = one_detector("LOF", 1, normal_percentiles=[], anomaly_percentiles=[])
    assert "infinite: LOF" in words_of(draw_scores([lacking], "none"))
    level = one_detector(normal_percentiles=[2.0] * 101, anomaly_percentiles=[2.0] * 101)
    figure = draw_scores([level, lacking], "level")
    assert "infinite: LOF" in words_of(figure)
    assert words_of(figure)[2].split() == ["0.500", "0.00", "0"]


def test_titles_are_no_formulas(tmp_path: Path) -> None:
    problems = {"uci": {"$x^{": (None,), "_y": (None,)}}
    study = make_study(problems=problems, n_repeats=1, failures=False)
    path = write_report(study, tmp_path, [curves_section(study), scores_section(study)])
    assert "$x^{ (uci)" in Page(path.read_text("utf-8")).text
