"""One-class support vector machines as compiled scorers."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.arrays import set_readonly
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.detectors.support import sum_gaussians, sum_powers, sum_tangents
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
    kernel they add up to one vector. ``gaussian`` is the sum where the kernel is Gaussian.

    References
    ----------
    .. [1] B. Schoelkopf et al., Estimating the support of a high-dimensional distribution, 2001.
    """

    def __init__(self, name: str, machine: Any, offset: float) -> None:
        self.name = name
        vectors = floats(machine.support_vectors_)
        self.n_features = vectors.shape[1]
        weights = floats(machine.dual_coef_)[0]
        self.gaussian = _gaussian_of(machine, vectors, weights)
        self._sum = _sum_of(machine, vectors, weights, self.gaussian)
        self._intercept = float(np.ravel(machine.intercept_)[0])
        self._offset = offset

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, as said by `CompiledScorer`."""
        self._sum(points, scores)
        self.finish(scores)

    def finish(self, scores: FloatVector) -> None:
        """Make sums into scores."""
        scores += self._intercept
        scores += self._offset
        np.negative(scores, out=scores)


class Gaussian(NamedTuple):
    """A sum of Gaussians.

    Vectors are in the order of their coordinates and all different, so that sums over the vectors
    of several machines, in that order too, have the same bits.
    """

    vectors: FloatMatrix  # (s, d)
    weights: FloatVector  # (s,)
    rate: float


def _gaussian_of(machine: Any, vectors: FloatMatrix, weights: FloatVector) -> Gaussian | None:
    if machine.kernel != "rbf":
        return None
    distinct, indices = np.unique(vectors, axis=0, return_inverse=True)
    total = np.bincount(indices.ravel(), weights, distinct.shape[0])
    # The number that "scale" or "auto" became in fitting: no public attribute has it.
    rate = float(getattr(machine, "_gamma", math.nan)) / math.log(2.0)
    return Gaussian(set_readonly(floats(distinct)), set_readonly(total), rate)


def _sum_of(
    machine: Any, vectors: FloatMatrix, weights: FloatVector, gaussian: Gaussian | None
) -> Sum:
    """Return the kernel of a machine, with its parameters filled in."""
    kernel = machine.kernel
    if gaussian is not None:
        weights, rates = gaussian.weights[None], set_readonly(floats([gaussian.rate]))
        return lambda points, scores: sum_gaussians(
            points, gaussian.vectors, weights, rates, scores[None]
        )
    if kernel == "linear":
        total, weight = (weights @ vectors)[None], np.ones(1)
        return lambda points, scores: sum_powers(points, total, weight, 1.0, 0.0, 1, scores)
    gamma = float(getattr(machine, "_gamma", math.nan))
    constant = float(machine.coef0)
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
        f"kernel must be 'rbf', 'linear', 'poly' or 'sigmoid' to be compiled; found {kernel!r}"
    )


class SupportGroup:
    """Anomaly scores of machines with Gaussian kernels, most of whose support vectors are shared.

    In many dimensions the distances to the vectors take most of the time of a score; here
    they are computed once for all machines. Scores have the bits of the machine alone.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        self._members: Sequence[SupportScorer] = members
        parts: list[Gaussian] = [member.gaussian for member in members]
        vectors, indices = np.unique(
            np.concatenate([part.vectors for part in parts]), axis=0, return_inverse=True
        )
        weights = np.zeros((len(parts), vectors.shape[0]))
        stops = np.cumsum([part.weights.shape[0] for part in parts])[:-1]
        for row, part, where in zip(weights, parts, np.split(indices.ravel(), stops), strict=True):
            row[where] = part.weights
        self._vectors, self._weights = set_readonly(floats(vectors)), set_readonly(weights)
        self._rates = set_readonly(floats([part.rate for part in parts]))

    def write(self, points: FloatMatrix, scores: FloatMatrix) -> None:
        """Write the scores of points of shape (n_features, n_points), a row for each machine."""
        sum_gaussians(points, self._vectors, self._weights, self._rates, scores)
        for row, member in zip(scores, self._members, strict=True):
            member.finish(row)
