"""Precision-recall curves, interpolated rightly, with lines of equal F1."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_inside, check_prevalence, check_rate
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.results import PrecisionRecallCurve
from fastad.plot import _band, _data, _drawing
from fastad.uncertainty.bands import PrecisionRecallBand, precision_recall_band_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from typing_extensions import Self

_N_BENT = 400
_ISO_F1 = (0.2, 0.4, 0.6, 0.8)


class PrecisionRecallDisplay(_drawing.Display):
    """Precision-recall curves of one detector or several on one pair of axes.

    Between two points of a curve, flagged normals grow in proportion to flagged anomalies, so that
    precision does not follow a straight line (Davis and Goadrich): the line drawn is the one whose
    area is `fastad.measures.pr_auc`.

    Parameters
    ----------
    curves : PrecisionRecallCurve or mapping of str to PrecisionRecallCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Detector, then label, then value: what the legend shows, such as the result of
        `fastad.evaluate`.
    false_alarms : mapping of str to array-like of shape (n_points,), optional
        Flagged normals per anomaly at each point of a curve. By default they are derived from
        the curve, which leaves open only how many normals above all anomalies are tied with the
        first of these: none, it is taken.
    bands : PrecisionRecallBand or mapping of str to PrecisionRecallBand, optional
        The band of one detector, or bands by the names of detectors.

    Attributes
    ----------
    curves : dict of str to PrecisionRecallCurve
        Curves by detector.
    bands : dict of str to PrecisionRecallBand
        Bands by detector.
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

    bands_: "dict[str, FillBetweenPolyCollection]"

    def __init__(
        self,
        curves: PrecisionRecallCurve | Mapping[str, PrecisionRecallCurve],
        *,
        values: _data.Values | None = None,
        false_alarms: Mapping[str, npt.ArrayLike] | None = None,
        bands: PrecisionRecallBand | Mapping[str, PrecisionRecallBand] | None = None,
    ) -> None:
        self.curves = _data.by_name(curves, PrecisionRecallCurve, "curves")
        self.values = dict(values or {})
        self.bands = _band.of_detectors(bands, PrecisionRecallBand, self.curves)
        given = {str(name): np.asarray(x, np.float64) for name, x in (false_alarms or {}).items()}
        self.false_alarms = {
            name: given[name] if name in given else _false_alarms(curve)
            for name, curve in self.curves.items()
        }
        for name, curve in self.curves.items():
            if self.false_alarms[name].shape != curve.recall.shape:
                raise InvalidInputError(
                    "false_alarms must have one number for each point of the curve; found shape "
                    f"{self.false_alarms[name].shape} for {name!r} of {len(curve.recall)} points",
                    argument="false_alarms",
                )

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Any,
        *,
        measures: Sequence[str] = ("ap",),
        prevalence: Point | None = None,
        band: _band.BandKind | None = None,
        confidence_level: Point = 0.95,
        sample_weight: npt.ArrayLike | None = None,
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
            1 for an anomaly, 0 for a normal point, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        measures : sequence of str, default ("ap",)
            Labels of measures that the legend shows, as `fastad.evaluate` takes them. They are
            those of the data, and not shown where ``prevalence`` is given.
        prevalence : float, optional
            Share of anomalies in (0, 1) to which the classes are re-weighted.
        band : {"pointwise", "simultaneous"}, optional
            Confidence band to draw, as `precision_recall_band` computes it; by default
            none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        ax, chance, iso_f1, legend, line_kw
            As `plot` takes them.

        Returns
        -------
        PrecisionRecallDisplay
            The display, drawn.

        Raises
        ------
        InvalidInputError
            If an argument is not as described; the message says which and where.
        UndefinedMeasureError
            If there is no anomaly, or no normal point to re-weight.
        MissingExtraError
            If matplotlib is not installed.

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
        share = check_prevalence(prevalence)
        shown = _data.read_measures(() if share is not None else measures)
        level = check_inside(confidence_level, "confidence_level")
        simultaneous = None if band is None else _band.is_simultaneous(band)
        ranked = _data.rank_detectors(y_true, y_score, sample_weight, pos_label)

        def false_alarms(one: RankedScores) -> FloatVector:
            counts = one.counts.at_prevalence(share)
            return np.asarray(counts.fps / counts.n_anomalies, np.float64)

        def bound(one: RankedScores) -> PrecisionRecallBand:
            return precision_recall_band_of(
                one.counts,
                None,
                simultaneous=bool(simultaneous),
                confidence_level=level,
                prevalence=share,
            )

        curves = _data.ask_each(ranked, lambda one: one.precision_recall_curve(prevalence=share))
        display = cls(
            curves,
            values=_data.evaluate_each(ranked, shown),
            false_alarms=_data.ask_each(ranked, false_alarms),
            bands=None if simultaneous is None else _data.ask_each(ranked, bound),
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
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        chance : bool, default True
            Whether to draw the level of scores without information: the share of anomalies.
        iso_f1 : sequence of floats, default (0.2, 0.4, 0.6, 0.8)
            F1 scores in (0, 1) whose lines are drawn.
        legend : bool, default True
            Whether to draw the legend. A long one stands beside the axes, where the layout of
            the figure can make room for it (``layout="constrained"``).
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Returns
        -------
        PrecisionRecallDisplay
            This display.

        Raises
        ------
        InvalidInputError
            If an F1 score is not in (0, 1).
        MissingExtraError
            If matplotlib is not installed.
        """
        levels = _f1_levels(iso_f1)
        texts = _data.legend_texts(self.curves, self.values)
        n_rows = _drawing.count_rows(list(texts.values())) + 1 + bool(self.bands)
        (axes,) = _drawing.open_axes(ax, n_rows=n_rows)
        for level in levels:
            _draw_iso_f1(axes, level)
        if chance:
            # Where everything is flagged, precision is the share of anomalies.
            shares = {float(curve.precision[-1]) for curve in self.curves.values()}
            for i, share in enumerate(sorted(shares)):
                label = f"chance ({share:.3g})" if len(shares) > 1 or i else "chance"
                _drawing.draw_reference(axes, [0.0, 1.0], [share, share], label)
        paths = {name: self._path(name) for name in self.curves}
        self.lines_ = _drawing.draw_detectors(axes, paths, texts, line_kw)
        self.bands_ = {
            name: _band.draw_band(axes, band, band.recall, self.lines_[name])
            for name, band in self.bands.items()
        }
        axes.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.02), xlabel="Recall", ylabel="Precision")
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, "lower left")
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _path(self, name: str) -> _drawing.Path:
        curve = self.curves[name]
        recall, false_alarms = _data.refine(
            curve.recall, self.false_alarms[name], np.linspace(0, 1, _N_BENT)
        )
        flagged = recall + false_alarms
        precision = np.full_like(recall, curve.precision[0])
        np.divide(recall, flagged, out=precision, where=flagged > 0)
        return recall, precision


def _false_alarms(curve: PrecisionRecallCurve) -> FloatVector:
    """Return flagged normals per anomaly at each point.

    Where precision is 0, the curve does not say them: those of the first anomaly are taken.
    """
    known = curve.precision > 0
    p = curve.precision[known]
    alarms = np.empty_like(curve.precision)
    alarms[known] = curve.recall[known] * (1 - p) / p
    alarms[~known] = alarms[known][0]
    alarms[0] = 0.0
    return alarms


def _f1_levels(iso_f1: Point | Points) -> list[float]:
    levels = list(map(float, _data.read_points(iso_f1, partial(check_rate, name="iso_f1"))))
    if not all(0 < level < 1 for level in levels):
        raise InvalidInputError(f"iso_f1 must lie strictly in (0, 1); found {iso_f1}")
    return levels


def _draw_iso_f1(axes: "Axes", level: float) -> None:
    """Draw where 2 P R / (P + R) is a constant, from precision 1 to recall 1."""
    recall = np.linspace(level / (2 - level), 1, 200)
    axes.plot(recall, level * recall / (2 * recall - level), color="0.75", linewidth=0.9, zorder=1)
    end = level / (2 - level)
    options = {"ha": "right", "color": "0.35", "fontsize": "x-small"}
    _drawing.draw_text(axes, 0.995, end + 0.005, f"F1 = {level:g}", **options)
