"""Values of measures when the labels are permuted: of all outcomes, or of those that are drawn."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from fastad._kernels.resample import bits, relabel
from fastad._threads import in_steps, thread_map
from fastad._types import IntVector
from fastad._validate import fixed
from fastad.certainty.asked import Asked
from fastad.certainty.null_laws import Law, classes, sizes_of
from fastad.counts import OrderedCounts

# Permutations are counted in whole numbers, of thousands of digits with more points than this.
_MOST_POINTS = 10_000
# So many permutations are a thread's next piece of work; it allocates once.
_CHUNK = 32


def drawn_values(
    counts: OrderedCounts, asked: Sequence[Asked], n_resamples: int, key: np.uint64
) -> npt.NDArray[np.float64]:
    """Return the values of each measure on permutations that are drawn; NaN where there is none.

    All measures see the same permutations, which the key alone determines.
    """
    values = np.empty((len(asked), n_resamples))
    if not asked:
        return values
    n, m = classes(counts)
    flagged = counts.fps + counts.tps
    lasts = np.zeros(n + m, np.uint8)
    lasts[flagged[1:] - 1] = 1

    def draw(replicates: range) -> None:
        fps, tps = np.empty((2, flagged.shape[0]), np.int64)
        marks = np.empty(n + m, np.uint8)
        drawn, others = (tps, fps) if n <= m else (fps, tps)
        permuted = replace(counts, fps=fixed(fps), tps=fixed(tps))
        for i in replicates:
            relabel(np.uint64(bits(key, i)), lasts, min(n, m), marks, drawn, others)
            values[:, i] = [one.value_or_nan(permuted) for one in asked]

    thread_map(draw, in_steps(0, n_resamples, _CHUNK))
    return values


def enumerated(counts: OrderedCounts, asked: Asked, most: int) -> Law | None:
    """Return the law from all outcomes, each with the number of permutations that have it.

    An outcome is how many points of each tie are anomalies: e of c points are in C(c, e) ways.
    """
    sizes = sizes_of(counts)
    n, m = classes(counts)
    if n + m > _MOST_POINTS or _n_outcomes(sizes, min(n, m), most) > most:
        return None
    values, ways = [], []
    for found in _outcomes(sizes, n):
        values.append(asked.value_or_nan(labelled(counts, sizes, found)))
        mixed = np.flatnonzero((found > 0) & (found < sizes)).tolist()
        ways.append(math.prod(math.comb(int(sizes[i]), int(found[i])) for i in mixed))
    permutations = math.comb(n + m, n)
    return Law(np.array(values), np.array([way / permutations for way in ways]))


def _n_outcomes(sizes: IntVector, fewer: int, most: int) -> int:
    """Count outcomes up to one more than most; as many of either class have the same number."""
    n_scores = sizes.shape[0]
    if fewer == 0:
        return 1
    # A number of anomalies nearer to half of all points has more outcomes (the product of
    # 1 + x + … + x^c over the ties has rising, then falling coefficients), and so have ties of
    # more than one point: there are at least so many as without ties, and with fewer anomalies.
    if n_scores > most or math.comb(n_scores, min(fewer, n_scores // 2)) > most:
        return most + 1
    ways = np.zeros(fewer + 1, np.int64)
    ways[0] = 1
    for size in sizes.tolist():
        sums = np.cumsum(ways)
        sums[size + 1 :] -= np.cumsum(ways)[: max(fewer - size, 0)]
        ways = np.minimum(sums, most + 1)
    return int(ways[fewer])


def _outcomes(sizes: IntVector, n: int) -> Iterator[IntVector]:
    """Go through all numbers of anomalies in the ties, from the highest scores down."""
    found = filled(sizes, n)
    while True:
        yield found
        # The lowest tie that can hand an anomaly down does; those below it start anew.
        free = sizes - found
        free_below = np.cumsum(free[::-1])[::-1] - free
        can = np.flatnonzero((found > 0) & (free_below > 0))
        if can.shape[0] == 0:
            return
        i = int(can[-1])
        below = int(found[i + 1 :].sum())
        found = found.copy()
        found[i] -= 1
        found[i + 1 :] = filled(sizes[i + 1 :], below + 1)


def filled(sizes: IntVector, n: int) -> IntVector:
    """Return the numbers of anomalies in the ties if the n highest points are the anomalies."""
    above = np.cumsum(sizes) - sizes
    found: IntVector = np.clip(n - above, 0, sizes)
    return found


def labelled(counts: OrderedCounts, sizes: IntVector, found: IntVector) -> OrderedCounts:
    """Return the counts with so many anomalies in each tie."""
    tps = np.concatenate([[0], np.cumsum(found)])
    fps = np.concatenate([[0], np.cumsum(sizes)]) - tps
    return replace(counts, fps=fixed(fps), tps=fixed(tps))
