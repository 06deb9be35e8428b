"""The state of a sketch: a function of the points alone, and bytes that cannot be mistaken."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.errors import InvalidInputError
from fastad.streaming import ScoreSketch

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
def test_a_thousand_shards_along_random_trees() -> None:
    shards = [sketch_of(Y[i::1000], S[i::1000], 4000) for i in range(1000)]
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


def test_bytes_that_were_altered_or_cut_are_refused() -> None:
    data = sketch_of(Y[:50], S[:50]).to_bytes()
    altered = [
        data[:i] + bytes([data[i] ^ flip]) + data[i + 1 :]
        for i in range(len(data))
        for flip in (1, 0x80, 0xFF)
    ]
    cut = [data[:i] for i in range(len(data))]
    for wrong in [*altered, *cut, data + b"\0", b"PAR1" + data, pickle.dumps(data)]:
        with pytest.raises(InvalidInputError, match="data must be") as refusal:
            ScoreSketch.from_bytes(wrong)
        assert refusal.value.argument == "data"


def test_the_largest_memory_comes_back_from_bytes() -> None:
    data = ScoreSketch(2**63 - 1).to_bytes()
    assert ScoreSketch.from_bytes(data).memory == 2**63 - 1
