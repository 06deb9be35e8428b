"""How volumes are estimated: the methods, and the choice between them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_choice, check_count, check_generator, check_inside
from fastad._core.random import random_key
from fastad._core.types import FloatMatrix, Point
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.regions import uniform
from fastad.regions.box import Box
from fastad.regions.cube import Cube, into_cube
from fastad.regions.forest_leaves import exact_shares, is_small
from fastad.regions.importance_sampling import sampling as importance
from fastad.regions.importance_sampling.sampling import RefusedError
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore
from fastad.regions.splitting import repeats
from fastad.regions.uniform import Draws, Progress

VolumeMethod: TypeAlias = Literal["auto", "uniform", "sobol", "importance", "splitting", "exact"]

METHODS = ("auto", "uniform", "sobol", "importance", "splitting", "exact")
# Score calls where nothing is said of them; for a relative error, at most.
_BUDGETS = {
    "uniform": 10**6,
    "sobol": 2**17,
    "importance": 3 * 10**5,
    "splitting": 10**6,
}
_LARGEST = 10**9
# Sobol points pay where a score is dear, features are few and regions smooth.
_FEW_FEATURES = 12
_MANY = 1024
# First draws, by which "auto" sees whether uniform ones will do: of a score that is dear or not,
# and how many must fall inside. Uniform draws are then as good as the other methods.
_FIRST_DEAR, _FIRST = 2**10, 2**14
_ENOUGH = 16
# This part of the points at most.
_PART = 8
# With fewer score calls there is no other method, and no time for first draws.
_FEWEST_FOR_OTHERS = 20_000


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
        """Return the plan of a method for what so many score calls have left."""
        least = _FEWEST_FOR_OTHERS // 2 if method == "splitting" else 1
        return self._replace(n_draws=max(self.budget(method) - n_scored, least))


def check_plan(
    method: str,
    n_draws: int | None,
    rtol: Point | None,
    data: npt.ArrayLike | None,
    confidence_level: Point,
    rng: int | np.random.Generator | None,
    progress: Progress | None,
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
            "data must be given for method='importance': normal points", argument="data"
        )
    points = None if data is None else check_samples(data, None, "data").astype(np.float64)
    if points is not None and points.shape[0] == 0:
        raise InvalidInputError("data must hold at least one point; found none", argument="data")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable; found {type(progress).__name__}")
    return Plan(
        method,
        None if n_draws is None else check_count(n_draws, "n_draws"),
        error,
        points,
        float(check_inside(confidence_level, "confidence_level")),
        check_generator(rng),
        progress,
    )


def check_box(box: object) -> Box:
    """Check that a box is one."""
    if not isinstance(box, Box):
        raise TypeError(f"box must be a fastad.Box; found {type(box).__name__}")
    return box


def estimate_volumes(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the share below each threshold."""
    if plan.data is not None and plan.data.shape[1] != box.n_features:
        raise InvalidInputError(
            f"data must have {box.n_features} features as the box; found {plan.data.shape[1]}",
            argument="data",
        )
    if plan.method == "auto":
        return _choose(score, thresholds, box, plan)
    return _by(plan.method, score, thresholds, box, plan)


def _by(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate by one method."""
    how: Any
    if method == "exact":
        return exact_shares(score.scorer, thresholds, box, level=plan.level)
    if method == "uniform":
        if plan.rtol is None:
            how = plan.budget(method), plan.level, plan.progress
            return uniform.estimate_shares(plan.draws(box), score, thresholds, *how)
        how = plan.rtol, plan.n_draws or _LARGEST, plan.level, plan.progress
        return uniform.estimate_until(plan.draws(box), score, thresholds, *how)
    how = plan.budget(method), plan.level, plan.rng, plan.progress
    if method == "sobol":
        # Here, because SciPy's sequences take a while to import.
        from fastad.regions import quasi

        return quasi.estimate_shares(box, score, thresholds, *how)
    cube = Cube(box, score)
    if method == "splitting":
        return repeats.estimate_shares(cube, thresholds, *how)
    # A plan of this method has data.
    points = into_cube(box, cast(FloatMatrix, plan.data), plan.rng)
    return importance.estimate_shares(cube, thresholds, points, *how)


def _choose(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Choose a method, estimate by it, and say why."""
    if score.scorer is not None and plan.rtol is None and is_small(score.scorer, thresholds, box):
        why = "the forest is small enough to intersect its leaves"
        return _because(why, _by("exact", score, thresholds, box, plan))
    plain = _plain(score, box, plan)
    if (given := _why_plain(thresholds, plan, plain)) is not None:
        return _because(given, _by(plain, score, thresholds, box, plan))
    n_draws = plan.budget(plain)
    n_first = min(_FIRST if score.on_threads else _FIRST_DEAR, n_draws // _PART)
    # The first ones of the uniform draws, should these be chosen.
    draws = plan.draws(box)
    counts = uniform.count_draws(draws, score, thresholds, n_first)
    seen = f"{counts.min()} of {n_first} first draws fell inside"
    if counts.min() < _ENOUGH:
        return _by_others(score, thresholds, box, plan, n_first, seen)
    if plain == "sobol":
        return _because(seen, _by("sobol", score, thresholds, box, plan), n_first)
    how = n_draws, plan.level, plan.progress, (n_first, counts)
    return _because(seen, uniform.estimate_shares(draws, score, thresholds, *how))


def _plain(score: BlockScore, box: Box, plan: Plan) -> str:
    """Return the better one of the methods that draw from the whole box."""
    smooth = box.n_features <= _FEW_FEATURES and not box.discrete.any()
    dear = not score.on_threads and plan.rtol is None and plan.budget("sobol") >= _MANY
    return "sobol" if dear and smooth else "uniform"


def _why_plain(thresholds: Sequence[float], plan: Plan, plain: str) -> str | None:
    """Return why only draws from the whole box come into question, if that is so."""
    if plan.rtol is not None:
        return "a relative error was asked for"
    if plan.budget(plain) < _FEWEST_FOR_OTHERS:
        return f"other methods take at least {_FEWEST_FOR_OTHERS} points"
    if min(thresholds) == -np.inf:
        return "no score is below -inf"
    return None


def _by_others(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan, n_before: int, seen: str
) -> list[VolumeEstimate]:
    """Estimate by a method for tiny regions, after so many points of which few fell inside."""
    why = f"{seen}, and no data say where to look"
    if plan.data is not None:
        left = plan.after(n_before, "importance")
        why = f"{seen}, and data say where to look"
        try:
            return _because(why, _by("importance", score, thresholds, box, left), n_before)
        except RefusedError as error:
            n_before += error.n_scored
            why = f"{seen}; importance sampling was refused, as {error}"
    left = plan.after(n_before, "splitting")
    return _because(why, _by("splitting", score, thresholds, box, left), n_before)


def _because(why: str, found: Sequence[VolumeEstimate], n_before: int = 0) -> list[VolumeEstimate]:
    """Add to estimates why their method was chosen, and the points that were scored before."""
    return [
        replace(
            one,
            n_scored=one.n_scored + n_before,
            reason=f"{why}; {one.reason}" if one.reason else why,
        )
        for one in found
    ]
