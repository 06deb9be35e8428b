"""On a cluster of two processes, one of which may be killed: the same bits."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
import dask.dataframe as dd  # noqa: E402

from fastad.streaming import ScoreSketch  # noqa: E402
from tests.support.minimal_onnx import autoencoder  # noqa: E402

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def table() -> Any:
    rng = np.random.default_rng(0)
    labels = rng.random(200_000) < 0.05
    return pd.DataFrame({"y": labels, "score": rng.normal(size=200_000) + labels})


def test_bits_are_those_of_one_machine(client: Any, table: pd.DataFrame) -> None:
    frame = dd.from_pandas(table, npartitions=7, sort=False)
    options: dict[str, Any] = {"measures": ["auc", "ap", "tpr@0.001"], "exact": True}
    result = fastad.dask.evaluate(frame, compute=False, **options).compute()
    assert result["score"]["auc"].value == fastad.roc_auc(table.y, table.score)
    assert result["score"]["ap"].value == fastad.average_precision(table.y, table.score)
    tpr = fastad.tpr_at_fpr(table.y, table.score, fpr=0.001)
    assert result["score"]["tpr@0.001"].value == tpr


def test_what_is_in_memory_of_the_workers_is_not_made_again(
    client: Any, table: pd.DataFrame
) -> None:
    frame = dd.from_pandas(table, npartitions=20, sort=False).persist()
    result = fastad.dask.evaluate(frame, measures="auc", exact=True)
    assert result["score"]["auc"].value == fastad.roc_auc(table.y, table.score)


def test_intervals_and_sketches_are_those_of_one_machine(client: Any, table: pd.DataFrame) -> None:
    options: dict[str, Any] = {"measure": "ap", "method": "bootstrap", "n_resamples": 60, "rng": 0}
    expected = fastad.interval(table.y, table.score, **options)
    assert fastad.dask.interval(table.y, table.score, **options) == expected
    frame = dd.from_pandas(table, npartitions=7, sort=False)
    sketch = ScoreSketch("100kB")
    sketch.update(table.y, table.score)
    assert fastad.dask.sketch(frame, memory="100kB")["score"].to_bytes() == sketch.to_bytes()


def test_models_and_functions_score_on_workers(client: Any, monkeypatch: Any) -> None:
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    monkeypatch.setattr("fastad.dask.regions._FEWEST", 10_000)
    rng = np.random.default_rng(0)
    content = autoencoder(rng.normal(size=(3, 9)), rng.normal(size=(9, 3)) / 3)
    box, pid = fastad.Box([-1] * 3, [1] * 3), os.getpid()

    def elsewhere(rows: Any) -> Any:
        assert os.getpid() != pid
        return np.tanh(rows @ np.ones((3, 2))).max(axis=1) + np.abs(rows).max(axis=1)

    def here(rows: Any) -> Any:
        return np.tanh(rows @ np.ones((3, 2))).max(axis=1) + np.abs(rows).max(axis=1)

    model = fastad.detectors.onnx_scorer(content, kind="reconstruction")
    for there, score in ((model, model), (elsewhere, here)):
        options: dict[str, Any] = {"n_draws": 30_001, "rng": 0}
        result = fastad.dask.volume(there, 0.1, box, n_tasks=3, **options)
        expected = fastad.volume(score, 0.1, box, method="uniform", **options)
        assert 0 < result.n_inside < 30_001
        assert result.to_dict() == expected.to_dict()
    options = {"n_draws": 10_000, "rng": 0}
    curve = fastad.dask.volume_curve(elsewhere, 0.1, box, n_tasks=2, **options)
    expected_curve = fastad.regions.volume_curve(here, 0.1, box, **options)
    assert curve.to_columns() == expected_curve.to_columns()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_a_worker_that_is_killed_changes_nothing(client: Any, table: pd.DataFrame) -> None:
    def slow(part: Any) -> Any:
        time.sleep(0.3)
        return part

    frame = dd.from_pandas(table, npartitions=12, sort=False).map_partitions(slow)
    pids = list(client.run(os.getpid).values())
    timer = threading.Timer(0.8, os.kill, (pids[0], signal.SIGKILL))
    timer.start()
    try:
        result = fastad.dask.evaluate(frame, measures="auc", exact=True)
    finally:
        timer.cancel()
    assert result["score"]["auc"].value == fastad.roc_auc(table.y, table.score)
    assert pids[0] not in client.run(os.getpid).values()
