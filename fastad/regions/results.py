"""``VolumeEstimate``: a fraction of a box, with its interval."""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fastad._core.parameters import check_count
from fastad._core.results import Record
from fastad.errors import InvalidInputError

# Beyond such logarithms numbers are written by these; floats end a little farther.
_LARGEST = 700.0
# What does not fall with the threshold.
_ENDS = ("value", "low", "high", "log_value", "log_low", "log_high")
# Methods whose value is the number of draws inside divided by the number of all draws.
_COUNTED = ("uniform", "sobol")


@dataclass(frozen=True, slots=True, eq=False)
class VolumeEstimate(Record):
    """Fraction of a box where the score is below a threshold.

    Attributes
    ----------
    value : float
        The fraction, in [0, 1]; where no draw fell inside, the upper bound ``high``. 0 where it is
        too small for a float: its logarithm is not.
    standard_error : float
        Standard error of the value; NaN if it is a bound.
    low, high : float
        Ends of its interval.
    log_value : float
        Natural logarithm of the value.
    n_drawn, n_inside : int
        Draws, and those that scored below the threshold: the last ones for ``"splitting"``, none
        for ``"exact"`` and for a complement by ``"splitting"``.
    method : str
        Method by which they were drawn, never "auto".
    confidence_level : float
        Confidence level of the interval, in (0, 1).
    threshold : float
        The threshold.
    is_bound : bool
        Whether the value is only an upper bound: no draw fell inside, or no particle of a repeat
        came below the threshold.
    log_low, log_high : float
        Natural logarithms of the ends of the interval.
    n_scored : int
        Points that were scored, all preparations included, and uniform draws behind the last one
        that ``rtol`` needed.
    effective_sample_size : float
        Number of independent draws inside the region that would be as informative.
    mixing_p_value : float
        p-value of the hypothesis that particles have moved enough, for ``"splitting"``; else NaN.
    uniform_low, uniform_high : float
        Ends of the interval by the uniform draws alone that ``"splitting"`` begins with; else NaN.
        It is wide, and holds for a region of any shape; ``low`` and ``high`` assume that no part
        of the region was missed.
    reason : str
        Reason why ``"auto"`` chose the method, or for a mere bound; for ``"splitting"`` also
        how large parts may be that were missed.
    """

    value: float
    standard_error: float
    low: float
    high: float
    log_value: float
    n_drawn: int
    n_inside: int
    method: str
    confidence_level: float
    threshold: float
    is_bound: bool
    log_low: float
    log_high: float
    n_scored: int
    effective_sample_size: float
    mixing_p_value: float = math.nan
    uniform_low: float = math.nan
    uniform_high: float = math.nan
    reason: str = ""
    _more: "Callable[[int], VolumeEstimate] | None" = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # `_more` holds the score, which other processes may not have.
        names = [part.name for part in fields(self) if part.name != "_more"]
        return type(self), tuple(getattr(self, name) for name in names)

    def __str__(self) -> str:
        if self.is_bound:
            none = "" if self.n_inside else f" (none of {self.n_drawn} draws fell inside)"
            return f"< {format_exp(self.log_high, 3)}{none}{self._by_uniform_draws()}"
        logarithms = self.log_value, self.log_low, self.log_high
        value, low, high = (format_exp(logarithm, 4) for logarithm in logarithms)
        return f"{value} [{low}, {high}]{self._by_uniform_draws()}"

    def _by_uniform_draws(self) -> str:
        low, high = self.uniform_low, self.uniform_high
        # Where they are the interval itself, ends were made of their logarithms, and rounded.
        is_own = math.isclose(low, self.low) and math.isclose(high, self.high)
        if math.isnan(high) or is_own:
            return ""
        return f"; by uniform draws alone [{low:.4g}, {high:.4g}]"

    @property
    def complement(self) -> "VolumeEstimate":
        """Fraction of the box where the score is at or above the threshold."""
        counted = self.method in _COUNTED
        # Particles outside are not counted.
        outside = self.n_drawn - self.n_inside if counted else 0
        # At 1 - value, but for a bound: then the other fraction is surely near 1.
        value = 1.0 if self.is_bound else 1 - self.value
        is_bound = outside == 0 if counted else self.value == 1 and self.method != "exact"
        value = 1 - self.low if is_bound else value
        ess = float(outside)
        if self.method != "uniform" and not (self.is_bound or is_bound):
            ess = draws_inside(value, self.standard_error)
        return replace(
            self,
            value=value,
            standard_error=math.nan if is_bound else self.standard_error,
            low=1 - self.high,
            high=1 - self.low,
            log_value=_log(value)
            if is_bound or self.is_bound
            else _log_of_complement(self.log_value),
            log_low=_log_of_complement(self.log_high),
            log_high=_log_of_complement(self.log_low),
            uniform_low=1 - self.uniform_high,
            uniform_high=1 - self.uniform_low,
            n_inside=outside,
            effective_sample_size=ess,
            is_bound=is_bound,
            _more=None,
        )

    @property
    def relative_error(self) -> float:
        """Standard error as a fraction of the value, also of one too small for a float.

        Infinite where the value is a bound.
        """
        if self.is_bound:
            return math.inf
        if self.value >= sys.float_info.min:  # below, floats have few digits
            return self.standard_error / self.value
        return 1 / math.sqrt(self.effective_sample_size)

    def extend(self, n_draws: int) -> "VolumeEstimate":
        """Return the estimate with more draws, equal to a longer run with the same seed.

        Parameters
        ----------
        n_draws : int
            Draws to add.

        Returns
        -------
        VolumeEstimate

        Raises
        ------
        InvalidInputError
            If the draws were not uniform ones of a given number.
        """
        more = check_count(n_draws, "n_draws")
        if self._more is None:
            raise InvalidInputError(
                "only uniform draws of a given number can be extended, by the process that drew "
                f"them; found draws of method {self.method!r}"
            )
        return replace(self._more(more), reason=self.reason)


def draws_inside(value: float, standard_error: float) -> float:
    """Return with how many draws inside independent ones have a standard error."""
    return (1 - value) * (value / standard_error) ** 2 if standard_error else math.inf


def from_fraction(
    value: float, standard_error: float, low: float, high: float, **more: Any
) -> VolumeEstimate:
    """Return the estimate of a fraction and its interval, from draws of which all were scored.

    Draws inside are the effective sample size, unless it is given.
    """
    more.setdefault("effective_sample_size", float(more["n_inside"]))
    return VolumeEstimate(
        *(value, standard_error, low, high),
        log_value=_log(value),
        log_low=_log(low),
        log_high=_log(high),
        n_scored=more["n_drawn"],
        **more,
    )


def from_log_fraction(
    log_value: float, relative_error: float, log_low: float, log_high: float, **more: Any
) -> VolumeEstimate:
    """Return the estimate of a fraction that may be too small for a float; at most 1."""
    log_value, log_high = min(log_value, 0.0), min(log_high, 0.0)
    value = math.exp(log_value)
    return VolumeEstimate(
        *(value, value * relative_error, math.exp(log_low), math.exp(log_high)),
        log_value=log_value,
        log_low=log_low,
        log_high=log_high,
        **more,
    )


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _log_of_complement(logarithm: float) -> float:
    """Return log(1 - fraction), from the logarithm of the fraction."""
    # Two forms, each without loss of digits on its side.
    if logarithm > -math.log(2):
        return _log(-math.expm1(logarithm))
    return math.log1p(-math.exp(logarithm))


def format_exp(logarithm: float, digits: int) -> str:
    """Return e to a power to some digits, also where no float is as small or large.

    As a float is written: 1.2e-868.
    """
    if not math.isfinite(logarithm) or abs(logarithm) < _LARGEST:
        return f"{math.exp(logarithm):.{digits}g}"
    exponent, rest = divmod(logarithm / math.log(10), 1)
    # Rounding may carry into the exponent.
    mantissa, carry = f"{10**rest:.{digits - 1}e}".split("e")
    return f"{float(mantissa):.{digits}g}e{int(exponent) + int(carry):+d}"


def rising(estimates: Sequence[VolumeEstimate]) -> list[VolumeEstimate]:
    """Return estimates of which none is below the estimate of a lower threshold.

    The region of a lower threshold is a part of the other one. Bounds stay as they are.
    """
    raised = list(estimates)
    lower: VolumeEstimate | None = None
    for i in sorted(range(len(raised)), key=lambda i: raised[i].threshold):
        if raised[i].is_bound:
            continue
        if lower is not None:
            largest = {name: max(getattr(raised[i], name), getattr(lower, name)) for name in _ENDS}
            raised[i] = replace(raised[i], **largest)
        lower = raised[i]
    return raised
