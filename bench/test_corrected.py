"""Time of measures that are corrected for hidden anomalies, beside the plain ones."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fastad
from bench.data import Labels, Scores

SIZE, N_ANOMALIES, HIDDEN = 10**6, 10**4, 0.01
KEYS = ["auc", "auc@0.01", "tpr@0.01"]

pytestmark = pytest.mark.benchmark(min_rounds=5, max_time=1, disable_gc=True)

Contamination = float | None

CALLS: dict[str, Callable[[Labels, Scores, Contamination], Any]] = {
    "evaluate, default measures": lambda y, s, c: fastad.evaluate(y, s, contamination=c),
    "evaluate, three measures": lambda y, s, c: fastad.evaluate(
        y, s, measures=KEYS, contamination=c
    ),
    "roc_auc": lambda y, s, c: fastad.rank_scores(y, s, contamination=c).roc_auc(),
    "tpr_at_fpr": lambda y, s, c: fastad.rank_scores(y, s, contamination=c).tpr_at_fpr(fpr=0.01),
    "roc_curve, all points": lambda y, s, c: fastad.rank_scores(y, s, contamination=c).roc_curve(),
}


@lru_cache(maxsize=1)
def _data() -> tuple[Labels, Scores]:
    rng = np.random.default_rng(0)
    labels = rng.permutation((np.arange(SIZE) < N_ANOMALIES).astype(np.int64))
    hidden = (labels == 0) & (rng.random(SIZE) < HIDDEN)
    scores = rng.normal(size=SIZE)
    scores[(labels == 1) | hidden] += 4
    return labels, scores


@pytest.mark.parametrize("contamination", [None, HIDDEN], ids=["plain", "corrected"])
@pytest.mark.parametrize("call", CALLS)
def test_corrected(benchmark: BenchmarkFixture, call: str, contamination: Contamination) -> None:
    labels, scores = _data()
    CALLS[call](labels, scores, contamination)
    benchmark(CALLS[call], labels, scores, contamination)
