"""Positions of anomalies among the distinct scores, and the curve of some of them."""

from fastad._core.jit import kernel
from fastad._core.types import IntVector


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
    extra: IntVector,  # (e,) rising: points that are kept too, the first and the last of the curve
    points: IntVector,  # (2 k + e,) written here: rising and distinct
    tps: IntVector,  # (2 k + e,) written here: anomalies of the kind at or above each point
) -> int:
    """Write the points on both sides of each anomaly's score; return how many there are."""
    n, j = 0, 0
    for i in range(positions.shape[0] + 1):
        # A score is between its position, as a point, and the next one.
        is_end = i == positions.shape[0]
        point = extra[extra.shape[0] - 1] if is_end else positions[i]
        while j < extra.shape[0] and extra[j] <= point:
            if n == 0 or points[n - 1] < extra[j]:
                points[n] = extra[j]
                tps[n] = i
                n += 1
            j += 1
        if is_end:
            break
        if points[n - 1] < point:
            points[n] = point
            tps[n] = i
            n += 1
        if points[n - 1] == point:
            points[n] = point + 1
            n += 1
        tps[n - 1] = i + 1
    return n
