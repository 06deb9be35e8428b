"""Amounts of memory as users write them."""

import re
from fractions import Fraction
from numbers import Integral

from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
# As many as fit into the bytes of a sketch.
_MOST = 2**63
_SIZE = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)


def check_memory(memory: object, name: str = "memory") -> int:
    """Return the bytes of an integer, or of a string such as "8MB" or "512 KiB"."""
    size = None
    if isinstance(memory, Integral) and not isinstance(memory, bool):
        size = int(memory)
    elif isinstance(memory, str) and (match := _SIZE.fullmatch(memory)):
        number, unit, binary = match.groups()
        units = _BINARY if binary else _UNITS
        if unit.lower() in units:
            size = int(Fraction(number) * units[unit.lower()])
    if size is None or not 1 <= size < _MOST:
        raise InvalidInputError(
            f"{name} must be a number of bytes from 1 to 2^63 - 1, or a size such as '8MB' or "
            f"'512KiB'; found {short_repr(memory)}",
            argument=name,
        )
    return size


def shown_size(n_bytes: int) -> str:
    """Return a number of bytes in the largest unit that leaves at least 1."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"
