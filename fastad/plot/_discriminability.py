"""Discriminability against the false positive rate."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from fastad._core.parameters import check_choice
from fastad._core.text_tables import count_text
from fastad._core.types import FloatVector
from fastad.benchmarking.operating_points import CriterionName, Discriminability, SelectedFpr
from fastad.benchmarking.pairwise_tests.pairs import CRITERIA
from fastad.errors import InvalidInputError
from fastad.plot import _drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

_SCALES = ("log", "linear")
# The picture is so many times as high as the mean and its critical value.
_ROOM = 2.2


class DiscriminabilityDisplay(_drawing.Display):
    """A criterion by false positive rate, its critical value, and the rates that it chooses.

    Parameters
    ----------
    found : Discriminability
        What `fastad.benchmarking.discriminability` returns.

    Attributes
    ----------
    found : Discriminability
        As given.
    ax_, figure_, lines_, line_
        Axes, figure, line of each curve, line of the first; once drawn.

    See Also
    --------
    fastad.benchmarking.discriminability : The numbers.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Choosing the operating threshold in evaluation of
       anomaly detection methods", 2020, section 2.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> from fastad.plot import DiscriminabilityDisplay
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(0)
    >>> results = fastad.ResultTable.from_arrays(
    ...     {f"tpr@{p}": rng.uniform(size=(4, 5, 10)) for p in (0.1, 0.2, 0.3)}
    ... )
    >>> found = fastad.benchmarking.discriminability(results, rng=0)
    >>> display = DiscriminabilityDisplay(found).plot(Figure().subplots(), criterion="welch-mean")
    >>> display.ax_.get_ylabel()
    'welch-mean of tpr'
    """

    def __init__(self, found: Discriminability) -> None:
        if not isinstance(found, Discriminability):
            raise TypeError(
                f"found must be a fastad.benchmarking.Discriminability; "
                f"found {type(found).__name__}"
            )
        self.found = found

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        criterion: CriterionName = "tukey-mean",
        dataset: str | None = None,
        xscale: Literal["log", "linear"] = "linear",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the criterion with its critical value, and mark the rates that it chooses.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        criterion : {"tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"}
            Which criterion.
        dataset : str, optional
            Name of a data set; by default the mean over all, with each one thin behind it.
        xscale : {"log", "linear"}, default "linear"
            Scale of the false positive rate.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the line, as ``Axes.plot`` takes them.

        Returns
        -------
        DiscriminabilityDisplay
            This display.

        Raises
        ------
        InvalidInputError
            If there is no such data set.
        MissingExtraError
            If matplotlib is not installed.
        """
        check_choice(criterion, CRITERIA, "criterion")
        check_choice(xscale, _SCALES, "xscale")
        curve, critical, chosen = self._curve(criterion, dataset)
        (axes,) = _drawing.open_axes(ax)
        rates = self.found.fpr
        name = dataset or f"mean of {count_text(len(self.found.pairwise_tests), 'data set')}"
        self.lines_ = _drawing.draw_detectors(axes, {name: (rates, curve)}, {name: name}, line_kw)
        of = "" if dataset is None else f" of {dataset}"
        _drawing.draw_reference(
            axes, rates, critical, f"critical value{of} (level {self.found.significance_level:g})"
        )
        others = self.found.pairwise_tests.values() if dataset is None else ()
        single = [one.criteria[criterion] for one in others]
        for i, one in enumerate(single if len(single) > 1 else ()):
            label = "" if i else "each data set"
            axes.plot(rates, one, color="0.8", linewidth=0.7, zorder=1, label=label)
        self._mark(axes, curve, chosen)
        # A data set without variance may lie a thousand times above the mean.
        mean = max((value for value in (*curve, *critical) if value > 0), default=1.0)
        highest = max((value for one in single for value in one if value > mean), default=mean)
        axes.set_ylim(0, float(min(1.1 * highest, _ROOM * mean)))
        axes.set(
            xscale=xscale,
            xlabel="False positive rate",
            ylabel=f"{criterion} of {self.found.measure}",
        )
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, "best")
        self.ax_, self.figure_ = axes, axes.figure
        return self

    def _mark(self, axes: "Axes", curve: FloatVector, chosen: SelectedFpr) -> None:
        """Mark the rates that are chosen, and write them beside their marks."""
        rates = self.found.fpr
        written = set()
        for rate, what, marker, side in (
            (chosen.optimal, "highest", "o", "bottom"),
            (chosen.lowest, "first above the critical value", "D", "top"),
        ):
            if math.isnan(rate):
                continue
            height = float(curve[list(rates).index(rate)])
            _drawing.draw_mark(axes, rate, height, self.line_, label=what, marker=marker)
            if rate not in written:
                right = rate > rates[0] + 0.7 * (rates[-1] - rates[0])
                options = {"ha": "right" if right else "left", "va": side}
                _drawing.draw_text(axes, rate, height, f"  {rate:g}  ", **options)
            written.add(rate)

    def _curve(
        self, criterion: CriterionName, dataset: str | None
    ) -> tuple[FloatVector, FloatVector, SelectedFpr]:
        if dataset is None:
            return *self.found.curve(criterion), self.found.averaged[criterion]
        if dataset not in self.found.pairwise_tests:
            raise InvalidInputError(
                f"dataset must be one of {', '.join(self.found.pairwise_tests)}; found {dataset!r}",
                argument="dataset",
            )
        one = self.found.pairwise_tests[dataset]
        test = criterion.partition("-")[0]
        return (
            one.criteria[criterion],
            one.critical_values[test],
            self.found.selected[dataset][criterion],
        )
