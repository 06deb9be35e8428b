"""Time of splitting with compiled scorers against the same algorithm in vectorised NumPy.

NumPy's particles are scored by the detectors themselves, as often as fastad scores.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad

N_TRAINING, N_FEATURES, N_DRAWS = 2_000, 10, 1_000_000
FPR = 0.05

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=1, warmup=False, disable_gc=True)

Floats = npt.NDArray[np.float64]

DETECTORS: dict[str, Any] = {
    "OneClassSVM rbf, nu = 0.1": OneClassSVM(nu=0.1),
    "OneClassSVM rbf, nu = 0.5": OneClassSVM(nu=0.5),
    "IsolationForest": IsolationForest(random_state=0),
    "LocalOutlierFactor": LocalOutlierFactor(novelty=True),
    "EllipticEnvelope": EllipticEnvelope(random_state=0),
}


class _Case(NamedTuple):
    compiled: fastad.detectors.CompiledScorer
    original: Callable[[Floats], Floats]
    threshold: float
    box: fastad.Box


@lru_cache
def _case(name: str) -> _Case:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TRAINING, N_FEATURES))
    detector = DETECTORS[name].fit(X)

    def original(rows: Floats) -> Floats:
        scores: Floats = -detector.score_samples(rows)
        return scores

    normals = rng.normal(size=(N_TRAINING, N_FEATURES))
    threshold = float(np.quantile(original(normals), 1 - FPR))
    box = fastad.Box.from_data(np.concatenate([X, normals]))
    return _Case(fastad.compile_scorer(detector), original, threshold, box)


def _compiled(case: _Case) -> fastad.regions.VolumeEstimate:
    return fastad.volume(
        case.compiled, case.threshold, case.box, method="splitting", n_draws=N_DRAWS, rng=0
    )


class _InNumPy:
    """Repeats of splitting side by side; moves are those of fastad that are made most often."""

    def __init__(self, case: _Case, n_repeats: int, n_particles: int, seed: int) -> None:
        self._case, self._rng = case, np.random.default_rng(seed)
        self.n_scored = 0
        self.points = self._rng.random((n_repeats, n_particles, case.box.n_features))
        self.scores = self._score(self.points)
        self.log_fractions = np.zeros(n_repeats)

    def _score(self, points: Floats) -> Floats:
        self.n_scored += int(np.prod(points.shape[:-1]))
        rows = self._case.box.low + points * (self._case.box.high - self._case.box.low)
        flat = rows.reshape(-1, rows.shape[-1])
        return self._case.original(flat).reshape(points.shape[:-1])

    def run(self, n_draws: int, n_sweeps: int) -> Floats:
        """Pass levels to the threshold, over and over until so many points are scored."""
        found = self.log_fractions
        while self.n_scored < n_draws:
            n = self.scores.shape[1]
            order = np.argsort(self.scores, axis=1)
            self.points = np.take_along_axis(self.points, order[:, :, None], axis=1)
            self.scores = np.take_along_axis(self.scores, order, axis=1)
            levels = self.scores[:, n // 2]
            if (levels <= self._case.threshold).all():
                below = (self.scores < self._case.threshold).mean(axis=1)
                found = self.log_fractions + np.log(below)
                n_repeats, n_particles = self.scores.shape
                again = _InNumPy(self._case, n_repeats, n_particles, self.n_scored)
                again.n_scored += self.n_scored
                self.__dict__.update(again.__dict__)
                continue
            self.log_fractions -= np.log(2)
            walkers, own = self.points[:, : n // 2].copy(), self.scores[:, : n // 2].copy()
            pool = walkers.reshape(-1, walkers.shape[-1])
            mean, covariance = pool.mean(axis=0), np.cov(pool.T)
            factor = np.linalg.cholesky(covariance)
            for _ in range(n_sweeps):
                self._move(walkers, own, levels, mean, factor)
            self.points[:, n // 2 :], self.scores[:, n // 2 :] = walkers, own
        return found

    def _move(
        self, walkers: Floats, own: Floats, levels: Floats, mean: Floats, factor: Floats
    ) -> None:
        """Propose places that know nothing of the last, and move where that is allowed."""
        fresh = self._rng.standard_normal(walkers.shape)
        rounded = np.linalg.solve(factor, (walkers - mean).reshape(-1, len(mean)).T).T
        here = (rounded**2).sum(axis=1).reshape(own.shape)
        there = (fresh**2).sum(axis=2)
        proposed = mean + fresh @ factor.T
        chosen = there - here > -2 * self._rng.standard_exponential(own.shape)
        chosen &= ((proposed >= 0) & (proposed < 1)).all(axis=2)
        candidates = proposed[chosen]
        if not len(candidates):
            return
        scores = self._score(candidates)
        limits = np.broadcast_to(levels[:, None], own.shape)[chosen]
        better = scores < limits
        moved = np.flatnonzero(chosen)[better]
        walkers.reshape(-1, walkers.shape[-1])[moved] = candidates[better]
        own.reshape(-1)[moved] = scores[better]


def _label(benchmark: BenchmarkFixture, name: str, library: str) -> None:
    benchmark.extra_info["runs"] = f"{name}, {N_FEATURES} features, {N_DRAWS:_} score calls"
    benchmark.extra_info["library"] = library


@pytest.mark.parametrize("name", DETECTORS)
def test_numpy(benchmark: BenchmarkFixture, name: str) -> None:
    _label(benchmark, name, "NumPy and scikit-learn")
    case = _case(name)
    found = benchmark(lambda: _InNumPy(case, 8, 500, 0).run(N_DRAWS, 8))
    expected = _compiled(case)
    error = (expected.log_high - expected.log_low) / 2
    assert abs(np.mean(found) - expected.log_value) < 3 * error + 0.3


@pytest.mark.parametrize("name", DETECTORS)
def test_fastad(benchmark: BenchmarkFixture, name: str) -> None:
    _label(benchmark, name, "fastad")
    case = _case(name)
    found = _compiled(case)
    assert 0.6 * N_DRAWS < found.n_scored < 1.2 * N_DRAWS
    benchmark.extra_info["score calls"] = found.n_scored
    benchmark(lambda: _compiled(case))
