"""Time of kinds of anomalies and segments of normals, against one AUC and against fairlearn."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fairlearn.metrics import MetricFrame, false_positive_rate, true_positive_rate
from pytest_benchmark.fixture import BenchmarkFixture

import fastad
from bench.data import Case, Labels, Scores, generate

N_SCORES, N_KINDS = 10**7, 50
N_FAIRLEARN = 10**6
THRESHOLD = 2.0

pytestmark = pytest.mark.benchmark(min_rounds=5, max_time=5, disable_gc=True)
Names = npt.NDArray[np.int64]


def _kinds(labels: Labels) -> Names:
    """Return kinds of unequal sizes, of which both classes have all."""
    sizes = np.cumsum(1 / np.arange(1, N_KINDS + 1))
    drawn = sizes[-1] * np.random.default_rng(0).random(labels.shape[0])
    kinds: Names = np.searchsorted(sizes, drawn).astype(np.int64)
    return kinds


@pytest.mark.parametrize("proportion", [0.01, 0.1])
@pytest.mark.parametrize("what", ["roc_auc", "evaluate auc", "kinds", "kinds and segments"])
def test_fifty_kinds(benchmark: BenchmarkFixture, proportion: float, what: str) -> None:
    y, s = generate(Case(N_SCORES, proportion))
    benchmark.group = f"{N_SCORES:.0e} scores, {proportion:.0%} anomalies, {N_KINDS} kinds"
    if what == "roc_auc":
        benchmark(fastad.roc_auc, y, s)
        return
    names = _kinds(y)
    parts: dict[str, Any] = {
        "evaluate auc": {},
        "kinds": {"kinds": names},
        "kinds and segments": {"kinds": names, "segments": names},
    }
    benchmark(fastad.evaluate, y, s, measures=["auc"], fpr=0.01, **parts[what])


def _fastad(y: Labels, s: Scores, names: Names) -> npt.NDArray[np.float64]:
    result = fastad.evaluate(
        y, s, kinds=names, segments=names, measures=["tpr"], threshold=THRESHOLD
    )
    point = result["score"].operating_points[0]
    assert point.kinds is not None
    assert point.segments is not None
    return np.array([point.kinds.value, point.segments.value])


def _fairlearn(y: Labels, s: Scores, names: Names) -> npt.NDArray[np.float64]:
    frame = MetricFrame(
        metrics={"tpr": true_positive_rate, "fpr": false_positive_rate},
        y_true=y,
        y_pred=(s >= THRESHOLD).astype(np.int64),
        sensitive_features=names,
    )
    rates: npt.NDArray[np.float64] = frame.by_group[["tpr", "fpr"]].to_numpy().T
    return rates


@pytest.mark.parametrize("how", [_fastad, _fairlearn], ids=["fastad", "fairlearn"])
def test_rates_by_group(benchmark: BenchmarkFixture, how: Any) -> None:
    y, s = generate(Case(N_FAIRLEARN, 0.1))
    names = _kinds(y)
    np.testing.assert_allclose(how(y, s, names), _fastad(y, s, names), rtol=1e-12)
    benchmark.group = f"rates of {N_KINDS} groups, {N_FAIRLEARN:.0e} rows"
    benchmark(how, y, s, names)
