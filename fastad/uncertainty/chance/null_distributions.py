"""Exact null distributions: of measures when the labels are permuted among the samples.

All choices of n anomalies among the N samples are equally likely. The distributions here are known
in closed form; those that need distinct scores are None for tied ones.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

# Limits for the AUC, in additions of rows and of numbers: both take some tenths of a second.
_MOST_ROWS = 100_000
_MOST_SUMS = 1_000_000_000
# Limit for other measures, in values.
_MOST_VALUES = 1_000_000

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


def is_distinct(counts: OrderedCounts) -> bool:
    """Return whether no two samples have the same score."""
    return bool(counts.keys.shape[0] == counts.total)


def top_k(counts: OrderedCounts, parameters: Parameters) -> int:
    """Return the number k of highest scores, by default the number of anomalies."""
    k = parameters["k"]
    return int(counts.n_anomalies) if k is None else int(k)


def tie_at_cut(counts: OrderedCounts, k: int) -> tuple[int, int]:
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
    k = top_k(counts, parameters)
    above, tie = tie_at_cut(counts, k)
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
    if not is_distinct(counts) or parameters.get("prevalence") is not None:
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
    if not is_distinct(counts):
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
