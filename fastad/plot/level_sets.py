"""The base of displays of curves of level sets: data, legends, scales and limits of axes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np

from fastad._core.frames import table_columns
from fastad._core.parameters import check_choice
from fastad._core.types import ArrayLike, Point
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.plot import drawing
from fastad.plot.curves import BAND_KINDS, BandKind, Curve, CurvesDisplay, by_name, check_band
from fastad.plot.folds import fold_estimators, name_of_estimator
from fastad.regions.box import Box
from fastad.regions.results import format_exp
from fastad.sklearn.adapters import AdaptedDetector
from fastad.unsupervised.counted import check_same_detectors, level_sets_of_detector
from fastad.unsupervised.criteria import Criteria
from fastad.unsupervised.level_set_estimation import level_sets
from fastad.unsupervised.levels import LevelSets, check_extent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

AxisScale = Literal["auto", "linear", "log"]
# Numbers on a linear or logarithmic axis, or decimal logarithms of numbers outside the range of
# floats.
Drawn = Literal["linear", "log", "log10"]
Axis = Literal["x", "y"]
Limits = tuple[float, float]
_SCALES = ("auto", "linear", "log")
# Numbers that differ by this factor need a logarithmic axis.
FAR_APART = 100.0
LOG_10 = math.log(10)
_SMALLEST, _LARGEST = math.log(np.finfo(np.float64).tiny), math.log(np.finfo(np.float64).max)
_MARGIN = 0.05

Band = TypeVar("Band")
# The part of the curves to draw: masses, or an excess mass.
Part = TypeVar("Part")


class Span(NamedTuple):
    """The range in which curves are drawn, and the axis that it needs."""

    # Masses, or natural logarithms of levels.
    low: float
    high: float
    far_apart: bool  # whether a linear axis would hide most of the curves
    in_float_range: bool  # whether the numbers on the axis lie in the range of floats


class View(NamedTuple):
    """The range in which curves are drawn, as in `Span`, and the kind of axis."""

    low: float
    high: float
    drawn: Drawn


class LevelSetsDisplay(CurvesDisplay[Curve], ABC, Generic[Curve, Band, Part]):
    """Curves of level sets, and their criterion in the legend."""

    _band_kinds: tuple[BandKind, ...] = BAND_KINDS
    _criterion: Literal["EM", "MV"]
    # Labels of both axes, and the axis that has a unit and a scale to choose.
    _axis_labels: tuple[str, str]
    _scaled: Axis
    # Corners of the legend on a linear and on a logarithmic axis.
    _corners: tuple[str, str]
    # The curve of level sets, its band and its path, and the area of a band.
    _curve_of: Callable[[LevelSets], Curve]
    _band_of: Callable[[Curve, View, BandKind, Point], Band]
    _path: Callable[[Curve, View], drawing.Path]
    _area: Callable[[Band], drawing.Area]

    def __init__(
        self,
        curves: Curve | Mapping[str, Curve],
        *,
        values: Criteria | Mapping[str, Criteria] | None = None,
        bands: Band | Mapping[str, Band] | None = None,
    ) -> None:
        super().__init__(curves)
        self.bands = self._read_bands(bands)
        self.values = None if values is None else by_name(values, Criteria, "values", least=0)

    @classmethod
    @abstractmethod
    def from_level_sets(cls, *data: Any, **options: Any) -> "Self":
        """Compute the curves of one detector or several from level sets, and draw them."""

    @classmethod
    def from_scores(
        cls,
        y_score: Any,
        uniform_score: Any,
        volume: Point | Box | None = None,
        *,
        log_volume: Point | None = None,
        **options: Any,
    ) -> "Self":
        """Compute the curves of one detector or several from scores, and draw them.

        Parameters
        ----------
        y_score : array-like of shape (n_test,), mapping, or table
            Anomaly scores of data that the detector was not fitted to, higher is more anomalous;
            of several detectors by their names.
        uniform_score : array-like of shape (n_uniform,), mapping, or table
            Anomaly scores of points drawn uniformly in a box, of the same detectors.
        volume : float or Box, optional
            The box, or its volume in units of the features, above 0.
        log_volume : float, optional
            The natural logarithm of its volume, in place of ``volume``.
        **options
            As `from_level_sets` takes them: ``band``, ``ax``, ``legend``, ….

        Examples
        --------
        >>> from fastad.plot import MassVolumeCurveDisplay
        >>> from matplotlib.figure import Figure
        >>> scores = {"knn": [0.1, 0.2, 0.4, 0.8], "forest": [0.1, 0.2, 0.3, 0.4]}
        >>> uniform = {"knn": [0.3, 0.5, 0.9], "forest": [0.3, 0.6, 0.7]}
        >>> display = MassVolumeCurveDisplay.from_scores(
        ...     scores, uniform, 6.0, ax=Figure().subplots()
        ... )
        >>> [line.get_label() for line in display.lines_.values()]
        ['knn (MV 0.396)', 'forest (MV 0.198)']
        """
        box = check_extent(volume, log_volume)
        test, uniform = _by_name(y_score, "y_score"), _by_name(uniform_score, "uniform_score")
        check_same_detectors(test, uniform)
        levels = {
            name: level_sets_of_detector(name, scores, uniform[name], box)
            for name, scores in test.items()
        }
        return cls.from_level_sets(levels, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        name: str | None = None,
        level_sets_kw: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Self":
        """Find the level sets of a fitted detector, and draw their curve.

        Parameters
        ----------
        estimator : estimator or AdaptedDetector
            Fitted detector, as `fastad.unsupervised.level_sets` takes it, or one that
            `fastad.sklearn.from_sklearn` or `fastad.sklearn.from_pyod` has adapted.
        X : array-like of shape (n_test, n_features)
            Data that the detector was not fitted to; finite numbers.
        name : str, optional
            Name of the detector in the legend; by default the name of its class.
        level_sets_kw : mapping of str, optional
            Options of `fastad.unsupervised.level_sets`: ``box``, ``n_draws``, ``rng``, ….
        **options
            As `from_level_sets` takes them: ``band``, ``ax``, ``legend``, ….
        """
        levels = level_sets(_score_of(estimator), X, **(level_sets_kw or {}))
        return cls.from_level_sets({name or name_of_estimator(estimator): levels}, **options)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: ArrayLike,
        *,
        level_sets_kw: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Self":
        """Draw a curve for each test fold of a cross-validation: ``fold 0``, ``fold 1``, ….

        Parameters
        ----------
        cv_results : dict
            Result of ``sklearn.model_selection.cross_validate`` with ``return_estimator=True`` and
            ``return_indices=True``.
        X : array-like of shape (n_samples, n_features)
            Points of the cross-validation.
        level_sets_kw : mapping of str, optional
            Options of `fastad.unsupervised.level_sets`. By default each fold has the box of its
            own points; a common ``box`` makes the curves comparable.
        **options
            As `from_level_sets` takes them: ``band``, ``ax``, ``legend``, ….
        """
        kw = level_sets_kw or {}
        return cls.from_level_sets(
            {
                name: level_sets(_score_of(fitted), part, **kw)
                for name, fitted, part, _ in fold_estimators(cv_results, X)
            },
            **options,
        )

    @classmethod
    def _from_level_sets(
        cls,
        levels: LevelSets | Mapping[str, LevelSets],
        part: Part,
        scale: AxisScale,
        band: BandKind | None,
        confidence_level: Point,
    ) -> "Self":
        """Check options, and compute curves and bands."""
        confidence = check_band(band, confidence_level, cls._band_kinds)
        named = by_name(levels, LevelSets, "levels")
        display = cls({name: cls._curve_of(level_sets) for name, level_sets in named.items()})
        # Before bands are computed of volumes outside the range of floats.
        view = display._view(part, scale, has_bands=band is not None)
        if band is not None:
            display.bands = {
                name: cls._band_of(curve, view, band, confidence)
                for name, curve in display.curves.items()
            }
        return display

    def _draw(
        self,
        ax: "Axes | None",
        part: Part,
        scale: AxisScale,
        *,
        legend: bool,
        line_kw: Mapping[str, Any] | None,
    ) -> "Self":
        """Draw the curves with their bands; keep the scale of earlier ones on the axes."""
        view = self._view(part, scale, has_bands=bool(self.bands))
        labels = self._labels()
        axes = drawing.open_axes(ax, labels.values(), bool(self.bands))
        before = self._earlier_scale(axes, view.drawn)
        if before is not None and scale == "auto":
            view = view._replace(drawn=before)
        earlier = (None, None) if before is None else (axes.get_xlim(), axes.get_ylim())
        paths = {name: self._path(curve, view) for name, curve in self.curves.items()}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        self._draw_bands(axes, self._area)
        x, y = self._limits(view)
        self._set_axis(axes, "x", view.drawn, x, earlier[0])
        self._set_axis(axes, "y", view.drawn, y, earlier[1])
        corner = self._corners[view.drawn != "linear"]
        return self._finish(axes, legend=corner if legend else None)

    def _view(self, part: Part, scale: AxisScale, *, has_bands: bool) -> View:
        """Check the options, and choose the kind of axis; bands are floats."""
        name = f"{self._scaled}scale"
        check_choice(scale, _SCALES, name)
        span = self._span(part)
        if span.in_float_range:
            automatic: Drawn = "log" if span.far_apart else "linear"
            return View(span.low, span.high, automatic if scale == "auto" else scale)
        if scale == "linear":
            raise InvalidInputError(
                f"{name} must be 'auto' or 'log' for volumes outside the range of floats; "
                "found 'linear'"
            )
        if has_bands:
            raise InvalidInputError(
                "bands must be of volumes in the range of floats; found volumes outside it"
            )
        return View(span.low, span.high, "log10")

    def _labels(self) -> dict[str, str]:
        labels = {}
        for name, curve in self.curves.items():
            if self.values is None:
                labels[name] = f"{name} ({self._criterion} {exp_text(self._log_area(curve))})"
            elif name in self.values:
                value = getattr(self.values[name], self._criterion.lower())
                labels[name] = f"{name} ({self._criterion} {value})"
            else:
                labels[name] = name
        return labels

    def _axis_label(self, axis: Axis) -> str:
        return self._axis_labels[axis == "y"]

    def _earlier_scale(self, axes: "Axes", drawn: Drawn) -> Drawn | None:
        """Return the scale that an earlier display has set on axes; None if there is none.

        Raise if it shows numbers and this one their logarithms, or the other way round.
        """
        earlier = getattr(axes, f"get_{self._scaled}label")()
        label = self._axis_label(self._scaled)
        logarithm = _log10_label(label)
        if earlier not in (label, logarithm):
            return None
        if (earlier == logarithm) != (drawn == "log10"):
            raise InvalidInputError(
                "ax must not contain curves in the range of floats beside curves outside it; "
                "found both. Draw all detectors at once"
            )
        if drawn == "log10":
            return drawn
        return "log" if getattr(axes, f"get_{self._scaled}scale")() == "log" else "linear"

    def _set_axis(
        self, axes: "Axes", axis: Axis, drawn: Drawn, limits: Limits, earlier: Limits | None
    ) -> None:
        """Set label, scale and limits of an axis; keep earlier curves visible."""
        drawn = drawn if axis == self._scaled else "linear"
        if earlier is not None and (drawn != "log" or earlier[0] > 0):
            limits = min(limits[0], earlier[0]), max(limits[1], earlier[1])
        label = self._axis_label(axis)
        settings: dict[str, Any] = {
            f"{axis}label": _log10_label(label) if drawn == "log10" else label,
            f"{axis}scale": "log" if drawn == "log" else "linear",
            f"{axis}lim": limits,
        }
        # Limits are set here: matplotlib would search for them, and warn where it finds none.
        axes.autoscale(enable=False, axis=axis)
        axes.set(**settings)

    @staticmethod
    def _log_area(curve: Any) -> float:
        """Return the natural logarithm of the criterion; NaN where it is undefined."""
        try:
            return float(curve.log_area())
        except UndefinedMeasureError:
            return math.nan

    @abstractmethod
    def _span(self, part: Part) -> Span:
        """Check the part to draw, and return its range."""

    @abstractmethod
    def _limits(self, view: View) -> tuple[Limits, Limits]:
        """Return the limits of both axes."""


def _score_of(estimator: Any) -> Any:
    """Return a detector as `level_sets` takes it; an adapted one as its function of scores."""
    return estimator.score_samples if isinstance(estimator, AdaptedDetector) else estimator


def _by_name(scores: Any, argument: str) -> dict[str, ArrayLike]:
    columns = table_columns(scores, argument)
    return {"score": scores} if columns is None else dict(columns)


def exp_text(logarithm: float) -> str:
    """Return a number that is not negative in three digits, from its natural logarithm."""
    return "undefined" if math.isnan(logarithm) else format_exp(logarithm, 3)


def in_float_range(*logarithms: float) -> bool:
    """Tell whether numbers are normal floats, from their natural logarithms."""
    return all(_SMALLEST < logarithm < _LARGEST for logarithm in logarithms)


def _log10_label(label: str) -> str:
    return f"log10 of {label[0].lower()}{label[1:]}"


def with_margin(low: float, high: float, drawn: Drawn) -> Limits:
    """Return limits with a margin."""
    if drawn == "log":
        room = _MARGIN * math.log(high / low) or 1.0
        return low * math.exp(-room), high * math.exp(room)
    room = _MARGIN * (high - low or abs(high) or 1.0)
    return low - room, high + room
