"""How far a measure can go where only the numbers of samples in ranges of scores are known.

In each range, a *cell*, the order of the samples and their ties are unknown. The curve then lies
between the best one, on which each cell has its anomalies first, and the worst one, on which it has
its normals first. What a measure does within these, ties included, is declared with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

# A value from the counts at the cells' edges, which cells are a single score, and the parameters;
# None where it is that of the best or the worst curve after all.
Extreme = Callable[..., float | None]


@dataclass(frozen=True, slots=True)
class Extremes:
    """Where a measure takes its lowest and its highest value.

    Attributes
    ----------
    reads : {"curve", "threshold", "confusion"}
        ``curve``: the values on the best and on the worst curve are the extremes, whatever the
        ties. ``threshold``: it is a score. ``confusion``: it rises or falls with each of the
        flagged anomalies and the flagged normals, which take both ends apart from each other.
    local : bool
        Whether it depends on few cells.
    exact : bool
        Whether it is a quotient of exact numbers that is rounded once.
    corners : bool
        Whether its bits are the same whatever the scores of normals between two anomalies.
    lowest, highest : callable or None
        The extreme where it is not that of the best or the worst curve: a function of the counts
        at the cells' edges, of which cells are a single score, and of the parameters.
    """

    reads: Literal["curve", "threshold", "confusion"] = "curve"
    local: bool = False
    exact: bool = True
    corners: bool = False
    lowest: Extreme | None = None
    highest: Extreme | None = None


# An area whose heights are those of the curve.
AREA = Extremes(corners=True)
# The same, added up in floating point.
ROUNDED_AREA = Extremes(exact=False)
# What is read at one point of the curve.
POINT = Extremes(local=True)
# Why there is none.
NOT_A_NUMBER = "it is not one number"
UNPROVEN = "no order of the samples in a cell is proven to be the best or the worst one for it"
