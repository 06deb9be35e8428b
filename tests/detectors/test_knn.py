"""Detectors of nearest neighbours, compiled: scores against the originals and brute force."""

import math
import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial import cKDTree
from sklearn.neighbors import BallTree, KDTree, LocalOutlierFactor, NearestNeighbors

from fastad._kernels.detectors.neighbours import limit
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.knn import Kind, KNNDetector
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from tests.support.compiled_points import (
    DIMENSIONS,
    REAL,
    assert_compiled,
    assert_robust,
    assert_scores,
    queries,
    real,
    training,
)
from tests.support.loops import loop

KNN = pytest.importorskip("pyod.models.knn").KNN
LOF = pytest.importorskip("pyod.models.lof").LOF

Points = npt.NDArray[np.float64]
METRICS: list[dict[str, Any]] = [{}, {"p": 1}, {"p": np.inf}]
# By name, the same distances in one number of dimensions.
METRICS_OF_DIMENSIONS = [
    # Of one dimension all are the same; of three and four the sums have a remainder and none.
    *(({}, d) for d in DIMENSIONS),
    *((options, d) for options in METRICS[1:] for d in (2, 3, 4, 30)),
] + [({"metric": name}, 5) for name in ("euclidean", "cityblock", "chebyshev")]
BLOCK = 1024
KINDS: list[Kind] = ["kappa", "gamma", "delta"]


def _distances(X: Points, samples: Points, p: float = 2.0) -> Points:
    gaps = X[:, None] - samples
    distances: Points = np.linalg.norm(gaps, ord=p, axis=2)
    return distances


def _counts(scorer: CompiledScorer, X: Points, thresholds: Any) -> npt.NDArray[np.int64]:
    rising = np.array(thresholds, np.float64)
    counts = np.zeros(rising.size, np.int64)
    for start in range(0, len(X), BLOCK):
        points = np.array(X[start : start + BLOCK].T, order="C")
        scorer.count_below(points, rising, counts, np.empty(points.shape[1]))
    return counts


def _grid(d: int, side: int = 5) -> Points:
    return np.stack(np.meshgrid(*[np.arange(float(side))] * d), axis=-1).reshape(-1, d)


@pytest.mark.parametrize(("options", "d"), METRICS_OF_DIMENSIONS, ids=str)
def test_distances_are_those_of_scikit_learn(options: dict[str, Any], d: int) -> None:
    samples, X = training(d), queries(d)
    for k in (1, 5, len(samples)):
        # Not by brute force, which loses digits: see the test of that.
        fitted = NearestNeighbors(n_neighbors=k, algorithm="kd_tree", **options).fit(samples)
        scorer = compile_scorer(fitted)
        scores = scorer.score_samples(X)
        assert_scores(scores, fitted.kneighbors(X)[0][:, -1])
        p = 1.0 if "cityblock" in options.values() else options.get("p", 2.0)
        p = math.inf if "chebyshev" in options.values() else float(p)
        assert_scores(scores, np.sort(_distances(X, samples, p), axis=1)[:, k - 1])
    assert (scorer.n_features, scorer.name) == (d, "NearestNeighbors")


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
@pytest.mark.parametrize("leaf_size", [1, 3, 30, 1000])
def test_the_search_of_scikit_learn_does_not_matter(algorithm: str, leaf_size: int) -> None:
    samples, X = training(4), queries(4)
    options = {"algorithm": algorithm, "leaf_size": leaf_size}
    fitted = NearestNeighbors(n_neighbors=7, **options).fit(samples)
    # Brute force takes differences of products, of the size of the squared coordinates.
    assert_scores(compile_scorer(fitted).score_samples(X), fitted.kneighbors(X)[0][:, -1], 1e-3)
    factor = LocalOutlierFactor(n_neighbors=7, novelty=True, **options).fit(samples)
    assert_compiled(factor, X)


def test_near_duplicates_keep_the_digits_that_brute_force_loses() -> None:
    samples = training(20) + 100.0
    X = samples + 1e-8
    fitted = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(samples)
    exact = np.sort(_distances(X, samples), axis=1)[:, 0]
    assert_scores(compile_scorer(fitted).score_samples(X), exact)
    assert np.abs(fitted.kneighbors(X)[0][:, 0] / exact - 1).max() > 1e-3


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("method", ["largest", "mean", "median"])
def test_distances_are_those_of_pyod(method: str, d: int) -> None:
    samples, X = training(d), queries(d)
    for k in (1, 2, 5, 8):
        fitted = KNN(n_neighbors=k, method=method).fit(samples)
        assert_compiled(fitted, X)


@pytest.mark.parametrize(("options", "d"), METRICS_OF_DIMENSIONS, ids=str)
def test_factors_are_those_of_scikit_learn(options: dict[str, Any], d: int) -> None:
    samples, X = training(d), queries(d)
    for k in (1, 20, len(samples) - 1):
        fitted = LocalOutlierFactor(n_neighbors=k, novelty=True, **options).fit(samples)
        assert_compiled(fitted, X)


@pytest.mark.parametrize("k", [1, 20])
def test_factors_are_those_of_pyod(k: int) -> None:
    fitted = LOF(n_neighbors=k).fit(training(5))
    X = queries(5)
    assert_compiled(fitted, X)


@pytest.mark.parametrize("name", REAL)
def test_real_data(name: str) -> None:
    samples, X = real(name)
    search = NearestNeighbors(n_neighbors=5, algorithm="kd_tree").fit(samples)
    scores = compile_scorer(search).score_samples(X)
    assert_scores(scores, search.kneighbors(X)[0][:, -1])
    factor = LocalOutlierFactor(novelty=True, algorithm="kd_tree").fit(samples)
    assert_compiled(factor, X)
    for method in ("mean", "median"):
        fitted = KNN(method=method, algorithm="ball_tree").fit(samples)
        assert_compiled(fitted, X)


@loop("leaf_size", [1, 5, 30])
@loop("k", [1, 3, 20])
@loop("d", [1, 2, 3])
def test_of_equal_distances_the_same_neighbours_are_taken(d: int, k: int, leaf_size: int) -> None:
    rng = np.random.default_rng(d)
    samples = np.concatenate([_grid(d, 12 // d), rng.integers(0, 12 // d, (150, d))])
    X = np.concatenate([samples, _grid(d, 12 // d) + 0.5])
    fitted = LocalOutlierFactor(
        n_neighbors=k, novelty=True, leaf_size=leaf_size, algorithm="kd_tree"
    ).fit(samples)
    scorer = compile_scorer(fitted)
    np.testing.assert_allclose(scorer.score_samples(X), -fitted.score_samples(X), rtol=1e-9)


def test_factors_of_single_precision() -> None:
    samples, X = training(5).astype(np.float32), queries(5)
    fitted = LocalOutlierFactor(novelty=True).fit(samples)
    assert_compiled(fitted, X)


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_kinds_are_as_the_paper_defines_them(kind: Kind, d: int) -> None:
    samples, X = training(d), queries(d)[:999]
    for k in (1, 6, len(samples)):
        result: tuple[Any, Any] = cKDTree(samples).query(X, k=range(1, k + 1))
        distances, rows = result
        expected = {
            "kappa": distances[:, -1],
            "gamma": distances.mean(axis=1),
            "delta": np.linalg.norm((samples[rows] - X[:, None]).mean(axis=1), axis=1),
        }
        scores = KNNDetector(k, kind=kind).fit(samples).score_samples(X)
        # The vectors may cancel.
        assert_scores(scores, expected[kind], 1e-3)


def test_duplicates_are_neighbours() -> None:
    samples = np.repeat(training(3), 4, axis=0)
    for kind in KINDS:
        detector = KNNDetector(4, kind=kind).fit(samples)
        assert not detector.score_samples(samples).any()
    assert KNNDetector(5).fit(samples).score_samples(samples).all()
    factor = LocalOutlierFactor(n_neighbors=3, novelty=True).fit(samples)
    result = compile_scorer(factor).score_samples(samples)
    assert_scores(result, -factor.score_samples(samples))
    np.testing.assert_allclose(result, 1.0)


def test_one_sample_and_points_beyond_all_numbers() -> None:
    detector = KNNDetector(1).fit([[1.0, 2.0]])
    X = [[4.0, 6.0], [1e200, 0.0], [-1e308, 1e308]]
    np.testing.assert_array_equal(detector.score_samples(X), [5.0, math.inf, math.inf])
    counts = _counts(compile_scorer(detector), np.array(X), [0.0, 5.0, 6.0, math.inf])
    assert counts.tolist() == [0, 0, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("summary", ["vector", "largest", "mean", "median", "factor"])
def test_threads_types_and_blocks_change_no_bit(summary: str) -> None:
    samples, X = training(5), queries(5)
    if summary == "factor":
        scorer = compile_scorer(LocalOutlierFactor(novelty=True).fit(samples))
    elif summary == "vector":
        scorer = compile_scorer(KNNDetector(5, kind="delta").fit(samples))
    else:
        scorer = compile_scorer(KNN(method=summary).fit(samples))
    assert_robust(scorer, X)
    same = pickle.loads(pickle.dumps(scorer))
    np.testing.assert_array_equal(same.score_samples(X), scorer.score_samples(X))


@pytest.mark.parametrize("options", METRICS, ids=str)
@pytest.mark.parametrize("k", [1, 5, 200])
@pytest.mark.parametrize("d", [1, 3, 8])
def test_counts_are_those_of_the_scores(d: int, k: int, options: dict[str, Any]) -> None:
    X = queries(d)
    fitted = NearestNeighbors(n_neighbors=k, **options).fit(training(d))
    scorer = compile_scorer(fitted)
    scores = scorer.score_samples(X)
    attained = np.sort(scores)[:: len(scores) // 60]
    around = np.concatenate(
        [attained, np.nextafter(attained, 0.0), np.nextafter(attained, math.inf)]
    )
    thresholds = np.unique([-1.0, 0.0, 5e-324, 1e-200, 1e200, math.inf, *around])
    below = [np.count_nonzero(scores < threshold) for threshold in thresholds]
    assert _counts(scorer, X, thresholds).tolist() == below
    # One by one, and twice the same.
    for i in range(0, thresholds.size, 29):
        assert _counts(scorer, X, thresholds[[i, i]]).tolist() == [below[i]] * 2
        assert _counts(scorer, X, thresholds[[i]]).tolist() == [below[i]]
    assert _counts(scorer, X, []).size == 0


def test_counts_of_scores_without_a_kernel_of_their_own() -> None:
    samples, X = training(3), queries(3)
    scorers = [
        compile_scorer(KNNDetector(4, kind="gamma").fit(samples)),
        compile_scorer(LocalOutlierFactor(novelty=True).fit(samples)),
    ]
    for scorer in scorers:
        scores = scorer.score_samples(X)
        thresholds = np.sort(scores)[::200]
        below = [np.count_nonzero(scores < threshold) for threshold in thresholds]
        assert _counts(scorer, X, thresholds).tolist() == below


_COORDINATES = st.one_of(
    st.integers(-3, 3).map(float), st.floats(-1e3, 1e3), st.floats(-1e-150, 1e-150)
)


@given(st.data())
def test_counts_agree_with_scores_whatever_the_points(data: st.DataObject) -> None:
    d = data.draw(st.integers(1, 4))
    point = st.lists(_COORDINATES, min_size=d, max_size=d)
    samples = np.array(data.draw(st.lists(point, min_size=1, max_size=80)))
    X = np.array(data.draw(st.lists(point, min_size=1, max_size=12)))
    k = data.draw(st.integers(1, len(samples)))
    p = data.draw(st.sampled_from([1, 2, math.inf]))
    fitted = NearestNeighbors(n_neighbors=k, p=p).fit(samples)
    scorer = compile_scorer(fitted)
    scores = scorer.score_samples(X)
    np.testing.assert_allclose(
        scores, np.sort(_distances(X, samples, p), axis=1)[:, k - 1], rtol=1e-9, atol=1e-150
    )
    steps = st.sampled_from([-math.inf, 0.0, math.inf])
    near = st.builds(
        lambda u, way: float(np.nextafter(u, u + way)), st.sampled_from(scores.tolist()), steps
    )
    thresholds = sorted(
        data.draw(st.lists(st.one_of(near, st.floats(0, 1e3)), min_size=1, max_size=6))
    )
    below = [np.count_nonzero(scores < threshold) for threshold in thresholds]
    assert _counts(scorer, X, thresholds).tolist() == below


@given(st.floats(min_value=0.0, exclude_min=True))
def test_limit_is_the_smallest_square_of_a_distance(threshold: float) -> None:
    square = limit(threshold, 2.0)
    assert math.sqrt(square) >= threshold
    assert math.sqrt(np.nextafter(square, 0.0)) < threshold


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"metric": "minkowski", "p": 3}, "minkowski, p=3"),
        ({"metric_params": {"w": [1.0, 2.0]}}, "minkowski, p=2"),
        ({"metric": "canberra"}, "canberra"),
        ({"metric": "cosine"}, "cosine"),
        ({"metric": lambda a, b: float(np.abs(a - b).sum())}, "<lambda>"),
    ],
)
def test_other_distances_are_refused(options: dict[str, Any], found: str) -> None:
    samples = training(2)
    for detector in (
        NearestNeighbors(**options),
        LocalOutlierFactor(novelty=True, **options),
        KNN(**options),
        LOF(**options),
    ):
        with pytest.raises(InvalidInputError, match=f"metric of .*found {found}"):
            compile_scorer(detector.fit(samples))


def test_what_cannot_be_compiled_is_refused_by_name() -> None:
    samples = training(2)
    for fitted, problem in [
        (LocalOutlierFactor().fit(samples), "novelty of Local"),
        (LOF(novelty=False).fit(samples), "novelty of LOF must be True"),
        (NearestNeighbors(n_neighbors=201).fit(samples), "found 201"),
        (NearestNeighbors().fit(csr_array(samples)), "csr"),
        (NearestNeighbors().fit(KDTree(samples, metric="l1")), "search"),
        (NearestNeighbors().fit(BallTree(samples)), "on a search"),
    ]:
        with pytest.raises(InvalidInputError, match=problem):
            compile_scorer(fitted)
    fitted = KNN().fit(samples)
    fitted.method = "smallest"
    with pytest.raises(InvalidInputError, match="found 'smallest'"):
        compile_scorer(fitted)


def test_pyod_2_scores_by_a_tree_of_its_own() -> None:
    # As it does in place of a search by brute force.
    for p in (1, 2):
        fitted = KNN(n_neighbors=150, p=p).fit(training(2))
        fitted.tree_ = BallTree(training(2))
        if p == 1:
            with pytest.raises(InvalidInputError, match="another distance than it was fitted with"):
                compile_scorer(fitted)
        else:
            expected = fitted.tree_.query(queries(2), k=150)[0][:, -1]
            assert_scores(compile_scorer(fitted).score_samples(queries(2)), expected)


def test_arguments_of_the_detector() -> None:
    with pytest.raises(InvalidInputError, match="k must be"):
        KNNDetector(0)
    with pytest.raises(InvalidInputError, match="kind must be one of 'kappa', 'gamma', 'delta'"):
        KNNDetector(1, kind="alpha")  # type: ignore[arg-type]
    detector = KNNDetector(3, kind="gamma")
    assert repr(detector) == "KNNDetector(3, kind='gamma')"
    with pytest.raises(InvalidInputError, match="must be fitted"):
        detector.score_samples([[0.0]])
    refused: list[tuple[Any, str]] = [
        ([1.0, 2.0, 3.0], "shape"),
        (np.empty((3, 0)), "at least one feature"),
        ([[1.0], [2.0], [math.nan]], "finite"),
        ([[1.0], [2.0]], "at least k=3 rows; found 2"),
    ]
    for X, problem in refused:
        with pytest.raises(InvalidInputError, match=problem):
            detector.fit(X)


def test_many_neighbours_are_kept_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    samples, X = training(3), queries(3)
    scorers = [compile_scorer(KNNDetector(7, kind=kind).fit(samples)) for kind in KINDS]
    scorers.append(compile_scorer(LocalOutlierFactor(novelty=True).fit(samples)))
    whole = [scorer.score_samples(X) for scorer in scorers]
    for held in (1, 100, 1001):
        monkeypatch.setattr("fastad.detectors.neighbours._MOST_NEIGHBOURS", held)
        for scorer, expected in zip(scorers, whole, strict=True):
            np.testing.assert_array_equal(scorer.score_samples(X), expected)


def test_later_fits_do_not_change_what_was_compiled() -> None:
    samples, X = training(2), queries(2)
    detector = KNNDetector(2).fit(samples)
    scorer, expected = compile_scorer(detector), detector.score_samples(X)
    detector.fit(samples + 1.0)
    samples[:] = 0.0
    np.testing.assert_array_equal(scorer.score_samples(X), expected)
    assert (detector.score_samples(X) != expected).any()


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("k", [2, 9, 40])
def test_equal_distances_give_equal_means(d: int, k: int) -> None:
    """Whatever the order in which a search finds them: of a sample and its mirror image."""
    half, X = training(d), queries(d)
    mirror = np.where(np.arange(d) == 0, -1.0, 1.0)
    samples = np.concatenate([half, half * mirror])
    # Of each coordinate the difference has the same bits, and so have all sums of squares.
    scorer = compile_scorer(KNNDetector(k, kind="gamma").fit(samples))
    scores = scorer.score_samples(X)
    np.testing.assert_array_equal(scorer.score_samples(X * mirror), scores)
    repeated = np.repeat(X, 3, axis=0)
    np.testing.assert_array_equal(scorer.score_samples(repeated), np.repeat(scores, 3))


@pytest.mark.parametrize("k", [2, 9, 40])
def test_means_have_the_bits_of_pyod(k: int) -> None:
    samples, X = training(3), queries(3)
    detector = KNN(n_neighbors=k, method="mean").fit(samples)
    result = compile_scorer(detector).score_samples(X)
    np.testing.assert_array_equal(result, detector.decision_function(X))
