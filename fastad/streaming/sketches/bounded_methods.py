"""The measures as methods that return values with certain bounds, made from their declarations.

Type checkers read the signatures in ``bounded_methods.pyi``, which is made from the public
functions.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.registry import MEASURES
from fastad.streaming.sketches.results import BoundedValue


class BoundedMeasureMethods(ABC):
    """Cells of scores, with each measure as a method."""

    __slots__ = ()

    @abstractmethod
    def bounds(self, bound: BoundMeasure) -> BoundedValue:
        """Return a measure with its certain bounds."""


def bind_any(measure: Measure[Any], parameters: dict[str, Any]) -> BoundMeasure:
    """Bind a measure that returns a number or a threshold."""
    if measure.kind == "threshold":
        return BoundMeasure(measure.key, measure, measure.check(parameters))
    return measure.bind(**parameters)


def _method(measure: Measure[Any]) -> Callable[..., BoundedValue]:
    def method(self: BoundedMeasureMethods, **parameters: Any) -> BoundedValue:
        return self.bounds(bind_any(measure, parameters))

    method.__name__ = measure.name
    method.__qualname__ = f"ScoreSketch.{measure.name}"
    method.__doc__ = f"See `fastad.measures.{measure.name}`; its value with certain bounds."
    self_parameter = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    options = [each for each in measure.keywords if each.name in measure.number_parameters]
    method.__signature__ = Signature([self_parameter, *options])  # type: ignore[attr-defined]
    return method


for _measure in MEASURES.values():
    if _measure.kind in ("value", "threshold"):
        setattr(BoundedMeasureMethods, _measure.name, _method(_measure))
