"""State of windows: refused calls leave it, readers see one moment, nothing is lost silently."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fastad import InvalidInputError
from fastad.streaming import Dropped, ScoreSketch, SlidingEvaluation

HOUR = 3600
WEIGHTS = [1, 2**61]
Refused = Callable[[SlidingEvaluation], object]


def two_hours(**options: Any) -> SlidingEvaluation:
    return SlidingEvaluation(pane="1h", window="2h", **options)


# Refused calls.


@pytest.mark.parametrize(
    ("refused", "message"),
    [
        (lambda e: e.label(np.array([1, 2]), [0, 1], time=0), "y_score must contain float64"),
        (lambda e: e.label([0.1, 7.5], [0, 1], time=[0, HOUR]), "found 1 in cells"),
        (lambda e: e.label([0.1, 0.2], [0, 1], time=0, group="other"), "found 2 in cells"),
        (lambda e: e.update([0, 1], [0.1, np.nan], time=9 * HOUR), "y_score must not contain NaN"),
        (lambda e: e.update([0, 1], [0.1, 0.2], time=[9 * HOUR, np.nan]), "time must contain"),
        (lambda e: e.update([0, 2], [0.1, 0.2], time=9 * HOUR), "y_true must contain 0"),
        # One hour has room for these points, the next one has not; and the window would move.
        *(
            (
                lambda e, time=time: e.update([0, 1], [0.1, 0.2], time=time, sample_weight=WEIGHTS),
                r"sample_weight must leave fewer than 2\^62 points",
            )
            for time in ([0, HOUR], [2 * HOUR, HOUR])
        ),
    ],
)
def test_what_is_refused_leaves_the_state(refused: Refused, message: str) -> None:
    evaluation = two_hours()
    for hour in (0, 1):
        evaluation.update(
            [0, 1], [0.1, 0.2], time=hour * HOUR, sample_weight=[2 ** (61 * hour), 2**60]
        )
    before = evaluation.to_bytes()
    with pytest.raises(InvalidInputError, match=message):
        refused(evaluation)
    assert evaluation.to_bytes() == before


def test_a_refused_label_does_not_decide_the_type_of_the_scores() -> None:
    evaluation = two_hours()
    with pytest.raises(InvalidInputError, match="counted without a label"):
        evaluation.label(np.array([1, 2]), [0, 1], time=0)
    evaluation.update([0, 1], [0.5, 1.5], time=0)
    # Nor do points that are too late.
    with pytest.raises(InvalidInputError, match="must contain float64 as before; found int64"):
        evaluation.update([0], np.array([1]), time=-9 * HOUR)


def test_windows_of_more_points_than_can_be_counted_are_refused() -> None:
    evaluation = two_hours()
    for hour in (0, 1):
        evaluation.update([0, 1], [0.1, 0.2], time=hour * HOUR, sample_weight=[2**60, 2**60])
    assert evaluation.sketch(window="1h").n_points == 2**61
    for call in (evaluation.sketch, evaluation.evaluate):
        with pytest.raises(InvalidInputError, match=r"window must leave fewer than 2\^62 points"):
            call()
    with pytest.raises(InvalidInputError, match=r"half_life must leave fewer than 2\^62 points"):
        evaluation.evaluate(window="1h", half_life="1h")


def test_weighted_counts_are_right_up_to_that_number() -> None:
    evaluation = two_hours()
    # With 2**16 times the points of the last pane and half of that for the other: nearly 2**62.
    weights = np.array([2**43, 2**43 - 1, 2**44 - 5, 3])
    scores, labels = [0.1, 0.2, 0.3, 0.05], [0, 1, 0, 1]
    for hour in (0, 1):
        evaluation.update(labels, scores, time=hour * HOUR, sample_weight=weights)
    w = [int(each) for each in weights]
    expected = Fraction(w[1] * w[0], (w[0] + w[2]) * (w[1] + w[3]))
    assert evaluation.evaluate(["auc"], half_life="1h")["auc"].value == pytest.approx(
        float(expected), rel=1e-15
    )


# Labels of groups that were dropped.


def test_labels_of_a_group_that_was_dropped_and_came_back_are_counted() -> None:
    evaluation = two_hours(max_groups=1)
    evaluation.update(y_score=[0.1, 0.2, 0.3], time=[0, HOUR, HOUR], group="a")
    evaluation.update(y_score=[0.1], time=0, group="b")
    evaluation.update(y_score=[0.5, 0.6], time=HOUR, group="a")
    evaluation = SlidingEvaluation.from_bytes(evaluation.to_bytes())
    assert evaluation.dropped == Dropped(groups=2, group_points=4)
    labels = [1, 0, 1, 1, 0]
    evaluation.label([0.1, 0.2, 0.5, 0.6, 0.3], labels, time=[0, HOUR, HOUR, HOUR, HOUR], group="a")
    assert evaluation.dropped == Dropped(labels=3, groups=2, group_points=4)
    sketch = evaluation.sketch(group="a")
    assert (sketch.n_anomalies, sketch.n_normals, sketch.n_unlabelled) == (2, 0, 0)


def test_labels_of_a_group_that_was_there_before_are_still_refused() -> None:
    evaluation = two_hours(max_groups=2)
    for group in ("a", "b", "a", "c"):
        evaluation.update(y_score=[0.1], time=0, group=group)
    assert evaluation.groups == ["a", "c"]
    with pytest.raises(InvalidInputError, match="counted without a label"):
        evaluation.label([0.7], [1], time=0, group="a")
    evaluation.update(y_score=[0.1], time=0, group="d")
    evaluation.label([0.7], [1], time=0, group="d")
    assert evaluation.dropped == Dropped(labels=1, groups=2, group_points=2)


# One moment.


def in_another_thread(change: Callable[[], None]) -> None:
    """Make a change to its end; fail where it waits for the thread that calls."""
    thread = threading.Thread(target=change, daemon=True)
    thread.start()
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_a_snapshot_is_of_one_moment_and_nobody_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluation = two_hours(max_groups=2)
    evaluation.update(y_score=[0.1, 0.2], time=[0, HOUR], group="a")
    evaluation.update(y_score=[0.1, 0.2], time=[0, HOUR], group="b")
    before = evaluation.to_bytes()
    write = ScoreSketch.to_bytes

    def change_and_write(sketch: ScoreSketch) -> bytes:
        monkeypatch.setattr(ScoreSketch, "to_bytes", write)
        in_another_thread(change)
        return write(sketch)

    def change() -> None:
        evaluation.label([0.1], [1], time=0, group="a")
        evaluation.update([0], [0.7], time=HOUR, group="b")
        evaluation.update([0], [0.7], time=[3 * HOUR], group="b")
        evaluation.update([0], [0.7], time=[0], group="b")

    monkeypatch.setattr(ScoreSketch, "to_bytes", change_and_write)
    assert evaluation.to_bytes() == before
    assert evaluation.dropped.points == 1
    assert evaluation.groups == ["b"]


def test_a_window_is_of_one_moment_and_nobody_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = two_hours()
    evaluation.update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], time=[0, 0, HOUR, HOUR])
    before = evaluation.sketch().to_bytes()
    merged = ScoreSketch.merged

    def change_and_merge(*arguments: Any) -> ScoreSketch:
        monkeypatch.setattr(ScoreSketch, "merged", merged)
        in_another_thread(change)
        return merged(*arguments)

    def change() -> None:
        evaluation.update([0, 1], [0.5, 0.6], time=[0, HOUR])
        evaluation.update([0, 1], [0.5, 0.6], time=2 * HOUR)

    monkeypatch.setattr(ScoreSketch, "merged", change_and_merge)
    assert evaluation.sketch().to_bytes() == before
    assert evaluation.sketch().n_points == 5


def test_threads_lose_no_batch_and_see_whole_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluation = two_hours(max_groups=2, memory="4kB")
    count = ScoreSketch.count_points

    def count_slowly(sketch: ScoreSketch, points: Any) -> None:
        time.sleep(0.0005)
        count(sketch, points)

    monkeypatch.setattr(ScoreSketch, "count_points", count_slowly)
    stop = threading.Event()

    def work(i: int) -> None:
        evaluation.update([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], time=[0, 0, HOUR, HOUR], group=i % 5)

    def ask() -> None:
        while not stop.is_set():
            restored = SlidingEvaluation.from_bytes(evaluation.to_bytes())
            assert len(restored.groups) <= 2
            assert restored.sketch().n_points % 4 == 0

    with ThreadPoolExecutor(5) as pool:
        asking = pool.submit(ask)
        list(pool.map(work, range(100)))
        stop.set()
        asking.result()
    assert evaluation.sketch().n_points + evaluation.dropped.group_points == 400


def test_a_copy_changes_by_itself() -> None:
    rng = np.random.default_rng(0)
    for memory, n_points in (("1kB", 500), ("128kB", 500), ("128kB", 20_000)):
        scores, labels = rng.normal(size=n_points), rng.random(n_points) < 0.3
        sketch = ScoreSketch(memory)
        sketch.update(labels, scores)
        sketch.update(y_score=scores[:100])
        before = sketch.to_bytes()
        copied = sketch.copy()
        assert copied.to_bytes() == before
        copied.update(labels, scores + 9)
        copied.label(scores[:100], labels[:100])
        assert sketch.to_bytes() == before
        sketch.update(labels, scores + 9)
        sketch.label(scores[:100], labels[:100])
        assert sketch.to_bytes() == copied.to_bytes() != before
    assert ScoreSketch("1kB").copy().to_bytes() == ScoreSketch("1kB").to_bytes()
