"""Figures of all comparisons of a table of results."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args

from fastad._core.results import TableResult
from fastad.benchmarking.detector_pairs import PairMatrix
from fastad.benchmarking.matrix import MeasureMatrix
from fastad.benchmarking.operating_points import CriterionName, Discriminability
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.benchmarking.rank_inference import RankIntervals
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.plot import drawing
from fastad.plot.comparisons import (
    DiscriminabilityDisplay,
    MatrixDisplay,
    PairMatrixDisplay,
    matrix_size,
    pairs_size,
)
from fastad.plot.detector_ranks import CriticalDifferenceDisplay, RankIntervalsDisplay, ranks_size

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches: width of a diagram of ranks, heights of a row of two names and of the axis.
_RANKS, _TWO_NAMES, _AXIS = 9.0, 0.27, 1.3
# Inches: height of the title of a heat map.
_TITLE = 0.4
# Inches: size of the panel of a criterion; then panels in a row.
_PANEL, _COLUMNS = (4.1, 3.1), 3


def draw_overview(overview: RunsOverview) -> Iterator[tuple[str, "Figure"]]:
    """Yield the name of each comparison of `compare_runs` that has a display, and its figure.

    It shows ranks with intervals, a critical-difference diagram, a heat map, or the five criteria
    of discriminability against the false positive rate. pyplot does not know of it, and need not
    close it.
    """
    for name, result in overview.items():
        figure = draw_result(result)
        if figure is not None:
            figure.suptitle(drawing.plain_text(overview.title(name)), fontsize="medium")
            yield name, figure


def draw_result(result: TableResult) -> "Figure | None":
    """Return the figure of one comparison without a title; None if it has no display."""
    drawing.need_matplotlib()
    display: Any
    match result:
        case RankComparison():
            rows = math.ceil(len(result.detectors) / 2) + 0.4 * len(result.groups)
            display, size = CriticalDifferenceDisplay(result), (_RANKS, _AXIS + _TWO_NAMES * rows)
        case RankIntervals():
            display, size = RankIntervalsDisplay(result), ranks_size(len(result.detectors))
        case PairMatrix():
            display, size = PairMatrixDisplay(result), pairs_size(len(result.detectors))
        case MeasureMatrix():
            width, height = matrix_size(*result.value.shape)
            display, size = MatrixDisplay(result), (width, height + _TITLE)
        case _:
            return _draw_criteria(result) if isinstance(result, Discriminability) else None
    figure = _new_figure(*size)
    display.plot(figure.subplots())
    return figure


def _new_figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _draw_criteria(discriminability: Discriminability) -> "Figure":
    criteria = get_args(CriterionName)
    rows = math.ceil((len(criteria) + 1) / _COLUMNS)
    figure = _new_figure(_PANEL[0] * _COLUMNS, _PANEL[1] * rows)
    panels = figure.subplots(rows, _COLUMNS).ravel()
    display = DiscriminabilityDisplay(discriminability)
    for criterion, axes in zip(criteria, panels, strict=False):
        display.plot(axes, criterion=criterion, legend=False)
    # The lines are the same in all panels: their legend has a panel of its own.
    legend: dict[str, Any] = {}
    for axes in panels[: len(criteria)]:
        lines, names = axes.get_legend_handles_labels()
        legend |= dict(zip(names, lines, strict=True))
    for spare in panels[len(criteria) :]:
        spare.set_axis_off()
    panels[len(criteria)].legend(list(legend.values()), list(legend), loc="center", frameon=False)
    return figure
