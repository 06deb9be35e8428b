"""Measures of many ROC curves at once, each with the same number of points."""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix
from fastad._kernels.curves.area import log1p_less


@kernel
def coordinates(
    known: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    other: FloatMatrix,  # (n_curves, k) likewise
    at: float,  # from 0 to 1
    first: bool,  # noqa: FBT001 - kernels take no keywords
    conservative: bool,  # noqa: FBT001
    values: FloatVector,  # (n_curves,) written here
) -> None:
    """Write the other coordinate of each curve, from (0, 0) to (1, 1), at one known.

    On a piece where the other one alone rises it is the first or the last. Conservative, it is the
    one of a point of the curve, before the known one for the last and after it for the first.
    """
    k = known.shape[1]
    end = 0.0 if first else 1.0
    for row in range(known.shape[0]):
        if at == end:
            values[row] = end
            continue
        if first:
            right = np.searchsorted(known[row], at, side="left")
        else:
            right = np.searchsorted(known[row], at, side="right")
        start = known[row, right - 1] if right > 0 else 0.0
        low = other[row, right - 1] if right > 0 else 0.0
        stop = known[row, right] if right < k else 1.0
        high = other[row, right] if right < k else 1.0
        if conservative:
            values[row] = high if first else low
        else:
            values[row] = low + (at - start) / (stop - start) * (high - low)


@kernel
def equal_errors(
    xs: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    ys: FloatMatrix,  # (n_curves, k) likewise
    n_normals: int,
    n_anomalies: int,  # at most 2^61 pairs of both
    found: IntMatrix,  # (n_curves, 4) written here
) -> None:
    """Find the piece of each curve, rounded to counts, on which FPR and FNR are equal.

    Written are the false positives at its ends, then FPR - FNR there in pairs.
    """
    k = xs.shape[1]
    for row in range(xs.shape[0]):
        # FPR - FNR is -1 at the first of all points and 1 at the last.
        left, right = 0, k + 1
        found[row, 0], found[row, 1] = 0, n_normals
        found[row, 2], found[row, 3] = -n_normals * n_anomalies, n_normals * n_anomalies
        while right - left > 1:
            middle = (left + right) // 2
            fp = np.int64(np.rint(xs[row, middle - 1] * n_normals))
            tp = np.int64(np.rint(ys[row, middle - 1] * n_anomalies))
            excess = fp * n_anomalies + (tp - n_anomalies) * n_normals
            side = 1 if excess >= 0 else 0
            found[row, side], found[row, 2 + side] = fp, excess
            if side:
                right = middle
            else:
                left = middle


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


@kernel
def precisions(
    xs: FloatMatrix,  # (n_curves, k) rising in each row, within (0, 1)
    ys: FloatMatrix,  # (n_curves, k) likewise
    ratio: float,  # of normals to anomalies
    at_end: bool,  # noqa: FBT001 - kernels take no keywords
    along: bool,  # noqa: FBT001
    values: FloatVector,  # (n_curves,) written here
) -> None:
    """Write the mean precision over the TPR: of each piece at its end, along it, or the lower.

    Along it, see `area.precision_area`.
    """
    k = xs.shape[1]
    for row in range(xs.shape[0]):
        total, before_x, before_y = 0.0, 0.0, 0.0
        for i in range(k + 1):
            x = ratio * (xs[row, i] if i < k else 1.0)
            y = ys[row, i] if i < k else 1.0
            rise = y - before_y
            if rise > 0.0:
                start = before_x + before_y
                part = rise * y / (x + y) if at_end else rise
                if along and start == 0.0:
                    part = min(part, rise * rise / (rise + x))
                elif along and x == before_x:
                    part = min(part, rise - x * math.log1p(rise / start))
                elif along:
                    a = 1.0 + (x - before_x) / rise
                    u = (x - before_x + rise) / start
                    integral = before_y / a * math.log1p(u) + start / (a * a) * log1p_less(u)
                    part = min(part, integral)
                total += part
            before_x, before_y = x, y
        values[row] = total
