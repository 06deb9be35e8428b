"""Decompositions of symmetric matrices of up to some hundred rows.

Not by LAPACK, whose threads cost milliseconds where other processes want the processors too: some
estimates ask for hundreds of decompositions.
"""

import math

from fastad._jit import kernel
from fastad._types import FloatMatrix

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
                    one, two = matrix[k, p], matrix[k, q]
                    matrix[k, p] = cosine * one - sine * two
                    matrix[k, q] = sine * one + cosine * two
                _rotate(vectors[p], vectors[q], cosine, sine)
        if not rotated:
            return


@kernel
def _rotate(first: FloatMatrix, second: FloatMatrix, cosine: float, sine: float) -> None:
    for k in range(first.shape[0]):
        one, two = first[k], second[k]
        first[k] = cosine * one - sine * two
        second[k] = sine * one + cosine * two


@kernel
def cholesky(
    matrix: FloatMatrix,  # (d, d) symmetric, positive definite
    factor: FloatMatrix,  # (d, d) of zeros; its lower triangle is written here
) -> None:
    """Write the factor whose product with its transpose is the matrix."""
    for j in range(matrix.shape[0]):
        own = factor[j]
        for k in range(j + 1):
            other = factor[k]
            rest = matrix[j, k]
            for i in range(k):
                rest -= own[i] * other[i]
            own[k] = math.sqrt(rest) if k == j else rest / other[k]
