"""The state of the service: a window, a monitor, and a journal of what came since a snapshot.

A snapshot is a folder ``snapshot-N``; ``journal-N`` holds one line for each request since. A
request is answered when its line is written, so that a process that is killed loses nothing that
was answered: the next one loads the last snapshot and reads its journal. A line that was cut off
was not answered.
"""

import json
import shutil
import threading
from pathlib import Path
from typing import Any

import numpy as np

from fastad.streaming import RateMonitor, SlidingEvaluation

WINDOW, MONITOR = "window", "monitor"


class ServiceState:
    """What the service knows; its methods may be called from any thread."""

    def __init__(self, folder: Path, empty: SlidingEvaluation, monitor: RateMonitor) -> None:
        self.window, self.monitor = empty, monitor
        self._folder = folder
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        numbers = [int(path.name.partition("-")[2]) for path in folder.glob("snapshot-*[0-9]")]
        self._number = max(numbers, default=0)
        if numbers:
            snapshot = folder / f"snapshot-{self._number}"
            self.window = SlidingEvaluation.load(snapshot / WINDOW)
            self.monitor = RateMonitor.from_bytes((snapshot / MONITOR).read_bytes())
        journal = folder / f"journal-{self._number}"
        if journal.exists():
            for line in journal.read_bytes().splitlines(keepends=True):
                if line.endswith(b"\n"):
                    self._apply(json.loads(line))
        # A line that was cut off would be joined to the next one: begin a new journal.
        self._journal = journal.open("ab")
        self.snapshot()

    def change(self, request: dict[str, Any]) -> int:
        """Count points or labels, and keep them; a request that is wrong changes nothing."""
        with self._lock:
            n_samples = self._apply(request)
            self._journal.write(json.dumps(request).encode() + b"\n")
            self._journal.flush()
        return n_samples

    def snapshot(self) -> None:
        """Write all of it, whole or not at all, and begin a new journal."""
        with self._lock:
            number = self._number + 1
            aside = self._folder / f"snapshot-{number}.partial"
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            self.window.save(aside / WINDOW)
            (aside / MONITOR).write_bytes(self.monitor.to_bytes())
            aside.rename(self._folder / f"snapshot-{number}")
            self._journal.close()
            self._journal = (self._folder / f"journal-{number}").open("ab")
            self._number = number
            for old in self._folder.glob("*-*"):
                if not old.name.endswith(f"-{number}"):
                    shutil.rmtree(old) if old.is_dir() else old.unlink()

    def _apply(self, request: dict[str, Any]) -> int:
        group = request.get("group")
        # JSON has no tuples.
        points = {
            "time": request["time"],
            "group": tuple(group) if isinstance(group, list) else group,
        }
        # JSON has no type for 1.0: scores would be integers in one batch and floats in another.
        scores = np.array(request["score"], np.float64)
        if request["kind"] == "labels":
            self.window.label(scores, request["label"], **points)
        else:
            self.window.update(request.get("label"), scores, **points)
            self.monitor.update(y_score=scores)
        return scores.size
