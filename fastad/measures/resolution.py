"""Number of samples that an operating point needs.

With fewer, the first one goes beyond it; and a false positive rate is to rest on several normals,
because the variation of a few is as large as their number.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Literal, NamedTuple

from fastad.ordering.counts import OrderedCounts

# A rate of false positives that rests on fewer normals is marked. The 95 % interval of the true
# rate of a threshold that flags 5 of many normals reaches from a third to more than double.
FEW = 5


class Resolution(NamedTuple):
    """How many samples a measure at an operating point needs.

    Attributes
    ----------
    samples : {"anomalies", "normals"}
        Class of the samples.
    n_required : int
        Number of samples that the point needs.
    note : str
        Note for fewer samples.
    """

    samples: Literal["anomalies", "normals"]
    n_required: int
    note: str

    def unresolved(self, counts: OrderedCounts) -> str | None:
        """Return the note where the samples are too few, else None.

        Real sample weights do not tell how many samples there are.
        """
        if counts.weighting == "real":
            return None
        n = counts.n_anomalies if self.samples == "anomalies" else counts.n_normals
        return self.note if n < self.n_required else None


class Tail(NamedTuple):
    """Class tail beyond an operating point.

    Attributes
    ----------
    samples : {"anomalies", "normals"}
        The class.
    fraction : callable
        Fraction of the class, as a function of the operating point.
    note : str
        Note for fewer than ``n`` samples at the point ``x``.
    n_beyond : int
        Number of samples that the fraction must contain.
    """

    samples: Literal["anomalies", "normals"]
    fraction: Callable[[Fraction], Fraction]
    note: str
    n_beyond: int = 1

    def resolution(self, point: Fraction) -> Resolution | None:
        """Return the need of a point; None at an end of the rate, which needs nothing."""
        # By integers, which are found sooner than a fraction.
        return _resolution(self, *point.as_integer_ratio())


# Each evaluation reads the resolutions of its measures.
@lru_cache(maxsize=1024)
def _resolution(tail: Tail, numerator: int, denominator: int) -> Resolution | None:
    point = Fraction(numerator, denominator)
    fraction = tail.fraction(point)
    if fraction in (0, 1):
        return None
    n = math.ceil(tail.n_beyond / fraction)
    return Resolution(tail.samples, n, tail.note.format(n=n, x=f"{float(point):g}"))


FALSE_ALARMS = Tail(
    "normals",
    lambda x: x,
    f"of fewer than {{n}} normals fewer than {FEW} are beyond FPR {{x}}",
    n_beyond=FEW,
)
MISSES = Tail("anomalies", lambda x: 1 - x, "of fewer than {n} anomalies one miss is below TPR {x}")
DROPPED = Tail("normals", lambda x: x, "of fewer than {n} normals alpha {x} drops none")
KEPT = Tail("anomalies", lambda x: x, "of fewer than {n} anomalies alpha {x} keeps none")

# Tails of operating points that are rates, by their names.
TAILS: Mapping[str, Tail] = MappingProxyType(
    {
        **{name: FALSE_ALARMS for name in ("fpr", "min_fpr")},
        **{name: MISSES for name in ("tpr", "min_tpr", "recall")},
    }
)
