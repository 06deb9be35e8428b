"""Fitted detectors as anomaly scorers, with the orientation that the adapter's name says."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, overload

from fastad._core.arrays import check_option_rows
from fastad._core.types import ArrayLike, ScoreVector
from fastad._core.user_warnings import warn_user
from fastad.detectors.orientation import (
    detector_scores,
    is_pyod,
    kind_of,
    last_step,
    name_of,
    scikit_learn,
)
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.evaluation.entry import evaluate
from fastad.evaluation.groups import GroupedEvaluation
from fastad.evaluation.ranked_scores import rank_scores
from fastad.evaluation.results import Evaluation


class OrientationWarning(UserWarning):
    """A detector ranks normal samples above anomalies: its AUC on labelled data is below 0.5.

    Its scores are measured as they are, never flipped.
    """


@dataclass(frozen=True, slots=True, eq=False)
class AdaptedDetector:
    """A fitted detector whose scores are higher for more anomalous samples.

    Made by `from_sklearn` and `from_pyod`.

    Attributes
    ----------
    detector : object
        The fitted detector.
    name : str
        Name of the detector in tables.
    method : str
        Method of the detector that gives scores.
    negated : bool
        Whether those scores are negated.
    """

    detector: Any
    name: str
    method: str
    negated: bool

    def score_samples(self, X: Any) -> ScoreVector:
        """Return anomaly scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that the detector takes.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Higher is more anomalous.
        """
        return detector_scores(self.detector, X, method=self.method, negate=self.negated)

    @overload
    def evaluate(
        self, X: Any, y_true: ArrayLike, *, groups: None = ..., **options: Any
    ) -> Evaluation: ...
    @overload
    def evaluate(
        self, X: Any, y_true: ArrayLike, *, groups: Any, **options: Any
    ) -> GroupedEvaluation: ...
    def evaluate(
        self, X: Any, y_true: ArrayLike, *, groups: Any = None, **options: Any
    ) -> Evaluation | GroupedEvaluation:
        """Measure the detector on labelled samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, in the form that the detector takes.
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        groups, **options
            As in `fastad.evaluate`: ``measures``, ``fpr``, ``pos_label``, ``sample_weight``, ….

        Returns
        -------
        Evaluation, or GroupedEvaluation with ``groups``
            Holds the detector under its ``name``.

        Warns
        -----
        OrientationWarning
            If the AUC on all samples is below 0.5. The result is not changed.
        """
        check_option_rows({"y_true": y_true, "X": X, "groups": groups}, options)
        scores = self.score_samples(X)
        table: Evaluation | GroupedEvaluation = evaluate(
            y_true, {self.name: scores}, groups=groups, **options
        )
        names = ("pos_label", "sample_weight", "nan_policy")
        given = {name: options[name] for name in names if name in options}
        # With a single class there is nothing to warn of; with on_error="record" bad scores are
        # recorded in the table.
        with suppress(UndefinedMeasureError, InvalidInputError):
            auc = rank_scores(y_true, scores, **given).roc_auc()
            if auc < 0.5:
                warn_user(self._orientation_message(auc), OrientationWarning)
        return table

    def _orientation_message(self, auc: float) -> str:
        orientation = "negated" if self.negated else "taken as they are"
        return (
            f"{self.name} has an AUC of {auc:.4g}, below 0.5: it ranks normal samples above "
            "anomalies. Check that y_true has 1 for anomalies, or that pos_label= names them; "
            f"that {self.method} of {name_of(self.detector)}, whose values were {orientation}, "
            "follows the convention of its library; and that it was not fitted to anomalies as if "
            "they were normal. If so, it is worse than chance on these samples. Nothing was flipped"
        )


def from_sklearn(detector: Any, *, name: str | None = None) -> AdaptedDetector:
    """Adapt a fitted outlier detector of scikit-learn, whose scores are negated.

    scikit-learn's outlier detectors score normal samples higher.

    Parameters
    ----------
    detector : estimator
        Fitted outlier detector with ``score_samples``, or a pipeline or search that ends in one:
        ``IsolationForest``, ``OneClassSVM``, ``EllipticEnvelope``, ``SGDOneClassSVM``,
        ``LocalOutlierFactor(novelty=True)``, and others that inherit from ``OutlierMixin``.
    name : str, optional
        Name of the detector in tables; by default the name of its class.

    Returns
    -------
    AdaptedDetector
        ``.score_samples(X)`` is ``-detector.score_samples(X)``.

    Raises
    ------
    InvalidTypeError
        If it is not an outlier detector of scikit-learn.
    sklearn.exceptions.NotFittedError
        If it is not fitted.

    Examples
    --------
    >>> from fastad.sklearn import from_sklearn
    >>> from sklearn.ensemble import IsolationForest
    >>> forest = IsolationForest(random_state=0).fit([[0.0], [0.1], [0.2], [0.3]])
    >>> near, far = from_sklearn(forest).score_samples([[0.1], [9.0]])
    >>> bool(far > near)
    True
    """
    kind = kind_of(detector)
    if kind != "outlier detector":
        hint = "; use from_pyod, which does not negate" if kind == "PyOD detector" else ""
        raise InvalidTypeError(
            "detector must be a fitted outlier detector of scikit-learn; "
            f"found {_described(detector, kind)}{hint}"
        )
    if not hasattr(detector, "score_samples"):
        raise InvalidTypeError(
            f"detector must be a detector that has score_samples; found {name_of(detector)} "
            "without it (LocalOutlierFactor has it with novelty=True)"
        )
    scikit_learn("utils.validation").check_is_fitted(detector)
    return AdaptedDetector(detector, name or name_of(detector), "score_samples", negated=True)


def from_pyod(detector: Any, *, name: str | None = None) -> AdaptedDetector:
    """Adapt a fitted detector of PyOD, whose scores stay as they are.

    PyOD's detectors score anomalies higher. Detectors of other libraries that follow its
    convention are accepted too: they have ``decision_function`` and, once fitted,
    ``decision_scores_``.

    Parameters
    ----------
    detector : detector
        Fitted detector of PyOD, or a pipeline or search that ends in one.
    name : str, optional
        Name of the detector in tables; by default the name of its class.

    Returns
    -------
    AdaptedDetector
        ``.score_samples(X)`` is ``detector.decision_function(X)``.

    Raises
    ------
    InvalidTypeError
        If it is not a detector of PyOD.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    kind = kind_of(detector)
    step = last_step(detector)
    is_fitted = hasattr(step, "decision_scores_")
    is_oriented = is_pyod(step) or (is_fitted and kind is None)
    if not is_oriented or not hasattr(detector, "decision_function"):
        hint = "; use from_sklearn, which negates" if kind == "outlier detector" else ""
        raise InvalidTypeError(
            f"detector must be a fitted detector of PyOD; found {_described(detector, kind)}{hint}"
        )
    if not is_fitted:
        raise scikit_learn("exceptions").NotFittedError(
            f"detector must be a fitted detector; call fit of {name_of(detector)} first"
        )
    return AdaptedDetector(detector, name or name_of(detector), "decision_function", negated=False)


def _described(estimator: Any, kind: str | None) -> str:
    return f"the {kind} {name_of(estimator)}" if kind else name_of(estimator)
