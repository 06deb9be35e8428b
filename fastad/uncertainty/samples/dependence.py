"""Variances of dependent rows: between blocks in time, and between units of different sizes."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.types import FloatVector

# Politis and White 2004, section 3: a correlation below this many standard errors, for as many
# lags, counts as 0.
_STANDARD_ERRORS = 2.0
_FEWEST_LAGS = 5


def autocovariances(series: FloatVector) -> FloatVector:
    """Return the autocovariance at each lag, sums divided by the length; O(n log n)."""
    n = series.shape[0]
    centred = series - series.mean()
    spectrum = np.fft.rfft(centred, 2 * n)
    covariances: FloatVector = np.fft.irfft(spectrum * np.conj(spectrum), 2 * n)[:n] / n
    return covariances


def block_length(series: FloatVector) -> float:
    """Return the mean length of blocks of the stationary bootstrap that is best for a mean.

    Politis and White 2004, with the correction of Patton, Politis and White 2009; at least 1, and
    at most a third of the series or three times the square root of its length.
    """
    n = series.shape[0]
    covariances = autocovariances(series)
    if covariances[0] <= 0:
        return 1.0
    n_lags = max(_FEWEST_LAGS, math.ceil(math.sqrt(math.log10(n))))
    longest = min(math.ceil(math.sqrt(n)) + n_lags, n - 1)
    is_small = np.abs(covariances[1 : longest + 1]) < (
        _STANDARD_ERRORS * math.sqrt(math.log10(n) / n) * covariances[0]
    )
    # The first lag after which ``n_lags`` are small.
    runs = np.convolve(is_small, np.ones(n_lags), "valid") == n_lags
    if runs.any():
        last = int(np.argmax(runs))
    else:
        large = np.flatnonzero(~is_small)
        last = int(large[-1]) + 1 if large.size else 1
    width = min(2 * max(last, 1), longest)
    lags = np.arange(1, width + 1)
    taper = np.minimum(1.0, 2 * (1 - lags / width))
    weighted = taper * covariances[1 : width + 1]
    spread = 2 * float(lags @ weighted)
    long_run = float(covariances[0] + 2 * weighted.sum())
    if long_run <= 0:
        return 1.0
    length = (2 * spread**2 / (2 * long_run**2)) ** (1 / 3) * n ** (1 / 3)
    return float(min(max(length, 1.0), math.ceil(min(3 * math.sqrt(n), n / 3))))


def long_run_variance(series: FloatVector, length: float) -> float:
    """Return the variance of the series' sum, from blocks of this mean length.

    At least the variance of the bootstrap, as the weights would leave hardly any where neighbours
    depend negatively.
    """
    covariances = autocovariances(series)
    n = series.shape[0]
    of_weights = (lag_weights(n, length), kept_by_blocks(n, length))
    return max(_variance(covariances, weights) for weights in of_weights)


def bootstrap_variance(series: FloatVector, length: float) -> float:
    """Return the variance of the series' sum over all draws of the stationary bootstrap.

    Politis and Romano 1994, lemma 1, for blocks of this mean length.
    """
    return _variance(autocovariances(series), kept_by_blocks(series.shape[0], length))


def _variance(covariances: FloatVector, weights: FloatVector) -> float:
    n = covariances.shape[0]
    return float(max(n * (covariances[0] + 2 * (weights @ covariances[1:])), 0.0))


def lag_weights(n: int, length: float) -> FloatVector:
    """Return the weight of the autocovariance at each lag from 1 on.

    Blocks cut what depends across their borders, and so make the variance too small: of a series
    that remembers 0.9 of its last value, by 28 % with blocks of 25. Twice this variance, less
    the variance from blocks of a third of the length, is as much too large as it was too small
    (Vats and Flegal 2022, "Lugsail lag windows for estimating time-average covariance matrices").
    """
    return 2 * kept_by_blocks(n, length) - kept_by_blocks(n, max(length / 3, 1.0))


def df_of_lags(n: int, length: float) -> float:
    """Return the degrees of freedom of a variance by these weights.

    Half of those of a long series (Priestley 1981, 6.2.4), as a series that is closed to a circle
    has each lag twice; of blocks that are long beside it the variance is too low, which this makes
    up for.
    """
    weights = lag_weights(n, length)
    return n / (1 + 2 * float(weights @ weights))


def kept_by_blocks(n: int, length: float) -> FloatVector:
    """Return the fraction of the autocovariance at each lag from 1 on that such blocks keep."""
    lags = np.arange(1, n)
    kept = 1 - 1 / length
    weights: FloatVector = (1 - lags / n) * kept**lags + lags / n * kept ** (n - lags)
    return weights


def df_of_squares(squares: npt.NDArray[Any]) -> float:
    """Return the degrees of freedom of a sum of squares, small where a few of them dominate.

    From the fourth moments: a variance with as many degrees of freedom has twice its square over
    them as its own variance (Satterthwaite 1946).
    """
    total = float(squares.sum())
    spread = float((squares**2).sum()) - total**2 / squares.shape[0]
    return max(2 * total**2 / spread, 1.0) if spread > 0 else math.inf


def df_of_sizes(sizes: npt.NDArray[Any]) -> float:
    """Return the degrees of freedom of a variance between units of such sizes.

    Those of Satterthwaite 1946 where all samples of a unit are equal, and units independent with
    one variance (Bell and McCaffrey 2002): n - 1 of n equal units, near 1 where one has half.
    """
    w = sizes / sizes.sum()
    w2, w3, w4, w5 = (float((w**power).sum()) for power in (2, 3, 4, 5))
    trace = w2 - 2 * w3 + w2**2
    squares = w4 + 4 * w2 * w4 - 4 * w5 + 2 * w3**2 - 4 * w2**2 * w3 + w2**4
    # Equal units are as many as there are, in spite of rounding.
    return round(trace**2 / squares, 6) if squares > 0 else 1.0
