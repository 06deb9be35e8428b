"""Steps of pipelines before compiled scorers: the same operations as scikit-learn's."""

from typing import Any

import numpy as np
import pytest
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import OneClassSVM

from fastad._core.types import FloatMatrix, FloatVector
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer
from fastad.detectors.transformation import after
from fastad.errors import BatchScorerWarning
from tests.support.compiled_points import (
    DIMENSIONS,
    assert_compiled,
    assert_robust,
    assert_scores,
    queries,
    training,
)
from tests.support.loops import loop

ABOD = pytest.importorskip("pyod.models.abod").ABOD
HBOS = pytest.importorskip("pyod.models.hbos").HBOS
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler(clip=True),
    MinMaxScaler((-2.0, 5.0), clip=True),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(5.0, 60.0), unit_variance=True),
    RobustScaler(with_scaling=False),
]


class _Coordinate(CompiledScorer):
    """Shows one coordinate of the points that it gets."""

    name = "coordinate"

    def __init__(self, n_features: int, which: int) -> None:
        self.n_features = n_features
        self.which = which

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        scores[:] = points[self.which]


@loop("scaler", SCALERS)
@loop("d", [1, 2, 5])
def test_coordinates_have_the_bits_of_scikit_learn(d: int, scaler: Any) -> None:
    train = training(d)
    train[:, 0] = 3.0  # a constant column has no spread to divide by
    fitted, X = scaler.fit(train), queries(d)
    expected = fitted.transform(X)
    for j in range(d):
        scorer = after(fitted, _Coordinate(d, j))
        np.testing.assert_array_equal(scorer.score_samples(X), expected[:, j])


@pytest.mark.parametrize("d", [1, 5, 30])  # each coordinate is scaled by itself
@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_pipeline(scaler: Any, d: int) -> None:
    fitted = make_pipeline(scaler, "passthrough", OneClassSVM(nu=0.2)).fit(training(d))
    floor = 1e-3 * float(fitted[-1].offset_[0])
    assert_compiled(fitted, queries(d), floor)


def test_two_scalers() -> None:
    fitted = make_pipeline(StandardScaler(), MinMaxScaler((1, 3)), EllipticEnvelope(random_state=0))
    fitted.fit(training(4))
    X = queries(4)
    scorer = assert_compiled(fitted, X)
    assert_robust(scorer, X)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_principal_components(d: int, whiten: bool) -> None:
    for kept in {1, (d + 1) // 2, d}:
        pca = PCA(kept, whiten=whiten).fit(training(d))
        X = queries(d)
        expected = pca.transform(X)
        for j in range(kept):
            scorer = after(pca, _Coordinate(kept, j))
            assert scorer.n_features == d
            assert_scores(scorer.score_samples(X), expected[:, j], floor=1e-3)
        fitted = make_pipeline(RobustScaler(), PCA(kept, whiten=whiten), OneClassSVM(nu=0.2))
        fitted.fit(training(d))
        scorer = compile_scorer(fitted)
        floor = 1e-3 * float(fitted[-1].offset_[0])
        assert_scores(scorer.score_samples(X), -fitted.score_samples(X), floor)
        assert_robust(scorer, X)


def test_components_without_variance() -> None:
    flat = training(3) * [1.0, 1.0, 0.0]
    pca = PCA(whiten=True).fit(flat)
    near = flat[:50]
    for j in range(3):
        result = after(pca, _Coordinate(3, j)).score_samples(near)
        assert np.isfinite(result).all()
        if j < 2:
            assert_scores(result, pca.transform(near)[:, j], floor=1.0)


@pytest.mark.slow
def test_a_detector_that_is_not_compiled_may_follow_a_step_that_is() -> None:
    fitted = make_pipeline(StandardScaler(), ABOD()).fit(training(2))
    with pytest.warns(BatchScorerWarning, match="ABOD has no compiled form"):
        scorer = compile_scorer(fitted)
    X = training(2)[:20] + 0.01
    assert_scores(scorer.score_samples(X), fitted.decision_function(X))


@pytest.mark.slow
def test_scaled_histograms() -> None:
    fitted = Pipeline([("scale", MinMaxScaler()), ("skip", None), ("score", HBOS())])
    fitted.fit(training(3))
    X = queries(3)
    assert_compiled(fitted, X, floor=1e-3)


def test_a_scorer_that_keeps_to_one_thread_does_so_behind_a_scaler() -> None:
    inner = _Coordinate(1, 0)
    scaler = StandardScaler().fit([[0.0], [4.0]])
    assert after(scaler, inner).on_threads
    inner.on_threads = False
    assert not after(scaler, inner).on_threads


def test_counts_below_thresholds_are_those_of_the_inner_scorer() -> None:
    class Told(_Coordinate):
        def count_below(self, points: Any, thresholds: Any, counts: Any, scores: Any) -> None:
            counts += np.array([7, 8])

    scaler = StandardScaler().fit([[0.0], [4.0]])
    thresholds = np.array([-0.5, 1.0])
    for inner, expected in ((_Coordinate(1, 0), [2, 3]), (Told(1, 0), [8, 9])):
        counts, scores = np.ones(2, np.int64), np.empty(3)
        points = np.array([[0.0, 2.0, 4.0]])
        after(scaler, inner).count_below(points, thresholds, counts, scores)
        np.testing.assert_array_equal(counts, expected)
