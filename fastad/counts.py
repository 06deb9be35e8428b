"""``OrderedCounts``: what everything with labels reads."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from fastad._kernels import sweep
from fastad._scratch import FRESH, FreshMemory, Scratch
from fastad._types import Count, CountVector, IntVector, Label, ScoreVector
from fastad._validate import Labels, check_labels, check_scores, fixed
from fastad.ordering import KeyCodec, PackedOrder, SplitOrder, order_rows, order_values

Weighting = Literal["none", "whole", "real"]


@dataclass(frozen=True, slots=True, eq=False)
class OrderedCounts:
    """Anomalies and normals at or above each distinct score, from the highest score down.

    Point 0 lies above all scores, where nothing is flagged; point i > 0 flags the i highest
    distinct scores. The totals stand apart from the counts, so that counts which do not reach
    down to the lowest score still know them.

    Attributes
    ----------
    fps, tps : numpy.ndarray of shape (n_distinct + 1,)
        Flagged normals and flagged anomalies at each point, starting from 0. Whole numbers
        (int64), or float64 under real sample weights.
    keys : numpy.ndarray of shape (n_distinct,)
        Falling key of each distinct score; ``codec`` turns keys into scores.
    n_anomalies, n_normals : int or float
        Totals: numbers of points, or total weights.
    n_points : int
        Rows with a weight other than 0.
    n_tied : int
        Rows that share their score with another row.
    weighting : {"none", "whole", "real"}
        Kind of the sample weights.
    """

    fps: CountVector
    tps: CountVector
    keys: IntVector
    codec: KeyCodec
    n_anomalies: Count
    n_normals: Count
    n_points: int
    n_tied: int
    weighting: Weighting

    @property
    def total(self) -> Count:
        """Number of points, or their total weight."""
        return self.n_anomalies + self.n_normals

    def normal_weight(self, prevalence: Fraction | None) -> Fraction:
        """Return the weight of a normal point with which anomalies make a share of the total."""
        if prevalence is None:
            return Fraction(1)
        return (1 - prevalence) / prevalence * Fraction(self.n_anomalies) / Fraction(self.n_normals)

    def at_prevalence(self, prevalence: Fraction | None) -> "OrderedCounts":
        """Return the counts with normals weighted so that anomalies make a share of the total."""
        if prevalence is None:
            return self
        weight = float(self.normal_weight(prevalence))
        return replace(
            self,
            fps=fixed(self.fps * weight),
            tps=fixed(self.tps.astype(np.float64)),
            n_anomalies=float(self.n_anomalies),
            n_normals=self.n_normals * weight,
            weighting="real",
        )

    def thresholds(self) -> ScoreVector:
        """Return the distinct scores, falling, in the type that the scores had."""
        return self.codec.decode(self.keys)

    def threshold(self, point: int) -> float | int:
        """Return the threshold of one point: +inf for point 0, an int for integer scores."""
        if point == 0:
            return np.inf
        return self.codec.decode_one(int(self.keys[point - 1]))


def count_values(
    order: PackedOrder | SplitOrder, memory: Scratch | FreshMemory = FRESH
) -> OrderedCounts:
    """Count at each distinct score of an order without rows; one pass."""
    if isinstance(order, PackedOrder):
        n_points = order.packed.shape[0]
        keys, fps, tps = _buffers(n_points, np.dtype(np.int64), memory)
        n_distinct, n_tied = sweep.count_packed(order.packed, keys, fps, tps)
    else:
        n_points = order.normals.shape[0] + order.anomalies.shape[0]
        keys, fps, tps = _buffers(n_points, np.dtype(np.int64), memory)
        n_distinct, n_tied = sweep.count_merged(order.normals, order.anomalies, keys, fps, tps)
    return _counts(keys, fps, tps, order.codec, n_distinct, n_points, n_tied, "none")


def count_scores(
    scores: ScoreVector,
    labels: Labels,
    name: str = "y_score",
    memory: Scratch | FreshMemory = FRESH,
) -> OrderedCounts:
    """Order scores and count at each distinct one; O(N log N).

    With scratch memory the counts hold until it is used again.
    """
    weights = labels.weights
    if weights is None:
        return count_values(order_values(scores, labels, name, memory), memory)
    order = order_rows(scores, labels, name)
    keys, fps, tps = _buffers(weights.shape[0], weights.dtype, memory)
    n_distinct, n_tied = sweep.count_rows(
        order.falling, order.rows, labels.values, fixed(weights), keys, fps, tps
    )
    weighting: Weighting = "whole" if weights.dtype == np.int64 else "real"
    return _counts(keys, fps, tps, order.codec, n_distinct, weights.shape[0], n_tied, weighting)


def count(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> OrderedCounts:
    """Check labels, scores and weights as a user gives them, and count."""
    labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
    return count_scores(check_scores(y_score, labels), labels)


def _buffers(
    n_points: int, dtype: np.dtype[np.generic], memory: Scratch | FreshMemory
) -> tuple[IntVector, CountVector, CountVector]:
    return (
        memory.take("keys", n_points, np.int64),
        memory.take("fps", n_points + 1, dtype),
        memory.take("tps", n_points + 1, dtype),
    )


def _counts(
    keys: IntVector,
    fps: CountVector,
    tps: CountVector,
    codec: KeyCodec,
    n_distinct: int,
    n_points: int,
    n_tied: int,
    weighting: Weighting,
) -> OrderedCounts:
    fps = fixed(fps[: n_distinct + 1])
    tps = fixed(tps[: n_distinct + 1])
    return OrderedCounts(
        fps=fps,
        tps=tps,
        keys=fixed(keys[:n_distinct]),
        codec=codec,
        n_anomalies=tps[-1].item(),
        n_normals=fps[-1].item(),
        n_points=n_points,
        n_tied=n_tied,
        weighting=weighting,
    )
