"""Rates at a threshold that was fixed beforehand: measures of the confusion counts."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from fastad._core.declared import ThresholdValue
from fastad._core.types import Count, FloatVector, Threshold
from fastad.errors import UndefinedMeasureError
from fastad.measures.flagged import CONFUSION_AT
from fastad.measures.measure import Extremes, Measure
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

_NO_ANOMALIES = "without anomalies (label 1)"
_NO_NORMALS = "without normal samples (label 0)"
_NONE_FLAGGED = "where nothing is flagged, at threshold {}"
_NO_DENOMINATOR = "where its denominator is 0, at threshold {}"
_ALL_FLAGGED = "where everything is flagged, at threshold {}"
# Title, whether higher is better, where it is undefined, and the successes and trials of a
# binomial proportion or, for F1 and the number of alarms, of a value that rises with one.
_PROPORTIONS: Mapping[
    str, tuple[str, bool | None, str, Callable[[Confusion], tuple[Count, Count]]]
] = {
    "tpr": ("true positive rate", True, _NO_ANOMALIES, lambda c: (c.tp, c.tp + c.fn)),
    "recall": ("recall", True, _NO_ANOMALIES, lambda c: (c.tp, c.tp + c.fn)),
    "fpr": ("false positive rate", False, _NO_NORMALS, lambda c: (c.fp, c.fp + c.tn)),
    "tnr": ("true negative rate", True, _NO_NORMALS, lambda c: (c.tn, c.fp + c.tn)),
    "fnr": ("false negative rate", False, _NO_ANOMALIES, lambda c: (c.fn, c.tp + c.fn)),
    "precision": ("precision", True, _NONE_FLAGGED, lambda c: (c.tp, c.tp + c.fp)),
    "npv": ("negative predictive value", True, _ALL_FLAGGED, lambda c: (c.tn, c.tn + c.fn)),
    "fdr": ("false discovery rate", False, _NONE_FLAGGED, lambda c: (c.fp, c.tp + c.fp)),
    "fomr": ("false omission rate", False, _ALL_FLAGGED, lambda c: (c.fn, c.tn + c.fn)),
    "accuracy": ("accuracy", True, "", lambda c: (c.tp + c.tn, _total(c))),
    "f1": (
        "F1 score",
        True,
        f"without anomalies (label 1), {_NONE_FLAGGED}",
        lambda c: (c.tp, c.tp + c.fp + c.fn),
    ),
    "n_flagged": ("number of flagged samples", None, "", lambda c: (c.n_flagged, _total(c))),
}


def _balanced_accuracy(tp: FloatVector, fp: FloatVector, n: float, m: float) -> FloatVector:
    return (tp / n + 1 - fp / m) / 2


def _matthews(tp: FloatVector, fp: FloatVector, n: float, m: float) -> FloatVector:
    flagged = tp + fp
    with np.errstate(invalid="ignore"):
        values = (tp * m - fp * n) / np.sqrt(flagged * (n + m - flagged)) / math.sqrt(n * m)
    return np.clip(values, -1.0, 1.0)


# Title, and the value of flagged anomalies and normals among n and m.
_OTHERS = {
    "balanced_accuracy": ("balanced accuracy", _balanced_accuracy),
    "mcc": ("Matthews correlation coefficient", _matthews),
}
# Their names in keys, where these differ from `Confusion`.
_KEYS = {"n_flagged": "flagged"}
_RANGES = {"mcc": (-1.0, 1.0), "n_flagged": (0.0, math.inf)}

# Successes and trials of each binomial proportion.
TRIALS: Mapping[str, Callable[[Confusion], tuple[Count, Count]]] = MappingProxyType(
    {name: trials for name, (_, _, _, trials) in _PROPORTIONS.items()}
)


class OfProportion(NamedTuple):
    """A value that rises with a proportion p of n trials."""

    # The value and its derivative as functions of p and n.
    value: Callable[[float, float], float]
    slope: Callable[[float, float], float]


# F1 = 2 tp / (2 tp + fp + fn) is 2 p / (1 + p) with p = tp / (tp + fp + fn), Jaccard's index.
OF_PROPORTION: Mapping[str, OfProportion] = MappingProxyType(
    {
        "f1": OfProportion(lambda p, n: 2 * p / (1 + p), lambda p, n: 2 / (1 + p) ** 2),
        "n_flagged": OfProportion(lambda p, n: p * n, lambda p, n: n),
    }
)

# Measures that are the proportion of successes among trials themselves.
PROPORTIONS = tuple(name for name in TRIALS if name not in OF_PROPORTION)


def confusion_at_threshold(counts: OrderedCounts, threshold: Threshold) -> Confusion:
    """Return the confusion counts at a threshold."""
    confusion: Confusion = CONFUSION_AT.compute(counts, threshold=threshold, k=None)
    return confusion


def rate_of(name: str, confusion: Confusion) -> float:
    """Return a rate of confusion counts, NaN where its denominator is 0."""
    rate: float = getattr(confusion, name)
    return rate


def _total(confusion: Confusion) -> Count:
    return confusion.tp + confusion.fp + confusion.tn + confusion.fn


def _rate_at(counts: OrderedCounts, *, threshold: Threshold, name: str) -> float:
    value = rate_of(name, confusion_at_threshold(counts, threshold))
    if value != value:
        where = _PROPORTIONS[name][2] if name in _PROPORTIONS else _NO_DENOMINATOR
        raise UndefinedMeasureError(f"{name} is undefined {where.format(threshold)}")
    return value


def _values_at(
    counts: OrderedCounts,
    tps: FloatVector,
    fps: FloatVector,
    *,
    threshold: Threshold,
    of: Callable[..., FloatVector],
) -> FloatVector:
    return of(tps, fps, counts.n_anomalies, counts.n_normals)


def _declare(name: str, title: str, **facts: Any) -> Measure[Any]:
    return Measure(
        name=name,
        title=f"{title} at a threshold",
        key=f"{_KEYS.get(name, name)}@threshold",
        compute=partial(_rate_at, name=name),
        parameters={"threshold": ThresholdValue()},
        operating_point="threshold",
        # A key without a number is that at the thresholds of an evaluation.
        default_points=(None,),
        reads_values=True,
        value_range=_RANGES.get(name, (0.0, 1.0)),
        extremes=Extremes(reads="confusion", local=True, exact=False),
        **facts,
    )


RATES: Mapping[str, Measure[Any]] = MappingProxyType(
    {
        **{
            name: _declare(name, title, higher_is_better=higher)
            for name, (title, higher, _, _) in _PROPORTIONS.items()
        },
        **{
            name: _declare(name, title, monotone=True, values_at=partial(_values_at, of=of))
            for name, (title, of) in _OTHERS.items()
        },
    }
)
MEASURES = tuple(RATES.values())
# Rates that `fastad.evaluate` computes at its thresholds, unless it names others.
STANDARD_RATES = ("tpr", "fpr", "precision", "f1", "n_flagged")
