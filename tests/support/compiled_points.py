"""Points to fit and to score, and what it means that compiled scores are those of a detector."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer
from tests.support.shared_data import shared_file

# Kernels add up two or four coordinates at a time: each remainder, alone and behind others.
DIMENSIONS = [1, 2, 3, 4, 5, 8, 30]
COMPILED_BY_PYOD = (
    ("models.abod", "_wcos"),
    ("models.hbos", "_calculate_outlier_scores"),
    ("models.sos", "_get_perplexity"),
    ("utils.stat_models", "_pairwise_distances_no_broadcast_helper"),
)
REAL = ["wine", "cardio", "mammography", "vowels"]


def training(d: int, n: int = 200) -> npt.NDArray[np.float64]:
    """Draw correlated points off the origin."""
    rng = np.random.default_rng(d)
    mix = np.eye(d) + 0.3 * rng.normal(size=(d, d)) / np.sqrt(d)
    centred: npt.NDArray[np.float64] = rng.normal(size=(n, d)) @ mix
    return centred + rng.normal(size=d)


def queries(d: int) -> npt.NDArray[np.float64]:
    """Draw points near, around and far from the training points: a block, and an odd rest."""
    rng = np.random.default_rng(1000 + d)
    near = training(d, 900)
    around = rng.uniform(-6.0, 6.0, size=(300, d))
    far = rng.normal(size=(31, d)) * np.array([10.0, 100.0, 1e4])[rng.integers(3, size=31), None]
    return np.concatenate([near, around, far])


def real(name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return up to 400 points to fit and up to 2500 to score, or skip the test."""
    with np.load(shared_file(f"adbench/{name}"), allow_pickle=False) as data:
        X = data["X"].astype(np.float64)
    X = X[np.random.default_rng(0).permutation(len(X))]
    return X[:400], X[:2500]


@contextmanager
def interpreted_pyod() -> Iterator[None]:
    """Interpret PyOD's compiled functions, which takes less time than to compile them."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in COMPILED_BY_PYOD if find_spec("pyod") else ():
            function = getattr(import_module(f"pyod.{module}"), name)
            patch.setattr(f"pyod.{module}.{name}", function.py_func)
        yield


def assert_scores(result: Any, expected: Any, floor: Any = 0.0) -> None:
    """Check equality to 1e-9, where scores pass through 0 of ``floor`` (in units of the scores)."""
    assert np.isfinite(expected).all()
    errors = np.abs(result - expected) - 1e-9 * (np.abs(expected) + floor)
    assert errors.max() <= 0.0, f"row {errors.argmax()} of {len(errors)} is further off"


def assert_compiled(fitted: Any, X: npt.NDArray[np.float64], floor: Any = 0.0) -> CompiledScorer:
    """Check that a compiled detector has the detector's scores, name and features; return it."""
    scorer = compile_scorer(fitted)
    last = type(fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted)
    is_pyod = last.__module__.startswith("pyod")
    expected = fitted.decision_function(X) if is_pyod else -fitted.score_samples(X)
    assert_scores(scorer.score_samples(X), expected, floor)
    assert (scorer.n_features, scorer.name) == (X.shape[1], last.__name__)
    return scorer


def assert_robust(scorer: CompiledScorer, X: npt.NDArray[np.float64]) -> None:
    """Check that types, threads and the cut into blocks change no bit."""
    scores = scorer.score_samples(X, n_threads=1)
    np.testing.assert_array_equal(scorer.score_samples(X, n_threads=2), scores)
    single = X.astype(np.float32)
    np.testing.assert_array_equal(
        scorer.score_samples(single), scorer.score_samples(single.astype(np.float64))
    )
    whole = np.round(X).astype(np.int32)
    np.testing.assert_array_equal(
        scorer.score_samples(whole), scorer.score_samples(whole.astype(np.float64))
    )
    for size in (1, 2, 7, 511, 513, 1023):
        block = np.empty(size)
        scorer.score_block(np.array(X[-size:].T, order="C"), block)
        np.testing.assert_array_equal(block, scores[-size:])
