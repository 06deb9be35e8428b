"""`Measure`, the declaration of a measure, and `BoundMeasure`, one with its parameters.

An operating point needs a number of samples: with fewer, the first one goes beyond it. A false
positive rate is to rest on several normals, because the variation of a few is as large as their
number.
"""

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Generic, Literal, NamedTuple, SupportsIndex, TypeAlias, TypeVar

from fastad._core.buffers import ReusedBuffers
from fastad._core.declared import REQUIRED, Parameter
from fastad._core.parameters import short_number, short_repr
from fastad._core.suggestions import meant_argument
from fastad._core.types import ArrayLike, FloatVector, Label
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.ordering.counts import OrderedCounts, count_sorted, count_values, count_without_sorting
from fastad.ordering.cuts import FEWEST_POINTS, CurvePart
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.orders import PackedOrder, order_values

# A rate of false positives that rests on fewer normals is marked. The 95 % interval of the true
# rate of a threshold that flags 5 of many normals reaches from a third to more than double.
FEW = 5


class Resolution(NamedTuple):
    """Numbers of samples that a measure at an operating point needs."""

    samples: Literal["anomalies", "normals"]
    n_required: int
    note: str  # for fewer samples

    def unresolved(self, counts: OrderedCounts) -> str | None:
        """Return the note where the samples are too few, else None.

        Real sample weights do not tell how many samples there are.
        """
        if counts.weighting == "real":
            return None
        n = counts.n_anomalies if self.samples == "anomalies" else counts.n_normals
        return self.note if n < self.n_required else None


class Tail(NamedTuple):
    """Class tail beyond an operating point."""

    samples: Literal["anomalies", "normals"]
    # Fraction of the class, as a function of the operating point.
    fraction: Callable[[Fraction], Fraction]
    note: str  # for fewer than ``n`` samples at the point ``x``
    n_beyond: int = 1  # number of samples that the fraction must contain

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


Kind = Literal["value", "threshold", "curve", "counts"]
Classes = Literal["both", "anomalies", "normals", "any"]
Result = TypeVar("Result")

# A value from the counts at the cells' edges, which cells are a single score, and the parameters;
# None where the best or the worst curve has it after all.
Extreme = Callable[..., float | None]


@dataclass(frozen=True, slots=True)
class Extremes:
    """Bounds of a measure from the numbers of samples in ranges of scores.

    In each range, a *cell*, the order of the samples and their ties are unknown. The curve then
    lies between the best one, on which each cell has its anomalies first, and the worst one, on
    which it has its normals first. These are the limits of a measure between both, ties included.
    """

    # ``curve``: the values on the best and on the worst curve are the extremes, whatever the ties.
    # ``threshold``: it is a score. ``confusion``: it rises or falls with each of the flagged
    # anomalies and the flagged normals, which take both ends apart from each other.
    reads: Literal["curve", "threshold", "confusion"] = "curve"
    local: bool = False  # whether it depends on few cells
    exact: bool = True  # whether it is a quotient of exact numbers that is rounded once
    # Whether its bits are the same whatever the scores of normals between two anomalies.
    corners: bool = False
    # The extreme where neither the best nor the worst curve has it: a function of the counts at the
    # cells' edges, of which cells are a single score, and of the parameters.
    lowest: Extreme | None = None
    highest: Extreme | None = None


# An area whose heights are the curve's.
AREA = Extremes(corners=True)
# The same curve, added up in floating point.
ROUNDED_AREA = Extremes(exact=False)
# A value at one point of the curve.
POINT = Extremes(local=True)
# Reasons why there are none.
NOT_A_NUMBER = "it is not one number"
UNPROVEN = "no order of the samples in a cell is proven to be the best or the worst one for it"


@dataclass(frozen=True, slots=True, eq=False)
class Measure(Generic[Result]):
    """All that is known of one measure: its computation, its parameters, and facts about it.

    Attributes
    ----------
    name : str
        Public function, and method of `fastad.evaluation.RankedScores`.
    title : str
        A short description.
    key : str
        Key in tables; with an operating point, the text before the number.
    compute : callable
        The measure as a function of ordered counts and checked parameters.
    parameters : mapping of str to Parameter
        Parameters beside the data, in the order of the public function.
    operating_point : str or None
        The parameter that is an operating point.
    tail : Tail or None
        Class tail beyond the operating point, if the parameter's name does not imply it.
    default_points : tuple or None
        Operating points of a table that names none: None for the table's ``fpr``, empty if the key
        must name one.
    number_key : str
        Prefix of a key with a number, if it is not ``key`` itself.
    kind : {"value", "threshold", "curve", "counts"}
        Type of the result; only values stand in tables.
    reads_values : bool
        Whether the values of the scores count, and not their order alone.
    curve_part : callable or None
        The part of the ROC curve that checked parameters read, where that is not all of it. A part
        that depends on the value is None of parameters alone, and a function of them, of counts and
        of a value that the measure reaches.
    from_order : callable or None
        The measure straight from an order without counts, where that is faster; it returns None
        where it does not apply. Tied to ``compute`` by a test.
    classes : {"both", "anomalies", "normals", "any"}
        Classes without which it is undefined.
    weights : {"real", "integer"}
        Sample weights that it takes.
    slopes : callable or None
        Slopes of a value at a threshold in the flagged fractions of both classes: a function of
        counts and checked parameters.
    values_at : callable or None
        Values at a threshold by arrays of flagged anomalies and flagged normals: a function of
        counts, both arrays and checked parameters; NaN where they are undefined.
    monotone : bool
        Whether it is a function of flagged anomalies and normals that never gets worse with more of
        the ones and fewer of the others.
    rises_with_curve : bool
        Whether it depends on the ROC curve and the classes' sizes alone, also of real weights, and
        never gets worse where the curve rises.
    extremes : Extremes or str
        Limits of the measure where only the numbers of samples in ranges of scores are known, or
        the reason why there are none.
    higher_is_better : bool or None
        Direction of merit; None where there is none.
    value_range : (float, float)
        Lowest and highest value that it can take, or approach.
    range_at : callable or None
        ``value_range`` as a function of checked parameters, if it depends on them.
    """

    name: str
    title: str
    key: str
    compute: Callable[..., Result]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    operating_point: str | None = None
    tail: Tail | None = None
    default_points: tuple[Any, ...] | None = None
    number_key: str = ""
    kind: Kind = "value"
    reads_values: bool = False
    curve_part: Callable[..., CurvePart | None] | None = None
    from_order: Callable[..., Result | None] | None = None
    classes: Classes = "both"
    weights: Literal["real", "integer"] = "real"
    slopes: Callable[..., tuple[float, float]] | None = None
    values_at: Callable[..., FloatVector] | None = None
    monotone: bool = False
    rises_with_curve: bool = False
    extremes: Extremes | str = UNPROVEN
    higher_is_better: bool | None = True
    value_range: tuple[float, float] = (0.0, 1.0)
    range_at: Callable[[Mapping[str, Any]], tuple[float, float]] | None = None

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        # By name where its family lists it, so that a copy is the same declaration.
        compute = self.compute.func if isinstance(self.compute, partial) else self.compute
        module = getattr(compute, "__module__", "")
        if any(self is listed for listed in getattr(sys.modules.get(module), "MEASURES", ())):
            return _listed_measure, (module, self.name)
        return super(Measure, self).__reduce_ex__(max(2, int(protocol)))

    def check(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all parameters as the computation takes them, checked, defaults included."""
        return self._check(parameters, self.parameters)

    def of(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        **parameters: Any,
    ) -> Result:
        """Check all arguments of the public function, order the scores, and compute."""
        checked = self.check(parameters) if self.parameters or parameters else {}
        with ReusedBuffers():
            labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
            scores = check_scores(y_score, labels)
            part = None
            if self.curve_part is not None and scores.shape[0] >= FEWEST_POINTS:
                part = self.curve_part(checked)
            corners = isinstance(self.extremes, Extremes) and self.extremes.corners
            counts = count_without_sorting(scores, labels, part=part, corners=corners)
            if counts is not None:
                return self.compute(counts, **checked)
            if self.from_order is not None and labels.weights is None and part is None:
                order: PackedOrder = order_values(scores, labels)
                value = self.from_order(order, **checked)
                if value is not None:
                    return value
                return self.compute(count_values(order), **checked)
            return self.compute(count_sorted(scores, labels, part=part), **checked)

    def bind(self, **parameters: Any) -> "BoundMeasure":
        """Return the measure with its parameters, checked: one number of any scores.

        Random parameters stay at their defaults: they would draw anew in every resample.
        """
        if self.kind != "value":
            raise InvalidInputError(f"measure must return one number; found {self.name}")
        checked = self._check(parameters, self.number_parameters)
        point = None if self.operating_point is None else checked[self.operating_point]
        return BoundMeasure(self.key_at(point), self, checked)

    def refuse_unknown(
        self,
        options: Mapping[str, Any],
        allowed: Iterable[str],
        function: Callable[..., Any] | None = None,
    ) -> None:
        """Refuse an option that neither the measure nor the function that takes it has."""
        for name, value in options.items():
            if name not in allowed:
                of = "" if function is None else f"{function.__name__}, or of "
                options_of = [] if function is None else inspect.signature(function).parameters
                raise InvalidTypeError(
                    f"{name} must be an option of {of}{self.name}, which has "
                    f"{', '.join(allowed) or 'none'}; found {name}={short_repr(value)}"
                    f"{meant_argument(name, (*options_of, *allowed))}"
                )

    def key_at(self, point: Any) -> str:
        """Return the key at an operating point, None for the default one."""
        if self.operating_point is None or point is None:
            return self.key
        return f"{self.prefix}{short_number(point)}"

    @property
    def prefix(self) -> str:
        """Prefix of a key, before the number of the operating point."""
        return self.number_key or self.key

    @property
    def point_parameter(self) -> Parameter:
        """The parameter that is the operating point."""
        assert self.operating_point is not None
        return self.parameters[self.operating_point]

    @property
    def number_parameters(self) -> dict[str, Parameter]:
        """The parameters on which the number depends, without those that only say how to draw."""
        return {name: each for name, each in self.parameters.items() if not each.random}

    @property
    def takes_score_range(self) -> bool:
        """True if it needs the lowest and the highest possible score."""
        return "score_range" in self.parameters

    @property
    def tail_of_point(self) -> Tail | None:
        """The tail beyond the operating point, as declared or by the name of the parameter."""
        return self.tail or TAILS.get(self.operating_point or "")

    @property
    def keywords(self) -> list[inspect.Parameter]:
        """The parameters as keywords of a signature, for `help`."""
        return [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if declared.is_required else declared.default,
            )
            for name, declared in self.parameters.items()
        ]

    def _check(
        self, parameters: Mapping[str, Any], declared: Mapping[str, Parameter]
    ) -> dict[str, Any]:
        self.refuse_unknown(parameters, declared)
        checked = {}
        for name, parameter in declared.items():
            value = parameters.get(name, parameter.default)
            if value is REQUIRED:
                raise InvalidTypeError(f"{name} must be given for {self.name}; found none")
            if name == self.operating_point and not parameter.sequence:
                _refuse_several(value, name)
            checked[name] = parameter.check(value, name)
        return checked


def _refuse_several(value: Any, name: str) -> None:
    """Refuse a sequence of operating points, and name the functions for several."""
    if getattr(value, "ndim", isinstance(value, list | tuple | range)):
        raise InvalidTypeError(
            f"{name} must be one operating point; for several, evaluate makes a table, and "
            f"rank_scores orders the scores once for all; found {short_repr(value)}"
        )


def _listed_measure(module: str, name: str) -> Measure[Any]:
    """Return the measure of a name that the module of a family lists."""
    listed: tuple[Measure[Any], ...] = importlib.import_module(module).MEASURES
    return next(measure for measure in listed if measure.name == name)


@dataclass(frozen=True, slots=True, eq=False)
class BoundMeasure:
    """A measure with all that it takes but the data: one number of any ordered counts.

    Attributes
    ----------
    key : str
        Key in tables.
    measure : Measure
        The declaration.
    parameters : mapping
        Checked parameters, defaults included.
    """

    key: str
    measure: Measure[Any]
    parameters: Mapping[str, Any]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundMeasure):
            return NotImplemented
        same = self.key == other.key and self.measure is other.measure
        return same and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((self.key, self.measure.name))

    def check_weights(self, counts: OrderedCounts) -> None:
        """Raise `UndefinedMeasureError` where the measure does not take the kind of weights."""
        if self.measure.weights == "integer" and counts.weighting == "real":
            raise UndefinedMeasureError(
                f"{self.measure.name} takes integer sample weights only; found other values"
            )

    def value(self, counts: OrderedCounts) -> float:
        """Return the number; raise `UndefinedMeasureError` where the counts leave it undefined."""
        value: float = self.measure.compute(counts, **self.parameters)
        # Numbers of samples stay integers.
        return value if type(value) is int else float(value)

    def value_or_nan(self, counts: OrderedCounts) -> float:
        """Return the number, NaN where the counts leave it undefined."""
        try:
            return self.value(counts)
        except UndefinedMeasureError:
            return math.nan

    @property
    def resolution(self) -> Resolution | None:
        """How many samples its operating point needs, where that is a rate.

        A TPR at FPR 0.01 of fewer than 500 normals rests on fewer than 5 of them, and an FPR at
        TPR 0.95 of fewer than 20 anomalies is in truth one at TPR 1.
        """
        tail = self.measure.tail_of_point
        name = self.measure.operating_point or ""
        return None if tail is None else tail.resolution(self.parameters[name])

    def unresolved(self, counts: OrderedCounts) -> str | None:
        """Return why the samples are too few for the operating point; None where they are not."""
        resolution = self.resolution
        return None if resolution is None else resolution.unresolved(counts)

    @property
    def fpr(self) -> Fraction | None:
        """Its false positive rate, where that is its operating point."""
        return self.parameters.get("fpr")

    @property
    def reads_ranks(self) -> bool:
        """True if only the order of the scores counts, not their unit."""
        return not self.measure.reads_values

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest number that it can be with these parameters."""
        if self.measure.range_at is not None:
            return self.measure.range_at(self.parameters)
        return self.measure.value_range


# A measure in an argument: its key or name, its declaration, or one that is bound.
MeasureLike: TypeAlias = str | Measure[Any] | BoundMeasure
