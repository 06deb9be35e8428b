"""Bars of progress: of rich, of tqdm, and none where neither is installed."""

import importlib.util
import sys
import threading
import types
from typing import Any

import pytest

import fastad
from fastad._core import progress as module
from fastad._core.progress import SharedProgress, part_of, reporting, show_note


def with_only(monkeypatch: Any, *libraries: str) -> None:
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name if name in libraries else None
    )


def test_a_function_is_called_as_it_is() -> None:
    calls: list[Any] = []
    with reporting(lambda *at: calls.append(at), "points") as report:
        assert report is not None
        report(1, 2)
    assert calls == [(1, 2)]


@pytest.mark.parametrize("off", [None, False])
def test_without_progress_nothing_is_called(off: Any) -> None:
    with reporting(off, "points") as report:
        assert report is None


def test_no_bar_without_a_library(monkeypatch: Any) -> None:
    with_only(monkeypatch)
    with reporting(True, "points") as report:
        assert report is None


def test_a_bar_of_rich(monkeypatch: Any, capsys: Any) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    box = fastad.Box([0], [1])
    fastad.volume(lambda rows: rows[:, 0], 0.5, box, method="uniform", rng=0, progress=True)
    shown = capsys.readouterr()
    assert "points" in shown.err
    assert shown.out == ""


def with_tqdm(monkeypatch: Any) -> list[Any]:
    """Put a bar into the place of tqdm's; return what is done with bars, which grows."""
    seen: list[Any] = []

    class Bar:
        n, total = 0, None

        def __init__(self, **options: Any) -> None:
            seen.append(options["desc"])

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *error: object) -> None:
            seen.append("closed")

        def update(self, more: int) -> None:
            self.n += more
            seen.append((self.n, self.total))

    with_only(monkeypatch, "tqdm")
    fake = types.ModuleType("tqdm")
    fake.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", fake)
    return seen


def test_a_bar_of_tqdm(monkeypatch: Any) -> None:
    seen = with_tqdm(monkeypatch)
    with reporting(True, "points") as report:
        assert report is not None
        for done in (3, 10, 2):
            report(done, 10)
    assert seen == ["points", (3, 10), (10, 10), (2, 10), "closed"]


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self, monkeypatch: Any) -> None:
        self.now = 100.0
        monkeypatch.setattr(module, "perf_counter", lambda: self.now)


def test_a_bar_is_not_drawn_before_its_time(monkeypatch: Any, capsys: Any) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    clock = Clock(monkeypatch)
    with reporting(True, "replicates", after=1.0) as report:
        assert report is not None
        report(1, 10)
        clock.now += 0.9
        report(9, 10)
    assert capsys.readouterr().err == ""
    with reporting(True, "replicates", after=1.0) as report:
        assert report is not None
        clock.now += 1.1
        report(4, 10)
        report(5, 10)
    assert "replicates" in capsys.readouterr().err


def test_a_bar_may_be_opened_by_another_thread(monkeypatch: Any, capsys: Any) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    clock = Clock(monkeypatch)
    with reporting(True, "replicates", after=1.0) as report:
        assert report is not None
        clock.now += 1.1
        worker = threading.Thread(target=report, args=(4, 10))
        worker.start()
        worker.join()
        module.show_note(lambda: "so far so good")
    assert "replicates" in capsys.readouterr().err


def test_a_bar_of_tqdm_is_not_drawn_before_its_time(monkeypatch: Any) -> None:
    seen = with_tqdm(monkeypatch)
    clock = Clock(monkeypatch)
    with reporting(True, "replicates", after=1.0) as report:
        assert report is not None
        report(1, 10)
        assert seen == []
        clock.now += 1
        report(2, 10)
    assert seen == ["replicates", (2, 10), "closed"]


def test_words_are_asked_for_only_while_a_bar_is_drawn(monkeypatch: Any, capsys: Any) -> None:
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    clock = Clock(monkeypatch)
    asked: list[str] = []

    def words(text: str) -> Any:
        return lambda: asked.append(text) or text  # type: ignore[func-returns-value]

    with reporting(True, "points", after=1.0) as report:
        assert report is not None
        show_note(words("too early"))
        clock.now += 2
        report(1, 10)
        show_note(words("[good] by now"))
    show_note(words("too late"))
    with reporting(lambda *at: None, "points"):
        show_note(words("of a function"))
    assert asked == ["[good] by now"]
    assert "[good] by now" in capsys.readouterr().err


def test_parts_that_are_done_in_turn_are_one() -> None:
    calls: list[Any] = []
    for part in range(3):
        report = part_of(lambda *at: calls.append(at), part, 3)
        assert report is not None
        report(2, 5)
        report(5, 5)
    assert calls == [(2, 15), (5, 15), (7, 15), (10, 15), (12, 15), (15, 15)]
    assert part_of(None, 0, 3) is None


def test_computations_at_once_are_one(monkeypatch: Any) -> None:
    """Of different sizes, one with no work at all; calls are some time apart, but the last."""
    calls: list[Any] = []
    clock = Clock(monkeypatch)
    shared = SharedProgress(lambda *at: calls.append(at), 3, 100)
    first, second, third = (shared.part() for _ in range(3))
    clock.now += 1
    first(5, 20)
    second(500, 1000)
    assert calls == [(25, 300)]
    clock.now += 1
    first(20, 20)
    clock.now += 1
    first(1, 1)
    second(1, 1)
    third(1, 1)
    assert calls == [(25, 300), (150, 300), (200, 300), (300, 300)]
