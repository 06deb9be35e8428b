"""Time of intervals of scores in clusters: all measures of a table share the replicates."""

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

import fastad
from bench.data import Case, generate

N_SCORES, N_CLUSTERS, N_REPLICATES = 10**6, 10**4, 1000

pytestmark = pytest.mark.benchmark(min_rounds=1, max_time=1, warmup=False)


def test_replicates_of_clusters(benchmark: BenchmarkFixture) -> None:
    y, s = generate(Case(N_SCORES, 0.01))
    benchmark.group = f"{N_SCORES:.0e} scores in {N_CLUSTERS} clusters, {N_REPLICATES} replicates"
    clusters = [*range(N_CLUSTERS)] * (N_SCORES // N_CLUSTERS)
    benchmark(
        lambda: fastad.evaluate(
            y, s, confidence_level=0.95, clusters=clusters, n_resamples=N_REPLICATES, rng=0
        )
    )
