"""Points of the region that were found without the particles: what these have missed shows.

Repeats agree on a part that all have missed, and particles follow the scores to where most of each
level is. Other points come to the threshold each by itself, so that a part counts by what leads
into it and not by its fraction of each level: from single draws, and from data.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.algebra import squared_distances
from fastad.regions.scores import Cube

# Steps of a way down: these, and so many for each feature.
_STEPS, _STEPS_EACH = 50, 15
# This part of the calls are draws; half of the ways begin at the lowest ones.
_DRAWN = 0.75
# Starts of a later round, as a part of those of the first, at least: a step of few points takes as
# long as one of many.
_FEWEST_STARTS = 1 / 16
# Of data at most.
_MOST_DATA = 500
# The first steps are as long as this, and the longest and shortest ones.
_FIRST, _LONGEST, _SHORTEST = 0.1, 0.5, 1e-9
# Fraction of steps that are taken where they have the best length.
_TAKEN = 0.2
# Of random moves below a threshold this part teaches the length, and it stays.
_LEARNED = 0.25
# A point is apart where it is so many times as far from all others as any of them from the next.
_APART = 6.0
# Parts are apart by so many times the distance that most points, this part of them, are within from
# the next one.
_PARTED, _MOST = 6.0, 0.9
# Points that distances are computed between.
_COMPARED = 1000
# Points of each cell that others are compared with.
_OF_A_CELL = 50


class Way(NamedTuple):
    """Where points are that moved each by itself.

    Attributes
    ----------
    points : numpy.ndarray of shape (n_features, n_points)
        At the end.
    scores : numpy.ndarray of shape (n_points,)
        There.
    positions : numpy.ndarray of shape (n_features, n_positions)
        Some positions below the threshold where they have been.
    """

    points: FloatMatrix
    scores: FloatVector
    positions: FloatMatrix


class Cells:
    """Parts of the cube: a point is in that of the nearest of some points.

    Parameters
    ----------
    points : numpy.ndarray of shape (n_features, n_points)
        Some of each part.
    labels : numpy.ndarray of shape (n_points,)
        Of which part each is, from 0.

    Attributes
    ----------
    n : int
        Number of parts.
    points, labels : numpy.ndarray
        Those of these points that are compared with, not many of each part.
    """

    def __init__(self, points: FloatMatrix, labels: IntVector) -> None:
        self.n = int(labels.max()) + 1
        self._spreads = np.maximum(points.std(axis=1, keepdims=True), _SHORTEST)
        numbers = [np.flatnonzero(labels == k) for k in range(self.n)]
        chosen = np.concatenate([part[:: -(-part.shape[0] // _OF_A_CELL)] for part in numbers])
        self.points, self.labels = points[:, chosen], labels[chosen]

    def of(self, points: FloatMatrix) -> IntVector:
        """Return the part that each point is in."""
        if self.n == 1:
            return np.zeros(points.shape[1], np.int64)
        squares = squared_distances(points / self._spreads, self.points / self._spreads)
        labels: IntVector = self.labels[squares.argmin(axis=1)]
        return labels

    def n_empty(self, repeats: Sequence[FloatMatrix]) -> int:
        """Count the parts without a particle, of all repeats together."""
        return sum(self.n - np.unique(self.of(particles)).shape[0] for particles in repeats)


def roam(
    cube: Cube,
    points: FloatMatrix,
    scores: FloatVector,
    threshold: float,
    n_steps: int,
    n_views: int,
    rng: np.random.Generator,
) -> Way:
    """Move points, each by itself: down to a threshold, and at random below it.

    Without views of the positions below they stay where they have come below it.

    By normal steps whose length each learns by how many are taken (Rechenberg 1973).
    """
    points, scores = points.copy(), scores.copy()
    d, n = points.shape
    lengths = np.full(n, _FIRST)
    views = [points[:, scores < threshold]]
    for step in range(n_steps):
        proposed = points + lengths / np.sqrt(d) * rng.standard_normal((d, n))
        taken = np.all((proposed >= 0) & (proposed < 1), axis=0)
        if not n_views:  # they have come where they shall
            taken &= scores >= threshold
            if not (scores >= threshold).any():
                break
        proposed_scores = np.full(n, np.inf)
        proposed_scores[taken] = cube.scores(np.ascontiguousarray(proposed[:, taken]))
        taken &= (proposed_scores < threshold) | (proposed_scores < scores)
        points[:, taken], scores[taken] = proposed[:, taken], proposed_scores[taken]
        if step < n_steps * _LEARNED or not n_views:
            lengths = np.clip(lengths * np.exp((taken - _TAKEN) / 2), _SHORTEST, _LONGEST)
            continue
        if step < n_steps * _LEARNED + 1:
            # Steps that became shorter in corners would keep points out of these, or in.
            lengths[:] = np.exp(np.log(lengths).mean())
        if (step + 1) % max(n_steps // n_views, 1) == 0:
            views.append(points[:, scores < threshold])
    return Way(points, scores, np.concatenate(views, axis=1))


def descend_alone(
    cube: Cube,
    threshold: float,
    data: FloatMatrix | None,
    n_calls: int,
    rng: np.random.Generator,
) -> FloatMatrix:
    """Return points of the region: data, and where ways down from single draws have ended.

    With about so many score calls.
    """
    inside = [np.empty((cube.n_features, 0))]
    if data is not None:
        step = max(-(-data.shape[1] // min(_MOST_DATA, n_calls // 2)), 1)
        some = np.ascontiguousarray(data[:, ::step])
        inside.append(some[:, cube.scores(some) < threshold])
    end = cube.n_scored + n_calls
    draws = rng.random((cube.n_features, max(int(_DRAWN * n_calls), 2)))
    scores = cube.scores(draws)
    n_steps = _STEPS + _STEPS_EACH * cube.n_features
    # One of the lowest, one of all, and so on.
    lowest = np.argsort(scores, kind="stable")
    order = np.stack([lowest, rng.permutation(lowest)], axis=1).ravel()
    begin, n_first, before = 0, 0, cube.n_scored
    while cube.n_scored < end and begin < order.shape[0]:
        # Most come down in fewer steps than they may take.
        each = (cube.n_scored - before) / begin if begin else n_steps
        n_starts = max(int((end - cube.n_scored) / max(each, 1.0)), 2)
        if n_starts < _FEWEST_STARTS * n_first:
            break
        n_first = n_first or n_starts
        chosen = order[begin : begin + n_starts]
        way = roam(cube, draws[:, chosen], scores[chosen], threshold, n_steps, 0, rng)
        inside.append(way.points[:, way.scores < threshold])
        begin += n_starts
    return np.concatenate(inside, axis=1)


def apart(points: FloatMatrix, others: FloatMatrix) -> FloatMatrix:
    """Return those points that are farther from all others than any of these from the next one."""
    others = np.unique(others, axis=1)
    others = others[:, :: -(-others.shape[1] // _COMPARED)]
    if points.shape[1] == 0 or others.shape[1] < 2:
        return points[:, :0]
    spreads = np.maximum(others.std(axis=1, keepdims=True), _SHORTEST)
    among = squared_distances(others / spreads, others / spreads)
    np.fill_diagonal(among, np.inf)
    nearest = squared_distances(points / spreads, others / spreads).min(axis=1)
    return points[:, nearest > _APART**2 * among.min(axis=1).max()]


def parts(points: FloatMatrix) -> IntVector:
    """Return of which part each point is, by number: of one are those that short steps lead to.

    Short is a step of not many times the distance of most points from the nearest.
    """
    n = points.shape[1]
    spreads = np.maximum(points.std(axis=1, keepdims=True), _SHORTEST)
    squares = squared_distances(points / spreads, points / spreads)
    np.fill_diagonal(squares, np.inf)
    near = squares <= _PARTED**2 * np.quantile(squares.min(axis=1), _MOST)
    labels = np.full(n, -1, np.int64)
    for first in range(n):
        if labels[first] < 0:
            label = labels.max() + 1
            reached = np.zeros(n, np.bool_)
            reached[first] = True
            while True:
                more = reached | near[reached].any(axis=0)
                if (more == reached).all():
                    break
                reached = more
            labels[reached] = label
    return labels
