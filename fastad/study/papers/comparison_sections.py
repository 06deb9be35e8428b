"""Sections of the papers' comparisons of detectors and measures, by labels.

Tables and figures of Škvára, Pevný and Šmídl, 2019 and 2020, and of Ning et al., 2020.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np

from fastad._core.results import TableResult
from fastad._core.text_tables import estimate_text, level_text
from fastad.benchmarking.distance import RankDistances, rank_distance
from fastad.benchmarking.friedman_test import friedman
from fastad.benchmarking.matrix import MeasureMatrix, kendall_matrix
from fastad.benchmarking.operating_points import (
    CriterionName,
    Discriminability,
    LevelMeasure,
    discriminability,
)
from fastad.benchmarking.rank_inference import rank_intervals
from fastad.benchmarking.ranks import average_ranks
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.selected_fpr import loss_at_rates
from fastad.benchmarking.selection import LossMatrix, class_sensitivity, selection_loss
from fastad.study.papers.grids import TABLE_MEASURES
from fastad.study.report.sections import Section, SectionBuilder, SimpleTable
from fastad.study.report.study_results import Cell, StudyResults, file_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Collections of the tables of ranks, measures of their tests, and of tables of other classes.
_RANK_TABLES = {"uci": "Table 3", "uci-umap": "Table 4"}
_CLASS_TABLES = {"uci-umap": "Table 10", "uci": "Table 11"}
_CLASS_MEASURES = [key for key in TABLE_MEASURES if not key.endswith("0.01")]
# Contaminations of the tables of losses.
_LOSS_TABLES = {0.0: "Table 6", 0.01: "Table 7", 0.05: "Table 8"}
# Criteria of the tables of losses with a selected rate, in their order, and the measures there.
_CRITERIA: tuple[CriterionName, ...] = (
    *("tukey-mean", "tukey-median", "tukey-q"),
    *("welch-mean", "welch-median"),
)
_RATE_MEASURES = [key for key in TABLE_MEASURES if not key.startswith("cvol@")]
# By the reference of an application, the measures that are compared.
_USUAL = ("auc_pr", "ap", "auc", "cost_auc@1.25", "cost_auc@0.8")
_REFERENCES = {"tpr@0.4": ("ht_auc@0.4", *_USUAL), "fpr@tpr0.8": ("lf_auc@0.8", *_USUAL)}
# Inches: of the picture's height, of its least and greatest width, and of each data set.
_HEIGHT, _MIN_WIDTH, _MAX_WIDTH, _DATASET_WIDTH = 3.8, 6.4, 11.0, 0.3
# Marks of measures, and how far from the middle of a data set they are at most.
_MARKS, _SPREAD = "os^DvPX", 0.3


def ranks_section(results: StudyResults) -> Section:
    """Return mean ranks of detectors, Friedman's test, and critical-difference diagrams."""
    builder = SectionBuilder(
        "ranks",
        "Ranks of detectors",
        "Mean ranks of detectors over data sets, each detector with the parameters that are best "
        "on the data set by the measure, as Tables 3 (collection uci) and 4 (uci-umap) of Škvára, "
        "Pevný and Šmídl, 2019, at the lowest contamination. Friedman's test tells whether "
        "detectors differ at all, Nemenyi's which of them do; bars join those whose difference is "
        "not significant. Intervals of ranks by mean value cover all ranks at once.",
    )
    _note_collections(builder, results, _RANK_TABLES)
    for cell in results.cells(builder):
        cell.present(TABLE_MEASURES, builder)
        measures = results.compared_measures(cell)
        result: TableResult | None = builder.attempt(
            cell.where, average_ranks, cell.table, measures=measures, **results.options
        )
        if result is not None:
            title = "Mean ranks ± standard deviation over data sets"
            builder.table(f"ranks-{cell.key}", f"{title}, {cell.where}", result)
        if cell.has_several_datasets:
            result = builder.attempt(cell.where, friedman, cell.table, measures=measures)
            if result is not None:
                title = "Whether detectors differ at all: Friedman's test"
                builder.table(f"friedman-{cell.key}", f"{title}, {cell.where}", result)
        for measure in results.principal_measures(cell):
            what = f"{cell.where} by {measure}"
            comparison = builder.attempt(what, results.comparison, cell, measure)
            intervals = builder.attempt(
                what, rank_intervals, cell.table, measure=measure, **results.options
            )
            for name, picture, title, compared in (
                ("nemenyi", "critical-difference", "Which detectors differ", comparison),
                ("rank-intervals", "ranks", "Ranks over all data sets like these", intervals),
            ):
                if compared is not None:
                    suffix = f"{file_name(measure)}-{cell.key}"
                    names, notes = (f"{name}-{suffix}", f"{picture}-{suffix}"), [compared.summary]
                    builder.drawn(*names, f"{title}, {what}", compared, notes=notes)
    return builder.section()


def correlation_section(results: StudyResults) -> Section:
    """Return Kendall's tau between measures."""
    builder = SectionBuilder(
        "correlation",
        "Rank correlation of measures",
        "Kendall's tau between measures over all models of a data set, averaged over data sets, "
        "as Table 5 of Škvára, Pevný and Šmídl, 2019, at the lowest contamination. Intervals of "
        "all cells are in the files of the table.",
    )
    for cell, measures in _cells_of_measures(results, builder):
        matrix = builder.attempt(
            cell.where, kendall_matrix, cell.table, measures=measures, **results.options
        )
        _add_matrix(builder, "correlation", "Kendall's tau", cell, matrix)
    return builder.section()


def selection_section(results: StudyResults) -> Section:
    """Return the loss where one measure selects and another one evaluates."""
    builder = SectionBuilder(
        "selection",
        "Loss from selecting models by another measure",
        "What is lost in the measure of the column where the model is selected by the measure of "
        "the row: a fraction of the best value, averaged over data sets, as Tables 6 (0 % "
        "contamination), 7 (1 %) and 8 (5 %) of Škvára, Pevný and Šmídl, 2019. Intervals are from "
        "data sets drawn again; the files of the tables have the intervals of all cells.",
    )
    by_collection: dict[str, list[tuple[Cell, LossMatrix]]] = {}
    for cell, measures in _cells_of_measures(results, builder, lowest=False):
        losses = builder.attempt(
            cell.where, selection_loss, cell.table, measures=measures, **results.options
        )
        _add_matrix(builder, "selection-loss", "Loss from selection", cell, losses)
        if losses is not None:
            by_collection.setdefault(cell.collection, []).append((cell, losses))
    for collection, losses_by_level in by_collection.items():
        builder.table(
            f"selection-mean-{results.slugs[collection]}",
            f"Mean loss over all measures by the measure that selects, {collection}",
            _mean_losses(losses_by_level),
        )
    for collection, levels in results.collections.items():
        for level, table in _LOSS_TABLES.items() if collection in _RANK_TABLES else ():
            if level not in levels:
                reason = f"the study has no results at {100 * level:g} % contamination"
                builder.lacks(f"{table} for {collection}", reason)
    return builder.section()


def classes_section(results: StudyResults) -> Section:
    """Return the loss on other classes of anomalies than those that selected."""
    builder = SectionBuilder(
        "classes",
        "Loss on other classes of anomalies",
        "What is lost in the measure of the column on one class of anomalies where the model is "
        "selected by the measure of the row on another class of the same data set, as Tables 10 "
        "(collection uci-umap) and 11 (uci) of Škvára, Pevný and Šmídl, 2019, at the lowest "
        "contamination. The diagonal counts: the measure is the same, but the anomalies are "
        "others.",
    )
    _note_collections(builder, results, _CLASS_TABLES)
    for cell in results.cells(builder):
        if cell.table.anomaly_classes is None:
            builder.lacks(cell.where, "its data sets have one class of anomalies each")
            continue
        measures = cell.present(_CLASS_MEASURES, builder)
        losses = builder.attempt(
            cell.where, class_sensitivity, cell.table, measures=measures, **results.options
        )
        _add_matrix(builder, "class-sensitivity", "Loss on other classes", cell, losses)
    return builder.section()


def operating_section(results: StudyResults) -> Section:
    """Return where models differ by AUC and TPR, and the losses at these rates."""
    builder = SectionBuilder(
        "operating",
        "False positive rates where models differ",
        "At each false positive rate models are compared over repeats, by AUC up to it and by TPR "
        "at it; each criterion selects the rate where the models of a data set differ the most. "
        "The loss tables add AUC and TPR at that rate to the measures that select and evaluate, as "
        "Tables 2-6 of Škvára, Pevný and Šmídl, 2020, in the same order. At the lowest "
        "contamination.",
    )
    for cell in results.cells(builder):
        comparisons = _discriminability(cell, results, builder)
        if len(comparisons) < len(get_args(LevelMeasure)):
            continue
        measures = [cell.table.measure(key) for key in cell.present(_RATE_MEASURES, builder)]
        resampling = check_resampling(cell.table.clusters, 0.95, **results.options)
        for criterion in _CRITERIA:
            loss = builder.attempt(
                f"{criterion} for {cell.where}",
                loss_at_rates,
                *(cell.table, measures, comparisons, criterion, "optimal", resampling),
            )
            if loss is not None:
                title = f"Loss with AUC and TPR at the rate that {criterion} selects"
                name = f"loss-at-{criterion}-{cell.key}"
                builder.table(name, f"{title}, {cell.where}", loss, folded=True)
    return builder.section()


def distance_section(results: StudyResults) -> Section:
    """Return distances of rankings from those that two applications ask for."""
    builder = SectionBuilder(
        "distance",
        "Distance of rankings from what an application asks for",
        "Euclidean distance between the ranks of detectors by a measure and by a reference, each "
        "detector with the parameters that are best on the data set by the measure: from TPR at "
        "FPR 0.4, where anomalies must not be missed (Figure 3 of Ning et al., 2020), and from FPR "
        "at TPR 0.8, where alarms must not be false (Figure 4). At the lowest contamination.",
    )
    for cell in results.cells(builder):
        for reference, labels in _REFERENCES.items():
            what = f"{reference} of {cell.where}"
            if not cell.present([reference], builder):
                continue
            result = builder.attempt(
                what,
                rank_distance,
                cell.table,
                reference=reference,
                measures=cell.present(labels, builder),
                **results.options,
            )
            if result is not None:
                name = f"rank-distance-{file_name(reference)}-{cell.key}"
                title = f"Distance from the ranking by {reference}, {cell.where}"
                builder.drawn(name, f"{name}-by-data-set", title, result, draw=draw_distances)
    return builder.section()


def draw_distances(result: RankDistances) -> "Figure":
    """Draw the distance of each measure on each data set; pyplot does not know of the figure."""
    # Here, because matplotlib is loaded only where a picture is drawn.
    from fastad.plot import drawing

    drawing.need_matplotlib()
    from matplotlib.figure import Figure

    positions = np.arange(len(result.datasets))
    width = min(max(_MIN_WIDTH, _DATASET_WIDTH * len(positions) + 3), _MAX_WIDTH)
    figure = Figure(figsize=(width, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    # Data sets have no order, so nothing joins them; dots of one are side by side.
    steps = np.linspace(-_SPREAD, _SPREAD, len(result.measures))
    for i, (label, step) in enumerate(zip(result.measures, steps, strict=True)):
        style = {"marker": _MARKS[i % len(_MARKS)], "color": drawing.line_style(i)["color"]}
        distances = result.distances[:, i]
        axes.plot(positions + step, distances, linestyle="", markersize=5, label=label, **style)
    for position in positions[1:]:
        axes.axvline(position - 0.5, color="0.85", linewidth=0.8, zorder=0)
    names = [drawing.plain_text(name) for name in result.datasets]
    axes.set_xticks(positions, names, rotation=90, fontsize="small")
    axes.set_ylabel(f"Distance from {result.reference}")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize="small")
    return figure


def recommendation_section(results: StudyResults) -> Section:
    """Return recommendations for work at two false positive rates."""
    builder = SectionBuilder(
        "recommendation",
        "Which measure to select models by",
        "For detectors that work at a false positive rate of 0.01 or 0.05, so that TPR at that "
        "rate counts: the measure to select models by, one of Škvára, Pevný and Šmídl, 2019 "
        "(sections 5.3 and 5.4), at the lowest contamination. A measure selects on all repeats but "
        "one, and is evaluated on that one.",
    )
    for cell in results.cells(builder):
        cell.present(TABLE_MEASURES, builder)
        for target in results.targets(cell):
            what = f"{cell.where}, for {target}"
            recommendation = builder.attempt(what, results.recommendation, cell, target)
            if recommendation is not None:
                builder.paragraphs.append(f"{what}: {recommendation.text}")
                name = f"recommendation-{file_name(target)}-{cell.key}"
                builder.table(name, f"Evidence, {what}", recommendation, folded=True)
    return builder.section()


def _cells_of_measures(
    results: StudyResults, builder: SectionBuilder, *, lowest: bool = True
) -> Iterator[tuple[Cell, list[str]]]:
    """Yield the cells in which measures can be compared with each other, and these measures."""
    for cell in results.cells(builder, lowest=lowest):
        cell.present(TABLE_MEASURES, builder)
        measures = results.compared_measures(cell)
        if len(measures) < 2:
            builder.lacks(cell.where, "a measure alone has no other to be compared with")
        else:
            yield cell, measures


def _note_collections(
    builder: SectionBuilder, results: StudyResults, tables: Mapping[str, str]
) -> None:
    """Note which tables have no collection to be made of, if the study has the paper's data."""
    if tables.keys().isdisjoint(results.collections):
        return
    for collection, table in tables.items():
        if collection not in results.collections:
            builder.lacks(table, f"the study has no results of the collection {collection}")


def _add_matrix(
    builder: SectionBuilder, name: str, title: str, cell: Cell, matrix: MeasureMatrix | None
) -> None:
    """Add a heat map and its table."""
    if matrix is not None:
        names = f"{name}-{cell.key}", f"{name}-map-{cell.key}"
        builder.drawn(*names, f"{title}, {cell.where}", matrix)


def _mean_losses(losses: Sequence[tuple[Cell, LossMatrix]]) -> SimpleTable:
    """Return the mean of each row with its interval, by contamination."""
    selectors = list(dict.fromkeys(key for _, matrix in losses for key in matrix.rows))
    header = ["selected by"]
    rows: list[list[str | None]] = [[key] for key in selectors]
    columns: dict[str, list[object]] = {"selected_by": [], "contamination": []}
    columns |= {"mean_loss": [], "low": [], "high": []}
    for cell, matrix in losses:
        header.append(f"{100 * cell.contamination:g} % contamination")
        mean = matrix.means["mean"]
        for key, row in zip(selectors, rows, strict=True):
            if key not in matrix.rows:
                row.append(None)
                continue
            i = matrix.rows.index(key)
            value, low, high = (float(part[i]) for part in (mean.value, mean.low, mean.high))
            row.append(estimate_text(value, low, high, ".1%"))
            entries = (key, cell.contamination, value, low, high)
            for cells, entry in zip(columns.values(), entries, strict=True):
                cells.append(entry)
    level = level_text(losses[0][1].confidence_level)
    return SimpleTable(header, rows, [f"intervals at {level}, from data sets drawn again"], columns)


def _discriminability(
    cell: Cell, results: StudyResults, builder: SectionBuilder
) -> dict[str, Discriminability]:
    """Compare models at each rate, once for all criteria: it takes the longest."""
    comparisons: dict[str, Discriminability] = {}
    for measure in get_args(LevelMeasure):
        result = builder.attempt(
            cell.where, discriminability, cell.table, measure=measure, **results.options
        )
        if result is not None:
            comparisons[measure] = result
            title = f"False positive rates where models differ by {measure.upper()}, {cell.where}"
            name = f"discriminability-{measure}"
            builder.drawn(f"{name}-{cell.key}", f"{name}-curves-{cell.key}", title, result)
    return comparisons
