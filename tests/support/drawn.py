"""What displays have drawn, read back from matplotlib."""

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D


def new_axes(**options: Any) -> Axes:
    return Figure(**options).subplots()


def picture(display: Any, *data: Any, **options: Any) -> Any:
    """Draw labels and scores by a display on axes of their own."""
    return display.from_predictions(*data, ax=new_axes(), **options)


def draw(display: Any) -> None:
    assert isinstance(display.figure_, Figure)
    display.figure_.draw_without_rendering()


def x_of(line: Line2D) -> npt.NDArray[np.float64]:
    return np.asarray(line.get_xdata(), np.float64)


def y_of(line: Line2D) -> npt.NDArray[np.float64]:
    return np.asarray(line.get_ydata(), np.float64)


def corners(fill: Any) -> set[tuple[float, float]]:
    """Return the corners of a filled area."""
    (path,) = fill.get_paths()
    return {(float(x), float(y)) for x, y in path.vertices}


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]
