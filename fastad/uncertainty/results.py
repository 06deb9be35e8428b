"""What is known of a number, or of a difference, with its uncertainty."""

from dataclasses import asdict, dataclass
from typing import Any

# How often a 95 % interval must hold the truth to be taken at its word.
_LEAST = 0.9


@dataclass(frozen=True, slots=True)
class Interval:
    """A value, and what it may be beside it.

    Attributes
    ----------
    value : float
        The measure on the data.
    low, high : float
        Ends of the interval.
    confidence_level : float
        How often such an interval is to hold the truth, in (0, 1).
    method : str
        What it was made with: never "auto", and "pairs" for an area under the ROC of which
        nothing varies.
    coverage : float or None
        How often such intervals at 95 % held the truth on generated data like these; None where
        the method was not chosen by it.
    n_resamples : int
        Replicates that it was made of; 0 for a closed form.
    n_undefined : int
        How many of them left the measure undefined, and were left out.
    """

    value: float
    low: float
    high: float
    confidence_level: float
    method: str
    coverage: float | None = None
    n_resamples: int = 0
    n_undefined: int = 0

    @property
    def reliability_note(self) -> str | None:
        """Why it should not be taken at its word, or None."""
        if self.low == self.high:
            return "nothing varies, so that the interval has no width; that makes nothing certain"
        if self.coverage is not None and self.coverage < _LEAST:
            return (
                f"on data like these the best 95 % intervals, by {self.method!r}, hold the truth "
                f"in {self.coverage:.0%} of the cases"
            )
        return None

    def __str__(self) -> str:
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The difference of two detectors in one measure, and what it may be beside it.

    Attributes
    ----------
    difference : float
        Value of the first less that of the second.
    low, high : float
        Ends of its interval.
    p_value : float
        Probability of so large a difference, of either sign, if there were none.
    method : str
        What interval and probability were made with: never "auto", and "exact permutation" where
        all permutations were tried.
    confidence_level : float
        How often such an interval is to hold the true difference, in (0, 1).
    measure : str
        Label of the measure.
    higher_is_better : bool
        Direction of the measure.
    names : tuple of str
        Names of the two detectors.
    values : tuple of float
        The measure of each.
    n_anomalies, n_normals : int
        Numbers of points.
    min_difference : float or None
        The smallest difference that matters, as it was given.
    power : float
        How probable it is to be to see that difference.
    required_anomalies : int or None
        How many anomalies that takes, at the present ratio of normals to anomalies.
    n_resamples, n_undefined : int
        Replicates, and how many of them left the measure undefined.
    """

    difference: float
    low: float
    high: float
    p_value: float
    method: str
    confidence_level: float
    measure: str
    higher_is_better: bool
    names: tuple[str, str]
    values: tuple[float, float]
    n_anomalies: int
    n_normals: int
    min_difference: float | None = None
    power: float = 0.8
    required_anomalies: int | None = None
    n_resamples: int = 0
    n_undefined: int = 0

    @property
    def is_significant(self) -> bool:
        """Whether the difference is more than chance makes at this confidence level."""
        return self.p_value <= 1 - self.confidence_level

    @property
    def verdict(self) -> str:
        """What may be said, in words."""
        first, second = self.names
        margin = (
            f"{self.difference:.4f} ({100 * self.confidence_level:g} % interval {self.low:.4f} to "
            f"{self.high:.4f}, p = {self.p_value:.2g}, {self.method})."
        )
        if self.is_significant:
            first_wins = (self.difference > 0) == self.higher_is_better
            better, worse = self.names if first_wins else self.names[::-1]
            said = f"{better} is better than {worse} in {self.measure}"
        else:
            said = f"No difference between {first} and {second} in {self.measure} is shown"
        said = f"{said}: {first} - {second} = {margin}"
        if self.required_anomalies is None:
            return said
        return (
            f"{said} To see a difference of {self.min_difference:g} with probability "
            f"{self.power:g} takes about {self.required_anomalies} anomalies, with "
            f"{self.n_normals / self.n_anomalies:.3g} normal points for each; here are "
            f"{self.n_anomalies}."
        )

    def __str__(self) -> str:
        return self.verdict

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the verdict."""
        return {**asdict(self), "verdict": self.verdict}
