"""Pairs of models that two measures order alike."""

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
            place = i
            while place > start and values[place - 1] > value:
                values[place] = values[place - 1]
                place -= 1
            values[place] = value
            exchanges += i - place
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            left, right = start, middle
            for place in range(start, stop):
                # The left one first where both are equal: a tie is no exchange.
                if right >= stop or (left < middle and values[left] <= values[right]):
                    room[place] = values[left]
                    left += 1
                else:
                    room[place] = values[right]
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
    balance: IntMatrix,  # (n_measures, n_measures) written here: pairs ordered alike - unlike
    untied: IntMatrix,  # (n_measures, n_measures) written here: pairs that the row does not tie
    room: FloatMatrix,  # (2, n_models)
) -> None:
    """Count for every two measures the pairs of models, leaving out those with a NaN.

    By rising first measure and within its ties by the second, the pairs in the wrong order of the
    second are the ones ordered unlike (Knight 1966).
    """
    n_measures, n_models = merits.shape
    for one in range(n_measures):
        for other in range(one, n_measures):
            n, ties, both, start = 0, 0, 0, 0
            last = 0.0
            for k in range(n_models + 1):
                ends = k == n_models
                first = 0.0
                if not ends:
                    model = orders[one, k]
                    first = merits[one, model]
                    if first != first or merits[other, model] != merits[other, model]:
                        continue
                if n > start and (ends or first != last):
                    size = n - start
                    if size > 1:
                        ties += size * (size - 1) // 2
                        sort_counting(room[0, start:n], room[1, start:n])
                        both += tied_pairs(room[0, start:n])
                    start = n
                if not ends:
                    room[0, n] = merits[other, model]
                    last = first
                    n += 1
            exchanges = sort_counting(room[0, :n], room[1, :n])
            other_ties = tied_pairs(room[0, :n])
            pairs = n * (n - 1) // 2
            alike = pairs - ties - other_ties + both - 2 * exchanges
            balance[one, other] = alike
            balance[other, one] = alike
            untied[one, other] = pairs - ties
            untied[other, one] = pairs - other_ties


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
