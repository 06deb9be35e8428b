"""Means of EM and MV over random subspaces, with intervals."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp, stdtrit

from fastad._core.arrays import set_readonly
from fastad._core.floats import exp
from fastad._core.types import FloatVector, IntMatrix
from fastad.uncertainty.comparisons.corrections import error_degrees_of_freedom
from fastad.unsupervised.criteria import Criteria, CriteriaPlan, Criterion
from fastad.unsupervised.criteria_estimation import CriterionEstimates, Spread
from fastad.unsupervised.ranking import UnsupervisedEvaluation
from fastad.unsupervised.subspaces import SubspaceCriteria, Subspaces


def summarise_subspaces(
    subspaces: Subspaces, plan: CriteriaPlan, rows: list[list[SubspaceCriteria]]
) -> UnsupervisedEvaluation:
    """Return means over subspaces, with intervals from subspaces that are drawn again.

    Detectors are compared on the subspaces in which the criterion is defined for all of them,
    without the detectors whose criterion is mostly undefined.
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
    return UnsupervisedEvaluation(estimates, plan.level, subspaces.features, draws)


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
        n_uniform=subspaces.n_draws,
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
    """Return the logarithm of the mean of the defined values."""
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
