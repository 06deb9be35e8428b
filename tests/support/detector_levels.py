"""What tests of the level sets of detectors share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.unsupervised import LevelSets
from tests.support.volumes import OfBatch, norm, norm_of_point

Array = npt.NDArray[Any]


def scorer(kind: str, d: int) -> Any:
    if kind == "compiled":
        return OfBatch(norm, d)
    return norm_of_point if kind == "jitted" else norm


def normal(n: int, d: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, d))


def bits(levels: LevelSets) -> list[Any]:
    arrays = (levels.thresholds, levels.masses, levels.inside, levels.log_fractions)
    results: list[Any] = [None if array is None else array.tobytes() for array in arrays]
    return [*results, levels.box, levels.n_uniform]


class Keeper:
    """A score that keeps the points that it scores."""

    def __init__(self, batch: Callable[[Array], Array] = norm) -> None:
        self.batch = batch
        self.seen: list[Array] = []

    def __call__(self, X: Array) -> Array:
        self.seen.append(X.copy())
        return self.batch(X)

    def drawn(self, n_test: int) -> Array:
        return np.concatenate(self.seen)[n_test:]
