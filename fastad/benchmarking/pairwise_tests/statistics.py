"""Tukey's and Welch's statistics of all pairs of the models of one level.

Tukey's q is a difference of means in units that all pairs share: all that is computed of it comes
from sorted means, without looking at each pair.
"""

import math
import threading
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from fastad._core.threads import thread_map
from fastad._core.types import Correction, FloatVector, IntVector
from fastad._kernels.rank_tests.pairs import (
    collect_pass,
    count_differences,
    select_difference,
    step_down,
    step_up,
    welch_pass,
)
from fastad.benchmarking.pairwise_tests.models import Models, terms, welch_coefficients
from fastad.uncertainty.comparisons.corrections import possible


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
    unit = standard_error(models)
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


def standard_error(models: Models) -> float:
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


PairCorrection: TypeAlias = Correction | Literal["shaffer"]

# The corrections that depend on the order of p-values count them in two tables of this many pairs.
LARGEST_CORRECTED = 1500

# The upper 18 bits of infinity.
_INFINITE_BIN = 0x7FF << 6


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


def welch(models: Models, alpha: float, stop: threading.Event) -> Welch:
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


def _check(stop: threading.Event) -> None:
    if stop.is_set():
        raise StoppedError


def _select(
    models: Models, histogram: IntVector, ranks: list[int], stop: threading.Event
) -> list[float]:
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
    models: Models, index: int, size: int, stop: threading.Event, rows: tuple[int, int]
) -> FloatVector:
    """Return the |t| of some rows that are in a bin of the histogram, which has this size."""
    _check(stop)
    values = np.empty(size)
    n = collect_pass(models.means, models.deviations, rows, models.root, index, values)
    collected: FloatVector = values[:n].copy()
    return collected
