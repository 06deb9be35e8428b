"""Measured cells, benign (normal) and malignant (the anomaly): what scikit-learn tests share."""

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler


def _cancer() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The features and labels; benign is 1 in the data set."""
    X, benign = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X[:, :8]), 1 - benign


X, Y = _cancer()
NORMAL = X[Y == 0]
WEIGHTS = np.random.default_rng(0).integers(0, 4, size=Y.shape)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
