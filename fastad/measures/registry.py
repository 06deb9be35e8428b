"""All measures, by their names."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fastad.measures import (
    best_thresholds,
    costs,
    detection_errors,
    early,
    flagged,
    localized,
    neyman_pearson,
    outlier,
    partial,
    percentiles,
    precision,
    roc,
    scaled_scores,
    thresholds,
    top_scores,
)
from fastad.measures.measure import Measure

_FAMILIES = (
    roc.MEASURES[:3],
    detection_errors.MEASURES,
    # In listings of measures the rates follow the area up to a rate.
    partial.MEASURES[:1],
    roc.MEASURES[3:],
    partial.MEASURES[1:],
    early.MEASURES,
    precision.MEASURES,
    best_thresholds.MEASURES,
    top_scores.MEASURES,
    thresholds.MEASURES,
    flagged.MEASURES,
    costs.MEASURES,
    neyman_pearson.MEASURES,
    outlier.MEASURES,
    localized.MEASURES,
    percentiles.MEASURES,
    scaled_scores.MEASURES,
)

MEASURES: Mapping[str, Measure[Any]] = MappingProxyType(
    {measure.name: measure for family in _FAMILIES for measure in family}
)
