"""`SlidingEvaluation`: measures of the last days, from sketches of an hour each."""

import json
import struct
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from fastad._core.arrays import check_rows
from fastad._core.files import written_aside
from fastad._core.interrupts import StateLock, uninterrupted
from fastad._core.parameters import check_count, short_repr
from fastad._core.types import ArrayLike, Label, Point, Points
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import MeasureLike
from fastad.streaming.monitors.panes import (
    Counted,
    Dropped,
    Group,
    GroupedPanes,
    KeptGroup,
    Limits,
    by_pane,
    check_group,
    notes_on,
    restored_group,
    stored_group,
)
from fastad.streaming.monitors.times import (
    Duration,
    Time,
    check_duration,
    check_time,
    check_times,
    shown_time,
)
from fastad.streaming.sketches.checks import StreamedPoints, check_points
from fastad.streaming.sketches.results import BoundedEvaluation
from fastad.streaming.sketches.serialization import SealedFormat
from fastad.streaming.sketches.sketch import ScoreSketch

_FORMAT = SealedFormat(b"fastad sliding evaluation\n", 3, "a SlidingEvaluation")
# Bytes of the plain part.
_SIZE = struct.Struct("<Q")
# A weight that has decayed by 2**-_DECAY_BITS is the smallest one, and then 0.
_DECAY_BITS = 16

Result = TypeVar("Result")


class SlidingEvaluation:
    """Measures of the last days of a stream, for each of many groups, with certain bounds.

    Time is cut into *panes* of one length, and the points of each pane are counted in a
    `ScoreSketch`. A window is a number of panes; it slides by one whenever a point comes whose
    time lies in a later pane than all before. Points and labels find their pane by the time of
    the event, whenever they come: as long as the pane is kept, the order changes no answer.
    Threads may share an evaluation.

    Parameters
    ----------
    pane : str, float, timedelta
        Length of a pane: ``"1h"``, ``"30min"``, a number of seconds. Panes begin at multiples of it
        since 1970, UTC.
    window : str, float, timedelta
        How far back panes are kept, a multiple of the pane. The latest pane, which is still open,
        is one of them.
    memory : int or str, default "128kB"
        Bytes of each pane, at most; see `ScoreSketch`. One that has few points takes less.
    max_groups : int, default 1000
        Groups that are kept. When there is one more, the one of the others with the fewest points
        is dropped; of equal ones, the one to which nothing was added for the longest time. Many
        small groups drop each other, and no large one. All counts take
        ``memory * (window / pane) * max_groups`` bytes at most, and half as much again while points
        wait for their label.
    max_ahead : str, float, timedelta, optional
        How far the pane of a point may lie ahead of the latest pane; by default one window. Points
        beyond are refused and counted in ``dropped``, as one wrong clock would slide all panes
        away. In a batch, one point after the other may lie so far ahead. The first batch is
        measured from the pane of its median. After a longer gap, `advance` the window.
    max_group_points : int, optional
        Quota of points of each group in the window. A batch that does not fit is refused and
        counted in ``dropped``.

    Attributes
    ----------
    dropped : Dropped
        Numbers of points and labels that came too late or too far ahead, and of groups that were
        dropped. The results' ``notes`` say so, too.

    Examples
    --------
    >>> from fastad.streaming import SlidingEvaluation
    >>> week = SlidingEvaluation(pane="1h", window="7d")
    >>> week.update(y_score=[0.1, 0.4, 0.35, 0.8], time="2026-03-01T10:00")
    Counted(counted=4, late=0, ahead=0, dropped=0)
    >>> week.update([0, 0, 1], [0.2, 0.3, 0.7], time="2026-03-01T11:30").counted
    3
    >>> week.label([0.1, 0.4, 0.35, 0.8], [0, 0, 1, 1], time="2026-03-01T10:00").counted
    4
    >>> print(week.evaluate(["auc", "ap"]))
    auc  0.916667 (exact)
    ap   0.916667 (exact)
    """

    __slots__ = ("_length", "_lock", "_n_kept", "_state")

    def __init__(
        self,
        *,
        pane: Duration,
        window: Duration,
        memory: int | str = "128kB",
        max_groups: int = 1000,
        max_ahead: Duration | None = None,
        max_group_points: int | None = None,
    ) -> None:
        # Length of a pane in microseconds.
        self._length = check_duration(pane, "pane")
        self._n_kept = self._n_panes(window)
        quota = max_group_points
        limits = Limits(
            self._length,
            self._n_kept,
            ScoreSketch(memory).memory,
            check_count(max_groups, "max_groups"),
            check_duration(window if max_ahead is None else max_ahead, "max_ahead"),
            None if quota is None else check_count(quota, "max_group_points"),
        )
        self._state = GroupedPanes(limits)
        self._lock = StateLock("SlidingEvaluation")

    def __repr__(self) -> str:
        with self._lock.checked():
            n_groups = len(self._state.groups)
            n_panes = sum(len(kept.panes) for kept in self._state.groups.values())
        return f"SlidingEvaluation({n_groups} groups, {n_panes} panes, kept={self.kept})"

    @property
    def dropped(self) -> Dropped:
        """Points too late or too far ahead, and those dropped to make room."""
        self._lock.checked()
        return self._state.dropped

    @property
    def groups(self) -> Sequence[Group | None]:
        """The groups that are kept; None is the group of points without one."""
        with self._lock.checked():
            return list(self._state.groups)

    @property
    def kept(self) -> tuple[str, str] | None:
        """Begin and end of the panes that are kept, in UTC; None before there are any points."""
        self._lock.checked()
        first = self._state.first_kept
        return None if first is None else (self._shown(first), self._shown(first + self._n_kept))

    def update(
        self,
        y_true: ArrayLike | None = None,
        y_score: ArrayLike | None = None,
        *,
        time: Any,
        group: Group | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> Counted:
        """Count points; without ``y_true`` they wait for `label`.

        Parameters
        ----------
        y_true, y_score, sample_weight, pos_label
            See `ScoreSketch.update`.
        time : time, or array-like of shape (n_samples,)
            When the points happened: seconds since 1970, or dates (``datetime``,
            ``numpy.datetime64``, ISO 8601). Dates without a time zone are UTC.
        group : str, int or tuple of these, optional
            What the points belong to, such as ``("tenant", "model")``.

        Returns
        -------
        Counted
            How many points were counted, and how many were not, by reason.

        Raises
        ------
        InvalidInputError
            If an argument is invalid; nothing is counted then.

        Notes
        -----
        O(n) time for n samples. A time ahead of all others, by ``max_ahead`` at most, moves the
        window.
        """
        parts = self._parts(y_true, y_score, sample_weight, pos_label, time, group)
        return self._change(lambda state: state.count(parts, group)) if parts else Counted(0)

    def label(
        self,
        y_score: ArrayLike,
        y_true: ArrayLike,
        *,
        time: Any,
        group: Group | None = None,
        sample_weight: ArrayLike | None = None,
        pos_label: Label | None = None,
    ) -> Counted:
        """Give labels to points that were counted without one.

        Parameters
        ----------
        y_score, y_true, sample_weight, pos_label
            See `ScoreSketch.label`.
        time, group
            When the points happened, and what they belong to, as they were counted. Labels of panes
            that have left the window or are too far ahead, and of groups that were dropped, are
            counted in ``dropped``; so are those in a group that began after one had been dropped or
            that reached its quota, where too few points wait for them: it may be the same.

        Returns
        -------
        Counted
            How many labels were given, and how many were not, by reason.

        Raises
        ------
        InvalidInputError
            If fewer points without a label were counted than are labelled now, and no group was
            dropped that may have had them; nothing is moved then.
        """
        if y_true is None:
            raise InvalidInputError("y_true must be given; found None")
        parts = self._parts(y_true, y_score, sample_weight, pos_label, time, group)
        return self._change(lambda state: state.label(parts, group)) if parts else Counted(0)

    def advance(self, time: Time) -> None:
        """Slide the window to the pane of a time, if it is later than the latest pane.

        With a clock, points that come after a gap longer than ``max_ahead`` are counted.

        Parameters
        ----------
        time : time
            See `update`.
        """
        pane = check_time(time, "time") // self._length
        self._change(lambda state: state.advance(pane))

    def sketch(
        self, *, window: Duration | None = None, end: Time | None = None, group: Group | None = None
    ) -> ScoreSketch:
        """Return one sketch of all points of a window: every measure, `interval` and more.

        Parameters
        ----------
        window : str, float, timedelta, optional
            Length of the window, a multiple of the pane; by default all that is kept.
        end : time, optional
            End of the window, where a pane ends; by default the end of the latest pane. Windows
            that do not overlap are tumbling ones.
        group : str, int or tuple of these, optional
            By default all groups together.

        Returns
        -------
        ScoreSketch
            It has the bytes of a sketch that counted all of these points.

        Raises
        ------
        InvalidInputError
            If the window does not begin and end where panes do, begins before all that are kept, or
            has 2^62 points.
        """
        return self._merged(self._window(window, end, group)[0])

    def evaluate(
        self,
        measures: MeasureLike | Sequence[MeasureLike] | None = None,
        *,
        fpr: Point | Points = (0.01, 0.05),
        window: Duration | None = None,
        end: Time | None = None,
        group: Group | None = None,
        half_life: Duration | None = None,
    ) -> BoundedEvaluation:
        """Return a table of measures of a window, with their bounds.

        Parameters
        ----------
        measures, fpr
            See `ScoreSketch.evaluate`.
        window, end, group
            See `sketch`.
        half_life : str, float, timedelta, optional
            Age at which a point counts half as much as one of the window's last pane: a pane has
            the weight 2^(16 - age / half_life), rounded to an integer. Bounds are certain for the
            weighted points, fewer than 2^62. Intervals are for points that count equally, see
            `sketch`.

        Returns
        -------
        BoundedEvaluation
            ``result["auc"]`` is a `BoundedValue`; ``result.notes`` say what was dropped.
        """
        chosen, dropped = self._window(window, end, group)
        decay = 0.0
        if half_life is not None:
            decay = self._length / check_duration(half_life, "half_life")
        if group is not None and not chosen:
            raise UndefinedMeasureError(f"the window has no points of group {group!r}")
        table = self._merged(chosen, decay).evaluate(measures, fpr=fpr)
        return table.noted(notes_on(dropped))

    def to_bytes(self) -> bytes:
        """Return all of it as bytes, versioned and with a checksum."""
        with self._lock.checked():
            groups = [
                (group, dict(sorted(kept.panes.items())), kept.after_drop)
                for group, kept in self._state.groups.items()
            ]
            self._state.unread.clear()
            latest, dropped, dtype = self._state.latest, self._state.dropped, self._state.dtype
        sketches: list[bytes] = []
        listed: list[Any] = []
        for group, panes, after_drop in groups:
            written = [sketch.to_bytes() for sketch in panes.values()]
            sketches += written
            sizes = list(zip(panes, map(len, written), strict=True))
            listed.append([stored_group(group), after_drop, sizes])
        plain = {
            **self._state.limits._asdict(),
            "latest": latest,
            "dropped": dropped,
            "dtype": None if dtype is None else dtype.str,
            "groups": listed,
        }
        header = json.dumps(plain).encode()
        return _FORMAT.seal(_SIZE.pack(len(header)) + header + b"".join(sketches))

    @classmethod
    def from_bytes(cls, data: bytes) -> "SlidingEvaluation":
        """Return the evaluation of which `to_bytes` returned the bytes; refuse anything else."""
        content = _FORMAT.unseal(data, _SIZE.size)
        start = _SIZE.size + _SIZE.unpack_from(content)[0]
        try:
            plain = json.loads(content[_SIZE.size : start])
            pane = timedelta(microseconds=plain["pane"])
            restored = cls(
                pane=pane,
                window=plain["n_panes"] * pane,
                memory=plain["memory"],
                max_groups=plain["max_groups"],
                max_ahead=timedelta(microseconds=plain["max_ahead"]),
                max_group_points=plain["max_group_points"],
            )
            state = restored._state
            state.latest, state.dropped = plain["latest"], Dropped(*plain["dropped"])
            state.dtype = None if plain["dtype"] is None else np.dtype(plain["dtype"])
            for group, after_drop, sizes in plain["groups"]:
                kept = {}
                for number, size in sizes:
                    kept[number] = ScoreSketch.from_bytes(content[start : start + size])
                    start += size
                n_points = sum(int(sketch.n_points) for sketch in kept.values())
                state.groups[restored_group(group)] = KeptGroup(kept, after_drop, n_points)
        except (ValueError, TypeError, KeyError, OverflowError):
            raise _FORMAT.unfit("a state that none has") from None
        return restored

    def save(self, path: str | Path) -> None:
        """Write the bytes to a file, whole or not at all."""
        data = self.to_bytes()
        with written_aside(Path(path)) as aside:
            aside.write_bytes(data)

    @classmethod
    def load(cls, path: str | Path) -> "SlidingEvaluation":
        """Return the evaluation that `save` wrote to a file; refuse anything else."""
        return cls.from_bytes(Path(path).read_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return SlidingEvaluation.from_bytes, (self.to_bytes(),)

    def _parts(
        self,
        y_true: ArrayLike | None,
        y_score: ArrayLike | None,
        sample_weight: ArrayLike | None,
        pos_label: Label | None,
        time: Any,
        group: Group | None,
    ) -> list[tuple[int, StreamedPoints]]:
        """Check a batch, and return its points by pane."""
        points = check_points(y_true, y_score, sample_weight, pos_label)
        check_rows(
            {"y_true": y_true, "y_score": y_score, "sample_weight": sample_weight, "time": time}
        )
        panes = check_times(time, np.size(cast("Any", y_score))) // self._length
        if points is not None and points.rows is not None and not isinstance(panes, int):
            panes = panes[points.rows]
        check_group(group)
        return [] if points is None else by_pane(points, panes)

    def _change(self, change: Callable[[GroupedPanes], Result]) -> Result:
        """Change the state while no other thread does, wholly or not at all."""

        def locked() -> Result:
            with self._lock.checked():
                return change(self._state)

        return uninterrupted(locked)

    def _window(
        self, window: Duration | None, end: Time | None, group: Group | None
    ) -> tuple[list[tuple[int, ScoreSketch]], Dropped]:
        """Return the sketches of a window, each with its age in panes, and what was dropped."""
        check_group(group)
        n_panes = self._n_kept if window is None else self._n_panes(window)
        last = self._last_pane(end)
        with self._lock.checked():
            state = self._state
            last = state.latest or 0 if last is None else last
            first, first_kept = last + 1 - n_panes, state.first_kept
            if first_kept is not None and first < first_kept:
                raise InvalidInputError(
                    f"window must begin where panes are kept, at {self._shown(first_kept)} or "
                    f"later; found one that begins at {self._shown(first)}"
                )
            return state.read(first, last, group), state.dropped

    def _merged(self, chosen: list[tuple[int, ScoreSketch]], decay: float = 0.0) -> ScoreSketch:
        """Return a sketch of a window whose points lose weight from pane to pane."""
        weighted = [
            (sketch, round(2.0 ** (_DECAY_BITS - age * decay)) if decay else 1)
            for age, sketch in chosen
        ]
        parts = [(sketch, weight) for sketch, weight in weighted if weight]
        return ScoreSketch.merged(
            self._state.limits.memory, parts, "half_life" if decay else "window"
        )

    def _last_pane(self, end: Time | None) -> int | None:
        if end is None:
            return None
        micros = check_time(end, "end")
        if micros % self._length:
            raise InvalidInputError(
                f"end must be a time at which a pane ends, such as "
                f"{shown_time(micros - micros % self._length)}; found {short_repr(end)}"
            )
        return micros // self._length - 1

    def _n_panes(self, window: Duration) -> int:
        length = check_duration(window, "window")
        if length % self._length:
            raise InvalidInputError(
                f"window must be a multiple of the pane, {timedelta(microseconds=self._length)}; "
                f"found {short_repr(window)}"
            )
        return length // self._length

    def _shown(self, pane: int) -> str:
        return shown_time(pane * self._length)
