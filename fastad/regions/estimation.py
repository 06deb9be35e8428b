"""``volume`` and ``volume_at_fpr``: how tightly a detector encloses the normal data."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array
from fastad._core.threads import thread_limit
from fastad._core.types import Interpolation, Label, Point, Points, Threshold
from fastad.errors import InvalidInputError
from fastad.measures.thresholds import threshold_at_fpr
from fastad.regions.box import Box
from fastad.regions.methods import VolumeMethod, check_box, check_plan, estimate_volumes
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import block_score

# A jitted function of a point, a function of a batch, or a compiled scorer.
Score: TypeAlias = Any


@overload
def volume(
    score: Score,
    threshold: Threshold,
    box: Box,
    *,
    method: VolumeMethod = ...,
    n_draws: int | None = ...,
    rtol: Point | None = ...,
    data: npt.ArrayLike | None = ...,
    confidence_level: Point = ...,
    rng: int | np.random.Generator | None = ...,
    progress: Callable[[int, int | None], object] | None = ...,
    n_threads: int | None = ...,
) -> VolumeEstimate: ...
@overload
def volume(
    score: Score,
    threshold: Sequence[Threshold] | npt.NDArray[Any],
    box: Box,
    *,
    method: VolumeMethod = ...,
    n_draws: int | None = ...,
    rtol: Point | None = ...,
    data: npt.ArrayLike | None = ...,
    confidence_level: Point = ...,
    rng: int | np.random.Generator | None = ...,
    progress: Callable[[int, int | None], object] | None = ...,
    n_threads: int | None = ...,
) -> list[VolumeEstimate]: ...
def volume(
    score: Score,
    threshold: Threshold | Sequence[Threshold] | npt.NDArray[Any],
    box: Box,
    *,
    method: VolumeMethod = "auto",
    n_draws: int | None = None,
    rtol: Point | None = None,
    data: npt.ArrayLike | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    n_threads: int | None = None,
) -> VolumeEstimate | list[VolumeEstimate]:
    """Share of a box that a detector takes for normal: where its score is below a threshold.

    Parameters
    ----------
    score : callable or CompiledScorer
        Anomaly score, higher is more anomalous: a function of one point that Numba has jitted, a
        function of a batch ``(k, n_features)`` that returns ``(k,)`` scores, or what
        `compile_scorer` returns.
    threshold : float or sequence of floats
        A point is normal where its score is below it; several share one set of draws.
    box : Box
        Where points are drawn.
    method : {"auto", "uniform", "sobol", "importance", "splitting", "exact"}, default "auto"
        Independent uniform draws, or scrambled Sobol points. For tiny regions and many features
        draws where ``data`` are, weighted; or particles that come down to the threshold level by
        level. For a compiled isolation forest of few features or trees its leaves, intersected.
        ``"auto"`` chooses, and the result's ``reason`` says why.
    n_draws : int, optional
        Budget of points that are scored; by default 10⁶, 2¹⁷ for Sobol points, and 3·10⁵ for
        importance sampling. Splitting keeps to it nearly.
    rtol : float, optional
        Wished relative error: draw until the root of the mean squared error is at most this share
        of the volume, or the budget is used up (10⁹ by default). By uniform draws.
    data : array-like of shape (n_points, n_features), optional
        Normal points, which say where the region is. Importance sampling needs them: it misses a
        part of the region in which there are none.
    confidence_level : float, default 0.95
        Of the interval, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable, optional
        Called with the numbers of points drawn and to be drawn (None if that is not known).
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number. A Python
        function of a batch is called from one thread.

    Returns
    -------
    VolumeEstimate, or a list of them for several thresholds
        The share of the box with its interval; times ``box.volume`` it is the volume.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the score raises, returns NaN or another shape;
        the message names a point.

    Notes
    -----
    Uniform draws of compiled and jitted scores need memory that does not grow with their number.
    Their interval is exact: that of Clopper and Pearson, and with ``rtol`` that of the negative
    binomial law. That of Sobol points is Student's, over 16 scrambled replicates. Those of
    importance sampling and splitting are of the logarithm: Student's for the mean weight, and
    Cox's over repeats of the particles.

    ``"auto"`` takes a forest's leaves where that is a matter of a second. It draws 2¹⁴ points (2¹⁰
    for a function of a batch). Where 16 fall inside it takes Sobol points for a function of a batch
    of up to 12 features, all continuous, and uniform draws for other scores. Else importance
    sampling, if there are data and it finds their weights good enough, and last splitting.

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
    plan = check_plan(method, n_draws, rtol, data, confidence_level, rng, progress)
    box = check_box(box)
    scored = block_score(score, box.n_features)
    thresholds = _thresholds(threshold)
    with thread_limit(n_threads):
        found = estimate_volumes(
            scored, thresholds if isinstance(thresholds, list) else [thresholds], box, plan
        )
    return found if isinstance(thresholds, list) else found[0]


@overload
def volume_at_fpr(
    score: Score,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    box: Box,
    *,
    fpr: Point,
    interpolation: Interpolation = ...,
    pos_label: Label | None = ...,
    **options: Any,
) -> VolumeEstimate: ...
@overload
def volume_at_fpr(
    score: Score,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    box: Box,
    *,
    fpr: Points,
    interpolation: Interpolation = ...,
    pos_label: Label | None = ...,
    **options: Any,
) -> list[VolumeEstimate]: ...
def volume_at_fpr(
    score: Score,
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    box: Box,
    *,
    fpr: Point | Points,
    interpolation: Interpolation = "linear",
    pos_label: Label | None = None,
    **options: Any,
) -> VolumeEstimate | list[VolumeEstimate]:
    """Volume of the decision region at a false positive rate, VOL@FPR.

    Parameters
    ----------
    score : callable or CompiledScorer
        Anomaly score of any point, as for `volume`.
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans; there need be no anomalies.
    y_score : array-like of shape (n_samples,)
        Scores of these points, by the same score.
    box : Box
        Where points are drawn.
    fpr : float or sequence of floats
        Operating points, in [0, 1]; several share one set of draws.
    interpolation : {"linear", "conservative"}, default "linear"
        How `threshold_at_fpr` finds the threshold.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    **options
        Those of `volume`: ``method``, ``n_draws``, ``rtol``, ``rng``, ….

    Returns
    -------
    VolumeEstimate, or a list of them for several rates
        VOL@FPR; its ``complement`` is CVOL@FPR.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If there are no normal points, or normal points that score +inf exceed the rate.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equations (6) and (7), algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> normals = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> def distance(X):
    ...     return np.hypot(*X.T)
    >>> box = fastad.Box.from_data(normals)
    >>> y_true, y_score = np.zeros(1000), distance(normals)
    >>> found = fastad.volume_at_fpr(distance, y_true, y_score, box, fpr=0.5, rng=0)
    >>> 0.45 < found.value < 0.55
    True
    """
    # Both in one form: the types tell a rate from several, and a threshold from several.
    find: Any = threshold_at_fpr
    thresholds = find(y_true, y_score, fpr=fpr, interpolation=interpolation, pos_label=pos_label)
    found: VolumeEstimate | list[VolumeEstimate] = volume(score, thresholds, box, **options)
    return found


def _thresholds(threshold: Any) -> float | list[float]:
    """Return one threshold or several; infinite ones are allowed, NaN is not."""
    if isinstance(threshold, (str, bytes)) or threshold is None:
        raise TypeError(f"threshold must be a number; found {type(threshold).__name__}")
    array = as_array(threshold, "threshold")
    if array.dtype.kind not in "iuf" or array.ndim > 1 or array.size == 0:
        raise InvalidInputError(
            f"threshold must be a number or a sequence of at least one; found shape {array.shape} "
            f"of {array.dtype}",
            argument="threshold",
        )
    if np.isnan(array).any():
        raise InvalidInputError("threshold must be a number; found NaN", argument="threshold")
    return float(array) if array.ndim == 0 else [float(one) for one in array]
