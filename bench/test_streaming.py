"""Updating a sketch, reading it, and merging, beside what else counts scores of streams."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import datasketches
import numpy as np
import numpy.typing as npt
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torchmetrics.classification import BinaryROC

from fastad._core.threads import thread_limit
from fastad.streaming import ScoreSketch

_N = 10_000_000
# torchmetrics compares each score with each bin: as many as it counts in seconds.
_N_PEER, _BINS = 200_000, 1_000


@lru_cache(maxsize=2)
def points(dtype: str, n: int = _N) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.floating]]:
    rng = np.random.default_rng(0)
    labels = (rng.random(n) < 0.01).astype(np.int8)
    return labels, (rng.standard_normal(n) + 2.0 * labels).astype(dtype)


@pytest.mark.benchmark(min_rounds=5, disable_gc=True)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_update(benchmark: BenchmarkFixture, dtype: str, n_threads: int) -> None:
    labels, scores = points(dtype)
    sketch = ScoreSketch()
    sketch.update(labels, scores)
    benchmark.group = "update of 10^7"
    with thread_limit(n_threads):
        benchmark(sketch.update, labels, scores)
    if benchmark.stats is not None:
        benchmark.extra_info["scores_a_second"] = _N / benchmark.stats.stats.median


def _fastad(labels: npt.NDArray[np.int8], scores: npt.NDArray[np.floating]) -> Callable[[], object]:
    # So few bytes hold some thousand cells.
    sketch = ScoreSketch("20kB")
    return lambda: sketch.update(labels, scores)


def _torchmetrics(
    labels: npt.NDArray[np.int8], scores: npt.NDArray[np.floating]
) -> Callable[[], object]:
    curve = BinaryROC(thresholds=_BINS, validate_args=False)
    # It takes probabilities.
    probabilities = torch.sigmoid(torch.from_numpy(scores))
    target = torch.from_numpy(labels).long()
    return lambda: curve.update(probabilities, target)


def _datasketches(
    make: Callable[[], Any],
    dtype: str,
    labels: npt.NDArray[np.int8],
    scores: npt.NDArray[np.floating],
) -> Callable[[], object]:
    sketches = [make(), make()]

    def update() -> None:
        for kind, sketch in enumerate(sketches):
            sketch.update(scores[labels == kind].astype(dtype, copy=False))

    return update


_kll = partial(_datasketches, lambda: datasketches.kll_doubles_sketch(4096), "float64")
_req = partial(_datasketches, lambda: datasketches.req_floats_sketch(100, True), "float32")


@pytest.mark.benchmark(min_rounds=3, max_time=1, disable_gc=True)
@pytest.mark.parametrize(
    "library",
    [
        pytest.param(_fastad, id="fastad"),
        pytest.param(_torchmetrics, id="torchmetrics, 1000 bins"),
        pytest.param(_kll, id="datasketches KLL"),
        pytest.param(_req, id="datasketches REQ"),
    ],
)
def test_update_beside_peers(
    benchmark: BenchmarkFixture, library: Callable[..., Callable[[], object]]
) -> None:
    update = library(*points("float64", _N_PEER))
    update()
    benchmark.group = "update of 2 x 10^5"
    benchmark(update)


@pytest.mark.benchmark(min_rounds=5, disable_gc=True)
@pytest.mark.parametrize(
    "what", ["auc", "ap", "tpr@0.001", "all", "to_bytes", "merge", "update 10^4"]
)
def test_reading(benchmark: BenchmarkFixture, what: str) -> None:
    labels, scores = points("float64")
    sketch = ScoreSketch()
    sketch.update(labels, scores)
    other = sketch.copy()
    few = labels[:10_000], scores[:10_000]
    benchmark.group = "sketch of 8 MB"
    calls: dict[str, Callable[[], object]] = {
        "all": sketch.evaluate,
        "to_bytes": sketch.to_bytes,
        "merge": lambda: sketch.merge(other),
        "update 10^4": lambda: sketch.update(*few),
    }
    benchmark(calls.get(what, lambda: sketch.evaluate([what])))
