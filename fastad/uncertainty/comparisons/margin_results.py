"""Results of tests of a margin or a limit: which values are accepted, bounds, and the verdict."""

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from fastad._core.parameters import significance_level
from fastad._core.results import Record
from fastad._core.text_tables import format_p, level_text
from fastad.uncertainty.results import SamplingEffect

Verdict: TypeAlias = Literal["pass", "fail", "not enough data"]
PASS: Final = "pass"
FAIL: Final = "fail"
UNDECIDED: Final = "not enough data"
SKIP: Final = "skip"  # of slices with few samples


@dataclass(frozen=True, slots=True)
class MarginTest(Record):
    """A test of a difference against a margin, or of a value against a limit.

    Attributes
    ----------
    measure : str
        Key of the measure.
    names : tuple of str
        Names of the new and the old detector; of the new one alone for a limit.
    values : tuple of float
        The measure of each.
    estimate : float
        New minus old; for a limit the value itself.
    low, high : float
        Lower and upper bound of the true number, each at the confidence level.
    accepted : tuple of float
        The accepted range of the true number; an end may be infinite.
    p_value : float
        p-value of the hypothesis that the true number lies outside that range. Never 0, but at
        least 2.2e-308.
    p_value_inside : float
        p-value of the hypothesis that it lies inside.
    confidence_level : float
        Nominal probability that a bound is right, in (0.5, 1).
    method : {"exact", "student", "bootstrap", "hybrid", ...}
        How bounds and p-values were computed; for a limit a method of `interval`.
    higher_is_better : bool
        Direction of the measure.
    n_anomalies, n_normals : tuple of int
        Numbers of samples of each detector.
    reliability_note : str or None
        Why bounds and p-values are unreliable, or None.
    n_resamples, n_undefined : int
        Number of replicates, and how many of them left the measure undefined.
    sampling : SamplingEffect or None
        Effect of clusters, blocks or real weights, on the detector on which it is the larger.
    """

    measure: str
    names: tuple[str, ...]
    values: tuple[float, ...]
    estimate: float
    low: float
    high: float
    accepted: tuple[float, float]
    p_value: float
    p_value_inside: float
    confidence_level: float
    method: str
    higher_is_better: bool
    n_anomalies: tuple[int, ...]
    n_normals: tuple[int, ...]
    reliability_note: str | None = None
    n_resamples: int = 0
    n_undefined: int = 0
    sampling: SamplingEffect | None = None

    _optional, _derived = ("sampling",), ("verdict", "summary")

    @property
    def verdict(self) -> Verdict:
        """Whether the true number lies in the accepted range, or outside; else "not enough data".

        Both are at the confidence level; without a reliable test there is no verdict.
        """
        level = significance_level(self.confidence_level)
        if self.reliability_note is None and self.p_value <= level:
            return PASS
        if self.reliability_note is None and self.p_value_inside <= level:
            return FAIL
        return UNDECIDED

    @property
    def accepted_text(self) -> str:
        """The accepted range as a string."""
        low, high = self.accepted
        if math.isinf(low):
            return f"at most {high:g}"
        return f"at least {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"

    @property
    def bound_text(self) -> str:
        """The bounds that the verdict rests on, as a string."""
        low, high = self.accepted
        lower, upper = f"{self.low:.4f}", f"{self.high:.4f}"
        if math.isinf(low) or math.isinf(high):
            is_lower = math.isinf(high) != (self.verdict == FAIL)
            return f"at least {lower}" if is_lower else f"at most {upper}"
        return f"{lower} to {upper}"

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        p_value = self.p_value_inside if self.verdict == FAIL else self.p_value
        note = f"; unreliable: {self.reliability_note}" if self.reliability_note else ""
        return (
            f"{self.verdict}: {' - '.join(self.names)} = {self.estimate:.4f} in {self.measure}, "
            f"accepted {self.accepted_text}: {self.bound_text} "
            f"({level_text(self.confidence_level)} bound, {format_p(p_value, 'p')}, "
            f"{self.method}{note})."
        )

    def __str__(self) -> str:
        return self.summary
