"""Results of public functions: immutable dataclasses whose arrays are read-only."""

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import check_count
from fastad._core.results import ShortRepr
from fastad._core.types import Count, FloatVector, ScoreVector, Threshold
from fastad.errors import InvalidInputError
from fastad.measures.simplification import errors_of, simplified

if TYPE_CHECKING:
    from typing_extensions import Self

_FEWEST_POINTS = 8
# Floats of all digits.
_LEAST, _MOST = sys.float_info.min, sys.float_info.max


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Curve(ShortRepr):
    """Arrays of one length, set read-only."""

    @classmethod
    def of(cls, *values: Any) -> "Self":
        """Make a curve of arrays that nobody else writes to."""
        for value in values:
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        return cls(*values)


class ArrayCurve(Curve):
    """A curve of nothing but arrays, into which it unpacks."""

    __slots__ = ()

    def __iter__(self) -> Iterator[ScoreVector]:
        """Iterate over the arrays in their order: ``fpr, tpr, thresholds = roc_curve(...)``."""
        return (getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RocCurve(ArrayCurve):
    """Receiver operating characteristic; unpacks into its arrays.

    Attributes
    ----------
    fpr, tpr : numpy.ndarray of shape (n_points,)
        Rates in [0, 1], rising from (0, 0) to (1, 1).
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf; a point flags scores at or above its threshold. In the type of
        float scores; float64 for integer scores, or Python ints in an object array where a
        float64 would not be exact.
    """

    fpr: FloatVector
    tpr: FloatVector
    thresholds: ScoreVector

    def simplify(self, max_points: int = 1000) -> "SimplifiedRocCurve":
        """Return a curve through some of the points, with bounds of what that changes.

        Parameters
        ----------
        max_points : int, default 1000
            Number of points to keep at most, from 8 on.

        Returns
        -------
        SimplifiedRocCurve
            Points of this curve with their thresholds, and certain bounds on the error of every
            rate that is read off, and of every area.

        Notes
        -----
        O(n) time for n points. A quarter of the points is for equal ratios of FPRs, so that low
        ones are kept; others are added where a point is farthest from the curve.

        Examples
        --------
        >>> import numpy as np
        >>> import fastad
        >>> rng = np.random.default_rng(0)
        >>> labels = rng.random(100_000) < 0.1
        >>> simplified = fastad.roc_curve(labels, rng.normal(size=100_000) + labels).simplify(200)
        >>> len(simplified.curve.fpr), simplified.area_error < 0.001
        (200, True)
        """
        n_points = check_count(max_points, "max_points")
        if n_points < _FEWEST_POINTS:
            raise InvalidInputError(
                f"max_points must be at least {_FEWEST_POINTS}; found {n_points}"
            )
        kept, distance = simplified(self.fpr, self.tpr, n_points)
        curve = RocCurve.of(self.fpr[kept], self.tpr[kept], self.thresholds[kept])
        if distance == 0:
            return SimplifiedRocCurve(curve, 0.0, 0.0, 0.0)
        tpr_error, area = errors_of(self.fpr, self.tpr, kept)
        fpr_error, area_beside = errors_of(self.tpr, self.fpr, kept)
        return SimplifiedRocCurve(curve, tpr_error, fpr_error, max(area, area_beside))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SimplifiedRocCurve(Curve):
    """A receiver operating characteristic through some of its points.

    Attributes
    ----------
    curve : RocCurve
        Some points of the whole curve.
    tpr_error, fpr_error : float
        Largest error of a TPR that is read off at an FPR, and of an FPR that is read off at a TPR.
    area_error : float
        Largest error of the area over any range of FPRs or of TPRs, before it is divided by the
        width of the range.
    """

    curve: RocCurve
    tpr_error: float
    fpr_error: float
    area_error: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DetCurve(ArrayCurve):
    """Detection error trade-off: the two error rates by falling threshold.

    Attributes
    ----------
    fpr, fnr : numpy.ndarray of shape (n_points,)
        Rates in [0, 1]; FPR rises from 0, FNR falls from 1.
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf, as in `RocCurve`.
    """

    fpr: FloatVector
    fnr: FloatVector
    thresholds: ScoreVector


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NpCurve(ArrayCurve):
    """Neyman-Pearson score by falling threshold; lower is better.

    Attributes
    ----------
    score : numpy.ndarray of shape (n_points,)
        max(FPR - alpha, 0) / alpha + FNR, not negative.
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf, as in `RocCurve`.
    """

    score: FloatVector
    thresholds: ScoreVector


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RpCurve(Curve):
    """Reverse percentile distance by percentile.

    Attributes
    ----------
    p : numpy.ndarray of shape (101,)
        Percentiles 0, 1, …, 100.
    distance : numpy.ndarray of shape (101,)
        RP@p in units of the scores, falling.
    zero : float
        The lowest percentile, of all real ones, from which on the distance is not positive; NaN
        if there is none.
    """

    p: FloatVector
    distance: FloatVector
    zero: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ClassPercentiles(ArrayCurve):
    """Percentiles of the scores of each class.

    Attributes
    ----------
    p : numpy.ndarray of shape (n_percentiles,)
        Percentiles in [0, 100].
    anomalies, normals : numpy.ndarray of shape (n_percentiles,)
        Scores at these percentiles: the lowest score that at least p percent do not exceed.
        Floats, or integers where a float64 would not be exact.
    """

    p: FloatVector
    anomalies: ScoreVector
    normals: ScoreVector


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CountsCurve(ArrayCurve):
    """A measure of `from_counts` by falling threshold.

    Attributes
    ----------
    values : numpy.ndarray of shape (n_points,)
        The measure at each point; NaN where it is undefined.
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf, as in `RocCurve`.
    """

    values: FloatVector
    thresholds: ScoreVector


class ValueAtThreshold(float):
    """A value, and the threshold at which it is reached.

    A float with one attribute more, so that it goes wherever a float does.

    Attributes
    ----------
    threshold : float or int
        Samples with ``score >= threshold`` are flagged.
    """

    __slots__ = ("threshold",)
    threshold: Threshold

    def __new__(cls, value: float, threshold: Threshold) -> "ValueAtThreshold":
        """Make a value that knows its threshold."""
        self = super().__new__(cls, value)
        self.threshold = threshold
        return self

    def __repr__(self) -> str:
        return f"ValueAtThreshold({float(self)!r}, threshold={self.threshold!r})"

    def __getnewargs__(self) -> tuple[float, Threshold]:  # type: ignore[override]
        return float(self), self.threshold


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PrecisionRecallCurve(ArrayCurve):
    """Precision and recall by falling threshold.

    Attributes
    ----------
    precision, recall : numpy.ndarray of shape (n_points,)
        In [0, 1]; recall rises from 0. The first point, where nothing is flagged, carries the
        precision of the next.
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf, as in `RocCurve`.
    """

    precision: FloatVector
    recall: FloatVector
    thresholds: ScoreVector


def _ratio(part: Count, whole: Count) -> float:
    return part / whole if whole else math.nan


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of right and wrong alarms, and all their rates.

    Counts are integers unless samples tied at a cut count by expectation, or sample weights are
    real. A rate whose denominator is 0 is NaN.

    Attributes
    ----------
    tp, fp, tn, fn : int or float
        Flagged anomalies, flagged normals, other normals, other anomalies.
    """

    tp: Count
    fp: Count
    tn: Count
    fn: Count

    @property
    def n_flagged(self) -> Count:
        """Number of flagged samples, tp + fp."""
        return self.tp + self.fp

    @property
    def tpr(self) -> float:
        """True positive rate (recall, sensitivity), tp / (tp + fn)."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def recall(self) -> float:
        """The true positive rate under its other name."""
        return self.tpr

    @property
    def fpr(self) -> float:
        """False positive rate, fp / (fp + tn)."""
        return _ratio(self.fp, self.fp + self.tn)

    @property
    def tnr(self) -> float:
        """True negative rate (specificity), tn / (fp + tn)."""
        return _ratio(self.tn, self.fp + self.tn)

    @property
    def fnr(self) -> float:
        """False negative rate (miss rate), fn / (tp + fn)."""
        return _ratio(self.fn, self.tp + self.fn)

    @property
    def precision(self) -> float:
        """Positive predictive value, tp / (tp + fp)."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def npv(self) -> float:
        """Negative predictive value, tn / (tn + fn)."""
        return _ratio(self.tn, self.tn + self.fn)

    @property
    def fdr(self) -> float:
        """False discovery rate, fp / (tp + fp)."""
        return _ratio(self.fp, self.tp + self.fp)

    @property
    def fomr(self) -> float:
        """False omission rate, fn / (tn + fn)."""
        return _ratio(self.fn, self.tn + self.fn)

    @property
    def accuracy(self) -> float:
        """Fraction of samples that are classified correctly."""
        return _ratio(self.tp + self.tn, self.tp + self.fp + self.tn + self.fn)

    @property
    def balanced_accuracy(self) -> float:
        """Mean of the true positive and the true negative rate."""
        return (self.tpr + self.tnr) / 2

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 2 tp / (2 tp + fp + fn)."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def mcc(self) -> float:
        """Matthews correlation coefficient, in [-1, 1]."""
        margins = (self.tp + self.fp, self.tp + self.fn, self.tn + self.fp, self.tn + self.fn)
        covariance = self.tp * self.tn - self.fp * self.fn
        product = math.prod(margins)
        if _LEAST <= product <= _MOST:
            root = math.sqrt(product)
        else:  # weights near 1e-100 or 1e100: the product of two margins is a float
            root = math.sqrt(math.prod(margins[:2])) * math.sqrt(math.prod(margins[2:]))
        # Rounding may exceed the ends under real weights; NaN stays, as the first argument.
        return min(max(_ratio(covariance, root), -1.0), 1.0)
