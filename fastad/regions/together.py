"""Draws that are scored and counted once for several detectors with much in common."""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.progress import Progress
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.detectors.scorer import blocks, count_scores_below, refuse_nan
from fastad.detectors.together import ScorerGroup, group_scorers
from fastad.regions.scores import BlockScore, Countable
from fastad.regions.uniform import Draws


class _Counted(NamedTuple):
    """Draws that were counted, and how many of them are below each threshold of all members."""

    n_draws: int
    counts: IntVector


class BlockGroup(Countable):
    """Several scores that are computed together.

    Attributes
    ----------
    members : list of BlockScore
        The scores.
    """

    def __init__(self, group: ScorerGroup, members: list[BlockScore]) -> None:
        self.members, self._group = members, group
        self._thresholds: list[FloatVector] = []
        self._counted_draws: dict[tuple[np.uint64, int], _Counted] = {}

    def of_rows(self, samples: npt.NDArray[Any]) -> FloatMatrix:
        """Return the scores of samples of shape (n_samples, n_features), a row for each member."""
        scores = np.empty((len(self.members), samples.shape[0]))

        def write(rows: range) -> None:
            for points, part in blocks(samples[rows.start : rows.stop]):
                written = scores[:, rows.start + part.start : rows.start + part.stop]
                written[:] = self._scores(points)
                for row in written:
                    refuse_nan(points, row)

        deque(self.rounds(write, 0, *samples.shape), 0)
        return scores

    @contextmanager
    def counting_at(self, thresholds: Sequence[Sequence[float]]) -> Iterator[None]:
        """Have each member ask for the counts below its thresholds here, in `Draws.count`."""
        self._thresholds = [np.unique(np.asarray(each, np.float64)) for each in thresholds]
        for number, member in enumerate(self.members):
            member.joint = partial(self._counts_of, number)
        try:
            yield
        finally:
            # An estimate that draws on later does so for itself.
            for member in self.members:
                member.joint = None

    def count(self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector) -> None:
        """Add the numbers of points below the thresholds of each member, one after the other."""
        first = 0
        for row, of_member in zip(self._scores(points), self._thresholds, strict=True):
            part = slice(first, first + of_member.shape[0])
            count_scores_below(points, row, thresholds[part], counts[part])
            first = part.stop

    def _counts_of(
        self,
        number: int,
        draws: Draws,
        thresholds: FloatVector,
        first: int,
        n_draws: int,
        progress: Progress | None,
    ) -> tuple[int, IntVector]:
        """Return how many draws are counted for all, and the counts of one member."""
        of_member = self._thresholds[number]
        nothing = 0, np.zeros(thresholds.shape[0], np.int64)
        if not np.isin(thresholds, of_member).all():
            return nothing
        key = draws.key, first
        if key not in self._counted_draws:
            counts = draws.count_here(
                self, np.concatenate(self._thresholds), first, n_draws, progress
            )
            self._counted_draws[key] = _Counted(n_draws, counts)
        counted = self._counted_draws[key]
        # A member that needs fewer draws counts them itself.
        if counted.n_draws > n_draws:
            return nothing
        start = sum(each.shape[0] for each in self._thresholds[:number])
        return counted.n_draws, counted.counts[start + np.searchsorted(of_member, thresholds)]

    def _scores(self, points: FloatMatrix) -> FloatMatrix:
        scores = np.empty((len(self.members), points.shape[1]))
        self._group.write(points, scores)
        return scores


def group_blocks(scores: Sequence[BlockScore]) -> list[BlockGroup]:
    """Return groups of two or more scores that are faster together."""
    groups = group_scorers([score.scorer for score in scores])
    return [BlockGroup(group, [scores[i] for i in members]) for group, members in groups]
