"""Bases of displays: constructors from data and estimators, curves by detector and their bands."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import check_option_rows
from fastad._core.declared import Parameter
from fastad._core.parameters import check_choice, check_inside, check_positive
from fastad._core.text_tables import level_text
from fastad._core.types import ArrayLike, FloatVector, Label, Point, Points
from fastad.detectors.orientation import ResponseMethod
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.evaluation.detector import EvaluationRequest, evaluate_measures
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import parse_measures
from fastad.ordering.labels import score_name
from fastad.plot import drawing
from fastad.plot.folds import Counted, fold_scores, name_of_estimator, scores_of
from fastad.plot.legends import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from typing_extensions import Self

BandKind = Literal["pointwise", "simultaneous"]
BAND_KINDS: tuple[BandKind, ...] = ("pointwise", "simultaneous")
Curve = TypeVar("Curve")
Data = TypeVar("Data")
Result = TypeVar("Result")
ScoreRange = tuple[Fraction, Fraction]

# Rounding of a step that is the difference of two rates.
_ROUNDING = 1e-9


class CurvesDisplay(drawing.Display, Generic[Curve]):
    """Curves of one detector or several on the same axes, some with confidence bands."""

    _curve_type: type[Curve]
    _band_type: type
    bands: dict[str, Any]
    bands_: "dict[str, FillBetweenPolyCollection]"

    def __init__(self, curves: Curve | Mapping[str, Curve]) -> None:
        self.curves = by_name(curves, self._curve_type, "curves")

    def _read_bands(self, bands: Any) -> dict[str, Any]:
        named: dict[str, Any] = {}
        if bands is not None:
            named = by_name(bands, self._band_type, "bands", least=0)
        self._check_detectors(named, "bands")
        return named

    def _check_detectors(self, results: Mapping[str, Any], argument: str) -> None:
        if unknown := results.keys() - self.curves.keys():
            raise InvalidInputError(f"{argument} must be of detectors; found {sorted(unknown)}")

    def _draw_bands(self, axes: "Axes", area_of: Callable[[Any], drawing.Area]) -> None:
        """Fill the bands in the colours of their lines; the legend names each kind once."""
        self.bands_ = {
            name: drawing.fill_area(axes, area_of(band), self.lines_[name], _band_label(band))
            for name, band in self.bands.items()
        }


class LabelledDisplay(ABC):
    """A display of scores and labels, which a fitted detector can give."""

    # Whether scores must be probabilities, which a classifier gives by one of its methods.
    _of_probabilities: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_predictions(cls, *data: Any, **options: Any) -> "Self":
        """Compute a display from labels and scores, and draw it."""

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
        """Score points with a fitted detector or classifier, and draw the display.

        Parameters
        ----------
        estimator : estimator or AdaptedDetector
            Fitted outlier detector or classifier of scikit-learn, or detector of PyOD, oriented as
            by the scorers of `fastad.sklearn`; or a detector that `fastad.sklearn.from_sklearn` or
            `fastad.sklearn.from_pyod` has adapted.
        X : array-like of shape (n_samples, n_features)
            Points that the estimator scores.
        y : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        response_method : {"auto", "score_samples", "decision_function", "predict_proba"}
            Method of the estimator that gives scores; by default the first that it has, but of a
            classifier ``predict_proba`` where scores must be probabilities.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        name : str, optional
            Name of the detector in the legend; by default the name of its class.
        **options
            As `from_predictions` takes them.

        Raises
        ------
        TypeError
            If it is not known whether a higher score of the estimator means more anomalous.
        """
        check_option_rows({"y": y, "X": X}, options)
        shown = name or name_of_estimator(estimator)
        probabilities = {"as_probabilities": cls._of_probabilities}
        scores = {shown: scores_of(estimator, X, response_method, pos_label, **probabilities)}
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
        """Draw each test fold of a cross-validation as a detector: ``fold 0``, ``fold 1``, ….

        Parameters
        ----------
        cv_results : dict
            Result of ``sklearn.model_selection.cross_validate`` with ``return_estimator=True`` and
            ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            Points of the cross-validation.
        y : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        response_method, pos_label
            As `from_estimator` takes them.
        **options
            As `from_predictions` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent from a fold.
        """
        check_option_rows({"y": y, "X": X}, options)
        probabilities = {"as_probabilities": cls._of_probabilities}
        folds = fold_scores(cv_results, X, response_method, pos_label, **probabilities)
        return cls.from_predictions(y, folds, pos_label=pos_label, **options)


class LabelledCurvesDisplay(LabelledDisplay, CurvesDisplay[Curve]):
    """Curves computed from scores and labels; the legend shows values of measures."""

    def __init__(
        self, curves: Curve | Mapping[str, Curve], *, values: Values | None = None
    ) -> None:
        super().__init__(curves)
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
    """Return the values of measures; undefined ones are NaN."""
    request = EvaluationRequest(measures, "raise")
    return {
        name: evaluate_measures(name, scores.counts, request) for name, scores in ranked.items()
    }


def by_name(
    results: Any, kind: type[Result], argument: str, *, least: int = 1
) -> dict[str, Result]:
    """Return results by detector; a single result has the name ``score``."""
    named = dict(results) if isinstance(results, Mapping) else {"score": results}
    if len(named) < least:
        raise InvalidInputError(f"{argument} must contain at least one result; found none")
    for name, result in named.items():
        if not isinstance(result, kind):
            raise InvalidTypeError(
                f"{argument} must be a {kind.__name__}, or a mapping of names to such; "
                f"found {type(result).__name__} for {name!r}"
            )
    return {str(name): result for name, result in named.items()}


def read_points(points: Point | Points, parameter: Parameter, name: str) -> list[Fraction]:
    """Check points of an axis, of which there may be none."""
    if not isinstance(points, Fraction) and np.size(points) == 0:
        return []
    checked = parameter.check(points, name)
    return checked if isinstance(checked, list) else [checked]


def check_band(
    band: BandKind | None, confidence_level: Point, kinds: Sequence[BandKind] = BAND_KINDS
) -> Fraction:
    """Check the kind of a band, and return its confidence level."""
    if band is not None:
        check_choice(band, kinds, "band")
    return check_inside(confidence_level, "confidence_level")


def bands_of(
    counted: Mapping[str, Counted],
    band: BandKind | None,
    level: Fraction,
    band_of: Callable[..., Result],
    **options: Any,
) -> dict[str, Result]:
    """Compute the band of each detector by its function; none where none is to be drawn."""
    return map_detectors(
        counted if band else {},
        lambda each: band_of(
            each[0],
            None,
            simultaneous=band == "simultaneous",
            confidence_level=level,
            ranks=each[1],
            **options,
        ),
    )


def _band_label(band: Any) -> str:
    # Bands of excess mass are always simultaneous.
    if band.confidence_level == 1:
        return "certain bounds"
    kind = "simultaneous" if getattr(band, "simultaneous", True) else "pointwise"
    return f"{level_text(band.confidence_level)} {kind} band"


def read_size(size: float | None, name: str) -> float | None:
    """Check the size of a class, where it is given."""
    return None if size is None else float(check_positive(size, name))


def step_of(size: float | None, rates: Sequence[FloatVector]) -> float:
    """Return the step of a rate that one point makes.

    Where the size of its class is not known, the smallest step of rates that do not decrease.
    """
    if size is not None:
        return 1 / size
    steps = np.concatenate([np.diff(rate) for rate in rates])
    step = float(steps[steps > 0].min())
    # A difference of two rates is rounded: the first point must not lie below the first rate.
    size = round(1 / step)
    return 1 / size if abs(size * step - 1) < _ROUNDING else step


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


def straight_area(x: FloatVector, band: Any, lowest: float = 0.0) -> drawing.Area:
    """Return the area of a band whose bounds are joined by straight lines.

    It starts at the last point above 0 that is not above the start of the axis, or else at that
    start: a logarithmic axis has no 0.
    """
    order = np.argsort(x, kind="stable")
    x, low, high = x[order], band.low[order], band.high[order]
    before = x[(x > 0) & (x <= lowest)]
    if before.size or x[0] >= lowest:
        kept = x >= (before.max() if before.size else lowest)
        return x[kept], low[kept], high[kept]
    later = np.searchsorted(x, lowest)
    ends = (np.insert(y[later:], 0, np.interp(lowest, x, y)) for y in (x, low, high))
    x, low, high = ends
    return x, low, high
