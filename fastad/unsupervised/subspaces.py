"""Criteria of detectors in random subspaces: draws of features, and what comes of each."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.parameters import check_count, check_mapping
from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix, IntMatrix, IntVector
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError, MissingExtraError, UndefinedMeasureError
from fastad.regions.box import Box
from fastad.regions.scores import block_score
from fastad.regions.splitting.repeats import warn_of_mixing
from fastad.unsupervised.criteria import CriteriaPlan
from fastad.unsupervised.level_set_estimation import How, Source, room_for
from fastad.unsupervised.training import Factory, check_factory, named_once, train

# With fewer uniform points in the level set of the least mass that matters splitting does better.
_FEW, _FEWEST_CALLS, _LARGEST_ERROR = 30, 50_000, 0.7


class Subspaces(NamedTuple):
    """Data and detectors, and the draws of features; checked.

    Attributes
    ----------
    detectors : mapping of str to Factory
        What makes each detector.
    X_train, X_test : numpy.ndarray of shape (n_train, n_features), (n_test, n_features)
        What detectors are trained on, and judged on.
    features : numpy.ndarray of int64 of shape (n_subspaces, n_features_drawn)
        Features of each draw, rising.
    seeds : numpy.ndarray of shape (n_subspaces,)
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
    n_subspaces: int,
    n_features: int,
    n_uniform: int,
    rng: np.random.Generator,
) -> Subspaces:
    """Check data and detectors, and draw the features."""
    check_mapping(detectors, "detectors", "detector")
    factories = named_once(detectors, "detectors")
    for name, own in factories.items():
        check_factory(own, f"detectors[{name!r}]")
    train_rows = check_samples(X_train, None, "X_train").astype(np.float64)
    test_rows = check_samples(X_test, train_rows.shape[1], "X_test").astype(np.float64)
    for rows, name in ((train_rows, "X_train"), (test_rows, "X_test")):
        if rows.shape[0] == 0:
            raise InvalidInputError(f"{name} must hold at least one row; found none", argument=name)
    wanted, draws = check_count(n_features, "n_features"), check_count(n_subspaces, "n_subspaces")
    # A box that has no width has no volume. To draw again until none is such a box is to draw from
    # the features that vary.
    varying = np.flatnonzero(test_rows.min(axis=0) < test_rows.max(axis=0))
    if wanted > varying.shape[0]:
        raise InvalidInputError(
            f"n_features must be at most the number of features that vary in X_test, "
            f"{varying.shape[0]}; found {wanted}",
            argument="n_features",
        )
    features = np.stack([np.sort(rng.choice(varying, wanted, replace=False)) for _ in range(draws)])
    seeds = rng.integers(2**63, size=draws)
    n_points = check_count(n_uniform, "n_uniform")
    room_for(n_points, "n_uniform")
    return Subspaces(factories, train_rows, test_rows, set_readonly(features), seeds, n_points)


def check_jobs(n_jobs: int | None) -> int | None:
    """Check a number of processes: None, or as joblib takes it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise TypeError(f"n_jobs must be a whole number or None; found {type(n_jobs).__name__}")
    if n_jobs == 0:
        raise InvalidInputError(
            "n_jobs must not be 0; give None for one process, -1 for all", argument="n_jobs"
        )
    return int(n_jobs)


class DrawCriteria(NamedTuple):
    """Logarithms of both criteria of a detector in a subspace.

    Attributes
    ----------
    log_em, log_mv : float
        NaN where undefined, -inf of 0.
    reason : str
        Why EM is undefined.
    doubtful : bool
        Whether particles of splitting may have missed parts of a region.
    """

    log_em: float
    log_mv: float
    reason: str = ""
    doubtful: bool = False


def judge_subspaces(
    subspaces: Subspaces,
    plan: CriteriaPlan,
    n_jobs: int | None,
    progress: Callable[[int, int | None], object] | None,
) -> list[list[DrawCriteria]]:
    """Return the criteria of each draw and detector."""
    tasks = [
        (
            subspaces.detectors,
            own,
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
    n_doubtful = sum(any(one.doubtful for one in row) for row in found)
    warn_of_mixing([f"in {n_doubtful} of {len(found)} draws"] if n_doubtful else [])
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
    factories: Mapping[str, Factory],
    features: IntVector,
    X_train: FloatMatrix,
    X_test: FloatMatrix,
    seed: int,
    n_uniform: int,
    plan: CriteriaPlan,
) -> list[DrawCriteria]:
    """Train each detector in a subspace, and judge it; all share the uniform points."""
    box = Box.from_data(X_test, discrete_threshold=None)
    rows, contiguous = np.ascontiguousarray(X_test), np.ascontiguousarray(X_train)
    for_training, for_points = np.random.SeedSequence(seed).spawn(2)
    found = []
    for name, factory in factories.items():
        try:
            learnt = train(factory, contiguous, np.random.default_rng(for_training))
            source = Source(block_score(learnt, box.n_features), box, for_points)
            found.append(_judge_one(source, rows, n_uniform, plan))
        except MissingExtraError:
            raise
        except Exception as error:
            kind = TypeError if isinstance(error, TypeError) else InvalidInputError
            raise kind(
                f"detectors[{name!r}] must learn from features {features.tolist()} and score "
                f"them; found {type(error).__name__}: {error}"
            ) from error
    return found


def _judge_one(
    source: Source, rows: FloatMatrix, n_uniform: int, plan: CriteriaPlan
) -> DrawCriteria:
    """Judge a detector by uniform points, and where these hit too seldom by splitting.

    Weighted draws would be surer, but of so few features splitting takes a tenth of their time.
    """
    y_score = source.score.of_rows(rows)
    lowest = float(min(plan.mass[0], plan.excess_mass))
    levels, _ = source.level_sets(y_score, rows, How.of("uniform", n_uniform))
    inside = np.interp(lowest * levels.n_test, levels.masses, np.asarray(levels.inside))
    # Points that all score alike have no sets around them in which others could come down.
    if inside < _FEW and levels.masses[1] < lowest * levels.n_test:
        # EM may be undefined because the detector is so good: volumes are too small to be hit.
        with suppress(InvalidInputError):
            how = How("splitting", max(n_uniform, _FEWEST_CALLS), lowest, None)
            found, _ = source.level_sets(y_score, rows, how)
            # Where repeats differ by so much, they have found no volume.
            if found.log_error(lowest * found.n_test) < _LARGEST_ERROR:
                levels = found
    log_mv = levels.mass_volume_curve().log_area(*plan.mass)
    doubtful = levels.inside is None and bool(source.doubts)
    try:
        log_em = levels.excess_mass_curve().log_area(plan.excess_mass)
    except UndefinedMeasureError as error:
        return DrawCriteria(math.nan, log_mv, str(error), doubtful)
    return DrawCriteria(log_em, log_mv, "", doubtful)
