"""Volumes on Dask: uniform draws are counted range by range, particles scored there."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from fastad._core.parameters import check_count
from fastad._core.threads import points_at_once
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, IntVector, Threshold
from fastad.dask.tasks import Versions, dask_module, now_or_later, on_worker
from fastad.errors import InvalidTypeError
from fastad.regions import at_fpr, curve, volume_estimation
from fastad.regions.batches import BATCH
from fastad.regions.box import Box
from fastad.regions.scores import BlockScore, Cube, Detector, block_score, scored_elsewhere
from fastad.regions.uniform import Draws, counted_elsewhere

Result = TypeVar("Result")

# Draws of a task, at least: fewer take less time than the task itself.
_FEWEST = 2**20
_TASKS = 64
# Tasks of each move of all particles.
_CURVE_TASKS = 8


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
        lambda: volume_estimation.volume(detector, threshold, box, **_by_uniform_draws(options)),
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
        lambda: find(detector, y_true, y_score, box, **_by_uniform_draws(options)),
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
        lambda: at_fpr.volumes(detectors, X, y_true, **_by_uniform_draws(options)),
        n_tasks,
        compute=compute,
    )


def volume_curve(
    detector: Detector,
    threshold: Threshold,
    box: Box,
    *,
    n_tasks: int = _CURVE_TASKS,
    compute: bool = True,
    **options: Any,
) -> Any:
    """Volume at every threshold down to a lowest one, with the score computed on Dask.

    The particles of multilevel splitting move on the client, level by level, and each task scores
    some of them: the result equals `fastad.regions.volume_curve` with the same options, to the
    last bit. The coordinates of points travel to workers and their scores back, so that it is
    for scores that take longer than that: some milliseconds for each move of all particles.

    Parameters
    ----------
    detector, threshold, box
        As for `fastad.regions.volume_curve`; the detector must be one that can be sent to workers.
    n_tasks : int, default 8
        Tasks among which the points of a move are divided, at most.
    compute : bool, default True
        False returns a ``dask.delayed`` object.
    **options
        ``n_draws``, ``confidence_level``, ``rng`` and ``progress`` of
        `fastad.regions.volume_curve`.

    Returns
    -------
    VolumeCurve, or a delayed object
        As `fastad.regions.volume_curve` returns it.

    Raises
    ------
    InvalidInputError
        If workers have other versions of fastad or NumPy.
    MissingExtraError
        If Dask is not installed.

    Examples
    --------
    >>> import fastad
    >>> def radius(X):
    ...     return (X**2).sum(axis=1)
    >>> box = fastad.Box([-1] * 4, [1] * 4)
    >>> here = fastad.regions.volume_curve(radius, 0.01, box, n_draws=20_000, rng=0)
    >>> there = fastad.dask.volume_curve(radius, 0.01, box, n_draws=20_000, rng=0)
    >>> there(0.01).value == here(0.01).value
    True
    """
    most = check_count(n_tasks, "n_tasks")
    given: dict[int, Any] = {}

    def scores_of(box: Box, score: BlockScore, points: FloatMatrix) -> FloatVector:
        dask = dask_module()
        if not given:
            # Sent once, not with each task.
            given[0] = dask.delayed(score.given, traverse=False)
        # Whole batches, as here: a function may round otherwise in others.
        batch, n_points = points_at_once(box.n_features), points.shape[1]
        size = max(-(-n_points // (most * batch)), 1) * batch
        tasks = [
            dask.delayed(_scores_of, pure=False)(
                given[0],
                box,
                np.ascontiguousarray(points[:, start : start + size]),
                Versions.here(),
            )
            for start in range(0, n_points, size)
        ]
        return np.concatenate([np.empty(0), *dask.compute(*tasks)])

    def run() -> curve.VolumeCurve:
        with scored_elsewhere.use(scores_of):
            return curve.volume_curve(detector, threshold, box, **options)

    return now_or_later(run, compute=compute)


def _by_uniform_draws(options: Mapping[str, Any]) -> dict[str, Any]:
    if "method" in options:
        raise InvalidTypeError(
            "method must be left out on Dask, where points are drawn uniformly; volume_curve has "
            "multilevel splitting"
        )
    return {"method": "uniform", **options}


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
    """Count a range of draws; the task of a worker."""
    with on_worker(versions, counted_elsewhere):
        score = block_score(given, draws.box.n_features)
        return draws.count(score, thresholds, numbers.start, len(numbers))


def _scores_of(given: Detector, box: Box, points: FloatMatrix, versions: Versions) -> FloatVector:
    """Score some points of the unit cube; the task of a worker."""
    with on_worker(versions, scored_elsewhere):
        return Cube(box, block_score(given, box.n_features)).scores(points)
