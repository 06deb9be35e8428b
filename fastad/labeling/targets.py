"""Targets of labels: a value of a detector, a difference of two, or what a threshold misses."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from fastad._core.declared import ThresholdValue
from fastad._core.parameters import short_repr
from fastad._core.suggestions import did_you_mean
from fastad._core.types import FloatVector, Threshold
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.labeling.gradients import check_differentiable, gradient
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.rates import confusion_at_threshold
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.samples.closed_forms import Bounds, logit_ends, symmetric_ends
from fastad.uncertainty.samples.influence import has_influence

_VERSUS = " vs "


def _missed(counts: OrderedCounts, *, threshold: Threshold) -> float:
    return float(confusion_at_threshold(counts, threshold).fn)


# The number of anomalies below a threshold: of these rows, not of a population.
MISSED: Measure[float] = Measure(
    name="missed",
    title="number of anomalies below a threshold",
    key="missed@threshold",
    compute=_missed,
    parameters={"threshold": ThresholdValue()},
    operating_point="threshold",
    reads_values=True,
    higher_is_better=False,
    value_range=(0.0, float("inf")),
)


# "auc", "auc a" or "tpr@0.01 a vs b"; or several.
Targets: TypeAlias = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class BoundTarget:
    """A target with its measure checked, and the detectors with the signs of their values."""

    bound: BoundMeasure
    detectors: Mapping[str, int]

    @property
    def name(self) -> str:
        """The target as a string, as `check_targets` reads it."""
        return f"{self.bound.key} {_VERSUS.join(self.detectors)}"

    @property
    def is_difference(self) -> bool:
        """Whether the values of two detectors are compared."""
        return len(self.detectors) == 2

    @property
    def is_missed(self) -> bool:
        """Whether it is the number of anomalies below a threshold."""
        return self.bound.measure is MISSED

    @property
    def is_smooth(self) -> bool:
        """Whether it is a sum over the scores, without a threshold that labels move."""
        return has_influence(self.bound.measure)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest number that it can be."""
        low, high = self.bound.bounds
        return (low - high, high - low) if self.is_difference else (low, high)

    def value(self, counts: Mapping[str, OrderedCounts]) -> float:
        """Return the value or the difference; raise where it is undefined."""
        return sum(sign * self.bound.value(counts[name]) for name, sign in self.detectors.items())

    def ends_of(self, value: float, error: float) -> Callable[[float, float, Bounds], Bounds]:
        """Return what makes the ends of an interval of a value and half of its width."""
        low, high = self.bounds
        # On the scale of the log odds, unless a value near the end of its range would have the
        # whole.
        room = (value - low) * (high - value) / (high - low)
        is_logit = not self.is_difference and error <= room < math.inf
        return logit_ends if is_logit else symmetric_ends

    def gradient(
        self,
        counts: Mapping[str, OrderedCounts],
        points: Mapping[str, Any],
        *,
        at_steps: bool = False,
    ) -> FloatVector:
        """Return the gradient of each row, whose distinct score of each detector has a number."""
        first, *others = (
            sign * gradient(counts[name], self.bound, at_steps=at_steps)[points[name]]
            for name, sign in self.detectors.items()
        )
        total: FloatVector = sum(others, first)
        return total


def check_targets(targets: Targets, detectors: Sequence[str]) -> list[BoundTarget]:
    """Bind one target or several to detectors."""
    given = [targets] if isinstance(targets, str) else targets
    is_list = isinstance(given, Sequence) and all(isinstance(each, str) for each in given)
    if not is_list or not given:
        raise InvalidTypeError(f"target must be a string, or several; found {short_repr(targets)}")
    bound = [_bind(each, detectors) for each in given]
    names = [each.name for each in bound]
    if len(set(names)) < len(names):
        raise InvalidInputError(f"target must name each target once; found {', '.join(names)}")
    return bound


def _bind(target: str, detectors: Sequence[str]) -> BoundTarget:
    measure, _, rest = target.strip().partition(" ")
    names = [name.strip() for name in rest.split(_VERSUS, 1) if name.strip()]
    known = ", ".join(detectors)
    if not names and len(detectors) > 2:
        raise InvalidInputError(
            f"target must name a detector, or two with 'vs' between them, of {known}; found "
            f"{measure}"
        )
    names = names or list(detectors)
    for name in names:
        if name not in detectors:
            hint = did_you_mean(name, {each: each for each in detectors})
            raise InvalidInputError(
                f"target must name detectors of the scores, {known}; found {name!r}{hint}"
            )
    if len(set(names)) < len(names):
        raise InvalidInputError(
            f"target must name two different detectors; found {names[0]!r} twice"
        )
    bound = _bind_measure(measure)
    if bound.measure is MISSED and len(names) > 1:
        raise InvalidInputError(
            f"target must name one detector, such as '{bound.key} {names[0]}'; found "
            f"{_VERSUS.join(names)!r}"
        )
    return BoundTarget(bound, dict(zip(names, (1, -1), strict=False)))


def _bind_measure(measure: str) -> BoundMeasure:
    if measure.startswith(MISSED.key):
        with suppress(ValueError):
            threshold = ThresholdValue().read(measure.removeprefix(MISSED.key), "target")
            return MISSED.bind(threshold=threshold)
        raise InvalidInputError(f"target must have a number as its threshold; found {measure!r}")
    try:
        bound = bind(measure, {})
    except InvalidInputError as error:
        raise InvalidInputError(f"target must name a measure: {error}") from None
    check_differentiable(bound)
    return bound
