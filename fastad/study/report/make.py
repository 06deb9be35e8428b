"""``make_report``: tables, figures and a page of what a study has found so far."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from fastad._core.parameters import N_RESAMPLES
from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.parts import Section
from fastad.study.report.sections import all_sections
from fastad.study.report.write import write_report
from fastad.study.saved import read_study
from fastad.study.tables import StudyTables

FOLDER = "report"


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
        Folder of the report; by default ``report`` in that of the study.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again for intervals.
    rng : int, default 0
        Seed of the intervals.
    progress : callable, optional
        Called with the title of each section before it is made.

    Returns
    -------
    Path
        Of the page, which needs no other file. Beside it are ``tables`` (CSV, Markdown, LaTeX)
        and ``figures`` (PNG, SVG).

    Raises
    ------
    InvalidInputError
        If the folder is not that of a study.
    MissingExtraError
        If a library of the extra ``study`` is not installed.
    """
    study = read_study(folder)
    target = Path(folder) / FOLDER if output is None else Path(output)
    sections = _sections(study, n_resamples, rng)
    return write_report(study, target, sections, progress=progress)


def _sections(study: StudyTables, n_resamples: int, rng: int) -> Iterator[Section]:
    yield from all_sections(study, rng=rng, n_resamples=n_resamples)
    yield curves_section(study)
    yield scores_section(study)
