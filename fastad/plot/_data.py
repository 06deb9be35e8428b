"""What is drawn: detectors by name, texts of the legend, and paths between points of curves."""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_positive
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.errors import InvalidInputError
from fastad.evaluation.detector import EvaluationRequest, evaluate_measures
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import parse_measures
from fastad.ordering.counts import count_scores
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.named_scores import named_scores, score_name

Result = TypeVar("Result")
# Detector, then label of a measure, then value: what `fastad.evaluate` returns, for one.
Values = Mapping[str, Mapping[str, float]]
ScoreRange = tuple[Fraction, Fraction]


def rank_detectors(
    y_true: npt.ArrayLike,
    y_score: Any,
    sample_weight: npt.ArrayLike | None,
    pos_label: Label | None,
) -> dict[str, RankedScores]:
    """Check labels and the scores of one detector or many, and order each."""
    labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
    ranked = {}
    for name, values in named_scores(y_score, labels.n_rows):
        scores = check_scores(values, labels, name=score_name(name))
        ranked[name] = RankedScores(count_scores(scores, labels, score_name(name)))
    return ranked


def ask_each(
    ranked: Mapping[str, RankedScores], ask: Callable[[RankedScores], Result]
) -> dict[str, Result]:
    """Ask each detector; an error about the values of its scores names it."""
    results = {}
    for name, one in ranked.items():
        try:
            results[name] = ask(one)
        except InvalidInputError as error:
            message = str(error).replace("y_score", score_name(name))
            raise InvalidInputError(message) from None
    return results


def read_measures(
    measures: Sequence[str], fpr: Sequence[Fraction] = (), score_range: ScoreRange | None = None
) -> list[BoundMeasure]:
    """Read the keys of the measures that the legend shows."""
    labels = [measures] if isinstance(measures, str) else measures
    return parse_measures(labels, fpr, score_range) if len(labels) else []


def evaluate_each(ranked: Mapping[str, RankedScores], measures: Sequence[BoundMeasure]) -> Values:
    """Return the values of measures; what is undefined is NaN."""
    request = EvaluationRequest(measures, "raise")
    return {name: evaluate_measures(name, one.counts, request) for name, one in ranked.items()}


def by_name(results: Any, kind: type[Result], argument: str) -> dict[str, Result]:
    """Return results by detector; one result alone is that of ``score``."""
    named = dict(results) if isinstance(results, Mapping) else {"score": results}
    if not named:
        raise InvalidInputError(
            f"{argument} must hold at least one result; found none", argument=argument
        )
    for name, result in named.items():
        if not isinstance(result, kind):
            raise TypeError(
                f"{argument} must be of {kind.__name__}, or name such; "
                f"found {type(result).__name__} for {name!r}"
            )
    return {str(name): result for name, result in named.items()}


def read_points(
    points: Point | Points, check: Callable[[Point | Points], Fraction | list[Fraction]]
) -> list[Fraction]:
    """Check points of an axis, of which there may be none."""
    if not isinstance(points, Fraction) and np.size(points) == 0:
        return []
    checked = check(points)
    return checked if isinstance(checked, list) else [checked]


def read_size(size: float | None, name: str) -> float | None:
    """Check the size of a class, where it is given."""
    return None if size is None else float(check_positive(size, name))


def legend_texts(detectors: Mapping[str, Any], values: Values) -> dict[str, str]:
    """Return what the legend says of each detector: its name and its values."""
    texts = {}
    for name in detectors:
        shown = ", ".join(
            f"{label} {'undefined' if math.isnan(value) else f'{value:.3f}'}"
            for label, value in values.get(name, {}).items()
        )
        texts[name] = f"{name} ({shown})" if shown else name
    return texts


def step_of(size: float | None, rates: Sequence[FloatVector]) -> float:
    """Return the step of a rate that one point makes.

    Where the size of its class is not known, the smallest step of rates that do not fall.
    """
    if size is not None:
        return 1 / size
    steps = np.concatenate([np.diff(rate) for rate in rates])
    return float(steps[steps > 0].min())


def sizes(ranked: Mapping[str, RankedScores]) -> dict[str, float | None]:
    """Return the sizes of the classes; None where real weights do not say how fine rates are."""
    one = next(iter(ranked.values()))
    known = one.counts.weighting != "real"
    return {
        "n_anomalies": float(one.n_anomalies) if known else None,
        "n_normals": float(one.n_normals) if known else None,
    }


def refine(
    x: FloatVector, y: FloatVector, grid: npt.NDArray[np.float64]
) -> tuple[FloatVector, FloatVector]:
    """Insert points into straight pieces of a path, where x passes the numbers of a rising grid.

    All points stay, and x does not fall. On axes that bend straight pieces, the path between the
    inserted points follows what was interpolated.
    """
    after = np.searchsorted(x, grid)
    inside = (after > 0) & (after < len(x))
    inside[inside] = x[after[inside]] != grid[inside]
    grid, after = grid[inside], after[inside]
    before = after - 1
    step = (grid - x[before]) / (x[after] - x[before])
    return np.insert(x, after, grid), np.insert(y, after, y[before] + step * (y[after] - y[before]))
