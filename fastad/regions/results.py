"""``VolumeEstimate``: a share of a box, and how sure it is."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fastad._arguments import check_count
from fastad.errors import InvalidInputError


@dataclass(frozen=True, slots=True, eq=False)
class VolumeEstimate:
    """Share of a box where the score is below a threshold.

    Attributes
    ----------
    value : float
        The share, in [0, 1]; where no draw fell inside, the upper bound ``high``.
    standard_error : float
        Of the value; NaN where that is a bound.
    low, high : float
        Ends of its interval.
    log_value : float
        Natural logarithm of the value.
    n_drawn, n_inside : int
        Draws, and those that scored below the threshold.
    method : str
        How they were drawn: never "auto".
    confidence_level : float
        Of the interval, in (0, 1).
    threshold : float
        The threshold.
    is_bound : bool
        Whether no draw fell inside, so that the value is only an upper bound.
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
    is_bound: bool = False
    _more: "Callable[[int], VolumeEstimate] | None" = field(default=None, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        # What could draw more holds the score, which other processes may not have.
        own = tuple(getattr(self, one.name) for one in fields(self) if one.name != "_more")
        return type(self), own

    def __str__(self) -> str:
        if self.is_bound:
            return f"< {self.high:.3g} (none of {self.n_drawn} draws fell inside)"
        return f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}]"

    @property
    def complement(self) -> "VolumeEstimate":
        """Share of the box where the score is at or above the threshold."""
        outside = self.n_drawn - self.n_inside
        # At 1 - value, but for a bound: then the share of the others is surely near 1.
        value = 1.0 if self.is_bound else 1 - self.value
        is_bound = outside == 0
        value = 1 - self.low if is_bound else value
        return replace(
            self,
            value=value,
            standard_error=math.nan if is_bound else self.standard_error,
            low=1 - self.high,
            high=1 - self.low,
            log_value=math.log(value) if value > 0 else -math.inf,
            n_inside=outside,
            is_bound=is_bound,
            _more=None,
        )

    def extend(self, n_samples: int) -> "VolumeEstimate":
        """Return the estimate with so many draws more, those of a longer run with the same seed.

        Parameters
        ----------
        n_samples : int
            Draws to add.

        Returns
        -------
        VolumeEstimate

        Raises
        ------
        InvalidInputError
            If the draws were not uniform ones of a given number.
        """
        more = check_count(n_samples, "n_samples")
        if self._more is None:
            raise InvalidInputError(
                "only uniform draws of a given number can be extended, by the process that drew "
                f"them; found draws of method {self.method!r}"
            )
        return self._more(more)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        names = ("value", "standard_error", "low", "high", "log_value", "n_drawn", "n_inside")
        others = ("method", "confidence_level", "threshold", "is_bound")
        found = {name: getattr(self, name) for name in (*names, *others)}
        return {name: _plain(value) for name, value in found.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
