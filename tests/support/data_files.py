"""Files of data for studies: made-up data sets with classes and grades."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from fastad.study.problems import DataSelection, FoundProblems, find_problems

KINDS = ("npz", "csv", "parquet")


def table(n_normals: int = 20, n_anomalies: int = 6, d: int = 3, seed: int = 0) -> dict[str, Any]:
    """Make arrays of a data set, mixed rows of numbers that are short in decimals."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n_normals, n_anomalies])).astype(np.uint8)
    return {"X": rng.integers(-900, 900, (y.shape[0], d)) / 8, "y": y}


def classed(sizes: dict[str, int], n_normals: int = 20, seed: int = 0) -> dict[str, Any]:
    """Make arrays of a data set with classes of so many anomalies, mixed."""
    rng = np.random.default_rng(seed)
    arrays = table(n_normals, sum(sizes.values()), seed=seed)
    classes = np.full(arrays["y"].shape[0], "usual", "<U9")
    classes[arrays["y"] == 1] = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    return {**arrays, "cls": classes}


def graded(sizes: dict[str, int], n_normals: int = 20) -> dict[str, Any]:
    """Make arrays of a data set with so many anomalies of each grade."""
    arrays = classed(sizes, n_normals)
    grades = np.where(arrays["y"] == 1, arrays.pop("cls"), "")
    return {**arrays, "difficulty": grades}


def columns(arrays: dict[str, Any]) -> dict[str, Any]:
    features = {f"f{i}": column for i, column in enumerate(np.asarray(arrays["X"]).T)}
    return {**features, **{name: values for name, values in arrays.items() if name != "X"}}


def write(path: Path, arrays: dict[str, Any]) -> Path:
    """Write a data set as the kind of file that the path says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".npz":
        np.savez_compressed(path, **arrays)
    elif path.suffix == ".csv":
        csv.write_csv(pa.table(columns(arrays)), path)
    else:
        parquet.write_table(pa.table(columns(arrays)), path)
    return path


def find(folder: Path, *paths: str, seed: int = 1, **options: Any) -> FoundProblems:
    selection = DataSelection(paths=paths or (".",), **options)
    return find_problems(selection, folder=folder, seed=seed)


def names(problems: FoundProblems) -> list[str]:
    return [problem.name for problem in problems.problems]
