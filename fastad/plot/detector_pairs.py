"""Matrices of each two detectors."""

from typing import TYPE_CHECKING

from fastad._core.parameters import check_type
from fastad.benchmarking.detector_pairs import PairMatrix
from fastad.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text
    from typing_extensions import Self

# Inches for each detector, across and down, and for the names beside them.
_CELL, _NAMES = (0.95, 0.62), (1.6, 1.2)


class PairMatrixDisplay(drawing.Display):
    r"""A cell for each two detectors, the best ones first, coloured by which is better.

    Parameters
    ----------
    matrix : MultiComparison or BayesianComparison
        Result of `multi_comparison_matrix`, `bayesian_signed_rank` or `bayesian_hierarchical_t`.

    Attributes
    ----------
    matrix : MultiComparison or BayesianComparison
        The matrix.
    ax_, figure_, image_, texts_
        Axes, figure, image of the cells, and their texts by row and column; once drawn.

    See Also
    --------
    fastad.benchmarking.multi_comparison_matrix : One of the matrices.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import PairMatrixDisplay
    >>> from matplotlib.figure import Figure
    >>> auc = [[0.9, 0.8], [0.9, 0.9], [0.8, 0.7], [0.7, 0.8]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof"])
    >>> matrix = fastad.benchmarking.multi_comparison_matrix(results)
    >>> PairMatrixDisplay(matrix).plot(Figure().subplots()).texts_[0, 1].get_text()
    '+0.0250\n2-1-1\np = 1'
    """

    def __init__(self, matrix: PairMatrix) -> None:
        expected = "a MultiComparison or BayesianComparison"
        check_type(matrix, PairMatrix, "matrix", expected)
        self.matrix = matrix

    def plot(self, ax: "Axes | None" = None, *, cmap: str = "coolwarm_r") -> "Self":
        """Draw the cells and their texts; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, large enough for all cells.
        cmap : str, default "coolwarm_r"
            Name of a colour map, from the detector of the row being worse to its being better.
        """
        matrix, k = self.matrix, len(self.matrix.detectors)
        axes = drawing.open_axes(ax, size=pairs_size(k))
        self.image_: AxesImage = axes.imshow(
            matrix.shades, cmap=cmap, aspect="auto", vmin=-1.5, vmax=1.5
        )
        self.texts_: dict[tuple[int, int], Text] = {
            (i, j): axes.text(
                j, i, "\n".join(matrix.cell(i, j)), ha="center", va="center", fontsize="small"
            )
            for i in range(k)
            for j in range(k)
            if i != j
        }
        names = [drawing.plain_text(name) for name in matrix.detectors]
        axes.set_xticks(range(k), names, rotation=45, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(k), names)
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        axes.spines[:].set_visible(False)
        axes.set_xlabel(drawing.plain_text(f"row against column, {matrix.measure}"))
        return self._finish(axes, grid=False)


def pairs_size(k: int) -> tuple[float, float]:
    """Return width and height of a figure that has room for k detectors; inches."""
    return _CELL[0] * k + _NAMES[0], _CELL[1] * k + _NAMES[1]
