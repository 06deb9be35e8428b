"""Volumes whose uniform draws are counted on Dask, range by range."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from fastad._core.parameters import check_count
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, FloatVector, IntVector
from fastad.dask.tasks import Versions, dask_module, now_or_later
from fastad.regions import at_fpr, volume_estimation
from fastad.regions.batches import BATCH
from fastad.regions.box import Box
from fastad.regions.scores import BlockScore, Detector, block_score
from fastad.regions.uniform import Draws, counted_elsewhere

Result = TypeVar("Result")

# Draws of a task, at least: fewer take less time than the task itself.
_FEWEST = 2**20
_TASKS = 64


def volume(
    detector: Detector,
    threshold: Any,
    box: Box,
    *,
    n_tasks: int = _TASKS,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Fraction of a box with a score below a threshold, by uniform draws on Dask.

    The draws are numbered, and each task counts a range of them: the result equals
    ``fastad.volume(..., method="uniform")`` with the same options, to the last bit.

    Parameters
    ----------
    detector, threshold, box
        As for `fastad.volume`; the detector must be one that can be sent to workers.
    n_tasks : int, default 64
        Ranges, at most; of 2²⁰ draws at least.
    compute : bool, default True
        False returns a ``dask.delayed`` object.
    **options
        ``n_draws``, ``confidence_level``, ``rng`` and ``progress`` of `fastad.volume`.

    Returns
    -------
    VolumeEstimate or list of VolumeEstimate, or a delayed object
        As `fastad.volume` returns them.

    Raises
    ------
    InvalidInputError
        If workers have other versions of fastad or NumPy.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import fastad
    >>> from sklearn.ensemble import IsolationForest
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> forest = IsolationForest(n_estimators=10, random_state=0).fit(X)
    >>> box = fastad.Box.from_data(X)
    >>> here = fastad.volume(forest, 0.5, box, method="uniform", n_draws=2**18, rng=0)
    >>> there = fastad.dask.volume(forest, 0.5, box, n_draws=2**18, rng=0)
    >>> there.value == here.value
    True
    """
    return _on_cluster(
        lambda: volume_estimation.volume(detector, threshold, box, method="uniform", **options),
        n_tasks,
        compute=compute,
    )


def volume_at_fpr(
    detector: Detector,
    y_true: ArrayLike,
    y_score: ArrayLike,
    box: Box,
    *,
    n_tasks: int = _TASKS,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Volume at a false positive rate, by uniform draws on Dask; see `fastad.volume_at_fpr`.

    Parameters
    ----------
    detector, y_true, y_score, box
        As for `fastad.volume_at_fpr`.
    n_tasks, compute
        As for `fastad.dask.volume`.
    **options
        ``fpr`` and the options of `fastad.dask.volume`.

    Returns
    -------
    VolumeEstimate or list of VolumeEstimate, or a delayed object
        As `fastad.volume_at_fpr` returns them.

    Examples
    --------
    >>> import fastad
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> def radius(X):
    ...     return np.hypot(*X.T)
    >>> arguments = radius, np.zeros(500), radius(X), fastad.Box.from_data(X)
    >>> options = {"fpr": 0.05, "n_draws": 10_000, "rng": 0}
    >>> there = fastad.dask.volume_at_fpr(*arguments, **options)
    >>> there.value == fastad.volume_at_fpr(*arguments, method="uniform", **options).value
    True
    """
    find: Any = at_fpr.volume_at_fpr
    return _on_cluster(
        lambda: find(detector, y_true, y_score, box, method="uniform", **options),
        n_tasks,
        compute=compute,
    )


def volumes(
    detectors: Mapping[str, Detector],
    X: ArrayLike,
    y_true: ArrayLike,
    *,
    n_tasks: int = _TASKS,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Volumes of several detectors, by uniform draws on Dask; see `fastad.volumes`.

    Parameters
    ----------
    detectors, X, y_true
        As for `fastad.volumes`.
    n_tasks, compute
        As for `fastad.dask.volume`.
    **options
        ``fpr``, ``box`` and the options of `fastad.dask.volume`.

    Returns
    -------
    Volumes, or a delayed object
        As `fastad.volumes` returns them.

    Examples
    --------
    >>> import fastad
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> detectors = {"round": lambda X: np.hypot(*X.T), "square": lambda X: abs(X).max(axis=1)}
    >>> options = {"fpr": 0.05, "n_draws": 10_000, "rng": 0}
    >>> there = fastad.dask.volumes(detectors, X, np.zeros(500), **options)
    >>> str(there) == str(fastad.volumes(detectors, X, np.zeros(500), method="uniform", **options))
    True
    """
    return _on_cluster(
        lambda: at_fpr.volumes(detectors, X, y_true, method="uniform", **options),
        n_tasks,
        compute=compute,
    )


def _on_cluster(run: Callable[[], Result], n_tasks: int, *, compute: bool) -> Any:
    most = check_count(n_tasks, "n_tasks")

    def count(
        draws: Draws, score: BlockScore, thresholds: FloatVector, numbers: range
    ) -> IntVector:
        """Count a range of draws in tasks."""
        dask = dask_module()
        step = max(-(-len(numbers) // most), _FEWEST)
        # Whole batches, as here: a function may round otherwise in others.
        step = -(-step // BATCH) * BATCH
        given = dask.delayed(score.given, traverse=False)
        starts = range(numbers.start, numbers.stop, step)
        ranges = [range(start, min(start + step, numbers.stop)) for start in starts]
        task = dask.delayed(_count_range, pure=False)
        tasks = [task(given, draws, thresholds, some, Versions.here()) for some in ranges]
        counts: IntVector = np.sum(
            [np.zeros(thresholds.shape[0], np.int64), *dask.compute(*tasks)], axis=0
        )
        return counts

    def counted() -> Result:
        with counted_elsewhere.use(count):
            return run()

    return now_or_later(counted, compute=compute)


def _count_range(
    given: Detector, draws: Draws, thresholds: FloatVector, numbers: range, versions: Versions
) -> IntVector:
    """Count a range of draws; the task of a worker, whose other threads have tasks of their own."""
    versions.check()
    # A thread may have the context of the caller, which counts elsewhere.
    with counted_elsewhere.use(None), thread_limit(1):
        score = block_score(given, draws.box.n_features)
        return draws.count(score, thresholds, numbers.start, len(numbers))
