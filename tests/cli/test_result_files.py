"""``fastad compare-runs``: the files that it reads, and what is wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import fastad
from tests.support.runs import RUNS, N, call, read, run, save


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return save(tmp_path / "runs.parquet")


# What is read.


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".arrow", ".npz"])
def test_all_kinds_of_files_print_the_same(runs: Path, ending: str) -> None:
    table = RUNS.assign(params=np.where(RUNS.fold == 7, 0.5, 10.0))
    table.loc[4, ["auc", "tpr@0.05"]] = np.nan
    result = run(save(runs, table))
    assert "nan: auc, tpr@0.05 are undefined in 1 of 24 rows" in result.stderr
    other = run(save(runs.with_suffix(ending), table))
    assert (other.stdout, other.stderr) == (result.stdout, result.stderr)


def test_texts_and_numbers_of_a_csv_file_are_those_of_parquet(tmp_path: Path) -> None:
    table = RUNS.assign(
        dataset=np.repeat(["007", "7", "70"], N // 3),
        fold=RUNS.fold + 9,
        params=pd.Series([None, "gamma=0.1"] * (N // 2), dtype=object),
    )
    table["detector"] = "svm"
    table["params"] = [None, "gamma=0.1", "1e3", "0.50"] * (N // 4)
    table.loc[1, "auc"] = np.nan
    table = table.drop(index=[0, 4])
    one, other = (run(save(tmp_path / f"r{ending}", table)) for ending in (".csv", ".parquet"))
    assert (one.stdout, one.stderr) == (other.stdout, other.stderr)
    assert "found svm, with 4 models" in one.stderr
    assert "missing: 2 of 24 rows (007, svm, fold 9; 007, svm, fold 10)" in one.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_that_are_left_out_are_named(runs: Path, ending: str) -> None:
    table = RUNS.rename(columns={"auc": "roc_auc"}).assign(accuracy=0.5, hours=np.arange(N))
    path = save(runs.with_suffix(ending), table)
    result = run(path)
    note = "left out: accuracy, hours, no measures that fastad knows: --higher-is-better"
    assert note in result.stderr
    # The name of a function is its measure.
    assert result.stdout == run(save(runs.with_suffix(".arrow"), RUNS)).stdout
    assert "left out" not in run(path, "--measure", "auc").stderr


@pytest.mark.slow
def test_rows_of_several_files_are_one_table(runs: Path, tmp_path: Path) -> None:
    shuffled = RUNS.sample(frac=1, random_state=0)
    first = save(tmp_path / "a.csv", shuffled[:10])
    second = save(tmp_path / "b.parquet", shuffled[10:])
    assert run(first, second).stdout == run(runs).stdout
    save(second, shuffled[10:].drop(columns=["auc"]))
    result = run(first, second)
    assert f"{second}: there is no column auc; its rows have no such value" in result.stderr
    assert f"nan: auc is undefined in {N - 10} of {N} rows" in result.stderr


def test_several_columns_name_a_data_set_parameters_and_a_fold(tmp_path: Path) -> None:
    table = RUNS.rename(columns={"dataset": "source", "detector": "who"})
    table = table.assign(part="x", k=5, metric="l2", repeat=table.fold, fold=0)
    options = "--dataset source --dataset part --detector who --params k --params metric"
    path = save(tmp_path / "r.csv", table)
    result = read(path, *options.split(), "--fold", "fold", "--fold", "repeat")
    assert "folds" not in str(result["skipped"])
    named = table.assign(dataset=table.source + " x", detector=table.who, params="k=5, metric=l2")
    wanted = fastad.ResultTable.from_table(named.drop(columns="fold"), fold_columns="repeat")
    ranks = fastad.benchmarking.average_ranks(wanted, measures=["auc"], n_resamples=40, rng=0)
    auc = [one["mean_rank"] for one in result["sections"]["ranks"] if one["measure"] == "auc"]
    assert auc == ranks.mean[0].tolist()


def test_classes_of_anomalies_are_found_by_their_column(tmp_path: Path) -> None:
    table = RUNS.assign(dataset="d", anomaly_class=RUNS.dataset)
    path = save(tmp_path / "r.csv", table)
    assert "class_sensitivity" in read(path)["sections"]
    save(path, table.rename(columns={"anomaly_class": "kind"}))
    result = read(path, "--anomaly-class", "kind")["sections"]
    assert "class_sensitivity" in result


def test_other_measures_are_read_where_their_direction_is_said(tmp_path: Path) -> None:
    table = RUNS.assign(hours=-RUNS.auc, gain=RUNS.auc)
    path = save(tmp_path / "r.csv", table)
    result = read(
        *(path, "--lower-is-better", "hours", "--higher-is-better", "gain"),
        *("--measure", "auc", "--measure", "hours", "--measure", "gain", "--by", "hours"),
    )
    ranks = [one["mean_rank"] for one in result["sections"]["ranks"]]
    assert ranks[:4] == ranks[4:8] == ranks[8:]
    assert (result["measures"], result["measure"]) == (["auc", "hours", "gain"], "hours")


# What is wrong.


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ("--dataset x", 1, "no column 'x' for --dataset; found dataset, fold, detector"),
        ("--params k", 1, "no column 'k' for --params"),
        ("--fold x", 1, "no column 'x' for --fold"),
        ("--anomaly-class x", 1, "no column 'x' for --anomaly-class"),
        ("--detector x", 1, "no column 'x' for --detector"),
        ("--measure f1", 2, "--measure: must"),
        ("--measure n_normals", 2, "--measure: must be known, or"),
        ("--by f1", 2, "--by: must be one of auc, "),
        ("--reference f1", 2, "--reference: must be one of auc, "),
        ("--control x", 2, "--control: must be one of knn, lof, pca, svm; found 'x'"),
        ("--operating-fpr 0.2", 2, "--operating-fpr: must be the rate of a column tpr@"),
        ("--operating-fpr 2", 2, "--operating-fpr"),
        ("--confidence-level 1", 2, "--confidence-level: must lie strictly between 0 and 1"),
        ("--higher-is-better x", 2, "--higher-is-better or --lower-is-better: must"),
        ("--lower-is-better fold", 2, "--higher-is-better or --lower-is-better: must"),
        ("--higher-is-better auc --lower-is-better auc", 2, "'auc' is also --higher-is-better"),
    ],
)
def test_a_wrong_option_is_named(runs: Path, options: str, code: int, message: str) -> None:
    result = call(runs, *options.split())
    assert (result.exit_code, result.stdout) == (code, "")
    shown = " ".join(result.stderr.replace("│", " ").split())
    assert message in shown


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.assign(auc=["good", *t.auc[1:]]), "column 'auc', line 2: 'good' is not a num"),
        (lambda t: t.assign(auc=["1_0", *t.auc[1:]]), "column 'auc', line 2: '1_0' is not a num"),
        (lambda t: t.assign(dataset=[*t.dataset[:-1], None]), f"'dataset', line {N + 1}: the cell"),
        (lambda t: pd.concat([t, t[3:4]]), "found 1 repeated row, the first at row 24: cardio, "),
        (lambda t: t.drop(columns="fold"), "columns that distinguish rows are named by --params"),
        (lambda t: t[["dataset", "detector", "fold"]], "table must have a column of a measure"),
        (lambda t: t[t.detector == "knn"], "at least two models"),
        (lambda t: t[:0], "there are no rows"),
    ],
)
def test_wrong_data_are_an_error_that_says_where(tmp_path: Path, change: Any, message: str) -> None:
    path = save(tmp_path / "r.csv", change(RUNS))
    result = call(path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: {path}")
    assert message in result.stderr


def test_wrong_columns_of_parquet_are_named(tmp_path: Path) -> None:
    path = save(tmp_path / "r.parquet", RUNS.assign(auc=RUNS.auc.astype(str)))
    assert "column 'auc' must contain numbers; found " in call(path).stderr
    save(path, RUNS.assign(dataset=RUNS.dataset.where(RUNS.index > 0)))
    assert "column 'dataset', row 0: the value is missing" in call(path).stderr


def test_arrays_of_other_shapes_are_named(tmp_path: Path) -> None:
    path = tmp_path / "r.npz"
    np.savez(path, dataset=["a", "a"], detector=["k", "l"], auc=[[0.1], [0.2]], X=np.zeros((3, 2)))
    result = call(path)
    assert result.exit_code == 1
    assert "column 'auc' must be one-dimensional; found shape (2, 1)" in result.stderr


@pytest.mark.parametrize("text", ["dataset,detector,auc\na,b\n", 'dataset,detector,auc\na,"b\n'])
def test_a_damaged_csv_file_is_an_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "r.csv"
    path.write_text(text)
    result = call(path)
    assert result.exit_code == 1
    assert f"{path}: column 'auc', line 2: the cell is missing" in result.stderr


def test_missing_rows_are_named_and_one_data_set_is_enough(tmp_path: Path) -> None:
    result = run(save(tmp_path / "r.csv", RUNS[1:8]))
    assert "missing: 1 of 8 rows (cardio, knn, fold 0)" in result.stderr
    assert "Mean ranks of detectors" in result.stdout
    assert "1 data set" in result.stdout


def test_where_nothing_can_be_compared_the_reasons_are_the_error(tmp_path: Path) -> None:
    table = RUNS[["dataset", "fold", "detector", "auc"]].assign(params=RUNS.detector, detector="a")
    result = call(save(tmp_path / "r.csv", table))
    assert result.exit_code == 1
    assert "nothing can be compared: skipped: ranks" in result.stderr
