"""Exchanging the ranks that two detectors give a point, at random or in every way."""

from dataclasses import dataclass, replace

import numpy as np

from fastad._kernels import resample
from fastad._threads import in_steps, thread_map
from fastad._types import FloatVector, IntVector
from fastad._validate import fixed
from fastad.certainty.asked import Asked
from fastad.certainty.detectors import Detectors
from fastad.certainty.replicates import Ranking
from fastad.counts import OrderedCounts
from fastad.errors import InvalidInputError
from fastad.ordering import KeyCodec

# Differences that are equal but for rounding are equal: the measures are right to 1e-14 or so.
_ROUNDING = 1e-12
_POINTS_A_STEP = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class NullDifferences:
    """Differences of two detectors whose ranks were exchanged.

    Attributes
    ----------
    values : numpy.ndarray
        A difference of each permutation that leaves it defined.
    n_undefined : int
        How many do not.
    exact : bool
        Whether every permutation was tried.
    """

    values: FloatVector
    n_undefined: int
    exact: bool

    def p_value(self, difference: float) -> float:
        """Return how probable so large a difference is, of either sign."""
        extreme = np.count_nonzero(np.abs(self.values) >= abs(difference) - _ROUNDING)
        if self.exact:
            return float(extreme / self.values.shape[0])
        # The data themselves are one permutation more (Phipson and Smyth 2010).
        return float((1 + extreme) / (1 + self.values.shape[0]))


def permute(
    detectors: Detectors,
    pair: tuple[int, int],
    asked: Asked,
    n_resamples: int,
    key: np.uint64,
) -> NullDifferences:
    """Return the differences of two detectors if each point's two ranks are exchangeable.

    Scores of two detectors have no common unit, their ranks have: each point keeps its two mean
    ranks, and a coin decides which detector gets which (Venkatraman and Begg 1996, for areas).
    """
    if not asked.reads_ranks:
        raise InvalidInputError(
            f"method='permutation' exchanges ranks, and {asked.measure.name} reads scores"
        )
    first, second = (mean_ranks(detectors.rankings[i], detectors) for i in pair)
    known = np.unique(np.concatenate([first, second]))
    ranks = (
        np.searchsorted(known, first).astype(np.int32),
        np.searchsorted(known, second).astype(np.int32),
    )
    labels = fixed(detectors.labels.values)
    differ = np.flatnonzero(first != second)
    exact = differ.shape[0] < 63 and 2 ** differ.shape[0] <= n_resamples
    n_tried = 2 ** differ.shape[0] if exact else n_resamples
    like = replace(detectors.rankings[pair[0]].counts, codec=KeyCodec(np.dtype(np.int64), 0))
    found = np.empty(n_tried)

    def fill(part: range) -> None:
        flips = np.zeros(labels.shape[0], np.uint8)
        fps, tps = np.empty((2, 2, known.shape[0] + 1), np.int64)
        for i in part:
            if exact:
                flips[differ] = (i >> np.arange(differ.shape[0])) & 1
            else:
                resample.flip(np.uint64(resample.bits(key, i)), flips)
            resample.count_swapped(flips, labels, ranks, fps, tps)
            found[i] = _difference(asked, like, fps, tps)

    step = max(1, _POINTS_A_STEP // labels.shape[0])
    thread_map(fill, in_steps(0, n_tried, step))
    defined = found[~np.isnan(found)]
    return NullDifferences(defined, n_tried - defined.shape[0], exact)


def mean_ranks(ranking: Ranking, detectors: Detectors) -> IntVector:
    """Return twice the mean rank of each row; rank 1 is highest."""
    counts = ranking.counts
    flagged = counts.fps + counts.tps
    by_score = flagged[:-1] + flagged[1:] + 1
    ranks = np.empty(detectors.labels.values.shape[0], np.int64)
    anomalous = detectors.labels.values == 1
    assert ranking.rows is not None
    for own, rows, cumulative in zip(
        (anomalous, ~anomalous), ranking.rows, (counts.tps, counts.fps), strict=True
    ):
        of_class = np.empty(cumulative[-1], np.int64)
        of_class[rows] = np.repeat(by_score, np.diff(cumulative))
        ranks[own] = of_class
    return ranks


def _difference(asked: Asked, like: OrderedCounts, fps: IntVector, tps: IntVector) -> float:
    first, second = (asked.value_or_nan(_counts(like, fps[i], tps[i])) for i in range(2))
    return first - second


def _counts(like: OrderedCounts, fps: IntVector, tps: IntVector) -> OrderedCounts:
    """Return the counts at the ranks that some point has; keys are the ranks."""
    flagged = fps + tps
    kept = np.flatnonzero(np.diff(flagged, prepend=-1))
    return replace(
        like, fps=fixed(fps[kept]), tps=fixed(tps[kept]), keys=fixed(kept[1:].astype(np.int64))
    )
