"""Groups and panes of a `SlidingEvaluation`: what is kept, what was dropped, points by pane."""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import IntVector
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming.sketches.checks import StreamedPoints
from fastad.streaming.sketches.sketch import ScoreSketch, never_counted

Group: TypeAlias = str | int | tuple[str | int, ...]


class Dropped(NamedTuple):
    """Points that a `SlidingEvaluation` did not count, or no longer has.

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
    """Outcome of a batch of points, or of labels.

    Attributes
    ----------
    counted : int
        Points, or labels, that were counted.
    late : int
        Points, or labels, whose pane had left the window.
    ahead : int
        Points, or labels, too far ahead of the window.
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


class Limits(NamedTuple):
    """Limits of the memory of a `SlidingEvaluation`."""

    pane: int  # length of a pane in microseconds
    n_panes: int
    memory: int  # bytes of a pane
    max_groups: int
    max_ahead: int  # microseconds
    max_group_points: int | None


class GroupedPanes:
    """Sketches of the points of each group and pane; the lock is its owner's."""

    __slots__ = ("dropped", "dtype", "empty", "groups", "latest", "limits", "unread")

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # The latest pane that had a point; it and those before it, `n_panes` in all, are kept.
        self.latest: int | None = None
        self.dropped = Dropped()
        # The group with the latest change is the last one.
        self.groups: OrderedDict[Group | None, KeptGroup] = OrderedDict()
        # In place of a pane without points; nothing is added to it.
        self.empty = ScoreSketch(limits.memory)
        # Sketches that no reader has. Those that readers have are never changed, but copied before:
        # so readers see one moment and take their time, and nobody waits for them.
        self.unread: set[ScoreSketch] = set()
        self.dtype: np.dtype[Any] | None = None

    @property
    def first_kept(self) -> int | None:
        """The first pane that is kept."""
        return None if self.latest is None else self.latest + 1 - self.limits.n_panes

    def read(self, first: int, last: int, group: Group | None) -> list[tuple[int, ScoreSketch]]:
        """Return the sketches of a range of panes, each with its age in panes."""
        chosen = [
            (last - pane, sketch)
            for name, kept in self.groups.items()
            if group in (None, name)
            for pane, sketch in kept.panes.items()
            if first <= pane <= last
        ]
        self.unread.difference_update(sketch for _, sketch in chosen)
        return chosen

    def advance(self, pane: int) -> None:
        """Let the window end with a pane, unless it ends later."""
        if self.latest is None or pane > self.latest:
            self._slide_to(pane)

    def count(self, parts: Sequence[tuple[int, StreamedPoints]], group: Group | None) -> Counted:
        """Count points of one pane, or of a pane each; all or, where they are refused, none."""
        self._expect(parts[0][1].raw.dtype)
        latest = self._latest_with(parts)
        first = latest + 1 - self.limits.n_panes
        kept = self._kept(group)
        inside: list[tuple[int, StreamedPoints]] = []
        late = ahead = n_points = 0
        for pane, some in parts:
            n_some = some.n_points
            if pane < first:
                late += n_some
            elif pane > latest:
                ahead += n_some
            else:
                kept.panes.get(pane, self.empty).check_room(n_some)
                inside.append((pane, some))
                n_points += n_some
        if late or ahead:
            self._drop(points=late, ahead=ahead)
        if not inside:
            return Counted(0, late, ahead)
        self._slide_to(latest)
        self.dtype = parts[0][1].raw.dtype
        if kept.n_points + n_points > (self.limits.max_group_points or math.inf):
            self._drop(over_quota=n_points)
            kept.after_drop = True
            return Counted(0, late, ahead, n_points)
        self.groups[group] = kept
        self.groups.move_to_end(group)
        for pane, some in inside:
            self._to_change(kept, pane).count_points(some)
        kept.n_points += n_points
        self._make_room()
        return Counted(n_points, late, ahead)

    def _latest_with(self, parts: Sequence[tuple[int, StreamedPoints]]) -> int:
        """Return the latest pane after a batch, no pane too far ahead of the one before."""
        latest = self.latest
        if latest is None:
            numbers = np.cumsum([some.n_points for _, some in parts])
            latest = parts[int(np.searchsorted(numbers, (numbers[-1] + 1) // 2))][0]
        for pane, _ in parts:
            if (pane - latest) * self.limits.pane <= self.limits.max_ahead:
                latest = max(latest, pane)
        return latest

    def _kept(self, group: Group | None) -> KeptGroup:
        """Return a group, or one that begins."""
        kept = self.groups.get(group)
        if kept is None:
            kept = KeptGroup({}, self.dropped.groups > 0 or self.dropped.over_quota > 0)
        return kept

    def label(self, parts: Sequence[tuple[int, StreamedPoints]], group: Group | None) -> Counted:
        """Give labels to points of one pane, or of a pane each; all or none."""
        self._expect(parts[0][1].raw.dtype)
        first, latest = self.first_kept, self.latest
        kept = self._kept(group)
        labelled: list[tuple[int, StreamedPoints]] = []
        late = ahead = gone = 0
        for pane, some in parts:
            if first is not None and pane < first:
                late += some.n_points
                continue
            if latest is not None and (pane - latest) * self.limits.pane > self.limits.max_ahead:
                ahead += some.n_points
                continue
            unknown = kept.panes.get(pane, self.empty).unknown_points(some)
            if unknown.shape[0]:
                if not kept.after_drop:
                    raise never_counted(some, unknown)
                waiting = some.keep(np.delete(np.arange(some.kinds.shape[0]), unknown))
                gone += some.n_points - waiting.n_points
                some = waiting
            if some.kinds.shape[0]:
                labelled.append((pane, some))
        self._drop(labels=late + ahead + gone)
        for pane, some in labelled:
            self._to_change(kept, pane).label_points(some)
        if group in self.groups:
            self.groups.move_to_end(group)
        return Counted(sum(some.n_points for _, some in labelled), late, ahead, gone)

    def _expect(self, dtype: np.dtype[Any]) -> None:
        if self.dtype is not None and dtype != self.dtype:
            raise InvalidInputError(f"y_score must contain {self.dtype} as before; found {dtype}")

    def _to_change(self, kept: KeptGroup, pane: int) -> ScoreSketch:
        """Return the sketch of a pane, new or a copy of one that somebody reads."""
        sketch = kept.panes.get(pane)
        if sketch is None or sketch not in self.unread:
            sketch = ScoreSketch(self.limits.memory) if sketch is None else sketch.copy()
            kept.panes[pane] = sketch
            self.unread.add(sketch)
        return sketch

    def _slide_to(self, latest: int) -> None:
        """Let the window end with a pane, which is not before the latest one."""
        if latest == self.latest:
            return
        self.latest = latest
        first = latest + 1 - self.limits.n_panes
        for kept in self.groups.values():
            for old in [each for each in kept.panes if each < first]:
                sketch = kept.panes.pop(old)
                kept.n_points -= int(sketch.n_points)
                self.unread.discard(sketch)
        for group in [group for group, kept in self.groups.items() if not kept.panes]:
            del self.groups[group]

    def _make_room(self) -> None:
        """Drop the smallest group but the last one, which has just begun."""
        if len(self.groups) > self.limits.max_groups:
            others = islice(self.groups.items(), len(self.groups) - 1)
            smallest, kept = min(others, key=lambda item: item[1].n_points)
            del self.groups[smallest]
            self.unread.difference_update(kept.panes.values())
            self._drop(groups=1, group_points=kept.n_points)

    def _drop(self, **numbers: int) -> None:
        old = self.dropped
        new = {name: getattr(old, name) + number for name, number in numbers.items()}
        self.dropped = old._replace(**new)


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
