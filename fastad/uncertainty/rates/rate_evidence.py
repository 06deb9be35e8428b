"""Evidence that a rate has left its bounds, at the beginning or at any later time.

Against the rate b, a bet on a higher one multiplies its stake by (1 + x) / (1 + b x) for each event
and by 1 / (1 + b x) for each other point: the likelihood ratio of the rate whose odds are 1 + x
times as high (in the form 1 + bet * (outcome - b): Waudby-Smith and Ramdas, 2024, section 4). Its
expected value is (1 + p x) / (1 + b x) if the next point is an event with probability p: at most 1
as long as p <= b, whatever happened before. Bets are placed on several x, and on each at every
look anew, with parts of a capital of 1 that were fixed before. So the capital, too, is a
supermartingale that begins at 1, and by Ville's inequality it ever reaches 1 / alpha with a
probability of at most alpha. Bets that were placed after the rate had changed do not suffer from
the time before; this is the mixture over starting times by which Shin, Ramdas and Rinaldo (2023)
build detectors of changes, with weights that add up to 1 over all times instead of
constant ones, so that the probability of any false alarm is bounded instead of their frequency.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.types import FloatVector

Floats: TypeAlias = npt.NDArray[np.float64]
Alternative: TypeAlias = Literal["greater", "less", "two-sided"]

# Exponents of 2: how much the odds exceed those that are tested, relative to them.
_EXPONENTS = np.arange(-16, 13)
# Part of the capital that is bet at the first look.
_AT_FIRST = 0.5
# Exponent of time with which the capital that is not bet yet falls: bets on a change after 10**4
# events are the largest, and bets at other times not much smaller.
_FALL = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class RateBets:
    """Bets against rates of at most ``high``, of at least ``low``, or both."""

    # (..., n_bets): by how much the logarithm of a stake grows with an event, and with another
    # point.
    of_event: Floats
    of_other: Floats
    weights: FloatVector  # (n_bets,): parts of the capital; they add up to 1
    # (..., n_bets): expected number of the rarer outcome at each point: the scale of time.
    units: Floats

    @classmethod
    def against(cls, low: Any, high: Any, alternative: Alternative) -> "RateBets":
        """Bet on rates above the highest, below the lowest, or both, with half the capital each.

        The bounds may be arrays, of many streams.
        """
        excess = 2.0**_EXPONENTS
        # Most is bet on odds that are twice as high, or half as high.
        weights = 1 / (1 + _EXPONENTS**2.0)
        parts = []
        for side, bound in (("greater", high), ("less", 1 - low)):
            if alternative in (side, "two-sided"):
                base = np.asarray(bound, np.float64)[..., None]
                lost = -np.log1p(base * excess)
                won = np.log1p(excess) + lost
                of_event, of_other = (won, lost) if side == "greater" else (lost, won)
                units = np.broadcast_to(np.minimum(base, 1 - base), lost.shape)
                parts.append((of_event, of_other, weights, units))
        arrays = [np.concatenate(each, axis=-1) for each in zip(*parts, strict=True)]
        arrays[2] /= arrays[2].sum()
        set_all_readonly(*arrays)
        return cls(*arrays)

    def held_back(self, n: Floats) -> Floats:
        """Return the capital for later bets, when bets have been placed after n points."""
        expected = n[..., None] * self.units
        left: Floats = self.weights * (_AT_FIRST * (1 + expected) ** -_FALL)
        return left


class RateEvidence:
    """The capital of bets, of one stream or of an array of streams."""

    __slots__ = ("_bets", "kept", "log_stakes", "n")

    def __init__(self, bets: RateBets, shape: tuple[int, ...] = ()) -> None:
        self._bets = bets
        self.n = np.zeros(shape)  # number of points
        # (*shape, n_bets): capital that is not bet yet, and logarithms of the placed bets' values.
        self.kept = np.broadcast_to(bets.weights, (*shape, bets.weights.shape[0]))
        self.log_stakes = np.full(self.kept.shape, -math.inf)

    def update(self, k: Any, n: Any) -> None:
        """Take k events among n further points; k and n broadcast with the streams.

        Bets are placed first, as the time so far says, and so do not know how many points come.
        """
        bets = self._bets
        kept = bets.held_back(self.n)
        with np.errstate(divide="ignore"):
            placed = np.logaddexp(self.log_stakes, np.log(np.maximum(self.kept - kept, 0.0)))
        events = np.asarray(k, np.float64)[..., None]
        others = np.asarray(n - k, np.float64)[..., None]
        self.log_stakes = placed + events * bets.of_event + others * bets.of_other
        self.kept = kept
        self.n = self.n + n

    @property
    def log_value(self) -> Any:
        """Logarithm of the capital: the e-value of the hypothesis that the rate is in bounds."""
        with np.errstate(under="ignore"):
            staked = np.logaddexp.reduce(self.log_stakes, axis=-1)
        return np.logaddexp(staked, np.log(self.kept.sum(axis=-1)))
