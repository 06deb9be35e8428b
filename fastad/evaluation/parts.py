"""Kinds of anomalies and segments of normals, from the order of all scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.arrays import as_readonly, set_readonly
from fastad._core.types import BoolVector, IntVector, ScoreVector, Threshold
from fastad._kernels.ordering import keys
from fastad._kernels.ordering import kinds as kernels
from fastad.evaluation.results import OperatingPoint
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure, Extremes
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.groups import Groups
from fastad.ordering.labels import Labels
from fastad.ordering.membership import Membership
from fastad.ordering.raw import view_raw

if TYPE_CHECKING:
    from fastad.uncertainty.rates.group_rates import RateComparison


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Kinds of anomalies and segments of normals, and what is evaluated of them."""

    kinds: Membership | None
    segments: Membership | None
    confidence_level: Fraction
    rates: Sequence[Fraction]  # operating points where no measure has any
    events_per_day: float | None

    def take(self, rows: IntVector) -> "Parts":
        """Return the parts of some of the rows, which are numbered anew."""
        kinds, segments = (
            None if each is None else each.take(rows) for each in (self.kinds, self.segments)
        )
        return replace(self, kinds=kinds, segments=segments)


def compare_parts(
    names: Sequence[Any],
    events: IntVector,
    samples: IntVector,
    total: tuple[int, int] | None,
    noun: str,
    confidence_level: Fraction,
) -> "RateComparison":
    """Compare the rates of the parts that have samples."""
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.rates.group_rates import compared_rates

    present = np.flatnonzero(samples)
    return compared_rates(
        [names[i] for i in present.tolist()],
        events[present],
        samples[present],
        total,
        higher_is_better=noun == "kind",
        level=confidence_level,
        noun=noun,
    )


def points_by_part(
    points: Sequence[OperatingPoint],
    counts: OrderedCounts,
    scores: ScoreVector,
    labels: Labels,
    parts: Parts,
) -> list[OperatingPoint]:
    """Return operating points with the rates of each part at the same thresholds."""
    given = {
        "kinds": ("kind", parts.kinds, int(counts.n_anomalies)),
        "segments": ("segment", parts.segments, int(counts.n_normals)),
    }
    # A class may be absent, from a group.
    present = {
        name: (noun, part, n)
        for name, (noun, part, n) in given.items()
        if part is not None and part.codes.shape[0]
    }
    by_part = []
    for point in points:
        rates: dict[str, Any] = {}
        if point.threshold is not None:
            flagged = _flagged(scores, counts, point.threshold)
            for name, (noun, part, n) in present.items():
                sizes, events = part.count(labels.weights, flagged)
                n_flagged = point.tp if noun == "kind" else point.fp
                total = None if part.is_disjoint else (int(n_flagged or 0), n)
                rates[name] = compare_parts(
                    part.names, events, sizes, total, noun, parts.confidence_level
                )
        by_part.append(replace(point, **rates))
    return by_part


def _flagged(scores: ScoreVector, counts: OrderedCounts, threshold: Threshold) -> BoolVector:
    """Return which scores a threshold flags, compared in their own type."""
    n = points_flagged(counts, threshold)
    if n == 0:
        return np.zeros(scores.shape[0], np.bool_)
    flagged: BoolVector = scores >= counts.codec.decode(counts.keys[n - 1 : n])[0]
    return flagged


def reads_corners(bound: BoundMeasure) -> bool:
    """Tell whether a measure reads the corners of the curve and the operating points alone."""
    extremes = bound.measure.extremes
    if not isinstance(extremes, Extremes):
        return False
    at_point = bound.fpr is not None or bound.measure.operating_point == "threshold"
    return extremes.corners or (extremes.local and at_point)


def counts_by_kind(
    counts: OrderedCounts,
    scores: ScoreVector,
    labels: Labels,
    kinds: Membership,
    points: Sequence[OperatingPoint],
    *,
    keyed: bool,
) -> list[tuple[Any, Callable[[], OrderedCounts]]]:
    """Return each kind and what counts it beside all normals, without another order of these.

    The points are where the curve of the kind bends, and the operating points; they have keys only
    where these are needed.
    """
    sizes = np.bincount(kinds.codes, minlength=len(kinds.names))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    codes, where = _in_order(counts, scores, labels, kinds)
    groups = Groups({}, starts, as_readonly(codes))
    # Counts are read in the order of the scores, where neighbours are.
    columns = where, counts.fps[where], counts.fps[where + 1]
    together = [groups.arrange(column) for column in columns]
    last = counts.fps.shape[0] - 1
    thresholds = [x.threshold for x in points if x.threshold is not None]
    flagged = np.array([points_flagged(counts, x) for x in thresholds], np.int64)
    extra = np.unique(np.concatenate([[0, last], flagged, np.minimum(flagged + 1, last)]))
    normals = np.diff(counts.fps) if counts.n_tied else None
    n_tied_normals = 0 if normals is None else int(normals[normals > 1].sum())

    def count(kind: int) -> OrderedCounts:
        own = [column[starts[kind] : starts[kind + 1]] for column in together]
        at, fps, tps = written = np.empty((3, 2 * own[0].shape[0] + extra.shape[0]), np.int64)
        n = kernels.corner_points(own[0], own[1], own[2], extra, counts.fps[extra], at, fps, tps)
        at, fps, tps = written[:, :n]
        n_tied = 0
        if normals is not None:
            distinct, n_equal = np.unique(own[0], return_counts=True)
            alone = normals[distinct]
            together_there = alone + n_equal
            n_tied = int(together_there[together_there > 1].sum() - alone[alone > 1].sum())
        return replace(
            counts,
            fps=set_readonly(fps),
            tps=set_readonly(tps),
            keys=as_readonly(counts.keys[at[1:] - 1] if keyed else at[1:]),
            n_anomalies=own[0].shape[0],
            n_points=int(counts.n_normals) + own[0].shape[0],
            n_tied=n_tied_normals + n_tied,
        )

    return [(kinds.names[i], partial(count, i)) for i in np.flatnonzero(sizes).tolist()]


def _in_order(
    counts: OrderedCounts, scores: ScoreVector, labels: Labels, kinds: Membership
) -> tuple[IntVector, IntVector]:
    """Return the kinds of anomalies by falling score, and the position of each among the scores.

    The counts say how many anomalies have each score, so that nothing is looked up.
    """
    rows = np.flatnonzero(labels.values.view(np.bool_))
    order = np.argsort(_falling(scores[rows]))
    where = np.empty(rows.shape[0], np.int64)
    kernels.positions_of_anomalies(counts.tps, where)
    if np.array_equal(rows, kinds.rows):
        return kinds.codes[order], where
    of_rows = np.empty_like(where)
    of_rows[order] = where
    where = of_rows[np.searchsorted(rows, kinds.rows)]
    order = np.argsort(where)
    return kinds.codes[order], where[order]


def _falling(scores: ScoreVector) -> IntVector:
    """Return numbers that rise as scores fall."""
    raw = view_raw(scores)
    falling = np.empty(scores.shape[0], np.int64)
    keys.fall(raw.values, raw.largest, raw.signed, falling)
    return falling
