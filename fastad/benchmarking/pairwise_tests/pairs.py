"""Tukey's and Welch's tests of all pairs of models at all levels of a measure.

Tukey's q is a difference of means in units that all pairs share: all that is computed of it comes
from sorted means, without looking at each pair.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.floats import SMALLEST_P
from fastad._core.results import ShortRepr
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import Correction, FloatMatrix, FloatVector, IntVector
from fastad._kernels.rank_tests.pairs import (
    collect_pass,
    count_differences,
    matrix_pass,
    select_difference,
    step_down,
    step_up,
    welch_pass,
)
from fastad._kernels.rank_tests.student import two_sided
from fastad.benchmarking.pairwise_tests.models import (
    Models,
    Overall,
    terms,
    tukey_critical,
    welch_coefficients,
    welch_test,
)
from fastad.errors import InvalidInputError
from fastad.uncertainty.comparisons.corrections import CORRECTIONS, possible, shaffer

PairTest: TypeAlias = Literal["welch", "tukey"]
PairCorrection: TypeAlias = Correction | Literal["shaffer"]

CRITERIA = ("tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median")
WELCH_CORRECTIONS: tuple[PairCorrection, ...] = (
    "none",
    "bonferroni",
    "holm",
    "shaffer",
    "benjamini-hochberg",
)
# The corrections that depend on the order of p-values count them in two tables of this many pairs.
LARGEST_CORRECTED = 1500
# The upper 18 bits of infinity.
_INFINITE_BIN = 0x7FF << 6
# Integrals of one step, after which an interrupt is noticed: some tenths of a second.
_INTEGRALS_A_STEP = 100


@dataclass(frozen=True, slots=True)
class Tukey:
    """Tukey's criteria of one level."""

    q: float
    mean: float
    median: float
    critical: float
    n_infinite: int
    n_significant: int


def tukey(models: Models, critical: float) -> Tukey:
    """Compute the criteria, and count pairs whose q exceeds the critical value."""
    means, n_pairs = models.means, models.n_pairs
    unit = _standard_error(models)
    q = _extremes(models)
    if unit == 0.0:
        n_infinite = n_pairs - count_differences(means, 1.0, 0.0)
        finite = 0.0 if n_infinite < n_pairs else math.nan
        return Tukey(q, finite, finite, critical, n_infinite, n_infinite)
    below = np.arange(1, models.n_models)
    # Each gap between neighbours lies in the differences of those below and those above.
    total = math.fsum(np.diff(means) * (below * below[::-1]))
    middle = {(n_pairs - 1) // 2, n_pairs // 2}
    median = math.fsum(select_difference(means, rank) / unit for rank in middle) / len(middle)
    n_significant = n_pairs - count_differences(means, unit, critical)
    return Tukey(q, total / n_pairs / unit, median, critical, 0, n_significant)


def _standard_error(models: Models) -> float:
    """Return the root of the mean variance over the number of folds."""
    largest = float(models.deviations.max())
    if largest == 0.0:
        return 0.0
    squares = math.fsum((models.deviations / largest) ** 2)
    return largest * math.sqrt(squares / models.n_models) / models.root


def _extremes(models: Models) -> float:
    """Return q of the best and the worst model with the variance of these two; NaN if infinite."""
    means = models.means
    spread = float(means[-1] - means[0])
    if spread == 0.0:
        return 0.0
    # Where several are worst, the last of them varies most, and so does the last of the best.
    worst = int(np.searchsorted(means, means[0], side="right")) - 1
    pooled = math.hypot(models.deviations[worst], models.deviations[-1]) / math.sqrt(2.0)
    return spread / (pooled / models.root) if pooled > 0.0 else math.nan


@dataclass(frozen=True, slots=True)
class Welch:
    """Welch's criteria of one level; counts that were left out are -1."""

    mean: float
    median: float
    critical: float
    n_infinite: int
    n_significant: dict[PairCorrection, int]


class StoppedError(Exception):
    """Another thread has stopped the work."""


def welch(models: Models, alpha: float, stop: Event) -> Welch:
    """Compare all pairs of the models of a level."""
    n_pairs = models.n_pairs
    sums = terms(models.n_folds)
    coefficients = welch_coefficients(models.n_folds, alpha)
    numbers = (models.root, sums.half, sums.scale, alpha)
    corrected = models.n_models <= LARGEST_CORRECTED
    buckets = np.zeros((2, n_pairs + 1 if corrected else 0), np.int32)

    def compare(rows: tuple[int, int]) -> tuple[float, float, int, int, IntVector]:
        _check(stop)
        histogram = np.zeros(2**17, np.int64)
        sums_of_step = welch_pass(
            models.means, models.deviations, rows, numbers, sums.weights, coefficients, histogram,
            buckets,
        )  # fmt: skip
        return *sums_of_step, histogram

    # Where there are tables there is one step: no two threads count in one.
    steps = thread_map(compare, models.steps())
    histogram = np.sum([step[4] for step in steps], axis=0)
    n_infinite = int(histogram[_INFINITE_BIN])
    n_finite = n_pairs - n_infinite
    n_undefined = math.comb(models.n_constant, 2)
    n_bonferroni = sum(step[3] for step in steps)
    n_significant: dict[PairCorrection, int] = {
        "none": sum(step[2] for step in steps),
        "bonferroni": n_bonferroni,
    }
    if corrected:
        buckets[0, n_pairs] += n_bonferroni
        buckets[1, 1] += n_bonferroni
        n_significant["holm"] = step_down(buckets[0], np.arange(n_pairs + 1, dtype=np.int32))
        n_significant["shaffer"] = step_down(buckets[0], possible(models.n_models))
        n_significant["benjamini-hochberg"] = step_up(buckets[1])
    mean = median = critical = math.nan
    if n_finite > 0:
        mean = math.fsum(step[0] for step in steps) / n_finite
        ranks = {(n_finite - 1) // 2, n_finite // 2}
        middle = _select(models, histogram, sorted(ranks), stop)
        median = middle[0] / 2 + middle[-1] / 2
    if n_undefined < n_pairs:
        critical = math.fsum(step[1] for step in steps) / (n_pairs - n_undefined)
    return Welch(mean, median, critical, n_infinite, n_significant)


def _check(stop: Event) -> None:
    if stop.is_set():
        raise StoppedError


def _select(models: Models, histogram: IntVector, ranks: list[int], stop: Event) -> list[float]:
    """Return the finite |t| of some ranks, from 0, which the histogram of upper bits locates."""
    ends, n_equal = np.cumsum(histogram), count_differences(models.means, 1.0, 0.0)
    collected: dict[int, FloatVector] = {}
    statistics = []
    for rank in ranks:
        # Equal means may be those of nearly all pairs, and are not collected.
        if rank < n_equal:
            statistics.append(0.0)
            continue
        index = int(np.searchsorted(ends, rank, side="right"))
        size = int(histogram[index])
        if index not in collected:
            collect = partial(_collect, models, index, size, stop)
            collected[index] = np.concatenate(thread_map(collect, models.steps()))
        inside = rank - int(ends[index]) + size
        collected[index].partition(inside)
        statistics.append(float(collected[index][inside]))
    return statistics


def _collect(
    models: Models, index: int, size: int, stop: Event, rows: tuple[int, int]
) -> FloatVector:
    """Return the |t| of some rows that are in a bin of the histogram, which has this size."""
    _check(stop)
    values = np.empty(size)
    n = collect_pass(models.means, models.deviations, rows, models.root, index, values)
    collected: FloatVector = values[:n].copy()
    return collected


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairwiseTests(ShortRepr):
    """Criteria, critical values and counts of pairs, each by level.

    Attributes
    ----------
    n_models, n_folds, n_pairs : int
        Sizes; n_pairs = n_models (n_models - 1) / 2.
    alpha : float
        Level of the tests.
    criteria : mapping of str to numpy.ndarray of shape (n_levels,)
        Values of `CRITERIA` by name, from 0 on; NaN where no statistic is finite.
    critical_values : mapping of str to numpy.ndarray of shape (n_levels,)
        "tukey" and "welch": the threshold of significant criteria. For Welch the mean over pairs
        of which at least one varies, NaN if there is none.
    n_significant : mapping of str to numpy.ndarray of shape (n_levels,), or None
        Significant pairs: "tukey", whose q exceeds the critical value, and for each of
        `WELCH_CORRECTIONS` those whose corrected p-value is at most alpha. None where it was not
        counted: the last three for more than `LARGEST_CORRECTED` models.
    n_infinite : mapping of str to numpy.ndarray of shape (n_levels,)
        "tukey" and "welch": pairs left out of means and medians, which have different means and no
        variance.
    f, df_between, df_within, p_value : numpy.ndarray of shape (n_levels,)
        Welch's test of all models at once; NaN where it is undefined.
    """

    n_models: int
    n_folds: int
    n_pairs: int
    alpha: float
    criteria: Mapping[str, FloatVector]
    critical_values: Mapping[str, FloatVector]
    n_significant: Mapping[str, IntVector | None]
    n_infinite: Mapping[str, IntVector]
    f: FloatVector
    df_between: FloatVector
    df_within: FloatVector
    p_value: FloatVector


def compare_pairs(values: npt.NDArray[np.float64], *, alpha: float) -> PairwiseTests:
    """Compare all pairs of models at each level of (n_models, n_folds, n_levels) finite values.

    The same bits for any order of models and folds, and any number of threads. With n models,
    O(n**2) time a level; a level at a time on each thread, with 8 bytes a pair up to
    `LARGEST_CORRECTED` models. Beyond, 16 bytes for each pair of different means whose |t| is
    within 2 % of the median: of one pair in a hundred, unless most have a few values.
    """
    n_models, n_folds, n_levels = values.shape
    critical = tukey_critical(n_models, n_folds, alpha)
    stop = Event()

    def level(i: int) -> tuple[Tukey, Welch, Overall]:
        models = Models.of(values[:, :, i])
        return tukey(models, critical), welch(models, alpha, stop), welch_test(models)

    try:
        rows = thread_map(level, range(n_levels))
    except BaseException:
        # A thread leaves its level after the step that it is in.
        stop.set()
        raise
    overall = [row[2] for row in rows]
    by_test: dict[str, list[Any]] = {
        "tukey": [row[0] for row in rows],
        "welch": [row[1] for row in rows],
    }
    criteria = {}
    for name in CRITERIA:
        test, _, statistic = name.partition("-")
        criteria[name] = _floats(getattr(row, statistic) for row in by_test[test])
    n_significant: dict[str, IntVector | None] = {
        "tukey": _counts(row.n_significant for row in by_test["tukey"])
    }
    for name in WELCH_CORRECTIONS:
        counted = n_models <= LARGEST_CORRECTED or name in ("none", "bonferroni")
        each = (row.n_significant[name] for row in by_test["welch"])
        n_significant[name] = _counts(each) if counted else None
    return PairwiseTests(
        n_models,
        n_folds,
        n_models * (n_models - 1) // 2,
        alpha,
        criteria,
        {test: _floats(row.critical for row in each) for test, each in by_test.items()},
        n_significant,
        {test: _counts(row.n_infinite for row in each) for test, each in by_test.items()},
        **{
            name: _floats(getattr(row, name) for row in overall)
            for name in ("f", "df_between", "df_within", "p_value")
        },
    )


def _floats(numbers: Any) -> FloatVector:
    return set_readonly(np.fromiter(numbers, np.float64))


def _counts(numbers: Any) -> IntVector:
    return set_readonly(np.fromiter(numbers, np.int64))


def pair_p_values(
    values: FloatMatrix, *, test: PairTest = "welch", correction: PairCorrection = "none"
) -> FloatMatrix:
    """Compute the two-sided p-values of all pairs of models, as `Discriminability.p_values` does.

    1 on the diagonal and for equal means, the smallest normal float for different means without
    variance. Welch's take some ten nanoseconds a pair, and 1e-13 of them is rounding. Tukey's are
    integrals that SciPy computes: a millisecond for each distinct difference of means, and exact to
    about 1e-13, whatever their size.
    """
    n_models = values.shape[0]
    if test == "tukey" and correction != "none":
        raise InvalidInputError(
            "correction must be 'none' for Tukey's test, which corrects itself; "
            f"found {correction!r}"
        )
    if correction == "shaffer" and n_models > LARGEST_CORRECTED:
        raise InvalidInputError(
            f"correction must not be 'shaffer' for more than {LARGEST_CORRECTED} models; found "
            f"{n_models}"
        )
    models = Models.of(values)
    if test == "tukey":
        return _tukey_p_values(models)
    matrix = _welch_p_values(models)
    if correction == "none":
        return matrix
    upper = np.triu_indices(n_models, 1)
    correct = shaffer if correction == "shaffer" else CORRECTIONS[correction]
    return _symmetric(correct(matrix[upper]), n_models)


def _welch_p_values(models: Models) -> FloatMatrix:
    sums = terms(models.n_folds)
    matrix = np.ones((models.n_models, models.n_models))

    def write(rows: tuple[int, int]) -> None:
        numbers = (models.root, sums.half, sums.scale)
        matrix_pass(
            models.means, models.deviations, rows, numbers, sums.weights, models.order, matrix
        )

    thread_map(write, models.steps())
    return matrix


def _tukey_p_values(models: Models) -> FloatMatrix:
    """Integrate once for each distinct difference of means."""
    n, unit = models.n_models, _standard_error(models)
    upper = np.triu_indices(n, 1)
    means = np.empty(n)
    means[models.order] = models.means
    differences, indices = np.unique(np.abs(means[upper[0]] - means[upper[1]]), return_inverse=True)
    p_values = np.where(differences > 0.0, 0.0, 1.0)
    inside = np.flatnonzero(differences > 0.0) if unit > 0.0 else np.empty(0, np.int64)
    steps = in_steps(0, inside.shape[0], _INTEGRALS_A_STEP)
    q = differences[inside] / (unit if unit > 0.0 else 1.0)
    parts = thread_map(lambda step: _range_p_values(q[step.start : step.stop], models), steps)
    p_values[inside] = np.concatenate([np.empty(0), *parts])
    return _symmetric(np.maximum(p_values, SMALLEST_P)[indices], n)


def _range_p_values(q: FloatVector, models: Models) -> FloatVector:
    """Return the probabilities that the studentized range is at least q."""
    nu = models.n_models * (models.n_folds - 1)
    if models.n_models == 2:
        # The range of two means is a difference; Student's distribution is exact in the far tail.
        return np.array([two_sided(x / np.sqrt(2.0), float(nu)) for x in q.tolist()])
    # Here, because SciPy's statistics take half a second to import.
    from scipy.stats import studentized_range

    return np.clip(studentized_range.sf(q, models.n_models, nu), 0.0, 1.0)


def _symmetric(upper: FloatVector, n_models: int) -> FloatMatrix:
    """Return the matrix of pairs (i, j), i < j, in rows; 1 on its diagonal."""
    matrix = np.ones((n_models, n_models))
    rows, columns = np.triu_indices(n_models, 1)
    matrix[rows, columns] = matrix[columns, rows] = upper
    return matrix
