"""Distributions of scores by class, with percentiles and the distances between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_count
from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.percentiles import CLASS_PERCENTILES
from fastad.measures.results import ClassPercentiles

Bins = int | npt.ArrayLike


@dataclass(frozen=True, slots=True)
class RpSpan:
    """From a percentile of the normals to the reverse percentile of the anomalies.

    Attributes
    ----------
    p : float
        Percentile in [0, 100].
    normal : float
        Score at percentile p of the normals.
    anomaly : float
        Score at percentile 100 - p of the anomalies.
    """

    p: float
    normal: float
    anomaly: float

    @property
    def distance(self) -> float:
        """RP@p, as `fastad.measures.rp_distance`."""
        return self.anomaly - self.normal


@dataclass(frozen=True, slots=True, eq=False)
class ScoreDistribution:
    """Histograms of the scores of both classes on common bins, and marks in them.

    Attributes
    ----------
    edges : numpy.ndarray of shape (n_bins + 1,)
        Edges of the bins, in units of the scores.
    anomalies, normals : numpy.ndarray of shape (n_bins,)
        Density of each class: its share in the bin, divided by the width.
    percentiles : ClassPercentiles
        Percentiles that are marked.
    spans : sequence of RpSpan
        Reverse percentile distances that are shown.
    """

    edges: FloatVector
    anomalies: FloatVector
    normals: FloatVector
    percentiles: ClassPercentiles
    spans: Sequence[RpSpan]


def distribution(
    ranked: RankedScores, percentiles: list[Fraction], rp: list[Fraction], bins: Bins
) -> ScoreDistribution:
    """Return the distribution of one detector's scores; they must be finite."""
    counts = ranked.counts
    marked = CLASS_PERCENTILES.compute(counts, percentiles)
    normals = CLASS_PERCENTILES.compute(counts, rp).normals
    anomalies = CLASS_PERCENTILES.compute(counts, [100 - p for p in rp]).anomalies
    spans = [
        RpSpan(float(p), normal, anomaly)
        for p, normal, anomaly in zip(rp, normals.tolist(), anomalies.tolist(), strict=True)
    ]
    scores = counts.thresholds().astype(np.float64)
    edges = _edges(scores, bins)
    widths = np.diff(edges)
    anomalous, normal = (
        np.histogram(scores, edges, weights=np.diff(cumulative))[0] / (total * widths)
        for cumulative, total in (
            (counts.tps, counts.n_anomalies),
            (counts.fps, counts.n_normals),
        )
    )
    return ScoreDistribution(edges, anomalous, normal, marked, spans)


def _edges(scores: FloatVector, bins: Bins) -> FloatVector:
    if np.ndim(bins) == 0:
        n_bins = check_count(bins, "bins")
        with np.errstate(over="ignore"):
            if not np.isfinite(scores[0] - scores[-1]):
                raise InvalidInputError(
                    "y_score must have a finite range for a histogram", argument="y_score"
                )
        return np.histogram_bin_edges(scores, n_bins)
    edges = np.asarray(bins, np.float64)
    if edges.ndim != 1 or len(edges) < 2 or not np.all(np.diff(edges) > 0):
        raise InvalidInputError(
            "bins must be a number of bins, or at least two edges that rise; "
            f"found shape {edges.shape}",
            argument="bins",
        )
    return edges
