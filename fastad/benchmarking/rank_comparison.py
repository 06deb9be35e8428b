"""``RankComparison``: which detectors differ significantly in their ranks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastad._core.results import Column, TableResult, interval_columns
from fastad._core.text_tables import best_detectors, format_p, intervals_text, level_text
from fastad._core.types import FloatMatrix, FloatVector

_MAX_NAMES, _MAX_CLAUSES = 5, 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RankComparison(TableResult):
    """Detectors compared by their ranks on data sets; prints as a table.

    The table has a row for each detector, in order of mean rank, and its p-values against the
    control or, where there is none, against the best. Arrays are in the order of ``detectors``.
    Frames have a row for each pair that was compared: ``first``, the one of the lower mean rank,
    ``second``, ``first_mean_rank``, ``second_mean_rank``, ``p_value``, ``adjusted_p_value`` and
    ``better``, the name of the detector that is significantly better, or None.

    Attributes
    ----------
    detectors : sequence of str
        Names, the best mean rank first.
    mean_ranks : numpy.ndarray of shape (n_detectors,)
        Mean rank of each over data sets.
    low, high : numpy.ndarray of shape (n_detectors,)
        Ends of its interval; NaN where fewer than two data sets count.
    critical_difference : float or None
        Difference of mean ranks from which on two detectors differ significantly; None where
        the method has none.
    p_values : numpy.ndarray of shape (n_detectors, n_detectors)
        Two-sided p-value of each pair by itself; NaN where a pair was not compared.
    adjusted_p_values : numpy.ndarray of shape (n_detectors, n_detectors)
        p-values adjusted for the number of pairs that were compared.
    wins : numpy.ndarray of shape (n_detectors, n_detectors)
        Whether the detector of the row is significantly better than the detector of the column.
    groups : sequence of tuple of str
        The bars of a critical-difference diagram: runs of at least two neighbours in
        ``detectors`` of whom no two differ significantly, none within another. Of a method that
        compares values, two without a significant difference may be in no common run, because one
        between them differs from another. Empty with a control.
    control : str or None
        The detector that all others were compared with.
    method : str
        ``"nemenyi"``, ``"bonferroni-dunn"`` or ``"wilcoxon-holm"``.
    measure : str
        Key of the measure.
    n_datasets : int
        Number of problems that count.
    data : str
        Numbers of problems and of data sets in words.
    confidence_level : float
        Confidence level of each interval; family-wise for the comparisons.
    n_resamples : int
        Replicates that the intervals are made of.
    """

    detectors: Sequence[str]
    mean_ranks: FloatVector
    low: FloatVector
    high: FloatVector
    critical_difference: float | None
    p_values: FloatMatrix
    adjusted_p_values: FloatMatrix
    wins: npt.NDArray[np.bool_]
    groups: Sequence[tuple[str, ...]]
    control: str | None
    method: str
    measure: str
    n_datasets: int
    data: str
    confidence_level: float
    n_resamples: int
    _notes: Sequence[str]

    def __repr__(self) -> str:
        return (
            f"<RankComparison of {len(self.detectors)} detectors in {self.measure}, {self.method}>"
        )

    @property
    def significant_pairs(self) -> list[tuple[str, str]]:
        """Pairs that differ significantly, the better detector first."""
        return [(self.detectors[i], self.detectors[j]) for i, j in np.argwhere(self.wins).tolist()]

    @property
    def summary(self) -> str:
        """The significant differences as a sentence."""
        differences = self._of_all() if self.control is None else self._with_control()
        level = level_text(self.confidence_level)
        return f"{differences} ({self.measure}, {self.data}, {self.method}, {level})"

    @property
    def leaders(self) -> str:
        """Which detector has the best mean rank, and which do not differ from it, as a sentence.

        With a control the others are not compared with the best, and the sentence is of it.
        """
        best = self.mean_ranks == self.mean_ranks[0]
        lead = "has" if np.count_nonzero(best) == 1 else "have"
        first = (
            f"By {self.measure} {self._named(best)} {lead} the best mean rank, "
            f"{self.mean_ranks[0]:.2f} among {len(self.detectors)} detectors on {self.data}"
        )
        if self.control is not None:
            return f"{first}; {self._with_control()}"
        # By ranks, detectors that share the best one are better than the same others; by a test of
        # values one of them may be better than more.
        similar = ~best & ~self.wins[best].any(axis=0)
        others = f"{self._named(similar)}" if similar.any() else "no other"
        return (
            f"{first}; not significantly different at {level_text(self.confidence_level)}: {others}"
        )

    def _declare_table(self) -> list[Column]:
        against = 0 if self.control is None else self.detectors.index(self.control)
        marks = best_detectors(-self.mean_ranks[:, np.newaxis]).ravel().tolist()
        level = intervals_text(self.confidence_level)
        return [
            Column(self.measure, self.detectors, str),
            Column("mean rank", self.mean_ranks, ".2f", marks=marks),
            *interval_columns(self.low, self.high, level),
            Column(f"p against {self.detectors[against]}", self.p_values[against], format_p),
            Column(f"p, {self.method}", self.adjusted_p_values[against], format_p),
        ]

    @property
    def notes(self) -> list[str]:
        """The summary, and the data sets that were left out."""
        notes = [self.summary]
        if self.critical_difference is not None:
            notes.append(f"critical difference: {self.critical_difference:.4g}")
        return [*notes, *self._notes]

    def _declare_columns(self) -> list[Column]:
        first, second = np.nonzero(np.triu(~np.isnan(self.p_values), 1))
        names = np.array(self.detectors, object)
        better = np.full(len(first), None, object)
        for winner, loser in ((first, second), (second, first)):
            won = self.wins[winner, loser]
            better[won] = names[winner[won]]
        return [
            Column("first", names[first]),
            Column("second", names[second]),
            Column("first_mean_rank", self.mean_ranks[first]),
            Column("second_mean_rank", self.mean_ranks[second]),
            Column("p_value", self.p_values[first, second]),
            Column("adjusted_p_value", self.adjusted_p_values[first, second]),
            Column("better", better),
        ]

    def _of_all(self) -> str:
        winners = np.flatnonzero(self.wins.any(axis=1)).tolist()
        if not winners:
            return "no two detectors differ significantly"
        clauses = [
            f"{self.detectors[i]} is better than {self._named(self.wins[i])}"
            for i in winners[:_MAX_CLAUSES]
        ]
        if len(winners) > _MAX_CLAUSES:
            clauses.append("…")
        elif np.count_nonzero(self.wins) < self.wins.shape[0] * (self.wins.shape[0] - 1) // 2:
            clauses.append("no other differences are significant")
        return "; ".join(clauses)

    def _with_control(self) -> str:
        control = self.detectors.index(str(self.control))
        better, worse = self.wins[control], self.wins[:, control]
        neither = ~(better | worse)
        neither[control] = False
        clauses = [
            f"{relation} {self._named(detectors)}"
            for relation, detectors in (
                ("better than", better),
                ("worse than", worse),
                ("not significantly different from", neither),
            )
            if detectors.any()
        ]
        return f"{self.control} is {'; '.join(clauses)}"

    def _named(self, selected: npt.NDArray[np.bool_]) -> str:
        indices = np.flatnonzero(selected).tolist()
        names = [self.detectors[i] for i in indices[:_MAX_NAMES]]
        if len(indices) > _MAX_NAMES:
            names.append(f"{len(indices) - _MAX_NAMES} more")
        return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def runs_without_difference(differ: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return first and last of the longest runs of which no two differ, of at least two.

    O(n^2) time for n detectors.
    """
    n = len(differ)
    later = np.triu(differ, 1)
    # The last that each could be in a run with, as far as it differs itself ...
    last = np.where(later.any(axis=1), np.argmax(later, axis=1), n) - 1
    # ... and as far as those behind it differ.
    last = np.minimum.accumulate(last[::-1])[::-1]
    runs = []
    reached = -1
    for first, end in enumerate(last.tolist()):
        if end > max(first, reached):
            runs.append((first, end))
        reached = end
    return runs
