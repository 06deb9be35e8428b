"""Measures of the ranks of the anomalies."""

import numpy as np

from fastad._core.declared import Integer
from fastad._core.types import ArrayLike, Label
from fastad._kernels.resampling import subsample
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import Measure
from fastad.measures.points import last_flagging, need_integer_weights, twice_mean_ranks
from fastad.ordering.counts import OrderedCounts


def _rank_power(counts: OrderedCounts, k: int) -> float:
    """How near to the top the anomalies are."""
    need_integer_weights(counts, "rank_power")
    if k > counts.total:
        raise UndefinedMeasureError(
            f"rank_power is undefined for more than all samples: k = {k} of {counts.total}"
        )
    point = last_flagging(counts, k)
    before = int(counts.fps[point] + counts.tps[point])
    hits = int(counts.tps[point])
    anomalies = np.diff(counts.tps[: point + 1]).astype(object)
    twice_ranks = int(np.dot(anomalies, twice_mean_ranks(counts, point)))
    if before == k:
        _need_hits(hits)
        return hits * (hits + 1) / twice_ranks
    # The k highest contain a hypergeometric number s of the anomalies tied at the cut.
    tied_anomalies = int(counts.tps[point + 1]) - hits
    tied_normals = int(counts.fps[point + 1]) - int(counts.fps[point])
    rest = k - before
    twice_rank = 2 * before + tied_anomalies + tied_normals + 1
    _need_hits(hits + max(0, rest - tied_normals))
    population = tied_anomalies + tied_normals
    probabilities = np.empty(subsample.window_capacity(population, rest))
    first, size = subsample.hypergeometric_window(population, tied_anomalies, rest, probabilities)
    s = np.arange(first, first + size, dtype=np.float64)
    powers = (hits + s) * (hits + s + 1) / (twice_ranks + s * twice_rank)
    return float(np.dot(probabilities[:size], powers))


RANK_POWER = Measure(
    name="rank_power",
    title="how near to the top the anomalies among the k highest scores are",
    key="rank_power@k",
    compute=_rank_power,
    parameters={"k": Integer()},
    operating_point="k",
    default_points=(),
    classes="anomalies",
    weights="integer",
)


def rank_power(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Rank power: how near to the top the anomalies among the k highest scores are.

    j (j + 1) / (2 sum of ranks) over the j anomalies among the k highest; rank 1 is the highest
    score, tied samples share their mean rank. At a tied cut the expectation over its order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int
        Number of highest scores.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In (0, 1]; 1 where these anomalies hold the highest ranks.

    Raises
    ------
    UndefinedMeasureError
        If ``k`` exceeds the number of samples, or no anomaly may be among them.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.measures.rank_power([0, 1, 1, 0, 1, 0, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1], k=4)
    0.6
    """
    return RANK_POWER.of(y_true, y_score, sample_weight, pos_label, k=k)


def _need_hits(hits: int) -> None:
    """Raise where no anomaly need be among the k highest scores."""
    if hits == 0:
        raise UndefinedMeasureError(
            "rank_power is undefined where no anomaly may be among the k highest"
        )


MEASURES = (RANK_POWER,)
