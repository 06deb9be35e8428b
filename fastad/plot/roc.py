"""Receiver operating characteristics, on a linear or logarithmic axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fastad._core.declared import Rate
from fastad._core.parameters import check_choice, check_rates
from fastad._core.types import ArrayLike, Label, Point, Points, Threshold
from fastad.errors import InvalidInputError
from fastad.evaluation.few_normals import FewNormals
from fastad.evaluation.notes import UNRESOLVED
from fastad.evaluation.ranked_scores import RankedScores
from fastad.measures.measure import FEW
from fastad.measures.requests import table_measures
from fastad.measures.results import RocCurve
from fastad.measures.roc import TPR_AT_FPR
from fastad.ordering.membership import Overlap
from fastad.plot import drawing
from fastad.plot.curves import (
    BandKind,
    LabelledCurvesDisplay,
    bands_of,
    by_name,
    check_band,
    class_sizes,
    evaluate_each,
    map_detectors,
    read_measures,
    read_points,
    read_size,
    refine,
    step_of,
    straight_area,
)
from fastad.plot.folds import count_detectors, ranked
from fastad.plot.legends import Values, interval_text, legend_labels
from fastad.streaming.sketches.sketch import ScoreSketch
from fastad.uncertainty.rates.bands import RocBand, roc_band_of
from fastad.uncertainty.results import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

Scale = Literal["linear", "log"]
SCALES = ("linear", "log")
# Points over the width of the axis: between them a curve bends by less than a pixel.
_N_BENT = 500
# Rates of measures of a sketch that have none.
_FPR = (0.01, 0.05)


@dataclass(frozen=True, slots=True)
class RocMark:
    """An operating point marked on a curve.

    Attributes
    ----------
    fpr : float
        False positive rate.
    tpr : float
        True positive rate of the interpolated curve there, as `fastad.tpr_at_fpr`.
    threshold : float or int
        As `fastad.threshold_at_fpr`: it flags no larger fraction of the normals.
    unresolved : str or None
        Why the normals are too few for the rate; None where they are not.
    interval : Interval or None
        The exact 95 % interval of the TPR, where the normals are too few.
    """

    fpr: float
    tpr: float
    threshold: Threshold
    unresolved: str | None = field(default=None, repr=False)
    interval: Interval | None = field(default=None, repr=False)


class RocCurveDisplay(LabelledCurvesDisplay[RocCurve]):
    """ROC curves of one detector or several on the same axes.

    Parameters
    ----------
    curves : RocCurve or mapping of str to RocCurve
        The curve of one detector, or curves by the names of detectors.
    values : mapping of str to mapping of str to float, optional
        Values in the legend, by detector and key, such as the result of `fastad.evaluate`.
    marks : mapping of str to sequence of RocMark, optional
        Operating points to mark on the curve of each detector.
    bands : RocBand or mapping of str to RocBand, optional
        The band of one detector, or bands by the names of detectors.
    n_normals : float, optional
        Number of normal samples; by default one over the smallest step of the curves.

    Attributes
    ----------
    curves, marks, bands : dict
        As given, by detector.
    n_normals : float or None
        Number of normal samples, where it is known.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.
    bands_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        The band of each detector that has one; once drawn.

    See Also
    --------
    fastad.roc_curve : The curve.
    fastad.uncertainty.roc_band : The band.
    RocVariationDisplay : Mean and deviation of many curves.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import RocCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> curve = fastad.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display = RocCurveDisplay({"knn": curve}).plot(Figure().subplots())
    >>> display.line_.get_ydata()
    array([0. , 0.5, 0.5, 1. , 1. ])
    """

    _curve_type = RocCurve
    _band_type = RocBand

    def __init__(
        self,
        curves: RocCurve | Mapping[str, RocCurve],
        *,
        values: Values | None = None,
        marks: Mapping[str, Sequence[RocMark]] | None = None,
        bands: RocBand | Mapping[str, RocBand] | None = None,
        n_normals: float | None = None,
    ) -> None:
        super().__init__(curves, values=values)
        self.marks = {name: list(points) for name, points in (marks or {}).items()}
        self._check_detectors(self.marks, "marks")
        self.bands = self._read_bands(bands)
        self.n_normals = read_size(n_normals, "n_normals")

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        fpr: Point | Points = (),
        measures: Sequence[str] = ("auc",),
        band: BandKind | None = None,
        confidence_level: Point = 0.95,
        kinds: ArrayLike | Mapping[str, ArrayLike] | Any = None,
        overlap: Overlap = "raise",
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | None" = None,
        xscale: Scale = "linear",
        chance: bool = True,
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
        fpr : float or sequence of floats, default ()
            False positive rates in [0, 1] to mark; the legend shows TPR and threshold there.
        measures : sequence of str, default ("auc",)
            Keys of the measures in the legend, as `fastad.evaluate` takes them.
        band : {"pointwise", "simultaneous"}, optional
            Confidence band to draw, as `fastad.uncertainty.roc_band` computes it; by default none.
        confidence_level : float, default 0.95
            Confidence of the band, in (0, 1).
        kinds, overlap : optional
            Kind of each anomaly, as `fastad.evaluate` takes them: draws the curve of each kind of
            one detector, all against the same normal samples.
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, xscale, chance, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If a class is absent.

        Examples
        --------
        >>> from fastad.plot import RocCurveDisplay
        >>> from matplotlib.figure import Figure
        >>> scores = {"knn": [0.1, 0.4, 0.35, 0.8], "forest": [0.1, 0.2, 0.3, 0.4]}
        >>> display = RocCurveDisplay.from_predictions(
        ...     [0, 0, 1, 1], scores, fpr=0.5, xscale="log", ax=Figure().subplots()
        ... )
        >>> display.marks["knn"]
        [RocMark(fpr=0.5, tpr=1.0, threshold=0.35)]
        """
        rates = read_points(fpr, Rate(sequence=True), "fpr")
        requests = read_measures(measures, rates)
        level = check_band(band, confidence_level)
        data = y_true, y_score, sample_weight, pos_label, kinds, overlap
        counted = count_detectors(*data, band_level=level if band else None)
        scores = ranked(counted)
        display = cls(
            map_detectors(scores, RankedScores.roc_curve),
            values=evaluate_each(scores, requests),
            marks=map_detectors(scores, lambda each: [_mark(each, r) for r in rates]),
            bands=bands_of(counted, band, level, roc_band_of),
            n_normals=class_sizes(scores)["n_normals"],
        )
        return display.plot(ax, xscale=xscale, chance=chance, legend=legend, line_kw=line_kw)

    @classmethod
    def from_sketch(
        cls,
        sketches: ScoreSketch | Mapping[str, ScoreSketch],
        *,
        measures: Sequence[str] = ("auc",),
        **options: Any,
    ) -> "Self":
        """Draw the curves of counts in cells or bins, and the bands in which they certainly lie.

        Parameters
        ----------
        sketches : ScoreSketch or mapping of str to ScoreSketch
            The counts of one detector, or counts by the names of detectors.
        measures : sequence of str, default ("auc",)
            Measures in the legend, by key.
        **options
            As `plot` takes them.

        Examples
        --------
        >>> from fastad.plot import RocCurveDisplay
        >>> from fastad.streaming import ScoreSketch
        >>> from matplotlib.figure import Figure
        >>> sketch = ScoreSketch.from_counts([0, 0.5, 1], [90, 10], [2, 8])
        >>> display = RocCurveDisplay.from_sketch(sketch, ax=Figure().subplots())
        >>> display.bands["score"].high
        array([0.8, 0.8, 1. , 1. ])
        """
        named = by_name(sketches, ScoreSketch, "sketches")
        bands = map_detectors(named, ScoreSketch.roc_band)
        curves = {name: sketch.roc_curve() for name, sketch in named.items()}
        values = {name: _values_of(sketch, measures) for name, sketch in named.items()}
        sizes = [sketch.n_normals for sketch in named.values() if type(sketch.n_normals) is int]
        display = cls(curves, values=values, bands=bands, n_normals=max(sizes, default=None))
        return display.plot(**options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        xscale: Scale = "linear",
        chance: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        xscale : {"linear", "log"}, default "linear"
            Axis of the false positive rate. The logarithmic one starts at the rate of one normal
            sample, and is shaded up to the rate of five; straight pieces of the curve are bent.
        chance : bool, default True
            Whether to draw the line of scores without information.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If a mark is at 0 and the axis is logarithmic.
        """
        check_choice(xscale, SCALES, "xscale")
        step = step_of(self.n_normals, [curve.fpr for curve in self.curves.values()])
        lowest = self._lowest(step) if xscale == "log" else 0.0
        labels = self._labels()
        # The line of chance, the shade of a logarithmic axis, the kind of band.
        n_more = 1 + (xscale == "log") + bool(self.bands)
        axes = drawing.open_axes(ax, labels.values(), n_more)
        if chance:
            draw_chance(axes, xscale, lowest)
        paths = {
            name: path_on(xscale, curve.fpr, curve.tpr, lowest)
            for name, curve in self.curves.items()
        }
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw, labels)
        self._draw_bands(axes, lambda band: straight_area(band.fpr, band, lowest))
        for name, marks in self.marks.items():
            for mark in marks:
                line, ends = self.lines_[name], mark.interval
                drawing.draw_mark(axes, mark.fpr, mark.tpr, line)
                if ends is not None:
                    style: dict[str, Any] = {"linewidth": 1.2, "zorder": 3.5}
                    axes.vlines(mark.fpr, ends.low, ends.high, color=line.get_color(), **style)
        set_rate_axes(axes, xscale, lowest, step)
        axes.set_ylabel("True positive rate")
        return self._finish(axes, legend="lower right" if legend else None)

    def _lowest(self, step: float) -> float:
        marked = [mark.fpr for marks in self.marks.values() for mark in marks]
        if 0 in marked:
            raise InvalidInputError(
                "fpr must be positive on a logarithmic axis (xscale='log'); found 0"
            )
        return min([step, 0.5, *(fpr / 2 for fpr in marked if fpr <= step)])

    def _labels(self) -> dict[str, str]:
        texts = {name: "".join(map(_mark_text, marks)) for name, marks in self.marks.items()}
        marks = [mark for marks in self.marks.values() for mark in marks]
        unresolved = [{"tpr": mark.unresolved} for mark in marks if mark.unresolved]
        is_exact = any(mark.interval for mark in marks)
        return legend_labels(self.curves, self.values, texts, unresolved, is_exact=is_exact)


def _values_of(sketch: ScoreSketch, measures: Sequence[str]) -> dict[str, float]:
    values = sketch.evaluate(measures, fpr=_FPR) if len(measures) else {}
    points = check_rates(_FPR, "fpr")
    keys = {bound.key for bound in table_measures(measures, points)} if values else set()
    return {key: float(bounded) for key, bounded in values.items() if key in keys}


def _mark_text(mark: RocMark) -> str:
    sign = UNRESOLVED if mark.unresolved else ""
    return (
        f"\n  tpr@{mark.fpr:g} {sign}{mark.tpr:.3f}{interval_text(mark.interval)} at "
        f"threshold {mark.threshold:.4g}"
    )


def path_on(
    xscale: Scale, fpr: npt.NDArray[np.float64], tpr: npt.NDArray[np.float64], lowest: float
) -> drawing.Path:
    """Return the path of an interpolated curve; on a logarithmic axis from where that starts."""
    if xscale == "linear":
        return fpr, tpr
    fpr, tpr = refine(fpr, tpr, np.geomspace(lowest, 1, _N_BENT))
    visible = fpr >= lowest
    return fpr[visible], tpr[visible]


def draw_chance(axes: "Axes", xscale: Scale, lowest: float) -> None:
    """Draw the line of scores without information over the whole axis."""
    ends = np.array([0.0, 1.0])
    path = path_on(xscale, ends, ends, _start_of(axes, lowest))
    drawing.draw_reference(axes, *path, "chance")


def _start_of(axes: "Axes", lowest: float) -> float:
    """Return where a logarithmic axis starts: lower where an earlier display has more normals."""
    return min(lowest, axes.get_xlim()[0]) if axes.get_xscale() == "log" else lowest


def set_rate_axes(axes: "Axes", xscale: Scale, lowest: float, step: float) -> None:
    """Set scale, limits and label of the false positive rate, and the limits of a rate.

    A logarithmic axis is shaded where rates rest on too few normals, each of which makes a step.
    """
    margin = 0.01
    axes.set(
        xscale=xscale,
        xlim=(_start_of(axes, lowest), 1) if xscale == "log" else (-margin, 1 + margin),
        ylim=(-margin, 1 + margin),
        xlabel="False positive rate",
    )
    if xscale == "log":
        drawing.shade_up_to(axes, min(FEW * step, 1.0), f"fewer than {FEW} normals")


def _mark(ranked: RankedScores, rate: Fraction) -> RocMark:
    tpr, threshold = ranked.tpr_at_fpr(fpr=rate), ranked.threshold_at_fpr(fpr=rate)
    bound = TPR_AT_FPR.bind(fpr=rate)
    unresolved, interval = bound.unresolved(ranked.counts), None
    if unresolved is not None:
        interval = FewNormals(ranked.counts, [bound], [tpr]).intervals[bound.key]
    return RocMark(float(rate), tpr, threshold, unresolved, interval)
