"""The results of the papers, as sections of a report."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from fastad._core.parameters import N_RESAMPLES, check_count, check_generator
from fastad.study.report.parts import Section
from fastad.study.report.sections.advice import advice_section
from fastad.study.report.sections.distance import distance_section
from fastad.study.report.sections.matrices import (
    classes_section,
    correlation_section,
    selection_section,
)
from fastad.study.report.sections.operating import operating_section
from fastad.study.report.sections.overview import overview_section
from fastad.study.report.sections.ranks import ranks_section
from fastad.study.report.sections.study_results import StudyResults
from fastad.study.report.sections.unlabelled import unlabelled_section
from fastad.study.tables import StudyTables

_MAKERS: Mapping[str, Callable[[StudyResults], Section]] = MappingProxyType(
    {
        "overview": overview_section,
        "ranks": ranks_section,
        "correlation": correlation_section,
        "selection": selection_section,
        "classes": classes_section,
        "operating": operating_section,
        "unlabelled": unlabelled_section,
        "distance": distance_section,
        "advice": advice_section,
    }
)
# Names of the sections, in their order.
SECTIONS = tuple(_MAKERS)


def all_sections(
    study: StudyTables, *, rng: int = 0, n_resamples: int = N_RESAMPLES
) -> Iterator[Section]:
    """Make the sections of a study one by one, each when it is reached.

    What a study does not allow is no error: its section says what is missing, and why.

    Parameters
    ----------
    study : StudyTables
        What has been found; it need not be finished.
    rng : int, default 0
        Seed of the intervals, with which every comparison starts anew.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.

    Returns
    -------
    iterator of Section
        In the order of ``SECTIONS``. Pictures are drawn by whoever wants them.

    Raises
    ------
    InvalidInputError
        If an argument is not as described.

    Notes
    -----
    Takes the time of the comparisons, of which those at all false positive rates are the slowest:
    O(n_models^2) for each data set and rate, for AUC and for TPR.
    """
    if not isinstance(rng, int):
        raise TypeError(f"rng must be a whole number; found {type(rng).__name__}")
    check_generator(rng)
    results = StudyResults(study, rng, check_count(n_resamples, "n_resamples"))
    return (make(results) for make in _MAKERS.values())
