"""Enrichment and early recognition of anomalies."""

import math
import sys
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.declared import Positive, Rate
from fastad._core.parameters import nearest_float
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import ArrayLike, FloatVector, Label, Point
from fastad._kernels.curves import early
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import POINT, ROUNDED_AREA, Measure
from fastad.measures.points import exact, hits_among, need_anomalies, need_both
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.cuts import CurvePart

# The exponent that Truchon and Bayly recommend: the first 8 % of the ranks have 80 % of the weight.
_ALPHA = 20.0
# Points whose weights are added up at a time.
_BLOCK = 1 << 16
# Below it nothing changes but that exponents vanish.
_LEAST_ALPHA = 1e-100


def _enrichment_factor(counts: OrderedCounts, fraction: Fraction) -> float:
    need_anomalies(counts, "enrichment_factor")
    if fraction == 0:
        raise UndefinedMeasureError("enrichment_factor is undefined for fraction = 0")
    hits = hits_among(counts, fraction * exact(counts.total), "enrichment_factor")
    return float(hits / (fraction * exact(counts.n_anomalies)))


def _highest_enrichment(parameters: Mapping[str, Any]) -> tuple[float, float]:
    fraction = parameters["fraction"]
    return 0.0, nearest_float(1 / fraction) if fraction > 0 else math.inf


def _part_of_fraction(
    parameters: Mapping[str, Any], counts: OrderedCounts | None = None, value: float = math.nan
) -> CurvePart | None:
    """Return the part of the curve before more than the fraction of all samples are normals."""
    if counts is None or not counts.n_normals:
        return None
    highest = parameters["fraction"] * exact(counts.total) / exact(counts.n_normals)
    return CurvePart(Fraction(0), min(highest, Fraction(1)))


ENRICHMENT_FACTOR = Measure(
    name="enrichment_factor",
    title="how many times more frequent anomalies are among the highest scores",
    key="ef@",
    compute=_enrichment_factor,
    parameters={"fraction": Rate()},
    operating_point="fraction",
    default_points=(Fraction(1, 100),),
    curve_part=_part_of_fraction,
    classes="anomalies",
    rises_with_curve=True,
    extremes=POINT,
    value_range=(0.0, math.inf),
    range_at=_highest_enrichment,
)


def enrichment_factor(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fraction: Point,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Enrichment factor: how many times more frequent anomalies are among the highest scores.

    The proportion of anomalies among a fraction of all samples, those with the highest scores,
    over their proportion among all.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fraction : float
        Fraction of all samples, in (0, 1], taken as the decimal that is written. Where it is not
        an integer number of samples, the last one counts in part; ties at the cut count by
        expectation over their order.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        From 0 to 1 / fraction, or to 1 / (proportion of anomalies) if that is less; 1 by chance.

    Raises
    ------
    UndefinedMeasureError
        If there is no anomaly, or the fraction is 0.

    References
    ----------
    .. [1] J.-F. Truchon and C. I. Bayly, "Evaluating virtual screening methods: good and bad
       metrics for the 'early recognition' problem", Journal of Chemical Information and Modeling
       47, 2007.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 7, 6, 8]
    >>> fastad.measures.enrichment_factor(y_true, y_score, fraction=0.25)
    2.0
    """
    return ENRICHMENT_FACTOR.of(y_true, y_score, sample_weight, pos_label, fraction=fraction)


def exponent_of(alpha: Fraction) -> float:
    """Return an exponent as a float that is neither 0 nor infinite."""
    return min(max(nearest_float(alpha), _LEAST_ALPHA), sys.float_info.max)


def highest_gain(counts: OrderedCounts, alpha: Fraction) -> float:
    """Return the excess of the first ranks' weights over the last ranks', for all anomalies."""
    rate = exponent_of(alpha) / counts.total
    # Neither of the factors cancels.
    return math.expm1(-rate * counts.n_anomalies) * math.expm1(-rate * counts.n_normals)


def _gain(counts: OrderedCounts, rate: float, n_normals: float) -> float:
    """Return the sum of `_kernels.curves.early`, in blocks of points that threads do not change."""
    whole = counts.weighting != "real"

    def of_block(points: range) -> tuple[float, float]:
        gain: tuple[float, float] = early.early_gain(
            counts.fps, counts.tps, points.start, points.stop, rate, n_normals, whole
        )
        return gain

    blocks = thread_map(of_block, in_steps(0, counts.keys.shape[0], _BLOCK))
    return math.fsum(part for block in blocks for part in block)


def weights_of_ties(above: FloatVector, sizes: FloatVector, rate: float) -> FloatVector:
    """Return the mean weight of the samples of each tie, with ``above`` others above it."""
    weights: FloatVector = np.exp(-rate * above) * -np.expm1(-rate * sizes) / sizes
    return weights


def _robust_initial_enhancement(counts: OrderedCounts, alpha: Fraction) -> float:
    need_anomalies(counts, "robust_initial_enhancement")
    about = exponent_of(alpha)
    weight = _gain(counts, about / counts.total, math.inf)
    # Where real weights differ by many digits, rounding may exceed the highest value.
    scaled = min(weight * (counts.total / counts.n_anomalies), about)
    return scaled / -math.expm1(-about)


def _highest_enhancement(parameters: Mapping[str, Any]) -> tuple[float, float]:
    alpha = exponent_of(parameters["alpha"])
    return 0.0, alpha / -math.expm1(-alpha)


ROBUST_INITIAL_ENHANCEMENT = Measure(
    name="robust_initial_enhancement",
    title="mean exponential weight of the anomalies' ranks, 1 by chance",
    key="rie@",
    compute=_robust_initial_enhancement,
    parameters={"alpha": Positive(default=_ALPHA, example=Fraction(20))},
    operating_point="alpha",
    default_points=(Fraction(20),),
    classes="anomalies",
    rises_with_curve=True,
    extremes=ROUNDED_AREA,
    value_range=(0.0, math.inf),
    range_at=_highest_enhancement,
)


def robust_initial_enhancement(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point = 20.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Robust initial enhancement (RIE): the mean exponential weight of the anomalies' ranks.

    The mean of exp(-alpha r / N) over the anomalies, with ranks r = 1 … N from the highest score
    on, divided by the same mean over all N samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float, default 20
        Exponent, above 0: the higher, the fewer of the highest ranks count.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    float
        1 by chance, above 1 where anomalies come early, at most alpha / (1 - exp(-alpha)).

    Raises
    ------
    UndefinedMeasureError
        If there is no anomaly.

    Notes
    -----
    Tied samples share the mean weight of their ranks, which is the expectation over their order.

    References
    ----------
    .. [1] R. P. Sheridan et al., "Protocols for bridging the peptide to nonpeptide gap in
       topological similarity searches", Journal of Chemical Information and Computer Sciences 41,
       2001.
    .. [2] J.-F. Truchon and C. I. Bayly, "Evaluating virtual screening methods: good and bad
       metrics for the 'early recognition' problem", Journal of Chemical Information and Modeling
       47, 2007.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 7, 6, 8]
    >>> round(fastad.measures.robust_initial_enhancement(y_true, y_score, alpha=5), 6)
    2.407777
    """
    return ROBUST_INITIAL_ENHANCEMENT.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


def _bedroc(counts: OrderedCounts, alpha: Fraction) -> float:
    need_both(counts, "bedroc")
    gain = _gain(counts, exponent_of(alpha) / counts.total, float(counts.n_normals))
    return min(gain / highest_gain(counts, alpha), 1.0)


BEDROC = Measure(
    name="bedroc",
    title="early recognition: the mean exponential weight of the anomalies' ranks, scaled",
    key="bedroc@",
    compute=_bedroc,
    parameters={"alpha": Positive(default=_ALPHA, example=Fraction(20))},
    operating_point="alpha",
    default_points=(Fraction(20),),
    rises_with_curve=True,
    extremes=ROUNDED_AREA,
)


def bedroc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    alpha: Point = 20.0,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
) -> float:
    """Boltzmann-enhanced discrimination of the ROC (BEDROC): early recognition from 0 to 1.

    `robust_initial_enhancement` less its lowest value, over its range: 0 where all anomalies come
    last, 1 where they come first.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    alpha : float, default 20
        Exponent, above 0. With 20, the first 8 % of the ranks have 80 % of the weight.
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
        If a class is absent.

    Notes
    -----
    Tied samples share the mean weight of their ranks, which is the expectation over their order. As
    ``alpha`` falls to 0 the value approaches `roc_auc`.

    References
    ----------
    .. [1] J.-F. Truchon and C. I. Bayly, "Evaluating virtual screening methods: good and bad
       metrics for the 'early recognition' problem", Journal of Chemical Information and Modeling
       47, 2007.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 0, 0, 1, 1], [1, 2, 3, 4, 5, 7, 6, 8]
    >>> round(fastad.measures.bedroc(y_true, y_score, alpha=5), 6)
    0.834069
    """
    return BEDROC.of(y_true, y_score, sample_weight, pos_label, alpha=alpha)


MEASURES = (ENRICHMENT_FACTOR, ROBUST_INITIAL_ENHANCEMENT, BEDROC)
