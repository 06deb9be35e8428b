"""Displays of mass-volume curves."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.types import FloatVector, Point
from fastad.plot import drawing
from fastad.plot.curves import BandKind
from fastad.plot.level_sets import (
    FAR_APART,
    LOG_10,
    AxisScale,
    Drawn,
    LevelSetsDisplay,
    Limits,
    Span,
    View,
    in_float_range,
    with_margin,
)
from fastad.unsupervised.bands import MassVolumeBand, mass_volume_band
from fastad.unsupervised.criteria import check_masses
from fastad.unsupervised.levels import LevelSets
from fastad.unsupervised.mass_volume import MassVolumeCurve, mass_volume_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

_Masses = tuple[Point, Point]
# Factor by which bands, which end at the volume of the box, may be higher than lines on a linear
# axis.
_ABOVE = 1.5
_ROOM = 0.01


class MassVolumeCurveDisplay(LevelSetsDisplay[MassVolumeCurve, MassVolumeBand, _Masses]):
    """Mass-volume curves of one detector or several on the same axes; lower is better.

    Parameters
    ----------
    curves : MassVolumeCurve or mapping of str to MassVolumeCurve
        The curve of one detector, or curves by the names of detectors.
    values : Criteria or mapping of str to Criteria, optional
        Criteria with intervals that the legend shows, such as the result of
        `fastad.evaluate_unsupervised`; by default the criterion MV of each curve.
    bands : MassVolumeBand or mapping of str to MassVolumeBand, optional
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
    fastad.mass_volume_curve : The curve.
    fastad.unsupervised.mass_volume_band : The band.
    ExcessMassCurveDisplay : The other curve without labels.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import MassVolumeCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.mass_volume_curve([0.1, 0.2, 0.4, 0.8], [0.3, 0.5, 0.7, 0.9, 1.0], 10.0)
    >>> display = MassVolumeCurveDisplay({"knn": curve}).plot(Figure().subplots())
    >>> display.line_.get_ydata()
    array([0., 0., 0., 2., 6.])
    """

    _curve_type = MassVolumeCurve
    _band_type = MassVolumeBand
    _criterion = "MV"
    _axis_labels = "Mass", "Volume (in units of the features)"
    _scaled = "y"
    _corners = "upper left", "lower right"
    _curve_of = staticmethod(mass_volume_curve)

    @classmethod
    def from_level_sets(
        cls,
        levels: LevelSets | Mapping[str, LevelSets],
        *,
        mass: _Masses = (0, 1),
        band: BandKind | None = None,
        confidence_level: Point = 0.95,
        ax: "Axes | None" = None,
        yscale: AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several from level sets, and draw them.

        Parameters
        ----------
        levels : LevelSets or mapping of str to LevelSets
            Result of `fastad.unsupervised.level_sets`, or results by the names of detectors.
        mass, ax, yscale, legend, line_kw
            As `plot` takes them.
        band : {"pointwise", "simultaneous"}, optional
            Confidence band to draw, as `mass_volume_band` computes it; by default none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).

        Raises
        ------
        InvalidInputError
            If a band is requested of volumes that were not counted or lie outside the range of
            floats.
        """
        display = cls._from_level_sets(levels, mass, yscale, band, confidence_level)
        return display.plot(ax, mass=mass, yscale=yscale, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        mass: _Masses = (0, 1),
        yscale: AxisScale = "auto",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, which are steps; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        mass : (float, float), default (0, 1)
            Masses between which curves are drawn; MV stays the area over (0.9, 0.999).
        yscale : {"auto", "linear", "log"}, default "auto"
            Axis of the volume. ``"auto"`` takes the logarithmic one where the largest visible
            volume is over 100 times the smallest one of a curve in the middle of the masses, and on
            axes with mass-volume curves their scale. A logarithmic axis does not show a volume of
            0. Volumes outside the range of floats are drawn as decimal logarithms, as the label of
            the axis says.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If volumes outside the range of floats are to be drawn on a linear axis, with bands, or
            beside volumes inside it.
        """
        return self._draw(ax, mass, yscale, legend=legend, line_kw=_with_steps(line_kw))

    @staticmethod
    def _band_of(
        curve: MassVolumeCurve, view: View, kind: BandKind, confidence: Point
    ) -> MassVolumeBand:
        simultaneous = kind == "simultaneous"
        return mass_volume_band(curve, simultaneous=simultaneous, confidence_level=confidence)

    def _span(self, mass: _Masses) -> Span:
        low, high = map(float, check_masses(mass))
        curves = self.curves.values()
        visible = np.concatenate([curve.log_volume[_visible(curve, low, high)] for curve in curves])
        finite = visible[visible > -np.inf]
        halfway = (low + high) / 2
        middle = min(float(x.log_volume[np.searchsorted(x.mass, halfway)]) for x in curves)
        far_apart = finite.size > 0 and finite.max() - middle > np.log(FAR_APART)
        ends = (finite.min(), finite.max()) if finite.size else (self._log_unit(),)
        return Span(low, high, bool(far_apart), in_float_range(*ends))

    def _limits(self, view: View) -> tuple[Limits, Limits]:
        curves = self.curves.values()
        lines = np.concatenate(
            [_heights(curve, view.drawn)[_visible(curve, view.low, view.high)] for curve in curves]
        )
        bounds = [
            bound[(band.mass >= view.low) & (band.mass <= view.high)]
            for band in self.bands.values()
            for bound in (band.low, band.high)
        ]
        if view.drawn == "linear":
            highest = _ABOVE * lines.max() or np.inf
            bounds = [np.minimum(bound, highest) for bound in bounds]
        heights = np.concatenate([lines, *bounds])
        heights = heights[heights > 0] if view.drawn == "log" else heights[np.isfinite(heights)]
        if not heights.any():
            unit = self._log_unit()
            least = unit / LOG_10 if view.drawn == "log10" else np.exp(unit)
            heights = np.append(heights, least)
        # Room for the lines at both ends; masses outside the option stay hidden.
        masses = view.low or -_ROOM, view.high if view.high < 1 else 1 + _ROOM
        return masses, with_margin(heights.min(), heights.max(), view.drawn)

    def _log_unit(self) -> float:
        """Return the natural logarithm of the smallest volume that can be distinguished from 0."""
        return min(curve.levels.log_unit for curve in self.curves.values())

    @staticmethod
    def _path(curve: MassVolumeCurve, view: View) -> drawing.Path:
        return curve.mass, _heights(curve, view.drawn)

    @staticmethod
    def _area(band: MassVolumeBand) -> drawing.Area:
        """Return steps: both bounds increase, so that they bound all masses between two."""
        order = np.argsort(band.mass, kind="stable")
        mass, low, high = (bound[order].repeat(2) for bound in (band.mass, band.low, band.high))
        return mass[1:-1], low[:-2], high[2:]


def _visible(curve: MassVolumeCurve, low: float, high: float) -> slice:
    """Return the points that determine the volume between two masses."""
    first = int(np.searchsorted(curve.mass, low, side="right"))
    return slice(first, int(np.searchsorted(curve.mass, high, side="left")) + 1)


def _heights(curve: MassVolumeCurve, drawn: Drawn) -> FloatVector:
    return curve.log_volume / LOG_10 if drawn == "log10" else curve.volume


def _with_steps(line_kw: Mapping[str, Any] | None) -> dict[str, Any]:
    options = dict(line_kw or {})
    if {"drawstyle", "ds"} & options.keys():
        return options
    # Left-continuous: each volume belongs to all masses since the one before it.
    return {"drawstyle": "steps-pre", **options}
