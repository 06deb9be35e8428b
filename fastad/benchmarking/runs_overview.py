"""``RunsOverview``: all comparisons of a table of results, as text and Markdown."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastad._core.results import NamedParts, TableResult
from fastad._core.text_tables import html_text, some_of
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.benchmarking.reading import problem_noun
from fastad.benchmarking.recommendation import Recommendation
from fastad.benchmarking.result_table import ResultTable

_MAX_NAMES = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunsOverview(NamedParts[str, TableResult]):
    """All comparisons of a table of results by name; prints as text.

    First a summary, then the tables under headings. Each value is the result of the comparison's
    function.

    Attributes
    ----------
    table : ResultTable
        The results that are compared.
    measures : sequence of str
        Keys of the measures that are compared with each other.
    measure : str
        The one by which detectors are compared.
    control : str or None
        Detector that the others were compared with.
    reference : str or None
        Measure from whose ranking distances were taken.
    skipped : mapping of str to str
        The reason why the others could not be made, by name.
    """

    table: ResultTable
    measures: Sequence[str]
    measure: str
    control: str | None
    reference: str | None
    skipped: Mapping[str, str]
    _parts: Mapping[str, TableResult]

    def __repr__(self) -> str:
        return f"<RunsOverview of {self.table!r}: {', '.join(self)}>"

    def __str__(self) -> str:
        parts = ["\n".join(self.answer()), "\n".join(self.notes)]
        for name, notes in self.new_notes().items():
            title = self.title(name)
            lines = [title, "-" * len(title), self[name].text_table().plain(), *notes]
            parts.append("\n".join(lines))
        parts.append("\n".join(self.reasons()))
        return "\n\n".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        parts = [html_text([*self.answer(), *self.notes])]
        for name, notes in self.new_notes().items():
            parts.append(f"<h4>{html.escape(self.title(name))}</h4>")
            parts.append(html_text([self[name].text_table(), *notes]))
        return "\n".join([*parts, html_text(self.reasons())])

    def answer(self) -> list[str]:
        """Return the conclusions of the comparisons, in short.

        The leading detector, those not significantly worse, and the measure to select models
        by; without comparisons that could not be made.

        Returns
        -------
        list of str
        """
        lines = []
        comparison = self.get("nemenyi")
        if isinstance(comparison, RankComparison):
            lines.append(comparison.leaders)
        return lines + [
            result.text for result in self.values() if isinstance(result, Recommendation)
        ]

    def title(self, name: str) -> str:
        """Return the heading of a comparison.

        Parameters
        ----------
        name : str
            Name of a comparison, made or skipped.

        Returns
        -------
        str
        """
        kind, _, argument = name.partition("_tpr@")
        if kind == "recommendation":
            return f"Which measure to select models by, for tpr@{argument}"
        kind, _, criterion = name.partition("loss_at_")
        if criterion:
            return f"Selection loss, with AUC and TPR at the rate that {criterion} selects"
        against = "" if self.control is None else f", against {self.control}"
        return {
            "ranks": "Mean ranks of detectors ± standard deviation over data sets",
            "rank_intervals": f"Ranks by {self.measure} over all data sets like these",
            "friedman": "Whether detectors differ at all: Friedman's test",
            "nemenyi": f"Which detectors differ in mean rank by {self.measure}{against}",
            "wilcoxon": f"Which detectors differ by {self.measure}{against}: Wilcoxon's test",
            "multi_comparison": f"Differences and wins of each two detectors by {self.measure}",
            "values": "Values of detectors on each data set: mean ± standard deviation over folds",
            "kendall": "Rank correlation of measures over models: Kendall's tau",
            "selection_loss": "Selection loss, where one measure selects and another evaluates",
            "class_sensitivity": "Selection loss on other classes of anomalies",
            "discriminability_auc": "False positive rates where models differ by AUC",
            "discriminability_tpr": "False positive rates where models differ by TPR",
            "rank_distance": f"Distance of rankings from that by {self.reference}",
            "recommendation": "Which measure to select models by",
        }[name]

    def notes_of(self, name: str) -> list[str]:
        """Return the notes of a comparison: a summary, and the omissions.

        Parameters
        ----------
        name : str
            Name of a comparison.

        Returns
        -------
        list of str
        """
        result = self[name]
        return [result.text] if isinstance(result, Recommendation) else list(result.notes)

    def new_notes(self) -> dict[str, list[str]]:
        """Return the notes of each comparison that neither an earlier one nor the answer has.

        Returns
        -------
        dict of str to list of str
        """
        seen = {*self.answer(), *self.notes, *self.table.notes}
        new = {}
        for name in self:
            new[name] = [note for note in self.notes_of(name) if note not in seen]
            seen.update(new[name])
        return new

    @property
    def notes(self) -> list[str]:
        """Notes of missing rows and undefined measures.

        A line for all missing rows, and for all measures that lack equally many values.
        """
        notes = self.table.omissions()
        lacking: dict[int, list[str]] = {}
        for key, n in self.table.n_undefined.items():
            if n:
                lacking.setdefault(n, []).append(key)
        for n, keys in lacking.items():
            verb = "is" if len(keys) == 1 else "are"
            named, total = some_of(keys, _MAX_NAMES), self.table.n_rows
            notes.append(f"nan: {named} {verb} undefined in {n} of {total} rows")
        return notes

    def reasons(self) -> list[str]:
        """Return the skipped comparisons, a line for each reason.

        Returns
        -------
        list of str
        """
        together: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            together.setdefault(reason, []).append(name)
        return [f"skipped: {', '.join(names)}: {reason}" for reason, names in together.items()]

    def to_markdown(self, pictures: Mapping[str, str] | None = None) -> str:
        """Return everything as a page in Markdown.

        Parameters
        ----------
        pictures : mapping of str to str, optional
            Address of the picture of a comparison, by name.

        Returns
        -------
        str
        """
        addresses = pictures or {}
        parts = ["# Comparison of runs", _summary(self.table)]
        parts += [_items(self.answer()), _items(self.notes)]
        for name, notes in self.new_notes().items():
            title = self.title(name)
            parts += [f"## {title}", self[name].text_table().markdown().rstrip("\n"), _items(notes)]
            if name in addresses:
                parts.append(f"![{title}]({addresses[name]})")
        if self.skipped:
            parts.append("## Skipped")
            parts.append(_items([f"{name}: {reason}" for name, reason in self.skipped.items()]))
        return "\n\n".join(part for part in parts if part) + "\n"


def _summary(table: ResultTable) -> str:
    counts = {
        f"{problem_noun(table.clusters)}s": table.n_datasets,
        "detectors": len(table.detectors),
        "models": len(table.models),
        "folds": len(table.folds),
    }
    numbers = ", ".join(f"{noun}: {n}" for noun, n in counts.items())
    return (
        f"{numbers}. Of the best three of a column, of ranks and values those of a row, the first "
        "is bold, and the others have ² and ³."
    )


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
