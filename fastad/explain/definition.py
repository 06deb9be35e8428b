"""``Definition``: a way to compute a number that is taken for a measure, and why it differs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastad._core.types import FloatVector, IntVector, LabelVector
from fastad.explain.points import Points
from fastad.ordering.counts import OrderedCounts


class ScoredRows:
    """Input of definitions: labels and scores row by row, and their points in order.

    Parameters
    ----------
    labels : numpy.ndarray of shape (n_rows,)
        1 for an anomaly, 0 for a normal sample.
    scores : numpy.ndarray of shape (n_rows,)
        Higher is more anomalous.
    points : Points
        Counts that the highest scores flag.
    groups : sequence of numpy.ndarray
        Rows of each group; empty without groups.
    """

    def __init__(
        self,
        labels: LabelVector,
        scores: FloatVector,
        points: Points,
        groups: Sequence[IntVector] = (),
    ) -> None:
        self.labels = labels
        self.scores = scores
        self.points = points
        self.groups = groups

    @staticmethod
    def from_counts(
        labels: LabelVector,
        scores: FloatVector,
        counts: OrderedCounts,
        groups: Sequence[IntVector] = (),
    ) -> "ScoredRows":
        """Return rows with the points that were counted already."""
        thresholds = counts.thresholds().astype(np.float64)
        # Counts may lie in memory that is used again.
        points = Points(counts.fps.copy(), counts.tps.copy(), thresholds)
        return ScoredRows(labels, scores, points, groups)

    @cached_property
    def parts(self) -> Sequence["ScoredRows"]:
        """The rows of each group that has both classes."""
        parts = []
        for rows in self.groups:
            labels, scores = self.labels[rows], self.scores[rows]
            if 0 < labels.sum() < labels.shape[0]:
                parts.append(ScoredRows(labels, scores, Points.from_rows(labels, scores)))
        return parts


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A way to compute a number that is printed under the name of a measure.

    Attributes
    ----------
    name : str
        Definition in a few words.
    source : str
        Libraries or papers that use it.
    measure : str
        Key of the measure of fastad that it is taken for.
    reason : str
        Difference from the measure, in one sentence.
    compute : callable
        The number of scored rows; NaN where the definition does not apply to them.
    """

    name: str
    source: str
    measure: str
    reason: str
    compute: Callable[[ScoredRows], float]
