"""Excess-mass curves, which need no labels."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastad._core.parameters import check_inside
from fastad._core.types import FloatVector, Point
from fastad.errors import UndefinedMeasureError
from fastad.plot import _band, _data, _drawing, _levels
from fastad.regions.box import Box
from fastad.unsupervised.bands import ExcessMassBand, excess_mass_band
from fastad.unsupervised.criteria import EXCESS_MASS, Criteria
from fastad.unsupervised.excess_mass import ExcessMassCurve, excess_mass_curve
from fastad.unsupervised.levels import LevelSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D
    from typing_extensions import Self

# How far beyond the last level of interest the axis goes, as a logarithm.
_BEYOND = math.log(1.1)
# Less than two decades have ticks whose labels overlap.
_NARROWEST = math.log(100)
# So many points over the width of a logarithmic axis, and of bands.
_N_BENT, _N_BAND = 500, 200


class ExcessMassDisplay(_levels.LevelsDisplay[ExcessMassCurve, ExcessMassBand, Point]):
    """Excess-mass curves of one detector or several on one pair of axes; higher is better.

    Parameters
    ----------
    curves : ExcessMassCurve or mapping of str to ExcessMassCurve
        The curve of one detector, or curves by the names of detectors.
    values : Criteria or mapping of str to Criteria, optional
        Criteria with intervals that the legend shows, such as the result of
        `fastad.evaluate_unsupervised`; by default the criterion EM of each curve.
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
    fastad.unsupervised.excess_mass_band : The band.
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

    _curve_type = ExcessMassCurve
    _band_type = ExcessMassBand
    _band_kinds = ("simultaneous",)
    _criterion = "EM"
    _labels = "Level (one over units of the features)", "Excess mass"
    _scaled = "x"
    _corners = "upper right", "lower left"

    # The same as of the base, with types that `help` can show.
    def __init__(
        self,
        curves: ExcessMassCurve | Mapping[str, ExcessMassCurve],
        *,
        values: Criteria | Mapping[str, Criteria] | None = None,
        bands: ExcessMassBand | Mapping[str, ExcessMassBand] | None = None,
    ) -> None:
        super().__init__(curves, values=values, bands=bands)

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
            What `fastad.unsupervised.level_sets` returns, or such by the names of detectors.
        excess_mass, ax, xscale, legend, line_kw
            As `plot` takes them.
        band : {"simultaneous"}, optional
            Confidence band to draw, as `excess_mass_band` computes it at 200 levels over
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
        display = cls._of_level_sets(levels, excess_mass, xscale, band, confidence_level)
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
        return self._draw(ax, excess_mass, xscale, legend=legend, line_kw=line_kw)

    @staticmethod
    def _curve_of(levels: LevelSets) -> ExcessMassCurve:
        return excess_mass_curve(levels)

    @staticmethod
    def _band_of(
        curve: ExcessMassCurve, view: _levels.View, kind: _band.BandKind, confidence: Point
    ) -> ExcessMassBand:
        return excess_mass_band(curve, level=_grid(view, _N_BAND), confidence_level=confidence)

    @staticmethod
    def _log_area(curve: ExcessMassCurve) -> float:
        try:
            return curve.log_area()
        except UndefinedMeasureError:
            return math.nan

    def _span(self, excess_mass: Point) -> _levels.Span:
        """Return natural logarithms of levels; a linear axis starts at 0 all the same."""
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
        far_apart = max(known) - min(known) > math.log(_levels.FAR_APART)
        return _levels.Span(low, high, far_apart, _levels.floats_hold(low, high))

    def _limits(self, view: _levels.View) -> tuple[_levels.Limits, _levels.Limits]:
        if view.drawn == "linear":
            levels = -0.01 * math.exp(view.high), math.exp(view.high)
        elif view.drawn == "log":
            levels = math.exp(view.low), math.exp(view.high)
        else:
            levels = view.low / _levels.LOG_10, view.high / _levels.LOG_10
        return levels, _levels.with_margin(self._lowest(view), 1.0, "linear")

    def _lowest(self, view: _levels.View) -> float:
        """Return the least excess mass in sight."""
        lines = [one(log_level=view.high) for one in self.curves.values()]
        bounds = [
            band.low[band.level <= math.exp(view.high)].min(initial=1.0)
            for band in self.bands.values()
        ]
        return float(min([*lines, *bounds]))

    @staticmethod
    def _path(curve: ExcessMassCurve, view: _levels.View) -> _drawing.Path:
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

    @staticmethod
    def _draw_band(
        axes: "Axes", band: ExcessMassBand, line: "Line2D"
    ) -> "FillBetweenPolyCollection":
        order = np.argsort(band.level, kind="stable")
        area = band.level[order], band.low[order], band.high[order]
        return _band.fill_between(axes, area, line, "simultaneous", band.confidence_level)


def _grid(view: _levels.View, n: int) -> FloatVector:
    """Return levels over the width of the axis."""
    if view.drawn == "linear":
        return np.linspace(0, math.exp(view.high), n)
    return np.exp(np.linspace(view.low, view.high, n))


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
