"""Integers in as few bytes as they need."""

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel


@kernel
def write_varints(
    numbers: npt.NDArray[np.uint64],  # (n,)
    written: npt.NDArray[np.uint8],  # (10 n,) written here
) -> int:
    """Write numbers seven bits a byte, lowest first; return how many bytes."""
    k = 0
    for i in range(numbers.shape[0]):
        rest = numbers[i]
        while rest >= np.uint64(128):
            written[k] = np.uint8(rest & np.uint64(127)) | np.uint8(128)
            rest >>= np.uint64(7)
            k += 1
        written[k] = np.uint8(rest)
        k += 1
    return k


@kernel
def read_varints(
    written: npt.NDArray[np.uint8],  # (k,)
    numbers: npt.NDArray[np.uint64],  # (n,) written here
) -> int:
    """Read numbers; return how many bytes they take, -1 where there are too few."""
    k = 0
    for i in range(numbers.shape[0]):
        number = np.uint64(0)
        bits = np.uint64(0)
        while True:
            if k == written.shape[0] or bits > np.uint64(63):
                return -1
            byte = written[k]
            k += 1
            number |= np.uint64(byte & np.uint8(127)) << bits
            bits += np.uint64(7)
            if byte < 128:
                break
        numbers[i] = number
    return k
