"""Sums over data sets with many weights at once, and what follows for all pairs of detectors.

Replicates are the last axis, in blocks that fit a core's nearest memory: loops over them compile to
vector instructions, and the weight of a pair is read once for a block.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix


@kernel
def weighted_sums(
    weights: FloatMatrix,  # (n, b) of n data sets in b replicates
    values: FloatMatrix,  # (n, k) of k detectors
    sums: FloatMatrix,  # (k, b) written here
) -> None:
    """Add up the values of each detector with the weights of each replicate."""
    sums[:] = 0.0
    for j in range(values.shape[1]):
        for i in range(values.shape[0]):
            value = values[i, j]
            for r in range(sums.shape[1]):
                sums[j, r] += value * weights[i, r]


@kernel
def inverse_norms(
    values: FloatMatrix,  # (n, k)
    inverses: FloatMatrix,  # (k, k) written here; 0 where two detectors are equal everywhere
) -> None:
    """Divide 1 by the root of the sum of squared differences of each two detectors."""
    for j in range(values.shape[1]):
        inverses[j, j] = 0.0
        for k in range(j):
            total = 0.0
            for i in range(values.shape[0]):
                difference = values[i, j] - values[i, k]
                total += difference * difference
            inverse = 1.0 / math.sqrt(total) if total > 0.0 else 0.0
            inverses[j, k] = inverses[k, j] = inverse


@kernel
def largest_differences(
    sums: FloatMatrix,  # (k, b)
    factors: FloatMatrix,  # (k, k), 0 for an ordered pair that is left out
    largest: FloatVector,  # (b,) written here
) -> None:
    """Write the largest scaled difference of a detector and one below it; at least 0."""
    largest[:] = 0.0
    for j in range(factors.shape[0]):
        for k in range(j):
            up = factors[j, k]
            down = -factors[k, j]
            for r in range(largest.shape[0]):
                difference = sums[j, r] - sums[k, r]
                above = difference * up
                below = difference * down
                either = above if above > below else below
                largest[r] = either if either > largest[r] else largest[r]


@kernel
def largest_resampled(
    weights: FloatMatrix,  # (n, b): how often each replicate contains a data set
    values: FloatMatrix,  # (n, k), less the mean of each detector
    sums: FloatMatrix,  # (k, b) of these values with the weights
    factors: FloatMatrix,  # (k, k), 0 for an ordered pair that is left out
    squares: FloatVector,  # (b,) working memory
    largest: FloatVector,  # (b,) written here
) -> None:
    """Write the largest sum of resampled differences over the root of the sum of their squares."""
    largest[:] = 0.0
    for j in range(factors.shape[0]):
        for k in range(j):
            up = factors[j, k] > 0.0
            down = factors[k, j] > 0.0
            if not (up or down):
                continue
            squares[:] = 0.0
            for i in range(values.shape[0]):
                square = (values[i, j] - values[i, k]) ** 2
                for r in range(largest.shape[0]):
                    squares[r] += weights[i, r] * square
            for r in range(largest.shape[0]):
                total = sums[j, r] - sums[k, r]
                if squares[r] > 0.0 and (up if total > 0.0 else down):
                    largest[r] = max(largest[r], abs(total) / math.sqrt(squares[r]))


@kernel
def sum_skewness(
    signs: FloatVector,  # (n,) of n data sets
    values: FloatMatrix,  # (n, k)
    rounding: float,
    differences: FloatMatrix,  # (2, n) working memory
    sums: FloatVector,  # (k,) written here
) -> None:
    """Add up each detector's skewness against the others, of differences with signs.

    About their mean: the mean of the signed ones minus the median, over the standard deviation.
    """
    n = values.shape[0]
    centred, signed = differences[0], differences[1]
    sums[:] = 0.0
    for j in range(values.shape[1]):
        for k in range(j):
            centred[:] = values[:, j] - values[:, k]
            centred -= np.mean(centred)
            signed[:] = signs * centred
            mean = np.mean(signed)
            variance = np.sum(centred * centred) / n - mean * mean
            if variance > rounding * rounding:
                skewness = (mean - np.median(signed)) / math.sqrt(variance)
                sums[j] += skewness
                sums[k] -= skewness


@kernel
def count_ranks(
    sums: FloatMatrix,  # (k, b)
    above: IntMatrix,  # (1, b) working memory
    counts: IntMatrix,  # (k, k) added to: replicates with so many better detectors, of each
) -> None:
    """Count in how many replicates each detector has each rank."""
    better = above[0]
    for j in range(sums.shape[0]):
        better[:] = 0
        for k in range(sums.shape[0]):
            for r in range(better.shape[0]):
                better[r] += np.int64(sums[k, r] > sums[j, r])
        for r in range(better.shape[0]):
            counts[j, better[r]] += 1
