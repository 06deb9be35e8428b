"""Families of scores on which intervals and comparisons are tried, with their distributions."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtr

from fastad.ordering.counts import OrderedCounts, count

Scores = npt.NDArray[np.float64]

# The tails of Student's distribution reach far; its grid is spaced by the hyperbolic sine.
_STUDENT = np.asarray(np.sinh(np.linspace(-18.0, 18.0, 100_001)) / 10, np.float64)
_NORMAL = np.asarray(np.arange(-90_000, 90_001) * 1e-4, np.float64)
_HALVES = np.asarray(np.arange(-18, 19) * 0.5, np.float64)


class Family(NamedTuple):
    """A distribution of the scores of each class.

    Attributes
    ----------
    draw : callable
        Random scores for an array of labels.
    grid : numpy.ndarray
        Scores, closely spaced, or all that occur.
    cumulative : callable
        Proportions of the normals and of the anomalies at or below scores.
    """

    draw: Callable[[np.random.Generator, npt.NDArray[np.bool_]], Scores]
    grid: Scores
    cumulative: Callable[[Scores], tuple[Scores, Scores]]

    def sample(
        self, rng: np.random.Generator, n: int, m: int
    ) -> tuple[npt.NDArray[np.bool_], Scores]:
        """Return labels and scores of n anomalies and m normals."""
        labels = np.arange(n + m) < n
        return labels, self.draw(rng, labels)

    def population(self, n: int, m: int, *, whole: bool) -> OrderedCounts:
        """Return the distributions themselves as weights, of n anomalies and m normals in all."""
        normals, anomalies = self.cumulative(
            np.append((self.grid[1:] + self.grid[:-1]) / 2, np.inf)
        )
        sums = [normals * m, anomalies * n]
        if whole:
            sums = [np.round(column) for column in sums]
        weights = np.concatenate([np.diff(column, prepend=0) for column in sums])
        if not whole:
            weights[weights < 1e-90] = 0
        return count(
            np.repeat([0, 1], self.grid.shape[0]), np.tile(self.grid, 2), sample_weight=weights
        )


def _shifted(shift: float) -> Family:
    return Family(
        lambda rng, labels: rng.normal(shift * labels),
        _NORMAL,
        lambda x: (ndtr(x), ndtr(x - shift)),
    )


def _hidden(rng: np.random.Generator, labels: npt.NDArray[np.bool_]) -> Scores:
    return rng.normal(3 * (labels & (rng.random(labels.shape) < 0.5)))


def _heavy_tailed(shift: float) -> Family:
    return Family(
        lambda rng, labels: rng.standard_t(2, labels.shape) + shift * labels,
        _STUDENT,
        lambda x: (stdtr(2, x), stdtr(2, x - shift)),
    )


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        "Gaussian": _shifted(1.5),
        "heavy-tailed": _heavy_tailed(3),
        "tied": Family(
            lambda rng, labels: np.round(2 * rng.normal(2 * labels)) / 2,
            _HALVES,
            lambda x: (ndtr(x), ndtr(x - 2)),
        ),
        "half hidden": Family(_hidden, _NORMAL, lambda x: (ndtr(x), (ndtr(x) + ndtr(x - 3)) / 2)),
        "nearly perfect": _shifted(4.52),
        "nearly perfect, heavy-tailed": _heavy_tailed(30),
    }
)
