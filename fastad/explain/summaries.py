"""Numbers that are computed from the points of other scores, and definitions made of both."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fastad.explain.definition import Definition, ScoredRows
from fastad.explain.points import (
    Points,
    best_f1_of,
    roc_area,
    step_area,
    trapezoid_area,
)


@dataclass(frozen=True, slots=True)
class CurveSummary:
    """A number of points, and the measure of fastad that it is taken for."""

    name: str
    measure: str
    compute: Callable[[Points], float]


AUC = CurveSummary("area under the ROC curve", "auc", roc_area)
AP = CurveSummary("average precision", "ap", step_area)
TRAPEZOID = CurveSummary("trapezoid area under the precision-recall curve", "ap", trapezoid_area)
BEST_F1 = CurveSummary("best F1", "f1_best", best_f1_of)
PRECISION_AREAS = (AP, TRAPEZOID)
AREAS = (AUC, AP, TRAPEZOID)


def of_other_points(
    change: Callable[[ScoredRows], Points | None],
    what: str,
    source: str,
    reason: str,
    summaries: Sequence[CurveSummary] = AREAS,
) -> list[Definition]:
    """Return the definitions that read a usual summary from unusual points.

    Parameters
    ----------
    change : callable
        The points; None where they are not to be had.
    what, source, reason : str
        The points' name, libraries or papers that use them, and the reason of the difference.
    summaries : sequence of CurveSummary
        Summaries to compute.
    """

    def computed(summary: CurveSummary) -> Callable[[ScoredRows], float]:
        def compute(rows: ScoredRows) -> float:
            points = change(rows)
            # A change without effect on these rows is no other definition.
            if points is None or points.same_counts(rows.points):
                return np.nan
            return summary.compute(points)

        return compute

    return [
        Definition(f"{each.name} of {what}", source, each.measure, reason, computed(each))
        for each in summaries
    ]
