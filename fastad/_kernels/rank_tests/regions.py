"""Bayesian signed-rank test: how often each region of differences has the largest probability."""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector


@kernel
def count_regions(
    weights: FloatMatrix,  # (b, n) of n differences in b draws, unscaled
    order: IntVector,  # (n,) of the differences
    starts: IntMatrix,  # (4, n) below: of partners below the region, below or at its lower end,
    # below or at its upper end, below its upper end; each the number of them in that order
    cumulative: FloatVector,  # (n + 1,) working memory
    counts: IntVector,  # (3,) added to: twice the draws below, within and above the region
) -> None:
    """Weigh the means of each two differences by the products of their weights.

    A mean at an end of the region counts half within. Draws in which below and above are equally
    likely count half for each.
    """
    n = order.shape[0]
    for draw in range(weights.shape[0]):
        cumulative[0] = 0.0
        for i in range(n):
            cumulative[i + 1] = cumulative[i] + weights[draw, order[i]]
        total = cumulative[n]
        below = 0.0
        above = 0.0
        for i in range(n):
            weight = weights[draw, order[i]]
            below += weight * (cumulative[starts[0, i]] + cumulative[starts[1, i]])
            above += weight * (2.0 * total - cumulative[starts[2, i]] - cumulative[starts[3, i]])
        within = 2.0 * total * total - below - above
        if within > below and within > above:
            counts[1] += 2
        elif below == above:
            counts[0] += 1
            counts[2] += 1
        else:
            counts[np.int64(2) if above > below else np.int64(0)] += 2
