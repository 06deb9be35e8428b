"""How many samples an operating point needs: of fewer, the first one goes beyond it."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, NamedTuple

from fastad._core.types import Count


class Tail(NamedTuple):
    """The part of a class that an operating point leaves to errors, or to what it keeps.

    Attributes
    ----------
    samples : {"anomalies", "normals"}
        The class.
    fraction : callable
        The fraction of it, as a function of the operating point.
    note : str
        What holds of fewer than ``n`` samples at the point ``x``.
    """

    samples: Literal["anomalies", "normals"]
    fraction: Callable[[Fraction], Fraction]
    note: str

    def unresolved(self, point: Fraction, n_samples: Count) -> str | None:
        """Return why so few samples do not resolve a point; None where they do.

        The ends 0 and 1 of a rate need no sample: there the value is what it says.
        """
        fraction = self.fraction(point)
        if not 0 < fraction * n_samples < 1:
            return None
        return self.note.format(n=math.ceil(1 / fraction), x=f"{float(point):g}")


FALSE_ALARMS = Tail(
    "normals", lambda x: x, "of fewer than {n} normals one false alarm is above FPR {x}"
)
MISSES = Tail("anomalies", lambda x: 1 - x, "of fewer than {n} anomalies one miss is below TPR {x}")
DROPPED = Tail("normals", lambda x: x, "of fewer than {n} normals alpha {x} drops none")
KEPT = Tail("anomalies", lambda x: x, "of fewer than {n} anomalies alpha {x} keeps none")

# Of operating points that are rates, by their names.
TAILS: Mapping[str, Tail] = MappingProxyType(
    {"fpr": FALSE_ALARMS, "tpr": MISSES, "min_tpr": MISSES}
)
