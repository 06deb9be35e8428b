"""Volumes at false positive rates: of one detector, and of several on one set of draws."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_mapping, check_rate, check_rates
from fastad._core.progress import Progress, notes_about, reporting
from fastad._core.random import random_seed
from fastad._core.results import Column, NamedParts, TableResult, estimate_columns
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import (
    ArrayLike,
    FloatMatrix,
    FloatVector,
    Interpolation,
    IntVector,
    Label,
    Point,
    Points,
    Threshold,
)
from fastad.detectors.scorer import (
    blocks,
    check_columns,
    check_samples,
    count_scores_below,
    refuse_nan,
)
from fastad.detectors.together import ScorerGroup, group_scorers
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.thresholds import thresholds_at
from fastad.ordering.labels import check_labels
from fastad.regions.box import Box, box_of
from fastad.regions.methods import VolumeMethod, check_plan
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore, Countable, Detector, block_score, naming
from fastad.regions.uniform import Draws
from fastad.regions.volume_estimation import estimate_volumes, volume


class _Counted(NamedTuple):
    """Draws that were counted, and how many of them are below each threshold of all members."""

    n_draws: int
    counts: IntVector


class BlockGroup(Countable):
    """Several scores that are computed together.

    Attributes
    ----------
    members : list of BlockScore
        The scores.
    """

    def __init__(self, group: ScorerGroup, members: list[BlockScore]) -> None:
        self.members, self._group = members, group
        self._thresholds: list[FloatVector] = []
        self._counted_draws: dict[tuple[np.uint64, int], _Counted] = {}

    def of_rows(self, samples: npt.NDArray[Any]) -> FloatMatrix:
        """Return the scores of samples of shape (n_samples, n_features), a row for each member."""
        scores = np.empty((len(self.members), samples.shape[0]))

        def write(rows: range) -> None:
            for points, part in blocks(samples[rows.start : rows.stop]):
                written = scores[:, rows.start + part.start : rows.start + part.stop]
                written[:] = self._scores(points)
                for row in written:
                    refuse_nan(points, row)

        deque(self.rounds(write, 0, *samples.shape), 0)
        return scores

    @contextmanager
    def counting_at(self, thresholds: Sequence[Sequence[float]]) -> Iterator[None]:
        """Have each member ask for the counts below its thresholds here, in `Draws.count`."""
        self._thresholds = [np.unique(np.asarray(each, np.float64)) for each in thresholds]
        for number, member in enumerate(self.members):
            member.joint = partial(self._counts_of, number)
        try:
            yield
        finally:
            # An estimate that draws on later does so for itself.
            for member in self.members:
                member.joint = None

    def count(self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector) -> None:
        """Add the numbers of points below the thresholds of each member, one after the other."""
        first = 0
        for row, of_member in zip(self._scores(points), self._thresholds, strict=True):
            part = slice(first, first + of_member.shape[0])
            count_scores_below(points, row, thresholds[part], counts[part])
            first = part.stop

    def _counts_of(
        self,
        number: int,
        draws: Draws,
        thresholds: FloatVector,
        first: int,
        n_draws: int,
        progress: Progress | None,
    ) -> tuple[int, IntVector]:
        """Return how many draws are counted for all, and the counts of one member."""
        of_member = self._thresholds[number]
        nothing = 0, np.zeros(thresholds.shape[0], np.int64)
        if not np.isin(thresholds, of_member).all():
            return nothing
        key = draws.key, first
        if key not in self._counted_draws:
            counts = draws.count_here(
                self, np.concatenate(self._thresholds), first, n_draws, progress
            )
            self._counted_draws[key] = _Counted(n_draws, counts)
        counted = self._counted_draws[key]
        # A member that needs fewer draws counts them itself.
        if counted.n_draws > n_draws:
            return nothing
        start = sum(each.shape[0] for each in self._thresholds[:number])
        return counted.n_draws, counted.counts[start + np.searchsorted(of_member, thresholds)]

    def _scores(self, points: FloatMatrix) -> FloatMatrix:
        scores = np.empty((len(self.members), points.shape[1]))
        self._group.write(points, scores)
        return scores


def group_blocks(scores: Sequence[BlockScore]) -> list[BlockGroup]:
    """Return groups of two or more scores that are faster together."""
    groups = group_scorers([score.scorer for score in scores])
    return [BlockGroup(group, [scores[i] for i in members]) for group, members in groups]


@overload
def volume_at_fpr(
    detector: Detector,
    y_true: ArrayLike,
    y_score: ArrayLike,
    box: Box,
    *,
    fpr: Point,
    interpolation: Interpolation = ...,
    pos_label: Label | None = ...,
    **options: Any,
) -> VolumeEstimate: ...
@overload
def volume_at_fpr(
    detector: Detector,
    y_true: ArrayLike,
    y_score: ArrayLike,
    box: Box,
    *,
    fpr: Points,
    interpolation: Interpolation = ...,
    pos_label: Label | None = ...,
    **options: Any,
) -> list[VolumeEstimate]: ...
def volume_at_fpr(
    detector: Detector,
    y_true: ArrayLike,
    y_score: ArrayLike,
    box: Box,
    *,
    fpr: Point | Points,
    interpolation: Interpolation = "linear",
    pos_label: Label | None = None,
    **options: Any,
) -> VolumeEstimate | list[VolumeEstimate]:
    """Volume of the decision region at a false positive rate, VOL@FPR.

    Parameters
    ----------
    detector : detector, callable or CompiledScorer
        Anomaly score of any point, as for `volume`.
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans; there need be no anomalies.
    y_score : array-like of shape (n_samples,)
        Scores of these samples, by the same detector.
    box : Box
        Box to draw points in.
    fpr : float or sequence of floats
        Operating points, in [0, 1]; several share draws or calls, as thresholds of `volume`.
    interpolation : {"linear", "conservative"}, default "linear"
        Interpolation of the threshold, as for `threshold_at_fpr`.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    **options
        Options of `volume`: ``method``, ``n_draws``, ``rtol``, ``rng``, ….

    Returns
    -------
    VolumeEstimate, or a list of them for several rates
        VOL@FPR; its ``complement`` is CVOL@FPR.

    Raises
    ------
    InvalidInputError
        If labels, scores or rates are invalid; the message says which and where.
    UndefinedMeasureError
        If there are no normal samples, or normal samples that score +inf exceed the rate.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, equations (6) and (7), algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> normals = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    >>> def distance(X):
    ...     return np.hypot(*X.T)
    >>> box = fastad.Box.from_data(normals)
    >>> y_true, y_score = np.zeros(1000), distance(normals)
    >>> result = fastad.volume_at_fpr(distance, y_true, y_score, box, fpr=0.5, rng=0)
    >>> 0.45 < result.value < 0.55
    True
    """
    rates = check_rate(fpr, "fpr")
    several = rates if isinstance(rates, list) else [rates]
    thresholds: Any = thresholds_at(y_true, y_score, several, interpolation, pos_label)
    # One call for both forms: the types of `volume` distinguish a threshold from several.
    threshold = thresholds if isinstance(rates, list) else thresholds[0]
    result: VolumeEstimate | list[VolumeEstimate] = volume(detector, threshold, box, **options)
    return result


class Volumes(TableResult, NamedParts[str, Mapping[str, VolumeEstimate]]):
    """Volumes of decision regions: detector, then key such as ``vol@0.05``; prints as a table.

    Frames have a row for each detector: ``detector``, and for each key the value, its ``_low``
    and its ``_high``.

    Attributes
    ----------
    box : Box
        Box of the draws.
    fpr : list of float
        False positive rates, in the order of the keys.
    """

    __slots__ = ("box", "fpr")

    def __init__(
        self, estimates: Mapping[str, Mapping[str, VolumeEstimate]], box: Box, fpr: Sequence[float]
    ) -> None:
        self._parts = dict(estimates)
        self.box = box
        self.fpr = list(fpr)

    def __repr__(self) -> str:
        return f"<Volumes of {len(self)} detectors: {', '.join(self.measure_keys)}>"

    @property
    def measure_keys(self) -> list[str]:
        """Keys of the volumes, by rate."""
        return list(next(iter(self.values())))

    def _declare_table(self) -> list[Column]:
        values = [Column(name, map(str, each.values()), str) for name, each in self.items()]
        return [Column(None, self.measure_keys, str), *values]

    def _declare_columns(self) -> list[Column]:
        columns = [Column("detector", self)]
        for key in self.measure_keys:
            columns += estimate_columns(key, [each[key] for each in self.values()])
        return columns

    def _content(self) -> dict[str, Any]:
        detectors = [{"detector": name, "volumes": each} for name, each in self.items()]
        return {"log_volume_of_box": self.box.log_volume, "detectors": detectors}


@suggests_arguments
def volumes(
    detectors: Mapping[str, Detector],
    X: ArrayLike,
    y_true: ArrayLike,
    *,
    fpr: Point | Points = (0.01, 0.05),
    box: Box | None = None,
    method: VolumeMethod = "auto",
    n_draws: int | None = None,
    rtol: Point | None = None,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    pos_label: Label | None = None,
    n_threads: int | None = None,
) -> Volumes:
    """Volumes of the decision regions of several detectors, each at its own thresholds.

    All detectors and rates share one set of draws, but for methods that draw where a region is,
    such as ``"auto"`` often chooses: for many detectors ``method="uniform"`` is the fastest.
    Detectors with the same training points also share the neighbours of draws, or the distances to
    support vectors; no estimate depends on the other detectors.

    Parameters
    ----------
    detectors : mapping of str to detector, callable or CompiledScorer
        Anomaly score of each detector, as for `volume`.
    X : array-like of shape (n_samples, n_features)
        Samples whose scores give the thresholds; finite numbers. The normal ones are the ``data``
        of `volume`.
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans; there need be no anomalies.
    fpr : float or sequence of floats, default (0.01, 0.05)
        Operating points, in [0, 1].
    box : Box, optional
        Box to draw points in; by default the box of X.
    method, n_draws, rtol, confidence_level
        As for `volume`.
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        As for `volume`, for each detector.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over the points.

    Returns
    -------
    Volumes
        ``result["forest"]["vol@0.05"]`` is a `VolumeEstimate`; prints as a table.

    Raises
    ------
    InvalidInputError
        If detectors, samples or rates are invalid; the message says which and where.
    UndefinedMeasureError
        If there are no normal samples.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> detectors = {
    ...     "round": lambda rows: np.hypot(*rows.T),
    ...     "square": lambda rows: abs(rows).max(axis=1),
    ... }
    >>> result = fastad.volumes(detectors, X, np.zeros(1000), fpr=0.1, rng=0)
    >>> result["round"]["vol@0.1"].value < result["square"]["vol@0.1"].value
    True
    """
    named = check_mapping(detectors, "detectors", "detector")
    rates = check_rates(fpr, "fpr")
    labels = check_labels(y_true, pos_label=pos_label)
    samples = check_samples(X, None)
    if samples.shape[0] != labels.n_rows:
        raise InvalidInputError(
            f"X must have one row for each label; found {samples.shape[0]} rows and "
            f"{labels.n_rows} labels"
        )
    labels.row_index.check(X, "X")
    for name, detector in named.items():
        check_columns(detector, X, f"detectors[{name!r}]")
    region = box_of(samples, box)
    names = [f"vol@{float(rate):g}" for rate in rates]
    if len(set(names)) < len(names):
        raise InvalidInputError(
            "fpr must have operating points that differ in six digits; found two that do not"
        )
    normals = samples[labels.values == 0]
    if not normals.shape[0]:
        raise UndefinedMeasureError("volumes is undefined without normal samples (label 0)")
    plan = check_plan(method, n_draws, rtol, normals, confidence_level, rng)
    scorers = {
        name: block_score(detector, region.n_features, f"detectors[{name!r}]")
        for name, detector in named.items()
    }
    seed = random_seed(plan.rng)
    table: dict[str, dict[str, VolumeEstimate]] = {}
    with thread_limit(n_threads), reporting(progress, "points") as report:
        groups = group_blocks(list(scorers.values()))
        y_scores = {
            member: y_score
            for group in groups
            for member, y_score in zip(group.members, group.of_rows(samples), strict=True)
        }
        thresholds: dict[BlockScore, list[Threshold]] = {}
        for name, scored in scorers.items():
            with naming(f"detectors[{name!r}]"):
                y_score = y_scores[scored] if scored in y_scores else scored.of_rows(samples)
                thresholds[scored] = thresholds_at(labels.values, y_score, rates)
        with ExitStack() as stack:
            for group in groups:
                at = [thresholds[member] for member in group.members]
                stack.enter_context(group.counting_at(at))
            for name, scored in scorers.items():
                same_draws = plan._replace(rng=np.random.default_rng(seed), progress=report)
                with notes_about(name), naming(f"detectors[{name!r}]"):
                    estimates = estimate_volumes(scored, thresholds[scored], region, same_draws)
                table[name] = dict(zip(names, estimates, strict=True))
    return Volumes(table, region, [float(rate) for rate in rates])
