"""Precision-recall curves, interpolated as Davis and Goadrich do, with lines of equal F1."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.declared import OpenRate
from fastad._core.parameters import check_prevalence
from fastad._core.types import ArrayLike, FloatVector, Label, Point, Points
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.results import PrecisionRecallCurve
from fastad.plot import drawing
from fastad.plot.curves import (
    BandKind,
    LabelledCurvesDisplay,
    bands_of,
    check_band,
    evaluate_each,
    map_detectors,
    read_measures,
    read_points,
    refine,
    straight_area,
)
from fastad.plot.folds import count_detectors, ranked
from fastad.plot.legends import Values, legend_labels
from fastad.uncertainty.rates.bands import PrecisionRecallBand, precision_recall_band_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

_N_BENT = 400
_ISO_F1 = (0.2, 0.4, 0.6, 0.8)


class PrecisionRecallDisplay(LabelledCurvesDisplay[PrecisionRecallCurve]):
    """Precision-recall curves of one detector or several on the same axes.

    Between two points of a curve, flagged normals grow in proportion to flagged anomalies, so that
    precision does not follow a straight line (Davis and Goadrich): the line drawn is the one whose
    area is `fastad.measures.pr_auc`.

    Parameters
    ----------
    curves : PrecisionRecallCurve or mapping of str to PrecisionRecallCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Values in the legend, by detector and key, such as the result of `fastad.evaluate`.
    false_alarms : mapping of str to array-like of shape (n_points,), optional
        Flagged normals per anomaly at each point of a curve. By default they are derived from
        the curve, which does not tell how many normals above all anomalies are tied with the
        first of these: none is assumed.
    bands : PrecisionRecallBand or mapping of str to PrecisionRecallBand, optional
        The band of one detector, or bands by the names of detectors.

    Attributes
    ----------
    curves, bands, false_alarms : dict
        As given, by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.
    bands_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        The band of each detector that has one; once drawn.

    See Also
    --------
    fastad.precision_recall_curve : The curve.
    fastad.uncertainty.precision_recall_band : The band.

    References
    ----------
    .. [1] J. Davis and M. Goadrich, "The relationship between precision-recall and ROC curves",
       2006.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import PrecisionRecallDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.precision_recall_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display = PrecisionRecallDisplay({"knn": curve}).plot(Figure().subplots())
    >>> display.ax_.get_xlabel()
    'Recall'
    """

    _curve_type = PrecisionRecallCurve
    _band_type = PrecisionRecallBand

    def __init__(
        self,
        curves: PrecisionRecallCurve | Mapping[str, PrecisionRecallCurve],
        *,
        values: Values | None = None,
        false_alarms: Mapping[str, ArrayLike] | None = None,
        bands: PrecisionRecallBand | Mapping[str, PrecisionRecallBand] | None = None,
    ) -> None:
        super().__init__(curves, values=values)
        self.bands = self._read_bands(bands)
        given = {str(name): np.asarray(x, np.float64) for name, x in (false_alarms or {}).items()}
        self._check_detectors(given, "false_alarms")
        self.false_alarms = {
            name: given[name] if name in given else _false_alarms(curve)
            for name, curve in self.curves.items()
        }
        for name, curve in self.curves.items():
            if self.false_alarms[name].shape != curve.recall.shape:
                raise InvalidInputError(
                    "false_alarms must have one number for each point of the curve; found shape "
                    f"{self.false_alarms[name].shape} for {name!r} of {len(curve.recall)} points"
                )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        measures: Sequence[str] = ("ap",),
        prevalence: Point | None = None,
        band: BandKind | None = None,
        confidence_level: Point = 0.95,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        chance: bool = True,
        iso_f1: Point | Points = _ISO_F1,
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
        measures : sequence of str, default ("ap",)
            Keys of the measures in the legend, as `fastad.evaluate` takes them. They are values at
            the prevalence of the data, and not shown where ``prevalence`` is given.
        prevalence : float, optional
            Fraction of anomalies in (0, 1) to which the classes are re-weighted.
        band : {"pointwise", "simultaneous"}, optional
            Confidence band to draw, as `fastad.uncertainty.precision_recall_band` computes it; by
            default none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, chance, iso_f1, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If there is no anomaly, or no normal sample to re-weight.

        Examples
        --------
        >>> from fastad.plot import PrecisionRecallDisplay
        >>> from matplotlib.figure import Figure
        >>> display = PrecisionRecallDisplay.from_predictions(
        ...     [0, 0, 1, 1], {"knn": [0.1, 0.4, 0.35, 0.8]}, ax=Figure().subplots()
        ... )
        >>> display.line_.get_label()
        'knn (ap 0.833)'
        """
        fraction = check_prevalence(prevalence)
        requests = read_measures(() if fraction is not None else measures)
        level = check_band(band, confidence_level)
        data = y_true, y_score, sample_weight, pos_label
        counted = count_detectors(*data, band_level=level if band else None)
        scores = ranked(counted)

        def false_alarms(scores: RankedScores) -> FloatVector:
            counts = scores.counts.at_prevalence(fraction)
            return np.asarray(counts.fps / counts.n_anomalies, np.float64)

        display = cls(
            map_detectors(scores, lambda s: s.precision_recall_curve(prevalence=fraction)),
            values=evaluate_each(scores, requests),
            false_alarms=map_detectors(scores, false_alarms),
            bands=bands_of(counted, band, level, precision_recall_band_of, prevalence=fraction),
        )
        return display.plot(ax, chance=chance, iso_f1=iso_f1, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        chance: bool = True,
        iso_f1: Point | Points = _ISO_F1,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        chance : bool, default True
            Whether to draw the level of scores without information: the fraction of anomalies.
        iso_f1 : float or sequence of floats, default (0.2, 0.4, 0.6, 0.8)
            F1 scores in (0, 1) whose lines are drawn; may be empty.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If an F1 score is not in (0, 1).
        """
        f1_levels = read_points(iso_f1, OpenRate(sequence=True), "iso_f1")
        labels = legend_labels(self.curves, self.values)
        axes = drawing.open_axes(ax, labels.values(), 1 + bool(self.bands))
        for f1 in f1_levels:
            _draw_iso_f1(axes, float(f1))
        if chance:
            # Where everything is flagged, precision is the fraction of anomalies.
            fractions = {float(curve.precision[-1]) for curve in self.curves.values()}
            for fraction in sorted(fractions):
                # The number, because a second display on the axes may have another one.
                level = [fraction, fraction]
                drawing.draw_reference(axes, [0.0, 1.0], level, f"chance ({fraction:.3g})")
        paths = {name: self._path(name) for name in self.curves}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        self._draw_bands(axes, lambda band: straight_area(band.recall, band))
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), xlabel="Recall", ylabel="Precision")
        return self._finish(axes, legend="lower left" if legend else None)

    def _path(self, name: str) -> drawing.Path:
        curve = self.curves[name]
        recall, false_alarms = refine(
            curve.recall, self.false_alarms[name], np.linspace(0, 1, _N_BENT)
        )
        flagged = recall + false_alarms
        precision = np.full_like(recall, curve.precision[0])
        np.divide(recall, flagged, out=precision, where=flagged > 0)
        return recall, precision


def _false_alarms(curve: PrecisionRecallCurve) -> FloatVector:
    """Return flagged normals per anomaly at each point.

    Where precision is 0, the curve does not tell: as many as at the first anomaly.
    """
    is_positive = curve.precision > 0
    p = curve.precision[is_positive]
    alarms = np.empty_like(curve.precision)
    alarms[is_positive] = curve.recall[is_positive] * (1 - p) / p
    alarms[~is_positive] = alarms[is_positive][0]
    alarms[0] = 0.0
    return alarms


def _draw_iso_f1(axes: "Axes", level: float) -> None:
    """Draw where 2 P R / (P + R) is a constant, from precision 1 to recall 1."""
    end = level / (2 - level)
    recall = np.linspace(end, 1, 200)
    axes.plot(recall, level * recall / (2 * recall - level), color="0.75", linewidth=0.9, zorder=1)
    options = {"ha": "right", "color": "0.35", "fontsize": "x-small"}
    drawing.draw_text(axes, 0.995, end + 0.005, f"F1 = {level:g}", **options)
