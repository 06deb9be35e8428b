"""Tables of text: plain, Markdown and LaTeX, and the marks of the best three."""

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import ResultTable
from fastad._core.text_tables import TextTable, best_three, grid, number_text
from fastad.benchmarking import selection_loss

TABLE = TextTable(
    ["by", "auc", "tpr@0.05"], [["auc", "-", "10.0%"], ["tpr_w", "5.6%", "-"]], [[0, 2], [1, 0]]
)


def test_plain() -> None:
    assert TABLE.plain() == "by       auc  tpr@0.05\nauc       -     10.0%²\ntpr_w  5.6%¹        -"
    bare = TextTable(TABLE.header, TABLE.rows)
    assert bare.plain() == "by      auc  tpr@0.05\nauc       -     10.0%\ntpr_w  5.6%         -"


def test_markdown() -> None:
    assert TABLE.markdown() == (
        "| by | auc | tpr@0.05 |\n|:--|--:|--:|\n"
        "| auc | - | 10.0%² |\n| tpr_w | **5.6%** | - |\n"
    )  # fmt: skip


def test_latex() -> None:
    assert TABLE.latex() == (
        "\\begin{tabular}{lrr}\n\\toprule\nby & auc & tpr@0.05 \\\\\n\\midrule\n"
        "auc & - & \\cellcolor[gray]{0.82}10.0\\% \\\\\n"
        "tpr\\_w & \\cellcolor[gray]{0.70}5.6\\% & - \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_the_best_three_are_distinguished() -> None:
    table = TextTable(["", "x"], [[str(i), "1"] for i in range(4)], [[3], [1], [0], [2]])
    assert [line[-2:].strip() for line in table.plain().splitlines()[1:]] == ["1³", "1¹", "1", "1²"]
    assert [line.split(" | ")[1] for line in table.markdown().splitlines()[2:]] == [
        "1³ |", "**1** |", "1 |", "1² |"
    ]  # fmt: skip
    shades = re.findall(r"gray\]\{([0-9.]+)\}", table.latex())
    assert [float(shade) for shade in shades] == [0.92, 0.7, 0.82]


@given(st.lists(st.lists(st.text("ab 1²", max_size=5), min_size=2, max_size=2), min_size=1))
def test_columns_of_text_are_aligned(rows: list[list[str]]) -> None:
    lines = grid(["name", "x"], rows).split("\n")
    assert len(lines) == len(rows) + 1
    assert not any(line != line.rstrip() for line in lines)
    for line, row in zip(lines[1:], rows, strict=True):
        first = max(len("name"), *(len(cells[0]) for cells in rows))
        assert line.ljust(first)[:first] == row[0].ljust(first)
        assert line[first:].strip() == row[1].strip()


def cells_of_markdown(line: str) -> list[str]:
    """Read a line as Markdown does: a backslash takes the meaning from a mark behind it."""
    tokens = re.findall(r"\\[!-/:-@\[-`{-~]|.", line, re.DOTALL)
    cells = [""]
    for token in tokens:
        assert token not in "*`"
        if token == "|":
            cells.append("")
        else:
            cells[-1] += token[1:] if len(token) == 2 else token
    return [cell.strip(" ") for cell in cells[1:-1]]


def cells_of_latex(line: str) -> list[str]:
    """Read a row of LaTeX."""
    assert line.endswith(r" \\")
    words = {"textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^"}
    words |= {"textless": "<", "textgreater": ">", "textbar": "|"}
    cells = [""]
    line = line.removeprefix("{}")
    for token in re.findall(r"\\[a-z]+\{\}|\\.|\$\\pm\$|\$\\infty\$|.", line[:-3], re.DOTALL):
        if token == "&":
            cells.append("")
        elif token.endswith("{}"):
            cells[-1] += words[token[1:-2]]
        elif token.startswith("$"):
            cells[-1] += "±" if "pm" in token else "∞"
        elif token.startswith("\\"):
            cells[-1] += token[1]
        else:
            assert token not in "%$#_{}~^"
            cells[-1] += token
    return [cell.strip(" ") for cell in cells]


NAMES = st.text("aZ9@.|*`_&%$#{}~^±∞\\-[<é", min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=2, max_size=3))
def test_latex_reads_as_what_was_written(cells: list[str]) -> None:
    lines = TextTable(cells, [cells]).latex().splitlines()
    assert len(lines) == 7
    assert lines[0] == f"\\begin{{tabular}}{{l{'r' * (len(cells) - 1)}}}"
    assert cells_of_latex(lines[2]) == cells_of_latex(lines[4]) == cells


@given(st.lists(NAMES.filter(lambda name: "\\" not in name), min_size=2, max_size=3))
def test_markdown_reads_as_what_was_written(cells: list[str]) -> None:
    lines = TextTable(cells, [cells]).markdown().splitlines()
    assert len(lines) == 3
    assert cells_of_markdown(lines[0]) == cells_of_markdown(lines[2]) == cells


@pytest.mark.parametrize("name", ["a\\|b", "a\\_b", "a\\\\b"])
def test_a_backslash_in_markdown(name: str) -> None:
    lines = TextTable([name, "x"], [[name, "1"]]).markdown().splitlines()
    assert cells_of_markdown(lines[2]) == [name, "1"]


@pytest.mark.parametrize("name", ["[a]", "*"])
def test_no_row_of_latex_begins_like_an_option(name: str) -> None:
    # Behind \\ LaTeX takes it for one, over the end of the line.
    rows = TextTable(["x", "y"], [["a", "1"], [name, "1"]]).latex().splitlines()
    assert not rows[5].startswith(("[", "*"))


@pytest.mark.parametrize("form", ["plain", "latex"])
@pytest.mark.parametrize("name", ["a\nb", "a\n\nb", "a\r\nb"])
def test_a_name_of_two_lines_takes_one(form: str, name: str) -> None:
    one, two = (getattr(TextTable([n, "x"], [[n, "1"]]), form)() for n in ("ab", name))
    assert len(two.splitlines()) == len(one.splitlines())


def test_a_name_like_a_tag_is_shown_in_markdown() -> None:
    # Python names functions <lambda>, and Markdown hides a tag.
    lines = TextTable(["<lambda>", "`x`"], [["< 0.1", "</b>"]]).markdown().splitlines()
    assert lines[0] == r"| \<lambda> | \`x\` |"
    assert lines[2] == r"| < 0.1 | \</b> |"


def test_a_name_of_two_lines_takes_one_in_markdown() -> None:
    assert len(TextTable(["a\nb", "x"], [["c\nd", "1"]]).markdown().splitlines()) == 3


# What is marked, and how numbers read.


@given(
    st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.0, 3.0, math.nan, math.inf]), min_size=2,
                 max_size=2),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_the_best_three_of_a_column(rows: list[list[float]]) -> None:
    places = best_three(np.array(rows))
    for column in range(2):
        values = [row[column] for row in rows]
        ahead = [sum(other > x for other in values) for x in values]
        expected = [n + 1 if n < 3 and x == x else 0 for n, x in zip(ahead, values, strict=True)]
        assert places[:, column].tolist() == expected


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (math.nan, ".2f", "-"), (0.125, ".1%", "12.5%"), (-0.0001, ".2f", "0.00"),
        (-0.0, ".1%", "0.0%"), (-0.01, ".2f", "-0.01"), (-0.1, ".4f", "-0.1000"),
        (math.inf, ".2f", "inf"), (-math.inf, ".2f", "-inf"), (1.0, ".2f", "1.00"),
        (-0.0004, ".1%", "0.0%"), (-0.0006, ".1%", "-0.1%"),
        (0.0, "+.4f", "0.0000"), (-0.0, "+.4f", "0.0000"), (0.5, "+.2f", "+0.50"),
    ],
)  # fmt: skip
def test_how_numbers_read(value: float, form: str, text: str) -> None:
    assert number_text(value, form) == text


def loss_table() -> Any:
    arrays = {
        "auc": [[0.9, 0.8, 0.7], [0.5, 0.5, 0.4]],
        "tpr@0.05": [[0.25, 0.5, 1.0], [0.0, 0.0, 0.0]],
        "tpr@0.01": [[0.125, 0.25, 0.25], [0.5, 0.25, 0.25]],
    }
    return selection_loss(ResultTable.from_arrays(arrays), rng=0)


def test_a_loss_prints_as_the_papers_tables() -> None:
    lines = str(loss_table()).splitlines()
    assert [line.split()[:1] for line in lines[1:4]] == [["auc"], ["tpr@0.05"], ["tpr@0.01"]]
    assert lines[0].split()[2:] == ["auc", "tpr@0.05", "tpr@0.01", "mean"]
    # On the second data set auc chooses two, of which one has the half.
    assert lines[1].split()[1:4] == ["-", "75.0%²", "37.5%²"]
    assert lines[4:] == ["nan: no loss by tpr@0.05 in 1 of 2 data sets, which are left out"]


def test_a_note_where_one_choice_alone_lacks_the_measure() -> None:
    arrays = {"auc": [[0.9, 0.8], [0.9, 0.8]], "ap": [[math.nan, 0.5], [0.5, 0.25]]}
    result = selection_loss(ResultTable.from_arrays(arrays), rng=0)
    assert result.n_undefined.tolist() == [[0, 1], [0, 0]]
    # A printed number is of fewer data sets than the others: somewhere the text says so.
    assert "1 of 2" in str(result)


def test_a_loss_in_markdown_latex_and_a_frame() -> None:
    result = loss_table()
    table = result.text_table()
    for text, remark in ((result.to_markdown(), "- nan: "), (result.to_latex(), "% nan: ")):
        assert remark in text
    for text in (table.markdown(), table.latex()):
        assert "nan" not in text
        assert all(label in text for label in result.rows)
    assert result.to_latex().count("\\\\\n") == 4
    frame = result.to_frame("pandas")
    assert frame.columns.tolist()[:5] == ["selected_by", "evaluated_by", "loss", "low", "high"]
    assert frame["selected_by"].tolist()[:4] == ["auc"] * 3 + ["tpr@0.05"]
    assert frame["evaluated_by"].tolist()[:4] == ["auc", "tpr@0.05", "tpr@0.01", "auc"]
    assert np.array_equal(frame["loss"], result.value.reshape(-1), equal_nan=True)
    assert frame["n_undefined"].tolist() == [0, 1, 0] * 3
    assert type(result) is fastad.benchmarking.LossMatrix
