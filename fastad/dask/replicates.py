"""Confidence intervals whose replicates are drawn on Dask, range by range."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_count
from fastad._core.types import ArrayLike
from fastad.dask.tasks import Versions, dask_module, now_or_later, on_worker
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.uncertainty.intervals import interval as intervals
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import (
    IndependentSample,
    Resamples,
    replicate_values,
    replicated_elsewhere,
)

_TASKS = 32


def interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    measure: MeasureLike,
    n_tasks: int = _TASKS,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Confidence interval of a measure, with the replicates of a bootstrap on Dask.

    The scores are gathered and ordered once. Replicates are numbered, and each task draws a range
    of them: the interval equals `fastad.interval` with the same options, to the last bit.
    Methods that draw no replicates are computed at once. For scores that do not fit in memory, see
    `fastad.dask.sketch`.

    Parameters
    ----------
    y_true, y_score, measure
        As for `fastad.interval`; also Dask arrays and series.
    n_tasks : int, default 32
        Ranges of replicates.
    compute : bool, default True
        False returns a ``dask.delayed`` object.
    **options
        As for `fastad.interval`.

    Returns
    -------
    Interval, or a delayed object
        As `fastad.interval` returns it.

    Raises
    ------
    InvalidInputError
        If workers have other versions of fastad or NumPy.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> labels = np.arange(1000) < 50
    >>> scores = np.random.default_rng(0).normal(size=1000) + 2 * labels
    >>> options = {"measure": "tpr@0.05", "method": "bootstrap", "rng": 0}
    >>> there = fastad.dask.interval(labels, scores, **options)
    >>> there == fastad.interval(labels, scores, **options)
    True
    """
    most = check_count(n_tasks, "n_tasks")
    dask = dask_module()

    def replicated(
        sample: IndependentSample, measures: Sequence[BoundMeasure], resamples: Resamples
    ) -> npt.NDArray[np.float64]:
        shared = dask.delayed((sample, list(measures)), traverse=False)
        n = resamples.n_resamples
        cuts = [n * i // most for i in range(most + 1)]
        tasks = [
            dask.delayed(_values_of, pure=False)(
                shared, resamples.part(range(start, stop)), Versions.here()
            )
            for start, stop in pairwise(cuts)
            if stop > start
        ]
        return np.concatenate(dask.compute(*tasks), axis=1)

    def run() -> Interval:
        labels, scores = dask.compute(y_true, y_score)
        with replicated_elsewhere.use(replicated):
            return intervals.interval(labels, scores, measure=measure, **options)

    return now_or_later(run, compute=compute)


def _values_of(
    shared: tuple[IndependentSample, list[BoundMeasure]], resamples: Resamples, versions: Versions
) -> npt.NDArray[np.float64]:
    """Return the measures of some replicates; the task of a worker."""
    with on_worker(versions, replicated_elsewhere):
        return replicate_values(*shared, resamples)
