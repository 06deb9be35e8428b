"""Groups and panes of a `SlidingEvaluation`: what is kept, what was dropped, points by pane."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

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
    ahead : int
        Points that came too far ahead of the window.
    over_quota : int
        Points that came when their group had as many as it may have.
    """

    points: int = 0
    labels: int = 0
    groups: int = 0
    group_points: int = 0
    ahead: int = 0
    over_quota: int = 0


class Counted(NamedTuple):
    """What became of the points, or of the labels, of a batch.

    Attributes
    ----------
    counted : int
        Those that were counted.
    late : int
        Those whose pane had left the window.
    ahead : int
        Those too far ahead of the window.
    dropped : int
        Points beyond the quota of their group; labels whose points may have been dropped.
    """

    counted: int
    late: int = 0
    ahead: int = 0
    dropped: int = 0


@dataclass(slots=True)
class KeptGroup:
    """The panes of a group."""

    panes: dict[int, ScoreSketch]  # by the number of the pane
    # Whether points had been dropped that may have been of this group: labels that come now may
    # be theirs.
    after_drop: bool
    n_points: int = 0


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
            (dropped.ahead, "points came too far ahead of the window"),
            (dropped.over_quota, "points came beyond the quota of their group"),
        )
        if number
    ]


def stored_group(group: Group | None) -> Any:
    """Return the name of a group for JSON, which has no tuples and no integers of any size."""
    if isinstance(group, tuple):
        return [stored_group(part) for part in group]
    return {"hex": hex(group)} if isinstance(group, int) else group


def restored_group(stored: Any) -> Group | None:
    """Return the name of a group from JSON."""
    if isinstance(stored, list):
        return tuple(restored_group(part) for part in stored)  # type: ignore[misc]
    return int(stored["hex"], 16) if isinstance(stored, dict) else stored


def check_group(group: object) -> None:
    """Check the name of a group, which may be missing."""
    parts = group if isinstance(group, tuple) else (group,)
    if group is not None and not all(
        isinstance(part, str | int) and not isinstance(part, bool) for part in parts
    ):
        raise InvalidTypeError(
            f"group must be a string, an integer, or a tuple of these; found {short_repr(group)}"
        )
