"""Scorers: measures of a fitted estimator on labelled points, as scikit-learn calls them.

`sklearn.metrics.make_scorer` does not fit: it hands over the decision function of an outlier
detector as it is, which is higher for normal points, so that labels with 1 for an anomaly would
give one minus the AUC.
"""

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_choice, check_range
from fastad._core.types import Label, ScoreVector
from fastad.detectors.orientation import (
    RESPONSE_METHODS,
    ResponseMethod,
    anomaly_scores,
    scikit_learn,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.evaluation.entry import evaluate
from fastad.evaluation.ranked_scores import rank_scores
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import read_key

_Answer = TypeVar("_Answer")
_Self = TypeVar("_Self", bound="Scorer[Any]")


class Scorer(ABC, Generic[_Answer]):
    """What all scorers share: orientation, labels, weights.

    Called as ``scorer(estimator, X, y_true, sample_weight=None)`` with a fitted estimator. Higher
    is better, as everywhere in scikit-learn: measures of which lower is better are negated.

    Attributes
    ----------
    options : dict
        Keyword arguments of the measure.
    pos_label : label or None
        Label of the anomalies; None stands for 1.
    response_method : str
        Method of the estimator that is asked for scores.
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
        y_true: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> _Answer:
        """Measure a fitted estimator on labelled points."""
        if y_true is None:
            raise InvalidInputError(
                "y_true must be given to a scorer; found None", argument="y_true"
            )
        scores = anomaly_scores(
            estimator, X, pos_label=self.pos_label, response_method=self.response_method
        )
        return self._answer(y_true, scores, sample_weight)

    def __repr__(self) -> str:
        shown = dict(self.options)
        if self.pos_label is not None:
            shown["pos_label"] = self.pos_label
        if self.response_method != "auto":
            shown["response_method"] = self.response_method
        return f"{self._factory}({', '.join(f'{key}={value!r}' for key, value in shown.items())})"

    def set_score_request(self: _Self, *, sample_weight: bool | str | None) -> _Self:
        """Ask for sample weights where scikit-learn's metadata routing is enabled.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: pass weights on; False: do not; None: an error if they are given; a text: the
            name under which they are given.

        Returns
        -------
        Scorer
            This scorer, changed.
        """
        self._weight_request = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Return what was asked for, for scikit-learn."""
        request = scikit_learn("utils.metadata_routing").MetadataRequest(owner=repr(self))
        request.score.add_request(param="sample_weight", alias=self._weight_request)
        return request

    def _accept_sample_weight(self) -> bool:
        # Without metadata routing, scikit-learn asks each of several scorers whether to pass them.
        return True

    def _check_options(self) -> None:
        """Measure two made-up points, so that bad options are an error before any fit.

        In a search they would be a warning and NaN, by its ``error_score``.
        """
        score_range = self.options.get("score_range")
        inside = 0 if score_range is None else sum(check_range(score_range)) / 2
        trial = copy.copy(self)
        trial.pos_label = None
        with suppress(UndefinedMeasureError):
            trial._answer([0, 1], np.full(2, float(inside)), None)

    @property
    @abstractmethod
    def _factory(self) -> str:
        """Name of the function that makes it."""

    @abstractmethod
    def _answer(
        self, y_true: npt.ArrayLike, scores: ScoreVector, weight: npt.ArrayLike | None
    ) -> _Answer:
        """Measure anomaly scores."""


class MeasureScorer(Scorer[float]):
    """Scorer of one measure, made by the function that carries the measure's name.

    Called as ``scorer(estimator, X, y_true, sample_weight=None)`` with a fitted estimator; returns
    the measure, or the measure times -1 where lower is better.

    Attributes
    ----------
    measure : str
        Function of fastad that is computed.
    options : dict
        Its keyword arguments.
    pos_label : label or None
        Label of the anomalies; None stands for 1.
    response_method : str
        Method of the estimator that is asked for scores.
    """

    def __init__(self, measure: str, options: Mapping[str, Any], **shared: Any) -> None:
        self.measure = measure
        super().__init__(options, **shared)

    @property
    def _factory(self) -> str:
        return factory_name(self.measure)

    def _check_options(self) -> None:
        operating = MEASURES[self.measure].operating_point
        point = self.options.get(operating) if operating else None
        if np.shape(point):  # type: ignore[arg-type]
            raise InvalidInputError(f"{operating} must be one number in a scorer; found {point!r}")
        super()._check_options()

    def _answer(
        self, y_true: npt.ArrayLike, scores: ScoreVector, weight: npt.ArrayLike | None
    ) -> float:
        ranked = rank_scores(y_true, scores, sample_weight=weight, pos_label=self.pos_label)
        value = getattr(ranked, self.measure)(**self.options)
        return _higher_is_better(MEASURES[self.measure], value)


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
        Method of the estimator that is asked for scores.
    """

    @property
    def _factory(self) -> str:
        return "evaluation_scorer"

    def _answer(
        self, y_true: npt.ArrayLike, scores: ScoreVector, weight: npt.ArrayLike | None
    ) -> dict[str, float]:
        table = evaluate(
            y_true, scores, sample_weight=weight, pos_label=self.pos_label, **self.options
        )["score"]
        if table.undefined:
            raise UndefinedMeasureError("; ".join(table.undefined.values()))
        directed = {}
        for key, value in table.items():
            named = read_key(key)
            assert named is not None
            directed[key] = _higher_is_better(named[0], value)
        return directed


def factory_name(measure: str) -> str:
    """Return the name of the function that makes scorers of a measure."""
    return f"{measure}_scorer"


def _higher_is_better(row: Measure, value: float) -> float:
    # A difference, since -1 times 0.0 is -0.0.
    return 0.0 - value if row.higher_is_better is False else float(value)
