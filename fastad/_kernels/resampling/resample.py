"""Random resamples of ordered counts."""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import IntMatrix, IntVector, LabelVector, ShortVector
from fastad._kernels.random import bits
from fastad._kernels.resampling.draws import BLOCK, draw

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@kernel
def accumulate(
    times: LabelVector,  # (n,) how often each point is drawn
    rows: ShortVector | None,  # (n,) the points from the highest score down; None if they are so
    before: int,  # drawn of the points before these
    counts: ShortVector,  # (n + 1,) written here: how many are drawn of the first 0, 1, … n
) -> None:
    """Count drawn points down the order."""
    total = before
    counts[0] = total
    for i in range(times.shape[0]):
        # Eight bits would wrap without compilation.
        total += int(times[i if rows is None else rows[i]])
        counts[i + 1] = total


@kernel
def resample_areas(
    key: np.uint64,
    first: int,  # number of the first replicate
    n_drawn: IntMatrix,  # (k, 2) anomalies and normals of each replicate
    n_anomalies: int,
    anomalies: ShortVector | None,  # (n,) row among them, from the highest score down; or None
    normals: ShortVector | None,  # (m,) row among the normals, likewise
    above: ShortVector,  # (m,) anomalies above each normal
    reached: ShortVector,  # (m,) anomalies above or tied with it
    twice: IntVector,  # (k,) written here: twice the area under the ROC of each, in pairs
) -> None:
    """Draw replicates, and add up the area under the ROC of each."""
    block = np.empty(512, np.int64)
    of_anomaly = np.empty(n_anomalies, np.uint8)
    of_normal = np.empty(above.shape[0], np.uint8)
    tps = np.empty(n_anomalies + 1, np.int32)
    for replicate in range(twice.shape[0]):
        stream = bits(key, first + replicate)
        draw(bits(stream, 0), n_anomalies, n_drawn[replicate, 0], 0, of_anomaly, block)
        draw(bits(stream, 1), of_normal.shape[0], n_drawn[replicate, 1], 0, of_normal, block)
        accumulate(of_anomaly, anomalies, 0, tps)
        area = 0
        for j in range(above.shape[0]):
            drawn = of_normal[j if normals is None else normals[j]]
            area += np.int64(drawn) * (tps[above[j]] + tps[reached[j]])
        twice[replicate] = area


@kernel
def resample_counts(
    key: np.uint64,
    replicate: int,
    n_drawn: IntVector,  # (2,) anomalies and normals
    n_points: IntVector,  # (2,) anomalies and normals to draw from
    rows: tuple[ShortVector | None, ShortVector | None],  # as anomalies and normals above
    points: tuple[IntVector, IntVector, IntVector],  # keys (g,), fps and tps (g + 1,), of any part
    starts: IntVector,  # (2,) the first anomaly and normal of the blocks that this part needs
    drawn: tuple[IntVector, IntVector, IntVector],  # as points, written here
    times: tuple[LabelVector, LabelVector],  # working memory: (k,) and (l,), those in the blocks
    running: tuple[ShortVector, ShortVector],  # working memory: (k + 1,) and (l + 1,)
) -> int:
    """Draw one replicate of a part of the curve; return how many distinct scores it has."""
    keys, fps, tps = points
    new_keys, new_fps, new_tps = drawn
    block = np.empty(512, np.int64)
    stream = bits(key, replicate)
    for of_class in range(2):
        before = draw(
            bits(stream, of_class),
            n_points[of_class],
            n_drawn[of_class],
            starts[of_class] // BLOCK,
            times[of_class],
            block,
        )
        accumulate(times[of_class], rows[of_class], before, running[of_class])
    tp = running[0][tps[0] - starts[0]]
    fp = running[1][fps[0] - starts[1]]
    new_tps[0] = tp
    new_fps[0] = fp
    n_distinct = 0
    for i in range(keys.shape[0]):
        new_tp = running[0][tps[i + 1] - starts[0]]
        new_fp = running[1][fps[i + 1] - starts[1]]
        new_keys[n_distinct] = keys[i]
        new_tps[n_distinct + 1] = new_tp
        new_fps[n_distinct + 1] = new_fp
        # A score without drawn points is overwritten by the next.
        n_distinct += new_tp + new_fp > tp + fp
        tp = new_tp
        fp = new_fp
    return n_distinct


@kernel
def relabel(
    key: np.uint64,
    lasts: LabelVector,  # (n,) down the order: 1 where a point is the last with its score
    n_drawn: int,  # at most half of the points, which is soonest done
    marks: LabelVector,  # (n,) working memory
    drawn: IntVector,  # (g + 1,) written here, for g distinct scores
    others: IntVector,  # (g + 1,) written here
) -> None:
    """Draw points, all choices equally likely; count them and the others down the order.

    Points that are drawn a second time are drawn anew. A point is floor(u * n / 2^32) of 32 random
    bits u; those u of which some points would have one more than others are left out (Lemire
    2019, "Fast random integer generation in an interval", algorithm 5).
    """
    marks[:] = 0
    n = np.uint64(marks.shape[0])
    lowest = (np.uint64(1) << _HALF) % n
    left = np.int64(n_drawn)
    position = 0
    while left > 0:
        z = bits(key, position)
        position += 1
        for _ in range(2):
            product = (z & _LOW) * n
            z >>= _HALF
            point = product >> _HALF
            if left > 0 and (product & _LOW) >= lowest:
                left -= 1 - np.int64(marks[point])
                marks[point] = 1
    drawn[0] = others[0] = 0
    n_drawn_above = np.int64(0)
    score = np.int64(1)
    for i in range(marks.shape[0]):
        n_drawn_above += np.int64(marks[i])
        # All but the last of a tie are overwritten by the next, without a branch: 0.5 ms for
        # a million points, and 3 ms with a loop over each tie, whose end no processor predicts.
        drawn[score] = n_drawn_above
        others[score] = i + 1 - n_drawn_above
        score += np.int64(lasts[i])


@kernel
def flip(key: np.uint64, flips: LabelVector) -> None:
    """Toss a coin for each element."""
    for i in range(flips.shape[0]):
        flips[i] = (bits(key, i >> 6) >> np.uint64(i & 63)) & np.uint64(1)


@kernel
def count_swapped(
    flips: LabelVector,  # (n,) 1 where the two detectors exchange their ranks
    labels: LabelVector,  # (n,)
    ranks: tuple[ShortVector, ShortVector],  # (n,) of each detector, 0 highest
    fps: IntMatrix,  # (2, g + 1) written here, for g ranks
    tps: IntMatrix,  # (2, g + 1) written here
) -> None:
    """Count normals and anomalies at or above each rank, some points' ranks exchanged."""
    fps[:] = 0
    tps[:] = 0
    for i in range(flips.shape[0]):
        for detector in range(2):
            rank = ranks[detector ^ flips[i]][i]
            if labels[i]:
                tps[detector, rank + 1] += 1
            else:
                fps[detector, rank + 1] += 1
    for detector in range(2):
        for rank in range(fps.shape[1] - 1):
            fps[detector, rank + 1] += fps[detector, rank]
            tps[detector, rank + 1] += tps[detector, rank]
