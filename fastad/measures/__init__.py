"""Measures of labelled scores: for each one its computation, its function and its declaration.

A function checks its arguments, orders the scores, which takes O(n log n) time for n samples, and
reads the measure from the order. A wrong argument is an `InvalidInputError` or `InvalidTypeError`
that names it.
"""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.measures.best_thresholds import best_f1 as best_f1
    from fastad.measures.best_thresholds import best_threshold as best_threshold
    from fastad.measures.best_thresholds import precision_at_recall as precision_at_recall
    from fastad.measures.best_thresholds import recall_at_precision as recall_at_precision
    from fastad.measures.costs import detection_cost as detection_cost
    from fastad.measures.costs import min_detection_cost as min_detection_cost
    from fastad.measures.custom import from_counts as from_counts
    from fastad.measures.detection_errors import det_curve as det_curve
    from fastad.measures.detection_errors import equal_error_rate as equal_error_rate
    from fastad.measures.early import bedroc as bedroc
    from fastad.measures.early import enrichment_factor as enrichment_factor
    from fastad.measures.early import robust_initial_enhancement as robust_initial_enhancement
    from fastad.measures.flagged import confusion_at as confusion_at
    from fastad.measures.flagged import f1_at_fpr as f1_at_fpr
    from fastad.measures.flagged import precision_at_fpr as precision_at_fpr
    from fastad.measures.localized import beta_weighted_auc as beta_weighted_auc
    from fastad.measures.localized import gaussian_weighted_auc as gaussian_weighted_auc
    from fastad.measures.localized import histogram_weighted_auc as histogram_weighted_auc
    from fastad.measures.localized import localized_auc as localized_auc
    from fastad.measures.measure import BoundMeasure as BoundMeasure
    from fastad.measures.measure import Measure as Measure
    from fastad.measures.neyman_pearson import np_curve as np_curve
    from fastad.measures.neyman_pearson import np_score as np_score
    from fastad.measures.outlier import cost_auc as cost_auc
    from fastad.measures.outlier import ht_auc as ht_auc
    from fastad.measures.outlier import lf_auc as lf_auc
    from fastad.measures.partial import auc_at_fpr as auc_at_fpr
    from fastad.measures.partial import auc_at_tpr as auc_at_tpr
    from fastad.measures.partial import log_auc as log_auc
    from fastad.measures.percentiles import class_percentiles as class_percentiles
    from fastad.measures.percentiles import rp_curve as rp_curve
    from fastad.measures.percentiles import rp_distance as rp_distance
    from fastad.measures.precision import average_precision as average_precision
    from fastad.measures.precision import pr_auc as pr_auc
    from fastad.measures.precision import precision_gain_auc as precision_gain_auc
    from fastad.measures.precision import precision_recall_curve as precision_recall_curve
    from fastad.measures.results import ClassPercentiles as ClassPercentiles
    from fastad.measures.results import Confusion as Confusion
    from fastad.measures.results import CountsCurve as CountsCurve
    from fastad.measures.results import DetCurve as DetCurve
    from fastad.measures.results import NpCurve as NpCurve
    from fastad.measures.results import PrecisionRecallCurve as PrecisionRecallCurve
    from fastad.measures.results import RocCurve as RocCurve
    from fastad.measures.results import RpCurve as RpCurve
    from fastad.measures.results import SimplifiedRocCurve as SimplifiedRocCurve
    from fastad.measures.results import ValueAtThreshold as ValueAtThreshold
    from fastad.measures.roc import fpr_at_tpr as fpr_at_tpr
    from fastad.measures.roc import roc_auc as roc_auc
    from fastad.measures.roc import roc_curve as roc_curve
    from fastad.measures.roc import tpr_at_fpr as tpr_at_fpr
    from fastad.measures.roc import weighted_auc as weighted_auc
    from fastad.measures.scaled_scores import probabilistic_auc as probabilistic_auc
    from fastad.measures.scaled_scores import rp_auc as rp_auc
    from fastad.measures.scaled_scores import scored_auc as scored_auc
    from fastad.measures.scaled_scores import smooth_roc as smooth_roc
    from fastad.measures.thresholds import threshold_at_fpr as threshold_at_fpr
    from fastad.measures.thresholds import threshold_at_rate as threshold_at_rate
    from fastad.measures.top_scores import precision_at_k as precision_at_k
    from fastad.measures.top_scores import precision_at_p as precision_at_p
    from fastad.measures.top_scores import rank_power as rank_power
    from fastad.measures.top_scores import recall_at_k as recall_at_k

__getattr__, __dir__, __all__ = lazy_names()
