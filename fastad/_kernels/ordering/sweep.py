"""From ordered keys to counts: one pass, one point for each distinct score.

Every kernel writes cumulative counts, and returns how many distinct scores there are and how many
points share their score with another.
"""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import CountVector, IntVector, KeyVector, LabelVector
from fastad._kernels.sums import add


@kernel
def count_packed(
    packed: KeyVector,  # (n,) sorted falling keys with the label in bit 0, of one range
    centre: int,  # of the range
    fp: int,  # normals above the range
    tp: int,  # anomalies above the range
    keys: IntVector,  # (n,) written here: the falling key of each distinct score
    fps: IntVector,  # (n,) written here
    tps: IntVector,  # (n,) written here
) -> tuple[int, int]:
    """Count normals and anomalies at each distinct score of packed keys."""
    n = packed.shape[0]
    above = fp + tp
    points = 0
    start = 0
    tied = 0
    for i in range(n):
        key = np.int64(packed[i]) >> 1
        tp += packed[i] & 1
        if i + 1 == n or packed[i + 1] >> 1 != key:
            keys[points] = ~(centre - key)
            tps[points] = tp
            fps[points] = above + i + 1 - tp
            points += 1
            if i > start:
                tied += i + 1 - start
            start = i + 1
    return points, tied


@kernel
def counts_around(packed: KeyVector, limit: int, per_anomaly: int) -> tuple[int, int, int, int]:
    """Count at the last distinct score with ``normals + per_anomaly * anomalies <= limit``.

    Returns the normals and the anomalies there, and at the next distinct score; the same twice
    where there is none. The packed keys are a whole order.
    """
    n = packed.shape[0]
    fp = tp = 0
    counted_fp = counted_tp = 0
    for i in range(n):
        label = packed[i] & 1
        tp += label
        fp += 1 - label
        if i + 1 == n or packed[i + 1] >> 1 != packed[i] >> 1:
            if fp + per_anomaly * tp > limit:
                break
            counted_fp, counted_tp = fp, tp
    return counted_fp, counted_tp, fp, tp


@kernel
def count_rows(
    falling: IntVector,  # (n,) falling key of each row, not sorted
    rows: IntVector,  # (n,) the rows in the order of their keys
    labels: LabelVector,  # (n,) of each row
    weights: CountVector,  # (n,) of each row, positive
    keys: IntVector,  # (n,) written here
    fps: CountVector,  # (n,) written here, of the weights' type
    tps: CountVector,  # (n,) written here, of the weights' type
) -> tuple[int, int]:
    """Add up the weights of normals and anomalies at each distinct score.

    Compensation keeps sums of real weights right to the last digit whatever the order within a
    tie; for whole weights the compensation is exactly 0.
    """
    n = rows.shape[0]
    zero = weights[0] - weights[0]
    fp = zero
    tp = zero
    fp_lost = zero
    tp_lost = zero
    points = 0
    start = 0
    tied = 0
    for i in range(n):
        row = rows[i]
        weight = weights[row]
        if labels[row]:
            tp, tp_lost = add(tp, tp_lost, weight)
        else:
            fp, fp_lost = add(fp, fp_lost, weight)
        if i + 1 == n or falling[rows[i + 1]] != falling[row]:
            keys[points] = falling[row]
            fps[points] = fp + fp_lost
            tps[points] = tp + tp_lost
            points += 1
            if i > start:
                tied += i + 1 - start
            start = i + 1
    return points, tied
