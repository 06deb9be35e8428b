"""Which intervals there are for a measure, and which one `auto` takes."""

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

# Of 400 intervals that hold the truth in 95 % of all cases, at least so many do but for bad luck
# (one table in twenty).
_ENOUGH = 0.93
# Mean widths within this factor are alike.
_ALIKE = 1.05


@dataclass(frozen=True, slots=True)
class Coverage:
    """How a method did on generated data.

    Attributes
    ----------
    measure, method : str
        What was asked, and how.
    n_anomalies : int
        Anomalies in each sample.
    auc : float
        True area under the ROC.
    ties : bool
        Whether scores were rounded.
    held : float
        Share of the samples whose interval held the truth.
    width : float
        Mean width of the intervals.
    """

    measure: str
    method: str
    n_anomalies: int
    auc: float
    ties: bool
    held: float
    width: float


def methods_of(asked: BoundMeasure) -> list[str]:
    """Return the methods for a measure, of which the last resorts come last."""
    name = asked.measure.name
    if name in TRIALS:
        return [*BINOMIAL, "bootstrap", "basic"]
    if name in ("tpr_at_fpr", "fpr_at_tpr"):
        return ["order", "bootstrap", "basic"]
    if name in INFLUENCES:
        closed = ["delong"]
        if all(abs(end) < math.inf for end in asked.bounds):
            closed.append("logit")
        if name == "roc_auc":
            closed.append("newcombe")
        return [*closed, *RESAMPLING]
    return ["bootstrap", "basic"]


def check_method(method: str, asked: BoundMeasure) -> None:
    """Raise where a measure has no interval of this method."""
    possible = ["auto", *methods_of(asked)]
    if method not in possible:
        expected = ", ".join(map(repr, possible))
        raise InvalidInputError(
            f"method must be one of {expected} for {asked.measure.name}; found {method!r}",
            argument="method",
        )


def chosen_method(asked: BoundMeasure, counts: OrderedCounts) -> tuple[str, float | None]:
    """Return the method that `auto` takes, and how often it held the truth if that is known."""
    if asked.parameters.get("prevalence") is not None:
        # With another prevalence few points may weigh most, which no cell of the table tried.
        return "bootstrap", None
    possible = methods_of(asked)
    rows = _alike(_table_of(_stands_for(asked)), counts)
    return best_of([row for row in rows if row.method in possible])


def best_of(rows: Sequence[Coverage]) -> tuple[str, float]:
    """Return the best method on generated data, and how often it held the truth.

    Of the methods that held it often enough, with ties and without, one with the narrowest
    intervals: the first in the order of `methods_of`, where closed forms come before resampling.
    If none held it often enough, the one that held it most often.
    """
    methods = list(dict.fromkeys(row.method for row in rows))
    held = {method: min(row.held for row in rows if row.method == method) for method in methods}
    good = [method for method in methods if held[method] >= _ENOUGH]
    if not good:
        best = max(methods, key=lambda method: held[method])
        return best, held[best]
    widths = {method: sum(row.width for row in rows if row.method == method) for method in good}
    narrow = _ALIKE * min(widths.values())
    best = next(method for method in good if widths[method] <= narrow)
    return best, held[best]


@cache
def coverage_table() -> list[Coverage]:
    """Return how every method did for every measure."""
    text = files("fastad.uncertainty").joinpath("coverage.csv").read_text(encoding="utf-8")
    return [
        Coverage(
            row["measure"],
            row["method"],
            int(row["n_anomalies"]),
            float(row["auc"]),
            row["ties"] == "yes",
            float(row["held"]),
            float(row["width"]),
        )
        for row in csv.DictReader(text.splitlines())
    ]


@cache
def _table_of(measure: str) -> list[Coverage]:
    return [row for row in coverage_table() if row.measure == measure]


def _stands_for(asked: BoundMeasure) -> str:
    """Return the measure of the table that is most like the one asked about."""
    name = asked.measure.name
    return "tpr" if name in TRIALS else name


def _alike(rows: Sequence[Coverage], counts: OrderedCounts) -> list[Coverage]:
    """Return the rows with the nearest area under the ROC and no more points of a class."""
    try:
        auc = ROC_AUC.compute(counts)
    except UndefinedMeasureError:
        auc = 0.5
    sizes = {row.n_anomalies for row in rows}
    fewest = min(counts.n_anomalies, counts.n_normals)
    size = max((one for one in sizes if one <= fewest), default=min(sizes))
    rows = [row for row in rows if row.n_anomalies == size]
    area = min((row.auc for row in rows), key=lambda one: abs(one - auc))
    return [row for row in rows if row.auc == area]
