"""Kernels that few drawn arguments reach: of each detector, of large tables, of sorting on disk."""

import tempfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad._core.arrays import as_readonly
from fastad._kernels.ordering import keys, rank_ranges
from fastad.detectors.neighbours import Neighbourhood, Rule, RuleKind
from fastad.streaming.large_files.exact import FEWEST_BYTES
from tests.support.drawn_calls import detectors
from tests.support.score_files import check_bounds, save

pytestmark = pytest.mark.bounds

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("d", [2, 14])
@given(seed=seeds)
def test_every_compiled_detector(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(1, 600)), d)) * 10.0 ** rng.integers(-3, 4)
    for fitted in detectors(d).fitted:
        assert np.isfinite(fastad.compile_scorer(fitted).score_samples(points)).all()


@pytest.mark.parametrize("n_train", [20, 1001], ids=["all distances", "tree"])
@given(seed=seeds)
def test_every_rule_of_neighbours(n_train: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n_train, int(rng.integers(1, 5)))).astype(np.float64)
    rules = [Rule(kind, int(rng.integers(1, 19))) for kind in get_args(RuleKind)]
    scores = Neighbourhood(X, rules).score_rows(X[: rng.integers(1, n_train)])
    assert not np.isnan(scores).any()


@given(
    labels=st.lists(st.integers(0, 1), min_size=1),
    ranks=st.tuples(st.integers(0, 9), st.integers(0, 9)),
)
def test_positions_of_normals(labels: list[int], ranks: tuple[int, int]) -> None:
    """Which only samples of more than 2^13 scores reach."""
    first, second = sorted(ranks)
    sample = 2 * np.arange(len(labels)) + labels
    normals = [i for i in reversed(range(len(labels))) if not labels[i]]
    expected = tuple(normals[rank] if rank < len(normals) else -1 for rank in (first, second))
    assert keys.positions_of_normals(sample, first, second) == expected


@given(seed=seeds, d=st.integers(1, 6))
def test_bridges_of_splitting(seed: int, d: int) -> None:
    X = np.random.default_rng(seed).normal(size=(200, d))
    box = fastad.Box.from_data(X)
    options: Any = {"n_draws": 40_000, "rng": seed, "data": X}
    result = fastad.volume(lambda x: (x**2).sum(axis=1), 0.1, box, method="splitting", **options)
    assert 0 < result.low <= result.value <= result.high


@given(seed=seeds, memory=st.integers(FEWEST_BYTES, 4 * FEWEST_BYTES))
def test_sorting_on_disk(seed: int, memory: int) -> None:
    rng = np.random.default_rng(seed)
    y, s = np.arange(900) % 3 // 2, rng.integers(-(2**62), 2**62, 900) >> rng.integers(60)
    measures = ["auc", "auc_w"]
    with tempfile.TemporaryDirectory() as name:
        path = save(Path(name, "scores.parquet"), {"y": y, "score": s})
        found = fastad.streaming.evaluate(
            path, score_columns="score", exact=True, memory=memory, measures=measures
        )
    check_bounds(found["score"], y, s)


@given(seed=seeds)
def test_normals_between_anomalies(seed: int) -> None:
    """Workers of Dask count so, which write nothing to disk."""
    rng = np.random.default_rng(seed)
    anomalies = np.sort(rng.integers(-50, 50, rng.integers(1, 300)))
    normals = np.sort(rng.integers(-60, 60, rng.integers(0, 3000)))
    n = anomalies.shape[0]
    between, equal = np.zeros(n + 1, np.int64), np.zeros(n, np.int64)
    rank_ranges.count_between(as_readonly(anomalies), as_readonly(normals), between, equal)
    at = np.searchsorted(anomalies, normals)
    ties = np.append(anomalies, 100)[at] == normals
    assert equal.tolist() == np.bincount(at[ties], minlength=n).tolist()
    assert between.tolist() == np.bincount(at[~ties], minlength=n + 1).tolist()


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@given(seed=seeds, is_weighted=st.booleans())
def test_replicates_of_clusters(seed: int, is_weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 300))
    weights = rng.uniform(0.1, 3, n) if is_weighted else None
    y, s = np.arange(n) % 3 == 0, rng.normal(size=n).round(1)
    options: Any = {"clusters": rng.integers(12, size=n), "sample_weight": weights, "rng": seed}
    result = fastad.interval(y, s, measure="auc", method="bootstrap", n_resamples=5, **options)
    assert 0 <= result.low <= result.high <= 1


@given(seed=seeds)
def test_uniform_points_above_all_scores(seed: int) -> None:
    rng = np.random.default_rng(seed)
    test, uniform = rng.normal(size=50), 3 * rng.normal(size=int(rng.integers(2000, 9000)))
    curve = fastad.mass_volume_curve(test, uniform, 1.0)
    below = [np.count_nonzero(uniform <= threshold) for threshold in np.sort(test)]
    assert curve.volume[1:].tolist() == (np.array(below) / uniform.size).tolist()
