"""Results of a gate: a row for each requirement and slice, as a table, JSON, JUnit XML."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from fastad._core.results import Column, Record, TableResult
from fastad._core.text_tables import DASH, TextTable, format_p, level_text, number_text
from fastad.uncertainty.comparisons.margin_results import FAIL, PASS, UNDECIDED, MarginTest
from fastad.uncertainty.comparisons.planned_power import GatePower

# What a process ends with.
EXIT_CODES: Mapping[str, int] = {PASS: 0, FAIL: 1, UNDECIDED: 3}


@dataclass(frozen=True, slots=True)
class GateRow(Record):
    """One requirement, on all rows or in one slice.

    Attributes
    ----------
    requirement : str
        The condition in words.
    slice_column, slice_value : str
        Column and value of the slice; empty for all rows.
    verdict : {"pass", "fail", "not enough data", "skip"}
        Its verdict, which allows for the number of slices.
    reason : str
        Why there is no verdict, or none but this; else empty.
    test : MarginTest or None
        The test; None where there are too few samples.
    adjusted_p_value : float
        p-value of the hypothesis that the condition holds, adjusted for the number of slices
        (Holm); NaN without a test.
    """

    requirement: str
    slice_column: str
    slice_value: str
    verdict: str
    reason: str
    test: MarginTest | None
    adjusted_p_value: float = math.nan

    @property
    def place(self) -> str:
        """The slice as a string; empty for all rows."""
        return f"{self.slice_column} {self.slice_value}" if self.slice_column else ""

    @property
    def room(self) -> float:
        """How far the bound lies inside the accepted range; negative outside, NaN without test."""
        if self.test is None:
            return math.nan
        low, high = self.test.accepted
        return min(self.test.low - low, high - self.test.high)


class GateResult(TableResult):
    """Whether a new detector may replace the old one; prints as a table.

    Frames have a row for each requirement and slice: ``requirement``, ``slice_column``, ``slice``,
    ``new``, ``old``, ``estimate``, ``low``, ``high``, ``p_value``, ``p_value_inside``,
    ``adjusted_p_value``, ``n_anomalies``, ``n_normals``, ``verdict`` and ``reason``.

    Attributes
    ----------
    rows : sequence of GateRow
        All of them.
    confidence_level : float
        Confidence level of each bound.
    """

    __slots__ = ("confidence_level", "rows")

    def __init__(self, rows: Sequence[GateRow], confidence_level: float) -> None:
        self.rows = rows
        self.confidence_level = confidence_level

    def __repr__(self) -> str:
        return f"<GateResult of {len(self.rows)} rows, {self.verdict}>"

    @property
    def verdict(self) -> str:
        """``"fail"`` if a row fails, else ``"not enough data"`` if one has no verdict."""
        verdicts = {row.verdict for row in self.rows}
        return next((each for each in (FAIL, UNDECIDED) if each in verdicts), PASS)

    @property
    def exit_code(self) -> int:
        """What ``fastad gate`` ends with: 0 for pass, 1 for fail, 3 for not enough data."""
        return EXIT_CODES[self.verdict]

    @property
    def worst_slices(self) -> list[GateRow]:
        """The slice of each requirement whose bound is farthest out."""
        worst: dict[tuple[str, str], GateRow] = {}
        for row in self.rows:
            if not row.slice_column or row.test is None:
                continue
            key = row.requirement, row.slice_column
            if key not in worst or row.room < worst[key].room:
                worst[key] = row
        return list(worst.values())

    @property
    def notes(self) -> Sequence[str]:
        """The worst slice of each requirement, and why rows have no verdict."""
        return [
            *(
                f"worst slice, {row.requirement}: {row.place}: {_estimate_text(row.test)}"
                for row in self.worst_slices
            ),
            *(
                f"{row.requirement}{', ' * bool(row.place)}{row.place}: {row.reason}"
                for row in self.rows
                if row.reason
            ),
        ]

    def _declare_columns(self) -> Iterator[Column]:
        rows, tests = self.rows, [row.test for row in self.rows]

        def numbers(value: Any) -> list[float]:
            return [math.nan if test is None else value(test) for test in tests]

        new, old = (
            numbers(lambda test, i=i: test.values[i] if i < len(test.values) else math.nan)
            for i in range(2)
        )
        yield Column("requirement", [row.requirement for row in rows], str)
        yield Column("slice_column", [row.slice_column for row in rows])
        yield Column("slice", [row.slice_value for row in rows])
        yield Column(None, [row.place or "all rows" for row in rows], str, "rows")
        yield Column("new", new, ".4f")
        yield Column("old", old, ".4f")
        for name in ("estimate", "low", "high", "p_value", "p_value_inside"):
            yield Column(name, numbers(lambda test, name=name: getattr(test, name)))
        yield Column("adjusted_p_value", [row.adjusted_p_value for row in rows])
        for name in ("n_anomalies", "n_normals"):
            cells = numbers(lambda test, name=name: min(getattr(test, name)))
            yield Column(name, cells)
        bounds = [DASH if test is None else test.bound_text for test in tests]
        yield Column(None, bounds, str, f"{level_text(self.confidence_level)} bound")
        p_values = [
            DASH
            if row.test is None
            else format_p(row.adjusted_p_value if row.verdict == FAIL else row.test.p_value)
            for row in rows
        ]
        yield Column(None, p_values, str, "p")
        yield Column("verdict", [row.verdict for row in rows], str)
        yield Column("reason", [row.reason for row in rows])

    def _blocks(self) -> list[TextTable | str]:
        return [f"gate: {self.verdict}", "", *super()._blocks()]

    def _content(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "confidence_level": self.confidence_level,
            "worst_slices": [row.to_dict() for row in self.worst_slices],
            "rows": [row.to_dict() for row in self.rows],
        }

    def to_markdown(
        self, *, digits: int | None = None, columns: Sequence[str] | None = None
    ) -> str:
        """Return the verdict, and the table in Markdown, for a pull request.

        Parameters
        ----------
        digits, columns : optional
            Decimals of the values, and heads of the columns, as for other tables.

        Returns
        -------
        str
            Markdown.
        """
        return f"**Gate: {self.verdict}**\n\n" + super().to_markdown(digits=digits, columns=columns)

    def to_junit(self) -> str:
        """Return JUnit XML: a test case for each row; what has no verdict is an error.

        Returns
        -------
        str
            XML.
        """
        verdicts = [row.verdict for row in self.rows]
        suite = ElementTree.Element(
            "testsuite",
            name="fastad gate",
            tests=str(len(verdicts)),
            failures=str(verdicts.count(FAIL)),
            errors=str(verdicts.count(UNDECIDED)),
            skipped=str(len(verdicts) - sum(map(verdicts.count, EXIT_CODES))),
        )
        tags = {FAIL: "failure", UNDECIDED: "error"}
        for row in self.rows:
            name = f"{row.requirement}{', ' * bool(row.place)}{row.place}"
            case = ElementTree.SubElement(suite, "testcase", classname="fastad.gate", name=name)
            text = row.reason or ("" if row.test is None else row.test.summary)
            if row.verdict != PASS:
                tag = tags.get(row.verdict, "skipped")
                ElementTree.SubElement(case, tag, message=row.verdict).text = text
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _estimate_text(test: MarginTest | None) -> str:
    if test is None:
        return DASH
    return (
        f"{' - '.join(test.names)} = {number_text(test.estimate)} "
        f"[{number_text(test.low)}, {number_text(test.high)}]"
    )


class PolicyPower(TableResult):
    """The power of each margin of a policy; prints as a table.

    Attributes
    ----------
    rows : sequence of (str, str, GatePower)
        Requirement, slice, and its power.
    """

    __slots__ = ("_notes", "rows")

    def __init__(self, rows: Sequence[tuple[str, str, GatePower]], notes: Sequence[str]) -> None:
        self.rows = rows
        self._notes = notes

    def _declare_columns(self) -> Iterator[Column]:
        powers = [row[2] for row in self.rows]
        yield Column("requirement", [row[0] for row in self.rows], str)
        yield Column("rows", [row[1] or "all rows" for row in self.rows], str)
        yield Column("loss", [each.loss for each in powers], "g")
        yield Column("n_anomalies", [each.n_anomalies for each in powers], "d", "anomalies")
        yield Column("n_normals", [each.n_normals for each in powers], "d", "normals")
        yield Column("power", [each.power for each in powers], ".2f")
        yield Column("standard_error", [each.standard_error for each in powers])
        needed = [each.required_anomalies or math.nan for each in powers]
        yield Column("required_anomalies", needed, ".0f", "anomalies for 0.8")
        needed = [each.required_normals or math.nan for each in powers]
        yield Column("required_normals", needed, ".0f", "normals for 0.8")
