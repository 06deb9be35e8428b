"""Exact fractions of a box below thresholds of an isolation forest's score.

The score is constant where the leaves of all trees overlap. Few of these cells are looked at: the
box is cut only until the bounds of a cell's score are on one side of each threshold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from fastad._core.progress import show_note
from fastad._core.threads import thread_map
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry import cells as kernels
from fastad._kernels.geometry.cells import IndexVector
from fastad.detectors.forest import ForestScorer, Trees
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.results import VolumeEstimate, from_fraction

# Nodes of trees to look at: each takes 7 to 10 ns on one thread.
MOST_NODES = 2 * 10**9
FEW_NODES = 10**8
# Probes of a search: fewer where trees have more nodes than that together.
_LEAST_PROBES, _MOST_PROBES = 10, 100
_PROBED_NODES = 2 * 10**6
# Nodes visited between two checks of the limit and of Ctrl-C, for each of at most _PARTS parts.
_NODES_A_ROUND = 2**22
_PARTS = 16
# Room on a stack, which grows.
_CELLS = 64
# Scores are powers, which libraries round to the last few digits: as sums of depths rise by 256
# floats, a score falls by many of its own, however it is rounded.
_NEAR = 256


def exact_fractions(
    scorer: CompiledScorer | None,
    thresholds: Sequence[float],
    box: Box,
    *,
    level: float,
    most_nodes: int = MOST_NODES,
) -> list[VolumeEstimate]:
    """Compute the fractions of a box where an isolation forest scores below thresholds.

    Exact but for the rounding of sums of products, some 1e-15 of each fraction: points are on the
    side of a threshold on which their compiled score is, coordinates being rounded to single
    precision. Several thresholds, none of them NaN, take one search, longer than for one; the
    search gives up after ``most_nodes`` nodes, by default within 20 seconds of one thread.

    The number of cells grows with the region's surface: with t trees and d features as t to the
    power of d - 1. An early cell takes as many steps as trees have nodes. Memory grows with the
    number of trees, times the logarithm of the number of cells. Cells of a fraction below 1e-300
    are lost.
    """
    problem = _problem(scorer, thresholds, box)
    sums = _search(problem, most_nodes)
    # The classes of sums by their scores; their first sums stand for all.
    order = np.argsort(problem.scores, kind="stable")
    rising = problem.scores[order]
    terms = (Fraction(total) + Fraction(rest) for total, rest in sums.T[order].tolist())
    totals = [Fraction(0), *accumulate(terms)]
    indices = np.searchsorted(rising, np.asarray(thresholds, np.float64), side="left")
    fractions = [min(float(totals[index]), 1.0) for index in indices.tolist()]
    return [
        from_fraction(
            *(fraction, 0.0, fraction, fraction),
            n_drawn=0,
            n_inside=0,
            method="exact",
            confidence_level=level,
            threshold=float(threshold),
            is_bound=False,
            effective_sample_size=math.inf,
        )
        for fraction, threshold in zip(fractions, thresholds, strict=True)
    ]


def is_small(
    scorer: CompiledScorer | None,
    thresholds: Sequence[float],
    box: Box,
    *,
    most_nodes: int = FEW_NODES,
) -> bool:
    """Tell whether `exact_fractions` is likely to visit at most ``most_nodes`` nodes.

    Estimates the number from a few ways from the whole box down to a decided cell, the same in each
    call; 0.1 s for 100 trees. Of 21 searches of 10^5 to 10^9 nodes (1 to 20 features, 5 to 1000
    trees of 16 to 2000 samples, one or ten thresholds) estimates were 0.35 to 1.8 times the number,
    and once 8 times. By default the nodes take one thread a second. False for all but isolation
    forests.
    """
    if not isinstance(scorer, ForestScorer):
        return False
    n_probes = min(max(_PROBED_NODES // scorer.n_nodes, _LEAST_PROBES), _MOST_PROBES)
    # The first cell asks for all trees.
    if scorer.n_nodes * n_probes > most_nodes:
        return False
    problem = _problem(scorer, thresholds, box)
    rng = np.random.default_rng(0)
    total = 0.0
    for _ in range(n_probes):
        total += _whole(problem).probe(rng)
        if total > most_nodes * n_probes:
            return False
    return True


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """A forest in a box, and where its sums of depths cross thresholds."""

    nodes: kernels.Nodes
    grid: kernels.Grid
    height: int
    # (n_classes - 1,): first sum of each class but the lowest; a class crosses no threshold.
    breaks: FloatVector
    scores: FloatVector  # (n_classes,): score of the first sum of each class
    slack: float  # largest difference between sums that add up in different orders


def _problem(scorer: CompiledScorer | None, thresholds: Sequence[float], box: Box) -> _Problem:
    if not isinstance(scorer, ForestScorer):
        raise InvalidInputError(
            "method='exact' takes a compiled isolation forest; found "
            + ("a function" if scorer is None else repr(scorer)),
            argument="method",
        )
    if scorer.n_features != box.n_features:
        raise InvalidInputError(
            f"box must have {scorer.n_features} features as the detector; found {box.n_features}"
        )
    trees = scorer.trees()
    grid, positions = _grid(trees, box)
    links = np.column_stack([trees.features, positions, trees.lefts, trees.rights])
    bounds = np.column_stack([trees.values, trees.values])
    height = kernels.bound(links, bounds)
    nodes = kernels.Nodes(links, bounds, trees.roots)
    # Added up in the same order as for points: no point has a sum beyond.
    least, largest = np.cumsum(bounds[trees.roots], axis=0)[-1].tolist()
    breaks = _breaks(scorer, np.asarray(thresholds, np.float64), least, largest)
    scores = _scores(scorer, np.concatenate([[least], breaks]))
    # Four times the bound of Higham (2002), section 4.2, for two orders together.
    slack = 4 * (trees.roots.shape[0] + 1) * np.finfo(np.float64).eps * largest
    return _Problem(nodes, grid, height, breaks, scores, slack)


def _scores(scorer: ForestScorer, depths: FloatVector) -> FloatVector:
    scores = np.empty(depths.shape[0])
    scorer.finish(depths.copy(), scores)
    return scores


def _breaks(
    scorer: ForestScorer, thresholds: FloatVector, least: float, largest: float
) -> FloatVector:
    """Return the sums of depths from which on the score is on another side of a threshold.

    Scores fall as sums rise, but for the rounding of powers near a threshold: all floats near it
    are tried.
    """
    thresholds = np.unique(thresholds)
    # Floats from 0 on, in the order of their bits as integers.
    first, last = np.array([least, largest]).view(np.int64)
    below = np.full(thresholds.shape[0], first)
    above = np.full(thresholds.shape[0], last)
    while (below < above).any():
        middle = below + (above - below) // 2
        crossed = _scores(scorer, middle.view(np.float64)) < thresholds
        above = np.where(crossed, middle, above)
        below = np.where(crossed, below, np.minimum(middle + 1, above))
    breaks = []
    for centre, threshold in zip(below, thresholds, strict=True):
        near = np.arange(max(first, centre - _NEAR), min(last, centre + _NEAR) + 1)
        crossed = _scores(scorer, near.view(np.float64)) < threshold
        breaks.append(near[1:][crossed[1:] != crossed[:-1]])
    return np.unique(np.concatenate(breaks)).view(np.float64)


def _grid(trees: Trees, box: Box) -> tuple[kernels.Grid, IndexVector]:
    """Return the intervals of all features, and where in them each node's cut is."""
    positions = np.zeros(trees.features.shape[0], np.int32)
    edges: list[FloatVector] = []
    for j, values in enumerate(box.values):
        of_feature = trees.features == j
        if values is None:
            low, high = float(box.low[j]), float(box.high[j])
            cuts = _last_to_the_left(trees.cuts[of_feature])
            if math.isinf(high - low):
                low, high, cuts = low / 2, high / 2, cuts / 2
        else:
            low, high = 0.0, float(values.shape[0])
            with np.errstate(over="ignore"):  # as the forest rounds
                rounded = values.astype(np.float32)
            cuts = np.searchsorted(rounded, trees.cuts[of_feature], side="right").astype(np.float64)
        cuts = np.clip(cuts, low, high)
        edges.append(np.unique([low, *cuts, high]))
        positions[of_feature] = np.searchsorted(edges[-1], cuts)
    firsts = np.cumsum([0, *(cuts.shape[0] for cuts in edges)])
    widths = np.array([cuts[-1] - cuts[0] for cuts in edges])
    return kernels.Grid(np.concatenate(edges), firsts, widths), positions


def _last_to_the_left(cuts: npt.NDArray[np.float32]) -> FloatVector:
    """Return where coordinates begin to be rounded to single precision above the cuts.

    Halfway to the next number of single precision; which way that point itself goes has no volume.
    """
    with np.errstate(over="ignore"):
        above = np.nextafter(cuts, np.float32(np.inf)).astype(np.float64)
    # Beyond its range single precision rounds to infinity from where its next number would be near.
    above[np.isinf(above)] = 2.0**128
    here = cuts.astype(np.float64)
    here[np.isneginf(here)] = -(2.0**128)
    return np.where(np.isposinf(here), np.inf, here / 2 + above / 2)


class _Part:
    """A search below some cell, with the memory that it needs."""

    def __init__(
        self,
        problem: _Problem,
        low: IndexVector,
        high: IndexVector,
        open_nodes: IndexVector,
        base: float,
    ) -> None:
        self._problem = problem
        self._stack = kernels.Stack(
            lows=np.zeros((_CELLS, low.shape[0]), np.int32),
            highs=np.zeros((_CELLS, low.shape[0]), np.int32),
            starts=np.zeros(_CELLS, np.int64),
            sizes=np.zeros(_CELLS, np.int64),
            bases=np.zeros(_CELLS),
            open_nodes=np.concatenate([open_nodes, np.zeros_like(open_nodes)]),
        )
        self._stack.lows[0], self._stack.highs[0] = low, high
        self._stack.sizes[0], self._stack.bases[0] = open_nodes.shape[0], base
        self.state = kernels.State(
            np.array([1, 0, 0], np.int64), np.zeros((2, problem.scores.shape[0]))
        )

    @property
    def n_waiting(self) -> int:
        """Cells on the stack."""
        return int(self.state.counts[0])

    def run(self, n_nodes: int) -> None:
        """Continue until at least ``n_nodes`` more nodes are visited, or no cell waits."""
        problem = self._problem
        last = self.state.counts[2] + n_nodes
        while self.n_waiting and self.state.counts[2] < last:
            enough = kernels.search(
                *(problem.nodes, problem.grid, problem.breaks, problem.slack, problem.height),
                *(self._stack, self.state, last - self.state.counts[2]),
            )
            if not enough:
                longer = (np.concatenate([part, np.zeros_like(part)]) for part in self._stack)
                self._stack = kernels.Stack(*longer)

    def give(self) -> "_Part":
        """Leave the cell that waits longest, mostly the largest, to another search."""
        lows, highs, starts, sizes, bases, open_nodes = self._stack
        nodes = open_nodes[starts[0] : starts[0] + sizes[0]]
        part = _Part(self._problem, lows[0], highs[0], nodes, bases[0])
        for column in (lows, highs, starts, sizes, bases):
            column[:-1] = column[1:].copy()
        self.state.counts[0] -= 1
        return part

    def probe(self, rng: np.random.Generator) -> float:
        """Go one way down, and estimate how many nodes all ways look at (Knuth 1975).

        The estimate is unbiased. A half is chosen by its number of cells of the full grid; halves
        chosen evenly leave most of the work to ways that are hardly ever gone.
        """
        total, weight, before = 0.0, 1.0, 0
        while self.n_waiting:
            self.run(1)  # one cell
            lows, highs, starts, sizes, bases, _ = self._stack
            total += weight * (int(self.state.counts[2]) - before)
            before = int(self.state.counts[2])
            if not self.n_waiting:
                break
            cut = int(np.argmax(lows[0] != lows[1]))
            left, right = (highs[:2, cut] - lows[:2, cut]).tolist()
            chosen = int(rng.integers(left + right) >= left)
            weight *= (left + right) / (right if chosen else left)
            for column in (lows, highs, starts, sizes, bases):
                column[0] = column[chosen]
            self.state.counts[0] = 1
        return total


def _whole(problem: _Problem) -> _Part:
    """Return the search of the whole box."""
    high = (np.diff(problem.grid.firsts) - 1).astype(np.int32)
    return _Part(problem, np.zeros_like(high), high, problem.nodes.roots, 0.0)


def _search(problem: _Problem, most_nodes: int) -> FloatMatrix:
    """Return the fraction of the box in each class, and its rounding error.

    It runs on threads; parts, and the order of their sums, are the same for any number of them.
    """
    parts = [_whole(problem)]
    sums = np.zeros((2, problem.scores.shape[0]))
    counts = np.zeros(3, np.int64)
    while parts:
        thread_map(lambda part: part.run(_NODES_A_ROUND), parts)
        waiting = []
        for part in parts:
            if part.n_waiting:
                waiting.append(part)
                continue
            counts += part.state.counts
            _add(sums, part.state.sums)
        parts = waiting
        show_note(partial(_decided, sums, parts))
        if int(counts[2]) + sum(int(part.state.counts[2]) for part in parts) > most_nodes:
            break
        # Shared anew, because some cells are far more work than others.
        givers = [part for part in parts if part.n_waiting > 1]
        while givers and len(parts) < _PARTS:
            parts += [part.give() for part in givers[: _PARTS - len(parts)]]
            givers = [part for part in givers if part.n_waiting > 1]
    for part in parts:  # where it gives up
        counts += part.state.counts
        _add(sums, part.state.sums)
    if parts:
        decided = math.floor(1000 * sums.sum()) / 10
        raise InvalidInputError(
            "the forest is too large for the exact volume in this box: after "
            f"{counts[1]} cells, {decided} % of it was decided. Draw points instead, by another "
            "method",
            argument="method",
        )
    return sums


def _decided(sums: FloatMatrix, parts: Sequence[_Part]) -> str:
    """Return in words how far a search is."""
    decided = sums.sum() + sum(part.state.sums.sum() for part in parts)
    return f"{decided:.1%} of the box decided"


def _add(sums: FloatMatrix, more: FloatMatrix) -> None:
    """Add sums to others, each with its rounding error."""
    totals = sums[0] + more[0]
    larger, smaller = np.maximum(sums[0], more[0]), np.minimum(sums[0], more[0])
    sums[1] += more[1] + ((larger - totals) + smaller)
    sums[0] = totals
