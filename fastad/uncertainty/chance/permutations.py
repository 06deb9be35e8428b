"""Values of measures on permutations of the labels: on drawn ones, and on all of them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.buffers import MemoryPool
from fastad._core.progress import Progress, fill_in_steps
from fastad._core.random import numbered_generator
from fastad._core.types import FloatMatrix, IntVector, LabelVector
from fastad._kernels.random import bits
from fastad._kernels.resampling.resample import relabel
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.chance.null_distributions import NullDistribution, classes, sizes_of
from fastad.uncertainty.samples.sampling import DesignedSample

# Permutations are counted in integers, of thousands of digits with more samples than this.
_MOST_POINTS = 10_000
# A measure costs at least as much as with this number of samples.
_LEAST_COST = 31_250


def drawn_values(
    counts: OrderedCounts,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> npt.NDArray[np.float64]:
    """Return the values of each measure on drawn permutations; NaN where it is undefined.

    All measures share the permutations, which the key alone determines.
    """
    values = np.empty((len(measures), n_resamples))
    if not measures:
        return values
    n, m = classes(counts)
    flagged = counts.fps + counts.tps
    lasts = np.zeros(n + m, np.uint8)
    lasts[flagged[1:] - 1] = 1

    pool = MemoryPool(
        lambda: (np.empty((2, flagged.shape[0]), np.int64), np.empty(n + m, np.uint8))
    )

    def draw(replicates: range) -> None:
        with pool.borrowed() as ((fps, tps), marks):
            smaller, larger = (tps, fps) if n <= m else (fps, tps)
            permuted = replace(counts, fps=as_readonly(fps), tps=as_readonly(tps))
            for i in replicates:
                relabel(np.uint64(bits(key, i)), lasts, min(n, m), marks, smaller, larger)
                values[:, i] = [bound.value_or_nan(permuted) for bound in measures]

    fill_in_steps(draw, n_resamples, max(n + m, _LEAST_COST), progress)
    return values


def enumerated(counts: OrderedCounts, bound: BoundMeasure, most: int) -> NullDistribution | None:
    """Return the distribution over all outcomes, each with the number of its permutations.

    An outcome is the number of anomalies in each tie: e of c samples are in C(c, e) ways.
    """
    sizes = sizes_of(counts)
    n, m = classes(counts)
    if n + m > _MOST_POINTS or _n_outcomes(sizes, min(n, m), most) > most:
        return None
    values, ways = [], []
    for hits in _outcomes(sizes, n):
        values.append(bound.value_or_nan(labelled(counts, sizes, hits)))
        mixed = np.flatnonzero((hits > 0) & (hits < sizes)).tolist()
        ways.append(math.prod(math.comb(int(sizes[i]), int(hits[i])) for i in mixed))
    permutations = math.comb(n + m, n)
    return NullDistribution(np.array(values), np.array([way / permutations for way in ways]))


def _n_outcomes(sizes: IntVector, fewer: int, most: int) -> int:
    """Return the number of outcomes, at most one more than ``most``; the same for either class."""
    n_scores = sizes.shape[0]
    if fewer == 0:
        return 1
    # A number of anomalies nearer to half of all samples has more outcomes (the product of
    # 1 + x + … + x^c over the ties has rising, then falling coefficients), and so have ties of
    # several samples: there are at least as many as without ties, and with fewer anomalies.
    if n_scores > most or math.comb(n_scores, min(fewer, n_scores // 2)) > most:
        return most + 1
    ways = np.zeros(fewer + 1, np.int64)
    ways[0] = 1
    for size in sizes.tolist():
        sums = np.cumsum(ways)
        sums[size + 1 :] -= np.cumsum(ways)[: max(fewer - size, 0)]
        ways = np.minimum(sums, most + 1)
    return int(ways[fewer])


def _outcomes(sizes: IntVector, n: int) -> Iterator[IntVector]:
    """Yield all numbers of anomalies in the ties, from the highest scores down."""
    hits = filled(sizes, n)
    while True:
        yield hits
        # The lowest tie that can pass an anomaly down does; those below it are filled again.
        free = sizes - hits
        free_below = np.cumsum(free[::-1])[::-1] - free
        can = np.flatnonzero((hits > 0) & (free_below > 0))
        if can.shape[0] == 0:
            return
        i = int(can[-1])
        below = int(hits[i + 1 :].sum())
        hits = hits.copy()
        hits[i] -= 1
        hits[i + 1 :] = filled(sizes[i + 1 :], below + 1)


def filled(sizes: IntVector, n: int) -> IntVector:
    """Return the numbers of anomalies in the ties if the n highest samples are the anomalies."""
    above = np.cumsum(sizes) - sizes
    hits: IntVector = np.clip(n - above, 0, sizes)
    return hits


def labelled(counts: OrderedCounts, sizes: IntVector, hits: IntVector) -> OrderedCounts:
    """Return the counts with these numbers of anomalies in the ties."""
    tps = np.concatenate([[0], np.cumsum(hits)])
    fps = np.concatenate([[0], np.cumsum(sizes)]) - tps
    return replace(counts, fps=as_readonly(fps), tps=as_readonly(tps))


def values_by_chance(
    sample: DesignedSample,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> tuple[FloatMatrix, int]:
    """Return values of measures on labels by chance, and how many were drawn; 0 if all are there.

    The labels of a series are shifted in a circle; the labels of whole clusters are exchanged
    between clusters of the same size. O(n) for each; all measures, a row each, share them.
    Undefined values are NaN.
    """
    sample.refuse("the chance level")
    if (sample.weights != 1).any():
        raise UndefinedMeasureError(
            "the chance level is undefined for sample weights beside clusters or blocks: "
            "weights would stay with the rows while labels move between them"
        )
    n = sample.labels.shape[0]
    n_drawn = n_resamples
    if sample.kind == "clusters":
        relabelled = _between_clusters(sample, key)
    elif n <= n_resamples + 1:
        relabelled, n_drawn = (lambda shift: np.roll(sample.labels, shift)), 0
    else:
        relabelled = _shifted(sample.labels, key)
    values = np.empty((len(measures), n_drawn or n))
    flagged = as_readonly(sample.ends.astype(np.int64))

    def fill(part: range) -> None:
        for i in part:
            sums = np.concatenate([[0], np.cumsum(relabelled(i)[sample.rows], dtype=np.int64)])
            tps = sums[flagged]
            counts = replace(sample.counts, fps=as_readonly(flagged - tps), tps=as_readonly(tps))
            values[:, i] = [bound.value_or_nan(counts) for bound in measures]

    fill_in_steps(fill, values.shape[1], n, progress)
    return values, n_drawn


def _shifted(labels: LabelVector, key: np.uint64) -> Callable[[int], LabelVector]:
    return lambda i: np.roll(labels, int(numbered_generator(key, i).integers(labels.shape[0])))


def _between_clusters(sample: DesignedSample, key: np.uint64) -> Callable[[int], LabelVector]:
    """Return a draw that gives the labels of each cluster to a cluster of the same size.

    Turned in a circle: in the same order they would be the labels of the same places, and of rows
    that are sorted by label the anomalies would stay among the last.
    """
    # Rows of each cluster, in their order; clusters of one size are the rows of a matrix.
    by_cluster = np.argsort(sample.units, kind="stable")
    sizes = np.bincount(sample.units, minlength=sample.n_units)
    starts = np.cumsum(sizes) - sizes
    groups: list[IntVector] = []
    for size in np.unique(sizes):
        first = starts[sizes == size]
        rows = by_cluster[first[:, None] + np.arange(size)]
        if (sample.labels[rows] != sample.labels[rows[0, 0]]).any():
            groups.append(rows)
    if not groups:
        raise UndefinedMeasureError(
            "the chance level needs clusters with both labels, or clusters of the same size with "
            f"different ones, which are exchanged; found none among {sample.n_units} clusters of "
            f"{np.unique(sizes).shape[0]} sizes"
        )

    def exchanged(i: int) -> LabelVector:
        rng = numbered_generator(key, i)
        labels: LabelVector = sample.labels.copy()
        for rows in groups:
            n, size = rows.shape
            turned = (np.arange(size) + rng.integers(size, size=(n, 1))) % size
            others = np.take_along_axis(rows[rng.permutation(n)], turned, axis=1)
            labels[rows] = sample.labels[others]
        return labels

    return exchanged
