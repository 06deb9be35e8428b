"""``gate_power``: how often a test of a margin will pass, from the old detector's scores alone."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, cast

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
from fastad._core.progress import LATE, ProgressOption, reporting
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
    check_test_options,
    margin_test,
    range_of_limit,
    range_of_margin,
)
from fastad.uncertainty.comparisons.one_sided import OF_NORMALS
from fastad.uncertainty.comparisons.paired import Detectors, rank_detectors
from fastad.uncertainty.samples.sampling import INDEPENDENT, sample_of

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
    margin, value : float or None
        The margin, or the limit; the other one is None.
    loss, correlation : float
        Supposed loss of the new detector, and correlation of both detectors' scores.
    confidence_level : float
        Confidence level of the test.
    n_anomalies, n_normals : int
        Supposed numbers of samples.
    power, standard_error : float
        Fraction of the drawn data sets that pass, and its error by chance.
    target_power : float
        Power for which the numbers below are.
    required_anomalies, required_normals : int or None
        Numbers of samples that reach it, at the same ratio; None where the loss is too large to
        pass, for a measure of the k highest, and if nothing was drawn that has a bound.
    n_draws : int
        Number of data sets.
    """

    measure: str
    margin: float | None
    value: float | None
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

    _optional, _derived = ("margin", "value"), ("summary",)

    @property
    def summary(self) -> str:
        """The result in a sentence."""
        needs = ""
        if self.required_anomalies is not None:
            needs = (
                f" A power of {self.target_power:g} takes about {self.required_anomalies} "
                f"anomalies and {self.required_normals} normal samples."
            )
        test = f"limit of {self.value:g}" if self.margin is None else f"margin of {self.margin:g}"
        return (
            f"With {self.n_anomalies} anomalies and {self.n_normals} normal samples a detector "
            f"that loses {self.loss:g} in {self.measure} passes a {test} with a "
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
    margin: Point | None = None,
    value: Point | None = None,
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
    """Estimate how often `noninferiority` or `at_least` passes, before a new detector is there.

    Parameters
    ----------
    y_true, old : array-like of shape (n_samples,)
        Labels, 1 for an anomaly, and scores of the old detector, higher is more anomalous.
    measure : str, Measure or BoundMeasure
        The measure: a key, or a name with its operating point.
    margin, value : float
        Margin of `noninferiority`, or limit of `at_least`: one of both.
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
    n_draws, n_resamples : int, default 100 and 200
        Number of data sets that are drawn, and of replicates in each test that needs them.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the draws.
    pos_label, n_threads, progress, **operating_point : optional
        As for `noninferiority`; progress counts data sets.

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
    Scores are drawn from the old detector's, class by class. The new detector has the same
    distributions, but for a part of the anomalies that it scores like normal samples (of rates of
    normals, normal samples like anomalies), as large as the loss takes. Required numbers follow
    from the distance of the bounds from the mean estimate, which falls with the root of the
    numbers, and are tried again. The lower the correlation, the less power.

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
    if (margin is None) == (value is None):
        raise InvalidInputError(
            "margin or value must be given, and not both; found "
            f"{'neither' if margin is None else 'both'}"
        )
    if margin is None:
        accepted = range_of_limit(bound, cast("Point", value))
    else:
        accepted = range_of_margin(bound, margin)
    supposed = float(exact_number(loss, "loss"))
    if supposed < 0:
        raise InvalidInputError(f"loss must not be negative; found {loss}")
    r = float(exact_rate(correlation, "correlation"))
    target = float(check_inside(power, "power"))
    n_draws = check_count(n_draws, "n_draws")
    generator = check_generator(rng)
    with thread_limit(n_threads), reporting(progress, "data sets", after=LATE) as report:
        labels = check_labels(y_true, pos_label=pos_label).repeated()
        scores = check_scores(old, labels, name="old")
        bound.value(count(labels.values, scores))
        pool = ScorePool(scores[labels.values == 1], scores[labels.values == 0])
        n = check_count(len(pool[0]) if n_anomalies is None else n_anomalies, "n_anomalies")
        m = check_count(len(pool[1]) if n_normals is None else n_normals, "n_normals")
        for name, size in (("n_anomalies", n), ("n_normals", m)):
            if size < 2:
                raise InvalidInputError(f"{name} must be at least 2; found {size}")
        draw = partial(pool.draw, correlation=r, of_normals=bound.measure.name in OF_NORMALS)
        part = _part_of_loss(partial(draw, sizes=(n, m)), bound, supposed) if supposed else 0.0

        def tests(sizes: Sequence[int]) -> Iterator[MarginTest]:
            for i in range(n_draws):
                y, drawn = draw(generator, sizes=sizes, part=part)
                with suppress(UndefinedMeasureError):
                    samples = _detectors(y, drawn[: 1 if margin is None else 2])
                    yield margin_test(samples, bound, accepted, options)
                if report is not None:
                    report(i + 1, n_draws)

        # Among more samples the k highest are others.
        n_rounds = 0 if bound.measure.operating_point == "k" else _ROUNDS
        n_passed, factor = _search_sizes(tests, (n, m), target, n_rounds)
    passed = n_passed / n_draws
    return GatePower(
        measure=bound.key,
        margin=None if margin is None else float(margin),
        value=None if value is None else float(value),
        loss=supposed,
        correlation=r,
        confidence_level=float(confidence_level),
        n_anomalies=n,
        n_normals=m,
        power=passed,
        standard_error=math.sqrt(passed * (1 - passed) / n_draws),
        target_power=target,
        required_anomalies=None if factor is None else math.ceil(n * factor),
        required_normals=None if factor is None else math.ceil(m * factor),
        n_draws=n_draws,
    )


def _detectors(y: BoolVector, scores: Scores) -> Detectors:
    """Return the samples of the new and the old detector, or of the new one alone."""
    labels, names = check_labels(y), ["new", "old"][: len(scores)]
    if len(scores) > 1:
        return rank_detectors(labels, list(zip(names, names, scores, strict=True)))
    return Detectors(labels, names, names, [sample_of(scores[0], labels, INDEPENDENT)])


class ScorePool(NamedTuple):
    """Scores of the anomalies and of the normal samples, from which others are drawn."""

    anomalies: ScoreVector
    normals: ScoreVector

    def draw(
        self,
        rng: np.random.Generator,
        sizes: Sequence[int],
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


def _part_of_loss(
    draw: Callable[..., tuple[BoolVector, Scores]], bound: BoundMeasure, loss: float
) -> float:
    """Return which part of a class the new detector must misjudge, to lose so much on average."""
    sign = 1 if bound.measure.higher_is_better else -1

    def mean_loss(part: float) -> float:
        losses = []
        for seed in range(_N_SEARCHED):
            labels, scores = draw(np.random.default_rng(seed), part=part)
            new, old = (bound.value_or_nan(count(labels, each)) for each in scores)
            losses.append(sign * (old - new))
        return float(np.nanmean(losses))

    low, high, at_none = 0.0, 1.0, mean_loss(0.0)
    largest = mean_loss(1.0) - at_none
    if largest < loss:
        raise InvalidInputError(
            f"loss must be possible: a detector that scores all alike loses {largest:.4g}; found "
            f"{loss:g}",
            argument="loss",
        )
    for _ in range(_STEPS):
        middle = (low + high) / 2
        is_less = mean_loss(middle) - at_none < loss
        low, high = (middle, high) if is_less else (low, middle)
    return (low + high) / 2


def _search_sizes(
    tests: Callable[[Sequence[int]], Iterable[MarginTest]],
    sizes: Sequence[int],
    target: float,
    n_rounds: int,
) -> tuple[int, float | None]:
    """Return how many tests pass, and by which factor the sizes reach the wanted power."""
    results = list(tests(sizes))
    factor = change = _factor(results, target) if n_rounds else None
    for _ in range(1, n_rounds):
        if factor is None or change is None or abs(change - 1) < _NEAR:
            break
        larger = [max(2, math.ceil(factor * size)) for size in sizes]
        if sum(larger) > _MOST_ROWS:
            break
        change = _factor(list(tests(larger)), target)
        factor *= 1.0 if change is None else change
    return sum(each.verdict == PASS for each in results), factor


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
    # Too few samples may have no bound, of a measure without a lowest value.
    roots = sign * (np.mean(estimates) - bounds) / room
    with np.errstate(invalid="ignore"):
        factor = float(np.quantile(roots, target)) ** 2
    return factor if math.isfinite(factor) else None
