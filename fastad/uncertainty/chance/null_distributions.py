"""Null distributions: of measures when the labels are permuted among the samples.

All choices of n anomalies among the N samples are equally likely. Exact distributions are here
where they are known in closed form, then moments, and the normal approximation by them. What needs
distinct scores is None for tied ones.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.measures.early import exponent_of, highest_gain, weights_of_ties
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

# Limits for the AUC, in additions of rows and of numbers: both take some tenths of a second.
_MOST_ROWS = 100_000
_MOST_SUMS = 1_000_000_000
# Limit for other measures, in values.
_MOST_VALUES = 1_000_000
# The normal approximation of the AUC was compared with the exact distribution of up to 1050
# samples, all distinct or with many patterns of ties. Within these limits p-values are off by at
# most 0.006 (0.0009 without ties), and from 0.01 to 0.05 by at most 5 %. Further out they are too
# large, by up to 12 % at 0.001 and 29 % at 10^-4, where 9999 permutations err by 32 % and 100 %.
# With 20 samples of a class it is 35 % at 0.001; with ten equal ties of all samples, 0.05 comes out
# 6 % too small.
_LEAST_SAMPLES = 50
_MOST_TIED = Fraction(1, 20)

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class NullDistribution:
    """Values of a measure, NaN where it is undefined, and the probability of each."""

    values: FloatVector
    probabilities: FloatVector


def sizes_of(counts: OrderedCounts) -> IntVector:
    """Return the number of samples at each distinct score."""
    sizes: IntVector = np.diff(counts.fps + counts.tps)
    return sizes


def classes(counts: OrderedCounts) -> tuple[int, int]:
    """Return the numbers of anomalies and of normal samples."""
    return int(counts.n_anomalies), int(counts.n_normals)


def _is_distinct(counts: OrderedCounts) -> bool:
    """Return whether no two samples have the same score."""
    return bool(counts.keys.shape[0] == counts.total)


def _top_k(counts: OrderedCounts, parameters: Parameters) -> int:
    """Return the number k of highest scores, by default the number of anomalies."""
    k = parameters["k"]
    return int(counts.n_anomalies) if k is None else int(k)


def _tie_at_cut(counts: OrderedCounts, k: int) -> tuple[int, int]:
    """Return the numbers of samples above the tie at the cut after the k highest, and in it."""
    flagged = counts.fps + counts.tps
    left = int(flagged.searchsorted(k, side="right")) - 1
    return int(flagged[left]), int(flagged[min(left + 1, flagged.shape[0] - 1)] - flagged[left])


def null_distribution(counts: OrderedCounts, bound: BoundMeasure) -> NullDistribution | None:
    """Return the exact distribution of a measure; None where it is unknown, or too expensive."""
    if bound.measure.name in RATES:
        return _at_threshold(counts, bound)
    distribution = _DISTRIBUTIONS.get(bound.measure.name)
    return None if distribution is None else distribution(counts, bound.parameters)


def _at_threshold(counts: OrderedCounts, bound: BoundMeasure) -> NullDistribution | None:
    """The number of flagged samples is fixed; the anomalies among them are hypergeometric."""
    n, m = classes(counts)
    flagged = confusion_at_threshold(counts, bound.parameters["threshold"]).n_flagged
    if min(n, m) > _MOST_VALUES // 10:  # each rate is computed by itself
        return None
    first, probabilities = _hypergeometric(n + m, n, int(flagged))
    numbers = range(first, first + probabilities.shape[0])
    tables = (Confusion(tp, int(flagged) - tp, m - int(flagged) + tp, n - tp) for tp in numbers)
    return NullDistribution(
        np.array([rate_of(bound.measure.name, table) for table in tables]), probabilities
    )


def _of_auc(counts: OrderedCounts, _: Parameters) -> NullDistribution | None:
    n, m = classes(counts)
    sizes = sizes_of(counts)
    fewer = min(n, m)
    n_rows = fewer * int(np.sum(np.minimum(sizes, fewer) + 1))
    if n_rows > _MOST_ROWS or n_rows * n * m > _MOST_SUMS:
        return None
    probabilities = area_probabilities(sizes.tolist(), fewer, n + m - fewer)
    # Normals above anomalies are the pairs that anomalies above normals leave.
    return NullDistribution(
        np.arange(2 * n * m + 1) / (2 * n * m), probabilities if n <= m else probabilities[::-1]
    )


def area_probabilities(sizes: list[int], n: int, m: int) -> FloatVector:
    """Return the probabilities that twice the area, in pairs, is 0, 1, … 2nm.

    Down the scores, a tie of e anomalies and d normals below a anomalies adds d (2 a + e). Samples
    are made anomalies independently, with odds n / m: given that n are, all choices are equally
    likely. No sum ever subtracts, so that tails are right in all digits but the last few, however
    small.
    """
    odds = n / m
    rows = {0: np.ones(1)}
    above = 0
    for size in sizes:
        e = np.arange(min(size, n))
        weights = _from_ratios((size - e) / (e + 1) * odds)
        longer: dict[int, FloatVector] = {}
        for a, row in rows.items():
            for hits in range(max(0, above - a + size - m), min(size, n - a) + 1):
                normals = size - hits
                reached = a + hits
                if reached not in longer:
                    longer[reached] = np.zeros(2 * reached * (above + size - reached) + 1)
                shift = normals * (2 * a + hits)
                longer[reached][shift : shift + row.shape[0]] += weights[hits] * row
        rows = longer
        above += size
    return rows[n] / math.fsum(rows[n])


def _of_top_hits(
    counts: OrderedCounts, parameters: Parameters, divisor: Callable[[int, int], int]
) -> NullDistribution | None:
    """Anomalies above the tie at the cut, and in it, are hypergeometric one after the other."""
    n, m = classes(counts)
    k = _top_k(counts, parameters)
    above, tie = _tie_at_cut(counts, k)
    if k == above:
        tie = 0
    if (min(tie, n) + 1) * (min(above, n) + 1) > _MOST_VALUES:
        return None
    values, probabilities = [], []
    first, in_tie = _hypergeometric(n + m, n, tie)
    for e, probability in enumerate(in_tie.tolist(), first):
        lowest, over = _hypergeometric(n + m - tie, n - e, above)
        hits = np.arange(lowest, lowest + over.shape[0]) * max(tie, 1) + (k - above) * e
        values.append(hits / (max(tie, 1) * divisor(n, k)))
        probabilities.append(probability * over)
    return NullDistribution(np.concatenate(values), np.concatenate(probabilities))


def _at_fpr(
    counts: OrderedCounts,
    parameters: Parameters,
    value: Callable[[FloatVector, int, int], FloatVector],
) -> NullDistribution | None:
    """Distinct scores: the samples above the first normal one too many are flagged."""
    if not _is_distinct(counts) or parameters.get("prevalence") is not None:
        return None
    n, m = classes(counts)
    fp = math.floor(parameters["fpr"] * m)
    hits, probabilities = _above(n, m, fp + 1)
    with np.errstate(invalid="ignore"):
        values = value(hits, fp, n)
    if value is _f1 and fp == 0 and counts.threshold(1) == math.inf:
        values[hits == 0] = np.nan  # a normal that scores +inf is flagged by every threshold
    return NullDistribution(values, probabilities)


def _tpr(tp: FloatVector, _: int, n: int) -> FloatVector:
    return tp / n


def _f1(tp: FloatVector, fp: int, n: int) -> FloatVector:
    return 2 * tp / (tp + fp + n)


def _precision(tp: FloatVector, fp: int, _: int) -> FloatVector:
    return tp / (tp + fp)


def _of_fpr(counts: OrderedCounts, parameters: Parameters) -> NullDistribution | None:
    if not _is_distinct(counts):
        return None
    n, m = classes(counts)
    alarms, probabilities = _above(m, n, math.ceil(parameters["tpr"] * n))
    return NullDistribution(alarms / m, probabilities)


def _above(n: int, m: int, rank: int) -> tuple[FloatVector, FloatVector]:
    """Return the possible numbers, of n, above the one of a rank of m others; and probabilities.

    Distinct scores: negative hypergeometric. Rank 0 has none above it, a rank beyond m has all.
    """
    if rank == 0 or rank > m:
        return np.array([0.0 if rank == 0 else float(n)]), np.ones(1)
    t = np.arange(n, dtype=np.float64)
    probabilities = _from_ratios((t + rank) / (t + 1) * ((n - t) / (n + m - t - rank)))
    return np.arange(n + 1, dtype=np.float64), probabilities


def _hypergeometric(total: int, marked: int, drawn: int) -> tuple[int, FloatVector]:
    """Return the lowest number of marked among the drawn, and the probabilities from it on."""
    lowest, highest = max(0, drawn - (total - marked)), min(marked, drawn)
    x = np.arange(lowest, highest, dtype=np.float64)
    ratios = (marked - x) / (x + 1) * ((drawn - x) / (total - marked - drawn + x + 1))
    return lowest, _from_ratios(ratios)


def _from_ratios(ratios: FloatVector) -> FloatVector:
    """Return probabilities whose neighbours have these decreasing ratios.

    Logarithms add up from the mode outwards, so that they are small where probabilities are not.
    """
    logs = np.log(ratios)
    mode = int(np.count_nonzero(ratios > 1))
    up, down = np.cumsum(logs[mode:]), -np.cumsum(logs[:mode][::-1])[::-1]
    probabilities: FloatVector = np.exp(np.concatenate([down, [0.0], up]))
    probabilities /= math.fsum(probabilities)
    return probabilities


_DISTRIBUTIONS: Mapping[str, Callable[[OrderedCounts, Parameters], NullDistribution | None]] = {
    "roc_auc": _of_auc,
    "precision_at_k": lambda counts, parameters: _of_top_hits(counts, parameters, lambda _, k: k),
    "recall_at_k": lambda counts, parameters: _of_top_hits(counts, parameters, lambda n, _: n),
    "tpr_at_fpr": lambda counts, parameters: _at_fpr(counts, parameters, _tpr),
    "f1_at_fpr": lambda counts, parameters: _at_fpr(counts, parameters, _f1),
    "precision_at_fpr": lambda counts, parameters: _at_fpr(counts, parameters, _precision),
    "fpr_at_tpr": _of_fpr,
}


@dataclass(frozen=True, slots=True)
class Moments:
    """Expected value, and the standard deviation where it is known."""

    expected: float
    standard_deviation: float | None


@dataclass(frozen=True, slots=True)
class NormalApproximation:
    """A normal distribution with these moments, of values with this distance."""

    expected: float
    standard_deviation: float
    step: float

    def at_least(self, value: float) -> float:
        """Return the probability of a value at least as high, with continuity correction."""
        z = (value - self.step / 2 - self.expected) / self.standard_deviation
        return math.erfc(z / math.sqrt(2)) / 2


def moments(counts: OrderedCounts, bound: BoundMeasure) -> Moments | None:
    """Return the first two moments of a measure, as far as they are known."""
    moments_of = _MOMENTS.get(bound.measure.name)
    return None if moments_of is None else moments_of(counts, bound.parameters)


def normal_approximation(counts: OrderedCounts, bound: BoundMeasure) -> NormalApproximation | None:
    """Return the normal approximation of the AUC where it is close; None for other measures."""
    n, m = classes(counts)
    if bound.measure.name != "roc_auc" or min(n, m) < _LEAST_SAMPLES:
        return None
    if int(np.max(sizes_of(counts))) > _MOST_TIED * (n + m):
        return None
    return NormalApproximation(0.5, _area_deviation(counts), 1 / (n * m))


def _area_moments(counts: OrderedCounts, _: Parameters) -> Moments:
    return Moments(0.5, _area_deviation(counts))


def _area_deviation(counts: OrderedCounts) -> float:
    """Standard deviation of Mann and Whitney's statistic with its correction for ties."""
    n, m = classes(counts)
    sizes, times = np.unique(sizes_of(counts), return_counts=True)
    ties = sum(k * (c**3 - c) for c, k in zip(sizes.tolist(), times.tolist(), strict=True))
    variance = (n + m + 1 - Fraction(ties, (n + m) * (n + m - 1))) / (12 * n * m)
    return math.sqrt(variance)


def _precision_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    """Moments of average precision, (1/n) Σ e T / P over the distinct scores.

    e of the c samples of a tie are anomalies, and T of the P samples down to its end. e T counts
    pairs (a, b), a in the tie and b down to its end: its mean is c (p1 + (P - 1) p2), where
    p_r = n (n - 1) … / N (N - 1) … is the chance that r given samples are anomalies. This gives

        E = (n - 1 + (m / N) Σ c / P) / (N - 1),

    without ties Bestgen's. The product of two such counts runs over four samples, of which some
    may be the same. For scores i above j, with u = P_i - 1 and v = P_j - 1,

        E[e T e' T'] = c c' (2 p2 + (v - 1) p3 + u (3 p3 + (v - 2) p4)),
        E[(e T)²] = c (p1 + 3 u p2 + u (u - 1) p3)
                    + c (c - 1) (4 p2 + 5 (u - 1) p3 + (u - 1) (u - 2) p4).

    The product of the means is subtracted from each coefficient as a fraction, so that terms cancel
    exactly.
    """
    if parameters["prevalence"] is not None:
        return None
    n, m = classes(counts)
    sizes = sizes_of(counts)
    if m == 0 or sizes.shape[0] == 1:
        return Moments(n / (n + m), 0.0)
    c, last = sizes.astype(np.float64), np.cumsum(sizes).astype(np.float64)
    ratios = c / last
    expected = (n - 1 + m / (n + m) * math.fsum(ratios)) / (n + m - 1)
    p1, p2, p3, p4 = (_chance_of_all(n, n + m, r) for r in (1, 2, 3, 4))
    u = last - 1
    # Sums over the scores i above each score j.
    ones = np.cumsum(ratios) - ratios
    us = (last - c) - ones
    across = ratios * (
        ones * (float(2 * p2 - p3 - p1**2) + float(p3 - p1 * p2) * u)
        + us * (float(3 * p3 - 2 * p4 - p1 * p2) + float(p4 - p2**2) * u)
    )
    alone = u * (float(3 * (p2 - 2 * p3 + p4)) + u * float(p3 - p4))
    alone += float(p1 - 4 * p2 + 5 * p3 - 2 * p4)
    paired = u * (float(5 * p3 - 3 * p4 - 2 * p1 * p2) + u * float(p4 - p2**2))
    paired += float(4 * p2 - 5 * p3 + 2 * p4 - p1**2)
    within = ratios / last * (alone + c * paired)
    variance = (2 * math.fsum(across) + math.fsum(within)) / n**2
    return Moments(expected, math.sqrt(max(variance, 0.0)))


def _chance_of_all(n: int, total: int, r: int) -> Fraction:
    """Return the chance that r given samples are all anomalies."""
    return Fraction(math.perm(n, r), math.perm(total, r)) if r <= total else Fraction(0)


def _hits_moments(
    counts: OrderedCounts, parameters: Parameters, divisor: Callable[[int, int], int]
) -> Moments:
    k = _top_k(counts, parameters)
    return _moments_of_hits(counts, Fraction(k), Fraction(divisor(classes(counts)[0], k)))


def _moments_of_hits(counts: OrderedCounts, k: Fraction, over: Fraction) -> Moments:
    """Anomalies among the k highest, each sample of the tie at the cut with its fraction of it."""
    n, m = classes(counts)
    total = n + m
    above, tie = _tie_at_cut(counts, math.floor(k))
    expected = k * n / total
    squares = above + ((k - above) ** 2 / tie if k > above else Fraction(0))
    spread = Fraction(n * m, total * (total - 1)) if total > 1 else Fraction(0)
    return Moments(
        float(expected / over), math.sqrt(spread * (squares - k * k / total)) / float(over)
    )


def _enrichment_moments(counts: OrderedCounts, parameters: Parameters) -> Moments:
    """Hits as above, over those that are expected."""
    fraction = parameters["fraction"]
    n, m = classes(counts)
    return _moments_of_hits(counts, fraction * (n + m), fraction * n)


def _enhancement_moments(counts: OrderedCounts, parameters: Parameters) -> Moments:
    """Moments of the sum of the anomalies' weights over its mean; it is linear in the labels."""
    n, m = classes(counts)
    sizes = sizes_of(counts).astype(np.float64)
    exponent = exponent_of(parameters["alpha"])
    weights = weights_of_ties(np.cumsum(sizes) - sizes, sizes, exponent / (n + m))
    mean = -math.expm1(-exponent) / (n + m)
    squares = math.fsum(sizes * (weights / mean - 1) ** 2)
    return Moments(1.0, math.sqrt(squares * m / (n * (n + m) * max(n + m - 1, 1))))


def _bedroc_moments(counts: OrderedCounts, parameters: Parameters) -> Moments:
    n, m = classes(counts)
    exponent = exponent_of(parameters["alpha"])
    rate = exponent / (n + m)
    enhancement = _enhancement_moments(counts, parameters)
    # The sum of the anomalies' weights at an enhancement of 1, and if they came last.
    mean = -math.expm1(-exponent) * n / (n + m)
    last = math.exp(-rate * m) * -math.expm1(-rate * n)
    highest = highest_gain(counts, parameters["alpha"])
    assert enhancement.standard_deviation is not None
    deviation = enhancement.standard_deviation * mean / highest
    return Moments((mean - last) / highest, deviation)


def _precision_at_p_moments(counts: OrderedCounts, parameters: Parameters) -> Moments:
    """The drawn anomalies are a random choice themselves, of as many samples as then remain."""
    p = parameters["p"]
    m = int(counts.n_normals)
    k = m * p.numerator // (p.denominator - p.numerator)
    return Moments(k / (k + m), None)


def _linear_moments(n: int, m: int, weights: FloatVector, offset: float = 0.0) -> Moments | None:
    """Moments of a sum over the n samples of a class of weights times the m others above each.

    Distinct scores: the others fall into the n + 1 gaps, all contents of which are equally likely.
    The number T_i above the i-th has the mean m i / (n + 1), and for i <= j
    Cov(T_i, T_j) = m N' i (n + 1 - j) / ((n + 1)² (n + 2)), N' = m + n + 1.
    """
    i = np.arange(1, n + 1, dtype=np.float64)
    weighted = i * weights
    before = np.cumsum(weighted) - weighted
    terms = weights * (n + 1 - i) * (weighted + 2 * before)
    scale = m * (m + n + 1) / ((n + 1) ** 2 * (n + 2))
    expected = offset + m / (n + 1) * math.fsum(weighted)
    return Moments(expected, math.sqrt(scale * math.fsum(terms)))


def _auc_at_fpr_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    n, m = classes(counts)
    low, high = parameters["min_fpr"], parameters["fpr"]
    if not _is_distinct(counts) or parameters["normalize"] == "mcclish":
        return None
    width = float(high - low) if parameters["normalize"] == "width" else 1.0
    return _linear_moments(m, n, _overlaps(m, low, high) / (n * width))


def _auc_at_tpr_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    n, m = classes(counts)
    low, high = parameters["min_tpr"], parameters["max_tpr"]
    if not _is_distinct(counts) or parameters["normalize"] == "mcclish":
        return None
    width = float(high - low) if parameters["normalize"] == "width" else 1.0
    return _linear_moments(
        n, m, -_overlaps(n, low, high) / (m * width), offset=float(high - low) / width
    )


def _overlaps(n_steps: int, low: Fraction, high: Fraction) -> FloatVector:
    """Return the length in a range of each of ``n_steps`` equal steps over [0, 1]."""
    ends = np.arange(n_steps + 1) / n_steps
    return np.diff(np.clip(ends, float(low), float(high)))


def _weighted_auc_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    if not _is_distinct(counts) or parameters["quadrature"] != "right":
        return None
    n, m = classes(counts)
    return _linear_moments(m, n, 1 / (n * np.arange(1.0, m + 1)))


def _ht_auc_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    if not _is_distinct(counts):
        return None
    n, m = classes(counts)
    dropped = math.floor(parameters["alpha"] * m)
    weights = np.where(np.arange(m) >= dropped, 1 / (n * m), 0.0)
    return _linear_moments(m, n, weights, offset=dropped / m)


def _lf_auc_moments(counts: OrderedCounts, parameters: Parameters) -> Moments | None:
    if not _is_distinct(counts):
        return None
    n, m = classes(counts)
    kept = math.floor(parameters["alpha"] * n)
    weights = np.where(np.arange(n) < kept, -1 / (n * m), 0.0)
    return _linear_moments(n, m, weights, offset=1.0)


def _separation_moments(counts: OrderedCounts, parameters: Parameters) -> Moments:
    """Half of the difference of two means of scaled scores, and a half."""
    n, m = classes(counts)
    low, high = parameters["score_range"]
    # In units of a quarter of the width, which a float can always represent.
    scores = counts.thresholds().astype(np.float64) / float((high - low) / 4)
    sizes = sizes_of(counts)
    deviations = scores - np.average(scores, weights=sizes)
    squares = math.fsum(sizes * deviations**2)
    variance = squares / (n + m - 1) * (n + m) / (n * m)
    return Moments(0.5, math.sqrt(variance) / 8)


_MOMENTS: Mapping[str, Callable[[OrderedCounts, Parameters], Moments | None]] = {
    "roc_auc": _area_moments,
    "average_precision": _precision_moments,
    "precision_at_k": lambda counts, parameters: _hits_moments(counts, parameters, lambda _, k: k),
    "recall_at_k": lambda counts, parameters: _hits_moments(counts, parameters, lambda n, _: n),
    "precision_at_p": _precision_at_p_moments,
    "enrichment_factor": _enrichment_moments,
    "robust_initial_enhancement": _enhancement_moments,
    "bedroc": _bedroc_moments,
    "auc_at_fpr": _auc_at_fpr_moments,
    "auc_at_tpr": _auc_at_tpr_moments,
    "weighted_auc": _weighted_auc_moments,
    "ht_auc": _ht_auc_moments,
    "lf_auc": _lf_auc_moments,
    "rp_auc": _separation_moments,
    "probabilistic_auc": _separation_moments,
}
