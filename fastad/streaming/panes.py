"""`Panes`: sketches of groups and lengths of time, of which the latest are kept."""

import threading
from collections import OrderedDict
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.types import IntVector
from fastad.errors import InvalidInputError
from fastad.streaming.points import StreamedPoints
from fastad.streaming.sketch import ScoreSketch, never_counted

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


class Panes:
    """Sketches by group and by the number of the pane, which rises with time.

    Attributes
    ----------
    latest : int or None
        The latest pane that had a point; it and those before it, ``n_panes`` in all, are kept.
    dropped : Dropped
        What came too late, and what made room.
    """

    def __init__(self, n_panes: int, memory: int, max_groups: int) -> None:
        self.n_panes = n_panes
        self.memory = memory
        self.max_groups = max_groups
        self.latest: int | None = None
        self.dropped = Dropped(0, 0, 0, 0)
        self._lock = threading.Lock()
        # The group with the latest change is the last one.
        self._groups: OrderedDict[Group | None, dict[int, ScoreSketch]] = OrderedDict()
        self._dtype: np.dtype[Any] | None = None

    @property
    def first(self) -> int | None:
        """The first pane that is kept."""
        return None if self.latest is None else self.latest + 1 - self.n_panes

    def listed(self) -> list[tuple[Group | None, list[tuple[int, ScoreSketch]]]]:
        """Return all groups with their panes."""
        with self._lock:
            return [(group, sorted(kept.items())) for group, kept in self._groups.items()]

    def put(self, group: Group | None, panes: dict[int, ScoreSketch]) -> None:
        """Put the panes of a group in, that of the latest change."""
        self._groups[group] = panes
        for sketch in panes.values():
            self._dtype = sketch.dtype

    def between(self, first: int, last: int, group: Group | None) -> list[tuple[int, ScoreSketch]]:
        """Return the panes of a group, or of all, between two of them, ends included."""
        with self._lock:
            groups = self._groups if group is None else [group]
            return [
                (pane, sketch)
                for each in groups
                for pane, sketch in self._groups.get(each, {}).items()
                if first <= pane <= last
            ]

    def count(self, points: StreamedPoints, panes: IntVector | int, group: Group | None) -> None:
        """Count points of one pane, or of a pane each."""
        parts = _by_pane(points, panes)
        with self._lock:
            self._expect(points.raw.dtype)
            self._slide_to(parts[-1][0])
            assert self.latest is not None
            first = self.latest + 1 - self.n_panes
            self._drop(points=sum(some.n_points for pane, some in parts if pane < first))
            parts = [(pane, some) for pane, some in parts if pane >= first]
            if not parts:
                return
            kept = self._groups.setdefault(group, {})
            self._groups.move_to_end(group)
            for pane, _ in parts:
                if pane not in kept:
                    kept[pane] = ScoreSketch(self.memory)
            counted = [(kept[pane], some) for pane, some in parts]
            self._make_room()
        # Threads wait for each other where they count in the same pane only.
        for sketch, some in counted:
            sketch.count_points(some)

    def label(self, points: StreamedPoints, panes: IntVector | int, group: Group | None) -> None:
        """Give labels to points of one pane, or of a pane each; all or none."""
        parts = _by_pane(points, panes)
        # One call at a time, so that what was checked is still there.
        with self._lock:
            self._expect(points.raw.dtype)
            first = -(2**63) if self.latest is None else self.latest + 1 - self.n_panes
            kept = self._groups.get(group)
            if kept is None and self.dropped.groups:
                self._drop(labels=points.n_points)
                return
            late = sum(some.n_points for pane, some in parts if pane < first)
            parts = [(pane, some) for pane, some in parts if pane >= first]
            empty = ScoreSketch(self.memory)
            labelled = [((kept or {}).get(pane, empty), some) for pane, some in parts]
            for sketch, some in labelled:
                unknown = sketch.unknown_points(some)
                if unknown.shape[0]:
                    raise never_counted(some, unknown)
            self._drop(labels=late)
            for sketch, some in labelled:
                sketch.label_points(some)
            if kept is not None:
                self._groups.move_to_end(group)

    def _expect(self, dtype: np.dtype[Any]) -> None:
        if self._dtype is not None and dtype != self._dtype:
            raise InvalidInputError(
                f"y_score must contain {self._dtype} as before; found {dtype}", argument="y_score"
            )
        self._dtype = dtype

    def _slide_to(self, pane: int) -> None:
        """Let the window end with a pane, if it is later than all before."""
        if self.latest is not None and pane <= self.latest:
            return
        self.latest = pane
        first = pane + 1 - self.n_panes
        for kept in self._groups.values():
            for old in [each for each in kept if each < first]:
                del kept[old]
        for group in [group for group, kept in self._groups.items() if not kept]:
            del self._groups[group]

    def _make_room(self) -> None:
        while len(self._groups) > self.max_groups:
            _, panes = self._groups.popitem(last=False)
            self._drop(groups=1, group_points=sum(each.n_points for each in panes.values()))

    def _drop(self, **numbers: int) -> None:
        old = self.dropped
        new = {name: getattr(old, name) + number for name, number in numbers.items()}
        self.dropped = old._replace(**new)


def _by_pane(points: StreamedPoints, panes: IntVector | int) -> list[tuple[int, StreamedPoints]]:
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
