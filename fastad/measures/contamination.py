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

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import exact_number, short_repr
from fastad._core.types import BoolVector, FloatVector, Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.points import last_within
from fastad.measures.rates import RATES, confusion_at_threshold, rate_of
from fastad.measures.results import Confusion
from fastad.ordering.counts import OrderedCounts

Result = TypeVar("Result")

NOTHING_HIDDEN = Fraction(0), Fraction(0)
# Linear in the rates, or read at a threshold: right without a curve that rises.
_AS_IS = ("roc_auc", *RATES)
# Beside measures that rise with the curve, these are functions of it and of the classes' sizes.
_CURVES = ("roc_curve", "det_curve", "precision_recall_curve", "threshold_at_fpr")
# Numbers of hidden anomalies within so many standard deviations are compatible with the data.
_DEVIATIONS = 2
# The data refute a fraction where it is compatible with them with no more than this probability.
_ALPHA = 1e-3


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


def without_hidden(counts: OrderedCounts, contamination: Fraction) -> OrderedCounts:
    """Return the counts with the hidden anomalies among the labelled ones; O(g).

    Where few normals are flagged, more hidden anomalies may be taken away than there are flagged
    normals, and the corrected number of normals falls along the curve. It is replaced by the
    nearest numbers that rise from 0 to their total: least squares with the weight with which each
    point of the curve counts in the area under it, so that the area stays what it is while the
    curve stays within the square (Patra and Sen 2016, section 2, with weights of the sample).
    """
    if contamination == 0:
        return counts
    n_hidden = float(contamination * Fraction(counts.n_normals))
    per_anomaly = n_hidden / float(counts.n_anomalies)
    tps = counts.tps.astype(np.float64)
    fps = counts.fps - per_anomaly * tps
    n_normals = float(fps[-1])
    fps = _rising(fps, tps, n_normals)
    tps *= 1 + per_anomaly
    kept = _distinct(fps, tps)
    return replace(
        counts,
        fps=as_readonly(fps[kept]),
        tps=as_readonly(tps[kept]),
        keys=as_readonly(counts.keys[kept[1:]]),
        # The last entries: totals that differ in a last digit would leave rates below 1.
        n_anomalies=float(tps[-1]),
        n_normals=n_normals,
        weighting="real",
    )


def _rising(fps: FloatVector, tps: FloatVector, total: float) -> FloatVector:
    """Return the numbers from 0 to a total that rise and are nearest to these."""
    # Imported here, because scipy.optimize takes a while to import.
    from scipy.optimize import isotonic_regression

    steps = np.diff(tps)
    # Only where anomalies are do the numbers fall: between them normals alone add to them.
    weights = np.zeros(fps.shape[0])
    weights[:-1] = steps
    weights[1:] += steps
    corners = np.flatnonzero(weights)
    rising = isotonic_regression(fps[corners], weights=weights[corners]).x
    lengths = np.diff(corners, prepend=0, append=fps.shape[0])
    # Between two corners the numbers rise as they are, but not beyond those at the corners.
    np.maximum(fps, np.repeat(np.append(0.0, rising), lengths), out=fps)
    lengths = np.diff(corners + 1, prepend=0, append=fps.shape[0])
    np.minimum(fps, np.repeat(np.append(rising, total), lengths), out=fps)
    np.clip(fps, 0.0, total, out=fps)
    fps[-1] = total
    return fps


def _distinct(fps: FloatVector, tps: FloatVector) -> BoolVector:
    """Return which points to keep: of equal ones the last, as no point of counts is that before.

    Of those at which nothing is flagged the first, which lies above all scores.
    """
    kept: BoolVector = np.ones(fps.shape[0], np.bool_)
    np.logical_or(fps[1:] > fps[:-1], tps[1:] > tps[:-1], out=kept[:-1])
    first = int(np.argmax((fps > 0) | (tps > 0)))
    kept[1:first] = False
    kept[0] = True
    return kept


class CorrectedCounts:
    """Counts, and what they would be without hidden anomalies, which is computed once.

    Attributes
    ----------
    counts : OrderedCounts
        As they are.
    contamination : Fraction
        Fraction of anomalies among the normals.
    """

    __slots__ = ("_rising", "contamination", "counts")

    def __init__(self, counts: OrderedCounts, contamination: Fraction) -> None:
        self.counts, self.contamination = counts, contamination
        self._rising: OrderedCounts | None = None

    @property
    def rising(self) -> OrderedCounts:
        """The corrected counts."""
        if self._rising is None:
            self._rising = without_hidden(self.counts, self.contamination)
        return self._rising

    def confusion(self, seen: Confusion) -> Confusion:
        """Return the counts of a threshold without hidden anomalies, given those that are seen."""
        n, m = float(self.counts.n_anomalies), float(self.counts.n_normals)
        return corrected_confusion(seen.tp / n, seen.fp / m, (n, m), float(self.contamination))


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
            "reads": "values" if measure.reads == "values" else "all",
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
    rates = parameters.get("fpr", parameters.get("min_fpr"))
    for fpr in rates if isinstance(rates, list) else [rates]:
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
        return measure.compute(counts.rising, **parameters)
    value = measure.compute(observed, **parameters)
    fraction = float(contamination)
    if measure.name == "roc_auc":
        return min(max((value - fraction / 2) / (1 - fraction), 0.0), 1.0)
    seen = confusion_at_threshold(observed, parameters["threshold"])
    return rate_of(measure.name, counts.confusion(seen))


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
            f"(confidence {1 - _ALPHA:g}); found {float(contamination):g}",
            argument=name,
        )


def largest_contamination(counts: OrderedCounts, alpha: float = _ALPHA) -> float:
    """Return an upper bound on the fraction of anomalies among the normals that always holds.

    The observed FPR' is at least pi TPR at every threshold: pi is at most the lowest FPR' / TPR
    (Scott 2015, section 3; Blanchard, Lee and Scott 2010). At the r-th highest anomaly the TPR is a
    beta number and, given that threshold, the flagged normals are binomial; both are bounded
    with probability 1 - alpha at all of some twenty ranks r. Real weights do not tell how many
    samples there are, and leave every fraction possible.
    """
    if counts.weighting == "real" or counts.n_anomalies == 0 or counts.n_normals == 0:
        return 1.0
    # Imported here, because SciPy's functions take a sixth of a second to import.
    from scipy.special import betainccinv, betaincinv

    n, m = int(counts.n_anomalies), int(counts.n_normals)
    ranks = np.unique([-(-n // 2**i) for i in range(n.bit_length())])
    single = alpha / (2 * ranks.shape[0])
    flagged = counts.fps[np.searchsorted(counts.tps, ranks)]
    most = np.where(flagged < m, betainccinv(flagged + 1, np.maximum(m - flagged, 1), single), 1.0)
    least = betaincinv(ranks, n - ranks + 1, single)
    return min(1.0, float(np.min(most / least)))


def refuse_unidentified(
    counts: OrderedCounts | CorrectedCounts,
    fpr: Fraction | None,
    contamination: Fraction,
    name: str,
) -> None:
    """Raise where the hidden anomalies drown the normals that may be flagged at an FPR.

    Beside x (1 - pi) m normals, h = pi m TPR hidden anomalies are flagged, a binomial number, and
    h itself is known to pi m times the standard error of the TPR. Where the normals are fewer than
    two standard deviations of it, the data do not tell the FPR from 0.
    """
    if isinstance(counts, OrderedCounts):
        counts = CorrectedCounts(counts, contamination)
    n, m = float(counts.counts.n_anomalies), float(counts.counts.n_normals)
    if fpr is None or not 0 < fpr < 1 or contamination == 0 or n == 0 or m == 0:
        return
    rising = counts.rising
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
