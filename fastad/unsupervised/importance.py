"""Feature importance: whether a detector does better with a feature than without."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from fastad._core.arrays import set_readonly
from fastad._core.floats import exp
from fastad._core.parameters import check_generator
from fastad._core.progress import Progress, reporting
from fastad._core.results import Column, Result
from fastad._core.suggestions import suggests_arguments
from fastad._core.types import ArrayLike, FloatVector, Point
from fastad.errors import InvalidInputError
from fastad.unsupervised.criteria import CRITERIA, EXCESS_MASS, MASS, SIGNS, check_criteria
from fastad.unsupervised.subspaces import (
    Factory,
    check_factory,
    check_jobs,
    check_subspaces,
    evaluate_subspaces,
    varying_features,
)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureImportance(Result):
    """By how much a criterion is better where a feature may be drawn.

    Frames have a row for each ``feature``, with the arrays.

    Attributes
    ----------
    em, mv : numpy.ndarray of shape (n_features,)
        Difference of the criterion with and without each feature, positive where it helps: EM
        gets higher, MV lower. NaN for features that fewer than two subspaces with a criterion
        have, or lack, and where it is beyond all floats.
    em_low, em_high, mv_low, mv_high : numpy.ndarray of shape (n_features,)
        Ends of their intervals over the subspaces.
    n_drawn : numpy.ndarray of int64 of shape (n_features,)
        Subspaces that have each feature.
    confidence_level : float
        Confidence level of each interval.
    """

    em: FloatVector
    em_low: FloatVector
    em_high: FloatVector
    mv: FloatVector
    mv_low: FloatVector
    mv_high: FloatVector
    n_drawn: npt.NDArray[np.int64]
    confidence_level: float

    def _declare_columns(self) -> list[Column]:
        names = ("em", "em_low", "em_high", "mv", "mv_low", "mv_high", "n_drawn")
        values = [Column(name, getattr(self, name)) for name in names]
        return [Column("feature", range(len(self.em))), *values]


@suggests_arguments
def feature_importance(
    detector: Factory,
    X: ArrayLike,
    *,
    X_train: ArrayLike,
    n_subspaces: int = 200,
    n_features: int = 5,
    n_draws: int = 100_000,
    mass: tuple[Point, Point] = MASS,
    excess_mass: Point = EXCESS_MASS,
    confidence_level: Point = 0.95,
    rng: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: Progress | bool | None = None,
) -> FeatureImportance:
    """Say which features help a detector, without labels.

    The criteria of `evaluate_unsupervised` in random subspaces, with a feature among those that may
    be drawn, less those without it.

    Parameters
    ----------
    detector : estimator or callable
        Training method, as for `evaluate_unsupervised` with ``X_train``.
    X : array-like of shape (n_test, n_features)
        Data to evaluate on; finite numbers.
    X_train : array-like of shape (n_train, n_features)
        Data to train on.
    n_subspaces : int, default 200
        Random subspaces, which all features share.
    n_features : int, default 5
        Features of a subspace; fewer than there are.
    n_draws : int, default 100000
        Uniform points of each subspace.
    mass, excess_mass
        As for `emmv`.
    confidence_level : float, default 0.95
        Confidence level of each interval over subspaces (Welch's t), in (0, 1).
    rng, n_jobs, progress
        As for `evaluate_unsupervised`.

    Returns
    -------
    FeatureImportance
        For each feature both differences with their intervals.

    Raises
    ------
    InvalidInputError
        If ``X``, the detector or an option is invalid; the message says which.
    MissingExtraError
        If ``n_jobs`` is given and joblib is not installed.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of a region in some subspaces.

    Notes
    -----
    Subspaces that lack a feature are draws from all others. If k of d features are drawn, a
    fraction k/d of the subspaces has the feature: so the difference is k/d times the difference of
    the means with and without it, and one set of subspaces estimates it for all features.

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
    >>> result = fastad.unsupervised.feature_importance(
    ...     IsolationForest(n_estimators=20), X[300:], X_train=X[:300],
    ...     n_subspaces=12, n_features=2, rng=0,
    ... )
    >>> int(result.em.argmax())
    0
    """
    check_factory(detector, "detector")
    generator, jobs = check_generator(rng), check_jobs(n_jobs)
    plan = check_criteria(mass, excess_mass, 1, confidence_level, generator)
    subspaces = check_subspaces(
        {"detector": detector},
        X_train,
        X,
        n_subspaces=n_subspaces,
        n_features=n_features,
        n_draws=n_draws,
        rng=generator,
    )
    d, k = subspaces.X_test.shape[1], subspaces.features.shape[1]
    n_varying = varying_features(subspaces.X_test).shape[0]
    if k >= n_varying:
        raise InvalidInputError(
            f"n_features must be less than the {n_varying} features that vary in X, so that "
            f"one can be left out; found {k}"
        )
    with reporting(progress, "subspaces") as report:
        rows = evaluate_subspaces(subspaces, plan, jobs, report)
    logs = np.array([(row[0].log_em, row[0].log_mv) for row in rows])
    # Features of each subspace.
    drawn = np.zeros((logs.shape[0], d), np.bool_)
    drawn[np.arange(logs.shape[0])[:, None], subspaces.features] = True
    columns: dict[str, FloatVector] = {}
    for c, name in enumerate(CRITERIA):
        differences = [
            _difference(SIGNS[name], logs[:, c], has, k / n_varying, plan.level) for has in drawn.T
        ]
        columns[name], columns[f"{name}_low"], columns[f"{name}_high"] = np.array(differences).T
    columns = {name: set_readonly(column) for name, column in columns.items()}
    n_drawn = set_readonly(drawn.sum(axis=0))
    return FeatureImportance(**columns, n_drawn=n_drawn, confidence_level=plan.level)


def _difference(
    sign: float, logs: FloatVector, has: npt.NDArray[np.bool_], fraction: float, level: float
) -> tuple[float, float, float]:
    """Return the difference of two means times a fraction, and its interval by Welch's t.

    Not a number where there are too few subspaces, and beyond all floats; 0 where all values are.
    """
    defined = ~np.isnan(logs)
    if min(np.count_nonzero(has & defined), np.count_nonzero(~has & defined)) < 2:
        return math.nan, math.nan, math.nan
    largest = float(logs[defined].max())
    if largest == -math.inf:
        return 0.0, 0.0, 0.0
    # In units of the largest, so that nothing leaves the range of floats.
    values = np.exp(logs - largest)
    parts = values[has & defined], values[~has & defined]
    sizes = [part.shape[0] for part in parts]
    variances = [part.var(ddof=1) / part.shape[0] for part in parts]
    difference, variance = sign * float(parts[0].mean() - parts[1].mean()), sum(variances)
    half_width = 0.0
    if variance > 0:
        df = variance**2 / sum(v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True))
        half_width = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
    unit = fraction * exp(largest)
    if not 0 < unit < math.inf:
        return math.nan, math.nan, math.nan
    return (unit * difference, unit * (difference - half_width), unit * (difference + half_width))
