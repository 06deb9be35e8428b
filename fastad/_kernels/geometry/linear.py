"""Decompositions of symmetric matrices of up to some hundred rows.

Not by LAPACK, whose threads cost milliseconds where other processes want the processors too: some
estimates need hundreds of decompositions.
"""

import math

from fastad._core.jit import kernel
from fastad._core.types import FloatMatrix, FloatVector

# Off the diagonal nothing counts that is smaller by this than on it.
_NOTHING = 1e-17
_SWEEPS = 40


@kernel
def diagonalize(
    matrix: FloatMatrix,  # (d, d) symmetric; becomes diagonal, of the eigenvalues
    vectors: FloatMatrix,  # (d, d) of the identity; becomes the eigenvectors, as rows
) -> None:
    """Find eigenvalues and eigenvectors by rotations of two rows at a time (Jacobi 1846)."""
    d = matrix.shape[0]
    for _ in range(_SWEEPS):
        rotated = False
        for p in range(d - 1):
            for q in range(p + 1, d):
                off = matrix[p, q]
                if abs(off) <= _NOTHING * math.sqrt(abs(matrix[p, p] * matrix[q, q])):
                    continue
                rotated = True
                half = (matrix[q, q] - matrix[p, p]) / (2.0 * off)
                tangent = math.copysign(1.0, half) / (abs(half) + math.sqrt(half * half + 1.0))
                cosine = 1.0 / math.sqrt(tangent * tangent + 1.0)
                sine = tangent * cosine
                _rotate(matrix[p], matrix[q], cosine, sine)
                for k in range(d):
                    x, y = matrix[k, p], matrix[k, q]
                    matrix[k, p] = cosine * x - sine * y
                    matrix[k, q] = sine * x + cosine * y
                _rotate(vectors[p], vectors[q], cosine, sine)
        if not rotated:
            return


@kernel
def _rotate(first: FloatMatrix, second: FloatMatrix, cosine: float, sine: float) -> None:
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
