"""``compare_runs``: all comparisons that a table of results allows, in one go."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from numbers import Integral
from typing import Any, TypeAlias, get_args

import numpy as np

from fastad._core.parameters import N_RESAMPLES
from fastad._core.progress import ProgressOption, reporting
from fastad._core.random import random_seed
from fastad._core.results import TableResult
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import Point
from fastad.benchmarking.columns import columns_by_rate, tpr_column
from fastad.benchmarking.detector_pairs import multi_comparison_matrix
from fastad.benchmarking.distance import rank_distance
from fastad.benchmarking.friedman_test import friedman
from fastad.benchmarking.matrix import kendall_matrix
from fastad.benchmarking.operating_points import (
    LEVEL_MEASURES,
    CriterionName,
    Discriminability,
    LevelMeasure,
    discriminability,
)
from fastad.benchmarking.posthoc import check_control, nemenyi, wilcoxon_holm
from fastad.benchmarking.rank_inference import rank_intervals
from fastad.benchmarking.ranks import average_ranks
from fastad.benchmarking.recommendation import recommend
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.benchmarking.selected_fpr import USUAL_RATES, loss_at_rates, usual_measures
from fastad.benchmarking.selection import LossMatrix, class_sensitivity, selection_loss
from fastad.benchmarking.values import mean_values
from fastad.errors import InvalidInputError, UndefinedMeasureError

# A function that makes a section, or the reason why there is none.
_Maker: TypeAlias = Callable[[], TableResult] | str

# The least number of rates of a curve with a highest point.
_MIN_LEVELS = 3
# Detectors of the largest matrix of pairs whose cells can be read.
_LARGEST_MATRIX = 20


@suggests_arguments
def compare_runs(
    results: Results,
    *,
    operating_fpr: Point | None = None,
    measure: str | None = None,
    measures: Sequence[str] | None = None,
    reference: str | None = None,
    control: str | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
) -> RunsOverview:
    """Make all comparisons that a table of results allows.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets.
    operating_fpr : float, optional
        False positive rate at which the detector will work, in [0, 1], of a column ``tpr@``.
        By default measures are recommended for 0.01 and for 0.05.
    measure : str, optional
        Key of the measure by which detectors are compared; by default ``tpr@`` at
        ``operating_fpr`` where that is given, else ``auc``, else the first.
    measures : sequence of str, optional
        Keys of the measures to compare with each other. By default all of the table, but of
        ``auc@`` and ``tpr@`` at more than two rates only those at 0.01, at 0.05, and those that
        the other arguments name.
    reference : str, optional
        Key of the measure from whose ranking distances are taken.
    control : str, optional
        Name of the detector to compare the others with; by default every two are compared.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1); tests are at the level 1 less it.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals, with which every comparison starts anew.
    n_threads : int, optional
        Threads over data sets and rates.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called with the number of
        finished comparisons, and the number of all.

    Returns
    -------
    RunsOverview
        Results by name, where the table allows: ``ranks``, ``rank_intervals``, ``friedman``,
        ``nemenyi``, ``wilcoxon``, ``multi_comparison``, ``values``, ``kendall``,
        ``selection_loss``, ``class_sensitivity``,
        ``discriminability_auc``, ``discriminability_tpr``, ``loss_at_tukey-q`` and so on for each
        criterion, ``rank_distance``, and ``recommendation_tpr@0.01`` and so on for each rate.

    Raises
    ------
    InvalidInputError
        If the table lacks a measure, detector or rate that is named. Comparisons that it does not
        allow are no error: they are skipped, with the reason.

    See Also
    --------
    average_ranks, rank_intervals, friedman, nemenyi, wilcoxon_holm, mean_values : Of detectors.
    multi_comparison_matrix : Of pairs of detectors.
    kendall_matrix, selection_loss : Of measures.
    class_sensitivity, discriminability, rank_distance, recommend : Of measures too.
    loss_at_selected_fpr : Of operating points.

    Notes
    -----
    Discriminability, and the loss at the rates that its criteria select, need at least three
    columns ``auc@`` or ``tpr@`` and two folds.

    Takes the time of its parts, of which discriminability is the slowest: O(n_models^2) for each
    data set and rate, for AUC and for TPR.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 5.
    .. [2] V. Škvára, T. Pevný and V. Šmídl, "Choosing the operating threshold in evaluation of
       anomaly detection methods", 2020, section 3.

    Examples
    --------
    >>> import fastad
    >>> auc = [[0.9, 0.8, 0.7], [0.9, 0.8, 0.6], [0.8, 0.7, 0.9]]
    >>> tpr = [[0.5, 0.6, 0.1], [0.6, 0.5, 0.2], [0.4, 0.2, 0.3]]
    >>> results = fastad.ResultTable.from_arrays(
    ...     {"auc": auc, "tpr@0.05": tpr}, detectors=["knn", "lof", "svm"]
    ... )
    >>> overview = fastad.compare_runs(results, operating_fpr=0.05, rng=0)
    >>> list(overview)[:6]
    ['ranks', 'rank_intervals', 'friedman', 'nemenyi', 'wilcoxon', 'multi_comparison']
    >>> overview["recommendation_tpr@0.05"].measure
    'tpr@0.05'
    >>> overview.skipped["rank_distance"]
    'no reference is given'
    """
    table = as_results(results, None)
    target = None if operating_fpr is None else tpr_column(table.measures, operating_fpr).key
    measure = None if measure is None else table.measure(measure).key
    reference = None if reference is None else table.measure(reference, "reference").key
    check_control(table, control)
    if measures is None:
        keys = {column.key for column in usual_measures(table)} | {target, measure, reference}
        selected = [key for key in table.measure_keys if key in keys]
    else:
        selected = [column.key for column in table.select(measures, "measures")]
    principal = measure or target or ("auc" if "auc" in selected else selected[0])
    by_rate = columns_by_rate(table.measures, "tpr")
    usual = [column.key for column in by_rate if column.rate in USUAL_RATES]
    targets = usual if target is None else [target]
    check_resampling(table.clusters, confidence_level, n_resamples, rng)
    # One seed for all, so that equal numbers have equal intervals wherever they stand, and none
    # depends on which comparisons there are.
    seed = int(rng) if isinstance(rng, Integral) else random_seed(rng)
    options = {"confidence_level": confidence_level, "n_resamples": n_resamples, "rng": seed}
    sections: dict[str, TableResult] = {}
    skipped: dict[str, str] = {}
    with thread_limit(n_threads), reporting(progress, "comparisons") as report:
        pairs = {"measure": principal, "control": control}
        makers = dict(_makers(table, selected, pairs, reference, targets, options))
        for done, (name, make) in enumerate(makers.items()):
            if report is not None:
                report(done, len(makers))
            if isinstance(make, str):
                skipped[name] = make
                continue
            try:
                sections[name] = make()
            except (InvalidInputError, UndefinedMeasureError) as error:
                skipped[name] = str(error)
        if report is not None:
            report(len(makers), len(makers))
    return RunsOverview(table, selected, principal, control, reference, skipped, sections)


def _makers(
    table: ResultTable,
    measures: Sequence[str],
    pairs: Mapping[str, Any],
    reference: str | None,
    targets: Sequence[str],
    options: Mapping[str, Any],
) -> Iterable[tuple[str, _Maker]]:
    """Yield the name of each comparison with its function, or the reason why it is skipped."""

    def of(function: Callable[..., TableResult], **more: object) -> _Maker:
        return partial(function, table, **options, **more)

    @cache
    def curve(measure: LevelMeasure) -> Discriminability:
        # All criteria share the curves, which take the longest.
        return discriminability(table, measure=measure, **options)

    def loss_at(criterion: CriterionName) -> LossMatrix:
        others = [table.measure(key) for key in measures]
        curves = {name: curve(name) for name in get_args(LevelMeasure)}
        resampling = check_resampling(table.clusters, **options)
        return loss_at_rates(table, others, curves, criterion, "optimal", resampling)

    yield "ranks", of(average_ranks, measures=measures)
    yield "rank_intervals", of(rank_intervals, measure=pairs["measure"])
    level = options["confidence_level"]
    yield "friedman", partial(friedman, table, measures=measures, confidence_level=level)
    yield "nemenyi", of(nemenyi, **pairs)
    yield "wilcoxon", of(wilcoxon_holm, **pairs)
    k = len(table.detectors)
    reason = f"a matrix of {k} detectors is not printed" if k > _LARGEST_MATRIX else ""
    matrix = partial(multi_comparison_matrix, table, measure=pairs["measure"])
    yield "multi_comparison", reason or matrix
    yield "values", partial(mean_values, table, measures=measures)
    alone = f"there is one measure alone, {measures[0]}" if len(measures) < 2 else ""
    yield "kendall", alone or of(kendall_matrix, measures=measures)
    yield "selection_loss", alone or of(selection_loss, measures=measures)
    if table.anomaly_classes is None:
        yield "class_sensitivity", "the table has no column of the classes of anomalies"
    else:
        yield "class_sensitivity", of(class_sensitivity, measures=measures)
    for name in get_args(LevelMeasure):
        yield f"discriminability_{name}", _no_curve(table, [name]) or partial(curve, name)
    reason = _no_curve(table, LEVEL_MEASURES)
    for criterion in get_args(CriterionName):
        yield f"loss_at_{criterion}", reason or partial(loss_at, criterion)
    others = [key for key in measures if key != reference]
    if reference is None:
        yield "rank_distance", "no reference is given"
    elif not others:
        yield "rank_distance", f"there is no measure beside {reference}"
    else:
        yield "rank_distance", of(rank_distance, reference=reference, measures=others)
    for key in targets:
        yield f"recommendation_{key}", of(recommend, target_measure=key, measures=measures)
    if not targets:
        yield "recommendation", "the table has neither tpr@0.01 nor tpr@0.05"


def _no_curve(table: ResultTable, measures: Sequence[str]) -> str:
    """Return the reason why there is no curve over rates; nothing if there is one."""
    for measure in measures:
        n = len(columns_by_rate(table.measures, measure))
        if n < _MIN_LEVELS:
            return f"there must be columns {measure}@ at {_MIN_LEVELS} rates or more; found {n}"
    if len(table.folds) < 2:
        return "there must be two folds or more, over which models vary; found 1"
    return ""
