"""`RateSettings`: the checked options of a `RateMonitor`."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fastad._core.floats import nearest_float
from fastad._core.parameters import (
    check_choice,
    check_inside,
    check_threshold,
    short_repr,
)
from fastad._core.types import Point, Threshold
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.rates import OF_PROPORTION, RATES, TRIALS
from fastad.uncertainty.rates.rate_evidence import Alternative
from fastad.uncertainty.rates.sequences import ALTERNATIVES, check_counts
from fastad.uncertainty.samples.closed_forms import clopper_pearson

# The rate that needs no labels.
FLAGGED_RATE = "flagged_rate"
MONITORED = (FLAGGED_RATE, *(name for name in TRIALS if name not in OF_PROPORTION))

Counts: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RateSettings:
    """The options of a monitor, of which either the expected rate or the reference is None."""

    rate: str
    expected_rate: Fraction | None
    reference: Counts | None
    threshold: Threshold | None
    alternative: Alternative
    confidence_level: Fraction

    @classmethod
    def of(
        cls,
        rate: str,
        expected_rate: Point | None,
        reference: Counts | None,
        threshold: float | None,
        alternative: Alternative | None,
        confidence_level: Point,
    ) -> "RateSettings":
        """Check options as a user gives them."""
        check_choice(rate, MONITORED, "rate")
        if alternative is None:
            is_good = rate != FLAGGED_RATE and RATES[rate].higher_is_better
            alternative = "less" if is_good else "greater"
        check_choice(alternative, ALTERNATIVES, "alternative")
        level = check_inside(confidence_level, "confidence_level")
        if (expected_rate is None) == (reference is None):
            raise InvalidInputError(
                "expected_rate must be given, or reference, and not both; found "
                f"expected_rate={short_repr(expected_rate)} and reference={short_repr(reference)}",
                argument="expected_rate",
            )
        return cls(
            rate,
            None if expected_rate is None else check_inside(expected_rate, "expected_rate"),
            None if reference is None else _check_reference(reference, alternative),
            None if threshold is None else _check_threshold(threshold),
            alternative,
            level,
        )

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> "RateSettings":
        """Return the settings of which `to_plain` returned the values."""
        expected, reference = plain["expected_rate"], plain["reference"]
        return cls.of(
            plain["rate"],
            None if expected is None else Fraction(expected),
            None if reference is None else (reference[0], reference[1]),
            _threshold_from(plain["threshold"]),
            plain["alternative"],
            Fraction(plain["confidence_level"]),
        )

    def to_plain(self) -> dict[str, Any]:
        """Return values that JSON can represent."""
        return {
            "rate": self.rate,
            "expected_rate": None if self.expected_rate is None else str(self.expected_rate),
            "reference": self.reference,
            "threshold": _plain_threshold(self.threshold),
            "alternative": self.alternative,
            "confidence_level": str(self.confidence_level),
        }

    @property
    def alpha(self) -> float:
        """Largest probability of a false alarm."""
        return float(1 - self.confidence_level)

    @property
    def of_reference(self) -> float:
        """Part of alpha that the error of the reference takes."""
        return 0.0 if self.reference is None else self.alpha / 2

    @property
    def limit(self) -> float:
        """Capital that raises an alarm."""
        return 1 / (self.alpha - self.of_reference)

    @property
    def expected_range(self) -> tuple[float, float]:
        """Rates against which bets are made: below the first, above the second."""
        if self.expected_rate is not None:
            rate = float(self.expected_rate)
            return rate, rate
        assert self.reference is not None
        # A bound on one side alone takes all of this part.
        both = self.of_reference * (1 if self.alternative == "two-sided" else 2)
        low, high = clopper_pearson(*self.reference, both)
        value = self.reference[0] / self.reference[1]
        return (
            low if self.alternative != "greater" else value,
            high if self.alternative != "less" else value,
        )


def _check_reference(reference: Counts, alternative: Alternative) -> Counts:
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise InvalidTypeError(
            "reference must be a pair of counts, the events and the points; found "
            f"{short_repr(reference)}",
            argument="reference",
        )
    n_events, n_samples = check_counts(*reference, names=("reference[0]", "reference[1]"))
    missing = []
    if n_events == 0 and alternative != "greater":
        missing.append("events")
    if n_events == n_samples and alternative != "less":
        missing.append("points that are no events")
    if missing or n_samples == 0:
        raise InvalidInputError(
            f"reference must contain {' and '.join(missing or ['points'])}; found {n_events} "
            f"events in {n_samples} points",
            argument="reference",
        )
    return n_events, n_samples


def _check_threshold(threshold: float) -> Threshold:
    checked = check_threshold(threshold)
    return checked if isinstance(checked, int | float) else nearest_float(checked)


def _plain_threshold(threshold: Threshold | None) -> list[Any] | None:
    """Return a threshold and its type: NumPy compares its own floats in another precision."""
    if threshold is None:
        return None
    return [
        type(threshold).__name__,
        int(threshold) if isinstance(threshold, int) else float(threshold),
    ]


def _threshold_from(state: list[Any] | None) -> Threshold | None:
    if state is None:
        return None
    types: dict[str, Any] = {"int": int, "bool": bool, "float": float, "float64": np.float64}
    threshold: Threshold = types[state[0]](state[1])
    return threshold
