"""Scores of several detectors at once: detectors with the same training points share steps.

Detectors by nearest neighbours share one search, and machines with Gaussian kernels the distances
to their support vectors.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import FloatMatrix
from fastad.detectors.neighbour_search import Search
from fastad.detectors.neighbours import NeighbourScorer
from fastad.detectors.scorer import CompiledScorer
from fastad.detectors.support import SupportGroup, SupportScorer


class ScorerGroup(Protocol):
    """Writes the scores of several detectors."""

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write scores of points of shape (n_features, n_points), a row for each detector."""


def group_scorers(scorers: Sequence[CompiledScorer | None]) -> list[tuple[ScorerGroup, list[int]]]:
    """Return groups of two or more scorers that are faster together, and which scorers are in them.

    The others are in none; None is a score that is not compiled.
    """
    neighbours: dict[Any, list[int]] = {}
    machines: dict[Any, list[int]] = {}
    for i, scorer in enumerate(scorers):
        if isinstance(scorer, NeighbourScorer) and scorer.p == 2.0:
            key = scorer.training.shape, scorer.training.tobytes()
            neighbours.setdefault(key, []).append(i)
        elif isinstance(scorer, SupportScorer) and scorer.gaussian is not None:
            machines.setdefault(scorer.n_features, []).append(i)
    groups: list[tuple[ScorerGroup, list[int]]] = []
    for same in neighbours.values():
        kept = _searching(same, scorers)
        if len(kept) > 1:
            groups.append((NeighbourGroup([scorers[i] for i in kept]), kept))
    for same in machines.values():
        groups.extend(_overlapping(same, scorers))
    return groups


class NeighbourGroup:
    """Scorers by the nearest of the same training points, which one search finds for all.

    The distance is Euclidean. Scores are the same as of each scorer alone: distances and their
    functions have its bits, and where tied neighbours make a difference it scores those points
    itself. Only sums over neighbours of a local outlier factor or of vectors may differ in the last
    digit.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        self._members: Sequence[NeighbourScorer] = members
        training = members[0].training
        # One more shows whether the last place is tied.
        k = min(max(member.k for member in members) + 1, training.shape[0])
        self._search = Search(training, k)

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write scores of points of shape (n_features, n_points), a row for each detector."""
        points = as_readonly(points)
        for first, distances, rows in self._search.of(points):
            m, n_found = distances.shape
            for member, row in zip(self._members, scores, strict=True):
                part = row[first : first + m]
                member.write_from(points, first, distances, rows, part)
                if member.kind in ("delta", "lof") and member.k < n_found:
                    tied = np.flatnonzero(distances[:, member.k - 1] == distances[:, member.k])
                    if tied.size:
                        alone = np.empty(tied.size)
                        member.score_block(points[:, first + tied].copy(order="C"), alone)
                        part[tied] = alone


def _searching(same: Sequence[int], scorers: Sequence[Any]) -> list[int]:
    """Return which scorers by the same neighbours take part in one search.

    The k-th distance alone is compared with thresholds without a full search, many times faster:
    it takes part where others search as many neighbours.
    """
    others = [scorers[i].k for i in same if scorers[i].kind != "kappa"]
    most = max(others, default=0)
    return [i for i in same if scorers[i].kind != "kappa" or scorers[i].k <= most]


def _overlapping(
    same: Sequence[int], scorers: Sequence[Any]
) -> list[tuple[ScorerGroup, list[int]]]:
    """Group machines that share at least half of their support vectors with others in the group."""
    rows = {i: [row.tobytes() for row in scorers[i].gaussian.vectors] for i in same}
    left = sorted(same, key=lambda i: -len(rows[i]))
    groups: list[tuple[ScorerGroup, list[int]]] = []
    while left:
        vectors = set(rows[left[0]])
        kept = []
        for i in left:
            if 2 * sum(row in vectors for row in rows[i]) >= len(rows[i]):
                vectors.update(rows[i])
                kept.append(i)
        left = [i for i in left if i not in kept]
        if len(kept) > 1:
            groups.append((SupportGroup([scorers[i] for i in kept]), kept))
    return groups
