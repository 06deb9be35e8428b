"""Sections of a made-up study, and what is in them."""

from typing import Any

from fastad.study.report.parts import Section, Table
from fastad.study.report.sections import all_sections
from fastad.study.tables import StudyTables

HOW: dict[str, Any] = {"n_resamples": 40, "rng": 0}


def sections_of(study: StudyTables) -> dict[str, Section]:
    return {one.name: one for one in all_sections(study, **HOW)}


def table(section: Section, name: str) -> Any:
    (found,) = (one for one in section.parts if isinstance(one, Table) and one.name == name)
    return found.content


def numbers(found: Any) -> dict[str, list[str]]:
    """All cells as texts, in which NaN equals NaN and no bit is lost."""
    return {name: [repr(cell) for cell in cells] for name, cells in found.to_columns().items()}
