"""Counts of scores in cells of equal width on the scale of their rank bits.

A cell holds the scores whose rank bits agree but for the lowest ``shift`` ones: it is 2**shift ulps
wide. Neighbouring cells, 2**page_bits of them, are a page. A page is found by
hashing: ``directory[h]`` holds the page's number and its slot, or a negative slot where it is
free; ``counts[slot << page_bits | cell within the page]`` holds one count for each kind of point.

Rank bits have 64 bits, one of which stays: ``shift + page_bits`` is from 0 to 63.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import IntMatrix, IntVector, KeyVector, LabelVector
from fastad._kernels.ordering.keys import rank_bits

# Fibonacci hashing: the fractional part of the golden ratio in 64 bits.
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
# Points that are counted at a time: their cells stay in a core's fastest memory.
_BLOCK = 512


@kernel
def hash_shift(
    n_entries: int,  # 2**k, k from 1 to 63
) -> Any:
    """Return how many bits of a hash to drop for a directory: 64 - k."""
    drop = 64
    while n_entries > 1:
        n_entries >>= 1
        drop -= 1
    return np.uint64(drop)


@kernel
def entry_of(
    page: Any,
    directory: IntMatrix,  # (2**k, 2) with a free entry
    drop: Any,  # 64 - k, from 1 to 63
) -> Any:
    """Return the entry of a page in a directory, or the free one where it belongs."""
    mask = np.uint64(directory.shape[0] - 1)
    entry = (np.uint64(page) * _FIBONACCI) >> drop
    while directory[entry, 0] != page and directory[entry, 1] >= 0:
        entry = (entry + np.uint64(1)) & mask
    return entry


@kernel
def count_cells(
    values: KeyVector,  # (n,) bits of scores
    kinds: LabelVector,  # (n,) column of the counts
    weights: IntVector,  # (n,), or empty where all are 1
    largest: int,
    signed: int,
    shift: int,  # from 0 on
    page_bits: int,  # from 0 to 63 - shift
    directory: IntMatrix,  # (2**k, 2)
    counts: npt.NDArray[Any],  # (n_slots << page_bits, n_kinds) added to here
    missing: IntVector,  # (n,) the rows whose page is not there, written here
) -> int:
    """Count the rows whose page is there; return how many are missing.

    Block by block in three loops: the first vectorises, and neither of the others waits for memory
    that the other one needs.
    """
    drop = hash_shift(directory.shape[0])
    last = (1 << page_bits) - 1
    n_kinds = counts.shape[1]
    flat = counts.reshape(-1)
    cells = np.empty(_BLOCK, np.int64)
    n_missing = 0
    for start in range(0, values.shape[0], _BLOCK):
        block = values[start : start + _BLOCK]
        columns = kinds[start : start + _BLOCK]
        size = block.shape[0]
        for i in range(size):
            cells[i] = rank_bits(block[i], largest, signed) >> shift
        for i in range(size):
            slot = directory[entry_of(cells[i] >> page_bits, directory, drop), 1]
            if slot < 0:
                missing[n_missing] = start + i
                n_missing += 1
                cells[i] = -1
            else:
                cells[i] = (slot << page_bits | cells[i] & last) * n_kinds + columns[i]
        if weights.shape[0] == 0:
            for i in range(size):
                if cells[i] >= 0:
                    flat[cells[i]] += 1
        else:
            for i in range(size):
                if cells[i] >= 0:
                    flat[cells[i]] += weights[start + i]
    return n_missing


@kernel
def add_pages(
    values: KeyVector,  # (n,) bits of scores
    rows: IntVector,  # (k,)
    largest: int,
    signed: int,
    shift: int,  # of pages, from 0 to 63
    directory: IntMatrix,  # (2**k, 2) written here
    pages: IntVector,  # (n_slots,) written here: the page of each slot
    n_pages: int,
) -> int:
    """Give the pages of some rows a slot, as long as there are any; return how many have one.

    The number may exceed the slots by one: then rows are left without.
    """
    drop = hash_shift(directory.shape[0])
    for k in range(rows.shape[0]):
        page = rank_bits(values[rows[k]], largest, signed) >> shift
        entry = entry_of(page, directory, drop)
        if directory[entry, 1] < 0:
            if n_pages == pages.shape[0]:
                return n_pages + 1
            directory[entry, 0] = page
            directory[entry, 1] = n_pages
            pages[n_pages] = page
            n_pages += 1
    return n_pages


@kernel
def find_cells(
    cells: IntVector,  # (n,)
    page_bits: int,  # from 0 to 63
    directory: IntMatrix,  # (2**k, 2)
    positions: IntVector,  # (n,) written here: row of the counts, -1 where there is none
) -> None:
    """Look cells up."""
    drop = hash_shift(directory.shape[0])
    last = (1 << page_bits) - 1
    for k in range(cells.shape[0]):
        slot = directory[entry_of(cells[k] >> page_bits, directory, drop), 1]
        positions[k] = -1 if slot < 0 else slot << page_bits | cells[k] & last


@kernel
def fill_directory(
    pages: IntVector,  # (n,) different
    directory: IntMatrix,  # (2**k, 2) written here; all slots are negative
) -> None:
    """Enter pages, each with its position as its slot."""
    drop = hash_shift(directory.shape[0])
    for slot in range(pages.shape[0]):
        entry = entry_of(pages[slot], directory, drop)
        directory[entry, 0] = pages[slot]
        directory[entry, 1] = slot


@kernel
def list_cells(
    pages: IntVector,  # (n_pages,) of each slot
    slots: IntVector,  # (n_pages,) by rising page
    page_bits: int,  # from 0 to 63
    counts: npt.NDArray[Any],  # (n_slots << page_bits, n_kinds)
    cells: IntVector,  # (n_pages << page_bits,) written here, rising
    listed: IntMatrix,  # (n_pages << page_bits, n_kinds) written here
) -> int:
    """List the cells that hold a point; return how many there are."""
    n_cells = 0
    for k in range(slots.shape[0]):
        first = slots[k] << page_bits
        for i in range(1 << page_bits):
            total = np.int64(0)
            for kind in range(counts.shape[1]):
                total += np.int64(counts[first + i, kind])
            if total > 0:
                cells[n_cells] = pages[slots[k]] << page_bits | i
                for kind in range(counts.shape[1]):
                    listed[n_cells, kind] = counts[first + i, kind]
                n_cells += 1
    return n_cells


@kernel
def add_table(
    pages: IntVector,  # (n_pages,) of each slot of the table that is added
    others: npt.NDArray[Any],  # (n_slots << others_bits, n_kinds) its counts
    others_bits: int,  # of its pages, from 0 to 63 - others_shift
    others_shift: int,  # of its cells, from 0 to shift
    first_kind: int,
    last_kind: int,
    weight: int,  # as often each point counts
    shift: int,  # from 0 on
    page_bits: int,  # from 0 to 63 - shift
    directory: IntMatrix,  # (2**k, 2)
    counts: npt.NDArray[Any],  # (n_slots << page_bits, n_kinds) added to here
    bits: IntVector,  # (n,) written here: lowest rank bits of counts whose page is not there
    kinds: LabelVector,  # (n,)
    weights: IntVector,  # (n,)
) -> int:
    """Add the counts of some kinds in another table; return how many have no page."""
    drop = hash_shift(directory.shape[0])
    last = (1 << page_bits) - 1
    n_missing = 0
    for slot in range(pages.shape[0]):
        first = slot << others_bits
        for i in range(1 << others_bits):
            lowest = (pages[slot] << others_bits | i) << others_shift
            cell = lowest >> shift
            position: Any = np.int64(-1)
            for kind in range(first_kind, last_kind + 1):
                count = np.int64(others[first + i, kind]) * weight
                if count == 0:
                    continue
                if position < 0:
                    target = directory[entry_of(cell >> page_bits, directory, drop), 1]
                    position = -1 if target < 0 else target << page_bits | cell & last
                if position < 0:
                    bits[n_missing] = lowest
                    kinds[n_missing] = kind
                    weights[n_missing] = count
                    n_missing += 1
                else:
                    counts[position, kind] += count
    return n_missing


@kernel
def put_cells(
    cells: IntVector,  # (n,) rising
    listed: IntMatrix,  # (n, n_kinds)
    page_bits: int,  # from 0 to 63
    pages: IntVector,  # (n_slots,) written here
    counts: npt.NDArray[Any],  # (n_slots << page_bits, n_kinds) zeros, added to here
) -> int:
    """Put cells into pages, slots in rising order; return the number of pages."""
    n_pages = 0
    last = (1 << page_bits) - 1
    for k in range(cells.shape[0]):
        page = cells[k] >> page_bits
        if n_pages == 0 or pages[n_pages - 1] != page:
            pages[n_pages] = page
            n_pages += 1
        position = (n_pages - 1) << page_bits | cells[k] & last
        for kind in range(listed.shape[1]):
            counts[position, kind] += listed[k, kind]
    return n_pages


@kernel
def count_differing_bits(
    cells: IntVector,  # (n,) rising, different
    numbers: IntVector,  # (65,) added to here
) -> None:
    """Count the neighbours by the number of lowest bits without which they are equal."""
    for k in range(1, cells.shape[0]):
        rest = np.uint64(cells[k] ^ cells[k - 1])
        length = 0
        for step in (32, 16, 8, 4, 2, 1):
            upper = rest >> np.uint64(step)
            if upper > 0:
                rest = upper
                length += step
        numbers[length + 1] += 1
