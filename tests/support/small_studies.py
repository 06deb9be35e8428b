"""Small studies of generated data, and detectors of no library, which load none."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

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
n_subspaces = 1
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


def contents(folder: Path, files: Sequence[str] = FILES) -> dict[str, bytes]:
    """Return the bytes of the results."""
    return {name: (folder / name).read_bytes() for name in files}


def problem_of(config: StudyConfig, name: str) -> Problem:
    result = find_problems(config.data, folder=config.folder, seed=config.seed)
    (problem,) = (problem for problem in result.problems if problem.name == name)
    return problem


# So many rows are few enough for all detectors: on those each is tried before a study.
TRIAL_ROWS = 40


class Plain:
    """A detector of no library: nothing says what its scores mean."""

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign

    def fit(self, X: Matrix) -> None:
        self.centre_ = X.mean(axis=0)

    def decision_function(self, X: Matrix) -> Matrix:
        lengths: Matrix = np.linalg.norm(X - self.centre_, axis=1)
        return self.sign * lengths


class Waits(Plain):
    """Fits when a file is there, or fails after a while."""

    def __init__(self, file: str = "", patience_s: float = 20.0) -> None:
        super().__init__()
        self.file = file
        self.patience_s = patience_s

    def fit(self, X: Matrix) -> None:
        if X.shape[0] > TRIAL_ROWS:
            Path(f"{self.file} waits").write_text(str(os.getpid()), encoding="utf-8")
            end = time.monotonic() + self.patience_s
            while not Path(self.file).exists():
                if time.monotonic() > end:
                    raise TimeoutError("nothing else was saved meanwhile")
                time.sleep(0.01)
        super().fit(X)


class Ends(Plain):
    """Ends its process, or raises what ends processes, on more rows than a trial has."""

    def __init__(self, how: str = "") -> None:
        super().__init__()
        self.how = how

    def fit(self, X: Matrix) -> None:
        if X.shape[0] > TRIAL_ROWS:
            self.end()
        super().fit(X)

    def end(self) -> None:
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
        if self.how == "SIGSEGV":
            os.kill(os.getpid(), signal.SIGSEGV)


class SlowToLoad(Plain):
    """Takes two seconds to load."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        time.sleep(2)
        self.__dict__.update(state)

    def __deepcopy__(self, memo: object) -> Plain:
        return Plain()


class SlowAtFirst(Plain):
    """Loads something at its first use in a process, for two seconds."""

    is_loaded = False

    def fit(self, X: Matrix) -> None:
        if not SlowAtFirst.is_loaded:
            time.sleep(2)
            SlowAtFirst.is_loaded = True
        super().fit(X)
