"""Several rules of neighbours by one search, against slow oracles and the single detectors."""

import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor

from fastad._kernels.detectors.neighbours import nearest_in_tree, nearest_of_all
from fastad.detectors.knn import Kind, KNNDetector
from fastad.detectors.neighbour_search import _tiles, build_tree, leaves_in_group
from fastad.detectors.neighbours import Neighbourhood, Rule, impossible_rules
from fastad.errors import InvalidInputError

Points = npt.NDArray[np.float64]
KINDS: list[Kind] = ["kappa", "gamma", "delta"]
KS = [1, 3, 5, 7, 9, 13, 21, 31, 51]
RULES = [Rule(kind, k) for k in KS for kind in KINDS] + [Rule("lof", k) for k in (10, 20, 50)]


def _neighbours(training: Points, X: Points, *, itself: bool = True) -> tuple[Points, Any]:
    """Return squared distances and rows of all neighbours, by distance and row."""
    squares = np.zeros((len(X), len(training)))
    with np.errstate(over="ignore"):
        for j in range(training.shape[1]):
            squares += (training[:, j] - X[:, j, None]) ** 2
    rows = np.argsort(squares, axis=1, kind="stable")
    if not itself:
        rows = rows[rows != np.arange(len(X))[:, None]].reshape(len(X), -1)
    return np.take_along_axis(squares, rows, axis=1), rows


def _oracles(training: Points, X: Points) -> list[tuple[Rule, Points]]:
    """Return the scores of all rules by their definitions."""
    squares, all_rows = _neighbours(training, X)
    inner_squares, inner_rows = _neighbours(training, training, itself=False)
    scores: list[Points] = []
    for rule in RULES:
        distances, rows = np.sqrt(squares[:, : rule.k]), all_rows[:, : rule.k]
        if rule.kind == "kappa":
            scores.append(distances[:, -1])
        elif rule.kind == "gamma":
            scores.append(distances.mean(axis=1))
        elif rule.kind == "delta":
            scores.append(np.linalg.norm((training[rows] - X[:, None]).mean(axis=1), axis=1))
        else:
            inner = np.sqrt(inner_squares[:, : rule.k])
            reaches = inner[:, -1]
            reached = np.maximum(inner, reaches[inner_rows[:, : rule.k]])
            densities = 1 / (reached.mean(axis=1) + 1e-10)
            reach = np.maximum(distances, reaches[rows]).mean(axis=1) + 1e-10
            scores.append(densities[rows].mean(axis=1) * reach)
    return list(zip(RULES, scores, strict=True))


def _data(n_train: int, d: int, n: int = 700) -> tuple[Points, Points]:
    rng = np.random.default_rng(n_train + d)
    training = rng.normal(size=(n_train, d)) * rng.uniform(0.5, 2, size=d)
    return training, np.concatenate([rng.uniform(-4, 4, size=(n, d)), training[:40]])


def _possible(n_train: int) -> list[Rule]:
    impossible = impossible_rules(n_train, RULES)
    return [rule for rule in RULES if rule not in impossible]


@pytest.mark.parametrize(
    ("n_train", "d"),
    # On both sides of a tile, of the coordinates that are added at once, and of the tree's limit.
    [(1, 1), (2, 3), (7, 2), (51, 4), (52, 5), (256, 16), (257, 17), (600, 100), (1500, 1)],
)
def test_scores_are_those_of_the_single_detectors(n_train: int, d: int) -> None:
    training, X = _data(n_train, d)
    rules = _possible(n_train)
    for rule, scores in zip(rules, Neighbourhood(training, rules).score_rows(X), strict=True):
        if rule.kind == "lof":
            factor = LocalOutlierFactor(n_neighbors=rule.k, novelty=True, algorithm="kd_tree")
            expected = -factor.fit(training).score_samples(X)
        else:
            expected = KNNDetector(rule.k, kind=rule.kind).fit(training).score_samples(X)
        # Vectors to several neighbours may cancel.
        floor = 1e-12 if rule.kind == "delta" else 0.0
        np.testing.assert_allclose(scores, expected, rtol=1e-12, atol=floor, err_msg=str(rule))


@pytest.mark.slow
@pytest.mark.parametrize(("n_train", "d"), [(400, 3), (2050, 2), (300, 40)])
def test_scores_follow_their_definitions(n_train: int, d: int) -> None:
    training, X = _data(n_train, d, 200)
    result = Neighbourhood(training, RULES).score_rows(X)
    for scores, (rule, expected) in zip(result, _oracles(training, X), strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12, err_msg=str(rule))


@pytest.mark.parametrize("side", [2, 3, 12])
@pytest.mark.parametrize("n_train", [300, 2050])
def test_of_equal_distances_the_first_rows_count(n_train: int, side: int) -> None:
    """On a grid most places are tied, and of the smallest one all rows are duplicates."""
    rng = np.random.default_rng(side)
    training = rng.integers(0, side, size=(n_train, 2)).astype(np.float64)
    X = np.concatenate([training[:150], rng.integers(-1, 2 * side, size=(150, 2)) / 2])
    result = Neighbourhood(training, RULES).score_rows(X)
    for scores, (rule, expected) in zip(result, _oracles(training, X), strict=True):
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12, err_msg=str(rule))


@pytest.mark.slow
@pytest.mark.parametrize("values", [1, 2, 5, 40])
@pytest.mark.parametrize("k", [1, 7, 50])
def test_tied_places_are_filled_without_comparing_all_rows(values: int, k: int) -> None:
    """Which would take a time in the square of the rows among many duplicates."""
    rng = np.random.default_rng(values)
    training = np.floor(values * rng.random((3000, 3)) ** 2)
    X = np.concatenate([training[:60], rng.integers(-1, 2 * values, size=(60, 3)) / 2])
    squares, expected = _neighbours(training, X)
    distances, rows = np.empty((120, k)), np.empty((120, k), np.int64)
    no_tiles, no_sums = np.empty((0, 3, 8)), np.empty((1, 0))
    points = np.ascontiguousarray(X.T)
    nearest_in_tree(build_tree(training), no_tiles, points, 0, no_sums, distances, rows)
    np.testing.assert_array_equal(distances, np.sqrt(squares[:, :k]))
    np.testing.assert_array_equal(rows, expected[:, :k])


def test_more_duplicates_than_neighbours() -> None:
    training = np.repeat(_data(6, 3)[0], 60, axis=0)
    result = Neighbourhood(training, RULES).score_rows(training[::7])
    for rule, scores in zip(RULES, result, strict=True):
        np.testing.assert_allclose(scores, 1.0 if rule.kind == "lof" else 0.0)


_COORDINATES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1e3, 1e3),
    st.sampled_from([-1.7e308, 1e200, 1.7e308, -0.0, 5e-324, 1e-170]),
)


@pytest.mark.slow
@given(st.data())
def test_both_searches_find_the_first_of_all_neighbours(data: st.DataObject) -> None:
    """Whatever ties, overflows or vanishes."""
    d = data.draw(st.integers(1, 5))
    n_train = data.draw(st.integers(2, 90))
    few = data.draw(st.lists(_COORDINATES, min_size=1, max_size=8))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    training, X = rng.choice(few, size=(n_train, d)), rng.choice(few, size=(11, d))
    k = data.draw(st.integers(1, n_train - 1))
    expected, expected_rows = _neighbours(training, X)
    tiles = _tiles(training)
    points = np.ascontiguousarray(X.T)
    searches: list[tuple[Any, Any]] = [
        (nearest_of_all, ()),
        (nearest_in_tree, (build_tree(training),)),
    ]
    for search, trees in searches:
        distances, rows = np.empty((11, k)), np.empty((11, k), np.int64)
        sums = np.empty((4, tiles.shape[0] * tiles.shape[2]))
        search(*trees, tiles, points, 0, sums, distances, rows)
        np.testing.assert_array_equal(distances, np.sqrt(expected[:, :k]))
        np.testing.assert_array_equal(rows, expected_rows[:, :k])


def test_distances_beyond_all_numbers() -> None:
    training = np.array([[1e308, 1e308], [-1e308, 0.0], [0.0, 0.0]])
    rules = [Rule("kappa", 1), Rule("kappa", 2), Rule("gamma", 3)]
    scores = Neighbourhood(training, rules).score_rows([[0.0, 3.0], [-1e308, 1e308]])
    np.testing.assert_array_equal(scores, [[3, math.inf], [math.inf] * 2, [math.inf] * 2])


def test_order_repetition_and_company_of_rules_change_no_bit() -> None:
    training, X = _data(300, 6)
    scores = Neighbourhood(training, RULES).score_rows(X)
    order = np.random.default_rng(0).permutation(len(RULES))
    mixed = Neighbourhood(training, [*(RULES[i] for i in order), RULES[4]]).score_rows(X)
    np.testing.assert_array_equal(mixed, scores[[*order, 4]])
    for i in (0, 5, 13, 27, 29):
        alone = Neighbourhood(training, [RULES[i]])
        np.testing.assert_array_equal(alone.score_rows(X)[0], scores[i])


@pytest.mark.slow
@pytest.mark.parametrize(("n_train", "d"), [(100, 30), (2050, 2)])
def test_blocks_and_types_change_no_bit(n_train: int, d: int) -> None:
    training, X = _data(n_train, d, 1300)
    own = pickle.loads(pickle.dumps(Neighbourhood(training, RULES)))
    scores = own.score_rows(X)
    for start, stop in ((0, 1), (3, 259), (5, 1300), (600, 601)):
        wide = np.full((len(RULES), 1400), -1.0)
        points = X[start:stop].T  # not contiguous, and left alone
        points.flags.writeable = False
        own.write(points, wide[:, 7 : 7 + stop - start])
        np.testing.assert_array_equal(wide[:, 7 : 7 + stop - start], scores[:, start:stop])
        assert (wide[:, :7] == -1).all()
        assert (wide[:, 7 + stop - start :] == -1).all()
    single = X.astype(np.float32)
    np.testing.assert_array_equal(own.score_rows(single), own.score_rows(single.astype(float)))
    assert own.score_rows(X[:0]).shape == (len(RULES), 0)


def test_rules_that_need_more_rows_are_told_and_refused() -> None:
    rules = [Rule("kappa", 17), Rule("gamma", 21), Rule("lof", 16), Rule("lof", 17)]
    impossible = impossible_rules(17, rules)
    assert impossible == {
        Rule("gamma", 21): "k=21 needs at least 21 training rows; found 17",
        Rule("lof", 17): "k=17 needs at least 18 training rows; found 17",
    }
    training = _data(17, 2)[0]
    assert np.isfinite(Neighbourhood(training, [rules[0], rules[2]]).score_rows(training)).all()
    for rule, reason in impossible.items():
        with pytest.raises(InvalidInputError, match=f"X_train .* {rule.kind} of {reason}"):
            Neighbourhood(training, [rules[0], rule])


def test_bad_rules_and_rows_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"kind must be one of 'kappa'.*found 'median'"):
        Rule("median", 1)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="k must be at least 1; found 0"):
        Rule("kappa", 0)
    with pytest.raises(TypeError, match=r"k must be an integer; found 1\.5"):
        Rule("kappa", 1.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="rules must not be empty"):
        Neighbourhood([[1.0]], [])
    with pytest.raises(InvalidInputError, match="X_train must have at least one feature"):
        Neighbourhood(np.empty((3, 0)), [Rule("kappa", 1)])
    with pytest.raises(InvalidInputError, match="X_train must contain finite numbers"):
        Neighbourhood([[math.nan]], [Rule("kappa", 1)])
    with pytest.raises(InvalidInputError, match=r"X must have the shape \(n_samples, 1\)"):
        Neighbourhood([[1.0]], [Rule("kappa", 1)]).score_rows([[1.0, 2.0]])


@pytest.mark.parametrize("n_leaves", [2**k for k in (0, 5, 6, 7, 16, 22, 23, 30, 32)])
def test_groups_and_leaves_of_one_have_numbers_of_16_bits(n_leaves: int) -> None:
    size = leaves_in_group(n_leaves)
    assert n_leaves % size == 0
    assert size <= 2**16
    assert n_leaves // size <= 2**16
