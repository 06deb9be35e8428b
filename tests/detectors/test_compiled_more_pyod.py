"""PyOD's LODA, CBLOF, INNE and its densities, compiled: scores against the originals."""

import importlib
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import Birch

from fastad.detectors.compilation import compile_scorer
from fastad.errors import BatchScorerWarning, InvalidInputError
from tests.support.compiled_points import assert_compiled, assert_robust, queries, training

pytestmark = pytest.mark.slow

pytest.importorskip("pyod")


def of_pyod(name: str, **options: Any) -> Any:
    return getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)(**options)


# Each with how large its scores are where they pass through 0.
CASES: Mapping[str, tuple[Any, float]] = {
    "loda": (of_pyod("LODA", random_state=0), 0.0),
    "loda auto": (of_pyod("LODA", n_bins="auto", n_random_cuts=7, random_state=1), 0.0),
    "loda one bin": (of_pyod("LODA", n_bins=1, random_state=1), 1.0),
    "cblof": (of_pyod("CBLOF", alpha=0.6, random_state=0), 0.0),
    "cblof weights": (of_pyod("CBLOF", use_weights=True, alpha=0.6, random_state=0), 0.0),
    "inne": (of_pyod("INNE", random_state=0), 1.0),
    "inne large": (of_pyod("INNE", n_estimators=9, max_samples=40, random_state=0), 1.0),
    "mcd": (of_pyod("MCD", random_state=0), 0.0),
    "gmm": (of_pyod("GMM", n_components=3, random_state=0), 1.0),
}


@pytest.mark.parametrize("d", [5])
@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_detector(case: str, d: int) -> None:
    detector, floor = CASES[case]
    fitted, X = detector.fit(training(d)), queries(d)
    scorer = assert_compiled(fitted, X, floor=floor)
    assert_robust(scorer, X[:1100])
    again = pickle.loads(pickle.dumps(scorer)).score_samples(X)
    np.testing.assert_array_equal(again, scorer.score_samples(X))


def test_kernel_density() -> None:
    # Within one leaf the original adds up all samples.
    fitted = of_pyod("KDE", bandwidth=0.7, leaf_size=1000).fit(training(3))
    X = queries(3)[:300]
    assert_compiled(fitted, X, floor=1.0)
    with pytest.warns(BatchScorerWarning, match="KDE has no compiled form"):
        compile_scorer(of_pyod("KDE", metric="manhattan").fit(training(3)))


@pytest.mark.parametrize("case", ["cblof", "inne", "inne large", "mcd", "loda", "loda auto"])
def test_integers_with_many_ties(case: str) -> None:
    """Squares of integers are exact, and so is a product of one coordinate."""
    rng = np.random.default_rng(3)
    train = np.unique(rng.integers(-6, 7, size=(400, 2)), axis=0).astype(np.float64)
    fitted = CASES[case][0].fit(train)
    X = np.stack(np.meshgrid(np.arange(-8.0, 9.0), np.arange(-8.0, 9.0)), axis=-1).reshape(-1, 2)
    assert_compiled(fitted, X, floor=1.0)


def test_duplicates_among_the_centres_of_spheres() -> None:
    train = np.random.default_rng(0).integers(0, 3, size=(60, 2)).astype(np.float64)
    fitted = of_pyod("INNE", max_samples=16, n_estimators=20, random_state=0).fit(train)
    X = np.concatenate([train, train + 0.5])
    assert_compiled(fitted, X, floor=1.0)


def test_edges_of_bins() -> None:
    fitted = of_pyod("LODA", n_random_cuts=1, n_bins=4, random_state=0).fit(training(1))
    direction, limits = fitted.projections_[0, 0], fitted.limits_[0]
    edges = limits / direction
    X = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])[:, None]
    assert_compiled(fitted, X)


def test_other_clusterings_score_themselves() -> None:
    train, X = training(3), queries(3)[:500]
    fitted = of_pyod("CBLOF", clustering_estimator=Birch(n_clusters=8))
    with pytest.warns(UserWarning, match="does not have"):
        fitted.fit(train)
    with pytest.warns(BatchScorerWarning, match="CBLOF has no compiled form"):
        scorer = compile_scorer(fitted)
    np.testing.assert_array_equal(scorer.score_samples(X), fitted.decision_function(X))


@pytest.mark.parametrize("name", ["COF", "SOS", "LOCI", "LMDD", "ROD", "CD", "SOD"])
def test_detectors_that_score_a_batch_together_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"{name} scores a batch together"):
        compile_scorer(of_pyod(name))


# COF calls functions of SciPy's that are deprecated from 1.18 on.
@pytest.mark.filterwarnings("ignore:`.*` is deprecated in favor of `scipy:DeprecationWarning")
@pytest.mark.parametrize("name", ["COF", "SOS"])
def test_their_scores_depend_on_the_batch(name: str) -> None:
    """The reason: the same point, in two batches."""
    X = queries(2)[:60]
    fitted = of_pyod(name).fit(training(2, 60))
    whole, half = fitted.decision_function(X), fitted.decision_function(X[:30])
    assert not np.allclose(whole[:30], half, rtol=1e-3)
