"""Additions of the papers to a study: an extension as `fastad.study.extensions` defines it."""

# Functions are imported within methods, so that a run does not load code for reports only.

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastad.study.extensions import Extension, ExtraPlan


class Papers(Extension):
    """The papers' detectors and measures, goix's protocol, and the papers' tables and figures."""

    def profiles(self) -> Mapping[str, Mapping[str, Any]]:
        """Return goix's protocol in minutes, in an hour, and as in the paper."""
        return {
            "quick": {"goix": {"n_subspaces": 5, "n_uniform": 20_000, "max_train": 1000}},
            "medium": {"goix": {"n_subspaces": 10, "max_train": 2000, "max_test": 5000}},
            "full": {"goix": {}},
        }

    def detectors(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return the preset "paper"."""
        from fastad.study.papers.grids import PAPER_DETECTORS

        return {"paper": PAPER_DETECTORS}

    def measures(self) -> Sequence[str]:
        """Return all measures with labels that the papers compare."""
        from fastad.study.papers.grids import paper_measures

        return paper_measures()

    def compared_measures(self) -> Sequence[str]:
        """Return the keys of the papers' tables."""
        from fastad.study.papers.grids import TABLE_MEASURES

        return TABLE_MEASURES

    def plans(self) -> Mapping[str, Callable[[Mapping[str, Any]], ExtraPlan]]:
        """Return the reader of the table ``[goix]``."""
        from fastad.study.papers.goix_plan import read_goix_plan

        return {"goix": read_goix_plan}

    def sections(self) -> Sequence[Callable[[Any], Any]]:
        """Return the sections of the papers' tables and figures."""
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


EXTENSION = Papers()
