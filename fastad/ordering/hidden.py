"""Counts as they would be if the anomalies hidden among the normals were labelled."""

from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.threads import in_steps, slices, thread_map
from fastad._core.types import BoolVector, FloatVector, IntVector
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart

# The data refute a fraction where it is compatible with them with no more than this probability.
ALPHA = 1e-3
# Points that are corrected at a time: they stay in a core's cache.
_BLOCK = 1 << 15
# Fields of counts.
_OBSERVED = tuple(each.name for each in fields(OrderedCounts))


class _Corners(NamedTuple):
    """The points beside each step upwards, and both ends: between them the curve is horizontal."""

    points: IntVector  # (n_corners,): increasing indices
    fps: FloatVector  # (n_corners,): corrected numbers of flagged normals, which rise


@dataclass(frozen=True, slots=True, eq=False)
class ContaminatedCounts(OrderedCounts):
    """Counts as observed, and what they would be without a fraction of hidden anomalies.

    Hidden anomalies are taken to be distributed as the labelled ones: of each labelled one, as many
    leave the normals and join the anomalies. Where few normals are flagged, more may be taken away
    than there are, and the corrected number of normals falls along the curve. It is replaced by
    the nearest numbers that rise from 0 to their total: least squares with the weight with which
    each point of the curve counts in the area under it, so that the area stays what it is while
    the curve stays within the square (Patra and Sen 2016, "Estimation of a two-component mixture
    model with applications to multiple testing", section 2, with the weights of the sample).

    Attributes
    ----------
    contamination : Fraction
        Fraction of anomalies among the normals.
    """

    contamination: Fraction = Fraction(0)
    _known_corners: _Corners | None = field(init=False, default=None)
    _at_corners: OrderedCounts | None = field(init=False, default=None)

    @classmethod
    def of(cls, counts: OrderedCounts, contamination: Fraction) -> OrderedCounts:
        """Return counts with a fraction of hidden anomalies among their normals.

        As they are where nothing is hidden, or without one of the classes.
        """
        if contamination == 0 or counts.n_anomalies == 0 or counts.n_normals == 0:
            return counts
        if isinstance(counts, cls) and counts.contamination == contamination:
            return counts
        observed = {name: getattr(counts, name) for name in _OBSERVED}
        return cls(**observed, contamination=contamination)

    @property
    def per_anomaly(self) -> float:
        """Number of hidden anomalies for each labelled one."""
        return float(self.contamination * Fraction(self.n_normals) / Fraction(self.n_anomalies))

    def all_points(self) -> OrderedCounts:
        """Return the corrected counts at all points; O(g)."""
        return self._corrected(0, len(self._corners.points) - 1)

    def corners(self) -> OrderedCounts:
        """Return the corrected counts beside each step upwards, which make the same ROC curve."""
        if self._at_corners is None:
            object.__setattr__(self, "_at_corners", self._corrected(0, 0))
        assert self._at_corners is not None
        return self._at_corners

    def around(self, part: CurvePart) -> OrderedCounts:
        """Return the corrected counts at the corners and all points of a part of the curve."""
        fps = self._corners.fps
        first = int(np.searchsorted(fps, float(part.low) * fps[-1])) - 1
        last = int(np.searchsorted(fps, float(part.high) * fps[-1], side="right"))
        return self._corrected(max(first, 0), min(last, len(fps) - 1))

    def at(self, point: int) -> OrderedCounts:
        """Return the corrected counts at one point alone: unbiased but for their range.

        No other point is there, above which they would have to rise.
        """
        n, m = float(self.n_anomalies), float(self.n_normals)
        rates = float(self.tps.item(point)) / n, float(self.fps.item(point)) / m
        flagged, sizes = without_hidden(*rates, (n, m), float(self.contamination))
        tps, fps = (np.array([0.0, each][: 1 + min(point, 1)]) for each in flagged)
        return self._replaced(fps, tps, self.keys[max(point - 1, 0) : point], sizes)

    @property
    def _corners(self) -> _Corners:
        if self._known_corners is None:
            object.__setattr__(self, "_known_corners", _corrected_corners(self, self.per_anomaly))
        assert self._known_corners is not None
        return self._known_corners

    def _corrected(self, first: int, last: int) -> OrderedCounts:
        """Return the counts at all corners, and at all points from one corner to another."""
        points, at_corners = self._corners
        inner = slice(int(points[first]), int(points[last]) + 1)
        before, after = slice(None, first), slice(last + 1, None)
        between = _between(self, inner, self.per_anomaly, self._corners, slice(first, last + 1))
        fps = _joined(at_corners[before], between, at_corners[after])
        tps = self.tps
        whole = _joined(tps[points[before]], tps[inner], tps[points[after]])
        tps = np.empty(whole.shape)
        factor = 1 + self.per_anomaly
        thread_map(
            lambda rows: np.multiply(whole[rows], factor, out=tps[rows]), slices(whole.shape[0])
        )
        keys = self.keys
        if tps.shape != self.tps.shape:
            index = _joined(points[before], np.arange(inner.start, inner.stop), points[after])
            # Point 0 has no key.
            keys = keys[index[1:] - 1]
        kept = _distinct(fps, tps)
        if not kept.all():
            chosen = ((fps, kept), (tps, kept), (keys, kept[1:]))
            fps, tps, keys = thread_map(lambda pair: pair[0][pair[1]], chosen)
        # The last entries: totals that differ in a last digit would leave rates below 1.
        return self._replaced(fps, tps, keys, (float(tps[-1]), float(fps[-1])))

    def _replaced(
        self, fps: FloatVector, tps: FloatVector, keys: IntVector, sizes: tuple[float, float]
    ) -> OrderedCounts:
        """Return plain counts of the same samples; sizes are of the anomalies and the normals."""
        return OrderedCounts(
            fps=as_readonly(fps),
            tps=as_readonly(tps),
            keys=as_readonly(keys),
            codec=self.codec,
            n_anomalies=sizes[0],
            n_normals=sizes[1],
            n_points=self.n_points,
            n_tied=self.n_tied,
            weighting="real",
        )


def without_hidden(
    tpr: float, fpr: float, sizes: tuple[float, float], contamination: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the flagged anomalies and normals of observed rates, and the sizes of both classes.

    Without hidden anomalies; ``sizes`` are the observed ones of the anomalies and the normals.
    """
    n_hidden = contamination * sizes[1]
    n, m = sizes[0] + n_hidden, sizes[1] - n_hidden
    return (tpr * n, min(max(fpr * sizes[1] - n_hidden * tpr, 0.0), m)), (n, m)


def _corrected_corners(counts: OrderedCounts, per_anomaly: float) -> _Corners:
    """Return the corrected numbers of normals at the corners; only there are they taken away."""
    # Imported here, because scipy.optimize takes a while to import.
    from scipy.optimize import isotonic_regression

    last = counts.tps.shape[0] - 1
    steps = np.flatnonzero(counts.tps[1:] != counts.tps[:-1])
    # Both ends of each step, each point once.
    points = np.empty(2 * steps.shape[0], np.int64)
    points[::2], points[1::2] = steps, steps + 1
    points = points[np.append(True, points[1:] != points[:-1])]
    tps = counts.tps
    weights = tps[np.minimum(points + 1, last)] - tps[np.maximum(points - 1, 0)]
    total = float(counts.fps[-1] - per_anomaly * tps[-1])
    fps = isotonic_regression(
        counts.fps[points] - per_anomaly * tps[points], weights=weights.astype(np.float64)
    ).x
    np.clip(fps, 0.0, total, out=fps)
    if points[0] > 0:
        points, fps = np.append(0, points), np.append(0.0, fps)
    if points[-1] < last:
        points, fps = np.append(points, last), np.append(fps, total)
    fps[-1] = total
    return _Corners(points, fps)


def _between(
    counts: OrderedCounts, inner: slice, per_anomaly: float, corners: _Corners, which: slice
) -> FloatVector:
    """Return the corrected numbers of normals at all points from one corner to another.

    Between two corners normals alone are counted: the numbers rise as they are, but not beyond
    those at the corners.
    """
    points, at_corners = corners.points[which], corners.fps[which]
    fps = np.empty(inner.stop - inner.start)

    def fill(block: range) -> None:
        rows = slice(block.start, block.stop)
        here = slice(rows.start + inner.start, rows.stop + inner.start)
        np.multiply(counts.tps[here], -per_anomaly, out=fps[rows])
        fps[rows] += counts.fps[here]
        left = int(np.searchsorted(points, here.start, side="right")) - 1
        right = int(np.searchsorted(points, here.stop))
        ends = np.clip(points[left : right + 1], here.start, here.stop)
        lengths = np.diff(ends)
        low, high = at_corners[left:right], at_corners[left + 1 : right + 1]
        np.maximum(fps[rows], np.repeat(low, lengths), out=fps[rows])
        np.minimum(fps[rows], np.repeat(high, lengths), out=fps[rows])

    thread_map(fill, in_steps(0, fps.shape[0] - 1, _BLOCK))
    fps[points - inner.start] = at_corners
    return fps


def _joined(*parts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return arrays one after the other; one alone as it is."""
    present = [part for part in parts if part.shape[0]]
    return present[0] if len(present) == 1 else np.concatenate(present)


def _distinct(fps: FloatVector, tps: FloatVector) -> BoolVector:
    """Return the points to keep: the last of equal ones, so that all points of counts differ.

    The first of the points at which nothing is flagged: it lies above all scores.
    """
    kept: BoolVector = np.ones(fps.shape[0], np.bool_)

    def fill(block: range) -> None:
        here, behind = slice(block.start, block.stop), slice(block.start + 1, block.stop + 1)
        np.greater(fps[behind], fps[here], out=kept[here])
        kept[here] |= tps[behind] > tps[here]

    thread_map(fill, in_steps(0, fps.shape[0] - 1, _BLOCK))
    n_below = int(np.searchsorted(fps, 0.0, side="right"))
    first = min(n_below, int(np.searchsorted(tps, 0.0, side="right")))
    kept[1:first] = False
    kept[0] = True
    return kept


def largest_contamination(counts: OrderedCounts, alpha: float = ALPHA) -> float:
    """Return an upper bound on the fraction of anomalies among the normals that always holds.

    The observed FPR' is at least pi TPR at every threshold: pi is at most the lowest FPR' / TPR
    (Scott 2015, section 3; Blanchard, Lee and Scott 2010). At the r-th highest anomaly the TPR is a
    beta number and, given that threshold, the flagged normals are binomial; both are bounded
    with probability 1 - alpha at all of some twenty ranks r. Real weights do not tell how many
    samples there are, and leave every fraction possible.
    """
    if counts.weighting == "real" or counts.n_anomalies == 0 or counts.n_normals == 0:
        return 1.0
    # Imported here, because SciPy's functions take a sixth of a second to import.
    from scipy.special import betainccinv, betaincinv

    n, m = int(counts.n_anomalies), int(counts.n_normals)
    ranks = np.unique([-(-n // 2**i) for i in range(n.bit_length())])
    single = alpha / (2 * ranks.shape[0])
    flagged = counts.fps[np.searchsorted(counts.tps, ranks)]
    most = np.where(flagged < m, betainccinv(flagged + 1, np.maximum(m - flagged, 1), single), 1.0)
    least = betaincinv(ranks, n - ranks + 1, single)
    return min(1.0, float(np.min(most / least)))
