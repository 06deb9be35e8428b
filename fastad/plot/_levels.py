"""What the pictures of curves without labels share: level sets by detector, legends, axes."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._arguments import check_choice
from fastad._frames import table_columns
from fastad._types import FloatVector, Point
from fastad.answers import shown_name
from fastad.errors import InvalidInputError
from fastad.plot import _data
from fastad.regions.box import Box
from fastad.regions.results import share_text
from fastad.unlabelled.criteria import Criteria
from fastad.unlabelled.extent import check_extent
from fastad.unlabelled.levels import LevelSets, level_sets_of_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

AxisScale = Literal["auto", "linear", "log"]
# What is drawn: numbers on a linear or logarithmic axis, or their logarithms where floats end.
Drawn = Literal["linear", "log", "log10"]
SCALES = ("auto", "linear", "log")
# What lies so far apart needs a logarithmic axis.
FAR_APART = 100.0
LOG_10 = math.log(10)
_SMALLEST, _LARGEST = math.log(np.finfo(np.float64).tiny), math.log(np.finfo(np.float64).max)
_MARGIN = 0.05

Band = TypeVar("Band")


def level_sets_by_name(
    y_score: Any,
    uniform_score: Any,
    volume: Point | Box | None,
    log_volume: Point | None,
) -> dict[str, LevelSets]:
    """Check the scores of one detector or several, and count what each level set holds."""
    box = check_extent(volume, log_volume)
    test, uniform = (
        _by_name(scores, name)
        for scores, name in ((y_score, "y_score"), (uniform_score, "uniform_score"))
    )
    if test.keys() != uniform.keys():
        raise InvalidInputError(
            "y_score and uniform_score must name the same detectors; found "
            f"{', '.join(test)} and {', '.join(uniform)}"
        )
    found = {}
    for name, scores in test.items():
        try:
            found[name] = level_sets_of_scores(scores, uniform[name], box)
        except InvalidInputError as error:
            shown = shown_name(name)
            message = str(error).replace("y_score", shown)
            message = message.replace("uniform_score", shown.replace("y_score", "uniform_score"))
            raise InvalidInputError(message) from None
    return found


def _by_name(scores: Any, argument: str) -> dict[str, npt.ArrayLike]:
    columns = table_columns(scores, argument)
    return {"score": scores} if columns is None else dict(columns)


def bands_by_name(bands: Any, kind: type[Band], curves: Mapping[str, object]) -> dict[str, Band]:
    """Return bands by detector; there may be none."""
    if bands is None or (isinstance(bands, Mapping) and not bands):
        return {}
    named = _data.by_name(bands, kind, "bands")
    if unknown := named.keys() - curves.keys():
        raise InvalidInputError(f"bands must be of detectors; found {sorted(unknown)}")
    return named


def values_by_name(values: Any) -> dict[str, Criteria] | None:
    """Return the criteria that are there already; there may be none."""
    if isinstance(values, Mapping) and not values:
        return {}
    return None if values is None else _data.by_name(values, Criteria, "values")


def number_text(logarithm: float) -> str:
    """Return a number that is not negative in three digits, from its natural logarithm."""
    return "undefined" if math.isnan(logarithm) else share_text(logarithm, 3)


def floats_hold(*logarithms: float) -> bool:
    """Tell whether floats of all digits hold numbers, from their natural logarithms."""
    return all(_SMALLEST < one < _LARGEST for one in logarithms)


def choose_scale(
    scale: AxisScale, name: str, *, far_apart: bool, held: bool, has_bands: bool
) -> Drawn:
    """Return what is drawn for what is asked.

    Parameters
    ----------
    scale : {"auto", "linear", "log"}
        As asked, checked.
    name : str
        Of that argument.
    far_apart : bool
        Whether a linear axis would hide most of the picture.
    held : bool
        Whether floats hold what is drawn.
    has_bands : bool
        Whether there are bands, which are floats.
    """
    if held:
        return ("log" if far_apart else "linear") if scale == "auto" else scale
    if scale == "linear":
        raise InvalidInputError(
            f"{name} must be 'auto' or 'log' where volumes lie beyond all floats; found 'linear'"
        )
    if has_bands:
        raise InvalidInputError(
            "bands must be of volumes that floats hold; found volumes beyond all floats"
        )
    return "log10"


def earlier_scale(axes: "Axes", axis: Literal["x", "y"], label: str, drawn: Drawn) -> Drawn | None:
    """Return the scale that an earlier display has set on axes; None if there is none.

    Raise where it shows numbers and this one their logarithms, or the other way round.
    """
    earlier = getattr(axes, f"get_{axis}label")()
    logarithm = log10_label(label)
    if earlier not in (label, logarithm):
        return None
    if (earlier == logarithm) != (drawn == "log10"):
        raise InvalidInputError(
            "ax must not hold volumes that floats hold beside such that they do not: draw all "
            "detectors at once"
        )
    if drawn == "log10":
        return drawn
    return "log" if getattr(axes, f"get_{axis}scale")() == "log" else "linear"


def log10_label(label: str) -> str:
    """Return the label of an axis that shows logarithms."""
    return f"log10 of {label[0].lower()}{label[1:]}"


def set_axis(
    axes: "Axes",
    axis: Literal["x", "y"],
    label: str,
    drawn: Drawn,
    limits: tuple[float, float],
    earlier: tuple[float, float] | None,
) -> None:
    """Set label, scale and limits of an axis, so that what was on it before stays in sight."""
    if earlier is not None and (drawn != "log" or earlier[0] > 0):
        limits = min(limits[0], earlier[0]), max(limits[1], earlier[1])
    settings: dict[str, Any] = {
        f"{axis}label": log10_label(label) if drawn == "log10" else label,
        f"{axis}scale": "log" if drawn == "log" else "linear",
        f"{axis}lim": limits,
    }
    # The limits are known: matplotlib would look for them, and warn where it finds none.
    axes.autoscale(enable=False, axis=axis)
    axes.set(**settings)


def with_margin(low: float, high: float, drawn: Drawn) -> tuple[float, float]:
    """Return limits that leave a little room around what is drawn."""
    if drawn == "log":
        room = _MARGIN * math.log(high / low) or 1.0
        return low * math.exp(-room), high * math.exp(room)
    room = _MARGIN * (high - low or abs(high) or 1.0)
    return low - room, high + room


def fill_between(
    axes: "Axes",
    x: FloatVector,
    low: FloatVector,
    high: FloatVector,
    line: "Line2D",
    kind: str,
) -> "FillBetweenPolyCollection":
    """Fill a band in the colour of its line; the legend names each kind once."""
    label = "_nolegend_" if kind in axes.get_legend_handles_labels()[1] else kind
    return axes.fill_between(
        x, low, high, color=line.get_color(), alpha=0.15, linewidth=0, label=label
    )


def check_scale(scale: AxisScale, name: str) -> None:
    """Check the scale of an axis."""
    check_choice(scale, SCALES, name)
