"""Volumes by one method: with a number of draws, or until a relative error is reached."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from fastad._core.progress import Progress
from fastad._core.types import FloatMatrix
from fastad.regions import uniform
from fastad.regions.box import Box
from fastad.regions.forest_leaves import exact_fractions
from fastad.regions.importance_sampling import sampling as importance
from fastad.regions.importance_sampling.weights import RefusedError
from fastad.regions.plan import Plan
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore, Cube, into_cube
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.regions.splitting.estimation import estimates_of, mixing_problems
from fastad.regions.splitting.repeats import split

# Draws of the first run until a relative error is reached.
_FIRST_RUN = {"sobol": 2**12, "importance": 2 * 10**4, "splitting": 10**5}
# A run has at least so many times the draws of the last one, and at most; and a few more than the
# error of the last one asks for, which is an estimate itself.
_LEAST_GROWTH, _MOST_GROWTH, _MARGIN = 2.0, 32.0, 1.2
_REFUSED_GROWTH = 4.0


def estimate_by(
    method: str, score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Estimate the fraction below each threshold by one method."""
    if method == "exact":
        return exact_fractions(score.scorer, thresholds, box, level=plan.level)
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
    options = n_draws, level, rng, progress
    if method == "sobol":
        # Here, because SciPy's sequences take a while to import.
        from fastad.regions import quasi

        return quasi.estimate_fractions(box, score, thresholds, *options), []
    cube = Cube(box, score)
    points = None if plan.data is None else into_cube(box, plan.data, rng)
    if method == "splitting":
        run = split(cube, min(thresholds), n_draws, rng, progress, points)
        problems = mixing_problems(run, min(thresholds))
        return estimates_of(run, thresholds, level, cube.n_scored), problems
    # A plan of this method has data.
    points = cast(FloatMatrix, points)
    return importance.estimate_fractions(cube, thresholds, points, *options), []


def _until(
    rtol: float,
    method: str,
    score: BlockScore,
    thresholds: Sequence[float],
    box: Box,
    plan: Plan,
) -> tuple[list[VolumeEstimate], list[str]]:
    """Run a method with ever more draws, until all errors are small enough.

    The estimate is that of the last run alone. Which one that is depends on the errors of the
    others, and but for the last decision not on itself.
    """
    n_draws, n_spent = min(_FIRST_RUN[method], plan.most), 0
    while True:
        of_run = plan._replace(n_draws=n_draws, progress=_on_top_of(n_spent, plan.progress))
        try:
            estimates, problems = _run(method, score, thresholds, box, of_run)
        except RefusedError as refused:
            n_spent += refused.n_scored
            left = plan.most - n_spent
            # More draws do not help against few data, nor where many did not.
            if refused.argument == "data" or n_draws >= min(plan.budget(method), left):
                refused.n_scored = n_spent
                raise
            n_draws = min(int(_REFUSED_GROWTH * n_draws), left)
            continue
        n_spent += estimates[0].n_scored
        left = plan.most - n_spent
        error = max(estimate.relative_error for estimate in estimates)
        if error <= rtol or left <= n_draws:
            return [replace(estimate, n_scored=n_spent) for estimate in estimates], problems
        growth = min(max(_MARGIN * (error / rtol) ** 2, _LEAST_GROWTH), _MOST_GROWTH)
        n_draws = min(int(growth * n_draws), left)


def _on_top_of(n_spent: int, progress: Progress | None) -> Progress | None:
    """Return progress that counts what was scored before, towards an end that is not known."""
    if progress is None:
        return None

    def report(done: int, of: int | None) -> None:
        progress(n_spent + done, None)

    return report
