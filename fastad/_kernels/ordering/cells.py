"""Counts of scores in cells of equal width on the scale of their rank bits.

A cell holds the scores whose rank bits agree but for the lowest ``shift`` ones, so that it is as
wide as so many ulps. Neighbouring cells, 2**page_bits of them, are a page. A page is found by
hashing: ``directory[h]`` holds the page's number and its slot, or a negative slot where it is
free; ``counts[slot << page_bits | cell within the page]`` holds one count for each kind of point.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.jit import kernel
from fastad._core.types import CountVector, IntMatrix, IntVector, KeyVector, LabelVector

# Fibonacci hashing: the fractional part of the golden ratio in 64 bits.
_FIBONACCI = np.uint64(0x9E3779B97F4A7C15)
# Points that are counted at a time: their cells stay in a core's fastest memory.
_BLOCK = 512
# From here on, the first terms of the harmonic numbers' expansion are right to the last digits.
_MANY = 1000
# Terms of a sum in one cell that are added one by one.
_TOO_MANY = 100_000


@kernel
def hash_shift(n_entries: int) -> Any:
    """Return how many bits of a hash to drop for a directory of 2**k entries."""
    drop = 64
    while n_entries > 1:
        n_entries >>= 1
        drop -= 1
    return np.uint64(drop)


@kernel
def entry_of(page: Any, directory: IntMatrix, drop: Any) -> Any:
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
    shift: int,
    page_bits: int,
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
            value = np.int64(block[i])
            sign = (value >> 63) & signed
            cells[i] = (((value & largest) ^ sign) - sign) >> shift
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
    shift: int,  # of pages
    directory: IntMatrix,  # (2**k, 2) written here
    pages: IntVector,  # (n_slots,) written here: the page of each slot
    n_pages: int,
) -> int:
    """Give the pages of some rows a slot, as long as there are any; return how many have one.

    The number may exceed the slots by one: then rows are left without.
    """
    drop = hash_shift(directory.shape[0])
    for k in range(rows.shape[0]):
        value = np.int64(values[rows[k]])
        sign = (value >> 63) & signed
        page = (((value & largest) ^ sign) - sign) >> shift
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
    page_bits: int,
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
    page_bits: int,
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
    others_bits: int,  # of its pages
    others_shift: int,  # of its cells, at most as large as the other one
    first_kind: int,
    last_kind: int,
    weight: int,  # as often each point counts
    shift: int,
    page_bits: int,
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
                    found = directory[entry_of(cell >> page_bits, directory, drop), 1]
                    position = -1 if found < 0 else found << page_bits | cell & last
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
    page_bits: int,
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
    """Count the neighbours of which so many of the lowest bits have to be dropped to be one."""
    for k in range(1, cells.shape[0]):
        rest = np.uint64(cells[k] ^ cells[k - 1])
        length = 0
        for step in (32, 16, 8, 4, 2, 1):
            upper = rest >> np.uint64(step)
            if upper > 0:
                rest = upper
                length += step
        numbers[length + 1] += 1


@kernel
def rows_between(
    values: KeyVector,  # (n,) bits of scores
    largest: int,
    signed: int,
    lows: IntVector,  # (k,) rising rank bits, at least one
    highs: IntVector,  # (k,) the ends of the ranges, which do not overlap
    rows: IntVector,  # (n,) written here
) -> int:
    """Write the rows whose rank bits lie in a range, ends included; return how many there are."""
    n_rows = 0
    lowest = lows[0]
    highest = highs[-1]
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        sign = (value >> 63) & signed
        bits = ((value & largest) ^ sign) - sign
        if bits < lowest or bits > highest:
            continue
        # The last range that does not begin above it.
        first = 0
        last = lows.shape[0]
        while last - first > 1:
            middle = (first + last) // 2
            if lows[middle] <= bits:
                first = middle
            else:
                last = middle
        if bits <= highs[first]:
            rows[n_rows] = i
            n_rows += 1
    return n_rows


@kernel
def take_bits(
    values: KeyVector,  # (n,) bits of scores
    kinds: LabelVector,  # (n,)
    kind: int,
    largest: int,
    signed: int,
    taken: IntVector,  # (m,) written here from a position on; there is room for all
    position: int,
) -> int:
    """Write the rank bits of the points of one kind; return where the next one goes."""
    for i in range(values.shape[0]):
        value = np.int64(values[i])
        sign = (value >> 63) & signed
        # Something is written for each row, and over it unless it is of the kind.
        taken[position] = ((value & largest) ^ sign) - sign
        position += kinds[i] == kind
    return position


@kernel
def count_between(
    points: IntVector,  # (k,) rising, also equal ones
    block: IntVector,  # (n,) rising
    between: npt.NDArray[Any],  # (k + 1,) added to here: how many lie below each point
    equal: npt.NDArray[Any],  # (k,) added to here, at the first of equal points
) -> None:
    """Count numbers between points and at them; a number above all points counts last."""
    k = points.shape[0]
    position = 0
    for i in range(block.shape[0]):
        value = block[i]
        # In steps that double, as the next point is near or far.
        step = 1
        while position + step < k and points[position + step] < value:
            position += step
            step *= 2
        while step > 0:
            if position + step <= k and points[position + step - 1] < value:
                position += step
            step //= 2
        if position < k and points[position] == value:
            equal[position] += 1
        else:
            between[position] += 1


@kernel
def write_corners(
    anomalies: IntVector,  # (n,) rising rank bits
    between: npt.NDArray[Any],  # (n + 1,) normals below each anomaly, and above the last
    equal: npt.NDArray[Any],  # (n,) normals that tie with each, at the first of equal anomalies
    start: int,  # the anomaly from which to go down, the first of its tie
    stop: int,
    fp: int,  # normals above it
    tp: int,
    fps: CountVector,  # (2 (start - stop) + 2,) written here
    tps: CountVector,
) -> int:
    """Write the corners of the curve from one anomaly down to another; return how many.

    Normals that no anomaly separates are one step. ``start`` and ``stop`` are numbers of
    anomalies that are not above the piece, and each the end of a tie.
    """
    fps[0] = fp
    tps[0] = tp
    points = 1
    i = start
    while i > stop:
        first = i - 1
        while first > 0 and anomalies[first - 1] == anomalies[i - 1]:
            first -= 1
        if between[i] > 0:
            fp += between[i]
            fps[points] = fp
            tps[points] = tp
            points += 1
        fp += equal[first]
        tp += i - first
        fps[points] = fp
        tps[points] = tp
        points += 1
        i = first
    if stop == 0 and between[0] > 0:
        fps[points] = fp + between[0]
        tps[points] = tp
        points += 1
    return points


@kernel
def write_points(
    anomalies: IntVector,  # (k,) rising rank bits
    normals: IntVector,  # (n,) rising rank bits
    fp: int,  # normals above them
    tp: int,
    keys: IntVector,  # (k + n,) written here: rising keys of the distinct scores
    fps: CountVector,  # (k + n + 1,) written here
    tps: CountVector,
) -> int:
    """Write the curve of points from above down; return how many distinct scores they have."""
    i, j = anomalies.shape[0], normals.shape[0]
    fps[0] = fp
    tps[0] = tp
    points = 0
    while i > 0 or j > 0:
        bits = (
            anomalies[i - 1]
            if j == 0 or (i > 0 and anomalies[i - 1] > normals[j - 1])
            else normals[j - 1]
        )
        while i > 0 and anomalies[i - 1] == bits:
            i -= 1
            tp += 1
        while j > 0 and normals[j - 1] == bits:
            j -= 1
            fp += 1
        keys[points] = ~bits
        points += 1
        fps[points] = fp
        tps[points] = tp
    return points


@kernel
def arrange(
    lowest: IntVector,  # (n,) falling rank bits: lowest score of each cell
    highest: IntVector,  # (n,) highest one
    normals: IntVector,  # (n,)
    anomalies: IntVector,  # (n,)
    anomalies_first: bool,  # noqa: FBT001 - kernels take no keywords
    keys: IntVector,  # (2 n,) written here: falling keys
    fps: CountVector,  # (2 n + 1,) written here
    tps: CountVector,  # (2 n + 1,) written here
) -> int:
    """Write the counts of a curve through cells; return how many distinct scores it has.

    In each cell one class has the highest score and the other the lowest one. A cell of a single
    score is a tie.
    """
    points = 0
    fp = 0
    tp = 0
    fps[0] = 0
    tps[0] = 0
    for i in range(lowest.shape[0]):
        upper_fp, upper_tp = (0, anomalies[i]) if anomalies_first else (normals[i], 0)
        if lowest[i] != highest[i] and upper_fp + upper_tp > 0:
            keys[points] = ~highest[i]
            points += 1
            fps[points] = fp + upper_fp
            tps[points] = tp + upper_tp
        else:
            upper_fp = 0
            upper_tp = 0
        fp += normals[i]
        tp += anomalies[i]
        if upper_fp + upper_tp < normals[i] + anomalies[i]:
            keys[points] = ~lowest[i]
            points += 1
            fps[points] = fp
            tps[points] = tp
    return points


@kernel
def harmonic_difference(low: int, high: int) -> float:
    """Return 1 / (low + 1) + ... + 1 / high."""
    total = 0.0
    first = min(high, _MANY)
    for i in range(first, low, -1):
        total += 1.0 / i
    if high > max(low, _MANY):
        a = float(max(low, _MANY))
        b = float(high)
        # H(x) = log x + 1 / 2x - 1 / 12x^2 + ..., whose next term is below 1e-14.
        total += math.log1p((b - a) / a) + 0.5 / b - 0.5 / a
        total += (1.0 / (a * a) - 1.0 / (b * b)) / 12.0
    return total


@kernel
def lowest_precision_sum(
    fps: CountVector,  # (n + 1,) at the cells' edges
    tps: CountVector,  # (n + 1,)
    ties: npt.NDArray[np.bool_],  # (n,) cells of a single score
    weight: float,  # of a normal sample
) -> float:
    """Add up the lowest precision at each anomaly.

    In each cell anomalies stand one by one below all normals.
    """
    total = 0.0
    lost = 0.0
    for i in range(1, fps.shape[0]):
        fp = weight * fps[i]
        first = tps[i - 1]
        n = tps[i] - first
        if n == 0:
            continue
        if ties[i - 1]:
            term = n * (tps[i] / (tps[i] + fp))
        elif n < _TOO_MANY:
            term = 0.0
            for j in range(1, n + 1):
                term += (first + j) / (first + j + fp)
        else:
            # The precision rises in j, so that the sum is above the integral from 0 to n. What
            # its difference of two numbers near n may be wrong by is taken off.
            term = max(n - fp * math.log1p(n / (first + fp)) - 1e-14 * n, 0.0)
        added = total + term
        lost += (total - added) + term if total >= term else (term - added) + total
        total = added
    return total + lost


@kernel
def highest_inverse_fpr_area(
    fps: CountVector,  # (n + 1,) at the cells' edges
    tps: CountVector,  # (n + 1,)
    ties: npt.NDArray[np.bool_],  # (n,) cells of a single score
) -> float:
    """Integrate TPs / FPs as `inverse_fpr_area` does, in the order that makes it highest.

    In each cell normals stand one by one below all anomalies.
    """
    total = 0.0
    lost = 0.0
    for i in range(1, fps.shape[0]):
        if fps[i] == fps[i - 1]:
            continue
        if ties[i - 1]:
            term = (fps[i] - fps[i - 1]) / fps[i] * (0.5 * (tps[i] + tps[i - 1]))
        else:
            term = tps[i] * harmonic_difference(fps[i - 1], fps[i])
        added = total + term
        lost += (total - added) + term if total >= term else (term - added) + total
        total = added
    return total + lost


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
