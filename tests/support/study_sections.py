"""Sections of a made-up study, and what is in them."""

from itertools import islice
from typing import Any

from fastad.study.report.make import make_sections
from fastad.study.report.sections import Section, Table
from fastad.study.results import StudyTables

OPTIONS: dict[str, Any] = {"n_resamples": 40, "rng": 0}
# In their order; after them come those of curves.
SECTIONS = (
    *("answer", "overview", "values", "ranks", "correlation", "selection", "classes", "operating"),
    *("unsupervised", "distance", "recommendation"),
)


def sections_of(study: StudyTables, last: str = SECTIONS[-1]) -> dict[str, Section]:
    """Make the sections up to the last that a test reads."""
    made = islice(make_sections(study, **OPTIONS), SECTIONS.index(last) + 1)
    return {section.name: section for section in made}


def table(section: Section, name: str) -> Any:
    (result,) = (part for part in section.parts if isinstance(part, Table) and part.name == name)
    return result.content
