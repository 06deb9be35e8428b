"""Anomalies hidden among the normals: the counts as they would be if these were labelled.

A fraction pi of the samples that are labelled normal are undiscovered anomalies, with scores
distributed as the labelled ones' scores. The observed false positive rate is then FPR' =
(1 - pi) FPR + pi TPR at each threshold (Scott 2015; Menon et al. 2015, section 4), so that

    FPR = (FPR' - pi TPR) / (1 - pi),

and the area AUC = (AUC' - pi / 2) / (1 - pi). The TPR is the labelled anomalies' TPR. In counts:
pi m hidden anomalies leave the m normals, spread over the scores as the labelled anomalies are, and
join these. The number of points stays, so that precision, too, belongs to the true labels.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

from fastad._core.parameters import exact_number, short_repr
from fastad._core.types import Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.flagged import points_flagged
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import last_within
from fastad.measures.rates import RATES
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.hidden import ALPHA, ContaminatedCounts, largest_contamination

Result = TypeVar("Result")

# Beside measures that rise with the curve, functions of the curve and of the classes' sizes.
_OTHERS = (
    *("roc_curve", "det_curve", "precision_recall_curve", "threshold_at_fpr"),
    *("confusion_at", *RATES),
)
# Between two anomalies these only see that the curve is horizontal.
_OF_CORNERS = (
    *("auc_at_fpr", "auc_at_tpr", "log_auc", "tpr_at_fpr", "fpr_at_tpr", "equal_error_rate"),
    *("average_precision", "pr_auc"),
)
# Standard deviations within which numbers of hidden anomalies are compatible with the data.
_DEVIATIONS = 2


def check_contamination(value: Point, name: str = "contamination") -> Fraction:
    """Check a fraction of anomalies among the normals, in [0, 1)."""
    fraction = exact_number(value, name)
    if not 0 <= fraction < 1:
        raise InvalidInputError(f"{name} must lie in [0, 1); found {short_repr(value)}")
    return fraction


def check_contamination_range(
    value: Point | tuple[Point, Point] | None,
) -> tuple[Fraction, Fraction]:
    """Check a fraction of anomalies among the normals, or the lowest and the highest; None is 0."""
    if not isinstance(value, tuple | list):
        fraction = check_contamination(0 if value is None else value)
        return fraction, fraction
    if len(value) != 2:
        raise InvalidInputError(
            "contamination must be a number or a pair (lowest, highest); found "
            f"{len(value)} entries"
        )
    low, high = (check_contamination(x, f"contamination[{i}]") for i, x in enumerate(value))
    if low > high:
        raise InvalidInputError(
            "contamination must not fall from its lowest to its highest; found "
            f"{float(low):g} > {float(high):g}"
        )
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedMeasure(Measure[Result]):
    """A measure of the counts as they would be without hidden anomalies among the normals.

    It has another name than the measure of counts as they are, for which alone the influences, the
    coverage of intervals and the part of the curve that is read are known.
    """

    # The measure of counts as they are.
    plain: Measure[Any] = None  # type: ignore[assignment]
    contamination: Fraction = Fraction(0)  # fraction of anomalies among the normals


def corrected_measure(measure: Measure[Result], contamination: Fraction) -> Measure[Result]:
    """Return the corrected form of a measure; refuse one for which none is derived.

    The measure itself where nothing is hidden.
    """
    if not contamination:
        return measure
    name = measure.name
    if not (measure.rises_with_curve or name in _OTHERS):
        raise InvalidInputError(
            f"contamination must not be given for {name}: no correction is derived; found "
            f"{float(contamination):g}"
        )
    facts = {field.name: getattr(measure, field.name) for field in fields(Measure)}
    facts |= {
        "name": f"corrected {name}",
        "compute": partial(_compute_corrected, measure=measure, contamination=contamination),
        "curve_part": None,
        "from_order": None,
        "slopes": None,
        "monotone": False,
        "rises_with_curve": False,
        "extremes": "ranges of scores do not tell where hidden anomalies are",
    }
    return CorrectedMeasure(**facts, plain=measure, contamination=contamination)


def corrected(
    bound: BoundMeasure, contamination: Fraction, *, or_undefined: bool = False
) -> BoundMeasure:
    """Return a measure with its parameters, corrected.

    Where no correction is derived it is refused, or undefined: in tables that nobody chose.
    """
    try:
        measure = corrected_measure(bound.measure, contamination)
        return bound if measure is bound.measure else replace(bound, measure=measure)
    except InvalidInputError:
        if not or_undefined:
            raise
        reason = f"{bound.measure.name} is undefined for hidden anomalies: no correction is derived"
        measure = replace(
            bound.measure,
            name=f"uncorrected {bound.measure.name}",
            compute=partial(_undefined, reason=reason),
            from_order=None,
            slopes=None,
            rises_with_curve=False,
        )
        return replace(bound, measure=measure)


def _undefined(counts: OrderedCounts, *, reason: str, **parameters: Any) -> float:
    raise UndefinedMeasureError(reason)


def _compute_corrected(
    counts: OrderedCounts, *, measure: Measure[Any], contamination: Fraction, **parameters: Any
) -> Any:
    """Return a measure of the counts without hidden anomalies."""
    observed = ContaminatedCounts.of(counts, contamination)
    value = measure.compute(corrected_counts(observed, measure, parameters), **parameters)
    return corrected_area(value, contamination) if measure.name == "roc_auc" else value


def corrected_counts(
    counts: OrderedCounts, measure: Measure[Any], parameters: Mapping[str, Any]
) -> OrderedCounts:
    """Return the counts without hidden anomalies, at the points that a measure reads.

    Counts without hidden anomalies stay as they are, and so do counts for the area, which is linear
    in the rates: the area itself is corrected, without a curve that rises.
    """
    if not isinstance(counts, ContaminatedCounts) or measure.name == "roc_auc":
        return counts
    if parameters.get("threshold") is not None:
        return counts.at(points_flagged(counts, parameters["threshold"]))
    if measure.name in _OF_CORNERS:
        return counts.corners()
    part = None if measure.curve_part is None else measure.curve_part(parameters)
    return counts.all_points() if part is None else counts.around(part)


def corrected_area(area: float, contamination: Fraction) -> float:
    """Return the area under the ROC curve without hidden anomalies, within its range."""
    fraction = float(contamination)
    return min(max((area - fraction / 2) / (1 - fraction), 0.0), 1.0)


def observed_area(bound: BoundMeasure) -> BoundMeasure:
    """Return the area as it is observed for a corrected one, other measures as they are."""
    measure = bound.measure
    if isinstance(measure, CorrectedMeasure) and measure.plain.name == "roc_auc":
        return replace(bound, measure=measure.plain)
    return bound


def refuse_impossible(counts: OrderedCounts, contamination: Fraction) -> None:
    """Raise where the data refute a fraction of hidden anomalies."""
    if contamination == 0:
        return
    largest = largest_contamination(counts)
    if contamination > largest:
        raise InvalidInputError(
            "contamination must not exceed what the data allow: fewer normal samples score as high "
            "as anomalies than so many hidden ones would, and the fraction is at most "
            f"{largest:.4g} (confidence {1 - ALPHA:g}); found {float(contamination):g}"
        )


def refuse_unidentified(
    counts: OrderedCounts, measure: Measure[Any], parameters: Mapping[str, Any]
) -> None:
    """Raise where the hidden anomalies outnumber the normals that may be flagged at an FPR.

    Beside x (1 - pi) m normals, h = pi m TPR hidden anomalies are flagged, a binomial number, and
    h itself is known to pi m times the standard error of the TPR. Where the normals are fewer than
    two standard deviations of it, the data do not tell the FPR from 0. Real weights, which have no
    unit, count as many samples as there are rows.
    """
    fpr = parameters.get("fpr", parameters.get("min_fpr"))
    if not isinstance(counts, ContaminatedCounts) or fpr is None or not 0 < fpr < 1:
        return
    unit = float(counts.total) / counts.n_points if counts.weighting == "real" else 1.0
    n, m = float(counts.n_anomalies) / unit, float(counts.n_normals) / unit
    rising = counts.corners()
    point = last_within(rising.fps, fpr * Fraction(rising.n_normals))
    tpr = float(rising.tps[point]) / float(rising.n_anomalies)
    fraction = float(counts.contamination)
    variance = fraction * m * tpr * (1 - fraction * tpr)
    variance += (fraction * m) ** 2 * tpr * (1 - tpr) / n
    deviation = math.sqrt(variance)
    n_flagged = float(fpr) * (1 - fraction) * m
    if n_flagged < _DEVIATIONS * deviation:
        lowest = _DEVIATIONS * deviation / ((1 - fraction) * m)
        name = measure.plain.name if isinstance(measure, CorrectedMeasure) else measure.name
        raise UndefinedMeasureError(
            f"{name} is undefined at contamination {fraction:g}: not identified, because about "
            f"{fraction * m * tpr:.4g} ± {deviation:.2g} hidden anomalies are flagged beside "
            f"{n_flagged:.3g} normals at FPR {float(fpr):g}; these samples resolve FPR "
            f"{lowest:.2g} and above"
        )
