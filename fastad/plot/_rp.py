"""Reverse percentile distances by percentile."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fastad._core.parameters import check_range
from fastad._core.types import Label, Point
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.results import RpCurve
from fastad.plot import _data, _drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self


class RpDisplay(_drawing.Display):
    """RP curves of one detector or several on one pair of axes, with their zeros.

    Distances are in units of the scores: detectors on one axis must score on one scale.

    Parameters
    ----------
    curves : RpCurve or mapping of str to RpCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Detector, then label, then value: what the legend shows, such as the result of
        `fastad.evaluate`.

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
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import RpDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.measures.rp_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> RpDisplay({"knn": curve}).plot(Figure().subplots()).line_.get_label()
    'knn, zero at 50'
    """

    def __init__(
        self,
        curves: RpCurve | Mapping[str, RpCurve],
        *,
        values: _data.Values | None = None,
    ) -> None:
        self.curves = _data.by_name(curves, RpCurve, "curves")
        self.values = dict(values or {})

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Any,
        *,
        score_range: tuple[Point, Point] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute the curves of one detector or several, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal point, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Finite anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        score_range : (float, float), optional
            Lowest and highest score that are possible. Where it is given, the legend shows
            `fastad.measures.rp_auc`.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        ax, legend, line_kw
            As `plot` takes them.

        Returns
        -------
        RpDisplay
            The display, drawn.

        Raises
        ------
        InvalidInputError
            If an argument is not as described; the message says which and where.
        UndefinedMeasureError
            If a class is absent.
        MissingExtraError
            If matplotlib is not installed.

        Examples
        --------
        >>> from fastad.plot import RpDisplay
        >>> from matplotlib.figure import Figure
        >>> display = RpDisplay.from_predictions(
        ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], score_range=(0, 1), ax=Figure().subplots()
        ... )
        >>> display.line_.get_label()
        'score (auc_rp 0.662), zero at 50'
        """
        bounds = None if score_range is None else check_range(score_range)
        shown = _data.read_measures([] if bounds is None else ["rp_auc"], score_range=bounds)
        ranked = _data.rank_detectors(y_true, y_score, sample_weight, pos_label)
        curves = _data.ask_each(ranked, RankedScores.rp_curve)
        display = cls(curves, values=_data.evaluate_each(ranked, shown))
        return display.plot(ax, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, the line of no distance, and a mark where each curve meets it.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend. A long one stands beside the axes, where the layout of
            the figure can make room for it (``layout="constrained"``).
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Returns
        -------
        RpDisplay
            This display.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        texts = {
            name: text if math.isnan(self.curves[name].zero) else f"{text}, zero at {zero:.3g}"
            for name, text in _data.legend_texts(self.curves, self.values).items()
            for zero in [self.curves[name].zero]
        }
        (axes,) = _drawing.open_axes(ax, n_rows=_drawing.count_rows(list(texts.values())) + 1)
        _drawing.draw_reference(axes, [0.0, 100.0], [0.0, 0.0], "no distance")
        self.lines_ = _drawing.draw_detectors(
            axes,
            {name: (curve.p, curve.distance) for name, curve in self.curves.items()},
            texts,
            line_kw,
        )
        for name, line in self.lines_.items():
            if not math.isnan(self.curves[name].zero):
                _drawing.draw_mark(axes, self.curves[name].zero, 0.0, line)
        axes.set(xlim=(-1, 101), xlabel="Percentile p", ylabel="RP distance (units of the scores)")
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, "lower left")
        self.ax_, self.figure_ = axes, axes.figure
        return self
