"""Results of runs in files, and the command that compares them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import Result

import fastad
from tests.support.command_line import invoke, json_of

FEW = ("--n-resamples", "40")


def evaluated() -> pd.DataFrame:
    """Runs of four detectors on three data sets and two folds."""
    rng = np.random.default_rng(2)
    n = 480
    y = np.arange(n) % 4 == 0
    gains = {"knn": 1.5, "lof": 1.0, "pca": 0.8, "svm": 0.2}
    scores = {name: rng.normal(size=n) + gain * y for name, gain in gains.items()}
    groups = {"dataset": np.array(["cardio", "wine", "yeast"])[np.arange(n) // 160]}
    groups["fold"] = np.arange(n) // 80 % 2
    measures = ["auc", "tpr_at_fpr", "auc_at_fpr"]
    result = fastad.evaluate(y, scores, groups=groups, measures=measures, fpr=[0.01, 0.05, 0.1])
    table: pd.DataFrame = result.to_frame("pandas")
    return table


RUNS = evaluated()
N = len(RUNS)


def save(path: Path, table: pd.DataFrame = RUNS) -> Path:
    if path.suffix == ".csv":
        table.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        table.to_parquet(path)
    elif path.suffix == ".arrow":
        table.to_feather(path, compression="uncompressed")
    else:
        texts = table.select_dtypes(exclude="number").columns
        arrays: dict[str, Any] = {
            str(name): table[name].to_numpy(str if name in texts else None) for name in table
        }
        np.savez(path, **arrays)
    return path


def call(*arguments: object, **env: str) -> Result:
    return invoke("compare-runs", *arguments, *FEW, **env)


def run(*arguments: object) -> Result:
    result = call(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def read(*arguments: object) -> Any:
    return json_of("compare-runs", *arguments, *FEW)
