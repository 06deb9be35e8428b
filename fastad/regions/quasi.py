"""Quasi-random draws: scrambled Sobol points, in replicates that the error is estimated from."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from time import perf_counter

import numpy as np
from scipy.special import stdtrit
from scipy.stats import qmc

from fastad._core.progress import Pace, Progress, show_note
from fastad._core.threads import points_at_once, thread_map
from fastad._core.types import FloatVector, IntMatrix, IntVector
from fastad._kernels.geometry.draws import scale_to_box
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.results import VolumeEstimate, draws_inside, from_fraction
from fastad.regions.scores import BlockScore
from fastad.regions.uniform import binomial

# Independently scrambled sequences, whose means the error is estimated from.
N_REPLICATES = 16
_FEW = 15
# The most features that there are direction numbers for.
MOST_FEATURES = qmc.Sobol.MAXDIM
# Points of a sequence at most: SciPy's numbers have 30 bits.
_LONGEST = 2**30


def estimate_fractions(
    box: Box,
    score: BlockScore,
    thresholds: Sequence[float],
    n_draws: int,
    level: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[VolumeEstimate]:
    """Estimate fractions from replicates of a power of two points each."""
    order = np.argsort(thresholds)
    rising = np.asarray(thresholds, np.float64)[order]
    counts, size = replicate_counts(box, score, rising, n_draws, rng, progress)
    estimates = [
        _estimate(counts[:, k], size, threshold, level)
        for k, threshold in enumerate(rising.tolist())
    ]
    return [estimates[index] for index in np.argsort(order)]


def replicate_counts(
    box: Box,
    score: BlockScore,
    rising: FloatVector,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> tuple[IntMatrix, int]:
    """Count the points of each replicate below rising thresholds; also how many it has.

    Scrambled as by Owen (1997), each replicate is unbiased; its variance is never much larger
    than for as many independent draws, and for smooth regions of few features much smaller.
    """
    if box.n_features > MOST_FEATURES:
        raise InvalidInputError(
            f"method must not be 'sobol' for more than {MOST_FEATURES} features; found "
            f"{box.n_features}"
        )
    if n_draws < N_REPLICATES:
        raise InvalidInputError(
            f"n_draws must be at least {N_REPLICATES} for method='sobol'; found {n_draws}"
        )
    if n_draws >= 2 * N_REPLICATES * _LONGEST:
        raise InvalidInputError(
            f"n_draws must be less than {2 * N_REPLICATES * _LONGEST} for method='sobol'; found "
            f"{n_draws}"
        )
    size = points_at_once(box.n_features)
    exponent = (n_draws // N_REPLICATES).bit_length() - 1
    engines = [
        qmc.Sobol(box.n_features, scramble=True, seed=child) for child in rng.spawn(N_REPLICATES)
    ]

    counts = np.zeros((N_REPLICATES, rising.shape[0]), np.int64)

    def count(task: tuple[int, int]) -> None:
        replicate, n_points = task
        points = np.ascontiguousarray(engines[replicate].random(n_points).T)
        scale_to_box(box.ranges, points)
        score.count(points, rising, counts[replicate])

    n_done = 0
    for tasks in _rounds(2**exponent, size, score, box.n_features):
        thread_map(count, tasks)
        n_done += sum(n_points for _, n_points in tasks)
        if progress is not None:
            progress(n_done, N_REPLICATES * 2**exponent)
            # One after the other, those that are done; at once, all as far as they are.
            show_note(partial(_error, counts if score.on_threads else counts[: n_done >> exponent]))
    return counts, 2**exponent


def _error(counts: IntMatrix) -> str:
    """Return in words the relative error by replicates, of the threshold with the largest."""
    n, n_inside = counts.shape[0], counts.sum(axis=0)
    if n < 2 or not n_inside.all():
        return ""
    error = float((counts.std(axis=0, ddof=1) * math.sqrt(n) / n_inside).max())
    # Replicates that agree give no error.
    return f"relative error {error:.2g}" if error else ""


def _rounds(
    n_each: int, largest: int, score: BlockScore, n_features: int
) -> Iterator[list[tuple[int, int]]]:
    """Yield replicates and how many points of them are next: of all on threads, else of one."""
    if not score.on_threads:
        for replicate in range(N_REPLICATES):
            for part in score.ranges(0, n_each, n_features):
                # SciPy warns of first points whose number is no power of two.
                n_first = 1 << (len(part).bit_length() - 1) if part.start == 0 else len(part)
                yield [(replicate, n_first)]
                if n_first < len(part):
                    yield [(replicate, len(part) - n_first)]
        return
    pace, start = Pace(), 0
    while start < n_each:
        n_points = min(pace.size // N_REPLICATES, largest, n_each - start)
        began = perf_counter()
        yield [(replicate, n_points) for replicate in range(N_REPLICATES)]
        pace.took(N_REPLICATES * n_points, perf_counter() - began)
        start += n_points


def _estimate(counts: IntVector, size: int, threshold: float, level: float) -> VolumeEstimate:
    n_drawn, n_inside = size * N_REPLICATES, int(counts.sum())
    value = n_inside / n_drawn
    error = float(np.std(counts / size, ddof=1)) / math.sqrt(N_REPLICATES)
    if error == 0 or n_inside == 0:
        # All replicates agree: they give no error, and are as good as that many independent draws.
        return binomial(n_inside, n_drawn, threshold, level, "sobol")
    # With few points on one side replicates misjudge their error: take independent draws' error.
    if min(n_inside, n_drawn - n_inside) < _FEW:
        plain = binomial(n_inside, n_drawn, threshold, level, "sobol")
        lowest, highest = plain.low, plain.high
    else:
        lowest, highest = 1.0, 0.0
    half = float(stdtrit(N_REPLICATES - 1, (1 + level) / 2)) * error
    return from_fraction(
        value,
        error,
        min(max(value - half, 0.0), lowest),
        max(min(value + half, 1.0), highest),
        n_drawn=n_drawn,
        n_inside=n_inside,
        method="sobol",
        confidence_level=level,
        threshold=threshold,
        is_bound=False,
        effective_sample_size=draws_inside(value, error),
    )
