"""Normal distributions that end at the sides of the unit cube, around the normal integral's calls.

Choices between two numbers compile to vector instructions here. NumPy's choices, for which a
processor must guess, took three times as long as the integral and its inverse together.
"""

from fastad._core.jit import kernel
from fastad._core.types import BoolMatrix, FloatMatrix, FloatVector, IntVector

# The least probability that a normal number is found for.
_TINY = 1e-300


@kernel
def standardize(
    points: FloatMatrix,  # (d, n)
    indices: IntVector,  # (m,) the coordinates that are meant
    centres: FloatMatrix,  # (m, 1), as the widths
    widths: FloatMatrix,
    deviations: FloatMatrix,  # (m, n) written here, as the next
    sizes: FloatMatrix,  # (m, n) the same without signs
) -> None:
    """Write how many widths coordinates are from their centres."""
    for j in range(indices.shape[0]):
        point, row, size = points[indices[j]], deviations[j], sizes[j]
        centre, width = centres[j, 0], widths[j, 0]
        for i in range(row.shape[0]):
            u = (point[i] - centre) / width
            row[i] = u
            size[i] = abs(u)


@kernel
def to_probabilities(
    deviations: FloatMatrix,  # (m, n)
    outside: FloatMatrix,  # (m, 4) of the whole distribution: below 0, not, above 1, not
    masses: FloatMatrix,  # (m, 1) of the whole distribution, between
    parts: FloatMatrix,  # (m, n) smaller tails of it; becomes the tails on [0, 1]
    is_low: BoolMatrix,  # (m, n) whether that is the part below, written here
) -> None:
    """Write the smaller part of the distribution on [0, 1] below a coordinate, or above."""
    for j in range(parts.shape[0]):
        row, part, flags = deviations[j], parts[j], is_low[j]
        below, not_below = outside[j, 0], outside[j, 1]
        above, not_above = outside[j, 2], outside[j, 3]
        mass = masses[j, 0]
        for i in range(row.shape[0]):
            # Differences of the tails that are smaller, which keep their digits.
            tail = part[i]
            low = not_below - tail if row[i] > 0 else tail - below
            high = tail - above if row[i] > 0 else not_above - tail
            part[i] = max(min(low, high) / mass, _TINY)
            flags[i] = low < high


@kernel
def write_normal(
    deviations: FloatMatrix,  # (m, n)
    normal: FloatMatrix,  # (m, n) of the smaller parts
    is_low: BoolMatrix,  # (m, n) whether that is the part below
    constants: FloatMatrix,  # (m, 1)
    indices: IntVector,  # (m,)
    out: FloatMatrix,  # (d, n) the normal numbers, written here
    jacobian: FloatVector,  # (n,) added to here: the logarithms of derivatives
) -> None:
    """Write normal numbers of coordinates."""
    for j in range(indices.shape[0]):
        row, z, flags, written = deviations[j], normal[j], is_low[j], out[indices[j]]
        constant = constants[j, 0]
        for i in range(row.shape[0]):
            written[i] = z[i] if flags[i] else -z[i]
            jacobian[i] += constant + 0.5 * (z[i] * z[i] - row[i] * row[i])


@kernel
def from_probabilities(
    normal: FloatMatrix,  # (m, n)
    outside: FloatMatrix,  # (m, 4) as above
    masses: FloatMatrix,  # (m, 1)
    parts: FloatMatrix,  # (m, n) smaller tails of `normal`; becomes the coordinates' tails
    is_low: BoolMatrix,  # (m, n) whether that is the part below, written here
) -> None:
    """Write the smaller part of the whole distribution below a normal number's coordinate."""
    for j in range(parts.shape[0]):
        row, part, flags = normal[j], parts[j], is_low[j]
        below, above, mass = outside[j, 0], outside[j, 2], masses[j, 0]
        for i in range(row.shape[0]):
            tail = part[i]
            low = below + (tail if row[i] < 0 else 1.0 - tail) * mass
            high = above + (1.0 - tail if row[i] < 0 else tail) * mass
            part[i] = max(min(low, high), _TINY)
            flags[i] = low < high


@kernel
def write_coordinates(
    deviations: FloatMatrix,  # (m, n) of the smaller parts
    is_low: BoolMatrix,  # (m, n) whether that is the part below
    centres: FloatMatrix,  # (m, 1), as the widths
    widths: FloatMatrix,
    highest: float,  # the largest number below 1
    indices: IntVector,  # (m,)
    out: FloatMatrix,  # (d, n) written here
) -> None:
    """Write coordinates from their deviations from the centres, in widths."""
    for j in range(indices.shape[0]):
        u, flags, written = deviations[j], is_low[j], out[indices[j]]
        centre, width = centres[j, 0], widths[j, 0]
        for i in range(u.shape[0]):
            x = centre + width * (u[i] if flags[i] else -u[i])
            written[i] = min(max(x, 0.0), highest)
