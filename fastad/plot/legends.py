"""Legends: the texts of detectors, their place, and the room for them in a new figure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from fastad.evaluation.notes import (
    UNRESOLVED,
    line_of_contamination,
    line_of_thresholds,
    line_of_unresolved,
)
from fastad.evaluation.results import DetectorEvaluation
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

# Detector, then key of a measure, then value: such as the result of `fastad.evaluate`.
Values = Mapping[str, Mapping[str, float]]
# Lines of text that fit into a corner of the figure; a longer legend stands beside the axes.
ROWS_INSIDE = 6
# Inches.
ROW_HEIGHT = 0.19
_CORNERS = ("upper right", "lower right", "lower left", "upper left")
# Inches: axes in a column of a paper are narrower, and have room for three detectors and chance.
_NARROW = 3.5
_ROWS_IN_NARROW = 4
# Inches: narrower axes are not left beside a legend.
_LEAST = 2.0
# Width of axes with their labels, in widths of the axes.
_WITH_MARGIN = 1.25
# Characters.
_FOOTNOTE_WIDTH = 44


def legend_labels(
    detectors: Iterable[str],
    values: Values,
    more: Mapping[str, str] | None = None,
    unresolved: Iterable[Mapping[str, str]] = (),
    *,
    is_exact: bool = False,
) -> dict[str, str]:
    """Return the label of each detector: its name, its values, and more text.

    Values of too few samples are marked, and a footnote below the last label explains the mark;
    it also covers the ``unresolved`` values of the other texts, and whether those are exact. Others
    say what values are corrected for, and which thresholds were chosen elsewhere.
    """
    labels = {}
    for name in detectors:
        shown = ", ".join(_value_texts(values.get(name, {})))
        labels[name] = (f"{name} ({shown})" if shown else name) + (more or {}).get(name, "")
    results = [values[name] for name in labels if name in values]
    notes = line_of_unresolved(
        [*map(_unresolved_of, results), *unresolved],
        is_exact=is_exact or any(map(_intervals_of, results)),
    )
    for each in results:
        if isinstance(each, DetectorEvaluation):
            notes += line_of_contamination(each.contamination)
            notes += line_of_thresholds(each.chosen_elsewhere)
    if notes:
        last = list(labels)[-1]
        lines = (line for note in dict.fromkeys(notes) for line in wrap(note, _FOOTNOTE_WIDTH))
        labels[last] = "\n".join([labels[last], *lines])
    return labels


def _value_texts(values: Mapping[str, float]) -> Iterable[str]:
    too_few, intervals = _unresolved_of(values), _intervals_of(values)
    for key, value in values.items():
        # Numbers of samples are integers.
        text = f"{value:d}" if isinstance(value, Integral) else f"{value:.3f}"
        text = "undefined" if math.isnan(value) else text
        mark = UNRESOLVED if key in too_few else ""
        yield f"{key} {mark}{text}{interval_text(intervals.get(key))}"


def interval_text(interval: Interval | None) -> str:
    """Return an interval as it stands behind a value in the legend, nothing for none."""
    return "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"


def _intervals_of(values: Mapping[str, float]) -> Mapping[str, Interval]:
    return values.exact_intervals if isinstance(values, DetectorEvaluation) else {}


def _unresolved_of(values: Mapping[str, float]) -> Mapping[str, str]:
    """Return the values of too few samples with the reason; plain numbers have no counts."""
    return values.unresolved if isinstance(values, DetectorEvaluation) else {}


def draw_legend(ax: "Axes", corner: str, lines: "Sequence[Line2D]") -> None:
    """Draw the legend in a corner where it covers no line, best in the given one.

    If it is long or there is no such corner, it stands outside the axes: beside them, or above if
    they would be left with little width. Only a layout of the figure makes room for that.
    """
    box = ax.get_window_extent()
    is_narrow = box.width < _NARROW * ax.figure.dpi
    n_rows = count_rows(ax.get_legend_handles_labels()[1])
    style: dict[str, Any] = {"handlelength": 3.2, "fontsize": "x-small" if is_narrow else "small"}
    inside = {**style, "loc": corner, "framealpha": 0.85}
    if n_rows <= (_ROWS_IN_NARROW if is_narrow else ROWS_INSIDE):
        for place in (corner, *_CORNERS):
            if not _covers(ax.legend(**{**inside, "loc": place}), lines):
                return
    if ax.figure.get_layout_engine() is None:
        less = {"framealpha": 0.7, "fontsize": "x-small"} if n_rows > ROWS_INSIDE else {}
        ax.legend(**{**inside, **less})
        return
    outside = {**style, "borderaxespad": 0, "frameon": False}
    legend = ax.legend(**outside, loc="upper left", bbox_to_anchor=(1.02, 1))
    if box.width - legend.get_window_extent().width >= _LEAST * ax.figure.dpi:
        return
    outside |= {"loc": "lower right", "bbox_to_anchor": (1, 1.02), "labelspacing": 0.3}
    if ax.legend(ncols=2, **outside).get_window_extent().width > _WITH_MARGIN * box.width:
        ax.legend(**outside)


def _covers(legend: "Legend", lines: "Sequence[Line2D]") -> bool:
    """Return whether a legend lies over a line, with the axes as large as they are now."""
    legend.axes.get_xlim()  # which may still have to be found from the lines
    box = legend.get_window_extent()
    paths = (line.get_path().transformed(line.get_transform()) for line in lines)
    return any(path.intersects_bbox(box, filled=False) for path in paths)


def count_rows(texts: Iterable[str]) -> int:
    """Return the number of lines of text in a legend."""
    return sum(text.count("\n") + 1 for text in texts)
