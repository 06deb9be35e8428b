"""Decision regions of a detector in the plane."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from fastad._core.declared import Rate
from fastad._core.parameters import check_count, check_type
from fastad._core.threads import MOST as BLOCK
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, Label, Point, Points
from fastad.detectors.compilation import scorer_of
from fastad.detectors.scorer import check_columns, check_samples
from fastad.errors import InvalidInputError
from fastad.ordering.labels import check_labels
from fastad.plot import drawing
from fastad.plot.curves import read_points
from fastad.regions.at_fpr import volume_at_fpr
from fastad.regions.box import Box, check_box
from fastad.regions.results import VolumeEstimate
from fastad.regions.scores import BlockScore, Detector, block_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection, QuadMesh
    from typing_extensions import Self

# Light where points are normal, so that boundaries and points are visible.
_MAP: dict[str, Any] = {"cmap": "Greys", "alpha": 0.6, "shading": "nearest", "rasterized": True}
_NORMALS: dict[str, Any] = {"color": "0.15", "marker": ".", "s": 14, "linewidths": 0}
_ANOMALIES: dict[str, Any] = {"color": "#CC79A7", "marker": "x", "s": 18, "linewidths": 1}


@dataclass(frozen=True, slots=True, eq=False)
class ScoreMap:
    """Scores on a grid of the plane.

    Attributes
    ----------
    x, y : numpy.ndarray of shape (n_columns,) and (n_rows,)
        First and second feature, increasing.
    scores : numpy.ndarray of shape (n_rows, n_columns)
        Score at each point of the grid, higher is more anomalous.
    """

    x: FloatVector
    y: FloatVector
    scores: FloatMatrix


@dataclass(frozen=True, slots=True)
class DecisionRegion:
    """Region where a detector classifies points as normal, at a false positive rate.

    Attributes
    ----------
    fpr : float
        False positive rate.
    volume : VolumeEstimate
        VOL@FPR of the box, as `fastad.volume_at_fpr`; its ``threshold`` bounds the region.
    """

    fpr: float
    volume: VolumeEstimate


class DecisionRegionDisplay(drawing.Display):
    """Scores of a detector over two features, and the boundaries of its decision regions.

    Parameters
    ----------
    score_map : ScoreMap
        Scores on a grid.
    regions : sequence of DecisionRegion, default ()
        Regions whose boundaries are drawn.
    X : array-like of shape (n_samples, 2), optional
        Points to draw.
    y_true : array-like of shape (n_samples,), optional
        1 for an anomaly, 0 for a normal sample, or booleans; by default all points are normal.

    Attributes
    ----------
    score_map : ScoreMap
        Scores on a grid.
    regions : list of DecisionRegion
        The regions.
    ax_, figure_
        Axes and figure; once drawn.
    lines_ : dict of str to matplotlib.lines.Line2D
        The boundary of each region by its key, such as ``vol@0.05``; pieces are separated by
        NaN.
    map_ : matplotlib.collections.QuadMesh
        The scores as drawn.
    points_ : dict of str to matplotlib.collections.PathCollection
        The points as drawn: ``normal``, ``anomaly``.

    See Also
    --------
    fastad.volume_at_fpr : The volume.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, figures 4 and 6.

    Examples
    --------
    >>> import numpy as np
    >>> from fastad.plot import DecisionRegionDisplay, ScoreMap
    >>> from matplotlib.figure import Figure
    >>> x = np.linspace(-1, 1, 5)
    >>> score_map = ScoreMap(x, x, np.hypot(*np.meshgrid(x, x)))
    >>> display = DecisionRegionDisplay(score_map).plot(Figure().subplots())
    >>> display.map_.get_array().shape
    (5, 5)
    """

    map_: "QuadMesh"
    points_: "dict[str, PathCollection]"

    def __init__(
        self,
        score_map: ScoreMap,
        regions: Sequence[DecisionRegion] = (),
        *,
        X: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
    ) -> None:
        check_type(score_map, ScoreMap, "score_map", "a ScoreMap")
        shape = (len(score_map.y), len(score_map.x))
        if score_map.scores.shape != shape or min(shape) < 2:
            raise InvalidInputError(
                f"score_map must have scores of shape {shape}, at least 2 by 2; found "
                f"{score_map.scores.shape}"
            )
        self.score_map = score_map
        self.regions = list(regions)
        for region in self.regions:
            check_type(region, DecisionRegion, "regions", "of DecisionRegion")
        if X is None and y_true is not None:
            raise InvalidInputError("y_true must be given with X; found no X")
        self._points = None if X is None else _check_points(X, y_true, None)

    @classmethod
    def from_estimator(
        cls,
        estimator: Detector,
        X: ArrayLike,
        y_true: ArrayLike | None = None,
        *,
        fpr: Point | Points = 0.05,
        box: Box | None = None,
        resolution: int = 200,
        pos_label: Label | None = None,
        volume_kw: Mapping[str, Any] | None = None,
        ax: "Axes | None" = None,
        points: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute scores, thresholds and volumes, and draw them.

        Parameters
        ----------
        estimator : detector, callable or CompiledScorer
            Fitted detector of two features, or the anomaly score of any point, higher is more
            anomalous, as for `fastad.volume`.
        X : array-like of shape (n_samples, 2)
            Points whose scores give the thresholds; finite numbers.
        y_true : array-like of shape (n_samples,), optional
            1 for an anomaly, 0 for a normal sample, or booleans; by default all points are normal.
        fpr : float or sequence of floats, default 0.05
            False positive rates in [0, 1], a region each; may be empty.
        box : Box, optional
            Box that is drawn, and in which volumes are estimated; by default the box of X, without
            discrete features.
        resolution : int, default 200
            Points of the grid along each feature, at least 2.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.
        volume_kw : mapping of str, optional
            Options of `fastad.volume_at_fpr`: ``n_draws``, ``rtol``, ``rng``, ….
        ax, points, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If there are no normal samples.

        Examples
        --------
        >>> import numpy as np
        >>> from fastad.plot import DecisionRegionDisplay
        >>> from matplotlib.figure import Figure
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> display = DecisionRegionDisplay.from_estimator(
        ...     lambda rows: np.hypot(*rows.T), X, fpr=[0.01, 0.1], ax=Figure().subplots()
        ... )
        >>> small, large = [region.volume.value for region in reversed(display.regions)]
        >>> small < large
        True
        """
        drawing.need_matplotlib()
        rates = read_points(fpr, Rate(sequence=True), "fpr")
        size = check_count(resolution, "resolution")
        if size < 2:
            raise InvalidInputError(f"resolution must be at least 2; found {size}")
        samples, labels = _check_points(X, y_true, pos_label)
        check_columns(estimator, X, "the detector")
        region = Box.from_data(samples, None) if box is None else check_box(box)
        if region.n_features != 2 or region.discrete.any():
            n_continuous = region.n_features - int(np.count_nonzero(region.discrete))
            raise InvalidInputError(
                f"box must have two continuous features; found {n_continuous} of "
                f"{region.n_features}"
            )
        scorer = scorer_of(estimator, "estimator") or estimator
        scored = block_score(scorer, 2)
        x, y = (np.linspace(region.low[j], region.high[j], size) for j in range(2))
        grid = np.stack([axis.ravel() for axis in np.meshgrid(x, y)])
        score_map = ScoreMap(x, y, _scores_at(scored, grid).reshape(size, size))
        regions = []
        if rates:
            at_samples, exact = _scores_at(scored, samples.T), cast(Points, rates)
            volumes = volume_at_fpr(
                scorer, labels, at_samples, region, fpr=exact, **(volume_kw or {})
            )
            regions = [DecisionRegion(float(p), v) for p, v in zip(rates, volumes, strict=True)]
        display = cls(score_map, regions, X=samples, y_true=labels)
        return display.plot(ax, points=points, legend=legend, line_kw=line_kw)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        points: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the scores, the boundaries and the points; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        points : bool, default True
            Whether to draw the points.
        legend : bool, default True
            Whether to draw the legend: volume and threshold of each region.
        line_kw : mapping of str, optional
            Properties of the boundaries, as ``Axes.plot`` takes them.
        """
        axes = drawing.open_axes(ax, map(_key, self.regions), 2)
        x, y, scores = self.score_map.x, self.score_map.y, self.score_map.scores
        self.map_ = axes.pcolormesh(x, y, np.ma.masked_invalid(scores), **_MAP)
        self.points_ = self._draw_points(axes) if points else {}
        paths = {
            _key(region): _boundary(axes, self.score_map, region.volume) for region in self.regions
        }
        labels = {_key(region): _legend_label(region) for region in self.regions}
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        axes.set(xlabel="First feature", ylabel="Second feature")
        has_entries = bool(axes.get_legend_handles_labels()[1])
        return self._finish(axes, grid=False, legend="best" if legend and has_entries else None)

    def _draw_points(self, axes: "Axes") -> "dict[str, PathCollection]":
        if self._points is None:
            return {}
        samples, labels = self._points
        drawn = {}
        for name, label, style in (("normal", 0, _NORMALS), ("anomaly", 1, _ANOMALIES)):
            points = samples[labels == label]
            if len(points):
                drawn[name] = axes.scatter(*points.T, label=name, zorder=2, **style)
        return drawn


def _check_points(
    X: ArrayLike, y_true: ArrayLike | None, pos_label: Label | None
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Check points and their labels; without labels all are normal."""
    samples = check_samples(X, 2)
    if y_true is None:
        return samples, np.zeros(len(samples), np.uint8)
    labels = check_labels(y_true, pos_label=pos_label)
    if labels.n_rows != len(samples):
        raise InvalidInputError(
            f"y_true must have a label for each of {len(samples)} points; found {labels.n_rows}"
        )
    labels.row_index.check(X, "X")
    return samples, labels.values


def _scores_at(score: BlockScore, points: npt.NDArray[Any]) -> FloatVector:
    """Return the scores of points of shape (2, n_points)."""
    scores = np.empty(points.shape[1])
    for start in range(0, points.shape[1], BLOCK):
        part = slice(start, start + BLOCK)
        score.write(np.array(points[:, part], np.float64, order="C"), scores[part])
    return scores


def _key(region: DecisionRegion) -> str:
    return f"vol@{region.fpr:g}"


def _legend_label(region: DecisionRegion) -> str:
    volume = region.volume
    bound = "< " if volume.is_bound else ""
    return f"{_key(region)} {bound}{volume.value:.3g} at threshold {volume.threshold:.4g}"


def _boundary(axes: "Axes", score_map: ScoreMap, volume: VolumeEstimate) -> drawing.Path:
    """Return the isoline of a threshold, its pieces separated by NaN."""
    scores = score_map.scores
    inside = scores[~np.isnan(scores)] < volume.threshold
    if inside.all() or not inside.any():
        # The region contains all points of the grid, or none.
        return np.array([np.nan]), np.array([np.nan])
    finite = scores[np.isfinite(scores)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    # Infinite scores have a boundary too: they are drawn beyond all others.
    room = high - low or abs(high) or 1.0
    drawable = np.ma.masked_invalid(np.clip(scores, low - room, high + room))
    # A point at the threshold is outside, one that matplotlib finds at the level is inside.
    level = np.clip(np.nextafter(volume.threshold, -np.inf), low - room / 2, high + room / 2)
    drawn = axes.contour(score_map.x, score_map.y, drawable, levels=[level])
    pieces = [piece for piece in drawn.allsegs[0] if len(piece)]
    drawn.remove()
    gap = np.full((1, 2), np.nan)
    path = np.concatenate([part for piece in pieces for part in (piece, gap)])
    return path[:, 0], path[:, 1]
