"""From ordered keys to counts: one pass, one point for each distinct score.

Every kernel writes cumulative counts that start from (0, 0), above the highest score, and
returns how many distinct scores there are and how many points share their score with another.
"""

from fastad._jit import kernel
from fastad._types import CountVector, IntVector, KeyVector, LabelVector


@kernel
def count_packed(
    packed: KeyVector,  # (n,) sorted falling keys with the label in bit 0
    keys: IntVector,  # (n,) written here: the falling key of each distinct score
    fps: IntVector,  # (n + 1,) written here
    tps: IntVector,  # (n + 1,) written here
) -> tuple[int, int]:
    """Count normals and anomalies at each distinct score of packed keys."""
    n = packed.shape[0]
    tp = 0
    points = 0
    start = 0
    tied = 0
    fps[0] = 0
    tps[0] = 0
    for i in range(n):
        key = packed[i] >> 1
        tp += packed[i] & 1
        if i + 1 == n or packed[i + 1] >> 1 != key:
            keys[points] = key
            points += 1
            tps[points] = tp
            fps[points] = i + 1 - tp
            if i > start:
                tied += i + 1 - start
            start = i + 1
    return points, tied


@kernel
def count_merged(
    normals: IntVector,  # (m,) sorted falling keys
    anomalies: IntVector,  # (n,) sorted falling keys
    keys: IntVector,  # (n + m,) written here
    fps: IntVector,  # (n + m + 1,) written here
    tps: IntVector,  # (n + m + 1,) written here
) -> tuple[int, int]:
    """Count at each distinct score of two classes that were sorted apart."""
    fp = 0
    tp = 0
    points = 0
    tied = 0
    fps[0] = 0
    tps[0] = 0
    while fp < normals.shape[0] or tp < anomalies.shape[0]:
        if tp == anomalies.shape[0] or (fp < normals.shape[0] and normals[fp] < anomalies[tp]):
            key = normals[fp]
        else:
            key = anomalies[tp]
        before = fp + tp
        while fp < normals.shape[0] and normals[fp] == key:
            fp += 1
        while tp < anomalies.shape[0] and anomalies[tp] == key:
            tp += 1
        keys[points] = key
        points += 1
        fps[points] = fp
        tps[points] = tp
        if fp + tp > before + 1:
            tied += fp + tp - before
    return points, tied


@kernel
def count_rows(
    falling: IntVector,  # (n,) falling key of each row, not sorted
    rows: IntVector,  # (n,) the rows in the order of their keys
    labels: LabelVector,  # (n,) of each row
    weights: CountVector,  # (n,) of each row, positive
    keys: IntVector,  # (n,) written here
    fps: CountVector,  # (n + 1,) written here, of the weights' type
    tps: CountVector,  # (n + 1,) written here, of the weights' type
) -> tuple[int, int]:
    """Add up the weights of normals and anomalies at each distinct score.

    Neumaier's compensation keeps sums of real weights right to the last digit whatever the
    order within a tie; for whole weights the compensation is exactly 0.
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
    fps[0] = zero
    tps[0] = zero
    for i in range(n):
        row = rows[i]
        weight = weights[row]
        if labels[row]:
            total = tp + weight
            tp_lost += (tp - total) + weight if tp >= weight else (weight - total) + tp
            tp = total
        else:
            total = fp + weight
            fp_lost += (fp - total) + weight if fp >= weight else (weight - total) + fp
            fp = total
        if i + 1 == n or falling[rows[i + 1]] != falling[row]:
            keys[points] = falling[row]
            points += 1
            fps[points] = fp + fp_lost
            tps[points] = tp + tp_lost
            if i > start:
                tied += i + 1 - start
            start = i + 1
    return points, tied
