"""Sorting by digits, for processors on which NumPy sorts one comparison after the other."""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel

# Bits of a digit: with more, positions to write to fall out of a core's fastest memory.
DIGIT = 8


@kernel
def radix_sort(
    keys: npt.NDArray[Any],  # (n,), n > 0: unsigned integers of at most 64 bits, sorted here
    spare: npt.NDArray[Any],  # (n,) of the same type, overwritten
    flip: Any,  # the sign bit, of the same type: signed keys order as unsigned ones without it
) -> None:
    """Sort signed integers, seen as unsigned ones, from the lowest digit to the highest."""
    n = keys.shape[0]
    n_digits = (8 * keys.itemsize + DIGIT - 1) // DIGIT
    mask = np.uint64((1 << DIGIT) - 1)
    positions = np.zeros((n_digits, 1 << DIGIT), np.int64)
    for i in range(n):
        rest = np.uint64(keys[i] ^ flip)
        for digit in range(n_digits):
            positions[digit, rest & mask] += 1
            rest >>= np.uint64(DIGIT)
    source, target = keys, spare
    moved = False
    for digit in range(n_digits):
        shift = np.uint64(digit * DIGIT)
        free = positions[digit]
        if free[(np.uint64(source[0] ^ flip) >> shift) & mask] == n:
            continue  # all keys share this digit
        position = 0
        for value in range(free.shape[0]):
            size = free[value]
            free[value] = position
            position += size
        for i in range(n):
            digit_value = (np.uint64(source[i] ^ flip) >> shift) & mask
            target[free[digit_value]] = source[i]
            free[digit_value] += 1
        source, target = target, source
        moved = not moved
    if moved:
        keys[:] = spare
