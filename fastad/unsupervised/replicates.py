"""Bootstrap replicates of both criteria: test points drawn anew, and uniform points."""

from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.threads import in_steps, thread_map
from fastad._core.types import FloatMatrix, ShortVector
from fastad._kernels.curves import level_sets as kernels
from fastad.unsupervised.levels import LARGEST_LOG, LevelSets, Volumes
from fastad.unsupervised.mass_volume import Window

# What a thread does between two looks at whether it is to stop.
_POINTS_A_STEP = 10_000_000


class Rows(NamedTuple):
    """Which level each point belongs to: the first one that holds it.

    Attributes
    ----------
    test : numpy.ndarray of int32 of shape (n_test,)
        Of each test point, from 1 on.
    uniform : numpy.ndarray of int32 of shape (n_uniform,) or None
        Of each uniform point; one more than there are levels where none holds it.
    number : int
        Of the detector: repeats of an estimate are drawn for each by itself.
    """

    test: ShortVector
    uniform: ShortVector | None
    number: int = 0

    @classmethod
    def in_order(cls, levels: LevelSets) -> "Rows":
        """Return points that are numbered by their scores, as those of one detector may be."""
        places = np.arange(1, levels.masses.shape[0] + 1, dtype=np.int32)
        test = np.repeat(places[:-1], np.diff(levels.masses))
        if levels.inside is None:
            return cls(as_readonly(test), None)
        bounds = np.append(levels.inside, levels.n_uniform or 0)
        return cls(as_readonly(test), as_readonly(np.repeat(places, np.diff(bounds))))

    @property
    def n_points(self) -> int:
        """Number of points of both kinds."""
        return int(self.test.shape[0] + (0 if self.uniform is None else self.uniform.shape[0]))


class Sources(NamedTuple):
    """What is drawn anew."""

    test: bool = True
    uniform: bool = True


def replicate_logs(
    levels: LevelSets,
    volumes: Volumes,
    rows: Rows,
    key: np.uint64,
    n_resamples: int,
    window: Window,
    height: float,
    sources: Sources,
) -> FloatMatrix:
    """Return logarithms of the criteria EM and MV of replicates.

    Parameters
    ----------
    levels, volumes, rows
        The points at hand, and the volumes in some unit.
    key : numpy.uint64
        Of the random numbers: detectors of the same points share their replicates.
    n_resamples : int
        How many.
    window : Window
        Masses between which MV is the area.
    height : float
        Excess mass at which the area EM ends, in test points.
    sources : Sources
        What is drawn anew.

    Returns
    -------
    numpy.ndarray of shape (n_resamples, 2)
        NaN where EM is undefined, -inf where MV is 0; of multiples of the unit.
    """
    criteria = np.empty((n_resamples, 2))
    ends = (window.first, window.last, float(window.before), float(window.behind))

    def resample(part: range) -> None:
        kernels.resample_criteria(
            key,
            part.start,
            (sources.test, sources.uniform),
            rows.number,
            rows.test,
            rows.uniform,
            volumes.repeats,
            min(levels.box.log - volumes.unit.log, LARGEST_LOG),
            levels.masses,
            volumes.each,
            height,
            ends,
            criteria[part.start : part.stop],
        )

    step = max(_POINTS_A_STEP // rows.n_points, 1)
    thread_map(resample, in_steps(0, n_resamples, step))
    with np.errstate(divide="ignore"):
        return np.log(criteria)
