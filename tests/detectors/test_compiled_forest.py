"""Compiled isolation forests have the bits of the detectors' own scores."""

import importlib
import pickle
import warnings
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import IsolationForest

from fastad._core.threads import MOST as BLOCK
from fastad.detectors import forest as compiled_forest
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from tests.support.compiled_points import assert_robust
from tests.support.shared_data import shared_file

Matrix = npt.NDArray[np.float64]

_rng = np.random.default_rng(0)
TRAINING = _rng.normal(size=(400, 4))
POINTS = _rng.uniform(-4, 4, size=(150, 4))

OPTIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "few samples": {"max_samples": 7},
    "fraction of the samples": {"max_samples": 0.3},
    "all samples": {"max_samples": 400},
    "half the features": {"max_features": 0.5},
    "one feature": {"max_features": 1},
    "bootstrap": {"bootstrap": True},
    "bootstrap of features": {"bootstrap": True, "max_features": 3, "max_samples": 1.0},
    "one tree": {"n_estimators": 1},
    "two samples": {"max_samples": 2},
    "one sample": {"max_samples": 1},
    "contamination": {"contamination": 0.1},
}


def fit(X: npt.NDArray[Any], **options: Any) -> Any:
    return IsolationForest(**{"n_estimators": 10, "random_state": 0, **options}).fit(X)


def fit_pyod(X: npt.NDArray[Any], **options: Any) -> Any:
    detector = importlib.import_module("pyod.models.iforest").IForest
    return detector(**{"n_estimators": 10, "random_state": 0, **options}).fit(X)


def check_bits(
    forest: Any, X: npt.NDArray[Any], scorer: CompiledScorer | None = None, n_threads: int = 1
) -> None:
    scorer = compile_scorer(forest) if scorer is None else scorer
    expected = -forest.score_samples(X)
    result = scorer.score_samples(X, n_threads=n_threads)
    assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_scores_have_the_bits_of_scikit_learn_and_pyod(options: dict[str, Any]) -> None:
    forest = fit(TRAINING, **options)
    check_bits(forest, POINTS)
    check_bits(forest, TRAINING)
    detector = fit_pyod(TRAINING, **options)
    scorer = compile_scorer(detector)
    for X in (POINTS, TRAINING):
        expected = detector.decision_function(X)
        assert scorer.score_samples(X).tobytes() == expected.tobytes()
    assert scorer.score_samples(TRAINING).tobytes() == detector.decision_scores_.tobytes()


@pytest.mark.parametrize("name", ["breastw", "cardio", "InternetAds", "mammography", "shuttle"])
def test_real_data(name: str) -> None:
    with np.load(shared_file(f"adbench/{name}")) as data:
        X = data["X"][:3000]
    check_bits(fit(X, n_estimators=20), X)
    check_bits(fit(X, n_estimators=5, max_features=0.5, max_samples=1.0), X)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_samples=st.integers(1, 60),
    n_features=st.integers(1, 4),
    n_values=st.integers(1, 5),
    max_samples=st.floats(0.5, 1.0),
    single=st.booleans(),
)
def test_few_values(
    seed: int, n_samples: int, n_features: int, n_values: int, max_samples: float, *, single: bool
) -> None:
    rng = np.random.default_rng(seed)
    # Tenths are no numbers of single precision: they round to either side.
    X = rng.integers(n_values, size=(n_samples, n_features)) / 10
    X = X.astype(np.float32) if single else X
    size = max(1, int(max_samples * n_samples))
    check_bits(fit(X, n_estimators=3, max_samples=size, random_state=seed), X)


@pytest.mark.parametrize("most_steps", [256, 0])
def test_points_at_the_splits(monkeypatch: pytest.MonkeyPatch, most_steps: int) -> None:
    """Also the next numbers of both precisions, on either side of each split."""
    monkeypatch.setattr(compiled_forest, "_MOST_STEPS", most_steps)
    monkeypatch.setattr(compiled_forest, "_TOP_LEVELS", 2)
    forest = fit(TRAINING[:, :1], n_estimators=3)
    splits = np.concatenate([tree.tree_.threshold for tree in forest.estimators_])
    single = splits.astype(np.float32)
    near = [
        *(splits, np.nextafter(splits, np.inf), np.nextafter(splits, -np.inf)),
        *(single, np.nextafter(single, np.float32(np.inf))),
        np.nextafter(single, np.float32(-np.inf)),
    ]
    check_bits(forest, np.concatenate(near)[:, np.newaxis])


def test_thresholds_equal_to_scores() -> None:
    forest = fit(TRAINING.round(), max_samples=16, n_estimators=5)
    X = POINTS.round()
    scorer = compile_scorer(forest)
    expected = -forest.score_samples(X)
    thresholds = np.unique(expected)
    assert thresholds.size < expected.size / 2  # most scores have equals
    counts = np.zeros(thresholds.size, np.int64)
    scorer.count_below(np.ascontiguousarray(X.T), thresholds, counts, np.empty(X.shape[0]))
    assert counts.tolist() == [np.count_nonzero(expected < u) for u in thresholds]


@pytest.mark.parametrize("constant", [0.0, -3.7, 1e30])
def test_trees_without_splits(constant: float) -> None:
    forest = fit(np.full((30, 2), constant))
    assert all(tree.tree_.node_count == 1 for tree in forest.estimators_)
    check_bits(forest, POINTS[:, :2])


def test_one_training_point() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest = fit(TRAINING[:1])
    check_bits(forest, POINTS)
    assert compile_scorer(forest).score_samples(POINTS).tolist() == [0.5] * len(POINTS)


@cache
def large_forests() -> list[Any]:
    return [fit(TRAINING, **options) for options in OPTIONS.values()]


@pytest.mark.parametrize(("most_steps", "top_levels"), [(0, 0), (0, 1), (3, 2), (20, 4), (0, 8)])
def test_large_trees(monkeypatch: pytest.MonkeyPatch, most_steps: int, top_levels: int) -> None:
    """Where the top of a tree ends does not matter, nor that no tree has a top."""
    monkeypatch.setattr(compiled_forest, "_MOST_STEPS", most_steps)
    monkeypatch.setattr(compiled_forest, "_TOP_LEVELS", top_levels)
    for forest in large_forests():
        check_bits(forest, POINTS)


def test_trees_larger_than_their_top() -> None:
    X = np.random.default_rng(1).normal(size=(3000, 2))
    forest = fit(X, n_estimators=3, max_samples=3000)
    assert min(tree.tree_.node_count for tree in forest.estimators_) > 600
    check_bits(forest, X[:300])


def test_types_threads_and_blocks() -> None:
    forest = fit(TRAINING, n_estimators=3)
    X = np.resize(POINTS, (5 * BLOCK + 17, 4))
    check_bits(forest, X, n_threads=5)
    assert_robust(compile_scorer(forest), X)
    for dtype in (np.float16, np.uint8, np.bool_):
        whole = np.abs(POINTS).astype(dtype)
        check_bits(forest, whole)
        check_bits(fit(np.abs(TRAINING).astype(dtype)), whole)


def test_order_of_all_features() -> None:
    """A forest whose trees see all features does not read in which order it drew them."""
    forest = fit(TRAINING)
    forest.estimators_features_ = [features[::-1] for features in forest.estimators_features_]
    check_bits(forest, POINTS)


def test_no_points() -> None:
    assert compile_scorer(fit(TRAINING)).score_samples(np.empty((0, 4))).shape == (0,)


def test_layouts_and_read_only_arrays() -> None:
    forest = fit(TRAINING)
    fixed = POINTS.copy()
    fixed.flags.writeable = False
    wide = np.repeat(POINTS, 2, axis=1)[:, ::2]
    for X in (fixed, np.asfortranarray(POINTS), wide, POINTS[::-3], POINTS.astype(">f8")):
        check_bits(forest, X)
    assert fixed.tobytes() == POINTS.tobytes()


def test_beyond_single_precision() -> None:
    scorer = compile_scorer(fit(TRAINING))
    top = float(np.finfo(np.float32).max)
    for far in (1e39, 1e300):
        for sign in (1, -1):
            points = np.where(POINTS > 2, sign * far, POINTS)
            near = np.where(POINTS > 2, sign * top, POINTS)
            assert scorer.score_samples(points).tolist() == scorer.score_samples(near).tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_finite_number_is_refused(bad: float) -> None:
    X = POINTS.copy()
    X[3, 1] = bad
    with pytest.raises(InvalidInputError, match=r"found others in 1 rows, .* row 3"):
        compile_scorer(fit(TRAINING)).score_samples(X)


def test_later_fits_change_nothing() -> None:
    forest = fit(TRAINING, warm_start=True)
    scorer = compile_scorer(forest)
    expected = scorer.score_samples(POINTS)
    forest.set_params(n_estimators=20).fit(TRAINING)
    assert scorer.score_samples(POINTS).tobytes() == expected.tobytes()
    check_bits(forest, POINTS)


def test_pickle() -> None:
    forest = fit(TRAINING)
    check_bits(forest, POINTS, pickle.loads(pickle.dumps(compile_scorer(forest))))


def test_names() -> None:
    assert repr(compile_scorer(fit(TRAINING))) == "<CompiledScorer of IsolationForest, 4 features>"
    assert repr(compile_scorer(fit_pyod(TRAINING))) == "<CompiledScorer of IForest, 4 features>"
