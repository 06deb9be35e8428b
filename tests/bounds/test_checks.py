"""Whether indices and shifts are checked in the code that this process compiles."""

from typing import Any

import numpy as np
import pytest

from fastad._core.jit import kernel
from fastad._core.types import IntVector

pytestmark = pytest.mark.bounds


@kernel
def element(numbers: IntVector, i: int) -> int:
    return int(numbers[i])


@kernel
def doubled(number: Any, n_bits: int) -> int:
    return int(number << n_bits)


@kernel
def halved(number: Any, n_bits: int) -> int:
    return int(number >> n_bits)


@pytest.mark.parametrize("i", [3, -4, 2**62])
def test_an_index_beyond_the_end_raises(i: int) -> None:
    numbers = np.arange(3)
    assert [element(numbers, 2), element(numbers, -3)] == [2, 0]
    with pytest.raises(IndexError, match="index is out of bounds"):
        element(numbers, i)


@pytest.mark.parametrize("n_bits", [64, 65, -1, 2**62])
@pytest.mark.parametrize("shift", [doubled, halved])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_a_shift_by_all_bits_or_more_raises(shift: Any, dtype: Any, n_bits: int) -> None:
    assert shift(dtype(0), 63) == 0
    with pytest.raises(IndexError, match="shift is out of bounds"):
        shift(dtype(1), dtype(n_bits % 2**64) if dtype is np.uint64 else n_bits)
