"""Critical-difference diagrams: mean ranks, and which detectors are not told apart."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fastad.benchmarking.rank_comparison import RankComparison
from fastad.plot import _drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from typing_extensions import Self

# Heights in rows of names, downwards from the axis of ranks.
_TITLE, _TOP = -1.1, -1.8
# How much higher the title stands above a ruler.
_RULER = 0.5
_FIRST_BAR, _BAR_STEP, _BEFORE_NAMES = 0.45, 0.4, 0.75
# Inches, of a new figure.
_WIDTH, _RANKS, _ROW = 7.2, 3.6, 0.27
# Of the height of a row, what letters take; points.
_LETTERS, _SMALLEST, _LARGEST = 0.72, 3.0, 10.0
_POINTS = 72
# Between a line and its name; points.
_SPACE = 4
# Bars that are closer than this part of the axis do not share a level.
_GAP = 0.02
# Between ticks, at least; points.
_TICK = 25
# What is left of the axes for ranks where long names stand inside, at least.
_LEAST = 0.3
_BAR_COLOUR, _APART, _CONTROL = "0.15", _drawing.COLOURS[1], _drawing.COLOURS[0]


class CriticalDifferenceDisplay(_drawing.Display):
    """Detectors on an axis of mean ranks, the best at the left.

    Without a control, bars join detectors that are not told apart. With one, a bar spans the
    ranks that are not significantly different from it, and names of detectors that are stand out.

    Parameters
    ----------
    comparison : RankComparison
        What `fastad.benchmarking.nemenyi` or `fastad.benchmarking.wilcoxon_holm` returns.

    Attributes
    ----------
    comparison : RankComparison
        As it was given.
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
    >>> display = CriticalDifferenceDisplay.from_comparison(comparison, Figure().subplots())
    >>> [bar.get_xdata().tolist() for bar in display.bars_]
    [[1.0, 2.0], [2.0, 3.0]]
    """

    names_: "dict[str, Text]"
    bars_: "list[Line2D]"
    ruler_: "Line2D | None"

    def __init__(self, comparison: RankComparison) -> None:
        if not isinstance(comparison, RankComparison):
            raise TypeError(
                f"comparison must be a RankComparison; found {type(comparison).__name__}"
            )
        self.comparison = comparison

    @classmethod
    def from_comparison(
        cls,
        comparison: RankComparison,
        ax: "Axes | None" = None,
        *,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw a comparison.

        Parameters
        ----------
        comparison : RankComparison
            What `fastad.benchmarking.nemenyi` or `fastad.benchmarking.wilcoxon_holm` returns.
        ax, line_kw
            As `plot` takes them.

        Returns
        -------
        CriticalDifferenceDisplay
            The display, drawn.

        Raises
        ------
        TypeError
            If it is no comparison of ranks.
        MissingExtraError
            If matplotlib is not installed.
        """
        return cls(comparison).plot(ax, line_kw=line_kw)

    def plot(self, ax: "Axes | None" = None, *, line_kw: Mapping[str, Any] | None = None) -> "Self":
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw, best on nothing else; by default a new figure of pyplot, as high as
            the names need. Names are as large as their rows allow. They stand beside the axes where
            the layout of the figure can make room for them (``layout="constrained"``), else inside.
        line_kw : mapping of str, optional
            Properties of the lines to the names, as ``Axes.plot`` takes them.

        Returns
        -------
        CriticalDifferenceDisplay
            This display.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        one = self.comparison
        bars = _stacked(self._spans(), _GAP * (len(one.detectors) - 1))
        first_row = _FIRST_BAR + _BAR_STEP * (1 + max((level for _, level in bars), default=-1))
        first_row = max(first_row, _BEFORE_NAMES)
        top = _TOP - (0 if one.critical_difference is None else _RULER)
        height = first_row + math.ceil(len(one.detectors) / 2) - top
        (axes,) = _drawing.open_axes(ax)
        if ax is None:
            axes.figure.set_size_inches(_WIDTH, _ROW * height + 0.2)  # type: ignore[union-attr]
        size = _font_size(axes, height)
        self._set_axes(axes, top, height + top, size)
        self.ruler_ = self._draw_ruler(axes, size)
        self.bars_ = [
            axes.plot(
                span,
                [_FIRST_BAR + _BAR_STEP * level] * 2,
                color=_BAR_COLOUR if one.control is None else _CONTROL,
                linewidth=min(4.0, 0.4 * size),
                solid_capstyle="round",
                zorder=4,
                clip_on=False,
            )[0]
            for span, level in bars
        ]
        self.lines_, self.names_ = self._draw_names(axes, first_row, size, line_kw)
        beyond = _beyond(axes, list(self.names_.values()))
        if ax is None:
            wanted = _RANKS + sum(beyond) / axes.figure.dpi
            axes.figure.set_figwidth(max(_WIDTH, wanted))  # type: ignore[union-attr]
        elif axes.figure.get_layout_engine() is None:
            _make_room(axes, beyond)
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _spans(self) -> list[tuple[float, float]]:
        """Return from where to where bars go."""
        one = self.comparison
        if one.control is not None:
            if one.critical_difference is None:
                return []
            middle = float(one.mean_ranks[one.detectors.index(one.control)])
            # As far as ranks go.
            low = max(middle - one.critical_difference, 1.0)
            return [(low, min(middle + one.critical_difference, float(len(one.detectors))))]
        rank = dict(zip(one.detectors, one.mean_ranks.tolist(), strict=True))
        return [(rank[group[0]], rank[group[-1]]) for group in one.groups]

    def _set_axes(self, axes: "Axes", top: float, bottom: float, size: float) -> None:
        one = self.comparison
        k = len(one.detectors)
        right = max(float(k), 1 + (one.critical_difference or 0.0))
        width = axes.get_window_extent().width / axes.figure.dpi * _POINTS
        axes.set(xlim=(1, right), ylim=(bottom, top), yticks=[], facecolor="none", xlabel="")
        axes.set_xticks(_ticks(k, width / _TICK))
        axes.spines[:].set_visible(False)
        # Only the axis of ranks is left, at height 0.
        axes.spines["top"].set(visible=True, position=("data", 0), bounds=(1, k))
        axes.xaxis.set_ticks_position("top")
        axes.tick_params(axis="x", labelsize=size)
        title = _drawing.shown_text(f"mean rank by {one.measure}")
        place: dict[str, Any] = {"ha": "right", "va": "bottom", "fontsize": size}
        axes.text(right, top - _TOP + _TITLE, title, **place)

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

        one = self.comparison
        options: dict[str, Any] = {"color": "0.35", "linewidth": 0.9, "zorder": 3, "clip_on": False}
        options |= normalize_kwargs(dict(line_kw or {}), Line2D)
        n = len(one.detectors)
        left, right = axes.get_xlim()
        lines: dict[str, Line2D] = {}
        names: dict[str, Text] = {}
        for i, (name, rank) in enumerate(zip(one.detectors, one.mean_ranks.tolist(), strict=True)):
            better = i < math.ceil(n / 2)
            # The outermost have the shortest way down, so that no lines cross.
            row = first_row + (i if better else n - 1 - i) + 0.5
            side = left if better else right
            (lines[name],) = axes.plot([rank, rank, side], [0, row, row], **options)
            names[name] = axes.annotate(
                _drawing.shown_text(f"{name} ({rank:.2f})"),
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
        """Return how a name is set, where there is a control."""
        one = self.comparison
        if one.control is None:
            return {}
        control = one.detectors.index(one.control)
        if i == control:
            return {"color": _CONTROL, "fontweight": "bold"}
        apart = one.wins[control, i] or one.wins[i, control]
        return {"color": _APART, "fontweight": "bold"} if apart else {}


def _stacked(
    spans: Sequence[tuple[float, float]], gap: float
) -> list[tuple[tuple[float, float], int]]:
    """Put each bar on the first level where it is clear of others."""
    ends: list[float] = []
    placed = []
    for low, high in spans:
        level = next((i for i, end in enumerate(ends) if end + gap < low), len(ends))
        ends[level : level + 1] = [high]
        placed.append(((low, high), level))
    return placed


def _ticks(k: int, most: float) -> list[int]:
    """Return whole ranks from 1 to k, round ones and not too many."""
    steps = (factor * 10**power for power in range(18) for factor in (1, 2, 5))
    step = next(step for step in steps if (k - 1) / step <= max(most, 1))
    return [1, *(tick for tick in range(step, k, step) if 1 + step / 2 <= tick < k - step / 2), k]


def _beyond(axes: "Axes", names: "Sequence[Text]") -> tuple[float, float]:
    """Return how far names reach beyond the axes, to the left and to the right; pixels."""
    box = axes.get_window_extent()
    extents = [name.get_window_extent() for name in names]
    left = box.x0 - min(one.x0 for one in extents)
    return max(left, 0.0), max(max(one.x1 for one in extents) - box.x1, 0.0)


def _make_room(axes: "Axes", beyond: tuple[float, float]) -> None:
    """Widen the axis so that the names at its ends are inside the axes."""
    before, behind = (one / axes.get_window_extent().width for one in beyond)
    left, right = axes.get_xlim()
    width = (right - left) / max(1 - before - behind, _LEAST)
    axes.set_xlim(left - width * before, right + width * behind)


def _font_size(axes: "Axes", height: float) -> float:
    """Return the size of letters, in points, that rows of the axes have room for."""
    inches = axes.get_window_extent().height / axes.figure.dpi
    return min(max(_LETTERS * _POINTS * inches / height, _SMALLEST), _LARGEST)
