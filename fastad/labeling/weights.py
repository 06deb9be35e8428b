"""Weights of rows with labels, over all rounds in which rows were drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.types import FloatVector, IntVector
from fastad.labeling.drawn_rows import DrawnRows


@dataclass(frozen=True, slots=True, eq=False)
class LabeledRows:
    """Rows that are a sample: of each round those before the first one without a label."""

    row: IntVector
    label: FloatVector
    probability: FloatVector  # with which each was drawn in its round
    rounds: list[slice]  # where the rows of each round are
    least: list[float]  # the least probability of all rows, of each round

    @classmethod
    def of(cls, rounds: Sequence[DrawnRows]) -> "LabeledRows":
        """Return the rows of rounds, given the priority of the first one that is not used.

        Rounds without a label tell nothing.
        """
        rounds = [each for each in rounds if each.n_complete]
        sizes = [each.n_complete for each in rounds]
        limits = [float(np.append(each.priority, 1.0)[each.n_complete]) for each in rounds]
        parts = list(zip(rounds, sizes, limits, strict=True))
        return cls(
            np.concatenate([each.row[:k] for each, k, _ in parts]),
            np.concatenate([each.label[:k] for each, k, _ in parts]),
            np.concatenate([np.minimum(each.size[:k] * limit, 1) for each, k, limit in parts]),
            [slice(end - k, end) for k, end in zip(sizes, np.cumsum(sizes), strict=True)],
            [min(each.least_size * limit, 1.0) for each, _, limit in parts],
        )

    def weights(
        self, deviation: FloatVector, *, others_deviate: bool
    ) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return the weight of each row, and its second and third moment over the probability.

        A round is an estimate of its own, in which the rows of earlier ones are certain. It counts
        as the inverse of its variance if rows deviate as much from a target as is given: by a
        model, because the deviations that labels show are small where they happen to be. Where the
        last one has no variance, and no row without a label deviates, it is exact; an earlier one
        then had rows that it did not draw.
        """
        others = (1 - self.probability) / self.probability
        expected = others / self.probability * deviation**2
        variances = np.array([expected[rows].sum() for rows in self.rounds])
        sizes = np.array([rows.stop - rows.start for rows in self.rounds])
        last = np.flatnonzero(sizes)[-1]
        precision = np.zeros(sizes.shape[0])
        np.divide(1, variances, out=precision, where=variances > 0)
        if not variances[last] and not (others_deviate and precision.any()):
            precision = (np.arange(sizes.shape[0]) == last).astype(np.float64)
        precision /= precision.sum()
        fraction = np.repeat(precision, sizes)
        later = np.repeat(1 - np.cumsum(precision), sizes)
        weight = fraction / self.probability + np.maximum(later, 0)
        variance = fraction**2 * others / self.probability
        skewness = fraction * variance * (1 - 2 * self.probability) / self.probability
        return weight, variance, skewness
