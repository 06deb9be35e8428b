"""Distributions of scores: histograms of both classes, percentiles, RP distances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastad._core.declared import Percentile
from fastad._core.parameters import check_count
from fastad._core.types import ArrayLike, FloatVector, Label, Point, Points
from fastad.errors import InvalidInputError
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.percentiles import CLASS_PERCENTILES
from fastad.measures.results import ClassPercentiles
from fastad.plot import drawing
from fastad.plot.curves import LabelledDisplay, by_name, map_detectors, read_points
from fastad.plot.folds import rank_detectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.patches import StepPatch
    from typing_extensions import Self

# Heights as fractions of the axes: the histograms below, the distances above them, then the marks.
_DISTANCES = (0.66, 0.82)
_ROWS = {"normal": 0.87, "anomaly": 0.94}
_HISTOGRAM = 0.62
_STYLES: dict[str, dict[str, Any]] = {
    "normal": {"color": drawing.COLOURS[0], "linestyle": "solid"},
    "anomaly": {"color": drawing.COLOURS[1], "linestyle": (0, (4, 1.5))},
}


@dataclass(frozen=True, slots=True)
class RpSpan:
    """Distance from a percentile of the normals to the reverse percentile of the anomalies.

    Attributes
    ----------
    p : float
        Percentile in [0, 100].
    normal : float
        Score at percentile p of the normals.
    anomaly : float
        Score at percentile 100 - p of the anomalies.
    """

    p: float
    normal: float
    anomaly: float

    @property
    def distance(self) -> float:
        """RP@p, as `fastad.measures.rp_distance`."""
        return self.anomaly - self.normal


@dataclass(frozen=True, slots=True, eq=False)
class ScoreDistribution:
    """Histograms of the scores of both classes on common bins, and their marks.

    Attributes
    ----------
    edges : numpy.ndarray of shape (n_bins + 1,)
        Edges of the bins, in units of the scores.
    anomalies, normals : numpy.ndarray of shape (n_bins,)
        Density of each class: its fraction in the bin, divided by the width.
    percentiles : ClassPercentiles
        Percentiles that are marked.
    spans : sequence of RpSpan
        Reverse percentile distances that are drawn.
    """

    edges: FloatVector
    anomalies: FloatVector
    normals: FloatVector
    percentiles: ClassPercentiles
    spans: Sequence[RpSpan]


class ScoreDistributionDisplay(LabelledDisplay):
    """Distributions of the scores of both classes, with separate axes for each detector.

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
        Axes of the first detector.
    figure_ : matplotlib.figure.Figure or SubFigure
        Figure of the axes.
    steps_ : dict of str to (StepPatch, StepPatch)
        The histograms of normals and anomalies.

    See Also
    --------
    fastad.measures.class_percentiles : The percentiles.
    fastad.measures.rp_distance : The distances.

    References
    ----------
    .. [1] Á. Fülöp, "Novel performance metrics for anomaly detection algorithms", balabit 2017,
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
        self.distributions = by_name(distributions, ScoreDistribution, "distributions")

    @property
    def ax_(self) -> "Axes":
        """Axes of the first detector."""
        return next(iter(self.axes_.values()))

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        percentiles: Points = (25, 50, 75),
        rp: Point | Points = (),
        bins: int = 40,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None,
        legend: bool = True,
    ) -> "Self":
        """Compute the distributions of one detector or several, and draw them.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Finite anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        percentiles : sequence of floats, default (25, 50, 75)
            Percentiles in [0, 100] to mark.
        rp : float or sequence of floats, default ()
            Percentiles in [0, 100] whose reverse percentile distance is drawn.
        bins : int, default 40
            Number of bins over all scores.
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, legend
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.

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
        marked = read_points(percentiles, Percentile(sequence=True), "percentiles")
        spanned = read_points(rp, Percentile(sequence=True), "rp")
        n_bins = check_count(bins, "bins")
        ranked = rank_detectors(y_true, y_score, sample_weight, pos_label)
        distributions = map_detectors(
            ranked, lambda scores: _distribution_of(scores, marked, spanned, n_bins)
        )
        return cls(distributions).plot(ax, legend=legend)

    def plot(
        self, ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None, *, legend: bool = True
    ) -> "Self":
        """Draw the distributions; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or sequence of Axes, optional
            Where to draw, one for each detector; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend, on the axes of the first detector.

        Raises
        ------
        InvalidInputError
            If ``ax`` does not contain as many axes as there are detectors.
        """
        n = len(self.distributions)
        columns = 1 if n == 1 else 2 if n <= 4 else 3
        axes = drawing.open_panels(ax, (n,), columns=columns)
        self.axes_ = dict(zip(self.distributions, axes, strict=True))
        self.steps_ = {}
        for name, panel in self.axes_.items():
            self.steps_[name] = _draw(panel, self.distributions[name])
            if n > 1:
                panel.set_title(drawing.plain_text(name), fontsize="medium", loc="left")
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


def _distribution_of(
    ranked: RankedScores, percentiles: list[Fraction], rp: list[Fraction], bins: int
) -> ScoreDistribution:
    """Return the distribution of one detector's scores; they must be finite."""
    counts = ranked.counts
    marked = CLASS_PERCENTILES.compute(counts, percentiles)
    normals = CLASS_PERCENTILES.compute(counts, rp).normals
    anomalies = CLASS_PERCENTILES.compute(counts, [100 - p for p in rp]).anomalies
    spans = [
        RpSpan(float(p), normal, anomaly)
        for p, normal, anomaly in zip(rp, normals.tolist(), anomalies.tolist(), strict=True)
    ]
    scores = counts.thresholds().astype(np.float64)
    edges = _edges(scores, bins)
    widths = np.diff(edges)
    anomalous, normal = (
        np.histogram(scores, edges, weights=np.diff(cumulative))[0] / (total * widths)
        for cumulative, total in ((counts.tps, counts.n_anomalies), (counts.fps, counts.n_normals))
    )
    return ScoreDistribution(edges, anomalous, normal, marked, spans)


def _edges(scores: FloatVector, bins: int) -> FloatVector:
    with np.errstate(over="ignore"):
        if not np.isfinite(scores[0] - scores[-1]):
            raise InvalidInputError(
                "y_score must have a finite range for a histogram; found "
                f"{scores[-1]:g} to {scores[0]:g}"
            )
    try:
        return np.histogram_bin_edges(scores, bins)
    except ValueError:
        # Between the scores there are fewer floats than edges.
        raise InvalidInputError(
            "bins must be few enough for the range of y_score; found "
            f"{bins} from {float(scores[-1])} to {float(scores[0])}"
        ) from None


def _draw(axes: "Axes", distribution: ScoreDistribution) -> "tuple[StepPatch, StepPatch]":
    densities = {"normal": distribution.normals, "anomaly": distribution.anomalies}
    marks = {
        "normal": distribution.percentiles.normals,
        "anomaly": distribution.percentiles.anomalies,
    }
    steps = []
    for kind, density in densities.items():
        style = _STYLES[kind]
        axes.stairs(density, distribution.edges, fill=True, alpha=0.25, color=style["color"])
        steps.append(axes.stairs(density, distribution.edges, linewidth=1.5, label=kind, **style))
    spanned = [x for span in distribution.spans for x in (span.normal, span.anomaly)]
    shown = np.concatenate([distribution.edges, *marks.values(), spanned])
    low, high = float(shown.min()), float(shown.max())
    margin = 0.02 * (high - low)
    axes.set(xlim=(low - margin, high + margin), xlabel="Anomaly score", ylabel="Density")
    highest = max(distribution.normals.max(), distribution.anomalies.max())
    axes.set_ylim(0, (highest or 1.0) / _HISTOGRAM)
    for kind, scores in marks.items():
        _draw_percentiles(axes, kind, distribution.percentiles.p, scores)
    for i, span in enumerate(distribution.spans):
        step = (_DISTANCES[1] - _DISTANCES[0]) / max(len(distribution.spans) - 1, 1)
        _draw_span(axes, span, _DISTANCES[1] - i * step)
    return steps[0], steps[1]


def _draw_percentiles(axes: "Axes", kind: str, p: FloatVector, scores: FloatVector) -> None:
    """Draw a line from each percentile up to its label; labels that would overlap are moved."""
    top, style = _ROWS[kind], _STYLES[kind]
    across = axes.get_xaxis_transform()
    low, high = axes.get_xlim()
    order = np.argsort(scores, kind="stable")
    points = axes.get_window_extent().width * 72 / axes.figure.dpi
    positions = _spread((scores[order] - low) / (high - low), 24 / points)
    for i, position in zip(order.tolist(), positions, strict=True):
        x, tag = float(scores[i]), low + position * (high - low)
        path = [x, x, tag], [0.0, top - 0.025, top]
        axes.plot(*path, transform=across, linewidth=0.9, zorder=2.5, **style)
        text = {"color": style["color"], "ha": "center", "fontsize": "small"}
        drawing.draw_text(axes, tag, top, f"p{p[i]:g}", transform=across, **text)


def _spread(positions: FloatVector, gap: float) -> list[float]:
    """Return increasing positions with gaps between them, inside [0, 1] if there is room."""
    moved: list[float] = []
    for position in positions.tolist():
        moved.append(max(position, moved[-1] + gap) if moved else position)
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
    drawing.draw_text(axes, middle, height, text, transform=across, ha="center", fontsize="small")
