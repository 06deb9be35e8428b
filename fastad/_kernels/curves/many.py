"""Measures of many ROC curves at once, each through as many points."""

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector


@kernel
def heights(
    xs: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    ys: FloatMatrix,  # (n_curves, k)
    at: float,  # from 0 to 1
    conservative: bool,  # noqa: FBT001 - kernels take no keywords
    values: FloatVector,  # (n_curves,) written here
) -> None:
    """Write the height of each curve, from (0, 0) to (1, 1), at the top of vertical steps."""
    k = xs.shape[1]
    for row in range(xs.shape[0]):
        right = np.searchsorted(xs[row], at, side="right")
        x = xs[row, right - 1] if right > 0 else 0.0
        y = ys[row, right - 1] if right > 0 else 0.0
        if at >= 1.0:
            y = 1.0
        elif not conservative:
            next_x = xs[row, right] if right < k else 1.0
            next_y = ys[row, right] if right < k else 1.0
            y += (at - x) / (next_x - x) * (next_y - y)
        values[row] = y


@kernel
def abscissas(
    xs: FloatMatrix,  # (n_curves, k)
    ys: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    at: float,  # from 0 to 1
    conservative: bool,  # noqa: FBT001 - kernels take no keywords
    values: FloatVector,  # (n_curves,) written here
) -> None:
    """Write where each curve, from (0, 0) to (1, 1), first has a height."""
    k = xs.shape[1]
    for row in range(xs.shape[0]):
        right = np.searchsorted(ys[row], at, side="left")
        next_x = xs[row, right] if right < k else 1.0
        if at == 0.0:
            next_x = 0.0
        elif not conservative:
            next_y = ys[row, right] if right < k else 1.0
            x = xs[row, right - 1] if right > 0 else 0.0
            y = ys[row, right - 1] if right > 0 else 0.0
            next_x = x + (at - y) / (next_y - y) * (next_x - x)
        values[row] = next_x


@kernel
def areas(
    xs: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    ys: FloatMatrix,  # (n_curves, k)
    low: float,
    high: float,
    values: FloatVector,  # (n_curves,) written here
) -> None:
    """Integrate each curve, from (0, 0) to (1, 1), between two abscissas."""
    k = xs.shape[1]
    for row in range(xs.shape[0]):
        total = 0.0
        x = 0.0
        y = 0.0
        for i in range(k + 1):
            next_x = xs[row, i] if i < k else 1.0
            next_y = ys[row, i] if i < k else 1.0
            left = max(x, low)
            right = min(next_x, high)
            if right > left:
                slope = (next_y - y) / (next_x - x)
                middle = 0.5 * (left + right)
                total += (right - left) * (y + (middle - x) * slope)
            x = next_x
            y = next_y
        values[row] = total
