"""Bars of progress: of rich, of tqdm, and none where neither is installed."""

import importlib.util
import sys
import types
from typing import Any

import pytest

import fastad
from fastad._core.progress import reporting


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


def test_a_bar_of_tqdm(monkeypatch: Any) -> None:
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
    module = types.ModuleType("tqdm")
    module.tqdm = Bar  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tqdm", module)
    with reporting(True, "points") as report:
        assert report is not None
        for done in (3, 10, 2):
            report(done, 10)
    assert seen == ["points", (3, 10), (10, 10), (2, 10), "closed"]
