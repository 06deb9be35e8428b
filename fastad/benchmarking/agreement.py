"""Agreement of two criteria on the order of detectors, by pairs or by best and worst."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.arrays import check_rows, real_vector
from fastad._core.frames import as_array
from fastad._core.parameters import check_flag, check_type, short_repr
from fastad._core.text_tables import count_text
from fastad._core.types import ArrayLike, IntMatrix, IntVector, ScoreVector
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError

_BEST, _BETWEEN, _WORST, _NO_LABEL = 1, 0, -1, 2


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Pairs of detectors that two criteria order in the same way.

    Every pair within a data set is one of ``n_pairs``, ``n_undecided`` and ``n_left_out``.

    Attributes
    ----------
    fraction : float
        ``n_agreeing / n_pairs``, in [0, 1].
    n_agreeing : float
        Pairs that both order in the same way; a multiple of one half.
    n_pairs : int
        Pairs that count.
    n_undecided : int
        Pairs that do not count, because the references do not strictly order them in the same way.
    n_left_out : int
        Pairs with a NaN.
    """

    fraction: float
    n_agreeing: float
    n_pairs: int
    n_undecided: int
    n_left_out: int


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Labels best, between and worst that a criterion recovers.

    Every detector of a data set is one of ``n_labels``, ``n_undecided`` and ``n_left_out``.

    Attributes
    ----------
    fraction : float
        ``n_recovered / n_labels``, in [0, 1].
    n_recovered : float
        Labels that the criterion recovers; an integer unless there are ties.
    n_labels : int
        Labels on which the references agree.
    n_undecided : int
        Detectors on whose label the references do not agree, or to which a tie in one of them
        gives none.
    n_left_out : int
        Detectors with a NaN, and those that have no other detector beside them.
    """

    fraction: float
    n_recovered: float
    n_labels: int
    n_undecided: int
    n_left_out: int


def pairwise_agreement(
    a: ArrayLike,
    b: ArrayLike,
    *,
    higher_is_better: tuple[bool, bool] = (True, True),
    references: Sequence[ArrayLike] | None = None,
) -> PairAgreement:
    """Fraction of the pairs of detectors that two criteria order in the same way.

    Pairs are formed within a data set. A tie in one of the two criteria counts one half, a tie in
    both counts as agreement.

    Parameters
    ----------
    a, b : array-like of shape (n_detectors,) or (n_datasets, n_detectors)
        Values of the two criteria, of equal shape, each in a unit of its own; a row for each data
        set. Infinities are ordered. A NaN leaves out its pairs, which are counted.
    higher_is_better : tuple of bool, default (True, True)
        Direction of ``a`` and of ``b``: False for a volume or a cost.
    references : pair of array-like, optional
        Values of two other criteria, of the shape of ``a``, higher is better in both. Only the
        pairs count that both strictly order, and in the same way. Give one twice to
        use it alone.

    Returns
    -------
    PairAgreement
        The fraction and the counts that it is made of.

    Raises
    ------
    TypeError
        If ``higher_is_better`` or ``references`` is not a pair.
    UndefinedMeasureError
        If no pair counts.

    See Also
    --------
    rank_label_agreement : The same for the labels best, between and worst.

    Notes
    -----
    A tie that is broken at random agrees with a strict order half of the time, hence the half.
    For one data set without ties or references, the fraction is (tau + 1) / 2 of Kendall's tau.

    O(n_datasets n_detectors^2) time, O(n_datasets n_detectors) memory.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of anomaly detection algorithms?", 2016, section
       "Benchmarks", subsection "Results".

    Examples
    --------
    Areas under the ROC and mass-volume criteria of three detectors on two data sets of the paper:

    >>> import fastad
    >>> roc = [[0.661, 0.642, 0.618], [0.727, 0.760, 0.705]]
    >>> mv = [[75, 430, 900], [12000, 13000, 21000]]
    >>> agreement = fastad.benchmarking.pairwise_agreement(mv, roc, higher_is_better=(False, True))
    >>> agreement.n_agreeing, agreement.n_pairs
    (5.0, 6)
    """
    if not isinstance(higher_is_better, tuple | list) or len(higher_is_better) != 2:
        raise InvalidTypeError(
            "higher_is_better must be a pair of True or False, for a and for b; "
            f"found {short_repr(higher_is_better)}"
        )
    up = [check_flag(flag, f"higher_is_better[{i}]") for i, flag in enumerate(higher_is_better)]
    up += [True, True]  # the references
    criteria = _read_criteria({"a": a, "b": b}, references)
    missing = np.logical_or.reduce([np.isnan(list(rows)) for rows in criteria.values()])
    ranks = [_ranks(rows, up=higher) for rows, higher in zip(criteria.values(), up, strict=False)]

    halves = n_pairs = n_undecided = n_left_out = 0
    for first in range(missing.shape[1] - 1):
        # The pairs of one detector with those after it, in all data sets: memory stays linear.
        counted = ~(missing[:, first, None] | missing[:, first + 1 :])
        n_left_out += counted.size - int(np.count_nonzero(counted))
        orders = [np.sign(rank[:, first, None] - rank[:, first + 1 :]) for rank in ranks]
        if references is not None:
            clear = (orders[2] == orders[3]) & (orders[2] != 0)
            n_undecided += int(np.count_nonzero(counted & ~clear))
            counted &= clear
        n_pairs += int(np.count_nonzero(counted))
        # Orders are -1, 0 or 1: they differ by 0 where equal, by 1 where one of the two is a tie.
        difference = np.abs(orders[0] - orders[1])
        halves += int(np.sum(2 - difference[counted]))
    if n_pairs == 0:
        raise UndefinedMeasureError(
            "pairwise_agreement needs at least one pair of detectors that counts; found none: "
            f"{n_left_out} left out for NaN, {n_undecided} not strictly ordered in the same way by "
            "references"
        )
    return PairAgreement(halves / (2 * n_pairs), halves / 2, n_pairs, n_undecided, n_left_out)


def rank_label_agreement(
    criterion: ArrayLike, references: Sequence[ArrayLike], *, higher_is_better: bool = True
) -> LabelAgreement:
    """Fraction of the labels best, between and worst that a criterion recovers.

    Each detector of a data set is labelled by the criterion and by each of two references: one is
    the best, one the worst, all others are between. Only the labels count on which the two
    references agree.

    Parameters
    ----------
    criterion : array-like of shape (n_detectors,) or (n_datasets, n_detectors)
        Values of the criterion; a row for each data set. Infinities are ordered. A detector with
        a NaN, here or in a reference, is left out of its data set and counted.
    references : pair of array-like
        Values of two other criteria, of the shape of ``criterion``, higher is better in both. Give
        one twice to use it alone.
    higher_is_better : bool, default True
        Direction of the criterion: False for a volume or a cost.

    Returns
    -------
    LabelAgreement
        The fraction and the counts that it is made of.

    Raises
    ------
    TypeError
        If ``references`` is not a pair or ``higher_is_better`` not a truth value.
    UndefinedMeasureError
        If the references agree on no label.

    See Also
    --------
    pairwise_agreement : The same for pairs, which one mistake does not shift.

    Notes
    -----
    A tie in a reference leaves without a label the detectors whose label depends on how it
    is broken: those tied for best or for worst. Detectors tied between keep theirs.

    A tie in the criterion counts by the fraction of the ways to break it that recover the label.
    Three detectors of which two are tied for best: each of the two counts one half, whether its
    label is best or between, and the third is the worst. If all three are tied, each counts one
    third. It is the half of `pairwise_agreement`, carried over: rounding the values of two
    detectors to one neither gives nor takes a whole label.

    O(n log n) time for n detectors of a data set.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of anomaly detection algorithms?", 2016, section
       "Benchmarks", remark "Alternative measurements".

    Examples
    --------
    Excess-mass criterion against the areas under both curves, on one data set of the paper:

    >>> import fastad
    >>> roc, pr = [0.824, 0.729, 0.754], [0.371, 0.230, 0.173]
    >>> fastad.benchmarking.rank_label_agreement([9.5e-4, 4.9e-4, 2.2e-4], (roc, pr))
    LabelAgreement(fraction=1.0, n_recovered=1.0, n_labels=1, n_undecided=2, n_left_out=0)
    """
    up = check_flag(higher_is_better, "higher_is_better")
    criteria = _read_criteria({"criterion": criterion}, references)

    recovered = Fraction(0)
    n_labels = n_undecided = n_left_out = 0
    for dataset in zip(*criteria.values(), strict=True):
        present = ~np.logical_or.reduce([np.isnan(values) for values in dataset])
        n = int(np.count_nonzero(present))
        if n < 2:
            n_left_out += len(present)
            continue
        n_left_out += len(present) - n
        values, *references_ = (column[present] for column in dataset)
        first, second = (_labels(*_ahead_and_tied(column, up=True), n) for column in references_)
        agreed = (first == second) & (first != _NO_LABEL)
        ahead, tied = _ahead_and_tied(values, up=up)
        recovered += _recovered(first[agreed], ahead[agreed], tied[agreed], n)
        n_labels += int(np.count_nonzero(agreed))
        n_undecided += n - int(np.count_nonzero(agreed))
    if n_labels == 0:
        raise UndefinedMeasureError(
            "rank_label_agreement needs at least one label on which the references agree; found "
            f"none: {n_left_out} detectors left out, {n_undecided} without an agreed label"
        )
    return LabelAgreement(
        float(recovered / n_labels), float(recovered), n_labels, n_undecided, n_left_out
    )


def _datasets(values: ArrayLike, name: str) -> list[ScoreVector]:
    """Check the values of a criterion; return a vector for each data set.

    Each keeps a type of its own, because values are compared within a data set only.
    """
    if isinstance(values, np.ma.MaskedArray):
        real_vector(values, name)  # refused: an array made of it would lose the mask
    if isinstance(values, list | tuple):
        try:
            array = np.asarray(values)
        except ValueError as error:
            raise InvalidInputError(
                f"{name} must have as many values for each data set; found {error}"
            ) from None
    else:
        array = as_array(values, name)
    if array.ndim not in (1, 2):
        raise InvalidInputError(
            f"{name} must have shape (n_detectors,) or (n_datasets, n_detectors); "
            f"found {array.shape}"
        )
    if array.size == 0:
        raise InvalidInputError(f"{name} must not be empty; found shape {array.shape}")
    # A list is validated as it is: in an array its integers may have been rounded.
    rows: Any = values if isinstance(values, list | tuple) else array
    if array.ndim == 1:
        return [real_vector(rows, name)]
    return [real_vector(row, f"{name}[{i}]") for i, row in enumerate(rows)]


def _read_criteria(
    criteria: dict[str, ArrayLike], references: Sequence[ArrayLike] | None
) -> dict[str, list[ScoreVector]]:
    """Check criteria and references, which must be of the same data sets and detectors."""
    given = criteria if references is None else criteria | _reference_pair(references)
    read = {name: _datasets(values, name) for name, values in given.items()}
    _check_one_shape(read)
    check_rows(given)
    return read


def _reference_pair(references: Sequence[ArrayLike]) -> dict[str, ArrayLike]:
    check_type(references, (tuple, list), "references", "a pair of arrays")
    if len(references) != 2:
        raise InvalidTypeError(f"references must be a pair of arrays; found {len(references)}")
    return {f"references[{i}]": values for i, values in enumerate(references)}


def _check_one_shape(criteria: dict[str, list[ScoreVector]]) -> None:
    shapes = {name: (len(rows), len(rows[0])) for name, rows in criteria.items()}
    first = next(iter(shapes))
    for name, shape in shapes.items():
        if shape != shapes[first]:
            raise InvalidInputError(
                f"{name} must have the shape of {first}; found {_describe(shape)} and "
                f"{_describe(shapes[first])}"
            )


def _describe(shape: tuple[int, int]) -> str:
    return f"{count_text(shape[0], 'data set')} of {count_text(shape[1], 'detector')}"


def _ranks(rows: list[ScoreVector], *, up: bool) -> IntMatrix:
    """Return integers in the order of the values of each data set, the best highest.

    Other than values, they can be negated and subtracted without overflow, and infinities too.
    """
    ranks = np.array([np.unique(values, return_inverse=True)[1] for values in rows], np.int64)
    return ranks if up else -ranks


def _ahead_and_tied(values: ScoreVector, *, up: bool) -> tuple[IntVector, IntVector]:
    """Return the numbers of values that are better than each, and that equal it, with itself."""
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    reached = np.cumsum(sizes)
    ahead = len(values) - reached if up else reached - sizes
    return ahead[group], sizes[group]


def _labels(ahead: IntVector, tied: IntVector, n: int) -> IntVector:
    """Return the label of each of n detectors; none where it depends on how a tie is broken."""
    alone, first, last = tied == 1, ahead == 0, ahead + tied == n
    return np.select(
        [alone & first, alone & last, ~first & ~last], [_BEST, _WORST, _BETWEEN], _NO_LABEL
    )


def _recovered(labels: IntVector, ahead: IntVector, tied: IntVector, n: int) -> Fraction:
    """Return the sum over detectors of the fraction of their possible ranks with the label."""
    first, last = ahead == 0, ahead + tied == n
    between = tied - first - last
    labelled = np.select([labels == _BEST, labels == _WORST], [first, last], between)
    total = Fraction(0)
    for size in np.unique(tied):
        total += Fraction(int(np.sum(labelled[tied == size])), int(size))
    return total
