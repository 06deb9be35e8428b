"""Counts of samples that are drawn some number of times each, in an order that is known."""

from typing import Any

from fastad._core.jit import kernel
from fastad._core.types import CountVector, IntVector, LabelVector


@kernel
def reweighted_counts(
    times: IntVector,  # (n_units,) how often each unit is drawn
    units: IntVector,  # (n,) unit of each row, from the highest score down
    labels: LabelVector,  # (n,) of these rows
    weights: CountVector,  # (n,) of these rows
    ends: IntVector,  # (g + 1,) rows above each point, and at the last one
    keys: IntVector,  # (g,) of the points
    drawn_keys: IntVector,  # (g,) written here: of the points that are drawn
    fps: CountVector,  # (g + 1,) written here
    tps: CountVector,  # (g + 1,) written here
) -> int:
    """Add up the weights of drawn points down the order; return how many points have some."""
    points = 0
    fp: Any = fps.dtype.type(0)
    tp: Any = fps.dtype.type(0)
    fps[0] = fp
    tps[0] = tp
    for p in range(keys.shape[0]):
        is_drawn = False
        for i in range(ends[p], ends[p + 1]):
            n = times[units[i]]
            if n == 0:
                continue
            is_drawn = True
            if labels[i]:
                tp += n * weights[i]
            else:
                fp += n * weights[i]
        if is_drawn:
            drawn_keys[points] = keys[p]
            points += 1
            fps[points] = fp
            tps[points] = tp
    return points
