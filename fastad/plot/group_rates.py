"""Rates of kinds of anomalies, or of segments of normals, with their intervals."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np

from fastad._core.parameters import check_choice, check_type, short_number
from fastad._core.text_tables import intervals_text
from fastad.errors import InvalidInputError
from fastad.evaluation.operating_point import OperatingPoint
from fastad.evaluation.results import DetectorEvaluation
from fastad.plot import drawing
from fastad.plot.curves import by_name
from fastad.uncertainty.rates.group_rates import RateComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

PARTS = ("kinds", "segments")
# Inches of a new figure: its width, a row of each operating point, and the axis below.
_WIDTH, _ROW, _AXIS = 6.4, 0.24, 1.2
# Height of all operating points of a group, in rows.
_SPREAD = 0.6
_RATES = {"kind": "True positive rate", "segment": "False positive rate", "group": "Rate"}


class RateComparisonDisplay(drawing.Display):
    """The rate of each kind or segment with its interval, at one operating point or several.

    Simultaneous intervals, from the worst group at the top; a dotted line is the rate of all
    samples.

    Parameters
    ----------
    rates : RateComparison or mapping of str to RateComparison
        The rates at one operating point, or by the names of operating points; of the same groups.

    Attributes
    ----------
    rates : dict of str to RateComparison
        The rates.
    ax_, figure_, lines_, line_
        Axes, figure, marks of each operating point, marks of the first; once drawn.

    See Also
    --------
    fastad.evaluate : Counts kinds and segments.
    fastad.uncertainty.compare_rates : The numbers.
    RocCurveDisplay : The curve of each kind, with ``kinds=``.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import RateComparisonDisplay
    >>> from matplotlib.figure import Figure
    >>> rates = fastad.uncertainty.compare_rates([90, 40], [100, 80], names=["dos", "r2l"])
    >>> display = RateComparisonDisplay({"FPR 0.01": rates}).plot(Figure().subplots())
    >>> display.line_.get_xdata()
    array([0.5, 0.9])
    """

    def __init__(self, rates: RateComparison | Mapping[str, RateComparison]) -> None:
        self.rates = by_name(rates, RateComparison, "rates")
        first, *others = self.rates.values()
        if any(list(each.names) != list(first.names) for each in others):
            raise InvalidInputError("rates must be of the same groups; found others")
        # The axis names one kind of rates and one level.
        for name in ("noun", "confidence_level"):
            found = {getattr(each, name) for each in self.rates.values()}
            if len(found) > 1:
                shown = ", ".join(map(str, sorted(found)))
                raise InvalidInputError(f"rates must have one {name}; found {shown}")

    @classmethod
    def from_evaluation(
        cls, evaluation: DetectorEvaluation, *, part: Literal["kinds", "segments"] = "kinds"
    ) -> "Self":
        """Take the rates of a detector at its operating points from a result of `fastad.evaluate`.

        Parameters
        ----------
        evaluation : DetectorEvaluation
            Of one detector, with ``kinds`` or ``segments``: ``result["score"]``.
        part : {"kinds", "segments"}, default "kinds"
            Which of both.

        Returns
        -------
        RateComparisonDisplay
            The display, to be drawn by `plot`.

        Raises
        ------
        InvalidInputError
            If the evaluation has none.

        Examples
        --------
        >>> import fastad
        >>> from fastad.plot import RateComparisonDisplay
        >>> labels, scores, kinds = [0, 0, 1, 1, 1], [1, 5, 4, 6, 3], ["", "", "a", "a", "b"]
        >>> result = fastad.evaluate(labels, scores, kinds=kinds, threshold=4, measures=["tpr"])
        >>> RateComparisonDisplay.from_evaluation(result["score"]).rates["threshold 4"].value
        array([1., 0.])
        """
        check_type(evaluation, DetectorEvaluation, "evaluation", "a DetectorEvaluation")
        check_choice(part, PARTS, "part")
        named = {_name_of(x): getattr(x, part) for x in evaluation.operating_points}
        rates = {name: each for name, each in named.items() if each is not None}
        if not rates:
            raise InvalidInputError(f"evaluation must have {part}; found none")
        return cls(rates)

    def plot(self, ax: "Axes | None" = None, *, legend: bool = True) -> "Self":
        """Draw rates and intervals; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, as high as the names need.
        legend : bool, default True
            Whether to draw the legend, where there are several operating points.
        """
        first, n = next(iter(self.rates.values())), len(self.rates)
        sign = 1 if first.higher_is_better else -1
        order = np.argsort(sign * first.value, kind="stable")
        rows = np.arange(len(order))
        axes = drawing.open_axes(ax, size=(_WIDTH, _ROW * n * len(order) + _AXIS))
        offsets = _SPREAD * ((np.arange(n) + 0.5) / n - 0.5)
        paths = {
            name: (each.value[order], rows + offset)
            for (name, each), offset in zip(self.rates.items(), offsets, strict=True)
        }
        style = {"linestyle": "none", "marker": "o"}
        self.lines_ = drawing.draw_detectors(axes, paths, style)
        for (name, each), offset in zip(self.rates.items(), offsets, strict=True):
            colour = self.lines_[name].get_color()
            axes.hlines(rows + offset, each.low[order], each.high[order], colors=colour)
            axes.axvline(each.overall.value, color=colour, linestyle=":", linewidth=1)
        names = [drawing.plain_text(str(first.names[i])) for i in order]
        axes.set_yticks(rows, names)
        level = intervals_text(first.confidence_level)
        label = f"{_RATES.get(first.noun, 'Rate')}, {level} of all at once"
        axes.set(ylim=(len(rows) - 0.5, -0.5), xlabel=label)
        return self._finish(axes, legend="best" if legend and n > 1 else None)


def _name_of(point: OperatingPoint) -> str:
    if point.fpr is not None:
        return f"FPR {point.fpr:g}"
    return f"threshold {short_number(point.threshold)}"
