"""Displays of excess-mass curves."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastad._core.parameters import check_inside
from fastad._core.types import FloatVector, Point
from fastad.plot import drawing
from fastad.plot.curves import BandKind, refine, straight_area
from fastad.plot.level_sets import (
    FAR_APART,
    LOG_10,
    AxisScale,
    LevelSetsDisplay,
    Limits,
    Span,
    View,
    in_float_range,
    with_margin,
)
from fastad.unsupervised.bands import ExcessMassBand, excess_mass_band
from fastad.unsupervised.criteria import EXCESS_MASS
from fastad.unsupervised.excess_mass import ExcessMassCurve, excess_mass_curve
from fastad.unsupervised.levels import LevelSets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

# Extension of the axis beyond the last level of interest, as a logarithm.
_BEYOND = math.log(1.1)
# Less than two decades have ticks whose labels overlap.
_NARROWEST = math.log(100)
# Points over the width of a logarithmic axis, and of bands.
_N_BENT, _N_BAND = 500, 200


class ExcessMassCurveDisplay(LevelSetsDisplay[ExcessMassCurve, ExcessMassBand, Point]):
    """Excess-mass curves of one detector or several on the same axes; higher is better.

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
    curves, bands : dict
        As given, by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.
    bands_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        The band of each detector that has one; once drawn.

    See Also
    --------
    fastad.excess_mass_curve : The curve.
    fastad.unsupervised.excess_mass_band : The band.
    MassVolumeCurveDisplay : The other curve without labels.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import ExcessMassCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.excess_mass_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> display = ExcessMassCurveDisplay({"knn": curve}).plot(Figure().subplots())
    >>> display.line_.get_ydata()
    array([1.   , 0.625, 0.5  ])
    """

    _curve_type = ExcessMassCurve
    _band_type = ExcessMassBand
    _band_kinds = ("simultaneous",)
    _criterion = "EM"
    _axis_labels = "Level (one over units of the features)", "Excess mass"
    _scaled = "x"
    _corners = "upper right", "lower left"
    _curve_of = staticmethod(excess_mass_curve)

    @classmethod
    def from_level_sets(
        cls,
        levels: LevelSets | Mapping[str, LevelSets],
        *,
        excess_mass: Point = EXCESS_MASS,
        band: Literal["simultaneous"] | None = None,
        confidence_level: Point = 0.95,
        ax: "Axes | None" = None,
        xscale: AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several from level sets, and draw them.

        Parameters
        ----------
        levels : LevelSets or mapping of str to LevelSets
            Result of `fastad.unsupervised.level_sets`, or results by the names of detectors.
        excess_mass, ax, xscale, legend, line_kw
            As `plot` takes them.
        band : {"simultaneous"}, optional
            Confidence band to draw, as `excess_mass_band` computes it at 200 levels over
            the axis; by default none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).

        Raises
        ------
        InvalidInputError
            If a band is requested of volumes that were not counted or lie outside the range of
            floats.
        """
        display = cls._from_level_sets(levels, excess_mass, xscale, band, confidence_level)
        return display.plot(
            ax, excess_mass=excess_mass, xscale=xscale, legend=legend, line_kw=line_kw
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        excess_mass: Point = EXCESS_MASS,
        xscale: AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, which are made of lines; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        excess_mass : float, default 0.9
            The axis goes a tenth beyond the level where all curves have come down to this; strictly
            between 0 and 1. The criterion in the legend does not depend on it.
        xscale : {"auto", "linear", "log"}, default "auto"
            Axis of the level. ``"auto"`` takes the logarithmic one where one curve comes down at
            over 100 times the level of another, and on axes with excess-mass curves their scale.
            The logarithmic axis starts where the first curve has lost a tenth of that, and spans
            two decades at least; straight pieces are bent on it. Levels outside the range of floats
            are drawn as decimal logarithms, as the label of the axis says.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If levels outside the range of floats are to be drawn on a linear axis, with bands, or
            beside levels inside it.
        """
        return self._draw(ax, excess_mass, xscale, legend=legend, line_kw=line_kw)

    @staticmethod
    def _band_of(
        curve: ExcessMassCurve, view: View, kind: BandKind, confidence: Point
    ) -> ExcessMassBand:
        return excess_mass_band(curve, level=_grid(view, _N_BAND), confidence_level=confidence)

    def _span(self, excess_mass: Point) -> Span:
        """Return natural logarithms of levels; a linear axis starts at 0 all the same."""
        end_mass = float(check_inside(excess_mass, "excess_mass"))
        curves = self.curves.values()
        ends = [_log_level_at(curve, end_mass) for curve in curves]
        starts = [_log_level_at(curve, 1 - (1 - end_mass) / 10) for curve in curves]
        finite = [end for end in ends if end > -math.inf]
        if not finite:
            # No set with test points contains a uniform point: the curves stay at 1 at all levels.
            finite = starts = [-curve.levels.log_unit for curve in curves]
        high = max(finite) + _BEYOND
        low = min([*(start for start in starts if start > -math.inf), high - _NARROWEST])
        far_apart = max(finite) - min(finite) > math.log(FAR_APART)
        return Span(low, high, far_apart, in_float_range(low, high))

    def _limits(self, view: View) -> tuple[Limits, Limits]:
        if view.drawn == "linear":
            levels = -0.01 * math.exp(view.high), math.exp(view.high)
        elif view.drawn == "log":
            levels = math.exp(view.low), math.exp(view.high)
        else:
            levels = view.low / LOG_10, view.high / LOG_10
        lines = [curve(log_level=view.high) for curve in self.curves.values()]
        bounds = [
            band.low[band.level <= math.exp(view.high)].min(initial=1.0)
            for band in self.bands.values()
        ]
        return levels, with_margin(float(min([*lines, *bounds])), 1.0, "linear")

    @staticmethod
    def _path(curve: ExcessMassCurve, view: View) -> drawing.Path:
        """Return the path of a curve; on a logarithmic axis the visible part, bent."""
        at_end = curve(log_level=view.high)
        if view.drawn == "linear":
            end = math.exp(view.high)
            finite = np.isfinite(curve.level)
            level, height = curve.level[finite], curve.excess_mass[finite]
            if end > level[-1]:
                # After its last corner a curve is constant.
                level, height = np.append(level, end), np.append(height, at_end)
            return level, height
        # In multiples of the last level, which are in the range of floats.
        visible = curve.log_level <= view.high
        level = np.append(np.exp(curve.log_level[visible] - view.high), 1.0)
        height = np.append(curve.excess_mass[visible], at_end)
        first = math.exp(view.low - view.high)
        level, height = refine(level, height, np.geomspace(first, 1, _N_BENT))
        visible = level >= first
        logs = np.log(level[visible]) + view.high
        return np.exp(logs) if view.drawn == "log" else logs / LOG_10, height[visible]

    @staticmethod
    def _area(band: ExcessMassBand) -> drawing.Area:
        return straight_area(band.level, band)


def _grid(view: View, n: int) -> FloatVector:
    """Return levels over the width of the axis."""
    if view.drawn == "linear":
        return np.linspace(0, math.exp(view.high), n)
    return np.exp(np.linspace(view.low, view.high, n))


def _log_level_at(curve: ExcessMassCurve, excess_mass: float) -> float:
    """Return the logarithm of the level at which a curve has come down to an excess mass.

    For a curve that stays above, its last level of decrease; -inf if it never decreases.
    """
    logs, heights = curve.log_level, curve.excess_mass
    if heights[-1] > excess_mass:
        return float(logs[-1])
    i = int(np.argmax(heights <= excess_mass))
    left, right = heights[i - 1], heights[i]
    part = (left - excess_mass) / (left - right)
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log1p(-part) + logs[i - 1], np.log(part) + logs[i]))
