"""A measure against the fraction of anomalies hidden among the normals."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import N_RESAMPLES
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import level_text
from fastad._core.types import ArrayLike, Label, Point, Points
from fastad.errors import InvalidInputError
from fastad.measures.measure import MeasureLike
from fastad.ordering.labels import check_labels, named_scores, score_name
from fastad.plot import drawing
from fastad.plot.curves import LabelledDisplay, by_name, map_detectors
from fastad.plot.folds import with_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

    from fastad.uncertainty.intervals.sensitivity import ContaminationSensitivity


class ContaminationSensitivityDisplay(LabelledDisplay, drawing.Display):
    """A measure of one detector or several against the fraction of hidden anomalies.

    Parameters
    ----------
    sensitivities : ContaminationSensitivity or mapping of str to ContaminationSensitivity
        The result of one detector, or results by the names of detectors; all of one measure.

    Attributes
    ----------
    sensitivities : dict of str to ContaminationSensitivity
        Results by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.

    See Also
    --------
    fastad.uncertainty.contamination_sensitivity : The numbers.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import ContaminationSensitivityDisplay
    >>> from matplotlib.figure import Figure
    >>> result = fastad.uncertainty.contamination_sensitivity(
    ...     [0, 0, 0, 1], [1, 2, 4, 3], measure="auc", contamination=[0, 0.1, 0.2]
    ... )
    >>> display = ContaminationSensitivityDisplay({"knn": result}).plot(Figure().subplots())
    >>> display.line_.get_label()
    'knn'
    """

    def __init__(
        self, sensitivities: "ContaminationSensitivity | Mapping[str, ContaminationSensitivity]"
    ) -> None:
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals.sensitivity import ContaminationSensitivity

        self.sensitivities = by_name(sensitivities, ContaminationSensitivity, "sensitivities")
        measures = {result.measure for result in self.sensitivities.values()}
        if len(measures) > 1:
            raise InvalidInputError(
                f"sensitivities must be of one measure; found {', '.join(sorted(measures))}"
            )

    @classmethod
    @suggests_arguments
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        measure: MeasureLike,
        contamination: Points,
        confidence_level: Point | None = None,
        n_resamples: int = N_RESAMPLES,
        rng: int | np.random.Generator | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Correct a measure of one detector or several, and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        measure, contamination, confidence_level, n_resamples, rng, pos_label
            As `fastad.uncertainty.contamination_sensitivity` takes them.
        ax, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.

        Examples
        --------
        >>> from fastad.plot import ContaminationSensitivityDisplay
        >>> from matplotlib.figure import Figure
        >>> display = ContaminationSensitivityDisplay.from_predictions(
        ...     [0, 0, 0, 1],
        ...     [1, 2, 4, 3],
        ...     measure="auc",
        ...     contamination=[0, 0.1, 0.2],
        ...     ax=Figure().subplots(),
        ... )
        >>> display.line_.get_ydata().round(4).tolist()
        [0.6667, 0.6852, 0.7083]
        """
        # Here, because SciPy's functions take a sixth of a second to import.
        from fastad.uncertainty.intervals.sensitivity import contamination_sensitivity

        sensitivities: dict[str, ContaminationSensitivity] = {}
        for y, detectors, _ in with_labels(y_true, y_score):
            index = check_labels(y, pos_label=pos_label).row_index
            named = dict(named_scores(detectors, index))
            for name, scores in named.items():
                index.check(scores, score_name(name))
            sensitivities |= map_detectors(
                named,
                partial(
                    contamination_sensitivity,
                    y,
                    measure=measure,
                    contamination=contamination,
                    confidence_level=confidence_level,
                    n_resamples=n_resamples,
                    rng=rng,
                    pos_label=pos_label,
                ),
            )
        return cls(sensitivities).plot(ax, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the values, their intervals, and the largest possible fraction; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        axes = drawing.open_axes(ax, self.sensitivities, 1)
        paths = {
            name: (result.contamination, result.value)
            for name, result in self.sensitivities.items()
        }
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw)
        for name, result in self.sensitivities.items():
            line = self.lines_[name]
            if result.confidence_level is not None:
                area = result.contamination, result.low, result.high
                level = f"{level_text(result.confidence_level)} intervals"
                drawing.fill_area(axes, area, line, level)
            if result.largest < result.contamination[-1]:
                axes.axvline(result.largest, color=line.get_color(), linewidth=0.8, linestyle=":")
        first = next(iter(self.sensitivities.values()))
        axes.set(xlabel="Fraction of anomalies among the normals", ylabel=first.measure)
        return self._finish(axes, legend="best" if legend else None)
