"""What tests of EM and MV share."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.unsupervised import Criteria, LevelSets, UnsupervisedEvaluation, emmv
from tests.support.volumes import norm

Array = npt.NDArray[Any]
Scores = Mapping[str, Callable[[Array], Array]]
HALF = 5.0


def points(seed: int, n: int, m: int, d: int = 2) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.uniform(-HALF, HALF, size=(m, d))


def evaluate(scores: Scores, X: Array, U: Array, **options: Any) -> UnsupervisedEvaluation:
    test = {name: score(X) for name, score in scores.items()}
    uniform = {name: score(U) for name, score in scores.items()}
    volume = (2 * HALF) ** X.shape[1]
    return emmv(test, uniform, volume, **{"rng": 0, "n_resamples": 200, **options})


def criteria_of(levels: LevelSets, **options: Any) -> Criteria:
    return emmv({"it": levels}, **options)["it"]


def criteria_of_normal(seed: int = 0, n: int = 500, m: int = 5000, **options: Any) -> Criteria:
    return evaluate({"norm": norm}, *points(seed, n, m), **options)["norm"]


def first(X: Array) -> Array:
    return np.abs(X[:, 0])


def second(X: Array) -> Array:
    return np.abs(X[:, 1])
