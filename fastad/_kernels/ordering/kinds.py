"""Rows of each kind of anomalies or segment of normals."""

from fastad._core.jit import kernel
from fastad._core.types import BoolVector, IntMatrix, IntVector


@kernel
def count_parts(
    codes: IntVector,  # (n,) part of each row
    own: BoolVector,  # (n,) rows that have one
    chosen: BoolVector,  # (n,)
    weights: IntVector,  # (n,), or one weight of all rows
    counts: IntMatrix,  # (3, n_parts) zeros; written here
) -> None:
    """Add the weights of rows of no part, of others that are not chosen, and of chosen ones."""
    is_weighted = weights.shape[0] > 1
    for i in range(codes.shape[0]):
        counts[own[i] * (1 + chosen[i]), codes[i]] += weights[i] if is_weighted else weights[0]
