"""Several detectors on the same points, each ordered with its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatVector, IntVector, ShortVector
from fastad._kernels.random import bits
from fastad._kernels.resampling import resample
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts, count_rows
from fastad.ordering.labels import Labels, check_scores
from fastad.ordering.orders import RowOrder, order_rows
from fastad.ordering.raw import KeyCodec
from fastad.uncertainty.bootstrap import Ranking
from fastad.uncertainty.influence import influence


@dataclass(frozen=True, slots=True, eq=False)
class Detectors:
    """What is known of detectors on the same points.

    Attributes
    ----------
    labels : Labels
        Of the points, unweighted.
    names, shown : sequence of str
        Of the detectors, and of their scores in messages.
    rankings : sequence of Ranking
        Points of each class are numbered as they come among the rows, alike for all detectors.
    """

    labels: Labels
    names: Sequence[str]
    shown: Sequence[str]
    rankings: Sequence[Ranking]

    @property
    def n_anomalies(self) -> int:
        """Number of anomalies."""
        return self.labels.n_anomalies

    @property
    def n_normals(self) -> int:
        """Number of normal points."""
        return int(self.labels.values.shape[0]) - self.labels.n_anomalies


def order_detectors(labels: Labels, scores: Sequence[tuple[str, str, npt.ArrayLike]]) -> Detectors:
    """Order the scores of each detector, given its name and how messages name its scores."""
    # Places among the points of one's own class.
    anomalous = labels.values == 1
    places = np.where(anomalous, np.cumsum(anomalous), np.cumsum(~anomalous)) - 1
    checked = [(shown, check_scores(values, labels, name=shown)) for _, shown, values in scores]
    ones = np.ones(labels.values.shape[0], np.int64)

    def rank(detector: tuple[str, npt.NDArray[np.generic]]) -> Ranking:
        shown, values = detector
        order = order_rows(values, labels, shown)
        return Ranking(count_rows(order, labels, ones), _by_class(order, labels, places))

    names = [name for name, _, _ in scores]
    return Detectors(labels, names, [shown for shown, _ in checked], thread_map(rank, checked))


def row_influences(ranking: Ranking, asked: BoundMeasure) -> tuple[FloatVector, FloatVector]:
    """Return the influence of each anomaly and of each normal point, as they come."""
    counts = ranking.counts
    by_score = influence(counts, asked)
    assert ranking.rows is not None
    anomalies, normals = ranking.rows
    of_anomalies, of_normals = np.empty(counts.tps[-1]), np.empty(counts.fps[-1])
    of_anomalies[anomalies] = np.repeat(by_score.anomalies, np.diff(counts.tps))
    of_normals[normals] = np.repeat(by_score.normals, np.diff(counts.fps))
    return of_anomalies, of_normals


def _by_class(
    order: RowOrder, labels: Labels, places: IntVector
) -> tuple[ShortVector, ShortVector]:
    anomalous = labels.values[order.rows] == 1
    ordered = places[order.rows].astype(np.int32)
    return ordered[anomalous], ordered[~anomalous]


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
    asked: BoundMeasure,
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
    labels = as_readonly(detectors.labels.values)
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
                resample.flip(np.uint64(bits(key, i)), flips)
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


def _difference(asked: BoundMeasure, like: OrderedCounts, fps: IntVector, tps: IntVector) -> float:
    first, second = (asked.value_or_nan(_counts(like, fps[i], tps[i])) for i in range(2))
    return first - second


def _counts(like: OrderedCounts, fps: IntVector, tps: IntVector) -> OrderedCounts:
    """Return the counts at the ranks that some point has; keys are the ranks."""
    flagged = fps + tps
    kept = np.flatnonzero(np.diff(flagged, prepend=-1))
    return replace(
        like,
        fps=as_readonly(fps[kept]),
        tps=as_readonly(tps[kept]),
        keys=as_readonly(kept[1:].astype(np.int64)),
    )
