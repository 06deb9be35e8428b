"""EM and MV of detectors that are trained anew in random subspaces of the features."""

import copy
import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.extras import import_extra
from fastad._core.frames import column_names
from fastad._core.parameters import check_count, short_repr
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, FloatMatrix, IntMatrix, IntVector
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import check_samples, compare_columns
from fastad.errors import (
    InvalidInputError,
    InvalidTypeError,
    MissingExtraError,
    UndefinedMeasureError,
)
from fastad.regions.box import Box
from fastad.regions.scores import Detector, block_score
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.unsupervised.criteria import CriteriaPlan
from fastad.unsupervised.excess_mass import excess_mass_curve
from fastad.unsupervised.level_set_estimation import (
    LevelSetEstimator,
    LevelSetOptions,
    empty_scores,
)
from fastad.unsupervised.mass_volume import mass_volume_curve

# An estimator to fit, or a function that learns a score from data.
Factory: TypeAlias = Any
# With fewer uniform points in the level set of the least mass that matters splitting does better.
_FEW, _FEWEST_CALLS, _LARGEST_ERROR = 30, 50_000, 0.7
_LARGEST_SEED = 2**32


class Subspaces(NamedTuple):
    """Data and detectors, and the features of each subspace; checked."""

    detectors: Mapping[str, Factory]  # training method of each detector
    # Rows to train on, and to evaluate on.
    X_train: FloatMatrix
    X_test: FloatMatrix
    features: IntMatrix  # features of each subspace, rising
    seeds: npt.NDArray[np.int64]  # seed of all random numbers of each subspace
    n_draws: int  # uniform points of each subspace


def check_subspaces(
    detectors: Mapping[str, Factory],
    X_train: ArrayLike,
    X: ArrayLike,
    *,
    n_subspaces: int,
    n_features: int,
    n_draws: int = 100_000,
    rng: np.random.Generator,
) -> Subspaces:
    """Check data and detectors, and draw the features."""
    for name, factory in detectors.items():
        check_factory(factory, f"detectors[{name!r}]")
    train_rows = check_samples(X_train, None, "X_train").astype(np.float64)
    test_rows = check_samples(X, train_rows.shape[1], "X").astype(np.float64)
    compare_columns(X, "X", column_names(X_train), "of X_train")
    for rows, name in ((train_rows, "X_train"), (test_rows, "X")):
        if rows.shape[0] == 0:
            raise InvalidInputError(f"{name} must contain at least one row; found none")
    d, n = check_count(n_features, "n_features"), check_count(n_subspaces, "n_subspaces")
    # A box that has no width has no volume. To draw again until none is such a box is to draw from
    # the features that vary.
    varying = varying_features(test_rows)
    if d > varying.shape[0]:
        raise InvalidInputError(
            f"n_features must be at most the number of features that vary in X, "
            f"{varying.shape[0]}; found {d}"
        )
    features = np.stack([np.sort(rng.choice(varying, d, replace=False)) for _ in range(n)])
    seeds = rng.integers(2**63, size=n)
    n_points = check_count(n_draws, "n_draws")
    empty_scores(n_points)
    return Subspaces(detectors, train_rows, test_rows, set_readonly(features), seeds, n_points)


def varying_features(X: FloatMatrix) -> IntVector:
    """Return the features that are not constant."""
    return np.flatnonzero(X.min(axis=0) < X.max(axis=0))


def check_jobs(n_jobs: int | None) -> int | None:
    """Check a number of processes: None, or as joblib takes it."""
    if n_jobs is None:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral):
        raise InvalidTypeError(f"n_jobs must be an integer or None; found {type(n_jobs).__name__}")
    if n_jobs == 0:
        raise InvalidInputError(
            "n_jobs must not be 0, but None for one process or -1 for all; found 0"
        )
    return int(n_jobs)


def check_factory(factory: Factory, name: str) -> None:
    """Check that something makes detectors."""
    if not hasattr(factory, "fit") and not callable(factory):
        raise InvalidTypeError(
            f"{name} must have a method fit, or be a function of the data that returns a score; "
            f"found {short_repr(factory)}"
        )


def train(factory: Factory, X: FloatMatrix, rng: np.random.Generator) -> Detector:
    """Train a detector on data, and return its score.

    An estimator is copied first, and each random state in it gets its own seed.
    """
    if not hasattr(factory, "fit"):
        return factory(X)
    if hasattr(factory, "get_params") and importlib.util.find_spec("sklearn") is not None:
        from sklearn.base import clone  # here, because scikit-learn is an extra

        estimator = clone(factory)
    else:
        estimator = copy.deepcopy(factory)
    if hasattr(estimator, "get_params"):
        seeds = {
            name: int(rng.integers(_LARGEST_SEED))
            for name in sorted(estimator.get_params())
            if name == "random_state" or name.endswith("__random_state")
        }
        estimator.set_params(**seeds)
    return compile_scorer(estimator.fit(X))


class SubspaceCriteria(NamedTuple):
    """Logarithms of both criteria of a detector in a subspace."""

    # NaN where undefined, -inf of 0.
    log_em: float
    log_mv: float
    reason: str = ""  # reason of an undefined EM
    # Whether particles of splitting may have missed parts of a region.
    insufficient_mixing: bool = False


def evaluate_subspaces(
    subspaces: Subspaces,
    plan: CriteriaPlan,
    n_jobs: int | None,
    progress: Callable[[int, int | None], object] | None,
) -> list[list[SubspaceCriteria]]:
    """Return the criteria of each subspace and detector."""
    tasks = [
        (
            subspaces.detectors,
            features,
            subspaces.X_train[:, features],
            subspaces.X_test[:, features],
            int(seed),
            subspaces.n_draws,
            plan,
        )
        for features, seed in zip(subspaces.features, subspaces.seeds, strict=True)
    ]
    rows = []
    for row in _run(tasks, n_jobs):
        rows.append(row)
        if progress is not None:
            progress(len(rows), len(tasks))
    n_insufficient = sum(any(criteria.insufficient_mixing for criteria in row) for row in rows)
    warn_of_mixing([f"in {n_insufficient} of {len(rows)} subspaces"] if n_insufficient else [])
    return rows


def _run(tasks: Sequence[tuple[Any, ...]], n_jobs: int | None) -> Iterator[list[SubspaceCriteria]]:
    """Yield the result of each task, in their order."""
    if n_jobs is None or n_jobs == 1:
        yield from (_evaluate_subspace(*task) for task in tasks)
        return
    joblib = import_extra("joblib", "n_jobs", extra="sklearn")
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    yield from parallel(joblib.delayed(_evaluate_in_process)(*task) for task in tasks)


def _evaluate_in_process(*task: Any) -> list[SubspaceCriteria]:
    """Evaluate a subspace on one thread, in a process of its own."""
    with thread_limit(1):
        return _evaluate_subspace(*task)


def _evaluate_subspace(
    factories: Mapping[str, Factory],
    features: IntVector,
    X_train: FloatMatrix,
    X_test: FloatMatrix,
    seed: int,
    n_draws: int,
    plan: CriteriaPlan,
) -> list[SubspaceCriteria]:
    """Train each detector in a subspace, and evaluate it; all share the uniform points."""
    box = Box.from_data(X_test, discrete_threshold=None)
    rows, contiguous = np.ascontiguousarray(X_test), np.ascontiguousarray(X_train)
    for_training, for_points = np.random.SeedSequence(seed).spawn(2)
    results = []
    for name, factory in factories.items():
        try:
            score = train(factory, contiguous, np.random.default_rng(for_training))
            estimator = LevelSetEstimator(block_score(score, box.n_features), box, for_points)
            results.append(_evaluate_detector(estimator, rows, n_draws, plan))
        except MissingExtraError:
            raise
        except Exception as error:
            kind = InvalidTypeError if isinstance(error, TypeError) else InvalidInputError
            raise kind(
                f"detectors[{name!r}] must learn from features {features.tolist()} and score "
                f"them; found {type(error).__name__}: {error}"
            ) from error
    return results


def _evaluate_detector(
    estimator: LevelSetEstimator, rows: FloatMatrix, n_draws: int, plan: CriteriaPlan
) -> SubspaceCriteria:
    """Evaluate a detector by uniform points, and where these hit too seldom by splitting."""
    y_score = estimator.score.of_rows(rows)
    lowest = min(plan.mass[0], plan.excess_mass)
    options = LevelSetOptions("uniform", n_draws, lowest, None)
    levels, _ = estimator.level_sets(rows, y_score, options)
    n_lowest = float(lowest * levels.n_test)
    inside = np.interp(n_lowest, levels.masses, np.asarray(levels.inside))
    # Points that all have one score have no sets around them in which others could come down.
    if inside < _FEW and levels.masses[1] < n_lowest:
        # EM may be undefined because the detector is so good: volumes are too small to be hit.
        options = options._replace(method="splitting", n_draws=max(n_draws, _FEWEST_CALLS))
        try:
            by_splitting, _ = estimator.level_sets(rows, y_score, options)
        except InvalidInputError as error:
            # Otherwise not all repeats have found a volume.
            if error.argument != "n_draws":
                raise
        else:
            # Where repeats differ by so much, they have found none either.
            if by_splitting.log_error(n_lowest) < _LARGEST_ERROR:
                levels = by_splitting
    log_mv = mass_volume_curve(levels).log_area(*plan.mass)
    insufficient_mixing = levels.inside is None and bool(estimator.mixing_problems)
    try:
        log_em = excess_mass_curve(levels).log_area(plan.excess_mass)
    except UndefinedMeasureError as error:
        return SubspaceCriteria(math.nan, log_mv, str(error), insufficient_mixing)
    return SubspaceCriteria(log_em, log_mv, "", insufficient_mixing)
