"""The state of the service: a window, a monitor, and journals of what came since a snapshot.

``snapshot-N`` is a folder; ``journal-N`` has one line for each batch that came after it. A batch is
written before it is counted, and answered after that: what was answered outlives a kill of the
process, and what could not be written is not counted. The next process loads the latest snapshot
and reads the journals from its number on.
"""

import contextlib
import errno
import fcntl
import hashlib
import json
import logging
import os
import shutil
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from batch import Batch, RefusedError
from config import Settings

from fastad.streaming import RateMonitor, SlidingEvaluation

WINDOW, MONITOR, REST = "window", "monitor", "rest.json"
FIXED = ("pane", "window", "memory", "threshold", "expected_rate")
log = logging.getLogger("service")


class UnavailableError(Exception):
    """A batch that could not be written and was not counted: 503, to be sent again."""


class ServiceState:
    """What the service knows; its methods may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._folder = settings, settings.folder
        self._fixed = {name: getattr(settings, name) for name in FIXED}
        self._lock = threading.Lock()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._owner = _own(self._folder)
        self.counts: Counter[str] = Counter()
        self.errors: dict[str, str] = {}
        self.snapshot_time = 0.0
        # The answer to each batch with an id, the latest last; with a digest of the batch.
        self._answers: dict[str, tuple[str, dict[str, int]]] = {}
        self.window = SlidingEvaluation(
            pane=settings.pane,
            window=settings.window,
            memory=settings.memory,
            max_groups=settings.max_groups,
            # batch.py refuses what is ahead of the clock, so that a gap may be of any length.
            max_ahead="2920000d",
        )
        self.monitor = RateMonitor(
            "flagged_rate", expected_rate=settings.expected_rate, threshold=settings.threshold
        )
        self._snapshot = max(self._numbers("snapshot"), default=-1)
        if self._snapshot >= 0:
            self._load(self._folder / f"snapshot-{self._snapshot}")
        self._number, self._size = max(self._snapshot, 0), 0
        for number in self._numbers("journal"):
            if number >= self._snapshot:
                self._number = number
                self._size = self._replay(self._folder / f"journal-{number}")
        self._journal = self._open(self._number)

    def change(self, batch: Batch) -> dict[str, int]:
        """Write a batch and count it, and return the answer; a batch that is wrong does neither."""
        with self._lock:
            digest = _digest(batch)
            if batch.id in self._answers:
                known, answer = self._answers[batch.id]
                if known != digest:
                    raise RefusedError("id must be new: another batch had it")
                self.counts["repeated_batches"] += 1
                return {**answer, "repeated": 1}
            # A group is refused rather than another one dropped for it.
            if batch.kind == "scores" and batch.group is not None:
                groups = self.window.groups
                if len(groups) >= self._settings.max_groups and batch.group not in groups:
                    raise RefusedError(f"no more than {len(groups)} groups are kept")
            try:
                # What a failed write left is overwritten.
                os.ftruncate(self._journal, self._size)
                if os.pwrite(self._journal, batch.line, self._size) < len(batch.line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError as error:
                self._failed("journal", error)
                raise UnavailableError(f"the batch could not be written: {error}") from None
            # If the process dies here, the batch is counted, and was not answered.
            try:
                answer = self._apply(batch, digest)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._journal, self._size)
                raise
            self._size += len(batch.line)
            self.errors.pop("journal", None)
            return answer

    def snapshot(self) -> None:
        """Write all of it, whole or not at all; failures are logged and kept in `errors`."""
        try:
            self._write_snapshot()
        except OSError as error:
            self._failed("snapshot", error)
        else:
            self.errors.clear()

    def _write_snapshot(self) -> None:
        with self._lock:
            if self._snapshot == self._number:
                if not self._size and not self.errors:
                    return
                self._begin_journal()
            elif self._size:
                self._begin_journal()
            number = self._number
            parts = {
                WINDOW: self.window.to_bytes(),
                MONITOR: self.monitor.to_bytes(),
                REST: json.dumps(
                    {"fixed": self._fixed, "counts": self.counts, "answers": self._answers}
                ).encode(),
            }
        # Batches go to the new journal meanwhile. If this fails, both journals are read.
        aside = self._folder / f"snapshot-{number}.partial"
        shutil.rmtree(aside, ignore_errors=True)
        try:
            aside.mkdir()
            for name, content in parts.items():
                with (aside / name).open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            aside.rename(self._folder / f"snapshot-{number}")
            _sync(self._folder)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        self._snapshot, self.snapshot_time = number, time.time()
        for kind in ("snapshot", "journal"):
            for old in self._numbers(kind):
                if old < number:
                    path = self._folder / f"{kind}-{old}"
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _begin_journal(self) -> None:
        os.ftruncate(self._journal, self._size)
        journal = self._open(self._number + 1)
        os.close(self._journal)
        self._journal, self._number, self._size = journal, self._number + 1, 0

    def _open(self, number: int) -> int:
        return os.open(self._folder / f"journal-{number}", os.O_RDWR | os.O_CREAT, 0o640)

    def _numbers(self, kind: str) -> list[int]:
        return sorted(
            int(path.name.partition("-")[2]) for path in self._folder.glob(f"{kind}-*[0-9]")
        )

    def _load(self, snapshot: Path) -> None:
        rest = json.loads((snapshot / REST).read_bytes())
        if rest["fixed"] != self._fixed:
            raise ValueError(
                f"{self._folder} was begun with {rest['fixed']}; found {self._fixed}. "
                "Choose another folder, or these settings"
            )
        self.window = SlidingEvaluation.from_bytes((snapshot / WINDOW).read_bytes())
        self.monitor = RateMonitor.from_bytes((snapshot / MONITOR).read_bytes())
        self.counts.update(rest["counts"])
        self._answers = {
            name: (digest, answer) for name, (digest, answer) in rest["answers"].items()
        }
        self.snapshot_time = snapshot.stat().st_mtime

    def _replay(self, journal: Path) -> int:
        """Count the batches of a journal, and return the bytes of its valid lines."""
        lines = journal.read_bytes().splitlines(keepends=True)
        size = 0
        for i, line in enumerate(lines):
            # The last one may be cut off, or refused by a process that died: not answered.
            if not line.endswith(b"\n"):
                break
            batch = Batch.from_line(line)
            try:
                self._apply(batch, _digest(batch))
            except (ValueError, TypeError) as error:
                if i + 1 < len(lines):
                    raise ValueError(f"{journal}, line {i + 1}: {error}") from error
                break
            size += len(line)
        return size

    def _apply(self, batch: Batch, digest: str) -> dict[str, int]:
        options = {"time": batch.time, "group": batch.group}
        try:
            if batch.kind == "labels":
                done = self.window.label(batch.score, batch.label, **options)
            else:
                done = self.window.update(batch.label, batch.score, **options)
                self.monitor.update(y_score=batch.score)
        except (ValueError, TypeError) as error:
            # fastad's messages name the argument, what was expected, and what was found.
            raise RefusedError(str(error)) from error
        answer = {"counted": done.counted, "late": done.late}
        self.counts["points" if batch.kind == "scores" else "labels"] += done.counted
        self.counts["batches"] += 1
        if batch.id is not None:
            self._answers[batch.id] = digest, answer
            if len(self._answers) > self._settings.remembered_ids:
                del self._answers[next(iter(self._answers))]
        return answer

    def _failed(self, what: str, error: OSError) -> None:
        self.errors[what] = str(error)
        log.error("%s failed", what, extra={"fields": {"error": str(error)}})


def _digest(batch: Batch) -> str:
    return hashlib.blake2b(batch.line, digest_size=8).hexdigest()


def _own(folder: Path) -> Any:
    """Lock a folder until the process ends."""
    file = (folder / "lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        raise RuntimeError(
            f"{folder} is owned by process {file.read()}: every process needs a folder of its own"
        ) from None
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
