"""Scores of fitted detectors, and of the test folds of a cross-validation."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_vector
from fastad._core.types import ArrayLike, Label, ScoreVector
from fastad.detectors.orientation import (
    ResponseMethod,
    anomaly_scores,
    kind_of,
    name_of,
    scikit_learn,
)
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.ordering.counts import OrderedCounts, count_scores
from fastad.ordering.labels import Labels, check_labels, check_scores, named_scores, score_name
from fastad.ordering.membership import Overlap, check_membership
from fastad.sklearn.adapters import AdaptedDetector
from fastad.uncertainty.rates.bands import count_with_ranks
from fastad.uncertainty.rates.order_statistics import EffectiveRanks

# Counts of a detector, and for a band the ranks that rows of real weights are worth.
Counted: TypeAlias = tuple[OrderedCounts, EffectiveRanks | None]


def scores_of(
    estimator: Any,
    X: Any,
    response_method: ResponseMethod,
    pos_label: Label | None,
    *,
    as_probabilities: bool = False,
) -> ScoreVector:
    """Return the scores of points by a fitted detector or classifier.

    ``as_probabilities`` prefers them of a classifier whose method is not named.
    """
    if isinstance(estimator, AdaptedDetector):
        return estimator.score_samples(X)
    if as_probabilities and response_method == "auto" and kind_of(estimator) == "classifier":
        response_method = "predict_proba" if hasattr(estimator, "predict_proba") else "auto"
    return anomaly_scores(estimator, X, pos_label=pos_label, response_method=response_method)


def name_of_estimator(estimator: Any) -> str:
    """Return the name of a detector in the legend."""
    return estimator.name if isinstance(estimator, AdaptedDetector) else name_of(estimator)


def fold_estimators(
    cv_results: Mapping[str, Any], X: Any
) -> list[tuple[str, Any, Any, npt.NDArray[np.int64]]]:
    """Return the name of each fold, its fitted estimator, its test points, and their rows."""
    if not {"estimator", "indices"} <= cv_results.keys():
        raise InvalidInputError(
            "cv_results must be the result of cross_validate with return_estimator=True and "
            f"return_indices=True; found the keys {sorted(cv_results)}"
        )
    # Takes rows of arrays, sparse matrices and tables, as cross_validate did.
    take_rows = scikit_learn("utils")._safe_indexing
    return [
        (f"fold {i}", fitted, take_rows(X, rows), rows)
        for i, (fitted, rows) in enumerate(
            zip(cv_results["estimator"], cv_results["indices"]["test"], strict=True)
        )
    ]


class TestFolds(dict[str, tuple[npt.NDArray[np.int64], ScoreVector]]):
    """The rows of each test fold of a cross-validation and their scores, by the fold's name."""


def fold_scores(
    cv_results: Mapping[str, Any],
    X: Any,
    response_method: ResponseMethod,
    pos_label: Label | None,
    **options: bool,
) -> TestFolds:
    """Score the test points of each fold by the estimator that was fitted to the others."""
    return TestFolds(
        (name, (rows, scores_of(fitted, part, response_method, pos_label, **options)))
        for name, fitted, part, rows in fold_estimators(cv_results, X)
    )


def values_of(values: ArrayLike, rows: npt.NDArray[np.int64], argument: str) -> npt.NDArray[Any]:
    """Return the values of a fold's rows, from an array with a value for each row of X."""
    array = as_vector(values, argument)
    if len(array) <= rows.max(initial=-1):
        raise InvalidInputError(
            f"{argument} must have a value for each row of X; found shape {array.shape}"
        )
    return array[rows]


def with_labels(
    y_true: ArrayLike, y_score: Any, sample_weight: ArrayLike | None = None
) -> Iterator[tuple[ArrayLike, Any, ArrayLike | None]]:
    """Yield labels, scores by detector and weights of the same rows: all rows, or fold by fold."""
    if not isinstance(y_score, TestFolds):
        yield y_true, y_score, sample_weight
        return
    for name, (rows, scores) in y_score.items():
        weight = None if sample_weight is None else values_of(sample_weight, rows, "sample_weight")
        yield values_of(y_true, rows, "y"), {name: scores}, weight


def count_detectors(
    y_true: ArrayLike,
    y_score: Any,
    sample_weight: ArrayLike | None,
    pos_label: Label | None,
    kinds: Any = None,
    overlap: Overlap = "raise",
    *,
    band_level: Fraction | None = None,
) -> dict[str, Counted]:
    """Check labels and the scores of one detector or many, and count each.

    With kinds, count the anomalies of each kind of one detector beside all normals. For bands of a
    level, rows of real weights have the ranks that they are worth.
    """

    def count(scores: ScoreVector, labels: Labels, name: str = "y_score") -> Counted:
        if band_level is None:
            return count_scores(scores, labels, name), None
        return count_with_ranks(scores, labels, band_level, name=name)

    counted = {}
    if kinds is not None:
        labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
        detectors = named_scores(y_score, labels.row_index)
        if len(detectors) > 1:
            raise InvalidInputError(
                f"y_score must be of one detector with kinds; found {len(detectors)}"
            )
        scores = check_scores(detectors[0][1], labels)
        of_kinds = check_membership(kinds, labels, "kinds", 1, overlap)
        for kind, rows in of_kinds.beside(labels.values == 0):
            counted[str(kind)] = count(scores[rows], labels.keep(rows))
        return counted
    for y, detectors, weight in with_labels(y_true, y_score, sample_weight):
        labels = check_labels(y, sample_weight=weight, pos_label=pos_label)
        for name, values in named_scores(detectors, labels.row_index):
            scores = check_scores(values, labels, name=score_name(name))
            counted[name] = count(scores, labels, score_name(name))
    return counted


def rank_detectors(
    y_true: ArrayLike, y_score: Any, sample_weight: ArrayLike | None, pos_label: Label | None
) -> dict[str, RankedScores]:
    """Check labels and the scores of one detector or many, and order each."""
    return ranked(count_detectors(y_true, y_score, sample_weight, pos_label))


def ranked(counted: Mapping[str, Counted]) -> dict[str, RankedScores]:
    """Return the ordered scores of detectors that have been counted."""
    return {name: RankedScores(counts) for name, (counts, _) in counted.items()}
