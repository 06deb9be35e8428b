"""Confidence intervals and bands, comparisons of detectors, guarantees and chance levels."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.uncertainty.chance.chance_level import ChanceLevel as ChanceLevel
    from fastad.uncertainty.chance.chance_level import chance_level as chance_level
    from fastad.uncertainty.comparisons.comparison import compare as compare
    from fastad.uncertainty.comparisons.comparison import compare_all as compare_all
    from fastad.uncertainty.comparisons.comparison_results import Comparison as Comparison
    from fastad.uncertainty.comparisons.comparison_results import Comparisons as Comparisons
    from fastad.uncertainty.comparisons.comparison_results import (
        IndependentComparison as IndependentComparison,
    )
    from fastad.uncertainty.comparisons.covariance import delong_covariance as delong_covariance
    from fastad.uncertainty.comparisons.independent import (
        compare_independent as compare_independent,
    )
    from fastad.uncertainty.comparisons.margin_results import MarginTest as MarginTest
    from fastad.uncertainty.comparisons.noninferiority import at_least as at_least
    from fastad.uncertainty.comparisons.noninferiority import equivalence as equivalence
    from fastad.uncertainty.comparisons.noninferiority import noninferiority as noninferiority
    from fastad.uncertainty.comparisons.planned_power import GatePower as GatePower
    from fastad.uncertainty.comparisons.planned_power import gate_power as gate_power
    from fastad.uncertainty.comparisons.threshold_bands import DifferenceBand as DifferenceBand
    from fastad.uncertainty.comparisons.threshold_bands import difference_band as difference_band
    from fastad.uncertainty.intervals.cross_validated import (
        CrossValidatedInterval as CrossValidatedInterval,
    )
    from fastad.uncertainty.intervals.cross_validated import (
        cross_validated_interval as cross_validated_interval,
    )
    from fastad.uncertainty.intervals.interval import interval as interval
    from fastad.uncertainty.intervals.sensitivity import (
        ContaminationSensitivity as ContaminationSensitivity,
    )
    from fastad.uncertainty.intervals.sensitivity import (
        contamination_sensitivity as contamination_sensitivity,
    )
    from fastad.uncertainty.rates.attainable_rates import RateResolution as RateResolution
    from fastad.uncertainty.rates.attainable_rates import resolution as resolution
    from fastad.uncertainty.rates.bands import PrecisionRecallBand as PrecisionRecallBand
    from fastad.uncertainty.rates.bands import RocBand as RocBand
    from fastad.uncertainty.rates.bands import precision_recall_band as precision_recall_band
    from fastad.uncertainty.rates.bands import roc_band as roc_band
    from fastad.uncertainty.rates.f1_optimism import BestF1Optimism as BestF1Optimism
    from fastad.uncertainty.rates.f1_optimism import best_f1_optimism as best_f1_optimism
    from fastad.uncertainty.rates.group_rates import RateComparison as RateComparison
    from fastad.uncertainty.rates.group_rates import compare_rates as compare_rates
    from fastad.uncertainty.rates.guarantee import GuaranteedThreshold as GuaranteedThreshold
    from fastad.uncertainty.rates.guarantee import (
        sample_size_for_guarantee as sample_size_for_guarantee,
    )
    from fastad.uncertainty.rates.guarantee import (
        threshold_with_guarantee as threshold_with_guarantee,
    )
    from fastad.uncertainty.rates.sequences import ConfidenceSequence as ConfidenceSequence
    from fastad.uncertainty.rates.sequences import (
        rate_confidence_sequence as rate_confidence_sequence,
    )
    from fastad.uncertainty.rates.tail_models import TailModel as TailModel
    from fastad.uncertainty.rates.tail_models import tail_model as tail_model
    from fastad.uncertainty.results import Covariance as Covariance
    from fastad.uncertainty.results import Interval as Interval
    from fastad.uncertainty.results import SamplingEffect as SamplingEffect

__getattr__, __dir__, __all__ = lazy_names()
