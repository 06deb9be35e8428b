"""Ranks of detectors with their intervals."""

from typing import TYPE_CHECKING, Any

import numpy as np

from fastad._core.parameters import check_type
from fastad._core.text_tables import level_text
from fastad.benchmarking.rank_inference import RankIntervals
from fastad.plot import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

_TIED, _OTHER = drawing.COLOURS[0], "0.45"


class RankIntervalsDisplay(drawing.Display):
    """The rank of each detector with its interval, the best at the top.

    Detectors that are tied with the best are coloured.

    Parameters
    ----------
    ranks : RankIntervals
        Result of `fastad.benchmarking.rank_intervals`.

    Attributes
    ----------
    ranks : RankIntervals
        The ranks.
    ax_, figure_, lines_, line_, intervals_
        Axes, figure, mark of each detector, mark of the best, lines of the intervals; once drawn.

    See Also
    --------
    fastad.benchmarking.rank_intervals : The numbers.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> from fastad.plot import RankIntervalsDisplay
    >>> from matplotlib.figure import Figure
    >>> values = np.random.default_rng(0).normal([0.9, 0.89, 0.8], 0.02, (12, 3))
    >>> results = fastad.ResultTable.from_arrays({"auc": values}, detectors=["knn", "lof", "svm"])
    >>> ranks = fastad.benchmarking.rank_intervals(results, rng=0)
    >>> display = RankIntervalsDisplay(ranks).plot(Figure().subplots())
    >>> [segment[:, 0].tolist() for segment in display.intervals_.get_segments()]
    [[1.0, 2.0], [1.0, 2.0], [3.0, 3.0]]
    """

    def __init__(self, ranks: RankIntervals) -> None:
        check_type(ranks, RankIntervals, "ranks", "a fastad.benchmarking.RankIntervals")
        self.ranks = ranks

    def plot(self, ax: "Axes | None" = None) -> "Self":
        """Draw ranks and intervals; return the display.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot, as high as the names need.
        """
        ranks, n = self.ranks, len(self.ranks.detectors)
        axes = drawing.open_axes(ax, size=ranks_size(n))
        rows = np.arange(n)
        colours: list[Any] = [_TIED if low == 1 else _OTHER for low in ranks.low]
        self.intervals_ = axes.hlines(rows, ranks.low, ranks.high, colors=colours, linewidth=2)
        self.lines_ = {
            name: axes.plot([ranks.rank[i]], [i], "o", color=colours[i], zorder=3)[0]
            for i, name in enumerate(ranks.detectors)
        }
        axes.set_yticks(rows, [drawing.plain_text(name) for name in ranks.detectors])
        level = level_text(ranks.confidence_level)
        axes.set(
            xlim=(0.5, n + 0.5),
            ylim=(n - 0.5, -0.5),
            xlabel=drawing.plain_text(f"rank by {ranks.measure}, all intervals at {level}"),
        )
        axes.locator_params(axis="x", integer=True)
        return self._finish(axes)


def ranks_size(n_detectors: int) -> drawing.Size:
    """Return width and height of a figure that has room for the names of detectors; inches."""
    return 6.4, 0.24 * n_detectors + 1.0
