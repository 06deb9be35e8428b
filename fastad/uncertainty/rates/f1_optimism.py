"""``best_f1_optimism``: how much the best F1 gains by a threshold chosen on the same labels."""

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from fastad._core.parameters import N_RESAMPLES, check_choice, check_count
from fastad._core.progress import LATE, Progress, ProgressOption, fill_in_steps, reporting
from fastad._core.random import random_key
from fastad._core.results import Record
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import (
    ArrayLike,
    BoolVector,
    FloatVector,
    IntVector,
    Label,
    Point,
    Threshold,
)
from fastad._kernels.random import bits
from fastad._kernels.resampling.draws import draw
from fastad.measures.best_thresholds import BEST_F1
from fastad.measures.points import NEAR
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.samples.bootstrap import check_drawable, refuse_few, refuse_often_undefined

OptimismMethod: TypeAlias = Literal["bootstrap", "leave-one-out"]
_METHODS = ("auto", "bootstrap", "leave-one-out")
# Expected fraction of distinct samples in a replicate, 1 - 1/e: what it leaves out lies so much
# farther from it than new samples lie from all samples (Efron 1983).
_DISTINCT = 0.632
# Random numbers that are drawn at a time.
_BLOCK = 512


@dataclass(frozen=True, slots=True, eq=False)
class BestF1Optimism(Record):
    """The highest F1 score, and what its threshold reaches on new samples.

    Attributes
    ----------
    value : float
        F1 with the threshold chosen on the labels by which it is judged, as `fastad.best_f1`.
    corrected : float
        Estimate of F1 at this threshold on new samples, with the classes in the same ratio.
    threshold : float or int
        The threshold that was chosen.
    method : {"bootstrap", "leave-one-out"}
        How the correction was estimated.
    n_resamples : int
        Number of replicates; 0 for ``"leave-one-out"``.
    """

    value: float
    corrected: float
    threshold: Threshold
    method: OptimismMethod
    n_resamples: int

    @property
    def optimism(self) -> float:
        """``value - corrected``."""
        return self.value - self.corrected


@suggests_arguments
def best_f1_optimism(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    prevalence: Point | None = None,
    method: Literal["auto"] | OptimismMethod = "auto",
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
) -> BestF1Optimism:
    """Highest F1 score over all thresholds, less what it gains by a choice on the same labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    prevalence : float, optional
        Fraction of anomalies in (0, 1) to which the classes are weighted; by default as they are.
    method : {"auto", "bootstrap", "leave-one-out"}, default "auto"
        ``"bootstrap"``: the value less 0.632 times the mean difference between what a replicate's
        best threshold reaches on the replicate and on the samples that it leaves out. It corrects
        too much where scores are tied.
        ``"leave-one-out"``: each sample is judged by the best threshold of all others; the
        corrected value is the F1 score of these judgements. Not random; it varies more from data
        set to data set.
        ``"auto"``: ``"leave-one-out"`` where more than half of the samples share their score with
        another one, else ``"bootstrap"``.
    n_resamples : int, default 2000
        Number of replicates of ``"bootstrap"``.
    rng : int or numpy.random.Generator, optional
        Seed or generator of ``"bootstrap"``.
    sample_weight : array-like of shape (n_samples,), optional
        Integers: a weight k counts the row k times, 0 leaves it out.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over replicates; the same seed gives the same result for any number.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates done and to be done, about ten times a second.

    Returns
    -------
    BestF1Optimism
        ``value``, ``corrected``, ``optimism`` and ``threshold``.

    Raises
    ------
    UndefinedMeasureError
        If a class has fewer than two samples.

    Notes
    -----
    O(n log n) time for the order; beyond it O(n), or O(n) for each replicate. Samples are assumed
    to be independent.

    References
    ----------
    .. [1] B. Efron, "Estimating the error rate of a prediction rule: improvement on
       cross-validation", Journal of the American Statistical Association 78, 1983.

    Examples
    --------
    >>> import fastad
    >>> labels, scores = [0, 0, 0, 0, 1, 1, 1], [1, 2, 3, 6, 4, 5, 7]
    >>> result = fastad.uncertainty.best_f1_optimism(labels, scores, rng=0)
    >>> round(result.value, 3), round(result.corrected, 3), result.threshold
    (0.857, 0.635, 4)
    """
    bound = BEST_F1.bind(prevalence=prevalence)
    check_choice(method, _METHODS, "method")
    n_resamples = check_count(n_resamples, "n_resamples")
    key = random_key(rng)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        counts = count_scores(check_scores(y_score, labels), labels)
        check_drawable(counts)
        refuse_few("the optimism of best_f1", *_sizes(counts))
        best = bound.measure.compute(counts, **bound.parameters)
        weight = float(counts.normal_weight(bound.parameters["prevalence"]))
        if method == "auto":
            is_tied = 2 * counts.n_tied > counts.n_points
            method = "leave-one-out" if is_tied else "bootstrap"
        if method == "bootstrap":
            gain = _bootstrap_gain(counts, weight, n_resamples, key, report)
            corrected = min(max(float(best) - gain, 0.0), 1.0)
        else:
            corrected = _left_out(counts, weight)
    n_drawn = n_resamples if method == "bootstrap" else 0
    return BestF1Optimism(float(best), corrected, best.threshold, method, n_drawn)


def _f1(fp: Any, tp: Any, n: int, weight: float) -> Any:
    """Return the F1 score, where a normal sample has a weight."""
    return 2 * tp / (tp + weight * fp + n)


def _left_out(counts: OrderedCounts, weight: float) -> float:
    """Return the F1 score of samples that are judged by the best threshold of the others.

    Without a sample the points above its score keep their flagged samples, those from there on
    lose one. It is flagged if the best of the latter is better than the best of the former.
    """
    n = int(counts.n_anomalies)
    fps, tps = counts.fps, counts.tps
    fewer_fps, fewer_tps = np.maximum(fps - 1, 0), np.maximum(tps - 1, 0)
    flags_anomaly = _is_flagged(_f1(fps, tps, n - 1, weight), _f1(fps, fewer_tps, n - 1, weight))
    flags_normal = _is_flagged(_f1(fps, tps, n, weight), _f1(fewer_fps, tps, n, weight))
    tp, fp = int(np.diff(tps)[flags_anomaly].sum()), int(np.diff(fps)[flags_normal].sum())
    return float(_f1(fp, tp, n, weight))


def _is_flagged(above: FloatVector, below: FloatVector) -> BoolVector:
    """Return whether the best point lies at a score or below, for each distinct score.

    F1 is ``above`` at points above the score and ``below`` at others; of equal values the highest
    threshold is the best.
    """
    best_above = np.maximum.accumulate(above)[:-1]
    best_below = np.maximum.accumulate(below[:0:-1])[::-1]
    flagged: BoolVector = best_below > (1 + NEAR) * best_above
    return flagged


def _bootstrap_gain(
    counts: OrderedCounts,
    weight: float,
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None,
) -> float:
    """Return how much better a threshold is on the samples by which it was chosen.

    Each class is drawn from by itself, as `fastad.interval` does with the same key. A replicate
    that leaves no sample of a class out says nothing.
    """
    n, m = _sizes(counts)
    gains = np.full(n_resamples, np.nan)

    def fill(part: range) -> None:
        for replicate in part:
            stream = np.uint64(bits(key, replicate))
            of_anomaly, of_normal = (
                _times_drawn(np.uint64(bits(stream, c)), size) for c, size in enumerate((n, m))
            )
            tps, fps = _running(of_anomaly, counts.tps), _running(of_normal, counts.fps)
            left_tps = _running(of_anomaly == 0, counts.tps)
            left_fps = _running(of_normal == 0, counts.fps)
            if left_tps[-1] == 0 or left_fps[-1] == 0:
                continue
            values = _f1(fps, tps, n, weight)
            chosen = int(np.argmax(values >= (1 - NEAR) * values.max()))
            # As in a sample of as many of each class as there are.
            tp, fp = n * left_tps[chosen] / left_tps[-1], m * left_fps[chosen] / left_fps[-1]
            gains[replicate] = values[chosen] - _f1(fp, tp, n, weight)

    fill_in_steps(fill, n_resamples, n + m, progress)
    defined = gains[~np.isnan(gains)]
    refuse_often_undefined("the optimism of best_f1", n_resamples - len(defined), n_resamples)
    return _DISTINCT * math.fsum(defined) / len(defined)


def _times_drawn(key: np.uint64, size: int) -> IntVector:
    """Return how often each sample of a class is drawn, from the highest score down."""
    times = np.empty(size, np.uint8)
    draw(key, size, size, 0, times, np.empty(_BLOCK, np.int64))
    drawn: IntVector = times.astype(np.int64)
    return drawn


def _running(times: IntVector | BoolVector, at: IntVector) -> IntVector:
    """Return the sums of the first so many entries."""
    sums: IntVector = np.append(0, np.cumsum(times))[at]
    return sums


def _sizes(counts: OrderedCounts) -> tuple[int, int]:
    return int(counts.n_anomalies), int(counts.n_normals)
