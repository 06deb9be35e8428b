"""Pictures of what fastad measures: displays as in scikit-learn; needs the extra ``plot``.

``RocDisplay.from_predictions(y_true, y_score)`` computes and draws; ``RocDisplay(curve)`` holds a
result that is there already, and its method ``plot`` draws it. matplotlib is imported when
something is drawn.
"""

from fastad.plot._critical_difference import CriticalDifferenceDisplay as CriticalDifferenceDisplay
from fastad.plot._det import DetDisplay as DetDisplay
from fastad.plot._discriminability import DiscriminabilityDisplay as DiscriminabilityDisplay
from fastad.plot._distribution import ScoreDistributionDisplay as ScoreDistributionDisplay
from fastad.plot._excess_mass import ExcessMassDisplay as ExcessMassDisplay
from fastad.plot._histogram import RpSpan as RpSpan
from fastad.plot._histogram import ScoreDistribution as ScoreDistribution
from fastad.plot._mass_volume import MassVolumeDisplay as MassVolumeDisplay
from fastad.plot._matrix import MatrixDisplay as MatrixDisplay
from fastad.plot._precision_recall import PrecisionRecallDisplay as PrecisionRecallDisplay
from fastad.plot._region import DecisionRegion as DecisionRegion
from fastad.plot._region import DecisionRegionDisplay as DecisionRegionDisplay
from fastad.plot._region import ScoreMap as ScoreMap
from fastad.plot._roc import RocDisplay as RocDisplay
from fastad.plot._roc import RocMark as RocMark
from fastad.plot._rp import RpDisplay as RpDisplay
from fastad.plot._variation import RocVariation as RocVariation
from fastad.plot._variation import RocVariationDisplay as RocVariationDisplay
from fastad.plot._volume import VolumeDisplay as VolumeDisplay

__all__ = [
    "CriticalDifferenceDisplay",
    "DecisionRegion",
    "DecisionRegionDisplay",
    "DetDisplay",
    "DiscriminabilityDisplay",
    "ExcessMassDisplay",
    "MassVolumeDisplay",
    "MatrixDisplay",
    "PrecisionRecallDisplay",
    "RocDisplay",
    "RocMark",
    "RocVariation",
    "RocVariationDisplay",
    "RpDisplay",
    "RpSpan",
    "ScoreDistribution",
    "ScoreDistributionDisplay",
    "ScoreMap",
    "VolumeDisplay",
]
