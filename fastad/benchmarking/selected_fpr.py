"""The cost of selecting models at the false positive rate where they differ."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from fastad._core.parameters import N_RESAMPLES, check_choice
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix, Point
from fastad.benchmarking.columns import MeasureColumn, columns_by_rate
from fastad.benchmarking.matrix import averaged
from fastad.benchmarking.operating_points import (
    LEVEL_MEASURES,
    CriterionName,
    Discriminability,
    discriminate,
)
from fastad.benchmarking.pairwise_tests.pairs import CRITERIA
from fastad.benchmarking.resampling import Resampling, check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.benchmarking.selection import LossMatrix, best_models, loss_of, shortfalls

Choice = Literal["optimal", "lowest"]

_CHOICES = ("optimal", "lowest")
# Besides the rates that a table has for curves, those at which the papers' tables are.
USUAL_RATES = (Fraction(1, 100), Fraction(5, 100))


@suggests_arguments
def loss_at_selected_fpr(
    results: Results,
    *,
    criterion: CriterionName = "tukey-mean",
    choice: Choice = "optimal",
    measures: Sequence[str] | None = None,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> LossMatrix:
    """Selection loss with AUC and TPR at the false positive rate that a criterion selects.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        As for `discriminability`, with columns ``tpr@`` and ``auc@``.
    criterion : {"tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"}
        Criterion that selects the rate on each data set, for AUC and for TPR each.
    choice : {"optimal", "lowest"}, default "optimal"
        The rate where the criterion is highest, or the lowest where it exceeds its critical value.
    measures : sequence of str, optional
        Keys of the other measures; by default all of the table but ``tpr@`` and ``auc@`` at
        other rates than 0.01 and 0.05.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1); tests are at 1 - ``confidence_level``.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.
    n_threads : int, optional
        Threads over rates.

    Returns
    -------
    LossMatrix
        Losses as from `selection_loss`, with two more measures, such as ``auc@tukey-mean`` and
        ``tpr@tukey-mean``; a data set where no rate is selected has none of them.

    Raises
    ------
    InvalidInputError
        As `discriminability`.

    Notes
    -----
    The rate is selected from all models of a data set, as in the paper, and differs between data
    sets.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Choosing the operating threshold in evaluation of
       anomaly detection methods", 2020, section 3, Tables 2-6.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> results = fastad.ResultTable.from_arrays(
    ...     {f"{name}@{p}": rng.uniform(size=(4, 5, 10))
    ...      for name in ("auc", "tpr") for p in (0.01, 0.05, 0.1)}
    ... )
    >>> from fastad.benchmarking import loss_at_selected_fpr
    >>> loss_at_selected_fpr(results, criterion="welch-mean", rng=0).columns[-2:]
    ['auc@welch-mean', 'tpr@welch-mean']
    """
    check_choice(criterion, CRITERIA, "criterion")
    check_choice(choice, _CHOICES, "choice")
    table = as_results(results, None)
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    others = usual_measures(table) if measures is None else table.select(measures, "measures")
    with thread_limit(n_threads):
        curves = {measure: discriminate(table, measure, resampling) for measure in LEVEL_MEASURES}
    return loss_at_rates(table, others, curves, criterion, choice, resampling)


def loss_at_rates(
    table: ResultTable,
    others: Sequence[MeasureColumn],
    curves: Mapping[str, Discriminability],
    criterion: CriterionName,
    choice: Choice,
    resampling: Resampling,
) -> LossMatrix:
    """Return the losses of other measures, and of AUC and TPR at the rates of their curves."""
    merits = [table.merits(others)]
    columns = list(others)
    for measure, curve in curves.items():
        merits.append(_at_selected(table, measure, curve, criterion, choice)[:, :, None])
        direction = columns_by_rate(table.measures, measure)[0].higher_is_better
        columns.append(MeasureColumn(f"{measure}@{criterion}", direction))
    together = np.concatenate(merits, axis=2)
    loss = loss_of(best_models(together), shortfalls(together))
    missing = table.omissions()
    return LossMatrix(**averaged(loss, columns, columns, table.problems, resampling, missing))


def usual_measures(table: ResultTable) -> list[MeasureColumn]:
    """Return all measures, but of curves over rates only the measures at 0.01 and 0.05.

    A curve that has neither is represented by its lowest rate.
    """
    dense = set()
    for name in LEVEL_MEASURES:
        levels = columns_by_rate(table.measures, name)
        usual = [level for level in levels if level.rate in USUAL_RATES] or levels[:1]
        if len(levels) > len(USUAL_RATES):
            dense |= {level.key for level in levels if level not in usual}
    return [measure for measure in table.measures if measure.key not in dense]


def _at_selected(
    table: ResultTable, measure: str, curve: Discriminability, criterion: str, choice: str
) -> FloatMatrix:
    """Return the merit of each model at the rate that is selected on each data set."""
    merits = np.full((table.n_datasets, len(table.models)), np.nan)
    columns = {
        float(column.rate or 0): column for column in columns_by_rate(table.measures, measure)
    }
    for i, name in enumerate(table.problems):
        if name not in curve.selected:
            continue
        rate = getattr(curve.selected[name][criterion], choice)
        if not math.isnan(rate):
            merits[i] = columns[rate].sign * table.means(columns[rate].key)[i]
    return merits
