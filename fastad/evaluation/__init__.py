"""Tables of measures of one detector or many, on all rows or group by group."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.evaluation.breakdown import Breakdown as Breakdown
    from fastad.evaluation.entry import evaluate as evaluate
    from fastad.evaluation.groups import GroupedEvaluation as GroupedEvaluation
    from fastad.evaluation.operating_point import OperatingPoint as OperatingPoint
    from fastad.evaluation.ranked_scores import RankedScores as RankedScores
    from fastad.evaluation.ranked_scores import rank_scores as rank_scores
    from fastad.evaluation.results import DetectorEvaluation as DetectorEvaluation
    from fastad.evaluation.results import Evaluation as Evaluation
    from fastad.evaluation.summary import Summary as Summary

__getattr__, __dir__, __all__ = lazy_names()
