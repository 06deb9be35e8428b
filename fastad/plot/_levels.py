"""What the displays of curves without labels share: data, legends, scales, axes, pictures."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.frames import table_columns
from fastad._core.parameters import check_choice, check_inside
from fastad._core.types import Point
from fastad.errors import InvalidInputError
from fastad.ordering.named_scores import score_name
from fastad.plot import _band, _data, _drawing
from fastad.regions.box import Box
from fastad.regions.results import format_exp
from fastad.unsupervised.counted import level_sets_of_scores
from fastad.unsupervised.criteria import Criteria
from fastad.unsupervised.levels import LevelSets, check_extent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D
    from typing_extensions import Self

AxisScale = Literal["auto", "linear", "log"]
# What is drawn: numbers on a linear or logarithmic axis, or their logarithms where floats end.
Drawn = Literal["linear", "log", "log10"]
Axis = Literal["x", "y"]
Limits = tuple[float, float]
_SCALES = ("auto", "linear", "log")
# What lies so far apart needs a logarithmic axis.
FAR_APART = 100.0
LOG_10 = math.log(10)
_SMALLEST, _LARGEST = math.log(np.finfo(np.float64).tiny), math.log(np.finfo(np.float64).max)
_MARGIN = 0.05

Curve = TypeVar("Curve")
Band = TypeVar("Band")
# Which part of the curves is asked for: masses, or an excess mass.
Part = TypeVar("Part")


class Span(NamedTuple):
    """From where to where curves are drawn, and what a linear axis does to them.

    Attributes
    ----------
    low, high : float
        Masses, or natural logarithms of levels.
    far_apart : bool
        Whether a linear axis would hide most of the picture.
    held : bool
        Whether floats hold what is drawn.
    """

    low: float
    high: float
    far_apart: bool
    held: bool


class View(NamedTuple):
    """From where to where curves are drawn, as in their `Span`, and how."""

    low: float
    high: float
    drawn: Drawn


class LevelsDisplay(_drawing.Display, ABC, Generic[Curve, Band, Part]):
    """Curves of one detector or several; a subclass says which, and what is seen of them."""

    bands_: "dict[str, FillBetweenPolyCollection]"

    _curve_type: type[Curve]
    _band_type: type[Band]
    _band_kinds: tuple[_band.BandKind, ...]
    _criterion: Literal["EM", "MV"]
    # Of both axes, and which of them has a unit and a scale to choose.
    _labels: tuple[str, str]
    _scaled: Axis
    # Of the legend, on a linear axis and on a logarithmic one.
    _corners: tuple[str, str]

    def __init__(
        self,
        curves: Curve | Mapping[str, Curve],
        *,
        values: Criteria | Mapping[str, Criteria] | None = None,
        bands: Band | Mapping[str, Band] | None = None,
    ) -> None:
        self.curves = _data.by_name(curves, self._curve_type, "curves")
        self.values = _values_by_name(values)
        self.bands = _band.of_detectors(bands, self._band_type, self.curves)

    @classmethod
    def _of_level_sets(
        cls,
        levels: LevelSets | Mapping[str, LevelSets],
        part: Part,
        scale: AxisScale,
        band: _band.BandKind | None,
        confidence_level: Point,
    ) -> "Self":
        """Check what is asked for, and compute curves and bands."""
        if band is not None:
            check_choice(band, cls._band_kinds, "band")
        confidence = check_inside(confidence_level, "confidence_level")
        named = _data.by_name(levels, LevelSets, "levels")
        display = cls({name: cls._curve_of(one) for name, one in named.items()})
        # Before bands are made of volumes that no float holds.
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
        """Draw the curves with their bands; go on with the scale of earlier ones on the axes."""
        view = self._view(part, scale, has_bands=bool(self.bands))
        texts = self._texts()
        n_rows = _drawing.count_rows(list(texts.values())) + bool(self.bands)
        (axes,) = _drawing.open_axes(ax, n_rows=n_rows)
        before = self._earlier_scale(axes, view.drawn)
        if before is not None and scale == "auto":
            view = view._replace(drawn=before)
        earlier = (None, None) if before is None else (axes.get_xlim(), axes.get_ylim())
        paths = {name: self._path(curve, view) for name, curve in self.curves.items()}
        self.lines_ = _drawing.draw_detectors(axes, paths, texts, line_kw)
        self.bands_ = {
            name: self._draw_band(axes, band, self.lines_[name])
            for name, band in self.bands.items()
        }
        x, y = self._limits(view)
        self._set_axis(axes, "x", view.drawn, x, earlier[0])
        self._set_axis(axes, "y", view.drawn, y, earlier[1])
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, self._corners[view.drawn != "linear"])
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _view(self, part: Part, scale: AxisScale, *, has_bands: bool) -> View:
        """Check the options, and choose what is drawn."""
        name = f"{self._scaled}scale"
        check_choice(scale, _SCALES, name)
        span = self._span(part)
        return View(span.low, span.high, _choose_scale(scale, name, span, has_bands=has_bands))

    def _texts(self) -> dict[str, str]:
        """Return what the legend says of each detector: its name and its criterion."""
        texts = {}
        for name, curve in self.curves.items():
            if self.values is None:
                texts[name] = f"{name} ({self._criterion} {number_text(self._log_area(curve))})"
            elif name in self.values:
                value = getattr(self.values[name], self._criterion.lower())
                texts[name] = f"{name} ({self._criterion} {value})"
            else:
                texts[name] = name
        return texts

    def _label(self, axis: Axis) -> str:
        return self._labels[axis == "y"]

    def _earlier_scale(self, axes: "Axes", drawn: Drawn) -> Drawn | None:
        """Return the scale that an earlier display has set on axes; None if there is none.

        Raise where it shows numbers and this one their logarithms, or the other way round.
        """
        earlier = getattr(axes, f"get_{self._scaled}label")()
        label = self._label(self._scaled)
        logarithm = _log10_label(label)
        if earlier not in (label, logarithm):
            return None
        if (earlier == logarithm) != (drawn == "log10"):
            raise InvalidInputError(
                "ax must not hold volumes that floats hold beside such that they do not: draw all "
                "detectors at once",
                argument="ax",
            )
        if drawn == "log10":
            return drawn
        return "log" if getattr(axes, f"get_{self._scaled}scale")() == "log" else "linear"

    def _set_axis(
        self, axes: "Axes", axis: Axis, drawn: Drawn, limits: Limits, earlier: Limits | None
    ) -> None:
        """Set label, scale and limits of an axis, so that what was on it before stays in sight."""
        drawn = drawn if axis == self._scaled else "linear"
        if earlier is not None and (drawn != "log" or earlier[0] > 0):
            limits = min(limits[0], earlier[0]), max(limits[1], earlier[1])
        label = self._label(axis)
        settings: dict[str, Any] = {
            f"{axis}label": _log10_label(label) if drawn == "log10" else label,
            f"{axis}scale": "log" if drawn == "log" else "linear",
            f"{axis}lim": limits,
        }
        # The limits are known: matplotlib would look for them, and warn where it finds none.
        axes.autoscale(enable=False, axis=axis)
        axes.set(**settings)

    @staticmethod
    @abstractmethod
    def _curve_of(levels: LevelSets) -> Curve:
        """Return the curve of level sets."""

    @staticmethod
    @abstractmethod
    def _band_of(curve: Curve, view: View, kind: _band.BandKind, confidence: Point) -> Band:
        """Return the band of a curve."""

    @staticmethod
    @abstractmethod
    def _log_area(curve: Curve) -> float:
        """Return the natural logarithm of the criterion; NaN where it is undefined."""

    @abstractmethod
    def _span(self, part: Part) -> Span:
        """Check which part is asked for, and return what it spans."""

    @abstractmethod
    def _limits(self, view: View) -> tuple[Limits, Limits]:
        """Return the limits of both axes."""

    @staticmethod
    @abstractmethod
    def _path(curve: Curve, view: View) -> _drawing.Path:
        """Return the path of a curve."""

    @staticmethod
    @abstractmethod
    def _draw_band(axes: "Axes", band: Band, line: "Line2D") -> "FillBetweenPolyCollection":
        """Fill a band."""


def level_sets_by_name(
    y_score: Any,
    uniform_score: Any,
    volume: Point | Box | None,
    log_volume: Point | None,
) -> dict[str, LevelSets]:
    """Check the scores of one detector or several, and count what each level set holds."""
    box = check_extent(volume, log_volume)
    test, uniform = (
        _by_name(scores, name)
        for scores, name in ((y_score, "y_score"), (uniform_score, "uniform_score"))
    )
    if test.keys() != uniform.keys():
        raise InvalidInputError(
            "y_score and uniform_score must name the same detectors; found "
            f"{', '.join(test)} and {', '.join(uniform)}"
        )
    found = {}
    for name, scores in test.items():
        try:
            found[name] = level_sets_of_scores(scores, uniform[name], box)
        except InvalidInputError as error:
            shown = score_name(name)
            message = str(error).replace("y_score", shown)
            message = message.replace("uniform_score", shown.replace("y_score", "uniform_score"))
            raise InvalidInputError(message) from None
    return found


def _by_name(scores: Any, argument: str) -> dict[str, npt.ArrayLike]:
    columns = table_columns(scores, argument)
    return {"score": scores} if columns is None else dict(columns)


def _values_by_name(values: Any) -> dict[str, Criteria] | None:
    """Return the criteria that are there already; there may be none."""
    if isinstance(values, Mapping) and not values:
        return {}
    return None if values is None else _data.by_name(values, Criteria, "values")


def number_text(logarithm: float) -> str:
    """Return a number that is not negative in three digits, from its natural logarithm."""
    return "undefined" if math.isnan(logarithm) else format_exp(logarithm, 3)


def floats_hold(*logarithms: float) -> bool:
    """Tell whether floats of all digits hold numbers, from their natural logarithms."""
    return all(_SMALLEST < one < _LARGEST for one in logarithms)


def _choose_scale(scale: AxisScale, name: str, span: Span, *, has_bands: bool) -> Drawn:
    """Return what is drawn for what is asked; bands are floats."""
    if span.held:
        return ("log" if span.far_apart else "linear") if scale == "auto" else scale
    if scale == "linear":
        raise InvalidInputError(
            f"{name} must be 'auto' or 'log' where volumes lie beyond all floats; found 'linear'",
            argument=name,
        )
    if has_bands:
        raise InvalidInputError(
            "bands must be of volumes that floats hold; found volumes beyond all floats",
            argument="bands",
        )
    return "log10"


def _log10_label(label: str) -> str:
    """Return the label of an axis that shows logarithms."""
    return f"log10 of {label[0].lower()}{label[1:]}"


def with_margin(low: float, high: float, drawn: Drawn) -> Limits:
    """Return limits that leave a little room around what is drawn."""
    if drawn == "log":
        room = _MARGIN * math.log(high / low) or 1.0
        return low * math.exp(-room), high * math.exp(room)
    room = _MARGIN * (high - low or abs(high) or 1.0)
    return low - room, high + room
