"""EM and MV of detectors in many features: means over random subspaces of a few."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp, stdtrit

from fastad._core.arrays import set_readonly
from fastad._core.floats import exp
from fastad._core.parameters import check_generator
from fastad._core.progress import Progress, reporting
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, IntMatrix, Point
from fastad.uncertainty.corrections import error_degrees_of_freedom
from fastad.unsupervised.criteria import (
    EXCESS_MASS,
    MASS,
    N_RESAMPLES,
    Criteria,
    CriteriaPlan,
    Criterion,
    check_criteria,
)
from fastad.unsupervised.criteria_estimation import CriterionEstimates, Spread
from fastad.unsupervised.ranking import UnsupervisedEvaluation
from fastad.unsupervised.subspaces import (
    Factory,
    SubspaceCriteria,
    Subspaces,
    check_jobs,
    check_subspaces,
    evaluate_subspaces,
)


class SubsampledEvaluation(UnsupervisedEvaluation):
    """EM and MV of several detectors, as means over random subspaces.

    As `UnsupervisedEvaluation`; intervals and significant pairs are over the subspaces.

    Attributes
    ----------
    features : numpy.ndarray of int64 of shape (n_subspaces, n_features)
        Features of each subspace.
    draws : mapping of str to numpy.ndarray of shape (n_subspaces, 2)
        For each detector the natural logarithms of EM and MV of each subspace, NaN where undefined.
    confidence_level : float
        Of each interval, and of all significant pairs of a ranking at once.
    """

    def __init__(
        self,
        estimates: Mapping[str, CriterionEstimates],
        confidence_level: float,
        features: IntMatrix,
        draws: Mapping[str, FloatMatrix],
    ) -> None:
        super().__init__(estimates, confidence_level)
        self.features = features
        self.draws = dict(draws)

    def _content(self) -> dict[str, Any]:
        return {
            **super()._content(),
            "n_subspaces": len(self.features),
            "features": self.features,
            "log_criteria_of_draws": self.draws,
        }

    def __repr__(self) -> str:
        return f"<SubsampledEvaluation of {len(self)} detectors, {len(self.features)} subspaces>"


def emmv_subsampled(
    detectors: Mapping[str, Factory],
    X_train: ArrayLike,
    X_test: ArrayLike,
    *,
    n_subspaces: int = 50,
    n_features: int = 5,
    n_uniform: int = 100_000,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    n_resamples: int = N_RESAMPLES,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> SubsampledEvaluation:
    """Criteria EM and MV of detectors in many features: means over random subspaces of few.

    Each subspace has some features, drawn without replacement; each detector is trained on them,
    and evaluated in the box of the test rows. This evaluates ways to learn, not a fitted detector,
    and sees no dependence between more features than are drawn at once.

    Parameters
    ----------
    detectors : mapping of str to estimator or callable
        Estimators with ``fit``, which are copied, seeded and fitted for each subspace; or functions
        of training data that return an anomaly score as `volume` takes it.
    X_train, X_test : array-like of shape (n_train, n_features), (n_test, n_features)
        Data to train on, and to evaluate on; finite numbers.
    n_subspaces : int, default 50
        Random subspaces, the same for all detectors.
    n_features : int, default 5
        Features of a subspace; at most those that vary in X_test.
    n_uniform : int, default 100000
        Uniform points of each subspace.
    mass, excess_mass
        As for `emmv`.
    n_resamples : int, default 1000
        Bootstrap replicates of the subspaces; as for `emmv`.
    confidence_level : float, default 0.95
        As for `emmv`.
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    n_jobs : int, optional
        Processes of joblib over the subspaces; by default one, and threads inside. The same
        seed gives the same result for any number.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called
        with the numbers of subspaces done and to be done.

    Returns
    -------
    SubsampledEvaluation
        Means with intervals over the subspaces, and the values in each of them.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which.
    MissingExtraError
        If ``n_jobs`` is given and joblib is not installed.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of a region in some subspaces.

    Notes
    -----
    A subspace whose box has volume 0 counts for nothing and is drawn again, so that constant
    features are never drawn. Where fewer than 30 uniform points fall into the level sets that
    matter, splitting finds the volumes, as in `level_sets`. A subspace in which EM is undefined all
    the same is left out of its mean and counted as ``n_undefined``; detectors are compared on the
    subspaces that they have in common.

    Intervals and significant pairs are about other draws of features, with the same rows: with
    other rows, if they are few, the result could be another. With fewer than 5 subspaces nothing
    differs significantly. Volumes of different subspaces differ by their units: scale features
    first, or means are those of the subspaces with the widest features.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> from sklearn.ensemble import IsolationForest
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> rng = np.random.default_rng(0)
    >>> X_train, X_test = rng.normal(size=(2, 300, 8))
    >>> result = fastad.unsupervised.emmv_subsampled(
    ...     {"forest": IsolationForest(n_estimators=20), "lof": LocalOutlierFactor(novelty=True)},
    ...     *(X_train, X_test), n_subspaces=4, n_features=2, n_uniform=10_000, rng=0,
    ... )
    >>> result.draws["lof"].shape
    (4, 2)
    """
    generator, jobs = check_generator(rng), check_jobs(n_jobs)
    plan = check_criteria(mass, excess_mass, n_resamples, confidence_level, generator)
    subspaces = check_subspaces(
        detectors, X_train, X_test, n_subspaces, n_features, n_uniform, generator
    )
    with reporting(progress, "subspaces") as report:
        rows = evaluate_subspaces(subspaces, plan, jobs, report)
    return _summarise(subspaces, plan, rows)


def _summarise(
    subspaces: Subspaces, plan: CriteriaPlan, rows: list[list[SubspaceCriteria]]
) -> SubsampledEvaluation:
    """Return means over subspaces, with intervals from subspaces that are drawn again.

    Detectors are compared on the subspaces in which the criterion is defined for all of them, but
    for those of which it is mostly undefined.
    """
    names = list(subspaces.detectors)
    logs = np.array([[(criteria.log_em, criteria.log_mv) for criteria in row] for row in rows])
    n_subspaces = logs.shape[0]
    drawn = np.random.default_rng(int(plan.key)).integers(
        n_subspaces, size=(plan.n_resamples, n_subspaces)
    )
    mostly = 2 * np.count_nonzero(~np.isnan(logs), axis=0) > n_subspaces
    common = np.array([~np.isnan(logs[:, mostly[:, c], c]).any(axis=1) for c in (0, 1)]).T
    estimates = {}
    for k, name in enumerate(names):
        criteria, centres, replicates, degrees_of_freedom = [], [], [], []
        for c in (0, 1):
            reasons = [row[k].reason for row in rows if row[k].reason] if c == 0 else []
            criteria.append(_criterion(logs[:, k, c], drawn, plan, subspaces, reasons))
            # Undefined in all but a few subspaces it is not compared.
            shared = np.where(common[:, c] & mostly[k, c], logs[:, k, c], np.nan)
            centre, n_shared = _log_mean(shared), int(np.count_nonzero(~np.isnan(shared)))
            means = _log_means(shared, drawn)
            centres.append(centre)
            with np.errstate(invalid="ignore"):  # of criteria that are 0
                replicates.append(centre + _correction(n_shared) * (means - centre))
            degrees_of_freedom.append(max(n_shared - 1.0, 0.0))
        estimates[name] = CriterionEstimates(
            Criteria(*criteria),
            np.array(centres),
            np.column_stack(replicates),
            np.array(degrees_of_freedom),
        )
    draws = {name: set_readonly(np.ascontiguousarray(logs[:, k])) for k, name in enumerate(names)}
    return SubsampledEvaluation(estimates, plan.level, subspaces.features, draws)


def _criterion(
    logs: FloatVector,
    drawn: IntMatrix,
    plan: CriteriaPlan,
    subspaces: Subspaces,
    reasons: Sequence[str],
) -> Criterion:
    log_value, n_undefined = _log_mean(logs), int(np.count_nonzero(np.isnan(logs)))
    n_defined = logs.shape[0] - n_undefined
    low = high = math.nan
    if n_defined > max(n_undefined, 1):
        # Student's interval: the variance is estimated from the subspaces alone.
        spread = Spread.of(_log_means(logs, drawn))
        error = spread.deviation * _correction(n_defined)
        df = error_degrees_of_freedom(n_defined - 1, spread.n_defined)
        half_width = float(stdtrit(df, (1 + plan.level) / 2)) * error
        low, high = log_value - half_width, log_value + half_width
    return Criterion(
        value=exp(log_value),
        low=exp(low),
        high=exp(high),
        log_value=log_value,
        log_low=low,
        log_high=high,
        sampling_error=math.nan,
        monte_carlo_error=math.nan,
        confidence_level=plan.level,
        n_test=subspaces.X_test.shape[0],
        n_uniform=subspaces.n_uniform,
        n_resamples=plan.n_resamples,
        n_undefined=n_undefined,
        reason=""
        if n_defined or not reasons
        else f"in all subspaces, in the first one: {reasons[0]}",
    )


def _correction(n_subspaces: int) -> float:
    """Return by which factor errors of a bootstrap are too small."""
    return math.sqrt(n_subspaces / (n_subspaces - 1)) if n_subspaces > 1 else math.nan


def _log_mean(logs: FloatVector) -> float:
    """Return the logarithm of the mean of what is defined."""
    defined = logs[~np.isnan(logs)]
    if not defined.shape[0]:
        return math.nan
    return float(logsumexp(defined)) - math.log(defined.shape[0])


def _log_means(logs: FloatVector, drawn: IntMatrix) -> FloatVector:
    """Return the logarithm of the mean of each draw of subspaces."""
    if np.isnan(logs).all() or np.nanmax(logs) == -math.inf:
        return np.full(drawn.shape[0], math.nan)
    largest = np.nanmax(logs)
    values = np.exp(logs - largest)[drawn]
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: FloatVector = np.log(np.nansum(values, axis=1) / counts) + largest
    return means
