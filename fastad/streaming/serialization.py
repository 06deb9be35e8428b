"""Sketches as bytes: little-endian, versioned, with a checksum; the same state, the same bytes."""

import hashlib
import struct
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import short_repr
from fastad._core.types import IntVector
from fastad._kernels.ordering import cells as kernels
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming.cell_table import N_KINDS, CellCounts, CellTable

_MAGIC = b"fastad sketch\n\x00\x00"
_VERSION = 1
# Type of the scores, bytes of memory, dropped bits, lowest and highest rank bits, number of cells.
_HEADER = struct.Struct("<H8sQBqqQ")
_DIGEST = 16
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_TYPES = ("", "bool", "float16", "float32", "float64", *_INTEGERS)


class SketchState(NamedTuple):
    """All that a sketch is: the type of the scores, its memory, cells, and extreme scores."""

    dtype: np.dtype[np.generic] | None
    memory: int
    listed: CellCounts
    lowest: int
    highest: int


def to_bytes(state: SketchState) -> bytes:
    """Write a state."""
    listed = state.listed
    name = "" if state.dtype is None else state.dtype.name
    header = _HEADER.pack(
        _VERSION,
        name.encode(),
        state.memory,
        listed.shift,
        state.lowest,
        state.highest,
        listed.cells.shape[0],
    )
    gaps = np.diff(listed.cells.view(np.uint64), prepend=np.uint64(0))
    numbers = np.concatenate([gaps, listed.counts.T.reshape(-1).view(np.uint64)])
    written = np.empty(10 * numbers.shape[0], np.uint8)
    n_bytes = kernels.write_varints(as_readonly(numbers), written)
    content = _MAGIC + header + written[:n_bytes].tobytes()
    return content + hashlib.blake2b(content, digest_size=_DIGEST).digest()


def from_bytes(data: object) -> SketchState:
    """Read a state; refuse anything else with what was found."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise InvalidTypeError(
            f"data must be the bytes of a sketch; found {type(data).__name__}", argument="data"
        )
    content = bytes(data)
    start = len(_MAGIC) + _HEADER.size
    if not content.startswith(_MAGIC):
        raise _unfit(f"{len(content)} bytes that begin with {short_repr(content[:12])}")
    if len(content) < start + _DIGEST:
        raise _unfit(f"{len(content)} bytes, fewer than the smallest sketch has")
    (version,) = struct.unpack_from("<H", content, len(_MAGIC))
    if version != _VERSION:
        raise _unfit(f"version {version}; this version of fastad reads version {_VERSION}")
    content, digest = content[:-_DIGEST], content[-_DIGEST:]
    if hashlib.blake2b(content, digest_size=_DIGEST).digest() != digest:
        raise _unfit("another checksum: the bytes were cut off or altered")
    _, name, memory, shift, lowest, highest, n_cells = _HEADER.unpack_from(content, len(_MAGIC))
    text = name.rstrip(b"\x00").decode("ascii", "replace")
    payload = np.frombuffer(content, np.uint8, offset=start)
    valid = text in _TYPES and shift < 64 and CellTable.most_cells(memory) >= 2
    # Every number takes a byte at least.
    if not valid or n_cells * (1 + N_KINDS) > payload.shape[0]:
        raise _unfit("a header that no sketch has")
    numbers = np.empty(n_cells * (1 + N_KINDS), np.uint64)
    if kernels.read_varints(as_readonly(payload), numbers) != payload.shape[0]:
        raise _unfit("cells that no sketch has")
    cells: IntVector = np.cumsum(numbers[:n_cells]).view(np.int64)
    counts = np.ascontiguousarray(numbers[n_cells:].view(np.int64).reshape(N_KINDS, n_cells).T)
    if np.any(cells[1:] <= cells[:-1]) or np.any(counts < 0):
        raise _unfit("cells that no sketch has")
    dtype = np.dtype(text) if text else None
    return SketchState(dtype, memory, CellCounts(cells, counts, shift), lowest, highest)


def _unfit(found: str) -> InvalidInputError:
    return InvalidInputError(f"data must be the bytes of a sketch; found {found}", argument="data")
