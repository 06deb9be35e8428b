"""``explain``: which definition gives a number that was printed for labels and scores."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.frames import table_columns
from fastad._core.parameters import exact_number, nearest_float, short_repr
from fastad._core.results import Column, Record, ShortRepr, TableResult, attribute_columns
from fastad._core.text_tables import count_text
from fastad._core.types import ArrayLike, IntVector, Label
from fastad.errors import InvalidInputError
from fastad.explain.averages import AVERAGES
from fastad.explain.definition import Definition, Points, ScoredRows
from fastad.explain.thresholds import HARD_LABELS, THRESHOLDS
from fastad.explain.time_order import TIME_ORDER
from fastad.explain.whole_curve import WHOLE_CURVE
from fastad.measures.measure import MeasureLike
from fastad.measures.points import need_both
from fastad.measures.requests import bind, parse_measures, standard_measures
from fastad.ordering.counts import count_scores
from fastad.ordering.groups import make_groups
from fastad.ordering.labels import Labels, Table, check_labels, check_scores

DEFINITIONS: tuple[Definition, ...] = (
    *WHOLE_CURVE,
    *THRESHOLDS,
    *HARD_LABELS,
    *TIME_ORDER,
    *AVERAGES,
)
# Operating points at which numbers are printed.
_RATES = (Fraction(1, 100), Fraction(1, 20), Fraction(1, 10))
_OTHER_KEYS = ("auc_pr", "eer", "f1_best", "precision@n", "fpr@tpr0.95", "auc@0.2", "auc@0.3")
# Others compute in single precision, whatever digits they print.
_FINEST = 5e-7
# A number of fewer decimals, such as 0.5, is taken to have two.
_COARSEST = 5e-3
# Values of one definition that differ by rounding alone.
_ROUNDING = 1e-9
_MOST_DECIMALS = 15


@dataclass(frozen=True, slots=True)
class MatchingDefinition(Record):
    """A definition that gives the number.

    Attributes
    ----------
    name : str
        Definition in a few words.
    source : str
        Libraries or papers that use it.
    reason : str
        Difference from the measure.
    value : float
        Value of the definition on the data.
    measure : str
        Key of the measure of fastad that it is taken for.
    measure_value : float
        The value of that measure on the same data.
    """

    name: str
    source: str
    reason: str
    value: float
    measure: str
    measure_value: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Explanation(ShortRepr, TableResult):
    """Measures and definitions that give a number.

    Frames have a row for each definition that matches, with its attributes.

    Attributes
    ----------
    value : str
        The number as it was written.
    tolerance : float
        Distance that values may have from it: half a unit of its last digit.
    right : mapping of str to float
        Measures of fastad with this value, by their keys.
    matches : sequence of MatchingDefinition
        Definitions of others that give it, the nearest first; empty where it is right.
    n_similar : int
        Where it is right: definitions of others with another value that reads the same in the
        digits of the number.
    measures : mapping of str to float
        The values of all measures that were compared; NaN where one is undefined.
    as_fraction : str or None
        A hundredth of the number, where that has a definition and the number has none: it may have
        been printed in percent.
    """

    value: str
    tolerance: float
    right: Mapping[str, float]
    matches: Sequence[MatchingDefinition]
    n_similar: int
    measures: Mapping[str, float]
    as_fraction: str | None = None

    @property
    def summary(self) -> str:
        """The answer in one sentence."""
        if self.right:
            keys = ", ".join(self.right)
            return f"{self.value} is right: it is {keys} of fastad."
        if not self.matches:
            percent = f" If it is in percent, write {self.as_fraction}." if self.as_fraction else ""
            return f"No definition that is known gives {self.value}.{percent}"
        if len(self.matches) == 1:
            return f"{self.value} is the {self.matches[0].name}."
        return (
            f"{self.value} is given by {len(self.matches)} definitions, which these digits and "
            "data cannot tell apart."
        )

    @property
    def notes(self) -> Sequence[str]:
        """Differences between definitions, and their users: a line each."""
        if self.n_similar:
            return [
                f"{count_text(self.n_similar, 'definition')} of others cannot be excluded: more "
                "digits would tell."
            ]
        names: dict[tuple[str, str], list[str]] = {}
        for match in self.matches:
            names.setdefault((match.reason, match.source), []).append(match.name)
        return [
            f"{'; '.join(alike)}: {reason} ({source})" for (reason, source), alike in names.items()
        ]

    def _declare_table(self) -> list[Column]:
        if self.right or not self.matches:
            values = map(self._digits, self.measures.values())
            return [Column("measure", self.measures, str), Column("fastad", values, str)]
        given = (self._digits(match.value) for match in self.matches)
        beside = (f"{match.measure} {self._digits(match.measure_value)}" for match in self.matches)
        return [
            Column("definition", (match.name for match in self.matches), str),
            Column("value", given, str),
            Column("fastad", beside, str),
        ]

    def _text_above(self) -> str:
        return self.summary

    def _digits(self, value: float) -> str:
        decimals = -Decimal(self.value).as_tuple().exponent  # type: ignore[operator]  # is finite
        return f"{value:.{min(max(decimals, 4), _MOST_DECIMALS)}f}"

    def _declare_columns(self) -> list[Column]:
        names = ("name", "source", "reason", "value", "measure", "measure_value")
        return attribute_columns(self.matches, *names)

    def _content(self) -> dict[str, Any]:
        names = ["value", "tolerance", "right", "matches", "n_similar", "measures"]
        names += [] if self.as_fraction is None else ["as_fraction"]
        return {name: getattr(self, name) for name in names}


def explain(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    value: str | float,
    measure: MeasureLike | None = None,
    groups: ArrayLike | Mapping[str, ArrayLike] | Table | None = None,
    pos_label: Label | None = None,
) -> Explanation:
    """Find the definition by which a printed number was computed from labels and scores.

    The number is compared with the measures of fastad first. Where it is none of them, the
    definitions of other libraries are tried, and common mistakes: scores negated, classes
    exchanged, hard labels for scores, averages over groups.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    value : str or float
        The number, with all known digits: values that round to it match, and values within 5e-7,
        as others compute in single precision. A string keeps zeros at the end.
    measure : str, Measure or BoundMeasure, optional
        Name under which the number was printed, such as ``"auc"`` or ``"ap"``: it is compared
        with this measure and its variants alone. By default with the usual measures.
    groups : array-like of shape (n_samples,), mapping, or table, optional
        Fold, data set or region of each row, over which others may have averaged.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    Explanation
        ``right`` are the measures that have the value; if there are none, ``matches`` are the
        definitions that give it, the nearest first. It prints as the answer with a table.

    Raises
    ------
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    O(n log n) time for n samples, about a hundred times the time of one measure. The rows are taken
    to be in the order of time by those definitions that depend on it.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]
    >>> explanation = fastad.explain.explain(y_true, y_score, value="0.8750")
    >>> match = explanation.matches[0]
    >>> match.name, match.measure, match.measure_value
    ('trapezoid area under the precision-recall curve sorted by recall', 'ap', 1.0)
    """
    text, number, tolerance = _check_value(value)
    if measure is None:
        bound = [*standard_measures(_RATES), *parse_measures(_OTHER_KEYS, ())]
    else:
        bound = [bind(measure, {})]
    labels = check_labels(y_true, pos_label=pos_label)
    scores = check_scores(y_score, labels)
    counts = count_scores(scores, labels)
    need_both(counts, "explain")
    parts: Sequence[IntVector] = ()
    if groups is not None:
        columns = table_columns(groups, "groups") or [("group", groups)]
        parts = _rows_of_groups(dict(columns), labels)
    measures = {one.key: one.value_or_nan(counts) for one in bound}
    definitions = [one for one in DEFINITIONS if one.measure in measures]
    right = {key: x for key, x in measures.items() if abs(x - number) <= tolerance}
    points = Points(counts.fps, counts.tps, counts.thresholds().astype(np.float64))
    rows = ScoredRows(labels.values, scores.astype(np.float64), points, parts)
    # Infinite scores have no mean and no thresholds between them: definitions with these are NaN.
    with np.errstate(all="ignore"):
        values = [float(one.compute(rows)) for one in definitions]
    near = [
        MatchingDefinition(one.name, one.source, one.reason, x, one.measure, measures[one.measure])
        for one, x in zip(definitions, values, strict=True)
        if abs(x - number) <= tolerance
    ]
    if not right:
        matches = tuple(sorted(near, key=lambda match: abs(match.value - number)))
        fraction = None if matches else _as_fraction(text, [*measures.values(), *values])
        return Explanation(text, tolerance, right, matches, 0, measures, fraction)
    similar = [
        match for match in near if all(abs(match.value - x) > _ROUNDING for x in right.values())
    ]
    return Explanation(text, tolerance, right, (), len(similar), measures)


def _check_value(value: str | float) -> tuple[str, float, float]:
    """Return the number as it is written, as a float, and how far values may be from it."""
    if isinstance(value, str):
        text = value.strip()
    else:
        text = repr(nearest_float(exact_number(value, "value")))
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise InvalidInputError(f"value must be a number; found {short_repr(value)}") from None
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or not math.isfinite(number):
        raise InvalidInputError(f"value must be finite; found {short_repr(value)}")
    half_unit = 0.5 * 10.0 ** max(min(exponent, 0), -_MOST_DECIMALS)
    tolerance = min(max(half_unit, _FINEST), _COARSEST)
    # A distance of half a unit in decimals may be an ulp more in floats.
    return text, float(number), tolerance * (1 + _ROUNDING)


def _as_fraction(text: str, values: Sequence[float]) -> str | None:
    """Return a hundredth of a number, as it is written, if that is one of the values."""
    written, fraction, tolerance = _check_value(f"{Decimal(text).scaleb(-2):f}")
    return written if any(abs(x - fraction) <= tolerance for x in values) else None


def _rows_of_groups(columns: Mapping[str, Any], labels: Labels) -> list[IntVector]:
    groups = make_groups(columns, labels)
    rows = (
        np.arange(labels.n_rows)
        if groups.codes is None
        else np.argsort(groups.codes, kind="stable")
    )
    return np.split(rows, groups.starts[1:-1])
