"""Detection error trade-off on normal-deviate axes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.types import ArrayLike, FloatVector, Label
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.results import DetCurve
from fastad.plot import drawing
from fastad.plot.curves import (
    LabelledCurvesDisplay,
    class_sizes,
    evaluate_each,
    map_detectors,
    read_measures,
    read_size,
    refine,
    step_of,
)
from fastad.plot.folds import rank_detectors
from fastad.plot.legends import Values, legend_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from typing_extensions import Self

_N_BENT = 400
# About evenly spaced on the axis.
_TICKS = (1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)
# The worst rates are of little interest, and would take half of the axis.
_HIGHEST = 0.99
# Classes of less than five points still need an axis of some length.
_LARGEST_END = 0.1


class DetCurveDisplay(LabelledCurvesDisplay[DetCurve]):
    """Detection error trade-off curves of one detector or several on normal-deviate axes.

    Each rate is drawn at its quantile of the normal distribution: normally distributed scores
    give a straight line, and good detectors can be distinguished. The points where one of the rates
    is 0 or 1 lie at infinity.

    Parameters
    ----------
    curves : DetCurve or mapping of str to DetCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Values in the legend, by detector and key, such as the result of `fastad.evaluate`.
    n_anomalies, n_normals : float, optional
        Sizes of the classes; by default one over the smallest steps of the curves.

    Attributes
    ----------
    curves : dict of str to DetCurve
        Curves by detector.
    n_anomalies, n_normals : float or None
        Sizes of the classes, where they are known.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn. Their coordinates are
        normal deviates, ``scipy.stats.norm.ppf`` of the rates.

    See Also
    --------
    fastad.measures.det_curve : The curve.
    fastad.measures.equal_error_rate : Where both rates are equal.

    References
    ----------
    .. [1] A. Martin et al., "The DET curve in assessment of detection task performance", 1997.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import DetCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.measures.det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display = DetCurveDisplay({"knn": curve}).plot(Figure().subplots())
    >>> [tick.get_text() for tick in display.ax_.get_xticklabels()]
    ['20%', '50%', '80%']
    """

    _curve_type = DetCurve

    def __init__(
        self,
        curves: DetCurve | Mapping[str, DetCurve],
        *,
        values: Values | None = None,
        n_anomalies: float | None = None,
        n_normals: float | None = None,
    ) -> None:
        super().__init__(curves, values=values)
        self.n_anomalies = read_size(n_anomalies, "n_anomalies")
        self.n_normals = read_size(n_normals, "n_normals")

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        measures: Sequence[str] = ("eer",),
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        chance: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        measures : sequence of str, default ("eer",)
            Keys of the measures in the legend, as `fastad.evaluate` takes them.
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, chance, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.

        Examples
        --------
        >>> from fastad.plot import DetCurveDisplay
        >>> from matplotlib.figure import Figure
        >>> display = DetCurveDisplay.from_predictions(
        ...     [0, 0, 1, 1], {"knn": [0.1, 0.4, 0.35, 0.8]}, ax=Figure().subplots()
        ... )
        >>> display.line_.get_label()
        'knn (eer 0.500)'
        """
        requests = read_measures(measures)
        ranked = rank_detectors(y_true, y_score, sample_weight, pos_label)
        curves = map_detectors(ranked, RankedScores.det_curve)
        display = cls(curves, values=evaluate_each(ranked, requests), **class_sizes(ranked))
        return display.plot(ax, chance=chance, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        chance: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        chance : bool, default True
            Whether to draw the line of scores without information.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        lowest = (
            _lowest(self.n_normals, [curve.fpr for curve in self.curves.values()]),
            _lowest(self.n_anomalies, [curve.fnr[::-1] for curve in self.curves.values()]),
        )
        labels = legend_labels(self.curves, self.values)
        axes = drawing.open_axes(ax, labels.values(), 1)
        axes.set(xlabel="False positive rate", ylabel="False negative rate")
        drawing.set_limits(axes, "x", *_limits(lowest[0]))
        drawing.set_limits(axes, "y", *_limits(lowest[1]))
        if chance:
            # FNR = 1 - FPR: its deviate is minus the deviate of FPR.
            ends = np.array(axes.get_xlim())
            drawing.draw_reference(axes, ends, -ends, "chance")
        paths = {name: _path(curve.fpr, curve.fnr, lowest) for name, curve in self.curves.items()}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        _set_ticks(axes.xaxis)
        _set_ticks(axes.yaxis)
        return self._finish(axes, legend="upper right" if legend else None)


def _lowest(size: float | None, rates: list[FloatVector]) -> float:
    """Return the end of an axis: half of the step that one point makes, below which is only 0."""
    return min(step_of(size, rates) / 2, _LARGEST_END)


def _path(fpr: FloatVector, fnr: FloatVector, lowest: tuple[float, float]) -> drawing.Path:
    """Return the part of an interpolated curve that is not at infinity, in deviates."""
    (fpr_low, fnr_low), (fpr_grid, fnr_grid) = lowest, (_grid(low) for low in lowest)
    fpr, fnr = refine(fpr, fnr, fpr_grid)
    # The other axis bends too: the same again from the other end, where FNR rises.
    fnr, fpr = (path[::-1] for path in refine(fnr[::-1], fpr[::-1], fnr_grid))
    visible = (fpr >= fpr_low) & (fpr <= 1 - fpr_low) & (fnr >= fnr_low) & (fnr <= 1 - fnr_low)
    return _deviates(fpr[visible]), _deviates(fnr[visible])


def _grid(lowest: float) -> FloatVector:
    """Return rates that are evenly spaced on the axis, with the two ends as they are."""
    from scipy.special import ndtr

    start, end = _deviates(np.array([lowest, 1 - lowest])).tolist()
    inner = ndtr(np.linspace(start, end, _N_BENT)[1:-1])
    return np.concatenate([[lowest], inner, [1 - lowest]])


def _deviates(rates: FloatVector) -> FloatVector:
    from scipy.special import ndtri

    return np.asarray(ndtri(rates), np.float64)


def _limits(lowest: float) -> tuple[float, float]:
    low, high = _deviates(np.array([lowest, min(_HIGHEST, 1 - lowest)])).tolist()
    return low, high


def _set_ticks(axis: "Axis") -> None:
    from matplotlib.ticker import FixedFormatter, FixedLocator

    low, high = axis.get_view_interval()
    ticks = {
        float(deviate): f"{100 * rate:g}%"
        for rate, deviate in zip(_TICKS, _deviates(np.array(_TICKS)), strict=True)
        if low <= deviate <= high
    }
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_major_formatter(FixedFormatter(list(ticks.values())))
