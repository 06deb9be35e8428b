"""The base of all displays of curves, and what they share: detectors by name, bands, legends."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.declared import Parameter
from fastad._core.parameters import check_positive
from fastad._core.row_index import check_rows
from fastad._core.types import ArrayLike, FloatVector, Label, Point, Points
from fastad.detectors.orientation import ResponseMethod
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.evaluation.detector import EvaluationRequest, evaluate_measures
from fastad.evaluation.notes import UNRESOLVED, line_of_unresolved
from fastad.evaluation.ranked_scores import RankedScores
from fastad.evaluation.results import DetectorEvaluation
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import parse_measures
from fastad.ordering.named_scores import score_name
from fastad.plot import drawing
from fastad.plot.folds import fold_scores, name_of_estimator, scores_of
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D
    from typing_extensions import Self

BandKind = Literal["pointwise", "simultaneous"]
BAND_KINDS: tuple[BandKind, ...] = ("pointwise", "simultaneous")
Curve = TypeVar("Curve")
Data = TypeVar("Data")
Result = TypeVar("Result")
# Detector, then key of a measure, then value: such as the result of `fastad.evaluate`.
Values = Mapping[str, Mapping[str, float]]
ScoreRange = tuple[Fraction, Fraction]
# Characters in a line of a footnote below the legend's labels.
_NOTE_WIDTH = 44


class CurvesDisplay(drawing.Display, Generic[Curve]):
    """Curves of one detector or several on the same axes, with confidence bands."""

    _curve_type: type[Curve]
    _band_type: type
    bands_: "dict[str, FillBetweenPolyCollection]"

    def __init__(self, curves: Curve | Mapping[str, Curve], bands: Any = None) -> None:
        self.curves = by_name(curves, self._curve_type, "curves")
        self.bands: dict[str, Any] = {}
        if bands is not None and not (isinstance(bands, Mapping) and not bands):
            self.bands = by_name(bands, self._band_type, "bands")
            self._check_detectors(self.bands, "bands")

    def _check_detectors(self, results: Mapping[str, Any], argument: str) -> None:
        if unknown := results.keys() - self.curves.keys():
            raise InvalidInputError(
                f"{argument} must be of detectors; found {sorted(unknown)}", argument=argument
            )

    def _open(self, ax: "Axes | None", labels: Mapping[str, str], n_more: int = 0) -> "Axes":
        """Return axes with room for a legend of labels, ``n_more`` lines, and a band."""
        n_rows = drawing.count_rows(labels.values()) + n_more + bool(self.bands)
        (axes,) = drawing.open_axes(ax, n_rows=n_rows)
        return axes


class LabelledDisplay(ABC):
    """A display of scores and labels, which a fitted detector can give."""

    @classmethod
    @abstractmethod
    def from_predictions(cls, *data: Any, **options: Any) -> "Self":
        """Compute what is drawn from labels and scores, and draw it."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        response_method: ResponseMethod = "auto",
        pos_label: Label | None = None,
        name: str | None = None,
        **options: Any,
    ) -> "Self":
        """Score points with a fitted detector or classifier, and draw.

        Parameters
        ----------
        estimator : estimator or AdaptedDetector
            Fitted outlier detector or classifier of scikit-learn, or detector of PyOD, whose
            scores are oriented as those of scorers in `fastad.sklearn`; or what
            `fastad.sklearn.from_sklearn` or `fastad.sklearn.from_pyod` returns.
        X : array-like of shape (n_samples, n_features)
            Points that the estimator scores.
        y : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        response_method : {"auto", "score_samples", "decision_function", "predict_proba"}
            Method of the estimator that gives scores; by default the first that it has.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        name : str, optional
            Name of the detector in the legend; by default the name of its class.
        **options
            As `from_predictions` takes them.

        Returns
        -------
        display
            The display, drawn.

        Raises
        ------
        TypeError
            If it is not known whether a higher score of the estimator means more anomalous.
        """
        check_rows({"y": y, "X": X, "sample_weight": options.get("sample_weight")})
        shown = name or name_of_estimator(estimator)
        scores = {shown: scores_of(estimator, X, response_method, pos_label)}
        return cls.from_predictions(y, scores, pos_label=pos_label, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        response_method: ResponseMethod = "auto",
        pos_label: Label | None = None,
        **options: Any,
    ) -> "Self":
        """Draw each test fold of a cross-validation as `from_predictions` draws a detector.

        Parameters
        ----------
        cv_results : dict
            What ``sklearn.model_selection.cross_validate`` returns with ``return_estimator=True``
            and ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            Points that were given to it.
        y : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        response_method, pos_label
            As `from_estimator` takes them; probabilities of most classifiers need
            ``response_method="predict_proba"``.
        **options
            As `from_predictions` takes them.

        Returns
        -------
        display
            The display, drawn; folds are named ``fold 0``, ``fold 1``, ….

        Raises
        ------
        UndefinedMeasureError
            If a class is absent from a fold.
        """
        check_rows({"y": y, "sample_weight": options.get("sample_weight"), "X": X})
        folds = fold_scores(cv_results, X, response_method, pos_label)
        return cls.from_predictions(y, folds, pos_label=pos_label, **options)


class LabelledCurvesDisplay(LabelledDisplay, CurvesDisplay[Curve]):
    """Curves computed from scores and labels; the legend shows values of measures."""

    def __init__(
        self, curves: Curve | Mapping[str, Curve], values: Values | None, bands: Any = None
    ) -> None:
        super().__init__(curves, bands)
        self.values = dict(values or {})


def map_detectors(
    detectors: Mapping[str, Data], compute: Callable[[Data], Result]
) -> dict[str, Result]:
    """Compute a result from the data of each detector; an error about its scores names it."""
    results = {}
    for name, data in detectors.items():
        try:
            results[name] = compute(data)
        except InvalidInputError as error:
            message = str(error).replace("y_score", score_name(name))
            item = score_name(name) if error.item == "y_score" else error.item
            raise InvalidInputError(message, argument=item) from None
    return results


def read_measures(
    measures: Sequence[str], fpr: Sequence[Fraction] = (), score_range: ScoreRange | None = None
) -> list[BoundMeasure]:
    """Read the keys of the measures that the legend shows, of which there may be none."""
    return parse_measures(measures, fpr, score_range) if len(measures) else []


def evaluate_each(ranked: Mapping[str, RankedScores], measures: Sequence[BoundMeasure]) -> Values:
    """Return the values of measures; what is undefined is NaN."""
    request = EvaluationRequest(measures, "raise")
    return {
        name: evaluate_measures(name, scores.counts, request) for name, scores in ranked.items()
    }


def by_name(results: Any, kind: type[Result], argument: str) -> dict[str, Result]:
    """Return results by detector; a single result has the name ``score``."""
    named = dict(results) if isinstance(results, Mapping) else {"score": results}
    if not named:
        raise InvalidInputError(
            f"{argument} must contain at least one result; found none", argument=argument
        )
    for name, result in named.items():
        if not isinstance(result, kind):
            raise InvalidTypeError(
                f"{argument} must be a {kind.__name__}, or a mapping of names to such; "
                f"found {type(result).__name__} for {name!r}",
                argument=argument,
            )
    return {str(name): result for name, result in named.items()}


def read_points(points: Point | Points, parameter: Parameter, name: str) -> list[Fraction]:
    """Check points of an axis, of which there may be none."""
    if not isinstance(points, Fraction) and np.size(points) == 0:
        return []
    checked = parameter.check(points, name)
    return checked if isinstance(checked, list) else [checked]


def read_size(size: float | None, name: str) -> float | None:
    """Check the size of a class, where it is given."""
    return None if size is None else float(check_positive(size, name))


def legend_labels(detectors: Mapping[str, Any], values: Values) -> dict[str, str]:
    """Return the label of each detector in the legend: its name and its values."""
    labels = {}
    for name in detectors:
        too_few = unresolved_of(values, name)
        shown = ", ".join(
            f"{key} {UNRESOLVED if key in too_few else ''}"
            f"{'undefined' if math.isnan(value) else f'{value:.3f}'}"
            f"{interval_text(_exact_of(values, name).get(key))}"
            for key, value in values.get(name, {}).items()
        )
        labels[name] = f"{name} ({shown})" if shown else name
    return labels


def interval_text(interval: Interval | None) -> str:
    """Return an interval as it stands behind a value in the legend, nothing for none."""
    return "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"


def _exact_of(values: Values, name: str) -> Mapping[str, Interval]:
    results = values.get(name)
    return results.exact_intervals if isinstance(results, DetectorEvaluation) else {}


def unresolved_of(values: Values, name: str) -> Mapping[str, str]:
    """Return for which values of a detector the samples are too few; unknown of plain numbers."""
    results = values.get(name)
    return results.unresolved if isinstance(results, DetectorEvaluation) else {}


def with_footnote(
    labels: Mapping[str, str],
    values: Values,
    more: Iterable[Mapping[str, str]] = (),
    *,
    is_exact: bool = False,
) -> dict[str, str]:
    """Return labels of the legend, the last one with lines that say what the mark means."""
    notes = line_of_unresolved(
        [*(unresolved_of(values, name) for name in labels), *more],
        is_exact=is_exact or any(_exact_of(values, name) for name in labels),
    )
    if not notes:
        return dict(labels)
    last = list(labels)[-1]
    return {**labels, last: "\n".join([labels[last], *wrap(notes[0], _NOTE_WIDTH)])}


def step_of(size: float | None, rates: Sequence[FloatVector]) -> float:
    """Return the step of a rate that one point makes.

    Where the size of its class is not known, the smallest step of rates that do not decrease.
    """
    if size is not None:
        return 1 / size
    steps = np.concatenate([np.diff(rate) for rate in rates])
    return float(steps[steps > 0].min())


def class_sizes(ranked: Mapping[str, RankedScores]) -> dict[str, float | None]:
    """Return the largest sizes of the classes; None if real weights do not tell the steps."""
    is_known = all(scores.counts.weighting != "real" for scores in ranked.values())
    return {
        size: float(max(getattr(scores, size) for scores in ranked.values())) if is_known else None
        for size in ("n_anomalies", "n_normals")
    }


def refine(
    x: FloatVector, y: FloatVector, grid: npt.NDArray[np.float64]
) -> tuple[FloatVector, FloatVector]:
    """Insert points into straight pieces of a path, where x passes an increasing grid.

    All points stay, and x does not decrease. On axes that bend straight pieces, the path between
    the inserted points follows the interpolated curve.
    """
    after = np.searchsorted(x, grid)
    inside = (after > 0) & (after < len(x))
    inside[inside] = x[after[inside]] != grid[inside]
    grid, after = grid[inside], after[inside]
    before = after - 1
    step = (grid - x[before]) / (x[after] - x[before])
    return np.insert(x, after, grid), np.insert(y, after, y[before] + step * (y[after] - y[before]))


def draw_band(
    axes: "Axes", band: Any, x: FloatVector, line: "Line2D", lowest: float = 0.0
) -> "FillBetweenPolyCollection":
    """Draw a band whose bounds are joined by straight lines, from where the axis starts.

    It starts at the last point before that which is above 0: a logarithmic axis has no 0.
    """
    order = np.argsort(x, kind="stable")
    before = x[(x > 0) & (x <= lowest)]
    order = order[x[order] >= (before.max() if before.size else lowest)]
    area = x[order], band.low[order], band.high[order]
    kind: BandKind = "simultaneous" if band.simultaneous else "pointwise"
    return fill_between(axes, area, line, kind, band.confidence_level)


def fill_between(
    axes: "Axes",
    area: drawing.Area,
    line: "Line2D",
    kind: BandKind,
    confidence_level: float,
) -> "FillBetweenPolyCollection":
    """Fill the area between two bounds in the colour of a line; the legend names each kind once.

    The area is given by x that does not decrease, and the lower and upper bound there.
    """
    return drawing.fill_area(axes, area, line, f"{100 * confidence_level:g}% {kind} band")
