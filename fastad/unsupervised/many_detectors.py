"""``evaluate_unsupervised``, from detectors, and ``emmv``, from scores: EM and MV of several."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastad._core.frames import table_columns
from fastad._core.parameters import check_generator, check_mapping, refuse_given
from fastad._core.progress import Progress, reporting
from fastad._core.random import random_seed
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Point
from fastad.detectors.scorer import check_columns
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.regions.box import Box
from fastad.regions.scores import Detector, block_score, naming
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.unsupervised.counted import (
    check_same_detectors,
    counted_level_sets,
    level_sets_of_detector,
)
from fastad.unsupervised.criteria import EXCESS_MASS, MASS, N_RESAMPLES, check_criteria
from fastad.unsupervised.criteria_estimation import PointLevels, estimate_with_points
from fastad.unsupervised.level_set_estimation import (
    LevelMethod,
    LevelSetEstimator,
    LevelSetOptions,
    check_data,
)
from fastad.unsupervised.levels import LevelSets, check_extent
from fastad.unsupervised.ranking import UnsupervisedEvaluation
from fastad.unsupervised.subsampled import summarise_subspaces
from fastad.unsupervised.subspaces import Factory, check_jobs, check_subspaces, evaluate_subspaces


@suggests_arguments
def emmv(
    y_score: Any,
    uniform_score: Any = None,
    volume: Point | Box | None = None,
    *,
    log_volume: Point | None = None,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    n_resamples: int = N_RESAMPLES,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    n_threads: int | None = None,
) -> UnsupervisedEvaluation:
    """Criteria EM and MV of detectors, from their scores of the same data and uniform points.

    Or from the level sets of one detector, which `level_sets` and curves without labels have.

    Parameters
    ----------
    y_score : mapping or table
        For each detector its anomaly scores of data it was not fitted to, in the same order. Or
        for one detector its `LevelSets`, and nothing beside them.
    uniform_score : mapping or table, optional
        For each detector its scores of points drawn uniformly in a box, in the same order.
    volume : float or Box, optional
        The box, or its volume in units of the features, above 0.
    log_volume : float, optional
        The natural logarithm of its volume, in place of ``volume``.
    mass : (float, float), default (0.9, 0.999)
        Masses between which MV is the area under the mass-volume curve.
    excess_mass : float, default 0.9
        Excess mass at which the area EM under the excess-mass curve ends.
    n_resamples : int, default 1000
        Bootstrap replicates, which draw data and uniform points anew, the same for all detectors.
        Few make intervals wider; below 1 / (1 - confidence_level) - 1 no pair is significant.
    confidence_level : float, default 0.95
        Confidence level of each interval, in (0, 1); simultaneous for all pairs of a ranking.
    rng : int or numpy.random.Generator, optional
        Seed or generator of the replicates.
    n_threads : int, optional
        Threads over the replicates; the same seed gives the same result for any number.

    Returns
    -------
    UnsupervisedEvaluation
        ``result["forest"].em`` is a `Criterion`; prints as a table with a summary.

    Raises
    ------
    InvalidInputError
        If scores of a detector are invalid; the message says which.

    Notes
    -----
    Intervals are normal intervals of the logarithm; where fewer than 10 uniform points decide a
    criterion, the Clopper-Pearson interval for that number of points. They allow for the bias of
    EM, which is a maximum and too large on average: 2 % for 2 000 points, 5 % for 500. Their
    coverage at 95 % is about 0.93 to 0.96 for 2 000 test points; for 300 it is 0.84 of EM and 0.91
    of MV, whose area hangs on the few points with the highest scores. O(n_resamples * N) time for N
    points.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2.
    .. [2] P. H. Westfall and S. S. Young, "Resampling-based multiple testing", 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> rng = np.random.default_rng(0)
    >>> X, U = rng.normal(size=(2000, 2)), rng.uniform(-4, 4, size=(20_000, 2))
    >>> detectors = {"round": lambda X: np.hypot(*X.T), "flat": lambda X: abs(X[:, 0])}
    >>> result = fastad.unsupervised.emmv(
    ...     {name: score(X) for name, score in detectors.items()},
    ...     {name: score(U) for name, score in detectors.items()},
    ...     64.0,
    ...     rng=0,
    ... )
    >>> result.significant_pairs("em")
    [('round', 'flat')]

    >>> curve = fastad.mass_volume_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> fastad.unsupervised.emmv({"it": curve.levels}, mass=(0.5, 1.0), rng=0)["it"].mv.value
    2.0
    """
    plan = check_criteria(mass, excess_mass, n_resamples, confidence_level, rng)
    if isinstance(y_score, Mapping) and any(isinstance(x, LevelSets) for x in y_score.values()):
        if len(y_score) > 1:
            raise InvalidInputError(
                "y_score must name level sets of one detector, as they do not tell which points "
                f"detectors share; found {', '.join(map(str, y_score))}"
            )
        ((name, levels),) = y_score.items()
        counted_level_sets(levels, uniform_score, volume, log_volume)
        with thread_limit(n_threads):
            estimate = estimate_with_points(levels, PointLevels.in_order(levels), plan)
        return UnsupervisedEvaluation({name: estimate}, plan.level)
    test, uniform = _named(y_score, "y_score"), _named(uniform_score, "uniform_score")
    box = check_extent(volume, log_volume)
    check_same_detectors(test, uniform)
    for columns, name in ((test, "y_score"), (uniform, "uniform_score")):
        sizes = {len(scores) for scores in columns.values()}
        if len(sizes) > 1:
            raise InvalidInputError(
                f"{name} must contain equally many scores for each detector; found {sorted(sizes)}"
            )
    estimates = {}
    with thread_limit(n_threads):
        for name, scores in test.items():
            levels = level_sets_of_detector(name, scores, uniform[name], box)
            points = PointLevels.of(levels, np.asarray(scores), np.asarray(uniform[name]))
            estimates[name] = estimate_with_points(levels, points, plan)
    return UnsupervisedEvaluation(estimates, plan.level)


@suggests_arguments
def evaluate_unsupervised(
    detectors: Mapping[str, Detector | Factory],
    X: ArrayLike,
    *,
    X_train: ArrayLike | None = None,
    n_features: int | None = None,
    n_subspaces: int | None = None,
    box: Box | None = None,
    method: LevelMethod = "auto",
    n_draws: int | None = None,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    n_resamples: int = N_RESAMPLES,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
    n_jobs: int | None = None,
) -> UnsupervisedEvaluation:
    """Rank detectors on data without labels, by EM and MV.

    All detectors share the test points, the uniform draws, and the replicates of both.

    With ``X_train``, for many features, the criteria are means over random subspaces of a few
    features: each detector is trained on the features of each subspace, and evaluated in the box of
    the test points. This evaluates training methods, not fitted detectors, and sees no dependence
    between more features than a subspace has.

    Parameters
    ----------
    detectors : mapping of str to detector, callable or CompiledScorer
        Anomaly score of each detector, as for `volume`. With ``X_train`` estimators with ``fit``,
        which are copied, seeded and fitted for each subspace; or functions of training data that
        return such a score.
    X : array-like of shape (n_test, n_features)
        Data that the detectors were not fitted to; finite numbers.
    X_train : array-like of shape (n_train, n_features), optional
        Data to train on in random subspaces; finite numbers.
    n_features : int, optional
        Features of a subspace, by default 5; at most the number of features that vary in X.
    n_subspaces : int, optional
        Random subspaces, by default 50; the same for all detectors. Features are drawn without
        replacement.
    box : Box, optional
        Region of the draws; by default the box of X. A subspace always has the box of X.
    method, n_draws
        As for `level_sets`; ``"auto"`` chooses for each detector. In subspaces draws are uniform,
        by default 10⁵.
    mass, excess_mass, n_resamples, confidence_level
        As for `emmv`; with ``X_train`` replicates draw subspaces anew.
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called
        with the numbers of points scored and to be scored, for each detector; or with the numbers
        of subspaces.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number.
    n_jobs : int, optional
        Processes of joblib over the subspaces; by default one, and threads inside. The same
        seed gives the same result for any number.

    Returns
    -------
    UnsupervisedEvaluation
        ``result["forest"].em`` is a `Criterion`; prints as a table with a summary.

    Raises
    ------
    InvalidInputError
        If ``X``, a detector or an option is invalid; the message says which and where.
    MissingExtraError
        If ``n_jobs`` is given and joblib is not installed.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of a region.

    Notes
    -----
    Constant features are in no subspace. Where fewer than 30 uniform points of a subspace fall into
    the level sets that matter, splitting estimates the volumes, as in `level_sets`. A subspace in
    which EM is undefined all the same is left out of its mean and counted as ``n_undefined``;
    detectors are compared on the subspaces that they have in common.

    Intervals and significant pairs over subspaces are about other draws of features, with the same
    rows: with other rows, if they are few, the result could be another. With fewer than 5 subspaces
    nothing differs significantly. Volumes of different subspaces differ by their units: scale
    features first, or the subspaces with the widest features determine the means.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016; algorithm 1 for subspaces.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> detectors = {"round": lambda X: np.hypot(*X.T), "flat": lambda X: abs(X[:, 0])}
    >>> result = fastad.evaluate_unsupervised(detectors, X, rng=0)
    >>> [place.detector for place in result.ranking("mv")]
    ['round', 'flat']

    >>> from sklearn.ensemble import IsolationForest
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> X_train, X_test = np.random.default_rng(0).normal(size=(2, 300, 8))
    >>> result = fastad.evaluate_unsupervised(
    ...     {"forest": IsolationForest(n_estimators=20), "lof": LocalOutlierFactor(novelty=True)},
    ...     X_test, X_train=X_train, n_subspaces=4, n_features=2, n_draws=10_000, rng=0,
    ... )
    >>> result.draws["lof"].shape
    (4, 2)
    """
    named = check_mapping(detectors, "detectors", "detector")
    generator = check_generator(rng)
    plan = check_criteria(mass, excess_mass, n_resamples, confidence_level, generator)
    # Level sets of less mass touch neither area.
    options = LevelSetOptions.of(method, n_draws, min(plan.mass[0], plan.excess_mass))
    sizes = {"n_subspaces": n_subspaces, "n_features": n_features, "n_draws": n_draws}
    if X_train is not None:
        not_uniform = None if method in ("auto", "uniform") else method
        refuse_given({"box": box, "method": not_uniform}, "beside X_train")
        jobs = check_jobs(n_jobs)
        given = {name: size for name, size in sizes.items() if size is not None}
        subspaces = check_subspaces(
            named, X_train, X, **{"n_subspaces": 50, "n_features": 5, **given}, rng=generator
        )
        with thread_limit(n_threads), reporting(progress, "subspaces") as report:
            rows = evaluate_subspaces(subspaces, plan, jobs, report)
        return summarise_subspaces(subspaces, plan, rows)
    del sizes["n_draws"]
    refuse_given({**sizes, "n_jobs": n_jobs}, "without X_train")
    samples, region = check_data(X, box)
    for name, score in named.items():
        check_columns(score, X, f"detectors[{name!r}]")
    scored = {
        name: block_score(score, region.n_features, f"detectors[{name!r}]")
        for name, score in named.items()
    }
    seed = random_seed(generator)
    estimates = {}
    with thread_limit(n_threads), reporting(progress, "points") as report:
        options = options._replace(progress=report)
        for number, (name, score) in enumerate(scored.items()):
            estimator = LevelSetEstimator(score, region, np.random.default_rng(seed))
            with naming(f"detectors[{name!r}]"):
                y_score = score.of_rows(samples)
                levels, drawn = estimator.level_sets(samples, y_score, options)
                warn_of_mixing(estimator.mixing_problems)
            points = PointLevels.of(levels, y_score, drawn, number)
            estimates[name] = estimate_with_points(levels, points, plan)
    return UnsupervisedEvaluation(estimates, plan.level)


def _named(scores: Any, name: str) -> dict[str, Any]:
    columns = table_columns(scores, name)
    if columns is None:
        raise InvalidTypeError(f"{name} must name scores; found {type(scores).__name__}")
    return dict(columns)
