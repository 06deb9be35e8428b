"""``feature_importance``: whether a detector does better with a feature than without."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from fastad._core.arrays import set_readonly
from fastad._core.parameters import check_generator
from fastad._core.results import Result
from fastad._core.types import FloatVector, IntMatrix, Point
from fastad.errors import InvalidInputError
from fastad.unsupervised.criteria import CRITERIA, SIGNS, check_criteria
from fastad.unsupervised.excess_mass import EXCESS_MASS
from fastad.unsupervised.extent import exp
from fastad.unsupervised.mass_volume import MASS
from fastad.unsupervised.subspaces import check_jobs, check_subspaces, judge_subspaces
from fastad.unsupervised.training import Factory, check_factory


@dataclass(frozen=True, slots=True, eq=False)
class FeatureImportance(Result):
    """By how much a criterion is better where a feature may be drawn.

    Attributes
    ----------
    em, mv : numpy.ndarray of shape (n_features,)
        Difference of the criterion with and without each feature, positive where it helps: EM
        gets higher, MV lower. NaN for features that no draw has, or all have.
    em_low, em_high, mv_low, mv_high : numpy.ndarray of shape (n_features,)
        Ends of their intervals over the draws.
    n_drawn : numpy.ndarray of int64 of shape (n_features,)
        Draws that have each feature.
    confidence_level : float
        Of each interval by itself.
    """

    em: FloatVector
    em_low: FloatVector
    em_high: FloatVector
    mv: FloatVector
    mv_low: FloatVector
    mv_high: FloatVector
    n_drawn: npt.NDArray[np.int64]
    confidence_level: float

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists: ``feature``, and the attributes."""
        names = ("em", "em_low", "em_high", "mv", "mv_low", "mv_high", "n_drawn")
        columns: dict[str, list[Any]] = {"feature": list(range(self.em.shape[0]))}
        return columns | {name: getattr(self, name).tolist() for name in names}

    def to_json(self, *, indent: int | None = None) -> str:
        """Return `to_columns` as JSON text, null for NaN."""
        columns = {
            name: [None if one != one else one for one in values]
            for name, values in self.to_columns().items()
        }
        return json.dumps(columns, indent=indent, allow_nan=False)


def feature_importance(
    detector: Factory,
    X_train: npt.ArrayLike,
    X_test: npt.ArrayLike,
    *,
    n_subspaces: int = 200,
    n_features: int = 5,
    n_uniform: int = 100_000,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int | None], object] | None = None,
) -> FeatureImportance:
    """Say which features help a detector, without labels.

    The criteria of `emmv_subsampled` with a feature among those that may be drawn, less those
    without it.

    Parameters
    ----------
    detector : estimator or callable
        What makes the detector, as for `emmv_subsampled`.
    X_train, X_test : array-like of shape (n_train, n_features), (n_test, n_features)
        Data to train on, and to judge on; finite numbers.
    n_subspaces : int, default 200
        Draws of features, which all features share.
    n_features : int, default 5
        Features of a draw; fewer than there are.
    n_uniform, mass, excess_mass
        As for `emmv_subsampled`.
    confidence_level : float, default 0.95
        Of the intervals over draws, those of Welch's t, each by itself; in (0, 1).
    rng, n_jobs, progress
        As for `emmv_subsampled`.

    Returns
    -------
    FeatureImportance
        For each feature both differences with their intervals.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which.

    Notes
    -----
    Draws that lack a feature are draws from all others. Of d features of which k are drawn, a share
    k/d of the draws has the feature: so the difference is k/d times that of the means with and
    without it, and one set of draws tells it of all features.

    The volumes of subspaces have the units of their features, and so have the differences: scale
    features first, for example to ranges of 1.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, remark on feature importance.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> from sklearn.ensemble import IsolationForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 4))
    >>> X[:, 0] = 0.5 + 0.1 * rng.normal(size=600)  # the others are noise
    >>> found = fastad.unsupervised.feature_importance(
    ...     IsolationForest(n_estimators=20), X[:300], X[300:], n_subspaces=12, n_features=2, rng=0
    ... )
    >>> int(found.em.argmax())
    0
    """
    check_factory(detector, "detector")
    generator, jobs = check_generator(rng), check_jobs(n_jobs)
    plan = check_criteria(mass, excess_mass, 1, confidence_level, generator)
    subspaces = check_subspaces(
        {"detector": detector}, X_train, X_test, n_subspaces, n_features, n_uniform, generator
    )
    d, k = subspaces.X_test.shape[1], subspaces.features.shape[1]
    n_varying = int(np.count_nonzero(np.ptp(subspaces.X_test, axis=0)))
    if k >= n_varying:
        raise InvalidInputError(
            f"n_features must be less than the {n_varying} features that vary in X_test, so that "
            f"one can be left out; found {k}",
            argument="n_features",
        )
    found = judge_subspaces(subspaces, plan, jobs, progress)
    logs = np.array([(row[0].log_em, row[0].log_mv) for row in found])
    drawn = _drawn(subspaces.features, d)
    columns: dict[str, FloatVector] = {}
    for c, name in enumerate(CRITERIA):
        compared = [
            _difference(SIGNS[name], logs[:, c], own, k / n_varying, plan.level) for own in drawn.T
        ]
        columns[name], columns[f"{name}_low"], columns[f"{name}_high"] = np.array(compared).T
    frozen_columns = {name: set_readonly(column) for name, column in columns.items()}
    n_drawn = set_readonly(drawn.sum(axis=0))
    return FeatureImportance(**frozen_columns, n_drawn=n_drawn, confidence_level=plan.level)


def _drawn(features: IntMatrix, n_features: int) -> npt.NDArray[np.bool_]:
    """Tell of each draw which features it has."""
    drawn = np.zeros((features.shape[0], n_features), np.bool_)
    drawn[np.arange(features.shape[0])[:, None], features] = True
    return drawn


def _difference(
    sign: float, logs: FloatVector, has: npt.NDArray[np.bool_], share: float, level: float
) -> tuple[float, float, float]:
    """Return the difference of two means times a share, and its interval by Welch's t.

    Not a number where there are too few draws, and beyond all floats.
    """
    defined = ~np.isnan(logs)
    if min(np.count_nonzero(own & defined) for own in (has, ~has)) < 2:
        return math.nan, math.nan, math.nan
    # In a unit in which nothing leaves the range of floats.
    largest = float(logs[defined].max())
    values = np.exp(logs - largest)
    means, variances, sizes = zip(
        *((own.mean(), own.var(ddof=1) / len(own), len(own)) for own in _parts(values, has)),
        strict=True,
    )
    difference, variance = sign * (means[0] - means[1]), sum(variances)
    reach = 0.0
    if variance > 0:
        freedom = variance**2 / sum(
            own**2 / (n - 1) for own, n in zip(variances, sizes, strict=True)
        )
        reach = float(stdtrit(freedom, (1 + level) / 2)) * math.sqrt(variance)
    unit = share * exp(largest)
    if not 0 < unit < math.inf:
        return math.nan, math.nan, math.nan
    return unit * difference, unit * (difference - reach), unit * (difference + reach)


def _parts(values: FloatVector, has: npt.NDArray[np.bool_]) -> tuple[FloatVector, FloatVector]:
    """Return the defined values of the draws that have a feature, and of those that have not."""
    defined = ~np.isnan(values)
    return values[has & defined], values[~has & defined]
