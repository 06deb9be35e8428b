"""Section ``advice``: which measure to select models by."""

from functools import partial

from fastad.benchmarking.recommendation import recommend
from fastad.study.report.parts import Section
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.study_results import PAPER_MEASURES, StudyResults, plain_name

_APPLICATIONS = ("tpr@0.01", "tpr@0.05")


def advice_section(results: StudyResults) -> Section:
    """Return recommendations for work at two false positive rates."""
    draft = Draft(
        "advice",
        "Which measure to select models by",
        "For detectors that work at a false positive rate of 0.01 or 0.05, so that TPR at that "
        "rate counts: the measure to select models by, of those of Škvára, Pevný and Šmídl, 2019 "
        "(sections 5.3 and 5.4), at the lowest contamination. A measure selects on all repeats but "
        "one, and that one judges.",
    )
    for cell in results.cells(draft):
        present = cell.present(PAPER_MEASURES, draft)
        for application in _APPLICATIONS:
            if application not in present:
                continue
            what = f"{cell.where}, for {application}"
            make = partial(
                recommend,
                cell.table,
                target_measure=application,
                measures=present,
                **results.options,
            )
            found = draft.attempt(what, make)
            if found is not None:
                draft.words.append(f"{what}: {found.text}")
                name = f"recommendation-{plain_name(application)}-{cell.key}"
                draft.table(name, f"Evidence, {what}", found)
    return draft.section()
