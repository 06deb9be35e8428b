"""Positions of anomalies among the distinct scores, and the curve of some of them."""

from fastad._core.jit import kernel
from fastad._core.types import BoolVector, IntMatrix, IntVector, KeyVector
from fastad._kernels.ordering.keys import rank_bits


@kernel
def take_keys(
    values: KeyVector,  # (n,) bits of floats, or integers
    largest: int,
    signed: int,
    codes: IntVector,  # (n,)
    taken: BoolVector,  # (n,)
    falling: IntVector,  # (n_taken + 1,) written here: key of each row that is taken
    taken_codes: IntVector,  # (n_taken + 1,) written here
) -> None:
    """Write the falling keys and the codes of some rows; the last entries are of no use."""
    k = 0
    for i in range(values.shape[0]):
        # Written always, and kept if taken: branches would be guessed wrong.
        falling[k] = ~rank_bits(values[i], largest, signed)
        taken_codes[k] = codes[i]
        k += taken[i]


@kernel
def scores_of_anomalies(
    fps: IntVector,  # (g + 1,) normals at or above each distinct score, and above the first
    tps: IntVector,  # (g + 1,) anomalies
    first: int,  # position of the first distinct score
    positions: IntVector,  # (k + 1,) written here: positions of the scores of anomalies
    above: IntVector,  # (k + 1,) normals above them, written here
    reached: IntVector,  # (k + 1,) normals at or above them, written here
) -> int:
    """Write the distinct scores that anomalies have; return how many there are."""
    k = 0
    for i in range(tps.shape[0] - 1):
        positions[k], above[k], reached[k] = first + i, fps[i], fps[i + 1]
        k += tps[i + 1] != tps[i]
    return k


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
    codes: IntVector,  # (n,) part of each row
    own: BoolVector,  # (n,) rows that have one
    chosen: BoolVector,  # (n,)
    weights: IntVector,  # (n,), or one weight of all rows
    counts: IntMatrix,  # (3, n_parts) zeros; written here
) -> None:
    """Add the weights of rows of no part, of others that are not chosen, and of chosen ones."""
    is_weighted = weights.shape[0] > 1
    for i in range(codes.shape[0]):
        counts[own[i] * (1 + chosen[i]), codes[i]] += weights[i] if is_weighted else weights[0]
