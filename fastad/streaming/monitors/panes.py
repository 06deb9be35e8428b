"""`Panes`: sketches of groups and lengths of time, of which the latest are kept."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.locks import StateLock
from fastad._core.types import IntVector
from fastad.errors import InvalidInputError
from fastad.streaming.sketches.checks import StreamedPoints
from fastad.streaming.sketches.sketch import ScoreSketch, never_counted

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


class PanesState(NamedTuple):
    """All that is kept at one moment; groups in the order of their latest change."""

    latest: int | None
    dropped: Dropped
    groups: list[tuple[Group | None, KeptGroup]]


class PanesWindow(NamedTuple):
    """Some panes at one moment."""

    first: int  # first pane of the window
    first_kept: int | None  # the first pane that is kept
    # Numbers of points and labels that came too late, and of groups that were dropped.
    dropped: Dropped
    # Those that have points, each with how many panes it lies before the window's last one.
    sketches: list[tuple[int, ScoreSketch]]


class Panes:
    """Sketches by group and by the number of the pane, which rises with time.

    Sketches that readers have are never changed: a sketch is copied before the first change after
    it was read. So readers see one moment and take their time, and nobody waits for them.
    """

    def __init__(self, n_panes: int, memory: int, max_groups: int) -> None:
        self.n_panes = n_panes
        self.memory = memory
        self.max_groups = max_groups
        # The latest pane that had a point; it and those before it, `n_panes` in all, are kept.
        self._latest: int | None = None
        self._dropped = Dropped(0, 0, 0, 0)
        self._lock = StateLock("SlidingEvaluation")
        # The group with the latest change is the last one.
        self._groups: OrderedDict[Group | None, KeptGroup] = OrderedDict()
        # In place of a pane without points; nothing is added to it.
        self._empty = ScoreSketch(memory)
        # Sketches that no reader has.
        self._unread: set[ScoreSketch] = set()
        self._dtype: np.dtype[Any] | None = None

    @property
    def dropped(self) -> Dropped:
        """What came too late, and what made room."""
        self._lock.checked()
        return self._dropped

    @property
    def first(self) -> int | None:
        """The first pane that is kept."""
        self._lock.checked()
        latest = self._latest
        return None if latest is None else latest + 1 - self.n_panes

    def groups(self) -> list[Group | None]:
        """Return the groups, that with the latest change last."""
        with self._lock.checked():
            return list(self._groups)

    def n_kept(self) -> int:
        """Return the number of panes with points in all groups."""
        with self._lock.checked():
            return sum(len(kept.panes) for kept in self._groups.values())

    def state(self) -> PanesState:
        """Return all that is kept."""
        with self._lock.checked():
            groups = [
                (group, KeptGroup(dict(sorted(kept.panes.items())), kept.after_drop))
                for group, kept in self._groups.items()
            ]
            self._unread.clear()
            return PanesState(self._latest, self._dropped, groups)

    def restore(self, state: PanesState) -> None:
        """Restore the state of a saved instance into an empty one."""
        self._latest, self._dropped = state.latest, state.dropped
        for group, kept in state.groups:
            self._groups[group] = kept
            for sketch in kept.panes.values():
                self._dtype = sketch.dtype

    def window(self, n_panes: int, last: int | None, group: Group | None) -> PanesWindow:
        """Return panes of a group, or of all, up to one of them or the latest."""
        with self._lock.checked():
            if last is None:
                last = self._latest or 0
            first = last + 1 - n_panes
            groups: Iterable[Group | None] = self._groups if group is None else [group]
            chosen = [
                (last - pane, sketch)
                for each in groups
                if each in self._groups
                for pane, sketch in self._groups[each].panes.items()
                if first <= pane <= last
            ]
            self._unread.difference_update(sketch for _, sketch in chosen)
            return PanesWindow(first, self.first, self._dropped, chosen)

    def count(self, points: StreamedPoints, panes: IntVector | int, group: Group | None) -> None:
        """Count points of one pane, or of a pane each; all or, where they are refused, none."""
        parts = _by_pane(points, panes)
        with self._lock.checked():
            self._expect(points.raw.dtype)
            latest = parts[-1][0] if self._latest is None else max(self._latest, parts[-1][0])
            first = latest + 1 - self.n_panes
            late = sum(some.n_points for pane, some in parts if pane < first)
            parts = [(pane, some) for pane, some in parts if pane >= first]
            there = self._groups[group].panes if group in self._groups else {}
            for pane, some in parts:
                there.get(pane, self._empty).check_room(some.n_points)
            self._drop(points=late)
            if not parts:
                return
            self._slide_to(latest)
            self._dtype = points.raw.dtype
            kept = self._groups.setdefault(group, KeptGroup({}, self._dropped.groups > 0))
            self._groups.move_to_end(group)
            for pane, some in parts:
                self._to_change(kept, pane).count_points(some)
            self._make_room()

    def label(self, points: StreamedPoints, panes: IntVector | int, group: Group | None) -> None:
        """Give labels to points of one pane, or of a pane each; all or none."""
        parts = _by_pane(points, panes)
        with self._lock.checked():
            self._expect(points.raw.dtype)
            first = self.first
            kept = self._groups.get(group, KeptGroup({}, self._dropped.groups > 0))
            labelled: list[tuple[int, StreamedPoints]] = []
            late = 0
            for pane, some in parts:
                if first is not None and pane < first:
                    late += some.n_points
                    continue
                unknown = kept.panes.get(pane, self._empty).unknown_points(some)
                if unknown.shape[0]:
                    if not kept.after_drop:
                        raise never_counted(some, unknown)
                    waiting = some.keep(np.delete(np.arange(some.kinds.shape[0]), unknown))
                    late += some.n_points - waiting.n_points
                    some = waiting
                if some.kinds.shape[0]:
                    labelled.append((pane, some))
            self._drop(labels=late)
            for pane, some in labelled:
                self._to_change(kept, pane).label_points(some)
            if group in self._groups:
                self._groups.move_to_end(group)

    def _expect(self, dtype: np.dtype[Any]) -> None:
        if self._dtype is not None and dtype != self._dtype:
            raise InvalidInputError(
                f"y_score must contain {self._dtype} as before; found {dtype}", argument="y_score"
            )

    def _to_change(self, kept: KeptGroup, pane: int) -> ScoreSketch:
        """Return the sketch of a pane, new or a copy of one that somebody reads."""
        sketch = kept.panes.get(pane)
        if sketch is None or sketch not in self._unread:
            sketch = ScoreSketch(self.memory) if sketch is None else sketch.copy()
            kept.panes[pane] = sketch
            self._unread.add(sketch)
        return sketch

    def _slide_to(self, latest: int) -> None:
        """Let the window end with a pane, which is not before the latest one."""
        if latest == self._latest:
            return
        self._latest = latest
        first = latest + 1 - self.n_panes
        for kept in self._groups.values():
            for old in [each for each in kept.panes if each < first]:
                self._unread.discard(kept.panes.pop(old))
        for group in [group for group, kept in self._groups.items() if not kept.panes]:
            del self._groups[group]

    def _make_room(self) -> None:
        while len(self._groups) > self.max_groups:
            _, kept = self._groups.popitem(last=False)
            sketches = kept.panes.values()
            self._unread.difference_update(sketches)
            self._drop(groups=1, group_points=sum(each.n_points for each in sketches))

    def _drop(self, **numbers: int) -> None:
        old = self._dropped
        new = {name: getattr(old, name) + number for name, number in numbers.items()}
        self._dropped = old._replace(**new)


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
