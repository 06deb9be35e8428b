"""``variance_components``: how much data sets vary, and how much seeds or folds within them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import check_count, check_inside
from fastad._core.results import Column, TableResult, estimate_columns, frame_columns
from fastad._core.text_tables import estimate_text, intervals_text
from fastad._core.types import FloatMatrix, FloatVector, IntVector, Point
from fastad.benchmarking.means import defined_mean, differences
from fastad.benchmarking.posthoc import check_control
from fastad.benchmarking.ranks import CompleteMerits
from fastad.benchmarking.result_table import Results
from fastad.errors import UndefinedMeasureError

# Fewer data sets have no jackknife of a variance.
_FEWEST = 3
# An interval over seeds that is this many times too short for other data sets is warned of.
_MUCH = 1.5


@dataclass(frozen=True, slots=True)
class Deviation:
    """A standard deviation with its interval; NaN for fewer than three data sets."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VarianceComponents(TableResult):
    """Standard deviations between data sets, and of seeds within them; prints as a table.

    A row for each detector, with the standard error of its mean over data sets now, with twice the
    seeds, and with twice the data sets.

    Attributes
    ----------
    detectors : sequence of str
        Names, the best mean first.
    mean : numpy.ndarray of shape (n_detectors,)
        Mean over data sets of the value, or of its difference from the control.
    between, within : sequence of Deviation
        Standard deviation of the true values of data sets, and of single seeds or folds on them.
    n_seeds : numpy.ndarray of shape (n_detectors,)
        Harmonic mean over data sets of the numbers of values: of seeds, times the classes of
        anomalies that are tried with each.
    n_datasets : int
        Number of data sets.
    control, measure, confidence_level
        The arguments; the key of the measure.
    """

    detectors: Sequence[str]
    mean: FloatVector
    between: Sequence[Deviation]
    within: Sequence[Deviation]
    n_seeds: FloatVector
    n_datasets: int
    control: str | None
    measure: str
    confidence_level: float
    _notes: Sequence[str]

    def __repr__(self) -> str:
        return f"<VarianceComponents of {len(self.detectors)} detectors in {self.measure}>"

    def standard_errors(
        self, *, n_datasets: int | None = None, n_seeds: int | None = None
    ) -> FloatVector:
        """Return the standard error of each mean over data sets, for other numbers of them.

        Parameters
        ----------
        n_datasets, n_seeds : int, optional
            Numbers of data sets, and of values of each, as the attribute; by default as in the
            table.

        Returns
        -------
        numpy.ndarray of shape (n_detectors,)
            Root of (between² + within² / n_seeds) / n_datasets.
        """
        n = self.n_datasets if n_datasets is None else check_count(n_datasets, "n_datasets")
        seeds = self.n_seeds if n_seeds is None else check_count(n_seeds, "n_seeds")
        return self._errors(n, seeds)

    @property
    def notes(self) -> list[str]:
        """What an interval over seeds alone is worth, and what was left out."""
        errors = self._errors(self.n_datasets, self.n_seeds)
        of_seeds = np.array([each.value for each in self.within])
        of_seeds /= np.sqrt(self.n_datasets * self.n_seeds)
        varying = of_seeds > 0
        notes = [] if self.control is None else [f"differences from {self.control}"]
        if varying.any() and (ratio := np.median(errors[varying] / of_seeds[varying])) > _MUCH:
            notes.append(
                f"intervals over seeds alone are {ratio:.1f} times too short for other data sets: "
                "they say how exact the means on these data sets are, and nothing of others"
            )
        return [*notes, *self._notes]

    def _errors(self, n_datasets: int, n_seeds: FloatVector | int) -> FloatVector:
        parts = self.between, self.within
        between, within = np.array([[each.value**2 for each in part] for part in parts])
        errors: FloatVector = np.sqrt((between + within / n_seeds) / n_datasets)
        return errors

    def _declare_table(self) -> list[Column]:
        n, seeds = self.n_datasets, self.n_seeds
        between, within = (
            [estimate_text(x.value, x.low, x.high, ".4f") for x in part]
            for part in (self.between, self.within)
        )
        level = intervals_text(self.confidence_level)
        return [
            Column(self.measure, self.detectors, str),
            Column("mean", self.mean, ".4f"),
            Column(f"std of data sets, {level}", between, str),
            Column(f"std of seeds, {level}", within, str),
            Column("error", self._errors(n, seeds), ".4f"),
            Column("twice the seeds", self._errors(n, 2 * seeds), ".4f"),
            Column("twice the data sets", self._errors(2 * n, seeds), ".4f"),
        ]

    def _declare_columns(self) -> list[Column]:
        errors = self._errors(self.n_datasets, self.n_seeds)
        return [
            *frame_columns({"detector": self.detectors, "mean": self.mean}),
            *estimate_columns("between", self.between),
            *estimate_columns("within", self.within),
            *frame_columns({"n_seeds": self.n_seeds, "standard_error": errors}),
        ]


def variance_components(
    results: Results,
    *,
    measure: str | None = None,
    control: str | None = None,
    confidence_level: Point = 0.95,
) -> VarianceComponents:
    """Separate the variance of results into one of data sets and one of seeds within them.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models, a row for each data set and seed (``fold``); a detector's best model
        on a data set counts.
    measure : str, optional
        Key of the measure; it may be left out where the table has one alone.
    control : str, optional
        Name of a detector from which differences are taken, seed by seed: what counts where
        detectors are compared. By default the values themselves.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).

    Returns
    -------
    VarianceComponents
        Both standard deviations with intervals, and the standard errors of means.

    Raises
    ------
    InvalidInputError
        If there is one detector only.
    UndefinedMeasureError
        If there are fewer than two data sets on which every detector has a value, if fewer than
        two of them have two seeds, or if a value is infinite.

    See Also
    --------
    rank_intervals : Intervals over data sets.
    resampled_t_test : Seeds of one data set.

    Notes
    -----
    With y the means over the m seeds of each of n data sets, and W the mean over data sets of the
    variance of seeds, W / m of the variance A of y is due to seeds, and B = A - W / m to data sets,
    0 where that is negative. Numbers of seeds may differ by data set (and m is their harmonic
    mean); data sets with one seed count in A alone. Problems of one data set count as their mean.

    Intervals of A and W are the jackknife's, of their logarithms with Student's quantiles; A's
    contains the chi-squared one; B's follows from both by the modified method of large samples
    (Burdick and Graybill). At 95 % they covered in 93 to 95 % (W) and 96 to 99 % (B) of 4 000
    tables with 5 to 40 data sets for normal distributions, and B of exponential ones in 88 to 98 %.

    Seeds must be independent, given the data set. Folds share training samples: what they have in
    common counts as a difference of data sets.

    References
    ----------
    .. [1] S. R. Searle, G. Casella and C. E. McCulloch, "Variance components", 1992, chapter 3.
    .. [2] R. K. Burdick and F. A. Graybill, "Confidence intervals on variance components", 1992,
       section 3.3.
    .. [3] X. Bouthillier and others, "Accounting for variance in machine learning benchmarks",
       2021.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal([[0.9], [0.8]], 0.05, (12, 2, 1)) + rng.normal(0, 0.02, (12, 2, 3))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof"])
    >>> parts = fastad.benchmarking.variance_components(results)
    >>> [round(deviation.value, 3) for deviation in parts.within]
    [0.019, 0.021]
    """
    tail = float(1 - check_inside(confidence_level, "confidence_level")) / 2
    hint = ". One data set says nothing of how much data sets vary"
    complete = CompleteMerits.of(results, measure, "variances between data sets", 2, hint)
    complete.by_mean("variances between data sets")
    table, column = complete.table, complete.column
    check_control(table, control)
    values = complete.by_fold()
    compared = list(range(len(table.detectors)))
    if control is not None:
        position = table.detectors.index(control)
        compared.remove(position)
        base = values[:, [position]]
        values = np.stack(
            [differences(values[:, j], base[:, 0]) for j in range(values.shape[1])], 1
        )
        lacking = np.argwhere(np.isnan(values[:, compared]).all(axis=2)).tolist()
        if lacking:
            problem = table.problems[int(np.flatnonzero(complete.counted)[lacking[0][0]])]
            raise UndefinedMeasureError(
                f"differences from {control} need a seed in common on each data set; found none of "
                f"{table.detectors[compared[lacking[0][1]]]} on {problem}"
            )
    components = [_components(values[:, j], complete.clusters, tail) for j in compared]
    order = np.argsort([-column.sign * each[0] for each in components], kind="stable").tolist()
    mean, between, within, n_seeds = zip(*(components[i] for i in order), strict=True)
    means, numbers = np.array(mean), np.array(n_seeds)
    set_all_readonly(means, numbers)
    return VarianceComponents(
        [table.detectors[compared[i]] for i in order],
        means,
        between,
        within,
        numbers,
        complete.n_datasets,
        control,
        column.key,
        1 - 2 * tail,
        complete.notes,
    )


def _components(
    values: FloatMatrix, clusters: IntVector, tail: float
) -> tuple[float, Deviation, Deviation, float]:
    """Return the mean, both standard deviations, and the harmonic mean of the numbers of seeds."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import chdtri

    n_seeds = np.count_nonzero(~np.isnan(values), axis=1)
    by_problem = defined_mean(values, axis=1)
    sizes = np.bincount(clusters)
    means = np.bincount(clusters, by_problem) / sizes
    several = n_seeds > 1
    squares = np.nansum((values - by_problem[:, np.newaxis]) ** 2, axis=1)[several]
    sums = np.bincount(clusters[several], squares / (n_seeds[several] - 1), len(sizes))
    counted = np.bincount(clusters[several], minlength=len(sizes))
    spread: FloatVector = (sums / np.maximum(counted, 1))[counted > 0]
    if len(spread) < 2:
        raise UndefinedMeasureError(
            "the variance of seeds needs two data sets on which all detectors have values with two "
            f"seeds; found {len(spread)}"
        )
    # What is left of the variance of a seed in the mean of a data set, on average.
    left = float(np.mean(np.bincount(clusters, 1 / n_seeds) / sizes**2))
    # About one of them, so that equal means do not vary by rounding.
    moved = means - means[0]
    within, among = float(spread.mean()), float(moved.var(ddof=1))
    between = max(among - left * within, 0.0)
    within_ends = _jackknife(spread, np.mean, tail)
    among_ends = _jackknife(moved, partial(np.var, ddof=1), tail)
    # The jackknife's or the chi-squared ends.
    quantiles = chdtri(len(means) - 1, [tail, 1 - tail])
    low, high = (among * (len(means) - 1) / quantiles).tolist()
    low, high = min(among_ends[0], low), max(among_ends[1], high)
    less = math.hypot(among - low, left * (within_ends[1] - within))
    more = math.hypot(high - among, left * (within - within_ends[0]))
    ends = max(among - left * within - less, 0.0), max(among - left * within + more, between)
    deviations = [
        Deviation(*map(math.sqrt, variances))
        for variances in ((between, *ends), (within, *within_ends))
    ]
    return float(means.mean()), deviations[0], deviations[1], 1 / left


def _jackknife(
    values: FloatVector, statistic: Callable[[FloatVector], Any], tail: float
) -> tuple[float, float]:
    """Return the ends of a statistic above 0, from the logarithms without one value each."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import stdtrit

    n, value = len(values), float(statistic(values))
    if n < _FEWEST:
        return math.nan, math.nan
    if value == 0:
        return 0.0, 0.0
    parts = np.array([statistic(np.delete(values, i)) for i in range(n)])
    if not parts.all():
        return 0.0, math.inf
    logs = np.log(parts)
    error = math.sqrt((n - 1) / n * float(np.sum((logs - logs.mean()) ** 2)))
    factor = math.exp(-float(stdtrit(n - 1, tail)) * error)
    return value / factor, value * factor
