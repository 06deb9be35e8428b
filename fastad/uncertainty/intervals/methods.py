"""The interval methods of each measure, and the selection of one by measured coverage."""

import csv
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from fastad.errors import InvalidInputError
from fastad.measures.contamination import CorrectedMeasure, observed_area
from fastad.measures.early import exponent_of
from fastad.measures.measure import FALSE_ALARMS, MISSES, BoundMeasure, Measure
from fastad.measures.rates import RATES, TRIALS
from fastad.measures.roc import ROC_AUC, area_or_chance
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.intervals.enclosing_curves import (
    PARTIAL_AREAS,
    PRECISION_AREAS,
    has_fiducial,
    has_order,
    is_beyond_all,
    is_of_both_rates,
    step_at,
)
from fastad.uncertainty.results import ENOUGH_UNITS, LEAST_COVERAGE
from fastad.uncertainty.samples.closed_forms import BINOMIAL
from fastad.uncertainty.samples.influence import INFLUENCES, has_influence
from fastad.uncertainty.samples.sampling import DesignedSample, Sample

RESAMPLING = ("bootstrap", "basic", "bca")
METHODS = (
    *("delong", "logit", "newcombe", "pairs", "order", *BINOMIAL, "combined", "fiducial"),
    "inversion",
    *RESAMPLING,
)
# From exact distributions for any numbers of samples; `fiducial` where the curve has no step.
ANY_SIZE = ("inversion", "order", "clopper-pearson", "fiducial")
# Corrected measures that follow from both rates at a threshold.
_WITH_INVERSION = ("tpr_at_fpr", "fpr_at_tpr", *RATES)
# Combined, the area under the ROC curve has the larger variance of Newcombe, who assumes classes of
# one kind each, and DeLong, whose is too small where few samples decide. For areas under the
# precision-recall curve `logit` by itself is much too narrow for scores that the table lacks, and
# random curves know what few samples at the top leave open.
COMBINED = (ROC_AUC.name, *PRECISION_AREAS)
_SELECTED = ("combined", "fiducial")
_RESTRICTED = ("equal_error_rate", *COMBINED)

# The lowest of four families of 200 intervals each with a coverage of 95 % lies at 93 % by chance.
# With many samples beyond the operating point nothing else makes it lower; areas under the ROC
# curve were tried on 2000.
_SUFFICIENT_COVERAGE = 0.93
_SUFFICIENT_WITH_MANY = 0.92
# Mean widths within this factor count as equal.
_WIDTH_TOLERANCE = 1.05
# With fewer samples beyond an operating point the normal distribution of an estimate is not a good
# description, although some measured rates are low.
_FEWEST_FOR_NORMAL = 20
# Samples beyond an operating point, in both classes, from which on the bootstrap is valid.
MANY = 100
# DeLong's method is not selected with more false positives than this at 95 %: the highest of five
# families of 1 000 data sets each lies at 6 % by chance where all are at 5 %.
_HIGHEST_FALSE_POSITIVE_RATE = 0.065
# The smallest classes on which comparisons were tried.
_FEWEST_TRIED = (10, 30)
# Where the precisions at all anomalies add up to less, one anomaly more or less above the normals
# decides: 10 to 60 % of the differences of average precisions were missed, otherwise 3 to 5 %.
_LEAST_SUM_OF_PRECISIONS = 3
# With fewer samples of the smaller class on the wrong side, on average over the other class, of the
# better and of the worse detector, up to half of the intervals missed the difference.
_FEWEST_MISPLACED = (1, 2)
# With fewer normals for each unit of alpha, up to 38 % missed it.
_FEWEST_EARLY = 10
# From this area under the ROC curve on, few samples are on the wrong side.
_NEARLY_PERFECT = 0.985
_NEARLY_PERFECT_FAMILIES = ("nearly perfect", "nearly perfect, heavy-tailed")
_FAMILIES = ("Gaussian", "heavy-tailed", "tied", "half hidden")
# With so many of the anomalies at one score, the best precision at a recall was covered in 79 to
# 87 % of the samples that have no step at that recall.
_LARGE_TIE = 0.25
# With fewer units of equal size in a class, or beyond the operating point, intervals were measured
# to cover less often than they say. Degrees of freedom estimated from scores do not tell: they are
# high where the variance happens to be estimated too low.
_FEWEST_UNITS, _FEWEST_BEYOND = 11, 5
# Measures whose intervals were too high in 22 % of the samples of 400 anomalies and 60 normals, a
# few of which lie above most anomalies.
_BIASED_OF_FEW_NORMALS = ("precision_gain_auc",)
# Highest or lowest over the thresholds of the sample.
_AT_BEST = ("best_f1", "min_detection_cost", "np_score")


class Limits(NamedTuple):
    """Numbers of samples that limit what is known of a measure."""

    anomalies: float  # samples of the class; at an operating point, the samples expected beyond it
    normals: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """Coverage and width of the intervals of a method on generated data."""

    measure: str
    method: str
    limits: Limits  # numbers of samples of the generated data
    # Fraction of the data sets whose interval covered the true value, lowest of the families of
    # scores; NaN where the measure is undefined.
    coverage: float
    width: float  # mean width of the intervals


def methods_of(bound: BoundMeasure, kind: str | None = None) -> list[str]:
    """Return the methods for a measure, closed forms before resampling.

    For samples in clusters or blocks, or with real weights, the methods that do not take rows as
    independent, the best first.
    """
    if kind is not None:
        closed = ["combined"] if bound.measure.name == ROC_AUC.name else []
        closed += ["logit", "delong"] if is_bounded(bound) else ["delong"]
        return [*(closed if has_influence(bound.measure) else ()), "bootstrap", "basic"]
    bound = observed_area(bound)
    measure, name = bound.measure, bound.measure.name
    if name in TRIALS:
        return [*BINOMIAL, "bootstrap", "basic"]
    closed = []
    if isinstance(measure, CorrectedMeasure) and measure.plain.name in _WITH_INVERSION:
        closed.append("inversion")
    if has_order(bound):
        closed.append("order")
    smooth = has_influence(measure)
    if smooth:
        closed.append("delong")
        if is_bounded(bound):
            closed.append("logit")
    if name == ROC_AUC.name:
        closed += ["newcombe", "pairs"]
    if name in COMBINED:
        closed.append("combined")
    if has_fiducial(bound):
        closed.append("fiducial")
    return [*closed, *(RESAMPLING if smooth else ("bootstrap", "basic"))]


def draws_curves(method: str, bound: BoundMeasure) -> bool:
    """Return whether a method draws random curves for a measure."""
    is_combined = method == "combined" and bound.measure.name in PRECISION_AREAS
    return is_combined or method == "fiducial"


def is_bounded(bound: BoundMeasure) -> bool:
    """Return whether a measure's range ends on both sides."""
    return all(abs(end) < math.inf for end in bound.bounds)


def check_method(method: str, bound: BoundMeasure, kind: str | None = None) -> None:
    """Raise where a measure has no interval of this method."""
    possible = ["auto", *methods_of(bound, kind)]
    if method not in possible:
        expected = ", ".join(map(repr, possible))
        samples = "" if kind is None else " of samples in clusters or in time, or with real weights"
        raise InvalidInputError(
            f"method must be one of {expected} for {bound.measure.name}{samples}; found {method!r}"
        )


def select_method(bound: BoundMeasure, counts: OrderedCounts) -> tuple[str, float | None]:
    """Return the method that `auto` selects, or two of which one is, and its coverage.

    The coverage is None where theory bounds it and none was measured, and NaN where nothing is
    known of it.
    """
    possible = methods_of(bound)
    valid = next((method for method in ANY_SIZE if method in possible), None)
    if bound.measure.name in TRIALS:
        return "clopper-pearson", None
    if is_of_both_rates(bound):
        return "fiducial", None
    if valid is not None and (step := step_at(counts, bound)) is not None:
        # The segment of a tie is straight, and its ends are known; in a gap nothing is.
        if step.is_tie and bound.parameters.get("interpolation") == "linear":
            return "fiducial", None
        return valid, None if valid == "order" else math.nan
    if bound.measure.name == "precision_at_recall" and _has_large_tie(counts):
        return "fiducial", math.nan
    sizes = float(counts.n_anomalies), float(counts.n_normals)
    rows = _nearest_rows(bound, counts, sizes)
    if not rows:
        if valid is not None:
            return valid, None
        # The value at the best threshold of a sample is too high.
        is_known = isinstance(bound.measure, CorrectedMeasure) and (
            bound.measure.plain.name not in _AT_BEST
        )
        is_known = is_known and min(limits_of(bound, *sizes)) >= MANY
        return "bootstrap", None if is_known else math.nan
    method, coverage = best_method(rows)
    if method in RESAMPLING and has_order(bound) and is_beyond_all(counts, bound):
        return "order", None
    if bound.measure.name in _BIASED_OF_FEW_NORMALS and counts.n_normals < MANY:
        return method, math.nan
    return method, coverage


def coverage_of_units(bound: BoundMeasure, sample: DesignedSample) -> float | None:
    """Return the coverage that so many independent rows have, or None if it is sufficient.

    By the best method: where that covers too seldom, so does any for clusters, blocks or weights.
    """
    rows = _nearest_rows(bound, sample.counts, sample.class_sizes)
    rows = [row for row in rows if not _is_of_one_sample(bound, row.method)]
    if not rows:
        has_valid = any(method in ANY_SIZE for method in methods_of(bound))
        return None if has_valid else math.nan
    coverage = best_method(rows)[1]
    return None if coverage >= LEAST_COVERAGE else coverage


def _is_of_one_sample(bound: BoundMeasure, method: str) -> bool:
    """Return whether a method says nothing of units or of differences: binomial rates of rows."""
    return method == "fiducial" and is_of_both_rates(bound)


def _has_large_tie(counts: OrderedCounts) -> bool:
    """Return whether a large part of the anomalies has one score, with normals."""
    ties = np.diff(counts.tps)[np.diff(counts.fps) > 0]
    return bool(ties.max(initial=0) >= _LARGE_TIE * counts.n_anomalies)


def limits_of(bound: BoundMeasure, n_anomalies: float, n_normals: float) -> Limits:
    """Return the numbers of samples that limit what is known of a measure."""
    # Exact: 10 anomalies beyond a TPR of 0.9 are one, not a little less.
    if _reads_top_normals(bound.measure):
        point = bound.parameters[bound.measure.operating_point or ""]
        n_normals = float(Fraction(n_normals) * min(Fraction(1), Fraction(point)))
    if bound.measure.tail_of_point is MISSES:
        point = bound.parameters[bound.measure.operating_point or ""]
        n_anomalies = float(Fraction(n_anomalies) * (1 - Fraction(point)))
    return Limits(float(n_anomalies), float(n_normals))


def _reads_top_normals(measure: Measure[Any]) -> bool:
    """Return whether the operating point is a rate of normals, or nearly of all, that lie above."""
    return measure.tail_of_point is FALSE_ALARMS or measure.operating_point == "fraction"


def deciding_samples(
    bound: BoundMeasure, values: tuple[float, float], n_anomalies: float, n_normals: float
) -> float:
    """Return the number of samples of a class between two values and the ends, or between both.

    Infinity for smooth measures, whose influences tell how their variance varies, and where the
    range has no end.
    """
    low, high = bound.bounds
    if has_influence(bound.measure) or math.isinf(high - low):
        return math.inf
    is_of_normals = bound.measure.name == "fpr_at_tpr"
    is_of_anomalies = _reads_top_normals(bound.measure)
    fewer = min(n_anomalies, n_normals)
    size = n_normals if is_of_normals else n_anomalies if is_of_anomalies else fewer
    farthest = max(abs(values[0] - values[1]), *(min(x - low, high - x) for x in values))
    return size * farthest / (high - low)


def best_method(rows: Sequence[Coverage]) -> tuple[str, float]:
    """Return the best method on generated data, and its coverage.

    The first (closed forms come before resampling) of the methods with the narrowest intervals
    among those with sufficient coverage; methods for any size always have it, and with `combined`
    are alone where few samples lie beyond an operating point. If none has, the method with
    the highest coverage.
    """
    methods: dict[str, list[Coverage]] = {}
    for row in rows:
        methods.setdefault(row.method, []).append(row)
    coverage = {method: min(row.coverage for row in group) for method, group in methods.items()}
    limit = min(rows[0].limits)
    by_chance = limit >= MANY and rows[0].measure != ROC_AUC.name
    sufficient = _SUFFICIENT_WITH_MANY if by_chance else _SUFFICIENT_COVERAGE
    good = [method for method in methods if method in ANY_SIZE]
    few = bool(good) and limit < _FEWEST_FOR_NORMAL
    good = [
        method
        for method in methods
        if method in good or (coverage[method] >= sufficient and (method == "combined" or not few))
    ]
    if not good:
        best = max(coverage, key=lambda method: coverage[method])
        return best, coverage[best]
    widths = {method: sum(row.width for row in methods[method]) for method in good}
    narrowest = _WIDTH_TOLERANCE * min(widths.values())
    best = next(method for method in good if widths[method] <= narrowest)
    return best, coverage[best]


def select_paired_method(bound: BoundMeasure) -> str:
    """Return the method by which `auto` compares detectors."""
    return "student" if has_influence(bound.measure) else "bootstrap"


def paired_notes(
    bound: BoundMeasure,
    method: str,
    samples: Sequence[Sample],
    values: Sequence[float],
    pairs: Iterable[tuple[int, int]],
) -> list[str | None]:
    """Return why the comparison of each pair by `auto` is unreliable, or None.

    A note of two detectors is the same whatever others they are compared with.
    """
    sizes = samples[0].class_sizes
    misplaced = [min(sizes) * (1 - area_or_chance(sample.counts)) for sample in samples]
    rate = _false_positive_rate(bound, method, limits_of(bound, *sizes))

    def note(i: int, j: int) -> str | None:
        of_margins = margin_note(bound, method, (samples[i], samples[j]), (values[i], values[j]))
        if of_margins is not None:
            return of_margins
        both = sorted((misplaced[i], misplaced[j]))
        if method == "student" and all(map(operator.lt, both, _FEWEST_MISPLACED)):
            return (
                "nearly all anomalies lie above nearly all normal samples, so that how much the "
                "difference varies is hardly known"
            )
        if rate > _HIGHEST_FALSE_POSITIVE_RATE:
            return (
                f"on generated data of this size {method!r} found equal detectors to differ in "
                f"{100 * rate:.0f} % of the samples"
            )
        return None

    return [note(i, j) for i, j in pairs]


def margin_note(
    bound: BoundMeasure, method: str, samples: Sequence[Sample], values: Sequence[float]
) -> str | None:
    """Return why a test of a difference of values against any number is unreliable, or None.

    That nearly all samples may be on the right side, a margin test allows for by itself.
    """
    first = samples[0]
    if isinstance(first, DesignedSample) and (of_units := note_of_few_units(bound, first)):
        return of_units
    n_anomalies, n_normals = first.class_sizes
    # Replicates of values far from all samples, as the best of all thresholds, are biased, but not
    # of measures with an interval for any numbers. Nothing is known of a user's own function.
    known = (
        bound.measure.name in INFLUENCES
        or (bound.measure.slopes is None and min(limits_of(bound, n_anomalies, n_normals)) >= MANY)
        or any(
            each in ANY_SIZE and not _is_of_one_sample(bound, each) for each in methods_of(bound)
        )
    )
    # At another prevalence a few samples may dominate.
    if not known or bound.parameters.get("prevalence") is not None:
        return f"how reliable comparisons by {method!r} are on such data is not known"
    few = note_of_few(method, (n_anomalies, n_normals), _FEWEST_TRIED)
    if few is not None:
        return few
    is_area = bound.measure.name in PRECISION_AREAS
    if is_area and max(values) * n_anomalies < _LEAST_SUM_OF_PRECISIONS:
        return "so few anomalies are above most normal samples that one more or less decides"
    if "prevalence" in bound.parameters and n_normals < MANY:
        return f"with fewer than {MANY} normal samples differences of precisions are biased"
    is_early = bound.measure.name in ("bedroc", "robust_initial_enhancement")
    if is_early and n_normals < _FEWEST_EARLY * exponent_of(bound.parameters["alpha"]):
        return "too few normal samples are among the ranks that have nearly all weight"
    return None


def note_of_few_units(bound: BoundMeasure, sample: DesignedSample) -> str | None:
    """Return why clusters, blocks or weighted rows are too few for a measure, or None."""
    # Of a series, runs of anomalies: lengths of blocks are short where they are estimated too low.
    n_equal = sample.deciding_sizes[0], sample.n_equal_units(0)
    # Large weights are rare: a sample may have too few of them by chance.
    fewest = ENOUGH_UNITS if sample.kind == "weights" else _FEWEST_UNITS
    if min(n_equal) >= fewest and min(limits_of(bound, *n_equal)) >= _FEWEST_BEYOND:
        return None
    return (
        f"the {sample.kind} of a class are worth fewer than {fewest} of equal size, or fewer than "
        f"{_FEWEST_BEYOND} beyond the operating point"
    )


def note_of_few(method: str, sizes: tuple[float, float], fewest: tuple[int, int]) -> str | None:
    """Return why a comparison of few samples is unreliable, or None."""
    if sizes[0] >= fewest[0] and sizes[1] >= fewest[1]:
        return None
    return (
        f"with fewer than {fewest[0]} anomalies or {fewest[1]} normal samples "
        f"how reliable comparisons by {method!r} are is not known"
    )


def delong_keeps_level(bound: BoundMeasure, n_anomalies: float, n_normals: float) -> bool:
    """Return whether DeLong's method seldom found equal detectors to differ, on generated data."""
    return delong_coverage(bound, n_anomalies, n_normals) >= 1 - _HIGHEST_FALSE_POSITIVE_RATE


def delong_coverage(bound: BoundMeasure, n_anomalies: float, n_normals: float) -> float:
    """Return how often DeLong's method found no difference of equal detectors on generated data.

    NaN where it is not known.
    """
    limits = limits_of(bound, n_anomalies, n_normals)
    # At another prevalence a few samples may dominate, which the table does not show.
    as_measured = bound.parameters.get("prevalence") is None
    if not as_measured or min(limits) < _FEWEST_FOR_NORMAL:
        return math.nan
    return 1 - _false_positive_rate(bound, "delong", limits)


def _false_positive_rate(bound: BoundMeasure, method: str, limits: Limits) -> float:
    """Return the rate on the nearest smaller data on which a comparison was tried, or NaN."""
    tried = false_positives().get((bound.measure.name, method), {})
    nearest = _nearest(tried, limits)
    return math.nan if nearest is None else tried[nearest]


@cache
def false_positives() -> Mapping[tuple[str, str], Mapping[Limits, float]]:
    """Return the false positive rates of closed forms at 95 %, highest over families of scores."""
    rates: dict[tuple[str, str], dict[Limits, float]] = {}
    for row in _rows_of("false_positives.csv"):
        limits = Limits(float(row["anomalies"]), float(row["normals"]))
        rates.setdefault((row["measure"], row["method"]), {})[limits] = float(row["rate"])
    return rates


def _rows_of(name: str) -> Iterable[dict[str, str]]:
    text = files("fastad.uncertainty").joinpath(name).read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


@cache
def coverage_table(*, nearly_perfect: bool = False) -> Mapping[str, list[Coverage]]:
    """Return the coverage of methods by the names of the measures, lowest of the families.

    For methods that are valid for any size the mean: they were tried on fewer data sets. Where
    scores separate the classes nearly perfectly, the families of such scores are others.
    """
    families = [*_FAMILIES, *(_NEARLY_PERFECT_FAMILIES if nearly_perfect else ())]
    suffix = "_nearly_perfect" if nearly_perfect else ""
    table: dict[str, list[Coverage]] = {}
    for row in _rows_of("coverage.csv"):
        # By themselves, the other methods are too narrow for families that are not in the table.
        if row["measure"] in _RESTRICTED and row["method"] not in _SELECTED:
            continue
        # The area up to a point where the curve steps may be at an end, which no logit reaches.
        if row["measure"] in PARTIAL_AREAS and row["method"] == "logit":
            continue
        coverages = [float(row[family]) for family in families if row[family]]
        if coverages and row[f"width{suffix}"]:
            table.setdefault(row["measure"], []).append(
                Coverage(
                    row["measure"],
                    row["method"],
                    Limits(float(row["anomalies"]), float(row["normals"])),
                    fmean(coverages) if row["method"] in ANY_SIZE else min(coverages),
                    float(row[f"width{suffix}"]),
                )
            )
    return table


def _nearest_rows(
    bound: BoundMeasure, counts: OrderedCounts, sizes: tuple[float, float]
) -> list[Coverage]:
    """Return the rows of the largest data, whose limits are within the limits of these samples."""
    # With another prevalence a few samples may dominate, which the table does not show, unless it
    # was measured at one.
    elsewhere = bound.parameters.get("prevalence") is not None
    elsewhere = elsewhere and bound.measure.operating_point != "prevalence"
    if elsewhere or bound.measure.name not in coverage_table():
        return []
    rows = coverage_table(nearly_perfect=area_or_chance(counts) >= _NEARLY_PERFECT)
    limits = limits_of(bound, *sizes)
    nearest = _nearest((row.limits for row in rows[bound.measure.name]), limits)
    return [row for row in rows[bound.measure.name] if row.limits == nearest]


def _nearest(tried: Iterable[Limits], limits: Limits) -> Limits | None:
    """Return the limits of the largest data, neither of which exceeds these."""
    return max(
        (x for x in tried if x.anomalies <= limits.anomalies and x.normals <= limits.normals),
        default=None,
    )
