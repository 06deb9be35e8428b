"""Pictures of the detectors' curves on one data set, and of the distributions of their scores."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.text_tables import number_text, some_of
from fastad._core.types import FloatVector
from fastad.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Inches. Fixed positions in place of a layout engine, which takes longer than all lines.
_WIDTH, _LEFT, _TOP, _BOTTOM = 11.0, 0.62, 0.62, 0.5
_PANEL, _ACROSS, _BETWEEN = (2.95, 2.5), 0.68, 0.72
_ROW, _HEAD, _SAMPLE = 0.4, 0.3, 0.34
_BARS, _DISTANCES, _BAR, _LABELS, _APART = 3.2, 2.8, 0.36, 0.95, 0.95
# Ratio of the highest value to the lowest from which an axis is logarithmic.
_DECADES = 100.0
# Decades below the lowest tick of a logarithmic axis at which 0 is drawn.
_EDGE = 0.8
_SMALL = 8.5
# Characters of a column of values.
_COLUMN = 10
_MARKED = 90
_CLASSES = {"normal points": drawing.COLOURS[0], "anomalies": drawing.COLOURS[1]}
# Rates at which chance is drawn on a logarithmic axis: curves have a point at each percent.
_RATES = np.geomspace(0.01, 1, 50)
_PERCENTILES = ("normal_percentiles", "anomaly_percentiles")
_NO_VOLUME = "no uniform point lies inside a level set"
_Lines: TypeAlias = list[tuple["DetectorCurves", FloatVector, FloatVector]]


@dataclass(frozen=True, slots=True, eq=False)
class DetectorCurves:
    """Content of a detector's pictures on a data set."""

    detector: str
    params: str
    # Its position among the detectors of the study: its colour and dashes in all pictures.
    style: int
    # By names of `fastad.study.results.CURVES`; without points where they are undefined.
    curves: Mapping[str, FloatVector]
    # Measures of the configuration: ``auc``, ``auc_pr``, ``mv``, ``em``; reasons where undefined.
    values: Mapping[str, float] = field(default_factory=dict)
    undefined: Mapping[str, str] = field(default_factory=dict)


class _Row(NamedTuple):
    """A row of the table beside the panels, which is their legend."""

    detector: DetectorCurves
    cells: Sequence[str]


def draw_curves(
    detectors: Sequence[DetectorCurves], title: str, anomaly_fraction: float
) -> "Figure":
    """Draw the ROC, precision-recall, mass-volume and excess-mass curves of detectors.

    The ROC curve has two panels, the second with a logarithmic false positive rate, where
    detectors work. The fraction of anomalies among the test points is the precision of chance; NaN
    draws none.
    """
    height = _TOP + 2 * _PANEL[1] + _BETWEEN + _BOTTOM
    columns = [_LEFT + (_PANEL[0] + _ACROSS) * i for i in range(3)]
    second = _TOP + _PANEL[1] + _BETWEEN
    figure = _new_figure(max(height, second + _HEAD + _ROW * len(detectors) + 0.1), title)
    # The table takes the place of a sixth panel.
    corners = [*((x, _TOP) for x in columns), *((x, second) for x in columns[:2])]
    panels = [_add_axes(figure, x, y, _PANEL) for x, y in corners]
    _draw_rates(panels[0], panels[1], panels[2], detectors, anomaly_fraction)
    _draw_volumes(panels[3], detectors)
    _draw_excess(panels[4], detectors)
    rows = [
        _Row(
            detector,
            [
                number_text(detector.values.get(name, np.nan), form)
                for name, form in (("auc", ".3f"), ("auc_pr", ".3f"), ("mv", ".3g"), ("em", ".3g"))
            ],
        )
        for detector in detectors
    ]
    _draw_table(figure, (columns[2] - 0.3, second), ("AUC", "AUC-PR", "MV", "EM"), rows)
    return figure


def draw_scores(detectors: Sequence[DetectorCurves], title: str) -> "Figure":
    """Draw percentiles of the scores of both classes, and the distances between them.

    Each detector's scores are scaled to [0, 1] by the range of them all; detectors without
    percentiles are named.
    """
    missing = [
        detector
        for detector in detectors
        if not all(detector.curves[name].size for name in _PERCENTILES)
    ]
    detectors = [detector for detector in detectors if detector not in missing]
    height = max(3.0, _BAR * len(detectors) + 0.2, _HEAD + _ROW * len(detectors) - _BOTTOM)
    figure = _new_figure(_TOP + height + _BOTTOM, title)
    bars = _add_axes(figure, _LABELS, _TOP, (_BARS, height))
    distances = _add_axes(figure, _LABELS + _BARS + _APART, _TOP, (_DISTANCES, height))
    scaled = [_scaled(detector) for detector in detectors]
    _draw_bars(bars, detectors, scaled)
    rp = [anomaly[::-1] - normal for normal, anomaly in scaled]
    _draw_distances(distances, detectors, rp)
    if missing:
        text = drawing.plain_text(f"infinite scores: {_named(missing)}")
        top: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": _SMALL}
        figure.text(1 - 0.12 / _WIDTH, 1 - 0.1 / figure.get_figheight(), text, **top)
    rows = []
    for detector, distance in zip(detectors, rp, strict=True):
        # The integral of straight lines between percentiles, as a fraction of all distances.
        area = 0.5 + float(np.trapezoid(distance)) / 200
        below = np.flatnonzero(distance <= 0)
        zero = f"{below[0]:.0f}" if below.size else number_text(np.nan)
        cells = [f"{area:.3f}", number_text(float(distance[_MARKED]), ".2f"), zero]
        rows.append(_Row(detector, cells))
    x = _LABELS + _BARS + _APART + _DISTANCES + 0.2
    _draw_table(figure, (x, _TOP), ("RP-AUC", f"RP@{_MARKED}", "zero"), rows)
    return figure


def _new_figure(height: float, title: str) -> "Figure":
    drawing.need_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height))
    text = drawing.plain_text(title)
    figure.text(0.12 / _WIDTH, 1 - 0.1 / height, text, va="top", fontsize=11, weight="bold")
    return figure


def _add_axes(figure: "Figure", x: float, y: float, size: tuple[float, float]) -> "Axes":
    """Add axes at a position in inches from the left and from the top."""
    width, height = figure.get_size_inches()
    position = (x / width, 1 - (y + size[1]) / height, size[0] / width, size[1] / height)
    axes = figure.add_axes(position)
    axes.tick_params(labelsize=_SMALL)
    axes.grid(alpha=0.25)
    return axes


def _draw_rates(
    roc: "Axes",
    low_rates: "Axes",
    precision: "Axes",
    detectors: Sequence[DetectorCurves],
    fraction: float,
) -> None:
    """Draw the panels whose curves need labels."""
    _label(roc, "ROC", "False positive rate", "True positive rate")
    _label(low_rates, "ROC, low rates", "False positive rate", "True positive rate")
    _label(precision, "Precision-recall", "Recall", "Precision")
    drawing.draw_reference(roc, [0, 1], [0, 1], "chance")
    drawing.draw_reference(low_rates, _RATES, _RATES, "chance")
    if not np.isnan(fraction):
        drawing.draw_reference(precision, [0, 1], [fraction, fraction], "chance")
    for detector in detectors:
        tpr, at_recall = detector.curves["roc"], detector.curves["pr"]
        fpr = np.linspace(0, 1, tpr.size)
        roc.plot(fpr, tpr, **drawing.line_style(detector.style))
        low_rates.plot(fpr[1:], tpr[1:], **drawing.line_style(detector.style))
        recall = np.linspace(0, 1, at_recall.size + 1)[1:]
        precision.plot(recall, at_recall, **drawing.line_style(detector.style))
    for axes in (roc, precision):
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    low_rates.set(xscale="log", xlim=(_RATES[0], 1), ylim=(-0.02, 1.02))
    low_rates.set_xticks([0.01, 0.1, 1], ["0.01", "0.1", "1"])


def _draw_volumes(axes: "Axes", detectors: Sequence[DetectorCurves]) -> None:
    _label(axes, "Mass-volume (lower is better)", "Mass", "Volume, fraction of the box")
    lines = _lines(detectors, "mv_mass", "mv_volume")
    volumes = _joined([y for _, _, y in lines])
    if lines and not volumes.any():
        _fill_with(axes, f"All volumes are 0: {_NO_VOLUME}")
        return
    edge = _edge(volumes) if _spans_decades(volumes) else 0.0
    for detector, mass, volume in lines:
        axes.plot(mass, np.maximum(volume, edge), **drawing.line_style(detector.style))
    if edge:
        axes.set_yscale("log")
        axes.minorticks_off()
    # Its power of ten stands to the right, where the title is not.
    if not edge:
        axes.ticklabel_format(axis="y", scilimits=(-2, 4))
    axes.yaxis.get_offset_text().set(x=1, horizontalalignment="right", fontsize=_SMALL)
    if edge and not volumes.all():
        axes.set_ylim(bottom=0.7 * edge)
        style: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "fontsize": _SMALL}
        axes.text(-0.025, edge, "0", ha="right", va="center", **style)
    _name_undefined(axes, "mv", detectors, lines)


def _draw_excess(axes: "Axes", detectors: Sequence[DetectorCurves]) -> None:
    across = "Level, mass by fraction of the box"
    _label(axes, "Excess mass (higher is better)", across, "Excess mass")
    lines = _lines(detectors, "em_level", "em_mass")
    # Levels go up to the one that a criterion needs: detectors differ by where they end.
    ends = np.array([level.max() for _, level, _ in lines])
    edge = _edge(_joined([level for _, level, _ in lines])) if _spans_decades(ends) else 0.0
    for detector, level, mass in lines:
        axes.plot(np.maximum(level, edge), mass, **drawing.line_style(detector.style))
    if edge:
        axes.set_xscale("log")
        axes.minorticks_off()
    _name_undefined(axes, "em", detectors, lines)


def _lines(detectors: Sequence[DetectorCurves], x: str, y: str) -> _Lines:
    """Return the points of the detectors that have any."""
    lines = []
    for detector in detectors:
        across, up = detector.curves[x], detector.curves[y]
        finite = np.isfinite(across) & np.isfinite(up)
        if finite.any():
            lines.append((detector, across[finite], up[finite]))
    return lines


def _joined(values: Sequence[FloatVector]) -> FloatVector:
    return np.concatenate(values) if values else np.empty(0)


def _edge(values: FloatVector) -> float:
    """Return where 0 is drawn on a logarithmic axis."""
    lowest = np.floor(np.log10(values[values > 0].min()))
    return float(10 ** (lowest - _EDGE))


def _name_undefined(
    axes: "Axes", name: str, detectors: Sequence[DetectorCurves], lines: _Lines
) -> None:
    """Name the detectors whose curve is undefined, and the reason where all are."""
    drawn = {detector.style for detector, _, _ in lines}
    missing = [detector for detector in detectors if detector.style not in drawn]
    if missing and not drawn:
        reason = missing[0].undefined.get(name, _NO_VOLUME)
        _fill_with(axes, f"{name.upper()} is undefined: {reason}")
    elif missing:
        style: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top"}
        text = drawing.plain_text(f"undefined: {_named(missing)}")
        drawing.draw_text(axes, 0.97, 0.96, text, color="0.3", fontsize=_SMALL, **style)


def _named(detectors: Sequence[DetectorCurves]) -> str:
    return some_of([detector.detector for detector in detectors], 3)


def _fill_with(axes: "Axes", text: str) -> None:
    """Write a sentence into a panel that has no lines."""
    style: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    wrapped = drawing.plain_text(textwrap.fill(text, 36))
    axes.text(0.5, 0.5, wrapped, color="0.2", fontsize=_SMALL, **style)
    axes.set(xticks=[], yticks=[])


def _label(axes: "Axes", title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=9.5, loc="left", pad=4)
    axes.set_xlabel(x, fontsize=_SMALL, labelpad=2)
    axes.set_ylabel(y, fontsize=_SMALL, labelpad=2)


def _spans_decades(values: FloatVector) -> bool:
    positive = values[values > 0]
    return bool(positive.size and positive.max() > _DECADES * positive.min())


def _scaled(detector: DetectorCurves) -> tuple[FloatVector, FloatVector]:
    """Return the percentiles of both classes in the range of all scores."""
    both = np.stack([detector.curves["normal_percentiles"], detector.curves["anomaly_percentiles"]])
    both = both.astype(np.float64)
    finite = both[np.isfinite(both)]
    low, high = (finite.min(), finite.max()) if finite.size else (0.0, 0.0)
    if low == high:
        normal, anomaly = np.where(both > high, 1.0, np.where(both < low, 0.0, 0.5))
    else:
        normal, anomaly = (np.clip(both, low, high) - low) / (high - low)
    return normal, anomaly


def _draw_bars(
    axes: "Axes",
    detectors: Sequence[DetectorCurves],
    scaled: Sequence[tuple[FloatVector, FloatVector]],
) -> None:
    """Draw for each detector and class the 10th, 25th, 50th, 75th and 90th percentiles."""
    _label(axes, "", "Score, scaled to [0, 1]", "")
    for i, (name, colour) in enumerate(_CLASSES.items()):
        at = np.array([percentiles[i] for percentiles in scaled]).reshape(-1, 101).T
        y = np.arange(len(scaled)) + (-0.17, 0.17)[i]
        axes.hlines(y, at[0], at[100], color=colour, linewidth=0.8, alpha=0.5)
        axes.hlines(y, at[10], at[90], color=colour, linewidth=2.2)
        axes.hlines(y, at[25], at[75], color=colour, linewidth=6.5, label=name)
        style: dict[str, Any] = {"markeredgecolor": colour, "markeredgewidth": 1.2}
        axes.plot(at[50], y, "o", markersize=5, color="white", zorder=4, clip_on=False, **style)
    axes.set(xlim=(-0.02, 1.02), ylim=(max(len(scaled), 1) - 0.5, -0.5))
    names = [drawing.plain_text(textwrap.shorten(detector.detector, 14)) for detector in detectors]
    axes.set_yticks(range(len(scaled)), names)
    axes.tick_params(axis="y", length=0)
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(-0.02, 1.0),
        ncols=2,
        frameon=False,
        fontsize=_SMALL,
        borderaxespad=0.1,
        handlelength=1.4,
    )


def _draw_distances(
    axes: "Axes", detectors: Sequence[DetectorCurves], distances: Sequence[FloatVector]
) -> None:
    _label(axes, "RP distance", "Percentile p", "RP@p, in the scaled scores")
    drawing.draw_reference(axes, [0, 100], [0, 0], "no distance")
    axes.axvline(_MARKED, color="0.7", linewidth=1, zorder=1)
    for detector, distance in zip(detectors, distances, strict=True):
        (line,) = axes.plot(
            np.arange(distance.size), distance, **drawing.line_style(detector.style)
        )
        drawing.draw_mark(axes, _MARKED, float(distance[_MARKED]), line)
    axes.set_xlim(-1, 101)


def _draw_table(
    figure: "Figure", corner: tuple[float, float], heads: Sequence[str], rows: Sequence[_Row]
) -> None:
    """Draw the legend as a table: line, name and parameters, and below them the values.

    Its upper left corner is in inches from the left and from the top.
    """
    x, top = corner
    width, height = figure.get_size_inches()
    axes = figure.add_axes((x / width, 0, 1 - x / width, 1))
    axes.set(xlim=(0, width - x), ylim=(height, 0))
    axes.set_axis_off()
    fixed: dict[str, Any] = {"family": "monospace", "fontsize": _SMALL - 0.5, "va": "center"}
    left = _SAMPLE + 0.12
    axes.text(left, top + 0.08, _in_columns(heads), color="0.35", **fixed)
    for i, row in enumerate(rows):
        y = top + _HEAD + _ROW * i + 0.08
        axes.plot([0, _SAMPLE], [y, y], **drawing.line_style(row.detector.style))
        name = textwrap.shorten(
            f"{row.detector.detector} {row.detector.params}", 44, placeholder=" …"
        )
        axes.text(left, y, drawing.plain_text(name), fontsize=_SMALL, va="center")
        axes.text(left, y + 0.155, _in_columns(row.cells), color="0.25", **fixed)


def _in_columns(cells: Sequence[str]) -> str:
    return "".join(cell.ljust(_COLUMN) for cell in cells).rstrip()
