"""A detector by the distances to the nearest neighbours."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.frames import as_array
from fastad._core.parameters import check_choice, check_count
from fastad._core.types import FloatVector
from fastad.detectors.neighbours import DistanceScorer, Summary, grow
from fastad.detectors.scorer import CompiledScorer, check_samples, floats
from fastad.errors import InvalidInputError

Kind: TypeAlias = Literal["kappa", "gamma", "delta"]

_SUMMARIES: Mapping[str, Summary] = MappingProxyType(
    {"kappa": "largest", "gamma": "mean", "delta": "vector"}
)


class KNNDetector:
    """Anomaly score of a point by its k nearest training points, in Euclidean distance.

    A training point is its own neighbour, at the distance 0, and so are its duplicates.

    Parameters
    ----------
    k : int
        Number of neighbours, at most that of the samples.
    kind : {"kappa", "gamma", "delta"}, default "kappa"
        The distance to the k-th neighbour; the mean of the distances to all k; the length of the
        mean of the vectors to them, which for a point amid its neighbours is near 0 although each
        may be far. Where the k-th place is tied, which neighbours "delta" takes depends on the
        order of the training data, "kappa" and "gamma" do not.

    References
    ----------
    .. [1] V. Skvara, T. Pevny and V. Smidl, Is AUC the best measure for practical comparison of
           anomaly detectors?, 2019, section 4.1.
    .. [2] S. Harmeling et al., From outliers to prototypes: ordering data, 2006.

    Examples
    --------
    >>> from fastad.detectors.knn_detector import KNNDetector
    >>> detector = KNNDetector(2, kind="gamma").fit([[0.0], [1.0], [5.0]])
    >>> detector.score_samples([[1.0], [7.0]])
    array([0.5, 4. ])
    """

    def __init__(self, k: int, *, kind: Kind = "kappa") -> None:
        self.k = check_count(k, "k")
        self.kind = check_choice(kind, tuple(_SUMMARIES), "kind")

    def __repr__(self) -> str:
        return f"KNNDetector({self.k}, kind={self.kind!r})"

    def fit(self, X: npt.ArrayLike) -> "KNNDetector":
        """Build a tree of the training points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        KNNDetector
            Itself.

        Raises
        ------
        InvalidInputError
            If X is no table of finite numbers, or has fewer than k rows.
        """
        samples = as_array(X, "X")
        if samples.ndim != 2 or not samples.shape[1]:
            raise InvalidInputError(
                f"X must have the shape (n_samples, n_features); found {samples.shape}",
                argument="X",
            )
        samples = check_samples(samples, samples.shape[1])
        if samples.shape[0] < self.k:
            raise InvalidInputError(
                f"X must have at least k={self.k} rows; found {samples.shape[0]}",
                argument="X",
            )
        training = set_readonly(floats(samples))
        self._scorer = DistanceScorer(
            "KNNDetector", training, grow(training), self.k, 2.0, _SUMMARIES[self.kind]
        )
        return self

    def score_samples(self, X: npt.ArrayLike, *, n_threads: int | None = None) -> FloatVector:
        """Return anomaly scores, higher is more anomalous.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        n_threads : int, optional
            As in `CompiledScorer.score_samples`.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            From 0 on, in units of the features.

        Raises
        ------
        InvalidInputError
            If the detector is not fitted, or X has another shape or holds what is no finite number.
        """
        return compile_knn_detector(self).score_samples(X, n_threads=n_threads)


def compile_knn_detector(fitted: Any) -> CompiledScorer:
    """Compile a fitted `KNNDetector`.

    Parameters
    ----------
    fitted : KNNDetector
        Later fits of it do not change what is returned.

    Returns
    -------
    CompiledScorer
        Of ``score_samples``.

    Raises
    ------
    InvalidInputError
        If the detector is another one, or not fitted.
    """
    if not isinstance(fitted, KNNDetector):
        raise InvalidInputError(
            f"fitted must be a KNNDetector; found {type(fitted).__module__}."
            f"{type(fitted).__qualname__}",
            argument="fitted",
        )
    scorer: DistanceScorer | None = getattr(fitted, "_scorer", None)
    if scorer is None:
        raise InvalidInputError(
            "fitted must be fitted; found an unfitted KNNDetector", argument="fitted"
        )
    return scorer
