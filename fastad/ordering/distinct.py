"""Samples of each class at each distinct score, where scores have few: without sorting samples."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.threads import slices, thread_map
from fastad._core.types import IntVector, ScoreVector
from fastad._kernels.ordering import cells, distinct, keys
from fastad.ordering.cuts import CurvePart
from fastad.ordering.labels import Labels, refuse_missing_scores
from fastad.ordering.raw import RawScores, view_raw

# With fewer samples for each value that a type has, they are sorted as soon: all, or a part.
_SAMPLES_PER_VALUE, _SAMPLES_PER_VALUE_OF_PART = 4, 32
# Scores that show of most float32 that they are no bfloat16.
_N_FIRST = 2**10
# A list of so many values has nearly all of the others if a sample has no more.
_N_SAMPLED, _MOST_LISTED = 2**10, 2**8
# A list is used if it leaves at most this fraction of the samples to be sorted.
_MOST_OTHERS = 1 / 16
_SMALLEST_DIRECTORY = 2**12


class DistinctScores(NamedTuple):
    """Distinct scores from the highest down, and the numbers of samples that have them."""

    keys: IntVector  # (n_distinct,): falling keys: the complements of the rank bits
    n_normals: IntVector  # (n_distinct,)
    n_anomalies: IntVector  # (n_distinct,)


def count_narrow(
    scores: ScoreVector, labels: Labels, name: str, part: CurvePart | None = None
) -> DistinctScores | None:
    """Count scores of 8 or 16 bits; None for wider ones, and for few samples.

    A float32 may be a bfloat16: the lower half of its bits is 0.
    """
    if scores.itemsize > 2 and scores.dtype != np.float32:
        return None
    n_bits = min(8 * scores.itemsize, 16)
    dropped = 8 * scores.itemsize - n_bits
    per_value = _SAMPLES_PER_VALUE if part is None else _SAMPLES_PER_VALUE_OF_PART
    if scores.shape[0] < per_value << n_bits:
        return None
    patterns = as_readonly(scores, np.dtype(f"u{scores.itemsize}").type)
    if np.any(patterns[:_N_FIRST] & ((1 << dropped) - 1)):
        return None

    def count(rows: slice) -> tuple[IntVector, bool]:
        counts = np.zeros(2 << n_bits, np.int64)
        is_short = distinct.count_patterns(patterns[rows], dropped, labels.values[rows], counts)
        return counts, is_short

    of_parts, are_short = zip(*thread_map(count, slices(patterns.shape[0])), strict=True)
    if not all(are_short):
        return None
    counts = np.sum(of_parts, axis=0).reshape(-1, 2)
    falling, keys_of = _falling_patterns(scores.dtype)
    if scores.dtype.kind == "f":
        # Both zeros are one score.
        counts[0] += counts[1 << n_bits - 1]
    counts = counts[falling]
    if counts.sum() < patterns.shape[0]:
        refuse_missing_scores(scores, labels, name)
    present = np.flatnonzero(counts[:, 0] + counts[:, 1])
    return DistinctScores(keys_of[present], *counts[present].T)


@cache
def _falling_patterns(dtype: np.dtype[Any]) -> tuple[IntVector, IntVector]:
    """Return the bits of all scores of a type from the highest down, one zero, and their keys.

    Of float32, the upper half of the bits of those that are bfloat16.
    """
    n_bits = min(8 * dtype.itemsize, 16)
    patterns = np.arange(1 << n_bits, dtype=f"u{dtype.itemsize}")
    scores = (patterns << (8 * dtype.itemsize - n_bits)).view(dtype)
    kept = ~np.isnan(scores) & ~((scores == 0) & (patterns > 0))
    raw = view_raw(scores[kept])
    falling = _falling_keys(raw.values, raw)
    order = np.argsort(falling)
    return np.flatnonzero(kept)[order], falling[order]


def count_listed(raw: RawScores, labels: Labels, name: str) -> DistinctScores | None:
    """Count some values by their positions in a list, and sort the samples with other values.

    None where there are too many of either.
    """
    n_samples, listed = raw.values.shape[0], np.unique(raw.sample(_N_SAMPLED).values)
    if listed.shape[0] > _MOST_LISTED:
        return None
    # At most one entry in eight is taken, so that most values are found at once.
    size = max(1 << (8 * listed.shape[0]).bit_length(), _SMALLEST_DIRECTORY)
    directory = np.full((size, 2), -1, np.int64)
    cells.fill_directory(as_readonly(listed.astype(np.int64)), directory)
    set_readonly(directory)

    def count(rows: slice) -> tuple[IntVector, IntVector]:
        counts = np.zeros(2 * listed.shape[0], np.int64)
        others = np.empty(rows.stop - rows.start, np.int64)
        n_others = distinct.count_listed(
            raw.values[rows], labels.values[rows], directory, counts, others
        )
        return counts, rows.start + others[:n_others]

    parts = thread_map(count, slices(n_samples))
    others = np.concatenate([rows for _, rows in parts])
    if others.shape[0] > _MOST_OTHERS * n_samples:
        return None
    values, position = np.unique(raw.values[others], return_inverse=True)
    of_others = np.bincount(2 * position + labels.values[others], minlength=2 * values.shape[0])
    counts = np.concatenate([np.sum([part for part, _ in parts], axis=0), of_others])
    falling = _falling_keys(np.concatenate([listed, values]), raw)
    order = np.argsort(falling)
    falling = falling[order]
    raw.refuse_nan(~int(falling[-1]), ~int(falling[0]), labels, name)
    # Both zeros are one score.
    first = np.flatnonzero(np.append(True, falling[1:] != falling[:-1]))
    return DistinctScores(falling[first], *np.add.reduceat(counts.reshape(-1, 2)[order], first).T)


def _falling_keys(values: npt.NDArray[Any], raw: RawScores) -> IntVector:
    """Return the keys of some values, by the rule for raw scores."""
    falling = np.empty(values.shape[0], np.int64)
    keys.fall(as_readonly(values), raw.largest, raw.signed, falling)
    return falling
