"""Figures of what fastad measures: displays as in scikit-learn; needs the extra ``plot``.

``RocCurveDisplay.from_predictions(y_true, y_score)`` computes and draws; ``RocCurveDisplay(curve)``
takes a result, and its method ``plot`` draws it; both return the display. matplotlib is imported
when something is drawn; without it there is a `fastad.errors.MissingExtraError`.
"""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.plot.comparisons import DiscriminabilityDisplay as DiscriminabilityDisplay
    from fastad.plot.comparisons import MatrixDisplay as MatrixDisplay
    from fastad.plot.comparisons import PairMatrixDisplay as PairMatrixDisplay
    from fastad.plot.decision import DecisionCurve as DecisionCurve
    from fastad.plot.decision import DecisionCurveDisplay as DecisionCurveDisplay
    from fastad.plot.det import DetCurveDisplay as DetCurveDisplay
    from fastad.plot.detector_ranks import CriticalDifferenceDisplay as CriticalDifferenceDisplay
    from fastad.plot.detector_ranks import RankIntervalsDisplay as RankIntervalsDisplay
    from fastad.plot.excess_mass import ExcessMassCurveDisplay as ExcessMassCurveDisplay
    from fastad.plot.group_rates import RateComparisonDisplay as RateComparisonDisplay
    from fastad.plot.mass_volume import MassVolumeCurveDisplay as MassVolumeCurveDisplay
    from fastad.plot.precision_recall import PrecisionRecallDisplay as PrecisionRecallDisplay
    from fastad.plot.regions import DecisionRegion as DecisionRegion
    from fastad.plot.regions import DecisionRegionDisplay as DecisionRegionDisplay
    from fastad.plot.regions import ScoreMap as ScoreMap
    from fastad.plot.roc import RocCurveDisplay as RocCurveDisplay
    from fastad.plot.roc import RocMark as RocMark
    from fastad.plot.roc_variation import RocVariation as RocVariation
    from fastad.plot.roc_variation import RocVariationDisplay as RocVariationDisplay
    from fastad.plot.rp import RpCurveDisplay as RpCurveDisplay
    from fastad.plot.score_distribution import RpSpan as RpSpan
    from fastad.plot.score_distribution import ScoreDistribution as ScoreDistribution
    from fastad.plot.score_distribution import ScoreDistributionDisplay as ScoreDistributionDisplay
    from fastad.plot.sensitivity import (
        ContaminationSensitivityDisplay as ContaminationSensitivityDisplay,
    )
    from fastad.plot.volumes import VolumeCurveDisplay as VolumeCurveDisplay
    from fastad.plot.volumes import VolumeDisplay as VolumeDisplay

__getattr__, __dir__, __all__ = lazy_names()
