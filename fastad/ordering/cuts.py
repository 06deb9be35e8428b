"""Cuts of the scores into ranges, from a sample.

The sample decides only how long the work takes. What lies in each range is counted exactly, and
a part of the curve that turns out to be cut too short is noticed and done again.
"""

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.threads import slices
from fastad._core.types import IntVector
from fastad._kernels.ordering import keys
from fastad.ordering.labels import Labels
from fastad.ordering.raw import RawScores

# Fewer points are ordered in less time than it takes to choose cuts.
FEWEST_POINTS = 2**13
_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 2**8, 2**13
# Margin around a part of the curve, in standard deviations of a sampled rank.
_MARGIN = 3
# The lowest rank bits of any score.
_LOWEST = -(2**63)
# The highest rank bits that a negative score has.
_BELOW_ZERO = -1


class CurvePart(NamedTuple):
    """Part of the ROC curve that a measure reads: between two false positive rates."""

    low: Fraction
    high: Fraction

    @classmethod
    def around(cls, rate: Fraction) -> "CurvePart":
        """Return the part at one rate."""
        return cls(rate, rate)


class Cuts(NamedTuple):
    """Falling rank bits, each the highest of the range below it; which ranges are kept.

    Range i lies above ``values[i]`` and not above ``values[i - 1]``; those from ``first`` up to,
    and without, ``last`` are ordered.
    """

    values: tuple[int, ...] = ()
    first: int = 0
    last: int = 1

    def and_between_signs(self) -> "Cuts":
        """Return these cuts and one between negative scores and the others."""
        position = sum(cut > _BELOW_ZERO for cut in self.values)
        values = (*self.values[:position], _BELOW_ZERO, *self.values[position:])
        return Cuts(values, self.first, self.last + 1)


# All scores are one range.
NO_CUTS = Cuts()


def choose_cuts(raw: RawScores, labels: Labels, part: CurvePart | None) -> Cuts:
    """Return cuts around a part of the curve, and between what several threads order."""
    n_points = raw.values.shape[0]
    if part is None and len(slices(n_points)) == 1:
        return NO_CUTS
    size = min(max(n_points >> 5, _SMALLEST_SAMPLE), _LARGEST_SAMPLE)
    step = n_points // size
    sample = np.empty(-(-n_points // step), np.int64)
    normals = keys.take_sample(raw.values, labels.values, step, raw.largest, raw.signed, sample)
    sample.sort()
    top, bottom = sample.shape[0], 0
    if part is not None and normals:
        top, bottom = _ends(as_readonly(sample), normals, part)
        if 2 * (top - bottom) > sample.shape[0]:
            # Leaving out the smaller part costs more than ordering it.
            top, bottom = sample.shape[0], 0
    # Cuts leave the scores at both ends in the part, with all that tie with them.
    upper = int(sample[top - 1]) | 1 if top < sample.shape[0] else None
    lower = _cut(sample, bottom) if bottom > 0 else None
    n_ranges = len(slices(n_points * (top - bottom) // sample.shape[0]))
    positions = [bottom + (top - bottom) * i // n_ranges for i in range(1, n_ranges)]
    inner = {_cut(sample, position) for position in positions} - {upper, lower}
    ends = {cut for cut in (upper, lower) if cut is not None}
    values = tuple(sorted(inner | ends, reverse=True))
    return Cuts(values, int(upper is not None), len(values) + int(lower is None))


def _ends(sample: IntVector, normals: int, part: CurvePart) -> tuple[int, int]:
    """Return the positions in a rising sample where a part of the curve ends and begins.

    Near an end of the curve it is the end of the sample.
    """
    high, low = float(part.high) * normals, float(part.low) * normals
    below = math.ceil(high + _MARGIN * math.sqrt(high)) + _MARGIN
    above = math.floor(low - _MARGIN * math.sqrt(low)) - _MARGIN
    top, bottom = keys.positions_of_normals(sample, max(above, 0), below)
    return (top + 1 if above > 0 else sample.shape[0]), max(bottom, 0)


def _cut(sample: IntVector, position: int) -> int:
    """Return rank bits just below the sampled score at a position, whose lowest bit is unknown."""
    return max((int(sample[position]) & -2) - 1, _LOWEST)
