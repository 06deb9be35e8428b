"""Intervals on Dask: replicates are numbered, and sketches have the bytes of one machine."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.streaming import ScoreSketch

dask = pytest.importorskip("dask", reason="the extra dask is not installed")
from dask.array import from_array  # noqa: E402

RNG = np.random.default_rng(0)
Y = RNG.random(3000) < 0.1
S = np.round(RNG.normal(size=3000) + 1.5 * Y, 2)
OPTIONS: dict[str, Any] = {"n_resamples": 101, "rng": 5}


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05", "f1_best"])
@pytest.mark.parametrize("method", ["bootstrap", "basic"])
def test_intervals_are_those_of_one_machine(measure: str, method: Any) -> None:
    for stratified in (True, False):
        options = {"measure": measure, "method": method, "stratified": stratified, **OPTIONS}
        expected = fastad.interval(Y, S, **options)
        for n_tasks in (1, 7, 500):
            assert fastad.dask.interval(Y, S, n_tasks=n_tasks, **options) == expected


@pytest.mark.parametrize("method", ["auto", "bca", "delong"])
def test_other_methods_too(method: Any) -> None:
    options = {"measure": "auc", "method": method, **OPTIONS}
    assert fastad.dask.interval(Y, S, **options) == fastad.interval(Y, S, **options)


def test_arrays_of_dask_weights_and_later() -> None:
    labels, scores = (from_array(each, chunks=700) for each in (Y, S))
    weights = RNG.integers(0, 3, 3000)
    options = {"measure": "ap", "method": "bootstrap", "sample_weight": weights, **OPTIONS}
    result = fastad.dask.interval(labels, scores, compute=False, **options)
    assert result.compute() == fastad.interval(Y, S, **options)
    with pytest.raises(fastad.InvalidInputError, match="n_tasks must be"):
        fastad.dask.interval(Y, S, measure="auc", n_tasks=0)
    with pytest.raises(fastad.InvalidInputError, match="measure"):
        fastad.dask.interval(Y, S, measure="aucc")


@pytest.mark.parametrize("chunks", [3000, 1500, 430])
@pytest.mark.parametrize("memory", ["8MB", "1kB"])
def test_sketches_have_the_bytes_of_one_machine(memory: str, chunks: int) -> None:
    columns = {
        name: from_array(each, chunks=chunks)
        for name, each in {"y": Y, "a": S, "b": -S.astype(np.float32)}.items()
    }
    result = fastad.dask.sketch(columns, memory=memory)
    for name, scores in (("a", S), ("b", -S.astype(np.float32))):
        sketch = ScoreSketch(memory)
        sketch.update(Y, scores)
        assert result[name].to_bytes() == sketch.to_bytes()
    later = fastad.dask.sketch(columns, score_columns="a", memory=memory, compute=False).compute()
    options: dict[str, Any] = {"measure": "auc", "method": "delong"}
    assert later["a"].interval(**options) == result["a"].interval(**options)
    assert list(later) == ["a"]
    with pytest.raises(fastad.InvalidInputError, match="label_column must be a column"):
        fastad.dask.sketch(columns, label_column="label")
