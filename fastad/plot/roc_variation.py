"""Mean and standard deviation of many ROC curves, and of TPR / FPR."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import check_rows
from fastad._core.frames import table_columns
from fastad._core.parameters import check_choice
from fastad._core.types import ArrayLike, FloatVector, Label
from fastad.detectors.orientation import ResponseMethod
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.evaluation.groups import labels_by_group
from fastad.measures.results import RocCurve
from fastad.measures.roc import ROC_CURVE
from fastad.ordering.counts import count_scores
from fastad.ordering.groups import make_groups
from fastad.ordering.labels import (
    check_labels,
    check_scores,
    named_scores,
    refuse_missing_scores,
    score_name,
)
from fastad.plot import drawing
from fastad.plot.curves import LabelledDisplay, by_name, read_size, step_of
from fastad.plot.folds import fold_scores, values_of
from fastad.plot.roc import SCALES, Scale, draw_chance, set_rate_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from typing_extensions import Self

Curves = Mapping[str, Sequence[RocCurve]]
_N_GRID = 400


@dataclass(frozen=True, slots=True, eq=False)
class RocVariation:
    """Mean and standard deviation of ROC curves at common false positive rates.

    Attributes
    ----------
    fpr : numpy.ndarray of shape (n_points,)
        False positive rates, increasing from 0 to 1.
    mean, std : numpy.ndarray of shape (n_points,)
        Mean and sample standard deviation (n - 1) of the true positive rates of the interpolated
        curves; divided by ``fpr``, of TPR / FPR.
    n_runs : int
        Number of curves.
    """

    fpr: FloatVector
    mean: FloatVector
    std: FloatVector
    n_runs: int


class RocVariationDisplay(LabelledDisplay, drawing.Display):
    """Mean ROC curve of many runs with one standard deviation, and the same of TPR / FPR.

    The second axes show why `fastad.weighted_auc`, which integrates TPR / FPR, is noisy: at
    low false positive rates the ratio deviates most.

    Parameters
    ----------
    curves : sequence of RocCurve, or mapping of str to sequence of RocCurve
        The curves of at least two runs, such as folds, of one detector or by detector.
    n_normals : float, optional
        Number of normal samples in a run, the smallest if they differ: axes start at the false
        positive rate of one sample. By default one over the smallest step of the curves.

    Attributes
    ----------
    variations : dict of str to RocVariation
        Mean and deviation by detector.
    step : float
        False positive rate of one normal sample.
    lowest : float
        Where a logarithmic axis starts: the step, at most 0.5.
    ax_, figure_, lines_, line_
        Axes of the true positive rate, figure, line of each detector, line of the first; once
        drawn.
    bands_ : dict of str to matplotlib.collections.FillBetweenPolyCollection
        One standard deviation around each line.
    ratio_ax_ : matplotlib.axes.Axes or None
        Axes of TPR / FPR.
    ratio_lines_ : dict of str to matplotlib.lines.Line2D
        The line of each detector there.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, figure 5.

    Examples
    --------
    >>> import fastad
    >>> from fastad.plot import RocVariationDisplay
    >>> from matplotlib.figure import Figure
    >>> labels = [0, 0, 1, 1]
    >>> folds = [fastad.roc_curve(labels, s) for s in ([1, 3, 2, 4], [1, 2, 3, 4])]
    >>> display = RocVariationDisplay({"knn": folds}).plot(Figure().subplots())
    >>> float(display.variations["knn"].mean[0])
    0.75
    """

    ratio_ax_: "Axes | None"
    ratio_lines_: "dict[str, Any]"
    bands_: "dict[str, FillBetweenPolyCollection]"

    def __init__(
        self, curves: Sequence[RocCurve] | Curves, *, n_normals: float | None = None
    ) -> None:
        runs = _by_detector(curves)
        rates = [curve.fpr for repeated in runs.values() for curve in repeated]
        self.step = step_of(read_size(n_normals, "n_normals"), rates)
        # Runs with a single normal sample still need an axis of some length.
        self.lowest = min(self.step, 0.5)
        # Evenly spaced on either axis.
        spaced = np.geomspace(self.lowest, 1, _N_GRID), np.linspace(0, 1, _N_GRID)
        grid = np.union1d(*spaced)
        self.variations = {name: _vary(repeated, grid) for name, repeated in runs.items()}

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike] | Any,
        *,
        groups: ArrayLike | Mapping[str, ArrayLike] | Any,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
        ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None,
        xscale: Scale = "log",
        chance: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Compute a curve for each run of one detector or several, and draw their variation.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            1 for an anomaly, 0 for a normal sample, or booleans.
        y_score : array-like of shape (n_samples,) or (n_detectors, n_samples), mapping, or table
            Anomaly scores, higher is more anomalous, as `fastad.evaluate` takes them.
        groups : array-like of shape (n_samples,), mapping, or table
            Run of each row, such as its fold, or several columns, as `fastad.evaluate` takes
            them.
        sample_weight, pos_label
            As `fastad.evaluate` takes them.
        ax, xscale, chance, legend, line_kw
            As `plot` takes them.

        Raises
        ------
        InvalidInputError
            If there is one run only.
        UndefinedMeasureError
            If a class is absent from a run; the message names it.

        Examples
        --------
        >>> from fastad.plot import RocVariationDisplay
        >>> from matplotlib.figure import Figure
        >>> display = RocVariationDisplay.from_predictions(
        ...     [0, 0, 1, 1, 0, 0, 1, 1],
        ...     [1, 3, 2, 4, 1, 2, 3, 4],
        ...     groups=[0, 0, 0, 0, 1, 1, 1, 1],
        ...     ax=Figure().subplots(2),
        ... )
        >>> display.variations["score"].n_runs
        2
        """
        runs, n_normals = _curves_of_runs(y_true, y_score, groups, sample_weight, pos_label)
        display = cls(runs, n_normals=n_normals)
        return display.plot(ax, xscale=xscale, chance=chance, legend=legend, line_kw=line_kw)

    @classmethod
    def from_cv_results(
        cls,
        cv_results: Mapping[str, Any],
        X: Any,
        y: ArrayLike,
        *,
        response_method: ResponseMethod = "auto",
        pos_label: Label | None = None,
        name: str = "score",
        **options: Any,
    ) -> "Self":
        """Draw the variation over the test folds of a cross-validation.

        Parameters
        ----------
        cv_results, X, y, response_method, pos_label
            As `RocCurveDisplay.from_cv_results` takes them.
        name : str, default "score"
            Name of the detector in the legend.
        **options
            As `from_predictions` takes them; ``groups`` are the folds.

        Raises
        ------
        InvalidInputError
            If there is one fold only.
        UndefinedMeasureError
            If a class is absent from a fold.
        """
        weight = options.pop("sample_weight", None)
        check_rows({"y": y, "sample_weight": weight, "X": X})
        folds = fold_scores(cv_results, X, response_method, pos_label).values()
        rows = np.concatenate([tested for tested, _ in folds])
        return cls.from_predictions(
            values_of(y, rows, "y"),
            {name: np.concatenate([scores for _, scores in folds])},
            groups={"fold": np.repeat(range(len(folds)), [len(scores) for _, scores in folds])},
            sample_weight=None if weight is None else values_of(weight, rows, "sample_weight"),
            pos_label=pos_label,
            **options,
        )

    def plot(
        self,
        ax: "Axes | Sequence[Axes] | npt.NDArray[Any] | None" = None,
        *,
        xscale: Scale = "log",
        chance: bool = True,
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw means and bands of one standard deviation; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or two of them, optional
            Where to draw the true positive rate and, if there are two, TPR / FPR; by default
            two in a new figure of pyplot.
        xscale : {"log", "linear"}, default "log"
            Axis of the false positive rate.
        chance : bool, default True
            Whether to draw the lines of scores without information.
        legend : bool, default True
            Whether to draw the legend; outside the axes if it is long or would cover a line.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Raises
        ------
        InvalidInputError
            If ``ax`` contains neither one nor two axes.
        """
        check_choice(xscale, SCALES, "xscale")
        # The line of chance and the shade of a logarithmic axis.
        n_more = 1 + (xscale == "log")
        axes = drawing.open_panels(ax, (1, 2), n_rows=len(self.variations) + n_more)
        if chance:
            draw_chance(axes[0], xscale, self.lowest)
        start = self.lowest if xscale == "log" else 0.0
        self.lines_, self.bands_ = self._draw(axes[0], xscale, start, line_kw)
        axes[0].set_ylabel("True positive rate, mean ± std")
        self.ratio_ax_, self.ratio_lines_ = None, {}
        if len(axes) == 2:
            self._draw_ratio(axes[1], xscale, chance=chance, line_kw=line_kw)
        return self._finish(axes[0], legend="lower right" if legend else None)

    def _draw_ratio(
        self, axes: "Axes", xscale: Scale, *, chance: bool, line_kw: Mapping[str, Any] | None
    ) -> None:
        """Draw TPR / FPR from the false positive rate of one normal sample on."""
        if chance:
            drawing.draw_reference(axes, [0.0, 1.0], [1.0, 1.0], "chance")
        self.ratio_ax_ = axes
        self.ratio_lines_, _ = self._draw(axes, xscale, self.lowest, line_kw, ratio=True)
        highest = max(
            float(((one.mean + one.std)[shown] / one.fpr[shown]).max())
            for one in self.variations.values()
            for shown in [one.fpr >= self.lowest]
        )
        axes.set(yscale="log", ylim=(0.7, max(1.5 * highest, 2)), ylabel="TPR / FPR, mean ± std")
        axes.grid(alpha=0.3)

    def _draw(
        self,
        axes: "Axes",
        xscale: Scale,
        start: float,
        line_kw: Mapping[str, Any] | None,
        *,
        ratio: bool = False,
    ) -> "tuple[dict[str, Any], dict[str, FillBetweenPolyCollection]]":
        """Draw means and bands from a false positive rate on."""
        paths, areas, labels = {}, {}, {}
        for name, variation in self.variations.items():
            shown = variation.fpr >= start
            fpr = variation.fpr[shown]
            unit = fpr if ratio else 1.0
            mean, std = variation.mean[shown] / unit, variation.std[shown] / unit
            paths[name], areas[name] = (fpr, mean), (fpr, mean - std, mean + std)
            labels[name] = f"{name} ({variation.n_runs} runs)"
        lines = drawing.draw_detectors(axes, paths, line_kw, labels)
        bands = {name: drawing.fill_area(axes, areas[name], line) for name, line in lines.items()}
        set_rate_axes(axes, xscale, self.lowest, self.step)
        return lines, bands


def _by_detector(curves: Any) -> dict[str, list[RocCurve]]:
    named = curves if isinstance(curves, Mapping) else {"score": curves}
    runs: dict[str, list[RocCurve]] = {}
    for name, repeated in named.items():
        if not isinstance(repeated, Sequence):
            raise InvalidTypeError(
                "curves must be sequences of RocCurve; "
                f"found {type(repeated).__name__} for {name!r}"
            )
        numbered = {f"{name}[{i}]": curve for i, curve in enumerate(repeated)}
        if len(numbered) < 2:
            raise InvalidInputError(
                f"curves must be of at least two runs; found {len(numbered)} for {name!r}"
            )
        runs[str(name)] = list(by_name(numbered, RocCurve, "curves").values())
    if not runs:
        raise InvalidInputError("curves must contain at least one detector; found none")
    return runs


def _vary(curves: Sequence[RocCurve], grid: FloatVector) -> RocVariation:
    # On a vertical piece, np.interp gives the upper end, as tpr_at_fpr does.
    tpr = np.array([np.interp(grid, curve.fpr, curve.tpr) for curve in curves])
    return RocVariation(grid, tpr.mean(axis=0), tpr.std(axis=0, ddof=1), len(curves))


def _curves_of_runs(
    y_true: ArrayLike,
    y_score: Any,
    groups: Any,
    sample_weight: ArrayLike | None,
    pos_label: Label | None,
) -> tuple[dict[str, list[RocCurve]], float | None]:
    """Return the curves of each detector, and the smallest number of normals in a run."""
    labels = check_labels(y_true, sample_weight=sample_weight, pos_label=pos_label)
    detectors = named_scores(y_score, labels.row_index)
    columns = dict(table_columns(groups, "groups") or [("group", groups)])
    runs = make_groups(columns, labels)
    parts = list(labels_by_group(labels, runs))
    curves: dict[str, list[RocCurve]] = {}
    sizes: list[float] = []
    is_known = True
    for name, values in detectors:
        scores = check_scores(values, labels, name=score_name(name))
        if scores.dtype.kind == "f" and np.isnan(scores).any():
            # Here, because a single run would not tell how many there are.
            refuse_missing_scores(scores, labels, score_name(name))
        scores = runs.arrange(scores)
        curves[name] = []
        for i, (rows, part) in enumerate(zip(runs.slices(), parts, strict=True)):
            counts = count_scores(scores[rows], part, score_name(name))
            try:
                curves[name].append(ROC_CURVE.compute(counts, drop_collinear=False))
            except UndefinedMeasureError as error:
                run = ", ".join(f"{column} {of[i]!r}" for column, of in runs.columns.items())
                raise UndefinedMeasureError(f"{error}, in the run of {run}") from None
            sizes.append(float(counts.n_normals))
            is_known = is_known and counts.weighting != "real"
    return curves, min(sizes) if is_known else None
