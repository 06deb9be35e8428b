"""The state of a sketch is a function of the points alone; bytes of any state are not mistaken."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming import DriftMonitor, RateMonitor, ScoreSketch, SlidingEvaluation

TINY = 512
_RNG = np.random.default_rng(0)
Y = (_RNG.random(20_000) < 0.1).astype(np.int64)
S = _RNG.normal(size=20_000) * 10.0 ** _RNG.integers(-5, 5, 20_000) + Y


def sketch_of(y: Any, s: Any, memory: int = TINY, w: Any = None) -> ScoreSketch:
    sketch = ScoreSketch(memory)
    sketch.update(y, s, sample_weight=w)
    return sketch


def merged_along_a_tree(sketches: list[ScoreSketch], rng: np.random.Generator) -> ScoreSketch:
    parts = [each.copy() for each in sketches]
    while len(parts) > 1:
        into, other = rng.choice(len(parts), 2, replace=False)
        parts[into].merge(parts[other])
        parts.pop(other)
    return parts[0]


@pytest.mark.evidence
def test_many_shards_along_random_trees() -> None:
    shards = [sketch_of(Y[i::200], S[i::200], 4000) for i in range(200)]
    whole = sketch_of(Y, S, 4000).to_bytes()
    for seed in range(8):
        tree = merged_along_a_tree(shards, np.random.default_rng(seed))
        assert tree.to_bytes() == whole


def test_merged_shards_with_skewed_labels_equal_one_machine() -> None:
    rng = np.random.default_rng(1)
    fraction = np.repeat(np.linspace(0.02, 0.98, 64), 200)
    y = (rng.random(fraction.shape[0]) < fraction).astype(np.int64)
    # Scores of a shard drift with its fraction of anomalies.
    s = rng.normal(size=fraction.shape[0]) + 0.5 * y - 3 * fraction
    shards = np.arange(fraction.shape[0]).reshape(64, 200)
    weights = [y[rows].sum() * (1 - y[rows]).sum() for rows in shards]
    within = [fastad.roc_auc(y[rows], s[rows]) for rows in shards]
    exact = fastad.roc_auc(y, s)
    assert abs(np.average(within, weights=weights) - exact) > 0.05
    sketches = [sketch_of(y[rows], s[rows], 8_000_000) for rows in shards]
    merged = merged_along_a_tree(sketches, rng).roc_auc()
    assert merged.low == merged.value == merged.high == exact


def test_copies_are_equal_and_apart() -> None:
    sketch = sketch_of(Y, S)
    before = sketch.to_bytes()
    for other in (
        sketch.copy(),
        copy.deepcopy(sketch),
        pickle.loads(pickle.dumps(sketch)),
        ScoreSketch.from_bytes(before),
    ):
        assert other.to_bytes() == before
        other.update([1], [0.5])
        assert other.to_bytes() != before
        assert sketch.to_bytes() == before


def sliding() -> SlidingEvaluation:
    evaluation = SlidingEvaluation(pane=60, window=120, memory=600)
    evaluation.update([0, 1], [0.5, 1.5], time=0, group="a")
    return evaluation


def rate_monitor() -> RateMonitor:
    monitor = RateMonitor("flagged_rate", expected_rate=0.01)
    monitor.update_counts(5, 100)
    return monitor


def drift_monitor() -> DriftMonitor:
    monitor = DriftMonitor(sketch_of(Y[:500], S[:500]))
    monitor.update(S[:50])
    return monitor


MADE: dict[str, Callable[[], Any]] = {
    "points": lambda: sketch_of(Y[:50], S[:50]),
    "bins": lambda: ScoreSketch.from_counts([0, 1, 2.5, 4], [3, 0, 1], [1, 0, 2]),
    "windows": sliding,
    "rate": rate_monitor,
    "drift": drift_monitor,
}


@pytest.mark.parametrize("name", MADE)
def test_bytes_that_were_altered_or_cut_or_are_of_another_class_are_refused(name: str) -> None:
    kind, data = type(MADE[name]()), MADE[name]().to_bytes()
    positions = range(0, len(data), 1 + len(data) // 500)
    altered = [
        data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :]
        for i in positions
        for flip in (1, 0x41, 0x80, 0xFF)
    ]
    wrong = [data[:i] for i in (*positions, len(data) - 1)]
    wrong += [other.to_bytes() for make in MADE.values() if type(other := make()) is not kind]
    wrong += [data + b"\0", b"PAR1" + data, b"PAR1", pickle.dumps(data)]
    what = "sketch" if kind is ScoreSketch else kind.__name__
    message = f"data must be the bytes of a {what}; found"
    for one in altered + wrong:
        with pytest.raises(InvalidInputError, match=message) as refusal:
            kind.from_bytes(one)
        assert refusal.value.argument == "data"
    with pytest.raises(InvalidTypeError, match=f"{message} str"):
        kind.from_bytes("text")


def test_the_largest_memory_comes_back_from_bytes() -> None:
    data = ScoreSketch(2**63 - 1).to_bytes()
    assert ScoreSketch.from_bytes(data).memory == 2**63 - 1
