"""The generalised Pareto distribution of excesses over a threshold: fit, test, likelihood bounds.

Excesses y of a high threshold have, for a wide class of distributions, nearly the survival function
(1 + xi y / sigma)**(-1 / xi) with shape xi and scale sigma (Pickands 1975).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from fastad._core.types import FloatMatrix, FloatVector

# Maximum likelihood is not regular for lighter tails (Smith 1985); in heavier tails a quantile at a
# rate a thousand times lower is a million times farther, and nothing is known of it.
LOWEST_SHAPE, HIGHEST_SHAPE = -0.5, 2.0
# Shapes nearer to 0 are exponential distributions.
_EXPONENTIAL = 1e-9
# Points of the grid of shapes, and how often it is refined around the best.
_N_SHAPES, _N_ROUNDS = 60, 4
# With the critical value of the chi-squared distribution, intervals at 95 % cover the quantiles of
# normal scores in 89 to 90 % of samples, since their excesses only approach this distribution;
# raised by this factor, in 92 to 93 % and more (bench/tail_models.py).
_RAISED = 1.2
# Samples of the fitted distribution for the test of the fit, and their seed.
_N_RESAMPLES, _SEED = 499, 19_750_119
# Likelihood bounds: shapes, and halvings of the logarithm of the scale.
_N_PROFILE, _N_HALVINGS = 120, 30


@dataclass(frozen=True, slots=True)
class Fit:
    """A fitted distribution."""

    shape: float
    scale: float
    unit: float  # the median excess
    log_likelihood: float  # at these parameters, of excesses in that unit


def fit(excesses: FloatVector) -> Fit:
    """Return the fit of maximum likelihood, with a shape in the range that is allowed."""
    unit = float(np.median(excesses))
    shape, scale = fit_each(excesses[None, :] / unit)
    log_likelihood = log_likelihoods(excesses / unit, shape, scale)
    return Fit(shape.item(), unit * scale.item(), unit, log_likelihood.item())


def fit_each(samples: FloatMatrix) -> tuple[FloatVector, FloatVector]:
    """Return shape and scale of each row, shape (n_rows, n).

    The likelihood at the best scale for a ratio theta of shape to scale has a closed form (Grimshaw
    1993): shape = mean(log(1 + theta y)). Theta is searched on a grid, which is refined.
    """
    middle = np.median(samples, axis=1)
    largest = samples.max(axis=1)
    # theta times the median is 2**shape - 1 of the distribution itself.
    low = np.maximum(2.0 ** (2 * LOWEST_SHAPE) - 1, -(1 - 1e-9) * middle / largest)
    high = np.full_like(low, 2.0 ** (1.5 * HIGHEST_SHAPE) - 1)
    steps = np.linspace(0, 1, _N_SHAPES)
    for _ in range(_N_ROUNDS):
        grid = low[:, None] + (high - low)[:, None] * steps
        values = np.empty_like(grid)
        for j in range(_N_SHAPES):
            values[:, j] = _profile(samples, grid[:, j] / middle)[0]
        best = values.argmax(axis=1)
        rows = np.arange(grid.shape[0])
        low = grid[rows, np.maximum(best - 1, 0)]
        high = grid[rows, np.minimum(best + 1, _N_SHAPES - 1)]
    theta = grid[rows, best] / middle
    _, shape, scale = _profile(samples, theta)
    return shape, scale


def _profile(
    samples: FloatMatrix, theta: FloatVector
) -> tuple[FloatVector, FloatVector, FloatVector]:
    """Return the likelihood per sample at ratios of shape to scale, and the best of both there."""
    shape = np.log1p(theta[:, None] * samples).mean(axis=1)
    shape_inside = np.clip(shape, LOWEST_SHAPE, HIGHEST_SHAPE)
    near_zero = np.abs(theta) * samples.max(axis=1) < 1e-8
    mean = samples.mean(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(near_zero, mean, shape_inside / theta)
        ok = (scale > 0) & np.isfinite(scale)
        value = -np.log(scale) - (1 + 1 / np.where(shape_inside == 0, 1, shape_inside)) * shape
    value = np.where(near_zero, -np.log(mean) - 1, value)
    return np.where(ok, value, -np.inf), np.where(near_zero, 0.0, shape_inside), scale


def log_likelihoods(excesses: FloatVector, shape: FloatVector, scale: FloatVector) -> FloatVector:
    """Return the log likelihood at each pair of parameters, -inf beyond the support."""
    ratio = (shape / scale)[:, None] * excesses
    total = excesses.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log1p(ratio).sum(axis=1)
        is_exponential = np.abs(shape) < _EXPONENTIAL
        sums = np.where(
            is_exponential, total / scale, (1 + 1 / np.where(is_exponential, 1, shape)) * logs
        )
    value = -excesses.shape[0] * np.log(scale) - sums
    return np.where(np.isnan(value), -np.inf, value)


def growth(shape: FloatVector, ratio: float | FloatMatrix) -> FloatVector:
    """Return the excess, in units of the scale, that one in ``ratio`` excesses reaches."""
    is_exponential = np.abs(shape) < _EXPONENTIAL
    safe = np.where(is_exponential, 1.0, shape)
    logs = np.log(ratio)
    return np.where(is_exponential, logs, np.expm1(safe * logs) / safe)


def quantile_bounds(
    excesses: FloatVector, fitted: Fit, ratio: float, alpha: float
) -> tuple[float, float]:
    """Return the bounds of the profile likelihood on the quantile beyond the threshold.

    Over all parameters whose likelihood is not too far below the best, the least and the greatest
    quantile.
    """
    deficit = _RAISED * chi2.isf(alpha, 1) / 2
    n = excesses.shape[0]
    excesses = excesses / fitted.unit
    spread = 8 * (1 + abs(fitted.shape)) / np.sqrt(n)
    shape = np.linspace(
        max(LOWEST_SHAPE, fitted.shape - spread),
        min(HIGHEST_SHAPE, fitted.shape + spread),
        _N_PROFILE,
    )
    goal = fitted.log_likelihood - deficit
    # The best scale of each shape, between which and far ones the likelihood falls.
    best = _best_scale(excesses, shape, fitted.scale / fitted.unit)
    inside = log_likelihoods(excesses, shape, best) >= goal
    shape, best = shape[inside], best[inside]
    if shape.size == 0:
        shape, best = np.array([fitted.shape]), np.array([fitted.scale / fitted.unit])
    ends = []
    for factor in (1e-3, 1e3):
        within, beyond = np.log(best), np.log(best * factor)
        for _ in range(_N_HALVINGS):
            middle = (within + beyond) / 2
            is_within = log_likelihoods(excesses, shape, np.exp(middle)) >= goal
            within, beyond = (
                np.where(is_within, middle, within),
                np.where(is_within, beyond, middle),
            )
        ends.append(np.exp(within) * growth(shape, ratio))
    return fitted.unit * float(ends[0].min()), fitted.unit * float(ends[1].max())


def _best_scale(excesses: FloatVector, shape: FloatVector, start: float) -> FloatVector:
    """Return the scale of maximum likelihood at each shape.

    The likelihood has one maximum over the scale, at which its derivative, that falls, is zero.
    """
    lowest = np.maximum(-shape * excesses.max() * (1 + 1e-12), start * 1e-3)
    low, high = np.log(lowest), np.full_like(shape, np.log(start * 1e3))
    n = excesses.shape[0]
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        ratio = excesses / np.exp(middle)[:, None]
        slope = (1 + shape) * (ratio / (1 + shape[:, None] * ratio)).sum(axis=1) - n
        low, high = np.where(slope > 0, middle, low), np.where(slope > 0, high, middle)
    return np.exp(high)


def anderson_darling(samples: FloatMatrix, shape: FloatVector, scale: FloatVector) -> FloatVector:
    """Return the statistic of Anderson and Darling of each sorted row under its own parameters."""
    n = samples.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = samples / scale[:, None]
        is_exponential = np.abs(shape)[:, None] < _EXPONENTIAL
        safe = np.where(is_exponential, 1.0, shape[:, None])
        log_survival = np.where(
            is_exponential, -ratio, -np.log1p(np.maximum(safe * ratio, -1 + 1e-15)) / safe
        )
    log_below = np.log(-np.expm1(np.minimum(log_survival, -1e-300)))
    weights = 2 * np.arange(1, n + 1) - 1
    statistics: FloatVector = -n - (weights * (log_below + log_survival[:, ::-1])).mean(axis=1)
    return statistics


def p_value_of_fit(excesses: FloatVector, fitted: Fit) -> float:
    """Return the fraction of samples of the fitted distribution that fit their own fit as badly."""
    ordered = np.sort(excesses)[None, :]
    observed = anderson_darling(ordered, np.array([fitted.shape]), np.array([fitted.scale]))
    survival = np.random.default_rng(_SEED).uniform(size=(_N_RESAMPLES, excesses.shape[0]))
    # Excesses in units of the scale, of which the statistic does not depend.
    drawn = np.sort(growth(np.full_like(survival, fitted.shape), 1 / survival), axis=1)
    statistics = anderson_darling(drawn, *fit_each(drawn))
    return float((1 + np.count_nonzero(statistics >= observed)) / (1 + _N_RESAMPLES))
