"""Many detectors on many data sets: ranks, tests, agreement of measures, selection."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.benchmarking.agreement import LabelAgreement as LabelAgreement
    from fastad.benchmarking.agreement import PairAgreement as PairAgreement
    from fastad.benchmarking.agreement import pairwise_agreement as pairwise_agreement
    from fastad.benchmarking.agreement import rank_label_agreement as rank_label_agreement
    from fastad.benchmarking.bayesian import BayesianComparison as BayesianComparison
    from fastad.benchmarking.bayesian import bayesian_signed_rank as bayesian_signed_rank
    from fastad.benchmarking.detector_pairs import MultiComparison as MultiComparison
    from fastad.benchmarking.detector_pairs import (
        multi_comparison_matrix as multi_comparison_matrix,
    )
    from fastad.benchmarking.distance import RankDistances as RankDistances
    from fastad.benchmarking.distance import rank_distance as rank_distance
    from fastad.benchmarking.friedman_test import FriedmanTable as FriedmanTable
    from fastad.benchmarking.friedman_test import FriedmanTest as FriedmanTest
    from fastad.benchmarking.friedman_test import friedman as friedman
    from fastad.benchmarking.hierarchical import bayesian_hierarchical_t as bayesian_hierarchical_t
    from fastad.benchmarking.matrix import KendallMatrix as KendallMatrix
    from fastad.benchmarking.matrix import kendall_matrix as kendall_matrix
    from fastad.benchmarking.operating_points import Discriminability as Discriminability
    from fastad.benchmarking.operating_points import SelectedFpr as SelectedFpr
    from fastad.benchmarking.operating_points import discriminability as discriminability
    from fastad.benchmarking.overview import compare_runs as compare_runs
    from fastad.benchmarking.posthoc import nemenyi as nemenyi
    from fastad.benchmarking.posthoc import wilcoxon_holm as wilcoxon_holm
    from fastad.benchmarking.rank_comparison import RankComparison as RankComparison
    from fastad.benchmarking.rank_inference import RankIntervals as RankIntervals
    from fastad.benchmarking.rank_inference import rank_intervals as rank_intervals
    from fastad.benchmarking.ranks import RankTable as RankTable
    from fastad.benchmarking.ranks import average_ranks as average_ranks
    from fastad.benchmarking.recommendation import Recommendation as Recommendation
    from fastad.benchmarking.recommendation import recommend as recommend
    from fastad.benchmarking.resampled_t import ResampledComparison as ResampledComparison
    from fastad.benchmarking.resampled_t import resampled_t_test as resampled_t_test
    from fastad.benchmarking.result_table import ResultTable as ResultTable
    from fastad.benchmarking.runs_overview import RunsOverview as RunsOverview
    from fastad.benchmarking.score_ranks import score_rank_intervals as score_rank_intervals
    from fastad.benchmarking.selected_fpr import loss_at_selected_fpr as loss_at_selected_fpr
    from fastad.benchmarking.selection import LossMatrix as LossMatrix
    from fastad.benchmarking.selection import SensitivityMatrix as SensitivityMatrix
    from fastad.benchmarking.selection import class_sensitivity as class_sensitivity
    from fastad.benchmarking.selection import selection_loss as selection_loss
    from fastad.benchmarking.values import MeanValues as MeanValues
    from fastad.benchmarking.values import mean_values as mean_values
    from fastad.benchmarking.variances import Deviation as Deviation
    from fastad.benchmarking.variances import VarianceComponents as VarianceComponents
    from fastad.benchmarking.variances import variance_components as variance_components

__getattr__, __dir__, __all__ = lazy_names()
