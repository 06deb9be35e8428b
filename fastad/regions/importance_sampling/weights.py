"""Sums of importance weights, and whether these tell of all of a region."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError
from fastad.regions.algebra import dot

# With fewer effective draws the weights do not estimate their own error: the largest ones, which
# matter most, may not have been drawn. No single weight is then above a tenth of their sum.
FEWEST_EFFECTIVE = 100
# A heavier tail of the weights hides a part of the region that is hardly drawn (Hill 1975; the
# same bound as in Vehtari et al. 2024). With data on a plane inside of a ball of 15 to 30
# features the index is 0.87 or more, and the estimate 3 % of the truth; in regions that are
# estimated well it is 0.68 at most.
HEAVIEST_TAIL = 0.7
# Length of the tail, in roots of the number of weights.
_ROOTS = 3.0
# Where a larger part of the data is missed even then, there is no estimate.
_MOST_MISSED = 0.25


class RefusedError(InvalidInputError):
    """Importance sampling has no reliable estimate; another method may.

    Attributes
    ----------
    why : str
        Reason in words.
    numbers : str
        The numbers behind them.
    n_scored : int
        Points that were scored before.
    """

    def __init__(
        self, message: str, *, why: str = "", numbers: str = "", argument: str | None = None
    ) -> None:
        super().__init__(message, argument=argument)
        self.why, self.numbers = why, numbers
        self.n_scored = 0


class Missed(NamedTuple):
    """How many data points in a region lie where hardly any draw falls.

    Attributes
    ----------
    n_missed, n_points : int
        Missed points, of all points that no draw is around.
    """

    n_missed: int
    n_points: int

    def check(self, threshold: float) -> None:
        """Refuse draws that miss too many."""
        if self.n_missed > _MOST_MISSED * self.n_points:
            raise RefusedError(
                "method='importance' needs draws that reach what the data do; found "
                f"{self.n_missed} of {self.n_points} samples of data below {threshold} where "
                "hardly any draw falls: raise n_draws, give more data, or use method='splitting'",
                why="draws around the data miss parts of the region",
                numbers=f"{self.n_missed} of {self.n_points} samples where hardly any falls",
            )

    def most(self, level: float) -> float:
        """Return how much of the region draws may miss, on a logarithmic scale; 0 of no points."""
        if self.n_missed == 0:
            return 0.0
        part = betaincinv(self.n_missed + 1, self.n_points - self.n_missed, (1 + level) / 2)
        return -math.log1p(-float(part))


class WeightSums:
    """Sums of weights and of their squares, in units that keep them within the range of floats."""

    def __init__(self, most: int) -> None:
        self.n_inside = 0
        self.unit = -math.inf
        self._kept = int(_ROOTS * math.sqrt(most)) + 1
        self._largest = np.empty(0)
        self._first, self._second = 0.0, 0.0

    def add(self, logs: FloatVector) -> None:
        """Add weights."""
        if logs.shape[0] == 0:
            return
        self.n_inside += logs.shape[0]
        self._largest = np.sort(np.concatenate([self._largest, logs]))[-self._kept :]
        if (largest := float(logs.max())) > self.unit:
            shrink = math.exp(self.unit - largest)
            self._first, self._second = self._first * shrink, self._second * shrink**2
            self.unit = largest
        weights = np.exp(logs - self.unit)
        self._first += float(weights.sum())
        self._second += dot(weights, weights)

    @property
    def log_sum(self) -> float:
        """Logarithm of the sum of weights."""
        return self.unit + math.log(self._first) if self.n_inside else -math.inf

    @property
    def effective(self) -> float:
        """How many equal weights would be as informative."""
        return self._first**2 / self._second if self.n_inside else 0.0

    @property
    def tail_index(self) -> float:
        """Index of the tail of weights by Hill's estimator; from 1/2 on they have no variance."""
        n = min(int(_ROOTS * math.sqrt(self.n_inside)), self.n_inside // 5)
        largest = self._largest[-n - 1 :]
        return float(np.mean(largest[1:] - largest[0]))


def check_weights(sums: WeightSums, threshold: float, n_drawn: int) -> None:
    """Refuse weights that do not estimate their own error."""
    if (n_effective := sums.effective) < FEWEST_EFFECTIVE:
        raise RefusedError(
            f"method='importance' needs draws that are worth {FEWEST_EFFECTIVE} independent ones "
            f"in the region; found {n_effective:.3g}, from {sums.n_inside} of {n_drawn} draws "
            f"with scores below {threshold}: raise n_draws, give more data, or use "
            "method='splitting'",
            why="too few draws around the data fall into the region",
            numbers=f"worth {n_effective:.3g} of at least {FEWEST_EFFECTIVE} independent ones",
        )
    if (index := sums.tail_index) > HEAVIEST_TAIL:
        raise RefusedError(
            f"method='importance' needs weights with a tail of index {HEAVIEST_TAIL} at most; "
            f"found {index:.3g}, below {threshold}: parts of the region are hardly drawn, "
            "for example because the data lie on a plane in it: raise n_draws, give other data, "
            "or use method='splitting'",
            why="draws around the data miss parts of the region",
            numbers=f"weights with a tail of index {index:.3g}, at most {HEAVIEST_TAIL}",
        )
