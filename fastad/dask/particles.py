"""The volume curve, whose particles are scored on Dask."""

from typing import Any

import numpy as np

from fastad._core.parameters import check_count
from fastad._core.threads import points_at_once, thread_limit
from fastad._core.types import FloatMatrix, FloatVector, Threshold
from fastad.dask.tasks import Versions, dask_module, now_or_later
from fastad.regions import curve
from fastad.regions.box import Box
from fastad.regions.scores import BlockScore, Cube, Detector, block_score, scored_elsewhere

_TASKS = 8


def volume_curve(
    detector: Detector,
    threshold: Threshold,
    box: Box,
    *,
    n_tasks: int = _TASKS,
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


def _scores_of(given: Detector, box: Box, points: FloatMatrix, versions: Versions) -> FloatVector:
    """Score some points of the unit cube; the task of a worker."""
    versions.check()
    # A thread may have the context of the caller, which scores elsewhere.
    with scored_elsewhere.use(None), thread_limit(1):
        return Cube(box, block_score(given, box.n_features)).scores(points)
