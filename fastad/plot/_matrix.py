"""Heat maps of a number for each two measures."""

import math
from typing import TYPE_CHECKING

import numpy as np

from fastad._core.text_tables import number_text
from fastad._core.types import FloatMatrix
from fastad.benchmarking.matrix import MeasureMatrix
from fastad.plot import _drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text
    from typing_extensions import Self

# Inches for each column and row of a new figure, and for the names beside them.
_CELL = (0.62, 0.34)
_NAMES = (2.2, 1.6)


class MatrixDisplay(_drawing.Display):
    """Correlation or loss between measures as a heat map with its values.

    Parameters
    ----------
    matrix : KendallMatrix, LossMatrix or SensitivityMatrix
        What `kendall_matrix`, `selection_loss` or `class_sensitivity` returns.

    Attributes
    ----------
    matrix : KendallMatrix, LossMatrix or SensitivityMatrix
        As given.
    ax_, figure_, image_, texts_
        Axes, figure, image of the cells, and their texts row by row; once drawn.

    See Also
    --------
    fastad.benchmarking.kendall_matrix : One of the matrices.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import MatrixDisplay
    >>> from matplotlib.figure import Figure
    >>> auc, tpr = [[0.9, 0.8, 0.7]], [[0.5, 0.6, 0.1]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc, "tpr@0.05": tpr})
    >>> found = fastad.benchmarking.kendall_matrix(results, rng=0)
    >>> MatrixDisplay(found).plot(Figure().subplots()).texts_[1].get_text()
    '0.33'
    """

    def __init__(self, matrix: MeasureMatrix) -> None:
        if not isinstance(matrix, MeasureMatrix):
            raise TypeError(
                "matrix must be a KendallMatrix, LossMatrix or SensitivityMatrix; "
                f"found {type(matrix).__name__}"
            )
        self.matrix = matrix

    def plot(self, ax: "Axes | None" = None, *, cmap: str | None = None) -> "Self":
        """Draw the cells and their values.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, large enough for all cells.
        cmap : str, optional
            Name of the colours; by default dark is good.

        Returns
        -------
        MatrixDisplay
            This display.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        values = self.matrix.value
        if ax is None:
            axes = _new_axes(*values.shape)
        else:
            (axes,) = _drawing.open_axes(ax)
        higher = self.matrix.higher_is_better
        vmin, vmax = _scale(values, higher_is_better=higher)
        self.image_: AxesImage = axes.imshow(
            values,
            cmap=cmap or ("Blues" if higher else "Blues_r"),
            aspect="auto",
            vmin=vmin,
            vmax=vmax,
        )
        axes.set_xticks(
            range(values.shape[1]), [_drawing.shown_text(n) for n in self.matrix.columns]
        )
        axes.set_yticks(range(values.shape[0]), [_drawing.shown_text(n) for n in self.matrix.rows])
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        for label in axes.get_xticklabels():
            label.set(rotation=45, ha="left", rotation_mode="anchor")
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(values.shape[1] - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(values.shape[0] - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        self.texts_ = self._write(axes)
        axes.set_ylabel(self.matrix.row_name)
        axes.set_xlabel(self.matrix.column_name)
        axes.xaxis.set_label_position("bottom")
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _write(self, axes: "Axes") -> "list[Text]":
        return [
            axes.text(
                column,
                row,
                number_text(float(value), self.matrix.form),
                ha="center",
                va="center",
                fontsize="small",
                color=self._readable(float(value)),
            )
            for (row, column), value in np.ndenumerate(self.matrix.value)
        ]

    def _readable(self, value: float) -> str:
        """Return black or white, whichever can be read better on the colour of a value."""
        if math.isnan(value):
            return "black"
        red, green, blue, _ = self.image_.to_rgba(np.array([value]), norm=True)[0]
        channels = np.array([red, green, blue])
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        luminance = float(linear @ [0.2126, 0.7152, 0.0722])  # of sRGB
        return "black" if (luminance + 0.05) ** 2 > 0.05 * 1.05 else "white"


def _scale(values: FloatMatrix, *, higher_is_better: bool) -> tuple[float, float]:
    """Return the ends of the colours: a few bad cells do not make all others one colour."""
    found = values[~np.isnan(values)]
    if not len(found):
        return 0.0, 1.0
    low, high = np.quantile(found, [0.1, 1.0] if higher_is_better else [0.0, 0.9]).tolist()
    # Differences that nobody minds do not fill the scale.
    return (min(low, high - 0.1), high) if higher_is_better else (low, max(high, low + 0.01))


def _new_axes(n_rows: int, n_columns: int) -> "Axes":
    _drawing.need_matplotlib()
    # pyplot, so that an interactive session shows the figure.
    from matplotlib import pyplot

    size = (_CELL[0] * n_columns + _NAMES[0], _CELL[1] * n_rows + _NAMES[1])
    return pyplot.figure(figsize=size, layout="constrained").add_subplot()
