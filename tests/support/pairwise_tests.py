"""Tests of the differences of pairs of models: slow definitions, pair by pair."""

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from statistics import median

import scipy.stats


def average(folds: list[float]) -> float:
    return float(sum(map(Fraction, folds)) / len(folds))


def variance(folds: list[float]) -> Fraction:
    mean = sum(map(Fraction, folds), Fraction(0)) / len(folds)
    squares = sum(((Fraction(x) - mean) * (Fraction(x) - mean) for x in folds), Fraction(0))
    return squares / (len(folds) - 1)


def welch(a: list[float], b: list[float]) -> tuple[float, float, float]:
    """|t|, degrees of freedom (NaN where there are none) and the two-sided p-value."""
    k = len(a)
    difference = abs(Fraction(average(a)) - Fraction(average(b)))
    first, second = variance(a) / k, variance(b) / k
    if first + second == 0:
        return (0.0, math.nan, 1.0) if difference == 0 else (math.inf, math.nan, 0.0)
    t = math.sqrt(difference**2 / (first + second))
    nu = float((first + second) ** 2 / ((first**2 + second**2) / (k - 1)))
    return t, nu, float(2 * scipy.stats.t.sf(t, nu)) if t > 0 else 1.0


def pairs(models: list[list[float]]) -> list[tuple[float, float, float]]:
    return [welch(a, b) for a, b in combinations(models, 2)]


def tukey(models: list[list[float]]) -> list[float]:
    k = len(models[0])
    square = sum(map(variance, models)) / len(models) / k
    results = []
    for a, b in combinations(models, 2):
        difference = abs(Fraction(average(a)) - Fraction(average(b)))
        if square == 0:
            results.append(math.inf if difference else 0.0)
        else:
            results.append(math.sqrt(difference**2 / square))
    return results


def extremes(models: list[list[float]]) -> float:
    """Tukey's q of the best and the worst; of several of them those that vary most."""
    k = len(models[0])
    highest, lowest = max(map(average, models)), min(map(average, models))
    if highest == lowest:
        return 0.0
    best = max(variance(a) for a in models if average(a) == highest)
    worst = max(variance(a) for a in models if average(a) == lowest)
    square = (best + worst) / 2 / k
    return (
        math.nan if square == 0 else math.sqrt((Fraction(highest) - Fraction(lowest)) ** 2 / square)
    )


def criteria(models: list[list[float]]) -> dict[str, float]:
    q = [x for x in tukey(models) if x < math.inf]
    t = [x for x, _, _ in pairs(models) if x < math.inf]
    return {
        "tukey-q": extremes(models),
        "tukey-mean": sum(q) / len(q) if q else math.nan,
        "tukey-median": median(q) if q else math.nan,
        "welch-mean": sum(t) / len(t) if t else math.nan,
        "welch-median": median(t) if t else math.nan,
    }


def welch_critical(models: list[list[float]], alpha: float) -> float:
    values = [
        float(scipy.stats.t.isf(alpha / 2, nu)) for _, nu, _ in pairs(models) if not math.isnan(nu)
    ]
    return sum(values) / len(values) if values else math.nan


def partitions(n: int, largest: int) -> Iterator[list[int]]:
    if n == 0:
        yield []
    for part in range(min(n, largest), 0, -1):
        for rest in partitions(n - part, part):
            yield [part, *rest]


def possible(n_models: int) -> set[int]:
    """The numbers of pairs that are equal for some grouping into equal models."""
    return {sum(j * (j - 1) // 2 for j in sizes) for sizes in partitions(n_models, n_models)}


def adjusted(p_values: list[float], correction: str, n_models: int) -> list[float]:
    """p-values corrected one after the other, as the papers say it."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i])
    result = [0.0] * m
    if correction == "none":
        return list(p_values)
    if correction == "bonferroni":
        return [min(p * m, 1.0) for p in p_values]
    if correction == "benjamini-hochberg":
        least = 1.0
        for i in range(m - 1, -1, -1):
            least = min(least, p_values[order[i]] * (m / (i + 1)))
            result[order[i]] = least
        return result
    numbers = possible(n_models)
    most = 0.0
    for i in range(m):
        left = m - i
        tests = left if correction == "holm" else max(x for x in numbers if x <= left)
        most = max(most, min(p_values[order[i]] * tests, 1.0))
        result[order[i]] = most
    return result


def several(models: list[list[float]]) -> tuple[float, float, float]:
    """Welch's F of several groups that all vary, and its degrees of freedom."""
    n, k = len(models), len(models[0])
    weights = [k / variance(a) for a in models]
    means = [sum(map(Fraction, a)) / k for a in models]
    total = sum(weights)
    centre = sum(w * x for w, x in zip(weights, means, strict=True)) / total
    between = sum(w * (x - centre) ** 2 for w, x in zip(weights, means, strict=True)) / (n - 1)
    uneven = sum((1 - w / total) ** 2 for w in weights) / (k - 1)
    f = between / (1 + Fraction(2 * (n - 2), n * n - 1) * uneven)
    return float(f), n - 1.0, float(Fraction(n * n - 1) / (3 * uneven))
