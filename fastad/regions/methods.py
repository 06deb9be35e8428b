"""Methods to estimate volumes: their numbers of draws, the plan of a call, and its runs."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import (
    check_choice,
    check_count,
    check_float_level,
    check_generator,
    check_inside,
)
from fastad._core.progress import Progress, part_of
from fastad._core.random import random_key
from fastad._core.types import ArrayLike, FloatMatrix, Point
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.regions import uniform
from fastad.regions.box import Box
from fastad.regions.forest_leaves import exact_fractions
from fastad.regions.results import VolumeEstimate, rising
from fastad.regions.scores import BlockScore, Cube, into_cube
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.regions.splitting.estimation import First, estimates_of, mixing_problems
from fastad.regions.splitting.repeats import FEWEST_CALLS, split
from fastad.regions.uniform import Draws

VolumeMethod: TypeAlias = Literal["auto", "uniform", "sobol", "splitting", "exact"]


class Candidate(NamedTuple):
    """A Monte Carlo method that ``method="auto"`` chooses among."""

    name: str  # its draws, in the reason for a choice
    n_draws: int  # score calls by default
    first_run: int  # draws of the first run, by whose error the next one is planned
    least: int = 1  # score calls at least


# First uniform draws, and how many of them must fall inside for more of them to be worth it.
FIRST_DRAWS, ENOUGH_INSIDE = 2**14, 16
CANDIDATES = {
    "uniform": Candidate("uniform draws", 10**6, FIRST_DRAWS),
    "sobol": Candidate("Sobol points", 2**17, 2**12),
    "splitting": Candidate("splitting", 10**6, 10**5, FEWEST_CALLS),
}
METHODS = ("auto", *CANDIDATES, "exact")
# Score calls at most, until a relative error is reached.
_LARGEST = 10**9
# With fewer score calls there is no other method than draws from the whole box.
FEWEST_FOR_OTHERS = 2 * FEWEST_CALLS
# With fewer calls few particles have bridges (docs/evidence/volumes.csv), and one run of splitting
# serves several thresholds.
FEWEST_FOR_BRIDGES = 30_000
# Least and most growth from the draws of one run to the next, and the margin over the number that
# the error of the last run asks for, which is an estimate itself.
_LEAST_GROWTH, _MOST_GROWTH, _MARGIN = 2.0, 32.0, 1.2


class Plan(NamedTuple):
    """Checked options of an estimate; earlier uniform draws count for splitting."""

    method: str
    n_draws: int | None
    rtol: float | None
    data: FloatMatrix | None
    level: float
    rng: np.random.Generator
    progress: Progress | None
    first: First | None = None

    def budget(self, method: str) -> int:
        """Return the number of score calls."""
        return self.n_draws or CANDIDATES[method].n_draws

    @property
    def most(self) -> int:
        """Score calls at most, until a relative error is reached."""
        return self.n_draws or _LARGEST

    def draws(self, box: Box) -> Draws:
        """Return uniform draws of a box, others in each call: the generator moves on."""
        return Draws(box, random_key(self.rng))

    def after(self, n_scored: int, method: str) -> "Plan":
        """Return the plan of a method for the score calls that are left after ``n_scored``."""
        if self.rtol is not None and self.n_draws is None:
            return self
        n_left = self.budget(method) - n_scored
        return self._replace(n_draws=max(n_left, CANDIDATES[method].least))


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
    points = None if data is None else check_samples(data, None, "data").astype(np.float64)
    if points is not None and points.shape[0] == 0:
        raise InvalidInputError("data must contain at least one sample; found none")
    return Plan(
        method,
        None if n_draws is None else check_count(n_draws, "n_draws"),
        error,
        points,
        check_float_level(confidence_level),
        check_generator(rng),
        None,
    )


def estimate_by(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the fraction below each threshold by one method."""
    if method == "exact":
        return exact_fractions(score.scorer, thresholds, box, level=plan.level)
    finite = [threshold for threshold in thresholds if threshold > -math.inf]
    if method != "uniform" and 0 < len(finite) < len(thresholds):
        # No score lies below -inf, and no method need search for one.
        first, *others = estimate_by(method, score, finite, box, plan)
        nothing = uniform.binomial(0, first.n_drawn, -math.inf, plan.level, method)
        if method == "splitting":
            nothing = replace(nothing, uniform_low=nothing.low, uniform_high=nothing.high)
        found = iter([first, *others])
        return [next(found) if threshold > -math.inf else nothing for threshold in thresholds]
    if method == "uniform" and plan.rtol is not None:
        draws, until = plan.draws(box), (plan.rtol, plan.most, plan.level, plan.progress)
        return uniform.estimate_until(draws, score, thresholds, *until)[0]
    if plan.rtol is not None:
        estimates, problems = _until(plan.rtol, method, score, thresholds, box, plan)
    else:
        estimates, problems = _run(method, score, thresholds, box, plan)
    warn_of_mixing(problems)
    return estimates


def _run(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> tuple[list[VolumeEstimate], list[str]]:
    """Estimate with a number of draws; also return why the intervals may be wrong."""
    n_draws, level, rng, progress = plan.budget(method), plan.level, plan.rng, plan.progress
    if method == "uniform":
        draws = plan.draws(box)
        return uniform.estimate_fractions(draws, score, thresholds, n_draws, level, progress), []
    if method == "sobol":
        # Here, because SciPy's sequences take a while to import.
        from fastad.regions import quasi

        options = n_draws, level, rng, progress
        return quasi.estimate_fractions(box, score, thresholds, *options), []
    return _split_at_each(score, thresholds, box, plan, n_draws)


def _split_at_each(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan, n_draws: int
) -> tuple[list[VolumeEstimate], list[str]]:
    """Estimate by splitting: a run for each threshold, or one for all of them with few draws.

    A run has its bridges at the lowest of its thresholds, and levels alone above.
    """
    distinct, where, back = np.unique(thresholds, return_index=True, return_inverse=True)
    n_before = 0 if plan.first is None else plan.first[0]
    is_apart = n_draws + n_before >= distinct.shape[0] * FEWEST_FOR_BRIDGES
    groups = np.split(where, range(1, where.shape[0]) if is_apart else [])
    points = None if plan.data is None else into_cube(box, plan.data, plan.rng)
    estimates: list[VolumeEstimate] = []
    problems: list[str] = []
    n_scored = 0
    for i, group in enumerate(groups):
        cube, progress = Cube(box, score), part_of(plan.progress, i, len(groups))
        some = [thresholds[k] for k in group]
        run = split(cube, some[0], n_draws // len(groups), plan.rng, progress, points)
        first = None if plan.first is None else (plan.first[0], plan.first[1][group])
        estimates += estimates_of(run, some, plan.level, cube.n_scored, first)
        problems += mixing_problems(run, some[0], some[-1])
        n_scored += cube.n_scored
    estimates = [replace(estimate, n_scored=n_scored) for estimate in rising(estimates)]
    return [estimates[k] for k in back], list(dict.fromkeys(problems))


def _until(
    rtol: float, method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> tuple[list[VolumeEstimate], list[str]]:
    """Run a method with ever more draws, until all errors are small enough.

    The estimate is made from the last run alone. Which run is the last depends on the errors of the
    others, and but for the last decision not on its own error.
    """
    n_draws, n_spent = min(CANDIDATES[method].first_run, plan.most), 0
    while True:
        of_run = plan._replace(n_draws=n_draws, progress=on_top_of(n_spent, plan.progress))
        estimates, problems = _run(method, score, thresholds, box, of_run)
        n_spent += estimates[0].n_scored
        left = plan.most - n_spent
        error = max(estimate.relative_error for estimate in estimates)
        if error <= rtol or left <= n_draws:
            return [replace(estimate, n_scored=n_spent) for estimate in estimates], problems
        growth = min(max(_MARGIN * (error / rtol) ** 2, _LEAST_GROWTH), _MOST_GROWTH)
        n_draws = min(int(growth * n_draws), left)


def on_top_of(n_spent: int, progress: Progress | None, total: int | None = None) -> Progress | None:
    """Return progress that also counts earlier score calls, towards a total or an unknown end."""
    if progress is None:
        return None

    def report(done: int, of: int | None) -> None:
        progress(n_spent + done, total)

    return report
