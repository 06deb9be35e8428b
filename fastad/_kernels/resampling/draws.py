"""Draws with replacement, of all points or of some, without drawing the others."""

from typing import Any

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import IntVector, LabelVector
from fastad._kernels.random import bits

# Points that are drawn together, and only together: they fit a core's nearest memory.
BLOCK = 4096

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_PAIRS = np.uint64(0x5555555555555555)
_FOURS = np.uint64(0x3333333333333333)
_EIGHTS = np.uint64(0x0F0F0F0F0F0F0F0F)
_BYTES = np.uint64(0x0101010101010101)


@kernel
def draw_evenly(
    key: np.uint64,
    n_draws: int,
    times: LabelVector,  # (n,) written here: how often each of n points is drawn
    block: IntVector,  # memory for random numbers, which come in a loop of their own for SIMD
) -> None:
    """Draw points with replacement.

    An index is floor(u * n) of a number u of 32 bits. That no point comes more than 255 times is
    certain but for one case in 256!.
    """
    times[:] = 0
    n = np.uint64(times.shape[0])
    pairs = (n_draws + 1) // 2
    done = 0
    while done < pairs:
        size = min(block.shape[0], pairs - done)
        for i in range(size):
            z = bits(key, done + i)
            block[i] = (((z & _LOW) * n) >> _HALF) | ((((z >> _HALF) * n) >> _HALF) << _HALF)
        done += size
        if done == pairs and n_draws % 2:
            size -= 1
            times[block[size] & 0xFFFFFFFF] += np.uint8(1)
        for i in range(size):
            times[block[i] & 0xFFFFFFFF] += np.uint8(1)
            times[block[i] >> 32] += np.uint8(1)


@kernel
def count_ones(z: np.uint64) -> np.uint64:
    """Count the bits that are 1: in pairs of bits, in fours, in bytes, and in all."""
    z = z - ((z >> np.uint64(1)) & _PAIRS)
    z = (z & _FOURS) + ((z >> np.uint64(2)) & _FOURS)
    z = (z + (z >> np.uint64(4))) & _EIGHTS
    total: np.uint64 = (z * _BYTES) >> np.uint64(56)
    return total


@kernel
def binomial(key: np.uint64, n_trials: int, numerator: int, denominator: int) -> int:
    """Return how many trials succeed, each with the probability numerator / denominator < 1.

    A trial succeeds where a random number is below the probability. They are compared bit by bit,
    64 trials at a time, and half of those that are left are decided by each bit: no
    probability is rounded, and 2 bits a trial are read, for a half 1.
    """
    n_left = np.int64(n_trials)
    rest = np.int64(numerator)
    successes = np.int64(0)
    position: Any = np.int64(0)
    while n_left > 0 and rest > 0:
        n_zeros = np.int64(0)
        for i in range(n_left >> 6):
            n_zeros += np.int64(count_ones(bits(key, position + i)))
        position += n_left >> 6
        if n_left & 63:
            lowest = (np.uint64(1) << np.uint64(n_left & 63)) - np.uint64(1)
            n_zeros += np.int64(count_ones(bits(key, position) & lowest))
            position += 1
        rest *= 2
        if rest >= denominator:
            # The probability's bit is 1: trials whose bit is 0 lie below it.
            rest -= denominator
            successes += n_zeros
            n_left -= n_zeros
        else:
            n_left = n_zeros
    return int(successes)


@kernel
def share_out(
    key: np.uint64,
    n_points: int,
    n_draws: int,
    first: int,  # of the blocks that are asked for
    shares: IntVector,  # (k,) written here: draws in each of k blocks from that one on
    keys: IntVector,  # (k,) written here: bits of the key of each of them
) -> int:
    """Share draws with replacement out among blocks of points; return how many lie before these.

    The blocks are halved again and again, and the draws of a part are binomial. The number of a
    part in this tree determines its random numbers, so that a block has the same draws with any
    others.
    """
    n_blocks = (n_points + BLOCK - 1) // BLOCK
    last = first + shares.shape[0]
    before = np.int64(0)
    # Parts to be halved: number in the tree, first block, end, draws. Depth first: few wait.
    waiting = np.empty((64, 4), np.int64)
    waiting[0] = 1, 0, n_blocks, n_draws
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        number, start, stop, size = waiting[n_waiting]
        if start >= last:
            continue
        if stop <= first:
            before += size
            continue
        part_key = bits(key, number)
        if stop - start == 1:
            shares[start - first] = size
            keys[start - first] = np.int64(part_key)
            continue
        # The largest power of two below the number of blocks: halves of whole blocks are even.
        half: Any = np.int64(1)
        while 2 * half < stop - start:
            half *= 2
        n_inside = min(stop * BLOCK, n_points) - start * BLOCK
        size_above = binomial(part_key, size, half * BLOCK, n_inside)
        waiting[n_waiting] = 2 * number + 1, start + half, stop, size - size_above
        waiting[n_waiting + 1] = 2 * number, start, start + half, size_above
        n_waiting += 2
    return int(before)


@kernel
def draw(
    key: np.uint64,
    n_points: int,
    n_draws: int,
    first: int,  # block from which on times are asked for
    times: LabelVector,  # (k,) written here: how often each of k points from there on is drawn
    block: IntVector,  # memory for random numbers
) -> int:
    """Draw some of the points with replacement; return how many draws lie before those asked for.

    They end with a block, or with the last point.
    """
    if times.shape[0] == 0:
        return 0
    if n_points <= BLOCK:
        draw_evenly(key, n_draws, times, block)
        return 0
    n_blocks = (times.shape[0] + BLOCK - 1) // BLOCK
    shares = np.empty(n_blocks, np.int64)
    keys = np.empty(n_blocks, np.int64)
    before = share_out(key, n_points, n_draws, first, shares, keys)
    for i in range(n_blocks):
        inside = times[i * BLOCK : (i + 1) * BLOCK]
        draw_evenly(np.uint64(keys[i]), shares[i], inside, block)
    return before
