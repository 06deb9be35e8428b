"""Random numbers: keys and seeds from a caller's argument ``rng``.

`fastad._core.parameters.check_generator` checks that argument. One call draws one key or one seed
from it; all else follows from the number of the unit of work (point, replicate, configuration), so
that results do not depend on threads, blocks or other work.
"""

from zlib import crc32

import numpy as np

from fastad._core.parameters import check_generator


def random_key(rng: int | np.random.Generator | None) -> np.uint64:
    """Draw the key of the counter-based random numbers of kernels."""
    key: np.uint64 = check_generator(rng).integers(2**64, dtype=np.uint64)
    return key


def random_seed(rng: int | np.random.Generator | None) -> int:
    """Draw a seed for several calls that are to use the same random numbers."""
    return int(check_generator(rng).integers(2**63))


def numbered_generator(key: np.uint64, number: int) -> np.random.Generator:
    """Return the generator of a unit of work, which a key and its number determine."""
    return np.random.Generator(np.random.Philox(key=[int(key), number]))


def string_seed(text: str) -> int:
    """Return a number for a name, the same in all processes, as a part of a seed."""
    return crc32(text.encode())
