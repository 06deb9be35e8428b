"""How many pairs of models a criterion without labels orders as labels do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.benchmarking.agreement import pairwise_agreement
from fastad.benchmarking.resampling import Resampling
from fastad.errors import UndefinedMeasureError


class _Pairs(NamedTuple):
    """Pairs of models on one data set."""

    agreeing: float
    counted: int


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How many pairs of models of different detectors two criteria order the same way.

    Attributes
    ----------
    n_agreeing : float
        Pairs that are ordered the same way; a tie in one of the two is one half.
    n_pairs : int
        Pairs that count.
    n_left_out : int
        Pairs that do not count, because a value is undefined.
    low, high : float
        Ends of the interval of the fraction, from data sets drawn again; NaN where fewer than two
        data sets count.
    """

    n_agreeing: float
    n_pairs: int
    n_left_out: int
    low: float
    high: float

    @property
    def fraction(self) -> float:
        """Fraction of the pairs that are ordered the same way; NaN where no pair counts."""
        return self.n_agreeing / self.n_pairs if self.n_pairs else float("nan")

    def __str__(self) -> str:
        return proportion_text(self.n_agreeing, self.n_pairs)


def proportion_text(n: float, total: int) -> str:
    """Return a number of a total with its percentage, such as 123 of 170 (72.4 %)."""
    if not total:
        return "0 of 0"
    return f"{f'{n:.1f}'.removesuffix('.0')} of {total} ({100 * n / total:.1f} %)"


def count_pairs(
    criterion: FloatMatrix,
    references: Sequence[FloatMatrix],
    detector_of: IntVector,
    resampling: Resampling,
) -> PairCounts:
    """Count pairs of models of different detectors on each problem.

    Parameters
    ----------
    criterion : numpy.ndarray of shape (n_problems, n_models)
        The higher the better.
    references : sequence of one or two such arrays
        Orders that the criterion is compared with; of two the pairs count that both strictly order
        the same way.
    detector_of : numpy.ndarray of shape (n_models,)
        Detector of each model.
    resampling : Resampling
        Draws of the data sets of the problems.
    """
    missing: npt.NDArray[np.bool_] = np.any(np.isnan([criterion, *references]), axis=0)
    counts = [
        _count([row, *values], detector_of)
        for row, *values in zip(criterion, *references, strict=True)
    ]
    agreeing = np.array([pairs.agreeing for pairs in counts])
    counted = np.array([pairs.counted for pairs in counts])
    left_out = _n_different(np.zeros_like(missing), detector_of)
    left_out -= _n_different(missing, detector_of)
    low, high = _interval(agreeing, counted, resampling)
    return PairCounts(float(agreeing.sum()), int(counted.sum()), int(left_out.sum()), low, high)


def _count(values: Sequence[FloatVector], detector_of: IntVector) -> _Pairs:
    """Count the pairs of all models, without the pairs of one detector."""
    whole = _count_all(values)
    agreeing, counted = whole
    for detector in np.unique(detector_of):
        same = _count_all([row[detector_of == detector] for row in values])
        agreeing, counted = agreeing - same.agreeing, counted - same.counted
    return _Pairs(agreeing, counted)


def _count_all(values: Sequence[FloatVector]) -> _Pairs:
    criterion, *references = values
    if len(criterion) < 2:
        return _Pairs(0.0, 0)
    both = (references[0], references[1]) if len(references) > 1 else None
    try:
        agreement = pairwise_agreement(criterion, references[0], references=both)
    except UndefinedMeasureError:  # no pair counts
        return _Pairs(0.0, 0)
    return _Pairs(agreement.n_agreeing, agreement.n_pairs)


def _n_different(missing: npt.NDArray[np.bool_], detector_of: IntVector) -> IntVector:
    """Return the number of pairs of models of different detectors that have all values."""
    sizes = np.stack(
        [(~missing[:, detector_of == detector]).sum(axis=1) for detector in np.unique(detector_of)]
    )
    pairs: IntVector = (sizes.sum(axis=0) ** 2 - (sizes**2).sum(axis=0)) // 2
    return pairs


def _interval(
    agreeing: FloatVector, counted: IntVector, resampling: Resampling
) -> tuple[float, float]:
    """Return the interval of the fraction of all pairs, drawing data sets again."""
    sums = np.zeros((resampling.counts.shape[1], 2))
    np.add.at(sums, resampling.clusters, np.column_stack([agreeing, counted]))
    # Not by BLAS, whose sums depend on the number of its threads.
    drawn = np.einsum("rc,cx->rx", resampling.counts, sums)
    with np.errstate(invalid="ignore"):
        replicates = drawn[:, :1] / drawn[:, 1:]
        value = agreeing.sum(keepdims=True) / counted.sum()
    n_counted = np.array([np.count_nonzero(sums[:, 1])])
    low, high = resampling.interval(value, replicates, n_counted)
    return float(low[0]), float(high[0])
