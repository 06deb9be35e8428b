"""Linear algebra of many points, against NumPy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad.regions.algebra import (
    dot,
    eigen_of,
    mean_of,
    product_of,
    products_of,
    squared_distances,
)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 300), st.integers(0, 2**32))
def test_products(m: int, k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right, weights = rng.normal(size=(m, k)), rng.normal(size=(k, n)), rng.random(n)
    np.testing.assert_allclose(product_of(left, right), left @ right, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(product_of(left.T.copy().T, right[:, :]), product_of(left, right))
    mean = rng.normal(size=k)
    deviations = right - mean[:, None]
    expected = deviations @ deviations.T
    np.testing.assert_allclose(products_of(right, mean), expected, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(mean_of(right, weights), right @ weights, rtol=1e-12, atol=1e-12)
    assert dot(weights, weights) == pytest.approx(float(weights @ weights), rel=1e-13)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 50), st.integers(0, 2**32))
def test_squared_distances(d: int, m: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(d, m)), rng.normal(size=(d, n))
    right[:, 0] = left[:, 0]
    result = squared_distances(left, right)
    expected = ((left[:, :, None] - right[:, None, :]) ** 2).sum(axis=0)
    np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-12)
    # Where products cancel, no square is below 0.
    assert result.min() >= 0.0


def test_views_are_as_good_as_arrays() -> None:
    points = np.random.default_rng(0).normal(size=(4, 100))
    centre = np.zeros(4)
    expected = points[:, ::3] @ points[:, ::3].T
    np.testing.assert_allclose(products_of(points[:, ::3], centre), expected, rtol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("rank", [1.0, 0.5])
def test_eigenvalues_and_vectors(d: int, rank: float) -> None:
    rng = np.random.default_rng(d)
    points = rng.normal(size=(d, max(1, int(rank * 3 * d) if rank == 1 else d // 2)))
    matrix = points @ points.T
    values, vectors = eigen_of(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), atol=1e-11 * np.trace(matrix))
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(d), atol=1e-12)


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((3, 3)),
        np.eye(4),
        np.diag([3.0, -1.0, 2.0]),
        np.ones((5, 5)),
        np.diag([1e-300, 1.0, 1e300]),
        np.array([[1.0, 1e-9], [1e-9, 1.0]]),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
    ],
    ids=str,
)
def test_eigenvalues_of_odd_matrices(matrix: np.ndarray) -> None:
    values, vectors = eigen_of(matrix)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=1e-12)
