"""Volumes of decision regions: by false positive rate, and by threshold."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import check_type
from fastad._core.text_tables import level_text
from fastad._core.types import ArrayLike, Points, Threshold
from fastad.detectors.compilation import scorer_of
from fastad.detectors.scorer import check_columns, check_samples
from fastad.plot import drawing
from fastad.plot.curves import CurvesDisplay
from fastad.plot.folds import name_of_estimator
from fastad.regions.at_fpr import Volumes, volumes
from fastad.regions.box import Box, box_of
from fastad.regions.curve import VolumeCurve, volume_curve
from fastad.regions.scores import block_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

# Fraction of the samples that scores below the lowest threshold of a curve.
_LOWEST = 0.1


class VolumeDisplay(drawing.Display):
    """VOL@FPR of one detector or several by the false positive rate, with its intervals.

    Parameters
    ----------
    volumes : Volumes
        Result of `fastad.volumes` for several rates.

    Attributes
    ----------
    volumes : Volumes
        The volumes.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.

    See Also
    --------
    fastad.volumes : The volumes.
    DecisionRegionDisplay : The regions themselves, in two dimensions.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, section 2.7.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> from fastad.plot import VolumeDisplay
    >>> from matplotlib.figure import Figure
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> detectors = {"round": lambda rows: np.hypot(*rows.T)}
    >>> volumes = fastad.volumes(detectors, X, np.zeros(500), fpr=[0.01, 0.05, 0.2], rng=0)
    >>> VolumeDisplay(volumes).plot(Figure().subplots()).line_.get_label()
    'round'
    """

    def __init__(self, volumes: Volumes) -> None:
        check_type(volumes, Volumes, "volumes", "a fastad.regions.Volumes")
        self.volumes = volumes

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y_true: ArrayLike,
        *,
        fpr: Points,
        name: str | None = None,
        volume_kw: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Self":
        """Estimate the volumes of a fitted detector, and draw them.

        Parameters
        ----------
        estimator : estimator
            Fitted detector, as `fastad.volumes` takes it.
        X : array-like of shape (n_samples, n_features)
            Points whose scores give the thresholds; finite numbers.
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        fpr : sequence of floats
            False positive rates.
        name : str, optional
            Name of the detector in the legend; by default the name of its class.
        volume_kw : mapping of str, optional
            Options of `fastad.volumes`: ``box``, ``n_draws``, ``rng``, ….
        **options
            As `plot` takes them.

        Raises
        ------
        UndefinedMeasureError
            If there are no normal samples.
        """
        shown = name or name_of_estimator(estimator)
        return cls(volumes({shown: estimator}, X, y_true, fpr=fpr, **(volume_kw or {}))).plot(
            **options
        )

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the volumes, and their intervals beside the lines; return the display.

        Of a volume that is only bounded, the interval alone is drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        order = np.argsort(self.volumes.fpr)
        rates = np.array(self.volumes.fpr)[order]
        estimates = {
            name: [list(by_rate.values())[i] for i in order]
            for name, by_rate in self.volumes.items()
        }
        axes = drawing.open_axes(ax, estimates, 1)
        paths = {
            # A mere bound has its interval, and no value.
            name: (rates, np.array([math.nan if x.is_bound else x.value for x in volumes]))
            for name, volumes in estimates.items()
        }
        # Marks show a value between bounds, or of a single rate, which no line goes to.
        self.lines_ = drawing.draw_detectors(axes, paths, {"marker": ".", **(line_kw or {})})
        for name, line in self.lines_.items():
            low = np.array([volume.low for volume in estimates[name]])
            high = np.array([volume.high for volume in estimates[name]])
            label = f"{level_text(estimates[name][0].confidence_level)} intervals"
            drawing.fill_area(axes, (rates, low, high), line, label)
        # A rate of 0 is not shown.
        axes.set(xscale="log", xlabel="False positive rate", ylabel="Volume (fraction of the box)")
        return self._finish(axes, legend="upper right" if legend else None)


class VolumeCurveDisplay(CurvesDisplay[VolumeCurve]):
    """Volume of the region below each threshold, of one detector or several, with intervals.

    The volume is the logarithm to base 10 of its fraction of the box, which may be too small for a
    float.

    Parameters
    ----------
    curves : VolumeCurve or mapping of str to VolumeCurve
        The curve of one detector, or curves by the names of detectors.

    Attributes
    ----------
    curves : dict of str to VolumeCurve
        Curves by detector.
    ax_, figure_, lines_, line_
        Axes, figure, line of each detector, line of the first; once drawn.

    See Also
    --------
    fastad.regions.volume_curve : The curve.
    VolumeDisplay : Volumes by false positive rate.

    References
    ----------
    .. [1] F. Cérou and A. Guyader, "Adaptive multilevel splitting for rare event analysis", 2007.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import VolumeCurveDisplay
    >>> from matplotlib.figure import Figure
    >>> box = fastad.Box([-1] * 4, [1] * 4)
    >>> curve = fastad.regions.volume_curve(
    ...     lambda X: (X**2).sum(axis=1), 1e-4, box, n_draws=50_000, rng=0
    ... )
    >>> VolumeCurveDisplay({"distance": curve}).plot(Figure().subplots()).ax_.get_ylabel()
    'Volume (log₁₀ of the fraction of the box)'
    """

    _curve_type = VolumeCurve

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        *,
        threshold: Threshold | None = None,
        box: Box | None = None,
        name: str | None = None,
        volume_kw: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "Self":
        """Estimate the curve of a fitted detector, and draw it.

        Parameters
        ----------
        estimator : estimator
            Fitted detector, as `fastad.regions.volume_curve` takes it.
        X : array-like of shape (n_samples, n_features)
            Points for the default threshold and the default box; finite numbers.
        threshold : float, optional
            Lowest threshold; by default a tenth of X scores below it.
        box : Box, optional
            Box in which points are drawn; by default the box of X.
        name : str, optional
            Name of the detector in the legend; by default the name of its class.
        volume_kw : mapping of str, optional
            Options of `fastad.regions.volume_curve`: ``n_draws``, ``rng``, ….
        **options
            As `plot` takes them.
        """
        samples = check_samples(X, None)
        check_columns(estimator, X, "the estimator")
        region = box_of(samples, box)
        scorer = scorer_of(estimator, "detector") or estimator
        if threshold is None:
            scores = block_score(scorer, region.n_features).of_rows(samples)
            threshold = float(np.quantile(scores, _LOWEST))
        curve = volume_curve(scorer, threshold, region, **(volume_kw or {}))
        return cls({name or name_of_estimator(estimator): curve}).plot(**options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the curves, each volume with an interval by itself; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.
        """
        axes = drawing.open_axes(ax, self.curves, 1)
        unit = math.log(10)
        paths = {
            name: (curve.threshold, np.where(curve.is_bound, np.nan, curve.log_fraction) / unit)
            for name, curve in self.curves.items()
        }
        self.lines_ = drawing.draw_detectors(axes, paths, line_kw)
        for name, line in self.lines_.items():
            curve = self.curves[name]
            # A volume without a lower bound: down to the lowest end of the others.
            low = np.where(np.isneginf(curve.log_low), np.nan, curve.log_low)
            low = np.where(np.isnan(low), np.nanmin([*low, curve.log_fraction[-1]]), low)
            label = f"{level_text(curve.confidence_level)}, each volume by itself"
            area = curve.threshold, low / unit, curve.log_high / unit
            drawing.fill_area(axes, area, line, label)
        axes.set(xlabel="Threshold", ylabel="Volume (log₁₀ of the fraction of the box)")
        return self._finish(axes, legend="lower right" if legend else None)
