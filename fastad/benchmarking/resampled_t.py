"""``resampled_t_test``: models on the splits of one data set, by the corrected resampled t-test."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.floats import positive_p
from fastad._core.parameters import check_choice, check_inside, short_repr, significance_level
from fastad._core.results import Column, ShortRepr, TableResult, interval_columns
from fastad._core.text_tables import format_p, intervals_text, some_of
from fastad._core.types import Correction, FloatMatrix, FloatVector, IntVector, Point
from fastad.benchmarking.means import defined_mean, differences, in_units
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from fastad.uncertainty.samples.closed_forms import student_quantile

_MAX_NAMES = 8


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ResampledComparison(ShortRepr, TableResult):
    """Differences of models over the splits of one data set; prints as a table.

    Frames have a row for each pair: ``first``, ``second``, ``difference``, ``standard_error``,
    ``low``, ``high``, ``statistic``, ``n_splits``, ``p_value`` and ``adjusted_p_value``.

    Attributes
    ----------
    pairs : sequence of (str, str)
        The two models of each row.
    difference : numpy.ndarray of shape (n_pairs,)
        Mean difference over splits, first minus second.
    standard_error : numpy.ndarray of shape (n_pairs,)
        Standard error of the difference, corrected for training samples that splits share.
    low, high : numpy.ndarray of shape (n_pairs,)
        Ends of its interval, for each pair by itself.
    statistic : numpy.ndarray of shape (n_pairs,)
        The difference over its standard error; NaN where both are 0.
    n_splits : numpy.ndarray of shape (n_pairs,)
        Splits in which both models have a value; Student's distribution has one degree of
        freedom less.
    p_values, adjusted_p_values : numpy.ndarray of shape (n_pairs,)
        Two-sided, and adjusted for the number of pairs.
    measure, dataset : str
        The measure that is compared, and the data set.
    higher_is_better : bool
        Direction of the measure.
    correction : str
        Correction of the p-values.
    test_fraction : float
        Fraction of the samples that each split tests on.
    confidence_level : float
        Confidence level of each interval; family-wise for the comparisons.
    notes : sequence of str
        Omissions: a line each.
    """

    pairs: Sequence[tuple[str, str]]
    difference: FloatVector
    standard_error: FloatVector
    low: FloatVector
    high: FloatVector
    statistic: FloatVector
    n_splits: IntVector
    p_values: FloatVector
    adjusted_p_values: FloatVector
    measure: str
    dataset: str
    higher_is_better: bool
    correction: str
    test_fraction: float
    confidence_level: float
    notes: Sequence[str] = ()

    @property
    def significant_pairs(self) -> list[tuple[str, str]]:
        """Pairs that differ significantly, the better model first."""
        return [
            pair if (difference > 0) == self.higher_is_better else (pair[1], pair[0])
            for pair, difference, p_value in zip(
                self.pairs, self.difference, self.adjusted_p_values, strict=True
            )
            if p_value <= significance_level(self.confidence_level)
        ]

    def _declare_columns(self) -> list[Column]:
        level, correction = intervals_text(self.confidence_level), f"p, {self.correction}"
        better = {frozenset(pair): pair[0] for pair in self.significant_pairs}
        verdicts = [better.get(frozenset(pair), "not significant") for pair in self.pairs]
        return [
            Column(None, map(" - ".join, self.pairs), str, self.measure),
            Column("first", (first for first, _ in self.pairs)),
            Column("second", (second for _, second in self.pairs)),
            Column("difference", self.difference, ".4f"),
            Column("standard_error", self.standard_error),
            *interval_columns(self.low, self.high, level, ".4f"),
            Column("statistic", self.statistic),
            Column("n_splits", self.n_splits, str, "splits"),
            Column("p_value", self.p_values, format_p, "p"),
            Column("adjusted_p_value", self.adjusted_p_values, format_p, correction),
            Column(None, verdicts, str, "better"),
        ]


def resampled_t_test(
    results: Results,
    *,
    test_fraction: Point,
    measure: str | None = None,
    dataset: str | None = None,
    correction: Correction = "holm",
    confidence_level: Point = 0.95,
) -> ResampledComparison:
    """Compare models on the random splits, or folds, of one data set.

    Splits share training samples, so that their differences are correlated and an ordinary t-test
    finds differences too often. The corrected test allows for that.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models, a row for each split (``fold``).
    test_fraction : float
        Fraction of the samples that each split tests on, in (0, 1): 1 / k for k folds.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    dataset : str, optional
        Name of the data set; it may be left out where the table has one alone.
    correction : {"holm", "benjamini-hochberg", "bonferroni", "none"}, default "holm"
        Correction of the p-values for the number of pairs, as in `fastad.compare_all`.
    confidence_level : float, default 0.95
        Confidence level of each interval; family-wise for the comparisons, in (0, 1).

    Returns
    -------
    ResampledComparison
        For each pair the difference with its interval and p-value.

    Raises
    ------
    InvalidInputError
        If there is one model only.
    UndefinedMeasureError
        If two models share fewer than two splits, or one alone is infinite on a split.

    See Also
    --------
    wilcoxon_holm : Models on many data sets.
    fastad.uncertainty.cross_validated_interval : One model, from its scores.

    Notes
    -----
    With d the differences on J splits of which each tests on a fraction r of the samples, t is the
    mean of d over the root of (1 / J + r / (1 - r)) times their variance, with J - 1 degrees of
    freedom. The second term stands for the correlation of splits, for which there is no unbiased
    estimate (Bengio and Grandvalet 2004). Only for one data set: the result says nothing of
    others. O(k^2 J) time for k models.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003, section 4.3.
    .. [2] R. R. Bouckaert and E. Frank, "Evaluating the replicability of significance tests for
       comparing learning algorithms", 2004.

    Examples
    --------
    >>> import fastad
    >>> auc = [[[0.91, 0.93, 0.92, 0.95, 0.94], [0.85, 0.88, 0.84, 0.89, 0.87]]]
    >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof"])
    >>> print(fastad.benchmarking.resampled_t_test(results, test_fraction=0.2))
    auc        difference     95 % interval  splits       p  p, holm  better
    knn - lof      0.0640  [0.0428, 0.0852]       5  0.0011   0.0011     knn
    """
    fraction = float(check_inside(test_fraction, "test_fraction"))
    level = check_inside(confidence_level, "confidence_level")
    alpha = float(1 - level)
    check_choice(correction, tuple(CORRECTIONS), "correction")
    table = as_results(results, None)
    column = table.only_measure() if measure is None else table.measure(measure)
    problem = _problem(table, dataset)
    values = table.by_fold(column.key)[problem]
    pairs = list(combinations(range(len(table.models)), 2))
    rows = [
        _test(values[[i, j]], fraction, alpha, f"{table.models[i]} and {table.models[j]}")
        for i, j in pairs
    ]
    difference, error, low, high, statistic, p_values, n_splits = np.array(rows).T
    adjusted = CORRECTIONS[correction](p_values)
    counts = n_splits.astype(np.int64)
    set_all_readonly(difference, error, low, high, statistic, p_values, adjusted, counts)
    names = [(table.models[i], table.models[j]) for i, j in pairs]
    return ResampledComparison(
        pairs=names,
        difference=difference,
        standard_error=error,
        low=low,
        high=high,
        statistic=statistic,
        n_splits=counts,
        p_values=p_values,
        adjusted_p_values=adjusted,
        measure=column.key,
        dataset=table.problems[problem],
        higher_is_better=column.higher_is_better,
        correction=correction,
        test_fraction=fraction,
        confidence_level=float(level),
        notes=table.notes + _without_variance(names, statistic),
    )


def _without_variance(names: Sequence[tuple[str, str]], statistic: FloatVector) -> list[str]:
    """Return a note of the pairs whose difference is the same on all splits."""
    pairs = [" - ".join(names[i]) for i in np.flatnonzero(np.isinf(statistic)).tolist()]
    if not pairs:
        return []
    return [
        f"{some_of(pairs, _MAX_NAMES)}: the same difference on all splits, whose estimated variance"
        " is zero: its p-value means nothing"
    ]


def _problem(table: ResultTable, dataset: str | None) -> int:
    problems = table.problems
    if dataset is None and len(problems) == 1:
        return 0
    if dataset not in problems:
        more = f", and {len(problems)} data sets" if dataset is None else ""
        raise InvalidInputError(
            f"dataset must be one of {some_of(problems, _MAX_NAMES)}; found "
            f"{short_repr(dataset)}{more}"
        )
    return problems.index(dataset)


def _test(
    values: FloatMatrix, fraction: float, alpha: float, names: str
) -> tuple[float, float, float, float, float, float, int]:
    """Return difference, error, ends, statistic, p-value and number of splits of one pair."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import stdtr

    defined = values[:, ~np.isnan(values).any(axis=0)]
    n = defined.shape[1]
    if n < 2:
        raise UndefinedMeasureError(
            f"a comparison of {names} needs two splits in which both have a value; found {n}"
        )
    # Differences of the rates as fractions, because equal ones may differ as floats.
    difference = differences(defined[:1], defined[1:])[0]
    if not np.isfinite(difference).all():
        raise UndefinedMeasureError(
            f"a comparison of {names} needs finite differences; found an infinite value of one"
        )
    mean = float(defined_mean(difference, axis=0))
    deviations, exponents = in_units((difference - mean)[np.newaxis])
    variance = float(np.sum(deviations**2)) / (n - 1)
    scaled_error = math.sqrt((1 / n + fraction / (1 - fraction)) * variance)
    error = float(np.ldexp(scaled_error, exponents[0, 0]))
    if error == 0:
        statistic = math.copysign(math.inf, mean) if mean else math.nan
        return mean, 0.0, mean, mean, statistic, positive_p(float(mean == 0)), n
    statistic = mean / error
    half = student_quantile(alpha, n - 1) * error
    p_value = positive_p(2 * float(stdtr(n - 1, -abs(statistic))))
    return mean, error, mean - half, mean + half, statistic, p_value, n
