"""The mark of values for which the samples are too few, in all forms of a table."""

import json
import pickle
import re
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from scipy.stats import beta

import fastad
from fastad import plot
from tests.support.loops import loop

N, M = 12, 43
Y = np.repeat([1, 0], [N, M])
_RNG = np.random.default_rng(5)
SCORES = {name: _RNG.normal(size=N + M) + 2 * Y for name in ("a", "b")}
MEASURES = ["auc", "tpr@0.01", "tpr@0.2", "fpr@tpr0.95", "fpr@tpr0.9"]
MARKED = ["tpr@0.01", "fpr@tpr0.95"]
FALSE_ALARM = "of fewer than 500 normals fewer than 5 are beyond FPR 0.01"
MISS = "of fewer than 20 anomalies one miss is below TPR 0.95"
NOTES = {"tpr@0.01": FALSE_ALARM, "fpr@tpr0.95": MISS}
LINE = f"†: {FALSE_ALARM}; {MISS}"
EXACT = "; in brackets, the exact 95 % interval"


def test_values_of_too_few_samples_are_named_with_the_reason() -> None:
    result = fastad.evaluate(Y, SCORES, measures=MEASURES)
    assert result["a"].unresolved == NOTES
    assert json.loads(result.to_json())["detectors"][1]["unresolved"] == NOTES
    assert result.to_columns()["unresolved"] == [", ".join(MARKED)] * 2
    enough = fastad.evaluate(Y, SCORES, measures=["auc", "tpr@0.2"])
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
            assert ("[" in cell) == (bool(options) or label == "tpr@0.01")
    line = LINE if options else LINE + EXACT
    assert result.notes.count(line) == 1
    for text in (str(result), result.to_markdown()):
        assert text.count(line) == 1
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
    """The first group has 33 normals, the second 10; FPR 0.2 takes 25."""
    groups = np.concatenate([np.arange(N) % 2, np.arange(M) >= 33]).astype(int)
    runs = fastad.evaluate(Y, SCORES, groups=groups, measures=["tpr@0.2", "auc"])
    assert [bool(runs[g]["b"].unresolved) for g in (0, 1)] == [False, True]
    assert runs.to_columns()["unresolved"] == ["", "", "tpr@0.2", "tpr@0.2"]
    table = runs.text_table()
    assert "unresolved" not in table.header
    column = list(table.header).index("tpr@0.2")
    assert [row[column].startswith("†") for row in table.rows] == [False, False, True, True]
    line = "†: of fewer than 25 normals fewer than 5 are beyond FPR 0.2"
    summary = runs.summary()
    for result in (runs, summary):
        assert list(result.notes) == [line]
        assert str(result).endswith(line)
    for row in summary.text_table().rows:
        assert [cell.startswith("†") for cell in row] == [False, False, True, False]
    assert summary.n_unresolved["tpr@0.2"].tolist() == [1, 1]
    assert summary.to_columns()["auc_unresolved"] == [0, 0]


@pytest.mark.parametrize(
    "display", [plot.RocCurveDisplay, plot.DetCurveDisplay, plot.PrecisionRecallDisplay]
)
def test_legends_have_the_mark_and_a_footnote(display: Any) -> None:
    drawn = display.from_predictions(Y, SCORES, measures=MEASURES, ax=Figure().subplots())
    result = fastad.evaluate(Y, SCORES, measures=MEASURES)
    for name, line in drawn.lines_.items():
        for label in MEASURES:
            mark = "†" if label in MARKED else ""
            interval = result[name].exact_intervals.get(label)
            exact = f" [{interval.low:.3f}, {interval.high:.3f}]" if interval else ""
            shown = f"{label} {mark}{result[name][label]:.3f}{exact}"
            assert re.search(re.escape(shown) + "[,)]", str(line.get_label()))
    first, last = (" ".join(str(line.get_label()).split()) for line in drawn.lines_.values())
    assert last.endswith(LINE + EXACT)
    assert "†:" not in first


def test_points_on_a_roc_curve_have_the_mark() -> None:
    drawn = plot.RocCurveDisplay.from_predictions(
        Y, SCORES, fpr=[0.01, 0.2], ax=Figure().subplots()
    )
    assert [mark.unresolved for mark in drawn.marks["a"]] == [FALSE_ALARM, None]
    text = str(drawn.lines_["b"].get_label())
    assert "tpr@0.01 †" in text
    assert "tpr@0.2 †" not in text
    assert " ".join(text.split()).endswith(f"†: {FALSE_ALARM}{EXACT}")
    interval = drawn.marks["b"][0].interval
    assert interval is not None
    assert f"[{interval.low:.3f}, {interval.high:.3f}] at threshold" in text
    lines = [x for x in drawn.ax_.collections if isinstance(x, LineCollection)]
    vertical = [line.get_segments()[0].tolist() for line in lines]
    assert [[0.01, interval.low], [0.01, interval.high]] in vertical


@loop("m", [1, 2, 5, 43, 400])
@loop("kind", ["distinct", "tied", "one score"])
def test_exact_intervals_are_those_of_the_whole_curve(m: int, kind: str) -> None:
    """They are computed from a few points of it, after the evaluation."""
    rng = np.random.default_rng(m)
    y = np.repeat([1, 0], [30, m])
    scores = rng.normal(size=30 + m) + y
    scores = {"distinct": scores, "tied": scores.round(), "one score": 0 * scores}[kind]
    rates = [x for x in (0.001, 0.01, 0.1, 0.5, 0.9) if x * m < 5]
    keys = [f"{key}{x}" for key in ("tpr@", "precision@fpr", "f1@") for x in rates]
    result = fastad.evaluate(y, scores, measures=[*keys, "auc", "auc@0.0001"])["score"]
    assert "auc@0.0001" in result.unresolved
    defined = [key for key in keys if key not in result.undefined]
    assert list(result.exact_intervals) == defined
    for key in defined:
        if m > 1:
            expected = fastad.interval(y, scores, measure=key, method="order")
            estimate = result.exact_intervals[key]
            assert (estimate.low, estimate.high) == (expected.low, expected.high)
            assert estimate.value == result[key]
    content = json.loads(fastad.evaluate(y, scores, measures=keys).to_json())["detectors"][0]
    assert list(content["exact_intervals"]) == defined


def test_far_below_one_normal_little_is_known() -> None:
    """Of 100 000 normals the highest is above some anomalies: at FPR 1e-6 little is known."""
    y = np.repeat([0, 1], [100_000, 50])
    scores = np.concatenate([np.arange(100_000.0), np.full(40, 2e5), np.full(10, -1.0)])
    interval = fastad.evaluate(y, scores, measures=["tpr@0.000001"])["score"].exact_intervals
    result = interval["tpr@1e-06"]
    # The population may have no threshold between the highest normal and infinity.
    assert result.low == 0
    # Clopper and Pearson: 40 of 50, upper bound.
    assert result.high == pytest.approx(beta.ppf(0.975, 41, 10))


def test_samples_that_depend_on_each_other_have_no_exact_intervals() -> None:
    clusters = np.arange(N + M) % 11
    result = fastad.evaluate(
        Y, SCORES["a"], measures=["tpr@0.1"], clusters=clusters, confidence_level=0.9, rng=0
    )["score"]
    assert result.unresolved
    assert result.exact_intervals == {}


def test_corrected_values_and_given_intervals_have_no_exact_ones() -> None:
    options: dict[str, Any] = {"measures": ["tpr@0.1"]}
    corrected = fastad.evaluate(Y, SCORES["a"], contamination=0.01, **options)["score"]
    assert corrected.unresolved
    assert corrected.exact_intervals == {}
    requested = fastad.evaluate(Y, SCORES["a"], confidence_level=0.8, n_resamples=99, **options)
    interval = requested["score"].intervals["tpr@0.1"]
    assert requested["score"].shown_interval("tpr@0.1") is interval


def test_evaluations_with_exact_intervals_are_pickled() -> None:
    result = fastad.evaluate(Y, SCORES, measures=MEASURES)
    again = pickle.loads(pickle.dumps(result))
    assert again.to_json() == result.to_json()
