"""Reverse percentile distances by percentile."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastad._core.parameters import check_range
from fastad._core.types import ArrayLike, Label, Point
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.results import RpCurve
from fastad.plot import drawing
from fastad.plot.curves import LabelledCurvesDisplay, evaluate_each, map_detectors, read_measures
from fastad.plot.folds import rank_detectors
from fastad.plot.legends import legend_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


class RpCurveDisplay(LabelledCurvesDisplay[RpCurve]):
    """RP curves of one detector or several on the same axes, with their zeros.

    Distances are in units of the scores: detectors on one axis must score on one scale.

    Parameters
    ----------
    curves : RpCurve or mapping of str to RpCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Values in the legend, by detector and key, such as the result of `fastad.evaluate`.

    Attributes
    ----------
    curves : dict of str to RpCurve
        Curves by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.

    See Also
    --------
    fastad.measures.rp_curve : The curve.
    ScoreDistributionDisplay : Where the distances come from.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import RpCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.measures.rp_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> RpCurveDisplay({"knn": curve}).plot(Figure().subplots()).line_.get_label()
    'knn, zero at 50'
    """

    _curve_type = RpCurve

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        score_range: tuple[Point, Point] | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Finite anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        score_range : (float, float), optional
            Lowest and highest score that are possible. Where it is given, the legend shows
            `fastad.measures.rp_auc`.
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.

        Examples
        --------
        >>> from fastad.plot import RpCurveDisplay
        >>> from matplotlib.figure import Figure
        >>> display = RpCurveDisplay.from_predictions(
        ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1), ax=Figure().subplots()
        ... )
        >>> display.line_.get_label()
        'score (auc_rp 0.662), zero at 50'
        """
        bounds = None if score_range is None else check_range(score_range)
        requests = read_measures([] if bounds is None else ["rp_auc"], score_range=bounds)
        ranked = rank_detectors(y_true, y_score, sample_weight, pos_label)
        curves = map_detectors(ranked, RankedScores.rp_curve)
        display = cls(curves, values=evaluate_each(ranked, requests))
        return display.plot(ax, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, the line of no distance, and the zeros; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        zeros = {
            name: curve.zero for name, curve in self.curves.items() if not math.isnan(curve.zero)
        }
        texts = {name: f", zero at {zero:.3g}" for name, zero in zeros.items()}
        labels = legend_labels(self.curves, self.values, texts)
        axes = drawing.open_axes(ax, labels.values(), 1)
        drawing.draw_reference(axes, [0.0, 100.0], [0.0, 0.0], "no distance")
        paths = {name: (curve.p, curve.distance) for name, curve in self.curves.items()}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        for name, zero in zeros.items():
            drawing.draw_mark(axes, zero, 0.0, self.lines_[name])
        axes.set(xlim=(-1, 101), xlabel="Percentile p", ylabel="RP distance (units of the scores)")
        return self._finish(axes, legend="lower left" if legend else None)
