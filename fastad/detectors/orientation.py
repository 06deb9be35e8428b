"""Scores of fitted estimators, turned so that higher means more anomalous.

The one place with a sign. It follows from the kind of the estimator alone, never from data:
scikit-learn's outlier detectors score normal samples higher and are negated; PyOD's detectors score
anomalies higher and stay as they are; of a classifier the score of the anomalies' class counts.
"""

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.extras import import_extra
from fastad._core.types import Label, ScoreVector
from fastad.errors import InvalidInputError

Kind: TypeAlias = Literal["outlier detector", "PyOD detector", "classifier"]
ResponseMethod: TypeAlias = Literal["auto", "score_samples", "decision_function", "predict_proba"]
RESPONSE_METHODS = ("auto", "score_samples", "decision_function", "predict_proba")

# In order of preference. A classifier's decision function comes first, as in scikit-learn's own
# scorers: it still ranks points whose probabilities round to the same 0 or 1.
_METHODS: Mapping[Kind, tuple[str, ...]] = MappingProxyType(
    {
        "outlier detector": ("score_samples", "decision_function"),
        "PyOD detector": ("decision_function",),
        "classifier": ("decision_function", "predict_proba"),
    }
)


def scikit_learn(module: str, user: str = "a scorer or adapter") -> Any:
    """Import a module of scikit-learn, an optional extra; an error names the ``user``."""
    return import_extra(f"sklearn.{module}", user, extra="sklearn")


def last_step(estimator: Any) -> Any:
    """Return the estimator that scores: the last step of a pipeline, the best of a search.

    Of a `FrozenEstimator` it is the one inside, whose orientation its tags do not tell.
    """
    # Without scikit-learn's module there is no pipeline.
    module = sys.modules.get("sklearn.pipeline")
    estimator = unwrapped(estimator)
    while module is not None and isinstance(estimator, module.Pipeline):
        estimator = unwrapped(estimator.steps[-1][1])
    return estimator


def unwrapped(estimator: Any) -> Any:
    """Return what a FrozenEstimator holds, and the best estimator of a search."""
    while (frozen := is_frozen(estimator)) or hasattr(estimator, "best_estimator_"):
        estimator = estimator.estimator if frozen else estimator.best_estimator_
    return estimator


def name_of(estimator: Any) -> str:
    """Return the name of the class that scores."""
    return type(last_step(estimator)).__name__


def kind_of(estimator: Any) -> Kind | None:
    """Return the family of an estimator, None if its orientation is unknown."""
    # First: should PyOD ever carry scikit-learn's tag of outlier detectors, its sign remains.
    if is_pyod(last_step(estimator)):
        return "PyOD detector"
    # The attributes that scikit-learn reads; without them some versions warn, some raise.
    if not hasattr(estimator, "__sklearn_tags__") and not hasattr(estimator, "_estimator_type"):
        return None
    base = scikit_learn("base")
    try:
        if base.is_outlier_detector(estimator):
            return "outlier detector"
        if base.is_classifier(estimator):
            return "classifier"
    except AttributeError:  # a mixin of scikit-learn without its base class
        pass
    return None


def is_frozen(estimator: Any) -> bool:
    """Return whether this is a FrozenEstimator; without scikit-learn's module there is none."""
    module = sys.modules.get("sklearn.frozen")
    return module is not None and isinstance(estimator, module.FrozenEstimator)


def is_pyod(step: Any) -> bool:
    """Return whether a step is a PyOD detector; without PyOD imported there is none."""
    module = sys.modules.get("pyod.models.base")
    return module is not None and isinstance(step, module.BaseDetector)


def anomaly_scores(
    estimator: Any,
    X: Any,
    *,
    pos_label: Label | None = None,
    response_method: ResponseMethod = "auto",
) -> ScoreVector:
    """Return the scores of a fitted estimator, higher is more anomalous.

    ``pos_label`` is the class of the anomalies, for a classifier; it does not change the scores of
    detectors.
    """
    kind = kind_of(estimator)
    if kind is None:
        raise TypeError(
            "the estimator must be an outlier detector or a classifier of scikit-learn, or a PyOD "
            f"detector; found {name_of(estimator)}, of whose scores it is not known whether "
            "higher means more anomalous"
        )
    method = _choose_method(estimator, kind, response_method)
    if kind == "classifier":
        return _scores_of_class(estimator, X, 1 if pos_label is None else pos_label, method)
    return detector_scores(estimator, X, method=method, negate=kind == "outlier detector")


def detector_scores(estimator: Any, X: Any, *, method: str, negate: bool) -> ScoreVector:
    """Return the scores of a detector, negated or as they are; one for each row, or an error."""
    scores = np.asarray(getattr(estimator, method)(X))
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if scores.shape != (n_rows,):
        returned = (
            f"{scores.shape[0]} scores" if scores.ndim == 1 else f"an array of shape {scores.shape}"
        )
        raise InvalidInputError(
            f"{method} of {name_of(estimator)} must return one score for each row; it returned "
            f"{returned} for {n_rows} rows"
        )
    return -scores if negate else scores


def _choose_method(estimator: Any, kind: Kind, requested: ResponseMethod) -> str:
    methods = _METHODS[kind]
    if requested != "auto" and requested not in methods:
        raise InvalidInputError(
            f"response_method of the {kind} {name_of(estimator)} must be one of "
            f"{', '.join(map(repr, ('auto', *methods)))}; found {requested!r}",
            argument="response_method",
        )
    candidates = methods if requested == "auto" else (requested,)
    for method in candidates:
        if hasattr(estimator, method):
            return method
    hint = ", which LocalOutlierFactor has with novelty=True" if kind == "outlier detector" else ""
    raise TypeError(
        f"the {kind} {name_of(estimator)} must have the method {' or '.join(candidates)}{hint}"
    )


def _scores_of_class(
    classifier: Any, X: Any, anomalous: Label, method: str
) -> npt.NDArray[np.float64]:
    classes = np.asarray(classifier.classes_).tolist()
    if len(classes) != 2 or classes.count(anomalous) != 1:
        raise InvalidInputError(
            f"{name_of(classifier)} must have learnt two classes, one of them the anomalies' "
            f"{anomalous!r}; found {classes}. Name the anomalies' label with pos_label= if it is "
            "another"
        )
    column = classes.index(anomalous)
    response = np.asarray(getattr(classifier, method)(X))
    if method == "predict_proba":
        return response[:, column]
    return response if column == 1 else -response
