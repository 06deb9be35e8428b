"""``score_rank_intervals``: ranks of detectors from their scores on one data set, or on several."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from fastad._core.arrays import python_values
from fastad._core.parameters import N_RESAMPLES, check_count, check_inside
from fastad._core.random import numbered_generator, random_key
from fastad._core.text_tables import count_text
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, Label, Point
from fastad.benchmarking.rank_inference import (
    RankIntervals,
    as_ranks,
    few_replicates,
    inverse_norms,
    largest_differences,
    rank_frequencies,
    step_down,
    weighted_sums,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.groups import factorize
from fastad.ordering.labels import (
    Labels,
    Table,
    check_labels,
    check_scores,
    named_scores,
    refuse_missing_scores,
    score_name,
)
from fastad.uncertainty.comparisons.pair_estimates import check_direction
from fastad.uncertainty.comparisons.paired import Detectors, rank_detectors
from fastad.uncertainty.intervals.methods import limits_of
from fastad.uncertainty.samples.bootstrap import refuse_often_undefined
from fastad.uncertainty.samples.influence import has_influence

# A variance below this part of the largest is rounding.
_ROUNDING = 1e-12


def score_rank_intervals(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    measure: MeasureLike,
    groups: ArrayLike | None = None,
    n_best: int = 3,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> RankIntervals:
    """Rank detectors on one data set, or on several, by their scores on the same samples.

    The rank of a detector is one more than the number of detectors with a better value on
    infinitely many samples of the same data sets.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str, Measure or BoundMeasure
        The measure to rank by: a key, or a name with its operating point, as for `interval`.
    groups : array-like of shape (n_samples,), optional
        Data set of each sample; detectors are ranked by the mean over data sets. By default
        there is one.
    n_best, confidence_level, n_resamples, rng : optional
        As for `rank_intervals`.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors and replicates; the same seed gives the same result for any number.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    RankIntervals
        As of `rank_intervals`; mean ranks are NaN.

    Raises
    ------
    InvalidInputError
        If there is one detector only, or neither more nor less of the measure is better.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two samples.

    See Also
    --------
    rank_intervals : Over all data sets like these; from scores, of ``evaluate(groups=...)``.
    fastad.compare_all : Differences of each two.

    Notes
    -----
    The covariance of the values is the covariance of the influences of samples, for smooth measures
    (`delong_covariance`), and of bootstrap replicates that all detectors share for others. Pairs
    are tested step by step, as by `rank_intervals`, by the largest of their differences over their
    standard errors: of normal values, with Student's correction for the samples that limit the
    measure. Probabilities are fractions of normal values about those observed.

    With ``groups`` samples vary, and data sets do not: the intervals say nothing of others.

    O(n log n) time for n samples of each detector, O(k^2) for each replicate of k detectors.

    References
    ----------
    .. [1] M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for ranks with
       applications to mobility across neighbourhoods and academic achievement across countries",
       Review of Economic Studies 91, 2024.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = {"good": range(100), "bad": [x * 7 % 100 for x in range(100)]}
    >>> ranks = fastad.benchmarking.score_rank_intervals(labels, scores, measure="auc", rng=0)
    >>> ranks.tied_with_best
    ['good']
    """
    bound = bind(measure, operating_point, score_rank_intervals)
    check_direction(bound)
    n_best, n_resamples = check_count(n_best, "n_best"), check_count(n_resamples, "n_resamples")
    level, key = check_inside(confidence_level, "confidence_level"), random_key(rng)
    with thread_limit(n_threads):
        labels = check_labels(y_true, pos_label=pos_label)
        scores = named_scores(y_score, labels.row_index)
        if len(scores) < 2:
            raise InvalidInputError("y_score must contain at least two detectors; found one")
        parts = _data_sets(labels, scores, groups)
        merits, errors, df = _merits(parts, bound, n_resamples, key)
        sign = 1.0 if bound.measure.higher_is_better else -1.0
        order = np.argsort(-sign * merits, kind="stable")
        means, errors = sign * merits[order], np.ascontiguousarray(errors[:, order])
        normal = numbered_generator(key, 1).standard_normal((len(order), n_resamples))
        sums, inverses = weighted_sums(normal, _factor(errors)), inverse_norms(errors)
        statistics = _as_normal((means[:, np.newaxis] - means) * inverses, df)
        largest_of = partial(largest_differences, sums)
        better = step_down(statistics, inverses, largest_of, n_resamples, float(1 - level))
        frequencies = rank_frequencies(
            lambda some: means[:, np.newaxis] + sums[:, some.start : some.stop],
            len(order),
            n_resamples,
        )
    n_anomalies = sum(part.n_anomalies for part in parts.values())
    n_normals = sum(part.n_normals for part in parts.values())
    data = f"{n_anomalies} anomalies and {n_normals} normal samples"
    return as_ranks(
        [scores[i][0] for i in order],
        means,
        better,
        frequencies,
        mean=merits[order],
        mean_rank=np.full(len(order), math.nan),
        ranked_by="mean_value",
        n_best=min(n_best, len(order)),
        measure=bound.key,
        data=data if groups is None else f"{data} of {count_text(len(parts), 'data set')}",
        confidence_level=float(level),
        n_resamples=n_resamples,
        _notes=[
            "of these data sets: the intervals say nothing of others",
            *few_replicates(n_resamples, float(1 - level)),
        ],
    )


def _data_sets(
    labels: Labels, scores: list[tuple[str, ArrayLike]], groups: ArrayLike | None
) -> dict[str, Detectors]:
    """Order the scores of each data set; the only one has no name."""
    named = [(name, score_name(name), values) for name, values in scores]
    if groups is None:
        return {"": rank_detectors(labels, named)}
    checked = [
        (name, label, check_scores(values, labels, name=label)) for name, label, values in named
    ]
    for _, label, values in checked:
        if np.any(values != values):
            refuse_missing_scores(values, labels, label)
    codes, names = factorize(groups, "groups", labels.row_index)
    parts = {}
    for i, group in enumerate(python_values(names)):
        rows = codes == i
        some = [(name, label, values[rows]) for name, label, values in checked]
        parts[f" on {group}"] = rank_detectors(check_labels(labels.values[rows]), some)
    return parts


def _merits(
    parts: Mapping[str, Detectors], bound: BoundMeasure, n_resamples: int, key: np.uint64
) -> tuple[FloatVector, FloatMatrix, float]:
    """Return the mean over data sets of each detector's value, its errors, and their df.

    The errors are contributions of samples, or of replicates, of which the sum of squares of a
    combination of detectors is its variance.
    """
    values, errors, df = [], [], 0.0
    for number, (where, part) in enumerate(parts.items()):
        part.samples[0].refuse(f"a ranking by {bound.key}{where}")
        values.append([bound.value(sample.counts) for sample in part.samples])
        df += max(min(limits_of(bound, part.n_anomalies, part.n_normals)) - 1, 1.0)
        if has_influence(bound.measure):
            of_rows = np.array([sample.contributions(bound) for sample in part.samples]).T
            for some in np.split(of_rows, [part.n_anomalies]):
                n = len(some)
                errors.append((some - some.mean(axis=0)) / math.sqrt(n * (n - 1)))
            continue
        seed = numbered_generator(key, 2 + number).integers(2**64, dtype=np.uint64)
        replicates = np.array(
            [sample.replicates([bound], n_resamples, seed)[0] for sample in part.samples]
        ).T
        defined = replicates[~np.isnan(replicates).any(axis=1)]
        refuse_often_undefined(bound.key, n_resamples - len(defined), n_resamples)
        if len(defined) < 2:
            raise UndefinedMeasureError(f"a ranking by {bound.key} needs two replicates; found one")
        errors.append((defined - defined.mean(axis=0)) / math.sqrt(len(defined) - 1))
    return np.mean(values, axis=0), np.concatenate(errors) / len(parts), df


def _factor(errors: FloatMatrix) -> FloatMatrix:
    """Return a square matrix with the same products of columns, by Cholesky's method.

    Not by LAPACK, whose sums depend on the number of its threads.
    """
    rest = np.einsum("ij,ik->jk", errors, errors)
    factor = np.zeros(rest.shape)
    least = _ROUNDING * rest.diagonal().max()
    for j in range(len(rest)):
        if rest[j, j] > least:
            factor[j] = rest[j] / math.sqrt(rest[j, j])
            rest -= np.outer(factor[j], factor[j])
    return factor


def _as_normal(statistics: FloatMatrix, df: float) -> FloatMatrix:
    """Return normal numbers as likely as Student's."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import ndtri, stdtr

    normal: FloatMatrix = -np.sign(statistics) * ndtri(stdtr(df, -np.abs(statistics)))
    return np.where(np.isfinite(normal), normal, statistics)
