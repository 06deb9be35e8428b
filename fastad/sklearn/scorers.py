"""Scorers: measures of a fitted estimator on labelled samples, as scikit-learn calls them.

`sklearn.metrics.make_scorer` does not fit: it passes on the decision function of an outlier
detector as it is, which is higher for normal samples, so that labels with 1 for an anomaly would
give one minus the AUC.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Any, Generic, TypeVar

from fastad._core.arrays import check_rows
from fastad._core.parameters import check_choice, check_range, check_rates, refused
from fastad._core.types import ArrayLike, Label, Point, Points, ScoreVector
from fastad.detectors.orientation import (
    RESPONSE_METHODS,
    ResponseMethod,
    anomaly_scores,
    scikit_learn,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.entry import evaluate
from fastad.measures.measure import BoundMeasure, Measure, MeasureLike
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind, table_measures

_Result = TypeVar("_Result")
_Self = TypeVar("_Self", bound="Scorer[Any]")

# Parameters of every scorer beside the measure's own.
_SHARED = [
    Parameter("pos_label", Parameter.KEYWORD_ONLY, default=None, annotation=Label | None),
    Parameter("response_method", Parameter.KEYWORD_ONLY, default="auto", annotation=ResponseMethod),
]

_DOCUMENT = """Make a scorer of `fastad.{name}`: {title}.

Parameters
----------
{parameters}pos_label : label, optional
    Label of the anomalies where labels are not 0 and 1.
response_method : {{"auto", "score_samples", "decision_function", "predict_proba"}}, optional
    Method of the estimator that gives scores; by default the first that it has.

Returns
-------
MeasureScorer
    Called as ``scorer(estimator, X, y_true, sample_weight=None)``; returns {value}.

Raises
------
InvalidInputError
    If a parameter is invalid. A call raises UndefinedMeasureError where the measure is
    undefined.
"""


class Scorer(ABC, Generic[_Result]):
    """Base of all scorers: orientation, labels, weights.

    Called as ``scorer(estimator, X, y_true, sample_weight=None)`` with a fitted estimator. Higher
    is better, as everywhere in scikit-learn: measures of which lower is better are negated.
    """

    def __init__(
        self,
        options: Mapping[str, Any],
        *,
        pos_label: Label | None = None,
        response_method: ResponseMethod = "auto",
    ) -> None:
        scikit_learn("base")
        check_choice(response_method, RESPONSE_METHODS, "response_method")
        self.options = dict(options)
        self.pos_label = pos_label
        self.response_method: ResponseMethod = response_method
        self._weight_request: bool | str | None = None
        self._check_options()

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y_true: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> _Result:
        """Measure a fitted estimator on labelled samples."""
        if y_true is None:
            raise InvalidInputError("y_true must be given to a scorer; found None")
        check_rows({"y_true": y_true, "X": X, "sample_weight": sample_weight})
        scores = anomaly_scores(
            estimator, X, pos_label=self.pos_label, response_method=self.response_method
        )
        return self._measure(y_true, scores, sample_weight)

    def __repr__(self) -> str:
        shown = dict(self.options)
        if self.pos_label is not None:
            shown["pos_label"] = self.pos_label
        if self.response_method != "auto":
            shown["response_method"] = self.response_method
        shown_options = [f"{name}={value!r}" for name, value in shown.items()]
        return f"{self._factory}({', '.join([*self._positional, *shown_options])})"

    def set_score_request(self: _Self, *, sample_weight: bool | str | None) -> _Self:
        """Request sample weights where scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: pass weights on; False: do not; None: an error if they are given; a string: the
            name under which they are given.

        Returns
        -------
        Scorer
            This scorer, changed.
        """
        self._weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Return the requested metadata, as scikit-learn reads it."""
        request = scikit_learn("utils.metadata_routing").MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request

    def _accept_sample_weight(self) -> bool:
        # Without metadata routing, scikit-learn asks each of several scorers whether to pass them.
        return True

    @abstractmethod
    def _check_options(self) -> None:
        """Check the options before any fit: in a search, bad ones would give a warning and NaN."""

    @property
    @abstractmethod
    def _factory(self) -> str:
        """Name of the function that makes it."""

    @property
    def _positional(self) -> Sequence[str]:
        """Arguments of that function beside keywords."""
        return ()

    @abstractmethod
    def _measure(self, y_true: ArrayLike, scores: ScoreVector, weight: ArrayLike | None) -> _Result:
        """Measure anomaly scores."""


class MeasureScorer(Scorer[float]):
    """Scorer of one measure, made by the function with the name of the measure.

    Called as ``scorer(estimator, X, y_true, sample_weight=None)`` with a fitted estimator; returns
    the measure, or the measure times -1 where lower is better.

    Attributes
    ----------
    measure : str or Measure
        Function of fastad that is computed, or a declaration.
    options : dict
        Keyword arguments of the function.
    pos_label : label or None
        Label of the anomalies; None stands for 1.
    response_method : str
        Method of the estimator that gives scores.
    """

    def __init__(
        self, measure: str | Measure[Any], options: Mapping[str, Any], **shared: Any
    ) -> None:
        self.measure = measure
        super().__init__(options, **shared)

    @property
    def _factory(self) -> str:
        return "measure_scorer" if self._positional else factory_name(self._declaration.name)

    @property
    def _positional(self) -> Sequence[str]:
        measure = self._declaration
        if MEASURES.get(measure.name) is measure:
            return ()
        # Rates at a threshold have names, other measures are variables of the user.
        return (repr(measure.name) if RATES.get(measure.name) is measure else measure.name,)

    @property
    def _declaration(self) -> Measure[Any]:
        return MEASURES[self.measure] if isinstance(self.measure, str) else self.measure

    def _check_options(self) -> None:
        self._declaration.check(self.options)
        _check_direction(self._declaration, "measure", "be one")

    def _measure(self, y_true: ArrayLike, scores: ScoreVector, weight: ArrayLike | None) -> float:
        measure = self._declaration
        # Checked in each call: a seed among the options starts a new generator.
        value = measure.of(y_true, scores, weight, self.pos_label, **self.options)
        return _higher_is_better(measure, value)


class EvaluationScorer(Scorer[dict[str, float]]):
    """Scorer of many measures, made by `evaluation_scorer`.

    Called as ``scorer(estimator, X, y_true, sample_weight=None)`` with a fitted estimator; returns
    a dictionary from label to value. Values of which lower is better are negated.

    Attributes
    ----------
    options : dict
        Keyword arguments of `fastad.evaluate`.
    pos_label : label or None
        Label of the anomalies; None stands for 1.
    response_method : str
        Method of the estimator that gives scores.
    """

    @property
    def _factory(self) -> str:
        return "evaluation_scorer"

    def _check_options(self) -> None:
        # Any two samples tell, with scores in the range of possible scores.
        score_range = self.options.get("score_range")
        score = 0.0 if score_range is None else float(sum(check_range(score_range)) / 2)
        with suppress(UndefinedMeasureError):
            evaluate([0, 1], [score, score], **self.options)
        for bound in self._bound():
            _check_direction(bound.measure, "measures", "be ones")

    def _measure(
        self, y_true: ArrayLike, scores: ScoreVector, weight: ArrayLike | None
    ) -> dict[str, float]:
        result = evaluate(
            y_true, scores, sample_weight=weight, pos_label=self.pos_label, **self.options
        )["score"]
        if result.undefined:
            raise UndefinedMeasureError("; ".join(result.undefined.values()))
        scored = {}
        for bound in self._bound():
            scored[bound.key] = _higher_is_better(bound.measure, result[bound.key])
        return scored

    def _bound(self) -> Sequence[BoundMeasure]:
        score_range = self.options["score_range"]
        return table_measures(
            self.options["measures"],
            check_rates(self.options["fpr"], "fpr"),
            None if score_range is None else check_range(score_range),
        )


def factory_name(measure: str) -> str:
    """Return the name of the function that makes scorers of a measure."""
    return f"{measure}_scorer"


def _check_direction(measure: Measure[Any], argument: str, kind: str) -> None:
    """Refuse a measure without better values, of which a search would take the largest."""
    if measure.higher_is_better is None:
        raise refused(argument, f"{kind} of which more, or less, is better", measure.name)


def _higher_is_better(measure: Measure[Any], value: float) -> float:
    # A difference, since -1 times 0.0 is -0.0.
    return 0.0 - value if measure.higher_is_better is False else float(value)


def make_factory(measure: Measure[Any]) -> Callable[..., MeasureScorer]:
    """Make the function that makes scorers of a measure, from its declaration."""

    def factory(
        *,
        pos_label: Label | None = None,
        response_method: ResponseMethod = "auto",
        **parameters: Any,
    ) -> MeasureScorer:
        return MeasureScorer(
            measure.name, parameters, pos_label=pos_label, response_method=response_method
        )

    factory.__name__ = factory.__qualname__ = factory_name(measure.name)
    factory.__module__ = "fastad.sklearn"  # where users find it, and pickle too
    factory.__signature__ = Signature(  # type: ignore[attr-defined]
        [*measure.keywords, *_SHARED], return_annotation=MeasureScorer
    )
    names = ", ".join(measure.parameters)
    is_negated = measure.higher_is_better is False
    factory.__doc__ = _DOCUMENT.format(
        name=measure.name,
        title=measure.title,
        parameters=f"{names}\n    As in `fastad.{measure.name}`.\n" if names else "",
        value="the value times -1, since lower is better" if is_negated else "the value",
    )
    return factory


def measure_scorer(
    measure: MeasureLike,
    *,
    pos_label: Label | None = None,
    response_method: ResponseMethod = "auto",
    **operating_point: Any,
) -> MeasureScorer:
    """Make a scorer of any measure, such as one that `fastad.measures.from_counts` has made.

    Parameters
    ----------
    measure : str, Measure or BoundMeasure
        Key such as ``"tpr@0.01"``, name of a function, or a declaration.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    response_method : {"auto", "score_samples", "decision_function", "predict_proba"}, optional
        Method of the estimator that gives scores; by default the first that it has.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    MeasureScorer
        Called as ``scorer(estimator, X, y_true, sample_weight=None)``; returns the measure, times
        -1 where lower is better.

    Raises
    ------
    InvalidInputError
        If a parameter is invalid, or neither more nor less of the measure is better. A call raises
        UndefinedMeasureError where the measure is undefined.

    Examples
    --------
    >>> from fastad.sklearn import measure_scorer
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> fitted = LogisticRegression().fit(X, y)
    >>> measure_scorer("tpr@0.01")(fitted, X, y)
    1.0
    """
    bound = bind(measure, operating_point, measure_scorer)
    return MeasureScorer(
        bound.measure, bound.parameters, pos_label=pos_label, response_method=response_method
    )


def evaluation_scorer(
    *,
    measures: MeasureLike | Sequence[MeasureLike] | None = None,
    fpr: Point | Points = (0.01, 0.05),
    score_range: tuple[Point, Point] | None = None,
    pos_label: Label | None = None,
    response_method: ResponseMethod = "auto",
) -> EvaluationScorer:
    """Make a scorer of many measures, as `fastad.evaluate` computes them.

    scikit-learn reads the dictionary that it returns as several metrics; a search needs the label
    to choose by as ``refit=``. The estimator scores once, where a dictionary of scorers would
    have it score once for each.

    Parameters
    ----------
    measures : sequence of str, Measure and BoundMeasure, optional
        Keys such as ``"tpr@0.01"`` and names of functions, as in `fastad.evaluate`.
    fpr : float or sequence of floats, default (0.01, 0.05)
        Operating points of the default set and of names of functions.
    score_range : (float, float), optional
        Lowest and highest possible score, for measures that scale the scores.
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    response_method : {"auto", "score_samples", "decision_function", "predict_proba"}, optional
        Method of the estimator that gives scores; by default the first that it has.

    Returns
    -------
    EvaluationScorer
        Called as ``scorer(estimator, X, y_true, sample_weight=None)``; returns label to value.
        Values of which lower is better are negated.

    Raises
    ------
    InvalidInputError
        If a parameter is invalid, or neither more nor less of a measure is better. A call raises
        UndefinedMeasureError if any of the measures is undefined.

    Examples
    --------
    >>> from fastad.sklearn import evaluation_scorer
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> fitted = LogisticRegression().fit(X, y)
    >>> evaluation_scorer(measures=["auc", "eer"])(fitted, X, y)
    {'auc': 1.0, 'eer': 0.0}
    """
    options = {"measures": measures, "fpr": fpr, "score_range": score_range}
    return EvaluationScorer(options, pos_label=pos_label, response_method=response_method)
