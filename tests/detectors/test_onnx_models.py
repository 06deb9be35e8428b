"""Models in the ONNX format as scorers: their numbers, their inputs and outputs, their copies."""

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.detectors import onnx_scorer
from fastad.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from tests.support.compiled_points import assert_robust
from tests.support.minimal_onnx import autoencoder, model, sums

pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

RNG = np.random.default_rng(0)
FIRST, SECOND = RNG.normal(size=(5, 33)) / 3, RNG.normal(size=(33, 5)) / 5
X = RNG.normal(size=(1501, 5))
MODEL = autoencoder(FIRST, SECOND)
BOX = fastad.Box([-2] * 5, [2] * 5)


def error_of(rows: Any) -> Any:
    """Compute the definition, in double precision."""
    return ((np.tanh(rows @ FIRST) @ SECOND - rows) ** 2).mean(axis=1)


@pytest.mark.parametrize("n_rows", [None, 1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_errors_of_an_autoencoder(dtype: Any, n_rows: int | None) -> None:
    content = autoencoder(FIRST, SECOND, n_rows=n_rows, dtype=dtype)
    result = onnx_scorer(content, kind="reconstruction").score_samples(X)
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(result, error_of(X), rtol=tolerance)


@pytest.mark.parametrize("keep", [False, True])
def test_scores_of_either_orientation(keep: bool) -> None:
    expected = X.astype(np.float32).sum(axis=1)
    for higher_is, sign in (("anomalous", 1), ("normal", -1)):
        options: Any = {"output": "sum", "higher_is": higher_is}
        scorer = onnx_scorer(sums(5, keep=keep), **options)
        np.testing.assert_allclose(scorer.score_samples(X), sign * expected, rtol=1e-4, atol=1e-6)
        assert scorer.n_features == 5


def test_no_bit_depends_on_batches_threads_or_copies() -> None:
    scorer = onnx_scorer(MODEL, kind="reconstruction")
    assert_robust(scorer, X)
    scores = scorer.score_samples(X)
    alone = [scorer.score_samples(X[i : i + 1])[0] for i in range(100)]
    np.testing.assert_array_equal(alone, scores[:100])
    np.testing.assert_array_equal(scorer.score_samples(X[::-1])[::-1], scores)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scorer)).score_samples(X), scores)


def test_files_and_volumes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(MODEL)
    scorer = onnx_scorer(path, kind="reconstruction")
    assert repr(scorer) == "<OnnxScorer of model.onnx, 5 features>"
    threshold = float(np.median(error_of(X)))
    options: Any = {"method": "uniform", "n_draws": 30_000, "rng": 0}
    result = fastad.volume(scorer, threshold, BOX, **options)
    # The scores differ in single precision: a draw or two near the threshold.
    expected = fastad.volume(error_of, threshold, BOX, **options)
    assert abs(result.n_inside - expected.n_inside) <= 2
    of_text = onnx_scorer(str(path), kind="reconstruction")
    assert of_text.on_threads
    there = fastad.volume(of_text, threshold, BOX, n_threads=2, **options)
    assert there.to_dict() == result.to_dict()


def test_what_a_model_does_not_have_is_named() -> None:
    two = model([("Add", ("x", "y"), "z")], {}, {"x": (None, 2), "y": (None, 2)}, {"z": (None, 2)})
    integers = model([("Neg", ("x",), "y")], {}, {"x": (None, 2)}, {"y": (None, 2)}, np.int64)
    vectors = model([("Neg", ("x",), "y")], {}, {"x": (None,)}, {"y": (None,)})
    for content in (two, integers, vectors):
        with pytest.raises(InvalidInputError, match="model must have one input, a table") as caught:
            onnx_scorer(content)
        assert caught.value.argument == "model"
    with pytest.raises(InvalidInputError, match="output must be one of 'sum', 'same'; found None"):
        onnx_scorer(sums(5))
    with pytest.raises(InvalidInputError, match=r"one number for each of 256 points; found shape"):
        onnx_scorer(sums(5), output="same")
    with pytest.raises(InvalidInputError, match=r"of shape \(256, 5\), reconstructed; found shape"):
        onnx_scorer(sums(5), output="sum", kind="reconstruction")


def test_invalid_arguments(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="model must be a model in the ONNX format"):
        onnx_scorer(b"no model")
    with pytest.raises(InvalidInputError, match="model must be a file that can be read"):
        onnx_scorer(tmp_path / "none.onnx")
    wrong: Any = 3
    with pytest.raises(InvalidTypeError, match="model must be a path or bytes; found 3"):
        onnx_scorer(wrong)
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        onnx_scorer(MODEL, kind=wrong)
    with pytest.raises(InvalidInputError, match="higher_is must be 'anomalous' for"):
        onnx_scorer(MODEL, kind="reconstruction", higher_is="normal")
    scorer = onnx_scorer(MODEL, kind="reconstruction")
    with pytest.raises(InvalidInputError, match="X must have the shape"):
        scorer.score_samples(X[:, :2])
    with pytest.raises(InvalidInputError, match="box must have 5 features"):
        fastad.volume(scorer, 1.0, fastad.Box([0], [1]))


def test_numbers_of_features_that_a_model_leaves_open() -> None:
    scorer = onnx_scorer(sums(None), output="sum")
    assert scorer.n_features is None
    for d in (1, 5):
        result = scorer.score_samples(X[:, :d])
        np.testing.assert_allclose(result, X[:, :d].sum(axis=1), rtol=1e-3, atol=1e-5)


def test_scores_that_are_no_numbers_are_refused() -> None:
    logs = model([("Log", ("x",), "y")], {}, {"x": (None, 1)}, {"y": (None, 1)})
    with pytest.raises(InvalidInputError, match="detector must not return NaN"):
        fastad.volume(onnx_scorer(logs), 0.0, fastad.Box([-1], [1]), n_draws=1000, rng=0)


def test_without_onnxruntime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtraError, match="pip install onnxruntime"):
        onnx_scorer(MODEL)
