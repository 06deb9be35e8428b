"""Particles that pass levels, and the ranks that tell whether they have moved."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad.regions.splitting.diagnostics import (
    correlation,
    insertion_p_value,
    rank_deviation,
    ranks_among,
)
from fastad.regions.splitting.particles import Loss, Particles

Array = Any


def particles(scores: list[float]) -> Particles:
    """In two features, the first of which is the index in the list."""
    n = len(scores)
    points = np.stack([np.arange(n, dtype=np.float64), -np.arange(n, dtype=np.float64)])
    return Particles(points, np.array(scores, np.float64))


# Levels.


def test_the_upper_half_leaves_together() -> None:
    own = particles([5, 1, 4, 2, 3, 6])
    loss = own.lose(-10.0)
    assert loss is not None
    assert loss.level == 4
    assert loss.rising.tolist() == [1, 2, 3]
    assert sorted(loss.survivors.tolist()) == [1, 3, 4]
    assert sorted(loss.lost.tolist()) == [0, 2, 5]
    assert own.levels == [math.inf, 4]
    assert own.log_fractions == [0, pytest.approx(math.log(3 / 6))]
    assert set(own.survivors[0].tolist()) == {1, 3, 4}


@pytest.mark.parametrize(
    ("scores", "level", "n_kept"),
    [
        ([1, 2, 2, 2, 3, 4], 2, 1),  # ties at the level leave together, with what is above
        ([1, 1, 1, 1, 3, 4], 3, 4),  # the lowest score is that of more than half: the next one
        ([1, 1, 1, 1, 1, 4], 4, 5),
        ([1, 1, 1, 2, 2, 2], 2, 3),
        ([0, 1, 1, 1, 1, 1], 1, 1),
        ([7, 8], 8, 1),
        ([-math.inf, -math.inf, 0], 0, 2),
        ([0, math.inf, math.inf, math.inf], math.inf, 1),
        ([0.0, -0.0, -0.0, 1.0], 1, 3),  # equal numbers are tied, whatever their bits
    ],
)
def test_tied_particles_leave_together(scores: list[float], level: float, n_kept: int) -> None:
    own = particles(scores)
    loss = own.lose(-math.inf)
    assert loss is not None
    assert loss.level == level
    assert own.log_fractions[-1] == pytest.approx(math.log(n_kept / len(scores)))
    assert all(scores[i] < level for i in loss.survivors)
    assert all(scores[i] >= level for i in loss.lost)
    assert loss.survivors.shape[0] == n_kept == len(scores) - loss.lost.shape[0]


@pytest.mark.parametrize("target", [2.0, 1.0, 0.5, -math.inf])
def test_particles_of_one_score_above_the_target_are_stuck(target: float) -> None:
    own = particles([2, 2, 2])
    assert own.lose(target) is None
    assert own.is_stuck
    assert own.levels == [math.inf]
    assert own.log_fraction(target) == -math.inf
    assert own.variance(target) == math.inf


def test_particles_of_one_score_below_the_target_are_not_stuck() -> None:
    own = particles([2, 2, 2])
    assert own.lose(2.5) is None
    assert not own.is_stuck
    assert own.log_fraction(2.5) == 0


def test_the_target_ends_the_levels_where_it_is_as_near() -> None:
    for target, passes in [(3.9, True), (4.0, False), (4.1, False)]:
        own = particles([5, 1, 4, 2, 3, 6])
        assert (own.lose(target) is not None) == passes
        assert len(own.levels) == 1 + passes
        assert not own.is_stuck


def test_copies_are_of_survivors_each_about_as_often() -> None:
    rng = np.random.default_rng(0)
    own = particles([float(i) for i in range(10)])
    loss = own.lose(-1.0)
    assert loss is not None
    assert sorted(loss.parents(rng).tolist()) == sorted(loss.survivors.tolist())
    few = Loss(1.0, np.zeros(3), np.array([4, 5, 9]), np.arange(10, 20))
    parents = few.parents(rng)
    assert parents.shape == (10,)
    counts = [int((parents == one).sum()) for one in (4, 5, 9)]
    assert sum(counts) == 10
    assert max(counts) - min(counts) <= 1


# Fractions below thresholds, against what the definition says of the passed levels.


class Slow:
    """Lists of scores, level after level."""

    def __init__(self) -> None:
        self.stages: list[tuple[float, list[float], float]] = []  # level, scores, log fraction

    def log_fraction(self, threshold: float) -> tuple[float, int]:
        _, scores, log_fraction = [one for one in self.stages if one[0] >= threshold][-1]
        n_below = sum(score < threshold for score in scores)
        part = math.log(n_below / len(scores)) if n_below else -math.inf
        return log_fraction + part, n_below

    def variance(self, threshold: float) -> float:
        """Sum of (1 - p) / (n p) over the factors p of the fraction."""
        passed = [one for one in self.stages if one[0] >= threshold]
        factors = [
            sum(score < lower[0] for score in upper[1]) / len(upper[1])
            for upper, lower in pairwise(passed)
        ]
        scores = passed[-1][1]
        factors.append(sum(score < threshold for score in scores) / len(scores))
        if factors[-1] == 0:
            return math.inf
        return math.fsum((1 - p) / p for p in factors) / len(scores)


def test_kin_are_no_plateau() -> None:
    """Copies of one particle, and of some that have kept its first coordinate, move once more."""
    own = particles([3.0, 2.0, 1.0, 4.0])
    loss = own.lose(0.5)
    assert loss is not None
    assert loss.lost.tolist() == [0, 3]
    own.replace(loss, np.array([[2.0, 2.0], [-2.0, 5.0]]), np.array([1.0, 1.0]))
    loss = own.lose(0.5)
    assert loss is not None
    assert (loss.level, loss.lost.tolist()) == (2.0, [1])
    own.replace(loss, np.array([[2.0], [7.0]]), np.array([1.0]))
    # All score 1 and have the first coordinate 2: the level stays, and so does the fraction.
    before = own.log_fraction(1.5)
    loss = own.lose(0.5)
    assert loss is not None
    assert (loss.level, loss.survivors.tolist(), loss.lost.tolist()) == (2.0, [0], [1, 2, 3])
    own.replace(loss, np.array([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]), np.array([0.2, 1.2, 1.8]))
    assert own.log_fractions[-1] == own.log_fractions[-2] == pytest.approx(math.log(2 / 4 * 3 / 4))
    assert own.log_fraction(1.5) == pytest.approx(before + math.log(3 / 4))
    assert not own.is_stuck


NUMBERS = st.one_of(
    st.integers(-3, 3).map(float),
    st.sampled_from([-math.inf, math.inf, 0.5, math.nextafter(1, 2), -0.0]),
    st.floats(-5, 5),
)


@given(st.lists(NUMBERS, min_size=1, max_size=24), NUMBERS, st.randoms(use_true_random=False))
def test_fractions_below_any_threshold_are_products_of_the_factors(
    scores: list[float], target: float, random: Any
) -> None:
    own, slow = particles(scores), Slow()
    slow.stages.append((math.inf, list(scores), 0.0))
    for _ in range(30):
        before = own.scores.tolist()
        loss = own.lose(target)
        if loss is None:
            break
        kept = [score for score in before if score < loss.level]
        assert loss.rising.tolist() == sorted(kept)
        assert 0 < len(kept) < len(before)
        assert loss.level > target
        # Not more than half leave, unless ties make it so.
        if len(kept) < len(before) // 2:
            assert sum(score <= loss.level for score in before) > len(before) // 2
        new = [random.choice(kept) for _ in loss.lost]
        positions = np.random.default_rng(len(slow.stages)).random((2, len(new)))
        own.replace(loss, positions, np.array(new, np.float64))
        fraction = slow.stages[-1][2] + math.log(len(kept) / len(before))
        slow.stages.append((loss.level, own.scores.tolist(), fraction))
    assert own.levels == [one[0] for one in slow.stages]
    assert own.log_fractions == pytest.approx([one[2] for one in slow.stages])
    if own.is_stuck:
        assert len(set(own.scores.tolist())) == 1
        assert own.scores[0] >= target
    last = slow.stages[-1][1]
    everything = {*scores, *own.levels, *last, target, math.inf}
    wanted = everything | {math.nextafter(x, math.inf) for x in everything}
    wanted = {threshold for threshold in wanted if threshold >= target}
    for threshold in wanted:
        log_fraction, n_below = slow.log_fraction(threshold)
        assert own.log_fraction(threshold) == pytest.approx(log_fraction, abs=1e-12)
        assert own.n_below(threshold) == n_below
        assert own.variance(threshold) == pytest.approx(slow.variance(threshold), rel=1e-9)
    # All at once, in whatever order; the larger the threshold, the larger the fraction.
    shuffled = sorted(wanted, key=lambda threshold: random.random())
    together = own.log_fractions_below(np.array(shuffled)).tolist()
    assert together == [own.log_fraction(threshold) for threshold in shuffled]
    rising = own.log_fractions_below(np.array(sorted(wanted))).tolist()
    assert rising == sorted(rising)


def test_a_threshold_at_a_level_is_below_that_level() -> None:
    own = particles([1, 2, 3, 4])
    loss = own.lose(-1.0)
    assert loss is not None
    own.replace(loss, np.zeros((2, 2)), np.array([2.5, 0.0]))
    # Scores are now 1, 2, 2.5 and 0, all of them below 3.
    assert own.log_fraction(3.0) == pytest.approx(math.log(1 / 2))
    assert own.n_below(3.0) == 4
    assert own.log_fraction(3.5) == pytest.approx(math.log(3 / 4))
    assert own.log_fraction(2.0) == pytest.approx(math.log(1 / 2) + math.log(2 / 4))
    assert own.log_fraction(0.0) == -math.inf
    assert own.variance(3.0) == pytest.approx(1 / 4)
    assert own.variance(2.0) == pytest.approx(2 / 4)


def test_variances_are_those_of_independent_particles() -> None:
    """Uniform scores, and new ones drawn below each level: no move correlates them."""
    rng = np.random.default_rng(0)
    logs, variances = [], []
    for _ in range(600):
        own = Particles(np.zeros((1, 200)), rng.random(200))
        while (loss := own.lose(0.01)) is not None:
            new: Array = loss.level * rng.random(loss.lost.shape[0])
            own.replace(loss, np.zeros((1, new.shape[0])), new)
        logs.append(own.log_fraction(0.01))
        variances.append(own.variance(0.01))
    assert np.var(logs) == pytest.approx(np.mean(variances), rel=0.25)
    assert np.mean(np.exp(logs)) == pytest.approx(0.01, rel=0.05)


# Ranks.


SAMPLES = st.lists(st.integers(0, 12).map(float) | st.floats(0, 12), min_size=1, max_size=40)


@given(SAMPLES, SAMPLES)
def test_rank_deviations_are_those_of_mann_and_whitney(one: list[float], two: list[float]) -> None:
    result = rank_deviation(np.sort(one), np.array(two))
    if len({*one, *two}) == 1:
        assert math.isnan(result)
        return
    exact = stats.mannwhitneyu(
        two, one, use_continuity=False, method="asymptotic", alternative="less"
    )
    assert stats.norm.cdf(result) == pytest.approx(exact.pvalue, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 10, 999, 100_003, 300_007, 2_000_003])
def test_rank_deviations_of_what_is_all_tied_are_unknown(n: int) -> None:
    assert math.isnan(rank_deviation(np.full(n, 3.0), np.full(n + 5, 3.0)))


def test_ranks_of_ties_are_in_the_middle() -> None:
    rising = np.array([1.0, 2, 2, 4])
    scores = np.array([0.0, 1, 2, 3, 4, 5])
    assert ranks_among(rising, scores).tolist() == [0, 1 / 8, 4 / 8, 6 / 8, 7 / 8, 1]
    # Of all of them: 1/2, so that copies that have not moved deviate by nothing.
    assert ranks_among(rising, rising).mean() == pytest.approx(0.5)
    assert rank_deviation(rising, rising) == pytest.approx(0, abs=1e-15)


def deviations_of(
    rng: np.random.Generator, n_steps: int, new: Any, of: Any = None, n: int = 50
) -> list[float]:
    of = (lambda n: rng.random(n)) if of is None else of
    results = []
    for _ in range(n_steps):
        rising = np.sort(of(n))
        results.append(rank_deviation(rising, new(rising)))
    return results


@pytest.mark.evidence
@pytest.mark.parametrize("n_steps", [1, 40])
@pytest.mark.parametrize("ties", [False, True])
def test_p_values_of_new_points_are_seldom_small(n_steps: int, ties: bool) -> None:
    rng = np.random.default_rng(n_steps)

    def of(n: int) -> Array:
        return rng.integers(0, 4, n).astype(np.float64) if ties else rng.random(n)

    p_values = np.array(
        [insertion_p_value(deviations_of(rng, n_steps, lambda x: of(50), of)) for _ in range(400)]
    )
    assert ((p_values >= 0) & (p_values <= 1)).all()
    for nominal in (0.001, 0.01, 0.1, 0.3):
        count = int((p_values < nominal).sum())
        assert stats.binom.sf(count - 1, 400, nominal) > 1e-6
    # Nor never: that would find nothing.
    assert (p_values < 0.5).mean() > 0.02


def test_p_values_of_copies_that_have_not_moved_are_tiny() -> None:
    rng = np.random.default_rng(0)
    copies = deviations_of(rng, 20, lambda rising: rng.permutation(rising))
    assert insertion_p_value(copies) < 1e-10
    nearly = deviations_of(rng, 60, lambda rising: rising + rng.normal(0, 0.01, rising.shape[0]))
    assert insertion_p_value(nearly) < 1e-6


@pytest.mark.parametrize("shift", [-0.15, 0.15])
def test_p_values_of_shifted_points_are_tiny(shift: float) -> None:
    rng = np.random.default_rng(0)
    shifted = deviations_of(rng, 40, lambda rising: rng.random(50) + shift)
    assert insertion_p_value(shifted) < 1e-10


def test_p_values_of_points_that_know_of_each_other_are_tiny() -> None:
    """Copies of few survivors that have moved together: their mean rank scatters too much."""
    rng = np.random.default_rng(0)
    together = deviations_of(
        rng, 60, lambda rising: np.clip(rng.random() + rng.normal(0, 0.05, 50), 0, 1)
    )
    assert insertion_p_value(together) < 1e-10


def test_p_values_of_little() -> None:
    assert insertion_p_value([]) == 1
    assert insertion_p_value([math.nan, math.nan]) == 1
    known = [0.3, -1.2, 0.8, 2.0]
    assert insertion_p_value([*known, math.nan]) == insertion_p_value(known)
    assert insertion_p_value(known) > 0.1


def test_correlations() -> None:
    rng = np.random.default_rng(0)
    one, two = rng.random(200), rng.random(200)
    assert correlation(one, two) == pytest.approx(np.corrcoef(one, two)[0, 1])
    assert correlation(one, 3 * one + 1) == pytest.approx(1)
    assert correlation(one, -one) == pytest.approx(-1)
    assert correlation(one, np.full(200, 0.25)) == 0
