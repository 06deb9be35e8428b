"""Values of a measure by chance where samples come in clusters or in time."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.pace import fill_in_steps
from fastad._core.progress import Progress
from fastad._core.random import numbered_generator
from fastad._core.types import FloatMatrix, IntVector, LabelVector
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.uncertainty.sampling import DesignedSample


def values_by_chance(
    sample: DesignedSample,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    key: np.uint64,
    progress: Progress | None = None,
) -> tuple[FloatMatrix, int]:
    """Return values of measures on labels by chance, and how many were drawn; 0 if all are there.

    The labels of a series are shifted in a circle; the labels of whole clusters are exchanged
    between clusters of the same size. O(n) for each; all measures share them.

    Returns
    -------
    values : numpy.ndarray of shape (n_measures, n_values)
        NaN where a measure is undefined.
    n_drawn : int
        Number of values, or 0.
    """
    refusal = sample.refusal("the chance level")
    if refusal is None and (sample.weights != 1).any():
        refusal = UndefinedMeasureError(
            "the chance level is undefined for sample weights beside clusters or blocks: "
            "weights would stay with the rows while labels move between them"
        )
    if refusal is not None:
        raise refusal
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
    """Return what gives the labels of each cluster to one of the same size."""
    # Rows of each cluster, in their order; clusters of one size are the rows of a matrix.
    by_cluster = np.argsort(sample.units, kind="stable")
    sizes = np.bincount(sample.units, minlength=sample.n_units)
    starts = np.cumsum(sizes) - sizes
    groups: list[IntVector] = []
    for size in np.unique(sizes):
        first = starts[sizes == size]
        rows = by_cluster[first[:, None] + np.arange(size)]
        if (sample.labels[rows] != sample.labels[rows[0]]).any():
            groups.append(rows)
    if not groups:
        raise UndefinedMeasureError(
            "the chance level needs clusters of the same size with different labels, which are "
            f"exchanged; found none among {sample.n_units} clusters of "
            f"{np.unique(sizes).shape[0]} sizes"
        )

    def exchanged(i: int) -> LabelVector:
        rng = numbered_generator(key, i)
        labels: LabelVector = sample.labels.copy()
        for rows in groups:
            labels[rows] = sample.labels[rows[rng.permutation(rows.shape[0])]]
        return labels

    return exchanged
