"""`OperatingPoint`: a threshold, and what it flags."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastad._core.parameters import nearest_float, short_number
from fastad._core.results import Record, plain_record
from fastad._core.types import Count, Threshold

if TYPE_CHECKING:
    from fastad.uncertainty.rates.group_rates import RateComparison


@dataclass(frozen=True, slots=True)
class OperatingPoint(Record):
    """The threshold at one false positive rate, or one that was given, and what it flags.

    Attributes
    ----------
    fpr : float or None
        The bound on the false positive rate; None where the threshold was given.
    threshold : float, int or None
        As given, or as `fastad.threshold_at_fpr`; None where that is undefined.
    tp, fp : int, float or None
        Flagged anomalies and flagged normals.
    undefined : str or None
        Why there is no threshold, or no counts.
    is_own : bool
        Whether the threshold was given for this detector alone.
    rule : str or None
        By what the threshold was chosen on other samples, by ``threshold_from``: a key such as
        ``"f1_best"``, or ``"fpr 0.01"``.
    kinds, segments : RateComparison or None
        True positive rate of each kind of anomaly, and false positive rate of each segment of
        normals, at this threshold.
    """

    fpr: float | None
    threshold: Threshold | None
    tp: Count | None
    fp: Count | None
    undefined: str | None = None
    is_own: bool = False
    rule: str | None = None
    kinds: "RateComparison | None" = None
    segments: "RateComparison | None" = None

    @property
    def n_flagged(self) -> Count | None:
        """Number of flagged points."""
        return None if self.tp is None or self.fp is None else self.tp + self.fp

    @property
    def plain_threshold(self) -> Threshold | None:
        """The threshold as an integer, exactly, or as the nearest float."""
        is_plain = self.threshold is None or isinstance(self.threshold, int)
        return self.threshold if is_plain else nearest_float(self.threshold)  # of a fraction, too

    def by_kind(self) -> "Mapping[Hashable, OperatingPoint] | None":
        """Return the point with the counts of each kind of anomaly; None without kinds."""
        if self.kinds is None:
            return None
        return {
            kind: replace(self, tp=tp, kinds=None, segments=None)
            for kind, tp in zip(self.kinds.names, self.kinds.n_events.tolist(), strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; an infinite threshold is the string "inf" or "-inf"."""
        names = ("fpr", "threshold", "tp", "fp", "n_flagged", "undefined")
        values = {name: getattr(self, name) for name in names}
        values |= {} if self.rule is None else {"rule": self.rule}
        parts = {"kinds": self.kinds, "segments": self.segments}
        values |= {name: rates.plain() for name, rates in parts.items() if rates is not None}
        return plain_record(values | {"threshold": self.plain_threshold})


def plain_text(number: Count | Threshold | None) -> str:
    """Return a count or a threshold as a string: of integers all digits."""
    return "nan" if number is None else short_number(number)
