"""Bytes with a version and a checksum, and sketches as such: the same state, the same bytes."""

import hashlib
import struct
from typing import NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.parameters import short_repr
from fastad._core.types import IntVector
from fastad._kernels.ordering import varints
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.ordering.raw import KeyCodec
from fastad.streaming.sketches.cell_table import CellTable
from fastad.streaming.sketches.cells import N_KINDS, CellCounts, ScoreCells

# A sketch with counts in bins: bytes of the sketch, number of bins, whether weights are real and
# whether ranges were joined; then the sketch, ends of the bins and counts.
_BINS_HEADER = struct.Struct("<QQ??")
# Type of the scores, bytes of memory, dropped bits, lowest and highest rank bits, number of cells.
_HEADER = struct.Struct("<8sQBqqQ")
_VERSIONS = struct.Struct("<H")
_DIGEST = 16
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_TYPES = ("", "bool", "float16", "float32", "float64", *_INTEGERS)


class SketchState(NamedTuple):
    """State of a sketch: type of the scores, memory, cells, and extreme scores."""

    dtype: np.dtype[np.generic] | None
    memory: int
    listed: CellCounts
    lowest: int
    highest: int
    bins: ScoreCells | None = None  # what somebody else has counted


class SealedFormat(NamedTuple):
    """Format of bytes: a magic string, a version, the payload, and a checksum."""

    magic: bytes
    version: int
    what: str  # object that the bytes are of

    def seal(self, content: bytes) -> bytes:
        """Frame a payload."""
        sealed = self.magic + _VERSIONS.pack(self.version) + content
        return sealed + hashlib.blake2b(sealed, digest_size=_DIGEST).digest()

    def unseal(self, data: object, least: int = 0) -> bytes:
        """Check sealed bytes and return their payload of at least ``least`` bytes."""
        if not isinstance(data, bytes | bytearray | memoryview):
            kind = type(data).__name__
            raise InvalidTypeError(f"data must be the bytes of {self.what}; found {kind}")
        sealed = bytes(data)
        start = len(self.magic) + _VERSIONS.size
        if not sealed.startswith(self.magic):
            raise self.unfit(f"{len(sealed)} bytes that begin with {short_repr(sealed[:12])}")
        if len(sealed) < start + least + _DIGEST:
            smallest = self.what.partition(" ")[2]
            raise self.unfit(f"{len(sealed)} bytes, fewer than the smallest {smallest} has")
        (found,) = _VERSIONS.unpack_from(sealed, len(self.magic))
        if found != self.version:
            raise self.unfit(
                f"version {found}; this version of fastad reads version {self.version}"
            )
        sealed, digest = sealed[:-_DIGEST], sealed[-_DIGEST:]
        if hashlib.blake2b(sealed, digest_size=_DIGEST).digest() != digest:
            raise self.unfit("another checksum: the bytes were cut off or altered")
        return sealed[start:]

    def unfit(self, found: str) -> InvalidInputError:
        """Return the error for bytes that are not of the expected kind."""
        return InvalidInputError(f"data must be the bytes of {self.what}; found {found}")


_SKETCH = SealedFormat(b"fastad sketch\n\x00\x00", 1, "a sketch")
_BINS = SealedFormat(b"fastad bins\n\x00\x00\x00\x00", 1, "a sketch")


def to_bytes(state: SketchState) -> bytes:
    """Write a state."""
    if state.bins is not None:
        return _with_bins(to_bytes(state._replace(bins=None)), state.bins)
    listed = state.listed
    name = "" if state.dtype is None else state.dtype.name
    header = _HEADER.pack(
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
    n_bytes = varints.write_varints(as_readonly(numbers), written)
    return _SKETCH.seal(header + written[:n_bytes].tobytes())


def _with_bins(sketch: bytes, bins: ScoreCells) -> bytes:
    columns = (bins.lowest, bins.highest, bins.normals, bins.anomalies)
    header = _BINS_HEADER.pack(len(sketch), len(bins.lowest), bins.is_real, bins.joined)
    arrays = b"".join(column.astype(column.dtype.newbyteorder("<")).tobytes() for column in columns)
    return _BINS.seal(header + sketch + arrays)


def _read_bins(data: bytes) -> SketchState:
    content = _BINS.unseal(data, _BINS_HEADER.size)
    n_bytes, n_bins, is_real, joined = _BINS_HEADER.unpack_from(content)
    start = _BINS_HEADER.size + n_bytes
    if len(content) != start + 32 * n_bins:
        raise _SKETCH.unfit("bins that no sketch has")
    state = from_bytes(content[_BINS_HEADER.size : start])
    ends = np.frombuffer(content, "<i8", 2 * n_bins, start).astype(np.int64).reshape(2, -1)
    counts = np.frombuffer(content, "<f8" if is_real else "<i8", offset=start + 16 * n_bins)
    counts = counts.astype(counts.dtype.newbyteorder("=")).reshape(2, -1)
    falls = np.all(ends[0] <= ends[1]) and np.all(ends[1, 1:] < ends[0, :-1])
    if not falls or state.dtype != np.float64 or not np.all(counts.sum(axis=0) > 0):
        raise _SKETCH.unfit("bins that no sketch has")
    lowest, highest, normals, anomalies = map(as_readonly, (*ends, *counts))
    codec = KeyCodec(np.dtype(np.float64), 0)
    bins = ScoreCells(lowest, highest, normals, anomalies, codec, joined)
    return state._replace(bins=bins)


def from_bytes(data: object) -> SketchState:
    """Read a state; refuse anything else."""
    if isinstance(data, bytes | bytearray | memoryview) and bytes(data).startswith(_BINS.magic):
        return _read_bins(bytes(data))
    content = _SKETCH.unseal(data, _HEADER.size)
    name, memory, shift, lowest, highest, n_cells = _HEADER.unpack_from(content)
    text = name.rstrip(b"\x00").decode("ascii", "replace")
    payload = np.frombuffer(content, np.uint8, offset=_HEADER.size)
    valid = text in _TYPES and shift < 64 and CellTable.most_cells(memory) >= 2
    # Every number takes a byte at least.
    if not valid or n_cells * (1 + N_KINDS) > payload.shape[0]:
        raise _SKETCH.unfit("a header that no sketch has")
    numbers = np.empty(n_cells * (1 + N_KINDS), np.uint64)
    if varints.read_varints(as_readonly(payload), numbers) != payload.shape[0]:
        raise _SKETCH.unfit("cells that no sketch has")
    cells: IntVector = np.cumsum(numbers[:n_cells]).view(np.int64)
    counts = np.ascontiguousarray(numbers[n_cells:].view(np.int64).reshape(N_KINDS, n_cells).T)
    # A cell has the bits that are left of a score's.
    beyond = cells << shift >> shift != cells
    if np.any(cells[1:] <= cells[:-1]) or np.any(beyond) or np.any(counts < 0):
        raise _SKETCH.unfit("cells that no sketch has")
    dtype = np.dtype(text) if text else None
    return SketchState(dtype, memory, CellCounts(cells, counts, shift), lowest, highest)
