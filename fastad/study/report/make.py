"""``make_report``: tables, figures and a page of the results of a study so far."""

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.extras import import_extra
from fastad._core.files import temporary_folder
from fastad._core.parameters import N_RESAMPLES, check_count, check_seed
from fastad._core.suggestions import suggests_arguments
from fastad.study.extensions import extensions
from fastad.study.report.answer import answer_section
from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.overview import made_section, overview_section
from fastad.study.report.page import PagePicture, PageTable, check_jinja2, render_page
from fastad.study.report.sections import Picture, Section, Table
from fastad.study.report.study_results import StudyResults
from fastad.study.report.values import values_section
from fastad.study.results import StudyTables, read_study

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_FOLDER, _PAGE, _TABLES, _FIGURES = "report", "index.html", "tables", "figures"
# Fonts that editors read, as some publishers ask for.
_PDF_FONTS = 42
# Dots an inch of the picture files, and of the screen, where they have the size that their type
# asks for; colours of the pictures in the page.
_DPI, _SCREEN, _COLOURS = 110, 96, 128
# Files of pictures, with metadata that would differ from day to day.
_PICTURES = {"PNG": {}, "SVG": {"Date": None}, "PDF": {"CreationDate": None}}
# Links of a page to its files: matching files belong to a report, others are the user's.
_LINK = re.compile(rf'href="((?:{_TABLES}|{_FIGURES})/[A-Za-z0-9._-]+)"')


@suggests_arguments
def make_report(
    folder: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    rng: int = 0,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Make the report of a study, finished or not.

    Parameters
    ----------
    folder : path
        Folder of the study.
    output : path, optional
        Folder of the report; by default ``report`` in the study's folder.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again for intervals.
    rng : int, default 0
        Seed of the intervals.
    progress : callable, optional
        Called with the title of each section before it is made.

    Returns
    -------
    Path
        Path of the page, which needs no other file. Beside it are ``tables`` (CSV, Markdown, LaTeX)
        and ``figures`` (PNG, SVG, PDF).

    Raises
    ------
    InvalidInputError
        If the folder contains no study.
    MissingExtraError
        If a library of the extra ``study`` is not installed.
    """
    study = read_study(folder)
    target = Path(folder) / _FOLDER if output is None else Path(output)
    sections = make_sections(study, n_resamples=n_resamples, rng=rng)
    return write_report(study, target, sections, progress=progress)


def make_sections(
    study: StudyTables, *, n_resamples: int = N_RESAMPLES, rng: int = 0
) -> Iterator[Section]:
    """Make the sections of a study, which need not be finished, lazily and in order.

    The results in short, an overview, values, sections of extensions, curves, and the provenance.
    Pictures are drawn where they are shown. A section that a study does not allow is no error: it
    names the missing results, and the reason. Every comparison starts with the seed anew.

    Takes the time of the comparisons, of which those at all false positive rates are the slowest:
    O(n_models^2) for each data set and rate, for AUC and for TPR.
    """
    results = StudyResults(study, check_seed(rng, "rng"), check_count(n_resamples, "n_resamples"))
    makers = (answer_section, overview_section, values_section)
    of_extensions = [make for extension in extensions() for make in extension.sections()]
    others = (make(results) for make in of_extensions)
    of_curves = (curves_section, scores_section)
    return chain(
        (make(results) for make in makers),
        # With more than an introduction: results, or missing results.
        (each for each in others if each.parts or len(each.paragraphs) > 1),
        (make(study) for make in of_curves),
        (make(results) for make in (made_section,)),
    )


def write_report(
    study: StudyTables,
    folder: Path,
    sections: Iterable[Section],
    *,
    progress: Callable[[str], object] | None = None,
) -> Path:
    """Write a report, and return the path of its page, which shows everything without other files.

    It takes the place of an earlier one in the folder, whose files are removed; other files stay.
    After an OSError the earlier report is as it was. ``progress`` is called with the title of each
    section that is being written.
    """
    check_jinja2()
    folder.mkdir(parents=True, exist_ok=True)
    # The whole report is written before anything of the earlier one changes.
    with temporary_folder(folder, ".fastad-report") as aside:
        for kind in (_TABLES, _FIGURES):
            (aside / kind).mkdir()
            (folder / kind).mkdir(exist_ok=True)
        written = []
        shown: dict[str, PageTable | PagePicture] = {}
        for section in sections:
            if progress is not None:
                progress(section.title)
            written.append(section)
            for part in section.parts:
                if isinstance(part, Picture):
                    shown[part.name] = _write_picture(part, aside)
                else:
                    tables = [part] if isinstance(part, Table) else part.tables.values()
                    shown |= {table.name: _write_table(table, aside) for table in tables}
        _write_text(aside / _PAGE, render_page(study, written, shown))
        _replace_report(folder, aside)
    return folder / _PAGE


def _replace_report(folder: Path, aside: Path) -> None:
    """Move the files of a report to their places, the page last; remove those it lacks."""
    earlier = _linked_files(folder / _PAGE)
    files = [
        f"{kind}/{file.name}" for kind in (_TABLES, _FIGURES) for file in (aside / kind).iterdir()
    ]
    for file in (*files, _PAGE):
        (aside / file).replace(folder / file)
    for file in earlier.difference(files):
        (folder / file).unlink(missing_ok=True)


def _linked_files(page: Path) -> set[str]:
    """Return the files that a page links; none where there is no page."""
    try:
        return set(_LINK.findall(page.read_text("utf-8", errors="replace")))
    except FileNotFoundError:
        return set()


def _write_table(table: Table, folder: Path) -> PageTable:
    content = table.content
    stem = folder / _TABLES / table.name
    columns = content.to_columns()
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    markdown = "".join(f"- {note}\n" for note in table.notes)
    if markdown and not content.notes:
        markdown = f"\n{markdown}"
    latex = "".join(f"% {note}\n" for note in table.notes)
    files = {
        "CSV": (".csv", text.getvalue()),
        "Markdown": (".md", content.to_markdown() + markdown),
        "LaTeX": (".tex", content.to_latex() + latex),
    }
    for suffix, body in files.values():
        _write_text(stem.with_name(stem.name + suffix), body)
    links = {kind: f"{_TABLES}/{table.name}{suffix}" for kind, (suffix, _) in files.items()}
    return PageTable(content.text_table(), [*content.notes, *table.notes], links)


def _write_picture(picture: Picture, folder: Path) -> PagePicture:
    mpl = import_extra("matplotlib", "a report", extra="study")
    figure = picture.draw()
    links = {}
    # The same bits whenever they are drawn.
    with mpl.rc_context({"svg.hashsalt": "fastad", "pdf.fonttype": _PDF_FONTS}):
        for kind, metadata in _PICTURES.items():
            links[kind] = f"{_FIGURES}/{picture.name}.{kind.lower()}"
            figure.savefig(folder / links[kind], dpi=_DPI, metadata=metadata)
    image = (folder / links["PNG"]).read_bytes()
    width, height = (round(inches * _SCREEN) for inches in figure.get_size_inches())
    return PagePicture(_compress(image), width, height, picture.notes, links)


def _compress(image: bytes) -> bytes:
    """Return a picture with fewer colours, a third of the size, in which all lines keep theirs."""
    from PIL import Image  # which matplotlib needs itself

    with Image.open(io.BytesIO(image)) as file:
        whole = file.convert("RGB")
    # The usual method confuses the hues of thin lines.
    few = whole.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE)
    few.putpalette(_most_frequent(np.asarray(whole), np.asarray(few)).tobytes())
    output = io.BytesIO()
    few.save(output, "PNG", optimize=True)
    return min(output.getvalue(), image, key=len)


def _most_frequent(pixels: _Bytes, groups: _Bytes) -> _Bytes:
    """Return for each group of pixels the colour that most of them have: black stays black."""
    numbers = pixels.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    pairs, counts = np.unique(numbers << 8 | groups, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]
    palette = np.zeros(_COLOURS, np.uint32)
    palette[pairs & 255] = pairs >> 8  # of a group the last remains
    return np.stack([palette >> 16, palette >> 8 & 255, palette & 255], axis=1).astype(np.uint8)


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
