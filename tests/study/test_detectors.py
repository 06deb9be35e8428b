"""Detectors of a study: tables of configurations."""

import dataclasses
import pickle
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from fastad._kernels.detectors.neighbour_scores import write_means
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.knn import Kind
from fastad.detectors.neighbours import Rule
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.study.configurations import Configuration, check_configurations, read_detectors
from fastad.study.digests import own_code
from fastad.study.papers import paper_detectors
from tests.support import custom
from tests.support.loops import loop

Points = npt.NDArray[np.float64]
KINDS: list[Kind] = ["kappa", "gamma", "delta"]
KS = [1, 3, 5, 7, 9, 13, 21, 31, 51]
RULES = [Rule(kind, k) for k in KS for kind in KINDS] + [Rule("lof", k) for k in (10, 20, 50)]


def _data(n_train: int, d: int, n: int = 700) -> tuple[Points, Points]:
    rng = np.random.default_rng(n_train + d)
    training = rng.normal(size=(n_train, d)) * rng.uniform(0.5, 2, size=d)
    return training, np.concatenate([rng.uniform(-4, 4, size=(n, d)), training[:40]])


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
    result = paper_detectors()
    assert len(result) == len({one.key for one in result}) == 42
    assert [one.rule for one in result[:30]] == RULES
    assert [one.key for one in (result[0], result[26], result[28], result[31], result[33])] == [
        "kNN k=1, score=kappa",
        "kNN k=51, score=delta",
        "LOF n_neighbors=20",
        "IForest n_estimators=100",
        "OCSVM gamma=0.01, nu=0.5",
    ]
    gammas = [dict(one.options)["gamma"] for one in result[33:]]
    assert gammas == [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100]
    assert read_detectors([{"preset": "paper"}]) == result
    assert pickle.loads(pickle.dumps(result)) == result


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
        *("kNN k=2, score=kappa", "IForest", "OCSVM nu=0.1")
    ]
    entry = {"name": "S", "estimator": Sphere, "radius": 2.0, "centre": [[0, 1], [2.5, 3]]}
    first, second = read_detectors([entry])
    assert first.options == (("radius", 2.0), ("centre", [0, 1]))
    assert second.key == "S radius=2.0, centre=[2.5, 3]"
    assert len({first, second, read_detectors([entry])[0]}) == 2


@loop(
    ("entries", "problem"),
    [
        ([], "detectors must contain at least one table"),
        ([{}], r"detectors\[0\] must have one of the keys preset, kind and .*; found none"),
        ([{"k": 1}], r"detectors\[0\] must have one of the keys .*; found k"),
        ([{"preset": "all"}], r"detectors\[0\].preset must be one of 'paper'; found 'all'"),
        (
            [{"preset": "paper", "k": 1}],
            r"detectors\[0\].k is no key of a detector; no other key is known here",
        ),
        ([{"kind": "svm"}], r"kind must be one of 'knn', 'lof', 'iforest', 'ocsvm'; found 'svm'"),
        ([{"kind": ["knn"]}], r"kind must be one of 'knn'"),
        ([{"kind": "knn"}], r"detectors\[0\].k must be given"),
        ([{"kind": "lof"}], r"detectors\[0\].n_neighbors must be given"),
        (
            [{"kind": "lof", "k": 3}],
            r"detectors\[0\].k is no key of a detector; Known are n_neighbors",
        ),
        ([{"kind": "knn", "k": []}], r"detectors\[0\].k must contain at least one value"),
        ([{"kind": "knn", "k": [1, 0]}], r"detectors\[0\].k must be at least 1; found 0"),
        ([{"kind": "knn", "k": 1, "score": "mean"}], r"score must be one of 'kappa'.*'mean'"),
        ([{"kind": "knn", "k": [2, 2]}], r"detectors\[0\] .*kNN k=2, score=kappa a second time"),
        ([{"preset": "paper"}, {"kind": "ocsvm", "nu": 0.5, "gamma": 1}], r"detectors\[1\] must"),
        ([{"kind": "iforest", "trees": 5}], r"\[0\].trees is no parameter of .*n_estimators"),
        ([{"kind": "iforest", "random_state": 5}], r"\[0\].random_state must be left out"),
        ([{"estimator": "sklearn.svm.OneClassSVM"}], r"detectors\[0\].name must be a name"),
        ([{"name": " ", "estimator": OneClassSVM}], r"detectors\[0\].name must be a name"),
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


class Compiled(dict):  # type: ignore[type-arg]
    """A detector that does not tell its parameters, as compiled ones do not."""

    def fit(self, X: Points) -> None:
        """Learn nothing."""

    def score_samples(self, X: Points) -> Points:
        return np.zeros(X.shape[0])


def test_parameters_of_compiled_classes_are_not_checked() -> None:
    assert _keys({"name": "C", "estimator": Compiled, "k": [1, 2]}) == ["C k=1", "C k=2"]


def test_what_is_no_table_is_refused() -> None:
    for entries in ({"kind": "knn"}, "paper", None):
        with pytest.raises(TypeError, match="detectors must be a list of tables"):
            read_detectors(entries)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"detectors\[1\] must be a table; found 3"):
        read_detectors([{"kind": "knn", "k": 1}, 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"detectors\[0\].n_neighbors must be an integer"):
        read_detectors([{"kind": "lof", "n_neighbors": ["2"]}])


# Texts of parameters.


def _distance(a: Points, b: Any) -> float:
    return float(np.abs(a - b).sum())


@lru_cache
def _cached_distance(a: int, b: int) -> int:
    return abs(a - b)


_LAMBDA: Any = lambda a: a  # noqa: E731


def _params(value: object) -> str:
    (one,) = read_detectors([{"name": "S", "estimator": Sphere, "centre": [value]}])
    return one.params


def test_functions_and_objects_have_a_text_without_a_place_in_memory() -> None:
    here = __name__
    for value, text in (
        (_distance, f"{here}._distance"),
        (np.hypot, "numpy.hypot"),
        (_cached_distance, f"{here}._cached_distance"),
        (write_means, "fastad._kernels.detectors.neighbour_scores.write_means"),
        (Sphere, f"{here}.Sphere"),
        (partial(_distance, b=1), f"partial({here}._distance, b=1)"),
        (Sphere([1.0], 2), f"{here}.Sphere(centre=[1.0], radius=2, random_state=None)"),
        ({"f": [_distance, 2.0]}, f"{{'f': [{here}._distance, 2.0]}}"),
        (np.array([1.0, 2.5]), "array([1.0, 2.5], float64)"),
    ):
        assert _params(value) == f"centre={text}"


def test_long_values_differ_by_what_is_not_shown() -> None:
    values = [*range(500)]
    assert _params(values) == _params(np.array(values).tolist()) != _params([*values[:-1], 0])
    assert len(_params(values)) < 200


@pytest.mark.parametrize(
    "value", [lambda a: a, [lambda a: a], Sphere([1.0], _LAMBDA), np.random.RandomState(0)]
)
def test_what_differs_from_process_to_process_is_refused(value: object) -> None:
    says = r"detectors\[0\].centre must be a value whose text is the same in every process"
    with pytest.raises(InvalidInputError, match=says):
        _params(value)
    if isinstance(value, Sphere):
        with pytest.raises(InvalidInputError, match=r"\[0\].estimator must be a value"):
            read_detectors([{"name": "S", "estimator": value}])


# Fitting.


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
    result = machine.compiled(training, 1).score_samples(X)
    np.testing.assert_array_equal(result, compile_scorer(fitted).score_samples(X))


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


@pytest.mark.slow
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
    why = "COPOD scores a batch together, so that the score of a point depends on the others"
    with pytest.raises(InvalidInputError, match=why):
        _one(name="COPOD", estimator="pyod.models.copod.COPOD", contamination=[0.1])


def test_a_rule_is_not_fitted_alone() -> None:
    with pytest.raises(TypeError, match="kNN k=1, score=kappa is a rule of neighbours"):
        _one(kind="knn", k=1).fit(np.zeros((3, 2)), 0)


def test_representations_tell_configurations_apart_in_every_process() -> None:
    made = _one(name="S", estimator=Sphere([1.0]))
    text = f"{Sphere.__module__}.Sphere(centre=[1.0], radius=1.0, random_state=None)"
    assert repr(made) == f"<Configuration S by {text}>"
    assert repr(_one(name="S", estimator=Sphere([2.0]))) != repr(made)
    one, other = (_one(name="O", estimator=OneClassSVM(nu=nu)) for nu in (0.1, 0.2))
    assert one.key == other.key
    assert repr(one) != repr(other)
    assert repr(one) == repr(_one(name="O", estimator=OneClassSVM(nu=0.1)))
    assert "sklearn.svm.OneClassSVM" in repr(_one(kind="ocsvm"))


def test_digests_tell_values_of_different_types_apart() -> None:
    values: list[Any] = [1, 1.0, True, "1", [1], [1.0], (1,), 0.0, -0.0, np.nan, "nan", {}, set()]
    values += [np.array(1), np.array([1]), np.array([1.0]), np.array([1], np.float32)]
    values += [partial(_distance, b=b) for b in (1, 1.0, "1")]
    given = [_one(name="S", estimator=Sphere, centre=[value]) for value in values]
    inside = [_one(name="S", estimator=Sphere(value)) for value in values]
    assert len({one.digest() for one in (*given, *inside)}) == 2 * len(values)
    for one, same in ((1.5, np.float64(1.5)), (np.nan, np.float32("nan")), (2, np.int8(2))):
        assert _params(one) == _params(same)


@dataclasses.dataclass(slots=True)
class InSlots:
    function: Any

    def fit(self, X: Points) -> None:
        """Learn nothing."""

    def score_samples(self, X: Points) -> Points:
        return np.asarray(self.function(X[:, 0]))


def test_attributes_in_slots_count() -> None:
    one, other = (_one(name="S", estimator=InSlots(f)) for f in (np.sqrt, _distance))
    assert one.digest() != other.digest()
    assert "tests.support.custom" in own_code([InSlots(custom.f1)])
    assert repr(one).endswith(f"{__name__}.InSlots(function=numpy.sqrt)>")
    text = f"centre={__name__}.InSlots(function={__name__}._distance)"
    assert _params(InSlots(_distance)) == text


def test_parameters_in_another_order_are_the_same_configuration() -> None:
    first, second = (
        read_detectors([{"name": "forest", "estimator": IsolationForest, **options}])
        for options in (
            {"n_estimators": 5, "max_samples": 8},
            {"max_samples": 8, "n_estimators": 5},
        )
    )
    with pytest.raises(InvalidInputError, match=r"detectors\[1\] must differ .* a second time"):
        check_configurations([*first, *second])


@pytest.mark.parametrize(
    "first", [{"name": "S radius=1, centre=2"}, {"name": "S", "radius": "1, centre=2"}]
)
def test_names_of_configurations_are_unique(first: dict[str, Any]) -> None:
    """Rows of results have nothing else by which to tell them apart."""
    spheres = [first, {"name": "S", "radius": 1, "centre": 2}]
    with pytest.raises(InvalidInputError, match=r"detectors\[1\] must differ .* a second time"):
        read_detectors([{"estimator": LooseSphere, **each} for each in spheres])


class LooseSphere(Sphere):
    def __init__(self, radius: Any = 1, centre: Any = 0) -> None:
        super().__init__(centre, radius)


class FromGlobalGenerator(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any = None) -> "FromGlobalGenerator":
        self.drawn_ = np.random.normal()  # noqa: NPY002  # as some detectors do
        return self

    def score_samples(self, X: Any) -> Any:
        return np.full(len(X), self.drawn_)


def test_detectors_that_draw_from_the_generator_of_the_process_are_seeded() -> None:
    (detector,) = read_detectors([{"name": "drawn", "estimator": FromGlobalGenerator}])
    before: Any = np.random.get_state()  # noqa: NPY002
    drawn = [detector.fit(np.zeros((3, 2)), seed).drawn_ for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    after: Any = np.random.get_state()  # noqa: NPY002
    assert after[1].tolist() == before[1].tolist()
