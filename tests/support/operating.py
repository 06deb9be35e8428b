"""An operating point for each measure, where any will do."""

from fractions import Fraction
from typing import Any

from fastad._core.declared import Integer, Percentile, Positive
from fastad.measures.measure import Measure

_POINTS = {"fpr": 0.05, "tpr": 0.9, "min_tpr": 0.9, "rate": 0.05, "k": 100, "precision": 0.2}
_POINTS |= {"alpha": 0.2, "cost_ratio": 2.0, "threshold": 0.5, "p": 0.05}
_POINTS |= {"min_fpr": 0.02, "fraction": 0.05, "prevalence": 0.3, "recall": 0.9}


_DOMAINS = {Integer: "count", Percentile: "percentile", Positive: "positive"}


def domain(row: Measure[Any]) -> str:
    """What kind of number an operating point is: a rate unless something else is declared."""
    if row.operating_point is None:
        return "none"
    # The bound of Neyman-Pearson scores may be any positive number, and is a rate.
    if row.point_parameter.example == Fraction(1, 100):
        return "rate"
    return _DOMAINS.get(type(row.point_parameter), "rate")


def options_of(row: Measure[Any]) -> dict[str, Any]:
    """Keywords with which a measure can be called; scores may lie in [-10, 10]."""
    options: dict[str, Any] = {}
    if row.operating_point:
        options[row.operating_point] = (
            90 if domain(row) == "percentile" else _POINTS[row.operating_point]
        )
    if row.takes_score_range:
        options["score_range"] = (-10, 10)
    return options
