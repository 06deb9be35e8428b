"""Results of comparisons of detectors: on the same samples, and on independent ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastad._core.parameters import significance_level
from fastad._core.results import Column, NamedParts, Record, TableResult, interval_columns
from fastad._core.text_tables import format_p, intervals_text, level_text
from fastad.uncertainty.results import Interval, SamplingEffect

# Why a difference is unreliable that has no variance.
NO_VARIANCE = "the estimated variance is zero, and the interval one of disjoint pairs of samples"


@dataclass(frozen=True, slots=True)
class _Difference(Record):
    """The difference of a measure between two detectors or samples, and its verdict."""

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

    @property
    def is_significant(self) -> bool:
        """Whether the difference is significant at this confidence level."""
        return self.p_value <= significance_level(self.confidence_level)

    @property
    def _better(self) -> str:
        """Name of the one with the better value, where they differ."""
        return self.names[0 if (self.difference > 0) == self.higher_is_better else 1]

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        return self.corrected_summary()

    def corrected_summary(self, adjusted: float | None = None, correction: str = "") -> str:
        """Return the result in a sentence, whose verdict is by an adjusted p-value if one is given.

        Parameters
        ----------
        adjusted : float, optional
            p-value that allows for the number of comparisons.
        correction : str
            How it was adjusted.
        """
        first, second = self.names
        level, p = level_text(self.confidence_level), format_p(self.p_value, "p")
        if adjusted is None:
            adjusted = self.p_value
        elif adjusted != self.p_value:
            level, p = f"unadjusted {level}", f"{p}, {correction} {format_p(adjusted)}"
        if adjusted <= significance_level(self.confidence_level):
            worse = second if self._better == first else first
            text = f"{self._better} is better than {worse} in {self.measure}"
        else:
            text = f"{first} and {second} do not differ significantly in {self.measure}"
        return (
            f"{text}: {first} - {second} = {self.difference:.4f} "
            f"({level} interval {self.low:.4f} to {self.high:.4f}, {p}, {self.method})."
        )

    def __str__(self) -> str:
        return self.summary


@dataclass(frozen=True, slots=True)
class Comparison(_Difference):
    """The difference of two detectors in one measure, with its confidence interval.

    Attributes
    ----------
    difference : float
        Value of the first minus the value of the second.
    low, high : float
        Ends of its interval.
    p_value : float
        Two-sided p-value of the hypothesis that the measure is the same for both; by permutations,
        that the detectors are exchangeable on each sample. Never 0, but at least 2.2e-308.
    method : str
        How interval and p-value were computed, never "auto": the method that is given or was
        selected, which leaves a name to "exact permutation" where it enumerated all permutations,
        and to "pairs" where the samples leave it no variance to estimate.
    confidence_level : float
        Nominal probability that such an interval covers the true difference, in (0, 1).
    measure : str
        Key of the measure.
    higher_is_better : bool
        Direction of the measure.
    names : tuple of str
        Names of the two detectors.
    values : tuple of float
        The measure of each.
    n_anomalies, n_normals : int
        Numbers of samples.
    min_difference : float or None
        The smallest difference of interest, as given.
    power : float
        Probability with which that difference is to be detected.
    required_anomalies : int or None
        Number of anomalies that this needs, at the present ratio of normal samples to anomalies;
        None where there is no variance to estimate it from, too.
    required_anomalies_interval : (int, int) or None
        Its interval at this confidence level: the variance is an estimate.
    reliability_note : str or None
        Why interval and verdict are unreliable, or None.
    n_resamples, n_undefined : int
        Number of replicates, and how many of them left the measure undefined.
    smallest_p_value : float
        The smallest p-value that so many replicates can give; 0 without replicates, and where all
        permutations were enumerated.
    sampling : SamplingEffect or None
        Effect of clusters, blocks or real weights, on the detector on which it is the larger.
    """

    n_anomalies: int
    n_normals: int
    min_difference: float | None = None
    power: float = 0.8
    required_anomalies: int | None = None
    required_anomalies_interval: tuple[int, int] | None = None
    reliability_note: str | None = None
    n_resamples: int = 0
    n_undefined: int = 0
    smallest_p_value: float = 0.0
    sampling: SamplingEffect | None = None

    _optional, _derived = ("sampling",), ("summary",)

    def corrected_summary(self, adjusted: float | None = None, correction: str = "") -> str:
        """Return the result in a sentence, and the samples that the smallest difference requires.

        Parameters
        ----------
        adjusted : float, optional
            p-value that allows for the number of comparisons, by which the verdict is.
        correction : str
            How it was adjusted.
        """
        # By name: a class with slots is made anew, and `super()` means the one before.
        summary = _Difference.corrected_summary(self, adjusted, correction)
        if self.required_anomalies is None or self.required_anomalies_interval is None:
            return summary
        fewest, most = self.required_anomalies_interval
        return (
            f"{summary} To detect a difference of {self.min_difference:g} with probability "
            f"{self.power:g} requires about {self.required_anomalies} anomalies "
            f"({level_text(self.confidence_level)} interval {fewest} to {most}), with "
            f"{self.n_normals / self.n_anomalies:.3g} normal samples for each; here are "
            f"{self.n_anomalies}."
        )


@dataclass(frozen=True, slots=True)
class IndependentComparison(_Difference):
    """The difference of one measure on two independent samples, with its confidence interval.

    Attributes
    ----------
    difference : float
        Value on the first sample minus that on the second.
    low, high : float
        Ends of its interval.
    p_value : float
        Two-sided p-value of the hypothesis that the measure is the same for both; by
        permutations, that the scores of each class are distributed equally. Never 0, but at least
        2.2e-308.
    method : str
        How interval and p-value were computed, never "auto": the method that is given or was
        selected, which leaves a name to "exact permutation" where it enumerated all permutations,
        and to "pairs" where the samples leave it no variance to estimate.
    confidence_level : float
        Nominal probability that such an interval covers the true difference, in (0, 1).
    measure : str
        Key of the measure.
    higher_is_better : bool
        Direction of the measure.
    names : tuple of str
        Names of the two samples.
    values : tuple of float
        The measure on each.
    intervals : tuple of Interval
        Intervals of both values, from which method "hybrid" makes the difference's; else empty.
    n_anomalies, n_normals : tuple of int
        Numbers of samples on each side.
    df : float
        Degrees of freedom of Student's distribution (method "delong"), else infinity.
    coverage : float or None
        Where the method was selected: the lower coverage of the two ``intervals``, as in
        `Interval`; NaN where it is not known.
    reliability_note : str or None
        Why interval and verdict are unreliable, or None.
    n_resamples, n_undefined : int
        Number of replicates, and how many of them left the measure undefined.
    smallest_p_value : float
        The smallest p-value that so many replicates can give; 0 without replicates.
    """

    intervals: tuple[Interval, ...]
    n_anomalies: tuple[int, int]
    n_normals: tuple[int, int]
    df: float = math.inf
    coverage: float | None = None
    reliability_note: str | None = None
    n_resamples: int = 0
    n_undefined: int = 0
    smallest_p_value: float = 0.0

    _derived = ("summary",)


class Comparisons(TableResult, NamedParts[tuple[str, str], Comparison]):
    """Comparisons of all pairs of detectors, by their names; prints as a table.

    Frames have a row for each pair: ``first``, ``second``, ``difference``, ``low``, ``high``,
    ``p_value`` and ``adjusted_p_value``.
    The interval and ``is_significant`` of a comparison allow for that pair alone.

    Attributes
    ----------
    adjusted_p_values : mapping of (str, str) to float
        p-values that allow for the number of comparisons.
    correction : str
        How they were adjusted.
    """

    __slots__ = ("_notes", "adjusted_p_values", "correction")

    def __init__(
        self,
        comparisons: Sequence[Comparison],
        adjusted: Sequence[float],
        correction: str,
        notes: Sequence[str] = (),
    ) -> None:
        self._parts = {comparison.names: comparison for comparison in comparisons}
        self.adjusted_p_values = dict(zip(self._parts, adjusted, strict=True))
        self.correction = correction
        self._notes = notes

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self)} pairs, {self.correction}>"

    def summaries(self) -> list[str]:
        """Return each comparison in a sentence, with the verdict by its adjusted p-value."""
        return [
            each.corrected_summary(self.adjusted_p_values[names], self.correction)
            for names, each in self.items()
        ]

    def _declare_columns(self) -> list[Column]:
        first = next(iter(self.values()))
        # Verdicts allow for the number of comparisons; intervals do not.
        level = f"{intervals_text(first.confidence_level)}, unadjusted"
        better = [
            each._better
            if adjusted <= significance_level(each.confidence_level)
            else "not significant"
            for each, adjusted in zip(self.values(), self.adjusted_p_values.values(), strict=True)
        ]
        low, high = zip(*((each.low, each.high) for each in self.values()), strict=True)
        adjusted_head = f"p, {self.correction}"
        return [
            Column(None, map(" - ".join, self), str, first.measure),
            Column("first", (first for first, _ in self)),
            Column("second", (second for _, second in self)),
            Column("difference", (each.difference for each in self.values()), ".4f"),
            *interval_columns(low, high, level, ".4f"),
            Column("p_value", (each.p_value for each in self.values()), format_p, "p"),
            Column("adjusted_p_value", self.adjusted_p_values.values(), format_p, adjusted_head),
            Column(None, better, str, "better"),
        ]

    def _content(self) -> dict[str, Any]:
        comparisons = [
            {
                **comparison.to_dict(),
                "summary": summary,
                "adjusted_p_value": self.adjusted_p_values[names],
            }
            for (names, comparison), summary in zip(self.items(), self.summaries(), strict=True)
        ]
        return {
            "correction": self.correction,
            "comparisons": comparisons,
            "notes": list(self.notes),
        }
