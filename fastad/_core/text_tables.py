"""Tables of text: plain, Markdown and LaTeX."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Behind the best three of a column, where colour is not to be had.
_PLACES = ("", "¹", "²", "³")
# Shades of grey behind them, as in print.
_SHADES = ("", "0.70", "0.82", "0.92")
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
}


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells as text, and which of them are among the best three.

    Attributes
    ----------
    header : sequence of str
        Heads of the columns.
    rows : sequence of sequences of str
        Cells, the first of each row its name.
    places : sequence of sequences of int
        1, 2 or 3 for each cell beside the first that is among the best three, else 0; empty
        where nothing is marked.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    places: Sequence[Sequence[int]] = field(default_factory=list)

    def marked(self) -> list[list[str]]:
        """Return the cells, with 1, 2 and 3 behind the best."""
        if not self.places:
            return [list(row) for row in self.rows]
        width = [1 if any(places) else 0 for places in zip(*self.places, strict=True)]
        return [
            [row[0]]
            + [
                cell + _PLACES[place].ljust(room)
                for cell, place, room in zip(row[1:], places, width, strict=True)
            ]
            for row, places in zip(self.rows, self.places, strict=True)
        ]

    def plain(self) -> str:
        """Return columns of text."""
        return grid(self.header, self.marked())

    def markdown(self) -> str:
        """Return a table in Markdown, the best of a column in bold type."""
        lines = ["| " + " | ".join(map(_markdown, self.header)) + " |"]
        lines.append("|" + "|".join([":--", *["--:"] * (len(self.header) - 1)]) + "|")
        for row, places in self._placed():
            cells = [
                f"**{_markdown(cell)}**" if place == 1 else _markdown(cell) + _PLACES[place]
                for cell, place in zip(row, places, strict=True)
            ]
            lines.append("| " + " | ".join(cells) + " |")
        return "\n".join(lines) + "\n"

    def latex(self) -> str:
        """Return a table in LaTeX, with packages booktabs and colortbl; the best three shaded."""
        lines = [
            rf"\begin{{tabular}}{{l{'r' * (len(self.header) - 1)}}}",
            r"\toprule",
            " & ".join(map(_latex, self.header)) + r" \\",
            r"\midrule",
        ]
        for row, places in self._placed():
            cells = [
                (rf"\cellcolor[gray]{{{_SHADES[place]}}}" if place else "") + _latex(cell)
                for cell, place in zip(row, places, strict=True)
            ]
            # Behind \\ a row must not begin like an option.
            start = "{}" if cells[0].startswith(("[", "*")) else ""
            lines.append(start + " & ".join(cells) + r" \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def _placed(self) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
        """Yield the rows with the place of each cell, 0 where there is none."""
        for i, row in enumerate(self.rows):
            yield row, [0, *self.places[i]] if self.places else [0] * len(row)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text under their heads: the first to the left, the others to the right."""
    lines = [[_one_line(cell) for cell in line] for line in (header, *rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def some_of(names: Sequence[str], most: int) -> str:
    """Return names in a row; of more than so many the first, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def _markdown(cell: str) -> str:
    for special in "\\|*":
        cell = cell.replace(special, "\\" + special)
    return _one_line(cell)


def _latex(cell: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(cell))


def _one_line(cell: str) -> str:
    return " ".join(cell.splitlines()) if "\n" in cell or "\r" in cell else cell
