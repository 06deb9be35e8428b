"""Decision curves: the net benefit of acting on a probability, by the threshold."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.declared import OpenRate
from fastad._core.types import ArrayLike, FloatVector, Label, Points
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.custom import from_counts
from fastad.measures.measure import Measure
from fastad.measures.points import need_both
from fastad.plot import drawing
from fastad.plot.curves import CurvesDisplay, LabelledDisplay, map_detectors
from fastad.plot.folds import rank_detectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

# Percents but for 0, where false alarms cost nothing, and 100, where they cost infinitely much.
_THRESHOLDS = tuple(np.linspace(0.01, 0.99, 99).round(2).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit of a detector by the threshold of its probabilities.

    Attributes
    ----------
    thresholds : numpy.ndarray of shape (n_thresholds,)
        Increasing, in (0, 1).
    net_benefit : numpy.ndarray of shape (n_thresholds,)
        Net benefit of flagging scores at or above each threshold, in true positives per sample.
    prevalence : float
        Proportion of anomalies among the samples.
    """

    thresholds: FloatVector
    net_benefit: FloatVector
    prevalence: float


class DecisionCurveDisplay(LabelledDisplay, CurvesDisplay[DecisionCurve]):
    """Decision curves of one detector or several, beside flagging all samples or none.

    A threshold says how many false alarms one anomaly is worth. The net benefit is
    TP / n - FP / n * threshold / (1 - threshold) of n samples; scores must be probabilities.

    Parameters
    ----------
    curves : DecisionCurve or mapping of str to DecisionCurve
        The curve of one detector, or curves by the names of detectors.

    Attributes
    ----------
    curves : dict of str to DecisionCurve
        Curves by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.

    See Also
    --------
    fastad.uncertainty.difference_band : The difference of two curves with a band.

    References
    ----------
    .. [1] A. J. Vickers and E. B. Elkin, "Decision curve analysis: a novel method for evaluating
       prediction models", Medical Decision Making 26, 2006.

    Examples
    --------
    >>> from fastad.plot import DecisionCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], threshold=[0.25, 0.5], ax=Figure().subplots()
    ... )
    >>> display.curves["score"].net_benefit.round(4)
    array([0.4167, 0.25  ])
    """

    _curve_type = DecisionCurve
    _of_probabilities = True

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        threshold: Points = _THRESHOLDS,
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
            Probabilities of an anomaly, in [0, 1], in the forms that `fastad.evaluate` takes.
        threshold : sequence of floats, default (0.01, 0.02, ..., 0.99)
            Thresholds in (0, 1).
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.
        """
        checked = OpenRate(sequence=True).check(threshold, "threshold")
        # A fraction just below 1 would be rounded to 1.
        thresholds = np.unique(np.minimum(np.asarray(checked, np.float64), np.nextafter(1, 0)))
        ranked = rank_detectors(y_true, y_score, sample_weight, pos_label)
        curves = map_detectors(ranked, lambda scores: _curve_of(scores, thresholds))
        return cls(curves).plot(ax, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves and the net benefit of flagging all or no samples; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        axes = drawing.open_axes(ax, self.curves, 2)
        # Folds may differ in their proportion of anomalies.
        prevalences = [curve.prevalence for curve in self.curves.values()]
        prevalence = float(np.mean(prevalences))
        # Over the whole axis, however few thresholds the curves have.
        grid = np.array(_THRESHOLDS)
        benefit = prevalence - (1 - prevalence) * grid / (1 - grid)
        # The number, because a second display on the axes may have another one.
        drawing.draw_reference(axes, grid, benefit, f"all flagged ({prevalence:.3g})")
        drawing.draw_reference(axes, grid, np.zeros_like(grid), "none flagged")
        paths = {name: (x.thresholds, x.net_benefit) for name, x in self.curves.items()}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw)
        axes.set(xlim=(0, 1), xlabel="Threshold probability", ylabel="Net benefit")
        # Far below 0, where flagging none is better, nothing is compared. No curve is higher than
        # its proportion of anomalies.
        highest = max(prevalences)
        drawing.set_limits(axes, "y", -0.2 * highest, 1.1 * highest)
        return self._finish(axes, legend="upper right" if legend else None)


@cache
def _net_benefit() -> Measure[Any]:
    """Return net benefit as a measure; made when it is needed, since it is tried out then."""

    def net_benefit(tp: Any, fp: Any, n: Any, m: Any, threshold: Any) -> Any:
        return (tp - fp * threshold / (1 - threshold)) / (n + m)

    return from_counts("net_benefit", net_benefit, at="threshold", takes_threshold=True)


def _curve_of(ranked: RankedScores, thresholds: FloatVector) -> DecisionCurve:
    counts = ranked.counts
    need_both(counts, "a decision curve")
    scores = counts.thresholds()
    if not 0 <= float(scores[-1]) <= float(scores[0]) <= 1:
        raise InvalidInputError(
            "y_score must be probabilities, in [0, 1], for a decision curve; found "
            f"[{scores[-1]:g}, {scores[0]:g}]"
        )
    measure = _net_benefit()
    values = [measure.compute(counts, threshold=each) for each in thresholds.tolist()]
    prevalence = float(counts.n_anomalies) / float(counts.total)
    return DecisionCurve(thresholds, np.asarray(values, np.float64), prevalence)
