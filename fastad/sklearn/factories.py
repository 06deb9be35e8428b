"""Functions that make scorers: one for each measure, written from its row, and one for many."""

from collections.abc import Callable, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

from fastad._core.types import Label, Point, Points
from fastad.detectors.orientation import ResponseMethod
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.measure import Measure
from fastad.sklearn.scorers import EvaluationScorer, MeasureScorer, factory_name

# What every scorer takes beside the measure's own parameters.
_SHARED = {
    name: Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    for name, default, annotation in (
        ("pos_label", None, Label | None),
        ("response_method", "auto", ResponseMethod),
    )
}

_DOCUMENT = """Make a scorer of `fastad.{name}`: {title}.

Parameters
----------
{own}pos_label : label, optional
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
    If an argument is not as described. A call raises UndefinedMeasureError where the measure is
    undefined.
"""


def make_factory(row: Measure) -> Callable[..., MeasureScorer]:
    """Write the function that makes scorers of a measure, from its row and its method."""
    method = signature(getattr(RankedScores, row.name))
    own = [parameter for key, parameter in method.parameters.items() if key != "self"]
    expected = Signature([*own, *_SHARED.values()], return_annotation=MeasureScorer)
    name = factory_name(row.name)

    def factory(*arguments: Any, **options: Any) -> MeasureScorer:
        try:
            options = expected.bind(*arguments, **options).arguments
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None
        shared = {key: options.pop(key) for key in _SHARED if key in options}
        return MeasureScorer(row.name, options, **shared)

    factory.__name__ = factory.__qualname__ = name
    factory.__module__ = "fastad.sklearn"  # where users find it, and pickle too
    factory.__signature__ = expected  # type: ignore[attr-defined]
    factory.__doc__ = _DOCUMENT.format(
        name=row.name,
        title=row.title,
        own=_describe([parameter.name for parameter in own], row),
        value="the value times -1, since lower is better"
        if row.higher_is_better is False
        else "the value",
    )
    return factory


def _describe(names: Sequence[str], row: Measure) -> str:
    return f"{', '.join(names)}\n    As in `fastad.{row.name}`.\n" if names else ""


def evaluation_scorer(
    *,
    measures: Sequence[str] | None = None,
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
    measures : sequence of str, optional
        Labels such as ``"tpr@0.01"`` and names of functions, as in `fastad.evaluate`.
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
        If an argument is not as described. A call raises UndefinedMeasureError if any of the
        measures is undefined.

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
