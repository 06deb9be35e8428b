"""Measures of scores that come in streams or do not fit in memory, with bounds that are certain."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.streaming.large_files.evaluation import evaluate as evaluate
    from fastad.streaming.monitors.drift_monitor import DriftAlarm as DriftAlarm
    from fastad.streaming.monitors.drift_monitor import DriftMonitor as DriftMonitor
    from fastad.streaming.monitors.panes import Counted as Counted
    from fastad.streaming.monitors.panes import Dropped as Dropped
    from fastad.streaming.monitors.rate_monitor import RateAlarm as RateAlarm
    from fastad.streaming.monitors.rate_monitor import RateMonitor as RateMonitor
    from fastad.streaming.monitors.windows import SlidingEvaluation as SlidingEvaluation
    from fastad.streaming.sketches.distance import kolmogorov_distance as kolmogorov_distance
    from fastad.streaming.sketches.refinement import Refinement as Refinement
    from fastad.streaming.sketches.results import BoundedEvaluation as BoundedEvaluation
    from fastad.streaming.sketches.results import BoundedInterval as BoundedInterval
    from fastad.streaming.sketches.results import BoundedValue as BoundedValue
    from fastad.streaming.sketches.results import StreamedEvaluation as StreamedEvaluation
    from fastad.streaming.sketches.sketch import ScoreSketch as ScoreSketch
    from fastad.streaming.sketches.sql import counts_query as counts_query

__getattr__, __dir__, __all__ = lazy_names()
