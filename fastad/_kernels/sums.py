"""Sums of floats that are right to the last digit, whatever the order of the terms."""

from typing import Any

from fastad._core.jit import kernel


@kernel
def add(total: Any, lost: Any, term: Any) -> tuple[Any, Any]:
    """Add a term to a sum, and its rounding error to ``lost``; for integers that is 0.

    Both together are the sum (Neumaier 1974). The rounding error is exact whichever of the two
    is the larger, and without a branch (Knuth, The Art of Computer Programming, 2, 4.2.2).
    """
    added = total + term
    back = added - total
    return added, lost + ((total - (added - back)) + (term - back))
