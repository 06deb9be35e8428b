"""Small data, protocols and detectors for tests of goix's benchmark."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor

from fastad.study.papers.goix_data import GoixProtocol, Setting, split_goix
from fastad.study.papers.goix_results import GoixRow

Matrix = npt.NDArray[np.float64]

# Few points and draws, and rows as they came.
FEW = GoixProtocol(n_subspaces=6, n_uniform=2000, n_resamples=50, max_train=500, max_test=500)
PLAIN = dataclasses.replace(FEW, standardize=False)
FAST = {"forest": IsolationForest(n_estimators=10), "lof": LocalOutlierFactor(novelty=True)}


def data(n_normals: int, n_anomalies: int, d: int, seed: int = 0) -> tuple[Matrix, Any]:
    rng = np.random.default_rng(seed)
    normals, anomalies = rng.normal(size=(n_normals, d)), rng.uniform(-6, 6, (n_anomalies, d))
    return np.concatenate([normals, anomalies]), np.repeat([0, 1], [n_normals, n_anomalies])


def numbered(n_normals: int, n_anomalies: int) -> tuple[Matrix, Any]:
    """Rows that hold their numbers, so that it shows where each went."""
    y = np.repeat([0, 1], [n_normals, n_anomalies])
    return np.arange(y.shape[0], dtype=np.float64)[:, None], y


def cut(X: Matrix, y: Any, setting: Setting, protocol: GoixProtocol = PLAIN, seed: int = 0) -> Any:
    return split_goix(X, y, setting, protocol=protocol, rng=np.random.default_rng(seed))


def flat(X: Matrix) -> Callable[[Matrix], Matrix]:
    """Learn to give all points one score."""
    return lambda rows: np.zeros(rows.shape[0])


def same_criteria(one: GoixRow, other: GoixRow) -> bool:
    # NaN is compared as a string.
    return str(one.em.to_dict()) + str(one.mv.to_dict()) == str(other.em.to_dict()) + str(
        other.mv.to_dict()
    )
