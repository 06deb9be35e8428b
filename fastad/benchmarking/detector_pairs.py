"""``multi_comparison_matrix``: differences, wins and p-values of each two detectors."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.text_tables import format_p
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix
from fastad.benchmarking.complete_merits import CompleteMerits
from fastad.benchmarking.means import defined_mean, differences
from fastad.benchmarking.rank_distributions import signed_ranks
from fastad.benchmarking.ranks import shared_points
from fastad.benchmarking.result_table import Results


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
        pairs = np.triu_indices(len(self.detectors), 1)
        names = zip(("first", "second"), pairs, strict=True)
        detectors = {name: [self.detectors[i] for i in indices.tolist()] for name, indices in names}
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
    ties and losses, and the p-value. Frames have a row for each two: ``first``, the better by mean,
    ``second``, ``mean_difference``, ``wins``, ``ties``, ``losses`` and ``p_value``.

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
    measure : str
        Key of the measure.
    higher_is_better : bool
        Direction of the measure.
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
        return f"{self.mean_difference[i, j]:+.4f}", counts, format_p(self.p_values[i, j], "p")

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
        Measures of models on data sets; averaged over folds.
        On each data set a detector stands for the best of its models.
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
    merits, k, column = complete.merits[:, order], len(order), complete.column
    first, second = np.triu_indices(k, 1)
    by_pair = differences(merits.T[first], merits.T[second])
    mean = column.sign * defined_mean(merits, axis=0)
    mean_difference, p_values = np.zeros((k, k)), np.full((k, k), np.nan)
    wins, ties = np.zeros((2, k, k), np.int64)
    mean_difference[first, second] = column.sign * defined_mean(by_pair, axis=1)
    mean_difference[second, first] = -mean_difference[first, second]
    wins[first, second] = np.count_nonzero(by_pair > 0, axis=1)
    wins[second, first] = np.count_nonzero(by_pair < 0, axis=1)
    ties[first, second] = ties[second, first] = np.count_nonzero(by_pair == 0, axis=1)
    p_values[first, second] = p_values[second, first] = signed_ranks(merits, first, second)[0]
    set_all_readonly(mean, mean_difference, wins, ties, p_values)
    return MultiComparison(
        complete.names(order),
        mean,
        mean_difference,
        wins,
        ties,
        p_values,
        column.key,
        column.higher_is_better,
        len(merits),
        [
            "row minus column; wins, ties, losses of the row; p of Wilcoxon's test, not adjusted",
            *complete.notes,
            *shared_points(complete.table),
        ],
    )
