"""Small studies of generated data, and detectors that misbehave."""

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, OutlierMixin

from fastad.study.config import StudyConfig, make_config
from fastad.study.problems import Problem, find_problems

Matrix = npt.NDArray[np.float64]

# Four batches a split: neighbours, a forest and machines; and those of goix's protocol.
TOML = """
title = "Täglich"
seed = 7
measures = ["auc", "ap", "tpr@0.1", "precision@p0.05"]

[data]
paths = ["toy"]

[protocol]
repeats = 2
contaminations = [0, 0.05]

[volumes]
n_draws = 300
fpr = [0.05, 0.2]

[goix]
n_subspaces = 2
n_features = 2
max_direct = 2
n_uniform = 300
n_resamples = 20

[[detectors]]
kind = "knn"
k = [1, 5]
score = ["kappa", "delta"]

[[detectors]]
kind = "lof"
n_neighbors = 5

[[detectors]]
kind = "iforest"
n_estimators = 10

[[detectors]]
kind = "ocsvm"
gamma = [0.1, 1.0]
nu = 0.5
"""
N_CONFIGURATIONS, N_PROBLEMS = 8, 3
N_TASKS = N_PROBLEMS * 2 * 2 * N_CONFIGURATIONS
# Two data sets, two settings and three detectors of goix's protocol.
N_GOIX = 2 * 2 * 3
N_BATCHES = N_PROBLEMS * 2 * 2 * 3 + 2 * 2
FILES = ("results.parquet", "curves.parquet", "goix.parquet")


def save_data(folder: Path) -> Path:
    """Save two data sets: one without classes, one with three, of which one is too small."""
    toy = folder / "toy"
    toy.mkdir(parents=True, exist_ok=True)
    X, y = toy_data(2)
    rows = "\n".join(f"{a!r},{b!r},{label}" for (a, b), label in zip(X.tolist(), y, strict=True))
    (toy / "plain.csv").write_text(f"f0,f1,y\n{rows}\n", encoding="utf-8")
    X, y = toy_data(3)
    classes = np.where(y == 1, np.repeat(["", "p", "q", "r"], [60, 6, 5, 1]), "normal")
    np.savez(toy / "classes.npz", X=X, y=y, cls=classes)
    return toy


def toy_data(n_features: int, n: int = 60, m: int = 12) -> tuple[Matrix, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(n_features)
    X = np.concatenate([rng.normal(size=(n, n_features)), rng.normal(2, 2, (m, n_features))])
    return X, np.repeat([0, 1], [n, m])


def write_config(folder: Path, text: str = TOML) -> Path:
    """Write the data of a study and its file; return the path of that."""
    save_data(folder)
    path = folder / "täglich.toml"
    path.write_text(text, encoding="utf-8")
    return path


def few(folder: Path, detectors: list[dict[str, Any]], **changes: Any) -> StudyConfig:
    """Return a study of one split of each problem."""
    save_data(folder)
    values: dict[str, Any] = {
        "data": {"paths": ["toy"]},
        "measures": ["auc", "ap"],
        "protocol": {"repeats": 1, "contaminations": [0]},
        "volumes": {"n_draws": 200},
        "detectors": detectors,
        "goix": False,
    }
    return make_config({**values, **changes}, folder=folder)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the results."""
    return {name: (folder / name).read_bytes() for name in FILES}


class Centre(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores by the distance to the centre, to a power."""

    def __init__(self, power: float = 2.0) -> None:
        self.power = power

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        self.centre_ = X.mean(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def score_samples(self, X: Matrix) -> Matrix:
        lengths: Matrix = np.linalg.norm(X - self.centre_, axis=1)
        return -(lengths**self.power)


GOOD = {"name": "good", "estimator": Centre}
# So many rows are few enough for all detectors: on those each is tried before a study.
TRIAL_ROWS = 40


class Misbehaves(Centre):
    """Does as it should on a few rows, and something else on more."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        self.does_harm_ = X.shape[0] > TRIAL_ROWS
        if self.does_harm_:
            self.misbehave(X)
        return super().fit(X)

    def misbehave(self, X: Matrix) -> None:
        """Do something else than to fit."""

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        return self.changed(scores) if self.does_harm_ else scores

    def changed(self, scores: Matrix) -> Matrix:
        """Return other scores."""
        return scores


class RaisesInFit(Misbehaves):
    def misbehave(self, X: Matrix) -> None:
        raise RuntimeError("singular\nmatrix")


class RaisesInScoring(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        raise KeyError("no such thing")


class NotNumbers(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        scores[0] = np.nan
        return scores


class AllInfinite(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        return np.full_like(scores, np.inf)


class WrongShape(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        return scores[:-1]


class NeedsRows(Centre):
    """Refuses to fit the few rows of a trial."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        if X.shape[0] <= TRIAL_ROWS:
            raise ValueError("too few rows")
        return super().fit(X)


class FailsOnUniform(Misbehaves):
    """Has no scores of uniform points, of which there are more than rows."""

    def __init__(self, power: float = 2.0, *, raises: bool = False) -> None:
        super().__init__(power)
        self.raises = raises

    def changed(self, scores: Matrix) -> Matrix:
        if scores.shape[0] > 100:
            if self.raises:
                raise RuntimeError("too far away")
            scores[:3] = np.nan
        return scores


class Ends(Misbehaves):
    """Ends its process, or raises what ends processes."""

    def __init__(self, how: str = "", power: float = 2.0) -> None:
        super().__init__(power)
        self.how = how

    def misbehave(self, X: Matrix) -> None:
        if self.how == "exit code":
            os._exit(3)
        if self.how == "SystemExit":
            raise SystemExit(2)
        if self.how == "KeyboardInterrupt":
            raise KeyboardInterrupt
        if self.how == "MemoryError":
            raise MemoryError("unable to allocate")
        if self.how == "endless":
            time.sleep(60)
        if self.how in ("SIGSEGV", "SIGKILL"):
            os.kill(os.getpid(), getattr(signal, self.how))


class Plain:
    """A detector of no library: nothing says what its scores mean."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign

    def fit(self, X: Matrix) -> None:
        self.centre_ = X.mean(axis=0)

    def decision_function(self, X: Matrix) -> Matrix:
        lengths: Matrix = np.linalg.norm(X - self.centre_, axis=1)
        return self.sign * lengths


class Infinite(Centre):
    """Far points are infinitely anomalous, near ones infinitely normal."""

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        scores[scores < np.quantile(scores, 0.1)] = -np.inf
        scores[scores > np.quantile(scores, 0.9)] = np.inf
        return scores


class Warns(Centre):
    def fit(self, X: Matrix, y: object = None) -> "Centre":
        warnings.warn("did not converge", UserWarning, stacklevel=2)
        return super().fit(X)

    def score_samples(self, X: Matrix) -> Matrix:
        warnings.warn("deprecated", FutureWarning, stacklevel=2)
        return super().score_samples(X)


class Overwrites(Centre):
    """Writes on what it is given."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        super().fit(X)
        X[:] = 7.0
        return self

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        X[:] = 7.0
        return scores


class Waits(Centre):
    """Fits when a file is there, or fails after a while."""

    def __init__(self, file: str = "", power: float = 2.0, patience_s: float = 20.0) -> None:
        super().__init__(power)
        self.file = file
        self.patience_s = patience_s

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        if X.shape[0] <= TRIAL_ROWS:
            return super().fit(X)
        Path(f"{self.file} waits").write_text(str(os.getpid()), encoding="utf-8")
        end = time.monotonic() + self.patience_s
        while not Path(self.file).exists():
            if time.monotonic() > end:
                raise TimeoutError("nothing else was saved meanwhile")
            time.sleep(0.01)
        return super().fit(X)


def problem_of(config: StudyConfig, name: str) -> Problem:
    result = find_problems(config.data, folder=config.folder, seed=config.seed)
    (problem,) = (problem for problem in result.problems if problem.name == name)
    return problem
