"""Covariance of the difference of two detectors by threshold, of samples of a design."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fastad._core.types import Blocks, FloatMatrix, IntVector
from fastad.uncertainty.block_length import block_length, lag_weights
from fastad.uncertainty.sampling import DesignedSample


def covariance_of_design(
    sample: DesignedSample,
    blocks: Blocks | None,
    reached: Sequence[IntVector],
    slopes: npt.NDArray[np.float64],
) -> tuple[FloatMatrix, float]:
    """Return the covariance between thresholds, and how many clusters, rows or blocks there are.

    From what each unit adds to the difference: for each row the number of thresholds that each
    score reaches, and the slopes of both detectors, shape (2, n_thresholds, 2). O(units *
    thresholds) memory.
    """
    n_thresholds = slopes.shape[1]
    added = np.zeros((sample.n_units, n_thresholds))
    fewest = float(sample.n_units)
    for label, of_class in ((1, 0), (0, 1)):
        rows = np.flatnonzero(sample.labels == label)
        units = sample.units[rows]
        weights = sample.weights[rows] / sample.weights[rows].sum()
        total = np.bincount(units, weights, sample.n_units)
        fewest = min(fewest, float(np.count_nonzero(total)))
        change = np.zeros_like(added)
        for sign, detector in ((1, 0), (-1, 1)):
            cells = units * (n_thresholds + 1) + reached[detector][rows]
            table = np.bincount(cells, weights, sample.n_units * (n_thresholds + 1))
            by_unit = table.reshape(sample.n_units, -1)[:, ::-1].cumsum(axis=1)[:, ::-1]
            change += sign * slopes[detector, :, of_class] * by_unit[:, 1:]
        added += change - np.outer(total, change.sum(axis=0))
    n = sample.n_units
    if blocks is None:
        return n / (n - 1) * (added.T @ added), fewest
    length = max(map(block_length, added.T)) if blocks == "auto" else float(blocks)
    # The long-run covariance, all lags by one convolution.
    of_lags = lag_weights(n, length)
    kernel = np.concatenate([[1.0], of_lags, [0.0], of_lags[::-1]])
    spectrum = np.fft.rfft(added, 2 * n, axis=0) * np.fft.rfft(kernel)[:, None]
    covariance: FloatMatrix = added.T @ np.fft.irfft(spectrum, 2 * n, axis=0)[:n]
    return (covariance + covariance.T) / 2, n / length
