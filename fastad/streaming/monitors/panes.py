"""Groups and panes of a `SlidingEvaluation`: what is kept, what was dropped, points by pane."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import IntVector
from fastad.errors import InvalidTypeError
from fastad.streaming.sketches.checks import StreamedPoints
from fastad.streaming.sketches.sketch import ScoreSketch

Group: TypeAlias = str | int | tuple[str | int, ...]


class Dropped(NamedTuple):
    """What a `SlidingEvaluation` could not count, or no longer has.

    Attributes
    ----------
    points : int
        Points that came when their pane had left the window.
    labels : int
        Labels that came when their pane had left the window, or their group had been dropped.
    groups : int
        Groups that made room for others.
    group_points : int
        Points of these groups.
    """

    points: int
    labels: int
    groups: int
    group_points: int


class KeptGroup(NamedTuple):
    """The panes of a group."""

    panes: dict[int, ScoreSketch]  # by the number of the pane
    # Whether groups had been dropped when it began: then it may have been one of them, and the
    # points of labels that come now may be gone.
    after_drop: bool


def by_pane(points: StreamedPoints, panes: IntVector | int) -> list[tuple[int, StreamedPoints]]:
    """Return the points of each pane, in the order of time."""
    if isinstance(panes, int):
        return [(panes, points)]
    first = int(panes[0])
    if np.all(panes == first):
        return [(first, points)]
    order = np.argsort(panes, kind="stable")
    ordered = panes[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = [*starts[1:].tolist(), order.shape[0]]
    return [
        (int(ordered[start]), points.part(order[start:end]))
        for start, end in zip(starts.tolist(), ends, strict=True)
    ]


def notes_on(dropped: Dropped) -> Sequence[str]:
    """Return notes on dropped points, labels and groups."""
    return [
        f"{number} {what}"
        for number, what in (
            (dropped.points, "points came when their pane had left the window"),
            (dropped.labels, "labels came when their points had left"),
            (dropped.groups, f"groups, of {dropped.group_points} points, made room for others"),
        )
        if number
    ]


def check_group(group: object) -> None:
    """Check the name of a group, which may be missing."""
    parts = group if isinstance(group, tuple) else (group,)
    if group is not None and not all(
        isinstance(part, str | int) and not isinstance(part, bool) for part in parts
    ):
        raise InvalidTypeError(
            f"group must be a string, an integer, or a tuple of these; found {short_repr(group)}",
            argument="group",
        )
