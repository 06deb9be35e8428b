"""Exact intervals of values whose false positive rate rests on a few normals."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.results import Interval

LEVEL = Fraction(95, 100)
# With fewer than 5 normals expected beyond a rate, at this level never more than 12 matter.
_N_NORMALS = 24


@dataclass(frozen=True, eq=False)
class FewNormals:
    """The highest normals of a detector, and the measures that rest on a few of them.

    Made with each evaluation, where it takes no time; intervals are computed when they are shown.
    """

    counts: OrderedCounts  # the ends of the curve: up to a few normals, and its last point
    measures: Sequence[BoundMeasure]  # measures of one point of the curve there
    values: Sequence[float]

    @cached_property
    def intervals(self) -> dict[str, Interval]:
        """The exact interval of each measure, by its key."""
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals.enclosing_curves import has_order, order_interval

        intervals = {}
        for bound, value in zip(self.measures, self.values, strict=True):
            if has_order(bound):
                low, high = order_interval(self.counts, bound, LEVEL)
                intervals[bound.key] = Interval(
                    value, min(low, value), max(high, value), float("nan"), float(LEVEL), "order"
                )
        return intervals


def highest_normals(counts: OrderedCounts) -> OrderedCounts:
    """Return the counts up to a few normals, and at the last point.

    For each number of normals the first point that has as many, and the one before it: what
    intervals by order statistics read.
    """
    n_most = min(_N_NORMALS, int(counts.fps[-1]))
    first = np.searchsorted(counts.fps, np.arange(n_most + 1))
    kept = np.unique(np.concatenate([first, first - 1, [0, counts.fps.shape[0] - 1]]).clip(0))
    return counts.at_points(kept)
