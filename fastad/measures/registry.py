"""The list of all measures, and the keys and names under which they are found."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fastad.measures import (
    localized,
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
    roc.MEASURES,
    partial.MEASURES,
    precision.MEASURES,
    top_scores.MEASURES,
    thresholds.MEASURES,
    outlier.MEASURES,
    localized.MEASURES,
    percentiles.MEASURES,
    scaled_scores.MEASURES,
)

MEASURES: Mapping[str, Measure[Any]] = MappingProxyType(
    {measure.name: measure for family in _FAMILIES for measure in family}
)
