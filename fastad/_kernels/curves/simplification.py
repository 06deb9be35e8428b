"""Points of a curve that are farthest from the chords of others."""

from fastad._core.jit import kernel
from fastad._core.types import CountVector, FloatVector, IntVector


@kernel
def farthest(xs: CountVector, ys: CountVector, first: int, last: int) -> tuple[int, float]:
    """Return the point between two that is farthest above or below their chord, and how far.

    ``xs`` do not fall. Points on an upright chord are on it.
    """
    index, distance = first, 0.0
    if xs[last] > xs[first]:
        slope = (ys[last] - ys[first]) / (xs[last] - xs[first])
        for i in range(first + 1, last):
            gap = abs(ys[i] - ys[first] - slope * (xs[i] - xs[first]))
            if gap > distance:
                index, distance = i, gap
    return index, distance


@kernel
def split_farthest(
    xs: CountVector,
    ys: CountVector,
    starts: IntVector,  # (n_most,) first points of the n segments; further ones are written here
    ends: IntVector,  # (n_most,) their last points, likewise
    n: int,
    worst: IntVector,  # (n_most,) written here
    gaps: FloatVector,  # (n_most,) written here
) -> int:
    """Split segments where a point is farthest, until there are n_most or no point is off.

    Returns the number of segments.
    """
    for k in range(n):
        worst[k], gaps[k] = farthest(xs, ys, starts[k], ends[k])
    while n < starts.shape[0]:
        most = 0
        for k in range(1, n):
            if gaps[k] > gaps[most]:
                most = k
        if gaps[most] == 0:
            break
        starts[n], ends[n], ends[most] = worst[most], ends[most], worst[most]
        for k in (most, n):
            worst[k], gaps[k] = farthest(xs, ys, starts[k], ends[k])
        n += 1
    return n
