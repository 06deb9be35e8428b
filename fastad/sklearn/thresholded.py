"""A detector with a threshold that was learnt on held-out normal samples.

Loaded when it is first used, because it inherits from scikit-learn's base classes.
"""

from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from fastad._core.arrays import as_vector, check_rows
from fastad._core.parameters import check_inside, short_repr
from fastad._core.types import IntVector, Label, Point, Threshold
from fastad.detectors.orientation import anomaly_scores, is_frozen, kind_of, name_of
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.measures.thresholds import threshold_at_rate
from fastad.ordering.labels import check_labels
from fastad.uncertainty.rates.guarantee import (
    GuaranteedThreshold,
    sample_size_for_guarantee,
    threshold_with_guarantee,
)

_DETECTORS = ("outlier detector", "PyOD detector")


class ThresholdedDetector(OutlierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A detector that flags samples by a threshold learnt on held-out normal samples.

    `fit` holds out a part of the samples, fits the detector to the others, and sets the threshold
    on the held-out scores. Scores of samples that a detector was fitted to are lower than scores of
    new samples, and a threshold set on them flags too many.

    Parameters
    ----------
    estimator : estimator
        Outlier detector of scikit-learn with ``score_samples`` or ``decision_function``, or
        detector of PyOD; a clone of it is fitted. A ``sklearn.frozen.FrozenEstimator`` stays as it
        is, and all samples are held out from it.
    fpr : float, default 0.05
        False positive rate, in (0, 1): the fraction of the normal samples to flag at most.
    confidence_level : float, optional
        By default the threshold has the rate on the held-out samples, as
        `fastad.measures.threshold_at_rate`. With a confidence, in (0, 1), the rate holds on new
        samples with this probability, as `fastad.threshold_with_guarantee`.
    test_size : float or int, default 0.25
        Fraction or number of the samples that are held out, as
        ``sklearn.model_selection.train_test_split`` takes it.
    random_state : int, RandomState instance or None, default None
        Seed of the held-out samples, as in ``train_test_split``; and seeds of the detector
        where its own ``random_state`` is None.
    pos_label : label, optional
        Label of anomalies in ``y``, which `fit` leaves out. By default all samples count as normal,
        and ``y`` is ignored, as by scikit-learn's outlier detectors.

    Attributes
    ----------
    estimator_ : estimator
        The fitted detector.
    threshold_ : float
        Anomaly score, higher is more anomalous, at or above which a sample is flagged.
    offset_ : float
        Threshold of ``score_samples``, below which a sample is flagged.
    guarantee_ : GuaranteedThreshold or None
        The threshold with its guarantee, where there is one.
    n_held_out_ : int
        Number of samples by which the threshold was set.
    n_features_in_, feature_names_in_
        Number and names of the features of the fitted detector, where it has them.

    See Also
    --------
    fastad.threshold_with_guarantee : The guarantee.

    Notes
    -----
    A guarantee holds for samples that are independent and distributed as those that `fit` gets.

    Examples
    --------
    >>> import numpy as np
    >>> from fastad.sklearn import ThresholdedDetector
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> normals = np.random.default_rng(0).normal(size=(800, 2))
    >>> detector = ThresholdedDetector(
    ...     LocalOutlierFactor(novelty=True), fpr=0.05, confidence_level=0.9, random_state=0
    ... )
    >>> detector.fit(normals).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    >>> detector.guarantee_.n_samples
    200
    """

    def __init__(
        self,
        estimator: Any,
        *,
        fpr: Point = 0.05,
        confidence_level: Point | None = None,
        test_size: float = 0.25,
        random_state: Any = None,
        pos_label: Label | None = None,
    ) -> None:
        self.estimator = estimator
        self.fpr = fpr
        self.confidence_level = confidence_level
        self.test_size = test_size
        self.random_state = random_state
        self.pos_label = pos_label

    def fit(self, X: Any, y: Any = None) -> "ThresholdedDetector":
        """Fit the detector, and set the threshold on samples that it has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Normal samples, and anomalies if ``pos_label`` names them.
        y : array-like of shape (n_samples,), optional
            Labels; ignored without ``pos_label``.

        Returns
        -------
        ThresholdedDetector
            This detector, fitted.

        Raises
        ------
        InvalidInputError
            If a parameter is invalid; the message says which.
        InvalidTypeError
            If the estimator is no outlier detector.
        UndefinedMeasureError
            If too few samples are held out for a guarantee.
        """
        self._check_parameters()
        (X,) = indexable(X)
        rows = self._normal_rows(X, y)
        if is_frozen(self.estimator):
            held_out, fitted = rows, self.estimator
            self._check_size(held_out.shape[0])
        else:
            random = check_random_state(self.random_state)
            rest, held_out = train_test_split(rows, test_size=self.test_size, random_state=random)
            self._check_size(held_out.shape[0])
            fitted = _seeded(clone(self.estimator), random).fit(_safe_indexing(X, rest))
        scores = _scores(fitted, _safe_indexing(X, held_out))
        guarantee = None
        if self.confidence_level is None:
            threshold = threshold_at_rate(scores, rate=self.fpr)
        else:
            guarantee = threshold_with_guarantee(
                scores, fpr=self.fpr, confidence_level=self.confidence_level
            )
            threshold = guarantee.threshold
        self.estimator_ = fitted
        self.threshold_: Threshold = threshold
        self.guarantee_: GuaranteedThreshold | None = guarantee
        self.n_held_out_: int = held_out.shape[0]
        # score_samples is the negated score, and flagged below the offset: a threshold itself is.
        self.offset_ = float(np.nextafter(-threshold, np.inf))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
            elif hasattr(self, name):
                delattr(self, name)
        return self

    def score_samples(self, X: Any) -> npt.NDArray[np.float64]:
        """Return scores in scikit-learn's orientation.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Higher is more normal; `fastad.sklearn`'s scorers and adapters negate it.
        """
        check_is_fitted(self)
        (X,) = indexable(X)
        return -_scores(self.estimator_, X)

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Return scores minus the offset.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Negative where a sample is flagged.
        """
        scores = self.score_samples(X)
        with np.errstate(over="ignore"):  # an infinity of the right sign
            difference: npt.NDArray[np.float64] = scores - self.offset_
        return difference

    def predict(self, X: Any) -> IntVector:
        """Return -1 for samples that are flagged as anomalous, and 1 for others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            -1 or 1.
        """
        return np.where(self.score_samples(X) < self.offset_, -1, 1)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of an outlier detector on the estimator's inputs."""
        from sklearn.utils import get_tags  # scikit-learn 1.6; before, nothing calls this

        tags = super().__sklearn_tags__()
        if hasattr(self.estimator, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _check_parameters(self) -> None:
        if kind_of(self.estimator) not in _DETECTORS:
            raise InvalidTypeError(
                "estimator must be an outlier detector of scikit-learn or a detector of PyOD; "
                f"found {name_of(self.estimator)}"
            )
        check_inside(self.fpr, "fpr")
        if self.confidence_level is not None:
            check_inside(self.confidence_level, "confidence_level")

    def _normal_rows(self, X: Any, y: Any) -> IntVector:
        n_samples = _num_samples(X)
        rows = np.arange(n_samples)
        if self.pos_label is None:
            return rows
        labels = None if y is None else as_vector(y, "y")
        if labels is None or labels.shape != rows.shape:
            raise InvalidInputError(
                f"y must be {n_samples} labels, because pos_label={self.pos_label!r} is given; "
                f"found {short_repr(y)}"
            )
        check_rows({"y": y, "X": X})
        try:
            checked = check_labels(labels, pos_label=self.pos_label)
        except InvalidInputError as error:
            argument = "pos_label" if error.argument == "pos_label" else "y"
            raise type(error)(str(error).replace("y_true", "y"), argument=argument) from None
        normal: IntVector = rows[checked.values == 0]
        if not normal.size:
            raise InvalidInputError(
                f"y must contain normal samples; found pos_label={self.pos_label!r} alone"
            )
        return normal

    def _check_size(self, n_held_out: int) -> None:
        """Raise before the fit, not after it, where the samples are too few for a guarantee."""
        if self.confidence_level is None:
            return
        required = sample_size_for_guarantee(fpr=self.fpr, confidence_level=self.confidence_level)
        if n_held_out < required:
            raise UndefinedMeasureError(
                f"fpr = {float(self.fpr):g} with confidence {float(self.confidence_level):g} needs "
                f"at least {required} held-out samples; found {n_held_out}"
            )


def _seeded(estimator: Any, random: Any) -> Any:
    """Return the estimator with seeds for itself and its parts, where they have none."""
    parameters = estimator.get_params()
    seeds = {
        name: int(random.randint(np.iinfo(np.int32).max))
        for name in sorted(parameters)
        if name.rpartition("__")[2] == "random_state" and parameters[name] is None
    }
    return estimator.set_params(**seeds) if seeds else estimator


def _scores(fitted: Any, X: Any) -> npt.NDArray[np.float64]:
    # As float64, so that thresholds compare equally whatever the type of the scores is.
    scores = anomaly_scores(fitted, X)
    return cast(npt.NDArray[np.float64], np.asarray(scores, np.float64))
