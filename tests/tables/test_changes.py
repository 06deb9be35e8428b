"""Sources that change between passes: refused, and never a value of neither state."""

import os
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import fastad
from fastad import streaming
from fastad._tables import columnar
from fastad._tables.columns import Numbers
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from tests.support.score_files import save

N = 3000
RNG = np.random.default_rng(6)
Y = (RNG.random(N) < 0.2).astype(int)
COLUMNS: dict[str, Any] = {"y": Y, "score": RNG.normal(size=N) + Y}
OTHERS: dict[str, Any] = {"y": Y, "score": RNG.normal(size=N) - Y}
OPTIONS: dict[str, Any] = {"measures": ["auc", "tpr@0.1"], "memory": "60kB", "exact": True}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather", ".csv.gz"])
def test_a_file_that_is_written_anew_between_passes_is_refused(tmp_path: Path, suffix: str) -> None:
    path = save(tmp_path / f"scores{suffix}", COLUMNS)

    def rewrite(done: int, _: object) -> None:
        if done == N:
            save(path, OTHERS)

    with pytest.raises(InvalidInputError, match=f"{path}: the file has changed while it was read"):
        streaming.evaluate(path, **OPTIONS, progress=rewrite)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_one_of_several_files_that_grows_is_named(tmp_path: Path, suffix: str) -> None:
    save(tmp_path / f"a{suffix}", COLUMNS)
    path = save(tmp_path / f"b{suffix}", COLUMNS)

    def append(done: int, _: object) -> None:
        if done == 2 * N:
            save(path, {name: np.tile(each, 2) for name, each in COLUMNS.items()})

    with pytest.raises(InvalidInputError, match=f"{path}: the file has changed while it was read"):
        streaming.evaluate(tmp_path, **OPTIONS, progress=append)


def test_a_file_that_is_written_anew_while_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columnar, "_ROWS", 100)
    path = save(tmp_path / "scores.parquet", COLUMNS)
    table = Table(path)
    batches = table.batches({"score": Numbers()})
    next(batches)
    save(path, OTHERS)
    os.utime(path, ns=(1, 1))
    with pytest.raises(InvalidInputError, match="has changed"):
        list(batches)


def frame_of(values: Any) -> Any:
    """Return a frame of Dask whose partitions are other rows each time that they are computed."""
    return dd.from_map(values, range(2), meta=values(0).head(0))


@pytest.mark.parametrize("memory", ["20kB", "150kB"])
@pytest.mark.parametrize("measures", ["auc", "tpr@0.1", ["auc", "ap", "tpr@0.1"]])
def test_a_frame_that_is_not_deterministic_is_refused(measures: Any, memory: str) -> None:
    """Values are of neither state even where they lie within the bounds of the first pass."""
    n_calls = [0]

    def make(part: int) -> pd.DataFrame:
        n_calls[0] += 1
        rng = np.random.default_rng([part, n_calls[0]])
        y = np.arange(N) % 5 == 0
        frame: pd.DataFrame = pd.DataFrame({"y": y, "score": rng.normal(size=N) + y})
        return frame

    with pytest.raises(InvalidInputError, match="source must have the same rows in every pass"):
        fastad.dask.evaluate(frame_of(make), measures=measures, memory=memory, exact=True)


def test_a_frame_that_loses_rows_is_refused() -> None:
    n_calls = [0]

    def make(part: int) -> pd.DataFrame:
        n_calls[0] += 1
        rng = np.random.default_rng(part)
        y = np.arange(N) % 5 == 0
        frame: pd.DataFrame = pd.DataFrame({"y": y, "score": rng.normal(size=N) + y})
        return frame if n_calls[0] <= 3 else frame.drop(index=0)

    with pytest.raises(InvalidInputError, match="source must have the same rows in every pass"):
        fastad.dask.evaluate(frame_of(make), measures="auc", memory="20kB", exact=True)
