"""The mass-volume curve: the volume of the level set that contains a fraction of the data."""

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import overload

import numpy as np

from fastad._core.arrays import check_no_nan
from fastad._core.parameters import check_rate, exact_rate
from fastad._core.types import ArrayLike, FloatVector, Point, Points, ScoreVector, Threshold
from fastad._kernels.curves import level_sets as kernels
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.results import Curve
from fastad.ordering.labels import check_labels, check_scores
from fastad.regions.box import Box
from fastad.unsupervised.counted import counted_level_sets, level_sets_of_scores
from fastad.unsupervised.criteria import MASS
from fastad.unsupervised.levels import Extent, LevelSets, check_extent


@dataclass(frozen=True, slots=True, eq=False)
class MassVolumeCurve(Curve):
    """Mass-volume curve: a step function, of which lower is better.

    Call it with a mass in [0, 1], or a sequence of them, for the volume there.

    Attributes
    ----------
    mass : numpy.ndarray of shape (n_points,)
        Fractions of the test points, rising from 0 to 1, where the curve steps up. Rounded: 1/34 as
        a float is above 1/34, and as a mass contains the next point; ``Fraction(1, 34)`` does not.
    volume : numpy.ndarray of shape (n_points,)
        The volume up to that mass and down to the one before, in units of the features; 0 or inf
        beyond all floats.
    thresholds : numpy.ndarray of shape (n_points,)
        A set consists of the points that score at most its threshold; the first one is empty.
    levels : LevelSets
        The numbers of points that determine the curve.
    """

    mass: FloatVector
    volume: FloatVector
    thresholds: ScoreVector
    levels: LevelSets

    def __repr__(self) -> str:
        return f"<MassVolumeCurve of {self.mass.shape[0]} points>"

    @property
    def log_volume(self) -> FloatVector:
        """Natural logarithms of the volumes, of shape (n_points,); -inf of 0."""
        return self.levels.log_volumes()

    @overload
    def __call__(self, mass: Point) -> float: ...
    @overload
    def __call__(self, mass: Points) -> FloatVector: ...
    def __call__(self, mass: Point | Points) -> float | FloatVector:
        """Return the least volume of a level set that contains at least a mass.

        Parameters
        ----------
        mass : float or sequence of floats
            Fractions of the data, in [0, 1].

        Returns
        -------
        float, or numpy.ndarray for a sequence
            Volume in units of the features.
        """
        masses = check_rate(mass, "mass")
        if isinstance(masses, list):
            return self.volume[[self._index(rate) for rate in masses]]
        return float(self.volume[self._index(masses)])

    def threshold_at(self, mass: Point) -> Threshold:
        """Return the lowest threshold whose level set contains at least a mass.

        Parameters
        ----------
        mass : float
            Fraction of the data, in [0, 1].

        Returns
        -------
        float, or int for integers that no float is
            A point lies in the set where its score is at most that.
        """
        threshold = self.thresholds[self._index(exact_rate(mass, "mass"))]
        return threshold if isinstance(threshold, int) else float(threshold)

    def area(self, low: Point = MASS[0], high: Point = MASS[1]) -> float:
        """Return the area under the curve, by default the criterion MV.

        Parameters
        ----------
        low, high : float, default 0.9 and 0.999
            Masses between which it lies, in [0, 1].

        Returns
        -------
        float
            Area in units of the features, not divided by the width; rounded once where volumes are
            counted.

        Raises
        ------
        InvalidInputError
            If a mass is not in [0, 1], or they are not in order.

        References
        ----------
        .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection
           algorithms?", 2016, section 2.
        """
        area, unit = self._area(low, high)
        return unit.times(area)

    def log_area(self, low: Point = MASS[0], high: Point = MASS[1]) -> float:
        """Return the natural logarithm of the area, -inf of 0.

        Parameters
        ----------
        low, high : float, default 0.9 and 0.999
            As for `area`.

        Returns
        -------
        float
        """
        area, unit = self._area(low, high)
        return unit.log_times(area)

    def _index(self, mass: Fraction) -> int:
        """Return the index of the first point with at least a mass."""
        return bisect_left(self.levels.masses, math.ceil(mass * self.levels.n_test))

    def _area(self, low: Point, high: Point) -> tuple[Fraction | float, Extent]:
        """Return the area in multiples of a unit, and the unit."""
        n = self.levels.n_test
        window = Window.of(low, high, n)
        volumes = self.levels.volumes(window.end)
        total, at_first, at_last = kernels.volume_sum(
            self.levels.masses, volumes.each, window.first, window.last
        )
        if volumes.repeats is None:
            exact = int(total) - window.before * int(at_first) + window.behind * int(at_last)
            return exact / n, volumes.unit
        rest = float(window.behind) * at_last - float(window.before) * at_first
        return float(total + rest) / n, volumes.unit


@dataclass(frozen=True, slots=True)
class Window:
    """Masses between two, in test points."""

    # Numbers of points, rounded down, at or below the two.
    first: int
    last: int
    # Parts of a point by which these lie below the two.
    before: Fraction
    behind: Fraction

    @property
    def end(self) -> Fraction:
        """The larger mass, in points."""
        return self.last + self.behind

    @classmethod
    def of(cls, low: Point, high: Point, n_test: int) -> "Window":
        """Check two masses, and measure them in points."""
        lowest, highest = exact_rate(low, "low"), exact_rate(high, "high")
        if lowest >= highest:
            raise InvalidInputError(f"low must lie below high; found {low} and {high}")
        first, before = divmod(lowest * n_test, 1)
        last, behind = divmod(highest * n_test, 1)
        return cls(first, last, before, behind)


def mass_volume_curve(
    y_score: ArrayLike | LevelSets,
    uniform_score: ArrayLike | None = None,
    volume: Point | Box | None = None,
    *,
    log_volume: Point | None = None,
) -> MassVolumeCurve:
    """Mass-volume curve of a detector, from its scores of data and of uniform points.

    MV(a) is the least volume of a level set of the score that contains at least the fraction a of
    the data. No labels are needed; a detector is better where the curve is lower.

    Parameters
    ----------
    y_score : array-like of shape (n_test,), or LevelSets
        Anomaly scores of data that the detector was not fitted to, higher is more anomalous; or
        level sets, beside which nothing else is given.
    uniform_score : array-like of shape (n_uniform,)
        Anomaly scores of points drawn uniformly in a box.
    volume : float or Box, optional
        The box, or its volume in units of the features, above 0.
    log_volume : float, optional
        The natural logarithm of its volume, in place of ``volume``.

    Returns
    -------
    MassVolumeCurve
        ``mass`` and ``volume`` of the exact step function; call it at any mass, and ask for its
        ``area`` between two masses.

    Raises
    ------
    InvalidInputError
        If a score is NaN.

    Notes
    -----
    O(N log N) time for N points in all. Level sets are closed: a point lies in one where its score
    is at most the threshold. With uniform points as anomalies the curve is the ROC curve turned:
    mass 1 - FPR, volume 1 - TPR of the box.

    References
    ----------
    .. [1] S. Clémençon and J. Jakubowicz, "Scoring anomalies: a M-estimation formulation", 2013.
    .. [2] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2, equation for the empirical MV.

    Examples
    --------
    >>> import fastad
    >>> curve = fastad.mass_volume_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> curve([0.5, 0.75, 1.0])
    array([0., 2., 6.])
    >>> curve.area(0.5, 1.0)
    2.0
    """
    levels = counted_level_sets(y_score, uniform_score, volume, log_volume)
    masses = levels.masses / levels.n_test
    return MassVolumeCurve.of(masses, levels.absolute_volumes(), levels.thresholds, levels)


def mass_volume_from_roc(
    y_true: ArrayLike,
    y_score: ArrayLike,
    volume: Point | Box | None = None,
    *,
    log_volume: Point | None = None,
) -> MassVolumeCurve:
    """Mass-volume curve from the input of a ROC curve, where the anomalies are uniform points.

    To draw anomalies uniformly and to look at the ROC curve is to look at the mass-volume curve:
    mass = 1 - FPR, and volume = (1 - TPR) times the volume of the box.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for a point drawn uniformly in a box, 0 for data, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    volume : float or Box, optional
        The box, or its volume in units of the features; 1 to read the volume as a fraction.
    log_volume : float, optional
        The natural logarithm of its volume, in place of ``volume``.

    Returns
    -------
    MassVolumeCurve

    Raises
    ------
    InvalidInputError
        If a label is neither 0 nor 1, or a score is NaN.
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    Between two points a ROC curve has a line, and a mass-volume curve a step, so that the area
    under the one is the area above the other but for ties and steps: without ties the
    whole area of the mass-volume curve is ``volume * (1 - roc_auc(y_true, y_score))``.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2, remark on the link with the ROC curve.
    .. [2] S. Clémençon and S. Robbiano, "Anomaly ranking as supervised bipartite ranking", 2014.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.4, 0.8, 0.3, 0.9]
    >>> curve = fastad.unsupervised.mass_volume_from_roc(y_true, y_score, 1.0)
    >>> curve(0.75), 1 - fastad.tpr_at_fpr(y_true, y_score, fpr=0.25)
    (0.5, 0.5)
    """
    box = check_extent(volume, log_volume)
    labels = check_labels(y_true)
    scores = check_scores(y_score, labels)
    uniform = labels.values == 1
    if uniform.all() or not uniform.any():
        raise UndefinedMeasureError(
            f"a mass-volume curve needs data and uniform points; found {np.count_nonzero(uniform)} "
            f"uniform points of {uniform.shape[0]}"
        )
    check_no_nan(scores, "y_score", labels.rows)
    return mass_volume_curve(level_sets_of_scores(scores[~uniform], scores[uniform], box))
