"""Which detectors the criteria tell apart: ranks, and how sure they are."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, stdtrit

from fastad._core.types import FloatMatrix, FloatVector

CriterionName: TypeAlias = Literal["em", "mv"]
CRITERIA: tuple[CriterionName, ...] = ("em", "mv")
# Fewer draws do not tell their own errors: of 2 draws 18 % told apart what is equal in law.
_LEAST_FREEDOM = 4
# By which factor the logarithm of a criterion rises where it gets better.
SIGNS = {"em": 1.0, "mv": -1.0}


class Place(NamedTuple):
    """The place of a detector by a criterion.

    Attributes
    ----------
    detector : str
        Its name.
    rank : float
        1 for the best; ties share the mean of their ranks.
    best, worst : int
        Ranks that the evidence leaves open: one more than the detectors that are shown to be
        better, and all but those that are shown to be worse.
    """

    detector: str
    rank: float
    best: int
    worst: int


def better(
    logs: FloatVector, replicates: FloatMatrix, freedom: FloatVector, level: float
) -> npt.NDArray[np.bool_]:
    """Tell which detectors are shown to have larger logarithms than which others.

    Differences of all pairs at once: each is compared with its error, and the largest of them all
    with that of the replicates (single-step max-T, Westfall and Young 1993). The error is the root
    of the mean square by which replicates differ from the value, their bias included. Values are
    compared as they are: to take the bias of EM off, which two alike detectors share, would add
    its noise; of 120 samples 18 to 28 then told apart what is equal in law.

    Parameters
    ----------
    logs : numpy.ndarray of shape (k,)
        Logarithms, NaN where there is none.
    replicates : numpy.ndarray of shape (n_resamples, k)
        Logarithms of replicates, in which all detectors share the points that are drawn.
    freedom : numpy.ndarray of shape (k,)
        Degrees of freedom of their errors.
    level : float
        Confidence level of all verdicts at once.

    Returns
    -------
    numpy.ndarray of bool of shape (k, k)
        Of each row whether it is shown to be above each column.
    """
    k = logs.shape[0]
    above = np.zeros((k, k), np.bool_)
    errors, scores = {}, []
    for i, j in combinations(range(k), 2):
        with np.errstate(invalid="ignore"):  # of criteria that are 0
            found = replicates[:, i] - replicates[:, j]
        defined = found[np.isfinite(found)]
        if 2 * defined.shape[0] <= found.shape[0] or defined.shape[0] < 2:
            continue
        mean, deviation = defined.mean(), defined.std(ddof=1)
        if deviation > 0 and np.isfinite(logs[i] - logs[j]):
            errors[i, j] = math.hypot(deviation, mean - (logs[i] - logs[j]))
            score = abs(found - mean) / deviation
            scores.append(np.where(np.isfinite(score), score, 0.0))
    if not errors:
        return above
    farthest = float(np.quantile(np.max(scores, axis=0), level))
    for (i, j), error in errors.items():
        known = min(freedom[i], freedom[j])
        if known < _LEAST_FREEDOM:
            continue
        # As far out in Student's law as that is in the normal one.
        reach = -float(stdtrit(known, ndtr(-farthest)))
        if abs(logs[i] - logs[j]) > reach * error:
            above[(i, j) if logs[i] > logs[j] else (j, i)] = True
    return above


def places(
    names: Sequence[str], values: FloatVector, is_better: npt.NDArray[np.bool_]
) -> list[Place]:
    """Return the places of detectors, the best first; those without a value are left out.

    Parameters
    ----------
    names : sequence of str
        The detectors.
    values : numpy.ndarray of shape (k,)
        Larger is better.
    is_better : numpy.ndarray of bool of shape (k, k)
        Which are shown to be better than which.
    """
    known = np.flatnonzero(~np.isnan(values))
    found = []
    for i in known.tolist():
        rank = 1 + np.count_nonzero(values[known] > values[i])
        tied = np.count_nonzero(values[known] == values[i]) - 1
        best = 1 + int(np.count_nonzero(is_better[known, i]))
        worst = known.shape[0] - int(np.count_nonzero(is_better[i, known]))
        found.append(Place(names[i], float(rank + tied / 2), best, worst))
    return sorted(found, key=lambda place: place.rank)
