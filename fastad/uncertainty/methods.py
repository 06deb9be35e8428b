"""The interval methods of each measure, and the selection of one by measured coverage."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.rates import TRIALS
from fastad.measures.roc import ROC_AUC
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.closed_forms import BINOMIAL
from fastad.uncertainty.influence import INFLUENCES

RESAMPLING = ("bootstrap", "basic", "bca")
METHODS = ("delong", "logit", "newcombe", "order", *BINOMIAL, *RESAMPLING)

# Of 400 intervals with a coverage of 95 %, at least this fraction covers the true value with
# probability 95 %.
_SUFFICIENT_COVERAGE = 0.93
# Mean widths within this factor count as equal.
_WIDTH_TOLERANCE = 1.05


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage and width of the intervals of a method on generated data.

    Attributes
    ----------
    measure, method : str
        Names of both.
    n_anomalies : int
        Anomalies in each data set.
    auc : float
        True area under the ROC curve.
    ties : bool
        Whether scores were rounded.
    coverage : float
        Fraction of the data sets whose interval covered the true value.
    width : float
        Mean width of the intervals.
    """

    measure: str
    method: str
    n_anomalies: int
    auc: float
    ties: bool
    coverage: float
    width: float


def methods_of(bound: BoundMeasure) -> list[str]:
    """Return the methods for a measure, closed forms before resampling."""
    name = bound.measure.name
    if name in TRIALS:
        return [*BINOMIAL, "bootstrap", "basic"]
    if name in ("tpr_at_fpr", "fpr_at_tpr"):
        return ["order", "bootstrap", "basic"]
    if name in INFLUENCES:
        closed = ["delong"]
        if all(abs(end) < math.inf for end in bound.bounds):
            closed.append("logit")
        if name == "roc_auc":
            closed.append("newcombe")
        return [*closed, *RESAMPLING]
    return ["bootstrap", "basic"]


def check_method(method: str, bound: BoundMeasure) -> None:
    """Raise where a measure has no interval of this method."""
    possible = ["auto", *methods_of(bound)]
    if method not in possible:
        expected = ", ".join(map(repr, possible))
        raise InvalidInputError(
            f"method must be one of {expected} for {bound.measure.name}; found {method!r}",
            argument="method",
        )


def select_method(bound: BoundMeasure, counts: OrderedCounts) -> tuple[str, float | None]:
    """Return the method that `auto` selects, and its coverage where that is known."""
    if bound.parameters.get("prevalence") is not None:
        # With another prevalence a few samples may dominate, which no cell of the table covers.
        return "bootstrap", None
    possible = methods_of(bound)
    name = "tpr" if bound.measure.name in TRIALS else bound.measure.name
    measured = _rows_of(name)
    if not measured:
        return "bootstrap", None
    rows = _nearest_cell(measured, counts)
    return best_method([row for row in rows if row.method in possible])


def best_method(rows: Sequence[Coverage]) -> tuple[str, float]:
    """Return the best method on generated data, and its coverage.

    Of the methods with sufficient coverage, with ties and without, the first (closed forms come
    before resampling) of those with the narrowest intervals. If none has sufficient coverage, the
    method with the highest.
    """
    methods = list(dict.fromkeys(row.method for row in rows))
    coverage = {
        method: min(row.coverage for row in rows if row.method == method) for method in methods
    }
    good = [method for method in methods if coverage[method] >= _SUFFICIENT_COVERAGE]
    if not good:
        best = max(methods, key=lambda method: coverage[method])
        return best, coverage[best]
    widths = {method: sum(row.width for row in rows if row.method == method) for method in good}
    narrowest = _WIDTH_TOLERANCE * min(widths.values())
    best = next(method for method in good if widths[method] <= narrowest)
    return best, coverage[best]


@cache
def coverage_table() -> list[Coverage]:
    """Return the coverage of every method for every measure."""
    text = files("fastad.uncertainty").joinpath("coverage.csv").read_text(encoding="utf-8")
    return [
        Coverage(
            row["measure"],
            row["method"],
            int(row["n_anomalies"]),
            float(row["auc"]),
            row["ties"] == "yes",
            float(row["coverage"]),
            float(row["width"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]


@cache
def _rows_of(measure: str) -> list[Coverage]:
    return [row for row in coverage_table() if row.measure == measure]


def _nearest_cell(rows: Sequence[Coverage], counts: OrderedCounts) -> list[Coverage]:
    """Return the rows with the nearest area under the ROC curve and no more samples of a class."""
    try:
        auc = ROC_AUC.compute(counts)
    except UndefinedMeasureError:
        auc = 0.5
    sizes = {row.n_anomalies for row in rows}
    smallest_class = min(counts.n_anomalies, counts.n_normals)
    size = max((n for n in sizes if n <= smallest_class), default=min(sizes))
    rows = [row for row in rows if row.n_anomalies == size]
    area = min((row.auc for row in rows), key=lambda area: abs(area - auc))
    return [row for row in rows if row.auc == area]
