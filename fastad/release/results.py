"""Results of a gate: a row for each requirement and slice, as a table, JSON, JUnit XML."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np

from fastad._core.results import Column, Record, TableResult
from fastad._core.text_tables import DASH, format_p, level_text, number_text
from fastad.uncertainty.comparisons.margin_results import FAIL, PASS, SKIP, UNDECIDED, MarginTest
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
        return f"{self.slice_column} {self.slice_value}".rstrip()

    @property
    def title(self) -> str:
        """The requirement and the slice."""
        return f"{self.requirement}, {self.place}" if self.place else self.requirement

    def _attribute(self, name: str) -> Any:
        """Return an attribute of the test; NaN where there is none."""
        return math.nan if self.test is None else getattr(self.test, name)


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
        """``"fail"`` if a row fails; ``"pass"`` if one passes and no other is without verdict."""
        verdicts = {row.verdict for row in self.rows}
        return next((each for each in (FAIL, UNDECIDED, PASS) if each in verdicts), UNDECIDED)

    @property
    def exit_code(self) -> int:
        """What ``fastad gate`` ends with: 0 for pass, 1 for fail, 3 for not enough data."""
        return EXIT_CODES[self.verdict]

    @property
    def worst_slices(self) -> list[GateRow]:
        """The slice of each requirement whose bound is farthest out."""
        worst: dict[tuple[str, str], tuple[float, GateRow]] = {}
        for row in self.rows:
            if row.slice_column and row.test is not None:
                low, high = row.test.accepted
                ends = ((low, row.test.low - low), (high, high - row.test.high))
                room = min(distance for end, distance in ends if math.isfinite(end))
                key = row.requirement, row.slice_column
                if key not in worst or room < worst[key][0]:
                    worst[key] = room, row
        return [row for _, row in worst.values()]

    @property
    def notes(self) -> Sequence[str]:
        """The worst slice of each requirement, and why rows have no verdict."""
        notes = []
        for row in self.worst_slices:
            names = " - ".join(row._attribute("names"))
            estimate, *ends = (number_text(row._attribute(x)) for x in ("estimate", "low", "high"))
            interval = f"{names} = {estimate} [{', '.join(ends)}]"
            notes.append(f"worst slice, {row.requirement}: {row.place}: {interval}")
        return notes + [f"{row.title}: {row.reason}" for row in self.rows if row.reason]

    def _declare_columns(self) -> Iterator[Column]:
        rows = self.rows
        values = [
            (*(() if row.test is None else row.test.values), math.nan, math.nan) for row in rows
        ]
        p_values = [
            row.adjusted_p_value if row.verdict == FAIL else row._attribute("p_value")
            for row in rows
        ]
        yield Column("requirement", [row.requirement for row in rows], str)
        yield Column("slice_column", [row.slice_column for row in rows])
        yield Column("slice", [row.slice_value for row in rows])
        yield Column(None, [row.place or "all rows" for row in rows], str, "rows")
        yield Column("new", [each[0] for each in values], ".4f")
        yield Column("old", [each[1] for each in values], ".4f")
        for name in ("estimate", "low", "high", "p_value", "p_value_inside"):
            yield Column(name, [row._attribute(name) for row in rows])
        yield Column("adjusted_p_value", [row.adjusted_p_value for row in rows])
        for name in ("n_anomalies", "n_normals"):
            yield Column(name, [np.min(row._attribute(name)).item() for row in rows])
        bounds = [DASH if row.test is None else row.test.bound_text for row in rows]
        yield Column(None, bounds, str, f"{level_text(self.confidence_level)} bound")
        yield Column(None, p_values, format_p, "p")
        yield Column("verdict", [row.verdict for row in rows], str)
        yield Column("reason", [row.reason for row in rows])

    def _text_above(self) -> str:
        return f"gate: {self.verdict}"

    def _content(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "confidence_level": self.confidence_level,
            "worst_slices": [row.to_dict() for row in self.worst_slices],
            "rows": [row.to_dict() for row in self.rows],
        }

    def _markdown_head(self) -> str:
        return f"**Gate: {self.verdict}**\n\n"

    def to_junit(self) -> str:
        """Return JUnit XML: a test case for each row; what has no verdict is an error.

        Returns
        -------
        str
            XML.
        """
        verdicts = [row.verdict for row in self.rows]
        tags = {FAIL: "failure", UNDECIDED: "error", SKIP: "skipped"}
        suite = ElementTree.Element(
            "testsuite",
            name="fastad gate",
            tests=str(len(verdicts)),
            failures=str(verdicts.count(FAIL)),
            errors=str(verdicts.count(UNDECIDED)),
            skipped=str(verdicts.count(SKIP)),
        )
        for row in self.rows:
            case = ElementTree.SubElement(
                suite, "testcase", classname="fastad.gate", name=row.title
            )
            if row.verdict != PASS:
                why = ElementTree.SubElement(case, tags[row.verdict], message=row.verdict)
                why.text = row.reason or ("" if row.test is None else row.test.summary)
        ElementTree.indent(suite)
        return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


class PolicyPower(TableResult):
    """The power of each margin and limit of a policy; prints as a table.

    Attributes
    ----------
    rows : sequence of (str, str, GatePower)
        Requirement, slice, and its power.
    """

    __slots__ = ("_notes", "rows")

    def __init__(self, rows: Sequence[tuple[str, str, GatePower]], notes: Sequence[str]) -> None:
        self.rows = rows
        self._notes = notes

    def __repr__(self) -> str:
        return f"<PolicyPower of {len(self.rows)} rows>"

    def _declare_columns(self) -> Iterator[Column]:
        powers = [row[2] for row in self.rows]
        yield Column("requirement", [row[0] for row in self.rows], str)
        yield Column("rows", [row[1] or "all rows" for row in self.rows], str)
        yield Column("loss", [each.loss for each in powers], "g")
        for noun in ("anomalies", "normals"):
            yield Column(f"n_{noun}", [getattr(each, f"n_{noun}") for each in powers], "d", noun)
        yield Column("power", [each.power for each in powers], ".2f")
        yield Column("standard_error", [each.standard_error for each in powers])
        for noun in ("anomalies", "normals"):
            needed = [getattr(each, f"required_{noun}") or math.nan for each in powers]
            yield Column(f"required_{noun}", needed, ".0f", f"{noun} for 0.8")
