"""Heat maps of measures, matrices of detectors, and discriminability by false positive rate."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import check_choice, check_type, short_repr
from fastad._core.text_tables import count_text, number_text
from fastad._core.types import FloatMatrix, FloatVector
from fastad.benchmarking.detector_pairs import PairMatrix
from fastad.benchmarking.matrix import MeasureMatrix
from fastad.benchmarking.operating_points import CriterionName, Discriminability, SelectedFpr
from fastad.benchmarking.pairwise_tests.pairs import CRITERIA
from fastad.errors import InvalidInputError
from fastad.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text
    from typing_extensions import Self

# Inches for each column and row of a new figure, and for the names beside them.
_CELL = (0.62, 0.34)
_NAMES = (2.2, 1.6)
# Up to this part of its 256 blues, black has more contrast than white.
_LIGHT = 183 / 256
# The axis of discriminability ends at this multiple of the mean and its critical value.
_ROOM = 2.2


class MatrixDisplay(drawing.Display):
    """Correlation or loss between measures as a heat map with its values.

    Parameters
    ----------
    matrix : KendallMatrix, LossMatrix or SensitivityMatrix
        Result of `kendall_matrix`, `selection_loss` or `class_sensitivity`.

    Attributes
    ----------
    matrix : KendallMatrix, LossMatrix or SensitivityMatrix
        The matrix.
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
    >>> matrix = fastad.benchmarking.kendall_matrix(results, rng=0)
    >>> MatrixDisplay(matrix).plot(Figure().subplots()).texts_[1].get_text()
    '0.33'
    """

    def __init__(self, matrix: MeasureMatrix) -> None:
        check_type(
            matrix, MeasureMatrix, "matrix", "a KendallMatrix, LossMatrix or SensitivityMatrix"
        )
        self.matrix = matrix

    def plot(self, ax: "Axes | None" = None) -> "Self":
        """Draw the cells and their values, the better the darker; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, large enough for all cells.
        """
        values = self.matrix.value
        axes = drawing.open_axes(ax, size=matrix_size(*values.shape))
        higher = self.matrix.higher_is_better
        vmin, vmax = _color_limits(values, higher_is_better=higher)
        self.image_: AxesImage = axes.imshow(
            values, cmap="Blues" if higher else "Blues_r", aspect="auto", vmin=vmin, vmax=vmax
        )
        _name_cells(axes, self.matrix.columns, self.matrix.rows)
        axes.set_xticks(np.arange(values.shape[1] - 1) + 0.5, minor=True)
        axes.set_yticks(np.arange(values.shape[0] - 1) + 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=1.5)
        axes.tick_params(which="minor", length=0)
        self.texts_ = self._write(axes)
        axes.set_ylabel(self.matrix.row_name)
        axes.set_xlabel(self.matrix.column_name)
        axes.xaxis.set_label_position("bottom")
        return self._finish(axes, grid=False)

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
        norm: Any = self.image_.norm
        shade = float(norm(value))
        darkness = shade if self.matrix.higher_is_better else 1 - shade
        return "white" if darkness > _LIGHT else "black"


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

    def plot(self, ax: "Axes | None" = None) -> "Self":
        """Draw the cells and their texts; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, large enough for all cells.
        """
        matrix, k = self.matrix, len(self.matrix.detectors)
        axes = drawing.open_axes(ax, size=pairs_size(k))
        self.image_: AxesImage = axes.imshow(
            matrix.shades, cmap="coolwarm_r", aspect="auto", vmin=-1.5, vmax=1.5
        )
        self.texts_: dict[tuple[int, int], Text] = {
            (i, j): axes.text(
                j, i, "\n".join(matrix.cell(i, j)), ha="center", va="center", fontsize="small"
            )
            for i in range(k)
            for j in range(k)
            if i != j
        }
        _name_cells(axes, matrix.detectors, matrix.detectors)
        axes.set_xlabel(drawing.plain_text(f"row against column, {matrix.measure}"))
        return self._finish(axes, grid=False)


class DiscriminabilityDisplay(drawing.Display):
    """A criterion by false positive rate, its critical value, and the rates that it selects.

    Parameters
    ----------
    discriminability : Discriminability
        Result of `fastad.benchmarking.discriminability`.

    Attributes
    ----------
    discriminability : Discriminability
        The numbers.
    ax_, figure_, lines_, line_
        Axes, figure, line of each curve, line of the first; once drawn.

    See Also
    --------
    fastad.benchmarking.discriminability : The numbers.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Choosing the operating threshold in evaluation of
       anomaly detection methods", 2020, section 2.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> from fastad.plot import DiscriminabilityDisplay
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(0)
    >>> results = fastad.ResultTable.from_arrays(
    ...     {f"tpr@{p}": rng.uniform(size=(4, 5, 10)) for p in (0.1, 0.2, 0.3)}
    ... )
    >>> criteria = fastad.benchmarking.discriminability(results, rng=0)
    >>> display = DiscriminabilityDisplay(criteria).plot(
    ...     Figure().subplots(), criterion="welch-mean"
    ... )
    >>> display.ax_.get_ylabel()
    'welch-mean of tpr'
    """

    def __init__(self, discriminability: Discriminability) -> None:
        check_type(
            discriminability,
            Discriminability,
            "discriminability",
            "a fastad.benchmarking.Discriminability",
        )
        self.discriminability = discriminability

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        criterion: CriterionName = "tukey-mean",
        dataset: str | None = None,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the criterion, its critical value and the rates that it selects; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        criterion : {"tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"}
            Criterion to draw.
        dataset : str, optional
            Name of a data set; by default the mean over all, with each one thin behind it.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the line, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If there is no data set of that name.
        """
        check_choice(criterion, CRITERIA, "criterion")
        curve, critical, selected = self._curve(criterion, dataset)
        axes = drawing.open_axes(ax)
        result = self.discriminability
        name = dataset or f"mean of {count_text(len(result.pairwise_tests), result.noun)}"
        self.lines_ = drawing.draw_detectors(axes, {name: (result.fpr, curve)}, line_kw)
        of = "" if dataset is None else f" of {dataset}"
        drawing.draw_reference(
            axes,
            result.fpr,
            critical,
            f"critical value{of} (confidence level {result.confidence_level:g})",
        )
        single: list[FloatVector] = []
        if dataset is None and len(result.pairwise_tests) > 1:
            single = [tests.criteria[criterion] for tests in result.pairwise_tests.values()]
        for i, values in enumerate(single):
            label = "" if i else f"each {result.noun}"
            axes.plot(result.fpr, values, color="0.8", linewidth=0.7, zorder=1, label=label)
        self._mark(axes, curve, selected)
        # A data set without variance may lie a thousand times above the mean.
        mean = max((value for value in (*curve, *critical) if value > 0), default=1.0)
        highest = max((x for values in single for x in values if x > mean), default=mean)
        drawing.set_limits(axes, "y", 0.0, float(min(1.1 * highest, _ROOM * mean)))
        axes.set(xlabel="False positive rate", ylabel=f"{criterion} of {result.measure}")
        return self._finish(axes, legend="best" if legend else None)

    def _mark(self, axes: "Axes", curve: FloatVector, selected: SelectedFpr) -> None:
        rates = self.discriminability.fpr
        labelled = set()
        for rate, label, marker, side in (
            (selected.optimal, "highest", "o", "bottom"),
            (selected.lowest, "first above the critical value", "D", "top"),
        ):
            if math.isnan(rate):
                continue
            height = float(curve[list(rates).index(rate)])
            drawing.draw_mark(axes, rate, height, self.line_, label=label, marker=marker)
            if rate not in labelled:
                right = rate > rates[0] + 0.7 * (rates[-1] - rates[0])
                options = {"ha": "right" if right else "left", "va": side}
                drawing.draw_text(axes, rate, height, f"  {rate:g}  ", **options)
            labelled.add(rate)

    def _curve(
        self, criterion: CriterionName, dataset: str | None
    ) -> tuple[FloatVector, FloatVector, SelectedFpr]:
        result = self.discriminability
        if dataset is None:
            return *result.curve(criterion), result.averaged[criterion]
        if dataset not in result.pairwise_tests:
            raise InvalidInputError(
                f"dataset must be one of {', '.join(result.pairwise_tests)}; found "
                f"{short_repr(dataset)}"
            )
        tests = result.pairwise_tests[dataset]
        test = criterion.partition("-")[0]
        return (
            tests.criteria[criterion],
            tests.critical_values[test],
            result.selected[dataset][criterion],
        )


def _color_limits(values: FloatMatrix, *, higher_is_better: bool) -> tuple[float, float]:
    """Return the ends of the colours, so that a few bad cells do not make all others one colour."""
    numbers = values[~np.isnan(values)]
    if not len(numbers):
        return 0.0, 1.0
    low, high = np.quantile(numbers, [0.1, 1.0] if higher_is_better else [0.0, 0.9]).tolist()
    # Negligible differences do not fill the scale.
    return (min(low, high - 0.1), high) if higher_is_better else (low, max(high, low + 0.01))


def _name_cells(axes: "Axes", columns: Sequence[str], rows: Sequence[str]) -> None:
    names = [drawing.plain_text(name) for name in columns]
    axes.set_xticks(range(len(names)), names, rotation=45, ha="left", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), [drawing.plain_text(name) for name in rows])
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    axes.spines[:].set_visible(False)


def matrix_size(n_rows: int, n_columns: int) -> drawing.Size:
    """Return width and height of a figure that has room for a heat map with its names; inches."""
    return _CELL[0] * n_columns + _NAMES[0], _CELL[1] * n_rows + _NAMES[1]


def pairs_size(n_detectors: int) -> drawing.Size:
    """Return the same for a matrix of detectors."""
    return 0.95 * n_detectors + 1.6, 0.62 * n_detectors + 1.2
