"""Uniform draws: counting on threads, and the exact intervals of the counts."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from fastad._core.buffers import ReusedBuffers, borrow_buffer
from fastad._core.progress import Progress, show_note
from fastad._core.threads import RemoteHook, in_steps, points_at_once
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.geometry.draws import counting, draw
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.results import VolumeEstimate, from_fraction
from fastad.regions.scores import BlockScore, Countable
from fastad.uncertainty.samples.closed_forms import clopper_pearson

# Blocks that a thread takes at once, at most.
_BLOCKS_A_PART = 4
# Draws at most for a threshold that nothing is below: as many as by default without an error.
_MOST_FOR_NONE = 10**6
# Parts between two checks of a relative error.
_PARTS_A_ROUND = 16


class Part(NamedTuple):
    """Some draws, and how many of them are below each threshold."""

    first: int
    size: int
    counts: IntVector


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Points of a box, numbered; the same for all detectors and thresholds."""

    box: Box
    key: np.uint64  # seeds their random numbers

    def count(
        self,
        score: BlockScore,
        thresholds: FloatVector,
        first: int,
        n_draws: int,
        progress: Progress | None = None,
    ) -> IntVector:
        """Count the points below each of some rising thresholds, from a number on."""
        if (count_elsewhere := counted_elsewhere.get()) is not None:
            return count_elsewhere(self, score, thresholds, range(first, first + n_draws))
        if score.joint is None:
            return self.count_here(score, thresholds, first, n_draws, progress)
        counts: IntVector
        n_done, counts = score.joint(self, thresholds, first, n_draws, progress)
        counts += self.count_here(score, thresholds, first + n_done, n_draws - n_done, progress)
        return counts

    def count_here(
        self,
        score: Countable,
        thresholds: FloatVector,
        first: int,
        n_draws: int,
        progress: Progress | None = None,
    ) -> IntVector:
        """Count in this process, and apart from other scores."""
        counts = np.zeros(thresholds.shape[0], np.int64)
        for end, parts in self.rounds(score, thresholds, first, first + n_draws):
            for part in parts:
                counts += part.counts
            if progress is not None:
                progress(end - first, n_draws)
                _say_error(counts, end - first)
        return counts

    def rounds(
        self, score: Countable, thresholds: FloatVector, start: int, stop: int
    ) -> Iterator[tuple[int, list[Part]]]:
        """Count part by part, on threads where the score allows it; yield each round's end."""

        def count(numbers: range) -> Part:
            counts = np.zeros(thresholds.shape[0], np.int64)
            if score.kernel is not None:
                with suppress(Exception):  # which the other way says with the points
                    if self._count_at_once(score, thresholds, numbers, counts):
                        return Part(numbers.start, len(numbers), counts)
                counts[:] = 0
            with ReusedBuffers():
                for block in in_steps(
                    numbers.start, numbers.stop, points_at_once(self.box.n_features)
                ):
                    score.count(self.points(block.start, len(block)), thresholds, counts)
            return Part(numbers.start, len(numbers), counts)

        yield from score.rounds(count, start, stop, self.box.n_features, blocks=_BLOCKS_A_PART)

    def _count_at_once(
        self, score: Countable, thresholds: FloatVector, numbers: range, counts: IntVector
    ) -> bool:
        """Draw, score and count in one kernel; tell whether all scores were numbers."""
        loop = counting(score.kernel)
        are_numbers: bool = loop(
            *(self.key, numbers.start, numbers.stop, self.box.ranges),
            *(thresholds, counts, score.arguments),
        )
        return are_numbers

    def points(self, first: int, size: int) -> FloatMatrix:
        """Return some points, coordinate by coordinate; in a block of reused memory, in it."""
        memory = borrow_buffer("points", self.box.n_features * size, np.float64)
        points = memory.reshape(self.box.n_features, size)
        draw(self.key, first, self.box.ranges, points)
        return points


# Takes draws, a score, rising thresholds and a range; returns the points of the range below each
# threshold. Draws are numbered, so counts of any ranges add up to the same.
counted_elsewhere: RemoteHook[[Draws, BlockScore, FloatVector, range], IntVector] = RemoteHook(
    "counted_elsewhere"
)


def _say_error(counts: IntVector, n_drawn: int) -> None:
    """Show the relative error by now, of the threshold with the largest."""
    fewest = int(counts.min())
    show_note(
        lambda: (
            f"relative error {math.sqrt((n_drawn - fewest) / (fewest * n_drawn)):.2g}"
            if fewest
            else "no draw inside yet"
        )
    )


def count_draws(
    draws: Draws,
    score: BlockScore,
    thresholds: Sequence[float],
    n_draws: int,
    first: int = 0,
    progress: Progress | None = None,
) -> IntVector:
    """Count the points below thresholds of any order, from a number on."""
    order = np.argsort(thresholds)
    counts = np.empty(len(thresholds), np.int64)
    rising = np.asarray(thresholds, np.float64)[order]
    counts[order] = draws.count(score, rising, first, n_draws, progress)
    return counts


def estimate_fractions(
    draws: Draws,
    score: BlockScore,
    thresholds: Sequence[float],
    n_draws: int,
    level: float,
    progress: Progress | None = None,
    first: tuple[int, IntVector] | None = None,
) -> list[VolumeEstimate]:
    """Estimate fractions from a number of draws, of which the first may be counted already."""
    n_counted, counts = (0, np.zeros(len(thresholds), np.int64)) if first is None else first
    counts = counts + count_draws(
        draws, score, thresholds, n_draws - n_counted, n_counted, progress
    )
    return [
        _estimate(draws, score, threshold, count, n_draws, level)
        for threshold, count in zip(thresholds, counts.tolist(), strict=True)
    ]


def _estimate(
    draws: Draws, score: BlockScore, threshold: float, n_inside: int, n_drawn: int, level: float
) -> VolumeEstimate:
    def more(n_draws: int) -> VolumeEstimate:
        counts = draws.count(score, np.array([threshold]), n_drawn, n_draws)
        return _estimate(
            draws, score, threshold, n_inside + int(counts[0]), n_drawn + n_draws, level
        )

    return binomial(n_inside, n_drawn, threshold, level, "uniform", more)


def binomial(
    n_inside: int,
    n_drawn: int,
    threshold: float,
    level: float,
    method: str,
    more: Callable[[int], VolumeEstimate] | None = None,
) -> VolumeEstimate:
    """Return the estimate of a binomial number, with the interval of Clopper and Pearson."""
    low, high = clopper_pearson(n_inside, n_drawn, 1 - level)
    value = n_inside / n_drawn if n_inside else high
    return from_fraction(
        value,
        math.sqrt(value * (1 - value) / n_drawn) if n_inside else math.nan,
        low,
        high,
        n_drawn=n_drawn,
        n_inside=n_inside,
        method=method,
        confidence_level=level,
        threshold=threshold,
        is_bound=n_inside == 0,
        _more=more,
    )


def hits_for(rtol: float) -> int:
    """Return the number of draws inside that a relative error needs.

    With them the root of the mean squared error is at most that fraction of the volume, for any
    volume (Mendo and Hernando 2006, on inverse binomial sampling).
    """
    return math.ceil(1 / rtol**2) + 2


def estimate_until(
    draws: Draws,
    score: BlockScore,
    thresholds: Sequence[float],
    rtol: float,
    most: int,
    level: float,
    progress: Progress | None = None,
    begun: tuple[Sequence[VolumeEstimate], IntVector] | None = None,
) -> tuple[list[VolumeEstimate], IntVector]:
    """Draw until enough points fall inside each region, or the budget is used up.

    Goes on from what it has returned before: other draws in place of those that were too few, and
    not in place of others, would make estimates too high.

    Returns
    -------
    estimates : list of VolumeEstimate
        One for each threshold.
    counts : numpy.ndarray of shape (n_thresholds,)
        Number of all scored points below each: ends are found among some more.
    """
    needed = hits_for(rtol)
    order = np.argsort(thresholds)
    rising = np.asarray(thresholds, np.float64)[order]
    counts = np.zeros(rising.shape[0], np.int64)
    ends = np.zeros(rising.shape[0], np.int64)
    # The first round is small: where a region is large, few draws do.
    n_drawn, step = 0, 2 * needed
    if begun is not None:
        before = [begun[0][k] for k in order]
        n_drawn, counts = before[0].n_scored, begun[1][order]
        ends[:] = [each.n_drawn if each.n_inside == needed else 0 for each in before]
    # No draw is below -inf: it ends with a number of them.
    is_none = rising == -math.inf
    n_for_none = min(_MOST_FOR_NONE, most)
    ends_at = n_for_none if is_none.any() else 0
    while n_drawn < most and not (ends[~is_none].all() and n_drawn >= ends_at):
        stop = min(n_drawn + step, most)
        rounds = draws.rounds(score, rising, n_drawn, stop)
        for part in (part for _, parts in rounds for part in parts):
            for k in np.flatnonzero((ends == 0) & (counts + part.counts >= needed)):
                ends[k] = _end(draws, score, rising[k], part, needed - int(counts[k]))
            counts += part.counts
        n_drawn = stop
        # Few rounds until the end, and none much too long.
        step = min(2 * step, _PARTS_A_ROUND * _BLOCKS_A_PART * points_at_once(draws.box.n_features))
        if progress is not None:
            progress(n_drawn, None)
            _say_error(counts, n_drawn)
    estimates = [
        replace(_inverse(needed, end, threshold, level), n_scored=n_drawn)
        if end
        else replace(
            binomial(
                count, n_drawn if threshold > -math.inf else n_for_none, threshold, level, "uniform"
            ),
            n_scored=n_drawn,
        )
        for count, end, threshold in zip(
            counts.tolist(), ends.tolist(), rising.tolist(), strict=True
        )
    ]
    as_given = np.argsort(order)
    return [estimates[index] for index in as_given], counts[as_given]


def _end(draws: Draws, score: BlockScore, threshold: float, part: Part, left: int) -> int:
    """Return the number of draws after which ``left`` more of a part are inside."""
    points = draws.points(part.first, part.size)
    scores = np.empty(part.size)
    score.write(points, scores)
    inside = np.flatnonzero(scores < threshold)
    if inside.shape[0] >= left:
        return part.first + int(inside[left - 1]) + 1
    raise InvalidInputError("detector must not change from call to call; found fewer points inside")


def _inverse(n_inside: int, n_drawn: int, threshold: float, level: float) -> VolumeEstimate:
    """Return the estimate of draws that ended with a number of hits.

    The unbiased one, and the exact interval of the negative binomial distribution.
    """
    value = (n_inside - 1) / (n_drawn - 1)
    alpha = 1 - level
    low = float(betaincinv(n_inside, n_drawn - n_inside + 1, alpha / 2))
    high = 1.0
    if n_drawn > n_inside:
        high = float(betaincinv(n_inside, n_drawn - n_inside, 1 - alpha / 2))
    return from_fraction(
        value,
        value * math.sqrt((1 - value) / (n_inside - 2)),
        low,
        high,
        n_drawn=n_drawn,
        n_inside=n_inside,
        method="uniform",
        confidence_level=level,
        threshold=threshold,
        is_bound=False,
    )
