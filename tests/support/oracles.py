"""Slow, obvious definitions of the measures, in integers and fractions.

Each is the definition in ``docs/measures`` in plain Python. Nothing here comes from fastad.
"""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, TypeAlias

import numpy as np

Number: TypeAlias = int | float
# Flagged normals, flagged anomalies, and the threshold that flags them.
Point: TypeAlias = tuple[Fraction, Fraction, Number]
Rows: TypeAlias = list[tuple[int, Number, Fraction]]


class UndefinedError(Exception):
    """What the oracles raise where a measure has no value."""


def written(value: Any) -> Fraction:
    """The decimal as written: 0.29 is 29/100, a float32 its own shortest decimal."""
    if isinstance(value, Fraction | int):
        return Fraction(value)
    return Fraction(str(value)) if isinstance(value, np.floating) else Fraction(repr(value))


def rows(y: Any, s: Any, w: Any = None) -> Rows:
    """(label, score, weight) of the rows that are present; scores as exact Python numbers."""
    labels, scores = np.asarray(y).tolist(), np.asarray(s).tolist()
    weights = [1] * len(labels) if w is None else np.asarray(w).tolist()
    # Python compares ints with floats exactly, whatever their size.
    scores = [int(score) if isinstance(score, bool) else score for score in scores]
    return [
        (int(label), score, Fraction(weight))
        for label, score, weight in zip(labels, scores, weights, strict=True)
        if weight > 0
    ]


def totals(data: Rows) -> tuple[Fraction, Fraction]:
    """n and m."""
    n = sum((weight for label, _, weight in data if label), Fraction(0))
    m = sum((weight for label, _, weight in data if not label), Fraction(0))
    return n, m


def both_classes(data: Rows) -> tuple[Fraction, Fraction]:
    n, m = totals(data)
    if not n or not m:
        raise UndefinedError
    return n, m


def points(data: Rows) -> list[Point]:
    """All points of the curve: tied scores are one step."""
    result: list[Point] = [(Fraction(0), Fraction(0), math.inf)]
    for threshold in sorted({score for _, score, _ in data}, reverse=True):
        flagged = [row for row in data if row[1] >= threshold]
        n, m = totals(flagged)
        result.append((m, n, threshold))
    return result


def rates(data: Rows) -> list[tuple[Fraction, Fraction]]:
    n, m = both_classes(data)
    return [(fp / m, tp / n) for fp, tp, _ in points(data)]


def roc_auc(data: Rows) -> Fraction:
    """P(s+ > s-) + P(s+ = s-) / 2, pair by pair."""
    n, m = both_classes(data)
    total = Fraction(0)
    for label, high, w_high in data:
        for other, low, w_low in data:
            if label and not other:
                half = 2 if high > low else 1 if high == low else 0
                total += w_high * w_low * Fraction(half, 2)
    return total / (n * m)


def tpr_at_fpr(data: Rows, alpha: Fraction, interpolation: str) -> Fraction:
    curve = rates(data)
    last = max(i for i, (x, _) in enumerate(curve) if x <= alpha)
    x0, y0 = curve[last]
    if interpolation == "conservative" or last + 1 == len(curve):
        return y0
    x1, y1 = curve[last + 1]
    return y0 + (alpha - x0) * (y1 - y0) / (x1 - x0)


def fpr_at_tpr(data: Rows, beta: Fraction, interpolation: str) -> Fraction:
    curve = rates(data)
    first = min(i for i, (_, y) in enumerate(curve) if y >= beta)
    x1, y1 = curve[first]
    if interpolation == "conservative" or first == 0:
        return x1
    x0, y0 = curve[first - 1]
    return x0 + (beta - y0) * (x1 - x0) / (y1 - y0)


def integral(curve: Sequence[tuple[Fraction, Fraction]], low: Fraction, high: Fraction) -> Fraction:
    """Area under straight pieces over [low, high]."""
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(curve):
        a, b = max(x0, low), min(x1, high)
        if a < b:
            slope = (y1 - y0) / (x1 - x0)
            area += (b - a) * (y0 + slope * ((a + b) / 2 - x0))
    return area


def normalized(area: Fraction, width: Fraction, chance: Fraction, normalize: str) -> Fraction:
    if normalize == "none":
        return area
    if normalize == "width":
        return area / width
    if area < chance:
        raise UndefinedError
    return (1 + (area - chance) / (width - chance)) / 2


def auc_at_fpr(data: Rows, alpha: Fraction, low: Fraction, normalize: str) -> Fraction:
    curve = rates(data)
    if alpha == low:
        raise UndefinedError
    chance = (alpha**2 - low**2) / 2
    return normalized(integral(curve, low, alpha), alpha - low, chance, normalize)


def auc_at_tpr(data: Rows, low: Fraction, high: Fraction, normalize: str) -> Fraction:
    mirrored = [(y, 1 - x) for x, y in rates(data)]
    if high == low:
        raise UndefinedError
    width = high - low
    chance = width - (high**2 - low**2) / 2
    return normalized(integral(mirrored, low, high), width, chance, normalize)


def weighted_auc(data: Rows) -> Fraction:
    """Each trapezoid over its right end, segments ending at FPR 0 dropped."""
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(rates(data)):
        if x1 > 0:
            area += (x1 - x0) * (y0 + y1) / 2 / x1
    return area


def weighted_auc_exact(data: Rows) -> float:
    """Integral of TPR / FPR over [1/m, 1] on the interpolated curve, to fifty digits."""
    _, m = both_classes(data)
    if m == 1:
        raise UndefinedError  # a range of zero width
    with localcontext() as context:
        context.prec = 50
        area = Decimal(0)
        for (x0, y0), (x1, y1) in pairwise(rates(data)):
            left = max(x0, 1 / m)
            if left < x1:
                slope = (y1 - y0) / (x1 - x0)
                area += _decimal(y0 - slope * x0) * _decimal(x1 / left).ln()
                area += _decimal(slope * (x1 - left))
        return float(area)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def ends_at_fpr(data: Rows, alpha: Fraction) -> tuple[Point, Point | None]:
    """L = last point with FPR <= alpha, and R, the next."""
    _, m = totals(data)
    if not m:
        raise UndefinedError
    curve = points(data)
    last = max(i for i, (fp, _, _) in enumerate(curve) if fp / m <= alpha)
    following = curve[last + 1] if last + 1 < len(curve) else None
    if last == 0 and following and following[2] == math.inf:
        raise UndefinedError  # a normal scored +inf makes this rate unreachable
    return curve[last], following


def threshold_at_fpr(data: Rows, alpha: Fraction, interpolation: str) -> Number | Fraction:
    """The exact threshold, before it is rounded to the type of the scores."""
    left, right = ends_at_fpr(data, alpha)
    if interpolation == "conservative" or right is None:
        return left[2]
    if math.isinf(left[2]) or math.isinf(right[2]):
        return left[2]
    _, m = totals(data)
    fraction = (alpha - left[0] / m) / ((right[0] - left[0]) / m)
    high, low = Fraction(left[2]), Fraction(right[2])
    return high + fraction * (low - high)


def all_normal(s: Any) -> Rows:
    """Rows that are all labelled normal, for measures of normals alone."""
    return rows(np.zeros(len(s), int), s)


def flagged(data: Rows, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Flagged normals and anomalies at `threshold_at_fpr`."""
    (fp, tp, _), _ = ends_at_fpr(data, alpha)
    return fp, tp


def f1_at_fpr(data: Rows, alpha: Fraction) -> Fraction:
    n, _ = both_classes(data)
    fp, tp = flagged(data, alpha)
    return 2 * tp / (2 * tp + fp + (n - tp))


def precision_at_fpr(data: Rows, alpha: Fraction) -> Fraction:
    both_classes(data)
    fp, tp = flagged(data, alpha)
    if not fp + tp:
        raise UndefinedError
    return tp / (fp + tp)


def top(data: Rows, k: Fraction | int) -> tuple[Fraction, Fraction]:
    """Expected normals and anomalies among the k highest; a tie at the cut is shared out."""
    n, m = totals(data)
    if k > n + m:
        raise UndefinedError
    for (fp0, tp0, _), (fp1, tp1, _) in pairwise(points(data)):
        if fp1 + tp1 >= k:
            fraction = (k - fp0 - tp0) / (fp1 + tp1 - fp0 - tp0)
            return fp0 + fraction * (fp1 - fp0), tp0 + fraction * (tp1 - tp0)
    raise AssertionError("at the last point all rows are flagged")


def precision_at_k(data: Rows, k: int | None) -> Fraction:
    count = totals(data)[0] if k is None else Fraction(k)
    if not count:
        raise UndefinedError
    return top(data, count)[1] / count


def recall_at_k(data: Rows, k: int | None) -> Fraction:
    n, _ = totals(data)
    if not n:
        raise UndefinedError
    return top(data, n if k is None else k)[1] / n


def precision_recall(data: Rows) -> list[tuple[Fraction, Fraction, Number]]:
    """Precision, recall and threshold by falling threshold."""
    n, _ = totals(data)
    if not n:
        raise UndefinedError
    result = [(tp / (tp + fp), tp / n, t) for fp, tp, t in points(data)[1:]]
    return [(result[0][0], Fraction(0), math.inf), *result]


def average_precision(data: Rows) -> Fraction:
    curve = precision_recall(data)
    return sum(((r1 - r0) * p1 for (_, r0, _), (p1, r1, _) in pairwise(curve)), Fraction(0))


def drawn(data: Rows, p: Fraction) -> int:
    """How many anomalies are drawn: floor(m p / (1 - p))."""
    n, m = both_classes(data)
    if p == 1:
        raise UndefinedError
    k = math.floor(m * p / (1 - p))
    if k == 0 or k > n:
        raise UndefinedError
    return k


def precision_at_p(data: Rows, p: Fraction) -> Fraction:
    """The mean over all subsamples; rows of whole weight are repeated."""
    k = drawn(data, p)
    repeated = [(label, score) for label, score, w in data for _ in range(int(w))]
    normals = [(0, score, Fraction(1)) for label, score in repeated if not label]
    anomalies = [(1, score, Fraction(1)) for label, score in repeated if label]
    subsamples = list(combinations(anomalies, k))
    total = sum((top([*normals, *sample], k)[1] for sample in subsamples), Fraction(0))
    return total / k / len(subsamples)


def precision_at_p_untied(data: Rows, p: Fraction) -> Fraction:
    """Without ties, by the distribution P(TP >= j) = P(Hypergeom(n, A(k - j), k) >= j)."""
    k = drawn(data, p)
    n = int(totals(data)[0])
    falling = sorted(data, key=lambda row: row[1], reverse=True)
    above = [sum(not y for y, _, _ in falling[:i]) for i, row in enumerate(falling) if row[0]]
    total = 0
    for j in range(1, k + 1):
        reachable = sum(count <= k - j for count in above)
        total += sum(
            math.comb(reachable, x) * math.comb(n - reachable, k - x) for x in range(j, k + 1)
        )
    return Fraction(total, math.comb(n, k) * k)


def precision_at_p_groups(data: Rows, p: Fraction) -> Fraction:
    """The mean over all subsamples, by the group of ties in which the cut falls.

    x drawn anomalies lie above the group and y in it; the cut falls into exactly one group.
    """
    k = drawn(data, p)
    n = int(totals(data)[0])
    total = Fraction(0)
    for (fp0, tp0, _), (fp1, tp1, _) in pairwise(points(data)):
        above, inside, normals = int(tp0), int(tp1 - tp0), int(fp1 - fp0)
        for x in range(min(above, k) + 1):
            for y in range(min(inside, k - x) + 1):
                free = k - x - int(fp0)
                if 0 < free <= y + normals:
                    ways = (
                        math.comb(above, x)
                        * math.comb(inside, y)
                        * math.comb(n - above - inside, k - x - y)
                    )
                    total += ways * (x + Fraction(free * y, y + normals))
    return total / math.comb(n, k) / k


def confusion(y: Any, s: Any, threshold: Any, w: Any = None) -> tuple[Number, ...]:
    """tp, fp, tn, fn of ``s >= threshold``.

    For floats as NumPy compares them; for integers exactly, where NumPy would turn both sides
    into float64 and merge neighbours beyond 2**53.
    """
    scores, labels = np.asarray(s), np.asarray(y) == 1
    if scores.dtype.kind == "f":
        alarm = scores >= threshold
    else:
        alarm = np.array([int(score) >= threshold for score in scores.tolist()])
    weights = np.ones(len(labels), np.int64) if w is None else np.asarray(w)
    cells = (labels & alarm, ~labels & alarm, ~labels & ~alarm, labels & ~alarm)
    return tuple(sum(weights[cell].tolist()) for cell in cells)


def attempt(function: Callable[[], Any]) -> Any:
    """The value of an oracle, or None where it is undefined."""
    try:
        return function()
    except UndefinedError:
        return None


def placements(data: Rows) -> tuple[list[Fraction], list[Fraction]]:
    """Fraction of normals below each anomaly, of anomalies above each normal; ties count half.

    DeLong, DeLong and Clarke-Pearson 1988, equations (4) and (5); rows unweighted.
    """
    anomalies = [score for label, score, _ in data if label]
    normals = [score for label, score, _ in data if not label]

    def kernel(high: Number, low: Number) -> Fraction:
        return Fraction((high > low) + (high >= low), 2)

    above = [sum(kernel(x, y) for y in normals) / len(normals) for x in anomalies]
    below = [sum(kernel(x, y) for x in anomalies) / len(anomalies) for y in normals]
    return [Fraction(x) for x in above], [Fraction(y) for y in below]


def covariance(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """Of a sample, with one degree of freedom less."""
    n = len(first)
    product = sum(((x * y) for x, y in zip(first, second, strict=True)), Fraction(0))
    return (product - sum(first, Fraction(0)) * sum(second, Fraction(0)) / n) / (n - 1)


def delong_covariance(detectors: Sequence[Rows]) -> list[list[Fraction]]:
    """S10 / m + S01 / n of areas under the ROC, equation (6)."""
    placed = [placements(data) for data in detectors]
    return [
        [
            sum(
                (covariance(a, b) / len(a) for a, b in zip(first, second, strict=True)), Fraction(0)
            )
            for second in placed
        ]
        for first in placed
    ]


def trials(rate: str, tp: Any, fp: Any, tn: Any, fn: Any) -> tuple[Any, Any]:
    """Successes and trials of a rate, as textbooks have them."""
    return {
        "flagged_rate": (tp + fp, tp + fp + tn + fn),
        "tpr": (tp, tp + fn),
        "recall": (tp, tp + fn),
        "fpr": (fp, fp + tn),
        "tnr": (tn, fp + tn),
        "fnr": (fn, tp + fn),
        "precision": (tp, tp + fp),
        "npv": (tn, tn + fn),
        "fdr": (fp, tp + fp),
        "fomr": (fn, tn + fn),
        "accuracy": (tp + tn, tp + fp + tn + fn),
    }[rate]
