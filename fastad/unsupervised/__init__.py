"""Measures without labels: mass-volume and excess-mass curves, and their criteria."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.unsupervised.bands import ExcessMassBand as ExcessMassBand
    from fastad.unsupervised.bands import MassVolumeBand as MassVolumeBand
    from fastad.unsupervised.bands import excess_mass_band as excess_mass_band
    from fastad.unsupervised.bands import mass_volume_band as mass_volume_band
    from fastad.unsupervised.criteria import Criteria as Criteria
    from fastad.unsupervised.criteria import Criterion as Criterion
    from fastad.unsupervised.criteria import required_uniform_draws as required_uniform_draws
    from fastad.unsupervised.excess_mass import ExcessMassCurve as ExcessMassCurve
    from fastad.unsupervised.excess_mass import excess_mass_curve as excess_mass_curve
    from fastad.unsupervised.importance import FeatureImportance as FeatureImportance
    from fastad.unsupervised.importance import feature_importance as feature_importance
    from fastad.unsupervised.level_set_estimation import level_sets as level_sets
    from fastad.unsupervised.levels import LevelSets as LevelSets
    from fastad.unsupervised.many_detectors import emmv as emmv
    from fastad.unsupervised.many_detectors import evaluate_unsupervised as evaluate_unsupervised
    from fastad.unsupervised.mass_volume import MassVolumeCurve as MassVolumeCurve
    from fastad.unsupervised.mass_volume import mass_volume_curve as mass_volume_curve
    from fastad.unsupervised.mass_volume import mass_volume_from_roc as mass_volume_from_roc
    from fastad.unsupervised.ranking import Place as Place
    from fastad.unsupervised.ranking import UnsupervisedEvaluation as UnsupervisedEvaluation

__getattr__, __dir__, __all__ = lazy_names()
