"""Decompositions of symmetric matrices of up to some hundred rows.

Not by LAPACK, whose threads cost milliseconds where other processes want the processors too: some
estimates need hundreds of decompositions.
"""

import math

import numpy as np

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.detectors.support import write_squared_distances

# Off the diagonal nothing counts that is smaller by this than beside it on the diagonal.
_NOTHING = 2.0**-53
# Iterations for an eigenvalue, of which two are enough nearly always.
_ITERATIONS = 60


@kernel
def diagonalize(
    matrix: FloatMatrix,  # (d, d) symmetric; overwritten
    values: FloatVector,  # (d,) the eigenvalues, in no order, written here
    vectors: FloatMatrix,  # (d, d) of the identity; becomes the eigenvectors, as rows
) -> None:
    """Find eigenvalues and eigenvectors: of a tridiagonal matrix first, then by QL iterations.

    As Martin, Reinsch and Wilkinson 1968, and Dubrulle, Martin and Wilkinson 1968. Of 150 rows in a
    quarter of the time of rotations of the whole matrix (Jacobi 1846).
    """
    beside = np.zeros(values.shape[0])
    _tridiagonalize(matrix, values, beside, vectors)
    _iterate(values, beside, vectors)


@kernel
def _tridiagonalize(
    matrix: FloatMatrix,  # (d, d) symmetric; overwritten
    diagonal: FloatVector,  # (d,) written here, as the next two
    beside: FloatVector,  # (d,) the elements beside the diagonal; the last stays 0
    vectors: FloatMatrix,  # (d, d) each row is reflected
) -> None:
    """Reflect one row and column after the other, so that only three diagonals are left."""
    d = matrix.shape[0]
    normal, product = np.empty(d), np.empty(d)
    for k in range(d - 1):
        scale = 0.0
        for j in range(k + 1, d):
            scale = max(scale, abs(matrix[k, j]))
        beside[k] = matrix[k, k + 1]
        if k == d - 2 or scale == 0.0:
            continue
        # The reflection is 1 - normal normal' / half, half being half of the squared length.
        square = 0.0
        for j in range(k + 1, d):
            normal[j] = matrix[k, j] / scale
            square += normal[j] * normal[j]
        length = math.copysign(math.sqrt(square), normal[k + 1])
        beside[k] = -scale * length
        half = square + length * normal[k + 1]
        normal[k + 1] += length
        _multiply_rows(normal, k + 1, matrix, k + 1, product)
        inner = 0.0
        for j in range(k + 1, d):
            product[j] /= half
            inner += product[j] * normal[j]
        for j in range(k + 1, d):
            product[j] -= inner / (2.0 * half) * normal[j]
        for i in range(k + 1, d):
            row = matrix[i]
            a, b = normal[i], product[i]
            for j in range(k + 1, d):
                row[j] -= a * product[j] + b * normal[j]
        _multiply_rows(normal, k + 1, vectors, 0, product)
        for i in range(k + 1, d):
            row = vectors[i]
            a = normal[i] / half
            for j in range(d):
                row[j] -= a * product[j]
    for k in range(d):
        diagonal[k] = matrix[k, k]


@kernel
def _multiply_rows(
    factors: FloatVector,  # (d,)
    first_row: int,
    matrix: FloatMatrix,  # (d, d)
    first_column: int,
    sums: FloatVector,  # (d,) written here from the first column on
) -> None:
    """Sum up rows by their factors, from the first ones on."""
    d = sums.shape[0]
    sums[first_column:] = 0.0
    for i in range(first_row, d):
        row = matrix[i]
        a = factors[i]
        for j in range(first_column, d):
            sums[j] += a * row[j]


@kernel
def _iterate(
    values: FloatVector,  # (d,) the diagonal; becomes the eigenvalues
    beside: FloatVector,  # (d,) the elements beside the diagonal; becomes 0
    vectors: FloatMatrix,  # (d, d) rows are rotated
) -> None:
    """Rotate until nothing is left beside the diagonal, with shifts near an eigenvalue."""
    d = values.shape[0]
    for first in range(d):
        for _ in range(_ITERATIONS):
            last = first
            while last < d - 1 and abs(beside[last]) > _NOTHING * (
                abs(values[last]) + abs(values[last + 1])
            ):
                last += 1
            if last == first:
                break
            half = (values[first + 1] - values[first]) / (2.0 * beside[first])
            shift = beside[first] / (half + math.copysign(math.hypot(half, 1.0), half))
            g = values[last] - values[first] + shift
            sine, cosine, moved = 1.0, 1.0, 0.0
            is_split = False
            for i in range(last - 1, first - 1, -1):
                f, b = sine * beside[i], cosine * beside[i]
                r = math.hypot(f, g)
                beside[i + 1] = r
                if r == 0.0:
                    values[i + 1] -= moved
                    is_split = True
                    break
                sine, cosine = f / r, g / r
                g = values[i + 1] - moved
                r = (values[i] - g) * sine + 2.0 * cosine * b
                moved = sine * r
                values[i + 1] = g + moved
                g = cosine * r - b
                _rotate(vectors[i], vectors[i + 1], cosine, sine)
            if not is_split:
                values[first] -= moved
                beside[first] = g
            beside[last] = 0.0


@kernel
def _rotate(first: FloatVector, second: FloatVector, cosine: float, sine: float) -> None:
    for k in range(first.shape[0]):
        x, y = first[k], second[k]
        first[k] = cosine * x - sine * y
        second[k] = sine * x + cosine * y


@kernel
def cholesky(
    matrix: FloatMatrix,  # (d, d) symmetric, positive definite
    factor: FloatMatrix,  # (d, d) of zeros; its lower triangle is written here
) -> None:
    """Write the factor whose product with its transpose is the matrix."""
    for j in range(matrix.shape[0]):
        row = factor[j]
        for k in range(j + 1):
            row_k = factor[k]
            rest = matrix[j, k]
            for i in range(k):
                rest -= row[i] * row_k[i]
            row[k] = math.sqrt(rest) if k == j else rest / row_k[k]


# Points at a time: their coordinates stay in a core's fastest memory.
_TILE = 128


@kernel
def multiply(
    left: FloatMatrix,  # (m, k)
    right: FloatMatrix,  # (k, n)
    product: FloatMatrix,  # (m, n) written here
) -> None:
    """Write the product of two matrices."""
    k, n = right.shape
    whole = k - k % 4
    for start in range(0, n, _TILE):
        size = min(_TILE, n - start)
        for i in range(left.shape[0]):
            row = product[i, start : start + size]
            row[:] = 0.0
            for j in range(0, whole, 4):
                a, b, c, d = left[i, j], left[i, j + 1], left[i, j + 2], left[i, j + 3]
                r0 = right[j, start : start + size]
                r1 = right[j + 1, start : start + size]
                r2 = right[j + 2, start : start + size]
                r3 = right[j + 3, start : start + size]
                for x in range(size):
                    row[x] += (a * r0[x] + b * r1[x]) + (c * r2[x] + d * r3[x])
            for j in range(whole, k):
                a = left[i, j]
                r0 = right[j, start : start + size]
                for x in range(size):
                    row[x] += a * r0[x]


@kernel
def add_products(
    points: FloatMatrix,  # (d, n)
    mean: FloatVector,  # (d,)
    products: FloatMatrix,  # (d, d) added to here, on the diagonal and below
) -> None:
    """Add up the products of deviations of each pair of coordinates."""
    d, n = points.shape
    rest = n - n % 4
    for j in range(d):
        x = points[j]
        for k in range(j + 1):
            y = points[k]
            a = b = c = e = 0.0
            for i in range(0, rest, 4):
                a += (x[i] - mean[j]) * (y[i] - mean[k])
                b += (x[i + 1] - mean[j]) * (y[i + 1] - mean[k])
                c += (x[i + 2] - mean[j]) * (y[i + 2] - mean[k])
                e += (x[i + 3] - mean[j]) * (y[i + 3] - mean[k])
            for i in range(rest, n):
                a += (x[i] - mean[j]) * (y[i] - mean[k])
            products[j, k] += (a + b) + (c + e)


@kernel
def compare(
    left: FloatMatrix,  # (m, d) a point in each row
    right: FloatMatrix,  # (d, n) a point in each column
    squares: FloatMatrix,  # (m, n) written here
) -> None:
    """Write the squared distance of each pair of points."""
    n = right.shape[1]
    for start in range(0, n, _TILE):
        size = min(_TILE, n - start)
        for i in range(left.shape[0]):
            write_squared_distances(right, start, left[i], squares[i, start : start + size])
