"""``emmv_subsampled``: EM and MV of detectors in many features, by draws of a few."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, stdtrit

from fastad._core.arrays import set_readonly
from fastad._core.parameters import check_generator
from fastad._core.results import plain_value
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, Point
from fastad.unsupervised.criteria import (
    N_RESAMPLES,
    Criteria,
    CriteriaPlan,
    Criterion,
    Judged,
    Spread,
    check_criteria,
)
from fastad.unsupervised.excess_mass import EXCESS_MASS
from fastad.unsupervised.extent import exp
from fastad.unsupervised.mass_volume import MASS
from fastad.unsupervised.subspaces import (
    DrawCriteria,
    Subspaces,
    check_jobs,
    check_subspaces,
    judge_subspaces,
)
from fastad.unsupervised.table import UnsupervisedEvaluation
from fastad.unsupervised.training import Factory


class SubsampledEvaluation(UnsupervisedEvaluation):
    """EM and MV of several detectors, as means over draws of features.

    As `UnsupervisedEvaluation`; intervals, and what is told apart, are over the draws.

    Attributes
    ----------
    features : numpy.ndarray of int64 of shape (n_subspaces, n_features)
        Features of each draw.
    draws : mapping of str to numpy.ndarray of shape (n_subspaces, 2)
        For each detector the natural logarithms of EM and MV of each draw, NaN where undefined.
    confidence_level : float
        Of each interval, and of all verdicts of a ranking at once.
    """

    def __init__(
        self,
        judged: Mapping[str, Judged],
        confidence_level: float,
        features: IntMatrix,
        draws: Mapping[str, FloatMatrix],
    ) -> None:
        super().__init__(judged, confidence_level)
        self.features = features
        self.draws = dict(draws)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: those of `UnsupervisedEvaluation`, and the draws."""
        draws = {
            name: [[plain_value(one) for one in row] for row in logs.tolist()]
            for name, logs in self.draws.items()
        }
        return {
            **super().to_dict(),
            "n_subspaces": len(self.features),
            "features": self.features.tolist(),
            "log_criteria_of_draws": draws,
        }

    def __repr__(self) -> str:
        return f"<SubsampledEvaluation of {len(self)} detectors, {len(self.features)} draws>"


def emmv_subsampled(
    detectors: Mapping[str, Factory],
    X_train: npt.ArrayLike,
    X_test: npt.ArrayLike,
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
    progress: Callable[[int, int | None], object] | None = None,
) -> SubsampledEvaluation:
    """Criteria EM and MV of detectors in many features: means over random subspaces of few.

    Each draw takes some features without replacement, trains each detector on them, and judges it
    in the box of the test rows. This judges ways to learn, not a fitted detector, and sees no
    dependence between more features than are drawn at once.

    Parameters
    ----------
    detectors : mapping of str to estimator or callable
        Estimators with ``fit``, which are copied, seeded and fitted for each draw; or functions
        of training data that return an anomaly score as `volume` takes it.
    X_train, X_test : array-like of shape (n_train, n_features), (n_test, n_features)
        Data to train on, and to judge on; finite numbers.
    n_subspaces : int, default 50
        Draws of features, the same for all detectors.
    n_features : int, default 5
        Features of a draw; at most those that vary in X_test.
    n_uniform : int, default 100000
        Uniform points of each draw.
    mass, excess_mass
        As for `emmv`.
    n_resamples : int, default 1000
        Bootstrap replicates of the draws.
    confidence_level : float, default 0.95
        As for `emmv`.
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    n_jobs : int, optional
        Processes of joblib over the draws; by default one, and threads inside. The same seed gives
        the same result for any number.
    progress : callable, optional
        Called with the numbers of draws done and to be done.

    Returns
    -------
    SubsampledEvaluation
        Means with intervals over the draws, and what each draw gave.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which.
    MissingExtraError
        If ``n_jobs`` is given and joblib is not installed.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of a region in some draws.

    Notes
    -----
    A draw whose box has volume 0 counts for nothing and is drawn again, so that constant features
    are never drawn. Where fewer than 30 uniform points fall into the level sets that matter,
    splitting finds the volumes, as in `level_sets`. A draw in which EM is undefined all the same
    is left out of its mean and counted as ``n_undefined``; detectors are compared on the draws
    that they have in common.

    Intervals and verdicts are about other draws of features, with the same rows: of few rows others
    could say otherwise. Fewer than 5 draws tell nothing apart. Volumes of different subspaces
    differ by their units: scale features first, or means are those of the draws with the widest
    features.

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
    >>> found = fastad.unsupervised.emmv_subsampled(
    ...     {"forest": IsolationForest(n_estimators=20), "lof": LocalOutlierFactor(novelty=True)},
    ...     *(X_train, X_test), n_subspaces=4, n_features=2, n_uniform=10_000, rng=0,
    ... )
    >>> found.draws["lof"].shape
    (4, 2)
    """
    generator, jobs = check_generator(rng), check_jobs(n_jobs)
    plan = check_criteria(mass, excess_mass, n_resamples, confidence_level, generator)
    subspaces = check_subspaces(
        detectors, X_train, X_test, n_subspaces, n_features, n_uniform, generator
    )
    return summarise(subspaces, plan, judge_subspaces(subspaces, plan, jobs, progress))


def summarise(
    subspaces: Subspaces, plan: CriteriaPlan, found: list[list[DrawCriteria]]
) -> SubsampledEvaluation:
    """Return means over draws, with intervals from draws that are drawn again.

    Detectors are compared on the draws in which the criterion is defined for all of them, but for
    those of which it is mostly undefined.
    """
    names = list(subspaces.detectors)
    logs = np.array([[(one.log_em, one.log_mv) for one in row] for row in found])
    n_subspaces = logs.shape[0]
    chosen = np.random.default_rng(int(plan.key)).integers(
        n_subspaces, size=(plan.n_resamples, n_subspaces)
    )
    mostly = 2 * np.count_nonzero(~np.isnan(logs), axis=0) > n_subspaces
    common = np.array([~np.isnan(logs[:, mostly[:, c], c]).any(axis=1) for c in (0, 1)]).T
    judged = {}
    for k, name in enumerate(names):
        criteria, centres, replicates, freedoms = [], [], [], []
        for c in (0, 1):
            own = logs[:, k, c]
            reasons = [row[k].reason for row in found if row[k].reason]
            criteria.append(_criterion(own, chosen, plan, subspaces, reasons if c == 0 else []))
            # Undefined for all but a few draws it is not compared.
            shared = np.where(common[:, c] & mostly[k, c], own, np.nan)
            centre, n_shared = _log_mean(shared), int(np.count_nonzero(~np.isnan(shared)))
            means = _log_means(shared, chosen)
            centres.append(centre)
            with np.errstate(invalid="ignore"):  # of criteria that are 0
                replicates.append(centre + _lack(n_shared) * (means - centre))
            freedoms.append(max(n_shared - 1.0, 0.0))
        judged[name] = Judged(
            Criteria(*criteria), np.array(centres), np.column_stack(replicates), np.array(freedoms)
        )
    draws = {name: set_readonly(np.ascontiguousarray(logs[:, k])) for k, name in enumerate(names)}
    return SubsampledEvaluation(judged, plan.level, subspaces.features, draws)


def _criterion(
    logs: FloatVector,
    chosen: IntMatrix,
    plan: CriteriaPlan,
    subspaces: Subspaces,
    reasons: Sequence[str],
) -> Criterion:
    log_value, n_undefined = _log_mean(logs), int(np.count_nonzero(np.isnan(logs)))
    n_defined = logs.shape[0] - n_undefined
    low = high = math.nan
    if n_defined > max(n_undefined, 1):
        # Student's interval, of draws whose variance is known from themselves alone.
        error = Spread.of(_log_means(logs, chosen)).deviation * _lack(n_defined)
        reach = float(stdtrit(n_defined - 1, (1 + plan.level) / 2)) * error
        low, high = log_value - reach, log_value + reach
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
        reason="" if n_defined or not reasons else f"in all draws, in the first one: {reasons[0]}",
    )


def _lack(n_subspaces: int) -> float:
    """Return by which factor errors of a bootstrap are too small."""
    return math.sqrt(n_subspaces / (n_subspaces - 1)) if n_subspaces > 1 else math.nan


def _log_mean(logs: FloatVector) -> float:
    """Return the logarithm of the mean of what is defined."""
    defined = logs[~np.isnan(logs)]
    if not defined.shape[0]:
        return math.nan
    return float(logsumexp(defined)) - math.log(defined.shape[0])


def _log_means(logs: FloatVector, chosen: IntMatrix) -> FloatVector:
    """Return the logarithm of the mean of each choice of draws."""
    if np.isnan(logs).all() or np.nanmax(logs) == -math.inf:
        return np.full(chosen.shape[0], math.nan)
    largest = np.nanmax(logs)
    values = np.exp(logs - largest)[chosen]
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means: FloatVector = np.log(np.nansum(values, axis=1) / counts) + largest
    return means
