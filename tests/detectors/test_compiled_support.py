"""One-class support vector machines, compiled: scores against the originals."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.svm import OneClassSVM

from fastad.detectors.compilation import compile_scorer
from fastad.errors import InvalidInputError
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

OCSVM = pytest.importorskip("pyod.models.ocsvm").OCSVM
KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "rbf", "gamma": 3.0},
    {"kernel": "linear"},
    {"kernel": "poly"},
    {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
    {"kernel": "poly", "degree": 0},
    {"kernel": "poly", "degree": 1, "coef0": -0.5},
    {"kernel": "poly", "degree": 6, "gamma": 0.1, "coef0": 0.25},
    {"kernel": "sigmoid"},
    {"kernel": "sigmoid", "gamma": 0.05, "coef0": -1.0},
]


def _floor(fitted: OneClassSVM, X: Any) -> Any:
    """Return a thousandth of the largest terms that a score may have lost to cancellation.

    Terms of either sign occur in all sums, and so does the offset.
    """
    weights = np.abs(fitted.dual_coef_)[0]
    products = np.abs(X) @ np.abs(fitted.support_vectors_).T
    if fitted.kernel == "poly":
        products = (fitted._gamma * products + abs(fitted.coef0)) ** fitted.degree
    elif fitted.kernel != "linear":
        products = np.ones_like(products)
    return 1e-3 * (products @ weights + np.abs(fitted.offset_))


@pytest.mark.slow
@loop("d", DIMENSIONS)
@loop("options", KERNELS)
def test_scores_are_those_of_scikit_learn(options: dict[str, Any], d: int) -> None:
    fitted = OneClassSVM(nu=0.2, **options).fit(training(d))
    X = queries(d)
    floor = _floor(fitted, X)
    assert_compiled(fitted, X, floor)


@pytest.mark.parametrize("options", KERNELS, ids=str)
def test_scores_are_those_of_pyod(options: dict[str, Any]) -> None:
    fitted = OCSVM(nu=0.2, **options).fit(training(5))
    X = queries(5)
    floor = _floor(fitted.detector_, X)
    assert_compiled(fitted, X, floor)


@loop("name", REAL)
@loop("kernel", ["rbf", "poly", "sigmoid"])
def test_real_data(kernel: str, name: str) -> None:
    train, X = real(name)
    fitted = OneClassSVM(kernel=kernel, nu=0.1).fit(train)
    floor = _floor(fitted, X)
    assert_compiled(fitted, X, floor)


@pytest.mark.parametrize("options", [*KERNELS[:1], *KERNELS[3:5], KERNELS[9]], ids=str)
def test_types_threads_and_blocks(options: dict[str, Any]) -> None:
    fitted = OneClassSVM(nu=0.2, **options).fit(training(5))
    assert_robust(compile_scorer(fitted), queries(5))


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_one_support_vector(kernel: str) -> None:
    fitted = OneClassSVM(kernel=kernel, gamma=0.3).fit([[1.0, -2.0]])
    assert len(fitted.support_) == 1
    X = queries(2)
    assert_compiled(fitted, X, _floor(fitted, X))


def test_far_points_tie_as_in_the_original() -> None:
    fitted = OneClassSVM(nu=0.2).fit(training(3))
    X = np.full((3, 3), 1e3) * np.array([[1.0], [1e3], [1e150]])
    np.testing.assert_array_equal(compile_scorer(fitted).score_samples(X), -fitted.score_samples(X))


def test_fitted_to_sparse_samples() -> None:
    fitted = OneClassSVM(nu=0.2).fit(csr_array(training(3)))
    X = queries(3)
    assert_compiled(fitted, X, float(fitted.offset_[0]) * 1e-3)


def test_later_fits_change_nothing() -> None:
    fitted = OneClassSVM(nu=0.2).fit(training(3))
    scorer, X = compile_scorer(fitted), queries(3)
    scores = scorer.score_samples(X)
    fitted.support_vectors_[:] = 0.0
    fitted.fit(training(3)[:50])
    np.testing.assert_array_equal(scorer.score_samples(X), scores)


@pytest.mark.parametrize("kernel", ["precomputed", lambda x, y: x @ y.T])
def test_other_kernels_are_refused(kernel: Any) -> None:
    X = training(3, 20)
    fitted = OneClassSVM(kernel=kernel).fit(X @ X.T if kernel == "precomputed" else X)
    with pytest.raises(InvalidInputError, match=r"kernel must be 'rbf', .*; found "):
        compile_scorer(fitted)
