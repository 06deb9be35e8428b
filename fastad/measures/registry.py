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
    logarithmic,
    neyman_pearson,
    outlier,
    partial,
    percentiles,
    precision,
    ranks,
    roc,
    roc_points,
    scaled_scores,
    thresholds,
    top_scores,
)
from fastad.measures.measure import Measure

_FAMILIES = (
    roc.MEASURES,
    detection_errors.MEASURES,
    # In listings of measures the rates follow the area up to a rate.
    partial.MEASURES[:1],
    roc_points.MEASURES,
    partial.MEASURES[1:],
    logarithmic.MEASURES,
    early.MEASURES,
    precision.MEASURES,
    best_thresholds.MEASURES,
    top_scores.MEASURES,
    ranks.MEASURES,
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
