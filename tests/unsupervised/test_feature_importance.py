"""``feature_importance``: by how much a detector does better with a feature than without."""

import json
import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from sklearn.ensemble import IsolationForest

import fastad
from fastad.errors import InvalidInputError
from fastad.unsupervised import feature_importance

Matrix = npt.NDArray[np.float64]

_RNG = np.random.default_rng(11)
SCALES = np.array([1.0, 2.0, 3.0, 4.0])
TRAIN, TEST = _RNG.normal(size=(2, 300, 4)) * SCALES
FEW: dict[str, Any] = {"n_subspaces": 12, "n_features": 2, "n_draws": 2000, "rng": 0}
COLUMNS = ("em", "em_low", "em_high", "mv", "mv_low", "mv_high")


def density(X: Matrix) -> Callable[[Matrix], Matrix]:
    """Learn the distance to the mean in standard deviations, squared."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    return lambda rows: (((rows - mean) / deviation) ** 2).sum(axis=1)


def flat(X: Matrix) -> Callable[[Matrix], Matrix]:
    """Learn to give all points one score."""
    return lambda rows: np.zeros(len(rows))


def importance(detector: Any = density, X_train: Any = TRAIN, X_test: Any = TEST, **o: Any) -> Any:
    return feature_importance(detector, X_test, X_train=X_train, **{**FEW, **o})


def bits(result: Any) -> Any:
    return [getattr(result, name).tobytes() for name in (*COLUMNS, "n_drawn")]


# Sign and size.


@pytest.mark.slow
def test_a_feature_in_which_the_data_are_dense_helps() -> None:
    """One narrow feature among noise, all of them of a range of 1."""
    X = np.random.default_rng(0).uniform(size=(800, 5))
    X[:, 2] = 0.5 + 0.05 * np.random.default_rng(1).normal(size=800)
    X[[0, 400], 2], X[[1, 401], 2] = 0, 1
    result = importance(IsolationForest(n_estimators=10), X[:400], X[400:], n_subspaces=30)
    assert result.em.argmax() == result.mv.argmax() == 2
    assert result.em_low[2] > 0
    assert result.mv_low[2] > 0
    assert (np.delete(result.em, 2) < 0).all()
    assert (np.delete(result.mv, 2) < 0).all()


def test_differences_are_those_of_the_means_over_draws() -> None:
    """With the draws of `evaluate_unsupervised`, whose seed gives the same."""
    result = importance()
    draws = fastad.evaluate_unsupervised({"it": density}, TEST, X_train=TRAIN, **FEW)
    values = np.exp(draws.draws["it"])
    for feature in range(4):
        has = np.array([feature in features for features in draws.features.tolist()])
        assert result.n_drawn[feature] == has.sum() > 1
        for name, signed in (("em", values[:, 0]), ("mv", -values[:, 1])):
            one, other = signed[has], signed[~has]
            fraction = 2 / 4
            literal = fraction * (one.mean() - other.mean())
            assert getattr(result, name)[feature] == pytest.approx(literal, rel=1e-9)
            errors = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
            freedom = sum(errors) ** 2 / (
                errors[0] ** 2 / (len(one) - 1) + errors[1] ** 2 / (len(other) - 1)
            )
            reach = fraction * math.sqrt(sum(errors)) * stats.t.ppf(0.975, freedom)
            for end, sign in (("low", -1), ("high", 1)):
                bound = getattr(result, f"{name}_{end}")[feature]
                assert bound == pytest.approx(literal + sign * reach, rel=1e-6, abs=1e-9)


def test_it_is_the_criterion_with_a_feature_less_that_without() -> None:
    """Boxes of known volume, and a score that is flat: what all subsets of features give."""
    X = TEST / np.ptp(TEST, axis=0) * [1, 2, 3, 4]
    result = importance(flat, X, X, n_subspaces=600, n_draws=2)

    def mean(features: Any) -> tuple[float, float]:
        volumes = np.array([np.prod(own) for own in combinations(features, 2)])
        return float(np.mean(0.095 / volumes)), float(np.mean(0.099 * volumes))

    em, mv = mean([1, 2, 3, 4])
    for j in range(4):
        em_without, mv_without = mean([k for k in (1, 2, 3, 4) if k != j + 1])
        assert result.em_low[j] < em - em_without < result.em_high[j]
        assert result.mv_low[j] < mv_without - mv < result.mv_high[j]
        assert result.em[j] == pytest.approx(em - em_without, abs=0.005)
        assert result.mv[j] == pytest.approx(mv_without - mv, abs=0.04)


def test_a_constant_feature_counts_neither_as_one_to_draw_nor_for_the_fraction() -> None:
    wide = np.insert(TEST, 1, 7.0, axis=1)
    result = importance(X_train=np.insert(TRAIN, 1, 7.0, axis=1), X_test=wide)
    usual = importance()
    for name in COLUMNS:
        column = getattr(result, name)
        assert math.isnan(column[1])
        assert np.delete(column, 1) == pytest.approx(getattr(usual, name), rel=1e-12, nan_ok=True)
    assert result.n_drawn[1] == 0


def test_a_higher_confidence_is_a_wider_interval() -> None:
    narrow, wide = importance(confidence_level=0.5), importance(confidence_level=0.99)
    assert (narrow.em == wide.em).all()
    assert (wide.em_low < narrow.em_low).all()
    assert (narrow.mv_high < wide.mv_high).all()
    assert (wide.em_low <= wide.em).all()
    assert (wide.em <= wide.em_high).all()
    assert (narrow.confidence_level, wide.confidence_level) == (0.5, 0.99)


# What is unknown.


def test_features_in_no_draw_or_in_all_are_nan() -> None:
    result = importance(n_subspaces=2, n_features=1)
    assert (result.n_drawn <= 2).all()
    for feature, n_drawn in enumerate(result.n_drawn):
        if n_drawn in (0, 2):
            assert math.isnan(result.em[feature])
            assert math.isnan(result.mv[feature])


def test_draws_in_which_em_is_undefined_are_left_out() -> None:
    def by_heart(X: Matrix) -> Callable[[Matrix], Matrix]:
        # Where the last feature was drawn, which alone lies about 100.
        if X[:, -1].mean() < 50:
            return density(X)
        return lambda rows: np.where(np.isin(rows[:, 0], TEST), 0.0, 1.0)

    shift = np.array([0, 0, 0, 100])
    result = importance(by_heart, TRAIN + shift, TEST + shift, n_subspaces=40)
    assert math.isnan(result.em[3])  # no draw with it has a value
    assert np.isfinite(result.em[:3]).all()
    assert np.isfinite(result.mv).all()
    assert result.mv[3] > 0  # a volume of 0
    assert json.loads(result.to_json())["rows"][3]["em"] is None


def test_volumes_of_0_do_not_differ() -> None:
    """The detector knows its test rows by heart, and EM has no value; not a warning of NumPy."""

    def by_heart(X: Matrix) -> Callable[[Matrix], Matrix]:
        return lambda rows: np.where(np.isin(rows[:, 0], TEST), 0.0, 1.0)

    result = importance(by_heart)
    assert np.isnan(result.em).all()
    for name in ("mv", "mv_low", "mv_high"):
        assert getattr(result, name).tolist() == [0.0] * 4


@pytest.mark.parametrize("n_features", [4, 5])
def test_all_features_at_once_leave_none_out(n_features: int) -> None:
    with pytest.raises(InvalidInputError, match=f"n_features must be .* 4.*; found {n_features}"):
        importance(n_features=n_features)


def test_all_features_that_vary_leave_none_out() -> None:
    X = TEST.copy()
    X[:, 0] = 1.0
    with pytest.raises(InvalidInputError, match="n_features must be"):
        importance(X_test=X, n_features=3)


def test_values_that_do_not_differ_have_no_importance() -> None:
    """All ranges are 1, and all volumes."""
    X = np.repeat([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], 10, axis=0)
    result = importance(flat, X, X, n_draws=10)
    assert result.em == pytest.approx(np.zeros(3), abs=1e-15)
    assert result.mv == pytest.approx(np.zeros(3), abs=1e-15)


def test_volumes_that_are_alike_but_for_rounding_give_no_warning() -> None:
    X = TEST / np.ptp(TEST, axis=0)
    result = importance(flat, X, X, n_draws=10, n_subspaces=30)
    assert result.em == pytest.approx(np.zeros(4), abs=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e307])
def test_volumes_beyond_all_floats_are_not_numbers(scale: float) -> None:
    """Without a warning of NumPy, which would be an error here."""

    def own(X: Matrix) -> Callable[[Matrix], Matrix]:
        return lambda rows: abs(rows / scale).sum(axis=1)

    result = importance(own, TRAIN * scale, TEST * scale)
    assert np.isnan([result.mv, result.em]).all()
    assert {row["mv"] for row in json.loads(result.to_json())["rows"]} == {None}


# Results, and how they are made.


def test_results_are_columns() -> None:
    result = importance()
    names = ["feature", *COLUMNS, "n_drawn"]
    assert list(result.to_columns()) == names
    assert result.to_frame().shape == (4, 8)
    plain = json.loads(result.to_json(indent=1))
    assert [row["feature"] for row in plain["rows"]] == [0, 1, 2, 3]
    assert [row["em"] for row in plain["rows"]] == result.em.tolist()
    assert result.n_drawn.sum() == 24


def test_results_cannot_be_changed() -> None:
    result = importance()
    assert not any(getattr(result, name).flags.writeable for name in (*COLUMNS, "n_drawn"))


@pytest.mark.system
def test_the_number_of_processes_changes_no_bit() -> None:
    forest = IsolationForest(n_estimators=3)
    one = bits(importance(forest))
    assert bits(importance(forest, n_jobs=1)) == one
    assert bits(importance(forest, n_jobs=2)) == one
    assert bits(importance(forest, rng=np.random.default_rng(0))) == one
    assert bits(importance(forest, rng=1)) != one
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_draws(n_jobs: int | None) -> None:
    calls: list[Any] = []
    with joblib.parallel_config(backend="threading"):
        importance(n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    assert calls == [(k, 12) for k in range(1, 13)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subspaces": 0}, "n_subspaces must be at least 1; found 0"),
        ({"X_test": TEST[:, :3]}, r"X must have the shape \(n_samples, 4\)"),
        ({"confidence_level": 0}, "confidence_level must lie strictly between 0 and 1"),
    ],
)
def test_bad_values_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        importance(**options)


def test_a_detector_must_learn() -> None:
    with pytest.raises(TypeError, match=r"^detector must have a method fit, or be a function"):
        importance(3)
