"""Writing a report: its page, and every table and picture as files."""

import csv
import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.files import written_aside
from fastad.errors import MissingExtraError
from fastad.study.report.page import PagePicture, PageSection, PageTable, need_jinja2, page_of
from fastad.study.report.parts import Picture, Section, Table
from fastad.study.tables import StudyTables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Bytes: TypeAlias = npt.NDArray[np.uint8]
PAGE, TABLES, FIGURES = "index.html", "tables", "figures"
# Dots an inch of the picture files, and of the screen, where they have the size that their type
# asks for; colours of the pictures in the page.
_DPI, _SCREEN, _COLOURS = 110, 96, 128


def write_report(
    study: StudyTables,
    folder: Path,
    sections: Iterable[Section],
    *,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Write a report.

    Parameters
    ----------
    study : StudyTables
        What the study has found.
    folder : Path
        Where the report goes; files of an earlier one are replaced.
    sections : iterable of Section
        Each is written when it is reached, the page at the end.
    progress : callable, optional
        Called with the title of each section that is being written.

    Returns
    -------
    Path
        Of the page, which shows everything without any other file.

    Raises
    ------
    MissingExtraError
        If a library of the extra ``study`` is not installed.
    OSError
        If a file cannot be written; files that are there are whole.
    """
    need_jinja2()
    for kind in (TABLES, FIGURES):
        (folder / kind).mkdir(parents=True, exist_ok=True)
    shown = []
    for section in sections:
        if progress is not None:
            progress(section.title)
        parts = [
            _write_table(part, folder) if isinstance(part, Table) else _write_picture(part, folder)
            for part in section.parts
        ]
        shown.append(PageSection(section.name, section.title, section.words, parts))
    page = folder / PAGE
    _write_text(page, page_of(study, shown))
    return page


def _write_table(table: Table, folder: Path) -> PageTable:
    content = table.content
    stem = folder / TABLES / table.name
    columns = content.to_columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    files = {
        "CSV": (".csv", text.getvalue()),
        "Markdown": (".md", content.to_markdown()),
        "LaTeX": (".tex", content.to_latex()),
    }
    for ending, body in files.values():
        _write_text(stem.with_name(stem.name + ending), body)
    links = {kind: f"{TABLES}/{table.name}{ending}" for kind, (ending, _) in files.items()}
    return PageTable(table.name, table.title, content.text_table(), content.notes, links)


def _write_picture(picture: Picture, folder: Path) -> PagePicture:
    try:
        import matplotlib as mpl
    except ModuleNotFoundError:
        raise MissingExtraError("pictures need matplotlib: pip install 'fastad[study]'") from None
    figure = picture.draw()
    links = {}
    # The same bits whenever they are drawn.
    with mpl.rc_context({"svg.hashsalt": "fastad"}):
        for kind, about in (("PNG", {}), ("SVG", {"Date": None})):
            name = f"{picture.name}.{kind.lower()}"
            with written_aside(folder / FIGURES / name) as aside:
                figure.savefig(aside, dpi=_DPI, metadata=about)
            links[kind] = f"{FIGURES}/{name}"
    image = (folder / links["PNG"]).read_bytes()
    return PagePicture(
        picture.name, picture.title, _smaller(image), *_size_of(figure), picture.notes, links
    )


def _size_of(figure: "Figure") -> tuple[int, int]:
    width, height = figure.get_size_inches()
    return round(width * _SCREEN), round(height * _SCREEN)


def _smaller(image: bytes) -> bytes:
    """Return a picture with fewer colours, a third of the size, in which all lines keep theirs."""
    from PIL import Image  # which matplotlib needs itself

    with Image.open(io.BytesIO(image)) as file:
        whole = file.convert("RGB")
    # The usual method takes the hues of thin lines for one another.
    few = whole.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE)
    few.putpalette(_most_frequent(np.asarray(whole), np.asarray(few)).tobytes())
    found = io.BytesIO()
    few.save(found, "PNG", optimize=True)
    return min(found.getvalue(), image, key=len)


def _most_frequent(pixels: _Bytes, groups: _Bytes) -> _Bytes:
    """Return for each group of pixels the colour that most of them have: black stays black."""
    numbers = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    pairs, counts = np.unique(numbers << 8 | groups, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    palette = np.zeros(_COLOURS, np.uint32)
    palette[pairs & 255] = pairs >> 8  # of a group the last one stays
    return np.stack([palette >> 16, palette >> 8 & 255, palette & 255], axis=1).astype(np.uint8)


def _write_text(path: Path, text: str) -> None:
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
