"""Masses of regions under a normal distribution, against closed forms."""

import math
from typing import Any

import numba
import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import IsolationForest

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.regions import Normal
from fastad.regions.reference import Referred
from fastad.regions.scores import block_score

Array = Any


@numba.njit
def square(point: Array) -> Any:
    return (point**2).sum()


@numba.njit
def minus_square(point: Array) -> Any:
    return -(point**2).sum()


@numba.njit
def minus_first(point: Array) -> Any:
    return -point[0]


def skewed(d: int) -> tuple[Array, Array]:
    """Return a mean and a covariance of correlated features."""
    rng = np.random.default_rng(d)
    mixing = np.eye(d) + 0.5 * rng.normal(size=(d, d)) / math.sqrt(d)
    return rng.normal(size=d), mixing @ mixing.T


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 7])
def test_points_of_the_cube_are_those_with_these_quantiles(d: int) -> None:
    mean, covariance = skewed(d)
    reference = Normal(mean, covariance)
    cube = np.random.default_rng(0).random((d, 500))
    cube[0, :3] = 0.0, 0.5, np.nextafter(1.0, 0.0)
    points = cube.copy()
    Referred(square, reference).from_cube(points)
    normal = stats.norm.ppf(np.maximum(cube, 1e-300))
    expected = mean[:, None] + np.linalg.cholesky(covariance) @ normal
    np.testing.assert_allclose(points, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(reference.to_cube(points.T).T, cube, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("method", ["uniform", "sobol", "splitting", "auto"])
def test_methods_estimate_the_mass_of_an_ellipsoid(method: Any) -> None:
    mean, covariance = skewed(4)
    inverse = np.linalg.inv(covariance)

    def distance(rows: Array) -> Array:
        return np.einsum("ij,jk,ik->i", rows - mean, inverse, rows - mean)

    result = fastad.volume(
        *(distance, stats.chi2.ppf(0.2, 4)),
        reference=Normal(mean, covariance),
        method=method,
        n_draws=20_000,
        confidence_level=0.999,
        rng=1,
    )
    assert result.low < 0.2 < result.high
    assert result.high - result.low < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "mass", "d"),
    [(square, 1e-12, 10), (minus_square, 1e-3, 2), (minus_square, 1e-12, 50)],
)
def test_balls_and_their_outsides(score: Any, mass: float, d: int) -> None:
    law = stats.chi2(d)
    threshold = law.ppf(mass) if score is square else -law.isf(mass)
    result = fastad.volume(
        *(score, threshold),
        reference=Normal(np.zeros(d), np.eye(d)),
        method="splitting",
        n_draws=60_000 if score is square else 30_000,
        confidence_level=0.999,
        rng=1,
    )
    assert result.log_low < math.log(mass) < result.log_high
    # Far out, where there is no bridge, splitting needs more calls to be precise.
    assert not result.is_bound
    assert result.log_high - result.log_low < (1.0 if score is square else 30.0)


@pytest.mark.slow
def test_a_tail_of_one_feature() -> None:
    reference = Normal([3.0, 0.0], [[4.0, 1.0], [1.0, 1.0]])
    threshold = -(3.0 + 2 * stats.norm.isf(1e-12))
    result = fastad.volume(
        *(minus_first, threshold), reference=reference, method="splitting", n_draws=50_000, rng=0
    )
    assert result.log_low < math.log(1e-12) < result.log_high
    assert result.log_high - result.log_low < 1.0


def test_data_are_taken_to_the_cube() -> None:
    """Points of the region that are found by data are those of the cube."""
    mean, covariance = skewed(3)
    rng = np.random.default_rng(0)
    data = rng.multivariate_normal(mean, covariance, 4000)
    factor = np.linalg.cholesky(covariance)

    def distance(rows: Array) -> Array:
        return (np.linalg.solve(factor, (rows - mean).T) ** 2).sum(axis=0)

    result = fastad.volume(
        *(distance, stats.chi2.ppf(0.01, 3)),
        reference=Normal.from_data(data),
        method="splitting",
        data=data,
        n_draws=50_000,
        rng=0,
    )
    # A fitted distribution is nearly the true one.
    assert abs(result.log_value - math.log(0.01)) < 0.2


@pytest.mark.slow
def test_neither_threads_nor_the_kind_of_score_change_a_bit() -> None:
    reference = Normal(*skewed(3))
    scores: list[Any] = [square, lambda rows: np.array([square(row) for row in rows])]
    results = [
        fastad.volume(
            *(score, 0.05),
            reference=reference,
            method="splitting",
            n_draws=30_000,
            rng=5,
            n_threads=n_threads,
        ).log_value
        for score in scores
        for n_threads in (1, 3)
    ]
    assert len(set(results)) == 1


@pytest.mark.slow
def test_detectors_are_compiled_below_a_reference() -> None:
    from sklearn.covariance import EmpiricalCovariance

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5))
    detector = EmpiricalCovariance().fit(X)
    reference = Normal(detector.location_, detector.covariance_)
    threshold = stats.chi2.ppf(1e-6, 5)
    result = fastad.volume(
        detector.mahalanobis, threshold, reference=reference, n_draws=50_000, rng=0
    )
    assert result.method == "splitting"
    assert result.log_low < math.log(1e-6) < result.log_high


def test_from_data_has_the_moments_of_the_data() -> None:
    X = np.random.default_rng(0).normal(size=(50, 3))
    reference = Normal.from_data(X)
    np.testing.assert_allclose(reference.mean, X.mean(axis=0), rtol=1e-12)
    product = reference.factor @ reference.factor.T
    np.testing.assert_allclose(product, np.cov(X.T), rtol=1e-12)
    assert not reference.mean.flags.writeable
    one = Normal.from_data(X[:, :1])
    assert float(one.factor[0, 0]) == pytest.approx(X[:, 0].std(ddof=1))


ONE: Any = np.eye(2)
EDGES: Any = [[0, np.inf], [[1, 0], [0, np.nan]], [[1, 0.5], [0, 1]]]
# Its factor has the rounding of variances where it should have 0.
COPIED = np.random.default_rng(1).normal(size=(500, 3))[:, [0, 1, 2, 0]] * [1, 2, 0.5, 1] + 5
CONSTANT = np.column_stack([np.random.default_rng(0).normal(size=101), np.full(101, 0.1)])
REFUSALS: dict[str, tuple[Any, str, str]] = {
    "a mean in two dimensions": (lambda: Normal(ONE, ONE), "mean", "must be a vector"),
    "no mean": (lambda: Normal([], ONE), "mean", "must be a vector"),
    "a mean of strings": (lambda: Normal(np.array(["a"]), ONE), "mean", "contain numbers"),
    "an infinite mean": (lambda: Normal(EDGES[0], ONE), "mean", "finite"),
    "a vector of variances": (lambda: Normal([0, 0], [1, 1]), "covariance", "shape (2, 2)"),
    "too many features": (lambda: Normal([0, 0], np.eye(3)), "covariance", "shape (2, 2)"),
    "NaN": (lambda: Normal([0, 0], EDGES[1]), "covariance", "finite"),
    "no symmetry": (lambda: Normal([0, 0], EDGES[2]), "covariance", "symmetric"),
    "a negative variance": (lambda: Normal([0], [[-1]]), "covariance", "positive definite"),
    "a plane": (lambda: Normal([0, 0], np.ones((2, 2))), "covariance", "positive definite"),
    "few rows": (lambda: Normal.from_data(np.eye(3)[:2]), "X", "more rows than features"),
    "data in a plane": (lambda: Normal.from_data(np.ones((9, 2))), "X", "in a plane"),
    "a constant feature": (lambda: Normal.from_data(CONSTANT), "X", "in a plane: feature 1"),
    "a copied feature": (lambda: Normal.from_data(COPIED), "X", "in a plane"),
    "data with NaN": (lambda: Normal.from_data([[np.nan], [1.0]]), "X", "finite"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str) -> None:
    call, argument, words = REFUSALS[case]
    with pytest.raises(InvalidInputError) as raised:
        call()
    assert raised.value.argument == argument
    assert words in str(raised.value)


def test_refusals_of_volume() -> None:
    reference = Normal([0.0, 0.0], ONE)
    box = fastad.Box([0, 0], [1, 1])
    with pytest.raises(InvalidInputError, match="reference must not be given") as both:
        fastad.volume(square, 1.0, box, reference=reference)
    assert both.value.argument == "reference"
    with pytest.raises(InvalidTypeError, match=r"reference must be a fastad\.regions\.Normal"):
        fastad.volume(square, 1.0, reference=box)  # type: ignore[call-overload]
    with pytest.raises(InvalidInputError, match="box or reference must be given; found neither"):
        fastad.volume(square, 1.0)
    with pytest.raises(InvalidInputError, match=r"data must have the shape \(n_samples, 2\)"):
        fastad.volume(square, 1.0, reference=reference, data=np.ones((5, 3)))
    forest = IsolationForest(n_estimators=1).fit(np.eye(2))
    with pytest.raises(InvalidInputError, match="method must not be 'exact' with a reference"):
        fastad.volume(forest, 0.5, reference=reference, method="exact")


def test_a_score_that_fails_names_the_point_and_not_that_of_the_cube() -> None:
    reference = Normal([100.0, 100.0], ONE)

    def not_a_number(rows: Array) -> Array:
        return np.full(rows.shape[0], np.nan)

    with pytest.raises(InvalidInputError, match="detector must not return NaN") as raised:
        fastad.volume(not_a_number, 1.0, reference=reference, n_draws=100, method="uniform")
    numbers = str(raised.value).partition("[")[2].partition("]")[0].split(", ")
    assert all(90 < float(number) < 110 for number in numbers)


@pytest.mark.slow
def test_scores_of_a_reference_leave_rows_as_they_are() -> None:
    score = block_score(Referred(square, Normal([0.0, 0.0], ONE)), 2)
    rows = np.random.default_rng(0).random((5, 2))
    before = rows.copy()
    expected = (stats.norm.ppf(rows) ** 2).sum(axis=1)
    np.testing.assert_allclose(score.of_rows(rows), expected, rtol=1e-12)
    np.testing.assert_array_equal(rows, before)
