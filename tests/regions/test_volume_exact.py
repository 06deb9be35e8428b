"""The exact volume of isolation forests: against all cells one by one, and what is refused."""

import importlib
import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fastad import Box, InvalidInputError, compile_scorer, volume
from fastad._core.threads import thread_limit
from fastad.detectors import forest as compiled_forest
from fastad.detectors.forest import ForestScorer
from fastad.regions import forest_leaves as leaves
from fastad.regions.forest_leaves import exact_fractions, is_small
from tests.support.volumes import fields

Matrix = npt.NDArray[np.float64]

SQUARE = Box([-3, -3], [3, 3])


def fit(X: npt.NDArray[Any], **options: Any) -> Any:
    return IsolationForest(**{"n_estimators": 3, "random_state": 0, **options}).fit(X)


def normal(n_samples: int, n_features: int, seed: int = 0) -> Matrix:
    return np.random.default_rng(seed).normal(size=(n_samples, n_features))


def fractions(scorer: Any, thresholds: Any, box: Box, **options: Any) -> list[float]:
    result = exact_fractions(scorer, thresholds, box, level=0.95, **options)
    return [one.value for one in result]


# All cells one by one.


def first_to_the_right(split: float) -> float:
    """The smallest number that single precision rounds to one above a split."""
    low, high = -1e39, 1e39
    with np.errstate(over="ignore"):
        while (middle := low / 2 + high / 2) not in (low, high):
            low, high = (low, middle) if float(np.float32(middle)) > split else (middle, high)
    return high


def intervals(
    forest: Any, feature: int, low: float, high: float, values: Matrix | None
) -> tuple[list[float], list[Fraction]]:
    """A point of each interval between splits and the fraction of its feature."""
    if values is not None:
        return values.tolist(), [Fraction(1, len(values))] * len(values)
    ends = {low}
    for tree, features in zip(forest.estimators_, forest.estimators_features_, strict=True):
        own = tree.tree_
        inner = own.children_left >= 0
        splits = own.threshold[inner][features[own.feature[inner]] == feature]
        ends |= {end for end in map(first_to_the_right, splits.tolist()) if low < end < high}
    points = sorted(ends)
    width = Fraction(high) - Fraction(low)
    pairs = itertools.pairwise([*points, high])
    return points, [(Fraction(stop) - Fraction(start)) / width for start, stop in pairs]


def all_cells(forest: Any, scorer: Any, box: Box) -> tuple[list[float], list[Fraction]]:
    """Score and fraction of every cell of the grid of all splits."""
    sides = [
        intervals(forest, j, low, high, box.values[j])
        for j, (low, high) in enumerate(zip(box.low.tolist(), box.high.tolist(), strict=True))
    ]
    points = np.array(list(itertools.product(*(side[0] for side in sides))))
    parts = itertools.product(*(side[1] for side in sides))
    return scorer.score_samples(points).tolist(), [
        math.prod(one, start=Fraction(1)) for one in parts
    ]


def near(scores: list[float]) -> list[float]:
    """All scores, the floats next to them, and both infinities."""
    known = np.unique(scores)
    every = (known, np.nextafter(known, 0), np.nextafter(known, 1), [-np.inf, np.inf, 0.5])
    return [float(score) for one in every for score in one]


def check(detector: Any, box: Box) -> None:
    forest = getattr(detector, "detector_", detector)
    scorer = compile_scorer(detector)
    scores, parts = all_cells(forest, scorer, box)
    thresholds = near(scores)
    for threshold, fraction in zip(thresholds, fractions(scorer, thresholds, box), strict=True):
        inside = (part for score, part in zip(scores, parts, strict=True) if score < threshold)
        expected = float(sum(inside, Fraction(0)))
        assert fraction == pytest.approx(expected, rel=1e-12, abs=1e-15)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(1, 14),
    n_features=st.integers(1, 3),
    n_trees=st.integers(1, 4),
    max_features=st.sampled_from([1.0, 0.5]),
    step=st.sampled_from([0.0, 0.1, 1.0]),
    discrete=st.lists(st.booleans(), min_size=3, max_size=3),
    shift=st.sampled_from([0.0, 0.0, 1.0, 100.0]),
)
def test_every_cell(
    seed: int,
    n_samples: int,
    n_features: int,
    n_trees: int,
    max_features: float,
    step: float,
    discrete: list[bool],
    shift: float,
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    X = np.round(X / step) * step if step else X
    forest = IsolationForest(
        n_estimators=n_trees, max_samples=n_samples, max_features=max_features, random_state=seed
    )
    forest.fit(X)
    low = rng.uniform(-2, 0, size=n_features) + shift
    high = low + rng.uniform(0.1, 4, size=n_features)
    values = [
        rng.uniform(low[j], high[j], size=3) if discrete[j] else None for j in range(n_features)
    ]
    check(forest, Box(low, high, values=values))


@pytest.mark.parametrize("contamination", [0.1, 0.3])
def test_pyod(contamination: float) -> None:
    detector = importlib.import_module("pyod.models.iforest").IForest
    X = normal(40, 2)
    fitted = detector(n_estimators=4, max_samples=10, contamination=contamination, random_state=0)
    check(fitted.fit(X), SQUARE)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1e300, 1e300), (-1.7e308, 1.7e308), (-1e39, 0.5), (0.25, 1e300), (1e39, 1e40)],
)
def test_boxes_beyond_single_precision(low: float, high: float) -> None:
    forest = fit(normal(30, 2), max_samples=8)
    check(forest, Box([low, -3], [high, 3]))
    check(forest, Box([low, -3], [high, 3], values=[[low, high], None]))


def test_boxes_as_wide_as_a_step_of_single_precision() -> None:
    forest = fit(normal(30, 1), max_samples=8)
    split = np.float32(forest.estimators_[0].tree_.threshold[0])
    below, above = (float(np.nextafter(split, np.float32(sign))) for sign in (-9, 9))
    check(forest, Box([below], [above]))
    check(forest, Box([float(split)], [above]))


def test_splits_at_the_ends_of_the_box() -> None:
    X = np.arange(20.0)[:, np.newaxis]
    forest = fit(X, max_samples=8)
    ends = sorted({first_to_the_right(t) for t in forest.estimators_[0].tree_.threshold[:3]})
    check(forest, Box(ends[:1], ends[1:2]))


def test_constant_discrete_features() -> None:
    check(fit(normal(30, 2), max_samples=8), Box([-3, 0.5], [3, 0.5], values=[None, [0.5]]))


@pytest.mark.parametrize("n_samples", [1, 30])
def test_trees_of_one_leaf(n_samples: int) -> None:
    forest = fit(np.ones((n_samples, 2)), max_samples=n_samples)
    check(forest, SQUARE)
    score = float(-forest.score_samples([[0.0, 0.0]])[0])
    thresholds = [score, float(np.nextafter(score, 1))]
    assert fractions(compile_scorer(forest), thresholds, SQUARE) == [0.0, 1.0]


# Forests that are too large for that.


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "options", "n_draws"),
    [((1000, 3), {"n_estimators": 60}, 10**6), ((200, 40), {"max_samples": 16}, 10**5)],
    ids=["many trees", "many features"],
)
def test_inside_of_intervals_of_draws(
    shape: tuple[int, int], options: dict[str, Any], n_draws: int
) -> None:
    X = normal(*shape)
    scorer = compile_scorer(fit(X, **options))
    box = Box.from_data(X)
    thresholds = np.quantile(scorer.score_samples(X), [0.1, 0.5, 0.95]).tolist()
    drawn = volume(
        scorer, thresholds, box, method="uniform", n_draws=n_draws, confidence_level=0.9999, rng=0
    )
    for fraction, estimate in zip(fractions(scorer, thresholds, box), drawn, strict=True):
        assert estimate.low < fraction < estimate.high


def test_all_fractions_between_scores() -> None:
    """They rise from 0 to 1, with a step at each score that some cell has."""
    scorer = compile_scorer(fit(normal(200, 2), max_samples=64, n_estimators=2))
    points = np.random.default_rng(0).uniform(-3, 3, size=(20_000, 2))
    scores = np.unique(scorer.score_samples(points))
    result = fractions(scorer, [-np.inf, *scores, np.inf], SQUARE)
    assert result[0] == 0.0
    assert result[-1] == pytest.approx(1.0, abs=1e-14)
    assert (np.diff(result[1:]) > 0).all()


def test_several_thresholds_are_as_one_by_one() -> None:
    X = normal(300, 3)
    scorer = compile_scorer(fit(X, n_estimators=20, max_samples=32))
    box = Box.from_data(X)
    thresholds = np.quantile(scorer.score_samples(X), [0.9, 0.1, 0.5, 0.1, 0.99]).tolist()
    result = fractions(scorer, thresholds, box)
    alone = [fractions(scorer, [one], box)[0] for one in thresholds]
    assert result == pytest.approx(alone, rel=1e-13)
    assert result[1] == result[3]


@pytest.mark.parametrize("offset", [0, 1, 2, 3])
def test_scores_that_do_not_fall_from_float_to_float(offset: int) -> None:
    """As powers may that are rounded badly: each class of sums is on one side of a threshold."""
    first = int(np.array(3.0).view(np.int64))

    class Wavering(ForestScorer):
        def __init__(self) -> None:
            pass

        def finish(self, depths: Matrix, scores: Matrix) -> None:
            scores[:] = first - (depths.view(np.int64) ^ 3)

    bits = np.arange(first - 500, first + 500)
    least, largest = bits[[0, -1]].view(np.float64)
    thresholds = np.array([-100.0 - offset, offset, 77.0])
    breaks = leaves._breaks(Wavering(), thresholds, least, largest)
    classes = np.searchsorted(breaks, bits.view(np.float64), side="right")
    for threshold in thresholds:
        below = first - (bits ^ 3) < threshold
        for own in range(breaks.shape[0] + 1):
            assert np.unique(below[classes == own]).shape == (1,)


# The search.


@pytest.fixture
def problem() -> tuple[Any, list[float], Box]:
    X = normal(300, 3)
    scorer = compile_scorer(fit(X, n_estimators=20, max_samples=64))
    return scorer, np.quantile(scorer.score_samples(X), [0.2, 0.9]).tolist(), Box.from_data(X)


def test_threads_change_no_bit(
    problem: tuple[Any, list[float], Box], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leaves, "_NODES_A_ROUND", 2000)
    results = []
    for n_threads in (1, 2, 5):
        with thread_limit(n_threads):
            results.append(fractions(*problem))
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize(("nodes", "cells", "parts"), [(1, 2, 3), (500, 1, 1), (5000, 64, 40)])
def test_rounds_and_memory_change_nothing(
    problem: tuple[Any, list[float], Box],
    monkeypatch: pytest.MonkeyPatch,
    nodes: int,
    cells: int,
    parts: int,
) -> None:
    X = normal(50, 2)
    small = compile_scorer(fit(X)), [0.45, 0.5], SQUARE
    for own in (small, problem) if nodes > 1 else (small,):
        expected = fractions(*own)
        with monkeypatch.context() as patch:
            patch.setattr(leaves, "_NODES_A_ROUND", nodes)
            patch.setattr(leaves, "_CELLS", cells)
            patch.setattr(leaves, "_PARTS", parts)
            assert fractions(*own) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(("most_steps", "top_levels"), [(256, 8), (0, 0), (3, 2), (20, 4)])
def test_trees_as_nodes(monkeypatch: pytest.MonkeyPatch, most_steps: int, top_levels: int) -> None:
    """Followed one by one they lead to the scores, however trees are laid out."""
    monkeypatch.setattr(compiled_forest, "_MOST_STEPS", most_steps)
    monkeypatch.setattr(compiled_forest, "_TOP_LEVELS", top_levels)
    scorer = compile_scorer(fit(normal(100, 3), max_features=2, max_samples=50))
    assert isinstance(scorer, ForestScorer)
    trees = scorer.trees()
    points = normal(50, 3, seed=1)
    depths = np.zeros(50)
    for root in trees.roots:
        for i, point in enumerate(points.astype(np.float32)):
            node = root
            while (feature := trees.features[node]) >= 0:
                right = point[feature] > trees.cuts[node]
                child = trees.rights[node] if right else trees.lefts[node]
                assert child > node
                node = child
            depths[i] += trees.values[node]
    scores = np.empty(50)
    scorer.finish(depths, scores)
    assert scores.tobytes() == scorer.score_samples(points).tobytes()


# What is small.


@pytest.mark.parametrize(
    ("n_trees", "max_samples", "n_features", "n_thresholds"),
    [(100, 256, 2, 1), (30, 256, 3, 1), (10, 256, 3, 9), (10, 64, 4, 1), (3, 256, 8, 1)],
)
def test_small_is_what_takes_few_nodes(
    n_trees: int, max_samples: int, n_features: int, n_thresholds: int
) -> None:
    X = normal(1000, n_features)
    scorer = compile_scorer(fit(X, n_estimators=n_trees, max_samples=max_samples))
    box = Box.from_data(X)
    thresholds = np.quantile(
        scorer.score_samples(X), np.linspace(0, 1, n_thresholds + 2)[1:-1]
    ).tolist()
    whole = leaves._whole(leaves._problem(scorer, thresholds, box))
    whole.run(10**9)
    n_nodes = int(whole.state.counts[2])
    assert is_small(scorer, thresholds, box, most_nodes=4 * n_nodes)
    assert not is_small(scorer, thresholds, box, most_nodes=n_nodes // 4)


def test_what_is_not_small() -> None:
    X = normal(1000, 10)
    scorer = compile_scorer(fit(X, n_estimators=100))
    threshold = float(np.median(scorer.score_samples(X)))
    assert not is_small(scorer, [threshold], Box.from_data(X))
    assert is_small(scorer, [-np.inf, np.inf], Box.from_data(X))
    assert not is_small(compile_scorer(GaussianMixture().fit(X)), [threshold], Box.from_data(X))


# Results and refusals.


def test_result() -> None:
    scorer = compile_scorer(fit(normal(50, 2)))
    (result,) = exact_fractions(scorer, [0.5], SQUARE, level=0.9)
    assert result.low == result.value == result.high
    assert 0 < result.value < 1
    assert result.log_low == result.log_value == result.log_high == math.log(result.value)
    assert (result.method, result.confidence_level, result.threshold) == ("exact", 0.9, 0.5)
    assert (result.standard_error, result.n_drawn, result.n_inside, result.n_scored) == (0, 0, 0, 0)
    assert result.effective_sample_size == math.inf
    assert not result.is_bound
    (none,) = exact_fractions(scorer, [0.0], SQUARE, level=0.9)
    assert (none.value, none.log_value, none.is_bound) == (0.0, -math.inf, False)
    assert fields(result) == fields(exact_fractions(scorer, [0.5], SQUARE, level=0.9)[0])


def test_too_large() -> None:
    X = normal(500, 10)
    scorer = compile_scorer(fit(X, n_estimators=100))
    threshold = float(np.median(scorer.score_samples(X)))
    message = r"too large for the exact volume .* after \d+ cells, .* % of it was decided"
    with pytest.raises(InvalidInputError, match=message):
        exact_fractions(scorer, [threshold], Box.from_data(X), level=0.95, most_nodes=10**6)


def test_other_scorers_are_refused() -> None:
    X = normal(100, 2)
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=2)).fit(X)
    for other in (GaussianMixture().fit(X), pipeline):
        with pytest.raises(
            InvalidInputError, match=r"method='exact' takes a compiled isolation forest; found <"
        ):
            exact_fractions(compile_scorer(other), [0.5], SQUARE, level=0.95)


def test_another_number_of_features_is_refused() -> None:
    scorer = compile_scorer(fit(normal(100, 3)))
    with pytest.raises(
        InvalidInputError, match="box must have 3 features as the detector; found 2"
    ):
        exact_fractions(scorer, [0.5], SQUARE, level=0.95)
