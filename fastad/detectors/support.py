"""One-class support vector machines as compiled scorers."""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from fastad._core.arrays import set_readonly
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.detectors.support import (
    sum_gaussians,
    sum_gaussians_of_many,
    sum_powers,
    sum_tangents,
)
from fastad.detectors.scorer import CompiledScorer, check_fitted, floats
from fastad.errors import InvalidInputError

Sum: TypeAlias = Callable[[FloatMatrix, FloatVector], None]


def compile_one_class_svm(fitted: Any) -> CompiledScorer:
    """Compile a fitted one-class support vector machine of scikit-learn.

    A score takes time in proportion to the support vectors times the features; with a linear
    kernel they add up to one vector.

    Parameters
    ----------
    fitted : sklearn.svm.OneClassSVM
        Of kernel "rbf", "linear", "poly" or "sigmoid".

    Returns
    -------
    CompiledScorer
        Of ``-score_samples``. Where the sum of the kernels is much smaller than the offset, both
        lose the same digits: the original subtracts the offset and adds it again.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, or has another kernel.

    References
    ----------
    .. [1] B. Schoelkopf et al., Estimating the support of a high-dimensional distribution, 2001.
    """
    check_fitted(fitted, "sklearn.svm", "OneClassSVM", "offset_")
    return _SupportScorer("OneClassSVM", fitted, float(np.ravel(fitted.offset_)[0]))


def compile_ocsvm(fitted: Any) -> CompiledScorer:
    """Compile a fitted one-class support vector machine of PyOD.

    Parameters
    ----------
    fitted : pyod.models.ocsvm.OCSVM
        As for `compile_one_class_svm`.

    Returns
    -------
    CompiledScorer
        Of ``decision_function``.

    Raises
    ------
    InvalidInputError
        If the estimator is another one, not fitted, or has another kernel.
    """
    check_fitted(fitted, "pyod.models.ocsvm", "OCSVM", "decision_scores_")
    return _SupportScorer("OCSVM", fitted.detector_, 0.0)


class _SupportScorer(CompiledScorer):
    """Sum of a kernel over the support vectors, less the offset, plus it where it is not wanted."""

    def __init__(self, name: str, machine: Any, offset: float) -> None:
        self.name = name
        vectors = floats(machine.support_vectors_)
        self.n_features = vectors.shape[1]
        self._sum = _sum_of(machine, vectors, floats(machine.dual_coef_)[0])
        self._intercept = float(np.ravel(machine.intercept_)[0])
        self._offset = offset

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        self._sum(points, scores)
        scores += self._intercept
        scores += self._offset
        np.negative(scores, out=scores)


def _sum_of(machine: Any, vectors: FloatMatrix, weights: FloatVector) -> Sum:
    """Return the kernel of a machine, with its parameters filled in."""
    kernel = machine.kernel
    if kernel == "linear":
        total, one = (weights @ vectors)[None], np.ones(1)
        return lambda points, scores: sum_powers(points, total, one, 1.0, 0.0, 1, scores)
    # The number that "scale" and "auto" have become in fitting: no public attribute has it.
    gamma = float(getattr(machine, "_gamma", math.nan))
    constant = float(machine.coef0)
    if kernel == "rbf":
        rate = gamma / math.log(2.0)
        return lambda points, scores: sum_gaussians(points, vectors, weights, rate, scores)
    if kernel == "poly":
        degree = int(machine.degree)
        return lambda points, scores: sum_powers(
            points, vectors, weights, gamma, constant, degree, scores
        )
    if kernel == "sigmoid":
        return lambda points, scores: sum_tangents(
            points, vectors, weights, gamma, constant, scores
        )
    raise InvalidInputError(
        f"kernel must be 'rbf', 'linear', 'poly' or 'sigmoid' to be compiled; found {kernel!r}",
        argument="kernel",
    )


class SupportGroup:
    """Anomaly scores of machines with Gaussian kernels that were trained on the same rows.

    In many dimensions the distances to the training rows take most of the time of a score; here
    they are found once for all machines. Scores have the bits of `compile_scorer`.

    Parameters
    ----------
    machines : sequence of sklearn.svm.OneClassSVM
        Of kernel "rbf", fitted on ``X_train``.
    X_train : numpy.ndarray of shape (n_train, n_features)
        The rows.
    """

    def __init__(self, machines: Sequence[Any], X_train: FloatMatrix) -> None:
        weights = np.zeros((len(machines), X_train.shape[0]))
        for own, machine in zip(weights, machines, strict=True):
            own[machine.support_] = machine.dual_coef_[0]
        used = np.flatnonzero(weights.any(axis=0))
        self._vectors = set_readonly(floats(X_train[used]))
        self._weights = set_readonly(floats(weights[:, used]))
        # The number that "scale" and "auto" have become in fitting: no public attribute has it.
        self._rates = set_readonly(floats([machine._gamma / math.log(2.0) for machine in machines]))
        self._offsets = [
            (float(machine.intercept_[0]), float(machine.offset_[0])) for machine in machines
        ]

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write the scores of points of shape (n_features, n_points), a row for each machine."""
        sum_gaussians_of_many(points, self._vectors, self._weights, self._rates, scores)
        for own, (intercept, offset) in zip(scores, self._offsets, strict=True):
            # In the order in which the machine itself does it: the bits are the same.
            own += intercept
            own += offset
            np.negative(own, out=own)
