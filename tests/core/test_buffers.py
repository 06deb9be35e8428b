"""Memory that is used again: nothing that a user holds changes, and little is kept."""

import copy
import dataclasses
import gc
import tracemalloc
from collections import deque
from typing import Any
from unittest import mock

import numpy as np
import pytest

import fastad
from fastad._core import buffers as _buffers
from fastad._core.buffers import MemoryPool, ReusedBuffers, borrow_buffer
from fastad.measures.registry import MEASURES
from tests.support.loops import loop
from tests.support.operating import options_of


@pytest.fixture(autouse=True)
def memory_of_few_entries_is_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_buffers, "_FEW", 0)


def plain(result: Any) -> Any:
    """All numbers of a result as bytes or values."""
    if dataclasses.is_dataclass(result):
        values = [getattr(result, field.name) for field in dataclasses.fields(result)]
    else:
        values = list(result) if isinstance(result, tuple) else [result]
    return [x.tobytes() if isinstance(x, np.ndarray) else repr(x) for x in values]


CASES = [
    (name, weights)
    for name, row in MEASURES.items()
    for weights in (None, "integer", "real")
    if weights is None
    or (name != "threshold_at_rate" and (weights == "integer" or row.weights == "real"))
]


@loop(("name", "weights"), CASES)
def test_a_result_does_not_change_when_the_memory_is_used_again(
    name: str, weights: str | None
) -> None:
    rng = np.random.default_rng(0)
    row = MEASURES[name]
    y = rng.random(300) < 0.4
    keywords: dict[str, Any] = options_of(row)
    if weights:
        keywords["sample_weight"] = rng.integers(1, 4, 300) + (0.5 if weights == "real" else 0)

    def measure(scores: Any) -> Any:
        data = (scores,) if name == "threshold_at_rate" else (y, scores)
        return getattr(fastad.measures, name)(*data, **keywords)

    first = measure(rng.random(300))
    before = copy.deepcopy(plain(first))
    measure(-rng.random(300) if not row.takes_score_range else rng.random(300) / 2)
    assert plain(first) == before


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def test_outside_of_a_block_memory_is_new_and_inside_it_is_used_again() -> None:
    assert not np.shares_memory(borrow_buffer("a", 10, np.int64), borrow_buffer("a", 10, np.int64))
    with mock.patch.object(_buffers, "_idle", deque[Any]()):
        with ReusedBuffers():
            place = address(borrow_buffer("a", 10, np.int64))
            assert address(borrow_buffer("a", 7, np.int64)) == place
            assert borrow_buffer("a", 7, np.int64).shape == (7,)
            with ReusedBuffers():
                assert address(borrow_buffer("a", 7, np.int64)) != place
            assert address(borrow_buffer("a", 7, np.int64)) == place
        with ReusedBuffers(), ReusedBuffers():
            pass
        with ReusedBuffers():
            assert borrow_buffer("b", 3, np.float32).dtype == np.float32
            assert borrow_buffer("b", 3, np.float64).dtype == np.float64
            assert borrow_buffer("b", 5, np.float64).shape == (5,)


def test_memory_in_use_is_not_returned_again() -> None:
    with ReusedBuffers():
        held = borrow_buffer("a", 10, np.int64)
        held[:] = 7
        view = held[::2].view()
        del held
        borrow_buffer("a", 10, np.int64)[:] = 8
    with ReusedBuffers():
        borrow_buffer("a", 10, np.int64)[:] = 9
    assert view.tolist() == [7] * 5


def test_scores_that_are_themselves_made_with_the_package() -> None:
    """Their `__array__` runs while the outer call has memory in use, and keeps what it makes."""
    rng = np.random.default_rng(1)
    y = rng.random(500) < 0.4
    s = rng.normal(size=500) + y
    kept: list[fastad.evaluation.RankedScores] = []

    class Lazy:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            kept.append(fastad.rank_scores(~y, -s))
            fastad.evaluate(~y, -s, n_threads=1)
            fastad.roc_auc(~y, s)
            return s

    expected = [plain(fastad.rank_scores(~y, -s).roc_curve())]
    for name in ("roc_auc", "average_precision", "weighted_auc", "roc_curve", "best_f1"):
        result = getattr(fastad.measures, name)(y, Lazy())
        assert plain(result) == plain(getattr(fastad.measures, name)(y, s))
    fastad.roc_curve(y, rng.normal(size=500))
    assert [plain(ranked.roc_curve()) for ranked in kept] == expected * len(kept)


def test_a_block_that_fails_ends() -> None:
    with pytest.raises(KeyError), ReusedBuffers():
        raise KeyError
    assert not np.shares_memory(borrow_buffer("a", 10, np.int64), borrow_buffer("a", 10, np.int64))


def test_large_memory_is_given_back() -> None:
    with mock.patch.object(_buffers, "_idle", deque[Any]()) as idle:
        for _ in range(3):
            with ReusedBuffers():
                borrow_buffer("large", _buffers._KEPT // 8 + 1, np.int64)
            assert not idle
        for _ in range(3):
            with ReusedBuffers(), ReusedBuffers(), ReusedBuffers():
                borrow_buffer("small", _buffers._KEPT // 8 // 2, np.int64)
        assert sum(buffers.nbytes for buffers in idle) <= _buffers._KEPT


@pytest.mark.system
def test_many_calls_keep_no_memory() -> None:
    """A leak of one byte a call would show."""
    y, s = np.array([0, 1, 0, 1, 1]), np.array([0.1, 0.5, 0.3, 0.2, 0.9])

    def call(times: int) -> None:
        for _ in range(times):
            fastad.roc_auc(y, s)
            fastad.tpr_at_fpr(y, s, fpr=0.1)
        for _ in range(times // 10):
            fastad.evaluate(y, s, measures=["auc", "ap"])

    call(200)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        call(2_000)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 2_000
    finally:
        tracemalloc.stop()


def test_memory_of_a_pool_is_used_again_and_never_twice_at_once() -> None:
    made: list[list[int]] = []

    def make() -> list[int]:
        made.append([])
        return made[-1]

    pool = MemoryPool(make)
    with pool.borrowed() as first, pool.borrowed() as second:
        assert first is not second
    for _ in range(3):
        with pool.borrowed() as again:
            assert again is first or again is second
    assert len(made) == 2
