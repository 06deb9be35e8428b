"""Windows over panes: the answers of all their points in memory, whenever these and labels come."""

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.streaming import Counted, Dropped, ScoreSketch, SlidingEvaluation
from fastad.streaming.monitors.times import check_duration, check_times

RNG = np.random.default_rng(0)
HOUR = 3600
DAY = 24 * HOUR
START = 1_772_323_200  # 2026-03-01, 00:00 UTC
# Six hours of points.
N = 3000
T = START + np.sort(RNG.uniform(0, 6 * HOUR, N))
Y = (RNG.random(N) < 0.2).astype(np.int64)
S = RNG.normal(size=N) + Y


def six_hours(memory: str = "128kB", **options: Any) -> SlidingEvaluation:
    return SlidingEvaluation(pane="1h", window="6h", memory=memory, **options)


def counted(memory: str = "128kB", **options: Any) -> SlidingEvaluation:
    evaluation = six_hours(memory, **options)
    evaluation.update(Y, S, time=T)
    return evaluation


def sketched(memory: str, rows: Any = slice(None)) -> bytes:
    sketch = ScoreSketch(memory)
    sketch.update(Y[rows], S[rows])
    return sketch.to_bytes()


# The points of a window.


@pytest.mark.parametrize("memory", ["128kB", "4kB"])
def test_a_window_has_the_bytes_of_a_sketch_of_its_points(memory: str) -> None:
    evaluation = counted(memory)
    assert evaluation.kept == ("2026-03-01T00:00:00.000Z", "2026-03-01T06:00:00.000Z")
    assert evaluation.sketch().to_bytes() == sketched(memory)
    for hours in (1, 2, 5):
        for end in range(hours, 7):
            rows = (START + (end - hours) * HOUR <= T) & (START + end * HOUR > T)
            window = evaluation.sketch(window=hours * HOUR, end=START + end * HOUR)
            assert window.to_bytes() == sketched(memory, rows)


def test_measures_of_a_window_are_those_in_memory() -> None:
    table = counted().evaluate(["auc", "ap", "tpr@0.05"], window="3h")
    late = T >= START + 3 * HOUR
    assert table["auc"].value == fastad.roc_auc(Y[late], S[late])
    assert table["ap"].value == fastad.average_precision(Y[late], S[late])
    assert all(value.is_exact for value in table.values())
    assert table.notes == ()
    coarse = counted("4kB").evaluate(["auc", "ap", "tpr@0.05"], window="3h")
    assert not coarse["auc"].is_exact
    assert all(coarse[key].low <= table[key].value <= coarse[key].high for key in table)
    interval = counted("4kB").sketch(window="3h").interval(measure="auc")
    assert interval.bounds == coarse["auc"]
    assert interval.interval.low < table["auc"].value < interval.interval.high


@given(
    hours=st.lists(st.integers(0, 9), min_size=1, max_size=30),
    order=st.randoms(use_true_random=False),
    late=st.booleans(),
    memory=st.sampled_from(["128kB", "600"]),
)
def test_any_order_of_points_and_labels_gives_the_same_window(
    hours: list[int], order: Any, late: bool, memory: Any
) -> None:
    memory = int(memory) if memory.isdecimal() else memory
    events = [(hour, i % 3 == 0, float(RNG.normal())) for i, hour in enumerate(hours)]
    latest = max(hours)
    inside = [event for event in events if event[0] > latest - 4]
    expected = ScoreSketch(memory)
    expected.update([label for _, label, _ in inside], [score for *_, score in inside])
    evaluation = SlidingEvaluation(pane=HOUR, window=4 * HOUR, memory=memory)
    # Once the window has its place, no order of points or labels changes anything.
    events.sort(key=lambda event: -event[0])
    first, others = events[0], events[1:]
    order.shuffle(others)
    labels = []
    for hour, label, score in [first, *others]:
        if late and order.random() < 0.7:
            evaluation.update(y_score=[score], time=hour * HOUR + 5)
            labels.append((hour, label, score))
        else:
            evaluation.update([label], [score], time=hour * HOUR + 5)
        if labels and order.random() < 0.3:
            hour, label, score = labels.pop(order.randrange(len(labels)))
            evaluation.label([score], [label], time=hour * HOUR)
    for hour, label, score in labels:
        evaluation.label([score], [label], time=hour * HOUR)
    assert evaluation.sketch().to_bytes() == expected.to_bytes()
    assert evaluation.dropped.points == len(events) - len(inside)


def test_late_labels_are_labels_at_once() -> None:
    evaluation = six_hours("4kB")
    evaluation.update(y_score=S, time=T)
    result = evaluation.evaluate(["auc"])
    assert "auc" in result.undefined
    with pytest.raises(KeyError, match=r"auc: .*undefined"):
        result["roc_auc"]
    order = RNG.permutation(N)
    for rows in np.array_split(order, 7):
        evaluation.label(S[rows], Y[rows], time=T[rows])
    assert evaluation.to_bytes() == counted("4kB").to_bytes()


def test_rows_of_weight_0_are_left_out() -> None:
    evaluation, weights = six_hours(), RNG.integers(0, 3, N)
    evaluation.update(Y, S, time=T, sample_weight=weights)
    sketch = ScoreSketch("128kB")
    sketch.update(Y, S, sample_weight=weights)
    assert evaluation.sketch().to_bytes() == sketch.to_bytes()


# Decay.


def test_decay_weighs_points_by_the_age_of_their_pane() -> None:
    age = 5 - (T - START).astype(np.int64) // HOUR
    for half_life, weights in (("1h", 2 ** (16 - age)), ("2h", np.round(2 ** (16 - age / 2)))):
        table = counted().evaluate(["auc", "ap"], half_life=half_life)
        expected = fastad.roc_auc(Y, S, sample_weight=weights.astype(np.int64))
        assert table["auc"].is_exact
        assert table["auc"].value == expected
    coarse = counted("4kB").evaluate(["auc", "ap"], half_life="2h")
    assert coarse["auc"].low <= expected <= coarse["auc"].high
    assert not coarse["auc"].is_exact


def test_what_has_decayed_to_nothing_counts_no_more() -> None:
    last = T >= START + 5 * HOUR
    table = counted().evaluate(["auc"], half_life=timedelta(minutes=3))
    assert table["auc"].value == fastad.roc_auc(Y[last], S[last])


# What leaves the window.


def test_what_comes_too_late_is_counted_and_reported() -> None:
    evaluation = counted()
    evaluation.update(y_score=[1.0, 2.0], time=START + 7 * HOUR)
    assert evaluation.kept == ("2026-03-01T02:00:00.000Z", "2026-03-01T08:00:00.000Z")
    evaluation.update([0, 1, 1], [0.1, 0.2, 0.3], time=[START, START + HOUR, START + 2 * HOUR])
    evaluation.label([0.5, 1.0], [0, 1], time=[START + 10, START + 7 * HOUR])
    assert evaluation.dropped == Dropped(points=2, labels=1)
    table = evaluation.evaluate(["auc"])
    assert table.notes == (
        "2 points came when their pane had left the window",
        "1 labels came when their points had left",
    )
    assert str(table).endswith("1 labels came when their points had left")
    assert table.to_dict()["notes"] == list(table.notes)
    kept = T >= START + 2 * HOUR
    y, s = np.append(Y[kept], [1, 1]), np.append(S[kept], [0.3, 1.0])
    assert table["auc"].value == fastad.roc_auc(y, s)


def test_a_time_far_ahead_is_refused_and_counted() -> None:
    evaluation = counted()
    before = evaluation.sketch().to_bytes()
    for far in (250_000_000_000, START + 12 * HOUR):
        assert evaluation.update([0, 1], [0.1, 0.2], time=far) == Counted(0, ahead=2)
        assert evaluation.label([0.1], [1], time=far) == Counted(0, ahead=1)
    assert evaluation.sketch().to_bytes() == before
    assert evaluation.dropped == Dropped(ahead=4, labels=2)
    assert evaluation.evaluate(["auc"]).notes[1:] == ("4 points came too far ahead of the window",)
    # Of a batch, what lies between is counted; one window ahead is not too far.
    times = [START + 11 * HOUR, START - HOUR, 250_000_000_000]
    assert evaluation.update([0, 1, 1], [0.1, 0.2, 0.3], time=times) == Counted(1, 1, 1)
    assert evaluation.kept == ("2026-03-01T06:00:00.000Z", "2026-03-01T12:00:00.000Z")


def test_points_ahead_by_steps_of_a_batch_are_counted() -> None:
    evaluation = six_hours(max_ahead="2h")
    # The median, 3 h, is where the first batch begins: 5 h is two ahead of it, 8 h three of that.
    hours = np.array([0, 3, 3, 5, 8])
    assert evaluation.update(y_score=np.arange(5.0), time=START + hours * HOUR) == Counted(4, 0, 1)
    evaluation = SlidingEvaluation.from_bytes(evaluation.to_bytes())
    assert evaluation.update(y_score=[1.0], time=START + 8 * HOUR) == Counted(0, 0, 1)
    assert (
        evaluation.update(y_score=[1.0, 2.0], time=START + hours[[3, 4]] * HOUR - HOUR).ahead == 0
    )


def test_a_window_is_advanced_over_a_gap() -> None:
    evaluation = counted()
    later = START + 100 * HOUR
    assert evaluation.update(y_score=[1.0], time=later).ahead == 1
    evaluation.advance(later - HOUR)
    evaluation.advance(START)
    assert evaluation.groups == []
    assert evaluation.update(y_score=[1.0], time=later) == Counted(1)
    assert evaluation.sketch().n_points == 1


def test_batches_whose_weights_are_all_0_are_empty() -> None:
    evaluation = counted()
    before = evaluation.to_bytes()
    none: dict[str, Any] = {"time": START + 7 * HOUR, "sample_weight": [0, 0]}
    assert evaluation.update([0, 1], [0.1, math.nan], **none) == Counted(0)
    assert evaluation.update(y_score=[0.1, 0.2], **none) == Counted(0)
    assert evaluation.label([0.1, 0.2], [0, 1], **none) == Counted(0)
    assert evaluation.to_bytes() == before
    with pytest.raises(InvalidInputError, match="sample_weight"):
        evaluation.update([0, 1, 1], [0.1, 0.2, 0.3], **none)


def test_many_small_groups_do_not_drop_a_large_one() -> None:
    evaluation = counted(max_groups=10)
    for i in range(100):
        assert evaluation.update([0, 1], [0.1, 0.2], time=START, group=i) == Counted(2)
    assert evaluation.groups == [None, *range(91, 100)]
    assert evaluation.dropped == Dropped(groups=91, group_points=182)
    assert evaluation.sketch().n_points == N + 18


def test_the_quota_of_a_group_is_kept_as_the_window_slides() -> None:
    evaluation = six_hours(max_group_points=5)
    hours = START + HOUR * np.arange(20)
    assert evaluation.update(y_score=[1.0] * 5, time=hours[2], group="c") == Counted(5)
    assert evaluation.update(y_score=[1.0] * 3, time=hours[:3], group="a") == Counted(3)
    assert evaluation.update(y_score=[1.0] * 3, time=hours[:3], group="a") == Counted(0, dropped=3)
    assert evaluation.update(y_score=[1.0] * 6, time=hours[2], group="b") == Counted(0, dropped=6)
    evaluation = SlidingEvaluation.from_bytes(evaluation.to_bytes())
    assert evaluation.dropped == Dropped(over_quota=9)
    # Their labels come all the same; labels of others are refused.
    for group, known in (("a", 1), ("b", 0)):
        labels = evaluation.label([1.0, 2.0], [1, 1], time=hours[2], group=group)
        assert labels == Counted(known, dropped=2 - known)
    with pytest.raises(InvalidInputError, match="counted without a label"):
        evaluation.label([2.0], [1], time=hours[2], group="c")
    # The first two hours leave.
    assert evaluation.update(y_score=[1.0] * 4, time=hours[7], group="a") == Counted(4)
    assert evaluation.update(y_score=[1.0], time=hours[7], group="a").dropped == 1


def test_the_smallest_group_makes_room_of_equal_ones_the_one_without_changes() -> None:
    evaluation = counted(max_groups=2)
    evaluation.update([0, 1], [0.1, 0.2], time=START, group="a")
    evaluation.update([0, 1], [0.1, 0.2], time=START)
    evaluation.update([0, 1], [0.3, 0.2], time=START, group=("b", 7))
    assert evaluation.groups == [None, ("b", 7)]
    assert evaluation.dropped == Dropped(groups=1, group_points=2)
    assert evaluation.evaluate(["auc"], group=("b", 7))["auc"].value == 0
    assert evaluation.evaluate(["auc"]).notes == ("1 groups, of 2 points, made room for others",)
    evaluation.label([0.1], [0], time=START, group="a")
    assert evaluation.dropped.labels == 1


def test_groups_are_evaluated_alone_and_together() -> None:
    evaluation = six_hours("4kB")
    first = RNG.random(N) < 0.4
    for name, rows in (("a", first), ("b", ~first)):
        evaluation.update(Y[rows], S[rows], time=T[rows], group=name)
        assert evaluation.sketch(group=name).to_bytes() == sketched("4kB", rows)
    assert evaluation.sketch().to_bytes() == sketched("4kB")


# Snapshots.


def test_groups_of_every_type_are_restored() -> None:
    groups = [None, "", "7", 7, -1, 10**5000, "\ud800x", (), ("7",), (7, "a", -(10**30))]
    evaluation = six_hours("1kB")
    for i, group in enumerate(groups):
        evaluation.update([0, 1], [0.5, i / 10], time=START, group=group)
    restored = SlidingEvaluation.from_bytes(evaluation.to_bytes())
    assert restored.groups == groups
    for group in groups:
        assert restored.sketch(group=group).to_bytes() == evaluation.sketch(group=group).to_bytes()


@pytest.mark.parametrize("n_batches", [0, 1, 4])
def test_a_snapshot_goes_on_as_if_nothing_had_happened(tmp_path: Path, n_batches: int) -> None:
    going, path = six_hours("4kB", max_groups=3), tmp_path / "snapshot"
    batches = np.array_split(RNG.permutation(N), 8)
    for i, rows in enumerate(batches):
        if i == n_batches:
            going.save(path)
        going.update(y_score=S[rows], time=T[rows], group=("t", i % 2))
        if i % 3:
            going.label(S[rows], Y[rows], time=T[rows], group=("t", i % 2))
    restored = SlidingEvaluation.load(path)
    if n_batches:
        # In a group of its own, too.
        with pytest.raises(InvalidInputError, match="y_score must contain float64 as before"):
            restored.update([0, 1], np.array([1, 2]), time=START, group="new")
    for i, rows in list(enumerate(batches))[n_batches:]:
        restored.update(y_score=S[rows], time=T[rows], group=("t", i % 2))
        if i % 3:
            restored.label(S[rows], Y[rows], time=T[rows], group=("t", i % 2))
    assert restored.to_bytes() == going.to_bytes()
    assert pickle.loads(pickle.dumps(going)).to_bytes() == going.to_bytes()
    assert list(tmp_path.iterdir()) == [path]


# Threads.


def test_threads_that_count_label_and_ask_change_no_byte() -> None:
    evaluation = six_hours("4kB")
    evaluation.update(y_score=S[-1:], time=T[-1:])
    stop = threading.Event()

    def work(rows: Any) -> None:
        evaluation.update(y_score=S[rows], time=T[rows])
        evaluation.label(S[rows], Y[rows], time=T[rows])

    def ask() -> None:
        while not stop.is_set():
            assert evaluation.sketch().n_points <= N
            evaluation.to_bytes()

    with ThreadPoolExecutor(9) as pool:
        asking = pool.submit(ask)
        list(pool.map(work, np.array_split(np.arange(N - 1), 64)))
        stop.set()
        asking.result()
    evaluation.label(S[-1:], Y[-1:], time=T[-1:])
    assert evaluation.to_bytes() == counted("4kB").to_bytes()


# Times.


@pytest.mark.parametrize(
    "time",
    [
        START + 1800,
        START + 1800.5,
        np.float32(1800),
        "2026-03-01T00:30",
        "2026-03-01T00:30Z",
        "2026-03-01 00:30:00.123456z",
        "2026-02-28T23:00-01:30",
        ["2026-03-01T02:30:59 +0200"],
        np.array(["2026-03-01T05:30+05"]),
        pd.Series(["2026-03-01T00:30Z"]),
        np.datetime64("2026-03-01T00:30:00.123456789"),
        datetime(2026, 3, 1, 0, 30),
        datetime(2026, 3, 1, 2, 30, tzinfo=timezone(timedelta(hours=2))),
        pd.Timestamp("2026-03-01T00:30", tz="UTC"),
        pd.Series(pd.to_datetime(["2026-03-01T01:30+01:00"])),
        [datetime(2026, 3, 1, 0, 59, 59, 999_999)],
        np.array([START + 3599], np.int32),
    ],
    ids=str,
)
def test_times_of_every_kind_find_their_pane(time: Any) -> None:
    micros = check_times(time, 1)
    expected = 0 if isinstance(time, np.float32) else START // HOUR
    panes = np.asarray(micros) // (HOUR * 10**6)
    assert np.all(panes == expected)
    evaluation = six_hours()
    evaluation.update([1], [0.5], time=time)
    assert evaluation.sketch(window="1h").n_anomalies == 1


@given(st.floats(-1e9, 4e9))
def test_seconds_are_exact_to_the_microsecond(time: float) -> None:
    micros = int(np.asarray(check_times(time, 1)))
    # The last digit of the fraction may be rounded, and must not reach the next second.
    assert abs(micros - math.floor(Fraction(time) * 10**6)) <= 1
    assert micros // 10**6 == math.floor(time)


@pytest.mark.parametrize(
    ("length", "micros"),
    [
        ("1h", HOUR * 10**6),
        ("30min", 1800 * 10**6),
        ("7d", 7 * DAY * 10**6),
        ("1.5h", 5400 * 10**6),
        ("250ms", 250_000),
        ("2 weeks", 14 * DAY * 10**6),
        (90, 90 * 10**6),
        (0.5, 500_000),
        (timedelta(minutes=1), 60 * 10**6),
        (np.timedelta64(2, "h"), 2 * HOUR * 10**6),
    ],
)
def test_lengths(length: Any, micros: int) -> None:
    assert check_duration(length, "pane") == micros


@pytest.mark.parametrize(
    "length",
    [
        *("1 month", "h", "-1h", 0, -5, True, None, 1e-7, np.timedelta64(1, "M"), "0s"),
        *(np.timedelta64(3_600_000_000_500, "ns"), np.timedelta64("NaT", "s")),
        # Longer than all times that are taken.
        *("2000000000d", 1e300, 10**400, f"{'9' * 400}s", timedelta.max, f"0.{'1' * 400}s"),
        np.timedelta64(30_500_569, "W"),
    ],
)
def test_wrong_lengths_are_named(length: Any) -> None:
    with pytest.raises(ValueError, match="pane must be a positive length of whole microseconds"):
        SlidingEvaluation(pane=length, window="7d")


def test_the_longest_window_comes_back_from_its_bytes() -> None:
    length = timedelta(days=8000 * 365)
    sliding = SlidingEvaluation(pane=length, window=length)
    assert SlidingEvaluation.from_bytes(sliding.to_bytes()).to_bytes() == sliding.to_bytes()


def test_days_without_a_time_are_dates() -> None:
    days = [date(2026, 3, 1), date(2026, 3, 2)]
    seconds = [1_772_323_200, 1_772_409_600]
    made = []
    for time in (days, seconds, pd.Series(days)):
        sliding = SlidingEvaluation(pane="1d", window="7d")
        sliding.update([0, 1], [0.1, 0.2], time=time)
        sliding.advance(time[1])
        made.append(sliding.to_bytes())
    assert made[0] == made[1] == made[2]


# Refusals.


@pytest.mark.parametrize(
    ("time", "message"),
    [
        (np.nan, "time must contain finite times before .* found nan, the first at index 0"),
        ([1.0, 2.0], "time must be one time, or one for each of the 3 samples"),
        ([1.0, np.inf, 2.0], "the first at index 1"),
        (1e300, "finite times"),
        (np.datetime64("NaT", "s"), "found NaT"),
        (pd.NaT, "found NaT"),
        ([datetime(2026, 3, 1), pd.NaT, pd.NaT], "found NaT, the first at index 1"),
        (1000 * START, "before the year 10000, as dates or in seconds; found 1772323200000"),
        (1000.0 * START, "before the year 10000"),
        ("now", "time must contain numbers of seconds since 1970, or dates; found 'now'"),
        ("tomorrow", "time must contain numbers of seconds since 1970, or dates; found 'tomorrow'"),
        ([None, 1, 2], "time must contain numbers"),
        (True, "time must contain numbers"),
    ],
)
def test_wrong_times_are_named_and_nothing_is_counted(time: Any, message: str) -> None:
    evaluation = counted()
    before = evaluation.to_bytes()
    with pytest.raises((ValueError, TypeError), match=message):
        evaluation.update([0, 1, 1], [0.1, 0.2, 0.3], time=time)
    assert evaluation.to_bytes() == before


def test_panes_that_do_not_divide_the_window_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="window must be a multiple of the pane, 1:00:00"):
        SlidingEvaluation(pane="1h", window="90min")
    evaluation = counted()
    for options, message in (
        ({"window": "90min"}, "window must be a multiple of the pane"),
        ({"end": START + 30}, r"end must be a time at which a pane ends, such as 2026-03-01T00:00"),
        ({"window": "7h"}, "window must begin where panes are kept, at 2026-03-01T00:00:00.000Z"),
        ({"end": START}, "found one that begins at 2026-02-28T18:00:00.000Z"),
        ({"end": [START]}, "end must be one time"),
        ({"group": 1.5}, "group must be a string, an integer, or a tuple of these; found 1.5"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            evaluation.evaluate(**options)


def test_labels_of_what_was_never_counted_move_nothing() -> None:
    evaluation = six_hours()
    evaluation.update(y_score=[0.1, 0.2, 0.3], time=[0, 4000, 4000])
    before = evaluation.to_bytes()
    for scores, time, group, index in (
        ([0.1, 0.2, 0.4], [0, 4000, 4000], None, 2),
        ([0.1, 0.2, 0.3], [0, 0, 4000], None, 1),
        ([0.1], 8000, None, 0),
        ([0.1], 0, "other", 0),
    ):
        with pytest.raises(InvalidInputError, match=f"the first at index {index}"):
            evaluation.label(scores, np.zeros(len(scores), np.int64), time=time, group=group)
    assert evaluation.to_bytes() == before


def test_without_points_there_are_no_measures() -> None:
    with pytest.raises(UndefinedMeasureError, match="a sketch without points has no measures"):
        six_hours().evaluate()
    assert six_hours().kept is None
    assert repr(counted()).startswith("SlidingEvaluation(1 groups, 6 panes")


@given(st.integers(-(10**9), 4 * 10**9), st.integers(0, 999_999))
def test_seconds_of_a_datetime_are_its_microseconds(seconds: int, micros: int) -> None:
    time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
    time = time.replace(microsecond=micros)
    assert check_times(time.timestamp(), 1) == check_times(time, 1)


def test_the_type_of_the_scores_is_kept_without_points() -> None:
    evaluation = six_hours()
    evaluation.update([1], [0.5], time=0)
    evaluation.advance(30 * DAY)
    for each in (evaluation, SlidingEvaluation.from_bytes(evaluation.to_bytes())):
        with pytest.raises(InvalidInputError, match="y_score must contain float64"):
            each.update([1], np.array([0.5], np.float32), time=30 * DAY)
