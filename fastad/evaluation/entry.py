"""``evaluate``: a table of measures for one detector or many, each ordered once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import overload

import numpy as np

from fastad._core.frames import table_columns
from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_count,
    check_flag,
    check_generator,
    check_inside,
    check_range,
    check_rates,
    check_thresholds,
    refuse_given,
)
from fastad._core.progress import LATE, Progress, ProgressOption, SharedProgress, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import some_of
from fastad._core.threads import thread_limit, thread_map
from fastad._core.types import (
    ArrayLike,
    Blocks,
    Label,
    NanPolicy,
    OnError,
    Point,
    Points,
    Threshold,
)
from fastad.errors import InvalidInputError
from fastad.evaluation.chosen_thresholds import check_pair, with_chosen_thresholds
from fastad.evaluation.detector import EvaluationRequest, evaluate_detector
from fastad.evaluation.groups import GroupedEvaluation, evaluate_groups, other_columns
from fastad.evaluation.parts import Parts, check_part_options
from fastad.evaluation.results import Evaluation
from fastad.measures.contamination import check_contamination, corrected
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import listed_measures, table_measures
from fastad.ordering.groups import make_groups, refuse_taken
from fastad.ordering.labels import NAN_POLICIES, Table, check_labels, named_scores
from fastad.ordering.membership import Overlap, check_membership

ERROR_POLICIES = ("raise", "record")
_MAX_NAMES = 4
_BESIDE_PARTS = "with kinds or segments, whose rates are of independent samples as labelled"


@overload
def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    groups: None = ...,
    kinds: ArrayLike | Mapping[str, ArrayLike] | Table | None = ...,
    segments: ArrayLike | Mapping[str, ArrayLike] | Table | None = ...,
    overlap: Overlap = ...,
    events_per_day: Point | None = ...,
    measures: MeasureLike | Sequence[MeasureLike] | None = ...,
    fpr: Point | Points = ...,
    threshold: Threshold | Points | Mapping[str, Threshold] | None = ...,
    threshold_from: tuple[ArrayLike, ArrayLike | Mapping[str, ArrayLike] | Table] | None = ...,
    score_range: tuple[Point, Point] | None = ...,
    contamination: Point | None = ...,
    clusters: ArrayLike | None = ...,
    blocks: Blocks | None = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Label | None = ...,
    on_error: OnError = ...,
    nan_policy: NanPolicy = ...,
    confidence_level: Point | None = ...,
    chance: bool = ...,
    curves: bool = ...,
    n_resamples: int = ...,
    rng: int | np.random.Generator | None = ...,
    n_threads: int | None = ...,
    progress: ProgressOption = ...,
) -> Evaluation: ...
@overload
def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    groups: ArrayLike | Mapping[str, ArrayLike] | Table,
    kinds: ArrayLike | Mapping[str, ArrayLike] | Table | None = ...,
    segments: ArrayLike | Mapping[str, ArrayLike] | Table | None = ...,
    overlap: Overlap = ...,
    events_per_day: Point | None = ...,
    measures: MeasureLike | Sequence[MeasureLike] | None = ...,
    fpr: Point | Points = ...,
    threshold: Threshold | Points | Mapping[str, Threshold] | None = ...,
    threshold_from: tuple[ArrayLike, ArrayLike | Mapping[str, ArrayLike] | Table] | None = ...,
    score_range: tuple[Point, Point] | None = ...,
    contamination: Point | None = ...,
    clusters: ArrayLike | None = ...,
    blocks: Blocks | None = ...,
    sample_weight: ArrayLike | None = ...,
    pos_label: Label | None = ...,
    on_error: OnError = ...,
    nan_policy: NanPolicy = ...,
    confidence_level: Point | None = ...,
    chance: bool = ...,
    curves: bool = ...,
    n_resamples: int = ...,
    rng: int | np.random.Generator | None = ...,
    n_threads: int | None = ...,
    progress: ProgressOption = ...,
) -> GroupedEvaluation: ...
@suggests_arguments
def evaluate(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    groups: ArrayLike | Mapping[str, ArrayLike] | Table | None = None,
    kinds: ArrayLike | Mapping[str, ArrayLike] | Table | None = None,
    segments: ArrayLike | Mapping[str, ArrayLike] | Table | None = None,
    overlap: Overlap = "raise",
    events_per_day: Point | None = None,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    fpr: Point | Points = (0.01, 0.05),
    threshold: Threshold | Points | Mapping[str, Threshold] | None = None,
    threshold_from: tuple[ArrayLike, ArrayLike | Mapping[str, ArrayLike] | Table] | None = None,
    score_range: tuple[Point, Point] | None = None,
    contamination: Point | None = None,
    clusters: ArrayLike | None = None,
    blocks: Blocks | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Label | None = None,
    on_error: OnError = "raise",
    nan_policy: NanPolicy = "raise",
    confidence_level: Point | None = None,
    chance: bool = False,
    curves: bool = False,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
    progress: ProgressOption = None,
) -> Evaluation | GroupedEvaluation:
    """Measure one or many detectors on the same labelled samples.

    Each detector's scores are ordered once, and every measure is read from that order.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous: of one detector (then named ``score``), of one
        detector a row (``score_0``, ``score_1``, …), or by name.
    groups : array-like of shape (n_samples,), mapping, or table, optional
        Segment of each row, or several columns such as data set and fold: each combination that
        occurs is evaluated by itself, as a run with labels of its own.
    kinds, segments : array-like of shape (n_samples,), mapping, or table, optional
        Kind of each anomaly, and segment of each normal sample: the true positive rate of each kind
        and the false positive rate of each segment at the same thresholds, in ``breakdown``, and
        the measures of each kind against all normal samples, in ``by_kind``. In a mapping or
        table, columns of booleans say which rows are of the kind that they are called; the names
        of kinds in several other columns, such as family and technique, begin with the column's.
        Rows of the other class are not read.
    overlap : {"raise", "count"}, default "raise"
        What to do about rows of several kinds or segments: refuse them, or count them in each.
    events_per_day : float, optional
        Number of normal events a day: with ``kinds`` or ``segments``, adds alarms a day.
    measures : sequence of str, Measure and BoundMeasure, optional
        Keys such as ``"auc"`` or ``"tpr@0.01"``, and names of functions such as
        ``"tpr_at_fpr"``, or declarations, which stand for their values at each ``fpr``. By default
        ``auc``, ``auc_w``, ``ap``, and for each ``fpr`` ``auc@``, ``tpr@``, ``f1@`` and
        ``precision@fpr``.
    fpr : float or sequence of floats, default (0.01, 0.05)
        Operating points, in [0, 1].
    threshold : float, sequence of floats, or mapping of str to float, optional
        Thresholds that were fixed beforehand, or one for each detector by its name: adds
        ``tpr@threshold``, ``fpr@threshold``, ``precision@threshold``, ``f1@threshold`` and
        ``flagged@threshold``, the number of alarms, each with the threshold as its number, such
        as ``tpr@threshold0.5``, unless each detector has its own. Where ``measures`` names rates
        of `fastad.measures.Confusion`, such as ``"tpr"`` or ``"mcc"``, only those.
    threshold_from : (y_true, y_score), optional
        Labels and scores of other samples, such as validation data, of the same detectors: what
        stands at a threshold that a measure chooses (``f1_best``, ``mindcf``, and rates at an FPR,
        TPR, recall or precision) is judged on the samples at the threshold chosen on the others.
    score_range : (float, float), optional
        Lowest and highest possible score, for measures that scale the scores.
    contamination : float, optional
        Fraction of anomalies hidden among the samples that are labelled normal, in [0, 1): all
        values are corrected for them, as by `rank_scores`. By default those for which no
        correction is derived are undefined.
    clusters, blocks : optional
        With ``confidence_level`` or ``chance``: clusters of the rows, or the mean length of blocks
        of rows in the order of time, as for `interval` and `chance_level`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights, not negative; 0 leaves a row out, an integer k counts it k times.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    on_error : {"raise", "record"}, default "raise"
        What to do about a detector with bad scores (NaN, wrong length): raise, or record the
        message and go on with the others.
    nan_policy : {"raise", "omit"}, default "raise"
        What to do about scores that are NaN: ``"raise"`` takes them as bad scores, ``"omit"``
        leaves out their rows, of each detector and group by itself, and counts them in
        ``n_omitted``.
    confidence_level : float, optional
        Put an interval beside every value, as `interval` with ``method="auto"``; in (0, 1). Rates
        of kinds and segments always have one, by default at 0.95.
    chance : bool, default False
        Put the chance level beside every value, as `chance_level` does.
    curves : bool, default False
        Keep up to 1000 points of each ROC curve, for the page of `Evaluation.to_html`; not with
        ``groups``.
    n_resamples : int, default 2000
        Replicates of an interval that needs them, and permutations of the labels for chance.
    rng : int or numpy.random.Generator, optional
        Seed or generator of both; all measures and detectors share the replicates.
    n_threads : int, optional
        Threads over detectors, over groups, and over the points of one detector; by default the
        environment variable FASTAD_NUM_THREADS, else the processors that the process may use.
    progress : callable or True, optional
        True draws a bar after a second, where rich or tqdm is installed. A function is called with
        the numbers of replicates and permutations done and to be done, about ten times a second, by
        whichever thread has done them; what turns out to need none counts as done.

    Returns
    -------
    Evaluation, or GroupedEvaluation with ``groups``
        ``result["score"]["auc"]``; prints as a table. What is undefined is NaN, with the reason
        in ``result["score"].undefined``. Thresholds and flagged counts are in
        ``result["score"].operating_points``, intervals in ``result["score"].intervals["auc"]``,
        chance levels in ``result["score"].chance["auc"]``. With ``groups``:
        ``result[group]["score"]["auc"]``.

    Raises
    ------
    InvalidInputError
        If labels and scores differ in length, a score is NaN without ``nan_policy="omit"``, a
        measure is unknown, or groups or measures are called as other columns of the result.

    Notes
    -----
    O(n log n) time for each detector of n points, and about 32 bytes a point and thread; for
    intervals and chance O(n) for each replicate.

    Examples
    --------
    >>> import fastad
    >>> labels = [0, 0, 1, 1]
    >>> scores = {"a": [0.1, 0.4, 0.35, 0.8], "b": [0.1, 0.2, 0.3, 0.4]}
    >>> print(fastad.evaluate(labels, scores, measures=["auc", "ap"]))
              a       b
    auc  0.7500  1.0000
    ap   0.8333  1.0000
    """
    check_choice(on_error, ERROR_POLICIES, "on_error")
    check_choice(nan_policy, NAN_POLICIES, "nan_policy")
    points = check_rates(fpr, "fpr")
    ranges = None if score_range is None else check_range(score_range)
    thresholds = [] if threshold is None else check_thresholds(threshold)
    own_measures: dict[str, Sequence[BoundMeasure]] = {}
    if isinstance(thresholds, dict):
        names = None if measures is None else listed_measures(measures)
        own_measures = {
            name: table_measures(names, points, ranges, [x], own_thresholds=True)
            for name, x in thresholds.items()
        }
        bound = next(iter(own_measures.values()))
    else:
        bound = table_measures(measures, points, ranges, thresholds)
    check_flag(chance, "chance")
    if check_flag(curves, "curves") and groups is not None:
        raise InvalidInputError(
            "curves must not be True with groups, whose pages show none; found True"
        )
    hidden = Fraction(0) if contamination is None else check_contamination(contamination)
    if hidden and chance:
        raise InvalidInputError(
            "chance must not be True with contamination, for which no chance level is derived; "
            "found True"
        )
    if hidden:
        correct = partial(corrected, contamination=hidden, or_undefined=measures is None)
        bound = [correct(one) for one in bound]
        own_measures = {name: [correct(one) for one in own] for name, own in own_measures.items()}
    if threshold_from is not None:
        check_pair(threshold_from)
        if hidden:
            raise InvalidInputError(
                "contamination must not be given with threshold_from, whose thresholds it would "
                "move; found both"
            )
    has_parts = kinds is not None or segments is not None
    events = check_part_options(overlap, events_per_day, ("kinds", "segments"), are_given=has_parts)
    request = EvaluationRequest(
        bound, on_error, nan_policy, own_measures=own_measures, contamination=hidden
    )
    check_count(n_resamples, "n_resamples")
    if rng is not None:
        check_generator(rng)
    level = 0.95 if confidence_level is None else confidence_level
    if chance or confidence_level is not None:
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals.interval_estimation import check_options

        options = check_options("auto", level, n_resamples, rng)
        intervals = None if confidence_level is None else options
        request = replace(request, intervals=intervals, chance=options if chance else None)
    if clusters is not None or blocks is not None:
        _check_beside_design(request)
    with thread_limit(n_threads), reporting(progress, "replicates", after=LATE) as report:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        detectors = named_scores(y_score, labels.row_index)
        if clusters is not None or blocks is not None:
            # Here, as the functions of intervals are: for SciPy's time to import.
            from fastad.uncertainty.samples.sampling import check_design

            design = check_design(clusters, blocks, labels)
            request = replace(request, design=None if design.is_independent else design)
        if has_parts:
            others = {"contamination": contamination, "clusters": clusters, "blocks": blocks}
            refuse_given({**others, "curves": curves or None}, _BESIDE_PARTS, "both")
            if labels.weights is not None and labels.weights.dtype.kind == "f":
                raise InvalidInputError(
                    "sample_weight must contain integers with kinds or segments, whose samples "
                    "are counted; found other values"
                )
            level = check_inside(level, "confidence_level")
            members = {
                name: check_membership(part, labels, name, label, overlap)
                for part, name, label in ((kinds, "kinds", 1), (segments, "segments", 0))
                if part is not None
            }
            request = replace(request, parts=Parts(members, level, points, events))
        if own_measures:
            _check_names(own_measures, [name for name, _ in detectors])
        columns = {}
        if groups is not None:
            columns = dict(table_columns(groups, "groups") or [("group", groups)])
        _check_columns(request, columns, len(detectors))
        if threshold_from is not None:
            request = with_chosen_thresholds(request, threshold_from, dict(detectors), pos_label)
        if columns:
            runs = make_groups(columns, labels)
            n_runs = len(detectors) * (runs.starts.shape[0] - 1)
            request = _with_progress(request, report, n_runs, n_resamples)
            return evaluate_groups(labels, detectors, runs, request)
        request = replace(request, keeps_curves=curves)
        request = _with_progress(request, report, len(detectors), n_resamples)
        evaluate_one = partial(evaluate_detector, labels=labels, request=request)
        return Evaluation(thread_map(evaluate_one, detectors))


def _check_columns(request: EvaluationRequest, groups: Collection[str], n_detectors: int) -> None:
    """Refuse groups, and measures of the user, that are called as other columns of the result."""
    keys = [bound.key for bound in request.measures]
    declared = {*MEASURES, *RATES}
    own = [each.key for each in request.measures if each.measure.name not in declared]
    if not groups and not own:
        return
    taken = other_columns(request)
    refuse_taken(own, taken, "measures")
    # The groups of a long table name the detectors, whose scores are in one column.
    named = {"detector"} if n_detectors == 1 else set()
    refuse_taken(groups, taken.union(keys) - named, "groups")


def _with_progress(
    request: EvaluationRequest, progress: Progress | None, n_runs: int, n_resamples: int
) -> EvaluationRequest:
    """Return a request that reports on the replicates of so many runs."""
    n_kinds = (request.intervals is not None) + (request.chance is not None)
    if progress is None or n_kinds == 0:
        return request
    return replace(request, progress=SharedProgress(progress, n_runs * n_kinds, int(n_resamples)))


def _check_names(thresholds: Iterable[str], detectors: Sequence[str]) -> None:
    """Check that each detector has a threshold, and each threshold a detector."""
    missing = [name for name in detectors if name not in thresholds]
    unknown = [name for name in thresholds if name not in detectors]
    if missing or unknown:
        found = f"none for {missing[0]!r}" if missing else f"one for {unknown[0]!r}"
        raise InvalidInputError(
            f"threshold must have one number for each of {some_of(detectors, _MAX_NAMES)}; "
            f"found {found}"
        )


def _check_beside_design(request: EvaluationRequest) -> None:
    """Refuse clusters and blocks where nothing allows for them."""
    if request.intervals is None and request.chance is None:
        raise InvalidInputError(
            "confidence_level must be given with clusters or blocks, which change intervals and "
            "chance levels alone; found None"
        )
    if request.contamination:
        raise InvalidInputError(
            "contamination must not be given with clusters or blocks, for which it is not "
            "derived; found both"
        )
