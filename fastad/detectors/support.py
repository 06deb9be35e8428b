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
from fastad.detectors.scorer import CompiledScorer, floats
from fastad.errors import InvalidInputError

Sum: TypeAlias = Callable[[FloatMatrix, FloatVector], None]


def compile_one_class_svm(machine: Any) -> CompiledScorer:
    """Compile ``-score_samples`` of scikit-learn's OneClassSVM.

    Where the sum of the kernels is much smaller than the offset, both lose the same digits: the
    original subtracts the offset and adds it again.
    """
    return SupportScorer("OneClassSVM", machine, float(np.ravel(machine.offset_)[0]))


def compile_ocsvm(detector: Any) -> CompiledScorer:
    """Compile ``decision_function`` of PyOD's OCSVM."""
    return SupportScorer("OCSVM", detector.detector_, 0.0)


class SupportScorer(CompiledScorer):
    """Sum of a kernel over the support vectors with the intercept, and an offset, negated.

    A score takes time in proportion to the support vectors times the features; with a linear
    kernel they add up to one vector.

    References
    ----------
    .. [1] B. Schoelkopf et al., Estimating the support of a high-dimensional distribution, 2001.
    """

    def __init__(self, name: str, machine: Any, offset: float) -> None:
        self.name = name
        vectors = floats(machine.support_vectors_)
        self.n_features = vectors.shape[1]
        self._sum = _sum_of(machine, vectors, floats(machine.dual_coef_)[0])
        self._intercept = float(np.ravel(machine.intercept_)[0])
        self._offset = offset

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        self._sum(points, scores)
        scores += self._intercept
        scores += self._offset
        np.negative(scores, out=scores)


def _sum_of(machine: Any, vectors: FloatMatrix, weights: FloatVector) -> Sum:
    """Return the kernel of a machine, with its parameters filled in."""
    kernel = machine.kernel
    if kernel == "linear":
        total, weight = (weights @ vectors)[None], np.ones(1)
        return lambda points, scores: sum_powers(points, total, weight, 1.0, 0.0, 1, scores)
    # The number that "scale" or "auto" became in fitting: no public attribute has it.
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
    they are computed once for all machines. Scores have the bits of `compile_scorer`.

    Parameters
    ----------
    machines : sequence of sklearn.svm.OneClassSVM
        Of kernel "rbf", fitted on ``X_train``.
    X_train : numpy.ndarray of shape (n_train, n_features)
        The rows.
    """

    def __init__(self, machines: Sequence[Any], X_train: FloatMatrix) -> None:
        weights = np.zeros((len(machines), X_train.shape[0]))
        for row, machine in zip(weights, machines, strict=True):
            row[machine.support_] = machine.dual_coef_[0]
        used = np.flatnonzero(weights.any(axis=0))
        self._vectors = set_readonly(floats(X_train[used]))
        self._weights = set_readonly(floats(weights[:, used]))
        # The number that "scale" or "auto" became in fitting: no public attribute has it.
        self._rates = set_readonly(floats([machine._gamma / math.log(2.0) for machine in machines]))
        self._offsets = [
            (float(machine.intercept_[0]), float(machine.offset_[0])) for machine in machines
        ]

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write the scores of points of shape (n_features, n_points), a row for each machine."""
        sum_gaussians_of_many(points, self._vectors, self._weights, self._rates, scores)
        for row, (intercept, offset) in zip(scores, self._offsets, strict=True):
            # In the order in which the machine itself does it: the bits are the same.
            row += intercept
            row += offset
            np.negative(row, out=row)
