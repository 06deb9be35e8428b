"""Points of the region that are found without particles, and show which parts these have missed.

Repeats agree on a part of the region that all have missed, and particles follow the scores to the
bulk of each level. Independent descents from single draws and from data reach a part by the scores
around it, and not by its fraction of each level.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.regions.algebra import normal_numbers, squared_distances
from fastad.regions.scores import Cube

# Steps of a descent at most: this many for each feature, and for one more.
_STEPS = 20
# Part of the calls at hand that independent walks take: descents from single draws; walks in
# components of the region, by each half of the repeats; walks in cells without a particle. With
# half the walks in components the fit to two balls of 50 features was refused for 2 of 5 seeds; now
# for 0 of 8.
WALKS_PART = 0.1
_FIRST_LENGTH, _LONGEST, _SHORTEST = 0.1, 0.5, 1e-9
# Acceptance rate of the best step length, about one in five (Rechenberg 1973).
_ACCEPTANCE = 0.2
# Part of a random walk's steps that tune their length, which then stays.
_TUNING_PART = 0.25
# Points are isolated, and components separate, beyond this multiple of nearest-neighbour distances.
# With half of it descents into the tips of a star seemed to be a missed part in 7 of 40 seeds.
_ISOLATION = 6.0
# Quantile of the nearest-neighbour distances that components are separated by.
_NEAREST_QUANTILE = 0.9
# Points that stand for more of them: in comparisons, of data, and for the shape of a level.
MOST_COMPARED = 500
# Points of each cell.
_MOST_OF_CELL = 50


class Walk(NamedTuple):
    """Independent random walks."""

    points: FloatMatrix  # (n_features, n_points): the last ones
    scores: FloatVector  # (n_points,): scores of the last points
    positions: FloatMatrix  # (n_features, n_positions): some earlier positions below the threshold


class Cells:
    """Parts of the cube: a point belongs to the part of the nearest of some points.

    Parameters
    ----------
    points : numpy.ndarray of shape (n_features, n_points)
        Some of each part.
    labels : numpy.ndarray of shape (n_points,)
        Part of each point, from 0.

    Attributes
    ----------
    n : int
        Number of parts.
    points, labels : numpy.ndarray
        The points used for comparison, not many of each part, and their labels.
    """

    def __init__(self, points: FloatMatrix, labels: IntVector) -> None:
        self.n = int(labels.max()) + 1
        self._spreads = np.maximum(points.std(axis=1, keepdims=True), _SHORTEST)
        numbers = [np.flatnonzero(labels == k) for k in range(self.n)]
        chosen = np.concatenate([part[:: -(-part.shape[0] // _MOST_OF_CELL)] for part in numbers])
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


def random_walk(
    cube: Cube,
    points: FloatMatrix,
    scores: FloatVector,
    threshold: float,
    n_steps: int,
    n_views: int,
    rng: np.random.Generator,
) -> Walk:
    """Move points independently: down to a threshold, and at random below it.

    By normal steps, whose length each point tunes by how many are accepted (Rechenberg 1973).
    Without views of the positions below the threshold a point stops as soon as it is there.
    """
    points, scores = points.copy(), scores.copy()
    d, n = points.shape
    lengths = np.full(n, _FIRST_LENGTH)
    views = [points[:, scores < threshold]]
    for step in range(n_steps):
        proposed = points + lengths / np.sqrt(d) * normal_numbers(d, n, rng)
        taken = np.all((proposed >= 0) & (proposed < 1), axis=0)
        if not n_views:  # points that have reached the threshold stay
            taken &= scores >= threshold
            if not (scores >= threshold).any():
                break
        proposed_scores = np.full(n, np.inf)
        proposed_scores[taken] = cube.scores(np.ascontiguousarray(proposed[:, taken]))
        taken &= (proposed_scores < threshold) | (proposed_scores < scores)
        points[:, taken], scores[taken] = proposed[:, taken], proposed_scores[taken]
        if step < n_steps * _TUNING_PART or not n_views:
            lengths = np.clip(lengths * np.exp((taken - _ACCEPTANCE) / 2), _SHORTEST, _LONGEST)
            continue
        if step < n_steps * _TUNING_PART + 1:
            # Steps that became shorter in corners would keep points out of these, or in.
            lengths[:] = np.exp(np.log(lengths).mean())
        if (step + 1) % max(n_steps // n_views, 1) == 0:
            views.append(points[:, scores < threshold])
    return Walk(points, scores, np.concatenate(views, axis=1))


def descend(
    cube: Cube, threshold: float, data: FloatMatrix | None, n_calls: int, rng: np.random.Generator
) -> tuple[FloatMatrix, FloatVector]:
    """Return points of the region and their scores: data, and the ends of descents from draws.

    Takes about ``n_calls`` score calls. A point is a column.
    """
    inside = [np.empty((cube.n_features, 0))]
    if data is not None:
        some = np.ascontiguousarray(thin(data, MOST_COMPARED))
        inside.append(some[:, cube.scores(some) < threshold])
    end = cube.n_scored + n_calls
    # Half of the calls are draws, and half of the descents begin at the lowest of them.
    draws = rng.random((cube.n_features, n_calls // 2))
    scores = cube.scores(draws)
    n_steps = _STEPS * (cube.n_features + 1)
    # Alternately one of the lowest and one of all.
    lowest = np.argsort(scores, kind="stable")
    order = np.stack([lowest, rng.permutation(lowest)], axis=1).ravel()
    begin, before = 0, cube.n_scored
    # A step of few points takes as long as a step of many: in few rounds splitting with a fast
    # score takes half the time that it takes in tens.
    for _ in range(3):
        # Most come down in fewer steps than they may take, and the first ones, which begin at the
        # lowest draws, in fewer than most.
        each = (cube.n_scored - before + n_steps) / (begin + 1)
        n_starts = max(int((end - cube.n_scored) / max(each, 1.0)), 0)
        chosen = order[begin : begin + n_starts]
        walk = random_walk(cube, draws[:, chosen], scores[chosen], threshold, n_steps, 0, rng)
        inside.append(walk.points[:, walk.scores < threshold])
        begin += n_starts
    return np.concatenate(inside, axis=1), scores[lowest]


def thin(points: FloatMatrix, most: int) -> FloatMatrix:
    """Return evenly chosen points, at most ``most``."""
    return points[:, :: max(-(-points.shape[1] // most), 1)]


def isolated(points: FloatMatrix, others: FloatMatrix) -> FloatMatrix:
    """Return the points that are far from all others, by the distances among these."""
    others = thin(np.unique(others, axis=1), MOST_COMPARED)
    if points.shape[1] == 0 or others.shape[1] < 2:
        return points[:, :0]
    spreads = np.maximum(others.std(axis=1, keepdims=True), _SHORTEST)
    among = squared_distances(others / spreads, others / spreads)
    np.fill_diagonal(among, np.inf)
    nearest = squared_distances(points / spreads, others / spreads).min(axis=1)
    return points[:, nearest > _ISOLATION**2 * among.min(axis=1).max()]


def connected_components(points: FloatMatrix) -> IntVector:
    """Return the component of each point, by number: short steps lead from any to any other point.

    A short step is not many times the distance of most points from their nearest neighbour.
    """
    # Here, because it imports all of SciPy's sparse linear algebra.
    from scipy.sparse import csgraph

    spreads = np.maximum(points.std(axis=1, keepdims=True), _SHORTEST)
    squares = squared_distances(points / spreads, points / spreads)
    np.fill_diagonal(squares, np.inf)
    nearest = np.quantile(squares.min(axis=1), _NEAREST_QUANTILE)
    _, labels = csgraph.connected_components(squares <= _ISOLATION**2 * nearest, directed=False)
    return labels.astype(np.int64)
