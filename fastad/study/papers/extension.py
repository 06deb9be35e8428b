"""Additions of the papers to a study, for `fastad.study.extensions`.

The papers' detectors and measures, goix's protocol, and the papers' tables and figures.
"""

# Code is imported within functions, so that a run does not load what only reports need.

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastad.study.extensions import ExtraPlan


def profiles() -> Mapping[str, Mapping[str, Any]]:
    """Return values of profiles beside the study's own.

    Goix's protocol in minutes, in an hour, and as in the paper.
    """
    return {
        "quick": {"goix": {"n_subspaces": 5, "n_uniform": 20_000, "max_train": 1000}},
        "medium": {"goix": {"n_subspaces": 10, "max_train": 2000, "max_test": 5000}},
        "full": {"goix": {}},
    }


def detectors() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return tables ``[[detectors]]`` by the name of their preset; the first is the default."""
    from fastad.study.papers.grids import PAPER_DETECTORS

    return {"paper": PAPER_DETECTORS}


def measures() -> Sequence[str]:
    """Return the keys of all measures with labels that the papers compare, the default."""
    from fastad.study.papers.grids import paper_measures

    return paper_measures()


def compared_measures() -> Sequence[str]:
    """Return the keys of the papers' tables, which the report compares where there are values."""
    from fastad.study.papers.grids import TABLE_MEASURES

    return TABLE_MEASURES


def plans() -> Mapping[str, Callable[[Mapping[str, Any]], ExtraPlan]]:
    """Return the reader of each additional table of a configuration: ``[goix]``."""
    from fastad.study.papers.goix_plan import read_goix_plan

    return {"goix": read_goix_plan}


def sections() -> Sequence[Callable[[Any], Any]]:
    """Return the makers of sections with the papers' tables and figures, in their order."""
    from fastad.study.papers import comparison_sections as comparison
    from fastad.study.papers.criteria_section import criteria_section

    return (
        comparison.ranks_section,
        comparison.correlation_section,
        comparison.selection_section,
        comparison.classes_section,
        comparison.operating_section,
        criteria_section,
        comparison.distance_section,
        comparison.recommendation_section,
    )
