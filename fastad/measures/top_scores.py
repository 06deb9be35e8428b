"""Measures of the highest scores: the first k, their ranks, or beside a fraction of anomalies."""

from fractions import Fraction

import numpy as np

from fastad._core.declared import Generator, Integer, Rate
from fastad._core.suggestions import suggests_arguments
from fastad._core.types import ArrayLike, Label, Point
from fastad._kernels.ordering import sweep
from fastad._kernels.resampling import subsample
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import POINT, ROUNDED_AREA, Measure
from fastad.measures.points import (
    height_between,
    hits_among,
    k_or_anomalies,
    last_flagging,
    need_anomalies,
    need_both,
    need_integer_weights,
    plain,
    quotient,
    twice_mean_ranks,
)
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.orders import PackedOrder


def _precision_at_k(counts: OrderedCounts, k: int | None) -> float:
    flagged = k_or_anomalies(counts, k, "precision_at_k")
    return quotient(hits_among(counts, flagged, "precision_at_k"), plain(flagged))


def _precision_at_k_of_order(order: PackedOrder, k: int | None) -> float | None:
    """Precision straight from an order in one range, without counts at all other scores."""
    k = order.n_anomalies if k is None else k
    if len(order.ranges) > 1 or not 0 < k <= order.n_points:
        return None
    fp, tp, next_fp, next_tp = sweep.counts_around(order.packed, k, 1)
    point, after = (fp + tp, tp), (next_fp + next_tp, next_tp)
    if point == after:  # the end of the order
        return quotient(tp, k)
    hits, divisor = height_between(point, after, k, 1)
    return quotient(hits, divisor * k)


PRECISION_AT_K = Measure(
    name="precision_at_k",
    title="precision among the k highest scores",
    key="precision@n",
    number_key="precision@k",
    compute=_precision_at_k,
    from_order=_precision_at_k_of_order,
    parameters={"k": Integer(default=None)},
    operating_point="k",
    default_points=(None,),
    classes="any",
    rises_with_curve=True,
    extremes=POINT,
)


def precision_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Fraction of anomalies among the k highest scores.

    With the default ``k`` this is known as precision@n, or R-precision.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int, optional
        Number of highest scores (their total weight under weights); by default the number of
        anomalies. Ties at the cut count by expectation over their order.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If ``k`` exceeds the number of samples, or by default if there is no anomaly.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1.

    Examples
    --------
    >>> import fastad
    >>> fastad.precision_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    1.0
    """
    return PRECISION_AT_K.of(y_true, y_score, sample_weight, pos_label, k=k)


def _recall_at_k(counts: OrderedCounts, k: int | None) -> float:
    need_anomalies(counts, "recall_at_k")
    flagged = k_or_anomalies(counts, k, "recall_at_k")
    return quotient(hits_among(counts, flagged, "recall_at_k"), plain(counts.n_anomalies))


RECALL_AT_K = Measure(
    name="recall_at_k",
    title="recall among the k highest scores",
    key="recall@n",
    number_key="recall@k",
    compute=_recall_at_k,
    parameters={"k": Integer(default=None)},
    operating_point="k",
    default_points=(None,),
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
)


def recall_at_k(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Fraction of the anomalies that are among the k highest scores.

    Also known as detection rate.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    k : int, optional
        Number of highest scores (their total weight under weights); by default the number of
        anomalies. Ties at the cut count by expectation over their order.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If ``k`` exceeds the number of samples, or if there is no anomaly.

    References
    ----------
    .. [1] J. Ning et al., "Evaluation metrics of outlier detection algorithms", 2020, Table 1 (DR).

    Examples
    --------
    >>> import fastad
    >>> fastad.recall_at_k([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], k=1)
    0.5
    """
    return RECALL_AT_K.of(y_true, y_score, sample_weight, pos_label, k=k)


# Their mean has a thousandth of the standard deviation of one draw.
_MOST_REPEATS = 1_000_000


def _precision_at_p(
    counts: OrderedCounts,
    p: Fraction,
    *,
    n_repeats: int | None = None,
    rng: np.random.Generator | None = None,
) -> float:
    need_both(counts, "precision_at_p")
    need_integer_weights(counts, "precision_at_p")
    k = _n_drawn(counts, p)
    if n_repeats is None:
        return subsample.expected_hits(counts.fps, counts.tps, k) / k
    assert rng is not None
    return float(np.mean([_drawn_hits(counts, k, rng) / k for _ in range(n_repeats)]))


PRECISION_AT_P = Measure(
    name="precision_at_p",
    title="precision after anomalies were drawn down to a fraction p",
    key="precision@p",
    compute=_precision_at_p,
    parameters={
        "p": Rate(),
        "n_repeats": Integer(default=None, random=True, highest=_MOST_REPEATS),
        "rng": Generator(),
    },
    operating_point="p",
    weights="integer",
    extremes=ROUNDED_AREA,
)


@suggests_arguments
def precision_at_p(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    p: Point,
    n_repeats: int | None = None,
    rng: int | np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Precision after anomalies were drawn at random down to a fraction p.

    k = floor(m p / (1 - p)) of the n anomalies are drawn, so that they make the fraction p beside
    the m normals; then the precision among the k highest scores. This makes data sets with
    different fractions of anomalies comparable. By default the exact expectation over all draws.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    p : float
        Fraction of anomalies in [0, 1), taken as the decimal that is written.
    n_repeats : int, optional
        Average over this number of random draws instead, as the paper does (with 10); at most 10⁶.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws; read only with ``n_repeats``.
    sample_weight : array-like of shape (n_samples,), optional
        Integers, not negative: how many times each row counts.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    UndefinedMeasureError
        If a class is absent, or if ``p`` takes no anomaly or more than there are.

    Notes
    -----
    O(n log n + k) time for n samples. Ties count by expectation over their order.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equation (4).

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 9 + [1] * 4
    >>> scores = [.1, .2, .3, .4, .5, .6, .7, .8, .9, .35, .55, .95, .85]
    >>> round(fastad.precision_at_p(labels, scores, p=0.2), 6)
    0.416667
    """
    return PRECISION_AT_P.of(
        y_true, y_score, sample_weight, pos_label, p=p, n_repeats=n_repeats, rng=rng
    )


def _n_drawn(counts: OrderedCounts, fraction: Fraction) -> int:
    """Return how many anomalies make the fraction p beside all normals, rounded down."""
    n, m = int(counts.n_anomalies), int(counts.n_normals)
    p, q = fraction.numerator, fraction.denominator
    k = n + 1 if fraction == 1 else m * p // (q - p)
    if not 1 <= k <= n:
        raise UndefinedMeasureError(
            f"precision_at_p is undefined at p = {float(fraction)}: a fraction p beside {m} "
            f"normals takes {'infinitely many' if fraction == 1 else k} of {n} anomalies"
        )
    return k


def _drawn_hits(counts: OrderedCounts, k: int, rng: np.random.Generator) -> float:
    """Draw k anomalies and return the hits among the k highest scores."""
    drawn = rng.choice(counts.n_anomalies, k, replace=False, shuffle=False)
    tie = np.searchsorted(counts.tps, drawn, side="right")
    tps = np.cumsum(np.bincount(tie, minlength=counts.tps.shape[0]))
    left = int(np.searchsorted(tps + counts.fps, k, side="right")) - 1
    hits = float(tps[left])
    rest = k - tps[left] - counts.fps[left]
    if rest:
        anomalies = tps[left + 1] - tps[left]
        hits += rest * anomalies / (anomalies + counts.fps[left + 1] - counts.fps[left])
    return hits


def _rank_power(counts: OrderedCounts, k: int) -> float:
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


MEASURES = (PRECISION_AT_K, RECALL_AT_K, PRECISION_AT_P, RANK_POWER)
