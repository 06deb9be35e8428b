"""The best detectors are marked: in summaries, and in tables of `evaluate` for papers."""

import re

import numpy as np
import pytest

import fastad
from fastad._core.results import TableResult

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


def cells_of_latex(text: str) -> list[list[str]]:
    """Return the cells of the one tabular, whose environments, groups and columns are balanced."""
    lines = [line for line in text.splitlines() if not line.startswith("%")]
    opened: list[str] = []
    for line in lines:
        for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", line):
            if kind == "begin":
                opened.append(name)
            else:
                assert opened.pop() == name
        bare = re.sub(r"\\[\\{}&%$#_]", "", line)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
    assert opened == []
    (columns,) = re.findall(r"^\\begin\{tabular\}\{(l?r*)\}$", "\n".join(lines), re.M)
    rows = [re.split(r"(?<!\\) & ", line[:-3]) for line in lines if line.endswith(r" \\")]
    assert {len(row) for row in rows} == {len(columns)}
    start, *_, end = [line for line in lines if line.startswith((r"\toprule", r"\bottomrule"))]
    assert (start, end) == (r"\toprule", r"\bottomrule")
    return rows


TABLES: dict[str, TableResult] = {
    "evaluate": fastad.evaluate(Y, SCORES, confidence_level=0.9, rng=0),
    "many": fastad.evaluate(Y, np.array([*SCORES.values()] * 4), measures=["auc", "tpr@0.01"]),
    "groups": fastad.evaluate(Y, SCORES, groups=np.arange(len(Y)) % 2, measures=["auc"]),
    "summary": fastad.evaluate(Y, SCORES, groups=np.arange(len(Y)) % 2, measures=["auc"]).summary(),
    "pairs": fastad.compare_all(Y, SCORES, measure="auc"),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("digits", [1, 2, 6])
def test_digits_are_those_of_all_values_rounded_once(name: str, digits: int) -> None:
    result = TABLES[name]
    rows = cells_of_latex(result.to_latex(digits=digits, caption="5 % of {x}_1", label="t"))
    bare = [re.sub(r"\\cellcolor\[gray\]\{[\d.]+\}", "", x) for row in rows[1:] for x in row[1:]]
    # p-values have two significant digits.
    values = [x for x in bare if name != "pairs" or x.startswith("[")]
    decimals = [len(x) for value in values for x in re.findall(r"\.(\d+)", value)]
    assert set(decimals) == {digits}
    assert rows[0] == cells_of_latex(result.to_latex())[0]
    lines = result.to_markdown(digits=digits).partition("\n\n")[0].splitlines()
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in lines} == {len(rows[0]) + 1}
    # What is printed keeps its digits.
    assert str(result) == str(TABLES[name])


def test_a_value_is_rounded_from_all_its_digits() -> None:
    """0.62346 is 0.6235 with four digits, and 0.623 with three, not 0.624."""
    scores = np.append(np.arange(10**5), 62345.5)
    result = fastad.evaluate(np.arange(10**5 + 1) == 10**5, scores, measures=["auc"])
    assert "| auc | 0.6235 |" in result.to_markdown()
    assert "| auc | 0.623 |" in result.to_markdown(digits=3)


def test_columns_are_those_that_were_named_in_their_order() -> None:
    result = TABLES["evaluate"]
    assert cells_of_latex(result.to_latex(columns=["best"]))[0] == ["measure", "best"]
    whole = cells_of_latex(TABLES["pairs"].to_latex())
    some = cells_of_latex(TABLES["pairs"].to_latex(columns=["better", "difference"]))
    kept = [0, whole[0].index("better"), whole[0].index("difference")]
    assert some == [[row[i] for i in kept] for row in whole]
    with pytest.raises(fastad.InvalidInputError, match=r"columns must contain .*; found 'differ'"):
        TABLES["pairs"].to_latex(columns=["differ"])
    with pytest.raises(fastad.InvalidInputError, match="digits must be at least 1; found 0"):
        result.to_markdown(digits=0)
