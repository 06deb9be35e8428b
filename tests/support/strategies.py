"""Hypothesis strategies: scores of every type and kind, labels, weights, operating points."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from tests.support import oracles

FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = tuple(np.dtype(code).type for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"))
LAYOUTS = ("plain", "strided", "reversed", "read-only", "big-endian")


@dataclass(frozen=True)
class Sample:
    """Labels and scores; shown in full where an example fails."""

    y: npt.NDArray[Any]
    s: npt.NDArray[Any]
    w: npt.NDArray[Any] | None = None

    @property
    def n_normals(self) -> int:
        return int(np.sum(self.y == 0))

    @property
    def rows(self) -> oracles.Rows:
        return oracles.rows(self.y, self.s, self.w)


def in_layout(values: npt.NDArray[Any], layout: str) -> npt.NDArray[Any]:
    """The same values in another layout of memory."""
    if layout == "strided":
        wide = np.zeros(2 * len(values), values.dtype)
        wide[::2] = values
        values = wide[::2]
    if layout == "reversed":
        values = values[::-1].copy()[::-1]
    if layout == "big-endian":
        values = values.astype(values.dtype.newbyteorder(">"))
    if layout == "read-only":
        values = values.copy()
        values.flags.writeable = False
    return values


def float_pools(dtype: type[np.floating[Any]]) -> st.SearchStrategy[list[Any]]:
    """Few distinct scores of one kind, so that ties and neighbours are frequent."""
    info = np.finfo(dtype)
    tiny, largest = info.smallest_subnormal, info.max

    def neighbours(start: float) -> list[Any]:
        results = [dtype(start)]
        for _ in range(3):
            results.append(np.nextafter(results[-1], dtype(np.inf)))
        return results

    exponents = {2: (-7, -4, 0, 4), 4: (-40, -4, 0, 38), 8: (-300, -4, 0, 300)}[info.bits // 8]
    wide = [dtype(sign * 10.0**e) for sign in (1, -1) for e in exponents]
    return st.sampled_from(
        [
            [dtype(x) for x in (0, 1, 2)],
            [dtype(7)],
            [dtype(x) for x in (-0.0, 0.0, 1, -1)] + [tiny, -tiny],
            [dtype(x) for x in (-np.inf, np.inf, 0, 1)],
            [dtype(x) for x in (-np.inf, np.inf)],
            [dtype(k) * tiny for k in range(-3, 4)],
            neighbours(1.0),
            neighbours(-0.1),
            [-x for x in neighbours(3.0)] + neighbours(3.0),
            [dtype(0.1), dtype(0.3), dtype(0.7), dtype(-0.2)],
            wide,
            [largest, -largest, dtype(0), dtype(np.inf), dtype(-np.inf)],
        ]
    )


def integer_pools(dtype: type[np.integer[Any]]) -> st.SearchStrategy[list[int]]:
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    pools = [
        [0, 1, 2],
        [low + i for i in range(3)],
        [high - i for i in range(3)],
        [low, low + 1, high - 1, high, 0],
        [low // 2, low // 2 + 1, high // 2, high // 2 + 1],
    ]
    if info.bits == 64:
        pools += [[2**53 + i for i in range(5)], [2**62 + i for i in range(-2, 3)]]
    return st.sampled_from(pools)


@st.composite
def score_vectors(draw: st.DrawFn, size: int) -> npt.NDArray[Any]:
    """Scores of any type that the library takes."""
    kind = draw(st.sampled_from(["pool", "pool", "any", "integer", "integer", "bool"]))
    if kind == "bool":
        values = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    elif kind == "integer":
        dtype = draw(st.sampled_from(INTEGERS))
        pool = draw(integer_pools(dtype))
        entries = st.sampled_from(pool)
        values = np.array(draw(st.lists(entries, min_size=size, max_size=size)), dtype)
    else:
        float_type: Any = draw(st.sampled_from(FLOATS))
        width: Any = np.dtype(float_type).itemsize * 8
        floats: st.SearchStrategy[Any] = st.floats(allow_nan=False, width=width)
        if kind == "pool":
            floats = st.sampled_from(draw(float_pools(float_type)))
        values = np.array(draw(st.lists(floats, min_size=size, max_size=size)), float_type)
    return in_layout(values, draw(st.sampled_from(LAYOUTS)))


@st.composite
def samples(
    draw: st.DrawFn, *, max_size: int = 14, weights: str = "none", both: bool = False
) -> Sample:
    """Labelled scores: one class and one point too, or always ``both`` classes."""
    size = draw(st.integers(2 if both else 1, max_size))
    labels = draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    if both:
        labels[:2] = [0, 1]
    y = in_layout(np.array(labels), draw(st.sampled_from(LAYOUTS)))
    scores = draw(score_vectors(size))
    return Sample(y, scores, draw(weight_vectors(size, weights)))


@st.composite
def weight_vectors(draw: st.DrawFn, size: int, kind: str) -> npt.NDArray[Any] | None:
    """Weights with zeros among them; at least one row stays."""
    if kind == "none":
        return None
    if kind == "integer":
        entries = draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
        weights = np.array(entries, draw(st.sampled_from([np.int64, np.uint8, np.float32])))
    else:
        real = st.one_of(st.just(0.0), st.floats(1e-3, 1e3))
        entries_real = draw(st.lists(real, min_size=size, max_size=size))
        weights = np.array(entries_real, draw(st.sampled_from(FLOATS)))
    if not weights.any():
        weights[draw(st.integers(0, size - 1))] = 1
    return in_layout(weights, draw(st.sampled_from(LAYOUTS)))


# Operating points as people write them, and at the ends of what a float can say.
written_rates: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0, 1, 0.0, 1.0, 0.5, 0.25, 0.29, 0.01, 1e-300, 5e-324, 1 - 2**-53]),
    st.integers(0, 1000).map(lambda k: k / 1000),
    st.integers(0, 100).map(lambda k: np.float32(k / 100)),
    st.integers(0, 100).map(lambda k: np.float16(k / 100)),
    st.floats(0, 1),
    st.fractions(0, 1, max_denominator=60),
)


@st.composite
def rates_of(draw: st.DrawFn, total: int) -> Any:
    """A rate that often falls exactly onto a point of the curve, as a fraction."""
    on_curve = st.integers(0, max(total, 1)).map(lambda k: Fraction(k, max(total, 1)))
    return draw(st.one_of(on_curve, written_rates))
