"""Counts that somebody else made, in bins of scores, as the cells of a sketch."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from fastad._core.arrays import check_no_nan, check_rows, real_vector, refuse_wrong
from fastad._core.parameters import check_choice
from fastad._core.types import ArrayLike, CountVector, FloatVector, IntVector, ScoreVector
from fastad._kernels.ordering import keys
from fastad.errors import InvalidInputError
from fastad.ordering.labels import check_weights
from fastad.ordering.raw import KeyCodec, view_raw
from fastad.streaming.sketches.cell_table import MOST_POINTS
from fastad.streaming.sketches.cells import ScoreCells

Closed: TypeAlias = Literal["left", "right", "both"]
# From here on, floats skip integers.
_FLOATS_MERGE = 2.0**53


def bins_of(
    edges: ArrayLike, normals: ArrayLike, anomalies: ArrayLike, closed: Closed
) -> ScoreCells:
    """Check counts in bins as a user gives them; return the bins that are not empty."""
    check_choice(closed, get_args(Closed), "closed")
    counts = _check_counts(normals, anomalies)
    return _occupied(*_ends(edges, counts.shape[1], closed), counts)


def ranges_of(
    low: FloatVector, high: FloatVector, normals: ArrayLike, anomalies: ArrayLike
) -> ScoreCells:
    """Check counts in ranges of scores in any order, without NaN; those that overlap are joined."""
    counts = _check_counts(normals, anomalies)
    refuse_wrong(high < low, high, "high", "not be below low")
    return _occupied(rank_bits(low), rank_bits(high), counts)


def _occupied(lowest: IntVector, highest: IntVector, counts: CountVector) -> ScoreCells:
    """Return the ranges that have a count as cells."""
    kept = counts.sum(axis=0) > 0
    normals, anomalies = counts[:, kept]
    codec = KeyCodec(np.dtype(np.float64), 0)
    return ScoreCells.joining(lowest[kept], highest[kept], normals, anomalies, codec)


def _check_counts(normals: ArrayLike, anomalies: ArrayLike) -> CountVector:
    """Return counts of shape (2, n_bins): integers where all are, else total weights."""
    check_rows({"normals": normals, "anomalies": anomalies})
    given = {"normals": real_vector(normals, "normals")}
    given["anomalies"] = real_vector(anomalies, "anomalies")
    sizes = [len(counts) for counts in given.values()]
    if sizes[0] != sizes[1]:
        raise InvalidInputError(
            f"anomalies must have one count for each bin; found {sizes[1]} counts, and {sizes[0]} "
            "of normals"
        )
    both: CountVector = np.stack([check_weights(each, name) for name, each in given.items()])
    if np.all(both == np.floor(both)):
        # They count samples. Where one is as large, it may have been rounded on its way.
        for name, counts in given.items():
            refuse_wrong(
                counts >= _FLOATS_MERGE, counts, name, "be below 2^53 where all are integers"
            )
        total = both.sum(dtype=np.float64)
        if total >= MOST_POINTS:
            raise InvalidInputError(
                f"normals and anomalies must be fewer than 2^62 in all; found {total:.6g}",
                argument="normals",
            )
    return both


def exact_floats(scores: ScoreVector, name: str) -> FloatVector:
    """Return scores as float64, which must not round integers."""
    floats: FloatVector = scores.astype(np.float64)
    rounded = np.abs(floats) >= _FLOATS_MERGE if scores.dtype.kind in "iu" else np.False_
    refuse_wrong(rounded, scores, name, "be floats, or integers below 2^53")
    return floats


def rank_bits(scores: FloatVector) -> IntVector:
    """Return integers that are ordered as scores are, neighbours for neighbouring floats."""
    raw = view_raw(scores)
    falling = np.empty(scores.shape[0], np.int64)
    keys.fall(raw.values, raw.largest, raw.signed, falling)
    return ~falling


def _ends(edges: ArrayLike, n_bins: int, closed: Closed) -> tuple[IntVector, IntVector]:
    """Return the rank bits of the lowest and the highest score of each bin."""
    shape = (n_bins, 2) if closed == "both" else (n_bins + 1,)
    if np.shape(edges) != shape:
        what = "lowest and highest score of each bin" if closed == "both" else "an edge more"
        raise InvalidInputError(
            f"edges must have {what}, shape {shape} for closed={closed!r} and {n_bins} bins; found "
            f"shape {np.shape(edges)}"
        )
    if closed == "both":
        edges = np.asarray(edges).reshape(-1)
    values = exact_floats(real_vector(edges, "edges"), "edges")
    check_no_nan(values, "edges", None)
    falls = values[1:] < values[:-1] if closed == "both" else values[1:] <= values[:-1]
    if closed == "both":
        # Bins have no score in common.
        falls[1::2] |= values[2::2] == values[1:-1:2]
    refuse_wrong(np.append(False, falls), values, "edges", "rise")
    bits = rank_bits(values)
    if closed == "both":
        return bits[::2], bits[1::2]
    lowest, highest = bits[:-1].copy(), bits[1:].copy()
    # Outermost edges are part of the bins, as they are of NumPy's histograms.
    if closed == "left":
        highest[:-1] -= 1
    else:
        lowest[1:] += 1
    return lowest, highest
