"""Resolution of false positive rates by a number of normal samples."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastad._core.parameters import check_inside
from fastad._core.results import Record
from fastad._core.text_tables import level_text
from fastad._core.types import ArrayLike, Label, Point
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import FEW
from fastad.ordering.labels import check_labels
from fastad.uncertainty.rates.order_statistics import EachRank


@dataclass(frozen=True, slots=True)
class RateResolution(Record):
    """Resolution of a false positive rate by a number of normal samples.

    Attributes
    ----------
    fpr : float
        The rate.
    n_normals, n_anomalies : int
        Numbers of samples.
    n_expected : float
        ``n_normals * fpr``: the normals on which the rate stands.
    lowest_fpr : float
        The lowest rate that rests on five normals; 1 of fewer than five.
    required_normals : int
        Number of normals of which five are this fraction.
    fpr_low, fpr_high : float
        Exact interval of the false positive rate, on new samples, of a threshold that has this
        rate on these.
    confidence_level : float
        Confidence level of this interval.
    """

    fpr: float
    n_normals: int
    n_anomalies: int
    n_expected: float
    lowest_fpr: float
    required_normals: int
    fpr_low: float
    fpr_high: float
    confidence_level: float

    _derived = ("is_resolved", "summary")

    @property
    def is_resolved(self) -> bool:
        """True if at least five normals determine the rate."""
        return self.n_normals >= self.required_normals

    @property
    def summary(self) -> str:
        """The result in sentences."""
        enough = "at least" if self.is_resolved else "fewer than"
        needed = "" if self.is_resolved else f"; it takes {self.required_normals}"
        return (
            f"FPR {self.fpr:g} of {self.n_normals} normals rests on {self.n_expected:.3g} of "
            f"them, {enough} {FEW}{needed}. A threshold with this rate here has one between "
            f"{self.fpr_low:.3g} and {self.fpr_high:.3g} on new samples "
            f"({level_text(self.confidence_level)} interval). The lowest rate that rests on {FEW} "
            f"normals is {self.lowest_fpr:.3g}."
        )

    def __str__(self) -> str:
        return self.summary


def resolution(
    y_true: ArrayLike, *, fpr: Point, confidence_level: Point = 0.95, pos_label: Label | None = None
) -> RateResolution:
    """Resolution of a false positive rate: the interval that a number of normals allows.

    Scores are not needed. `fastad.evaluate` and displays mark values at rates that rest on fewer
    than five normals.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    fpr : float
        False positive rate, in (0, 1), taken as the decimal that is written.
    confidence_level : float, default 0.95
        Confidence of the interval, in (0, 1).
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    RateResolution
        Numbers of normals, the lowest rate that rests on five of them, and the interval of the
        rate on new samples.

    Raises
    ------
    UndefinedMeasureError
        If there are no normal samples.

    Notes
    -----
    The rate of normals at or above the k-th highest of n normal scores is beta distributed, with k
    and n - k + 1, without ties. The threshold lies between the last normal that it flags and the
    next one; with the quantiles of both the interval is Clopper and Pearson's. O(n) time.

    References
    ----------
    .. [1] H. A. David and H. N. Nagaraja, "Order Statistics", 3rd ed., 2003, section 2.3.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> labels = np.repeat([0, 1], [100_000, 50])
    >>> result = fastad.uncertainty.resolution(labels, fpr=1e-6)
    >>> result.is_resolved, result.required_normals, result.lowest_fpr
    (False, 5000000, 5e-05)
    >>> round(result.fpr_high, 7)
    3.69e-05
    """
    rate = check_inside(fpr, "fpr")
    level = check_inside(confidence_level, "confidence_level")
    labels = check_labels(y_true, pos_label=pos_label).values
    n_anomalies = int(np.count_nonzero(labels == 1))
    n_normals = labels.shape[0] - n_anomalies
    if n_normals == 0:
        raise UndefinedMeasureError("resolution is undefined without normal samples")
    rank = np.array([math.floor(rate * n_normals)])
    bounds = EachRank(n_normals, float(1 - level))
    return RateResolution(
        fpr=float(rate),
        n_normals=n_normals,
        n_anomalies=n_anomalies,
        n_expected=float(rate * n_normals),
        lowest_fpr=float(min(Fraction(FEW, n_normals), Fraction(1))),
        required_normals=math.ceil(FEW / rate),
        fpr_low=bounds.lower(rank).item(),
        fpr_high=bounds.upper(rank + 1).item(),
        confidence_level=float(level),
    )
