"""Scores of points by their nearest neighbours, for several numbers of neighbours at once.

Each kernel follows one kind of rule and writes a column of scores for each of its rules.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, IntMatrix, IntVector


@kernel
def write_distances(
    distances: FloatMatrix,  # (m, K) to the neighbours in order
    ks: IntVector,  # rising, up to K
    columns: IntVector,  # of scores, one for each of these rules
    scores: FloatMatrix,  # (m, rules) written here
) -> None:
    """Write the distances to the k-th neighbours."""
    for i in range(distances.shape[0]):
        for rule in range(ks.shape[0]):
            scores[i, columns[rule]] = distances[i, ks[rule] - 1]


@kernel
def write_means(
    distances: FloatMatrix,  # these and the others as above
    ks: IntVector,
    columns: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the means of the distances to the k neighbours."""
    for i in range(distances.shape[0]):
        total = 0.0
        done = 0
        for rule in range(ks.shape[0]):
            while done < ks[rule]:
                total += distances[i, done]
                done += 1
            scores[i, columns[rule]] = total / done


@kernel
def write_lengths(
    training: FloatMatrix,  # (n_train, d)
    points: FloatMatrix,  # (d, n)
    first: int,  # of the m points
    rows: IntMatrix,  # (m, K) of the neighbours in order
    ks: IntVector,
    columns: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the lengths of the means of the vectors to the k neighbours."""
    d = points.shape[0]
    x = np.empty(d)
    total = np.empty(d)
    for i in range(rows.shape[0]):
        for j in range(d):
            x[j] = points[j, first + i]
            total[j] = 0.0
        done = 0
        for rule in range(ks.shape[0]):
            while done < ks[rule]:
                row = rows[i, done]
                for j in range(d):
                    total[j] += training[row, j] - x[j]
                done += 1
            square = 0.0
            for j in range(d):
                part = total[j] / done
                square += part * part
            scores[i, columns[rule]] = math.sqrt(square)


@kernel
def write_factors(
    distances: FloatMatrix,
    rows: IntMatrix,
    reaches: FloatMatrix,  # (rules of this kind, n_train) distances to the k-th neighbours
    densities: FloatMatrix,  # likewise: local reachability densities
    ks: IntVector,
    columns: IntVector,
    scores: FloatMatrix,
) -> None:
    """Write the mean densities of the k neighbours divided by the density at a point."""
    for i in range(distances.shape[0]):
        for rule in range(ks.shape[0]):
            k = ks[rule]
            reach = 0.0
            density = 0.0
            for j in range(k):
                row = rows[i, j]
                reach += max(distances[i, j], reaches[rule, row])
                density += densities[rule, row]
            # As in scikit-learn: keeps densities finite among more than k duplicates.
            scores[i, columns[rule]] = density / k * (reach / k + 1e-10)
