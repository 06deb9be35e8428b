"""What tests of random subspaces share."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import fastad

Matrix = npt.NDArray[np.float64]
Score = Callable[[Matrix], Matrix]

_RNG = np.random.default_rng(7)
TRAIN, TEST = _RNG.normal(size=(2, 200, 6))
FEW: dict[str, Any] = {
    **{"n_subspaces": 4, "n_features": 2, "n_draws": 2000, "n_resamples": 50, "rng": 0}
}


def squared(X: Matrix) -> Score:
    """Learn the distance to the mean, squared."""
    centre = X.mean(axis=0)
    return lambda rows: ((rows - centre) ** 2).sum(axis=1)


def oblong(X: Matrix) -> Score:
    """Learn to heed the first feature alone."""
    centre = X[:, 0].mean()
    return lambda rows: abs(rows[:, 0] - centre)


def by_heart(X: Matrix) -> Score:
    """Learn to know the test rows again, which meet no uniform point."""
    return lambda rows: np.where(np.isin(rows[:, 0], TEST), 0.0, 1.0)


def evaluate(detectors: Any, X_train: Any = TRAIN, X_test: Any = TEST, **options: Any) -> Any:
    return fastad.evaluate_unsupervised(detectors, X_test, X_train=X_train, **{**FEW, **options})


def bits(result: Any) -> Any:
    """All results; NaN is compared as a string."""
    return (
        result.to_json(),
        result.features.tolist(),
        {k: v.tobytes() for k, v in result.draws.items()},
    )
