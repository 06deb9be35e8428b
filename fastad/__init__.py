"""Fast, exact measures of how good anomaly detectors are.

Public names load what they need when they are first used: importing the package alone imports
neither Numba nor SciPy and compiles nothing.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastad.certainty.bands import PrecisionRecallBand as PrecisionRecallBand
    from fastad.certainty.bands import RocBand as RocBand
    from fastad.certainty.bands import precision_recall_band as precision_recall_band
    from fastad.certainty.bands import roc_band as roc_band
    from fastad.certainty.chance import Chance as Chance
    from fastad.certainty.chance import chance as chance
    from fastad.certainty.guarantee import GuaranteedThreshold as GuaranteedThreshold
    from fastad.certainty.guarantee import scores_for_guarantee as scores_for_guarantee
    from fastad.certainty.guarantee import threshold_with_guarantee as threshold_with_guarantee
    from fastad.certainty.intervals import interval as interval
    from fastad.certainty.pairs import compare as compare
    from fastad.certainty.results import Comparison as Comparison
    from fastad.certainty.results import Interval as Interval
    from fastad.certainty.tournament import Comparisons as Comparisons
    from fastad.certainty.tournament import Covariance as Covariance
    from fastad.certainty.tournament import compare_all as compare_all
    from fastad.certainty.tournament import delong_covariance as delong_covariance
    from fastad.comparison.advice import Recommendation as Recommendation
    from fastad.comparison.advice import recommend as recommend
    from fastad.comparison.agreement import LabelAgreement as LabelAgreement
    from fastad.comparison.agreement import PairAgreement as PairAgreement
    from fastad.comparison.agreement import pairwise_agreement as pairwise_agreement
    from fastad.comparison.agreement import rank_label_agreement as rank_label_agreement
    from fastad.comparison.chosen import loss_at_chosen_fpr as loss_at_chosen_fpr
    from fastad.comparison.correlation import KendallMatrix as KendallMatrix
    from fastad.comparison.correlation import kendall_matrix as kendall_matrix
    from fastad.comparison.distance import RankDistances as RankDistances
    from fastad.comparison.distance import rank_distance as rank_distance
    from fastad.comparison.friedman_test import FriedmanTable as FriedmanTable
    from fastad.comparison.friedman_test import FriedmanTest as FriedmanTest
    from fastad.comparison.friedman_test import friedman as friedman
    from fastad.comparison.operating import ChosenFpr as ChosenFpr
    from fastad.comparison.operating import Discriminability as Discriminability
    from fastad.comparison.operating import discriminability as discriminability
    from fastad.comparison.overview import compare_runs as compare_runs
    from fastad.comparison.posthoc import nemenyi as nemenyi
    from fastad.comparison.posthoc import wilcoxon_holm as wilcoxon_holm
    from fastad.comparison.rank_comparison import RankComparison as RankComparison
    from fastad.comparison.ranks import RankTable as RankTable
    from fastad.comparison.ranks import average_ranks as average_ranks
    from fastad.comparison.results import ResultTable as ResultTable
    from fastad.comparison.runs_overview import RunsOverview as RunsOverview
    from fastad.comparison.selection import LossMatrix as LossMatrix
    from fastad.comparison.selection import SensitivityMatrix as SensitivityMatrix
    from fastad.comparison.selection import class_sensitivity as class_sensitivity
    from fastad.comparison.selection import selection_loss as selection_loss
    from fastad.compiled.dispatch import compile_scorer as compile_scorer
    from fastad.compiled.knn_detector import KNNDetector as KNNDetector
    from fastad.compiled.scorer import CompiledScorer as CompiledScorer
    from fastad.errors import BatchScorerWarning as BatchScorerWarning
    from fastad.errors import CompilationCacheWarning as CompilationCacheWarning
    from fastad.errors import InsufficientMixingWarning as InsufficientMixingWarning
    from fastad.errors import InvalidInputError as InvalidInputError
    from fastad.errors import LowCoverageWarning as LowCoverageWarning
    from fastad.errors import MissingExtraError as MissingExtraError
    from fastad.errors import UndefinedMeasureError as UndefinedMeasureError
    from fastad.evaluation import evaluate as evaluate
    from fastad.labelled.alarms import confusion_at as confusion_at
    from fastad.labelled.alarms import precision_at_k as precision_at_k
    from fastad.labelled.alarms import precision_at_p as precision_at_p
    from fastad.labelled.alarms import recall_at_k as recall_at_k
    from fastad.labelled.best import best_f1 as best_f1
    from fastad.labelled.best import recall_at_precision as recall_at_precision
    from fastad.labelled.costs import cost_auc as cost_auc
    from fastad.labelled.costs import np_curve as np_curve
    from fastad.labelled.costs import np_score as np_score
    from fastad.labelled.localized import beta_weighted_auc as beta_weighted_auc
    from fastad.labelled.localized import gaussian_weighted_auc as gaussian_weighted_auc
    from fastad.labelled.localized import histogram_weighted_auc as histogram_weighted_auc
    from fastad.labelled.localized import localized_auc as localized_auc
    from fastad.labelled.operating import f1_at_fpr as f1_at_fpr
    from fastad.labelled.operating import precision_at_fpr as precision_at_fpr
    from fastad.labelled.operating import threshold_at_fpr as threshold_at_fpr
    from fastad.labelled.operating import threshold_at_rate as threshold_at_rate
    from fastad.labelled.outlier import ht_auc as ht_auc
    from fastad.labelled.outlier import lf_auc as lf_auc
    from fastad.labelled.outlier import rank_power as rank_power
    from fastad.labelled.partial import auc_at_fpr as auc_at_fpr
    from fastad.labelled.partial import auc_at_tpr as auc_at_tpr
    from fastad.labelled.partial import fpr_at_tpr as fpr_at_tpr
    from fastad.labelled.partial import tpr_at_fpr as tpr_at_fpr
    from fastad.labelled.percentile import class_percentiles as class_percentiles
    from fastad.labelled.percentile import probabilistic_auc as probabilistic_auc
    from fastad.labelled.percentile import rp_auc as rp_auc
    from fastad.labelled.percentile import rp_curve as rp_curve
    from fastad.labelled.percentile import rp_distance as rp_distance
    from fastad.labelled.percentile import scored_auc as scored_auc
    from fastad.labelled.percentile import smooth_roc as smooth_roc
    from fastad.labelled.precision import average_precision as average_precision
    from fastad.labelled.precision import pr_auc as pr_auc
    from fastad.labelled.precision import precision_gain_auc as precision_gain_auc
    from fastad.labelled.precision import precision_recall_curve as precision_recall_curve
    from fastad.labelled.roc import det_curve as det_curve
    from fastad.labelled.roc import equal_error_rate as equal_error_rate
    from fastad.labelled.roc import roc_auc as roc_auc
    from fastad.labelled.roc import roc_curve as roc_curve
    from fastad.labelled.roc import weighted_auc as weighted_auc
    from fastad.ranking import RankedScores as RankedScores
    from fastad.ranking import rank_scores as rank_scores
    from fastad.regions.box import Box as Box
    from fastad.regions.curve import VolumeCurve as VolumeCurve
    from fastad.regions.curve import volume_curve as volume_curve
    from fastad.regions.estimate import volume as volume
    from fastad.regions.estimate import volume_at_fpr as volume_at_fpr
    from fastad.regions.results import VolumeEstimate as VolumeEstimate
    from fastad.regions.table import Volumes as Volumes
    from fastad.regions.table import volumes as volumes
    from fastad.report import DetectorEvaluation as DetectorEvaluation
    from fastad.report import Evaluation as Evaluation
    from fastad.report import OperatingPoint as OperatingPoint
    from fastad.results import ClassPercentiles as ClassPercentiles
    from fastad.results import Confusion as Confusion
    from fastad.results import DetCurve as DetCurve
    from fastad.results import NpCurve as NpCurve
    from fastad.results import PrecisionRecallCurve as PrecisionRecallCurve
    from fastad.results import RocCurve as RocCurve
    from fastad.results import RpCurve as RpCurve
    from fastad.results import ValueAtThreshold as ValueAtThreshold
    from fastad.runs import GroupedEvaluation as GroupedEvaluation
    from fastad.summary import Summary as Summary
    from fastad.unlabelled.bands import ExcessMassBand as ExcessMassBand
    from fastad.unlabelled.bands import MassVolumeBand as MassVolumeBand
    from fastad.unlabelled.bands import excess_mass_band as excess_mass_band
    from fastad.unlabelled.bands import mass_volume_band as mass_volume_band
    from fastad.unlabelled.criteria import Criteria as Criteria
    from fastad.unlabelled.criteria import Criterion as Criterion
    from fastad.unlabelled.detector import level_sets as level_sets
    from fastad.unlabelled.evaluation import emmv as emmv
    from fastad.unlabelled.evaluation import evaluate_unlabelled as evaluate_unlabelled
    from fastad.unlabelled.excess_mass import ExcessMassCurve as ExcessMassCurve
    from fastad.unlabelled.excess_mass import excess_mass_curve as excess_mass_curve
    from fastad.unlabelled.importance import FeatureImportance as FeatureImportance
    from fastad.unlabelled.importance import feature_importance as feature_importance
    from fastad.unlabelled.levels import LevelSets as LevelSets
    from fastad.unlabelled.mass_volume import MassVolumeCurve as MassVolumeCurve
    from fastad.unlabelled.mass_volume import mass_volume_curve as mass_volume_curve
    from fastad.unlabelled.ranking import Place as Place
    from fastad.unlabelled.roc import mass_volume_from_roc as mass_volume_from_roc
    from fastad.unlabelled.roc import n_uniform_for as n_uniform_for
    from fastad.unlabelled.subsampled import SubsampledEvaluation as SubsampledEvaluation
    from fastad.unlabelled.subsampled import emmv_subsampled as emmv_subsampled
    from fastad.unlabelled.table import UnlabelledEvaluation as UnlabelledEvaluation

__version__ = "0.1.0"

# Where each public name is defined.
_HOMES = {
    "certainty.bands": (
        "PrecisionRecallBand",
        "RocBand",
        "precision_recall_band",
        "roc_band",
    ),
    "certainty.chance": (
        "Chance",
        "chance",
    ),
    "certainty.guarantee": (
        "GuaranteedThreshold",
        "scores_for_guarantee",
        "threshold_with_guarantee",
    ),
    "certainty.intervals": ("interval",),
    "certainty.pairs": ("compare",),
    "certainty.results": (
        "Comparison",
        "Interval",
    ),
    "certainty.tournament": (
        "Comparisons",
        "Covariance",
        "compare_all",
        "delong_covariance",
    ),
    "compiled.dispatch": ("compile_scorer",),
    "compiled.knn_detector": ("KNNDetector",),
    "compiled.scorer": ("CompiledScorer",),
    "errors": (
        "BatchScorerWarning",
        "InsufficientMixingWarning",
        "CompilationCacheWarning",
        "InvalidInputError",
        "LowCoverageWarning",
        "MissingExtraError",
        "UndefinedMeasureError",
    ),
    "evaluation": ("evaluate",),
    "labelled.alarms": (
        "confusion_at",
        "precision_at_k",
        "precision_at_p",
        "recall_at_k",
    ),
    "labelled.best": (
        "best_f1",
        "recall_at_precision",
    ),
    "labelled.costs": (
        "cost_auc",
        "np_curve",
        "np_score",
    ),
    "labelled.localized": (
        "beta_weighted_auc",
        "gaussian_weighted_auc",
        "histogram_weighted_auc",
        "localized_auc",
    ),
    "labelled.operating": (
        "f1_at_fpr",
        "precision_at_fpr",
        "threshold_at_fpr",
        "threshold_at_rate",
    ),
    "labelled.outlier": (
        "ht_auc",
        "lf_auc",
        "rank_power",
    ),
    "labelled.partial": (
        "auc_at_fpr",
        "auc_at_tpr",
        "fpr_at_tpr",
        "tpr_at_fpr",
    ),
    "labelled.percentile": (
        "class_percentiles",
        "probabilistic_auc",
        "rp_auc",
        "rp_curve",
        "rp_distance",
        "scored_auc",
        "smooth_roc",
    ),
    "labelled.precision": (
        "average_precision",
        "pr_auc",
        "precision_gain_auc",
        "precision_recall_curve",
    ),
    "labelled.roc": (
        "det_curve",
        "equal_error_rate",
        "roc_auc",
        "roc_curve",
        "weighted_auc",
    ),
    "ranking": (
        "RankedScores",
        "rank_scores",
    ),
    "regions.box": ("Box",),
    "regions.curve": (
        "VolumeCurve",
        "volume_curve",
    ),
    "regions.estimate": (
        "volume",
        "volume_at_fpr",
    ),
    "regions.results": ("VolumeEstimate",),
    "regions.table": (
        "Volumes",
        "volumes",
    ),
    "report": (
        "DetectorEvaluation",
        "Evaluation",
        "OperatingPoint",
    ),
    "runs": ("GroupedEvaluation",),
    "summary": ("Summary",),
    "results": (
        "ClassPercentiles",
        "Confusion",
        "DetCurve",
        "NpCurve",
        "PrecisionRecallCurve",
        "RocCurve",
        "RpCurve",
        "ValueAtThreshold",
    ),
    "comparison.agreement": (
        "LabelAgreement",
        "PairAgreement",
        "pairwise_agreement",
        "rank_label_agreement",
    ),
    "comparison.advice": (
        "Recommendation",
        "recommend",
    ),
    "comparison.chosen": ("loss_at_chosen_fpr",),
    "comparison.correlation": (
        "KendallMatrix",
        "kendall_matrix",
    ),
    "comparison.distance": (
        "RankDistances",
        "rank_distance",
    ),
    "comparison.friedman_test": (
        "FriedmanTable",
        "FriedmanTest",
        "friedman",
    ),
    "comparison.posthoc": (
        "nemenyi",
        "wilcoxon_holm",
    ),
    "comparison.rank_comparison": ("RankComparison",),
    "comparison.overview": ("compare_runs",),
    "comparison.ranks": (
        "RankTable",
        "average_ranks",
    ),
    "comparison.operating": (
        "ChosenFpr",
        "Discriminability",
        "discriminability",
    ),
    "comparison.results": ("ResultTable",),
    "comparison.runs_overview": ("RunsOverview",),
    "comparison.selection": (
        "LossMatrix",
        "SensitivityMatrix",
        "class_sensitivity",
        "selection_loss",
    ),
    "unlabelled.bands": (
        "ExcessMassBand",
        "MassVolumeBand",
        "excess_mass_band",
        "mass_volume_band",
    ),
    "unlabelled.criteria": (
        "Criteria",
        "Criterion",
    ),
    "unlabelled.detector": ("level_sets",),
    "unlabelled.evaluation": (
        "emmv",
        "evaluate_unlabelled",
    ),
    "unlabelled.excess_mass": (
        "ExcessMassCurve",
        "excess_mass_curve",
    ),
    "unlabelled.importance": (
        "FeatureImportance",
        "feature_importance",
    ),
    "unlabelled.levels": ("LevelSets",),
    "unlabelled.mass_volume": (
        "MassVolumeCurve",
        "mass_volume_curve",
    ),
    "unlabelled.ranking": ("Place",),
    "unlabelled.roc": (
        "mass_volume_from_roc",
        "n_uniform_for",
    ),
    "unlabelled.subsampled": (
        "SubsampledEvaluation",
        "emmv_subsampled",
    ),
    "unlabelled.table": ("UnlabelledEvaluation",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'fastad' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"fastad.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
