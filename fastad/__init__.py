"""Fast, exact measures of how good anomaly detectors are.

The functions that most users need are here; every public name has its home in one of the public
packages. Names load what they need when they are first used: importing the package alone imports
neither Numba nor SciPy and compiles nothing.
"""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names
from fastad._core.version import __version__ as __version__

if TYPE_CHECKING:
    from fastad import benchmarking as benchmarking
    from fastad import dask as dask
    from fastad import detectors as detectors
    from fastad import errors as errors
    from fastad import evaluation as evaluation
    from fastad import explain as explain
    from fastad import labeling as labeling
    from fastad import measures as measures
    from fastad import plot as plot
    from fastad import regions as regions
    from fastad import release as release
    from fastad import sklearn as sklearn
    from fastad import streaming as streaming
    from fastad import study as study
    from fastad import uncertainty as uncertainty
    from fastad import unsupervised as unsupervised
    from fastad.benchmarking import ResultTable as ResultTable
    from fastad.benchmarking import compare_runs as compare_runs
    from fastad.detectors import compile_scorer as compile_scorer
    from fastad.errors import InvalidInputError as InvalidInputError
    from fastad.errors import UndefinedMeasureError as UndefinedMeasureError
    from fastad.evaluation import evaluate as evaluate
    from fastad.evaluation import rank_scores as rank_scores
    from fastad.measures import auc_at_fpr as auc_at_fpr
    from fastad.measures import average_precision as average_precision
    from fastad.measures import best_f1 as best_f1
    from fastad.measures import confusion_at as confusion_at
    from fastad.measures import f1_at_fpr as f1_at_fpr
    from fastad.measures import fpr_at_tpr as fpr_at_tpr
    from fastad.measures import precision_at_fpr as precision_at_fpr
    from fastad.measures import precision_at_k as precision_at_k
    from fastad.measures import precision_at_p as precision_at_p
    from fastad.measures import precision_recall_curve as precision_recall_curve
    from fastad.measures import recall_at_k as recall_at_k
    from fastad.measures import roc_auc as roc_auc
    from fastad.measures import roc_curve as roc_curve
    from fastad.measures import threshold_at_fpr as threshold_at_fpr
    from fastad.measures import tpr_at_fpr as tpr_at_fpr
    from fastad.measures import weighted_auc as weighted_auc
    from fastad.regions import Box as Box
    from fastad.regions import volume as volume
    from fastad.regions import volume_at_fpr as volume_at_fpr
    from fastad.regions import volumes as volumes
    from fastad.release import gate as gate
    from fastad.uncertainty import chance_level as chance_level
    from fastad.uncertainty import compare as compare
    from fastad.uncertainty import compare_all as compare_all
    from fastad.uncertainty import compare_independent as compare_independent
    from fastad.uncertainty import interval as interval
    from fastad.uncertainty import sample_size_for_guarantee as sample_size_for_guarantee
    from fastad.uncertainty import threshold_with_guarantee as threshold_with_guarantee
    from fastad.unsupervised import evaluate_unsupervised as evaluate_unsupervised
    from fastad.unsupervised import excess_mass_curve as excess_mass_curve
    from fastad.unsupervised import mass_volume_curve as mass_volume_curve

__getattr__, __dir__, __all__ = lazy_names()
