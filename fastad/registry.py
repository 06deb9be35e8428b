"""One row a measure: what everything that treats measures alike reads.

`evaluate`, the command line, the invariance tests and the pages of the documentation go through
these rows; to add a measure is to add its row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Literal

from fastad._validate import check_count, exact_rate
from fastad.errors import InvalidInputError
from fastad.measures import operating, precision, roc

Kind = Literal["value", "threshold", "curve", "counts"]
Classes = Literal["both", "anomalies", "normals", "any"]

_SKVARA = "Škvára, Pevný and Šmídl 2019"
_NING = "Ning et al. 2020"


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of one measure.

    Attributes
    ----------
    name : str
        Public function, and method of `fastad.RankedScores`.
    title : str
        What it is, in a few words.
    label : str
        Short label in tables; with an operating point, what stands before its number.
    compute : callable
        The measure as a function of ordered counts.
    kind : {"value", "threshold", "curve", "counts"}
        What it returns; only values stand in tables.
    operating : str or None
        Parameter that holds the operating point.
    points : tuple or None
        Operating points where a table names none; None where they are the table's ``fpr``.
    standard : bool
        Whether it belongs to the default set of `fastad.evaluate`.
    classes : {"both", "anomalies", "normals", "any"}
        Classes without which it is undefined.
    weights : {"real", "whole"}
        Sample weights that it takes.
    needs : {"all", "prefix"}
        Whether it reads the whole order or only that above an operating point.
    smooth : bool
        Whether a small shift of the scores' distribution moves it little.
    higher_is_better : bool or None
        Direction of merit; None where there is none.
    range : str
        Values that it can take.
    cost : str
        Time beyond the ordering, for g distinct scores.
    source : str
        Where it is defined.
    """

    name: str
    title: str
    label: str
    compute: Callable[..., Any]
    source: str
    kind: Kind = "value"
    operating: str | None = None
    points: tuple[Any, ...] | None = None
    standard: bool = False
    classes: Classes = "both"
    weights: Literal["real", "whole"] = "real"
    needs: Literal["all", "prefix"] = "all"
    smooth: bool = False
    higher_is_better: bool | None = True
    range: str = "[0, 1]"
    cost: str = "O(g)"

    def label_at(self, point: Any) -> str:
        """Return the label at an operating point, None for the default one."""
        if self.operating is None or point is None:
            return self.label
        number = f"{point:d}" if isinstance(point, int) else f"{float(point):g}"
        return f"{self.prefix}{number}"

    @property
    def prefix(self) -> str:
        """What stands before the number of an operating point."""
        return "k".join(self.label.rsplit("n", 1)) if self.operating == "k" else self.label


@dataclass(frozen=True, slots=True)
class Question:
    """A measure at one operating point, under the label that it has in a table."""

    label: str
    measure: Measure
    parameters: Mapping[str, Any] = field(default_factory=dict)


_ROWS = (
    Measure(
        name="roc_auc",
        title="area under the ROC curve",
        label="auc",
        compute=roc.roc_auc,
        source=f"{_SKVARA}, equation (1); {_NING}, ROC_AUC",
        standard=True,
        smooth=True,
    ),
    Measure(
        name="weighted_auc",
        title="area under the ROC curve with weight 1 / FPR",
        label="auc_w",
        compute=roc.weighted_auc,
        source=f"{_SKVARA}, equation (3)",
        standard=True,
        range="[0, ∞)",
    ),
    Measure(
        name="average_precision",
        title="average precision",
        label="ap",
        compute=precision.average_precision,
        source=f"{_NING}, PR_AUC",
        standard=True,
        classes="anomalies",
        smooth=True,
        range="(0, 1]",
    ),
    Measure(
        name="auc_at_fpr",
        title="area under the ROC curve up to a false positive rate",
        label="auc@",
        compute=roc.auc_at_fpr,
        source=f"{_SKVARA}, section 2.2",
        operating="fpr",
        standard=True,
        needs="prefix",
        smooth=True,
    ),
    Measure(
        name="tpr_at_fpr",
        title="true positive rate at a false positive rate",
        label="tpr@",
        compute=roc.tpr_at_fpr,
        source=f"{_SKVARA}, section 2.3",
        operating="fpr",
        standard=True,
        needs="prefix",
        cost="O(log g)",
    ),
    Measure(
        name="precision_at_p",
        title="precision after anomalies were drawn down to a share p",
        label="precision@",
        compute=precision.precision_at_p,
        source=f"{_SKVARA}, equation (4)",
        operating="p",
        standard=True,
        weights="whole",
        cost="O(k) for k drawn anomalies",
    ),
    Measure(
        name="f1_at_fpr",
        title="F1 score of what is flagged at a false positive rate",
        label="f1@",
        compute=operating.f1_at_fpr,
        source=f"{_SKVARA}, equation (5)",
        operating="fpr",
        standard=True,
        needs="prefix",
        cost="O(log g)",
    ),
    Measure(
        name="precision_at_fpr",
        title="precision of what is flagged at a false positive rate",
        label="precision@fpr",
        compute=operating.precision_at_fpr,
        source=f"{_SKVARA}, section 2.5",
        operating="fpr",
        needs="prefix",
        cost="O(log g)",
    ),
    Measure(
        name="fpr_at_tpr",
        title="false positive rate at a true positive rate",
        label="fpr@tpr",
        compute=roc.fpr_at_tpr,
        source=f"{_NING}, section 3.1",
        operating="tpr",
        points=(Fraction(95, 100),),
        higher_is_better=False,
        cost="O(log g)",
    ),
    Measure(
        name="auc_at_tpr",
        title="area beside the ROC curve from a true positive rate on",
        label="auc@tpr",
        compute=roc.auc_at_tpr,
        source="Robin et al. 2011 (pROC), focus on sensitivity",
        operating="min_tpr",
        points=(Fraction(9, 10),),
        smooth=True,
    ),
    Measure(
        name="precision_at_k",
        title="precision among the k highest scores",
        label="precision@n",
        compute=precision.precision_at_k,
        source=f"{_NING}, Table 1; {_SKVARA}, section 1",
        operating="k",
        points=(None,),
        classes="any",
        needs="prefix",
        cost="O(log g)",
    ),
    Measure(
        name="recall_at_k",
        title="recall among the k highest scores",
        label="recall@n",
        compute=precision.recall_at_k,
        source=f"{_NING}, Table 1 (DR)",
        operating="k",
        points=(None,),
        classes="anomalies",
        needs="prefix",
        cost="O(log g)",
    ),
    Measure(
        name="threshold_at_fpr",
        title="threshold at a false positive rate",
        label="threshold@",
        compute=operating.threshold_at_fpr,
        source=f"{_SKVARA}, algorithm 1",
        kind="threshold",
        operating="fpr",
        classes="normals",
        needs="prefix",
        higher_is_better=None,
        range="that of the scores, or +inf",
        cost="O(log g)",
    ),
    Measure(
        name="threshold_at_rate",
        title="threshold for a budget of alerts",
        label="threshold@rate",
        compute=operating.threshold_at_rate,
        source="practice",
        kind="threshold",
        operating="rate",
        classes="any",
        needs="prefix",
        higher_is_better=None,
        range="that of the scores, or +inf",
    ),
    Measure(
        name="roc_curve",
        title="receiver operating characteristic",
        label="roc",
        compute=roc.roc_curve,
        source=f"{_SKVARA}, section 2.1",
        kind="curve",
        higher_is_better=None,
    ),
    Measure(
        name="precision_recall_curve",
        title="precision and recall by falling threshold",
        label="pr",
        compute=precision.precision_recall_curve,
        source=f"{_SKVARA}, section 2.8",
        kind="curve",
        classes="anomalies",
        higher_is_better=None,
    ),
    Measure(
        name="confusion_at",
        title="confusion counts at a threshold or for the k highest scores",
        label="confusion@",
        compute=operating.confusion_at,
        source=f"{_NING}, section 1.1",
        kind="counts",
        operating="threshold",
        classes="any",
        higher_is_better=None,
        range="counts and rates",
    ),
)

MEASURES: Mapping[str, Measure] = MappingProxyType({row.name: row for row in _ROWS})
# Only values stand in tables. Longer prefixes come first: "auc@tpr0.9" is not "auc@".
_VALUES = sorted(
    (row for row in _ROWS if row.kind == "value"), key=lambda row: len(row.prefix), reverse=True
)


def standard_questions(fpr: Sequence[Fraction]) -> list[Question]:
    """Return the default set: what needs no operating point, then the rest for each one."""
    standard = [row for row in _ROWS if row.standard]
    whole = [Question(row.label, row) for row in standard if row.operating is None]
    parts = [_ask(row, x) for x in fpr for row in standard if row.operating is not None]
    return _distinct(whole + parts)


def parse_questions(measures: Sequence[str], fpr: Sequence[Fraction]) -> list[Question]:
    """Read labels ("tpr@0.01") and names ("tpr_at_fpr", at each ``fpr``) of measures."""
    if not measures:
        raise InvalidInputError("measures must name at least one measure; found none")
    return _distinct([question for text in measures for question in _parse(text, fpr)])


def _parse(text: str, fpr: Sequence[Fraction]) -> list[Question]:
    if not isinstance(text, str):
        raise TypeError(f"measures must hold texts; found {type(text).__name__}")
    for row in _VALUES:
        if text == row.name:
            points = fpr if row.points is None else row.points
            return [_ask(row, x) for x in points] if row.operating else [Question(row.label, row)]
        if text == row.label and (row.operating is None or row.points == (None,)):
            return [Question(row.label, row)]
    for row in _VALUES:
        number = text[len(row.prefix) :]
        if row.operating and text.startswith(row.prefix) and number[:1].isdigit():
            return [_ask(row, _read_point(row, number, text))]
    known = ", ".join(row.label_at(_example(row)) for row in _ROWS if row.kind == "value")
    raise InvalidInputError(
        f"measures must hold labels such as {known}, or names of functions that return a value; "
        f"found {text!r}"
    )


def _read_point(row: Measure, number: str, text: str) -> Fraction | int:
    try:
        point = Fraction(number)
    except ValueError:
        raise InvalidInputError(f"measures: {text!r} does not end in a number") from None
    if row.operating != "k":
        return exact_rate(point, f"the operating point of {text!r}")
    whole = point.numerator if point.denominator == 1 else float(point)
    return check_count(whole, f"the operating point of {text!r}")


def _ask(row: Measure, point: Any) -> Question:
    assert row.operating is not None
    return Question(row.label_at(point), row, {} if point is None else {row.operating: point})


def _example(row: Measure) -> Any:
    if row.points is not None:
        return row.points[0]
    return Fraction(1, 100)


def _distinct(questions: list[Question]) -> list[Question]:
    """Leave out repetitions; two points with one label would overwrite each other."""
    seen: dict[str, Question] = {}
    for question in questions:
        known = seen.setdefault(question.label, question)
        if known.parameters != question.parameters:
            raise InvalidInputError(
                f"operating points must differ in six digits; found two for {question.label!r}"
            )
    return list(seen.values())
