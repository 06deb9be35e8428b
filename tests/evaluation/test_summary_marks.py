"""The best detectors are marked: in summaries, and in tables of `evaluate` for papers."""

import re

import numpy as np
import pytest

import fastad

N = 400
RNG = np.random.default_rng(2)
Y = np.arange(N) % 5 == 0
GROUPS = {"dataset": np.arange(N) % 2, "fold": np.arange(N) // 200}
SCORES = {
    "worst": RNG.normal(size=N),
    "best": RNG.normal(size=N) + 3 * Y,
    "middle": RNG.normal(size=N) + Y,
}


def test_the_best_of_each_data_set_is_marked_by_the_direction_of_the_measure() -> None:
    runs = fastad.evaluate(Y, SCORES, measures=["auc", "eer"], groups=GROUPS)
    summary = runs.summary("fold")
    table = summary.text_table()
    head = list(table.header)
    for dataset in (0, 1):
        rows = [i for i, name in enumerate(summary.groups["dataset"]) if name == dataset]
        for label, sign in (("auc", -1), ("eer", 1)):
            ranks = np.argsort(np.argsort(sign * summary.mean[label][rows])) + 1
            column = head.index(label) - 1
            assert [table.marks[i][column] for i in rows] == ranks.tolist()
    # Keys and numbers of runs have no mark.
    assert not any(mark for row in table.marks for mark in row[: head.index("auc") - 1])
    assert "¹" in str(summary)
    assert summary.to_markdown().count("**") == 2 * 4
    assert summary.to_latex().count("0.70") >= 4


def test_one_detector_is_not_the_best_of_anything() -> None:
    runs = fastad.evaluate(Y, SCORES["best"], measures=["auc"], groups=GROUPS)
    assert not runs.summary("fold").text_table().marks


def shades(latex: str) -> list[list[str]]:
    """Shade of each cell of each row, empty where there is none."""
    rows = [line for line in latex.splitlines() if line.endswith(r" \\")]
    return [
        [re.sub(r"^(\\cellcolor\[gray\]\{(.*?)\})?.*", r"\2", x) for x in row.split(" & ")]
        for row in rows
    ]


@pytest.mark.parametrize("n_detectors", [1, 2, 3, 4, 9])
def test_tables_for_papers_mark_the_best_by_each_measure(n_detectors: int) -> None:
    """Few detectors are across, many are down; marks follow the direction of the measure."""
    scores = {f"d_{i}": np.round(RNG.normal(size=N) + (i % 4) * Y, 1) for i in range(n_detectors)}
    # Equal detectors share a mark.
    scores["d_0"] = scores[f"d_{n_detectors - 1}"]
    keys = ["auc", "eer", "tpr@0.1", "flagged@threshold1"]
    result = fastad.evaluate(Y, scores, measures=[*keys[:3], "n_flagged"], threshold=1)
    assert list(result["d_0"]) == keys
    signs = [1, -1, 1, None]
    places = {
        (key, name): 0
        if sign is None or n_detectors == 1
        else 1 + sum(sign * other[key] > sign * own[key] for other in result.values())
        for key, sign in zip(keys, signs, strict=True)
        for name, own in result.items()
    }
    is_across = n_detectors <= len(keys)
    rows, columns = (keys, list(result)) if is_across else (list(result), keys)
    last = 1 if n_detectors <= 3 else 3
    head, *lines = result.to_markdown().splitlines()[:1] + result.to_markdown().splitlines()[2:]
    assert head.split(" | ")[0] == ("| measure" if is_across else "| detector")
    shaded = shades(result.to_latex())[1:]
    for i, row in enumerate(rows):
        cells = lines[i].strip("| ").split(" | ")
        for j, column in enumerate(columns):
            place = places[(row, column) if is_across else (column, row)]
            place = place if place <= last else 0
            assert shaded[i][1 + j] == ("", "0.70", "0.82", "0.92")[place]
            assert cells[1 + j].startswith("**") == (place == 1)
            assert cells[1 + j][-1] == {2: "²", 3: "³"}.get(place, cells[1 + j][-1])
    # Printed as before.
    assert not result.text_table().marks


def test_a_caption_and_a_label_make_a_table_float() -> None:
    result = fastad.evaluate(Y, SCORES, measures=["auc"])
    bare = result.to_latex()
    lines = result.to_latex(caption="AUC_w of 5 % {x}", label="tab:auc_w").splitlines()
    start = [r"\begin{table}", r"\centering", r"\caption{AUC\_w of 5 \% \{x\}}"]
    assert lines[:4] == [*start, r"\label{tab:auc_w}"]
    assert "\n".join(lines[4:-1]) == bare.strip()
    assert lines[-1] == r"\end{table}"
    assert r"\caption" not in result.to_latex(label="t")
    pairs = fastad.compare_all(Y, SCORES, measure="auc")
    assert r"\caption{Pairs}" in pairs.to_latex(caption="Pairs")
