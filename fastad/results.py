"""What public functions return: frozen records whose arrays are read-only."""

import math
from dataclasses import dataclass

from fastad._types import Count, FloatVector, ScoreVector


@dataclass(frozen=True, slots=True, eq=False)
class RocCurve:
    """Receiver operating characteristic.

    Attributes
    ----------
    fpr, tpr : numpy.ndarray of shape (n_points,)
        Rates in [0, 1], rising from (0, 0) to (1, 1).
    thresholds : numpy.ndarray of shape (n_points,)
        Falling from +inf; a point flags what scores at or above its threshold. In the type of
        float scores; float64 for integer scores, or Python ints in an object array where a
        float64 would not be exact.
    """

    fpr: FloatVector
    tpr: FloatVector
    thresholds: ScoreVector


@dataclass(frozen=True, slots=True, eq=False)
class PrecisionRecallCurve:
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

    Counts are whole unless points tied at a cut were shared out by expectation, or sample
    weights were real. A rate whose denominator is 0 is NaN.

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
        """Number of flagged points, tp + fp."""
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
        """Share of points that are judged rightly."""
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
        return _ratio(covariance, math.sqrt(math.prod(margins)))
