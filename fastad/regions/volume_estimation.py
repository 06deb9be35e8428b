"""``volume``: the fraction of a box below thresholds of a score, by any method.

``method="auto"`` takes the method with the smallest expected error, and says why.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_each, check_threshold, check_type, float_threshold
from fastad._core.progress import Progress, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, IntVector, Point, Threshold
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.regions import uniform
from fastad.regions.box import Box, check_box
from fastad.regions.forest_leaves import is_small
from fastad.regions.methods import (
    CANDIDATES,
    FEWEST_FOR_BRIDGES,
    FEWEST_FOR_OTHERS,
    Plan,
    VolumeMethod,
    check_plan,
    estimate_by,
    on_top_of,
)
from fastad.regions.reference import Normal, Referred
from fastad.regions.results import VolumeEstimate, rising
from fastad.regions.scores import BlockScore, Detector, block_score

# Sobol points pay where a score is expensive, features are few and regions smooth.
_FEW_FEATURES = 12
_MANY = 1024
# First draws, and the part of all points that they are at most.
_FIRST_DRAWS, _FIRST_PART = 2**10, 1 / 8
# First draws until a relative error: an eighth of what splitting takes at least.
_FIRST_UNTIL = CANDIDATES["splitting"].first_run // 8
# Relative error of splitting in units of the root of the score calls, by ln(1 / fraction): with
# bridges a constant and a slope (`python -m bench.volume_coverage 100000 12`, docs/evidence/
# volumes.csv; within a factor of two for 14 of 16 shapes); with fewer calls by levels.
_BY_BRIDGES, _BY_LEVELS = (0.7, 0.1), 1.24
# Of a relative error that is reached.
_ROUNDING = 1e-9
_NONE_BELOW = "no score is below the threshold (-inf)"


class _Choice(NamedTuple):
    """A method, and why it was chosen."""

    method: str
    why: str


def choose(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Choose a method for each of some rising thresholds, estimate by it, and say why.

    Each threshold has an equal part of the score calls; thresholds with one method have theirs
    together. With too few calls the lowest threshold decides for all.
    """
    if score.scorer is not None and is_small(score.scorer, thresholds, box):
        why = "the forest is small enough to intersect its leaves"
        return _with_reason(why, estimate_by("exact", score, thresholds, box, plan))
    plain = _plain_method(score, box, plan)
    if (reason := _why_plain(thresholds, plan, plain)) is not None:
        return _with_reason(reason, estimate_by(plain, score, thresholds, box, plan))
    n_first = _FIRST_DRAWS if plan.rtol is None else _FIRST_UNTIL
    n_first = min(n_first, int(_FIRST_PART * plan.budget(plain)))
    # The first of the uniform draws, should these be chosen.
    draws, soon = plan.draws(box), list[VolumeEstimate]()
    if plan.rtol is None:
        counts = uniform.count_draws(draws, score, thresholds, n_first)
    else:
        until = plan.rtol, n_first, plan.level
        soon, counts = uniform.estimate_until(draws, score, thresholds, *until)
        if max(estimate.relative_error for estimate in soon) <= plan.rtol:
            return _with_reason("few uniform draws reach the relative error", soon)
        n_first = soon[0].n_scored
    choices = _choices(thresholds, counts, n_first, box, plan, plain)
    methods = list(dict.fromkeys(choice.method for choice in choices))
    estimates: list[VolumeEstimate] = []
    n_spent, total = 0, plan.budget(plain) if plan.rtol is None else None
    for method in methods:
        own = [k for k, choice in enumerate(choices) if choice.method == method]
        first = n_first, counts[own]
        left = plan._replace(first=first)
        if len(methods) > 1:
            left = left._replace(progress=on_top_of(n_spent, plan.progress, total))
        if plan.rtol is None or plan.n_draws is not None:
            left = left._replace(n_draws=plan.budget(plain) * len(own) // len(choices))
        # Uniform draws go on; Sobol points come on top, as they might be half as many without.
        if method == "splitting":
            left = left.after(n_first, method)
        some = [thresholds[k] for k in own]
        if method == "uniform" and plan.rtol is not None:
            further = plan.rtol, left.most, plan.level, left.progress
            begun = [soon[k] for k in own], counts[own]
            estimated = uniform.estimate_until(draws, score, some, *further, begun)[0]
        elif method == "uniform":
            options = max(left.budget(method), n_first), left.level, left.progress, first
            estimated = uniform.estimate_fractions(draws, score, some, *options)
        else:
            estimated = estimate_by(method, score, some, box, left)
            estimated = [replace(each, n_scored=each.n_scored + n_first) for each in estimated]
        n_spent += max(estimate.n_scored for estimate in estimated)
        for k, estimate in zip(own, estimated, strict=True):
            estimates += _with_reason(choices[k].why, [estimate])
    return rising(estimates)


def _choices(
    thresholds: Sequence[float], counts: IntVector, n_first: int, box: Box, plan: Plan, plain: str
) -> list[_Choice]:
    """Choose a method for each threshold by how many of the first draws are below it."""
    n_draws, n_thresholds = plan.budget(plain), counts.shape[0]
    budgets = dict.fromkeys(["uniform", plain, "splitting"], n_draws)
    is_free = plan.rtol is not None and plan.n_draws is None
    if n_thresholds > 1 and not is_free and n_draws < n_thresholds * FEWEST_FOR_BRIDGES:
        n_inside = next(n for n, x in zip(counts.tolist(), thresholds, strict=True) if x > -np.inf)
        lowest = _choose(n_inside, n_first, box, plan, budgets)
        return [lowest._replace(why=f"by the lowest threshold: {lowest.why}")] * n_thresholds
    budgets["splitting"] //= n_thresholds
    while True:
        choices = [
            _Choice(plain, _NONE_BELOW)
            if threshold == -np.inf
            else _choose(count, n_first, box, plan, budgets)
            for threshold, count in zip(thresholds, counts.tolist(), strict=True)
        ]
        n_plain = sum(choice.method != "splitting" for choice in choices)
        # Draws from the whole box are the more, the more thresholds share them.
        n_shared = n_draws * max(n_plain, 1) // n_thresholds
        if n_shared == budgets["uniform"]:
            return choices
        budgets |= dict.fromkeys(["uniform", plain], n_shared)


def _choose(
    n_inside: int, n_first: int, box: Box, plan: Plan, budgets: Mapping[str, int]
) -> _Choice:
    """Choose among methods with these budgets, by how many of the first draws are inside."""
    # As large as the fraction may well be, where no draw is inside.
    fraction = max(n_inside, 1) / n_first
    if plan.rtol is None:
        what = "smallest relative error is"
        costs = {name: _expected(name, fraction, n, box) for name, n in budgets.items()}
    else:
        what = "fewest score calls are"
        costs = {name: _calls_until(name, fraction, plan.rtol, box) for name in budgets}
    method = min(costs, key=lambda name: costs[name])
    others = [
        f"{CANDIDATES[name].name} ({cost:.2g})" for name, cost in costs.items() if name != method
    ]
    assumed = "" if n_inside else f"of a fraction of {fraction:.2g} "
    why = (
        f"{n_inside} of {n_first} first draws are inside, and {assumed}the {what} expected of "
        f"{CANDIDATES[method].name}, {costs[method]:.2g}; rejected: {', '.join(others)}"
    )
    return _Choice(method, why)


def _plain_method(score: BlockScore, box: Box, plan: Plan) -> str:
    """Return the better one of the methods that draw from the whole box."""
    is_smooth = box.n_features <= _FEW_FEATURES and not box.discrete.any()
    is_expensive = not score.on_threads and plan.rtol is None and plan.budget("sobol") >= _MANY
    return "sobol" if is_expensive and is_smooth else "uniform"


def _why_plain(thresholds: Sequence[float], plan: Plan, plain: str) -> str | None:
    """Return why only draws from the whole box come into question, if that is so."""
    if plan.budget(plain) < FEWEST_FOR_OTHERS:
        return f"other methods are considered from n_draws={FEWEST_FOR_OTHERS} on"
    if max(thresholds) == -np.inf:
        return _NONE_BELOW
    return None


def _expected(method: str, fraction: float, n_draws: int, box: Box) -> float:
    """Return the relative error that a method is expected to have.

    For Sobol points it is theoretical, for a region with a smooth boundary (He and Wang 2015).
    """
    if method == "splitting":
        if fraction > 0.5:  # no level is passed: draws are uniform ones
            return math.inf
        constant, slope = _BY_BRIDGES if n_draws >= FEWEST_FOR_BRIDGES else (0.0, _BY_LEVELS)
        return (constant - slope * math.log(fraction)) / math.sqrt(n_draws)
    error = math.sqrt((1 - fraction) / (fraction * n_draws))
    return error * n_draws ** (-0.5 / box.n_features) if method == "sobol" else error


def _calls_until(method: str, fraction: float, rtol: float, box: Box) -> float:
    """Return the score calls that uniform draws or splitting are expected to take."""
    if method == "uniform":
        return uniform.hits_for(rtol) / fraction
    least = CANDIDATES[method].first_run
    return least * max(_expected(method, fraction, least, box) / rtol, 1) ** 2


def _with_reason(why: str, estimates: Sequence[VolumeEstimate]) -> list[VolumeEstimate]:
    """Add to estimates why their method was chosen."""
    return [
        replace(estimate, reason=f"{why}; {estimate.reason}" if estimate.reason else why)
        for estimate in estimates
    ]


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
        A point is normal where its score is below it. Several share draws from the whole box; of
        splitting each has a run with an equal part of the calls, if these are enough.
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
        volume, or the budget is used up (10⁹ by default), as ``reason`` says then.
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
    has Cox's interval of the logarithm over repeats of the particles, with a higher upper end
    where these differ much.

    With ``rtol`` uniform draws end with the hit that ensures the root of the mean squared error,
    whatever the volume. Other methods run anew with the number of draws that the error of the last
    run calls for, until the error of a run is small enough: its draws alone are the estimate.

    ``"auto"`` takes a forest's leaves where that is a matter of a second. Else it draws 2¹⁰ points,
    and takes the method with the smallest error that is expected by the fraction of them inside:
    of uniform draws, of Sobol points for a function of a batch of up to 12 features, all
    continuous, and of splitting, by a measured table. With ``rtol`` it draws up to 12 500 points,
    and takes uniform draws or splitting, by the score calls expected until then. The reason names
    these errors or numbers of calls. Each of several thresholds has its own method and an equal
    part of the calls, from 30 000 calls for each on; with fewer the lowest one decides for all.

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
        check_type(reference, Normal, "reference", "a fastad.regions.Normal")
        detector, box, plan = _referred(detector, box, reference, plan)
    if box is None:
        raise InvalidInputError("box or reference must be given; found neither")
    box = check_box(box)
    scored = block_score(detector, box.n_features)
    given = check_each(threshold, "threshold", check_threshold)
    thresholds = list(map(float_threshold, given if isinstance(given, list) else [given]))
    with thread_limit(n_threads), reporting(progress, "points") as report:
        plan = plan._replace(progress=report)
        estimates = estimate_volumes(scored, thresholds, box, plan)
        return estimates if isinstance(given, list) else estimates[0]


def _referred(
    detector: Detector, box: object, reference: Normal, plan: Plan
) -> tuple[Referred, Box, Plan]:
    """Return the detector, the box and the plan in the unit cube that stands for a reference."""
    if box is not None:
        raise InvalidInputError("reference must not be given together with a box")
    if plan.method == "exact":
        raise InvalidInputError("method must not be 'exact' with a reference: leaves are boxes")
    if plan.data is not None:
        check_samples(plan.data, reference.n_features, "data")
        plan = plan._replace(data=reference.to_cube(plan.data))
    return Referred(detector, reference), reference.cube, plan


def estimate_volumes(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the fraction below each threshold."""
    if plan.data is not None and plan.data.shape[1] != box.n_features:
        raise InvalidInputError(
            f"data must have {box.n_features} features as the box; found {plan.data.shape[1]}"
        )
    if plan.method != "auto":
        estimates = estimate_by(plan.method, score, thresholds, box, plan)
        return [_compared_with(plan.rtol, estimate) for estimate in estimates]
    estimates = choose(score, sorted(set(thresholds)), box, plan)
    by_threshold = {estimate.threshold: estimate for estimate in estimates}
    return [_compared_with(plan.rtol, by_threshold[threshold]) for threshold in thresholds]


def _compared_with(rtol: float | None, estimate: VolumeEstimate) -> VolumeEstimate:
    """Return an estimate whose reason says if its error is larger than the one to reach."""
    error = estimate.relative_error
    if rtol is None or estimate.is_bound or error <= rtol * (1 + _ROUNDING):
        return estimate
    unreached = f"n_draws was used up at a relative error of {error:.2g}, above rtol={rtol:g}"
    return replace(estimate, reason="; ".join(filter(None, (estimate.reason, unreached))))
