"""Detectors of a study: rules of neighbours against slow oracles, and tables of configurations."""

import math
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from fastad._kernels.detectors.neighbourhood import nearest_in_tree, nearest_of_all
from fastad.detectors import neighbourhood
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.knn_detector import Kind, KNNDetector
from fastad.detectors.neighbourhood import Neighbourhood, Rule, impossible_rules
from fastad.detectors.neighbours import grow
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.study.grid import Configuration, paper_detectors, read_detectors

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


def _oracle(training: Points, X: Points, rule: Rule) -> Points:
    squares, rows = _neighbours(training, X)
    distances, rows = np.sqrt(squares)[:, : rule.k], rows[:, : rule.k]
    if rule.kind == "kappa":
        return np.asarray(distances[:, -1])
    if rule.kind == "gamma":
        return np.asarray(distances.mean(axis=1))
    if rule.kind == "delta":
        return np.asarray(np.linalg.norm((training[rows] - X[:, None]).mean(axis=1), axis=1))
    own, others = _neighbours(training, training, itself=False)
    own, others = np.sqrt(own)[:, : rule.k], others[:, : rule.k]
    reaches = own[:, -1]
    densities = 1 / (np.maximum(own, reaches[others]).mean(axis=1) + 1e-10)
    reached = np.maximum(distances, reaches[rows]).mean(axis=1) + 1e-10
    return np.asarray(densities[rows].mean(axis=1) * reached)


def _data(n_train: int, d: int, n: int = 700) -> tuple[Points, Points]:
    rng = np.random.default_rng(n_train + d)
    training = rng.normal(size=(n_train, d)) * rng.uniform(0.5, 2, size=d)
    return training, np.concatenate([rng.uniform(-4, 4, size=(n, d)), training[:40]])


def _possible(n_train: int) -> list[Rule]:
    impossible = impossible_rules(n_train, RULES)
    return [rule for rule in RULES if rule not in impossible]


# --- scores of all rules


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


@pytest.mark.parametrize(("n_train", "d"), [(400, 3), (2500, 2), (300, 40)])
def test_scores_follow_their_definitions(n_train: int, d: int) -> None:
    training, X = _data(n_train, d, 200)
    for rule, scores in zip(RULES, Neighbourhood(training, RULES).score_rows(X), strict=True):
        expected = _oracle(training, X, rule)
        np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12, err_msg=str(rule))


@pytest.mark.parametrize("side", [2, 3, 12])
@pytest.mark.parametrize("n_train", [300, 2500])
def test_of_equal_distances_the_first_rows_count(n_train: int, side: int) -> None:
    """On a grid most places are tied, and of the smallest one all rows are duplicates."""
    rng = np.random.default_rng(side)
    training = rng.integers(0, side, size=(n_train, 2)).astype(np.float64)
    X = np.concatenate([training[:150], rng.integers(-1, 2 * side, size=(150, 2)) / 2])
    for rule, scores in zip(RULES, Neighbourhood(training, RULES).score_rows(X), strict=True):
        expected = _oracle(training, X, rule)
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12, err_msg=str(rule))


def test_more_duplicates_than_neighbours() -> None:
    training = np.repeat(_data(6, 3)[0], 60, axis=0)
    found = Neighbourhood(training, RULES).score_rows(training[::7])
    for rule, scores in zip(RULES, found, strict=True):
        np.testing.assert_allclose(scores, 1.0 if rule.kind == "lof" else 0.0)


_COORDINATES = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1e3, 1e3),
    st.sampled_from([-1.7e308, 1e200, 1.7e308, -0.0, 5e-324, 1e-170]),
)


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
    tiles = neighbourhood._tiles(training)
    points = np.ascontiguousarray(X.T)
    searches: list[tuple[Any, Any]] = [(nearest_of_all, ()), (nearest_in_tree, (grow(training),))]
    for search, trees in searches:
        squares, rows = np.empty((11, k)), np.empty((11, k), np.int64)
        sums = np.empty((4, tiles.shape[0] * tiles.shape[2]))
        search(*trees, tiles, points, 0, sums, squares, rows)
        np.testing.assert_array_equal(squares, expected[:, :k])
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


@pytest.mark.parametrize(("n_train", "d"), [(2500, 2), (100, 30)])
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
    with pytest.raises(TypeError, match="k must be a whole number; found float"):
        Rule("kappa", 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="rules must not be empty"):
        Neighbourhood([[1.0]], [])
    with pytest.raises(InvalidInputError, match="X_train must not be empty"):
        Neighbourhood(np.empty((3, 0)), [Rule("kappa", 1)])
    with pytest.raises(InvalidInputError, match="X_train must hold finite numbers"):
        Neighbourhood([[math.nan]], [Rule("kappa", 1)])
    with pytest.raises(InvalidInputError, match=r"X must have the shape \(n_samples, 1\)"):
        Neighbourhood([[1.0]], [Rule("kappa", 1)]).score_rows([[1.0, 2.0]])


# --- configurations


class Sphere:
    """A detector that is none of a library: no parameters to ask for, lots by an attribute."""

    def __init__(self, centre: Sequence[float], radius: float = 1.0) -> None:
        self.centre, self.radius, self.random_state = centre, radius, None

    def fit(self, X: Points) -> None:
        self.centre[0] += 1.0  # type: ignore[index]

    def score_samples(self, X: Points) -> Points:
        return np.asarray(np.linalg.norm(X - self.centre, axis=1))


def _keys(*entries: Mapping[str, Any]) -> list[str]:
    return [one.key for one in read_detectors(entries)]


def test_the_paper_compares_42_configurations() -> None:
    found = paper_detectors()
    assert len(found) == len({one.key for one in found}) == 42
    assert [one.rule for one in found[:30]] == RULES
    assert [one.key for one in (found[0], found[26], found[28], found[31], found[33])] == [
        "kNN k=1, score=kappa",
        "kNN k=51, score=delta",
        "LOF n_neighbors=20",
        "IForest n_estimators=100",
        "OCSVM gamma=0.01, nu=0.5",
    ]
    gammas = [dict(one.options)["gamma"] for one in found[33:]]
    assert gammas == [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100]
    assert read_detectors([{"preset": "paper"}]) == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_lists_are_combined_in_the_order_written() -> None:
    assert _keys({"kind": "knn", "k": [5, 1], "score": ["gamma", "kappa"]}) == [
        *("kNN k=5, score=gamma", "kNN k=5, score=kappa"),
        *("kNN k=1, score=gamma", "kNN k=1, score=kappa"),
    ]
    assert _keys({"kind": "knn", "score": ["gamma", "kappa"], "k": (5, 1)}) == [
        *("kNN k=5, score=gamma", "kNN k=1, score=gamma"),
        *("kNN k=5, score=kappa", "kNN k=1, score=kappa"),
    ]
    assert _keys({"kind": "knn", "k": 2}, {"kind": "iforest"}, {"kind": "ocsvm", "nu": 0.1}) == [
        *("kNN k=2, score=kappa", "IForest", "OCSVM nu=0.1"),
    ]
    entry = {"name": "S", "estimator": Sphere, "radius": 2.0, "centre": [[0, 1], [2.5, 3]]}
    first, second = read_detectors([entry])
    assert first.options == (("radius", 2.0), ("centre", [0, 1]))
    assert second.key == "S radius=2, centre=[2.5, 3]"
    assert len({first, second, read_detectors([entry])[0]}) == 2


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ([], "detectors must hold at least one table"),
        ([{}], r"detectors\[0\] must have one of the keys preset, kind and .*; found none"),
        ([{"k": 1}], r"detectors\[0\] must have one of the keys .*; found k"),
        ([{"preset": "all"}], r"detectors\[0\].preset must be one of 'paper'; found 'all'"),
        ([{"preset": "paper", "k": 1}], r"detectors\[0\].k is no key"),
        ([{"kind": "svm"}], r"kind must be one of 'knn', 'lof', 'iforest', 'ocsvm'; found 'svm'"),
        ([{"kind": ["knn"]}], r"kind must be one of 'knn'"),
        ([{"kind": "knn"}], r"detectors\[0\].k must be given"),
        ([{"kind": "lof"}], r"detectors\[0\].n_neighbors must be given"),
        ([{"kind": "lof", "k": 3}], r"detectors\[0\].k is no key .*known are n_neighbors"),
        ([{"kind": "knn", "k": []}], r"detectors\[0\].k must hold at least one value"),
        ([{"kind": "knn", "k": [1, 0]}], r"detectors\[0\].k must be at least 1; found 0"),
        ([{"kind": "knn", "k": 1, "score": "mean"}], r"score must be one of 'kappa'.*'mean'"),
        ([{"kind": "knn", "k": [2, 2]}], r"detectors\[0\] .*kNN k=2, score=kappa a second time"),
        ([{"preset": "paper"}, {"kind": "ocsvm", "nu": 0.5, "gamma": 1.0}], r"detectors\[1\] must"),
        ([{"kind": "iforest", "trees": 5}], r"\[0\].trees is no parameter of .*n_estimators"),
        ([{"kind": "iforest", "random_state": 5}], r"\[0\].random_state must be left out"),
        ([{"estimator": "sklearn.svm.OneClassSVM"}], r"detectors\[0\].name must be a label"),
        ([{"name": " ", "estimator": OneClassSVM}], r"detectors\[0\].name must be a label"),
        ([{"name": "A", "estimator": "sklearn.svm.NuOne"}], r"estimator must name .*'NuOne'"),
        ([{"name": "A", "estimator": "no_such.One"}], r"estimator must name .*'no_such'"),
        ([{"name": "A", "estimator": "One"}], r"estimator must name a class .*found 'One'"),
        ([{"name": "A", "estimator": "math.sqrt"}], r"estimator must have a method fit"),
        ([{"name": "A", "estimator": 3}], r"estimator must have a method fit; found builtins.int"),
        ([{"name": "A", "estimator": StandardScaler}], "must have a method score_samples or"),
        ([{"name": "A", "estimator": LocalOutlierFactor()}], "must have a method score_samples or"),
        ([{"name": "A", "estimator": Sphere}], r"\[0\].centre must be given: .*Sphere has no"),
        (
            [{"name": "A", "estimator": Sphere([1.0]), "radius": 3}],
            r"radius is no parameter .*none",
        ),
        ([{"name": "A", "estimator": OneClassSVM(), "mu": 3}], r"mu is no parameter .*nu"),
    ],
)
def test_what_is_wrong_in_a_table_is_named(entries: list[Any], problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        read_detectors(entries)


def test_what_is_no_table_is_refused() -> None:
    for entries in ({"kind": "knn"}, "paper", None):
        with pytest.raises(TypeError, match="detectors must be a list of tables"):
            read_detectors(entries)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"detectors\[1\] must be a table; found 3"):
        read_detectors([{"kind": "knn", "k": 1}, 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"detectors\[0\].n_neighbors must be a whole number"):
        read_detectors([{"kind": "lof", "n_neighbors": [2.0]}])


# --- fitting


def _one(**entry: Any) -> Configuration:
    (one,) = read_detectors([entry])
    return one


def test_classes_are_made_with_their_parameters_and_the_seed() -> None:
    training, X = _data(200, 3)
    options = {"n_estimators": 20, "max_samples": 64}
    expected = -IsolationForest(**options, random_state=7).fit(training).score_samples(X)
    for one in (
        _one(kind="iforest", **options),
        _one(name="F", estimator="sklearn.ensemble.IsolationForest", **options),
        _one(name="F", estimator=IsolationForest, **options),
        _one(name="F", estimator=IsolationForest(max_samples=64), n_estimators=20),
    ):
        scores = pickle.loads(pickle.dumps(one)).compiled(training, 7).score_samples(X)
        np.testing.assert_allclose(scores, expected, rtol=1e-9)
        assert (one.compiled(training, 8).score_samples(X) != scores).any()
    machine = _one(kind="ocsvm", gamma=0.1, nu=0.5)
    fitted = OneClassSVM(gamma=0.1, nu=0.5).fit(training)
    found = machine.compiled(training, 1).score_samples(X)
    np.testing.assert_array_equal(found, compile_scorer(fitted).score_samples(X))


def test_estimators_are_copied_and_steps_are_seeded() -> None:
    training, X = _data(200, 3)
    pipeline = make_pipeline(StandardScaler(), IsolationForest(n_estimators=5))
    one = _one(name="P", estimator=pipeline, isolationforest__max_samples=[50])
    fitted = one.fit(training, 3)
    assert fitted[-1].get_params()["random_state"] == 3
    assert fitted[-1].get_params()["max_samples"] == 50
    assert pipeline[-1].get_params()["random_state"] is None
    assert not hasattr(pipeline[-1], "estimators_")
    again = one.compiled(training, 3).score_samples(X)
    np.testing.assert_array_equal(compile_scorer(fitted).score_samples(X), again)


def test_own_detectors_are_made_anew_each_time() -> None:
    """They keep neither what they learn nor what they do to their parameters."""
    for one in (
        _one(name="S", estimator=Sphere, centre=[[1.0, 2.0]]),
        _one(name="S", estimator=Sphere([1.0, 2.0])),
    ):
        for seed in (4, 5):
            fitted = one.fit(np.zeros((3, 2)), seed)
            assert (fitted.centre, fitted.random_state) == ([2.0, 2.0], seed)


def test_pyod_is_fitted_without_a_word() -> None:
    """Warnings are errors here."""
    pytest.importorskip("pyod")
    training, X = _data(100, 3)
    one = _one(name="INNE", estimator="pyod.models.inne.INNE", n_estimators=5)
    scorer = one.compiled(training, 1)
    assert isinstance(scorer, CompiledScorer)
    np.testing.assert_array_equal(
        scorer.score_samples(X), one.fit(training, 1).decision_function(X)
    )
    with pytest.raises(InvalidInputError, match="COPOD scores a batch together"):
        _one(name="COPOD", estimator="pyod.models.copod.COPOD", contamination=[0.1])


def test_a_rule_is_not_fitted_alone() -> None:
    with pytest.raises(TypeError, match="kNN k=1, score=kappa is a rule of neighbours"):
        _one(kind="knn", k=1).fit(np.zeros((3, 2)), 0)


def test_representations_tell_configurations_apart_in_every_process() -> None:
    made = _one(name="S", estimator=Sphere([1.0]))
    assert repr(made) == f"<Configuration S by {Sphere.__module__}.Sphere>"
    one, other = (_one(name="O", estimator=OneClassSVM(nu=nu)) for nu in (0.1, 0.2))
    assert one.key == other.key
    assert repr(one) != repr(other)
    assert repr(one) == repr(_one(name="O", estimator=OneClassSVM(nu=0.1)))
    assert "sklearn.svm.OneClassSVM" in repr(_one(kind="ocsvm"))
