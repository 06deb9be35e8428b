"""Confidence bands of both curves, from exact distributions of the points."""

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastad._core.parameters import check_flag, check_inside, check_rates, check_type
from fastad._core.types import FloatVector, IntVector, Point, Points
from fastad.errors import InvalidInputError
from fastad.measures.results import Curve
from fastad.uncertainty.rates.order_statistics import EachRank, RateBounds, all_ranks, ranks_around
from fastad.unsupervised.excess_mass import ExcessMassCurve, check_levels
from fastad.unsupervised.levels import LevelSets
from fastad.unsupervised.mass_volume import MassVolumeCurve

# Points of a grid of masses.
_EVEN, _TOWARDS_ONE = 100, 100
# Points of a grid of levels, and its end in units of the level where the curve has lost a tenth.
_LEVELS, _FARTHEST = 200, 20.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MassVolumeBand(Curve):
    """Confidence band of a mass-volume curve.

    Attributes
    ----------
    mass : numpy.ndarray of shape (n_points,)
        Fractions of the data.
    volume : numpy.ndarray of shape (n_points,)
        The curve at hand there, in units of the features.
    low, high : numpy.ndarray of shape (n_points,)
        Bounds on the curve of all data and with the true volumes; 0 or inf beyond all floats.
    log_low, log_high : numpy.ndarray of shape (n_points,)
        Natural logarithms of these.
    confidence_level : float
        Probability, at least, that the bounds cover the curve.
    simultaneous : bool
        Whether they cover it at all masses at once, or at each by itself.
    """

    mass: FloatVector
    volume: FloatVector
    low: FloatVector
    high: FloatVector
    log_low: FloatVector
    log_high: FloatVector
    confidence_level: float
    simultaneous: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ExcessMassBand(Curve):
    """Confidence band of an excess-mass curve, at all levels at once.

    Attributes
    ----------
    level : numpy.ndarray of shape (n_points,)
        Levels, in one over units of the features; 0 or inf beyond all floats.
    log_level : numpy.ndarray of shape (n_points,)
        Natural logarithms of these.
    excess_mass : numpy.ndarray of shape (n_points,)
        The curve at hand there.
    low, high : numpy.ndarray of shape (n_points,)
        Bounds on the curve of all data and with the true volumes.
    confidence_level : float
        Probability, at least, that the bounds cover the curve at all levels.
    """

    level: FloatVector
    log_level: FloatVector
    excess_mass: FloatVector
    low: FloatVector
    high: FloatVector
    confidence_level: float


def mass_volume_band(
    curve: MassVolumeCurve,
    *,
    mass: Point | Points | None = None,
    simultaneous: bool = False,
    confidence_level: Point = 0.95,
) -> MassVolumeBand:
    """Confidence band of a mass-volume curve, from exact distributions of the points.

    Nothing is assumed of the scores. Bounds on the curve of all data and with the true volumes of
    the level sets, of which test and uniform points are samples.

    Parameters
    ----------
    curve : MassVolumeCurve
        Curve with counted volumes.
    mass : float or sequence of floats, optional
        Masses in [0, 1]; by default about 200, evenly spaced and towards 1.
    simultaneous : bool, default False
        Whether the whole curve lies in the band with the confidence, or each of its points.
    confidence_level : float, default 0.95
        Coverage over the draws of both kinds of points: the probability, at least, that the bounds
        cover the curve.

    Returns
    -------
    MassVolumeBand
        ``mass``, ``volume``, and the bounds ``low`` and ``high``.

    Raises
    ------
    InvalidInputError
        If ``confidence_level`` or a mass is invalid, or volumes were not counted.
    InvalidTypeError
        If ``curve`` is another kind of curve.

    Notes
    -----
    It is the band of `roc_band` for the ROC curve that has uniform points as anomalies, turned.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated
       in the case of the binomial", 1934.
    .. [2] S. Aldor-Noiman et al., "The power to see: a new graphical test of normality", 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> rng = np.random.default_rng(0)
    >>> test, uniform = abs(rng.normal(size=1000)), rng.uniform(0, 5, size=100_000)
    >>> curve = fastad.mass_volume_curve(test, uniform, 5.0)
    >>> band = fastad.unsupervised.mass_volume_band(curve, mass=0.5)
    >>> bool(band.low[0] < 0.6745 < band.high[0])  # the median of the half-normal distribution
    True
    """
    check_type(curve, MassVolumeCurve, "curve", "of type MassVolumeCurve")
    whole = check_flag(simultaneous, "simultaneous")
    level = check_inside(confidence_level, "confidence_level")
    if mass is None:
        towards_one = 1 - np.geomspace(0.5 / curve.levels.n_test, 1, _TOWARDS_ONE)
        grid = np.union1d(np.linspace(0, 1, _EVEN + 1), towards_one)
        masses = [Fraction(x) for x in grid.tolist()]
    else:
        masses = check_rates(mass, "mass")
    test, uniform = _bounds(curve.levels, level, simultaneous=whole)
    at = np.array([float(rate) for rate in masses])
    fractions = _fractions(curve.levels, test, uniform, at)
    box = curve.levels.box
    bounds = [box.times_each(fraction) for fraction in fractions]
    logs = [box.log_times_each(fraction) for fraction in fractions]
    volume = curve(at if mass is None else masses)  # type: ignore[arg-type]  # takes fractions too
    return MassVolumeBand.of(at, volume, *bounds, *logs, float(level), whole)


def excess_mass_band(
    curve: ExcessMassCurve, *, level: Points | None = None, confidence_level: Point = 0.95
) -> ExcessMassBand:
    """Confidence band of an excess-mass curve, at all levels at once.

    Follows from the simultaneous band of the mass-volume curve: the excess mass at a level t is the
    largest a - t * MV(a) of any mass a.

    Parameters
    ----------
    curve : ExcessMassCurve
        Curve with counted volumes.
    level : sequence of floats, optional
        Levels from 0 on; by default 200, up to twenty times that at which a tenth is lost.
    confidence_level : float, default 0.95
        Coverage over the draws of both kinds of points: the probability, at least, that the bounds
        cover the curve.

    Returns
    -------
    ExcessMassBand
        ``level``, ``excess_mass``, and the bounds ``low`` and ``high``.

    Raises
    ------
    InvalidInputError
        If ``confidence_level`` or a level is invalid, or volumes were not counted.
    InvalidTypeError
        If ``curve`` is another kind of curve.
    UndefinedMeasureError
        If no levels are given, and more than 0.9 of the test points meet no uniform point.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> rng = np.random.default_rng(0)
    >>> test, uniform = abs(rng.normal(size=1000)), rng.uniform(0, 5, size=100_000)
    >>> curve = fastad.excess_mass_curve(test, uniform, 5.0)
    >>> band = fastad.unsupervised.excess_mass_band(curve, level=[0.0, 0.1])
    >>> bool(band.low[0] > 0.98 and band.high[0] == 1.0)
    True
    """
    check_type(curve, ExcessMassCurve, "curve", "of type ExcessMassCurve")
    confidence = check_inside(confidence_level, "confidence_level")
    levels = curve.levels
    test, uniform = _bounds(levels, confidence, simultaneous=True)
    box = levels.box
    unit = box.inverse()
    # Levels times the volume of the box: the loss of a mass that fills it.
    if level is None:
        losses = np.linspace(0, _FARTHEST * curve.scaled_level(), _LEVELS)
        losses *= (levels.n_uniform or 1) / levels.n_test
    else:
        losses = box.times_each(np.atleast_1d(check_levels(level, "level", lowest=0)))
    log_level = unit.log_times_each(losses)
    excess = curve(log_level=log_level)
    # The bounds are steps, of which the corners decide.
    ranks = np.arange(levels.n_test + 2)
    masses = np.concatenate([test.lower(ranks), test.upper(ranks), [0.0, 1.0]])
    least, most = _fractions(levels, test, uniform, masses)
    # Just below a corner the lower bound on the volume may be less.
    least = np.minimum(least, _fractions(levels, test, uniform, np.nextafter(masses, 0.0))[0])
    low, high = (np.empty(losses.shape) for _ in range(2))
    # An infinite loss of no volume is none.
    for i, loss in enumerate(np.minimum(losses, sys.float_info.max)):
        low[i] = max((masses - loss * most).max(), 0.0)
        high[i] = min(max((masses - loss * least).max(), 0.0), 1.0)
    # The curve at hand is rounded in another way.
    np.minimum(low, excess, out=low)
    np.maximum(high, excess, out=high)
    return ExcessMassBand.of(
        unit.times_each(losses), log_level, excess, low, high, float(confidence)
    )


def _bounds(
    levels: LevelSets, level: Fraction, *, simultaneous: bool
) -> tuple[RateBounds, RateBounds]:
    """Return bounds on the masses and on the fractions of the box, as `roc_band` does."""
    if levels.n_uniform is None:
        raise InvalidInputError(
            "curve must be made of counted volumes, whose distribution is known; found estimates"
        )
    alpha = float(1 - level)
    if not simultaneous:
        return EachRank(levels.n_test, alpha), EachRank(levels.n_uniform, alpha)
    # Both are independent, and their confidences multiply to the level.
    alpha /= 1 + math.sqrt(level)
    return all_ranks(levels.n_test, alpha), all_ranks(levels.n_uniform, alpha)


def _fractions(
    levels: LevelSets, test: RateBounds, uniform: RateBounds, masses: FloatVector
) -> tuple[FloatVector, FloatVector]:
    """Return bounds on the fraction of the box at masses.

    The k-th lowest test score is surely reached where the mass below it is surely less than the
    one asked for, and surely enough where the mass up to it is surely at least that.
    """
    surely_less, surely_enough = ranks_around(test, masses, np.less)
    least = uniform.lower(_inside(levels, np.maximum(surely_less, 0)))
    return least, uniform.upper(_inside(levels, surely_enough) + 1)


def _inside(levels: LevelSets, ranks: IntVector) -> IntVector:
    """Return the uniform points at or below the test score of each rank; all beyond the last."""
    indices = np.searchsorted(levels.masses, ranks, side="left")
    inside = np.asarray(levels.inside)[np.minimum(indices, levels.masses.shape[0] - 1)]
    return np.where(ranks > levels.n_test, levels.n_uniform or 0, inside)
