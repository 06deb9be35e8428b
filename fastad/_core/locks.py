"""Locks of objects that threads share, in a process that was forked meanwhile."""

import os
import threading

from fastad.errors import ForkedStateError

# Forks between the first process and this one.
_n_forks = 0
_after_fork = threading.Lock()


def _count_fork() -> None:
    global _n_forks, _after_fork
    _n_forks, _after_fork = _n_forks + 1, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class StateLock:
    """Lock of an object's state, which a forked child uses only where no thread was changing it.

    A child has none of its parent's other threads: a lock that one of them had would never be
    released, and the state that it protects may be half changed. The message names ``owner``, the
    class of the object.
    """

    __slots__ = ("_lock", "_n_forks", "_owner")

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._n_forks = _n_forks
        # None where the state may be half changed.
        self._lock: threading.Lock | None = threading.Lock()

    def checked(self) -> threading.Lock:
        """Return the lock to hold; raise ForkedStateError where it was held at the fork.

        A plain lock, because a Ctrl-C cannot come between acquiring it and the ``with`` block.
        """
        if self._n_forks != _n_forks:
            self._renew()
        if self._lock is None:
            raise ForkedStateError(
                f"a thread was using this {self._owner} when the process was forked, so that its "
                "state may be half changed here; give the child a copy or bytes made before, fork "
                "before threads use it, or start processes by spawn or forkserver"
            )
        return self._lock

    def _renew(self) -> None:
        with _after_fork:
            # Every thread of this process comes here before it holds the lock.
            if self._n_forks != _n_forks:
                held = self._lock is None or self._lock.locked()
                self._lock = None if held else threading.Lock()
                self._n_forks = _n_forks
