"""``estimate``: values and intervals from the labels of rows that were drawn.

The labels of all rows are those that came back, and elsewhere probabilities that follow the working
model, so updated along the target's gradient that the inverse-probability estimate of the target
does not move (targeted maximum likelihood, van der Laan and Rubin 2006). Then the value of the
measure on these labels has no error of first order but that of the sample, whether or not the model
is true, and its variance is the sum of (1 - p) / p^2 times the squared residual and gradient of
each row (Horvitz and Thompson 1952, for samples whose errors are uncorrelated). An update of the
number of anomalies as well would let one surprising row move all probabilities.

The value solves an equation in which the scale of the gradient does not matter, the variance has
its square. Where the labels contradict the model's number of anomalies by more than noise, the
gradient is also taken at labels that are corrected by the inverse probabilities, and the larger
variance counts: two detectors that each miss other anomalies had intervals a third too narrow.

What is left is of second order: of anomalies that lie so densely as no model has them, an area is
wrong by it, and a rate where few labels tell how many rows a threshold flags. Counts that are
corrected by the inverse probabilities have no such error: the variance is the square of the
distance to their value at least.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, lambertw, ndtr, stdtr

from fastad._core.floats import positive_p
from fastad._core.parameters import check_inside
from fastad._core.results import (
    Column,
    Record,
    ShortRepr,
    TableResult,
    interval_columns,
    plain_rows,
)
from fastad._core.text_tables import format_p, level_text
from fastad._core.types import FloatVector, Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.labeling.drawn_rows import DrawnRows, check_rounds
from fastad.labeling.gradients import may_jump, rows_near
from fastad.labeling.missed import missed_bound, missed_bound_if_uniform, missed_sequence
from fastad.labeling.score_orders import ScoreOrder, check_all_scores
from fastad.labeling.targets import BoundTarget, Targets, check_targets
from fastad.labeling.weights import LabeledRows
from fastad.labeling.working_model import Cells, WorkingModel, logistic_regression
from fastad.measures.flagged import flags
from fastad.measures.roc import ROC_AUC
from fastad.uncertainty.samples.closed_forms import (
    normal_quantile,
    student_quantile,
    symmetric_ends,
)
from fastad.uncertainty.samples.dependence import df_of_squares

# The labels move the gradient, which moves the labels; the second time by little.
_UPDATES = 3
# Precision of the coefficients of an update, which hardly restrains them.
_PRECISION = 1e-6
# The prior of the working model, which labels replace.
_PREVALENCE, _AUC = 0.01, 0.9
# Beyond this the expansion is none; and as good as infinite.
_MOST_SKEWNESS, _MOST_DF = 1.0, 1e9
# With fewer anomalies that have a label, or rows that decide, an interval is unreliable.
_FEW_ANOMALIES, _FEW_ROWS = 20, 10
# Later rounds follow a model that few anomalies have taught, and a sample without the few rows that
# have most of the variance of a difference of areas has too small a standard error.
_FEW_IN_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class LabeledEstimate(Record):
    """A target as the labels show it.

    Attributes
    ----------
    target : str
        Measure and detectors.
    value : float
        What the target would be if all rows had labels, as estimated; NaN where the labels leave it
        undefined.
    low, high : float
        Ends of its interval. Of what a threshold misses, the anomalies that were found below it,
        and a bound that holds with the confidence level for any probabilities of the rows.
    standard_error : float
        From the variance of the design.
    p_value : float
        Two-sided, of the hypothesis that there is no difference; NaN where none is asked for.
    sequence_low, sequence_high : float
        Ends that cover the value at all numbers of labels at once, so that one may stop when they
        exclude a value of interest; NaN for what a threshold misses if probabilities differ.
    reliability_note : str or None
        Why the interval is unreliable, or the target undefined.
    """

    target: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    standard_error: float = math.nan
    p_value: float = math.nan
    sequence_low: float = math.nan
    sequence_high: float = math.nan
    reliability_note: str | None = None

    @property
    def is_decided(self) -> bool:
        """Whether a difference is significant at all numbers of labels at once: stop labelling."""
        return not math.isnan(self.p_value) and (self.sequence_low > 0 or self.sequence_high < 0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabeledEstimates(ShortRepr, TableResult):
    """Estimates of targets.

    Attributes
    ----------
    estimates : list of LabeledEstimate
        One for each target.
    n_rows, n_labels, n_anomalies : int
        Rows with scores, those of them with a label that is used, and the anomalies among these.
    n_unused : int
        Labels behind the first row without one, which are used once it has its label.
    confidence_level : float
        Level of the intervals.
    """

    estimates: list[LabeledEstimate]
    n_rows: int
    n_labels: int
    n_anomalies: int
    n_unused: int
    confidence_level: float

    def __getitem__(self, target: str) -> LabeledEstimate:
        """Return the estimate of a target."""
        return {each.target: each for each in self.estimates}[target]

    def _declare_columns(self) -> Iterable[Column]:
        def each(name: str) -> list[Any]:
            return [getattr(estimate, name) for estimate in self.estimates]

        yield Column("target", each("target"), str)
        yield Column("value", each("value"), ".4g")
        yield from interval_columns(each("low"), each("high"), "interval", ".4g")
        yield Column("standard_error", each("standard_error"))
        yield Column("p_value", each("p_value"), format_p, "p")
        yield Column("sequence_low", each("sequence_low"))
        yield Column("sequence_high", each("sequence_high"))
        yield Column("is_decided", each("is_decided"), lambda x: "yes" if x else "", "decided")

    def _content(self) -> Mapping[str, Any]:
        names = ("n_rows", "n_labels", "n_anomalies", "n_unused", "confidence_level", "notes")
        rows = {"rows": plain_rows(self.to_columns())}
        return rows | {name: getattr(self, name) for name in names}

    @property
    def notes(self) -> Sequence[str]:
        """Numbers of labels, and why intervals are unreliable."""
        notes = [
            f"{self.n_labels} of {self.n_rows} rows have labels, {self.n_anomalies} are anomalies; "
            f"intervals at {level_text(self.confidence_level)}"
        ]
        if self.n_unused:
            notes.append(f"{self.n_unused} labels behind the first missing one are not used yet")
        return notes + [
            f"{x.target}: {x.reliability_note}" for x in self.estimates if x.reliability_note
        ]


def estimate(
    scores: Any,
    labeled: DrawnRows | Sequence[DrawnRows],
    *,
    target: Targets,
    confidence_level: Point = 0.95,
) -> LabeledEstimates:
    """Estimate measures of all rows from the labels of those that were drawn.

    Parameters
    ----------
    scores : array-like of shape (n_rows,), or mapping or table of such
        The scores of all rows, as `design` had them.
    labeled : DrawnRows or sequence of them
        Rows with labels, of all rounds. Of the last round, rows up to the first one without a label
        are used, which are a sample, too.
    target : str or sequence of str
        What to estimate, as for `design`; it may be other than the rows were drawn for.
    confidence_level : float, default 0.95
        Level of the intervals, each by itself.

    Returns
    -------
    LabeledEstimates
        Values, intervals, tests and sequences for the decision to stop.

    Raises
    ------
    InvalidInputError
        If the rows were drawn of other scores.

    Notes
    -----
    The value is that of these rows if all had labels: its interval allows for the choice of rows,
    not for other data. Sequences are asymptotic: a normal mixture for Brownian motion in the
    inverse of the variance (Robbins 1970; Waudby-Smith et al. 2024), narrowest when all rows of the
    first round have labels.

    References
    ----------
    .. [1] D. G. Horvitz and D. J. Thompson, "A generalization of sampling without replacement from
       a finite universe", 1952.
    .. [2] M. J. van der Laan and D. Rubin, "Targeted maximum likelihood learning", 2006.
    .. [3] I. Waudby-Smith, D. Arbour, R. Sinha, E. H. Kennedy and A. Ramdas, "Time-uniform central
       limit theory and asymptotic confidence sequences", 2024.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> rng = np.random.default_rng(0)
    >>> y_true = rng.random(100_000) < 0.005
    >>> scores = rng.normal(size=100_000) + 2.5 * y_true
    >>> plan = fastad.labeling.design(scores, budget=3000, target="tpr@0.01")
    >>> drawn = fastad.labeling.draw(plan, rng=0)
    >>> drawn = drawn.with_labels(y_true[drawn.row])
    >>> found = fastad.labeling.estimate(scores, drawn, target="tpr@0.01").estimates[0]
    >>> found.low < fastad.tpr_at_fpr(y_true, scores, fpr=0.01) < found.high
    True
    """
    checked = check_all_scores(scores)
    targets = check_targets(target, list(checked))
    level = check_inside(confidence_level, "confidence_level")
    rounds = check_rounds(labeled, checked, complete=False)
    n_labels = sum(each.n_complete for each in rounds)
    if not n_labels:
        raise InvalidInputError("labeled must have a label of the first row at least; found none")
    labels = LabeledRows.of(rounds)
    cells = Cells.of(checked, {})
    model = WorkingModel.prior(cells, _PREVALENCE, _AUC)
    model = model.fitted(cells.features[cells.row_cell[labels.row]], labels.label)
    log_odds = model.log_odds(cells)[cells.row_cell]
    ordered = {name for each in targets if not each.is_missed for name in each.detectors}
    orders = {name: ScoreOrder.of(checked[name]) for name in ordered}
    planned = rounds[0].row.shape[0] / n_labels
    alpha = float(1 - level)
    return LabeledEstimates(
        [
            _missed(each, checked, labels, planned, alpha)
            if each.is_missed
            else _estimate(each, orders, log_odds, labels, planned, alpha)
            for each in targets
        ],
        n_rows=log_odds.shape[0],
        n_labels=n_labels,
        n_anomalies=int(labels.label.sum()),
        n_unused=rounds[-1].n_labeled - rounds[-1].n_complete,
        confidence_level=float(level),
    )


def _estimate(
    target: BoundTarget,
    orders: Mapping[str, ScoreOrder],
    log_odds: FloatVector,
    labels: LabeledRows,
    planned: float,
    alpha: float,
) -> LabeledEstimate:
    """Return the estimate of a measure or difference."""
    n_anomalies = int(labels.label.sum())
    if not n_anomalies:
        return LabeledEstimate(
            target.name,
            reliability_note="no label is an anomaly, and nothing is known of their scores",
        )
    try:
        value, spread = _targeted(target, orders, log_odds, labels)
    except UndefinedMeasureError as undefined:
        return LabeledEstimate(target.name, reliability_note=str(undefined))
    error, bounds = math.sqrt(spread.variance), target.bounds
    value = min(max(value, bounds[0]), bounds[1])
    ends = target.ends_of(value, error)
    wider = sequence_factor(planned, alpha) / normal_quantile(alpha)
    low, high, sequence_low, sequence_high = (
        form(value, factor * error * spread.quantile(alpha, sign), bounds)[end]
        for form, factor in ((ends, 1.0), (symmetric_ends, wider))
        for end, sign in ((0, -1), (1, 1))
    )
    # What holds at all numbers of labels contains what holds at this one, of whichever form.
    sequence_low, sequence_high = min(low, sequence_low), max(high, sequence_high)
    p_value = math.nan
    if target.is_difference:
        # By the end towards 0: the lower one of a positive difference.
        p_value = spread.p_value(abs(value) / error if error else math.inf, -np.sign(value))
    note = None
    is_of_areas = target.is_difference and target.bound.measure.name == ROC_AUC.name
    if error and n_anomalies == labels.label.shape[0]:
        note = "no label is a normal sample, and nothing is known of their scores"
    elif error and n_anomalies < _FEW_ANOMALIES:
        note = f"{n_anomalies} of the labels are anomalies, fewer than {_FEW_ANOMALIES}"
    elif error and spread.df < _FEW_ROWS:
        note = f"few rows decide: {spread.df:.2g} degrees of freedom, fewer than {_FEW_ROWS}"
    elif error and spread.n_near < _FEW_ROWS:
        note = f"{spread.n_near:g} rows with labels lie near a threshold, fewer than {_FEW_ROWS}"
    elif spread.may_jump:
        note = "the threshold may lie at another of the few scores near it"
    elif error and spread.of_one > (high - low) / 2:
        note = "one anomaly among low scores would move it by more than its interval allows"
    elif error and len(labels.rounds) > 1 and n_anomalies < _FEW_IN_ROUNDS and is_of_areas:
        note = (
            f"differences of areas by several rounds with fewer than {_FEW_IN_ROUNDS} anomalies "
            "were covered in 88 to 91 % of draws"
        )
    return LabeledEstimate(
        target.name, value, low, high, error, p_value, sequence_low, sequence_high, note
    )


class _Spread(NamedTuple):
    """Moments of an estimate: its variance, with degrees of freedom, and its skewness.

    ``n_near`` is the number of rows with labels by the threshold of a detector, ``of_one`` what
    one more anomaly among the rows that were drawn least often would change, and ``may_jump`` tells
    whether a threshold may lie at the other end of a large tie.
    """

    variance: float
    df: float
    skewness: float
    n_near: float
    of_one: float
    may_jump: bool

    def quantile(self, alpha: float, sign: float) -> float:
        """Return the distance of an end in standard errors: Student's, or a longer one.

        Where few rows of large weight are found, a value and its standard error are too small in
        most samples. Longer by the first term of the Cornish-Fisher expansion.
        """
        normal = normal_quantile(alpha)
        longer = normal + (2 * normal**2 + 1) * self._sixth(sign)
        return max(student_quantile(alpha, self.df), longer)

    def p_value(self, statistic: float, sign: float) -> float:
        """Return the alpha whose quantile a statistic is, 1 at most."""
        sixth, normal = self._sixth(sign), statistic
        if sixth and math.isfinite(statistic):
            excess = max(statistic - sixth, 0.0)
            normal = 2 * excess / (1 + math.sqrt(1 + 8 * sixth * excess))
        student = float(stdtr(min(self.df, _MOST_DF), -statistic))
        return positive_p(2 * max(student, float(ndtr(-normal)))) if sign else 1.0

    def _sixth(self, sign: float) -> float:
        return min(max(sign * self.skewness, 0.0), _MOST_SKEWNESS) / 6


def _targeted(
    target: BoundTarget,
    orders: Mapping[str, ScoreOrder],
    log_odds: FloatVector,
    labels: LabeledRows,
) -> tuple[float, _Spread]:
    """Return the value of a target, and how far it may be from the true one."""
    points = {name: order.point for name, order in orders.items()}
    rows, base = labels.row, log_odds[labels.row]
    # Where the sample has no anomaly, which may be rare, the model says how many it might have had.
    p = expit(base)
    anomalous = expit(log_odds)
    for update in range(_UPDATES + 1):
        predicted = anomalous[rows]
        anomalous[rows] = labels.label
        counts = {name: orders[name].counts(anomalous) for name in target.detectors}
        slopes = target.gradient(counts, points, at_steps=True)
        slope, scale = slopes[rows], float(np.max(np.abs(slopes))) or 1.0
        others = slopes.copy()
        others[rows] = 0.0
        weight, of_variance, of_skewness = labels.weights(
            np.sqrt(p * (1 - p)) * slope, others_deviate=bool(others.any())
        )
        if update == _UPDATES:
            break
        moved = logistic_regression(
            slope[:, None] / scale,
            labels.label,
            prior=(np.zeros(1), np.full(1, _PRECISION)),
            weights=np.maximum(weight - 1, 0),
            offset=base,
        )
        anomalous = expit(log_odds + moved[0] / scale * slopes)
    residual = labels.label - predicted
    # What the update has left, where weights are below 1.
    value = target.value(counts) + float((weight - 1) @ (residual * slope))
    modelled = expit(log_odds)
    corrected = modelled.copy()
    corrected[rows] += weight * (labels.label - p)
    corrected_counts = {
        name: orders[name].counts(corrected, falls=target.is_smooth) for name in target.detectors
    }
    variance_of_distance = 0.0
    # Of few labels it may have no value, or one that cannot be.
    with suppress(UndefinedMeasureError):
        distance = np.clip(target.value(corrected_counts), *target.bounds) - value
        variance_of_distance = float(np.nan_to_num(distance)) ** 2
    n_near = min(
        rows_near(counts[name], target.bound, points[name][rows]) for name in target.detectors
    )
    errors = np.sqrt(of_variance * np.maximum(residual**2, p * (1 - p)))
    jumps = any(
        may_jump(counts[name], target.bound, points[name][rows], errors)
        for name in target.detectors
    )
    # Half of the rows, which hardly can be anomalies by their scores.
    is_low = log_odds <= np.median(log_odds)

    def spread(slopes: FloatVector) -> _Spread:
        slope = slopes[rows]
        squares = of_variance * (residual * slope) ** 2
        variance = max(float(squares.sum()), float(of_variance @ (p * (1 - p) * slope**2)))
        moments = residual**3, p * (1 - p) * (1 - 2 * p)
        cube = max((float(of_skewness @ (x * slope**3)) for x in moments), key=abs)
        skewness = cube / variance**1.5 if variance > 0 else 0.0
        # Where rows with labels stand for less of the variance than there is, for lack of labels
        # where the target depends on them, all of it is more.
        expected = modelled * (1 - modelled) * slopes**2
        seen, there = float(weight @ expected[rows]), float(expected.sum())
        if there > seen:
            variance = variance * there / seen if seen > 0 else math.inf
        # Rows without a label are not known, also where all rows with one were certain.
        expected[rows] = 0.0
        if expected.sum() > variance:
            variance, squares = float(expected.sum()), expected
        variance = max(variance, variance_of_distance)
        of_one = abs(float(slopes[is_low].mean())) / math.fsum(labels.least)
        return _Spread(variance, df_of_squares(squares), skewness, n_near, of_one, jumps)

    found = spread(slopes)
    part = _part_beyond_noise(
        float(corrected.sum() - anomalous.sum()),
        float(of_variance @ (labels.label - p) ** 2),
        float(of_variance @ (p * (1 - p))),
    )
    if not part:
        return value, found
    # The gradient is divided by the number of anomalies, which the update leaves as the model has
    # it. The one at corrected labels is right, but has their noise.
    mixed = (1 - part) * anomalous + part * corrected
    mixed_counts = {
        name: orders[name].counts(mixed, falls=target.is_smooth) for name in target.detectors
    }
    slopes = target.gradient(mixed_counts, points, at_steps=True)
    if np.isfinite(slopes).all():
        # The shape stays that of the model, so that no end comes nearer by it.
        other = spread(slopes)
        found = found._replace(
            variance=max(found.variance, other.variance), of_one=max(found.of_one, other.of_one)
        )
    return value, found


def _part_beyond_noise(difference: float, *variances: float) -> float:
    """Return the part of a difference that its variance does not explain (James and Stein 1961)."""
    variance = max(variances)
    return 1 - variance / difference**2 if difference**2 > variance else 0.0


def _missed(
    target: BoundTarget,
    scores: Mapping[str, Any],
    labels: LabeledRows,
    planned: float,
    alpha: float,
) -> LabeledEstimate:
    """Return the anomalies below a threshold: estimated, found, and how many there are at most."""
    (name,) = target.detectors
    below = ~flags(scores[name], target.bound.parameters["threshold"])
    is_below = below[labels.row]
    found = is_below & (labels.label == 1)
    n_found, n_unlabeled = int(found.sum()), int(below.sum() - is_below.sum())
    weight, of_variance, _ = labels.weights(
        is_below.astype(np.float64), others_deviate=n_unlabeled > 0
    )
    sequence = math.nan, math.nan
    if len(labels.least) == 1 and np.allclose(labels.probability, labels.least[0]):
        fraction = float(is_below.sum()) / max(float(below.sum()), 1.0)
        bound = missed_bound_if_uniform(n_found, fraction, n_unlabeled, alpha)
        n_normal, n_planned = int(is_below.sum()) - n_found, planned * labels.row.shape[0]
        at_all = missed_sequence(n_found, n_normal, n_unlabeled, n_planned * below.mean(), alpha)
        sequence = n_found, n_found + at_all
    else:
        rounds = [labels.probability[rows][found[rows]] for rows in labels.rounds]
        bound = missed_bound(list(zip(rounds, labels.least, strict=True)), n_unlabeled, alpha)
    high = float(n_found + bound)
    value, variance = float(weight @ found), float(of_variance @ found)
    ends = n_found, high, math.sqrt(variance), math.nan, *sequence
    return LabeledEstimate(target.name, min(max(value, n_found), high), *ends)


def sequence_factor(planned: float, alpha: float) -> float:
    """Return the standard errors that cover at all times, where so many times more are planned.

    With Brownian motion B at the time s, the inverse of the variance, |B| exceeds the root of
    (s + r) log((s + r) / (r alpha^2)) at some time with a probability of alpha. It is the narrowest
    at the time at which r is chosen.
    """
    ratio = planned / (-float(lambertw(-(alpha**2) / math.e, -1).real) - 1)
    return math.sqrt((1 + ratio) * (math.log1p(1 / ratio) + 2 * math.log(1 / alpha)))
