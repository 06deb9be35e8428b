"""What a sketch takes and refuses; after a refusal it is as before."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fastad._core.threads import thread_limit
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming import ScoreSketch


def of_integers() -> ScoreSketch:
    sketch = ScoreSketch(2000)
    sketch.update([0, 1], [1, 2])
    return sketch


REFUSED: dict[str, tuple[str, Callable[[ScoreSketch], Any]]] = {
    "NaN": ("y_score.*first at index 2", lambda k: k.update([0, 1, 0], [1.0, 2.0, np.nan])),
    "labels": ("y_true", lambda k: k.update([0, 2], [1.0, 2.0])),
    "lengths": ("y_true|y_score", lambda k: k.update([0, 1], [1.0])),
    "dtype": ("y_score must contain float64", lambda k: k.update([0, 1], [1, 2])),
    "fractions": ("sample_weight", lambda k: k.update([0, 1], [1.0, 2.0], sample_weight=[0.5, 1])),
    "negative": ("sample_weight", lambda k: k.update([0, 1], [1.0, 2.0], sample_weight=[-1, 1])),
    "shape": ("^y_score must be one-dimensional", lambda k: k.update(y_score=[[3.0]])),
    "no scores": ("y_score", lambda k: k.update([0, 1])),
    "label unseen": ("y_score.*first at index 1", lambda k: k.label([3.0, 77.0], [1, 0])),
    "label twice": ("y_score", lambda k: k.label([3.0, 3.0], [1, 0])),
    "label without": ("y_true", lambda k: k.label([3.0], None)),  # type: ignore[arg-type]
    "other memory": ("other", lambda k: k.merge(ScoreSketch(1000))),
    "other dtype": ("other must contain float64 as before", lambda k: k.merge(of_integers())),
    "other type": ("other", lambda k: k.merge(object())),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_leave_the_state(case: str) -> None:
    message, act = REFUSED[case]
    sketch = ScoreSketch(2000)
    sketch.update([0, 1], [1.0, 2.0])
    sketch.update(y_score=[3.0])
    before = sketch.to_bytes()
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        act(sketch)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize(
    "memory",
    [
        *(0, -5, 1, "lots", 2.5, None, True, "0", "1.5"),
        *(2**63, 10**400, "9" * 30, "9" * 400, "9" * 5000),
    ],
)
def test_memories_that_no_sketch_can_have_are_refused(memory: Any) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError), match=r"^memory must "):
        ScoreSketch(memory)


def test_an_empty_batch_counts_nothing() -> None:
    sketch = ScoreSketch(2000)
    empty = sketch.to_bytes()
    sketch.update([], [])
    sketch.update(y_score=[])
    assert sketch.to_bytes() == empty


@pytest.mark.slow
@pytest.mark.parametrize("weight", [2**31, 2**32 - 1, 2**32, 2**40, 2**60])
def test_counts_beyond_32_bits(weight: int) -> None:
    weights = np.array([weight, 1, 2, weight])
    sketch = ScoreSketch(2000)
    sketch.update([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0])
    sketch.update([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], sample_weight=weights)
    assert (sketch.n_normals, sketch.n_anomalies) == (weight + 4, weight + 3)
    again = ScoreSketch(2000)
    again.update([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], sample_weight=weights + 1)
    assert again.to_bytes() == sketch.to_bytes()
    # By hand: normals at 1 and 3, anomalies at 2 and 4.
    normals, anomalies = weight + 4, weight + 3
    above = (weight + 1) * normals + 2 * (weight + 1)
    assert sketch.roc_auc().value == above / (normals * anomalies)


@pytest.mark.parametrize("n_threads", [2, 8])
def test_threads_give_the_bytes_of_one(n_threads: int) -> None:
    rng = np.random.default_rng(0)
    y, s = (rng.random(1_100_000) < 0.1).astype(np.uint8), rng.normal(size=1_100_000)
    with thread_limit(1):
        alone = ScoreSketch(20_000)
        alone.update(y, s)
    shared = ScoreSketch(20_000)
    with ThreadPoolExecutor(n_threads) as pool:
        parts = np.array_split(np.arange(len(y)), 4 * n_threads)
        list(pool.map(lambda rows: shared.update(y[rows], s[rows]), parts))
    assert shared.to_bytes() == alone.to_bytes()


def test_more_points_than_the_counts_hold_are_refused() -> None:
    sketch = ScoreSketch()
    sketch.update([0, 1], [0.1, 0.2], sample_weight=[2**61, 2**60])
    before = sketch.to_bytes()
    with pytest.raises(InvalidInputError, match=r"sample_weight must leave fewer than 2\^62"):
        sketch.update([1], [0.3], sample_weight=[2**60])
    other = ScoreSketch()
    other.update([0, 1], [-1.0, 9.0], sample_weight=[2**61, 1])
    for refused in (sketch.copy(), other):
        with pytest.raises(InvalidInputError, match=r"other must leave fewer than 2\^62"):
            sketch.merge(refused)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_threads_within_an_update_change_no_byte(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    labels = rng.random(2_200_000) < 0.05
    scores = rng.normal(size=2_200_000).astype(dtype)
    written = set()
    for n_threads in (1, 2, 4):
        with thread_limit(n_threads):
            sketch = ScoreSketch("300kB")
            sketch.update(labels, scores)
            sketch.update(labels[:5], scores[:5])
        written.add(sketch.to_bytes())
    assert len(written) == 1
    assert (sketch.n_anomalies, sketch.n_normals) == (
        labels.sum() + labels[:5].sum(),
        (~labels).sum() + (~labels[:5]).sum(),
    )
