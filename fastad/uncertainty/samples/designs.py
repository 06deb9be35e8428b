"""Sampling designs: clusters of rows, and blocks of rows in time with their lengths."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.parameters import check_count, short_repr
from fastad._core.row_index import RowIndex
from fastad._core.types import Blocks, FloatVector, IntVector
from fastad.errors import InvalidInputError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels


@dataclass(frozen=True, slots=True, eq=False)
class SamplingDesign:
    """How the rows that a user gave were sampled, beside their weights.

    Attributes
    ----------
    clusters : numpy.ndarray of shape (n_rows,) or None
        Number of the cluster of each row.
    blocks : int, "auto" or None
        Mean length of the blocks of rows that follow each other in time.
    """

    clusters: IntVector | None = None
    blocks: Blocks | None = None

    @property
    def is_independent(self) -> bool:
        """Whether every row was sampled by itself."""
        return self.clusters is None and self.blocks is None


INDEPENDENT = SamplingDesign()


def check_design(clusters: Any, blocks: Any, rows: RowIndex) -> SamplingDesign:
    """Check the arguments that say how rows depend on each other."""
    if clusters is not None and blocks is not None:
        raise InvalidInputError(
            "blocks must not be given with clusters: rows come in clusters or in time; found both",
            argument="blocks",
        )
    if clusters is not None:
        codes, distinct = factorize(clusters, "clusters", rows)
        # A cluster for each row says nothing.
        return INDEPENDENT if len(distinct) == rows.n_rows else SamplingDesign(clusters=codes)
    if blocks is None:
        return INDEPENDENT
    if isinstance(blocks, str) and blocks == "auto":
        return SamplingDesign(blocks="auto")
    if isinstance(blocks, str):
        raise InvalidInputError(
            f"blocks must be an integer or 'auto'; found {short_repr(blocks)}", argument="blocks"
        )
    length = check_count(blocks, "blocks")
    if length > rows.n_rows:
        raise InvalidInputError(
            f"blocks must be at most the number of rows, {rows.n_rows}; found {length}",
            argument="blocks",
        )
    return SamplingDesign(blocks=length)


def needs_design(design: SamplingDesign, labels: Labels) -> bool:
    """Return whether samples depend on each other or have real weights."""
    is_real = labels.weights is not None and labels.weights.dtype.kind == "f"
    return is_real or not design.is_independent


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
    """Return the variance of the series' sum over all draws of the stationary bootstrap.

    Politis and Romano 1994, lemma 1, for blocks of this mean length.
    """
    n = series.shape[0]
    covariances = autocovariances(series)
    weights = lag_weights(n, length)
    return float(max(n * (covariances[0] + 2 * (weights @ covariances[1:])), 0.0))


def lag_weights(n: int, length: float) -> FloatVector:
    """Return the fraction of the autocovariance at each lag from 1 on that such blocks keep."""
    lags = np.arange(1, n)
    kept = 1 - 1 / length
    weights: FloatVector = (1 - lags / n) * kept**lags + lags / n * kept ** (n - lags)
    return weights
