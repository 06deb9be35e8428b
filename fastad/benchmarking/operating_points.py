"""``discriminability``: at which false positive rates models differ significantly."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    exact_rate,
    short_repr,
    significance_level,
)
from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import count_text, interval_text, intervals_text, some_of
from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix, FloatVector, Point
from fastad.benchmarking.columns import columns_by_rate
from fastad.benchmarking.means import defined_mean
from fastad.benchmarking.pairwise_tests.pairs import (
    CRITERIA,
    WELCH_CORRECTIONS,
    PairCorrection,
    PairTest,
    PairwiseTests,
    compare_pairs,
    pair_p_values,
)
from fastad.benchmarking.reading import problem_noun
from fastad.benchmarking.resampling import Means, Resampling, check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.errors import InvalidInputError

LevelMeasure = Literal["auc", "tpr"]
CriterionName = Literal["tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"]

LEVEL_MEASURES = ("auc", "tpr")
_TESTS = ("welch", "tukey")
_MAX_DATASET_NOTES = 3


@dataclass(frozen=True, slots=True, eq=False)
class SelectedFpr:
    """False positive rates that a criterion selects.

    Attributes
    ----------
    optimal : float
        Rate of the highest criterion, of equal rates the lowest; NaN where it is undefined.
    lowest : float
        The lowest rate at which the criterion exceeds its critical value; NaN if none does.
    """

    optimal: float
    lowest: float


@dataclass(frozen=True, slots=True, eq=False)
class Discriminability(TableResult):
    """Differences of models by a measure at each false positive rate.

    Frames have a row for each data set and rate: ``dataset``, ``fpr``, the criteria,
    ``critical_tukey``, ``critical_welch``, ``n_pairs``, the numbers of significant pairs
    ``significant_tukey``, ``significant_none``, …, the numbers of infinite statistics, and the
    overall test ``welch_f`` and ``welch_p_value``.

    Attributes
    ----------
    measure : {"auc", "tpr"}
        Measure that is read at each rate.
    fpr : numpy.ndarray of shape (n_levels,)
        Rates, rising.
    confidence_level : float
        Confidence level of the intervals; tests are at 1 - ``confidence_level``.
    pairwise_tests : mapping of str to PairwiseTests
        Criteria, critical values, numbers of significant pairs and the overall test, each by rate,
        by data set.
    models : mapping of str to sequence of str
        Models that were compared, by data set: all with a value on every fold and rate.
    selected : mapping of str to mapping of str to SelectedFpr
        Selected rates by data set and criterion.
    averaged : mapping of str to SelectedFpr
        Selected rates by criterion, from the means of criterion and critical values over data sets.
    optimal, lowest : mapping of str to Means
        Mean selected rates over data sets, by criterion.
    left_out : sequence of str
        Data sets and models that could not be compared, and why.
    noun : str
        Name of a data set in tables and figures: ``"problem"`` where a data set has several.
    """

    measure: str
    fpr: FloatVector
    confidence_level: float
    pairwise_tests: Mapping[str, PairwiseTests]
    models: Mapping[str, Sequence[str]]
    selected: Mapping[str, Mapping[str, SelectedFpr]]
    averaged: Mapping[str, SelectedFpr]
    optimal: Mapping[str, Means]
    lowest: Mapping[str, Means]
    left_out: Sequence[str]
    noun: str
    _values: Mapping[str, npt.NDArray[np.float64]]

    def __repr__(self) -> str:
        return (
            f"<Discriminability of {self.measure} at {len(self.fpr)} rates on "
            f"{count_text(len(self.pairwise_tests), self.noun)}>"
        )

    def curve(self, criterion: CriterionName) -> tuple[FloatVector, FloatVector]:
        """Return a criterion and its critical value by rate, averaged over data sets.

        Parameters
        ----------
        criterion : {"tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"}
            Criterion to read.

        Returns
        -------
        pair of numpy.ndarray of shape (n_levels,)
        """
        check_choice(criterion, CRITERIA, "criterion")
        return _mean_curve(list(self.pairwise_tests.values()), criterion)

    def p_values(
        self,
        dataset: str,
        *,
        fpr: Point,
        test: PairTest = "welch",
        correction: PairCorrection = "none",
    ) -> FloatMatrix:
        """Return the p-values of all pairs of models on one data set at one rate.

        Parameters
        ----------
        dataset : str
            Name of a data set.
        fpr : float
            One of the rates.
        test : {"welch", "tukey"}, default "welch"
            Welch's t-test of each pair, or Tukey's test, which allows for the number of pairs by
            itself and takes a millisecond or two for each distinct difference of means.
        correction : {"none", "bonferroni", "holm", "shaffer", "benjamini-hochberg"}
            Correction of the p-values of Welch's test for the number of pairs.

        Returns
        -------
        numpy.ndarray of shape (n_models, n_models)
            p-values in the order of ``models[dataset]``; symmetric, 1 on the diagonal.
        """
        check_choice(test, _TESTS, "test")
        check_choice(correction, WELCH_CORRECTIONS, "correction")
        if not isinstance(dataset, str) or dataset not in self._values:
            raise InvalidInputError(
                f"dataset must be one of {', '.join(self._values)}; found {short_repr(dataset)}"
            )
        rate = float(exact_rate(fpr, "fpr"))
        if rate not in self.fpr:
            raise InvalidInputError(
                f"fpr must be one of the {len(self.fpr)} rates from {self.fpr[0]:g} to "
                f"{self.fpr[-1]:g}; found {fpr}"
            )
        level = int(np.searchsorted(self.fpr, rate))
        return pair_p_values(self._values[dataset][:, :, level], test=test, correction=correction)

    def _declare_table(self) -> Iterator[Column]:
        yield Column("criterion", CRITERIA, str)
        for head, kind in (("optimal FPR", "optimal"), ("lowest FPR", "lowest")):
            of_data_sets: Mapping[str, Means] = getattr(self, kind)
            means = [of_data_sets[name] for name in CRITERIA]
            of_mean_curve = [getattr(self.averaged[name], kind) for name in CRITERIA]
            ends = [interval_text(float(x.low), float(x.high), ".3f") for x in means]
            yield Column(head, (float(each.value) for each in means), ".3f")
            yield Column(intervals_text(self.confidence_level), ends, str)
            yield Column("of the mean curve", of_mean_curve, "g")
        total = len(self.pairwise_tests)
        counts = [f"{int(self.lowest[name].n)} of {total}" for name in CRITERIA]
        yield Column(f"{self.noun}s", counts, str)

    @property
    def notes(self) -> list[str]:
        """Notes of data sets and pairs that were left out."""
        infinite = sum(
            int(counts.sum())
            for tests in self.pairwise_tests.values()
            for counts in tests.n_infinite.values()
        )
        notes = list(self.left_out[:_MAX_DATASET_NOTES])
        if len(self.left_out) > _MAX_DATASET_NOTES:
            more = count_text(len(self.left_out) - _MAX_DATASET_NOTES, f"more {self.noun}")
            notes.append(f"and {more} with models left out")
        if infinite:
            notes.append(
                f"left out: {infinite} infinite statistics, of different means without variance"
            )
        return [
            f"{self.noun}s: those where the criterion exceeds its critical value at some rate",
            *notes,
        ]

    def _declare_columns(self) -> list[Column]:
        columns: dict[str, list[Any]] = {}
        for name, tests in self.pairwise_tests.items():
            n = len(self.fpr)
            cells: dict[str, Any] = {
                "dataset": [name] * n,
                "fpr": self.fpr.tolist(),
                **{criterion: tests.criteria[criterion].tolist() for criterion in CRITERIA},
                **{f"critical_{k}": values.tolist() for k, values in tests.critical_values.items()},
                "n_pairs": [tests.n_pairs] * n,
                **{
                    f"significant_{k}": [None] * n if counts is None else counts.tolist()
                    for k, counts in tests.n_significant.items()
                },
                **{f"infinite_{k}": counts.tolist() for k, counts in tests.n_infinite.items()},
                "welch_f": tests.f.tolist(),
                "welch_p_value": tests.p_value.tolist(),
            }
            for key, column in cells.items():
                columns.setdefault(key, []).extend(column)
        return frame_columns(columns)


@suggests_arguments
def discriminability(
    results: Results,
    *,
    measure: LevelMeasure = "tpr",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> Discriminability:
    """False positive rates at which models differ the most, and from which on they differ.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets and folds, with a column ``tpr@`` or ``auc@`` for each
        rate: the result of `evaluate` with ``measures=["tpr_at_fpr", "auc_at_fpr"]`` and
        ``fpr=numpy.arange(1, 101) / 100``, from one ordering of each run.
    measure : {"tpr", "auc"}, default "tpr"
        Measure to compare.
    confidence_level : float, default 0.95
        Confidence level of the intervals of mean rates, in (0, 1); tests are at 1 -
        ``confidence_level``.
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.
    n_threads : int, optional
        Threads over rates.

    Returns
    -------
    Discriminability
        Selected rates by data set and on average.

    Raises
    ------
    InvalidInputError
        If there are fewer than two folds, no column of the
        measure, or no data set with two models to compare.

    Notes
    -----
    At each rate every two models i and j are compared by their means m and variances s² (with
    k - 1) over k folds: by Welch's t = (m_i - m_j) / sqrt(s_i²/k + s_j²/k) with the paper's degrees
    of freedom (2), and by Tukey's q = abs(m_i - m_j) / sqrt(MSW/k), where MSW is the mean
    variance of all N models, with N (k - 1) degrees. Criteria are

    - ``tukey-q``: the q of the highest and the lowest mean, with the variance of these two;
    - ``tukey-mean``, ``tukey-median``: over the q of all pairs;
    - ``welch-mean``, ``welch-median``: over the sizes of t of all pairs.

    Infinite statistics, of different means without variance, are left out and counted. The
    critical value is Tukey's at 1 - ``confidence_level``, for Welch its mean over the pairs.
    p-values are two-sided; the paper prints one side.

    A model that lacks a value on some fold is left out of its data set, and named.

    O(n_models^2) time for each data set and rate, and memory for the pairs of one rate at a time on
    each thread.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Choosing the operating threshold in evaluation of
       anomaly detection methods", 2020, section 2.
    .. [2] B. L. Welch, "On the comparison of several mean values: an alternative approach",
       Biometrika 38, 1951.
    .. [3] J. P. Shaffer, "Modified sequentially rejective multiple test procedures", Journal of
       the American Statistical Association 81, 1986.

    Examples
    --------
    Two models of which one is better at rates from 0.2 on:

    >>> import fastad, numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (3, 1, 2, 10))
    >>> better = np.array([[0.0], [1.0]])
    >>> results = fastad.ResultTable.from_arrays(
    ...     {f"tpr@{p}": 0.5 + noise[i] + gain * better
    ...      for i, (p, gain) in enumerate({0.1: 0.0, 0.2: 0.1, 0.3: 0.2}.items())}
    ... )
    >>> result = fastad.benchmarking.discriminability(results, measure="tpr", rng=0)
    >>> result.averaged["welch-mean"].lowest
    0.2
    """
    check_choice(measure, LEVEL_MEASURES, "measure")
    table = as_results(results, None)
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    with thread_limit(n_threads):
        return discriminate(table, measure, resampling)


def discriminate(table: ResultTable, measure: str, resampling: Resampling) -> Discriminability:
    """Compare all models of each data set at each rate; see `discriminability`."""
    levels = columns_by_rate(table.measures, measure)
    if not levels:
        raise InvalidInputError(
            f"results must have columns {measure}@ at false positive rates; found "
            f"{', '.join(table.measure_keys)}"
        )
    if len(table.folds) < 2:
        raise InvalidInputError(
            "results must have at least two folds, over which models vary; found "
            f"{len(table.folds)}"
        )
    rates = np.array([float(level.rate) for level in levels if level.rate is not None])
    set_all_readonly(rates)
    alpha = significance_level(resampling.confidence_level)
    tests, models, values, left_out = {}, {}, {}, []
    by_level = [table.by_fold(level.key) for level in levels]
    for i, name in enumerate(table.problems):
        runs = np.stack([values_of_level[i] for values_of_level in by_level], axis=-1)
        # Data sets may have different folds.
        runs = runs[:, ~np.isnan(runs).all(axis=(0, 2))]
        if runs.shape[1] < 2:
            n_folds = count_text(runs.shape[1], "fold")
            left_out.append(f"{name}: {n_folds} with values, fewer than two")
            continue
        whole = np.isfinite(runs).all(axis=(1, 2))
        few = bool(np.count_nonzero(whole) < 2)
        if not whole.all():
            lacking = [model for model, kept in zip(table.models, whole, strict=True) if not kept]
            left_out.append(
                f"{name}: {len(lacking)} of {len(whole)} models lack a value on some fold "
                f"({some_of(lacking, 1)})" + ", and fewer than two are left" * few
            )
        if few:
            continue
        values[name] = runs[whole]
        models[name] = [model for model, kept in zip(table.models, whole, strict=True) if kept]
        tests[name] = compare_pairs(values[name], alpha=alpha)
    if not tests:
        raise InvalidInputError(
            "results must have a data set with two models that have a value on every fold; found "
            f"none of {table.n_datasets}: {left_out[0]}"
        )
    selected = {
        name: {criterion: _select(rates, [of_dataset], criterion) for criterion in CRITERIA}
        for name, of_dataset in tests.items()
    }
    resampling = resampling.among(np.array([name in tests for name in table.problems]))
    every = list(tests.values())
    return Discriminability(
        measure,
        rates,
        resampling.confidence_level,
        tests,
        models,
        selected,
        {criterion: _select(rates, every, criterion) for criterion in CRITERIA},
        _means(selected, resampling, "optimal"),
        _means(selected, resampling, "lowest"),
        left_out,
        problem_noun(table.clusters),
        values,
    )


def _select(rates: FloatVector, tests: Sequence[PairwiseTests], criterion: str) -> SelectedFpr:
    curve, critical = _mean_curve(tests, criterion)
    if np.isnan(curve).all():
        return SelectedFpr(math.nan, math.nan)
    above = np.flatnonzero(curve > critical)
    lowest = float(rates[above[0]]) if len(above) else math.nan
    return SelectedFpr(float(rates[np.nanargmax(curve)]), lowest)


def _mean_curve(tests: Sequence[PairwiseTests], criterion: str) -> tuple[FloatVector, FloatVector]:
    family = criterion.partition("-")[0]
    curves = np.array([of_dataset.criteria[criterion] for of_dataset in tests])
    critical = np.array([of_dataset.critical_values[family] for of_dataset in tests])
    critical[np.isnan(curves)] = np.nan
    return defined_mean(curves, axis=0), defined_mean(critical, axis=0)


def _means(
    selected: Mapping[str, Mapping[str, SelectedFpr]], resampling: Resampling, choice: str
) -> dict[str, Means]:
    return {
        criterion: resampling.means(
            np.array([getattr(rates[criterion], choice) for rates in selected.values()])
        )
        for criterion in CRITERIA
    }
