"""Measures of scores that come in streams or do not fit in memory, with bounds that are certain."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.streaming.distance import kolmogorov_distance as kolmogorov_distance
    from fastad.streaming.drift_monitor import DriftAlarm as DriftAlarm
    from fastad.streaming.drift_monitor import DriftMonitor as DriftMonitor
    from fastad.streaming.evaluation import evaluate as evaluate
    from fastad.streaming.panes import Dropped as Dropped
    from fastad.streaming.rate_monitor import RateAlarm as RateAlarm
    from fastad.streaming.rate_monitor import RateMonitor as RateMonitor
    from fastad.streaming.refinement import Refinement as Refinement
    from fastad.streaming.results import BoundedEvaluation as BoundedEvaluation
    from fastad.streaming.results import BoundedInterval as BoundedInterval
    from fastad.streaming.results import BoundedValue as BoundedValue
    from fastad.streaming.sketch import ScoreSketch as ScoreSketch
    from fastad.streaming.streamed_evaluation import StreamedEvaluation as StreamedEvaluation
    from fastad.streaming.windows import SlidingEvaluation as SlidingEvaluation

__getattr__, __dir__, __all__ = lazy_names()
