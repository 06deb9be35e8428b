"""Exact laws of measures when the labels are permuted among the points.

All choices of n anomalies among the N points are alike. What follows here is known in closed form
or by counting; whatever holds only for distinct scores says so, and gives None for tied ones.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.parameters import exact_rate
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatVector, IntVector
from fastad._kernels.random import bits
from fastad._kernels.resampling.resample import relabel
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

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


def sizes_of(counts: OrderedCounts) -> IntVector:
    """Return the number of points at each distinct score."""
    sizes: IntVector = np.diff(counts.fps + counts.tps)
    return sizes


def classes(counts: OrderedCounts) -> tuple[int, int]:
    """Return the numbers of anomalies and of normal points."""
    return int(counts.n_anomalies), int(counts.n_normals)


def is_distinct(counts: OrderedCounts) -> bool:
    """Return whether no two points share a score."""
    return bool(counts.keys.shape[0] == counts.total)


def hits_wanted(counts: OrderedCounts, options: Options) -> int:
    """Return how many of the highest points are asked about: k, else as many as anomalies."""
    k = options.get("k")
    return int(counts.n_anomalies) if k is None else int(k)


def cut(counts: OrderedCounts, k: int) -> tuple[int, int]:
    """Return the points at scores that are wholly among the k highest, and those at the next."""
    flagged = counts.fps + counts.tps
    left = int(flagged.searchsorted(k, side="right")) - 1
    return int(flagged[left]), int(flagged[min(left + 1, flagged.shape[0] - 1)] - flagged[left])


def law(counts: OrderedCounts, asked: BoundMeasure) -> Law | None:
    """Return the whole law of a measure; None where it is not known, or takes long."""
    if asked.measure.name in RATES:
        return _law_at_threshold(counts, asked)
    known = _LAWS.get(asked.measure.name)
    return None if known is None else known(counts, asked.parameters)


def _law_at_threshold(counts: OrderedCounts, asked: BoundMeasure) -> Law | None:
    """A threshold flags always as many points; the anomalies among them are hypergeometric."""
    n, m = classes(counts)
    flagged = confusion_at_threshold(counts, asked.parameters["threshold"]).n_flagged
    if min(n, m) > _MOST_VALUES // 10:  # each rate is computed by itself
        return None
    first, shares = _hypergeometric(n + m, n, int(flagged))
    numbers = range(first, first + shares.shape[0])
    tables = (Confusion(tp, int(flagged) - tp, m - int(flagged) + tp, n - tp) for tp in numbers)
    return Law(np.array([rate_of(asked.measure.name, table) for table in tables]), shares)


def _area_law(counts: OrderedCounts, _: Options) -> Law | None:
    n, m = classes(counts)
    sizes = sizes_of(counts)
    fewer = min(n, m)
    n_rows = fewer * int(np.sum(np.minimum(sizes, fewer) + 1))
    if n_rows > _MOST_ROWS or n_rows * n * m > _MOST_SUMS:
        return None
    shares = shares_of_areas(sizes.tolist(), fewer, n + m - fewer)
    # Normals above anomalies are the pairs that anomalies above normals leave.
    return Law(np.arange(2 * n * m + 1) / (2 * n * m), shares if n <= m else shares[::-1])


def shares_of_areas(sizes: list[int], n: int, m: int) -> FloatVector:
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


def _hits_law(
    counts: OrderedCounts, options: Options, divisor: Callable[[int, int], int]
) -> Law | None:
    """Anomalies above the tie at the cut, and in it, are hypergeometric one after the other."""
    n, m = classes(counts)
    k = hits_wanted(counts, options)
    above, tie = cut(counts, k)
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


def _law_at_fpr(
    counts: OrderedCounts,
    options: Options,
    value: Callable[[FloatVector, int, int], FloatVector],
) -> Law | None:
    """Distinct scores: what is flagged are the points above the normal one too many."""
    if not is_distinct(counts) or options.get("prevalence") is not None:
        return None
    n, m = classes(counts)
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
    if not is_distinct(counts):
        return None
    n, m = classes(counts)
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


_LAWS: Mapping[str, Callable[[OrderedCounts, Options], Law | None]] = {
    "roc_auc": _area_law,
    "precision_at_k": lambda counts, options: _hits_law(counts, options, lambda _, k: k),
    "recall_at_k": lambda counts, options: _hits_law(counts, options, lambda n, _: n),
    "tpr_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _tpr),
    "f1_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _f1),
    "precision_at_fpr": lambda counts, options: _law_at_fpr(counts, options, _precision),
    "fpr_at_tpr": _fpr_law,
}


# Permutations are counted in whole numbers, of thousands of digits with more points than this.
_MOST_POINTS = 10_000
# So many permutations are a thread's next piece of work; it allocates once.
_CHUNK = 32


def drawn_values(
    counts: OrderedCounts, asked: Sequence[BoundMeasure], n_resamples: int, key: np.uint64
) -> npt.NDArray[np.float64]:
    """Return the values of each measure on permutations that are drawn; NaN where there is none.

    All measures see the same permutations, which the key alone determines.
    """
    values = np.empty((len(asked), n_resamples))
    if not asked:
        return values
    n, m = classes(counts)
    flagged = counts.fps + counts.tps
    lasts = np.zeros(n + m, np.uint8)
    lasts[flagged[1:] - 1] = 1

    def draw(replicates: range) -> None:
        fps, tps = np.empty((2, flagged.shape[0]), np.int64)
        marks = np.empty(n + m, np.uint8)
        drawn, others = (tps, fps) if n <= m else (fps, tps)
        permuted = replace(counts, fps=as_readonly(fps), tps=as_readonly(tps))
        for i in replicates:
            relabel(np.uint64(bits(key, i)), lasts, min(n, m), marks, drawn, others)
            values[:, i] = [one.value_or_nan(permuted) for one in asked]

    thread_map(draw, in_steps(0, n_resamples, _CHUNK))
    return values


def enumerated(counts: OrderedCounts, asked: BoundMeasure, most: int) -> Law | None:
    """Return the law from all outcomes, each with the number of permutations that have it.

    An outcome is how many points of each tie are anomalies: e of c points are in C(c, e) ways.
    """
    sizes = sizes_of(counts)
    n, m = classes(counts)
    if n + m > _MOST_POINTS or _n_outcomes(sizes, min(n, m), most) > most:
        return None
    values, ways = [], []
    for found in _outcomes(sizes, n):
        values.append(asked.value_or_nan(labelled(counts, sizes, found)))
        mixed = np.flatnonzero((found > 0) & (found < sizes)).tolist()
        ways.append(math.prod(math.comb(int(sizes[i]), int(found[i])) for i in mixed))
    permutations = math.comb(n + m, n)
    return Law(np.array(values), np.array([way / permutations for way in ways]))


def _n_outcomes(sizes: IntVector, fewer: int, most: int) -> int:
    """Count outcomes up to one more than most; as many of either class have the same number."""
    n_scores = sizes.shape[0]
    if fewer == 0:
        return 1
    # A number of anomalies nearer to half of all points has more outcomes (the product of
    # 1 + x + … + x^c over the ties has rising, then falling coefficients), and so have ties of
    # more than one point: there are at least so many as without ties, and with fewer anomalies.
    if n_scores > most or math.comb(n_scores, min(fewer, n_scores // 2)) > most:
        return most + 1
    ways = np.zeros(fewer + 1, np.int64)
    ways[0] = 1
    for size in sizes.tolist():
        sums = np.cumsum(ways)
        sums[size + 1 :] -= np.cumsum(ways)[: max(fewer - size, 0)]
        ways = np.minimum(sums, most + 1)
    return int(ways[fewer])


def _outcomes(sizes: IntVector, n: int) -> Iterator[IntVector]:
    """Go through all numbers of anomalies in the ties, from the highest scores down."""
    found = filled(sizes, n)
    while True:
        yield found
        # The lowest tie that can hand an anomaly down does; those below it start anew.
        free = sizes - found
        free_below = np.cumsum(free[::-1])[::-1] - free
        can = np.flatnonzero((found > 0) & (free_below > 0))
        if can.shape[0] == 0:
            return
        i = int(can[-1])
        below = int(found[i + 1 :].sum())
        found = found.copy()
        found[i] -= 1
        found[i + 1 :] = filled(sizes[i + 1 :], below + 1)


def filled(sizes: IntVector, n: int) -> IntVector:
    """Return the numbers of anomalies in the ties if the n highest points are the anomalies."""
    above = np.cumsum(sizes) - sizes
    found: IntVector = np.clip(n - above, 0, sizes)
    return found


def labelled(counts: OrderedCounts, sizes: IntVector, found: IntVector) -> OrderedCounts:
    """Return the counts with so many anomalies in each tie."""
    tps = np.concatenate([[0], np.cumsum(found)])
    fps = np.concatenate([[0], np.cumsum(sizes)]) - tps
    return replace(counts, fps=as_readonly(fps), tps=as_readonly(tps))
