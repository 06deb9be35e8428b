"""An operating point for each measure, where any will do."""

from typing import Any

from fastad.measures.measure import Measure

_POINTS = {"fpr": 0.05, "tpr": 0.9, "min_tpr": 0.9, "rate": 0.05, "k": 100, "precision": 0.2}
_POINTS |= {"alpha": 0.2, "cost_ratio": 2.0, "threshold": 0.5, "p": 0.05}


def options_of(row: Measure) -> dict[str, Any]:
    """Keywords with which a measure can be called; scores may lie in [-10, 10]."""
    options: dict[str, Any] = {}
    if row.operating:
        options[row.operating] = 90 if row.domain == "percentile" else _POINTS[row.operating]
    if row.ranged:
        options["score_range"] = (-10, 10)
    return options
