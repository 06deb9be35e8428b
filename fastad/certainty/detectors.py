"""Several detectors on the same points, each ordered with its rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastad._threads import thread_map
from fastad._types import FloatVector, IntVector, ShortVector
from fastad._validate import Labels, check_scores
from fastad.certainty.asked import Asked
from fastad.certainty.influence import influence
from fastad.certainty.replicates import Ranking
from fastad.counts import count_rows
from fastad.ordering import RowOrder, order_rows


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


def row_influences(ranking: Ranking, asked: Asked) -> tuple[FloatVector, FloatVector]:
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
