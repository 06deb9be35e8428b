"""Positions of anomalies among the distinct scores, and the curve of some of them."""

from fastad._core.jit import kernel
from fastad._core.types import BoolVector, IntMatrix, IntVector


@kernel
def positions_of_anomalies(
    tps: IntVector,  # (g + 1,) anomalies at or above each distinct score, from 0
    positions: IntVector,  # (n,) written here, rising
) -> None:
    """Write the position of each anomaly's score among the distinct scores."""
    k = 0
    for i in range(tps.shape[0] - 1):
        for _ in range(tps[i + 1] - tps[i]):
            positions[k] = i
            k += 1


@kernel
def corner_points(
    positions: IntVector,  # (k,) rising: positions of the anomalies of a kind
    above: IntVector,  # (k,) normals above the score of each
    reached: IntVector,  # (k,) normals at or above it
    extra: IntVector,  # (e,) rising: points that are kept too, the first and the last of the curve
    extra_fps: IntVector,  # (e,) normals at or above each of them
    points: IntVector,  # (2 k + e,) written here, rising
    fps: IntVector,  # (2 k + e,) written here: normals at or above each of these points
    tps: IntVector,  # (2 k + e,) written here: anomalies of the kind
) -> int:
    """Write the points on both sides of each anomaly's score; return how many there are.

    Points at which scores of other kinds alone are added are left out.
    """
    n, j, size = 0, 0, positions.shape[0]
    for i in range(size + 1):
        while j < extra.shape[0] and (i == size or extra[j] <= positions[i]):
            n = _add_point(extra[j], extra_fps[j], i, points, fps, tps, n)
            j += 1
        # Of tied anomalies, the first is after the point above, and the last before the next.
        if i < size:
            if i == 0 or positions[i] != positions[i - 1]:
                n = _add_point(positions[i], above[i], i, points, fps, tps, n)
            if i + 1 == size or positions[i] != positions[i + 1]:
                n = _add_point(positions[i] + 1, reached[i], i + 1, points, fps, tps, n)
    return n


@kernel
def _add_point(
    point: int, fp: int, tp: int, points: IntVector, fps: IntVector, tps: IntVector, n: int
) -> int:
    """Add a point to the first ``n`` unless it has the counts of the last; return how many."""
    if n > 0 and fps[n - 1] == fp and tps[n - 1] == tp:
        return n
    points[n], fps[n], tps[n] = point, fp, tp
    return n + 1


@kernel
def count_parts(
    rows: IntVector,  # (n,)
    codes: IntVector,  # (n,) part of each row
    chosen: BoolVector,  # (n_rows,)
    weights: IntVector,  # (n_rows,), or one weight of all rows
    counts: IntMatrix,  # (2, n_parts) zeros; written here
) -> None:
    """Add the weights of all rows of each part, and of those that are chosen."""
    is_weighted = weights.shape[0] > 1
    for i in range(rows.shape[0]):
        row = rows[i]
        weight = weights[row] if is_weighted else weights[0]
        counts[0, codes[i]] += weight
        if chosen[row]:
            counts[1, codes[i]] += weight
