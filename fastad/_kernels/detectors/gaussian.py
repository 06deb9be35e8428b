"""Quadratic forms, and logarithms of sums of normal densities.

Points are coordinate-major, so that each innermost loop runs over neighbouring points in memory
and compiles to vector instructions.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.elementary import power_of_two

# Points at a time: they stay in a core's fastest memory with their deviations.
_TILE = 512

_LOG2_E = 1.4426950408889634


@kernel
def quadratic_form(
    points: FloatMatrix,  # (d, n) overwritten by deviations from the centre
    scores: FloatVector,  # (n,) written here
    centre: FloatVector,  # (d,)
    upper: FloatMatrix,  # (d, d) the diagonal, and above it the sum of both halves
) -> None:
    """Write the sum over i <= j of upper[i, j] * deviation[i] * deviation[j]."""
    d, n = points.shape
    for start in range(0, n, _TILE):
        total = scores[start : start + _TILE]
        m = total.shape[0]
        if d == 1:
            total[:] = 0.0
        # Two coordinates by two, and the last one with four: few passes, each making the most of
        # its reads. Small terms are added first.
        for j in range(0, d - 1, 2):
            x = points[j, start : start + m]
            y = points[j + 1, start : start + m]
            c, e = centre[j], centre[j + 1]
            u, v, w = upper[j, j], upper[j, j + 1], upper[j + 1, j + 1]
            if j == 0:
                for i in range(m):
                    x[i] -= c
                    y[i] -= e
                    total[i] = x[i] * (u * x[i] + v * y[i]) + w * y[i] * y[i]
                continue
            p = points[0, start : start + m]
            q = points[1, start : start + m]
            a, b = upper[0, j], upper[1, j]
            g, h = upper[0, j + 1], upper[1, j + 1]
            for i in range(m):
                x[i] -= c
                y[i] -= e
                total[i] += x[i] * (u * x[i] + v * y[i] + (a * p[i] + b * q[i])) + y[i] * (
                    w * y[i] + (g * p[i] + h * q[i])
                )
            for k in range(2, j, 2):
                p = points[k, start : start + m]
                q = points[k + 1, start : start + m]
                a, b = upper[k, j], upper[k + 1, j]
                g, h = upper[k, j + 1], upper[k + 1, j + 1]
                for i in range(m):
                    total[i] += x[i] * (a * p[i] + b * q[i]) + y[i] * (g * p[i] + h * q[i])
        if d % 2 == 1:
            x = points[d - 1, start : start + m]
            c, u = centre[d - 1], upper[d - 1, d - 1]
            first = 0
            if d >= 5:
                first = 4
                p = points[0, start : start + m]
                q = points[1, start : start + m]
                r = points[2, start : start + m]
                s = points[3, start : start + m]
                a, b = upper[0, d - 1], upper[1, d - 1]
                g, h = upper[2, d - 1], upper[3, d - 1]
                for i in range(m):
                    x[i] -= c
                    total[i] += x[i] * ((u * x[i] + (a * p[i] + b * q[i])) + (g * r[i] + h * s[i]))
            else:
                for i in range(m):
                    x[i] -= c
                    total[i] += u * x[i] * x[i]
            for k in range(first, d - 1, 2):
                p = points[k, start : start + m]
                q = points[k + 1, start : start + m]
                u, v = upper[k, d - 1], upper[k + 1, d - 1]
                for i in range(m):
                    total[i] += x[i] * (u * p[i] + v * q[i])


@kernel
def full_exponents(
    points: FloatMatrix,  # (d, n)
    means: FloatMatrix,  # (c, d)
    factors: FloatMatrix,  # (c, d, d) upper triangles F: the precision is F F'
    constants: FloatVector,  # (c,)
    exponents: FloatMatrix,  # (c, n) written here
) -> None:
    """Write for each component constant - |F' (point - mean)|**2 / 2."""
    d, n = points.shape
    deviations = np.empty((d, min(n, _TILE)))
    row = np.empty(min(n, _TILE))
    for component in range(means.shape[0]):
        for start in range(0, n, _TILE):
            total = exponents[component, start : start + _TILE]
            m = total.shape[0]
            total[:] = 0.0
            for j in range(d):
                point = points[j, start : start + m]
                deviation = deviations[j]
                mean = means[component, j]
                f = factors[component, j, j]
                for i in range(m):
                    deviation[i] = point[i] - mean
                    row[i] = f * deviation[i]
                for k in range(j):
                    earlier = deviations[k]
                    f = factors[component, k, j]
                    for i in range(m):
                        row[i] += f * earlier[i]
                for i in range(m):
                    total[i] += row[i] * row[i]
            constant = constants[component]
            for i in range(m):
                total[i] = constant - 0.5 * total[i]


@kernel
def diagonal_exponents(
    points: FloatMatrix,  # (d, n)
    means: FloatMatrix,  # (c, d)
    factors: FloatMatrix,  # (c, d) square roots of the precisions
    constants: FloatVector,  # (c,)
    exponents: FloatMatrix,  # (c, n) written here
) -> None:
    """Write for each component constant - |factor * (point - mean)|**2 / 2."""
    for component in range(means.shape[0]):
        total = exponents[component]
        total[:] = 0.0
        for j in range(points.shape[0]):
            row = points[j]
            mean = means[component, j]
            f = factors[component, j]
            for i in range(total.shape[0]):
                deviation = (row[i] - mean) * f
                total[i] += deviation * deviation
        constant = constants[component]
        for i in range(total.shape[0]):
            total[i] = constant - 0.5 * total[i]


@kernel
def negative_log_sum(
    exponents: FloatMatrix,  # (c, n)
    scores: FloatVector,  # (n,) written here
) -> None:
    """Write -log(sum of exp(exponent)), with the largest exponent factored out."""
    n = exponents.shape[1]
    largest = np.full(n, -np.inf)
    for component in range(exponents.shape[0]):
        row = exponents[component]
        for i in range(n):
            largest[i] = max(largest[i], row[i])
    scores[:] = 0.0
    for component in range(exponents.shape[0]):
        row = exponents[component]
        for i in range(n):
            scores[i] += power_of_two((row[i] - largest[i]) * _LOG2_E)
    for i in range(n):
        scores[i] = -(largest[i] + math.log(scores[i]))
