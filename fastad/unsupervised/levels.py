"""``LevelSets``: mass and volume of the level sets of a score, which all without labels reads.

Test points take the place of normal points and uniform points that of anomalies: then the order
of both is the one that measures with labels read, and a mass-volume curve is a ROC curve.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import CountVector, FloatMatrix, FloatVector, IntVector, ScoreVector
from fastad._kernels.curves import level_sets as kernels
from fastad.unsupervised.extent import Extent

if TYPE_CHECKING:
    from fastad.unsupervised.criteria import Criteria
    from fastad.unsupervised.excess_mass import ExcessMassCurve
    from fastad.unsupervised.mass_volume import MassVolumeCurve

# Products of numbers up to this with numbers of points are floats.
LARGEST_LOG = 600.0


@dataclass(frozen=True, slots=True, eq=False)
class LevelSets:
    """Sets of all points that score at most a threshold: what each holds of mass and volume.

    One set for each distinct score of the test points, and the empty set before them.

    Attributes
    ----------
    thresholds : numpy.ndarray of shape (n_levels + 1,)
        The distinct scores of the test points, rising, after -inf.
    masses : numpy.ndarray of int64 of shape (n_levels + 1,)
        Test points in each set, from 0 to their number.
    inside : numpy.ndarray of int64 of shape (n_levels + 1,) or None
        Uniform points in each set; None where volumes were estimated in another way.
    log_shares : numpy.ndarray of shape (n_repeats, n_levels + 1) or None
        In their place natural logarithms of the shares of the box by independent repeats.
    box : Extent
        Volume of the box.
    n_uniform : int or None
        Uniform points in all.
    """

    thresholds: ScoreVector
    masses: IntVector
    inside: IntVector | None
    log_shares: FloatMatrix | None
    box: Extent
    n_uniform: int | None

    def __repr__(self) -> str:
        return f"<LevelSets of {self.masses.shape[0] - 1} levels, {self.n_test} test points>"

    @property
    def n_test(self) -> int:
        """Number of test points."""
        return int(self.masses[-1])

    def mass_volume_curve(self) -> "MassVolumeCurve":
        """Return the mass-volume curve; see `fastad.mass_volume_curve`."""
        # Here, because curves are made of level sets.
        from fastad.unsupervised.mass_volume import mass_volume_of

        return mass_volume_of(self)

    def excess_mass_curve(self) -> "ExcessMassCurve":
        """Return the excess-mass curve; see `fastad.excess_mass_curve`."""
        from fastad.unsupervised.excess_mass import excess_mass_of

        return excess_mass_of(self)

    def criteria(self, **options: Any) -> "Criteria":
        """Return both criteria with their intervals; the options are those of `emmv`.

        Parameters
        ----------
        **options
            ``mass``, ``excess_mass``, ``n_resamples``, ``confidence_level``, ``rng``,
            ``n_threads``.

        Returns
        -------
        Criteria
            ``em`` and ``mv``.
        """
        from fastad.unsupervised.criteria import criteria_of

        return criteria_of(self, **options)

    @property
    def log_unit(self) -> float:
        """Natural logarithm of the volume that a uniform point stands for, or of the box."""
        return self.box.log - math.log(self.n_uniform or 1)

    def volumes(self, mass: Fraction | float) -> "Volumes":
        """Return the volumes in a unit in which that of a mass is no extreme number.

        Parameters
        ----------
        mass : Fraction or float
            In test points; counted volumes are the same for any.
        """
        if self.inside is not None and self.n_uniform is not None:
            return Volumes(self.inside, self.box.divided_by(self.n_uniform), None)
        assert self.log_shares is not None  # one of both is given
        logs = self._mean_log_shares()
        place = int(np.searchsorted(self.masses, float(mass), side="left"))
        middle = float(logs[max(place, 1)])
        # What is much larger is cut off: a set that holds so much more matters only as a bound.
        each = np.exp(np.minimum(logs - middle, LARGEST_LOG))
        repeats = np.minimum(self.log_shares - middle, LARGEST_LOG)
        return Volumes(as_readonly(each), self.box.with_log(middle), as_readonly(repeats))

    def log_error(self, mass: Fraction | float) -> float:
        """Return the standard error of the logarithm of the volume at a mass, in test points.

        That of Cox for repeats; counted volumes have the relative error of their count.
        """
        place = max(int(np.searchsorted(self.masses, float(mass), side="left")), 1)
        if self.log_shares is None:
            n_inside = int(np.asarray(self.inside)[place])
            return math.sqrt(1 / n_inside - 1 / (self.n_uniform or 1)) if n_inside else math.inf
        n, variance = len(self.log_shares), float(self.log_shares[:, place].var(ddof=1))
        return math.sqrt(variance / n + variance**2 / (2 * (n - 1)))

    def log_volumes(self) -> FloatVector:
        """Return the natural logarithms of the volumes, -inf of the empty set."""
        if self.inside is None:
            return self._mean_log_shares() + self.box.log
        with np.errstate(divide="ignore"):
            return np.log(self._counted_shares()) + self.box.log

    def absolute_volumes(self) -> FloatVector:
        """Return the volumes in units of the features; 0 or inf beyond all floats."""
        if self.inside is None:
            with np.errstate(over="ignore", under="ignore"):
                return np.exp(self.log_volumes())
        # By the share, so that the whole box has its volume to the last digit.
        return self.box.times_each(self._counted_shares())

    def _counted_shares(self) -> FloatVector:
        return np.asarray(self.inside) / self.n_uniform

    def _mean_log_shares(self) -> FloatVector:
        """Return the logarithms of the mean shares, rising.

        Logarithms of the repeats are nearly normal, as `fastad.volume` takes them: their mean and
        half their variance. A mean of few such shares would lack the large ones, and be too small.
        None is larger than 1, whatever repeats say that differ much.
        """
        logs = self.log_shares[:, 1:] if self.log_shares is not None else np.empty((1, 0))
        means = np.minimum(logs.mean(axis=0) + logs.var(axis=0, ddof=1) / 2, 0.0)
        return np.concatenate([[-math.inf], np.maximum.accumulate(means)])


class Volumes(NamedTuple):
    """Volumes of level sets in multiples of a unit.

    Attributes
    ----------
    each : numpy.ndarray of shape (n_levels + 1,)
        Uniform points (int64), or estimates (float64), rising from 0.
    unit : Extent
        The volume for which 1 stands.
    repeats : numpy.ndarray of shape (n_repeats, n_levels + 1) or None
        Natural logarithms of estimates by each repeat.
    """

    each: CountVector
    unit: Extent
    repeats: FloatMatrix | None

    def hull(self, masses: IntVector) -> IntVector:
        """Return the levels that hold the most mass less some multiple of their volume."""
        hull = np.empty(masses.shape[0], np.int64)
        size = kernels.concave_hull(masses, self.each, hull)
        return hull[:size]


def level_sets_of_repeats(
    thresholds: FloatVector, masses: IntVector, log_shares: FloatMatrix, box: Extent
) -> LevelSets:
    """Return the level sets of volumes that independent repeats have estimated.

    Parameters
    ----------
    thresholds, masses : numpy.ndarray of shape (n_levels + 1,)
        As in `LevelSets`.
    log_shares : numpy.ndarray of shape (n_repeats, n_levels + 1)
        Natural logarithms of the shares of the box, rising.
    box : Extent
        Volume of the box.
    """
    return LevelSets(
        as_readonly(thresholds), as_readonly(masses), None, as_readonly(log_shares), box, None
    )
