"""A report that several files of tests read, written once."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fastad.study.report.curves import curves_section, scores_section
from fastad.study.report.make import write_report
from fastad.study.report.sections import Section
from fastad.study.results import StudyTables
from tests.support.pages import Page
from tests.support.pictures import quick_pictures
from tests.support.report_pages import SMALL, made_up
from tests.support.study_sections import sections_of
from tests.support.study_tables import make_study


@pytest.fixture(scope="session", autouse=True)
def plain_fonts() -> Iterator[None]:
    with quick_pictures():
        yield


@pytest.fixture(scope="session")
def small_study() -> StudyTables:
    return make_study(problems=SMALL, n_repeats=2, contaminations=(0.0, 0.05))


@pytest.fixture(scope="session")
def study() -> StudyTables:
    """Return one in which two configurations are missing, which no test may change."""
    return make_study(n_missing=2)


@pytest.fixture(scope="session")
def sections(study: StudyTables) -> dict[str, Section]:
    return sections_of(study)


@pytest.fixture(scope="session")
def page_sections(small_study: StudyTables) -> list[Section]:
    """The sections of a page, of those of curves with a picture each, which takes long to write."""
    of_curves = (curves_section(small_study), scores_section(small_study))
    return [*made_up(), *(replace(one, parts=one.parts[:1]) for one in of_curves)]


@pytest.fixture(scope="session")
def written(
    small_study: StudyTables, page_sections: list[Section], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Their page, which no test may change."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(small_study, folder / "new" / "report", page_sections)


@pytest.fixture(scope="session")
def page(written: Path) -> Page:
    return Page(written.read_text("utf-8"))
