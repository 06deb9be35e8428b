"""The working model: the probability that a row is an anomaly, from its scores.

Ranks of each detector are brought to the normal distribution. If anomalies lie higher by the same
distance for each detector, the log odds are a sum over the detectors (linear discriminant
analysis); the distances follow from an area under the ROC curve, until labels tell the
coefficients. The model is for the choice of rows alone: estimates do not rest on it.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit, ndtri

from fastad._core.threads import slices, thread_map
from fastad._core.types import FloatVector, IntVector, ScoreVector

# Bins of the scores of a detector, narrower towards the highest ones, from a sample of rows.
_BINS, _SAMPLE = 160, 2**17
# Standard deviations of the prior: coefficients, and the intercept, which labels tell sooner.
_PRIOR_SD, _PRIOR_SD_INTERCEPT = 1.0, 5.0
_STEPS, _TOLERANCE = 50, 1e-9
# A guess of the intercept need not be more exact.
_NEAR = 1e-4
# Other models that may be true: slopes a standard deviation larger or smaller, or so many times the
# anomalies.
_VARIANT_FACTOR = 3.0
# Log odds beyond these are as good as certain.
_MOST_LOG_ODDS = 30.0
# Part of the correlation that the discriminant does not invert: detectors may be equal.
_RIDGE = 0.01
# The most by which the slope of a detector may be steeper beside others than alone.
_MOST_BESIDE = 2.0


@dataclass(frozen=True, eq=False)
class Cells:
    """Rows in cells of similar scores of all detectors."""

    row_cell: npt.NDArray[np.integer[Any]]  # number of the cell of each row
    sizes: FloatVector  # rows in each cell
    bins: Mapping[str, IntVector]  # bin of each cell, by detector
    lowest: Mapping[str, FloatVector]  # lowest score that each bin may have

    @classmethod
    def of(
        cls, scores: Mapping[str, ScoreVector], thresholds: Mapping[str, Sequence[float]]
    ) -> "Cells":
        """Sort rows into cells; thresholds of detectors are borders between bins."""
        n = len(next(iter(scores.values())))
        lowest = {name: _borders(x, thresholds.get(name, ())) for name, x in scores.items()}
        row_cell: npt.NDArray[np.integer[Any]] = np.zeros(n, np.int32)
        n_cells = 1
        for name, values in scores.items():
            row_cell, n_cells = _split(row_cell, n_cells, lowest[name], values)
        sizes = np.bincount(row_cell, minlength=n_cells)
        # Any row of a cell has its bins.
        row = np.empty(n_cells, np.int64)
        row[row_cell] = np.arange(n)
        bins = {name: _bins_of(lowest[name], values[row]) for name, values in scores.items()}
        return cls(row_cell, sizes.astype(np.float64), bins, lowest)

    @cached_property
    def features(self) -> npt.NDArray[np.float64]:
        """One and the normal quantile of the mean rank of each bin; (n_cells, 1 + n_detectors)."""
        columns = [np.ones(self.sizes.shape[0])]
        total = self.sizes.sum()
        for bins in self.bins.values():
            sizes = np.bincount(bins, self.sizes)
            below = np.cumsum(sizes) - sizes / 2
            columns.append(ndtri(below / total)[bins])
        return np.column_stack(columns)


def _split(
    row_cell: npt.NDArray[np.integer[Any]], n_cells: int, lowest: FloatVector, values: ScoreVector
) -> tuple[npt.NDArray[np.integer[Any]], int]:
    """Split cells by the bins of one more detector; return those that have rows, and how many."""
    n_codes = n_cells * lowest.shape[0]
    code = np.empty(row_cell.shape[0], np.int32 if n_codes < 2**31 else np.int64)

    def encode(rows: slice) -> None:
        code[rows] = row_cell[rows] * lowest.shape[0] + _bins_of(lowest, values[rows])

    thread_map(encode, slices(code.shape[0]))
    if n_codes > max(code.shape[0], _SAMPLE):
        codes, row_cell = np.unique(code, return_inverse=True)
        return row_cell, codes.shape[0]
    is_there = np.zeros(n_codes, np.bool_)
    is_there[code] = True
    number = (np.cumsum(is_there) - 1).astype(np.int32)
    return number[code], int(number[-1]) + 1


def _bins_of(lowest: FloatVector, values: ScoreVector) -> IntVector:
    return np.searchsorted(lowest[1:], values, side="right")


def _borders(scores: ScoreVector, thresholds: Sequence[float]) -> FloatVector:
    """Return the lowest score of each bin, rising."""
    n = scores.shape[0]
    sample = np.sort(scores[:: max(n // _SAMPLE, 1)]).astype(np.float64)
    above = np.geomspace(1, sample.shape[0], _BINS)
    chosen = sample[sample.shape[0] - np.unique(np.rint(above).astype(np.int64))]
    borders = np.unique(np.concatenate([chosen, np.array(thresholds, np.float64)]))
    lowest = float(scores.min())
    return np.concatenate([[lowest], borders[borders > lowest]])


@dataclass(frozen=True, slots=True, eq=False)
class WorkingModel:
    """Log odds as a linear function of the features of `Cells`, and others that are possible."""

    coefficients: FloatVector  # intercept, and the slope of each detector
    variants: npt.NDArray[np.float64]  # and those a standard deviation from them on each side

    @classmethod
    def prior(cls, cells: Cells, prevalence: float, auc: float) -> "WorkingModel":
        """Return the model for an expected prevalence, and area under the ROC curve of each."""
        z = cells.features[:, 1:]
        weights = cells.sizes / cells.sizes.sum()
        covariance = (z * weights[:, None]).T @ z
        scale = np.sqrt(np.maximum(np.diag(covariance), _TOLERANCE))
        correlation = covariance / np.outer(scale, scale)
        np.fill_diagonal(correlation, 1 + _RIDGE)
        distance = math.sqrt(2) * float(ndtri(auc))
        slopes = np.linalg.solve(correlation, np.full(z.shape[1], distance))
        # Opposed detectors cannot both be as good: what they have in common would be certain.
        largest = float(np.abs(slopes).max())
        slopes *= min(1.0, _MOST_BESIDE * abs(distance) / max(largest, _TOLERANCE))
        steps = _PRIOR_SD * np.vstack([np.eye(slopes.shape[0]), -np.eye(slopes.shape[0])])
        more = min(prevalence * _VARIANT_FACTOR, (1 + prevalence) / 2)
        possible = [
            *((slopes, each) for each in (prevalence, more, prevalence / _VARIANT_FACTOR)),
            *((slopes + step, prevalence) for step in steps),
        ]
        variants = np.array([_with_total(cells, *each) for each in possible])
        return cls(variants[0], variants)

    def fitted(self, features: npt.NDArray[np.float64], labels: FloatVector) -> "WorkingModel":
        """Return the model that labels tell, with this one as the prior of its coefficients."""
        precision = np.full(self.coefficients.shape[0], _PRIOR_SD**-2)
        precision[0] = _PRIOR_SD_INTERCEPT**-2
        fitted = logistic_regression(features, labels, prior=(self.coefficients, precision))
        p = expit(features @ fitted)
        curvature = (features * (p * (1 - p))[:, None]).T @ features + np.diag(precision)
        steps = np.linalg.cholesky(np.linalg.inv(curvature)).T
        return WorkingModel(fitted, np.vstack([fitted, fitted + steps, fitted - steps]))

    def log_odds(self, cells: Cells) -> FloatVector:
        """Return the log odds of each cell."""
        return _log_odds(cells, self.coefficients)

    def probabilities(self, cells: Cells) -> list[FloatVector]:
        """Return the probabilities that a row of each cell is an anomaly, by each variant."""
        return [expit(_log_odds(cells, each)) for each in self.variants]


def _log_odds(cells: Cells, coefficients: FloatVector) -> FloatVector:
    return np.clip(cells.features @ coefficients, -_MOST_LOG_ODDS, _MOST_LOG_ODDS)


def _with_total(cells: Cells, slopes: FloatVector, prevalence: float) -> FloatVector:
    """Return the coefficients with an intercept by which the mean probability is a number."""
    # Inside, so that what has no guesses starts faster.
    from scipy.optimize import brentq

    log_odds, total = cells.features[:, 1:] @ slopes, prevalence * float(cells.sizes.sum())

    def excess(intercept: float) -> float:
        return float(cells.sizes @ expit(log_odds + intercept)) - total

    # As far as every row has a higher probability than the mean, or a lower one: the slopes of
    # detectors that contradict each other are large.
    farthest = float(np.abs(log_odds).max()) + abs(float(logit(prevalence))) + 1
    most = max(2 * _MOST_LOG_ODDS, farthest)
    return np.append(brentq(excess, -most, most, xtol=_NEAR), slopes)


def logistic_regression(
    features: npt.NDArray[np.float64],
    labels: FloatVector,
    *,
    prior: tuple[FloatVector, FloatVector],
    weights: FloatVector | None = None,
    offset: FloatVector | float = 0.0,
) -> FloatVector:
    """Return the coefficients of a logistic regression by Newton's method.

    The prior is the mean of each coefficient, and its precision; an offset adds to the log odds.
    """
    mean, precision = prior
    w = np.ones(features.shape[0]) if weights is None else weights

    def loss(beta: FloatVector) -> float:
        eta = features @ beta + offset
        return float(w @ (np.logaddexp(0, eta) - labels * eta) + precision @ (beta - mean) ** 2 / 2)

    beta: FloatVector = mean.copy()
    current = loss(beta)
    for _ in range(_STEPS):
        p = expit(features @ beta + offset)
        slope = features.T @ (w * (labels - p)) - precision * (beta - mean)
        curvature = (features * (w * p * (1 - p))[:, None]).T @ features + np.diag(precision)
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        size = 1.0
        while (shorter := loss(beta + size * step)) > current and size > _TOLERANCE:
            size /= 2
        if current - shorter <= _TOLERANCE * (1 + abs(current)):
            return beta
        beta, current = beta + size * step, shorter
    return beta
