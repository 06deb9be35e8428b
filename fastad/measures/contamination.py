"""Anomalies hidden among the normals: the counts as they would be if these were labelled.

Of the samples that are labelled normal a fraction pi are anomalies that nobody found, with scores
distributed as those of the labelled ones. The observed false positive rate is then FPR' =
(1 - pi) FPR + pi TPR at each threshold (Scott 2015; Menon et al. 2015, section 4), so that

    FPR = (FPR' - pi TPR) / (1 - pi),

and the area AUC = (AUC' - pi / 2) / (1 - pi). The TPR is that of the labelled anomalies. In counts:
pi m hidden anomalies leave the m normals, spread over the scores as the labelled anomalies are, and
join these. No number of points changes, so that precision, too, is that of the true labels.
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
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import last_within
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.hidden import ALPHA, CorrectedCounts, largest_contamination

Result = TypeVar("Result")

NOTHING_HIDDEN = Fraction(0), Fraction(0)
# Linear in the rates, or read at a threshold: right without a curve that rises.
_AS_IS = ("roc_auc", *RATES)
# Beside measures that rise with the curve, these are functions of it and of the classes' sizes.
_CURVES = ("roc_curve", "det_curve", "precision_recall_curve", "threshold_at_fpr")
# Between two anomalies these only see that the curve is horizontal.
_OF_CORNERS = (
    *("auc_at_fpr", "auc_at_tpr", "log_auc", "tpr_at_fpr", "fpr_at_tpr", "equal_error_rate"),
    *("average_precision", "pr_auc"),
)
# Numbers of hidden anomalies within so many standard deviations are compatible with the data.
_DEVIATIONS = 2


def check_contamination(value: Point, name: str = "contamination") -> Fraction:
    """Check a fraction of anomalies among the normals, in [0, 1)."""
    fraction = exact_number(value, name)
    if not 0 <= fraction < 1:
        raise InvalidInputError(
            f"{name} must lie in [0, 1); found {short_repr(value)}", argument=name
        )
    return fraction


def check_contamination_range(
    value: Point | tuple[Point, Point], name: str = "contamination"
) -> tuple[Fraction, Fraction]:
    """Check a fraction of anomalies among the normals, or the lowest and the highest."""
    if not isinstance(value, tuple | list):
        fraction = check_contamination(value, name)
        return fraction, fraction
    if len(value) != 2:
        raise InvalidInputError(
            f"{name} must be a number or a pair (lowest, highest); found {len(value)} entries",
            argument=name,
        )
    low, high = (check_contamination(x, f"{name}[{i}]") for i, x in enumerate(value))
    if low > high:
        raise InvalidInputError(
            f"{name} must not fall from its lowest to its highest; found {float(low):g} > "
            f"{float(high):g}",
            argument=name,
        )
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedMeasure(Measure[Result]):
    """A measure of the counts as they would be without hidden anomalies among the normals.

    Attributes
    ----------
    plain : Measure
        The measure of counts as they are.
    contamination : Fraction
        Fraction of anomalies among the normals.
    """

    plain: Measure[Any] = None  # type: ignore[assignment]
    contamination: Fraction = Fraction(0)

    @classmethod
    def of_measure(
        cls, measure: Measure[Result], contamination: Fraction
    ) -> "CorrectedMeasure[Result]":
        """Return the corrected form of a measure; refuse one for which none is derived."""
        name = measure.name
        if not (measure.rises_with_curve or name in (*_AS_IS, *_CURVES)):
            raise InvalidInputError(
                f"contamination must not be given for {name}: no correction is derived for a "
                "measure that is not a function of the ROC curve and the classes' sizes alone; "
                f"found {float(contamination):g}",
                argument="contamination",
            )
        facts = {field.name: getattr(measure, field.name) for field in fields(Measure)}
        # Under another name, because what is known of a measure by its name is of counts as they
        # are: its influences, its intervals' coverage, the part of the curve that it reads.
        facts |= {
            "name": f"corrected {name}",
            "compute": partial(_corrected_value, measure=measure, contamination=contamination),
            "reads_values": measure.reads_values,
            "curve_part": None,
            "from_order": None,
            "slopes": None,
            "monotone": False,
            "rises_with_curve": False,
            "extremes": "ranges of scores do not tell where hidden anomalies are",
        }
        return cls(**facts, plain=measure, contamination=contamination)


def corrected(bound: BoundMeasure, contamination: Fraction) -> BoundMeasure:
    """Return a measure with its parameters, corrected; as it is where nothing is hidden."""
    if contamination == 0:
        return bound
    return replace(bound, measure=CorrectedMeasure.of_measure(bound.measure, contamination))


def corrected_or_undefined(bound: BoundMeasure, contamination: Fraction) -> BoundMeasure:
    """Return the same, undefined where no correction is derived: for tables nobody chose."""
    try:
        return corrected(bound, contamination)
    except InvalidInputError:
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


def _undefined(counts: OrderedCounts | CorrectedCounts, *, reason: str, **parameters: Any) -> float:
    raise UndefinedMeasureError(reason)


def corrected_value(
    counts: CorrectedCounts, measure: Measure[Any], parameters: Mapping[str, Any]
) -> Any:
    """Return a corrected measure, given its checked parameters, where it is identified."""
    correction = CorrectedMeasure.of_measure(measure, counts.contamination)
    fpr = parameters.get("fpr", parameters.get("min_fpr"))
    refuse_unidentified(counts, fpr, counts.contamination, measure.name)
    return correction.compute(counts, **parameters)


def _corrected_value(
    counts: OrderedCounts | CorrectedCounts,
    *,
    measure: Measure[Any],
    contamination: Fraction,
    **parameters: Any,
) -> Any:
    """Return a measure of the corrected counts; a number within its range.

    The area and rates at a threshold follow from those of the counts as they are, and are unbiased
    but for their range.
    """
    if isinstance(counts, OrderedCounts):
        counts = CorrectedCounts(counts, contamination)
    observed = counts.counts
    if observed.n_anomalies == 0 or observed.n_normals == 0:
        # Refused in the measure's own words.
        return measure.compute(observed, **parameters)
    if measure.name not in _AS_IS:
        return measure.compute(_points_for(measure, counts, parameters), **parameters)
    value = measure.compute(observed, **parameters)
    fraction = float(contamination)
    if measure.name == "roc_auc":
        return min(max((value - fraction / 2) / (1 - fraction), 0.0), 1.0)
    return rate_of(
        measure.name,
        confusion_without_hidden(counts, confusion_at_threshold(observed, parameters["threshold"])),
    )


def _points_for(
    measure: Measure[Any], counts: CorrectedCounts, parameters: Mapping[str, Any]
) -> OrderedCounts:
    """Return the corrected counts at the points that a measure needs."""
    if measure.name in _OF_CORNERS:
        return counts.corners()
    if measure.curve_part is not None:
        return counts.around(measure.curve_part(parameters))
    return counts.all_points()


def confusion_without_hidden(counts: CorrectedCounts, seen: Confusion) -> Confusion:
    """Return the counts of a threshold without hidden anomalies, given those that are seen."""
    n, m = float(counts.counts.n_anomalies), float(counts.counts.n_normals)
    return corrected_confusion(seen.tp / n, seen.fp / m, (n, m), float(counts.contamination))


def corrected_confusion(
    tpr: float, fpr: float, sizes: tuple[float, float], fraction: float
) -> Confusion:
    """Return the counts of a threshold whose observed rates are these, without hidden anomalies."""
    n_hidden = fraction * sizes[1]
    n, m = sizes[0] + n_hidden, sizes[1] - n_hidden
    tp = tpr * n
    fp = min(max(fpr * sizes[1] - n_hidden * tpr, 0.0), m)
    return Confusion(tp=tp, fp=fp, tn=m - fp, fn=n - tp)


def refuse_impossible(
    counts: OrderedCounts, contamination: Fraction, name: str = "contamination"
) -> None:
    """Raise where the data refute a fraction of hidden anomalies."""
    if contamination == 0:
        return
    largest = largest_contamination(counts)
    if contamination > largest:
        raise InvalidInputError(
            f"{name} must not exceed what the data allow: fewer normal samples score as high as "
            f"anomalies than so many hidden ones would, and the fraction is at most {largest:.4g} "
            f"(confidence {1 - ALPHA:g}); found {float(contamination):g}",
            argument=name,
        )


def refuse_unidentified(
    counts: OrderedCounts | CorrectedCounts,
    fpr: Fraction | None,
    contamination: Fraction,
    name: str,
) -> None:
    """Raise where the hidden anomalies outnumber the normals that may be flagged at an FPR.

    Beside x (1 - pi) m normals, h = pi m TPR hidden anomalies are flagged, a binomial number, and
    h itself is known to pi m times the standard error of the TPR. Where the normals are fewer than
    two standard deviations of it, the data do not tell the FPR from 0.
    """
    if isinstance(counts, OrderedCounts):
        counts = CorrectedCounts(counts, contamination)
    n, m = float(counts.counts.n_anomalies), float(counts.counts.n_normals)
    if fpr is None or not 0 < fpr < 1 or contamination == 0 or n == 0 or m == 0:
        return
    rising = counts.corners()
    point = last_within(rising.fps, fpr * Fraction(rising.n_normals))
    tpr = float(rising.tps[point]) / float(rising.n_anomalies)
    fraction = float(contamination)
    variance = fraction * m * tpr * (1 - fraction * tpr)
    variance += (fraction * m) ** 2 * tpr * (1 - tpr) / n
    deviation = math.sqrt(variance)
    n_flagged = float(fpr) * (1 - fraction) * m
    if n_flagged < _DEVIATIONS * deviation:
        lowest = _DEVIATIONS * deviation / ((1 - fraction) * m)
        raise UndefinedMeasureError(
            f"{name} is undefined at contamination {fraction:g}: not identified, because about "
            f"{fraction * m * tpr:.4g} ± {deviation:.2g} hidden anomalies are flagged beside "
            f"{n_flagged:.3g} normals at FPR {float(fpr):g}; these samples resolve FPR "
            f"{lowest:.2g} and above"
        )
