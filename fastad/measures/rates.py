"""Rates at a threshold that was fixed beforehand: measures of the confusion counts."""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from fastad._core.parameters import ThresholdValue
from fastad._core.types import Count, Threshold
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import Measure
from fastad.measures.results import Confusion
from fastad.measures.thresholds import CONFUSION_AT
from fastad.ordering.counts import OrderedCounts

# Title, whether higher is better, and the successes and trials of what is a binomial proportion.
_PROPORTIONS: Mapping[str, tuple[str, bool, Callable[[Confusion], tuple[Count, Count]]]] = {
    "tpr": ("true positive rate", True, lambda c: (c.tp, c.tp + c.fn)),
    "recall": ("recall", True, lambda c: (c.tp, c.tp + c.fn)),
    "fpr": ("false positive rate", False, lambda c: (c.fp, c.fp + c.tn)),
    "tnr": ("true negative rate", True, lambda c: (c.tn, c.fp + c.tn)),
    "fnr": ("false negative rate", False, lambda c: (c.fn, c.tp + c.fn)),
    "precision": ("precision", True, lambda c: (c.tp, c.tp + c.fp)),
    "npv": ("negative predictive value", True, lambda c: (c.tn, c.tn + c.fn)),
    "fdr": ("false discovery rate", False, lambda c: (c.fp, c.tp + c.fp)),
    "fomr": ("false omission rate", False, lambda c: (c.fn, c.tn + c.fn)),
    "accuracy": ("accuracy", True, lambda c: (c.tp + c.tn, c.tp + c.fp + c.tn + c.fn)),
}
_OTHERS = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1 score",
    "mcc": "Matthews correlation coefficient",
}

# Successes and trials of each binomial proportion.
TRIALS: Mapping[str, Callable[[Confusion], tuple[Count, Count]]] = MappingProxyType(
    {name: trials for name, (_, _, trials) in _PROPORTIONS.items()}
)


def confusion_at_threshold(counts: OrderedCounts, threshold: Threshold) -> Confusion:
    """Return the confusion counts at a threshold."""
    confusion: Confusion = CONFUSION_AT.compute(counts, threshold=threshold, k=None)
    return confusion


def rate_of(name: str, confusion: Confusion) -> float:
    """Return a rate of confusion counts, NaN where its denominator is 0."""
    return float(getattr(confusion, name))


def _rate_at(counts: OrderedCounts, *, threshold: Threshold, name: str) -> float:
    value = rate_of(name, confusion_at_threshold(counts, threshold))
    if value != value:
        raise UndefinedMeasureError(
            f"{name} is undefined at threshold {threshold}: its denominator is 0"
        )
    return value


def _declare(name: str, title: str, **facts: Any) -> Measure[Any]:
    return Measure(
        name=name,
        title=f"{title} at a threshold",
        key=name,
        compute=partial(_rate_at, name=name),
        source="fastad.measures.Confusion",
        parameters={"threshold": ThresholdValue()},
        reads="values",
        **facts,
    )


RATES: Mapping[str, Measure[Any]] = MappingProxyType(
    {
        **{
            name: _declare(name, title, higher_is_better=higher)
            for name, (title, higher, _) in _PROPORTIONS.items()
        },
        **{
            name: _declare(name, title, value_range=(-1.0 if name == "mcc" else 0.0, 1.0))
            for name, title in _OTHERS.items()
        },
    }
)
