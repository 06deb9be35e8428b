"""Time of measures at the lowest false positive rates, and of measures of one's own.

All measures for low rates of ten million scores beside one area under the ROC curve; F2 at every
threshold beside scikit-learn; a band of the difference of two decision curves. Loops of
scikit-learn over thresholds would take hours: they take some of the thresholds, and the table
divides their times by ``extra_info["fraction"]``. Results agree before anything is timed.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn import metrics

import fastad
from bench.data import Case, Labels, Scores, generate
from fastad.measures import from_counts
from tests.support.custom import net_benefit

N_SCORES, N_THRESHOLDS, SOME_THRESHOLDS, N_PATIENTS = 10**7, 10**5, 20, 10**6
LOW_RATES = (
    *("auc_log@0.001", "bedroc@20", "rie@20", "ef@0.01", "dcf@threshold0.5", "mindcf@0.01"),
    *("precision@recall0.9", "tpr@1e-06"),
)

pytestmark = pytest.mark.benchmark(min_rounds=5, max_time=1, warmup=True, disable_gc=True)


@pytest.mark.parametrize("proportion", [0.01, 0.5])
@pytest.mark.parametrize("what", ["roc_auc", "all of the lowest rates"])
def test_all_measures_of_one_order(
    benchmark: BenchmarkFixture, proportion: float, what: str
) -> None:
    y, s = generate(Case(N_SCORES, proportion))
    benchmark.group = f"{N_SCORES:.0e} scores, {proportion:.0%} anomalies"
    if what == "roc_auc":
        benchmark(fastad.roc_auc, y, s)
    else:
        benchmark(fastad.evaluate, y, s, measures=LOW_RATES)


def f2(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    return 5 * tp / (tp + fp + 4 * n)


F2 = from_counts("f2", f2, at="curve")


@lru_cache
def _thresholds(n_distinct: int) -> tuple[Labels, Scores]:
    rng = np.random.default_rng(0)
    y = (rng.random(N_THRESHOLDS) < 0.1).astype(np.int64)
    s = rng.normal(size=N_THRESHOLDS) + 1.5 * y
    if n_distinct < N_THRESHOLDS:
        s = np.floor(np.argsort(np.argsort(s)) / N_THRESHOLDS * n_distinct)
    return y, s


def _by_fastad(y: Labels, s: Scores) -> Scores:
    values: Scores = F2.of(y, s).values[1:]
    return values


def _by_scikit_learn(y: Labels, s: Scores) -> Scores:
    values, _ = metrics.metric_at_thresholds(y, s, metrics.fbeta_score, metric_params={"beta": 2})
    return np.asarray(values)


def _by_confusion_counts(y: Labels, s: Scores) -> Scores:
    """The same function of the counts that scikit-learn computes by one sort."""
    _, fps, fns, tps, _ = metrics.confusion_matrix_at_thresholds(y, s)
    return np.asarray(f2(tps, fps, tps + fns, None))


@pytest.mark.parametrize("how", [_by_fastad, _by_scikit_learn, _by_confusion_counts])
def test_f2_at_every_threshold(benchmark: BenchmarkFixture, how: Any) -> None:
    n_thresholds = SOME_THRESHOLDS if how is _by_scikit_learn else N_THRESHOLDS
    y, s = _thresholds(n_thresholds)
    np.testing.assert_allclose(how(y, s), _by_fastad(y, s), rtol=1e-12)
    benchmark.group = f"F2 at {N_THRESHOLDS} thresholds"
    benchmark.extra_info["fraction"] = n_thresholds / N_THRESHOLDS
    benchmark(how, y, s)


def test_band_of_the_difference_of_decision_curves(benchmark: BenchmarkFixture) -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(N_PATIENTS) < 0.1).astype(np.int64)
    common = rng.normal(size=N_PATIENTS)
    first, second = (
        1 / (1 + np.exp(2 - common - rng.normal(size=N_PATIENTS) - shift * y)) for shift in (2, 1.5)
    )
    benefit = from_counts("net_benefit", net_benefit, at="threshold", takes_threshold=True)
    thresholds = np.arange(1, 100) / 100
    benchmark.group = f"{N_PATIENTS} patients, {len(thresholds)} thresholds"
    benchmark(
        fastad.uncertainty.difference_band,
        y,
        first,
        second,
        measure=benefit,
        threshold=thresholds,
        rng=0,
    )
