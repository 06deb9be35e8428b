"""How volumes are estimated: the methods, and the choice between them."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._arguments import check_choice, check_count, check_generator, check_inside
from fastad._types import FloatMatrix, Point
from fastad.compiled.scorer import CompiledScorer, check_samples
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.cube import Cube, into_cube
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore
from fastad.regions.uniform import Draws

VolumeMethod: TypeAlias = Literal["auto", "uniform", "sobol", "importance", "splitting", "exact"]
Progress: TypeAlias = Callable[[int, int | None], object]

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
# With fewer score calls there is no other method, and no time for first draws.
_FEWEST_FOR_OTHERS = 10**4


class Plan(NamedTuple):
    """How to estimate, checked."""

    method: str
    n_samples: int | None
    rtol: float | None
    data: FloatMatrix | None
    level: float
    rng: np.random.Generator
    progress: Progress | None

    def budget(self, method: str) -> int:
        """Return the number of score calls."""
        return self.n_samples or _BUDGETS[method]


def check_plan(
    method: str,
    n_samples: int | None,
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
        raise InvalidInputError(f"rtol takes uniform draws; found method={method!r}")
    if data is None and method == "importance":
        raise InvalidInputError("data must be given for method='importance': normal points")
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable; found {type(progress).__name__}")
    return Plan(
        method,
        None if n_samples is None else check_count(n_samples, "n_samples"),
        error,
        None if data is None else check_samples(data, None, "data").astype(np.float64),
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
            f"data must have {box.n_features} features as the box; found {plan.data.shape[1]}"
        )
    if plan.method == "auto":
        return _choose(score, thresholds, box, plan)
    return _by(plan.method, score, thresholds, box, plan)


def _by(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate by one method."""
    # Each is imported where it is asked for: SciPy's parts take a while.
    how: Any
    if method == "exact":
        from fastad.regions.leaves import exact_shares

        return exact_shares(score.scorer, thresholds, box, level=plan.level)
    if method == "uniform":
        from fastad.regions import uniform

        draws = uniform.Draws(box, plan.rng.integers(2**64, dtype=np.uint64))
        if plan.rtol is None:
            how = plan.budget(method), plan.level, plan.progress
            return uniform.estimate_shares(draws, score, thresholds, *how)
        how = plan.rtol, plan.n_samples or _LARGEST, plan.level, plan.progress
        return uniform.estimate_until(draws, score, thresholds, *how)
    how = plan.budget(method), plan.level, plan.rng, plan.progress
    if method == "sobol":
        from fastad.regions import quasi

        return quasi.estimate_shares(box, score, thresholds, *how)
    cube = Cube(box, score)
    if method == "splitting":
        from fastad.regions import repeats

        return repeats.estimate_shares(cube, thresholds, *how)
    from fastad.regions import importance

    if plan.data is None:
        raise InvalidInputError("data must be given for method='importance': normal points")
    points = into_cube(box, plan.data, plan.rng)
    return importance.estimate_shares(cube, thresholds, points, *how)


def _choose(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Choose a method, estimate by it, and say why."""
    lowest = min(thresholds)
    smooth = box.n_features <= _FEW_FEATURES and not box.discrete.any()
    dear = not score.on_threads and plan.rtol is None and plan.budget("sobol") >= _MANY
    plain = "sobol" if dear and smooth else "uniform"
    if plan.rtol is not None:
        return _because("a relative error was asked for", plain, score, thresholds, box, plan)
    if score.scorer is not None and _is_small(score.scorer, thresholds, box):
        why = "the forest is small enough to intersect its leaves"
        return _because(why, "exact", score, thresholds, box, plan)
    if lowest == -np.inf or plan.budget(plain) < _FEWEST_FOR_OTHERS:
        return _because("there are few points to score", plain, score, thresholds, box, plan)
    n_first = _FIRST if score.on_threads else _FIRST_DEAR
    # The same as those of all uniform draws: what was random does not depend on the choice.
    draws = Draws(box, deepcopy(plan.rng).integers(2**64, dtype=np.uint64))
    n_inside = int(draws.count(score, np.array([lowest]), 0, n_first)[0])
    seen = f"{n_inside} of {n_first} first draws fell inside"
    if n_inside >= _ENOUGH:
        return _because(seen, plain, score, thresholds, box, plan, n_first)
    why = f"{seen}, and no data say where to look"
    if plan.data is not None:
        from fastad.regions.importance import RefusedError

        why = f"{seen}, and data say where to look"
        try:
            return _because(why, "importance", score, thresholds, box, plan, n_first)
        except RefusedError as error:
            why = f"{seen}; importance sampling was refused, as {error}"
    return _because(why, "splitting", score, thresholds, box, plan, n_first)


def _is_small(scorer: CompiledScorer, thresholds: Sequence[float], box: Box) -> bool:
    from fastad.regions.leaves import is_small

    return is_small(scorer, thresholds, box)


def _because(
    why: str,
    method: str,
    score: BlockScore,
    thresholds: Sequence[float],
    box: Box,
    plan: Plan,
    n_first: int = 0,
) -> list[VolumeEstimate]:
    """Estimate by a method; add why, and the points that were scored before."""
    return [
        replace(
            one,
            n_scored=one.n_scored + n_first,
            reason=f"{why}; {one.reason}" if one.reason else why,
        )
        for one in _by(method, score, thresholds, box, plan)
    ]
