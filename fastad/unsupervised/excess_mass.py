"""The excess-mass curve: how much the mass of level sets exceeds multiples of their volume."""

import math
from dataclasses import dataclass
from numbers import Rational
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array
from fastad._core.parameters import check_inside, nearest_float
from fastad._core.types import (
    ArrayLike,
    CountVector,
    FloatVector,
    IntVector,
    Point,
    Points,
    ScoreVector,
)
from fastad._kernels.curves import level_sets as kernels
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.results import Curve
from fastad.regions.box import Box
from fastad.unsupervised.counted import counted_level_sets
from fastad.unsupervised.criteria import EXCESS_MASS
from fastad.unsupervised.levels import Extent, LevelSets, Volumes, check_either


@dataclass(frozen=True, slots=True, eq=False)
class ExcessMassCurve(Curve):
    """Excess-mass curve: convex, falling, made of lines; higher is better.

    Call it with a level from 0 on, or a sequence of them, for the excess mass there.

    Attributes
    ----------
    level : numpy.ndarray of shape (n_points,)
        Levels at which one line ends and the next begins, from 0, in one over units of the
        features; 0 or inf beyond all floats. After the last one the curve is level.
    excess_mass : numpy.ndarray of shape (n_points,)
        Excess mass there, falling from 1.
    thresholds : numpy.ndarray of shape (n_points,)
        From each level to the next the points that score at most this exceed the most, the last
        set being empty or without any uniform point.
    levels : LevelSets
        The numbers of points, which the curve is made of.
    hull : numpy.ndarray of int64 of shape (n_points,)
        Indices of these level sets.
    volumes : Volumes
        Volumes of all level sets.
    """

    level: FloatVector
    excess_mass: FloatVector
    thresholds: ScoreVector
    levels: LevelSets
    hull: IntVector
    volumes: Volumes

    def __repr__(self) -> str:
        return f"<ExcessMassCurve of {self.level.shape[0]} points>"

    @property
    def log_level(self) -> FloatVector:
        """Natural logarithms of the levels, of shape (n_points,); the first one is -inf."""
        return self._unit().log_times_each(self._slopes())

    @overload
    def __call__(self, level: Point) -> float: ...
    @overload
    def __call__(self, level: Points) -> FloatVector: ...
    @overload
    def __call__(self, *, log_level: Point) -> float: ...
    @overload
    def __call__(self, *, log_level: Points) -> FloatVector: ...
    def __call__(
        self, level: Point | Points | None = None, *, log_level: Point | Points | None = None
    ) -> float | FloatVector:
        """Return the largest mass less level times volume that any level set has.

        Parameters
        ----------
        level : float or sequence of floats
            Levels from 0 on, in one over units of the features.
        log_level : float or sequence of floats
            Natural logarithms of levels, in place of ``level``.

        Returns
        -------
        float, or numpy.ndarray for a sequence
            In [0, 1].
        """
        check_either(level, log_level, "level")
        unit = self._unit()
        if level is not None:
            levels = check_levels(level, "level", lowest=0)
            slopes = unit.inverse().times_each(levels)
        else:
            levels = check_levels(log_level, "log_level")
            with np.errstate(over="ignore", under="ignore"):
                slopes = np.exp(levels - unit.log)
        excess = np.interp(slopes, self._slopes(), self.excess_mass)
        return float(excess) if levels.ndim == 0 else excess

    def level_at(self, excess_mass: Point = EXCESS_MASS) -> float:
        """Return the lowest level at which the excess mass is no more than some mass.

        Parameters
        ----------
        excess_mass : float, default 0.9
            Strictly between 0 and 1.

        Returns
        -------
        float

        Raises
        ------
        UndefinedMeasureError
            If more than that mass meets no uniform point, so that the curve never falls so far.
        """
        return self._unit().times(self.scaled_level(excess_mass))

    def scaled_level(self, excess_mass: Point = EXCESS_MASS) -> float:
        """Return that level in test points a unit of volume."""
        height = float(check_inside(excess_mass, "excess_mass"))
        self._check_reached(excess_mass)
        slopes = self._slopes()
        # Where rounding has made two heights one, the first one counts.
        index = int(np.argmax(self.excess_mass <= height))
        left, right = self.excess_mass[index - 1], self.excess_mass[index]
        part = (left - height) / (left - right)
        return float(slopes[index - 1] + part * (slopes[index] - slopes[index - 1]))

    def area(self, excess_mass: Point = EXCESS_MASS) -> float:
        """Return the area under the curve, by default the criterion EM.

        Parameters
        ----------
        excess_mass : float, default 0.9
            It ends at the lowest level where the excess mass is no more than this; strictly
            between 0 and 1.

        Returns
        -------
        float
            Area in one over units of the features; a few last digits off the exact value at most.

        Raises
        ------
        InvalidInputError
            If ``excess_mass`` is not in (0, 1).
        UndefinedMeasureError
            If more than that mass meets no uniform point, so that the curve never falls so far.

        References
        ----------
        .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection
           algorithms?", 2016, section 2.
        """
        return self._unit().times(self.scaled_area(excess_mass))

    def log_area(self, excess_mass: Point = EXCESS_MASS) -> float:
        """Return the natural logarithm of the area.

        Parameters
        ----------
        excess_mass : float, default 0.9
            As for `area`.

        Returns
        -------
        float
        """
        return self._unit().log_times(self.scaled_area(excess_mass))

    def scaled_area(self, excess_mass: Point) -> float:
        """Return the area in multiples of the unit of levels."""
        points = self._check_reached(excess_mass)
        area = kernels.excess_area(self.levels.masses, self.volumes.each, self.hull[::-1], points)
        return float(area) / self.levels.n_test

    def _check_reached(self, excess_mass: Point) -> float:
        """Check that the curve falls to some mass, and return that in test points."""
        points = check_inside(excess_mass, "excess_mass") * self.levels.n_test
        n_below_all = int(self.levels.masses[self.hull[-1]])
        if n_below_all > points:
            raise UndefinedMeasureError(
                f"the area of excess mass down to {float(excess_mass):g} is undefined where more "
                f"of the test points score below all uniform points; found {n_below_all} of "
                f"{self.levels.n_test}"
            )
        return float(points)

    def _unit(self) -> Extent:
        """Return the level for which a slope of 1 stands: a test point a unit of volume."""
        return self.volumes.unit.inverse().divided_by(self.levels.n_test)

    def _slopes(self) -> FloatVector:
        return _slopes(self.levels.masses, self.volumes.each, self.hull)


def check_levels(level: Any, name: str, lowest: float = -math.inf) -> npt.NDArray[np.float64]:
    """Check a level or a sequence of them."""
    levels = as_array(level, name)
    if levels.dtype == object and all(isinstance(level, Rational) for level in levels.flat):
        numbers = [nearest_float(level) for level in levels.flat]
        levels = np.array(numbers).reshape(levels.shape)
    if levels.dtype.kind not in "iuf" or levels.ndim > 1 or np.isnan(levels).any():
        raise InvalidInputError(
            f"{name} must be a number or a sequence of them; found {levels.dtype} of shape "
            f"{levels.shape}"
        )
    if (levels < lowest).any():
        raise InvalidInputError(f"{name} must not be negative; found {levels.min()}")
    return levels.astype(np.float64)


def excess_mass_curve(
    y_score: ArrayLike | LevelSets,
    uniform_score: ArrayLike | None = None,
    volume: Point | Box | None = None,
    *,
    log_volume: Point | None = None,
) -> ExcessMassCurve:
    """Excess-mass curve of a detector, from its scores of data and of uniform points.

    EM(t) is the largest P(A) - t·volume(A) of any level set A of the score, P being the fraction of
    the data. No labels are needed; a detector is better where the curve is higher.

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
    ExcessMassCurve
        ``level`` and ``excess_mass`` of the corners of the exact upper envelope; call it at any
        level, and ask for its ``area``.

    Raises
    ------
    InvalidInputError
        If a score is NaN.

    Notes
    -----
    O(N log N) time for N points in all. Which lines make the envelope is found with integers
    alone: it is the hull of the ROC curve that has uniform points as anomalies.

    References
    ----------
    .. [1] N. Goix, A. Sabourin and S. Clémençon, "On anomaly ranking and excess-mass curves", 2015.
    .. [2] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2, equation for the empirical EM.

    Examples
    --------
    >>> import fastad
    >>> curve = fastad.excess_mass_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> curve.level, curve.excess_mass
    (array([0.    , 0.0625, 0.125 ]), array([1.   , 0.625, 0.5  ]))
    >>> curve(0.05)
    0.7
    """
    levels = counted_level_sets(y_score, uniform_score, volume, log_volume)
    # Near the level where the curve has lost a tenth nothing is lost to the range of floats.
    volumes = levels.volumes(EXCESS_MASS * levels.n_test)
    rising = volumes.hull(levels.masses)
    hull = rising[::-1]
    heights = np.empty(rising.shape[0])
    heights[0] = levels.n_test
    # Heights at the corners of two lines, from integers, of which only the quotient is rounded.
    masses, sizes = levels.masses[rising], volumes.each[rising]
    steps, widths = np.diff(masses), np.diff(sizes)
    heights[1:] = ((masses[1:] * widths - steps * sizes[1:]) / widths)[::-1]
    unit = volumes.unit.inverse().divided_by(levels.n_test)
    level = unit.times_each(_slopes(levels.masses, volumes.each, hull))
    excess = heights / levels.n_test
    return ExcessMassCurve.of(level, excess, levels.thresholds[hull], levels, hull, volumes)


def _slopes(masses: IntVector, volumes: CountVector, hull: IntVector) -> FloatVector:
    """Return the slopes of the chords between the levels of a falling hull, after a 0."""
    slopes = np.zeros(hull.shape[0])
    with np.errstate(over="ignore"):
        slopes[1:] = np.diff(masses[hull]) / np.diff(volumes[hull])
    return slopes
