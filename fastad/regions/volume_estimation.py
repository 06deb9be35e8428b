"""``volume``: the fraction of a box below thresholds of a score, by any method."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array
from fastad._core.progress import Progress, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Point, Threshold
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.regions.box import Box, check_box
from fastad.regions.choice import choose
from fastad.regions.methods import Plan, VolumeMethod, check_plan, estimate_by
from fastad.regions.reference import Normal, Referred, check_reference
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore, Detector, block_score


@overload
def volume(
    detector: Detector,
    threshold: Threshold,
    box: Box | None = ...,
    *,
    reference: Normal | None = ...,
    method: VolumeMethod = ...,
    n_draws: int | None = ...,
    rtol: Point | None = ...,
    data: ArrayLike | None = ...,
    confidence_level: Point = ...,
    rng: int | np.random.Generator | None = ...,
    progress: Progress | bool | None = ...,
    n_threads: int | None = ...,
) -> VolumeEstimate: ...
@overload
def volume(
    detector: Detector,
    threshold: Sequence[Threshold] | npt.NDArray[Any],
    box: Box | None = ...,
    *,
    reference: Normal | None = ...,
    method: VolumeMethod = ...,
    n_draws: int | None = ...,
    rtol: Point | None = ...,
    data: ArrayLike | None = ...,
    confidence_level: Point = ...,
    rng: int | np.random.Generator | None = ...,
    progress: Progress | bool | None = ...,
    n_threads: int | None = ...,
) -> list[VolumeEstimate]: ...
@suggests_arguments
def volume(
    detector: Detector,
    threshold: Threshold | Sequence[Threshold] | npt.NDArray[Any],
    box: Box | None = None,
    *,
    reference: Normal | None = None,
    method: VolumeMethod = "auto",
    n_draws: int | None = None,
    rtol: Point | None = None,
    data: ArrayLike | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
) -> VolumeEstimate | list[VolumeEstimate]:
    """Fraction of a box that a detector classifies as normal: its score is below a threshold.

    Parameters
    ----------
    detector : detector, callable or CompiledScorer
        Anomaly score, higher is more anomalous: a fitted detector, which is compiled as by
        `compile_scorer`; a compiled scorer; a function of one point that Numba has jitted; or a
        function of a batch ``(k, n_features)`` that returns ``(k,)`` scores.
    threshold : float or sequence of floats
        A point is normal where its score is below it; several share one set of draws.
    box : Box
        Box to draw points in, evenly.
    reference : Normal, optional
        Distribution to draw points from, in place of a box: the value is the region's mass under
        it. A flow or a latent space has the mass of a function of latent points under their
        normal distribution.
    method : {"auto", "uniform", "sobol", "splitting", "exact"}, default "auto"
        Independent uniform draws, or scrambled Sobol points. For small regions and many features
        particles that come down to the threshold level by level, and draws from a density that is
        fitted to them. For a compiled isolation forest of few features or trees its leaves,
        intersected. ``"auto"`` chooses, and the result's ``reason`` says why.
    n_draws : int, optional
        Budget of points that are scored; by default 10⁶, and 2¹⁷ for Sobol points. Splitting keeps
        to it nearly. Sobol points are rounded down to 16 times a power of two, and come on top of
        the first draws of ``"auto"``.
    rtol : float, optional
        Relative error to reach: draw until the standard error is at most this fraction of the
        volume, or the budget is used up (10⁹ by default).
    data : array-like of shape (n_samples, n_features), optional
        Normal samples, by which splitting finds parts of the region that its particles have missed.
    confidence_level : float, default 0.95
        Confidence level of the interval, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed; rich shows the time left and the relative
        error too. A function is called with the numbers of points drawn and to be drawn (None if
        unknown), about ten times a second.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number. A Python
        function of a batch is called from one thread.

    Returns
    -------
    VolumeEstimate, or a list of them for several thresholds
        The fraction of the box with its interval; times ``box.volume`` it is the volume. With a
        reference the region's mass.

    Raises
    ------
    InvalidInputError
        If the score raises, or returns NaN or another shape; the message names a point. If both a
        box and a reference are given, or neither.

    Notes
    -----
    All methods draw points of the unit cube, which stand for points of a reference by the inverse
    of the normal integral. Above the mean a feature reaches no farther than 8.2 standard
    deviations, and a mass below 10⁻¹⁴ that lies there alone is not found.

    Uniform draws of compiled and jitted scores need memory that does not grow with their number.
    Their interval is exact: Clopper and Pearson's, and with ``rtol`` from the negative binomial
    distribution. Sobol points have Student's interval over 16 scrambled replicates. Splitting
    has Cox's interval of the logarithm over repeats of the particles.

    With ``rtol`` uniform draws end with the hit that ensures the root of the mean squared error,
    whatever the volume. Other methods run anew with the number of draws that the error of the last
    run calls for, until the error of a run is small enough: its draws alone are the estimate.

    ``"auto"`` takes a forest's leaves where that is a matter of a second. Else it draws 2¹⁰ points,
    and takes the method with the smallest error that is expected by the fraction of them inside:
    of uniform draws, of Sobol points for a function of a batch of up to 12 features, all
    continuous, and of splitting, by a measured table. With ``rtol`` it draws up to 12 500 points,
    and takes uniform draws or splitting, by the score calls expected until then. The reason names
    these errors or numbers of calls.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of the region.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equations (6) and (7), algorithm 1.
    .. [2] L. Mendo and J. M. Hernando, "A simple sequential stopping rule for Monte Carlo
       simulation", 2006.

    Examples
    --------
    >>> import fastad
    >>> square = fastad.Box([-1, -1], [1, 1])
    >>> circle = fastad.volume(lambda X: (X**2).sum(axis=1), 1.0, square, rng=0)
    >>> circle.method, abs(circle.value - 3.14159265 / 4) < 1e-3
    ('sobol', True)
    """
    plan = check_plan(method, n_draws, rtol, data, confidence_level, rng)
    if reference is not None:
        detector, box, plan = _referred(detector, box, check_reference(reference), plan)
    box = check_box(box)
    scored = block_score(detector, box.n_features)
    thresholds = _thresholds(threshold)
    with thread_limit(n_threads), reporting(progress, "points") as report:
        plan = plan._replace(progress=report)
        if isinstance(thresholds, list):
            return estimate_volumes(scored, thresholds, box, plan)
        return estimate_volumes(scored, [thresholds], box, plan)[0]


def _referred(
    detector: Detector, box: object, reference: Normal, plan: Plan
) -> tuple[Referred, Box, Plan]:
    """Return the detector, the box and the plan in the unit cube that stands for a reference."""
    if box is not None:
        raise InvalidInputError("reference must not be given together with a box")
    if plan.data is not None:
        check_samples(plan.data, reference.n_features, "data")
        plan = plan._replace(data=reference.to_cube(plan.data))
    return Referred(detector, reference), reference.cube, plan


def _thresholds(threshold: Any) -> float | list[float]:
    """Return one threshold or several; infinite ones are allowed, NaN is not."""
    if isinstance(threshold, (str, bytes)) or threshold is None:
        raise InvalidTypeError(f"threshold must be a number; found {type(threshold).__name__}")
    array = as_array(threshold, "threshold")
    if array.dtype.kind not in "iuf" or array.ndim > 1 or array.size == 0:
        raise InvalidInputError(
            f"threshold must be a number or a sequence of at least one; found shape {array.shape} "
            f"of {array.dtype}"
        )
    if np.isnan(array).any():
        raise InvalidInputError("threshold must be a number; found NaN")
    return float(array) if array.ndim == 0 else [float(number) for number in array]


def estimate_volumes(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the fraction below each threshold."""
    if plan.data is not None and plan.data.shape[1] != box.n_features:
        raise InvalidInputError(
            f"data must have {box.n_features} features as the box; found {plan.data.shape[1]}"
        )
    if plan.method == "auto":
        return choose(score, thresholds, box, plan)
    return estimate_by(plan.method, score, thresholds, box, plan)
