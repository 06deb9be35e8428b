"""Buffers that are used again by one call after the other.

Fresh memory costs more time than counting in it: the system hands it out page by page, and takes
it back.
"""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.types import AnyVector

Memory = TypeVar("Memory")

# Fewer entries are allocated sooner than a used buffer is found for them.
_FEW = 2**12
# Bytes of unused buffers that the process keeps at most: enough for a million scores.
_KEPT = 2**26

_state = threading.local()


class _Buffers:
    """Buffers by name."""

    __slots__ = ("by_name", "nbytes")

    def __init__(self) -> None:
        self.by_name: dict[str, AnyVector] = {}
        self.nbytes = 0

    def borrow(self, name: str, size: int, dtype: npt.DTypeLike) -> AnyVector:
        """Return the buffer of a name; a new one where it is unfit or still in use."""
        buffer = self.by_name.get(name)
        if (
            buffer is None
            or buffer.shape[0] < size
            or (buffer.dtype is not dtype and buffer.dtype != dtype)
            or self.references(name) > _ALONE
        ):
            buffer = self.by_name[name] = np.empty(size, dtype)
            self.nbytes = sum(buffer.nbytes for buffer in self.by_name.values())
        return buffer[:size]

    def references(self, name: str) -> int:
        """Count references to a buffer: its views, and the caller's."""
        return sys.getrefcount(self.by_name[name])


def _references_when_alone() -> int:
    buffers = _Buffers()
    buffers.borrow("unused", 1, np.int8)
    return buffers.references("unused")


# References to a buffer that is not in use; Python's versions differ in it. `borrow` has one, too.
_ALONE = _references_when_alone() + 1


# Appending to a deque and popping from it are atomic, whatever other threads do.
_idle: deque[_Buffers] = deque()


class ReusedBuffers:
    """Block in which `borrow_buffer` returns used memory to which there are no more references.

    Views that outlive the block stay intact, because the memory is then not used again.
    """

    __slots__ = ("_outer",)

    def __enter__(self) -> None:
        self._outer: _Buffers | None = getattr(_state, "buffers", None)
        try:
            _state.buffers = _idle.pop()
        except IndexError:
            _state.buffers = _Buffers()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        buffers, _state.buffers = _state.buffers, self._outer
        idle = sum([other.nbytes for other in tuple(_idle)]) if _idle else 0
        if buffers.nbytes + idle <= _KEPT:
            _idle.append(buffers)


def borrow_buffer(name: str, size: int, dtype: npt.DTypeLike) -> AnyVector:
    """Return memory, with whatever is left in it; new memory outside of any block."""
    if size < _FEW:
        return np.empty(size, dtype)
    buffers: _Buffers | None = getattr(_state, "buffers", None)
    return np.empty(size, dtype) if buffers is None else buffers.borrow(name, size, dtype)


class MemoryPool(Generic[Memory]):
    """Memory for the same work in several threads: made where none is idle, and used again."""

    def __init__(self, make: Callable[[], Memory]) -> None:
        self._make = make
        self._idle: deque[Memory] = deque()

    @contextmanager
    def borrowed(self) -> Iterator[Memory]:
        """Return memory that no other thread uses within the block, with whatever is left in it."""
        try:
            memory = self._idle.pop()
        except IndexError:
            memory = self._make()
        yield memory
        self._idle.append(memory)
