"""Level sets of a score: mass and volume of each, and the values that both curves take from them.

The set of level i contains scores up to the i-th lowest distinct test score; level 0 is the
empty set. Its mass is a number of test points. Its volume is a number of uniform points, with
which everything here is exact, or a float in any unit. Both rise with the level.
"""

import math
from typing import Any

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import (
    CountVector,
    FloatMatrix,
    FloatVector,
    IntVector,
    KeyVector,
    ShortVector,
)
from fastad._kernels.random import bits
from fastad._kernels.resampling.draws import draw_evenly
from fastad._kernels.sums import add


@kernel
def collect(
    packed: KeyVector,  # (n,) sorted falling keys of one range, the label 0 for a test point
    centre: int,  # of the range
    fp: int,  # test points above the range
    tp: int,  # uniform points above the range
    keys: IntVector,  # (test points,) written here: the falling key of each distinct test score
    fps: IntVector,  # (test points,) written here: test points above it
    tps: IntVector,  # (test points,) written here: uniform points above it
) -> int:
    """Count points above each distinct test score; return the number of these scores."""
    # Where test points are: written for each point, and over it unless it is one. No branch.
    n_test = 0
    for i in range(packed.shape[0]):
        if n_test < fps.shape[0]:
            fps[n_test] = i
            n_test += 1 - (packed[i] & 1)
    levels = 0
    for j in range(n_test):
        position = fps[j]
        key = np.int64(packed[position]) >> 1
        # In a tie test points come first.
        if position == 0 or packed[position - 1] >> 1 != key:
            keys[levels] = ~(centre - key)
            fps[levels] = fp + j
            tps[levels] = tp + position - j
            levels += 1
    return levels


@kernel
def keep_up_to(
    scores: FloatVector,  # (m,)
    highest: float,
    kept: FloatVector,  # (m,) written here: those that are at most the highest
) -> tuple[int, int]:
    """Return how many scores are kept, and how many are above; NaN is neither."""
    size = 0
    above = 0
    for i in range(scores.shape[0]):
        # Written for each one, and over it unless it is kept: no branch.
        kept[size] = scores[i]
        size += scores[i] <= highest
        above += scores[i] > highest
    return size, above


@kernel
def merge(
    test: FloatVector,  # (n,) rising
    uniform: FloatVector,  # (m,) rising
    thresholds: FloatVector,  # (n + 1,) written here from index 1 on: the distinct test scores
    masses: IntVector,  # (n + 1,) written here from index 1 on
    volumes: IntVector,  # (n + 1,) written here from index 1 on
) -> int:
    """Count points at or below each distinct test score; return the number of these scores."""
    levels = 0
    inside = 0
    for i in range(test.shape[0]):
        score = test[i]
        if i + 1 < test.shape[0] and test[i + 1] == score:
            continue
        while inside < uniform.shape[0] and uniform[inside] <= score:
            inside += 1
        levels += 1
        thresholds[levels] = score
        masses[levels] = i + 1
        volumes[levels] = inside
    return levels


@kernel
def concave_hull(
    masses: IntVector,  # (g + 1,) from 0 on
    volumes: CountVector,  # (g + 1,)
    hull: IntVector,  # (g + 1,) written here: levels whose lines make the envelope
) -> int:
    """Find the levels that hold the most mass less some multiple of their volume.

    Points (volume, mass) that no chord lies above, from the left (Andrew 1979); of points on one
    chord its ends. Return how many there are. With integers every comparison is exact, as long
    as the product of both totals fits into 63 bits.
    """
    size = 0
    for i in range(masses.shape[0]):
        if size > 0 and volumes[i] == volumes[hull[size - 1]]:
            size -= 1  # no more volume and no less mass
        elif size > 0 and masses[i] == masses[hull[size - 1]]:
            continue
        while size > 1:
            before, last = hull[size - 2], hull[size - 1]
            chord = (masses[i] - masses[last]) * (volumes[last] - volumes[before])
            if chord < (masses[last] - masses[before]) * (volumes[i] - volumes[last]):
                break
            size -= 1
        hull[size] = i
        size += 1
    return size


@kernel
def excess_area(
    masses: IntVector,  # (g + 1,)
    volumes: CountVector,  # (g + 1,)
    hull: IntVector,  # (k,)
    height: float,  # in units of mass
) -> float:
    """Return the integral of the greatest mass less level times volume, from level 0 on.

    It ends where that excess falls to a height; NaN where it never does. The excess is a chain of
    lines, and no term is negative; at the corners, and between them, differences of products of
    integers are exact.
    """
    k = hull.shape[0] - 1
    if masses[hull[0]] > height:
        return np.nan
    total = 0.0
    lost = 0.0
    upper = float(masses[hull[k]])
    # The chord behind, in mass and volume; before the first one the level is 0.
    mass_behind = masses[hull[0]] - masses[hull[0]]
    volume_behind = volumes[hull[k]] - volumes[hull[0]]
    while k > 0 and upper > height:
        level = hull[k]
        left = hull[k - 1]
        mass = masses[level] - masses[left]
        volume = volumes[level] - volumes[left]
        lower = float(masses[level] * volume - mass * volumes[level]) / volume
        width = float(mass * volume_behind - mass_behind * volume) / volume / volume_behind
        if lower < height:
            # Part of the way down this line, whose slope is its volume.
            width = (upper - height) / volumes[level]
            lower = height
        term = (upper + lower) / 2 * width
        total, lost = add(total, lost, term)
        upper = lower
        mass_behind = mass
        volume_behind = volume
        k -= 1
    return total + lost


@kernel
def volume_sum(
    masses: IntVector,  # (g + 1,)
    volumes: CountVector,  # (g + 1,)
    first: int,
    last: int,  # not below the first
) -> tuple[Any, Any, Any]:
    """Add up, for each integer mass above the first up to the last, the least volume that has it.

    Return the sum, and the volumes just above the first and just above the last.
    """
    total = volumes[0] - volumes[0]
    at_first = total
    at_last = total
    for i in range(1, masses.shape[0]):
        before, upto = masses[i - 1], masses[i]
        if before <= first < upto:
            at_first = volumes[i]
        if upto > first:
            total += volumes[i] * (min(upto, last) - max(before, first))
        if upto > last:
            at_last = volumes[i]
            break
    return total, at_first, at_last


@kernel
def drawn_counts(
    key: np.uint64,
    levels: ShortVector,  # (n,) the first level that holds each point
    times: Any,  # (n,) working memory: uint8
    block: IntVector,  # working memory
    counts: IntVector,  # (g + 2,) written here: points in each level, all in the last
) -> None:
    """Draw the original number of points, with replacement, and count them."""
    draw_evenly(key, levels.shape[0], times, block)
    counts[:] = 0
    for i in range(levels.shape[0]):
        counts[levels[i]] += times[i]
    for i in range(1, counts.shape[0]):
        counts[i] += counts[i - 1]


@kernel
def drawn_volumes(
    key: np.uint64,
    repeats: FloatMatrix,  # (r, g + 1) logarithm of the volume of each level by each repeat
    log_box: float,  # logarithm of the volume of the box, which none exceeds
    times: FloatVector,  # (r,) working memory
    volumes: FloatVector,  # (g + 1,) written here: rising, 0 of the empty set
) -> None:
    """Draw one repeat less than there are, with replacement, and write the volumes by their means.

    Means of so few vary as much as the mean of all does (Rao and Wu 1988). Volumes are the mean
    logarithm and half the variance, as for all repeats.
    """
    times[:] = 0.0
    n = np.uint64(repeats.shape[0])
    n_drawn = repeats.shape[0] - 1
    for i in range(n_drawn):
        times[((bits(key, i) >> np.uint64(32)) * n) >> np.uint64(32)] += 1.0
    volumes[0] = 0.0
    for j in range(1, volumes.shape[0]):
        mean = 0.0
        for i in range(repeats.shape[0]):
            mean += times[i] * repeats[i, j] / n_drawn
        squares = 0.0
        for i in range(repeats.shape[0]):
            squares += times[i] * (repeats[i, j] - mean) ** 2
        variance = squares / max(n_drawn - 1, 1)
        volumes[j] = max(math.exp(min(mean + variance / 2, log_box)), volumes[j - 1])


@kernel
def resample_criteria(
    key: np.uint64,
    first: int,  # number of the first replicate
    sources: tuple[bool, bool],  # whether test points are drawn anew, and volumes
    detector: int,  # its number: detectors that share uniform points share their draws, no repeats
    levels: ShortVector,  # (n,) the first level that holds each test point
    uniform_levels: ShortVector | None,  # (m,) the first level that holds each uniform point
    repeats: FloatMatrix | None,  # (r, g + 1) logarithms of volumes, in place of uniform points
    log_box: float,  # logarithm of the volume of the box in that unit
    masses: IntVector,  # (g + 1,) of the points at hand
    volumes: CountVector,  # (g + 1,) of the points at hand
    height: float,  # as for `excess_area`
    window: tuple[int, int, float, float],  # masses and the parts beyond, as for `volume_sum`
    criteria: FloatMatrix,  # (k, 2) written here: excess area, sum of volumes
) -> None:
    """Draw replicates of mass and volume, and write both criteria of each."""
    g = masses.shape[0] - 1
    block = np.empty(512, np.int64)
    hull = np.empty(g + 1, np.int64)
    of_mass = np.empty(g + 2, np.int64)
    of_mass[: g + 1] = masses
    times = np.empty(levels.shape[0], np.uint8)
    of_volume = np.empty(g + 2, volumes.dtype)
    of_volume[: g + 1] = volumes
    n_uniform = 0 if uniform_levels is None else uniform_levels.shape[0]
    times_uniform = np.empty(n_uniform, np.uint8)
    times_repeats = np.empty(0 if repeats is None else repeats.shape[0])
    for replicate in range(criteria.shape[0]):
        stream = bits(key, first + replicate)
        if sources[0]:
            drawn_counts(bits(stream, 0), levels, times, block, of_mass)
        if sources[1]:
            if uniform_levels is not None:
                drawn_counts(bits(stream, 1), uniform_levels, times_uniform, block, of_volume)
            elif repeats is not None:
                volume_key = bits(stream, 2 + detector)
                drawn_volumes(volume_key, repeats, log_box, times_repeats, of_volume[: g + 1])
        mass, volume = of_mass[: g + 1], of_volume[: g + 1]
        size = concave_hull(mass, volume, hull)
        criteria[replicate, 0] = excess_area(mass, volume, hull[:size], height)
        total, at_first, at_last = volume_sum(mass, volume, window[0], window[1])
        criteria[replicate, 1] = total - window[2] * at_first + window[3] * at_last
