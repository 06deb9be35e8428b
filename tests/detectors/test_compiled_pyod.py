"""PyOD's PCA and HBOS, compiled: scores against the originals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad.detectors.compilation import compile_scorer
from tests.support.compiled_points import (
    DIMENSIONS,
    REAL,
    assert_compiled,
    assert_robust,
    queries,
    real,
    training,
)
from tests.support.loops import loop

pytestmark = pytest.mark.slow

HBOS = pytest.importorskip("pyod.models.hbos").HBOS
PCA = pytest.importorskip("pyod.models.pca").PCA
PCA_OPTIONS: list[dict[str, Any]] = [
    {},
    {"standardization": False},
    {"weighted": False},
    {"n_components": 2, "n_selected_components": 1},
    {"whiten": True, "n_selected_components": 3},
]
HBOS_OPTIONS: list[dict[str, Any]] = [
    {},
    {"n_bins": "auto"},
    {"n_bins": 3, "tol": 0.9},
    {"n_bins": 100, "alpha": 0.5, "tol": 0.01},
]


@loop("d", DIMENSIONS)
@loop("options", PCA_OPTIONS)
def test_pca(options: dict[str, Any], d: int) -> None:
    if d < options.get("n_components", options.get("n_selected_components", 1)):
        options = options | {"n_components": d, "n_selected_components": d}
    fitted = PCA(**options).fit(training(d))
    assert_compiled(fitted, queries(d))


@pytest.mark.parametrize(
    ("options", "d"),
    [({}, d) for d in DIMENSIONS] + [(options, d) for options in HBOS_OPTIONS[1:] for d in (1, 5)],
    ids=str,
)
def test_hbos(options: dict[str, Any], d: int) -> None:
    fitted = HBOS(**options).fit(training(d))
    # Scores are sums of logarithms of either sign.
    assert_compiled(fitted, queries(d), floor=1e-3 * d)


@pytest.mark.parametrize("options", HBOS_OPTIONS, ids=str)
def test_edges_and_margins_of_bins(options: dict[str, Any]) -> None:
    fitted = HBOS(**options).fit(training(1))
    edges = fitted.bin_edges_
    own = np.ravel(edges[0] if isinstance(edges, list) else edges)
    margin = np.diff(own)[[0, -1]] * fitted.tol
    exact = np.concatenate([own, [own[0] - margin[0], own[-1] + margin[1]]])
    X = np.concatenate([exact, np.nextafter(exact, -np.inf), np.nextafter(exact, np.inf)])[:, None]
    assert_compiled(fitted, X)


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30), st.integers(3, 9))
def test_hbos_of_integers(values: list[int], n_bins: int) -> None:
    fitted = HBOS(n_bins=n_bins, tol=0.25).fit(np.array(values, np.float64)[:, None])
    X = np.arange(-5.0, 5.0, 0.125)[:, None]
    result = compile_scorer(fitted).score_samples(X)
    np.testing.assert_allclose(result, fitted.decision_function(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", REAL)
def test_real_data(name: str) -> None:
    train, X = real(name)
    # Where columns depend on each other some components have no weight.
    components = PCA(weighted=name != "cardio").fit(train)
    assert_compiled(components, X)
    for n_bins in (10, "auto"):
        histograms = HBOS(n_bins=n_bins).fit(train)
        assert_compiled(histograms, X, floor=0.1)


def test_types_threads_and_blocks() -> None:
    train, X = training(5), queries(5)
    assert_robust(compile_scorer(PCA().fit(train)), X)
    assert_robust(compile_scorer(HBOS().fit(train)), X)
