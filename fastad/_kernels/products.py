"""Products of matrices whose rows run over many points.

Not by BLAS: its threads cost seconds where other processes want the processors too, and with
another number of them the last digits differ.
"""

from fastad._jit import kernel
from fastad._types import FloatMatrix, FloatVector

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
            own = product[i, start : start + size]
            own[:] = 0.0
            for j in range(0, whole, 4):
                a, b, c, d = left[i, j], left[i, j + 1], left[i, j + 2], left[i, j + 3]
                one = right[j, start : start + size]
                two = right[j + 1, start : start + size]
                three = right[j + 2, start : start + size]
                four = right[j + 3, start : start + size]
                for x in range(size):
                    own[x] += (a * one[x] + b * two[x]) + (c * three[x] + d * four[x])
            for j in range(whole, k):
                a = left[i, j]
                one = right[j, start : start + size]
                for x in range(size):
                    own[x] += a * one[x]


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
        one = points[j]
        for k in range(j + 1):
            two = points[k]
            a = b = c = e = 0.0
            for i in range(0, rest, 4):
                a += (one[i] - mean[j]) * (two[i] - mean[k])
                b += (one[i + 1] - mean[j]) * (two[i + 1] - mean[k])
                c += (one[i + 2] - mean[j]) * (two[i + 2] - mean[k])
                e += (one[i + 3] - mean[j]) * (two[i + 3] - mean[k])
            for i in range(rest, n):
                a += (one[i] - mean[j]) * (two[i] - mean[k])
            products[j, k] += (a + b) + (c + e)
