"""Sums over the values of scores: distinct scores, falling, with cumulative counts."""

from fastad._core.jit import kernel
from fastad._core.types import CountVector, FloatVector
from fastad._kernels.sums import add


@kernel
def class_sums(
    scores: FloatVector,  # (g,) distinct, falling
    fps: CountVector,  # (g + 1,)
    tps: CountVector,  # (g + 1,)
) -> tuple[float, float]:
    """Return the sums of the normals' and of the anomalies' scores."""
    normal = 0.0
    normal_lost = 0.0
    anomalous = 0.0
    anomalous_lost = 0.0
    for i in range(scores.shape[0]):
        term = scores[i] * (fps[i + 1] - fps[i])
        normal, normal_lost = add(normal, normal_lost, term)
        term = scores[i] * (tps[i + 1] - tps[i])
        anomalous, anomalous_lost = add(anomalous, anomalous_lost, term)
    return normal + normal_lost, anomalous + anomalous_lost


@kernel
def positive_differences(
    scores: FloatVector,  # (g,) distinct, falling
    fps: CountVector,  # (g + 1,)
    tps: CountVector,  # (g + 1,)
) -> float:
    """Return the sum of max(s+ - s-, 0) over all pairs.

    Each step from a distinct score down to the next counts for the pairs that it separates:
    anomalies at or above it and normals below it. All terms are positive.
    """
    normals = float(fps[scores.shape[0]])
    total = 0.0
    lost = 0.0
    for i in range(scores.shape[0] - 1):
        pairs = float(tps[i + 1]) * (normals - float(fps[i + 1]))
        term = (scores[i] - scores[i + 1]) * pairs
        total, lost = add(total, lost, term)
    return total + lost


@kernel
def smooth_area(
    scores: FloatVector,  # (g,) distinct, falling, in [0, 1]
    fps: CountVector,  # (g + 1,)
    tps: CountVector,  # (g + 1,)
    first_not_above: int,  # the first distinct score that is not above the mean
    first_below: int,  # the first that is below the mean
) -> tuple[float, float, float]:
    """Walk the smooth ROC; return the area under it and where it ends."""
    x = 0.0
    y = 0.0
    area = 0.0
    for i in range(scores.shape[0]):
        s = scores[i]
        normals = float(fps[i + 1] - fps[i])
        anomalies = float(tps[i + 1] - tps[i])
        if i < first_not_above:
            dx = (1.0 - s) * anomalies + s * normals
            dy = s * anomalies + (1.0 - s) * normals
        elif i >= first_below:
            dx = s * anomalies + (1.0 - s) * normals
            dy = (1.0 - s) * anomalies + s * normals
        else:
            continue
        area += dx * (y + 0.5 * dy)
        x += dx
        y += dy
    return area, x, y
