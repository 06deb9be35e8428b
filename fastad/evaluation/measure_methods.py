"""The measures as methods of ordered scores, made from their declarations.

Type checkers read the signatures in ``measure_methods.pyi``, which is made from the public
functions.
"""

from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES
from fastad.ordering.counts import OrderedCounts


class MeasureMethods:
    """Ordered counts, with each measure as a method."""

    __slots__ = ("_counts",)

    def __init__(self, counts: OrderedCounts) -> None:
        self._counts = counts

    def _compute(self, measure: Measure[Any], parameters: Mapping[str, Any]) -> Any:
        """Return a measure, given its checked parameters."""
        return measure.compute(self._counts, **parameters)


def _method(measure: Measure[Any]) -> Callable[..., Any]:
    def method(self: MeasureMethods, **parameters: Any) -> Any:
        return self._compute(measure, measure.check(parameters))

    method.__name__ = measure.name
    method.__qualname__ = f"RankedScores.{measure.name}"
    method.__doc__ = f"See `fastad.measures.{measure.name}`."
    self_parameter = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = Signature(  # type: ignore[attr-defined]
        [self_parameter, *measure.keywords]
    )
    return method


for _measure in MEASURES.values():
    setattr(MeasureMethods, _measure.name, _method(_measure))
