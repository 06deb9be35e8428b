"""Detectors of normal densities, compiled: scores against the originals."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.covariance import EllipticEnvelope
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from fastad.detectors.compilation import compile_scorer
from fastad.errors import InvalidInputError
from tests.support.compiled_points import (
    DIMENSIONS,
    REAL,
    assert_compiled,
    assert_robust,
    assert_scores,
    queries,
    real,
    training,
)
from tests.support.loops import loop

COVARIANCES = ["full", "tied", "diag", "spherical"]


@pytest.mark.parametrize("store_precision", [True, False])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_elliptic_envelope(d: int, store_precision: bool) -> None:
    fitted = EllipticEnvelope(store_precision=store_precision, random_state=0).fit(training(d))
    assert_compiled(fitted, queries(d))


def test_elliptic_envelope_of_a_plane() -> None:
    fitted = EllipticEnvelope(random_state=0).fit(training(4))
    # A pseudo-inverse, as of constant columns, has no triangular factor.
    fitted.precision_ = np.diag([2.0, 0.0, 1.0, 0.0])
    fitted.precision_[0, 2] = fitted.precision_[2, 0] = 0.5
    X = queries(4)
    assert_compiled(fitted, X)


@loop("covariance_type", COVARIANCES)
@loop("d", DIMENSIONS)
def test_gaussian_mixture(d: int, covariance_type: Any) -> None:
    fitted = GaussianMixture(3, covariance_type=covariance_type, random_state=0).fit(training(d))
    # A negative log density passes through 0; near it are numbers of the order of 1.
    assert_compiled(fitted, queries(d), floor=1.0)


def test_gaussian_mixture_against_its_definition() -> None:
    fitted = GaussianMixture(3, random_state=0).fit(training(3))
    X = queries(3)[:300]
    terms = [
        np.log(weight) + multivariate_normal.logpdf(X, mean, covariance)
        for weight, mean, covariance in zip(
            fitted.weights_, fitted.means_, fitted.covariances_, strict=True
        )
    ]
    expected = -logsumexp(terms, axis=0)
    assert_scores(compile_scorer(fitted).score_samples(X), expected, floor=1.0)


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_one_component_and_one_without_weight(covariance_type: Any) -> None:
    X = queries(3)
    fitted = GaussianMixture(1, covariance_type=covariance_type).fit(training(3))
    one = compile_scorer(fitted).score_samples(X)
    assert_scores(one, -fitted.score_samples(X), floor=1.0)
    fitted = GaussianMixture(2, covariance_type=covariance_type, random_state=0).fit(training(3))
    fitted.weights_ = np.array([0.0, 1.0])
    with np.errstate(divide="ignore"):
        expected = -fitted.score_samples(X)
    assert_scores(compile_scorer(fitted).score_samples(X), expected, floor=1.0)


def test_gaussian_mixture_of_single_precision() -> None:
    fitted = GaussianMixture(2, random_state=0).fit(training(3).astype(np.float32))
    X = queries(3)
    result = compile_scorer(fitted).score_samples(X)
    np.testing.assert_allclose(result, -fitted.score_samples(X), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(("algorithm", "weighted"), [("kd_tree", False), ("ball_tree", True)])
@pytest.mark.parametrize("d", DIMENSIONS)
def test_kernel_density(d: int, algorithm: Any, weighted: bool) -> None:
    train = training(d)
    weights = np.random.default_rng(0).exponential(size=len(train)) if weighted else None
    if weights is not None:
        weights[:20] = 0.0
    # Within one leaf the original adds up all samples; see the next test.
    density = KernelDensity(bandwidth=0.7, algorithm=algorithm, leaf_size=1000, rtol=0.0)
    fitted = density.fit(train[:300], sample_weight=weights)
    scorer, X = compile_scorer(fitted), queries(d)
    with np.errstate(divide="ignore"):
        expected = -fitted.score_samples(X)
    assert_scores(scorer.score_samples(X), expected, floor=1.0)
    assert (scorer.n_features, scorer.name) == (d, "KernelDensity")


@pytest.mark.slow
def test_kernel_density_is_the_sum_where_the_original_is_not() -> None:
    # The original adds and subtracts bounds of the nodes of its tree. Of a point far from all
    # samples only rounding errors remain (scikit-learn's issues 25799 and 27186).
    train, X = training(5, 2000), queries(5)
    fitted = KernelDensity(bandwidth=0.5, rtol=0.0).fit(train)
    result = compile_scorer(fitted).score_samples(X)
    squares = ((X[:, None] - train) ** 2).sum(axis=2)
    sums = logsumexp(-squares / (2 * 0.5**2), axis=1) - np.log(len(train))
    assert_scores(result, -sums + 5 * np.log(0.5 * np.sqrt(2 * np.pi)), floor=1.0)
    near = slice(0, 900)
    np.testing.assert_allclose(result[near], -fitted.score_samples(X)[near], rtol=1e-6)
    exact = KernelDensity(bandwidth=0.5, rtol=0.0, leaf_size=len(train)).fit(train)
    assert_scores(result, -exact.score_samples(X), floor=1.0)


def test_kernel_density_of_one_sample() -> None:
    fitted = KernelDensity(bandwidth=1e-3).fit([[1.0, 2.0]])
    X = queries(2)
    assert_compiled(fitted, X, 1.0)


@pytest.mark.parametrize("name", REAL)
def test_real_data(name: str) -> None:
    train, X = real(name)
    envelope = EllipticEnvelope(random_state=0, support_fraction=0.9)
    with np.errstate(all="ignore"):
        mixture = GaussianMixture(2, covariance_type="diag", random_state=0).fit(train)
    assert_compiled(mixture, X, 1.0)
    density = KernelDensity(bandwidth="scott", leaf_size=1000).fit(train)
    assert_compiled(density, X, 1.0)
    if name != "cardio":  # whose columns depend on each other
        envelope.fit(train)
        assert_compiled(envelope, X)


def test_types_threads_and_blocks() -> None:
    train, X = training(5), queries(5)
    assert_robust(compile_scorer(EllipticEnvelope(random_state=0).fit(train)), X)
    assert_robust(compile_scorer(KernelDensity(bandwidth=0.3).fit(train)), X)
    for kind in COVARIANCES:
        mixture = GaussianMixture(2, covariance_type=kind, random_state=0).fit(train)  # type: ignore[arg-type,unused-ignore]
        assert_robust(compile_scorer(mixture), X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "tophat"}, "kernel must be 'gaussian' .*; found 'tophat'"),
        ({"metric": "manhattan"}, "metric must be 'euclidean' .*; found 'manhattan'"),
    ],
)
def test_other_densities_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        compile_scorer(KernelDensity(**options).fit(training(2)))


def test_a_mixture_of_rows_of_integers_is_that_of_floats() -> None:
    """scikit-learn rounds the densities of such rows to integers."""
    X = np.random.default_rng(0).integers(0, 5, (400, 4))
    mixture = GaussianMixture(2, random_state=0).fit(X)
    scores = compile_scorer(mixture).score_samples(X)
    assert np.allclose(scores, -mixture.score_samples(X.astype(np.float64)), rtol=1e-9)
    assert np.abs(scores + mixture.score_samples(X)).max() <= 0.5
