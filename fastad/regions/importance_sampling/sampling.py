"""Importance sampling: draws where the data say that the region is, weighted by their density.

The fraction of the unit cube in a region is the mean of 1 / q over draws of density q, those
outside of the region counted as zero.
"""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.special import stdtrit

from fastad._core.progress import Progress, show_note
from fastad._core.types import FloatMatrix, FloatVector
from fastad.regions.importance_sampling.nested import FEWEST_POINTS
from fastad.regions.importance_sampling.weighted_draws import (
    WeightedDraws,
    together,
    weighted_draws,
)
from fastad.regions.importance_sampling.weights import RefusedError, WeightSums, check_weights
from fastad.regions.results import VolumeEstimate, from_log_fraction
from fastad.regions.scores import Cube

# Regions fitted for very many thresholds: time grows with them, and the mixture of nested regions
# covers the sets between in its tails.
_REGIONS_OF_MANY = 4
# Parts of the draws that the errors of many thresholds are estimated from.
N_PARTS = 16


def estimate_fractions(
    cube: Cube,
    thresholds: Sequence[float],
    data: FloatMatrix,
    n_draws: int,
    level: float,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> list[VolumeEstimate]:
    """Estimate fractions from weighted draws, the same ones for all thresholds.

    Parameters
    ----------
    cube : Cube
        Scores of points of the unit cube.
    thresholds : sequence of float
        The regions are where the score is below them.
    data : numpy.ndarray of shape (n_features, n_points)
        Points of the cube, of which enough lie in each region; they say where to look.
    n_draws : int
        Budget of points that are scored, data and pilots included.
    level : float
        Confidence level.
    rng : numpy.random.Generator
        Generator of all draws.
    progress : callable, optional
        Called with the numbers of points scored and to be scored.

    Raises
    ------
    RefusedError
        If few data lie in a region, or the draws are worth too few independent ones in it.

    Notes
    -----
    The numbers of draws from each component and from the uniform distribution are fixed, and
    weights are the inverse of the whole mixture's density (the balance heuristic, or deterministic
    mixture).
    The mixture is fitted to other draws than the estimate uses, which is thus unbiased. The
    standard error is for independent draws from the mixture: fixed numbers only lower it.

    Where the mixture misses data in the region, half of these have draws around themselves, and the
    interval rises by the part of the region that the other half says is missed still; of data that
    are denser in the middle than at the sides it says too little. A part of the region that holds
    no data, and is too small for uniform draws to find, is missed without a trace: the estimate is
    then the volume of the other parts.

    References
    ----------
    .. [1] E. Veach and L. J. Guibas, "Optimally combining sampling techniques for Monte Carlo
       rendering", 1995.
    .. [2] A. Owen and Y. Zhou, "Safe and effective importance sampling", 2000.
    .. [3] B. M. Hill, "A simple general approach to inference about the tail of a distribution",
       1975; A. Vehtari et al., "Pareto smoothed importance sampling", 2024.
    .. [4] R. Y. Rubinstein and D. P. Kroese, "The Cross-Entropy Method", 2004.
    """
    first = cube.n_scored
    try:
        draws = weighted_draws(cube, thresholds, data, n_draws, rng, progress)
        sums = {threshold: WeightSums(draws.n_drawn) for threshold in thresholds}
        for hits in draws.blocks:
            for threshold, weights in sums.items():
                weights.add(hits.logs[hits.scores < threshold])
            worth = min(weights.effective for weights in sums.values())
            show_note(partial(_error, worth))
        n_scored = cube.n_scored - first
        return [
            _estimate(sums[threshold], threshold, draws, n_scored, level)
            for threshold in thresholds
        ]
    except RefusedError as error:
        error.n_scored = cube.n_scored - first
        raise


def repeat_log_fractions(
    cube: Cube,
    rising: FloatVector,
    data: FloatMatrix,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> FloatMatrix:
    """Return logarithms of the fractions below many thresholds, by parts of the weighted draws.

    Each part takes every 16th draw of each component. Some of the thresholds, the last one among
    them, must pass the tests of `estimate_fractions`.

    Returns
    -------
    numpy.ndarray of shape (N_PARTS, n_thresholds)
        Rising; -inf where no draw of a part is below.
    """
    # Below the first ones are too few data, where each score of these is a threshold.
    indices = np.linspace(min(FEWEST_POINTS, len(rising) - 1), len(rising) - 1, _REGIONS_OF_MANY)
    some = rising[indices.round().astype(int)].tolist()
    n_drawn, missed, blocks = weighted_draws(cube, some, data, n_draws, rng, progress)
    hits = together(list(blocks))
    for threshold in some:
        sums = WeightSums(n_drawn)
        sums.add(hits.logs[hits.scores < threshold])
        check_weights(sums, threshold, n_drawn)
    # For the thresholds that the mixture was fitted to.
    for threshold, missed_there in missed.items():
        missed_there.check(threshold)
    # The first threshold that each draw is below; in units that no sum leaves.
    first = np.searchsorted(rising, hits.scores, side="right")
    largest = float(hits.logs.max())
    weights = np.exp(hits.logs - largest)
    cells = (hits.numbers % N_PARTS) * rising.shape[0] + first
    added = np.bincount(cells, weights, N_PARTS * rising.shape[0])
    sums_of_parts = np.cumsum(added.reshape(N_PARTS, -1), axis=1)
    with np.errstate(divide="ignore"):
        fractions: FloatMatrix = np.log(sums_of_parts) + largest + math.log(N_PARTS / n_drawn)
    return fractions


def _error(n_effective: float) -> str:
    """Return in words the relative error of draws worth ``n_effective`` independent draws."""
    return f"relative error {1 / math.sqrt(n_effective):.2g}" if n_effective else ""


def _estimate(
    sums: WeightSums, threshold: float, draws: WeightedDraws, n_scored: int, level: float
) -> VolumeEstimate:
    n_drawn = draws.n_drawn
    # A region without a fit has the missed part of the next larger one that has a fit.
    missed = draws.missed[min(x for x in draws.missed if x >= threshold)]
    check_weights(sums, threshold, n_drawn)
    missed.check(threshold)
    n_effective = sums.effective
    log_value = sums.log_sum - math.log(n_drawn)
    error = math.sqrt(max(1 / n_effective - 1 / n_drawn, 0.0))
    half = float(stdtrit(n_effective - 1, (1 + level) / 2)) * error
    return from_log_fraction(
        log_value,
        error,
        min(log_value - half, 0.0),
        log_value + math.hypot(half, missed.most(level)),
        n_drawn=n_drawn,
        n_inside=sums.n_inside,
        method="importance",
        confidence_level=level,
        threshold=threshold,
        is_bound=False,
        n_scored=n_scored,
        effective_sample_size=n_effective,
    )
