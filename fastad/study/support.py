"""``SupportGroup``: one-class support vector machines of one split, which share their distances."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastad._kernels.support import sum_gaussians_of_many
from fastad._types import FloatMatrix
from fastad._validate import frozen
from fastad.compiled.fitted import floats


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
        self._vectors = frozen(floats(X_train[used]))
        self._weights = frozen(floats(weights[:, used]))
        # The number that "scale" and "auto" have become in fitting: no public attribute has it.
        self._rates = frozen(floats([machine._gamma / math.log(2.0) for machine in machines]))
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
