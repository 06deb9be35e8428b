"""Measures of labelled scores: for each one its computation, its function and its declaration."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
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
    from fastad.measures.results import ClassPercentiles as ClassPercentiles
    from fastad.measures.results import Confusion as Confusion
    from fastad.measures.results import DetCurve as DetCurve
    from fastad.measures.results import NpCurve as NpCurve
    from fastad.measures.results import PrecisionRecallCurve as PrecisionRecallCurve
    from fastad.measures.results import RocCurve as RocCurve
    from fastad.measures.results import RpCurve as RpCurve
    from fastad.measures.results import ValueAtThreshold as ValueAtThreshold

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "fastad.labelled.alarms": (
            "confusion_at",
            "precision_at_k",
            "precision_at_p",
            "recall_at_k",
        ),
        "fastad.labelled.best": (
            "best_f1",
            "recall_at_precision",
        ),
        "fastad.labelled.costs": (
            "cost_auc",
            "np_curve",
            "np_score",
        ),
        "fastad.labelled.localized": (
            "beta_weighted_auc",
            "gaussian_weighted_auc",
            "histogram_weighted_auc",
            "localized_auc",
        ),
        "fastad.labelled.operating": (
            "f1_at_fpr",
            "precision_at_fpr",
            "threshold_at_fpr",
            "threshold_at_rate",
        ),
        "fastad.labelled.outlier": (
            "ht_auc",
            "lf_auc",
            "rank_power",
        ),
        "fastad.labelled.partial": (
            "auc_at_fpr",
            "auc_at_tpr",
            "fpr_at_tpr",
            "tpr_at_fpr",
        ),
        "fastad.labelled.percentile": (
            "class_percentiles",
            "probabilistic_auc",
            "rp_auc",
            "rp_curve",
            "rp_distance",
            "scored_auc",
            "smooth_roc",
        ),
        "fastad.labelled.precision": (
            "average_precision",
            "pr_auc",
            "precision_gain_auc",
            "precision_recall_curve",
        ),
        "fastad.labelled.roc": (
            "det_curve",
            "equal_error_rate",
            "roc_auc",
            "roc_curve",
            "weighted_auc",
        ),
        "fastad.measures.results": (
            "ClassPercentiles",
            "Confusion",
            "DetCurve",
            "NpCurve",
            "PrecisionRecallCurve",
            "RocCurve",
            "RpCurve",
            "ValueAtThreshold",
        ),
    },
)
