"""Proposals of where particles move to, and moving those that may.

Points are coordinate-major, so that each innermost loop runs over neighbouring points in memory
and compiles to vector instructions. A key determines the random numbers, and sums have one order.
"""

import math
from typing import NamedTuple

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.elementary import logarithm
from fastad._kernels.random import bits, write_normals

# Kinds of moves, by number.
AUTOREGRESSIVE, WALK, REFLECTED_WALK, DIFFERENCE, COORDINATE, REDRAW = range(6)
_UNIT = 2.0**-53
# Fraction of the differences of two particles that are added whole: they lead from one part of a
# region to another.
_WHOLE = 0.1


class Cloud(NamedTuple):
    """Particles of a region, and the coordinates in which they are round."""

    rounded: FloatMatrix  # (d, m) the particles in those coordinates
    mean: FloatVector  # (d,)
    spread: FloatVector  # (d,) standard deviations
    factor: FloatMatrix  # (d, d) lower triangle of the covariance's Cholesky decomposition


@kernel
def to_round(
    points: FloatMatrix,  # (d, n)
    mean: FloatVector,  # (d,)
    factor: FloatMatrix,  # (d, d) lower triangle
    rounded: FloatMatrix,  # (d, n) written here
) -> None:
    """Solve factor * rounded = point - mean."""
    for j in range(points.shape[0]):
        row = rounded[j]
        point = points[j]
        m = mean[j]
        for i in range(row.shape[0]):
            row[i] = point[i] - m
        for k in range(j):
            f = factor[j, k]
            other = rounded[k]
            for i in range(row.shape[0]):
                row[i] -= f * other[i]
        f = 1.0 / factor[j, j]
        for i in range(row.shape[0]):
            row[i] *= f


@kernel
def from_round(
    rounded: FloatMatrix,  # (d, n)
    mean: FloatVector,  # (d,)
    factor: FloatMatrix,  # (d, d) lower triangle
    points: FloatMatrix,  # (d, n) written here
) -> None:
    """Write mean + factor * rounded."""
    for j in range(points.shape[0]):
        row = points[j]
        row[:] = mean[j]
        for k in range(j + 1):
            f = factor[j, k]
            other = rounded[k]
            for i in range(row.shape[0]):
                row[i] += f * other[i]


@kernel
def propose(
    kind: int,
    scale: float,
    key: np.uint64,
    cloud: Cloud,
    points: FloatMatrix,  # (d, n) the particles
    rounded: FloatMatrix,  # (d, n) the same in the cloud's coordinates
    chosen: IntVector,  # (n,) particles whose proposals are to be scored, written here
    packed: FloatVector,  # (d * n,) those proposals, coordinate by coordinate, written here
) -> int:
    """Propose a move for each particle; return how many of them need a score."""
    d, n = points.shape
    memory = np.empty(d * n + d * n % 2)
    fresh = memory[: d * n].reshape(d, n)
    proposed = np.empty((d, n))
    limits = np.full(n, -np.inf)
    if kind == AUTOREGRESSIVE:
        write_normals(bits(key, 0), memory)
        _blend(math.sqrt(1.0 - scale * scale), rounded, scale, fresh)
        # Where the normal density is smaller, particles must be as frequent.
        _exponential_limits(bits(key, 1), rounded, fresh, limits)
        from_round(fresh, cloud.mean, cloud.factor, proposed)
    elif kind == WALK:
        write_normals(bits(key, 0), memory)
        _blend(1.0, rounded, 2.0 * scale / math.sqrt(d), fresh)
        from_round(fresh, cloud.mean, cloud.factor, proposed)
        _wrap(proposed)
    elif kind == REFLECTED_WALK:
        write_normals(bits(key, 0), memory)
        for j in range(d):
            step = 2.0 * scale / math.sqrt(d) * cloud.spread[j]
            for i in range(n):
                proposed[j, i] = points[j, i] + step * fresh[j, i]
        _reflect(proposed)
    elif kind == DIFFERENCE:
        _add_differences(bits(key, 0), 1.5 * scale / math.sqrt(d), cloud.rounded, rounded, fresh)
        from_round(fresh, cloud.mean, cloud.factor, proposed)
        _wrap(proposed)
    elif kind == COORDINATE:
        write_normals(bits(key, 0), memory)
        proposed[:] = points
        for i in range(n):
            j_moved = np.int64(bits(bits(key, 1), i) % np.uint64(d))
            proposed[j_moved, i] += 2.0 * scale * cloud.spread[j_moved] * memory[i]
        _reflect(proposed)
    else:
        _redraw(bits(key, 0), scale, points, proposed)
    return _pack(proposed, limits, chosen, packed)


@kernel
def _blend(a: float, rounded: FloatMatrix, b: float, fresh: FloatMatrix) -> None:
    """Write a * rounded + b * fresh to fresh."""
    for j in range(rounded.shape[0]):
        row, fresh_row = rounded[j], fresh[j]
        for i in range(row.shape[0]):
            fresh_row[i] = a * row[i] + b * fresh_row[i]


@kernel
def _exponential_limits(
    key: np.uint64, rounded: FloatMatrix, fresh: FloatMatrix, limits: FloatVector
) -> None:
    """Write how far the normal density falls short of the random bound; below 0 is accepted.

    A move is allowed with the probability density(rounded) / density(fresh).
    """
    for i in range(limits.shape[0]):
        whole = np.float64(np.int64(bits(key, i) >> np.uint64(11)) + 1)
        limits[i] = 2.0 * logarithm(whole * _UNIT)
    for j in range(rounded.shape[0]):
        x, y = rounded[j], fresh[j]
        for i in range(limits.shape[0]):
            limits[i] += x[i] * x[i] - y[i] * y[i]


@kernel
def _add_differences(
    key: np.uint64, factor: float, others: FloatMatrix, rounded: FloatMatrix, fresh: FloatMatrix
) -> None:
    """Write where particles come by a part of the difference of two others."""
    d, n = rounded.shape
    m = np.uint64(others.shape[1])
    for i in range(n):
        first = np.int64(bits(key, 3 * i) % m)
        second = np.int64(bits(key, 3 * i + 1) % m)
        uniform = np.float64(np.int64(bits(key, 3 * i + 2) >> np.uint64(11))) * _UNIT
        part = 1.0 if uniform < _WHOLE else factor
        for j in range(d):
            fresh[j, i] = rounded[j, i] + part * (others[j, first] - others[j, second])


@kernel
def _redraw(key: np.uint64, fraction: float, points: FloatMatrix, proposed: FloatMatrix) -> None:
    """Draw about a fraction of the coordinates anew, at least one."""
    d, n = points.shape
    for i in range(n):
        always = np.int64(bits(key, i) % np.uint64(d))
        for j in range(d):
            position = n + 2 * (i * d + j)
            drawn = np.float64(np.int64(bits(key, position) >> np.uint64(11))) * _UNIT < fraction
            number = np.float64(np.int64(bits(key, position + 1) >> np.uint64(11))) * _UNIT
            proposed[j, i] = number if drawn or j == always else points[j, i]


@kernel
def _wrap(points: FloatMatrix) -> None:
    """Let points that leave the cube come in on the other side: opposite steps stay as likely.

    Reflections would not have this property where the steps of two coordinates are correlated.
    """
    for j in range(points.shape[0]):
        row = points[j]
        for i in range(row.shape[0]):
            row[i] -= math.floor(row[i])


@kernel
def _reflect(points: FloatMatrix) -> None:
    """Reflect at the walls of the cube the coordinates that were moved independently.

    So regions at a wall keep their points. As often as needed: were steps beyond the
    other wall refused, their opposites would have to be.
    """
    for j in range(points.shape[0]):
        row = points[j]
        for i in range(row.shape[0]):
            row[i] = abs(row[i] - 2.0 * math.floor(0.5 * row[i] + 0.5))


@kernel
def _pack(
    proposed: FloatMatrix, limits: FloatVector, chosen: IntVector, packed: FloatVector
) -> int:
    """Keep the proposals in the cube whose limit is not above 0, side by side."""
    d, n = proposed.shape
    for j in range(d):
        row = proposed[j]
        for i in range(n):
            outside = (row[i] < 0.0) | (row[i] >= 1.0)
            limits[i] = np.inf if outside else limits[i]
    m = 0
    for i in range(n):
        chosen[m] = i
        m += limits[i] <= 0.0
    for j in range(d):
        for k in range(m):
            packed[j * m + k] = proposed[j, chosen[k]]
    return m


@kernel
def settle(
    candidates: FloatMatrix,  # (d, m)
    scores: FloatVector,  # (m,) of the candidates
    chosen: IntVector,  # (m,) whose they are
    level: float,  # which a score must stay below
    cloud: Cloud,
    points: FloatMatrix,  # (d, n) changed here, as the next two
    rounded: FloatMatrix,  # (d, n)
    particle_scores: FloatVector,  # (n,) scores
) -> tuple[int, float]:
    """Move the particles that may; return how many, and the sum of their squared distances."""
    d, m = candidates.shape
    new_rounded = np.empty((d, m))
    to_round(candidates, cloud.mean, cloud.factor, new_rounded)
    moved = 0
    distance = 0.0
    for k in range(m):
        i = chosen[k]
        if scores[k] < level:
            moved += 1
            particle_scores[i] = scores[k]
            for j in range(d):
                step = new_rounded[j, k] - rounded[j, i]
                distance += step * step
                points[j, i] = candidates[j, k]
                rounded[j, i] = new_rounded[j, k]
    return moved, distance
