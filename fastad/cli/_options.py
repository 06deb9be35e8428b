"""Options that several commands have, and help in sections, with whole lines."""

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from typer.core import TyperGroup

from fastad._core.types import Blocks

# Spellings of the option that prints help.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}


def read_count(text: str | int) -> int:
    """Return an integer of at least 1, which may be written as a float: 1e6."""
    try:
        number = int(text) if str(text).isdecimal() else float(text)
        if number == int(number) >= 1:
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"must be an integer of at least 1; found {text!r}")


def count_option(text: str) -> Any:
    """Return the option of an integer of at least 1, with its help."""
    return typer.Option(parser=read_count, metavar="<int>", help=text)


_FORMATS = ".csv, .csv.gz, .npz, .parquet, .arrow; - for the standard input."
OneFile: TypeAlias = Annotated[Path, typer.Argument(metavar="FILE", help=f"Table: {_FORMATS}")]
Files: TypeAlias = Annotated[
    list[Path], typer.Argument(metavar="FILE…", help=f"Tables: {_FORMATS}")
]
LabelColumn: TypeAlias = Annotated[
    str, typer.Option(help="Column of the labels: 1 for an anomaly, 0 for a normal sample.")
]
PosLabel: TypeAlias = Annotated[
    str | None, typer.Option(help="Label of the anomalies where labels are not 0 and 1.")
]
ScoreColumn: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of scores, higher is more anomalous; may be repeated. "
        "By default all other columns of numbers but an index, a constant or a fold."
    ),
]
Rates: TypeAlias = Annotated[
    list[float] | None,
    typer.Option(
        help="False positive rate of interest; may be repeated. By default 0.01 and 0.05."
    ),
]
ConfidenceLevel: TypeAlias = Annotated[
    float, typer.Option(help="Confidence level of the intervals, in (0, 1).")
]
Resamples: TypeAlias = Annotated[int, count_option("Number of resamples, or of permutations.")]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]
AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables and text.")
]
Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Save to a .csv, .json, .parquet, .arrow, .md, .tex or .html file too."),
]
Model: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(help="Fitted detector, saved with joblib; may be repeated. Needs --trust."),
]
Trust: TypeAlias = Annotated[
    bool, typer.Option("--trust", help="Load --model, which runs whatever code is in the file.")
]
Standardize: TypeAlias = Annotated[
    bool, typer.Option("--standardize", help="Standardise the features before fitting.")
]
Feature: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Column of a feature; may be repeated. By default every other column, of an "
        ".npz file the matrix X."
    ),
]
Clusters: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Column of a user, device or session whose rows may depend on each other."),
]
BlockLength: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Rows are in the order of time: mean length of blocks that depend on each other, or "
        "auto."
    ),
]


def block_length(text: str | None) -> Blocks | None:
    """Read the length of blocks."""
    if text is None or text == "auto":
        return text  # type: ignore[return-value]  # the only string
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(
            f"must be an integer, or auto; found {text!r}", param_hint="--blocks"
        ) from None


class SectionedGroup(TyperGroup):
    """Commands below the title of their section, where Typer would cut their lines off."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each section, in the order of its first command."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            command = self.commands[name]
            line = str(command.help).partition("\n\n")[0]
            title = getattr(command, "rich_help_panel", None) or "Commands"
            # Of one width, so that the lines of all sections begin below each other.
            sections.setdefault(title, []).append((name.ljust(width), line))
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
