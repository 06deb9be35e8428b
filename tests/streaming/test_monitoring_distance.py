"""The Kolmogorov distance from cells, and `DriftMonitor`."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.streaming import DriftMonitor, ScoreSketch, kolmogorov_distance
from fastad.streaming.sketches.cells import CellCounts
from fastad.streaming.sketches.distance import distance_of
from tests.support.strategies import Sample, samples

# Room for some eight cells, for more, and for all.
MEMORIES = [512, 2000, 100_000]
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=40_000)


def sketch_of(scores: Any, memory: int = 64_000) -> ScoreSketch:
    sketch = ScoreSketch(memory)
    sketch.update(y_score=scores)
    return sketch


def exact_distance(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> Fraction:
    return max(
        abs(Fraction(int(np.sum(a <= x)), len(a)) - Fraction(int(np.sum(b <= x)), len(b)))
        for x in np.unique(np.concatenate([a, b]))
    )


@given(
    sample=samples(max_size=60),
    part=st.floats(0, 1),
    memories=st.tuples(st.sampled_from(MEMORIES), st.sampled_from(MEMORIES)),
    labelled=st.booleans(),
)
def test_the_distance_lies_within_its_bounds(
    sample: Sample, part: float, memories: Any, labelled: bool
) -> None:
    n = len(sample.s)
    split = min(max(int(part * n), 1), n - 1)
    if n < 2:
        return
    parts = sample.s[:split], sample.s[split:]
    a, b = (ScoreSketch(memory) for memory in memories)
    a.update(sample.y[:split] if labelled else None, parts[0])
    b.update(y_score=parts[1])
    bounds = kolmogorov_distance(a, b)
    exact = exact_distance(*parts)
    assert bounds.low == bounds.value <= float(exact) <= bounds.high <= 1
    if a.resolution == b.resolution == "exact":
        assert bounds.low == bounds.high == float(exact)
    # Ranks, as no float holds all integers.
    together = np.concatenate([np.asarray(each, np.longdouble) for each in parts])
    ranks = np.unique(together, return_inverse=True)[1].astype(np.float64)
    wide = ranks[: len(parts[0])], ranks[len(parts[0]) :]
    with np.errstate(divide="ignore"):  # in the p-value of one sample each
        peer = ks_2samp(wide[0], wide[1], method="asymp").statistic
    assert bounds.low - 1e-12 <= peer <= bounds.high + 1e-12
    assert kolmogorov_distance(b, a) == bounds


@pytest.mark.parametrize(
    "counts", [[(1, 2), (2, 1)], [(0, 2), (3, 1)], [(1, 1), (1, 1)], [(2, 0), (0, 2)], [(2, 3)]]
)
def test_bounds_are_attained(counts: list[tuple[int, int]]) -> None:
    """By some order of the points of each cell, of four scores that it may contain."""
    cells = np.arange(len(counts), dtype=np.int64) - 1
    tables = []
    for column in range(2):
        table = np.zeros((len(counts), 3), np.int64)
        table[:, 2] = [pair[column] for pair in counts]
        tables.append(CellCounts(cells, table, 2))
    bounds = distance_of(*tables)
    ranges = [
        [range(4 * i, 4 * i + 4) for i, pair in enumerate(counts) for _ in range(pair[column])]
        for column in range(2)
    ]
    first = [np.array(a) for a in product(*ranges[0])]
    second = [np.array(b) for b in product(*ranges[1])]
    distances = [float(exact_distance(a, b)) for a in first[::3] for b in second[::2]]
    ends = [float(exact_distance(a, b)) for a in (first[0], first[-1]) for b in second]
    assert bounds.low == min(float(exact_distance(first[0], second[0])), *distances)
    assert bounds.high == max(distances + ends)


def test_counts_beyond_integers_keep_their_bounds() -> None:
    counts = np.zeros((2, 3), np.int64)
    counts[:, 0] = [2**40, 2**40 + 1]
    other = counts[::-1].copy()
    cells = np.array([0, 5])
    bounds = distance_of(CellCounts(cells, counts, 0), CellCounts(cells, other, 0))
    exact = Fraction(1, 2**41 + 1)
    assert bounds.low <= exact <= bounds.high
    assert bounds.high - bounds.low < 1e-14


def test_sketches_that_cannot_be_compared_are_refused() -> None:
    full, empty = sketch_of([1.0, 2.0]), ScoreSketch()
    with pytest.raises(UndefinedMeasureError, match="without points"):
        kolmogorov_distance(full, empty)
    with pytest.raises(InvalidInputError, match="b must contain float64 as a does; found int64"):
        kolmogorov_distance(full, sketch_of([1, 2]))
    with pytest.raises(InvalidTypeError, match="b must be a ScoreSketch; found list"):
        kolmogorov_distance(full, [1.0])  # type: ignore[arg-type]


def drift(n_batches: int = 8, shift: float = 0.3, **options: Any) -> DriftMonitor:
    monitor = DriftMonitor(sketch_of(SCORES[:20_000]), **options)
    for i in range(n_batches):
        monitor.update(SCORES[20_000 + 500 * i :][:500] + (shift if i >= 3 else 0))
    return monitor


def test_a_shift_raises_an_alarm_that_stays() -> None:
    monitor = drift()
    alarm = monitor.alarm
    assert alarm is not None
    assert alarm.n_samples == 500 * alarm.n_updates
    assert 3 < alarm.n_updates <= 8
    assert alarm.p_value <= 0.05
    n_before = alarm.n_updates - 1
    assert not drift(n_before).is_alarm
    monitor.update(SCORES[:20_000])
    monitor.update(SCORES[:20_000])
    assert monitor.alarm == alarm
    assert monitor.n_updates == 10
    assert not drift(shift=0).is_alarm
    monitor.reset()
    assert monitor.to_bytes() == drift(0).to_bytes()


@pytest.mark.parametrize("n_batches", [0, 2, 5, 8])
@pytest.mark.parametrize("window", [None, 800])
def test_the_p_value_is_the_smallest_level_of_an_alarm(n_batches: int, window: Any) -> None:
    p = drift(n_batches, window=window).p_value
    if p == 1:
        assert not drift(n_batches, window=window, confidence_level=0.001).is_alarm
        return
    assert drift(n_batches, window=window, confidence_level=1 - Fraction(p * (1 + 1e-9))).is_alarm
    assert not drift(
        n_batches, window=window, confidence_level=1 - Fraction(p * (1 - 1e-9))
    ).is_alarm


def test_the_interval_is_the_distance_and_what_chance_may_do() -> None:
    monitor = drift()
    distance, interval = monitor.distance, monitor.interval
    assert distance is not None
    expected = kolmogorov_distance(
        sketch_of(SCORES[:20_000]),
        sketch_of(np.concatenate([SCORES[20_000:21_500], SCORES[21_500:24_000] + 0.3])),
    )
    assert distance == expected
    reference = math.sqrt(math.log(4 / 0.05) / 40_000)
    growth = math.log(1 + math.log(4000)) + 0.8 * math.log(1620 * 2 / 0.05)
    radius = reference + 0.85 * math.sqrt(growth / 4000)
    assert interval.low == pytest.approx(max(distance.low - radius, 0))
    assert interval.high == pytest.approx(min(distance.high + radius, 1))
    assert monitor.is_alarm == (interval.low > 0)
    empty = drift(0).interval
    assert (empty.low, empty.high) == (0, 1)
    assert math.isnan(empty.value)


def test_a_window_begins_when_the_last_is_full() -> None:
    monitor = drift(7, window=900)
    assert monitor.n_samples == 3500
    # Windows of 1000, as an update of 500 is not divided: the last one has 500.
    assert monitor.distance == kolmogorov_distance(
        sketch_of(SCORES[:20_000]), sketch_of(SCORES[23_000:23_500] + 0.3)
    )


@pytest.mark.parametrize("options", [{}, {"window": 700, "confidence_level": 0.99}])
@pytest.mark.parametrize("n_batches", [0, 3, 8])
def test_bytes_give_the_same_monitor(n_batches: int, options: Any) -> None:
    monitor = drift(n_batches, **options)
    restored = DriftMonitor.from_bytes(monitor.to_bytes())
    pickled = pickle.loads(pickle.dumps(monitor))
    assert repr(restored) == repr(monitor)
    assert restored.distance == monitor.distance
    for each in (monitor, restored, pickled):
        each.update(SCORES[:700] + 1)
    assert restored.to_bytes() == monitor.to_bytes() == pickled.to_bytes()
    assert (restored.alarm, restored.p_value) == (monitor.alarm, monitor.p_value)


def test_threads_share_a_monitor() -> None:
    parts = SCORES[20_000:].reshape(40, 500)
    monitor, one = drift(0), drift(0)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(monitor.update, parts))
    for part in parts:
        one.update(part)
    assert monitor.n_samples == 20_000
    assert monitor.distance == one.distance


def test_other_input_is_refused_and_changes_nothing() -> None:
    monitor = drift(2)
    before = monitor.to_bytes()
    for scores, message in (
        ([1.0, math.nan], "y_score must not contain NaN; found 1, the first at index 1"),
        ([1, 2], "y_score must contain float64 as the reference does; found int64"),
        (None, "y_score must be given; found None"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            monitor.update(scores)  # type: ignore[arg-type]
    assert monitor.to_bytes() == before
    monitor.update([])
    assert monitor.n_samples == 1000
    with pytest.raises(InvalidInputError, match="reference must have points"):
        DriftMonitor(ScoreSketch())
    with pytest.raises(InvalidTypeError, match="reference must be a ScoreSketch; found list"):
        DriftMonitor([1.0])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="window must be at least 1"):
        drift(0, window=0)
    with pytest.raises(InvalidInputError, match="confidence_level must lie"):
        drift(0, confidence_level=1)


def test_the_reference_is_copied() -> None:
    reference = sketch_of(SCORES[:20_000])
    monitor = DriftMonitor(reference)
    before = monitor.to_bytes()
    reference.update(y_score=[99.0])
    assert monitor.to_bytes() == before
