"""``rank_scores``: order once, read many measures."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES, check_choice
from fastad._core.progress import LATE, ProgressOption, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Count, IntervalMethod, Label, NanPolicy, Point
from fastad.errors import InvalidInputError
from fastad.evaluation.measure_methods import MeasureMethods
from fastad.measures.contamination import (
    check_contamination,
    corrected_measure,
    refuse_impossible,
    refuse_unidentified,
)
from fastad.measures.measure import Measure, MeasureLike
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.hidden import ContaminatedCounts
from fastad.ordering.labels import NAN_POLICIES, check_labels, check_scores, rows_with_score
from fastad.uncertainty.results import Interval


class RankedScores(MeasureMethods):
    """Scores in order, with every measure of labels as a method; made by `rank_scores`.

    Each method is the public function of the same name without its data arguments. Objects do
    not change, so that threads may share one.
    """

    __slots__ = ("_contamination", "_n_omitted")

    def __init__(
        self, counts: OrderedCounts, n_omitted: int = 0, contamination: Fraction = Fraction(0)
    ) -> None:
        super().__init__(ContaminatedCounts.of(counts, contamination))
        self._n_omitted = n_omitted
        self._contamination = contamination

    def __repr__(self) -> str:
        return (
            f"RankedScores(n_anomalies={self.n_anomalies}, n_normals={self.n_normals}, "
            f"n_distinct={self._counts.keys.shape[0]})"
        )

    @property
    def counts(self) -> OrderedCounts:
        """Anomalies and normals at each distinct score."""
        return self._counts

    @property
    def n_anomalies(self) -> Count:
        """Number of anomalies, or their total weight."""
        return self._counts.n_anomalies

    @property
    def n_normals(self) -> Count:
        """Number of normal samples, or their total weight."""
        return self._counts.n_normals

    @property
    def n_omitted(self) -> int:
        """Number of rows that were left out because their score is NaN."""
        return self._n_omitted

    @property
    def contamination(self) -> float:
        """Fraction of anomalies among the normals for which measures are corrected."""
        return float(self._contamination)

    def _compute(self, measure: Measure[Any], parameters: Mapping[str, Any]) -> Any:
        correction = corrected_measure(measure, self._contamination)
        refuse_unidentified(self._counts, measure, parameters)
        return correction.compute(self._counts, **parameters)

    @property
    def tied_fraction(self) -> float:
        """Fraction of the points whose score occurs more than once, in [0, 1]."""
        return self._counts.n_tied / self._counts.n_points

    def interval(
        self,
        *,
        measure: MeasureLike,
        method: IntervalMethod = "auto",
        confidence_level: Point = 0.95,
        n_resamples: int = N_RESAMPLES,
        stratified: bool = True,
        rng: int | np.random.Generator | None = None,
        n_threads: int | None = None,
        progress: ProgressOption = None,
        **operating_point: Any,
    ) -> Interval:
        """See `fastad.interval`."""
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals import interval as intervals
        from fastad.uncertainty.samples.bootstrap import IndependentSample

        bound, options, hidden = intervals.check_interval(
            measure,
            operating_point,
            method,
            confidence_level,
            n_resamples,
            rng,
            stratified=stratified,
            contamination=self._contamination,
        )
        with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
            options = replace(options, progress=report)
            sample = IndependentSample.of(self._counts)
            return intervals.interval_of(sample, bound, options, hidden)


@suggests_arguments
def rank_scores(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    contamination: Point | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    nan_policy: NanPolicy = "raise",
    n_threads: int | None = None,
) -> RankedScores:
    """Order scores once, to read many measures from the order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous: booleans, integers or floats of up to 64 bits,
        ordered as they are. Infinities are ordered.
    contamination : float, optional
        Fraction of anomalies hidden among the samples that are labelled normal, in [0, 1), and
        distributed as the labelled ones: curves, areas, rates and thresholds are expected values
        under the true labels. Measures for which no correction is derived are
        refused.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1; all other rows must share one label.
    nan_policy : {"raise", "omit"}, default "raise"
        Whether scores that are NaN are refused, or their rows left out and counted in
        ``n_omitted``.
    n_threads : int, optional
        Threads over the points, from some hundred thousand on; by default the environment
        variable FASTAD_NUM_THREADS, else the processors that the process may use.

    Returns
    -------
    RankedScores
        Has each measure as a method: ``rank_scores(y, s).tpr_at_fpr(fpr=0.01)``.

    Raises
    ------
    InvalidInputError
        If the data rule the contamination out: fewer normal samples score high than so many hidden
        anomalies would.

    Notes
    -----
    O(n log n) time and 24 bytes a distinct score; with weights about three times the time. Methods
    raise `UndefinedMeasureError` at an FPR where hidden anomalies outnumber the normals that may be
    flagged: the data do not identify the measure there.

    References
    ----------
    .. [1] A. K. Menon et al., "Learning from corrupted binary labels via class-probability
       estimation", 2015, section 4.
    .. [2] S. Jain, M. White and P. Radivojac, "Recovering true classifier performance in
       positive-unlabeled learning", 2017.

    Examples
    --------
    >>> import fastad
    >>> ranked = fastad.rank_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ranked.roc_auc(), ranked.tpr_at_fpr(fpr=0.25)
    (0.75, 0.5)
    >>> labels = [0] * 95 + [1] * 5
    >>> scores = [*range(90), *range(91, 100, 2), *range(90, 100, 2)]
    >>> observed = fastad.rank_scores(labels, scores)
    >>> corrected = fastad.rank_scores(labels, scores, contamination=0.05)
    >>> round(observed.roc_auc(), 4), round(corrected.roc_auc(), 4)
    (0.9684, 0.9931)
    """
    check_choice(nan_policy, NAN_POLICIES, "nan_policy")
    hidden = Fraction(0) if contamination is None else check_contamination(contamination)
    with thread_limit(n_threads):
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        scores = check_scores(y_score, labels)
        kept = rows_with_score(scores) if nan_policy == "omit" else None
        if kept is None:
            return _ranked(count_scores(scores, labels), 0, hidden)
        if not kept.any():
            raise InvalidInputError(f"y_score must contain numbers; found {scores.shape[0]} NaN")
        some = labels.keep(kept)
        n_omitted = scores.shape[0] - some.values.shape[0]
        return _ranked(count_scores(scores[kept], some), n_omitted, hidden)


def _ranked(counts: OrderedCounts, n_omitted: int, contamination: Fraction) -> RankedScores:
    """Return the object for a contamination that the data do not rule out."""
    refuse_impossible(counts, contamination)
    return RankedScores(counts, n_omitted, contamination)
