"""Section ``ranks``: which detectors are best, by each measure."""

from functools import partial

from fastad.benchmarking.friedman_test import friedman
from fastad.benchmarking.posthoc import nemenyi
from fastad.benchmarking.ranks import average_ranks
from fastad.study.report.parts import Section
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.study_results import PAPER_MEASURES, StudyResults, plain_name

# Collections of the paper's tables.
_TABLES = {"uci": "Table 3", "uci-umap": "Table 4"}
# By which detectors are told apart.
_PRINCIPAL = ("auc@0.05", "auc")


def ranks_section(results: StudyResults) -> Section:
    """Return mean ranks of detectors, Friedman's test, and critical-difference diagrams."""
    draft = Draft(
        "ranks",
        "Ranks of detectors",
        "Mean ranks of detectors over data sets, each detector with the parameters that are best "
        "on the data set by the measure, as Tables 3 (collection uci) and 4 (uci-umap) of Škvára, "
        "Pevný and Šmídl, 2019, at the lowest contamination. Friedman's test tells whether "
        "detectors differ at all, Nemenyi's which of them do; bars join those that are not told "
        "apart.",
    )
    for collection, table in _TABLES.items():
        if results.collections and collection not in results.collections:
            draft.lacks(table, f"the study has no results of the collection {collection}")
    for cell in results.cells(draft):
        measures = cell.present(PAPER_MEASURES, draft)
        for name, title, compare in (
            ("ranks", "Mean ranks ± standard deviation over data sets", average_ranks),
            ("friedman", "Whether detectors differ at all: Friedman's test", friedman),
        ):
            make = partial(compare, cell.table, measures=measures, **results.options)
            found = draft.attempt(cell.where, make)
            if found is not None:
                draft.table(f"{name}-{cell.key}", f"{title}, {cell.where}", found)
        for measure in _PRINCIPAL:
            if measure not in measures:
                continue
            what = f"{cell.where} by {measure}"
            compared = draft.attempt(
                what, partial(nemenyi, cell.table, measure=measure, **results.options)
            )
            if compared is not None:
                ending = f"{plain_name(measure)}-{cell.key}"
                draft.table(f"nemenyi-{ending}", f"Which detectors differ, {what}", compared)
                draft.picture(f"critical-difference-{ending}", f"Mean ranks, {what}", compared)
    return draft.section()
