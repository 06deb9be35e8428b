"""Ranks of detectors: with their intervals, and critical-difference diagrams."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import check_type
from fastad._core.text_tables import level_text
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.benchmarking.rank_inference import RankIntervals
from fastad.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from typing_extensions import Self


_TIED, _OTHER = drawing.COLOURS[0], "0.45"

# Heights in rows of names, downwards from the axis of ranks.
_TITLE, _TOP = -1.1, -1.8
# Additional height of the title above a ruler.
_RULER = 0.5
_FIRST_BAR, _BAR_STEP, _BEFORE_NAMES = 0.45, 0.4, 0.75
# Inches, of a new figure.
_WIDTH, _RANKS, _ROW = 7.2, 3.6, 0.27
# Fraction of the height of a row that letters fill, and their size in points.
_LETTERS, _SMALLEST, _LARGEST = 0.72, 3.0, 10.0
_POINTS = 72
# Points between a line and its name.
_SPACE = 4
# Bars that are closer than this fraction of the axis do not share a level.
_GAP = 0.02
# Smallest distance between ticks, in points.
_TICK = 25
# Smallest fraction of the axes for ranks where long names stand inside.
_LEAST = 0.3
_BAR_COLOUR, _DIFFERENT, _CONTROL = "0.15", drawing.COLOURS[1], drawing.COLOURS[0]


class RankIntervalsDisplay(drawing.Display):
    """The rank of each detector with its interval, the best at the top.

    Detectors that are tied with the best are coloured.

    Parameters
    ----------
    ranks : RankIntervals
        Result of `fastad.benchmarking.rank_intervals`.

    Attributes
    ----------
    ranks : RankIntervals
        The ranks.
    ax_, figure_, lines_, line_, intervals_
        Axes, figure, mark of each detector, mark of the best, lines of the intervals; once drawn.

    See Also
    --------
    fastad.benchmarking.rank_intervals : The numbers.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> from fastad.plot import RankIntervalsDisplay
    >>> from matplotlib.figure import Figure
    >>> values = np.random.default_rng(0).normal([0.9, 0.89, 0.8], 0.02, (12, 3))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof", "svm"])
    >>> ranks = fastad.benchmarking.rank_intervals(results, rng=0)
    >>> display = RankIntervalsDisplay(ranks).plot(Figure().subplots())
    >>> [segment[:, 0].tolist() for segment in display.intervals_.get_segments()]
    [[1.0, 2.0], [1.0, 2.0], [3.0, 3.0]]
    """

    def __init__(self, ranks: RankIntervals) -> None:
        check_type(ranks, RankIntervals, "ranks", "a fastad.benchmarking.RankIntervals")
        self.ranks = ranks

    def plot(self, ax: "Axes | None" = None) -> "Self":
        """Draw ranks and intervals; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, as high as the names need.
        """
        ranks, n = self.ranks, len(self.ranks.detectors)
        axes = drawing.open_axes(ax, size=ranks_size(n))
        rows = np.arange(n)
        colours: list[Any] = [_TIED if low == 1 else _OTHER for low in ranks.low]
        self.intervals_ = axes.hlines(rows, ranks.low, ranks.high, colors=colours, linewidth=2)
        self.lines_ = {
            name: axes.plot([ranks.rank[i]], [i], "o", color=colours[i], zorder=3)[0]
            for i, name in enumerate(ranks.detectors)
        }
        axes.set_yticks(rows, [drawing.plain_text(name) for name in ranks.detectors])
        level = level_text(ranks.confidence_level)
        axes.set(
            xlim=(0.5, n + 0.5),
            ylim=(n - 0.5, -0.5),
            xlabel=drawing.plain_text(f"rank by {ranks.measure}, all intervals at {level}"),
        )
        axes.locator_params(axis="x", integer=True)
        return self._finish(axes)


def ranks_size(n_detectors: int) -> drawing.Size:
    """Return width and height of a figure that has room for the names of detectors; inches."""
    return 6.4, 0.24 * n_detectors + 1.0


class CriticalDifferenceDisplay(drawing.Display):
    """Detectors on an axis of mean ranks, the best at the left.

    Without a control, bars join detectors that are not significantly different. With one, a bar
    spans the ranks that do not differ significantly from it, and names of detectors that do are
    coloured.

    Parameters
    ----------
    comparison : RankComparison
        Result of `fastad.benchmarking.nemenyi` or `fastad.benchmarking.wilcoxon_holm`.

    Attributes
    ----------
    comparison : RankComparison
        The comparison.
    ax_, figure_, lines_, line_
        Axes, figure, leader line of each detector, line of the best; once drawn.
    names_ : dict of str to matplotlib.text.Text
        The name of each detector.
    bars_ : list of matplotlib.lines.Line2D
        The bar of each group; with a control and a critical difference, the one about it.
    ruler_ : matplotlib.lines.Line2D or None
        The ruler as long as the critical difference, where there is one.

    See Also
    --------
    fastad.benchmarking.nemenyi : Compares mean ranks.
    fastad.benchmarking.wilcoxon_holm : Compares pairs; has no critical difference.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", 2006,
       section 3.2.4, figure 1.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import CriticalDifferenceDisplay
    >>> from matplotlib.figure import Figure
    >>> auc = [[0.9, 0.8, 0.7], [0.9, 0.8, 0.6], [0.8, 0.7, 0.5], [0.9, 0.8, 0.5]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof", "svm"])
    >>> comparison = fastad.benchmarking.nemenyi(results, measure="auc", rng=0)
    >>> display = CriticalDifferenceDisplay(comparison).plot(Figure().subplots())
    >>> [bar.get_xdata().tolist() for bar in display.bars_]
    [[1.0, 2.0], [2.0, 3.0]]
    """

    names_: "dict[str, Text]"
    bars_: "list[Line2D]"
    ruler_: "Line2D | None"

    def __init__(self, comparison: RankComparison) -> None:
        check_type(comparison, RankComparison, "comparison", "a RankComparison")
        self.comparison = comparison

    def plot(self, ax: "Axes | None" = None, *, line_kw: Mapping[str, Any] | None = None) -> "Self":
        """Draw the diagram; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, best on nothing else; by default a new figure of pyplot, as high as
            the names need. Names are as large as their rows allow. They stand beside the axes where
            the layout of the figure can make room for them (``layout="constrained"``), else inside.
        line_kw : mapping of str, optional
            Properties of the lines to the names, as ``Axes.plot`` takes them.
        """
        comparison = self.comparison
        bars = _stacked(self._spans(), _GAP * (len(comparison.detectors) - 1))
        first_row = _FIRST_BAR + _BAR_STEP * (1 + max((level for _, level in bars), default=-1))
        first_row = max(first_row, _BEFORE_NAMES)
        top = _TOP - (0 if comparison.critical_difference is None else _RULER)
        height = first_row + math.ceil(len(comparison.detectors) / 2) - top
        axes = drawing.open_axes(ax, size=(_WIDTH, _ROW * height + 0.2))
        inches = axes.get_window_extent().height / axes.figure.dpi
        size = min(max(_LETTERS * _POINTS * inches / height, _SMALLEST), _LARGEST)
        self._set_axes(axes, top, height + top, size)
        self.ruler_ = self._draw_ruler(axes, size)
        self.bars_ = [
            axes.plot(
                span,
                [_FIRST_BAR + _BAR_STEP * level] * 2,
                color=_BAR_COLOUR if comparison.control is None else _CONTROL,
                linewidth=min(4.0, 0.4 * size),
                solid_capstyle="round",
                zorder=4,
                clip_on=False,
            )[0]
            for span, level in bars
        ]
        self.lines_, self.names_ = self._draw_names(axes, first_row, size, line_kw)
        overhang = _overhang(axes, list(self.names_.values()))
        if ax is None:
            width = _RANKS + sum(overhang) / axes.figure.dpi
            axes.figure.set_figwidth(max(_WIDTH, width))  # type: ignore[union-attr]
        elif axes.figure.get_layout_engine() is None:
            _make_room(axes, overhang)
        return self._finish(axes, grid=False)

    def _spans(self) -> list[tuple[float, float]]:
        """Return the ends of each bar."""
        comparison = self.comparison
        if comparison.control is not None:
            if comparison.critical_difference is None:
                return []
            middle = float(comparison.mean_ranks[comparison.detectors.index(comparison.control)])
            # Ranks lie between 1 and the number of detectors.
            low = max(middle - comparison.critical_difference, 1.0)
            return [
                (
                    low,
                    min(middle + comparison.critical_difference, float(len(comparison.detectors))),
                )
            ]
        rank = dict(zip(comparison.detectors, comparison.mean_ranks.tolist(), strict=True))
        return [(rank[group[0]], rank[group[-1]]) for group in comparison.groups]

    def _set_axes(self, axes: "Axes", top: float, bottom: float, size: float) -> None:
        comparison = self.comparison
        k = len(comparison.detectors)
        right = max(float(k), 1 + (comparison.critical_difference or 0.0))
        width = axes.get_window_extent().width / axes.figure.dpi * _POINTS
        axes.set(xlim=(1, right), ylim=(bottom, top), yticks=[], facecolor="none", xlabel="")
        axes.set_xticks(_ticks(k, width / _TICK))
        axes.spines[:].set_visible(False)
        # Only the axis of ranks is left, at height 0.
        axes.spines["top"].set(visible=True, position=("data", 0), bounds=(1, k))
        axes.xaxis.set_ticks_position("top")
        axes.tick_params(axis="x", labelsize=size)
        title = drawing.plain_text(f"mean rank by {comparison.measure}")
        options: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": size}
        axes.text(right, top - _TOP + _TITLE, title, **options)

    def _draw_ruler(self, axes: "Axes", size: float) -> "Line2D | None":
        width = self.comparison.critical_difference
        if width is None:
            return None
        style: dict[str, Any] = {"color": _BAR_COLOUR, "linewidth": 1.2, "marker": "|"}
        (ruler,) = axes.plot(
            [1.0, 1 + width], [_TITLE - _RULER + 0.15] * 2, markersize=0.8 * size, **style
        )
        ruler.set_clip_on(False)
        axes.text(1, _TITLE - _RULER, f"CD = {width:.3g}", va="bottom", fontsize=size)
        return ruler

    def _draw_names(
        self, axes: "Axes", first_row: float, size: float, line_kw: Mapping[str, Any] | None
    ) -> "tuple[dict[str, Line2D], dict[str, Text]]":
        """Draw a line from the rank of each detector to its name, the better half at the left."""
        from matplotlib.cbook import normalize_kwargs
        from matplotlib.lines import Line2D

        comparison = self.comparison
        options: dict[str, Any] = {"color": "0.35", "linewidth": 0.9, "zorder": 3, "clip_on": False}
        options |= normalize_kwargs(dict(line_kw or {}), Line2D)
        n = len(comparison.detectors)
        left, right = axes.get_xlim()
        lines: dict[str, Line2D] = {}
        names: dict[str, Text] = {}
        for i, (name, rank) in enumerate(
            zip(comparison.detectors, comparison.mean_ranks.tolist(), strict=True)
        ):
            better = i < math.ceil(n / 2)
            # The outermost have the shortest way down, so that no lines cross.
            row = first_row + (i if better else n - 1 - i) + 0.5
            side = left if better else right
            (lines[name],) = axes.plot([rank, rank, side], [0, row, row], **options)
            names[name] = axes.annotate(
                drawing.plain_text(f"{name} ({rank:.2f})"),
                (side, row),
                xytext=(-_SPACE if better else _SPACE, 0),
                textcoords="offset points",
                ha="right" if better else "left",
                va="center",
                fontsize=size,
                annotation_clip=False,
                **self._style(i),
            )
        return lines, names

    def _style(self, i: int) -> dict[str, Any]:
        """Return the style of a name, which differs if there is a control."""
        comparison = self.comparison
        if comparison.control is None:
            return {}
        control = comparison.detectors.index(comparison.control)
        if i == control:
            return {"color": _CONTROL, "fontweight": "bold"}
        differs = comparison.wins[control, i] or comparison.wins[i, control]
        return {"color": _DIFFERENT, "fontweight": "bold"} if differs else {}


def _stacked(
    spans: Sequence[tuple[float, float]], gap: float
) -> list[tuple[tuple[float, float], int]]:
    """Put each bar on the first level where it overlaps no other."""
    ends: list[float] = []
    placed = []
    for low, high in spans:
        level = next((i for i, end in enumerate(ends) if end + gap < low), len(ends))
        ends[level : level + 1] = [high]
        placed.append(((low, high), level))
    return placed


def _ticks(k: int, max_ticks: float) -> list[int]:
    """Return integer ranks from 1 to k, round ones and not too many."""
    steps = (factor * 10**power for power in range(18) for factor in (1, 2, 5))
    step = next(step for step in steps if (k - 1) / step <= max(max_ticks, 1))
    return [1, *(tick for tick in range(step, k, step) if 1 + step / 2 <= tick < k - step / 2), k]


def _overhang(axes: "Axes", names: "Sequence[Text]") -> tuple[float, float]:
    """Return how far names extend beyond the axes, to the left and to the right; pixels."""
    box = axes.get_window_extent()
    extents = [name.get_window_extent() for name in names]
    left = box.x0 - min(extent.x0 for extent in extents)
    right = max(extent.x1 for extent in extents) - box.x1
    return max(left, 0.0), max(right, 0.0)


def _make_room(axes: "Axes", overhang: tuple[float, float]) -> None:
    """Widen the axis so that the names at its ends are inside the axes."""
    before, behind = (pixels / axes.get_window_extent().width for pixels in overhang)
    left, right = axes.get_xlim()
    width = (right - left) / max(1 - before - behind, _LEAST)
    axes.set_xlim(left - width * before, right + width * behind)
