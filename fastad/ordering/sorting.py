"""Sorting packed keys in place: by NumPy where it has a SIMD sort, else digit by digit."""

from functools import cache
from timeit import repeat

import numpy as np

from fastad._kernels.radix import radix_sort
from fastad._types import KeyVector

# Fewer keys are sorted soon enough in any way.
_FEWEST_KEYS = 2**12
# SIMD takes a tenth of the time of the stable sort, which has none; without it they are alike.
_SIMD_RATIO = 0.5


def sort(packed: KeyVector) -> None:
    """Sort keys; digit by digit it takes as much memory again."""
    if packed.shape[0] < _FEWEST_KEYS or numpy_has_simd():
        packed.sort()
        return
    unsigned = np.dtype(f"u{packed.itemsize}")
    flip = unsigned.type(1 << (8 * packed.itemsize - 1))
    radix_sort(packed.view(unsigned), np.empty(packed.shape[0], unsigned), flip)


@cache
def numpy_has_simd() -> bool:
    """Tell once, by a trial of a millisecond, whether NumPy sorts integers with SIMD.

    Whatever the trial finds, the order is the same.
    """
    mixed = np.random.default_rng(0).integers(-(2**62), 2**62, _FEWEST_KEYS)
    quick = min(repeat(lambda: np.sort(mixed), number=1, repeat=3))
    stable = min(repeat(lambda: np.sort(mixed, kind="stable"), number=1, repeat=3))
    return quick < _SIMD_RATIO * stable
