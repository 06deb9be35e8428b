"""Axes, styles of lines, marks and legends: all that displays need of matplotlib.

matplotlib is imported inside functions, here and in the other files of this package: it is an
optional extra, and takes half a second to import.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from fastad._core.extras import import_extra
from fastad._core.parameters import check_type
from fastad._core.types import ArrayLike, FloatVector
from fastad.errors import InvalidInputError
from fastad.plot.legends import ROW_HEIGHT, ROWS_INSIDE, count_rows, draw_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from typing_extensions import Self

Path = tuple[FloatVector, FloatVector]
# Inches.
Size = tuple[float, float]
# x that does not decrease, and the lower and upper bound there.
Area = tuple[FloatVector, FloatVector, FloatVector]

# Okabe and Ito's colours, which the colour-blind distinguish too; their yellow is lost on white.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
# With two widths, dashes alone distinguish twelve detectors, as in greyscale. 7 colours and 6
# dashes have no common factor: 42 pairs.
_DASHES: tuple[Any, ...] = (
    "solid",
    (0, (5, 1.5)),
    (0, (1, 1)),
    (0, (6, 1.5, 1, 1.5)),
    (0, (10, 3)),
    (0, (4, 1.2, 1, 1.2, 1, 1.2)),
)
_WIDTHS = (1.5, 2.8)
_REFERENCE: dict[str, Any] = {
    "color": "0.45",
    "linestyle": (0, (1, 2)),
    "linewidth": 1.2,
    "zorder": 1.5,
}
# Lines that were drawn here, so that a second display on the same axes goes on with other styles
# and draws reference lines only once.
_DETECTORS: "WeakSet[Line2D]" = WeakSet()
_REFERENCES: "WeakSet[Line2D]" = WeakSet()
# Shaded spans and their right ends.
_SHADED: "WeakKeyDictionary[Patch, float]" = WeakKeyDictionary()


class Display:
    """Base of all displays: the attributes of a drawn one."""

    ax_: "Axes"  # the axes
    figure_: "Figure | SubFigure"  # the figure of the axes
    lines_: "dict[str, Line2D]"  # the line of each detector

    @property
    def line_(self) -> "Line2D":
        """The line of the first detector."""
        return next(iter(self.lines_.values()))

    def _finish(self, axes: "Axes", *, grid: bool = True, legend: str | None = None) -> "Self":
        """Draw the grid and the legend, best in a corner; set the attributes of a drawn display."""
        if grid:
            axes.grid(alpha=0.3)
        if legend is not None:
            draw_legend(axes, legend, [line for line in axes.lines if line in _DETECTORS])
        self.ax_, self.figure_ = axes, axes.figure
        return self


def need_matplotlib() -> None:
    """Raise where matplotlib is not installed."""
    import_extra("matplotlib.figure", "fastad.plot", extra="plot")


def open_axes(
    ax: Any, texts: Iterable[str] = (), n_more: int = 0, size: Size | None = None
) -> "Axes":
    """Return axes: the user's, or of a new figure with room for a legend.

    The legend has texts, and ``n_more`` other lines.
    """
    return open_panels(ax, (1,), n_rows=count_rows(texts) + n_more, size=size)[0]


def open_panels(
    ax: Any, counts: Sequence[int], *, n_rows: int = 0, columns: int = 1, size: Size | None = None
) -> "list[Axes]":
    """Return one of several allowed numbers of axes: the user's, or a new figure's.

    The numbers increase; a new figure has as many axes as the last one, in so many columns, and
    room for ``n_rows`` lines of text in the legend.
    """
    need_matplotlib()
    from matplotlib.axes import Axes

    if ax is None:
        return _new_panels(counts[-1], n_rows, columns, size)
    axes = list(np.ravel(np.asarray(ax, object)))
    for item in axes:
        check_type(item, Axes, "ax", "matplotlib axes")
    if len(axes) not in counts:
        raise InvalidInputError(
            f"ax must contain {' or '.join(map(str, counts))} axes; found {len(axes)}"
        )
    return axes


def _new_panels(n: int, n_rows: int, columns: int, size: Size | None) -> "list[Axes]":
    # pyplot, so that an interactive session shows the figure.
    from matplotlib import pyplot

    rows = math.ceil(n / columns)
    width, height = (6.4, 4.8) if n == 1 else (max(6.4, 4.4 * columns), max(4.8, 3.2 * rows))
    if n_rows > ROWS_INSIDE:
        width, height = width + 2.4, max(height, ROW_HEIGHT * n_rows + 1)
    figure = pyplot.figure(figsize=size or (width, height), layout="constrained")
    return [figure.add_subplot(rows, columns, i + 1) for i in range(n)]


def line_style(i: int) -> dict[str, Any]:
    """Return colour, dashes and width of the i-th detector; the first ones lie on top."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": _DASHES[i % len(_DASHES)],
        "linewidth": _WIDTHS[i // len(_DASHES) % len(_WIDTHS)],
        "zorder": 3 - i / 100,
    }


def draw_detectors(
    ax: "Axes",
    paths: Mapping[str, Path],
    line_kw: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None = None,
) -> "dict[str, Line2D]":
    """Draw a line for each detector, in styles that no other detector on these axes has.

    The labels of the legend are by default the names of detectors.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    options = normalize_kwargs(dict(line_kw or {}), Line2D)
    first = sum(line in _DETECTORS for line in ax.lines)
    lines = {}
    for i, (name, (x, y)) in enumerate(paths.items(), start=first):
        label = plain_text(labels[name] if labels else name)
        (line,) = ax.plot(x, y, **{**line_style(i), "label": label, **options})
        _DETECTORS.add(line)
        lines[name] = line
    return lines


def draw_reference(ax: "Axes", x: ArrayLike, y: ArrayLike, label: str) -> None:
    """Draw a line for comparison, once on the same axes."""
    label = plain_text(label)
    for line in list(ax.lines):
        if line in _REFERENCES and line.get_label() == label:
            line.remove()
    _REFERENCES.update(ax.plot(x, y, label=label, **_REFERENCE))


def draw_mark(
    ax: "Axes", x: float, y: float, line: "Line2D", *, label: str | None = None, marker: str = "o"
) -> None:
    """Mark a point of a detector's line; the label is for the legend."""
    style: dict[str, Any] = {
        "color": line.get_color(),
        "markerfacecolor": "white",
        "markeredgewidth": 1.6,
        "label": label,
    }
    ax.plot([x], [y], marker, linestyle="none", markersize=7, zorder=4, clip_on=False, **style)


def fill_area(
    ax: "Axes", area: Area, line: "Line2D", label: str | None = None
) -> "FillBetweenPolyCollection":
    """Fill the area between two bounds in the colour of a line; the legend has a label once."""
    if label is None or label in ax.get_legend_handles_labels()[1]:
        label = "_nolegend_"
    return ax.fill_between(*area, color=line.get_color(), alpha=0.15, linewidth=0, label=label)


def set_limits(ax: "Axes", axis: Literal["x", "y"], low: float, high: float) -> None:
    """Set the limits of an axis; widen those that it has been given, such as by a display."""
    if not getattr(ax, f"get_autoscale{axis}_on")():
        earlier = getattr(ax, f"get_{axis}lim")()
        low, high = min(low, earlier[0]), max(high, earlier[1])
    ax.set(**{f"{axis}lim": (low, high)})


def shade_up_to(ax: "Axes", x: float, label: str) -> None:
    """Shade the axes from their left end to a point; once, as far as any display on them does."""
    for span in [patch for patch in ax.patches if patch in _SHADED]:
        x = max(x, _SHADED.pop(span))
        span.remove()
    left = ax.get_xlim()[0]
    span = ax.axvspan(left, x, color="0.5", alpha=0.13, linewidth=0, zorder=0, label=label)
    _SHADED[span] = x


def draw_text(ax: "Axes", x: float, y: float, text: str, **options: Any) -> None:
    """Write a string with a halo, so that it can be read where lines cross it."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white", alpha=0.85)]
    ax.text(x, y, text, **{"va": "bottom", "zorder": 5, "path_effects": halo, **options})


def plain_text(text: str) -> str:
    """Return a string that matplotlib neither hides nor reads as a formula."""
    plain = text.replace("$", r"\$")
    return f" {plain}" if plain.startswith("_") else plain
