"""Every file that fastad writes is read by every command that takes such a file."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import fastad
from tests.support.command_line import invoke, json_of
from tests.support.command_line import save as save_text

FEW = ("--n-resamples", "20")
EXTENSIONS = (".csv", ".parquet", ".arrow")


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save scores of two detectors on three data sets and two folds."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    rows = [
        f"{int(y)},{y + rng.normal():.6f},{2 * y + rng.normal():.6f},{name},{i % 2}"
        for name in ("007", "7", "wine")
        for i, y in enumerate(np.arange(80) % 4 == 0)
    ]
    return save_text(path, "\n".join(["y,knn,forest,dataset,fold", *rows]))


GROUPED = ("--group", "dataset", "--group", "fold", "--measure", "auc", "--measure", "tpr@0.1")


@pytest.mark.parametrize("options", [(), ("--ci", *FEW), ("--chance", *FEW)], ids=" ".join)
@pytest.mark.parametrize("extension", EXTENSIONS)
def test_tables_of_evaluate_are_read_by_compare_runs(
    tmp_path: Path, scores: Path, extension: str, options: tuple[str, ...]
) -> None:
    path = tmp_path / f"results{extension}"
    assert invoke("evaluate", scores, *GROUPED, *options, "--output", path).exit_code == 0
    result = json_of("compare-runs", path, *FEW)
    assert result["measures"] == ["auc", "tpr@0.1"]
    ranks = [one["mean_rank"] for one in result["sections"]["ranks"] if one["measure"] == "auc"]
    table = fastad.ResultTable.from_table(read(path))
    assert ranks == fastad.benchmarking.average_ranks(table, measures=["auc"]).mean[0].tolist()


def read(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        # Data set 007 is not 7.
        text = csv.ConvertOptions(column_types={"dataset": pa.string()})
        return csv.read_csv(path, convert_options=text)
    return feather.read_table(str(path)) if path.suffix == ".arrow" else parquet.read_table(path)


def tasks(contaminations: list[float], collections: list[str], classes: list[Any]) -> pa.Table:
    """Return results as a study writes them: a row for each task, of every data set."""
    rng = np.random.default_rng(1)
    keys = itertools.product(collections, classes, contaminations, range(2), ("knn", "lof"))
    rows = [
        {
            "collection": collection,
            "dataset": "odds" if name is None else "digits",
            "anomaly_class": name,
            "contamination": rate,
            "repeat": repeat,
            "detector": detector,
            "params": "k=5",
            "reason": "",
            "n_features": 3,
            "auc": rng.uniform(0.5, 1),
            "tpr@0.05": rng.uniform(0, 1),
        }
        for collection, name, rate, repeat, detector in keys
    ]
    return pa.Table.from_pylist(rows)


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("contaminations", [[0.0], [0.01, 0.05]])
@pytest.mark.parametrize("collections", [["uci"], ["uci", "odds"]])
@pytest.mark.parametrize("classes", [[None], ["1", "2"], [None, "1", "2"]])
def test_results_of_a_study_are_compared(
    tmp_path: Path,
    extension: str,
    contaminations: list[float],
    collections: list[str],
    classes: list[Any],
) -> None:
    table = tasks(contaminations, collections, classes)
    path = tmp_path / f"results{extension}"
    if extension == ".csv":
        csv.write_csv(table, path)
    elif extension == ".parquet":
        parquet.write_table(table, path)
    else:
        feather.write_feather(table, str(path))
    result = invoke("compare-runs", path, *FEW, "--json")
    assert result.exit_code == 0, result.stderr
    expected = fastad.ResultTable.from_table(table)
    assert len(expected.datasets) == len(collections) * len(classes)
    assert expected.folds == [0, 1]
    several = len(contaminations) > 1
    note = "left out: rows of contamination 0.05; those of 0.01 are compared"
    assert (note in expected.omissions()) == several
    lowest = table.filter(np.asarray(table["contamination"]) == contaminations[0])
    np.testing.assert_array_equal(
        expected.means("auc"), fastad.ResultTable.from_table(lowest).means("auc")
    )


@pytest.mark.slow
def test_scores_of_the_demo_are_read_by_every_command_of_scores(
    tmp_path: Path, scores: Path
) -> None:
    for extension in EXTENSIONS:
        path = tmp_path / f"scores{extension}"
        table = csv.read_csv(scores)
        if extension == ".csv":
            csv.write_csv(table, path)
        elif extension == ".parquet":
            parquet.write_table(table, path)
        else:
            feather.write_feather(table, str(path))
        for words in (
            ("evaluate", path),
            ("evaluate", path, "--memory", "1MB"),
            ("compare", path, *FEW),
            ("explain", path, "--value", "0.5"),
            ("evaluate-unsupervised", path, "--detector", "knn", "--feature", "knn", *FEW),
            ("volume", path, "--detector", "knn", "--feature", "knn", "--n-draws", 1000),
        ):
            result = invoke(*words)
            assert result.exit_code == 0, (words, result.stderr)
