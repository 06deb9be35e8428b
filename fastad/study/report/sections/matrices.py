"""Sections ``correlation``, ``selection`` and ``classes``: how measures agree with each other."""

from collections.abc import Sequence
from functools import partial

from fastad._core.text_tables import interval_text, number_text
from fastad.benchmarking.matrix import MeasureMatrix, kendall_matrix
from fastad.benchmarking.selection import LossMatrix, class_sensitivity, selection_loss
from fastad.study.report.parts import Section
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.plain import Plain
from fastad.study.report.sections.study_results import PAPER_MEASURES, Cell, StudyResults

# Contaminations of the paper's tables.
_TABLES = {0.0: "Table 6", 0.01: "Table 7", 0.05: "Table 8"}
# Measures of the paper's Tables 10 and 11.
_OF_CLASSES = [label for label in PAPER_MEASURES if not label.endswith("@0.01")]
_ONE_MEASURE = "a measure alone has no other to be compared with"


def correlation_section(results: StudyResults) -> Section:
    """Return Kendall's tau between measures."""
    draft = Draft(
        "correlation",
        "Rank correlation of measures",
        "Kendall's tau between measures over all models of a data set, averaged over data sets, "
        "as Table 5 of Škvára, Pevný and Šmídl, 2019, at the lowest contamination. Intervals of "
        "all cells are in the files of the table.",
    )
    for cell in results.cells(draft):
        measures = cell.present(PAPER_MEASURES, draft)
        if len(measures) < 2:
            draft.lacks(cell.where, _ONE_MEASURE)
            continue
        make = partial(kendall_matrix, cell.table, measures=measures, **results.options)
        _add_matrix(draft, "correlation", "Kendall's tau", cell, draft.attempt(cell.where, make))
    return draft.section()


def selection_section(results: StudyResults) -> Section:
    """Return the loss where one measure selects and another one judges."""
    draft = Draft(
        "selection",
        "Loss from selecting models by another measure",
        "What is lost in the measure of the column where the model is selected by the measure of "
        "the row: a share of the best value, averaged over data sets, as Tables 6 (0 % "
        "contamination), 7 (1 %) and 8 (5 %) of Škvára, Pevný and Šmídl, 2019. Intervals are from "
        "data sets drawn again; those of all cells are in the files of the tables.",
    )
    by_collection: dict[str, list[tuple[Cell, LossMatrix]]] = {}
    for cell in results.cells(draft, lowest=False):
        measures = cell.present(PAPER_MEASURES, draft)
        if len(measures) < 2:
            draft.lacks(cell.where, _ONE_MEASURE)
            continue
        make = partial(selection_loss, cell.table, measures=measures, **results.options)
        found = draft.attempt(cell.where, make)
        _add_matrix(draft, "selection-loss", "Loss from selection", cell, found)
        if found is not None:
            by_collection.setdefault(cell.collection, []).append((cell, found))
    for collection, found_at in by_collection.items():
        draft.table(
            f"selection-mean-{results.slugs[collection]}",
            f"Mean loss over all measures by the measure that selects, {collection}",
            _mean_losses(found_at),
        )
    for collection, levels in results.collections.items():
        for level, table in _TABLES.items():
            if level not in levels:
                reason = f"the study has no results at {100 * level:g} % contamination"
                draft.lacks(f"{table} for {collection}", reason)
    return draft.section()


def classes_section(results: StudyResults) -> Section:
    """Return the loss on other classes of anomalies than those that selected."""
    draft = Draft(
        "classes",
        "Loss on other classes of anomalies",
        "What is lost in the measure of the column on one class of anomalies where the model is "
        "selected by the measure of the row on another class of the same data set, as Tables 10 "
        "(collection uci-umap) and 11 (uci) of Škvára, Pevný and Šmídl, 2019, at the lowest "
        "contamination. The diagonal counts: the measure is the same, but the anomalies are "
        "others.",
    )
    for collection, table in (("uci-umap", "Table 10"), ("uci", "Table 11")):
        if results.collections and collection not in results.collections:
            draft.lacks(table, f"the study has no results of the collection {collection}")
    for cell in results.cells(draft):
        if cell.table.anomaly_classes is None:
            draft.lacks(cell.where, "its data sets have one class of anomalies each")
            continue
        measures = cell.present(_OF_CLASSES, draft)
        make = partial(class_sensitivity, cell.table, measures=measures, **results.options)
        found = draft.attempt(cell.where, make)
        _add_matrix(draft, "class-sensitivity", "Loss on other classes", cell, found)
    return draft.section()


def _add_matrix(
    draft: Draft, name: str, title: str, cell: Cell, found: MeasureMatrix | None
) -> None:
    """Add a table and its heat map."""
    if found is not None:
        draft.table(f"{name}-{cell.key}", f"{title}, {cell.where}", found)
        draft.picture(f"{name}-map-{cell.key}", f"{title}, {cell.where}", found)


def _mean_losses(found: Sequence[tuple[Cell, LossMatrix]]) -> Plain:
    """Return the mean of each row with its interval, by contamination."""
    labels = list(dict.fromkeys(label for _, one in found for label in one.rows))
    header = ["selected by"]
    rows: list[list[str | None]] = [[label] for label in labels]
    columns: dict[str, list[object]] = {"selected_by": [], "contamination": []}
    columns |= {"mean_loss": [], "low": [], "high": []}
    for cell, one in found:
        header.append(f"{100 * cell.contamination:g} % contamination")
        mean = one.means["mean"]
        for label, row in zip(labels, rows, strict=True):
            if label not in one.rows:
                row.append(None)
                continue
            i = one.rows.index(label)
            value, low, high = (float(part[i]) for part in (mean.value, mean.low, mean.high))
            text = number_text(value, ".1%")
            row.append(text if low != low else f"{text} {interval_text(low, high, '.1%')}")
            own = (label, cell.contamination, value, low, high)
            for cells, entry in zip(columns.values(), own, strict=True):
                cells.append(entry)
    level = f"{100 * found[0][1].confidence_level:g} %"
    return Plain(header, rows, [f"intervals at {level}, from data sets drawn again"], columns)
