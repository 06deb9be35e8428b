"""Time of the tasks of one split, without the detectors' own fitting, against scikit-learn.

The peer scores test rows and uniform points with scikit-learn and measures with its curves and
NumPy: one configuration after the other, and once with a single search of neighbours for all
distances, the most that a careful user would share. Both sides use one core.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from threadpoolctl import threadpool_limits

from bench import study_peer as peer
from fastad._core.threads import thread_limit
from fastad.regions.box import Box
from fastad.regions.uniform import Draws
from fastad.study import Configuration, Protocol
from fastad.study.config import OPERATING_RATES
from fastad.study.fitting import Fitted, fit_batch, group_of, scores_of_draws, scores_of_rows
from fastad.study.measuring import Measured, measure_scores
from fastad.study.papers import paper_detectors, paper_measures
from fastad.study.split import Split, split_problem

# Features and training rows.
CASES = ((2, 2000), (10, 2000), (36, 1000))
N_DRAWS = 100_000

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=1, warmup=False, disable_gc=True)


class _Case(NamedTuple):
    split: Split
    configurations: tuple[Configuration, ...]
    seeds: list[int]


@lru_cache
def case(d: int, n_train: int) -> _Case:
    """Two clouds of normal samples, and anomalies around them."""
    rng = np.random.default_rng(d)
    n_normals = n_train * 5 // 4
    normal = rng.normal(size=(n_normals, d)) + 4 * rng.integers(0, 2, size=(n_normals, 1))
    X = np.concatenate([normal, rng.normal(2, 3, size=(500, d))])
    y = np.repeat([0, 1], [n_normals, 500])
    split = split_problem(
        *(X, y), contamination=0.0, repeat=1, seed_key=(0,), protocol=Protocol(repeats=1)
    )
    result = paper_detectors()
    return _Case(split, result, [7] * len(result))


@lru_cache
def fitted(d: int, n_train: int) -> list[Fitted]:
    """Fit by fastad, in the groups that share computations."""
    split, configurations, _ = case(d, n_train)
    groups: dict[str, list[Configuration]] = {}
    for configuration in configurations:
        groups.setdefault(group_of(configuration), []).append(configuration)
    return [fit_batch(members, split.X_train, [7] * len(members)) for members in groups.values()]


def by_fastad(d: int, n_train: int) -> dict[Configuration, Measured]:
    split = case(d, n_train).split
    draws = Draws(Box.from_data(np.concatenate([split.X_train, split.X_test])), np.uint64(3))
    results = {}
    for batch in fitted(d, n_train):
        for scorer, members in batch.scorers:
            tested = scores_of_rows(scorer, len(members), split.X_test)
            drawn = scores_of_draws(scorer, len(members), draws, N_DRAWS)
            for configuration, scores, uniform in zip(members, tested, drawn, strict=True):
                results[configuration] = measure_scores(
                    *(split.y_test, scores, uniform), keys=paper_measures(), rates=OPERATING_RATES
                )
    return results


@lru_cache
def fitted_by_peer(d: int, n_train: int) -> list[Any]:
    split, configurations, seeds = case(d, n_train)
    return peer.detectors(configurations, split.X_train, seeds)


def by_peer(d: int, n_train: int) -> list[dict[str, float]]:
    split = case(d, n_train).split
    rows = np.concatenate([split.X_train, split.X_test])
    return list(peer.run(fitted_by_peer(d, n_train), split.X_test, split.y_test, rows, N_DRAWS))


@lru_cache
def shared_by_peer(d: int, n_train: int) -> tuple[peer.Together, list[Any]]:
    split, configurations, _ = case(d, n_train)
    rules = [x.rule for x in configurations if x.rule and x.rule.kind != "lof"]
    detectors = [x for x in fitted_by_peer(d, n_train) if not isinstance(x, peer.Distances)]
    return peer.Together(rules, split.X_train), detectors


def by_sharing_peer(d: int, n_train: int) -> list[dict[str, float]]:
    split = case(d, n_train).split
    rows = np.concatenate([split.X_train, split.X_test])
    together, others = shared_by_peer(d, n_train)
    return list(peer.run(others, split.X_test, split.y_test, rows, N_DRAWS, together))


def on_one_core(run: Any, *arguments: int) -> Any:
    with thread_limit(1), threadpool_limits(1):
        return run(*arguments)


@pytest.mark.parametrize(("d", "n_train"), CASES)
def test_peers_agree(d: int, n_train: int) -> None:
    results = on_one_core(by_fastad, d, n_train)
    expected = on_one_core(by_peer, d, n_train)
    shared = on_one_core(by_sharing_peer, d, n_train)
    assert len(results) == len(expected) == len(shared) == 42
    for configuration, of_peer in zip(case(d, n_train).configurations, expected, strict=True):
        values = results[configuration].values
        for label in ("auc", "ap", "auc_w", "auc@0.05", "auc@0.4", "tpr@0.01", "tpr@0.4"):
            # The last digits of a score order two points differently now and then.
            assert values[label] == pytest.approx(of_peer[label], rel=1e-4), (configuration, label)
        for label in ("cvol@0.05", "precision@p0.05"):
            assert values[label] == pytest.approx(of_peer[label], abs=0.15), (configuration, label)


@pytest.mark.parametrize(("d", "n_train"), CASES)
@pytest.mark.parametrize("run", [by_fastad, by_sharing_peer, by_peer])
def test_tasks_of_a_split(benchmark: BenchmarkFixture, run: Any, d: int, n_train: int) -> None:
    benchmark.group = f"42 tasks of a split, d={d}, {n_train} training rows"
    case(d, n_train), fitted(d, n_train), shared_by_peer(d, n_train)
    if run is by_fastad:
        on_one_core(run, d, n_train)
    # Once: the peer takes a minute and more.
    benchmark.pedantic(on_one_core, args=(run, d, n_train), rounds=1)  # type: ignore[no-untyped-call]
