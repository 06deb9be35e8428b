"""Scores of detectors at test points and at uniform points, for curves of level sets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

RNG = np.random.default_rng(3)
X, DRAWN, VOLUME = RNG.normal(size=(300, 2)), RNG.uniform(-4, 4, size=(2000, 2)), 64.0
DETECTORS: dict[str, Callable[[Any], Any]] = {
    "round": lambda rows: np.hypot(*rows.T),
    "flat": lambda rows: abs(rows[:, 0]),
    "tied": lambda rows: np.ceil(2 * np.hypot(*rows.T)),
}
TEST = {name: score(X) for name, score in DETECTORS.items()}
UNIFORM = {name: score(DRAWN) for name, score in DETECTORS.items()}
# One detector has only volumes that are a thousandth of those of the other.
FAR = (
    {"near": np.linspace(0, 1, 100), "far": np.linspace(0, 1000, 100)},
    {"near": np.linspace(0.001, 1000, 10_000), "far": np.linspace(0.001, 1000, 10_000)},
)


def inside(values: npt.NDArray[np.float64], limits: tuple[float, float]) -> bool:
    return bool(np.all((limits[0] <= values) & (values <= limits[1])))
