"""``volume_curve``: the volume of the decision region at every threshold, from one run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fastad._core.parameters import check_threshold
from fastad._core.results import Result
from fastad._core.threads import thread_limit
from fastad._core.types import FloatVector, Point, Threshold
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.cube import Cube
from fastad.regions.estimation import Score
from fastad.regions.methods import check_box, check_plan
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import block_score
from fastad.regions.splitting.repeats import (
    Run,
    estimate,
    estimates,
    mixing_problems,
    split,
    warn_of_mixing,
)


class VolumeCurve(Result):
    """Volume of the region below each threshold, down to the lowest that was asked for.

    Call it with a threshold for the estimate there.

    Attributes
    ----------
    box : Box
        Where points were drawn.
    threshold : numpy.ndarray of shape (n_thresholds,)
        The levels that particles have passed, falling, and the lowest threshold.
    log_share, log_low, log_high : numpy.ndarray of shape (n_thresholds,)
        Natural logarithms of the shares of the box below them, and of the ends of their intervals.
    log_volume : numpy.ndarray of shape (n_thresholds,)
        Of the volumes, in units of the features.
    n_scored : int
        Points whose score was asked for.
    """

    def __init__(self, run: Run, lowest: float, box: Box, level: float, n_scored: int) -> None:
        self._run, self._lowest, self._level = run, lowest, level
        self.box, self.n_scored = box, n_scored
        passed = [one for one in run.repeats[0].levels if lowest < one < np.inf]
        found = estimates(run, (*passed, lowest), level, n_scored)
        self.threshold = self._fixed([one.threshold for one in found])
        self.log_share = self._fixed([one.log_value for one in found])
        self.log_low = self._fixed([one.log_low for one in found])
        self.log_high = self._fixed([one.log_high for one in found])

    @staticmethod
    def _fixed(numbers: list[float]) -> FloatVector:
        array = np.array(numbers, np.float64)
        array.flags.writeable = False
        return array

    def __repr__(self) -> str:
        return (
            f"<VolumeCurve of {len(self.threshold)} thresholds down to {self._lowest:g}, "
            f"{self.n_scored} points scored>"
        )

    @property
    def log_volume(self) -> FloatVector:
        """Natural logarithms of the volumes, in units of the features."""
        return self.log_share + self.box.log_volume

    def __call__(self, threshold: Threshold) -> VolumeEstimate:
        """Return the estimate at a threshold, not below the lowest one.

        Parameters
        ----------
        threshold : float
            A point is normal where its score is below it.

        Returns
        -------
        VolumeEstimate

        Raises
        ------
        InvalidInputError
            If the threshold is below the lowest one.
        """
        wanted = float(check_threshold(threshold))
        if wanted < self._lowest:
            raise InvalidInputError(
                f"threshold must be at least {self._lowest}, to which the curve goes down; found "
                f"{threshold}",
                argument="threshold",
            )
        return estimate(self._run, wanted, self._level, self.n_scored)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists: a row for each threshold.

        Columns are ``threshold``, ``log_share``, ``log_low``, ``log_high`` and ``log_volume``.
        """
        names = ("threshold", "log_share", "log_low", "log_high", "log_volume")
        return {name: getattr(self, name).tolist() for name in names}


def volume_curve(
    score: Score,
    threshold: Threshold,
    box: Box,
    *,
    n_draws: int | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    n_threads: int | None = None,
) -> VolumeCurve:
    """Volume of the decision region at every threshold down to a lowest one.

    Multilevel splitting passes all of them on its way: the curve takes no more score calls than
    `volume` by ``method="splitting"`` at its end.

    Parameters
    ----------
    score : callable or CompiledScorer
        Anomaly score of any point, as for `volume`.
    threshold : float
        The lowest threshold, finite.
    box : Box
        Where points are drawn.
    n_draws : int, optional
        Budget of points that are scored, kept nearly; by default 10⁶.
    confidence_level : float, default 0.95
        Of the intervals, each by itself, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable, optional
        Called with the numbers of points scored and to be scored.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number.

    Returns
    -------
    VolumeCurve
        Arrays of thresholds and log-volumes; called, the estimate at any threshold between.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the score raises, returns NaN or another shape.

    Warns
    -----
    InsufficientMixingWarning
        If particles may have missed parts of a region.

    References
    ----------
    .. [1] F. Cérou and A. Guyader, "Adaptive multilevel splitting for rare event analysis", 2007.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> box = fastad.Box([-1] * 4, [1] * 4)
    >>> curve = fastad.regions.volume_curve(
    ...     lambda X: (X**2).sum(axis=1), 1e-6, box, n_draws=100_000, rng=0
    ... )
    >>> ball = curve(0.01)  # of radius 0.1
    >>> ball.low < np.pi**2 / 2 * 0.1**4 / 2**4 < ball.high
    True
    >>> bool(curve.log_share[-1] < -25)
    True
    """
    plan = check_plan("splitting", n_draws, None, None, confidence_level, rng, progress)
    box = check_box(box)
    lowest = float(check_threshold(threshold))
    if not np.isfinite(lowest):
        raise InvalidInputError(
            f"threshold must be finite; found {threshold}", argument="threshold"
        )
    cube = Cube(box, block_score(score, box.n_features))
    with thread_limit(n_threads):
        found = split(cube, lowest, plan.budget("splitting"), plan.rng, plan.progress)
    warn_of_mixing(mixing_problems(found, lowest))
    return VolumeCurve(found, lowest, box, plan.level, cube.n_scored)
