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
from fastad.regions.importance_sampling.weighted_draws import FEWEST_DRAWS
from fastad.regions.importance_sampling.weights import RefusedError
from fastad.regions.methods import (
    CANDIDATES,
    ENOUGH_INSIDE,
    FEWEST_FOR_OTHERS,
    FIRST_DRAWS,
    Plan,
    estimate_by,
)
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore
from fastad.uncertainty.samples.closed_forms import clopper_pearson

# Sobol points pay where a score is expensive, features are few and regions smooth.
_FEW_FEATURES = 12
_MANY = 1024
# First draws of an expensive score; and the part of all points that first draws are at most.
_FIRST_EXPENSIVE, _FIRST_PART = 2**10, 1 / 8
# Part of the budget of importance sampling for its pilot, and the error that makes one worthwhile:
# relative to as many independent draws, all inside, which a good proposal hardly beats.
_PILOT_PART, _WORTH = 0.1, 1.5
# A gain below this factor is not worth a method that sees only the surroundings of the data.
_GAIN = 0.8
# First draws that contradict importance sampling at this level reject it.
_CONTRADICTION = 1e-4
# Error of splitting by levels: ln(1 / fraction) in units of the root of the score calls, for moves
# that make particles independent.
_BY_LEVELS = 1.24


class _First(NamedTuple):
    """First draws from the whole box."""

    counts: IntVector
    n_drawn: int

    def __str__(self) -> str:
        return f"{self.counts.min()} of {self.n_drawn} first draws"

    def contradict(self, estimates: Sequence[VolumeEstimate]) -> bool:
        """Tell whether an estimate contradicts the draws below its threshold."""
        ends = [
            clopper_pearson(count, self.n_drawn, _CONTRADICTION) for count in self.counts.tolist()
        ]
        return any(
            estimate.high < low or estimate.low > high
            for estimate, (low, high) in zip(estimates, ends, strict=True)
        )


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
    n_first = FIRST_DRAWS if score.on_threads else _FIRST_EXPENSIVE
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
    if first.counts.min() < ENOUGH_INSIDE:
        return _by_rare_event_method(score, thresholds, box, plan, first)
    expected = _expected(plain, first.counts.min() / first.n_drawn, plan.budget(plain), box)
    n_before, why_not = 0, "no data"
    if plan.data is not None:
        estimates, n_before, why_not = _by_data(
            score, thresholds, box, plan, first, expected, plain
        )
        if estimates is not None:
            return estimates
    inside = "enough uniform draws fall inside"
    if plain == "sobol":
        inside = "enough draws fall inside, and features are few enough for Sobol points"
    why = (
        f"{inside} ({first}), with an expected relative error of {expected:.2g}; rejected: "
        f"importance sampling ({why_not})"
    )
    if plan.rtol is not None:
        n_before += first.n_drawn
        left = plan.after(n_before, plain)
        return _with_reason(why, estimate_by(plain, score, thresholds, box, left), n_before)
    left = plan.after(n_before, plain)
    if plain == "sobol":
        # The first draws come on top: taken off, they might halve the next power of two.
        estimates = estimate_by(plain, score, thresholds, box, left)
        return _with_reason(why, estimates, n_before + first.n_drawn)
    options = max(left.budget(plain), n_first), plan.level, plan.progress, (n_first, first.counts)
    return _with_reason(
        why, uniform.estimate_fractions(draws, score, thresholds, *options), n_before
    )


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
    """Return the relative error that draws from the whole box are expected to have.

    For Sobol points it is theoretical, for a region with a smooth boundary (He and Wang 2015).
    """
    error = math.sqrt((1 - fraction) / (fraction * n_draws))
    return error * n_draws ** (-0.5 / box.n_features) if method == "sobol" else error


def _by_data(
    score: BlockScore,
    thresholds: Sequence[float],
    box: Box,
    plan: Plan,
    first: _First,
    plain_error: float,
    plain: str,
) -> tuple[list[VolumeEstimate] | None, int, str]:
    """Estimate by importance sampling where a pilot expects a smaller error than others have.

    Returns
    -------
    estimates : list of VolumeEstimate or None
        None where it is rejected.
    n_scored : int
        Points that were scored in vain.
    why : str
        Reason of a rejection.
    """
    budget = plan.budget("importance")
    best = _WORTH / math.sqrt(budget)
    if plain_error < best:
        return None, 0, f"at best {best / _WORTH:.2g}"
    n_pilot = max(int(_PILOT_PART * budget), FEWEST_DRAWS)
    n_before = 0
    pilot_plan = plan._replace(n_draws=n_pilot, rtol=None, progress=None)
    try:
        pilot = estimate_by("importance", score, thresholds, box, pilot_plan)
        n_before = pilot[0].n_scored
        expected = max(estimate.relative_error for estimate in pilot) * math.sqrt(
            n_pilot / (budget - n_before)
        )
        if expected > _GAIN * plain_error:
            return None, n_before, f"{expected:.2g}"
        contradiction = "the first draws contradict it"
        if first.contradict(pilot):
            return None, n_before, contradiction
        left = plan.after(n_before + first.n_drawn, "importance")
        estimates = estimate_by("importance", score, thresholds, box, left)
    except RefusedError as error:
        return None, n_before + error.n_scored, f"not reliable: {error.why}; {error.numbers}"
    if first.contradict(estimates):
        return None, n_before + estimates[0].n_scored, contradiction
    why = (
        f"data say where to look, and by a pilot the relative error is {expected:.2g}; rejected: "
        f"{CANDIDATES[plain].name} ({plain_error:.2g}; {first})"
    )
    return _with_reason(why, estimates, n_before + first.n_drawn), 0, ""


def _by_rare_event_method(
    score: BlockScore, thresholds: Sequence[float], box: Box, plan: Plan, first: _First
) -> list[VolumeEstimate]:
    """Estimate by a method for tiny regions, where few of the first draws fell inside."""
    few = "too few uniform draws fall inside"
    least = (first.counts.min() + 1) / first.n_drawn
    rejected = (
        f"uniform draws (at least {_expected('uniform', least, plan.budget('uniform'), box):.2g})"
    )
    why, n_before = f"{few}, and no data say where to look ({first})", first.n_drawn
    if plan.data is not None:
        left = plan.after(n_before, "importance")
        try:
            estimates = estimate_by("importance", score, thresholds, box, left)
        except RefusedError as error:
            n_before += error.n_scored
            why = (
                f"{few}, and importance sampling is not reliable, because {error.why} ({first}; "
                f"{error.numbers})"
            )
        else:
            levels = max(_BY_LEVELS * -estimate.log_value for estimate in estimates)
            levels /= math.sqrt(plan.budget("splitting"))
            why = f"{few}, and data say where to look ({first})"
            rejected = f"{rejected}, splitting (by levels {levels:.2g})"
            return _with_reason(f"{why}; rejected: {rejected}", estimates, n_before)
    left = plan.after(n_before, "splitting")
    estimates = estimate_by("splitting", score, thresholds, box, left)
    return _with_reason(f"{why}; rejected: {rejected}", estimates, n_before)


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
