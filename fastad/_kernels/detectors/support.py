"""Sums over given points (support vectors, samples, components) of a function of two points.

Points are coordinate-major, so that each innermost loop runs over neighbouring points in memory
and compiles to vector instructions; the given points come one after the other outside of it.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.elementary import hyperbolic_tangent, power_of_two

# Points at a time: in five dimensions they stay in a core's fastest memory with their sums.
_TILE = 512


@kernel
def write_squared_distances(
    points: FloatMatrix,  # (d, n)
    start: int,
    centre: FloatVector,  # (d,)
    squares: FloatVector,  # (m,) of the points from start on; written here
) -> None:
    """Write squared Euclidean distances, from differences: products of the points would cancel.

    Two coordinates in a pass halve the reads and writes: a tenth of the time of a sum.
    """
    d = points.shape[0]
    m = squares.shape[0]
    row = points[0, start : start + m]
    c = centre[0]
    for i in range(m):
        squares[i] = (row[i] - c) * (row[i] - c)
    first = 1
    if d % 2 == 0:
        row = points[1, start : start + m]
        c = centre[1]
        for i in range(m):
            squares[i] += (row[i] - c) * (row[i] - c)
        first = 2
    for j in range(first, d, 2):
        row = points[j, start : start + m]
        other = points[j + 1, start : start + m]
        c = centre[j]
        e = centre[j + 1]
        for i in range(m):
            squares[i] += (row[i] - c) * (row[i] - c) + (other[i] - e) * (other[i] - e)


@kernel
def write_products(
    points: FloatMatrix,  # (d, n)
    start: int,
    vector: FloatVector,  # (d,)
    factor: float,
    constant: float,
    products: FloatVector,  # (m,) of the points from start on; written here
) -> None:
    """Write factor * <point, vector> + constant."""
    m = products.shape[0]
    products[:] = 0.0
    for j in range(points.shape[0]):
        row = points[j, start : start + m]
        c = vector[j]
        for i in range(m):
            products[i] += row[i] * c
    for i in range(m):
        products[i] = factor * products[i] + constant


@kernel
def sum_gaussians(
    points: FloatMatrix,  # (d, n)
    vectors: FloatMatrix,  # (s, d)
    weights: FloatMatrix,  # (g, s), 0 where a sum lacks a vector
    rates: FloatVector,  # (g,)
    scores: FloatMatrix,  # (g, n) written here
) -> None:
    """Write sums of weight * 2**(-rate * squared distance) over shared vectors.

    Distances, which in many dimensions take most of the time, are computed once for all sums. A sum
    has the same bits alone and beside others.
    """
    n = points.shape[1]
    squares = np.empty(min(n, _TILE))
    scores[:] = 0.0
    for start in range(0, n, _TILE):
        m = min(n - start, _TILE)
        for s in range(vectors.shape[0]):
            write_squared_distances(points, start, vectors[s], squares[:m])
            for g in range(rates.shape[0]):
                weight = weights[g, s]
                if weight != 0.0:
                    rate = rates[g]
                    total = scores[g, start : start + m]
                    for i in range(m):
                        total[i] += weight * power_of_two(-rate * squares[i])


@kernel
def log_sum_gaussians(
    points: FloatMatrix,  # (d, n)
    vectors: FloatMatrix,  # (s, d)
    weights: FloatVector,  # (s,) positive
    rate: float,
    scores: FloatVector,  # (n,) written here
) -> None:
    """Write -log(sum of weight * 2**(-rate * squared distance)), however far all vectors are.

    The largest term is factored out. Finding it first, by a separate pass, costs a third more, but
    no point's bits depend on whether one beside it is far away.
    """
    n = points.shape[1]
    squares = np.empty(min(n, _TILE))
    nearest = np.empty(min(n, _TILE))
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        nearest[:] = np.inf
        for s in range(vectors.shape[0]):
            write_squared_distances(points, start, vectors[s], squares[:m])
            for i in range(m):
                nearest[i] = min(nearest[i], squares[i])
        total[:] = 0.0
        for s in range(vectors.shape[0]):
            write_squared_distances(points, start, vectors[s], squares[:m])
            weight = weights[s]
            for i in range(m):
                total[i] += weight * power_of_two(-rate * (squares[i] - nearest[i]))
        for i in range(m):
            total[i] = rate * math.log(2.0) * nearest[i] - math.log(total[i])


@kernel
def sum_distances(
    points: FloatMatrix,  # (d, n)
    scores: FloatVector,  # (n,) written here
    vectors: FloatMatrix,  # (s, d)
    divisors: FloatVector,  # (s,)
) -> None:
    """Write the sum of distance / divisor."""
    n = points.shape[1]
    squares = np.empty(min(n, _TILE))
    scores[:] = 0.0
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        for s in range(vectors.shape[0]):
            write_squared_distances(points, start, vectors[s], squares[:m])
            divisor = divisors[s]
            for i in range(m):
                total[i] += math.sqrt(squares[i]) / divisor


@kernel
def sum_powers(
    points: FloatMatrix,  # (d, n)
    vectors: FloatMatrix,  # (s, d)
    weights: FloatVector,  # (s,)
    factor: float,
    constant: float,
    degree: int,
    scores: FloatVector,  # (n,) written here
) -> None:
    """Write the sum of weight * (factor * product + constant)**degree, by repeated squares."""
    n = points.shape[1]
    squares = np.empty(min(n, _TILE))
    powers = np.empty(min(n, _TILE))
    scores[:] = 0.0
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        for s in range(vectors.shape[0]):
            write_products(points, start, vectors[s], factor, constant, squares[:m])
            powers[:] = weights[s]
            rest = degree
            while rest > 0:
                if rest % 2 == 1:
                    for i in range(m):
                        powers[i] *= squares[i]
                rest //= 2
                for i in range(m):
                    squares[i] *= squares[i]
            for i in range(m):
                total[i] += powers[i]


@kernel
def sum_tangents(
    points: FloatMatrix,  # (d, n)
    vectors: FloatMatrix,  # (s, d)
    weights: FloatVector,  # (s,)
    factor: float,
    constant: float,
    scores: FloatVector,  # (n,) written here
) -> None:
    """Write the sum of weight * tanh(factor * product + constant)."""
    n = points.shape[1]
    products = np.empty(min(n, _TILE))
    scores[:] = 0.0
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        for s in range(vectors.shape[0]):
            write_products(points, start, vectors[s], factor, constant, products[:m])
            weight = weights[s]
            for i in range(m):
                total[i] += weight * hyperbolic_tangent(products[i])
