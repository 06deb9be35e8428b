"""Scores of detectors that are computed together, against each of them alone."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.svm import OneClassSVM

import fastad
from fastad.detectors import KNNDetector
from fastad.detectors.together import group_scorers


def _training(kind: str, d: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(d)
    if kind == "tied":
        return rng.integers(0, 3, size=(400, d)).astype(np.float64)
    return rng.normal(size=(400, d))


def _detectors(X: npt.NDArray[np.float64]) -> list[Any]:
    kinds: Any = ("kappa", "gamma", "delta")
    results: list[Any] = [KNNDetector(k, kind=kind).fit(X) for kind in kinds for k in (1, 9, 30)]
    results += [LocalOutlierFactor(n_neighbors=k, novelty=True).fit(X) for k in (5, 30)]
    return results + [OneClassSVM(gamma=gamma, nu=0.3).fit(X) for gamma in (0.01, 0.5, "scale")]


@pytest.mark.parametrize("d", [2, 14])
@pytest.mark.parametrize("kind", ["tied", "continuous"])
def test_scores_are_those_of_each_alone(kind: str, d: int) -> None:
    X = _training(kind, d)
    scorers = [fastad.compile_scorer(detector) for detector in _detectors(X)]
    points = np.concatenate([X[:300], np.random.default_rng(1).uniform(-1, 4, size=(300, d))])
    groups = group_scorers(scorers)
    assert sorted(len(members) for _, members in groups) == [3, 11]
    for group, members in groups:
        together = np.empty((len(members), 600))
        group.write(np.ascontiguousarray(points.T), together)
        for row, i in zip(together, members, strict=True):
            alone = scorers[i].score_samples(points)
            if i in range(6) or i > 10:  # the distances, their means, and machines: every bit
                np.testing.assert_array_equal(row, alone)
            np.testing.assert_allclose(row, alone, rtol=1e-12, atol=1e-13)


def test_only_what_shares_work_is_grouped() -> None:
    X, other = _training("continuous", 3), _training("continuous", 3)[::-1] + 1
    detectors = [
        KNNDetector(5).fit(X),
        KNNDetector(40).fit(X),  # as its distance alone is found faster than so many neighbours
        KNNDetector(7, kind="gamma").fit(X),
        KNNDetector(7, kind="gamma").fit(other),
        NearestNeighbors(metric="manhattan").fit(X),
        OneClassSVM().fit(X),
        OneClassSVM().fit(other),
        OneClassSVM(kernel="poly").fit(X),
        IsolationForest(n_estimators=10).fit(X),
    ]
    scorers = [fastad.compile_scorer(detector) for detector in detectors]
    assert [members for _, members in group_scorers([*scorers, None])] == [[0, 2]]
