"""Pictures of the distributions of scores: histograms, percentiles, RP distances."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import Percentile
from fastad._core.types import FloatVector, Label, Point, Points
from fastad.plot import _data, _drawing
from fastad.plot._histogram import Bins, RpSpan, ScoreDistribution, distribution

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import StepPatch
    from typing_extensions import Self

# Heights as shares of the axes: the histograms below, the distances above them, then the marks.
_DISTANCES = (0.66, 0.82)
_ROWS = {"normal": 0.87, "anomaly": 0.94}
_HISTOGRAM = 0.62
_STYLES: dict[str, dict[str, Any]] = {
    "normal": {"color": _drawing.COLOURS[0], "linestyle": "solid"},
    "anomaly": {"color": _drawing.COLOURS[1], "linestyle": (0, (4, 1.5))},
}


class ScoreDistributionDisplay:
    """Distributions of the scores of both classes, one pair of axes for each detector.

    Parameters
    ----------
    distributions : ScoreDistribution or mapping of str to ScoreDistribution
        The distribution of one detector, or distributions by the names of detectors.

    Attributes
    ----------
    distributions : dict of str to ScoreDistribution
        Histograms, percentiles and distances by detector.
    axes_ : dict of str to matplotlib.axes.Axes
        Axes of each detector, once drawn.
    ax_ : matplotlib.axes.Axes
        Those of the first.
    figure_ : matplotlib.figure.Figure or SubFigure
        Their figure.
    steps_ : dict of str to (StepPatch, StepPatch)
        The histograms of normals and anomalies.

    See Also
    --------
    fastad.measures.class_percentiles : The percentiles.
    fastad.measures.rp_distance : The distances.

    References
    ----------
    .. [1] balabit, "RP distance: a new metric for evaluating unsupervised anomaly detection", 2017,
       figures 1 to 5.

    Examples
    --------
    >>> from fastad.plot import ScoreDistributionDisplay
    >>> from matplotlib.figure import Figure
    >>> display = ScoreDistributionDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], bins=2, ax=Figure().subplots()
    ... )
    >>> display.distributions["score"].percentiles.normals
    array([0.1, 0.1, 0.4])
    """

    axes_: "dict[str, Axes]"
    figure_: "Figure | SubFigure"
    steps_: "dict[str, tuple[StepPatch, StepPatch]]"

    def __init__(self, distributions: ScoreDistribution | Mapping[str, ScoreDistribution]) -> None:
        self.distributions = _data.by_name(distributions, ScoreDistribution, "distributions")

    @property
    def ax_(self) -> "Axes":
        """Axes of the first detector."""
        return next(iter(self.axes_.values()))

    @classmethod
    def from_predictions(
        cls,
        y_true: npt.ArrayLike,
        y_score: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Any,
        *,
        percentiles: Points = (25, 50, 75),
        rp: Point | Points = (),
        bins: Bins = 40,
        sample_weight: npt.ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None,
        legend: bool = True,
    ) -> "Self":
        """Compute the distributions of one detector or several, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal point, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Finite anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        percentiles : sequence of floats, default (25, 50, 75)
            Percentiles in [0, 100] to mark.
        rp : float or sequence of floats, default ()
            Percentiles in [0, 100] whose reverse percentile distance is shown.
        bins : int or array-like of shape (n_bins + 1,), default 40
            Number of bins, or their edges.
        sample_weight : array-like of shape (n_samples,), optional
            Weights, not negative; 0 leaves a row out, a whole number k counts it k times.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        ax, legend
            As `plot` takes them.

        Returns
        -------
        ScoreDistributionDisplay
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
        >>> from fastad.plot import ScoreDistributionDisplay
        >>> from matplotlib.figure import Figure
        >>> display = ScoreDistributionDisplay.from_predictions(
        ...     [0, 0, 1, 1], [10, 40, 35, 80], rp=40, bins=2, ax=Figure().subplots()
        ... )
        >>> display.distributions["score"].spans[0].distance
        70.0
        """
        marked = _data.read_points(percentiles, _check_percentiles)
        spanned = _data.read_points(rp, _check_percentiles)
        ranked = _data.rank_detectors(y_true, y_score, sample_weight, pos_label)
        distributions = _data.ask_each(ranked, lambda one: distribution(one, marked, spanned, bins))
        return cls(distributions).plot(ax, legend=legend)

    def plot(
        self,
        ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None,
        *,
        legend: bool = True,
    ) -> "Self":
        """Draw the distributions.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or sequence of Axes, optional
            Where to draw, one for each detector; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend, on the axes of the first detector.

        Returns
        -------
        ScoreDistributionDisplay
            This display.

        Raises
        ------
        InvalidInputError
            If ``ax`` does not hold one pair of axes for each detector.
        MissingExtraError
            If matplotlib is not installed.
        """
        n = len(self.distributions)
        columns = 1 if n == 1 else 2 if n <= 4 else 3
        axes = _drawing.open_axes(ax, (n,), columns=columns)
        self.axes_ = dict(zip(self.distributions, axes, strict=True))
        self.steps_ = {}
        for name, one in self.axes_.items():
            self.steps_[name] = _draw(one, self.distributions[name])
            if n > 1:
                one.set_title(_drawing.shown_text(name), fontsize="medium", loc="left")
        if legend:
            # Above the axes, which are full: marks on top, bars below.
            self.ax_.legend(
                loc="lower right",
                bbox_to_anchor=(1, 1),
                borderaxespad=0.1,
                ncols=2,
                frameon=False,
                fontsize="small",
            )
        self.figure_ = self.ax_.figure
        return self


def _draw(axes: "Axes", shown: ScoreDistribution) -> "tuple[StepPatch, StepPatch]":
    densities = {"normal": shown.normals, "anomaly": shown.anomalies}
    marks = {"normal": shown.percentiles.normals, "anomaly": shown.percentiles.anomalies}
    steps = []
    for kind, density in densities.items():
        style = _STYLES[kind]
        axes.stairs(density, shown.edges, fill=True, alpha=0.25, color=style["color"])
        steps.append(axes.stairs(density, shown.edges, linewidth=1.5, label=kind, **style))
    spanned = [x for span in shown.spans for x in (span.normal, span.anomaly)]
    low, high = _limits(np.concatenate([shown.edges, *marks.values(), spanned]))
    axes.set(xlim=(low, high), xlabel="Anomaly score", ylabel="Density")
    highest = max(shown.normals.max(), shown.anomalies.max())
    axes.set_ylim(0, (highest or 1.0) / _HISTOGRAM)
    for kind, scores in marks.items():
        _draw_percentiles(axes, kind, shown.percentiles.p, scores)
    for i, span in enumerate(shown.spans):
        step = (_DISTANCES[1] - _DISTANCES[0]) / max(len(shown.spans) - 1, 1)
        _draw_span(axes, span, _DISTANCES[1] - i * step)
    return steps[0], steps[1]


def _limits(seen: FloatVector) -> tuple[float, float]:
    low, high = float(seen.min()), float(seen.max())
    margin = 0.02 * (high - low)
    return low - margin, high + margin


def _draw_percentiles(axes: "Axes", kind: str, p: FloatVector, scores: FloatVector) -> None:
    """Draw a line from each percentile up to its tag; tags that would overlap are moved apart."""
    top, style = _ROWS[kind], _STYLES[kind]
    across = axes.get_xaxis_transform()
    low, high = axes.get_xlim()
    order = np.argsort(scores, kind="stable")
    points = axes.get_window_extent().width * 72 / axes.figure.dpi
    places = _apart((scores[order] - low) / (high - low), 24 / points)
    for i, place in zip(order.tolist(), places, strict=True):
        x, tag = float(scores[i]), low + place * (high - low)
        path = [x, x, tag], [0.0, top - 0.025, top]
        axes.plot(*path, transform=across, linewidth=0.9, zorder=2.5, **style)
        text = {"color": style["color"], "ha": "center", "fontsize": "small"}
        _drawing.draw_text(axes, tag, top, f"p{p[i]:g}", transform=across, **text)


def _apart(places: FloatVector, gap: float) -> list[float]:
    """Return rising places with gaps between them, and inside of [0, 1] if there is room."""
    moved: list[float] = []
    for place in places.tolist():
        moved.append(max(place, moved[-1] + gap) if moved else place)
    limit = 1.0
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], limit)
        limit = moved[i] - gap
    return moved


def _draw_span(axes: "Axes", span: RpSpan, height: float) -> None:
    """Draw an arrow from the normals' percentile to the anomalies', with its length."""
    across = axes.get_xaxis_transform()
    for x in (span.normal, span.anomaly):
        axes.plot([x, x], [0, height], transform=across, color="0.45", linewidth=0.7, zorder=2.4)
    axes.annotate(
        "",
        (span.anomaly, height),
        xytext=(span.normal, height),
        xycoords=across,
        textcoords=across,
        arrowprops={"arrowstyle": "->", "shrinkA": 0, "shrinkB": 0, "color": "0.2"},
    )
    text = f"RP@{span.p:g} = {span.distance:.3g}".replace("-", "\N{MINUS SIGN}")
    middle = (span.normal + span.anomaly) / 2
    _drawing.draw_text(axes, middle, height, text, transform=across, ha="center", fontsize="small")


def _check_percentiles(p: Point | Points) -> Fraction | list[Fraction]:
    checked: Fraction | list[Fraction] = Percentile(sequence=True).check(p, "p")
    return checked
