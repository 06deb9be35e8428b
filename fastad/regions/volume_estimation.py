"""Volumes by any method, and the choice between them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, cast, overload

import numpy as np
import numpy.typing as npt

from fastad._core.frames import as_array
from fastad._core.parameters import check_choice, check_count, check_generator, check_inside
from fastad._core.progress import Progress, reporting
from fastad._core.random import random_key
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, FloatMatrix, Point, Threshold
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.regions import uniform
from fastad.regions.box import Box, check_box
from fastad.regions.forest_leaves import exact_fractions, is_small
from fastad.regions.importance_sampling import sampling as importance
from fastad.regions.importance_sampling.sampling import RefusedError
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore, Cube, Score, block_score, into_cube
from fastad.regions.splitting import repeats
from fastad.regions.uniform import Draws

VolumeMethod: TypeAlias = Literal["auto", "uniform", "sobol", "importance", "splitting", "exact"]

METHODS = ("auto", "uniform", "sobol", "importance", "splitting", "exact")
# Score calls by default; for a relative error, at most.
_BUDGETS = {
    "uniform": 10**6,
    "sobol": 2**17,
    "importance": 3 * 10**5,
    "splitting": 10**6,
}
_LARGEST = 10**9
# Sobol points pay where a score is expensive, features are few and regions smooth.
_FEW_FEATURES = 12
_MANY = 1024
# First draws, by which "auto" decides whether uniform ones will do: of an expensive score, of a
# cheap one, and how many must fall inside. Uniform draws are then as good as the other methods.
_FIRST_EXPENSIVE, _FIRST = 2**10, 2**14
_ENOUGH = 16
# This part of the points at most.
_PART = 8
# With fewer score calls there is no other method, and no time for first draws.
_FEWEST_FOR_OTHERS = 20_000


@overload
def volume(
    score: Score,
    threshold: Threshold,
    box: Box,
    *,
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
    score: Score,
    threshold: Sequence[Threshold] | npt.NDArray[Any],
    box: Box,
    *,
    method: VolumeMethod = ...,
    n_draws: int | None = ...,
    rtol: Point | None = ...,
    data: ArrayLike | None = ...,
    confidence_level: Point = ...,
    rng: int | np.random.Generator | None = ...,
    progress: Progress | bool | None = ...,
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
    data: ArrayLike | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
) -> VolumeEstimate | list[VolumeEstimate]:
    """Fraction of a box that a detector classifies as normal: its score is below a threshold.

    Parameters
    ----------
    score : detector, callable or CompiledScorer
        Anomaly score, higher is more anomalous: a fitted detector, which is compiled as by
        `compile_scorer`; what that returns; a function of one point that Numba has jitted; or a
        function of a batch ``(k, n_features)`` that returns ``(k,)`` scores.
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
        Relative error to reach: draw until the root of the mean squared error is at most this
        fraction of the volume, or the budget is used up (10⁹ by default). By uniform draws.
    data : array-like of shape (n_points, n_features), optional
        Normal samples, which say where the region is. Importance sampling needs them: it misses a
        part of the region in which there are none.
    confidence_level : float, default 0.95
        Of the interval, in (0, 1).
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called with the numbers of
        points drawn and to be drawn (None if that is not known), about ten times a second.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number. A Python
        function of a batch is called from one thread.

    Returns
    -------
    VolumeEstimate, or a list of them for several thresholds
        The fraction of the box with its interval; times ``box.volume`` it is the volume.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the score raises, returns NaN or another shape;
        the message names a point.

    Notes
    -----
    Uniform draws of compiled and jitted scores need memory that does not grow with their number.
    Their interval is exact: that of Clopper and Pearson, and with ``rtol`` that of the negative
    binomial distribution. That of Sobol points is Student's, over 16 scrambled replicates. Those of
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
    plan = check_plan(method, n_draws, rtol, data, confidence_level, rng)
    box = check_box(box)
    scored = block_score(score, box.n_features)
    thresholds = _thresholds(threshold)
    with thread_limit(n_threads), reporting(progress, "points") as report:
        plan = plan._replace(progress=report)
        if isinstance(thresholds, list):
            return estimate_volumes(scored, thresholds, box, plan)
        return estimate_volumes(scored, [thresholds], box, plan)[0]


class Plan(NamedTuple):
    """How to estimate, checked."""

    method: str
    n_draws: int | None
    rtol: float | None
    data: FloatMatrix | None
    level: float
    rng: np.random.Generator
    progress: Progress | None

    def budget(self, method: str) -> int:
        """Return the number of score calls."""
        return self.n_draws or _BUDGETS[method]

    def draws(self, box: Box) -> Draws:
        """Return uniform draws of a box."""
        return Draws(box, random_key(self.rng))

    def after(self, n_scored: int, method: str) -> "Plan":
        """Return the plan of a method for the score calls that are left after so many."""
        least = _FEWEST_FOR_OTHERS // 2 if method == "splitting" else 1
        return self._replace(n_draws=max(self.budget(method) - n_scored, least))


def check_plan(
    method: str,
    n_draws: int | None,
    rtol: Point | None,
    data: ArrayLike | None,
    confidence_level: Point,
    rng: int | np.random.Generator | None,
) -> Plan:
    """Check how to estimate."""
    check_choice(method, METHODS, "method")
    error = None if rtol is None else float(check_inside(rtol, "rtol"))
    if error is not None and method not in ("auto", "uniform"):
        raise InvalidInputError(
            f"rtol takes uniform draws; found method={method!r}", argument="rtol"
        )
    if data is None and method == "importance":
        raise InvalidInputError(
            "data must be given for method='importance': normal samples", argument="data"
        )
    points = None if data is None else check_samples(data, None, "data").astype(np.float64)
    if points is not None and points.shape[0] == 0:
        raise InvalidInputError("data must contain at least one point; found none", argument="data")
    return Plan(
        method,
        None if n_draws is None else check_count(n_draws, "n_draws"),
        error,
        points,
        float(check_inside(confidence_level, "confidence_level")),
        check_generator(rng),
        None,
    )


def _thresholds(threshold: Any) -> float | list[float]:
    """Return one threshold or several; infinite ones are allowed, NaN is not."""
    if isinstance(threshold, (str, bytes)) or threshold is None:
        raise InvalidTypeError(
            f"threshold must be a number; found {type(threshold).__name__}", argument="threshold"
        )
    array = as_array(threshold, "threshold")
    if array.dtype.kind not in "iuf" or array.ndim > 1 or array.size == 0:
        raise InvalidInputError(
            f"threshold must be a number or a sequence of at least one; found shape {array.shape} "
            f"of {array.dtype}",
            argument="threshold",
        )
    if np.isnan(array).any():
        raise InvalidInputError("threshold must be a number; found NaN", argument="threshold")
    return float(array) if array.ndim == 0 else [float(number) for number in array]


def estimate_volumes(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the fraction below each threshold."""
    if plan.data is not None and plan.data.shape[1] != box.n_features:
        raise InvalidInputError(
            f"data must have {box.n_features} features as the box; found {plan.data.shape[1]}",
            argument="data",
        )
    if plan.method == "auto":
        return _choose(score, thresholds, box, plan)
    return _estimate_by(plan.method, score, thresholds, box, plan)


def _estimate_by(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate by one method."""
    options: Any
    if method == "exact":
        return exact_fractions(score.scorer, thresholds, box, level=plan.level)
    if method == "uniform":
        if plan.rtol is None:
            options = plan.budget(method), plan.level, plan.progress
            return uniform.estimate_fractions(plan.draws(box), score, thresholds, *options)
        options = plan.rtol, plan.n_draws or _LARGEST, plan.level, plan.progress
        return uniform.estimate_until(plan.draws(box), score, thresholds, *options)
    options = plan.budget(method), plan.level, plan.rng, plan.progress
    if method == "sobol":
        # Here, because SciPy's sequences take a while to import.
        from fastad.regions import quasi

        return quasi.estimate_fractions(box, score, thresholds, *options)
    cube = Cube(box, score)
    if method == "splitting":
        return repeats.estimate_fractions(cube, thresholds, *options)
    # A plan of this method has data.
    points = into_cube(box, cast(FloatMatrix, plan.data), plan.rng)
    return importance.estimate_fractions(cube, thresholds, points, *options)


def _choose(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Choose a method, estimate by it, and say why."""
    if score.scorer is not None and plan.rtol is None and is_small(score.scorer, thresholds, box):
        why = "the forest is small enough to intersect its leaves"
        return _with_reason(why, _estimate_by("exact", score, thresholds, box, plan))
    plain = _plain_method(score, box, plan)
    if (reason := _why_plain(thresholds, plan, plain)) is not None:
        return _with_reason(reason, _estimate_by(plain, score, thresholds, box, plan))
    n_draws = plan.budget(plain)
    n_first = min(_FIRST if score.on_threads else _FIRST_EXPENSIVE, n_draws // _PART)
    # The first ones of the uniform draws, should these be chosen.
    draws = plan.draws(box)
    counts = uniform.count_draws(draws, score, thresholds, n_first)
    hits = f"{counts.min()} of {n_first} first draws"
    if counts.min() < _ENOUGH:
        return _by_rare_event_method(score, thresholds, box, plan, n_first, hits)
    if plain == "sobol":
        why = f"enough draws fall inside, and features are few enough for Sobol points ({hits})"
        return _with_reason(why, _estimate_by("sobol", score, thresholds, box, plan), n_first)
    options = n_draws, plan.level, plan.progress, (n_first, counts)
    why = f"enough uniform draws fall inside ({hits})"
    return _with_reason(why, uniform.estimate_fractions(draws, score, thresholds, *options))


def _plain_method(score: BlockScore, box: Box, plan: Plan) -> str:
    """Return the better one of the methods that draw from the whole box."""
    is_smooth = box.n_features <= _FEW_FEATURES and not box.discrete.any()
    is_expensive = not score.on_threads and plan.rtol is None and plan.budget("sobol") >= _MANY
    return "sobol" if is_expensive and is_smooth else "uniform"


def _why_plain(thresholds: Sequence[float], plan: Plan, plain: str) -> str | None:
    """Return why only draws from the whole box come into question, if that is so."""
    if plan.rtol is not None:
        return "only uniform draws reach a given relative error"
    if plan.budget(plain) < _FEWEST_FOR_OTHERS:
        return f"n_draws is too small for other methods (they take {_FEWEST_FOR_OTHERS} points)"
    if min(thresholds) == -np.inf:
        return "no score is below the threshold (-inf)"
    return None


def _by_rare_event_method(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan, n_before: int, hits: str
) -> list[VolumeEstimate]:
    """Estimate by a method for tiny regions, after so many points of which few fell inside."""
    few = "too few uniform draws fall inside"
    why = f"{few}, and no data say where to look ({hits})"
    if plan.data is not None:
        left = plan.after(n_before, "importance")
        why = f"{few}, and data say where to look ({hits})"
        try:
            return _with_reason(
                why, _estimate_by("importance", score, thresholds, box, left), n_before
            )
        except RefusedError as error:
            n_before += error.n_scored
            why = (
                f"{few}, and importance sampling is not reliable, because {error.why} ({hits}; "
                f"{error.numbers})"
            )
    left = plan.after(n_before, "splitting")
    return _with_reason(why, _estimate_by("splitting", score, thresholds, box, left), n_before)


def _with_reason(
    why: str, estimates: Sequence[VolumeEstimate], n_before: int = 0
) -> list[VolumeEstimate]:
    """Add to estimates why their method was chosen, and the points that were scored before."""
    return [
        replace(
            estimate,
            n_scored=estimate.n_scored + n_before,
            reason=f"{why}; {estimate.reason}" if estimate.reason else why,
        )
        for estimate in estimates
    ]
