"""Excess-mass curves, which need no labels."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fastad._arguments import check_choice, check_inside
from fastad._types import FloatVector, Point
from fastad.errors import UndefinedMeasureError
from fastad.plot import _data, _drawing, _levels
from fastad.regions.box import Box
from fastad.unlabelled.bands import ExcessMassBand, excess_mass_band
from fastad.unlabelled.criteria import Criteria
from fastad.unlabelled.excess_mass import EXCESS_MASS, ExcessMassCurve, excess_mass_of
from fastad.unlabelled.levels import LevelSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from typing_extensions import Self

_LABEL = "Level (one over units of the features)"
_BANDS = ("simultaneous",)
# How far beyond the last level of interest the axis goes, as a logarithm.
_BEYOND = math.log(1.1)
# Less than two decades have ticks whose labels overlap.
_NARROWEST = math.log(100)
# So many points over the width of a logarithmic axis, and of bands.
_N_BENT, _N_BAND = 500, 200


class _View(NamedTuple):
    """Between which levels curves are drawn, by their natural logarithms, and how.

    On a linear axis it starts at 0.
    """

    low: float
    high: float
    drawn: _levels.Drawn

    def grid(self, n: int) -> FloatVector:
        """Return levels over the width of the axis."""
        if self.drawn == "linear":
            return np.linspace(0, math.exp(self.high), n)
        return np.exp(np.linspace(self.low, self.high, n))


class ExcessMassDisplay(_drawing.Display):
    """Excess-mass curves of one detector or several on one pair of axes; higher is better.

    Parameters
    ----------
    curves : ExcessMassCurve or mapping of str to ExcessMassCurve
        The curve of one detector, or curves by the names of detectors.
    values : Criteria or mapping of str to Criteria, optional
        Criteria with intervals that the legend shows, such as the result of
        `fastad.evaluate_unlabelled`; by default the criterion EM of each curve.
    bands : ExcessMassBand or mapping of str to ExcessMassBand, optional
        The band of one detector, or bands by the names of detectors.

    Attributes
    ----------
    curves : dict of str to ExcessMassCurve
        Curves by detector.
    bands : dict of str to ExcessMassBand
        Bands by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.
    bands_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        The band of each detector that has one; once drawn.

    See Also
    --------
    fastad.excess_mass_curve : The curve.
    fastad.excess_mass_band : The band.
    MassVolumeDisplay : The other curve without labels.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import ExcessMassDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.excess_mass_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> display = ExcessMassDisplay({"knn": curve}).plot(Figure().subplots())
    >>> display.line_.get_ydata()
    array([1.   , 0.625, 0.5  ])
    """

    bands_: "dict[str, FillBetweenPolyCollection]"

    def __init__(
        self,
        curves: ExcessMassCurve | Mapping[str, ExcessMassCurve],
        *,
        values: Criteria | Mapping[str, Criteria] | None = None,
        bands: ExcessMassBand | Mapping[str, ExcessMassBand] | None = None,
    ) -> None:
        self.curves = _data.by_name(curves, ExcessMassCurve, "curves")
        self.values = _levels.values_by_name(values)
        self.bands = _levels.bands_by_name(bands, ExcessMassBand, self.curves)

    @classmethod
    def from_scores(
        cls,
        y_score: Any,
        uniform_score: Any,
        volume: Point | Box | None = None,
        *,
        log_volume: Point | None = None,
        excess_mass: Point = EXCESS_MASS,
        band: Literal["simultaneous"] | None = None,
        confidence_level: Point = 0.95,
        ax: "Axes | None" = None,
        xscale: _levels.AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several from scores, and draw them.

        Parameters
        ----------
        y_score : array-like of shape (n_test,), mapping, or table
            Anomaly scores of data that the detector was not fitted to, or such by the names of
            detectors; higher is more anomalous.
        uniform_score : array-like of shape (n_uniform,), mapping, or table
            Anomaly scores of points drawn uniformly in a box, of the same detectors.
        volume : float or Box, optional
            The box, or its volume in units of the features, above 0.
        log_volume : float, optional
            The natural logarithm of its volume, in place of ``volume``.
        excess_mass, ax, xscale, legend, line_kw
            As `plot` takes them.
        band, confidence_level
            As `from_level_sets` takes them.

        Returns
        -------
        ExcessMassDisplay
            The display, drawn.

        Raises
        ------
        InvalidInputError
            If an argument is not as described; the message says which and where.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> from fastad.plot import ExcessMassDisplay
        >>> from matplotlib.figure import Figure
        >>> scores = {"knn": [0.1, 0.2, 0.4, 0.8], "forest": [0.1, 0.2, 0.3, 0.4]}
        >>> uniform = {"knn": [0.3, 0.5, 0.9], "forest": [0.3, 0.6, 0.7]}
        >>> display = ExcessMassDisplay.from_scores(scores, uniform, 6.0, ax=Figure().subplots())
        >>> [line.get_label() for line in display.lines_.values()]
        ['knn (EM 0.0238)', 'forest (EM 0.0475)']
        """
        return cls.from_level_sets(
            _levels.level_sets_by_name(y_score, uniform_score, volume, log_volume),
            excess_mass=excess_mass,
            band=band,
            confidence_level=confidence_level,
            ax=ax,
            xscale=xscale,
            legend=legend,
            line_kw=line_kw,
        )

    @classmethod
    def from_level_sets(
        cls,
        levels: LevelSets | Mapping[str, LevelSets],
        *,
        excess_mass: Point = EXCESS_MASS,
        band: Literal["simultaneous"] | None = None,
        confidence_level: Point = 0.95,
        ax: "Axes | None" = None,
        xscale: _levels.AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several from level sets, and draw them.

        Parameters
        ----------
        levels : LevelSets or mapping of str to LevelSets
            What `fastad.level_sets` returns, or such by the names of detectors.
        excess_mass, ax, xscale, legend, line_kw
            As `plot` takes them.
        band : {"simultaneous"}, optional
            Confidence band to draw, as `fastad.excess_mass_band` computes it at 200 levels over
            the axis; by default none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).

        Returns
        -------
        ExcessMassDisplay
            The display, drawn.

        Raises
        ------
        InvalidInputError
            If an argument is not as described, or a band is asked for of volumes that were not
            counted or that floats do not hold.
        MissingExtraError
            If matplotlib is not installed.
        """
        if band is not None:
            check_choice(band, _BANDS, "band")
        confidence = check_inside(confidence_level, "confidence_level")
        named = _data.by_name(levels, LevelSets, "levels")
        display = cls({name: excess_mass_of(one) for name, one in named.items()})
        view = display._view(excess_mass, xscale, has_bands=band is not None)
        if band is not None:
            grid = view.grid(_N_BAND)
            display.bands = {
                name: excess_mass_band(curve, level=grid, confidence_level=confidence)
                for name, curve in display.curves.items()
            }
        return display.plot(
            ax, excess_mass=excess_mass, xscale=xscale, legend=legend, line_kw=line_kw
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        excess_mass: Point = EXCESS_MASS,
        xscale: _levels.AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, which are made of lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        excess_mass : float, default 0.9
            The axis goes a tenth beyond the level where all curves have come down to this; strictly
            between 0 and 1. The criterion in the legend does not depend on it.
        xscale : {"auto", "linear", "log"}, default "auto"
            Axis of the level. ``"auto"`` takes the logarithmic one where one curve comes down at
            a level over 100 times that of another, and on axes with other such curves the scale
            they have. The logarithmic axis starts where the first curve has lost a tenth of that,
            and spans two decades at least; straight pieces are bent on it. Where levels lie beyond
            all floats, their logarithms are drawn, and the axis says so.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Returns
        -------
        ExcessMassDisplay
            This display.

        Raises
        ------
        InvalidInputError
            If an argument is not as described, or levels beyond all floats are to be drawn on a
            linear axis, with bands, or beside levels that floats hold.
        MissingExtraError
            If matplotlib is not installed.
        """
        view = self._view(excess_mass, xscale, has_bands=bool(self.bands))
        texts = self._texts()
        n_rows = _drawing.count_rows(list(texts.values())) + bool(self.bands)
        (axes,) = _drawing.open_axes(ax, n_rows=n_rows)
        before = _levels.earlier_scale(axes, "x", _LABEL, view.drawn)
        if before is not None and xscale == "auto":
            view = view._replace(drawn=before)
        earlier = None if before is None else (axes.get_xlim(), axes.get_ylim())
        self.lines_ = _drawing.draw_detectors(
            axes,
            {name: _path(curve, view) for name, curve in self.curves.items()},
            texts,
            line_kw,
        )
        self.bands_ = {
            name: _draw_band(axes, band, self.lines_[name]) for name, band in self.bands.items()
        }
        if view.drawn == "linear":
            limits = -0.01 * math.exp(view.high), math.exp(view.high)
        elif view.drawn == "log":
            limits = math.exp(view.low), math.exp(view.high)
        else:
            limits = view.low / _levels.LOG_10, view.high / _levels.LOG_10
        _levels.set_axis(axes, "x", _LABEL, view.drawn, limits, earlier and earlier[0])
        lowest = self._lowest(view)
        limits = _levels.with_margin(lowest, 1.0, "linear")
        _levels.set_axis(axes, "y", "Excess mass", "linear", limits, earlier and earlier[1])
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, "upper right" if view.drawn == "linear" else "lower left")
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _view(self, excess_mass: Point, xscale: _levels.AxisScale, *, has_bands: bool) -> _View:
        """Check the options, and choose the scale and the levels."""
        _levels.check_scale(xscale, "xscale")
        wanted = float(check_inside(excess_mass, "excess_mass"))
        curves = self.curves.values()
        ends = [_log_level_at(one, wanted) for one in curves]
        starts = [_log_level_at(one, 1 - (1 - wanted) / 10) for one in curves]
        known = [end for end in ends if end > -math.inf]
        if not known:
            # No set with test points meets a uniform point: the curves stay at 1 at all levels.
            ends = known = starts = [-one.levels.log_unit for one in curves]
        high = max(known) + _BEYOND
        low = min(*(one for one in starts if one > -math.inf), high - _NARROWEST)
        drawn = _levels.choose_scale(
            xscale,
            "xscale",
            far_apart=max(known) - min(known) > math.log(_levels.FAR_APART),
            held=_levels.floats_hold(low, high),
            has_bands=has_bands,
        )
        return _View(low, high, drawn)

    def _lowest(self, view: _View) -> float:
        """Return the least excess mass in sight."""
        lines = [one(log_level=view.high) for one in self.curves.values()]
        bounds = [
            band.low[band.level <= math.exp(view.high)].min(initial=1.0)
            for band in self.bands.values()
        ]
        return float(min([*lines, *bounds]))

    def _texts(self) -> dict[str, str]:
        texts = {}
        for name, curve in self.curves.items():
            if self.values is None:
                texts[name] = f"{name} (EM {_levels.number_text(_log_area(curve))})"
            else:
                texts[name] = f"{name} (EM {self.values[name].em})" if name in self.values else name
        return texts


def _log_area(curve: ExcessMassCurve) -> float:
    """Return the logarithm of the criterion; NaN where it is undefined."""
    try:
        return curve.log_area()
    except UndefinedMeasureError:
        return math.nan


def _log_level_at(curve: ExcessMassCurve, wanted: float) -> float:
    """Return the logarithm of the level at which the excess mass is no more than some mass.

    Of a curve that never falls so far, where it falls last; -inf if it never does.
    """
    logs, heights = curve.log_level, curve.excess_mass
    if heights[-1] > wanted:
        return float(logs[-1])
    place = int(np.argmax(heights <= wanted))
    left, right = heights[place - 1], heights[place]
    part = (left - wanted) / (left - right)
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log1p(-part) + logs[place - 1], np.log(part) + logs[place]))


def _path(curve: ExcessMassCurve, view: _View) -> _drawing.Path:
    """Return the path of a curve; on a logarithmic axis what is in sight, bent."""
    at_end = curve(log_level=view.high)
    if view.drawn == "linear":
        end = math.exp(view.high)
        finite = np.isfinite(curve.level)
        level, height = curve.level[finite], curve.excess_mass[finite]
        if end > level[-1]:
            # After its last corner a curve is level.
            level, height = np.append(level, end), np.append(height, at_end)
        return level, height
    # In multiples of the last level, which floats hold.
    seen = curve.log_level <= view.high
    level = np.append(np.exp(curve.log_level[seen] - view.high), 1.0)
    height = np.append(curve.excess_mass[seen], at_end)
    first = math.exp(view.low - view.high)
    level, height = _data.refine(level, height, np.geomspace(first, 1, _N_BENT))
    seen = level >= first
    logs = np.log(level[seen]) + view.high
    return np.exp(logs) if view.drawn == "log" else logs / _levels.LOG_10, height[seen]


def _draw_band(axes: "Axes", band: ExcessMassBand, line: Any) -> "FillBetweenPolyCollection":
    order = np.argsort(band.level, kind="stable")
    return _levels.fill_between(
        axes,
        band.level[order],
        band.low[order],
        band.high[order],
        line,
        f"{100 * band.confidence_level:g}% simultaneous band",
    )
