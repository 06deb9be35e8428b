"""The volume curve: the volume of the decision region at every threshold, from one run."""

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import check_threshold, float_threshold
from fastad._core.progress import Progress, reporting
from fastad._core.results import Column, Result
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import FloatVector, Point, Threshold
from fastad.errors import InvalidInputError
from fastad.regions.box import Box, check_box
from fastad.regions.methods import check_plan
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import Cube, Detector, block_score
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.regions.splitting.estimation import estimates_of, mixing_problems
from fastad.regions.splitting.repeats import SplittingRun, split


class VolumeCurve(Result):
    """Volume of the region below each threshold, down to the lowest one.

    Call it with a threshold for the estimate there. Frames have a row for each threshold:
    ``threshold``, ``log_fraction``, ``log_low``, ``log_high``, ``log_volume`` and ``is_bound``.

    Attributes
    ----------
    box : Box
        Box of the draws.
    threshold : numpy.ndarray of shape (n_thresholds,)
        The levels that particles have passed, falling, and the lowest threshold.
    log_fraction, log_low, log_high : numpy.ndarray of shape (n_thresholds,)
        Natural logarithms of the fractions of the box below them, and of the ends of their
        intervals.
    log_volume : numpy.ndarray of shape (n_thresholds,)
        Natural logarithm of the volumes, in units of the features.
    is_bound : numpy.ndarray of shape (n_thresholds,)
        Whether the fraction is only an upper bound, to which too few particles came down.
    confidence_level : float
        Confidence level of each interval, in (0, 1).
    n_scored : int
        Points that were scored.
    """

    def __init__(
        self, run: SplittingRun, lowest: float, box: Box, level: float, n_scored: int
    ) -> None:
        self._run, self._lowest, self.confidence_level = run, lowest, level
        self.box, self.n_scored = box, n_scored
        passed = [x for x in run.repeats[0].levels if lowest < x < np.inf]
        column = estimates_of(run, (*passed, lowest), level, n_scored)
        self.threshold = as_readonly(np.array([estimate.threshold for estimate in column]))
        self.log_fraction = as_readonly(np.array([estimate.log_value for estimate in column]))
        self.log_low = as_readonly(np.array([estimate.log_low for estimate in column]))
        self.log_high = as_readonly(np.array([estimate.log_high for estimate in column]))
        self.is_bound = as_readonly(np.array([estimate.is_bound for estimate in column]))

    def __repr__(self) -> str:
        return (
            f"<VolumeCurve of {len(self.threshold)} thresholds down to {self._lowest:g}, "
            f"{self.n_scored} points scored>"
        )

    @property
    def log_volume(self) -> FloatVector:
        """Natural logarithms of the volumes, in units of the features."""
        return self.log_fraction + self.box.log_volume

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
        checked = float_threshold(check_threshold(threshold))
        if checked < self._lowest:
            raise InvalidInputError(
                f"threshold must be at least {self._lowest}, to which the curve goes down; found "
                f"{threshold}"
            )
        thresholds = (*self.threshold.tolist(), checked)
        return estimates_of(self._run, thresholds, self.confidence_level, self.n_scored)[-1]

    def _declare_columns(self) -> list[Column]:
        names = ("threshold", "log_fraction", "log_low", "log_high", "log_volume", "is_bound")
        return [Column(name, getattr(self, name)) for name in names]


@suggests_arguments
def volume_curve(
    detector: Detector,
    threshold: Threshold,
    box: Box,
    *,
    n_draws: int | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
) -> VolumeCurve:
    """Volume of the decision region at every threshold down to a lowest one.

    Multilevel splitting passes all of them on its way: the curve takes no more score calls than
    `volume` by ``method="splitting"`` at its end.

    Parameters
    ----------
    detector : detector, callable or CompiledScorer
        Anomaly score of any point, as for `volume`.
    threshold : float
        The lowest threshold, finite.
    box : Box
        Box to draw points in.
    n_draws : int, optional
        Budget of points that are scored, kept nearly; by default 10⁶.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called
        with the numbers of points scored and to be scored.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number.

    Returns
    -------
    VolumeCurve
        Arrays of thresholds and log-volumes; called, the estimate at any threshold between.

    Raises
    ------
    InvalidInputError
        If the score raises, or returns NaN or another shape.

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
    >>> bool(curve.log_fraction[-1] < -25)
    True
    """
    plan = check_plan("splitting", n_draws, None, None, confidence_level, rng)
    box = check_box(box)
    lowest = float_threshold(check_threshold(threshold))
    if not np.isfinite(lowest):
        raise InvalidInputError(f"threshold must be finite; found {threshold}")
    cube = Cube(box, block_score(detector, box.n_features))
    with thread_limit(n_threads), reporting(progress, "points") as report:
        run = split(cube, lowest, plan.budget("splitting"), plan.rng, report, curve=True)
    warn_of_mixing(mixing_problems(run, lowest))
    return VolumeCurve(run, lowest, box, plan.level, cube.n_scored)
