"""Sampling designs: samples that come in clusters or in time, and with real weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.buffers import MemoryPool
from fastad._core.parameters import check_count, short_repr
from fastad._core.progress import Progress, fill_in_steps
from fastad._core.random import numbered_generator
from fastad._core.types import (
    Blocks,
    BoolVector,
    CountVector,
    FloatVector,
    IntVector,
    LabelVector,
    ScoreVector,
)
from fastad._kernels.resampling.reweight import reweighted_counts
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.partial import AUC_AT_FPR
from fastad.measures.roc import ROC_AUC
from fastad.ordering.counts import OrderedCounts, count_rows, count_scores
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels
from fastad.ordering.orders import order_rows
from fastad.uncertainty.results import SamplingEffect
from fastad.uncertainty.samples.bootstrap import IndependentSample
from fastad.uncertainty.samples.closed_forms import rounding_of, student_over_normal
from fastad.uncertainty.samples.dependence import (
    block_length,
    bootstrap_variance,
    df_of_lags,
    df_of_sizes,
    df_of_squares,
    long_run_variance,
)
from fastad.uncertainty.samples.influence import has_influence, influence

Kind = Literal["clusters", "blocks", "weights"]

# With fewer clusters or blocks the variance between them is not known.
FEWEST_UNITS = 10
# Relative change of the weight of normals, for a measure's slope.
_STEP = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class SamplingDesign:
    """Sampling design of the rows that a user gave, beside their weights."""

    clusters: IntVector | None = None  # (n_rows,): number of the cluster of each row
    blocks: Blocks | None = None  # mean length of the blocks of rows that follow each other in time

    @property
    def is_independent(self) -> bool:
        """True if every row was sampled by itself."""
        return self.clusters is None and self.blocks is None

    def among(self, labels: Labels) -> "SamplingDesign":
        """Return the design of some of the rows: none where each is a cluster by itself."""
        weights = labels.weights
        # The repeats of a row are not independent.
        repeats = weights is not None and weights.dtype.kind == "i" and weights.max(initial=0) > 1
        if self.clusters is None or repeats:
            return self
        some = self.clusters if labels.rows is None else self.clusters[labels.rows]
        return self if np.unique(some).shape[0] < some.shape[0] else INDEPENDENT


INDEPENDENT = SamplingDesign()


def blocks_among(blocks: Blocks | None, n_rows: int) -> Blocks | None:
    """Return the length of blocks in a part of the rows, which may have fewer than a block."""
    return min(blocks, n_rows) if isinstance(blocks, int) else blocks


def check_design(clusters: Any, blocks: Any, labels: Labels) -> SamplingDesign:
    """Check the arguments that say how rows depend on each other."""
    if clusters is not None and blocks is not None:
        raise InvalidInputError(
            "blocks must not be given with clusters: rows come in clusters or in time; found both"
        )
    if clusters is not None:
        codes, _ = factorize(clusters, "clusters", labels.row_index)
        return SamplingDesign(clusters=codes).among(labels)
    if blocks is None:
        return INDEPENDENT
    if isinstance(blocks, str) and blocks == "auto":
        return SamplingDesign(blocks="auto")
    if isinstance(blocks, str):
        raise InvalidInputError(f"blocks must be an integer or 'auto'; found {short_repr(blocks)}")
    length = check_count(blocks, "blocks")
    if length > labels.n_rows:
        raise InvalidInputError(
            f"blocks must be at most the number of rows, {labels.n_rows}; found {length}"
        )
    return SamplingDesign(blocks=length)


def needs_design(design: SamplingDesign, labels: Labels) -> bool:
    """Return whether samples depend on each other or have real weights."""
    is_real = labels.weights is not None and labels.weights.dtype.kind == "f"
    return is_real or not design.is_independent


@dataclass(frozen=True, eq=False)  # without slots, to keep what is computed once
class DesignedSample:
    """Scores in their order, with the unit of each row that is drawn as a whole."""

    counts: OrderedCounts  # weights at each distinct score
    rows: IntVector  # (n,): from the highest score down
    ends: IntVector  # (g + 1,): rows above each distinct score, and all
    labels: LabelVector  # (n,): labels, weights and units of the rows as they were given
    weights: CountVector
    units: IntVector
    n_units: int  # clusters, or rows
    kind: Kind  # reason why rows depend, or differ
    length: float | None = None  # mean length of blocks

    def order(self) -> tuple[IntVector, IntVector]:
        """Return the order of the rows, and where ties end: equal where scores rank them alike."""
        return self.rows, self.ends

    @classmethod
    def of(
        cls, scores: ScoreVector, labels: Labels, design: SamplingDesign, name: str = "y_score"
    ) -> "DesignedSample":
        """Order the scores of rows; of series, find the length of blocks."""
        n = labels.values.shape[0]
        weights = np.ones(n, np.int64) if labels.weights is None else labels.weights
        order = order_rows(scores, labels, name)
        counts = count_rows(order, labels, weights)
        if labels.weights is None:
            counts = replace(counts, weighting="none")
        falling = order.falling[order.rows]
        ends = np.flatnonzero(np.concatenate([[True], falling[1:] != falling[:-1], [True]]))
        units, kind = np.arange(n), "weights"
        if design.clusters is not None:
            given = design.clusters if labels.rows is None else design.clusters[labels.rows]
            units, kind = np.unique(given, return_inverse=True)[1], "clusters"
        sample = cls(
            counts,
            order.rows,
            ends,
            labels.values,
            as_readonly(weights),
            as_readonly(units.astype(np.int64)),
            int(units.max()) + 1,
            kind,  # type: ignore[arg-type]  # one of the three
        )
        if design.blocks is None:
            return sample
        length = float(design.blocks) if design.blocks != "auto" else sample._best_length()
        return sample.in_blocks(length)

    def in_blocks(self, length: float) -> "DesignedSample":
        """Return the sample with blocks of another mean length."""
        return replace(self, kind="blocks", length=length)

    def _best_length(self) -> float:
        """Return the length of blocks for the area under the ROC curve."""
        if not self.counts.n_anomalies or not self.counts.n_normals:
            return 1.0
        return block_length(self.contributions(ROC_AUC.bind()))

    @property
    def n_independent(self) -> float:
        """Number of clusters or rows, or of blocks."""
        return self.n_units if self.length is None else self.n_units / self.length

    def n_equal_units(self, *labels: int) -> float:
        """Return the number of units of equal size that tell as much of their variance.

        In the worst of the classes. The sizes are known before any score, the variance is not: the
        deviation of the largest unit is in the mean too, so that the sum of squares is low.
        """
        return min(self._equal_units[label] for label in labels)

    @cached_property
    def _equal_units(self) -> dict[int, float]:
        members = {label: self.labels == label for label in (1, 0)}
        sizes = {x: np.bincount(self.units[own], self.weights[own]) for x, own in members.items()}
        return {label: 1 + float(df_of_sizes(each)) for label, each in sizes.items()}

    @property
    def n_rows(self) -> tuple[int, int]:
        """Numbers of rows, repeated by integer weights, that are anomalies and normals."""
        if self.weights.dtype.kind == "i":
            return int(self.counts.n_anomalies), int(self.counts.n_normals)
        n_anomalies = int(np.count_nonzero(self.labels))
        return n_anomalies, self.labels.shape[0] - n_anomalies

    @property
    def class_sizes(self) -> tuple[float, float]:
        """Numbers of rows, or of rows of equal weight, that are anomalies and normals."""
        return self.deciding_sizes if self.kind == "weights" else self.n_rows

    @property
    def deciding_sizes(self) -> tuple[float, float]:
        """Numbers of units of equal size with anomalies and normals: rows of one may be alike.

        In a series, of runs of anomalies that follow each other, of which a long one is divided
        into blocks, and of blocks of normals.
        """
        anomalies, normals = self.n_equal_units(1), self.n_equal_units(0)
        if self.length is None or self.length == 1:
            return anomalies, normals
        is_anomaly = self.labels == 1
        runs = np.cumsum(np.diff(is_anomaly.astype(np.int8), prepend=0) == 1)[is_anomaly]
        blocks = np.maximum(np.bincount(runs)[1:] // self.length, 1)
        return min(float(blocks.sum()), anomalies), max(normals / self.length, 1.0)

    def refuse(self, what: str) -> None:
        """Refuse too few units for an interval or comparison."""
        if self.kind != "weights" and self.n_independent < FEWEST_UNITS:
            raise UndefinedMeasureError(
                f"{what} needs {FEWEST_UNITS} {self.kind}; found {self.n_independent:.4g}"
            )
        is_anomaly = self.labels == 1
        for name, mask in (("anomalies", is_anomaly), ("normal samples", ~is_anomaly)):
            n = np.count_nonzero(np.bincount(self.units[mask], minlength=self.n_units))
            if n < 2:
                where = "clusters" if self.kind == "clusters" else "rows"
                raise UndefinedMeasureError(
                    f"{what} needs {name} in two {where} at least; found them in {n}: nothing is "
                    "known of how they vary between others"
                )

    def contributions(self, bound: BoundMeasure) -> FloatVector:
        """Return the contribution of each row to the deviation from the true value; (n,)."""
        by_score = influence(self.counts, bound)
        point = np.repeat(np.arange(self.ends.shape[0] - 1), np.diff(self.ends))
        is_anomaly = self.labels[self.rows] == 1
        added = np.where(
            is_anomaly,
            by_score.anomalies[point] / self.counts.n_anomalies,
            by_score.normals[point] / self.counts.n_normals,
        )
        by_row: FloatVector = np.empty(added.shape[0])
        by_row[self.rows] = added + self._of_the_ratio(bound, is_anomaly)
        return by_row * self.weights

    def _of_the_ratio(self, bound: BoundMeasure, is_anomaly: BoolVector) -> FloatVector:
        """Return the contributions of rows by way of the ratio of the classes.

        0 where the measure does not depend on it. Clusters, unlike strata, leave the numbers of
        both to chance.
        """
        less, more = (self._value_at_ratio(bound, factor) for factor in (1 - _STEP, 1 + _STEP))
        # NaN where the measure takes no weights.
        if not abs(more - less) > rounding_of(bound):
            return np.zeros(is_anomaly.shape[0])
        slope = (more - less) / (2 * _STEP)
        return np.where(is_anomaly, -slope / self.counts.n_anomalies, slope / self.counts.n_normals)

    def _value_at_ratio(self, bound: BoundMeasure, factor: float) -> float:
        """Return the measure with the number of normals multiplied; NaN if it has none."""
        try:
            return bound.value_or_nan(self.counts.with_normals_weighted(factor))
        except InvalidInputError:
            return math.nan

    def variance(self, bound: BoundMeasure) -> float:
        """Return the variance of a smooth measure."""
        return self.variances(self.contributions(bound)).total

    def degrees_of_freedom(self, bound: BoundMeasure) -> float:
        """Return the degrees of freedom with which a measure's variance is known.

        Measures without influences take the degrees of an area, up to their FPR if they have one.
        """
        if not has_influence(bound.measure):
            fpr = bound.parameters.get("fpr") if bound.measure.operating_point == "fpr" else None
            bound = AUC_AT_FPR.bind(fpr=fpr) if fpr else ROC_AUC.bind()
        return self.variances(self.contributions(bound)).df

    def widening(self, df: float, alpha: float) -> float:
        """Return the factor by which percentiles of replicates of few clusters are too narrow."""
        if math.isinf(df):
            return 1.0
        factor = student_over_normal(alpha, df) * math.sqrt(self.n_units / (self.n_units - 1))
        return factor if self.length is None else factor * self._bias_of_blocks

    @cached_property
    def _df_of_blocks(self) -> float:
        length = self.length or 1.0
        return df_of_lags(self.n_units, length) if length > 1 else math.inf

    @cached_property
    def _bias_of_blocks(self) -> float:
        """Standard deviation of the area over the standard deviation by drawn blocks."""
        contributions, length = self.contributions(ROC_AUC.bind()), self.length or 1.0
        of_replicates = bootstrap_variance(contributions, length)
        ratio = long_run_variance(contributions, length) / of_replicates if of_replicates else 1.0
        return math.sqrt(max(ratio, 1.0))

    def variances(self, contributions: FloatVector) -> "Variances":
        """Return the variance of the sum of the rows' contributions, from units that differ.

        For clusters, the estimator of Obuchowski 1997, section 2, for any contributions; for single
        rows, DeLong's estimator.
        """
        of_class = [np.where(self.labels == label, contributions, 0.0) for label in (1, 0)]
        if self.length is not None:
            total, anomalies, normals = (
                long_run_variance(values, self.length) for values in (contributions, *of_class)
            )
            return Variances(total, anomalies, normals, self._df_of_blocks)
        sums = [np.bincount(self.units, values, self.n_units) for values in of_class]
        n_with = [np.unique(self.units[self.labels == label]).shape[0] for label in (1, 0)]
        anomalies, normals = (
            float(n / (n - 1) * (values @ values)) for n, values in zip(n_with, sums, strict=True)
        )
        between = 2 * self.n_units / (self.n_units - 1) * float(sums[0] @ sums[1])
        total = anomalies + normals + between
        df = df_of_squares((sums[0] + sums[1]) ** 2)
        df = min(df, self.n_equal_units(1, 0) - 1)
        return Variances(max(total, 0.0), anomalies, normals, df)

    def effect(self) -> SamplingEffect | None:
        """Return the design effect of the area under the ROC curve; None where it has none."""
        if not self.counts.n_anomalies or not self.counts.n_normals:
            return None
        contributions = self.contributions(ROC_AUC.bind())
        variances = self.variances(contributions)
        independent = []
        for label, total in ((1, self.counts.n_anomalies), (0, self.counts.n_normals)):
            mask = self.labels == label
            # Squared deviations by samples of weight 1.
            squares = (contributions[mask] * total) ** 2 / self.weights[mask]
            independent.append(float(squares.sum()) / total)
        variance = sum(s / max(n - 1, 1) for s, n in zip(independent, self.n_rows, strict=True))
        effective = [
            min(s / v, float(n)) if v > 0 else float(n)
            for s, v, n in zip(
                independent, (variances.anomalies, variances.normals), self.n_rows, strict=True
            )
        ]
        return SamplingEffect(
            kind=self.kind,
            n_units=self.n_independent,
            block_length=self.length,
            design_effect=variances.total / variance if variance > 0 else math.nan,
            effective_anomalies=effective[0],
            effective_normals=effective[1],
        )

    def replicates(
        self,
        measures: Sequence[BoundMeasure],
        n_resamples: int,
        key: np.uint64,
        progress: Progress | None = None,
        *,
        stratified: bool = False,
    ) -> npt.NDArray[np.float64]:
        """Return each measure on each replicate, shape (n_measures, n_resamples).

        Clusters, blocks or rows of both classes are drawn with replacement, never by class, the
        same for every detector and number of threads; scores are not ordered again. NaN where a
        measure is undefined. O(n) for each.
        """
        values = np.empty((len(measures), n_resamples))
        rows = self.rows
        units, labels, weights = (
            as_readonly(each[rows]) for each in (self.units, self.labels, self.weights)
        )
        ends, keys = as_readonly(self.ends), self.counts.keys
        g, dtype = self.counts.keys.shape[0], self.counts.fps.dtype
        pool = MemoryPool(
            lambda: (np.empty(g, np.int64), np.empty(g + 1, dtype), np.empty(g + 1, dtype))
        )

        def fill(part: range) -> None:
            with pool.borrowed() as memory:
                for replicate in part:
                    times = as_readonly(self._draw(key, replicate))
                    n_points = reweighted_counts(times, units, labels, weights, ends, keys, *memory)
                    counts = self._counts(n_points, *memory)
                    for i, bound in enumerate(measures):
                        values[i, replicate] = bound.value_or_nan(counts)

        fill_in_steps(fill, n_resamples, units.shape[0], progress)
        return values

    def _draw(self, key: np.uint64, replicate: int) -> IntVector:
        """Return the number of times that each unit is drawn."""
        rng = numbered_generator(key, replicate)
        n = self.n_units
        if self.length is None or self.length <= 1:
            return np.bincount(rng.integers(n, size=n), minlength=n)
        # Blocks of geometric lengths from anywhere in the series, which closes in a circle
        # (Politis and Romano 1994); the last one is cut where the series is full.
        expected = n / self.length
        n_blocks = int(expected + 6 * math.sqrt(expected) + 10)
        lengths = np.minimum(rng.geometric(1 / self.length, n_blocks), n)
        while lengths.sum() < n:
            lengths = np.concatenate([lengths, rng.geometric(1 / self.length, n_blocks)])
        full = int(np.searchsorted(np.cumsum(lengths), n))
        lengths = lengths[: full + 1]
        lengths[-1] -= lengths.sum() - n
        starts = rng.integers(n, size=lengths.shape[0])
        stops = starts + lengths
        steps = np.bincount(starts, minlength=n + 1) - np.bincount(
            np.where(stops > n, stops - n, stops), minlength=n + 1
        )
        steps[0] += np.count_nonzero(stops > n)
        return np.cumsum(steps[:n])

    def _counts(
        self, n_points: int, keys: IntVector, fps: CountVector, tps: CountVector
    ) -> OrderedCounts:
        counts = self.counts
        return OrderedCounts(
            fps=as_readonly(fps[: n_points + 1]),
            tps=as_readonly(tps[: n_points + 1]),
            keys=as_readonly(keys[:n_points]),
            codec=counts.codec,
            n_anomalies=tps[n_points].item(),
            n_normals=fps[n_points].item(),
            n_points=self.labels.shape[0],
            n_tied=counts.n_tied,
            weighting=counts.weighting,
        )


@dataclass(frozen=True, slots=True)
class Variances:
    """The variance of a measure, and of the contributions of each class by itself."""

    total: float
    anomalies: float
    normals: float
    df: float  # degrees of freedom of the total


Sample: TypeAlias = IndependentSample | DesignedSample


def refuse_contamination(sample: Sample, contamination: Fraction) -> None:
    """Refuse hidden anomalies where rows are not independent or have real weights."""
    if sample.kind is not None and contamination:
        raise InvalidInputError(
            "contamination must not be given for samples in clusters or in time, or with real "
            "weights; found both"
        )


def sample_of(
    scores: ScoreVector, labels: Labels, design: SamplingDesign, name: str = "y_score"
) -> Sample:
    """Return the sample of scores: counts where rows are independent and counted in integers."""
    if needs_design(design, labels):
        return DesignedSample.of(scores, labels, design, name)
    return IndependentSample.of(count_scores(scores, labels, name))
