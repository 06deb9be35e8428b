"""Sketches of every size of memory, from the smallest one on, against a slow definition."""

import itertools
from collections import Counter
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.streaming import ScoreSketch
from fastad.streaming.sketches import serialization
from fastad.streaming.sketches.cell_table import CellTable, _most_pages
from fastad.streaming.sketches.cells import UNLABELLED, CellCounts
from tests.support.strategies import score_vectors

SMALLEST = next(memory for memory in itertools.count(1) if CellTable.most_cells(memory) >= 2)
LARGEST = 4500
PAGE_BITS = (0, 6)


class Points(NamedTuple):
    """Scores, and of each its kind (0 or 1, and 2 without a label) and how often it counts."""

    scores: npt.NDArray[Any]
    kinds: npt.NDArray[np.int64]
    weights: npt.NDArray[np.int64]

    def part(self, rows: Any) -> "Points":
        return Points(self.scores[rows], self.kinds[rows], self.weights[rows])


def wide_scores(rng: np.random.Generator) -> npt.NDArray[Any]:
    """Draw scores most of which are far apart: they differ in bits up to the highest one."""
    n, kind = rng.choice([300, 100, 20, 3]), rng.choice(["i8", "u8", "f8", "f8", "f4", "i4"])
    scores: npt.NDArray[Any]
    if kind[0] == "f":
        most = {"f8": 1000, "f4": 120}[kind]
        octaves = rng.integers(-rng.integers(most), 1 + rng.integers(most), n)
        signs = rng.choice([rng.choice([-1.0, 1.0]), 1.0], n)
        scores = np.ldexp(signs * (1 + rng.random(n)), octaves).astype(kind)
    else:
        info = np.iinfo(kind)
        scores = rng.integers(info.min, info.max, n, kind, endpoint=True)
        scores >>= rng.choice([0, 1, 20, info.bits - 5]).astype(kind)
    return scores


@st.composite
def cases(draw: st.DrawFn) -> tuple[Points, int]:
    """Points and a size of memory; most examples differ in a seed, and so in everything."""
    rng = np.random.default_rng(draw(st.integers(0, 2**64 - 1)))
    scores = wide_scores(rng)
    if draw(st.booleans()):
        scores = draw(score_vectors(int(rng.integers(1, 40))))
    n = scores.shape[0]
    kinds = rng.integers(0, rng.choice([1, 2, 2, 2, 3]), n)
    weights = rng.integers(1, rng.choice([2, 2, 4, 2**33]), n)
    memory = rng.integers(SMALLEST, rng.choice([LARGEST // 4, LARGEST]))
    return Points(scores, kinds, weights), int(memory)


def rank_bits(scores: npt.NDArray[Any]) -> list[int]:
    """Return integers that order as the scores do, and differ by one between neighbours."""
    if scores.dtype.kind == "f":
        width = 32 if scores.dtype.itemsize < 8 else 64
        patterns = np.asarray(scores, f"f{width // 8}").view(f"u{width // 8}").tolist()
        sign = 1 << (width - 1)
        return [-(x - sign) if x >= sign else x for x in patterns]
    low = 2**63 if scores.dtype == np.uint64 else 0
    return [int(value) - low for value in scores]


@cache
def n_distinct(bits: tuple[int, ...], shift: int) -> int:
    """Return how many numbers there are without their lowest bits."""
    return len({x >> shift for x in bits})


def finest(bits: tuple[int, ...], memory: int, n_points: int) -> int:
    """Return the fewest bits to drop so that cells fit, or the pages of cells that hold them."""
    for shift in range(64):
        for page_bits in PAGE_BITS:
            most = _most_pages(memory, page_bits, short=n_points < 2**32)
            if shift + page_bits < 64 and n_distinct(bits, shift + page_bits) <= most:
                return shift
    raise AssertionError


def sketch_of(points: Points, memory: int) -> ScoreSketch:
    """Count points, those without a label apart."""
    sketch = ScoreSketch(memory)
    count(sketch, points)
    return sketch


def count(sketch: ScoreSketch, points: Points) -> None:
    for waiting in (False, True):
        some = points.part((points.kinds == UNLABELLED) == waiting)
        labels = None if waiting else some.kinds
        sketch.update(labels, some.scores, sample_weight=some.weights)


def assert_state(sketch: ScoreSketch, points: Points) -> None:
    """Check the resolution and the counts of all cells."""
    bits = rank_bits(points.scores)
    shift = finest(tuple(bits), sketch.memory, int(points.weights.sum()))
    expected: Counter[tuple[int, int]] = Counter()
    for x, kind, weight in zip(bits, points.kinds.tolist(), points.weights.tolist(), strict=True):
        expected[x >> shift, kind] += weight
    listed = sketch.listed()
    found = {
        (cell, kind): count
        for cell, counts in zip(listed.cells.tolist(), listed.counts.tolist(), strict=True)
        for kind, count in enumerate(counts)
        if count
    }
    assert listed.shift == shift
    waiting = UNLABELLED in points.kinds
    assert sketch._table.nbytes <= sketch.memory * (1.5 if waiting else 1)
    assert found == expected


def areas(points: Points, shift: int) -> list[float]:
    """Return the lowest area of scores in the cells, that of the scores, and the highest."""
    bits = rank_bits(points.scores)
    lowest, highest = min(bits), max(bits)
    counts: dict[int, dict[int, list[int]]] = {}
    for x, kind, weight in zip(bits, points.kinds.tolist(), points.weights.tolist(), strict=True):
        if kind != UNLABELLED:
            counts.setdefault(x >> shift, {}).setdefault(x, [0, 0])[kind] += weight
    below, n_anomalies = 0, 0
    exact = low = high = Fraction(0)
    for cell in sorted(counts):
        first, last = cell << shift, ((cell + 1) << shift) - 1
        normals = sum(each[0] for each in counts[cell].values())
        anomalies = sum(each[1] for each in counts[cell].values())
        is_tie = max(first, lowest) == min(last, highest)
        low += anomalies * (below + (Fraction(normals, 2) if is_tie else 0))
        high += anomalies * (below + (Fraction(normals, 2) if is_tie else normals))
        for _, (n, m) in sorted(counts[cell].items()):
            exact += m * (below + Fraction(n, 2))
            below += n
        n_anomalies += anomalies
    pairs = below * n_anomalies
    return [float(area / pairs) for area in (low, exact, high)]


@pytest.mark.slow
@settings(max_examples=80)
@given(cases(), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_state_and_bounds(case: tuple[Points, int], n_parts: int, seed: int) -> None:
    points, memory = case
    sketch = sketch_of(points, memory)
    assert_state(sketch, points)
    data = sketch.to_bytes()
    assert ScoreSketch.from_bytes(data).to_bytes() == data
    order = np.random.default_rng(seed).permutation(points.scores.shape[0])
    parts = [sketch_of(points.part(rows), memory) for rows in np.array_split(order, n_parts)]
    assert ScoreSketch.merged(memory, [(part, 1) for part in parts]).to_bytes() == data
    merged, batches = ScoreSketch(memory), ScoreSketch(memory)
    for part, rows in zip(parts, np.array_split(order, n_parts), strict=True):
        merged.merge(part)
        count(batches, points.part(rows))
    assert merged.to_bytes() == batches.to_bytes() == data
    try:
        result = sketch.roc_auc()
    except UndefinedMeasureError:
        assert len({*points.kinds.tolist()} - {UNLABELLED}) < 2
        return
    low, exact, high = areas(points, sketch.listed().shift)
    assert result.low <= low <= exact <= high <= result.high
    # What may have been rounded makes bounds wider.
    assert low - result.low < 1e-14
    assert result.high - high < 1e-14


@pytest.mark.slow
@settings(max_examples=30)
@given(cases(), st.integers(0, 2**32 - 1))
def test_late_labels(case: tuple[Points, int], seed: int) -> None:
    points, memory = case
    points = points._replace(kinds=np.minimum(points.kinds, 1))
    sketch = ScoreSketch(memory)
    sketch.update(None, points.scores, sample_weight=points.weights)
    order = np.random.default_rng(seed).permutation(points.scores.shape[0])
    for rows in np.array_split(order, 2):
        y, s, w = points.kinds[rows], points.scores[rows], points.weights[rows]
        sketch.label(s, y, sample_weight=w)
    assert sketch.to_bytes() == sketch_of(points, memory).to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1, 2**32], ids=["short counts", "long counts"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float64])
def test_every_size_of_memory(dtype: Any, weight: int) -> None:
    """Of so wide scores two pages of 64 cells drop 63 bits; where one fits, none does."""
    rng = np.random.default_rng(0)
    scores = rng.integers(-(2**62), 2**62, 200).view(dtype)
    if dtype is np.float64:
        scores = np.ldexp(rng.choice([-1.0, 1.0], 200), rng.integers(-300, 300, 200))
    points = Points(scores, rng.integers(0, 2, 200), np.full(200, weight))
    for memory in range(SMALLEST, 2400, 37):
        assert_state(sketch_of(points, memory), points)


def test_less_memory_is_refused() -> None:
    ScoreSketch(SMALLEST)
    with pytest.raises(InvalidInputError, match="memory must suffice for two cells; found"):
        ScoreSketch(SMALLEST - 1)


def test_cells_beyond_the_scores_are_refused() -> None:
    """Of scores whose lowest 62 bits are dropped there are four cells."""
    state = serialization.from_bytes(sketch_of(_four_cells(), SMALLEST).to_bytes())
    for cells in ([-3, 0], [0, 2]):
        listed = CellCounts(np.array(cells), np.ones((2, 3), np.int64), 62)
        with pytest.raises(InvalidInputError, match="found cells that no sketch has"):
            ScoreSketch.from_bytes(serialization.to_bytes(state._replace(listed=listed)))


def _four_cells() -> Points:
    scores = np.array([-(2**63), -1, 0, 2**63 - 1])
    return Points(scores, np.array([0, 1, 0, 1]), np.ones(4, np.int64))
