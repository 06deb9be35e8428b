"""Functions of confusion counts, written out as their definitions are."""

from typing import Any

import numpy as np

SAMPLES_PER_DAY = 10_000
PREVALENCE = 0.01
COSTS = np.array([[0.0, 3.0], [50.0, 1.0]])  # of normal and anomaly, passed and flagged


def f2(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    """(1 + b^2) tp / ((1 + b^2) tp + b^2 fn + fp) with b = 2."""
    return 5 * tp / (5 * tp + 4 * (n - tp) + fp)


def matthews(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    fn, tn = n - tp, m - fp
    return (tp * tn - fp * fn) / np.sqrt((tp + fp) * n * m * (fn + tn))


def balanced_accuracy(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    return (tp / n + 1 - fp / m) / 2


def expected_cost(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    """Of a sample, at a prevalence, with the costs of what may happen to it."""
    tpr, fpr = tp / n, fp / m
    of_anomaly = COSTS[1, 0] * (1 - tpr) + COSTS[1, 1] * tpr
    of_normal = COSTS[0, 0] * (1 - fpr) + COSTS[0, 1] * fpr
    return PREVALENCE * of_anomaly + (1 - PREVALENCE) * of_normal


def alerts_per_day(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    return SAMPLES_PER_DAY * (PREVALENCE * tp / n + (1 - PREVALENCE) * fp / m)


def precision(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    return tp / (tp + fp)


def net_benefit(tp: Any, fp: Any, n: Any, m: Any, threshold: Any) -> Any:
    return (tp - fp * threshold / (1 - threshold)) / (n + m)


def f1(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    return 2 * tp / (tp + fp + n)
