"""Families of scores on which intervals and comparisons are tried, with their distributions."""

from collections.abc import Callable, Mapping, Sequence
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


def _exponential(mean: float, sign: int = 1) -> Family:
    def cumulative(x: Scores) -> tuple[Scores, Scores]:
        below = [-np.expm1(-np.maximum(sign * x, 0) / scale) for scale in (1.0, mean)]
        normals, anomalies = below if sign > 0 else (1 - each for each in below)
        return normals, anomalies

    return Family(
        lambda rng, labels: sign * rng.exponential(np.where(labels, mean, 1.0)),
        np.sort(sign * np.linspace(0, 60 * max(mean, 1), 200_001)),
        cumulative,
    )


def _stepped(normals: Sequence[float], anomalies: Sequence[float]) -> Family:
    """Return scores that are uniform in each of the ranges [0, 1], [1, 2], and so on."""
    below = [np.append(0.0, np.cumsum(parts)) for parts in (normals, anomalies)]
    ends = np.arange(len(normals) + 1.0)

    def draw(rng: np.random.Generator, labels: npt.NDArray[np.bool_]) -> Scores:
        u = rng.random(labels.shape)
        scores: Scores = np.where(labels, *(np.interp(u, each, ends) for each in below[::-1]))
        return scores

    return Family(
        draw,
        np.linspace(0, len(normals), 10_000 * len(normals) + 1),
        lambda x: (np.interp(x, ends, below[0]), np.interp(x, ends, below[1])),
    )


def _levels(fpr: Sequence[float], tpr: Sequence[float]) -> Family:
    """Return scores of so few levels; the rates are those at and above each, the highest first."""
    below = [np.append(1 - np.array(rates)[::-1], 1.0)[1:] for rates in (fpr, tpr)]
    levels = np.arange(float(len(fpr)))

    def draw(rng: np.random.Generator, labels: npt.NDArray[np.bool_]) -> Scores:
        u = rng.random(labels.shape)
        ranks = [np.searchsorted(each[:-1], u, side="right") for each in below]
        return np.where(labels, ranks[1], ranks[0]).astype(np.float64)

    def cumulative(x: Scores) -> tuple[Scores, Scores]:
        at = np.searchsorted(levels, x, side="right")
        normals, anomalies = (np.append(0.0, each)[at] for each in below)
        return normals, anomalies

    return Family(draw, levels, cumulative)


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
# The curve steps at the rates at which measures are tried, where both rates of a threshold matter.
STEPPED: Mapping[str, Family] = MappingProxyType(
    {
        # Up by 0.5 at an FPR of 5 %, and aside by 0.3 at a TPR of 95 %.
        "stepped": _stepped([0.5, 0.3, 0.15, 0, 0.05], [0.05, 0, 0.15, 0.5, 0.3]),
        "five levels": _levels([0.01, 0.05, 0.2, 0.5, 1], [0.3, 0.6, 0.9, 0.95, 1]),
        "eight levels": _levels(
            [0.001, 0.01, 0.03, 0.05, 0.1, 0.2, 0.5, 1], [0.15, 0.35, 0.5, 0.6, 0.75, 0.9, 0.95, 1]
        ),
        # One normal in fifty lies above all anomalies.
        "normals above": _stepped([0.5, 0.3, 0.15, 0.03, 0.02], [0.05, 0.1, 0.3, 0.55, 0]),
    }
)
# A few samples of one class decide the area under the ROC curve.
DECIDED_BY_FEW: Mapping[str, Family] = MappingProxyType(
    {
        "8 % of the anomalies below all normals": _stepped([0, 1, 0], [0.08, 0, 0.92]),
        "3 % of the normals above all anomalies": _stepped([0.97, 0, 0.03], [0, 1, 0]),
        "anomalies between 95 and 5 % of the normals": _stepped([0.95, 0, 0.05], [0, 1, 0]),
        "exponential, mean 3": _exponential(3),
        "exponential, mean 3, mirrored": _exponential(1 / 3, sign=-1),
    }
)
# How far the value is from an end of its range, one sample decides that most samples do not have.
DECIDED_BY_ONE: Mapping[str, Family] = MappingProxyType(
    {
        **{
            f"two levels, FPR 0.5 %, TPR {100 * tpr:g} %": _levels([0.005, 1], [tpr, 1])
            for tpr in (0.97, 0.99, 0.999)
        },
        "Gaussian, 1 apart": _shifted(1),
    }
)
# 2 % of the anomalies are below all normals: many samples have none of them, and no variance.
RARELY_HIDDEN: Mapping[str, Family] = MappingProxyType(
    {"few hidden": _stepped([0, 1, 0], [0.02, 0, 0.98]), "chance": _shifted(0)}
)
ALL_FAMILIES: Mapping[str, Family] = MappingProxyType({**FAMILIES, **STEPPED, **DECIDED_BY_FEW})
