"""The volume of decision regions against the false positive rate."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastad._core.parameters import check_choice
from fastad.plot import _drawing
from fastad.regions.at_fpr import Volumes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from typing_extensions import Self

_SCALES = ("log", "linear")


class VolumeDisplay(_drawing.Display):
    """VOL@FPR of one detector or several by the false positive rate, with its intervals.

    Parameters
    ----------
    volumes : Volumes
        What `fastad.volumes` returns for several rates.

    Attributes
    ----------
    volumes : Volumes
        As given.
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
    >>> scores = {"round": lambda rows: np.hypot(*rows.T)}
    >>> found = fastad.volumes(scores, X, np.zeros(500), fpr=[0.01, 0.05, 0.2], rng=0)
    >>> VolumeDisplay(found).plot(Figure().subplots()).line_.get_label()
    'round'
    """

    def __init__(self, volumes: Volumes) -> None:
        if not isinstance(volumes, Volumes):
            raise TypeError(
                f"volumes must be a fastad.regions.Volumes; found {type(volumes).__name__}"
            )
        self.volumes = volumes

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        xscale: Literal["log", "linear"] = "log",
        legend: bool = True,
        line_kw: Mapping[str, Any] | None = None,
    ) -> "Self":
        """Draw the volumes, and their intervals beside the lines.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure of pyplot.
        xscale : {"log", "linear"}, default "log"
            Scale of the false positive rate.
        legend : bool, default True
            Whether to draw the legend.
        line_kw : mapping of str, optional
            Properties of the detectors' lines, as ``Axes.plot`` takes them.

        Returns
        -------
        VolumeDisplay
            This display.

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        check_choice(xscale, _SCALES, "xscale")
        order = np.argsort(self.volumes.fpr)
        rates = np.array(self.volumes.fpr)[order]
        found = {
            name: [list(estimates.values())[place] for place in order]
            for name, estimates in self.volumes.items()
        }
        (axes,) = _drawing.open_axes(ax, n_rows=_drawing.count_rows(list(found)))
        self.lines_ = _drawing.draw_detectors(
            axes,
            {name: (rates, np.array([one.value for one in own])) for name, own in found.items()},
            {name: name for name in found},
            line_kw,
        )
        for name, line in self.lines_.items():
            low, high = ([getattr(one, end) for one in found[name]] for end in ("low", "high"))
            axes.fill_between(rates, low, high, color=line.get_color(), alpha=0.2, linewidth=0)
        axes.set(xscale=xscale, xlabel="False positive rate", ylabel="Volume (share of the box)")
        axes.grid(alpha=0.3)
        if legend:
            _drawing.draw_legend(axes, "upper right")
        self.ax_, self.figure_ = axes, axes.figure
        return self
