"""Populations for tests of labelling: scores of two detectors, and the labels of all rows."""

import numpy as np
import numpy.typing as npt

from fastad.labeling import DrawnRows, design, draw

Scores = dict[str, npt.NDArray[np.float64]]


def population(
    n: int, prevalence: float, rng: np.random.Generator, *, hidden: float = 0.0
) -> tuple[npt.NDArray[np.bool_], Scores]:
    """Normal scores with a correlation of 0.8; a fraction of anomalies scores like normal rows."""
    y_true = rng.random(n) < prevalence
    shifted = y_true & (rng.random(n) >= hidden)
    common, noise = rng.normal(size=n), rng.normal(size=(2, n))
    a, b = np.sqrt(0.8) * common + np.sqrt(0.2) * noise
    return y_true, {"a": a + 2.4 * shifted, "b": b + 2.2 * shifted}


def drawn_and_labeled(
    y_true: npt.NDArray[np.bool_], scores: Scores, budget: int, target: str, seed: int
) -> DrawnRows:
    drawn = draw(design(scores, budget=budget, target=target), rng=seed)
    return drawn.with_labels(y_true[drawn.row])
