"""Measures at thresholds that they choose on some samples, evaluated on others."""

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NoReturn

from fastad._core.floats import nearest_float
from fastad._core.types import Threshold
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.best_thresholds import BEST_F1, PRECISION_AT_RECALL, RECALL_AT_PRECISION
from fastad.measures.costs import DETECTION_COST, MIN_DETECTION_COST
from fastad.measures.flagged import F1_AT_FPR, PRECISION_AT_FPR
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import at_fraction, first_reaching
from fastad.measures.rates import RATES
from fastad.measures.results import ValueAtThreshold
from fastad.measures.roc import FPR_AT_TPR, TPR_AT_FPR
from fastad.measures.thresholds import THRESHOLD_AT_FPR
from fastad.ordering.counts import OrderedCounts

# What each measure is at a threshold that is given.
_AT_THRESHOLD: Mapping[str, Measure[Any]] = MappingProxyType(
    {
        BEST_F1.name: RATES["f1"],
        F1_AT_FPR.name: RATES["f1"],
        PRECISION_AT_FPR.name: RATES["precision"],
        PRECISION_AT_RECALL.name: RATES["precision"],
        RECALL_AT_PRECISION.name: RATES["tpr"],
        TPR_AT_FPR.name: RATES["tpr"],
        FPR_AT_TPR.name: RATES["fpr"],
        MIN_DETECTION_COST.name: DETECTION_COST,
    }
)


def chooses_threshold(bound: BoundMeasure) -> bool:
    """Return whether a measure is the value at a threshold that it chooses."""
    return bound.measure.name in _AT_THRESHOLD


def rule_of(bound: BoundMeasure) -> str:
    """Return the rule by which a measure chooses its threshold; measures at an FPR share one.

    A rate at a threshold knows no prevalence but that of the samples; another one is refused.
    """
    if bound.parameters.get("prevalence") is not None and bound.measure is not MIN_DETECTION_COST:
        raise InvalidInputError(
            "prevalence must not be given with threshold_from, because rates at a threshold are "
            f"those of the samples; found one for {bound.key!r}"
        )
    return bound.key if bound.fpr is None else f"fpr {nearest_float(bound.fpr):g}"


def at_chosen_threshold(bound: BoundMeasure, counts: OrderedCounts) -> BoundMeasure:
    """Return the measure at the threshold that it chooses on counts, under the same key.

    Where they leave the threshold undefined it is NaN, and the measure undefined for that reason.
    """
    try:
        return _at(bound, _threshold(bound, counts))
    except UndefinedMeasureError as error:
        undefined = _at(bound, math.inf)
        compute = partial(_raise, reason=f"{error}, in threshold_from")
        return replace(
            undefined,
            measure=replace(undefined.measure, compute=compute),
            parameters={**undefined.parameters, "threshold": math.nan},
        )


def _threshold(bound: BoundMeasure, counts: OrderedCounts) -> Threshold:
    if bound.fpr is not None:
        checked = THRESHOLD_AT_FPR.check({"fpr": bound.fpr})
        threshold: Threshold = THRESHOLD_AT_FPR.compute(counts, **checked)
        return threshold
    result = bound.measure.compute(counts, **bound.parameters)
    if isinstance(result, ValueAtThreshold):
        return result.threshold
    goal = at_fraction(bound.parameters["tpr"], counts.n_anomalies)
    return counts.threshold(first_reaching(counts.tps, *goal))


def _at(bound: BoundMeasure, threshold: Threshold) -> BoundMeasure:
    measure = _AT_THRESHOLD[bound.measure.name]
    shared = {name: x for name, x in bound.parameters.items() if name in measure.parameters}
    return replace(measure.bind(threshold=threshold, **shared), key=bound.key)


def _raise(counts: OrderedCounts, *, reason: str, **parameters: Any) -> NoReturn:
    raise UndefinedMeasureError(reason)
