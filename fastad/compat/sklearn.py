"""Functions of ``sklearn.metrics``: the same arguments, results, warnings and errors, but faster.

One changed import makes a script faster:

>>> from fastad.compat.sklearn import roc_auc_score
>>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
0.75

fastad computes what has two labels, one finite score for each sample, and weights that are not
negative, in arrays, lists, tuples or columns of frames. scikit-learn's own function is called for
everything else: several classes or columns of scores, one class only, other containers, invalid
input. It then has to be installed, and computes, warns or raises as usual.

F1, and curves without weights or with integer ones, are equal to scikit-learn's to the last bit.
Other numbers are rounded less often here, and differ by a few units in the last place.
"""

from collections.abc import Callable
from functools import cache, wraps
from numbers import Real
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from fastad._core.types import (
    AnyVector,
    BoolVector,
    CountVector,
    FloatVector,
    IntVector,
    ScoreVector,
)
from fastad.detectors.orientation import scikit_learn
from fastad.measures.partial import AUC_AT_FPR
from fastad.measures.points import need_both
from fastad.measures.precision import AVERAGE_PRECISION
from fastad.measures.roc import ROC_AUC
from fastad.ordering.counts import OrderedCounts, counted

__all__ = [
    "average_precision_score",
    "det_curve",
    "f1_score",
    "precision_recall_curve",
    "roc_auc_score",
    "roc_curve",
]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Curve = tuple[FloatVector, FloatVector, ScoreVector]

_AVERAGES = ("macro", "micro", "weighted", "samples", None)  # without effect on two labels


def _else_scikit_learn(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Call scikit-learn's function of the same name where a function refuses its arguments."""

    @wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        try:
            return function(*args, **kwargs)
        except (TypeError, ValueError):
            pass  # what scikit-learn raises then has no other error as its context
        result: Result = _of_scikit_learn(function.__name__)(*args, **kwargs)
        return result

    return call


@cache
def _of_scikit_learn(name: str) -> Callable[..., Any]:
    metrics = scikit_learn("metrics", user=f"{name} with these arguments")
    function: Callable[..., Any] = getattr(metrics, name)
    return function


def _require(condition: object) -> None:
    """Leave to scikit-learn what does not fulfil a condition."""
    if not condition:
        raise ValueError


def _vector(values: Any, kinds: str = "") -> AnyVector:
    """Return an array, a list or a column as a vector, of some kinds of numbers if they are given.

    Other containers may ask for results of their own kind, as tensors do.
    """
    _require(type(values) in (np.ndarray, np.memmap, list, tuple) or hasattr(values, "to_numpy"))
    vector = np.asarray(values)
    _require(vector.ndim == 1 and vector.shape[0] and vector.dtype.isnative)
    _require(not kinds or vector.dtype.kind in kinds)
    return vector


class _TwoLabels(NamedTuple):
    """Labels of two kinds: both strings, or both integers, which may be stored as floats."""

    first: Any
    second: Any
    is_second: BoolVector

    @classmethod
    def of(cls, y: Any) -> "_TwoLabels":
        labels = _vector(y)
        different = labels != labels[0]
        pair = labels[[0, int(np.argmax(different))]]
        first, second = pair.tolist()
        if pair.dtype.kind == "f":
            _require(all(each.is_integer() and abs(each) < 2**53 for each in (first, second)))
        elif pair.dtype.kind not in "biuU":
            _require(isinstance(first, str) and isinstance(second, str))
        is_second = labels == pair[1]
        _require(0 < np.count_nonzero(different) == np.count_nonzero(is_second))
        return cls(first, second, is_second)

    def equal(self, label: Any) -> BoolVector:
        """Tell which samples have a label."""
        _require(isinstance(label, Real | str | np.bool_) and label in (self.first, self.second))
        return self.is_second if label == self.second else ~self.is_second


def _finite_scores(y_score: Any) -> ScoreVector:
    """Check scores, also of weight 0."""
    scores = _vector(y_score, "iuf")
    _require(np.isfinite(scores.min()) and np.isfinite(scores.max()))
    return scores


def _weights(sample_weight: Any) -> AnyVector | None:
    return None if sample_weight is None else _vector(sample_weight, "iuf")


def _counts(
    y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any, drop_intermediate: Any
) -> OrderedCounts:
    """Check the arguments of a curve, and count at each distinct score."""
    _require(isinstance(drop_intermediate, bool))
    pair, scores = _TwoLabels.of(y_true), _finite_scores(y_score)
    if pos_label is None:
        _require({pair.first, pair.second} in ({0, 1}, {-1, 1}))
        pos_label = 1
    weights = _weights(sample_weight)
    with counted(pair.equal(pos_label), scores, sample_weight=weights) as counts:
        need_both(counts, "a curve")
        return counts


def _corners(fps: CountVector, tps: CountVector) -> IntVector:
    """Return the points next to which steps differ, and both ends."""
    widths, heights = np.diff(fps), np.diff(tps)
    differ = (widths[1:] != widths[:-1]) | (heights[1:] != heights[:-1])
    return _with_ends(differ, fps.shape[0])


def _ends_of_levels(tps: CountVector) -> IntVector:
    """Return the first and the last point of each number of true positives, and both ends."""
    rises = np.diff(tps) != 0
    return _with_ends(rises[:-1] | rises[1:], tps.shape[0])


def _with_ends(inner: BoolVector, n_points: int) -> IntVector:
    """Return the first point, some of those between, and the last, which may be the first."""
    return np.flatnonzero(np.concatenate([[True], inner, [True]])[:n_points])


@_else_scikit_learn
def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Any = "macro",
    sample_weight: Any = None,
    max_fpr: Any = None,
    multi_class: Any = "raise",
    labels: Any = None,
) -> Any:
    """Area under the ROC curve, as of ``sklearn.metrics.roc_auc_score``, also up to an FPR.

    Several classes or columns of scores, and one class only, are left to scikit-learn.
    """
    _require(average in _AVERAGES and multi_class in ("raise", "ovr", "ovo") and labels is None)
    pair = _TwoLabels.of(y_true)
    positive = pair.equal(max(pair.first, pair.second))
    data = positive, _finite_scores(y_score), _weights(sample_weight)
    if max_fpr is None or max_fpr == 1:
        return ROC_AUC.of(*data)
    _require(isinstance(max_fpr, float) and 0 < max_fpr < 1)
    area = AUC_AT_FPR.of(*data, fpr=max_fpr, normalize="none")
    chance = max_fpr**2 / 2
    # Unlike normalize="mcclish", also below chance.
    return (1 + (area - chance) / (max_fpr - chance)) / 2


@_else_scikit_learn
def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: Any = "macro",
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> Any:
    """Average precision, as of ``sklearn.metrics.average_precision_score``.

    Several classes or columns of scores, and one class only, are left to scikit-learn.
    """
    _require(average in _AVERAGES)
    positive, scores = _TwoLabels.of(y_true).equal(pos_label), _finite_scores(y_score)
    return AVERAGE_PRECISION.of(positive, scores, _weights(sample_weight))


@_else_scikit_learn
def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: Any = True,
) -> Curve:
    """FPR, TPR and falling thresholds, as of ``sklearn.metrics.roc_curve``.

    More than two labels, and one class only, are left to scikit-learn.
    """
    counts = _counts(y_true, y_score, pos_label, sample_weight, drop_intermediate)
    fps, tps, thresholds = counts.fps, counts.tps, np.append(np.inf, counts.thresholds())
    if drop_intermediate:
        # scikit-learn looks for corners before it puts the origin in front.
        kept = np.append(0, 1 + _corners(fps[1:], tps[1:]))
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    return fps / fps[-1], tps / tps[-1], thresholds


@_else_scikit_learn
def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: Any = False,
) -> Curve:
    """Precision, recall and rising thresholds, as of ``sklearn.metrics.precision_recall_curve``.

    More than two labels, and one class only, are left to scikit-learn.
    """
    counts = _counts(y_true, y_score, pos_label, sample_weight, drop_intermediate)
    fps, tps, thresholds = counts.fps[1:], counts.tps[1:], counts.thresholds()
    if drop_intermediate:
        kept = _ends_of_levels(tps)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    precision, recall = tps / (tps + fps), tps / tps[-1]
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


@_else_scikit_learn
def det_curve(
    y_true: Any,
    y_score: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: Any = False,  # noqa: FBT002 - scikit-learn takes it by position, too
) -> Curve:
    """FPR, FNR and rising thresholds, as of ``sklearn.metrics.det_curve`` from version 1.7 on.

    More than two labels, and one class only, are left to scikit-learn.
    """
    counts = _counts(y_true, y_score, pos_label, sample_weight, drop_intermediate)
    fps, tps, thresholds = counts.fps, counts.tps, np.append(np.inf, counts.thresholds())
    if drop_intermediate:
        kept = _ends_of_levels(tps)
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    # From the first point without false negatives to the last one without false positives.
    first, last = np.searchsorted(fps, 0, side="right") - 1, np.searchsorted(tps, tps[-1])
    fps, fns, thresholds = (x[first : last + 1][::-1] for x in (fps, tps[-1] - tps, thresholds))
    return fps / counts.fps[-1], fns / tps[-1], thresholds


@_else_scikit_learn
def f1_score(
    y_true: Any,
    y_pred: Any,
    *,
    labels: Any = None,
    pos_label: Any = 1,
    average: Any = "binary",
    sample_weight: Any = None,
    zero_division: Any = "warn",
) -> Any:
    """F1 of predictions such as ``y_score >= threshold``, as of ``sklearn.metrics.f1_score``.

    ``labels``, averages, and one class only, are left to scikit-learn.
    """
    _require(average == "binary" and labels is None)
    _require(zero_division in ("warn", 0, 1) or np.isnan(zero_division))
    true, predicted = _TwoLabels.of(y_true), _TwoLabels.of(y_pred)
    _require({true.first, true.second} == {predicted.first, predicted.second})
    is_true, is_predicted = true.equal(pos_label), predicted.equal(pos_label)
    weights = _weights(sample_weight)
    _require(weights is None or np.all(np.isfinite(weights)))

    def total(flags: BoolVector) -> Any:
        # `bincount` adds weights one after the other, as it does in scikit-learn.
        return np.count_nonzero(flags) if weights is None else np.bincount(flags, weights, 2)[1]

    tp, n_true, n_predicted = map(total, (is_true & is_predicted, is_true, is_predicted))
    # Rounded as in scikit-learn's confusion matrix.
    divisor = (tp + (n_true - tp)) + (tp + (n_predicted - tp))
    _require(divisor > 0)
    return float(2 * tp / divisor)
