"""Buffers that are used again for one detector after the other."""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt


class Scratch(threading.local):
    """Buffers by name, for each thread its own; they go when the object goes.

    Fresh memory costs more time than counting in it: the system hands it out page by page. Only
    for arrays that nobody sees after the next detector's turn.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, npt.NDArray[Any]] = {}

    def take(self, name: str, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a buffer of a name, at whatever it was left."""
        buffer = self._buffers.get(name)
        if buffer is None or buffer.shape[0] < size or buffer.dtype != dtype:
            buffer = self._buffers[name] = np.empty(size, dtype)
        return buffer[:size]


class FreshMemory:
    """In place of scratch, where arrays outlive the call: each is new."""

    def take(self, name: str, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return a new array."""
        del name
        return np.empty(size, dtype)


FRESH = FreshMemory()
