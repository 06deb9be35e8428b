"""The mark of values for which the samples are too few, in all forms of a table."""

import json
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import fastad
from fastad import plot

N, M = 12, 43
Y = np.repeat([1, 0], [N, M])
_RNG = np.random.default_rng(5)
SCORES = {name: _RNG.normal(size=N + M) + 2 * Y for name in ("a", "b")}
MEASURES = ["auc", "tpr@0.01", "tpr@0.03", "fpr@tpr0.95", "fpr@tpr0.9"]
MARKED = ["tpr@0.01", "fpr@tpr0.95"]
FALSE_ALARM = "of fewer than 100 normals one false alarm is above FPR 0.01"
MISS = "of fewer than 20 anomalies one miss is below TPR 0.95"
NOTES = {"tpr@0.01": FALSE_ALARM, "fpr@tpr0.95": MISS}
LINE = f"†: {FALSE_ALARM}; {MISS}"


def test_values_of_too_few_samples_are_named_with_the_reason() -> None:
    result = fastad.evaluate(Y, SCORES, measures=MEASURES)
    assert result["a"].unresolved == NOTES
    assert json.loads(result.to_json())["detectors"][1]["unresolved"] == NOTES
    assert result.to_columns()["unresolved"] == [", ".join(MARKED)] * 2
    enough = fastad.evaluate(Y, SCORES, measures=["auc", "tpr@0.03"])
    assert enough["a"].unresolved == {}
    assert enough.to_columns()["unresolved"] == ["", ""]
    assert "†" not in str(enough)


@pytest.mark.parametrize("options", [{}, {"confidence_level": 0.9, "n_resamples": 99, "rng": 0}])
@pytest.mark.parametrize("n_detectors", [2, 9])
def test_printed_values_have_the_mark_and_one_line_explains_it(
    n_detectors: int, options: dict[str, Any]
) -> None:
    scores = {f"d{i}": SCORES["a"] for i in range(n_detectors)}
    result = fastad.evaluate(Y, scores, measures=MEASURES, **options)
    table = result.text_table()
    for row in table.rows:
        for head, cell in zip(table.header[1:], row[1:], strict=True):
            label = row[0] if n_detectors == 2 else head
            assert cell.startswith("†") == (label in MARKED)
            assert cell.lstrip("†").startswith(f"{result['d0'][label]:.4f}")
    assert result.notes.count(LINE) == 1
    for text in (str(result), result.to_markdown()):
        assert text.count(LINE) == 1
    assert f"$\\dagger${result['d0']['tpr@0.01']:.4f}" in result.to_latex()


def test_levels_of_chance_have_the_mark() -> None:
    result = fastad.evaluate(Y, SCORES, measures=MEASURES, chance=True, n_resamples=99, rng=0)
    for _, label, value, *_ in result.chance_table().rows:
        assert value.startswith("†") == (label in MARKED)


def test_what_is_undefined_has_no_mark() -> None:
    result = fastad.evaluate(np.zeros(9), np.arange(9), measures=["tpr@0.01", "auc"])
    assert result["score"].unresolved == {}
    assert "†" not in str(result)


def test_each_group_has_its_own_marks() -> None:
    """The first group has 33 normals, the second 10; FPR 0.05 takes 20."""
    groups = np.concatenate([np.arange(N) % 2, np.arange(M) >= 33]).astype(int)
    runs = fastad.evaluate(Y, SCORES, groups=groups, measures=["tpr@0.05", "auc"])
    assert [bool(runs[g]["b"].unresolved) for g in (0, 1)] == [False, True]
    assert runs.to_columns()["unresolved"] == ["", "", "tpr@0.05", "tpr@0.05"]
    table = runs.text_table()
    assert "unresolved" not in table.header
    column = list(table.header).index("tpr@0.05")
    assert [row[column].startswith("†") for row in table.rows] == [False, False, True, True]
    line = "†: of fewer than 20 normals one false alarm is above FPR 0.05"
    summary = runs.summary()
    for result in (runs, summary):
        assert list(result.notes) == [line]
        assert str(result).endswith(line)
    for row in summary.text_table().rows:
        assert [cell.startswith("†") for cell in row] == [False, False, True, False]
    assert summary.n_unresolved["tpr@0.05"].tolist() == [1, 1]
    assert summary.to_columns()["auc_unresolved"] == [0, 0]


def test_a_group_may_have_the_name_of_a_measure() -> None:
    groups = {"tpr@0.01": np.arange(N + M) % 2}
    table = fastad.evaluate(Y, SCORES["a"], groups=groups, measures=MEASURES).text_table()
    assert [row[0] for row in table.rows] == ["0", "1"]


@pytest.mark.parametrize(
    "display",
    [plot.RocCurveDisplay, plot.DetCurveDisplay, plot.PrecisionRecallDisplay],
)
def test_legends_have_the_mark_and_a_footnote(display: Any) -> None:
    drawn = display.from_predictions(Y, SCORES, measures=MEASURES, ax=Figure().subplots())
    result = fastad.evaluate(Y, SCORES, measures=MEASURES)
    for name, line in drawn.lines_.items():
        for label in MEASURES:
            mark = "†" if label in MARKED else ""
            assert f"{label} {mark}{result[name][label]:.3f}" in str(line.get_label())
    first, last = (" ".join(str(line.get_label()).split()) for line in drawn.lines_.values())
    assert last.endswith(LINE)
    assert "†:" not in first


def test_points_on_a_roc_curve_have_the_mark() -> None:
    drawn = plot.RocCurveDisplay.from_predictions(
        Y, SCORES, fpr=[0.01, 0.1], ax=Figure().subplots()
    )
    assert [mark.unresolved for mark in drawn.marks["a"]] == [FALSE_ALARM, None]
    text = str(drawn.lines_["b"].get_label())
    assert "tpr@0.01 †" in text
    assert "tpr@0.1 †" not in text
    assert " ".join(text.split()).endswith(f"†: {FALSE_ALARM}")
