"""``multi_comparison_matrix``: differences, wins and p-values of each two detectors."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.text_tables import format_p, number_text
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix
from fastad.benchmarking.means import defined_mean, differences
from fastad.benchmarking.rank_distributions import signed_ranks
from fastad.benchmarking.ranks import CompleteMerits, shared_points
from fastad.benchmarking.result_table import Results

# Numbers of some kind.
AnyVector: TypeAlias = npt.NDArray[Any]


class PairMatrix(TableResult):
    """A cell for each two detectors, the best ones first; prints as a matrix."""

    __slots__ = ()
    detectors: Sequence[str]
    measure: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.detectors)} detectors in {self.measure}>"

    @property
    @abstractmethod
    def shades(self) -> FloatMatrix:
        """How much better the detector of the row is, from -1 to 1; NaN on the diagonal."""

    @abstractmethod
    def cell(self, i: int, j: int) -> tuple[str, ...]:
        """Return the lines of a cell off the diagonal."""

    @abstractmethod
    def _matrices(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of frames, as matrices of each two detectors."""

    def _declare_columns(self) -> list[Column]:
        pairs, names = np.triu_indices(len(self.detectors), 1), np.array(self.detectors, object)
        detectors = {"first": names[pairs[0]], "second": names[pairs[1]]}
        return frame_columns(
            detectors | {name: matrix[pairs] for name, matrix in self._matrices().items()}
        )

    def _head(self, i: int) -> str:
        return self.detectors[i]

    def _declare_table(self) -> list[Column]:
        k = len(self.detectors)
        columns = [Column(self.measure, map(self._head, range(k)), str)]
        for j in range(k):
            cells = ["-" if i == j else ", ".join(self.cell(i, j)) for i in range(k)]
            columns.append(Column(self.detectors[j], cells, str))
        return columns


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MultiComparison(PairMatrix):
    """Differences of each two detectors over data sets; prints as a matrix.

    A cell has the mean difference of the detector of the row from the detector of the column, wins,
    ties and losses, and the p-value. Frames have a row for each two, ``first`` the better by mean.

    Attributes
    ----------
    detectors : sequence of str
        Names, the best mean first.
    mean : numpy.ndarray of shape (n_detectors,)
        Mean value of each over data sets.
    mean_difference : numpy.ndarray of shape (n_detectors, n_detectors)
        Mean value of the row minus the column's.
    wins, ties : numpy.ndarray of shape (n_detectors, n_detectors)
        Numbers of data sets on which the detector of the row is better, or as good.
    p_values : numpy.ndarray of shape (n_detectors, n_detectors)
        Two-sided p-values of Wilcoxon's test, not adjusted; NaN on the diagonal.
    measure, higher_is_better
        Key and direction of the measure.
    n_datasets : int
        Number of problems that count.
    """

    detectors: Sequence[str]
    mean: FloatVector
    mean_difference: FloatMatrix
    wins: IntMatrix
    ties: IntMatrix
    p_values: FloatMatrix
    measure: str
    higher_is_better: bool
    n_datasets: int
    _notes: Sequence[str]

    @property
    def losses(self) -> IntMatrix:
        """Numbers of data sets on which the detector of the row is worse."""
        losses: IntMatrix = self.wins.T
        return losses

    @property
    def shades(self) -> FloatMatrix:
        """Mean differences over the largest one, positive where the row is better."""
        sign = 1.0 if self.higher_is_better else -1.0
        largest = np.abs(self.mean_difference).max()
        shades: FloatMatrix = sign * self.mean_difference / (largest if largest > 0 else 1.0)
        np.fill_diagonal(shades, np.nan)
        return shades

    def cell(self, i: int, j: int) -> tuple[str, ...]:
        """Return the mean difference, wins, ties and losses, and the p-value."""
        counts = f"{self.wins[i, j]}-{self.ties[i, j]}-{self.wins[j, i]}"
        difference = number_text(self.mean_difference[i, j], "+.4f")
        return difference, counts, format_p(self.p_values[i, j], "p")

    def _head(self, i: int) -> str:
        return f"{self.detectors[i]} {self.mean[i]:.4f}"

    def _matrices(self) -> dict[str, npt.NDArray[Any]]:
        names = "mean_difference", "wins", "ties", "losses"
        return {name: getattr(self, name) for name in names} | {"p_value": self.p_values}


def multi_comparison_matrix(results: Results, *, measure: str | None = None) -> MultiComparison:
    """Compare each two detectors over data sets, whatever others there are.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets, averaged over folds; a detector's best model counts.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.

    Returns
    -------
    MultiComparison
        Mean differences, wins, ties and losses, and p-values.

    Raises
    ------
    InvalidInputError
        If there is one detector only.
    UndefinedMeasureError
        If there is no data set on which every detector has a finite value.

    See Also
    --------
    wilcoxon_holm : The same test, adjusted for the number of pairs.
    fastad.plot.PairMatrixDisplay : The picture.

    Notes
    -----
    A cell depends on its two detectors alone, if all have values everywhere: other detectors move
    mean ranks, and adjusted p-values, but none of its three numbers. For that reason p-values are
    not adjusted: of 20 true differences of 0 one is below 0.05 on average.

    The p-value is `wilcoxon_holm`'s. Each pair takes O(n log n) time for n data sets, up to 50 of
    them O(n^3).

    References
    ----------
    .. [1] A. Ismail-Fawaz and others, "An approach to multiple comparison benchmark evaluations
       that is stable under manipulation of the comparate set", 2023.

    Examples
    --------
    >>> import fastad
    >>> auc = [[0.9, 0.8], [0.9, 0.9], [0.8, 0.7], [0.7, 0.8]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof"])
    >>> print(fastad.benchmarking.multi_comparison_matrix(results))
    auc                           knn                    lof
    knn 0.8250                      -  +0.0250, 2-1-1, p = 1
    lof 0.8000  -0.0250, 1-1-2, p = 1                      -
    row minus column; wins, ties, losses of the row; p of Wilcoxon's test, not adjusted
    """
    complete = CompleteMerits.of(results, measure, "differences of detectors")
    order = complete.by_mean("differences of detectors")
    merits, column = complete.merits[:, order], complete.column
    first, second = np.triu_indices(len(order), 1)
    change = differences(merits.T[first], merits.T[second])
    mean_change = column.sign * defined_mean(change, axis=1) + 0.0  # a zero has no sign
    p_values = signed_ranks(merits, first, second)[0]
    wins, losses, ties = (
        np.count_nonzero(each, axis=1) for each in (change > 0, change < 0, change == 0)
    )
    mean = column.sign * defined_mean(merits, axis=0)
    set_all_readonly(mean)
    return MultiComparison(
        complete.names(order),
        mean,
        pair_matrix(mean_change, 0.0 - mean_change, 0.0),
        pair_matrix(wins, losses, 0),
        pair_matrix(ties, ties, 0),
        pair_matrix(p_values, p_values),
        column.key,
        column.higher_is_better,
        len(merits),
        [
            "row minus column; wins, ties, losses of the row; p of Wilcoxon's test, not adjusted",
            *complete.notes,
            *shared_points(complete.clusters),
        ],
    )


def pair_matrix(above: AnyVector, below: AnyVector, diagonal: float = math.nan) -> AnyVector:
    """Return a matrix of all pairs: of the better detector against the worse, and the reverse."""
    k = math.isqrt(2 * len(above)) + 1
    matrix = np.full((k, k), diagonal, above.dtype)
    pairs = np.triu_indices(k, 1)
    matrix[pairs], matrix.T[pairs] = above, below
    set_all_readonly(matrix)
    return matrix
