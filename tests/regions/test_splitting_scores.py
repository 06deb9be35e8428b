"""Multilevel splitting: plateaus, tiny fractions, failing scores, and what is not found."""

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats

import fastad
from fastad import Box, InvalidInputError, volume
from fastad.errors import InsufficientMixingWarning
from fastad.regions.scores import Cube, block_score
from fastad.regions.splitting.bridge import Bridge
from fastad.regions.splitting.estimation import estimates_of, log_fractions
from fastad.regions.splitting.particles import Particles
from fastad.regions.splitting.repeats import SplittingRun
from fastad.regions.splitting.repeats import split as run_of
from tests.support.rare import ball, simplex
from tests.support.splitting import Array, of, split, values

# Scores of plateaus.


def test_histogram_like_scores() -> None:
    """Of integers: many particles are tied at each level."""
    d = 6

    def score(X: Array) -> Array:
        return np.floor(X * 4).sum(axis=1)

    # Numbers of ways in which d digits from 0 to 3 have a small sum.
    ways = np.array([1])
    for _ in range(d):
        ways = np.convolve(ways, np.ones(4, np.int64))
    thresholds = [1, 2, 3, 5, 9]
    result = split(score, thresholds, Box([0] * d, [1] * d), 60_000, confidence_level=0.9999)
    for one in result:
        truth = math.log(ways[: int(one.threshold)].sum() / 4**d)
        assert one.log_low <= truth <= one.log_high
        assert abs(one.log_value - truth) < 0.5


@pytest.mark.slow
def test_forests() -> None:
    forest = pytest.importorskip("sklearn.ensemble").IsolationForest
    X = np.random.default_rng(0).normal(0, 0.3, (200, 3))
    scorer = fastad.compile_scorer(forest(n_estimators=5, max_samples=32, random_state=0).fit(X))
    box = Box([-3] * 3, [3] * 3)
    threshold = float(np.quantile(scorer.score_samples(X), 0.2))
    exact = volume(scorer, threshold, box, method="exact")
    assert exact.value < 0.01
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = split(scorer, threshold, box, 40_000, confidence_level=0.9999)
    assert result.log_low <= exact.log_value <= result.log_high
    # A threshold at a plateau is not below it.
    lowest = float(scorer.score_samples(X).min())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = split(scorer, [lowest, math.nextafter(lowest, 1)], box, 40_000)
    exact = volume(scorer, math.nextafter(lowest, 1), box, method="exact")
    assert result[0].log_high >= volume(scorer, lowest, box, method="exact").log_value
    assert result[1].log_low <= exact.log_value <= result[1].log_high


def test_a_plateau_above_the_threshold_gives_a_bound_that_says_so() -> None:
    box = Box([0, 0], [1, 1])

    def score(X: Array) -> Array:
        return np.maximum(X[:, 0], 0.001)

    result = bound = split(score, 0.001, box, 20_000)
    assert result.is_bound
    assert "all particles have the same score" in result.reason
    assert "0.001" in result.reason
    assert result.n_inside == 0
    # One float above, all of the plateau is below.
    result = split(score, math.nextafter(0.001, 1), box, 20_000)
    assert not result.is_bound
    assert result.low <= 0.001 <= result.high
    # The bound is by uniform draws alone.
    assert bound.high >= 0.001
    assert bound.high == pytest.approx(bound.uniform_high)


@pytest.mark.parametrize("number", [1.0, math.inf, -math.inf])
def test_a_constant_score(number: float) -> None:
    box = Box([0, 0], [1, 1])

    def score(X: Array) -> Array:
        return np.full(len(X), number)

    result = split(score, number, box)
    assert result.is_bound
    assert "all particles have the same score" in result.reason
    assert 0 < result.high < 0.01
    # The interval is that by uniform draws, which is not said twice.
    if number == 1:
        assert str(result) == f"< {result.high:.3g} (none of {result.n_drawn} draws fell inside)"
    if number < math.inf:
        result = split(score, math.nextafter(number, math.inf), box)
        assert (result.value, result.is_bound) == (1, False)


def test_infinite_scores() -> None:
    box = Box([0, 0], [1, 1])

    def score(X: Array) -> Array:
        return np.where(X[:, 0] < 0.001, -math.inf, np.where(X[:, 0] < 0.01, 0.0, math.inf))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = split(
            score, [-math.inf, -5.0, 0.5, math.inf], box, 40_000, confidence_level=0.9999
        )
    assert result[0].is_bound
    assert result[0].high < 0.01
    assert result[0].high == pytest.approx(result[0].uniform_high)
    for estimate, fraction in zip(result[1:], (0.001, 0.01, 0.01), strict=True):
        assert estimate.low <= fraction <= estimate.high
        assert abs(estimate.log_value - math.log(fraction)) < 0.5


def test_an_empty_region_gives_a_bound() -> None:
    with pytest.warns(InsufficientMixingWarning, match="n_draws was used up"):
        result = split(lambda X: X[:, 0], -math.inf, Box([0], [1]), 20_000)
    assert result.is_bound
    assert result.n_inside == 0
    assert result.high < 0.01
    # Particles come as near to 0 as they like, never below.
    with pytest.warns(InsufficientMixingWarning, match="n_draws was used up"):
        result = split(lambda X: X[:, 0] + 1, 1.0, Box([0], [1]), 20_000)
    assert result.is_bound
    assert result.high < 0.01
    assert result.high == pytest.approx(result.uniform_high)


# Tiny fractions.


def passed(log_fraction: float, scores: Array) -> Particles:
    """Particles below level 1, which they have come to by equal factors of a half at most.

    None of the first ones was there.
    """
    own = Particles(np.zeros((1, scores.shape[0])), scores)
    own._rising[0] = np.full(scores.shape[0], 1e9)
    n_levels = math.ceil(-log_fraction / math.log(2))
    rising = np.sort(scores)
    for k in range(1, n_levels + 1):
        own.levels.append(1.0 + (n_levels - k))
        own.log_fractions.append(log_fraction * k / n_levels)
        own._rising.append(rising)
    return own


def repeats_of(logs: Sequence[float], n: int = 100) -> SplittingRun:
    """Repeats that have come down a level, of which half of the particles are below 0.5."""
    return SplittingRun(
        [passed(log_fraction + math.log(2), np.arange(n) / n) for log_fraction in logs],
        *([], [], np.empty(0), "there is none"),
    )


def test_estimates_below_the_smallest_float_can_be_written() -> None:
    logs = np.array([-800, -801, -799, -800.5, -799.5, -800, -800, -801])
    result = estimates_of(repeats_of(logs.tolist()), [0.5], 0.95, 10_000)[0]
    assert (result.value, result.is_bound) == (0, False)
    # Each of a thousand levels adds to the variance.
    assert -820 < result.log_low < result.log_value < result.log_high < -770
    assert result.n_inside == 400
    assert str(result).count("e-3") == 3
    text = json.dumps(result.to_dict(), allow_nan=False)
    assert json.loads(text)["log_value"] == result.log_value
    rest = result.complement
    assert (rest.value, rest.high) == (1, 1)
    assert rest.log_value == 0
    json.dumps(rest.to_dict(), allow_nan=False)


@pytest.mark.parametrize("log_fraction", [-600.0, -730.0, -744.0, -800.0])
def test_relative_errors_do_not_depend_on_the_size(log_fraction: float) -> None:
    """Floats near the smallest one have few digits, or none."""
    logs = log_fraction + np.random.default_rng(0).normal(0, 1, 8)
    result = estimates_of(repeats_of(logs.tolist(), 10_000), [0.5], 0.95, 10_000)[0]
    variance = float(logs.var(ddof=1))
    error = math.sqrt(variance / 8 + variance**2 / (2 * 7))
    assert result.relative_error == pytest.approx(error, rel=1e-9)


@pytest.mark.parametrize(
    ("deviation", "level", "by_zou"), [(0.5, 0.95, False), (2.0, 0.95, True), (2.0, 0.1, False)]
)
def test_intervals_are_those_of_a_log_normal_mean(
    deviation: float, level: float, *, by_zou: bool
) -> None:
    """Cox: the mean logarithm and half its variance; the scatter of both. Above Zou, if farther."""
    logs = np.random.default_rng(0).normal(-20, deviation, 8)
    result = estimates_of(repeats_of(logs.tolist(), 10_000), [0.5], level, 10_000)[0]
    variance = float(logs.var(ddof=1))
    centre = float(logs.mean()) + variance / 2
    error = math.sqrt(variance / 8 + variance**2 / (2 * 7))
    assert result.log_value == pytest.approx(centre)
    assert result.standard_error / result.value == pytest.approx(error)
    cox = float(stats.t.ppf((1 + level) / 2, 7)) * error
    of_mean = stats.t.ppf(max(level, 0.5), 7) * math.sqrt(variance / 8)
    of_shift = variance / 2 * (7 / stats.chi2.ppf(min(1 - level, 0.5), 7) - 1)
    zou = math.hypot(of_mean, of_shift)
    assert (zou > cox) == by_zou
    assert result.log_high == pytest.approx(centre + max(cox, zou))
    assert result.log_low == pytest.approx(centre - cox)


@pytest.mark.parametrize(("ratio", "df"), [(0.5, 1000.0), (1.2, 1000.0), (1.2, 5.0), (4.0, 1000.0)])
def test_intervals_by_bridges_have_the_degrees_of_freedom_of_their_variance(
    ratio: float, df: float
) -> None:
    """Where repeats differ by more than chance explains, both variances count alike."""
    level, variance, n_independent = 0.9, 1e-4, 200.0
    logs = np.linspace(-1, 1, 8)
    logs *= math.sqrt(ratio * variance / float(logs.var(ddof=1)))
    bridge = Bridge(0.5, -20 + logs, variance, df, n_independent, 0.0)
    run = replace(repeats_of([-20.0] * 8), bridge=bridge)
    result = estimates_of(run, [0.5], level, 10_000)[0]
    together, of_mean = 7 + df, max((7 * ratio + df) / (7 + df), 1.0)
    if ratio == 4:
        together, of_mean = 14, (ratio + 1) / 2
    half = float(stats.t.ppf((1 + level) / 2, together)) * math.sqrt(of_mean * variance / 8)
    assert result.log_value - result.log_low == pytest.approx(half, rel=1e-3)
    # None of so many places is in such a part with the probability of an end.
    missed = math.log(2 / (1 - level)) / n_independent
    assert result.log_high - result.log_value == pytest.approx(half + missed, rel=1e-2)
    assert "than half of the upper end is for a part of 0.015" in result.reason


@pytest.mark.slow
@pytest.mark.parametrize("deviation", [0.5, 2.0])
def test_intervals_of_few_repeats_cover(deviation: float) -> None:
    """By Cox's upper end .09 of the intervals of the larger deviation were too low."""
    rng = np.random.default_rng(0)
    n_trials, n_missed = 1000, 0
    for _ in range(n_trials):
        logs = rng.normal(-12 - deviation**2 / 2, deviation, 8).tolist()
        result = estimates_of(repeats_of(logs, 200), [0.5], 0.95, 10_000)[0]
        n_missed += not result.log_low <= -12 <= result.log_high
    assert n_missed <= stats.binom.ppf(0.999, n_trials, 0.05)


def test_an_estimate_is_at_most_the_highest_of_the_repeats() -> None:
    """Of logarithms that differ by tens the half variance led beyond the whole box."""
    logs = [-40.0, -38.0, -20.0, -41.0, -39.0, -40.0, -15.0, -42.0]
    result = estimates_of(repeats_of(logs, 10_000), [0.5], 0.95, 10_000)[0]
    assert np.var(logs, ddof=1) / 2 > 40
    assert result.log_value == pytest.approx(-15)
    assert result.log_low < -40 < result.log_value < result.log_high == 0


def test_intervals_are_not_narrower_than_those_of_independent_particles() -> None:
    result = estimates_of(repeats_of([-20.0] * 8), [0.5], 0.95, 10_000)[0]
    # Each of 28 factors of about a half, and the last half, of 100 particles.
    n_levels = math.ceil((20 - math.log(2)) / math.log(2))
    factor = math.exp((math.log(2) - 20) / n_levels)
    error = math.sqrt((n_levels * (1 / factor - 1) + 1) / 800)
    assert result.standard_error / result.value >= error
    assert result.log_high - result.log_low >= 2 * float(stats.t.ppf(0.975, 7)) * error


@pytest.mark.parametrize(
    ("score", "target"),
    [
        (lambda X: (X**2).sum(axis=1), 1e-4),
        (lambda X: np.floor(8 * X.max(axis=1)), 1.0),  # plateaus
        (lambda X: np.log(X.max(axis=1)), -math.inf),  # the budget ends before
    ],
)
def test_fractions_below_many_thresholds_are_those_of_each(score: Any, target: float) -> None:
    cube = Cube(Box([0] * 4, [1] * 4), block_score(score, 4))
    run = run_of(cube, target, 20_000, np.random.default_rng(0))
    levels = [level for one in run.repeats for level in one.levels]
    scores = score(np.random.default_rng(1).random((100, 4)) ** 4)
    near = [math.nextafter(x, side) for x in levels for side in (-math.inf, math.inf)]
    thresholds = np.array([*levels, *near, *scores, target, math.inf, -math.inf, 0.0])
    result = log_fractions(run, thresholds)
    assert result.tolist() == [
        [one.log_fraction(threshold) for threshold in thresholds.tolist()] for one in run.repeats
    ]
    # In each repeat the larger the threshold, the larger the fraction.
    rising = result[:, np.argsort(thresholds)]
    assert (rising[:, 1:] >= rising[:, :-1]).all()
    assert log_fractions(run, np.empty(0)).shape == (8, 0)


def test_estimates_of_many_thresholds_are_those_of_each() -> None:
    run = repeats_of(np.random.default_rng(0).normal(-20, 0.5, 8).tolist())
    thresholds = [0.5, -1.0, 3.0, 0.25, math.inf]  # -1 is below all scores
    together = estimates_of(run, thresholds, 0.95, 10_000)
    alone = [estimates_of(run, [threshold], 0.95, 10_000)[0] for threshold in thresholds]
    assert [values(one) for one in together] == [values(one) for one in alone]


@pytest.mark.parametrize("n_unfinished", [1, 4, 7])
def test_repeats_that_have_not_come_down_do_not_count_as_nothing(n_unfinished: int) -> None:
    """They were above the threshold as the budget ended: at e**-10 of the box, not at none."""
    run = repeats_of([-20.0] * (8 - n_unfinished))
    run.repeats.extend(passed(-10.0, np.linspace(0.6, 0.9, 100)) for _ in range(n_unfinished))
    result = estimates_of(run, [0.5], 0.95, 10_000)[0]
    assert result.log_high >= -20


def test_copies_that_do_not_move_are_no_plateau() -> None:
    """A score without plateaus; where moves are refused, all particles become copies of one."""
    d = 30

    def score(X: Array) -> Array:
        return X.max(axis=1)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        for seed in range(3):
            result = split(score, 0.05, Box([0] * d, [1] * d), 10_000, rng=seed)
            assert "same score" not in result.reason
            assert result.log_high >= d * math.log(0.05)


# What particles cannot tell.


@pytest.mark.slow
def test_many_tiny_islands() -> None:
    """256 balls, from the beginning about as many particles in each."""
    truth = math.log(math.pi**2 / 2) + 2 * math.log(1e-4)
    covered = 0
    for seed in range(2):
        result = split(
            lambda X: ((4 * X % 1 - 0.5) ** 2).sum(axis=1),
            1e-4,
            Box([0] * 4, [1] * 4),
            100_000,
            rng=seed,
        )
        covered += result.log_low <= truth <= result.log_high
    assert covered == 2


@pytest.mark.evidence
def test_the_interval_of_a_funnel_covers_or_is_warned_of() -> None:
    """The deeper, the narrower, at different rates: no one length of steps fits."""
    # The integral of (0.2 exp(-12 x))^4 over x from 0.8 to 1.
    true = math.log(0.0016 / 48 * (math.exp(-38.4) - math.exp(-48)))

    def score(X: Array) -> Array:
        width = np.exp(-12 * X[:, 0]) / 2
        result: Array = np.maximum(np.abs(X[:, 1:] - 0.5).max(axis=1) / width, 1 - X[:, 0])
        return result

    for seed in range(3):
        with warnings.catch_warnings(record=True) as result:
            warnings.simplefilter("always")
            estimate = split(score, 0.2, Box([0] * 5, [1] * 5), 50_000, rng=seed)
        assert result or estimate.log_low <= true <= estimate.log_high


def test_warnings_name_the_line_of_the_caller() -> None:
    region = simplex(30)  # out of reach
    with warnings.catch_warnings(record=True) as result:
        warnings.simplefilter("always")
        score, box = region.jitted, region.box
        volume(score, region.threshold, box, method="splitting", n_draws=10_000, rng=0)
    assert result
    assert {one.filename for one in result} == {__file__}
    assert all(issubclass(one.category, InsufficientMixingWarning) for one in result)


# Scores that fail, and interrupts.


@pytest.mark.slow
def test_a_score_that_is_no_number_deep_down_is_an_error_that_names_a_point() -> None:
    box = Box([0] * 4, [1] * 4)

    def score(X: Array) -> Array:
        result = X.max(axis=1)
        return np.where(result < 0.01, math.nan, result)

    with pytest.raises(InvalidInputError, match=r"NaN.*\[0\.00"):
        split(score, 1e-6, box, 40_000)

    @numba.njit
    def of_point(x: Any) -> float:
        largest = 0.0
        for j in range(x.shape[0]):
            largest = max(largest, x[j])
        return math.nan if largest < 0.01 else largest

    with pytest.raises(InvalidInputError, match=r"NaN.*\[0\.00"):
        split(of_point, 1e-6, box, 40_000)


def test_exceptions_of_a_score_name_a_point() -> None:
    def score(X: Array) -> Array:
        if (X[:, 0] < 0.01).any():
            raise RuntimeError("no such point")
        return X[:, 0]

    with pytest.raises(InvalidInputError, match=r"detector raised RuntimeError \(no such point\)"):
        split(score, 1e-6, Box([0, 0], [1, 1]))


def test_an_interrupt_of_a_score_passes_through() -> None:
    calls = 0

    def score(X: Array) -> Array:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise KeyboardInterrupt
        return X[:, 0]

    with pytest.raises(KeyboardInterrupt):
        split(score, 1e-6, Box([0, 0], [1, 1]))
    assert calls == 30


def test_an_interrupt_of_progress_passes_through() -> None:
    reports: list[int] = []

    def stop(done: int, of_all: int | None) -> None:
        reports.append(done)
        if len(reports) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        split(ball(5).jitted, 1.0, ball(5).box, progress=stop)
    assert len(reports) == 3


@pytest.mark.parametrize("threshold", [1e-4, 0.3, 0.95])
def test_progress_is_told(threshold: float) -> None:
    reports: list[tuple[int, int | None]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsufficientMixingWarning)
        result = split(
            lambda X: X[:, 0],
            threshold,
            Box([0, 0], [1, 1]),
            20_000,
            progress=lambda done, of_all: reports.append((done, of_all)),
        )
    assert reports
    assert reports == sorted(reports)
    assert {of_all for _, of_all in reports} == {20_000}
    assert reports[-1][0] == min(result.n_scored, 20_000)


def test_progress_does_not_change_a_bit() -> None:
    region = ball(5)
    observed = of(region, 20_000, 0, progress=lambda done, of_all: None)
    assert values(observed) == values(of(region, 20_000, 0))


# The p-value.


def test_p_values_are_of_well_mixed_particles() -> None:
    result = of(ball(5), 20_000, 0)
    assert result.mixing_p_value > 1e-3
    assert 0 <= result.mixing_p_value <= 1
    assert result.to_dict()["mixing_p_value"] == result.mixing_p_value
