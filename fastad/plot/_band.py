"""Confidence bands around the curves of detectors."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from fastad._core.parameters import check_choice
from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError
from fastad.plot import _data
from fastad.uncertainty.bands import PrecisionRecallBand, RocBand

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import FillBetweenPolyCollection
    from matplotlib.lines import Line2D

BandKind = Literal["pointwise", "simultaneous"]
KINDS: tuple[BandKind, ...] = ("pointwise", "simultaneous")
AnyBand = TypeVar("AnyBand")


def is_simultaneous(band: BandKind) -> bool:
    """Check which kind of band is asked for."""
    return check_choice(band, KINDS, "band") == "simultaneous"


def of_detectors(
    bands: AnyBand | Mapping[str, AnyBand] | None, kind: type[AnyBand], curves: Mapping[str, object]
) -> dict[str, AnyBand]:
    """Return bands by detector; there may be none."""
    if bands is None or (isinstance(bands, Mapping) and not bands):
        return {}
    named = _data.by_name(bands, kind, "bands")
    if unknown := named.keys() - curves.keys():
        raise InvalidInputError(
            f"bands must be of detectors; found {sorted(unknown)}", argument="bands"
        )
    return named


def draw_band(
    axes: "Axes",
    band: RocBand | PrecisionRecallBand,
    x: FloatVector,
    line: "Line2D",
    lowest: float = 0.0,
) -> "FillBetweenPolyCollection":
    """Draw a band whose bounds are joined by straight lines.

    Points below the lowest that the axis shows are left out.
    """
    order = np.argsort(x, kind="stable")
    order = order[x[order] >= lowest]
    kind: BandKind = "simultaneous" if band.simultaneous else "pointwise"
    area = x[order], band.low[order], band.high[order]
    return fill_between(axes, area, line, kind, band.confidence_level)


def fill_between(
    axes: "Axes",
    area: tuple[FloatVector, FloatVector, FloatVector],
    line: "Line2D",
    kind: BandKind,
    confidence_level: float,
) -> "FillBetweenPolyCollection":
    """Fill what lies between two bounds in the colour of a line; the legend names each kind once.

    The area is made of places that do not fall, and the bounds there.
    """
    label = f"{100 * confidence_level:g}% {kind} band"
    if label in axes.get_legend_handles_labels()[1]:
        label = "_nolegend_"
    return axes.fill_between(*area, color=line.get_color(), alpha=0.15, linewidth=0, label=label)
