"""``cross_validated_interval``: an interval of a mean over folds, from the samples in them."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastad._core.parameters import check_inside, short_repr
from fastad._core.results import Record
from fastad._core.text_tables import level_text
from fastad._core.threads import thread_limit, thread_map
from fastad._core.types import ArrayLike, FloatVector, Label, Point, ScoreVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import count_scores
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels, check_labels, check_scores
from fastad.uncertainty.intervals.methods import is_bounded
from fastad.uncertainty.results import NO_WIDTH, warn_if_noted
from fastad.uncertainty.samples.bootstrap import refuse_few
from fastad.uncertainty.samples.closed_forms import (
    logit_ends,
    standard_error_of,
    student_quantile,
    symmetric_ends,
)
from fastad.uncertainty.samples.influence import check_smooth, class_influences

# A fold of fewer samples of a class than this, and this many times fewer than a mean fold, decides
# the variance and does not show it: with 3 anomalies beside four folds of 50, 84 % were covered.
_FEW, _MANY_TIMES = 5, 4


@dataclass(frozen=True, slots=True)
class CrossValidatedInterval(Record):
    """A mean over folds and its confidence interval.

    Attributes
    ----------
    value : float
        Mean of the measure over the folds.
    low, high : float
        Ends of the interval.
    standard_error : float
        Standard error of the mean, from the influence of each sample.
    std : float
        Standard deviation of the folds' values, with n - 1, as in "mean ± std". It is no standard
        error, and divided by the root of the number of folds it is none either, because
        folds share training samples. NaN for one fold.
    confidence_level : float
        Nominal probability that such an interval covers the true value, in (0, 1).
    measure : str
        Key of the measure.
    folds : mapping of str to float
        The measure in each fold.
    n_anomalies, n_normals : int
        Numbers of samples.
    reliability_note : str or None
        Reason why the interval is unreliable, or None.
    """

    value: float
    low: float
    high: float
    standard_error: float
    std: float
    confidence_level: float
    measure: str
    folds: Mapping[str, float]
    n_anomalies: int
    n_normals: int
    reliability_note: str | None = None

    def __str__(self) -> str:
        level = level_text(self.confidence_level)
        note = "" if self.reliability_note is None else f"; unreliable: {self.reliability_note}"
        return (
            f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}] ({level}{note}), "
            f"mean ± std of {len(self.folds)} folds {self.value:.4f} ± {self.std:.4f}"
        )


def cross_validated_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    folds: ArrayLike,
    *,
    measure: MeasureLike,
    confidence_level: Point = 0.95,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> CrossValidatedInterval:
    """Confidence interval of a cross-validated measure: of its mean over folds.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score of each sample by the detector that was trained without its fold, higher is
        more anomalous. Scores of different folds are never compared.
    folds : array-like of shape (n_samples,)
        Name or number of the fold of each sample.
    measure : str, Measure or BoundMeasure
        A smooth measure: the area under the ROC or a part of it, average precision, …; a key, or
        a name with its operating point, as for `fastad.interval`.
    confidence_level : float, default 0.95
        Probability with which such intervals are to cover the true value, in (0, 1).
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over folds.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    CrossValidatedInterval
        ``value``, ``low``, ``high``, and the ``std`` over ``folds`` beside them.

    Raises
    ------
    InvalidInputError
        If the measure is not smooth.
    UndefinedMeasureError
        If the measure is undefined in a fold, or a class is absent.

    Warns
    -----
    LowCoverageWarning
        If the interval has no width, as where all folds are separated, or a fold has fewer than
        five samples of a class and others have many.

    See Also
    --------
    fastad.benchmarking.resampled_t_test : Compares models on the folds of one data set.

    Notes
    -----
    The true value is the mean of the trained detectors' values on new samples. The variance of the
    mean is that of the folds' values, which are independent given the detectors, over the square of
    their number; the variance of each is that by the influences of its samples. For the area under
    the ROC and folds of one size it is that of LeDell, Petersen and van der Laan, but for n - 1 in
    place of n in each fold. Ends are those of Student's distribution on the scale of the log odds,
    with degrees of freedom by the fourth moments of the influences. O(n log n) time.

    References
    ----------
    .. [1] E. LeDell, M. Petersen and M. van der Laan, "Computationally efficient confidence
       intervals for cross-validated area under the ROC curve estimates", Electronic Journal of
       Statistics 9, 2015, section 5.

    Examples
    --------
    >>> import fastad
    >>> labels = [0, 0, 0, 1, 1] * 8
    >>> scores = [(i * i % 11) + 4 * label for i, label in enumerate(labels)]
    >>> folds = [i // 10 for i in range(40)]
    >>> print(fastad.uncertainty.cross_validated_interval(labels, scores, folds, measure="auc"))
    0.8490 [0.6406, 0.9466] (95 %), mean ± std of 4 folds 0.8490 ± 0.2065
    """
    bound = bind(measure, operating_point, cross_validated_interval)
    level = check_inside(confidence_level, "confidence_level")
    check_smooth(bound)
    with thread_limit(n_threads):
        labels = check_labels(y_true, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        codes, names = factorize(folds, "folds", labels.row_index)
        refuse_few(
            f"an interval of {bound.key}",
            labels.n_anomalies,
            labels.values.shape[0] - labels.n_anomalies,
            least=1,
        )
        parts = [
            _Part(str(name), labels.keep(codes == i), scores[codes == i])
            for i, name in enumerate(names.tolist())
        ]
        _refuse_equal_names(parts)
        measured = thread_map(lambda part: _measure_part(part, bound), parts)
    values = np.array([value for value, _ in measured])
    # What each sample of a class adds to the mean.
    of_classes = [
        np.concatenate(of_class) / len(parts)
        for of_class in zip(*(contributions for _, contributions in measured), strict=True)
    ]
    variance, df = _variance_of_sums(of_classes, len(parts))
    standard_error = standard_error_of(variance, bound)
    value = float(values.mean())
    half = student_quantile(float(1 - level), df) * standard_error
    ends_of = logit_ends if is_bounded(bound) else symmetric_ends
    low, high = ends_of(value, half, bound.bounds)
    result = CrossValidatedInterval(
        value=value,
        low=low,
        high=high,
        standard_error=standard_error,
        std=float(values.std(ddof=1)) if len(parts) > 1 else math.nan,
        confidence_level=float(level),
        measure=bound.key,
        folds={part.name: each for part, each in zip(parts, values.tolist(), strict=True)},
        n_anomalies=labels.n_anomalies,
        n_normals=labels.values.shape[0] - labels.n_anomalies,
        reliability_note=NO_WIDTH if standard_error == 0 else _note_of_small_folds(parts),
    )
    warn_if_noted(bound.key, result.reliability_note)
    return result


class _Part(NamedTuple):
    """One fold, with its name."""

    name: str
    labels: Labels
    scores: ScoreVector


def _refuse_equal_names(parts: Sequence[_Part]) -> None:
    """Raise where two folds have one name, as the number 1 and the string "1" do."""
    equal = [name for name, times in Counter(part.name for part in parts).items() if times > 1]
    if equal:
        raise InvalidInputError(f"folds must differ as strings; found {short_repr(equal[0])} twice")


def _note_of_small_folds(parts: Sequence[_Part]) -> str | None:
    """Return a note where a fold that counts as others has hardly a sample of a class."""
    sizes = np.array(
        [[part.labels.n_anomalies, part.labels.values.shape[0]] for part in parts], np.int64
    )
    sizes[:, 1] -= sizes[:, 0]
    smallest = np.where(sizes > 0, sizes, sizes.max()).min(axis=0)
    if (sizes == 1).any():
        return "a fold has one sample of a class, of which nothing is known of how it varies"
    if ((smallest < _FEW) & (smallest < sizes.mean(axis=0) / _MANY_TIMES)).any():
        return (
            f"a fold has {smallest[0]} anomalies and a fold {smallest[1]} normal samples, few "
            "beside the others, as which it counts"
        )
    return None


def _measure_part(part: _Part, bound: BoundMeasure) -> tuple[float, list[FloatVector]]:
    """Return the measure of a fold, and what each sample of a class adds to it."""
    counts = count_scores(part.scores, part.labels)
    try:
        value = bound.value(counts)
    except UndefinedMeasureError as error:
        raise UndefinedMeasureError(f"fold {part.name}: {error}") from None
    # Less their own mean: n - 1 of them are free. Of one sample alone nothing is known.
    sizes = [(each, each.shape[0]) for each in class_influences(counts, bound)]
    return value, [each / math.sqrt(n * (n - 1)) if n > 1 else each for each, n in sizes]


def _variance_of_sums(of_classes: Sequence[FloatVector], n_folds: int) -> tuple[float, float]:
    """Return the variance of the sum of contributions, and its degrees of freedom."""
    squares = [of_class**2 for of_class in of_classes]
    variance = math.fsum(float(each.sum()) for each in squares)
    # As in `variance_of_influences`; contributions of a small fold are large, and few.
    variance_of_it = math.fsum(each.shape[0] * float(each.var()) for each in squares if each.size)
    reciprocal = variance_of_it / (2 * variance**2) if variance > 0 else 0.0
    fewest = max(min(map(len, of_classes)) - n_folds, 1)
    return variance, 1 / (reciprocal + 1 / fewest)
