"""``gate_power``: how often a test of a margin will pass, from the old detector's scores alone."""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from fastad._core.parameters import (
    check_count,
    check_generator,
    check_inside,
    exact_number,
    exact_rate,
)
from fastad._core.progress import LATE, Progress, ProgressOption, reporting
from fastad._core.results import Record
from fastad._core.text_tables import level_text
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, BoolVector, Label, Point, ScoreVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.comparisons.margin_results import PASS, MarginTest
from fastad.uncertainty.comparisons.noninferiority import (
    accepted_range,
    check_margin,
    check_test_options,
    difference_test,
)
from fastad.uncertainty.comparisons.one_sided import OF_NORMALS
from fastad.uncertainty.comparisons.paired import rank_detectors

# Data sets by which the supposed loss is set, and steps of the search.
_N_SEARCHED, _STEPS = 20, 12
# Sizes are tried again with the sizes that a round has found, of at most so many rows.
_ROUNDS, _MOST_ROWS = 3, 50_000
# Nearer to its last value a size is not searched.
_NEAR = 0.05

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class GatePower(Record):
    """How often a test of a margin passes a new detector of a supposed loss.

    Attributes
    ----------
    measure : str
        Key of the measure.
    margin, loss : float
        The margin, and the supposed loss of the new detector.
    correlation : float
        Supposed correlation of both detectors' scores within each class.
    confidence_level : float
        Confidence level of the test.
    n_anomalies, n_normals : int
        Numbers of samples that were supposed.
    power : float
        Fraction of the drawn data sets that pass.
    standard_error : float
        Error of the power by chance.
    target_power : float
        Power for which the numbers below are.
    required_anomalies, required_normals : int or None
        Numbers of samples that reach it, at the same ratio; None where the loss is not below the
        margin, for a measure of the k highest, and if nothing was drawn that has a bound.
    n_draws : int
        Number of data sets.
    """

    measure: str
    margin: float
    loss: float
    correlation: float
    confidence_level: float
    n_anomalies: int
    n_normals: int
    power: float
    standard_error: float
    target_power: float
    required_anomalies: int | None
    required_normals: int | None
    n_draws: int

    _derived = ("summary",)

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        needs = ""
        if self.required_anomalies is not None:
            needs = (
                f" A power of {self.target_power:g} takes about {self.required_anomalies} "
                f"anomalies and {self.required_normals} normal samples."
            )
        return (
            f"With {self.n_anomalies} anomalies and {self.n_normals} normal samples a detector "
            f"that loses {self.loss:g} in {self.measure} passes a margin of {self.margin:g} with a "
            f"probability of {self.power:.2f} ± {self.standard_error:.2f} "
            f"({level_text(self.confidence_level)} bound).{needs}"
        )

    def __str__(self) -> str:
        return self.summary


def gate_power(
    y_true: ArrayLike,
    old: ArrayLike,
    *,
    measure: MeasureLike,
    margin: Point,
    loss: Point = 0.0,
    correlation: Point = 0.8,
    power: Point = 0.8,
    n_anomalies: int | None = None,
    n_normals: int | None = None,
    confidence_level: Point = 0.95,
    n_draws: int = 100,
    n_resamples: int = 200,
    rng: int | np.random.Generator | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
    **operating_point: Any,
) -> GatePower:
    """Estimate how often `noninferiority` will pass, before a new detector is there.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    old : array-like of shape (n_samples,)
        Anomaly scores of the old detector, higher is more anomalous.
    measure : str, Measure or BoundMeasure
        The measure: a key, or a name with its operating point.
    margin : float
        Margin of the test.
    loss : float, default 0
        Supposed loss of the new detector, at least 0.
    correlation : float, default 0.8
        Supposed correlation of both detectors' scores within each class, in [0, 1]: of the normal
        scores of their ranks.
    power : float, default 0.8
        Probability of a pass for which numbers of samples are wanted, in (0, 1).
    n_anomalies, n_normals : int, optional
        Numbers of samples of the planned data; by default those given.
    confidence_level : float, default 0.95
        Confidence level of the test, in (0.5, 1).
    n_draws : int, default 100
        Number of data sets that are drawn.
    n_resamples : int, default 200
        Number of replicates in each test that needs them.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same result for any number.
    progress : callable or True, optional
        As for `compare`, of data sets.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    GatePower
        ``power``, ``required_anomalies`` and ``required_normals``.

    Raises
    ------
    UndefinedMeasureError
        If the measure is undefined on the old scores.

    Notes
    -----
    Scores are drawn from those of the old detector, class by class. The new detector has the same
    distributions, but for a part of the anomalies that it scores like normal samples (of rates of
    normals, normal samples like anomalies), which is as large as the loss takes. The required
    numbers follow from how far the bounds lie from the mean of the estimates, which falls with the
    root of the numbers, and are tried again at the numbers found. A correlation of
    earlier versions may be known; the lower, the less power.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 500 + [1] * 50
    >>> old = [*range(500), *range(440, 490)]
    >>> planned = fastad.uncertainty.gate_power(labels, old, measure="auc", margin=0.05, rng=0)
    >>> planned.power > 0.8, planned.required_anomalies < 50
    (True, True)
    """
    bound = bind(measure, operating_point, gate_power)
    options = check_test_options(bound, confidence_level, n_resamples, rng=0)
    accepted = accepted_range(bound, check_margin(bound, margin))
    supposed = Supposition(
        loss=float(exact_number(loss, "loss")),
        correlation=float(exact_rate(correlation, "correlation")),
        target=float(check_inside(power, "power")),
        n_draws=check_count(n_draws, "n_draws"),
    )
    if supposed.loss < 0:
        raise InvalidInputError(f"loss must not be negative; found {loss}")
    generator = check_generator(rng)
    with thread_limit(n_threads), reporting(progress, "data sets", after=LATE) as report:
        labels = check_labels(y_true, pos_label=pos_label).repeated()
        scores = check_scores(old, labels, name="old")
        bound.value(count(labels.values, scores))
        pool = ScorePool(scores[labels.values == 1], scores[labels.values == 0])
        sizes = (
            check_count(
                pool.anomalies.shape[0] if n_anomalies is None else n_anomalies, "n_anomalies"
            ),
            check_count(pool.normals.shape[0] if n_normals is None else n_normals, "n_normals"),
        )

        def test(y: BoolVector, scores: Scores) -> MarginTest:
            new, other = scores
            arguments = [("new", "new", new), ("old", "old", other)]
            return difference_test(
                rank_detectors(check_labels(y), arguments), bound, accepted, options
            )

        passed, factor = planned_power(pool, sizes, bound, supposed, test, generator, report)
    return GatePower(
        measure=bound.key,
        margin=float(margin),
        loss=supposed.loss,
        correlation=supposed.correlation,
        confidence_level=float(confidence_level),
        n_anomalies=sizes[0],
        n_normals=sizes[1],
        power=passed,
        standard_error=math.sqrt(passed * (1 - passed) / supposed.n_draws),
        target_power=supposed.target,
        required_anomalies=None if factor is None else math.ceil(sizes[0] * factor),
        required_normals=None if factor is None else math.ceil(sizes[1] * factor),
        n_draws=supposed.n_draws,
    )


class Supposition(NamedTuple):
    """What is supposed of the new detector, and how it is tried."""

    loss: float
    correlation: float
    target: float
    n_draws: int


class ScorePool(NamedTuple):
    """Scores of the anomalies and of the normal samples, from which others are drawn."""

    anomalies: ScoreVector
    normals: ScoreVector

    def draw(
        self,
        rng: np.random.Generator,
        sizes: tuple[int, int],
        correlation: float,
        part: float,
        *,
        of_normals: bool = False,
    ) -> tuple[BoolVector, Scores]:
        """Draw labels, and the scores of the new detector and of the old one.

        A part of a class has scores of the other class in the new detector.
        """
        labels = np.arange(sum(sizes)) < sizes[0]
        common, own = rng.normal(size=(2, labels.shape[0]))
        ranks = ndtr([correlation * common + math.sqrt(1 - correlation**2) * own, common])
        is_moved = (labels != of_normals) & (rng.random(labels.shape[0]) < part)
        pools = [np.sort(self.normals), np.sort(self.anomalies)]
        classes = np.array([labels ^ is_moved, labels])
        scores = np.empty(ranks.shape, np.result_type(*pools))
        for i, pool in enumerate(pools):
            chosen = classes == bool(i)
            indices = (ranks[chosen] * pool.shape[0]).astype(np.int64)
            scores[chosen] = pool[np.minimum(indices, pool.shape[0] - 1)]
        return labels, scores


def planned_power(
    pool: ScorePool,
    sizes: tuple[int, int],
    bound: BoundMeasure,
    supposed: Supposition,
    test: Callable[[BoolVector, Scores], MarginTest],
    rng: np.random.Generator,
    progress: Progress | None,
) -> tuple[float, float | None]:
    """Return the power of a test, and by which factor the sizes reach the wanted one."""
    of_normals = bound.measure.name in OF_NORMALS
    part = _part_of_loss(pool, sizes, bound, supposed, of_normals=of_normals)
    passed, factor = math.nan, 1.0
    for round_ in range(_ROUNDS):
        n, m = (max(2, math.ceil(factor * size)) for size in sizes)
        if round_ and n + m > _MOST_ROWS:
            break
        results = []
        for i in range(supposed.n_draws):
            drawn = pool.draw(rng, (n, m), supposed.correlation, part, of_normals=of_normals)
            with suppress(UndefinedMeasureError):
                results.append(test(*drawn))
            if progress is not None:
                progress(i + 1, supposed.n_draws)
        if not round_:
            passed = sum(each.verdict == PASS for each in results) / supposed.n_draws
        change = _factor(results, supposed.target)
        # Among more samples the k highest are others.
        if bound.measure.operating_point == "k":
            return passed, None
        if change is None:
            return passed, None if not round_ else factor
        factor *= change
        if abs(change - 1) < _NEAR:
            break
    return passed, factor


def _part_of_loss(
    pool: ScorePool,
    sizes: tuple[int, int],
    bound: BoundMeasure,
    supposed: Supposition,
    *,
    of_normals: bool,
) -> float:
    """Return which part of a class the new detector must misjudge, to lose so much on average."""
    if not supposed.loss:
        return 0.0
    sign = 1 if bound.measure.higher_is_better else -1

    def mean_loss(part: float) -> float:
        losses = []
        for seed in range(_N_SEARCHED):
            rng = np.random.default_rng(seed)
            labels, scores = pool.draw(
                rng, sizes, supposed.correlation, part, of_normals=of_normals
            )
            new, old = (bound.value_or_nan(count(labels, each)) for each in scores)
            losses.append(sign * (old - new))
        return float(np.nanmean(losses))

    low, high, at_none = 0.0, 1.0, mean_loss(0.0)
    if mean_loss(1.0) - at_none < supposed.loss:
        raise InvalidInputError(
            f"loss must be possible: a detector that scores all alike loses "
            f"{mean_loss(1.0) - at_none:.4g}; found {supposed.loss:g}",
            argument="loss",
        )
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_less = mean_loss(middle) - at_none < supposed.loss
        low, high = (middle, high) if is_less else (low, middle)
    return (low + high) / 2


def _factor(results: Sequence[MarginTest], target: float) -> float | None:
    """Return by which factor larger samples pass with the wanted power; None where none do.

    A test passes where its bound lies in the accepted range. How far the bound lies from the
    estimate, and the estimate from its mean, falls with the root of the factor.
    """
    if len(results) < 2:
        return None
    low, high = results[0].accepted
    sign, end = (1, low) if math.isinf(high) else (-1, high)
    estimates = np.array([each.estimate for each in results])
    bounds = np.array([each.low if sign > 0 else each.high for each in results])
    room = sign * (float(np.mean(estimates)) - end)
    if room <= 0:
        return None
    roots = sign * (np.mean(estimates) - bounds) / room
    return float(np.quantile(roots, target)) ** 2
