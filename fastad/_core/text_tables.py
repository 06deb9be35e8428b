"""Tables of text: plain, Markdown and LaTeX, and how numbers read in them."""

import html
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from fastad._core.types import FloatMatrix, IntMatrix

# Cell without a value.
DASH = "-"
_digits: ContextVar[int | None] = ContextVar("digits", default=None)
# Smaller p-values are not told apart: the tails that they come from are no longer known.
_SMALLEST_P = 1e-16
# Behind the best three of a column in plain text.
_MARKS = ("", "¹", "²", "³")
# Shades of grey of their cells in LaTeX.
_SHADES = ("", "0.70", "0.82", "0.92")
# What Markdown would not show as it is: of "<" only the start of a tag.
_MARKDOWN = re.compile(r"[\\|*`]|<(?=[A-Za-z/!?])")
_LATEX = {
    "\\": r"\textbackslash{}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "†": r"$\dagger$",
}


def format_p(p_value: float, name: str = "") -> str:
    """Return a p-value as a cell, or as a part of a sentence with its name; it is never 0.

    A cell of NaN is a dash.
    """
    if math.isnan(p_value):
        return DASH
    if p_value < _SMALLEST_P:
        return f"{name} < {_SMALLEST_P:g}".lstrip()
    return f"{name} = {p_value:.2g}" if name else f"{p_value:.2g}"


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells as strings, and which of them are among the best three."""

    header: Sequence[str]  # heads of the columns
    rows: Sequence[Sequence[str]]  # cells, the first of each row its name
    # 1, 2 or 3 for each cell after the first that is among the best three, else 0; empty where
    # nothing is marked.
    marks: Sequence[Sequence[int]] = field(default_factory=list)

    def marked_cells(self) -> list[list[str]]:
        """Return the cells, with 1, 2 and 3 behind the best."""
        if not self.marks:
            return [list(row) for row in self.rows]
        widths = [1 if any(column) else 0 for column in zip(*self.marks, strict=True)]
        return [
            [row[0]]
            + [
                cell + _MARKS[mark].ljust(width)
                for cell, mark, width in zip(row[1:], marks, widths, strict=True)
            ]
            for row, marks in zip(self.rows, self.marks, strict=True)
        ]

    def plain(self) -> str:
        """Return columns of text."""
        return grid(self.header, self.marked_cells())

    def markdown(self) -> str:
        """Return a table in Markdown, the best of a column in bold type."""
        lines = ["| " + " | ".join(map(_markdown, self.header)) + " |"]
        lines.append("|" + "|".join([":--", *["--:"] * (len(self.header) - 1)]) + "|")
        for row, marks in self.rows_with_marks():
            cells = [
                f"**{_markdown(cell)}**" if mark == 1 else _markdown(cell) + _MARKS[mark]
                for cell, mark in zip(row, marks, strict=True)
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def latex(self, caption: str | None = None, label: str | None = None) -> str:
        """Return a table in LaTeX, with packages booktabs and colortbl; the best three shaded.

        With a caption or a label it floats.
        """
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, self.header)) + r" \\",
            r"\midrule",
        ]
        for row, marks in self.rows_with_marks():
            cells = [
                (rf"\cellcolor[gray]{{{_SHADES[mark]}}}" if mark else "") + _latex(cell)
                for cell, mark in zip(row, marks, strict=True)
            ]
            # Behind \\ a row must not begin like an option.
            start = "{}" if cells[0].startswith(("[", "*")) else ""
            lines.append(start + " & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        if caption is not None or label is not None:
            head = [r"\begin{table}", r"\centering"]
            head += [] if caption is None else [rf"\caption{{{_latex(caption)}}}"]
            head += [] if label is None else [rf"\label{{{label}}}"]
            lines = [*head, *lines, r"\end{table}"]
        return "\n".join(lines) + "\n"

    def of_columns(self, heads: Iterable[str]) -> "TextTable":
        """Return the table with its first column and the columns of some heads, in their order."""
        # A detector may be named like the first column.
        kept = [0, *(self.header.index(head, 1) for head in heads)]
        marks = [[row[i - 1] for i in kept[1:]] for row in self.marks]
        return TextTable(
            [self.header[i] for i in kept], [[row[i] for i in kept] for row in self.rows], marks
        )

    def html(self) -> str:
        """Return a table in HTML, for notebooks; the best of a column in bold type."""
        head = "".join(f"<th>{_html(cell)}</th>" for cell in self.header)
        lines = [f"<table><thead><tr>{head}</tr></thead><tbody>"]
        for row, marks in self.rows_with_marks():
            cells = [
                f"<td><b>{_html(cell)}</b></td>"
                if mark == 1
                else f"<td>{_html(cell)}{_MARKS[mark]}</td>"
                for cell, mark in zip(row, marks, strict=True)
            ]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        return "\n".join([*lines, "</tbody></table>"])

    def rows_with_marks(self) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
        """Yield the rows with the mark of each cell, 0 where there is none."""
        for i, row in enumerate(self.rows):
            yield row, [0, *self.marks[i]] if self.marks else [0] * len(row)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text under their heads: the first aligned left, the others right."""
    lines = [[_one_line(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def best_three(merits: FloatMatrix) -> IntMatrix:
    """Return 1, 2 and 3 where a value is among the three highest of its column, else 0.

    Equal values share the mark of the first of them; NaN has none.
    """
    marks = np.zeros(merits.shape, np.int64)
    for column in range(merits.shape[1]):
        values = merits[:, column]
        defined = values[~np.isnan(values)]
        rank = 1 + np.sum(defined[None, :] > values[:, None], axis=1)
        marks[:, column] = np.where(np.isnan(values) | (rank > 3), 0, rank)
    return marks


def best_detectors(merits: FloatMatrix) -> IntMatrix:
    """Return the marks of each column: three, or one where that would mark them all."""
    marks = best_three(merits)
    if len(merits) <= 3:
        marks[marks > 1] = 0
    return marks


@contextmanager
def digits_of_numbers(digits: int | None) -> Iterator[None]:
    """Give all numbers with decimals so many of them, for the length of a block."""
    token = _digits.set(digits)
    try:
        yield
    finally:
        _digits.reset(token)


def fixed_text(value: float, form: str = ".4f") -> str:
    """Return a value in a format, with the digits of the block in place of its own decimals."""
    digits = _digits.get()
    if digits is None or form[-1] != "f":
        return format(value, form)
    return format(value, f"{form.partition('.')[0]}.{digits}f")


def value_text(value: float) -> str:
    """Return the value of a measure as a string; numbers of samples are integers."""
    return str(value) if isinstance(value, int) else fixed_text(value)


def number_text(value: float, form: str = ".4f") -> str:
    """Return a value as a string, a dash for NaN; numbers that round to 0 have no sign."""
    if math.isnan(value):
        return DASH
    text = fixed_text(value, form)
    return text.lstrip("+-") if not text.strip("+-0.%") else text


def interval_text(low: float, high: float, form: str = ".2f") -> str:
    """Return an interval as a string, a dash for NaN."""
    return DASH if math.isnan(low) else f"[{number_text(low, form)}, {number_text(high, form)}]"


def estimate_text(value: float, low: float, high: float, form: str) -> str:
    """Return a value and its interval as a string, the value alone where there is none."""
    text = number_text(value, form)
    return text if math.isnan(low) else f"{text} {interval_text(low, high, form)}"


def mean_text(mean: float, std: float, form: str = ".4f") -> str:
    """Return a mean and its standard deviation as a string, the mean alone where there is none."""
    text = number_text(mean, form)
    return text if math.isnan(std) else f"{text} ± {number_text(std, form)}"


def level_text(confidence_level: float) -> str:
    """Return a confidence level in per cent, with all digits where six would be 100."""
    text = f"{100 * confidence_level:g}"
    return f"{100 * confidence_level:.15g} %" if text == "100" else f"{text} %"


def intervals_text(confidence_level: float) -> str:
    """Return the head of a column of intervals."""
    return f"{level_text(confidence_level)} interval"


def count_text(n: int, noun: str) -> str:
    """Return a number of things: 1 data set, 2 data sets."""
    return f"{n} {noun}{'s' * (n != 1)}"


def some_of(names: Sequence[str], most: int) -> str:
    """Return the first names in a row, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def html_text(blocks: Iterable[TextTable | str]) -> str:
    """Return tables and lines of text in HTML, below one another."""
    return "\n".join(
        block.html() if isinstance(block, TextTable) else f"<p>{_html(block)}</p>"
        for block in blocks
        if not isinstance(block, str) or block
    )


def _html(cell: str) -> str:
    return html.escape(_one_line(cell))


def _markdown(cell: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", _one_line(cell))


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(cell))


def _one_line(cell: str) -> str:
    return " ".join(cell.splitlines()) if "\n" in cell or "\r" in cell else cell
