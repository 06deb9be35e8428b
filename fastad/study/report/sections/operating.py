"""Section ``operating``: at which false positive rates models can be told apart."""

from functools import partial
from typing import get_args

from fastad.benchmarking.operating_points import (
    CriterionName,
    Discriminability,
    LevelMeasure,
    discriminability,
)
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.selected_fpr import loss_at_rates
from fastad.benchmarking.selection import LossMatrix
from fastad.study.report.parts import Section
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.study_results import PAPER_MEASURES, Cell, StudyResults

# The criterion of each of the paper's tables.
_TABLES: dict[CriterionName, str] = {
    "tukey-mean": "Table 2",
    "tukey-median": "Table 3",
    "tukey-q": "Table 4",
    "welch-mean": "Table 5",
    "welch-median": "Table 6",
}
_MEASURES = [label for label in PAPER_MEASURES if not label.startswith("cvol@")]


def operating_section(results: StudyResults) -> Section:
    """Return where models differ by AUC and TPR, and the losses at these rates."""
    draft = Draft(
        "operating",
        "False positive rates where models differ",
        "At each false positive rate models are compared over repeats, by AUC up to it and by TPR "
        "at it; each criterion chooses the rate where the models of a data set differ the most. "
        "The loss tables add AUC and TPR at that rate to the measures that select and judge, as "
        "Tables 2-6 of Škvára, Pevný and Šmídl, 2020, at the lowest contamination; each names its "
        "table.",
    )
    for cell in results.cells(draft):
        found = _curves(cell, results, draft)
        if len(found) < len(get_args(LevelMeasure)):
            continue
        labels = cell.present(_MEASURES, draft)
        for criterion, table in _TABLES.items():
            make = partial(_loss_at, cell, labels, found, criterion, results)
            loss = draft.attempt(f"{table} for {cell.where}", make)
            if loss is not None:
                title = f"Loss with AUC and TPR at the rate that {criterion} chooses ({table})"
                name = f"loss-at-{criterion}-{cell.key}"
                draft.table(name, f"{title}, {cell.where}", loss)
    return draft.section()


def _curves(cell: Cell, results: StudyResults, draft: Draft) -> dict[str, Discriminability]:
    """Compare models at each rate, once for all criteria: it takes the longest."""
    found: dict[str, Discriminability] = {}
    for measure in get_args(LevelMeasure):
        make = partial(discriminability, cell.table, measure=measure, **results.options)
        one = draft.attempt(cell.where, make)
        if one is not None:
            found[measure] = one
            title = f"False positive rates where models differ by {measure.upper()}, {cell.where}"
            draft.table(f"discriminability-{measure}-{cell.key}", title, one)
            draft.picture(f"discriminability-{measure}-curves-{cell.key}", title, one)
    return found


def _loss_at(
    cell: Cell,
    labels: list[str],
    found: dict[str, Discriminability],
    criterion: CriterionName,
    results: StudyResults,
) -> LossMatrix:
    """Return what `loss_at_selected_fpr` does."""
    known = [cell.table.measure(label) for label in labels]
    resampling = check_resampling(cell.table.clusters, 0.95, **results.options)
    return loss_at_rates(cell.table, known, found, criterion, "optimal", resampling)
