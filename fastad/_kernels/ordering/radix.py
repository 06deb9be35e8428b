"""Sorting by digits, for processors on which NumPy sorts one comparison after the other.

The highest digits divide many keys into blocks, so that all other passes stay in a core's cache.
In a block the lowest digits are left out: few keys differ by these alone, and are sorted last.
"""

from typing import Any

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import IntVector, KeyVector

# Keys that are sorted by insertion.
_FEW = 16
# With more bits of a digit, counts and ends of its values leave a core's fastest memory.
_DIGIT = 10
# With fewer bits for the blocks, the end of one is read again before it has been written.
_FEWEST_BITS, _MOST_BITS = 7, 12
# Blocks differ in size: one of average size takes this part of the cache, in bits.
_PART = 4
# Digits have these bits more than number the keys of a block, so that few keys share them all.
_MORE = 3


@kernel
def radix_sort(
    keys: KeyVector,  # (n,), n > 0: sorted here
    spare: KeyVector,  # (n,) of the same type, overwritten
    cached: int,  # keys that fit a core's second-level cache, with as many to spare
) -> None:
    """Sort signed integers."""
    n = keys.shape[0]
    width = 0
    lowest, n_bits = _range(keys)
    if n > cached:
        most = _bit_length(n) - _bit_length(cached) + _PART
        width = min(max(most, _FEWEST_BITS), _MOST_BITS, n_bits)
    ends_of_blocks = np.empty(1 << width, np.int64)
    ends_of_blocks[0] = n
    if width > 0:
        _distribute(keys, spare, lowest, n_bits - width, width, ends_of_blocks)
    ends = np.empty(1 << _DIGIT, np.int64)
    start: Any = 0
    for stop in ends_of_blocks:
        if start < stop:
            _sort_block(keys[start:stop], spare[start:stop], min(width, 1), ends)
        start = stop


@kernel
def _sort_block(
    keys: KeyVector,  # (n,), n > 0: sorted here
    spare: KeyVector,  # (n,)
    n_passes: int,  # made: after an odd number the keys are in `spare`
    ends: IntVector,  # (2**_DIGIT,) overwritten
) -> None:
    """Sort by as many of the highest digits as tell most keys apart, or by all of them."""
    source, target = (spare, keys) if n_passes % 2 == 1 else (keys, spare)
    if keys.shape[0] <= _FEW:
        _copy(source, keys)
        _insert(keys)
        return
    lowest, n_bits = _range(source)
    # All values of a digit are counted, which few keys do not pay for.
    digit = min(_bit_length(keys.shape[0]), _DIGIT)
    kept = -(-(_bit_length(keys.shape[0]) + _MORE) // digit) * digit
    if n_bits <= kept or _are_uneven(source, lowest, n_bits - kept):
        kept = n_bits
    n_passes += _sort_digits(source, target, lowest, n_bits - kept, n_bits, digit, ends)
    if kept < n_bits:
        source = spare if n_passes % 2 == 1 else keys
        _sort_runs(source, keys, spare, lowest, n_bits - kept, ends)
    elif n_passes % 2 == 1:
        _copy(spare, keys)


@kernel
def _are_uneven(
    keys: KeyVector,  # (n,)
    lowest: Any,
    dropped: int,  # number of the lowest bits
) -> bool:
    """Tell whether keys of a sample differ by the lowest bits alone, and by more than the label.

    The sample has half as many pairs as there are keys.
    """
    size = int(np.sqrt(keys.shape[0]))
    step = keys.shape[0] // size
    sample = np.empty(size, np.uint64)
    n_close = 0
    for i in range(size):
        key = np.uint64(keys[i * step]) - lowest
        sample[i] = key
        for j in range(i):
            difference = np.uint64(key ^ sample[j])
            n_close += (difference > 1) & (difference >> np.uint64(dropped) == 0)
    return n_close > 0


@kernel
def _sort_runs(
    source: KeyVector,  # (n,) `keys` or `spare`: in order but for the lowest bits
    keys: KeyVector,  # (n,) written here, sorted
    spare: KeyVector,  # (n,) overwritten
    lowest: Any,
    dropped: int,  # number of the lowest bits
    ends: IntVector,  # (2**_DIGIT,) overwritten
) -> None:
    """Sort the keys that differ by the lowest bits alone, where they are not in order."""
    n = keys.shape[0]
    shift = np.uint64(dropped)
    before = source[0]
    stop = 0
    while stop < n:
        if source[stop] >= before:
            before = source[stop]
            keys[stop] = before
            stop += 1
            continue
        shared = (np.uint64(before) - lowest) >> shift
        start = stop - 1
        while start > 0 and (np.uint64(keys[start - 1]) - lowest) >> shift == shared:
            start -= 1
        while stop < n and (np.uint64(source[stop]) - lowest) >> shift == shared:
            keys[stop] = source[stop]
            stop += 1
        if stop - start <= _FEW:
            _insert(keys[start:stop])
        else:
            _sort_run(keys[start:stop], spare[start:stop], ends)
        before = keys[stop - 1]


@kernel
def _sort_run(
    keys: KeyVector,  # (n,) sorted here
    spare: KeyVector,  # (n,) overwritten
    ends: IntVector,  # (2**_DIGIT,) overwritten
) -> None:
    """Sort many neighbours: by all digits, or by the label alone where their scores tie."""
    lowest, n_bits = _range(keys)
    if n_bits == 1:
        _sort_two(keys)
        return
    digit = min(_bit_length(keys.shape[0]), _DIGIT)
    if _sort_digits(keys, spare, lowest, 0, n_bits, digit, ends) % 2 == 1:
        _copy(spare, keys)


@kernel
def _sort_digits(
    source: KeyVector,  # (n,) overwritten
    target: KeyVector,  # (n,) overwritten; has the keys after an odd number of passes
    lowest: Any,
    first: int,
    last: int,
    digit: int,  # bits of a digit at most
    ends: IntVector,  # (2**digit or more,) overwritten
) -> int:
    """Sort by the bits from one to another, the lowest digit first; return the number of passes."""
    n_passes = -(-(last - first) // digit)
    for i in range(n_passes):
        start = first + (last - first) * i // n_passes
        stop = first + (last - first) * (i + 1) // n_passes
        _distribute(source, target, lowest, start, stop - start, ends)
        source, target = target, source
    return n_passes


@kernel
def _distribute(
    source: KeyVector,  # (n,)
    target: KeyVector,  # (n,) written here
    lowest: Any,  # subtracted from the keys, modulo 2**64
    shift: int,
    width: int,
    ends: IntVector,  # (2**width or more,) written here: where the keys with each value end
) -> None:
    """Order keys by a digit."""
    drop, mask = np.uint64(shift), np.uint64((1 << width) - 1)
    for value in range(1 << width):
        ends[value] = 0
    for i in range(source.shape[0]):
        ends[((np.uint64(source[i]) - lowest) >> drop) & mask] += 1
    position = 0
    for value in range(1 << width):
        size = ends[value]
        ends[value] = position
        position += size
    for i in range(source.shape[0]):
        key = source[i]
        digit = ((np.uint64(key) - lowest) >> drop) & mask
        target[ends[digit]] = key
        ends[digit] += 1


@kernel
def _sort_two(keys: KeyVector) -> None:
    """Sort keys that are one number or the next."""
    low = keys[0]
    for i in range(keys.shape[0]):
        low = min(low, keys[i])
    n_low = 0
    for i in range(keys.shape[0]):
        n_low += keys[i] == low
    for i in range(keys.shape[0]):
        keys[i] = low + (i >= n_low)


@kernel
def _copy(source: KeyVector, target: KeyVector) -> None:
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def _insert(keys: KeyVector) -> None:
    """Sort a few keys."""
    for i in range(1, keys.shape[0]):
        key = keys[i]
        k = i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            k -= 1
        keys[k] = key


@kernel
def _range(keys: KeyVector) -> Any:
    """Return the lowest key without its label, modulo 2**64, and the bits of all keys less it."""
    low = keys[0]
    high = keys[0]
    for i in range(keys.shape[0]):
        low = min(low, keys[i])
        high = max(high, keys[i])
    lowest = np.uint64(np.int64(low) & -2)
    return lowest, _bit_length(np.uint64(high) - lowest)


@kernel
def _bit_length(number: Any) -> int:
    n_bits = 0
    while n_bits < 64 and np.uint64(number) >> np.uint64(n_bits) > 0:
        n_bits += 1
    return n_bits
