"""``fastad evaluate --ci --chance`` and ``fastad compare``."""

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fastad
from tests.support.command_line import error_of, invoke, json_of, stdout_of
from tests.support.loops import loop

RNG = np.random.default_rng(3)
RNG_OF_WEEKS = np.random.default_rng(4)
Y = np.arange(600) < 80
SCORES = {
    "a": RNG.normal(size=600) + 2 * Y,
    "b": RNG.normal(size=600) + Y,
    "c": RNG.normal(size=600),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scores") / "s.npz"
    np.savez(path, y=Y, **SCORES)  # type: ignore[arg-type]
    return path


def test_a_table_with_intervals_shows_those_of_python(file: Path) -> None:
    options = ("--measure", "ap", "--ci", "--confidence-level", 0.9, "--seed", 3)
    shown = stdout_of("evaluate", file, *options, "--n-resamples", 200)
    for scores in SCORES.values():
        result = fastad.interval(
            Y, scores, measure="ap", confidence_level=0.9, n_resamples=200, rng=3
        )
        assert f"{result.value:.4f} [{result.low:.4f}, {result.high:.4f}]" in shown


def test_json_carries_intervals_and_levels_of_chance(file: Path) -> None:
    options = ("--measure", "tpr@0.05", "--ci", "--chance", "--n-resamples", 300, "--seed", 4)
    content = json.loads(stdout_of("evaluate", file, *options, "--json"))
    expected = fastad.evaluate(
        Y, SCORES, measures=["tpr@0.05"], confidence_level=0.95, chance=True, n_resamples=300, rng=4
    )
    for detector in content["detectors"]:
        wanted = expected[detector["detector"]]
        assert detector["intervals"] == {"tpr@0.05": wanted.intervals["tpr@0.05"].to_dict()}
        assert detector["chance"] == {"tpr@0.05": wanted.chance["tpr@0.05"].to_dict()}


def test_the_same_seed_prints_the_same(file: Path) -> None:
    options = ("evaluate", file, "--measure", "f1@0.05", "--ci", "--n-resamples", 200)
    assert stdout_of(*options) == stdout_of(*options)
    assert stdout_of(*options) != stdout_of(*options, "--seed", 1)


def test_without_the_options_nothing_is_said_of_certainty(file: Path) -> None:
    (detector, *_) = json.loads(stdout_of("evaluate", file, "--json"))["detectors"]
    assert detector["intervals"] == detector["chance"] == detector["interval_errors"] == {}
    assert "[" not in stdout_of("evaluate", file)


def test_saved_columns_hold_the_ends(file: Path, tmp_path: Path) -> None:
    options = ("--measure", "auc", "--ci", "--chance", "--n-resamples", 20)
    stdout_of("evaluate", file, *options, "--output", tmp_path / "t.csv")
    head = (tmp_path / "t.csv").read_text().splitlines()[0]
    for column in ("auc_low", "auc_high", "auc_adjusted", "auc_p_value"):
        assert column in head.split(",")


@loop("order", [1, -1])
def test_a_file_without_intervals_is_saved_beside_others(
    file: Path, tmp_path: Path, order: int
) -> None:
    alone, output = tmp_path / "normals.npz", tmp_path / "t.csv"
    np.savez(alone, y=np.zeros(600, bool), **SCORES)  # type: ignore[arg-type]
    files = [file, alone][::order]
    stdout_of("evaluate", *files, "--measure", "auc", "--ci", "--output", output)
    with output.open(encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert list(rows[0])[-3:] == ["auc_low", "auc_high", "unresolved"]
    assert {row["file"] for row in rows if row["auc_low"] == "nan"} == {str(alone)}
    assert [row["file"] for row in rows] == [str(path) for path in files for _ in SCORES]


def test_groups_have_intervals_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", y=Y, a=SCORES["a"], fold=np.arange(600) % 2)
    options = ("--group", "fold", "--measure", "auc", "--ci", "--seed", 3, "--n-resamples", 200)
    runs = json.loads(stdout_of("evaluate", tmp_path / "g.npz", *options, "--json"))["detectors"]
    assert len(runs) == 2
    for one in runs:
        own = np.arange(600) % 2 == one["group"]["fold"] if "group" in one else slice(None)
        result = fastad.interval(Y[own], SCORES["a"][own], measure="auc", n_resamples=200, rng=3)
        assert one["intervals"]["auc"] == result.to_dict()


def test_compare_prints_the_summary_of_python(file: Path) -> None:
    options = ("--score", "a", "--score", "b", "--min-difference", 0.02)
    shown = stdout_of("compare", file, *options)
    expected = fastad.compare_all(
        Y, {name: SCORES[name] for name in "ab"}, measure="auc", min_difference=0.02
    )
    assert shown == f"{expected['a', 'b'].summary}\n"


def test_compare_prints_a_table_of_several(file: Path) -> None:
    shown = stdout_of("compare", file, "--measure", "ap", "--correction", "benjamini-hochberg")
    for pair in ("a - b", "a - c", "b - c"):
        assert pair in shown
    assert shown.count(" better than ") + shown.count("No difference ") == 3


def test_compare_prints_json(file: Path) -> None:
    shown = stdout_of("compare", file, "--measure", "tpr@0.05", "--json", "--n-resamples", 200)
    expected = fastad.compare_all(Y, SCORES, measure="tpr@0.05", n_resamples=200, rng=0)
    assert json.loads(shown) == json.loads(expected.to_json())


@loop(
    ("options", "said"),
    [
        (("--score", "a"), "two columns of scores"),
        (("--measure", "nope"), "'nope'"),
        (("--measure", "tpr_at_fpr"), "fpr must be given"),
        (("--measure", "roc_curve"), "one number"),
        (("--method", "guess"), "'guess'"),
        (("--method", "delong", "--measure", "eer"), "smooth"),
        (("--correction", "guess"), "'guess'"),
        (("--confidence-level", 1.5), "--confidence-level: must lie"),
        (("--min-difference", 0), "--min-difference: must"),
        (("--n-resamples", 0), "--n-resamples"),
        (("--seed", -1), "--seed"),
    ],
)
def test_compare_refuses_wrong_options(file: Path, options: tuple[object, ...], said: str) -> None:
    assert said in error_of("compare", file, *options, code=2)


@loop("level", [0, 1, -0.5, 2, "nan"])
def test_evaluate_refuses_a_level_outside_of_0_and_1(file: Path, level: object) -> None:
    assert "--confidence-level" in error_of(
        "evaluate", file, "--ci", "--confidence-level", level, code=2
    )


def test_compare_names_the_column_and_the_file_of_bad_data(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, y=Y, a=SCORES["a"], b=np.where(Y, np.nan, 0.0))
    message = error_of("compare", path)
    assert "bad.npz" in message
    assert "column 'b', row 0: the value must not be NaN" in message


def test_one_class_is_an_error_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "one.npz"
    np.savez(path, y=np.zeros(600, bool), a=SCORES["a"], b=SCORES["b"])
    message = error_of("compare", path)
    assert "needs two samples of each class; found 0 anomalies" in message


def test_compare_compares_in_each_group_and_corrects_for_all(tmp_path: Path) -> None:
    fold = np.arange(600) % 3
    np.savez(tmp_path / "g.npz", y=Y, fold=fold, **SCORES)  # type: ignore[arg-type]
    rows = json.loads(stdout_of("compare", tmp_path / "g.npz", "--group", "fold", "--json"))
    assert len(rows["comparisons"]) == 9
    own = [
        comparison
        for k in range(3)
        for comparison in fastad.compare_all(
            Y[fold == k],
            {name: scores[fold == k] for name, scores in SCORES.items()},
            measure="auc",
            rng=0,
        ).values()
    ]
    assert [row["p_value"] for row in rows["comparisons"]] == [x.p_value for x in own]
    assert [row["group"] for row in rows["comparisons"]] == [{"fold": k // 3} for k in range(9)]
    # Holm's procedure over all nine.
    p_values = np.array([x.p_value for x in own])
    order = np.argsort(p_values)
    holm = np.minimum(1, np.maximum.accumulate(p_values[order] * np.arange(9, 0, -1)))
    adjusted = [row["adjusted_p_value"] for row in rows["comparisons"]]
    np.testing.assert_allclose(np.array(adjusted)[order], holm)
    assert "fold 2\n" in stdout_of("compare", tmp_path / "g.npz", "--group", "fold")


def test_verdicts_in_sentences_are_by_adjusted_p_values(tmp_path: Path) -> None:
    """A sentence said "b is better than c" below a row that said "not significant"."""
    rng = np.random.default_rng(13)
    y = rng.random(800) < 0.2
    base = rng.normal(size=800) + y
    scores = {name: base + 0.7 * rng.normal(size=800) for name in "abc"}
    site = np.arange(800) % 2
    np.savez(tmp_path / "three.npz", y=y, site=site, **scores)  # type: ignore[arg-type]
    for options in (["--score", "a", "--score", "b", "--score", "c"], ["--group", "site"]):
        rows = json_of("compare", tmp_path / "three.npz", *options)["comparisons"]
        verdicts = ["is better" in row["summary"] for row in rows]
        assert verdicts == [row["adjusted_p_value"] <= 0.05 for row in rows]
        assert verdicts != [row["p_value"] <= 0.05 for row in rows]
        shown = stdout_of("compare", tmp_path / "three.npz", *options)
        assert all(row["summary"] in shown for row in rows)


def test_a_group_without_anomalies_is_skipped_and_named(tmp_path: Path) -> None:
    fold = np.where(Y, 0, np.arange(600) % 2)
    np.savez(tmp_path / "g.npz", y=Y, fold=fold, **SCORES)  # type: ignore[arg-type]
    result = invoke("compare", tmp_path / "g.npz", "--group", "fold")
    assert result.exit_code == 0
    assert "fold 1: skipped: " in result.stderr
    assert "fold 0" in result.stdout
    np.savez(tmp_path / "g.npz", y=np.zeros(600), fold=fold, **SCORES)  # type: ignore[arg-type]
    assert "fold 0: skipped" in error_of("compare", tmp_path / "g.npz", "--group", "fold")


# Independent samples.


@pytest.fixture(scope="module")
def weeks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("weeks")
    paths = folder / "week1.npz", folder / "week2.npz"
    np.savez(paths[0], y=Y[:400], a=SCORES["a"][:400], b=SCORES["b"][:400])
    np.savez(paths[1], y=Y[40:], a=SCORES["c"][40:], other=SCORES["b"][40:])
    return paths


def test_compare_independent_prints_the_summary_of_python(weeks: tuple[Path, Path]) -> None:
    shown = stdout_of("compare", weeks[0], "--independent", weeks[1], "--measure", "ap")
    result = fastad.compare_independent(
        (Y[:400], SCORES["a"][:400]), (Y[40:], SCORES["c"][40:]), measure="ap", rng=0
    )
    expected = result.summary.replace("a is", "week1 is").replace("than b", "than week2")
    assert shown == f"a: {expected.replace('a - b', 'week1 - week2')}\n"


def test_compare_independent_prints_json(weeks: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    same = tmp_path / "there" / "week1.npz"
    np.savez(same, y=Y, a=SCORES["a"], b=SCORES["b"])
    options = ("--independent", same, "--n-resamples", 100)
    more = ("--method", "hybrid", "--correction", "bonferroni", "--json")
    rows = json.loads(stdout_of("compare", weeks[0], *options, *more))["comparisons"]
    assert [row["detector"] for row in rows] == ["a", "b"]
    assert [row["names"] for row in rows] == 2 * [[str(weeks[0]), str(same)]]
    for row in rows:
        assert row["adjusted_p_value"] == min(1, 2 * row["p_value"])
        assert row["method"] == "hybrid"
        assert ("is better" in row["summary"]) == (row["adjusted_p_value"] <= 0.05)
    assert ", holm 1, " in stdout_of("compare", weeks[0], *options)


def test_notes_of_independent_samples_name_the_files(tmp_path: Path) -> None:
    weeks = tmp_path / "week1.npz", tmp_path / "week2.npz"
    for path, scores in zip(weeks, (-4.0 * Y, 4.0 * Y), strict=True):
        np.savez(path, y=Y, a=scores + np.random.default_rng(0).normal(size=600))
    result = invoke("compare", weeks[0], "--independent", weeks[1], "--measure", "auc", "--json")
    note = "the AUC of week1 is far below 0.5: the order of its scores may be reversed"
    (row,) = json.loads(result.stdout)["comparisons"]
    assert row["reliability_note"] == note
    assert f"Warning: auc: {note}" in result.stderr


def test_compare_independent_refuses_what_it_would_ignore(weeks: tuple[Path, Path]) -> None:
    independent = ("compare", weeks[0], "--independent", weeks[1])
    for option in (("--group", "a"), ("--min-difference", 0.1)):
        assert "detectors on the same samples" in error_of(*independent, *option, code=2)
    assert "'guess'" in error_of(*independent, "--correction", "guess", code=2)
    assert "must be one of 'auto', 'delong', 'student', 'bootstrap'" in error_of(
        "compare", weeks[0], "--method", "hybrid", code=2
    )


def test_compare_independent_needs_a_detector_in_both(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, y=Y, z=SCORES["a"])
    assert "must have a column of scores of" in error_of("compare", file, "--independent", path)


def test_warnings_are_messages_without_a_place_in_the_sources(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("y,a,b\n1,3,1\n1,2,3\n0,1,2\n0,0,0\n")
    result = invoke("compare", path, "--measure", "auc")
    assert result.exit_code == 0
    (warning,) = (line for line in result.stderr.splitlines() if "not known" in line)
    assert warning.startswith("Warning: auc: with fewer than ")


def test_groups_by_dates_are_named_as_evaluate_names_them(tmp_path: Path) -> None:
    days = np.array(["2026-11-27", "2026-11-28"], "datetime64[ns]")[np.arange(600) % 2]
    path = tmp_path / "days.parquet"
    pd.DataFrame({"y": Y, "day": days, **SCORES}).to_parquet(path)
    rows = json.loads(stdout_of("compare", path, "--group", "day", "--json"))["comparisons"]
    tables = json.loads(stdout_of("evaluate", path, "--group", "day", "--json"))["detectors"]
    assert {row["group"]["day"] for row in rows} == {row["group"]["day"] for row in tables}


def test_too_few_replicates_for_all_independent_comparisons_are_named(tmp_path: Path) -> None:
    """Of 100 replicates the least p-value is 2 / 101, and six times that is above 0.05."""
    weeks = tmp_path / "week1.npz", tmp_path / "week2.npz"
    for path, shift in zip(weeks, (4, 0.2), strict=True):
        scores = {name: RNG_OF_WEEKS.normal(size=600) + shift * Y for name in "abcdef"}
        np.savez(path, y=Y, **scores)  # type: ignore[arg-type]
    words = ("compare", weeks[0], "--independent", weeks[1], "--method", "bootstrap")
    few = "replicates are too few for 6 comparisons: "
    assert few in stdout_of(*words, "--n-resamples", 100)
    content = json_of(*words, "--n-resamples", 100)
    (note,) = content["notes"]
    assert note.startswith(few)
    assert [row["p_value"] for row in content["comparisons"]] == 6 * [2 / 101]
    enough = int(note.partition("n_resamples=")[2])
    content = json_of(*words, "--n-resamples", enough)
    assert content["notes"] == []
    assert all(row["adjusted_p_value"] <= 0.05 for row in content["comparisons"])


def test_blocks_longer_than_a_group_leave_the_others(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, is_small = rng.random(600) < 0.2, np.arange(600) < 40
    scores = {"a": rng.normal(size=600) + 2 * y, "b": rng.normal(size=600) + y}
    site = np.where(is_small, "small", "large")
    np.savez(tmp_path / "sites.npz", y=y, site=site, **scores)  # type: ignore[arg-type]
    words = ("compare", tmp_path / "sites.npz", "--group", "site", "--blocks", 50)
    result = invoke(*words)
    assert result.exit_code == 0
    assert "site large\n" in result.stdout
    assert "site small: skipped: " in result.stderr
    assert "at most the number of rows" not in result.stderr
    (row,) = json_of(*words)["comparisons"]
    with pytest.warns(fastad.errors.LowCoverageWarning, match="blocks"):
        expected = fastad.compare(
            y[~is_small], *(each[~is_small] for each in scores.values()), measure="auc", blocks=50
        )
    assert row["group"] == {"site": "large"}
    assert row["p_value"] == expected.p_value
    message = error_of(*words[:-1], 601, code=2)
    assert "--blocks: must be at most the number of rows, 600; found 601" in message


def test_json_of_tables_has_the_notes_of_python(tmp_path: Path) -> None:
    """Of 60 normals a rate of 0.01 is less than one sample."""
    files = tmp_path / "first.npz", tmp_path / "second.npz"
    expected = []
    for path, n in zip(files, (60, 70), strict=True):
        y, scores = np.arange(n + 1) == n, np.arange(n + 1.0)
        np.savez(path, y=y, a=scores)
        expected.append(fastad.evaluate(y, {"a": scores}, measures=["tpr@0.01"]).to_dict())
    content = json_of("evaluate", files[0], "--measure", "tpr@0.01")
    for each in (content, expected[0]):
        for name in ("schema_version", "fastad_version"):
            del each[name]
    assert content["detectors"][0].pop("file") == str(files[0])
    assert content == expected[0]
    of_both = json_of("evaluate", *files, "--measure", "tpr@0.01")["notes"]
    assert of_both == [
        f"{path}: {note}"
        for path, each in zip(files, expected, strict=True)
        for note in each["notes"]
    ]
    assert len(of_both) == 2
    np.savez(files[0], y=Y, **SCORES)  # type: ignore[arg-type]
    assert "notes" not in json_of("evaluate", files[0], "--score", "a", "--measure", "auc")
