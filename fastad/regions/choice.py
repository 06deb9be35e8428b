"""``method="auto"``: the method with the smallest expected error, and why it was chosen."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fastad._core.types import IntVector
from fastad.regions import uniform
from fastad.regions.box import Box
from fastad.regions.forest_leaves import is_small
from fastad.regions.methods import CANDIDATES, FEWEST_FOR_OTHERS, Plan, estimate_by
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore

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
_BY_BRIDGES, _FEWEST_FOR_BRIDGES, _BY_LEVELS = (0.7, 0.1), 30_000, 1.24


class _First(NamedTuple):
    """First draws from the whole box."""

    counts: IntVector
    n_drawn: int

    def __str__(self) -> str:
        return f"{self.counts.min()} of {self.n_drawn} first draws"


def choose(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan
) -> list[VolumeEstimate]:
    """Choose a method, estimate by it, and say why."""
    if score.scorer is not None and is_small(score.scorer, thresholds, box):
        why = "the forest is small enough to intersect its leaves"
        return _with_reason(why, estimate_by("exact", score, thresholds, box, plan))
    plain = _plain_method(score, box, plan)
    if (reason := _why_plain(thresholds, plan, plain)) is not None:
        return _with_reason(reason, estimate_by(plain, score, thresholds, box, plan))
    n_first = _FIRST_DRAWS if plan.rtol is None else _FIRST_UNTIL
    n_first = min(n_first, int(_FIRST_PART * plan.budget(plain)))
    # The first of the uniform draws, should these be chosen.
    draws = plan.draws(box)
    if plan.rtol is None:
        first = _First(uniform.count_draws(draws, score, thresholds, n_first), n_first)
    else:
        until = plan.rtol, n_first, plan.level
        soon, counts = uniform.estimate_until(draws, score, thresholds, *until)
        if max(estimate.relative_error for estimate in soon) <= plan.rtol:
            return _with_reason("few uniform draws reach the relative error", soon)
        first = _First(counts, soon[0].n_scored)
    # As large as the fraction may well be, where no draw is inside.
    fraction = max(int(first.counts.min()), 1) / first.n_drawn
    n_draws = plan.budget(plain)
    names = dict.fromkeys(["uniform", plain, "splitting"])
    if plan.rtol is None:
        what = "smallest relative error is"
        costs = {name: _expected(name, fraction, n_draws, box) for name in names}
    else:
        what = "fewest score calls are"
        costs = {name: _calls_until(name, fraction, plan.rtol, box) for name in names}
    method = min(costs, key=lambda name: costs[name])
    others = [
        f"{CANDIDATES[name].name} ({cost:.2g})" for name, cost in costs.items() if name != method
    ]
    why = (
        f"{first} are inside, and the {what} expected of "
        f"{CANDIDATES[method].name}, {costs[method]:.2g}; rejected: {', '.join(others)}"
    )
    if method == "uniform" and plan.rtol is None:
        options = max(n_draws, n_first), plan.level, plan.progress, (n_first, first.counts)
        return _with_reason(why, uniform.estimate_fractions(draws, score, thresholds, *options))
    # Sobol points come on top: without the first draws they might be half as many. Splitting has as
    # many calls as it is compared by.
    left = plan if plan.rtol is not None else plan._replace(n_draws=n_draws)
    left = left if method == "sobol" else left.after(first.n_drawn, method)
    left = left._replace(first=(first.n_drawn, first.counts))
    estimates = estimate_by(method, score, thresholds, box, left)
    return _with_reason(why, estimates, first.n_drawn)


def _plain_method(score: BlockScore, box: Box, plan: Plan) -> str:
    """Return the better one of the methods that draw from the whole box."""
    is_smooth = box.n_features <= _FEW_FEATURES and not box.discrete.any()
    is_expensive = not score.on_threads and plan.rtol is None and plan.budget("sobol") >= _MANY
    return "sobol" if is_expensive and is_smooth else "uniform"


def _why_plain(thresholds: Sequence[float], plan: Plan, plain: str) -> str | None:
    """Return why only draws from the whole box come into question, if that is so."""
    if plan.budget(plain) < FEWEST_FOR_OTHERS:
        return f"n_draws is too small for other methods (they take {FEWEST_FOR_OTHERS} points)"
    if min(thresholds) == -np.inf:
        return "no score is below the threshold (-inf)"
    return None


def _expected(method: str, fraction: float, n_draws: int, box: Box) -> float:
    """Return the relative error that a method is expected to have.

    For Sobol points it is theoretical, for a region with a smooth boundary (He and Wang 2015).
    """
    if method == "splitting":
        if fraction > 0.5:  # no level is passed: draws are uniform ones
            return math.inf
        constant, slope = _BY_BRIDGES if n_draws >= _FEWEST_FOR_BRIDGES else (0.0, _BY_LEVELS)
        return (constant - slope * math.log(fraction)) / math.sqrt(n_draws)
    error = math.sqrt((1 - fraction) / (fraction * n_draws))
    return error * n_draws ** (-0.5 / box.n_features) if method == "sobol" else error


def _calls_until(method: str, fraction: float, rtol: float, box: Box) -> float:
    """Return the score calls that uniform draws or splitting are expected to take."""
    if method == "uniform":
        return uniform.hits_for(rtol) / fraction
    least = CANDIDATES[method].first_run
    return least * max(_expected(method, fraction, least, box) / rtol, 1) ** 2


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
