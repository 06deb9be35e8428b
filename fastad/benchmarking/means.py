"""Means of measures, in which equal sums of rates are equal."""

import math

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.rank_tests.folds import fold_means


def cell_means(values: FloatVector, starts: IntVector) -> tuple[FloatVector, IntVector]:
    """Average consecutive values where they are defined, and count these.

    ``starts`` has the start of each cell, and the end of the last; the order of values within a
    cell moves no bit. The mean of a cell without a defined value is NaN.

    Measures are quotients of integers, which floats round: 1/10 + 7/10 and 4/10 + 4/10 are equal,
    0.1 + 0.7 and 0.4 + 0.4 are not. The average is therefore over the fractions that the floats
    stand for, and the mean is rounded once, so that detectors whose rates have equal sums tie.

    The rule: a float stands for the one fraction p/q that rounds to it with q at most 2^26 and q²
    times the distance of floats there below 1, and for itself where there is none. A value up to
    1 that is a quotient of integers with a denominator up to 2^26, 67 million, divided once, is
    thus recovered; `beyond_float` of the kernel has the proof. Two floats hold the sum of k
    fractions of one sign to about k² 2^-104 of it. With D a common denominator of the fractions,
    their mean is a multiple of 1/(k D): it is no middle between two floats, and differs from each
    by 2^-54/(k D) of itself at least. Hence the mean is the float nearest to the exact one where
    k³ D is below 2^50, whatever the fractions are that it is made of. Beyond, sums that are equal
    differ only if they lie k² 2^-104 from a middle, by chance one of 2^43 where k is 10. A sum of
    fractions of both signs is 0 where it is no larger than what two floats may lose of it.
    """
    n_cells = len(starts) - 1
    means, defined = np.empty(n_cells), np.empty(n_cells, np.int64)
    values = values.astype(np.float64)  # a copy, which is sorted within cells

    def average(cells: slice) -> None:
        ends = slice(cells.start, cells.stop + 1)
        fold_means(values, starts[ends], means[cells], defined[cells])

    thread_map(average, slices(n_cells))
    return means, defined


def defined_mean(values: npt.NDArray[np.float64], *, axis: int) -> npt.NDArray[np.float64]:
    """Average over an axis as `cell_means` does; NaN where no value is defined."""
    last = np.moveaxis(values, axis, -1)
    starts = np.arange(math.prod(last.shape[:-1]) + 1) * last.shape[-1]
    set_all_readonly(starts)  # as in a table: one compiled form
    return cell_means(last.reshape(-1), starts)[0].reshape(last.shape[:-1])


def differences(first: FloatMatrix, second: FloatMatrix) -> FloatMatrix:
    """Subtract means as `cell_means` adds, so that equal differences of rates are equal.

    Means must have a common denominator up to 2^26. Equal infinities do not differ; NaN where
    either is.
    """
    # Half of a difference is the mean of one and the other's negative, rounded once.
    with np.errstate(over="ignore"):
        difference = 2 * defined_mean(np.stack([first, -second]), axis=0)
    difference[first == second] = 0.0
    difference[np.isnan(first) | np.isnan(second)] = np.nan
    return difference


def in_units(values: FloatMatrix) -> tuple[FloatMatrix, npt.NDArray[np.intc]]:
    """Divide rows by powers of two so that their squares neither overflow nor vanish.

    Volumes in many dimensions are as small as 1e-200, and their squares are 0. The largest quotient
    of a row is between 1/2 and 1; the exponents of the powers, of shape (n_rows, 1), are returned
    too.
    """
    _, exponents = np.frexp(np.abs(values).max(axis=1, keepdims=True))
    return np.ldexp(values, -exponents), exponents
