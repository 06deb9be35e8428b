"""Pairs of models that two measures order the same way."""

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector, IntMatrix


@kernel
def sort_counting(
    values: FloatVector,  # (n,) sorted here
    room: FloatVector,  # (n,)
) -> int:
    """Sort by merging; return the number of pairs that stood in the wrong order."""
    n = values.shape[0]
    exchanges = 0
    # Short runs are sorted in place: half the time of merging from single values on.
    width = 8
    for start in range(0, n, width):
        for i in range(start + 1, min(start + width, n)):
            value = values[i]
            position = i
            while position > start and values[position - 1] > value:
                values[position] = values[position - 1]
                position -= 1
            values[position] = value
            exchanges += i - position
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            left, right = start, middle
            for position in range(start, stop):
                # The left one first where both are equal: a tie is no exchange.
                if right >= stop or (left < middle and values[left] <= values[right]):
                    room[position] = values[left]
                    left += 1
                else:
                    room[position] = values[right]
                    exchanges += middle - left
                    right += 1
            start = stop
        for i in range(n):
            values[i] = room[i]
        width *= 2
    return exchanges


@kernel
def concordance(
    merits: FloatMatrix,  # (n_measures, n_models) NaN where undefined
    orders: IntMatrix,  # (n_measures, n_models) models by rising merit
    balance: IntMatrix,  # (n_measures, n_measures) written here: pairs ordered one way - the other
    untied: IntMatrix,  # (n_measures, n_measures) written here: pairs that the row does not tie
    room: FloatMatrix,  # (2, n_models)
) -> None:
    """Count for every two measures the pairs of models, leaving out those with a NaN.

    By rising first measure and within its ties by the second, the pairs in the wrong order of the
    second are the ones ordered the other way (Knight 1966).
    """
    n_measures, n_models = merits.shape
    for a in range(n_measures):
        for b in range(a, n_measures):
            n, ties, both, start = 0, 0, 0, 0
            last = 0.0
            for k in range(n_models + 1):
                ends = k == n_models
                first = 0.0
                if not ends:
                    model = orders[a, k]
                    first = merits[a, model]
                    if first != first or merits[b, model] != merits[b, model]:
                        continue
                if n > start and (ends or first != last):
                    size = n - start
                    if size > 1:
                        ties += size * (size - 1) // 2
                        sort_counting(room[0, start:n], room[1, start:n])
                        both += tied_pairs(room[0, start:n])
                    start = n
                if not ends:
                    room[0, n] = merits[b, model]
                    last = first
                    n += 1
            exchanges = sort_counting(room[0, :n], room[1, :n])
            b_ties = tied_pairs(room[0, :n])
            pairs = n * (n - 1) // 2
            difference = pairs - ties - b_ties + both - 2 * exchanges
            balance[a, b] = difference
            balance[b, a] = difference
            untied[a, b] = pairs - ties
            untied[b, a] = pairs - b_ties


@kernel
def tied_pairs(
    values: FloatVector,  # (n,) sorted
) -> int:
    """Return the number of pairs of equal values."""
    pairs, run = 0, 0
    for i in range(1, values.shape[0]):
        if values[i] == values[i - 1]:
            run += 1
            pairs += run
        else:
            run = 0
    return pairs
