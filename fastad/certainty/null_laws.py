"""Exact laws and moments of measures when the labels are permuted among the points.

All choices of n anomalies among the N points are alike. What follows here is known in closed form
or by counting; whatever holds only for distinct scores says so, and gives None for tied ones.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._arguments import check_range, exact_rate
from fastad._types import FloatVector, IntVector
from fastad.certainty.asked import Asked
from fastad.counts import OrderedCounts
from fastad.measures.operating import confusion_at
from fastad.results import Confusion

# The law of the AUC, in additions of rows and of numbers: both take some tenths of a second.
_MOST_ROWS = 100_000
_MOST_SUMS = 1_000_000_000
# Other laws, in numbers that they hold.
_MOST_VALUES = 1_000_000

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Law:
    """Values of a measure, NaN where it is undefined, and the share of permutations with each."""

    values: FloatVector
    shares: FloatVector


@dataclass(frozen=True, slots=True)
class Moments:
    """Expected value, and the standard deviation where it is known."""

    expected: float
    standard_deviation: float | None


def sizes_of(counts: OrderedCounts) -> IntVector:
    """Return the number of points at each distinct score."""
    sizes: IntVector = np.diff(counts.fps + counts.tps)
    return sizes


def law(counts: OrderedCounts, asked: Asked) -> Law | None:
    """Return the whole law of a measure; None where it is not known, or takes long."""
    if asked.measure.operating == "threshold":
        return _law_at_threshold(counts, asked)
    known = _LAWS.get(asked.measure.name)
    return None if known is None else known(counts, asked.options)


def moments(counts: OrderedCounts, asked: Asked) -> Moments | None:
    """Return what is known of the first two moments of a measure."""
    known = _MOMENTS.get(asked.measure.name)
    return None if known is None else known(counts, asked.options)


def _law_at_threshold(counts: OrderedCounts, asked: Asked) -> Law | None:
    """A threshold flags always as many points; the anomalies among them are hypergeometric."""
    n, m = _classes(counts)
    flagged = confusion_at(counts, threshold=asked.options["threshold"]).n_flagged
    if min(n, m) > _MOST_VALUES // 10:  # each rate is computed by itself
        return None
    first, shares = _hypergeometric(n + m, n, int(flagged))
    numbers = range(first, first + shares.shape[0])
    tables = (Confusion(tp, int(flagged) - tp, m - int(flagged) + tp, n - tp) for tp in numbers)
    return Law(np.array([asked.measure.compute(table) for table in tables], np.float64), shares)


def _area_law(counts: OrderedCounts, _: Options) -> Law | None:
    n, m = _classes(counts)
    sizes = sizes_of(counts)
    fewer = min(n, m)
    n_rows = fewer * int(np.sum(np.minimum(sizes, fewer) + 1))
    if n_rows > _MOST_ROWS or n_rows * n * m > _MOST_SUMS:
        return None
    shares = _shares_of_areas(sizes.tolist(), fewer, n + m - fewer)
    # Normals above anomalies are the pairs that anomalies above normals leave.
    return Law(np.arange(2 * n * m + 1) / (2 * n * m), shares if n <= m else shares[::-1])


def _shares_of_areas(sizes: list[int], n: int, m: int) -> FloatVector:
    """Return the shares of the choices with twice the area 0, 1, … 2nm, in pairs.

    Down the scores, a tie of e anomalies and d normals below a anomalies adds d (2 a + e). Points
    are made anomalies independently, each with the share that is asked for: given that n are,
    all choices are alike. No sum ever subtracts, so that tails are right in all digits but the
    last few, however small.
    """
    odds = n / m
    rows = {0: np.ones(1)}
    above = 0
    for size in sizes:
        e = np.arange(min(size, n))
        chances = _from_ratios((size - e) / (e + 1) * odds)
        longer: dict[int, FloatVector] = {}
        for a, row in rows.items():
            for found in range(max(0, above - a + size - m), min(size, n - a) + 1):
                normals = size - found
                reached = a + found
                if reached not in longer:
                    longer[reached] = np.zeros(2 * reached * (above + size - reached) + 1)
                shift = normals * (2 * a + found)
                longer[reached][shift : shift + row.shape[0]] += chances[found] * row
        rows = longer
        above += size
    return rows[n] / math.fsum(rows[n])


def _area_moments(counts: OrderedCounts, _: Options) -> Moments:
    """Variance of Mann and Whitney's statistic with its correction for ties."""
    n, m = _classes(counts)
    sizes, times = np.unique(sizes_of(counts), return_counts=True)
    ties = sum(k * (c**3 - c) for c, k in zip(sizes.tolist(), times.tolist(), strict=True))
    variance = (n + m + 1 - Fraction(ties, (n + m) * (n + m - 1))) / (12 * n * m)
    return Moments(0.5, math.sqrt(variance))


def _precision_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    """Moments of average precision, (1/n) Σ e T / P over the distinct scores.

    e of the c points of a tie are anomalies, and T of the P points down to its end. e T counts
    pairs (a, b), a in the tie and b down to its end: its mean is c (p1 + (P - 1) p2), where
    p_r = n (n - 1) … / N (N - 1) … is the chance that r given points are anomalies. That gives

        E = (n - 1 + (m / N) Σ c / P) / (N - 1),

    without ties Bestgen's. The product of two such counts runs over four points, of which some
    may be the same. For scores i above j, with u = P_i - 1 and v = P_j - 1,

        E[e T e' T'] = c c' (2 p2 + (v - 1) p3 + u (3 p3 + (v - 2) p4)),
        E[(e T)²] = c (p1 + 3 u p2 + u (u - 1) p3)
                    + c (c - 1) (4 p2 + 5 (u - 1) p3 + (u - 1) (u - 2) p4).

    The product of the means is taken off each coefficient as a fraction: what cancels, cancels
    there.
    """
    if options.get("prevalence") is not None:
        return None
    n, m = _classes(counts)
    sizes = sizes_of(counts)
    if m == 0 or sizes.shape[0] == 1:
        return Moments(n / (n + m), 0.0)
    c, last = sizes.astype(np.float64), np.cumsum(sizes).astype(np.float64)
    shares = c / last
    expected = (n - 1 + m / (n + m) * math.fsum(shares)) / (n + m - 1)
    p1, p2, p3, p4 = (_chance_of_all(n, n + m, r) for r in (1, 2, 3, 4))
    u = last - 1
    # Sums over the scores i above each score j.
    ones = np.cumsum(shares) - shares
    us = (last - c) - ones
    across = shares * (
        ones * (float(2 * p2 - p3 - p1**2) + float(p3 - p1 * p2) * u)
        + us * (float(3 * p3 - 2 * p4 - p1 * p2) + float(p4 - p2**2) * u)
    )
    alone = u * (float(3 * (p2 - 2 * p3 + p4)) + u * float(p3 - p4))
    alone += float(p1 - 4 * p2 + 5 * p3 - 2 * p4)
    paired = u * (float(5 * p3 - 3 * p4 - 2 * p1 * p2) + u * float(p4 - p2**2))
    paired += float(4 * p2 - 5 * p3 + 2 * p4 - p1**2)
    within = shares / last * (alone + c * paired)
    variance = (2 * math.fsum(across) + math.fsum(within)) / n**2
    return Moments(expected, math.sqrt(max(variance, 0.0)))


def _chance_of_all(n: int, total: int, r: int) -> Fraction:
    """Return the chance that r given points are all anomalies."""
    return Fraction(math.perm(n, r), math.perm(total, r)) if r <= total else Fraction(0)


def _hits_moments(
    counts: OrderedCounts, options: Options, divisor: Callable[[int, int], int]
) -> Moments:
    """Anomalies among the k highest, each point of the tie at the cut with its share of it."""
    n, m = _classes(counts)
    total, k = n + m, _k(counts, options)
    above, tie = _cut(counts, k)
    expected = Fraction(k * n, total)
    squares = above + (Fraction((k - above) ** 2, tie) if k > above else 0)
    spread = Fraction(n * m, total * (total - 1)) if total > 1 else Fraction(0)
    over = divisor(n, k)
    return Moments(
        float(expected / over), math.sqrt(spread * (squares - Fraction(k * k, total))) / over
    )


def _hits_law(
    counts: OrderedCounts, options: Options, divisor: Callable[[int, int], int]
) -> Law | None:
    """Anomalies above the tie at the cut, and in it, are hypergeometric one after the other."""
    n, m = _classes(counts)
    k = _k(counts, options)
    above, tie = _cut(counts, k)
    if k == above:
        tie = 0
    if (min(tie, n) + 1) * (min(above, n) + 1) > _MOST_VALUES:
        return None
    values, shares = [], []
    first, in_tie = _hypergeometric(n + m, n, tie)
    for e, chance in enumerate(in_tie.tolist(), first):
        lowest, over = _hypergeometric(n + m - tie, n - e, above)
        hits = np.arange(lowest, lowest + over.shape[0]) * max(tie, 1) + (k - above) * e
        values.append(hits / (max(tie, 1) * divisor(n, k)))
        shares.append(chance * over)
    return Law(np.concatenate(values), np.concatenate(shares))


def _k(counts: OrderedCounts, options: Options) -> int:
    k = options.get("k")
    return int(counts.n_anomalies) if k is None else int(k)


def _cut(counts: OrderedCounts, k: int) -> tuple[int, int]:
    """Return the points at scores that are wholly among the k highest, and those at the next."""
    flagged = counts.fps + counts.tps
    left = int(flagged.searchsorted(k, side="right")) - 1
    return int(flagged[left]), int(flagged[min(left + 1, flagged.shape[0] - 1)] - flagged[left])


def _precision_at_p_moments(counts: OrderedCounts, options: Options) -> Moments:
    """The drawn anomalies are a random choice themselves, of as many points as then remain."""
    share = exact_rate(options["p"], "p")
    m = int(counts.n_normals)
    k = m * share.numerator // (share.denominator - share.numerator)
    return Moments(k / (k + m), None)


def _linear_moments(
    own: int, others: int, weights: FloatVector, offset: float = 0.0
) -> Moments | None:
    """Moments of a sum over the points of a class of weights times the others above each.

    Distinct scores: the others fall alike into the own + 1 gaps, all contents of which are
    equally likely. The number T_i above the i-th has the mean others i / (own + 1), and
    for i <= j Cov(T_i, T_j) = others N' i (own + 1 - j) / ((own + 1)² (own + 2)),
    N' = others + own + 1.
    """
    i = np.arange(1, own + 1, dtype=np.float64)
    weighted = i * weights
    before = np.cumsum(weighted) - weighted
    terms = weights * (own + 1 - i) * (weighted + 2 * before)
    scale = others * (others + own + 1) / ((own + 1) ** 2 * (own + 2))
    expected = offset + others / (own + 1) * math.fsum(weighted)
    return Moments(expected, math.sqrt(scale * math.fsum(terms)))


def _auc_at_fpr_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    n, m = _classes(counts)
    low, high = (exact_rate(options.get(name, 0), name) for name in ("min_fpr", "fpr"))
    if not _is_distinct(counts) or options.get("normalize") == "mcclish":
        return None
    width = float(high - low) if options.get("normalize", "width") == "width" else 1.0
    return _linear_moments(m, n, _overlaps(m, low, high) / (n * width))


def _auc_at_tpr_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    n, m = _classes(counts)
    ends = options.get("min_tpr", 0), options.get("max_tpr", 1)
    low, high = (exact_rate(end, "tpr") for end in ends)
    if not _is_distinct(counts) or options.get("normalize") == "mcclish":
        return None
    width = float(high - low) if options.get("normalize", "width") == "width" else 1.0
    return _linear_moments(
        n, m, -_overlaps(n, low, high) / (m * width), offset=float(high - low) / width
    )


def _overlaps(n_steps: int, low: Fraction, high: Fraction) -> FloatVector:
    """Return how much of each of so many equal steps over [0, 1] lies in a range."""
    ends = np.arange(n_steps + 1) / n_steps
    return np.diff(np.clip(ends, float(low), float(high)))


def _weighted_auc_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    if not _is_distinct(counts) or options.get("quadrature", "right") != "right":
        return None
    n, m = _classes(counts)
    return _linear_moments(m, n, 1 / (n * np.arange(1.0, m + 1)))


def _ht_auc_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    if not _is_distinct(counts):
        return None
    n, m = _classes(counts)
    dropped = math.floor(exact_rate(options["alpha"], "alpha") * m)
    weights = np.where(np.arange(m) >= dropped, 1 / (n * m), 0.0)
    return _linear_moments(m, n, weights, offset=dropped / m)


def _lf_auc_moments(counts: OrderedCounts, options: Options) -> Moments | None:
    if not _is_distinct(counts):
        return None
    n, m = _classes(counts)
    kept = math.floor(exact_rate(options["alpha"], "alpha") * n)
    weights = np.where(np.arange(n) < kept, -1 / (n * m), 0.0)
    return _linear_moments(n, m, weights, offset=1.0)


def _separation_moments(counts: OrderedCounts, options: Options) -> Moments:
    """Half of the difference of two means of scaled scores, and a half."""
    n, m = _classes(counts)
    low, high = check_range(options["score_range"])
    # By a quarter of the width, which a float always holds.
    scores = counts.thresholds().astype(np.float64) / float((high - low) / 4)
    sizes = sizes_of(counts)
    deviations = scores - np.average(scores, weights=sizes)
    squares = math.fsum(sizes * deviations**2)
    variance = squares / (n + m - 1) * (n + m) / (n * m)
    return Moments(0.5, math.sqrt(variance) / 8)


def _law_at_fpr(
    counts: OrderedCounts,
    options: Options,
    value: Callable[[FloatVector, int, int], FloatVector],
) -> Law | None:
    """Distinct scores: what is flagged are the points above the normal one too many."""
    if not _is_distinct(counts) or options.get("prevalence") is not None:
        return None
    n, m = _classes(counts)
    fp = math.floor(exact_rate(options["fpr"], "fpr") * m)
    hits, shares = _above(n, m, fp + 1)
    with np.errstate(invalid="ignore"):
        values = value(hits, fp, n)
    if value is _f1 and fp == 0 and counts.threshold(1) == math.inf:
        values[hits == 0] = np.nan  # a normal that scores +inf is flagged by every threshold
    return Law(values, shares)


def _tpr(tp: FloatVector, _: int, n: int) -> FloatVector:
    return tp / n


def _f1(tp: FloatVector, fp: int, n: int) -> FloatVector:
    return 2 * tp / (tp + fp + n)


def _precision(tp: FloatVector, fp: int, _: int) -> FloatVector:
    return tp / (tp + fp)


def _fpr_law(counts: OrderedCounts, options: Options) -> Law | None:
    if not _is_distinct(counts):
        return None
    n, m = _classes(counts)
    alarms, shares = _above(m, n, math.ceil(exact_rate(options["tpr"], "tpr") * n))
    return Law(alarms / m, shares)


def _above(others: int, own: int, rank: int) -> tuple[FloatVector, FloatVector]:
    """Return how many others may stand above a point of a class, by its rank, and how often.

    Distinct scores: negative hypergeometric. Rank 0 has none above it, a rank beyond the class
    all.
    """
    if rank == 0 or rank > own:
        return np.array([0.0 if rank == 0 else float(others)]), np.ones(1)
    t = np.arange(others, dtype=np.float64)
    shares = _from_ratios((t + rank) / (t + 1) * ((others - t) / (others + own - t - rank)))
    return np.arange(others + 1, dtype=np.float64), shares


def _hypergeometric(total: int, marked: int, drawn: int) -> tuple[int, FloatVector]:
    """Return the lowest number of marked points among the drawn, and the shares from it on."""
    lowest, highest = max(0, drawn - (total - marked)), min(marked, drawn)
    x = np.arange(lowest, highest, dtype=np.float64)
    ratios = (marked - x) / (x + 1) * ((drawn - x) / (total - marked - drawn + x + 1))
    return lowest, _from_ratios(ratios)


def _from_ratios(ratios: FloatVector) -> FloatVector:
    """Return shares whose neighbours have these falling ratios.

    Logarithms add up from the largest share outwards, so that they are small where shares are not.
    """
    logs = np.log(ratios)
    mode = int(np.count_nonzero(ratios > 1))
    up, down = np.cumsum(logs[mode:]), -np.cumsum(logs[:mode][::-1])[::-1]
    shares: FloatVector = np.exp(np.concatenate([down, [0.0], up]))
    shares /= math.fsum(shares)
    return shares


def _classes(counts: OrderedCounts) -> tuple[int, int]:
    return int(counts.n_anomalies), int(counts.n_normals)


def _is_distinct(counts: OrderedCounts) -> bool:
    return bool(counts.keys.shape[0] == counts.total)


_LAWS: Mapping[str, Callable[[OrderedCounts, Options], Law | None]] = {
    "roc_auc": _area_law,
    "precision_at_k": lambda counts, options: _hits_law(counts, options, lambda _, k: k),
    "recall_at_k": lambda counts, options: _hits_law(counts, options, lambda n, _: n),
    "tpr_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _tpr),
    "f1_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _f1),
    "precision_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _precision),
    "fpr_at_tpr": _fpr_law,
}
_MOMENTS: Mapping[str, Callable[[OrderedCounts, Options], Moments | None]] = {
    "roc_auc": _area_moments,
    "average_precision": _precision_moments,
    "precision_at_k": lambda counts, options: _hits_moments(counts, options, lambda _, k: k),
    "recall_at_k": lambda counts, options: _hits_moments(counts, options, lambda n, _: n),
    "precision_at_p": _precision_at_p_moments,
    "auc_at_fpr": _auc_at_fpr_moments,
    "auc_at_tpr": _auc_at_tpr_moments,
    "weighted_auc": _weighted_auc_moments,
    "ht_auc": _ht_auc_moments,
    "lf_auc": _lf_auc_moments,
    "rp_auc": _separation_moments,
    "probabilistic_auc": _separation_moments,
}
