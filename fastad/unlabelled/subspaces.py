"""Criteria of detectors in random subspaces: draws of features, and what comes of each."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._arguments import check_count
from fastad._threads import thread_limit
from fastad._types import FloatMatrix, IntMatrix
from fastad.compiled.scorer import check_samples
from fastad.errors import InvalidInputError, MissingExtraError, UndefinedMeasureError
from fastad.regions.box import Box
from fastad.regions.scores import block_score
from fastad.unlabelled.criteria import CriteriaPlan
from fastad.unlabelled.detector import How, Source
from fastad.unlabelled.training import Factory, check_factory, train


class Subspaces(NamedTuple):
    """Data and detectors, and the draws of features; checked.

    Attributes
    ----------
    detectors : mapping of str to Factory
        What makes each detector.
    X_train, X_test : numpy.ndarray of shape (n_train, n_features), (n_test, n_features)
        What detectors are trained on, and judged on.
    features : numpy.ndarray of int64 of shape (n_draws, n_features_drawn)
        Features of each draw, rising.
    seeds : numpy.ndarray of shape (n_draws,)
        Of all random numbers of each draw.
    n_uniform : int
        Uniform points of each draw.
    """

    detectors: Mapping[str, Factory]
    X_train: FloatMatrix
    X_test: FloatMatrix
    features: IntMatrix
    seeds: npt.NDArray[np.int64]
    n_uniform: int


def check_subspaces(
    detectors: Mapping[str, Factory],
    X_train: npt.ArrayLike,
    X_test: npt.ArrayLike,
    n_draws: int,
    n_features: int,
    n_uniform: int,
    rng: np.random.Generator,
) -> Subspaces:
    """Check data and detectors, and draw the features."""
    if not isinstance(detectors, Mapping) or not detectors:
        raise TypeError(
            f"detectors must name at least one detector; found {type(detectors).__name__}"
            + (" without any" if isinstance(detectors, Mapping) else "")
        )
    factories = {str(name): check_factory(own, str(name)) for name, own in detectors.items()}
    train_rows = check_samples(X_train, None, "X_train").astype(np.float64)
    test_rows = check_samples(X_test, train_rows.shape[1], "X_test").astype(np.float64)
    for rows, name in ((train_rows, "X_train"), (test_rows, "X_test")):
        if rows.shape[0] == 0:
            raise InvalidInputError(f"{name} must hold at least one row; found none")
    wanted, draws = check_count(n_features, "n_features"), check_count(n_draws, "n_draws")
    # A box that has no width has no volume. To draw again until none is such a box is to draw from
    # the features that vary.
    varying = np.flatnonzero(test_rows.min(axis=0) < test_rows.max(axis=0))
    if wanted > varying.shape[0]:
        raise InvalidInputError(
            f"n_features must be at most the number of features that vary in X_test, "
            f"{varying.shape[0]}; found {wanted}"
        )
    features = np.array([np.sort(rng.choice(varying, wanted, replace=False)) for _ in range(draws)])
    seeds = rng.integers(2**63, size=draws)
    n_points = check_count(n_uniform, "n_uniform")
    return Subspaces(factories, train_rows, test_rows, features, seeds, n_points)


class DrawCriteria(NamedTuple):
    """Logarithms of both criteria of a detector in a subspace.

    Attributes
    ----------
    log_em, log_mv : float
        NaN where undefined, -inf of 0.
    reason : str
        Why EM is undefined.
    """

    log_em: float
    log_mv: float
    reason: str = ""


def judge_subspaces(
    subspaces: Subspaces,
    plan: CriteriaPlan,
    n_jobs: int | None,
    progress: Callable[[int, int | None], object] | None,
) -> list[list[DrawCriteria]]:
    """Return the criteria of each draw and detector."""
    names = list(subspaces.detectors)
    tasks = [
        (
            [subspaces.detectors[name] for name in names],
            subspaces.X_train[:, own],
            subspaces.X_test[:, own],
            int(seed),
            subspaces.n_uniform,
            plan,
        )
        for own, seed in zip(subspaces.features, subspaces.seeds, strict=True)
    ]
    found = []
    for one in _run(tasks, n_jobs):
        found.append(one)
        if progress is not None:
            progress(len(found), len(tasks))
    return found


def _run(tasks: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterator[list[DrawCriteria]]:
    """Yield what comes of each task, in their order."""
    if n_jobs is None or n_jobs == 1:
        yield from (_judge_draw(*task) for task in tasks)
        return
    try:
        import joblib
    except ModuleNotFoundError:
        raise MissingExtraError("n_jobs needs joblib: pip install 'fastad[sklearn]'") from None
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    yield from parallel(joblib.delayed(_judge_alone)(*task) for task in tasks)


def _judge_alone(*task: Any) -> list[DrawCriteria]:
    """Judge a draw on one thread, in a process of its own."""
    with thread_limit(1):
        return _judge_draw(*task)


def _judge_draw(
    factories: Sequence[Factory],
    X_train: FloatMatrix,
    X_test: FloatMatrix,
    seed: int,
    n_uniform: int,
    plan: CriteriaPlan,
) -> list[DrawCriteria]:
    """Train each detector in a subspace, and judge it; all share the uniform points."""
    box = Box.from_data(X_test, discrete_threshold=None)
    rows, contiguous = np.ascontiguousarray(X_test), np.ascontiguousarray(X_train)
    found = []
    for factory in factories:
        rng = np.random.default_rng(seed)
        score = block_score(train(factory, contiguous, rng), box.n_features)
        source = Source(score, box, np.random.default_rng(seed))
        levels, _ = source.level_sets(score.of_rows(rows), rows, How.of("uniform", n_uniform))
        log_mv = levels.mass_volume_curve().log_area(*plan.mass)
        try:
            log_em, reason = levels.excess_mass_curve().log_area(plan.excess_mass), ""
        except UndefinedMeasureError as error:
            log_em, reason = math.nan, str(error)
        found.append(DrawCriteria(log_em, log_mv, reason))
    return found
