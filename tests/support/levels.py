"""Slow, obvious curves without labels, scores of test and of uniform points, and closed forms."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import chi2

import fastad
from fastad.unsupervised import MassVolumeCurve
from tests.support.oracles import UndefinedError
from tests.support.strategies import score_vectors
from tests.support.volumes import ball_volume

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Scored:
    """Scores of test and of uniform points; shown in full where an example fails."""

    test: Array
    uniform: Array

    @property
    def n_test(self) -> int:
        return len(self.test)


# The definitions, in fractions.


@dataclass(frozen=True)
class Level:
    """A level set: its fraction of the data, and its volume."""

    mass: Fraction
    volume: Fraction


def plain(scores: Any) -> list[Any]:
    """Scores as Python numbers, which compare exactly whatever their type."""
    return [int(x) if isinstance(x, bool) else x for x in np.asarray(scores).tolist()]


def distinct(scores: Any) -> list[Any]:
    return sorted(set(plain(scores)))


def level_sets(scored: Scored, volume: Fraction) -> list[Level]:
    """The empty set, and the closed set below each distinct test score."""
    test, uniform = plain(scored.test), plain(scored.uniform)
    results = [Level(Fraction(0), Fraction(0))]
    for threshold in distinct(scored.test):
        inside = sum(score <= threshold for score in test)
        drawn = sum(score <= threshold for score in uniform)
        results.append(Level(Fraction(inside, len(test)), Fraction(drawn, len(uniform)) * volume))
    return results


def mass_volume(levels: list[Level], mass: Fraction) -> Fraction:
    """The least volume of a level set of at least a mass."""
    return min(x.volume for x in levels if x.mass >= mass)


def mass_volume_area(levels: list[Level], low: Fraction, high: Fraction) -> Fraction:
    """The area piece by piece: between two steps the curve has the value at the right end."""
    inner = {x.mass for x in levels if low < x.mass < high}
    ends = sorted({low, high} | inner)
    return sum(
        ((right - left) * mass_volume(levels, right) for left, right in pairwise(ends)), Fraction(0)
    )


def excess_mass(levels: list[Level], level: Fraction) -> Fraction:
    """The largest mass less level times volume of any set, or 0."""
    return max(Fraction(0), *(x.mass - level * x.volume for x in levels))


def corners(levels: list[Level]) -> list[Fraction]:
    """Levels where any two of the lines cross; the curve is a line between neighbours of them."""
    results = {Fraction(0)}
    for a, b in combinations(levels, 2):
        if a.volume != b.volume:
            level = (a.mass - b.mass) / (a.volume - b.volume)
            if level > 0:
                results.add(level)
    return sorted(results)


def excess_mass_corners(levels: list[Level]) -> list[tuple[Fraction, Fraction]]:
    """The corners of the curve itself: 0, and where the slopes on both sides differ."""
    crossings = corners(levels)
    crossings.append(crossings[-1] + 1)
    points = [(level, excess_mass(levels, level)) for level in crossings]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
    inner = [points[i + 1] for i, (a, b) in enumerate(pairwise(slopes)) if a != b]
    return [points[0], *inner]


def level_at(levels: list[Level], height: Fraction) -> Fraction:
    """The lowest level where the excess mass is no more than a height."""
    crossings = corners(levels)
    if excess_mass(levels, crossings[-1]) > height:
        raise UndefinedError
    last = next(i for i, level in enumerate(crossings) if excess_mass(levels, level) <= height)
    left, right = crossings[last - 1], crossings[last]
    upper, lower = excess_mass(levels, left), excess_mass(levels, right)
    return left + (upper - height) / (upper - lower) * (right - left)


def excess_mass_area(levels: list[Level], height: Fraction) -> Fraction:
    """The area, by trapezia between all corners, down to a height."""
    end = level_at(levels, height)
    crossings = [level for level in corners(levels) if level < end] + [end]
    return sum(
        (
            (right - left) * (excess_mass(levels, left) + excess_mass(levels, right)) / 2
            for left, right in pairwise(crossings)
        ),
        Fraction(0),
    )


# Scores.

# Pairs of types whose values one type represents without rounding.
_MIXED: list[tuple[Any, Any]] = [
    *((np.float32, np.float64), (np.float16, np.float32), (np.float64, np.float16)),
    *((np.int8, np.float32), (np.uint8, np.int8), (np.int64, np.float64), (np.bool_, np.float32)),
    *((np.int32, np.uint32), (np.uint64, np.int64), (np.int16, np.int64)),
]


@st.composite
def scores(draw: st.DrawFn, *, max_size: int = 9) -> Scored:
    """Both kinds of points with the same few scores; from one point each on."""
    n, m = draw(st.integers(1, max_size)), draw(st.integers(1, max_size))
    if draw(st.integers(0, 4)) == 0:
        first, second = draw(st.sampled_from(_MIXED))
        pool = st.integers(0, 1) if np.bool_ in (first, second) else st.integers(0, 5)
        test = np.array(draw(st.lists(pool, min_size=n, max_size=n)), first)
        return Scored(test, np.array(draw(st.lists(pool, min_size=m, max_size=m)), second))
    both = draw(score_vectors(n + m))
    return Scored(both[:n], both[n:])


@st.composite
def small_floats(draw: st.DrawFn, *, max_size: int = 9) -> Scored:
    """Plain floats with many ties."""
    pool = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    test = draw(st.lists(pool, min_size=1, max_size=max_size))
    uniform = draw(st.lists(pool, min_size=1, max_size=max_size))
    return Scored(np.array(test), np.array(uniform))


volumes: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([1, 1.0, 2.0, 0.1, 10.0, 1e-12, 3e17, 64, np.float32(0.3), Fraction(1, 3)]),
    st.floats(1e-30, 1e30),
    st.fractions(Fraction(1, 900), 1000, max_denominator=997),
)


def area_or_none(area: Callable[[], Fraction]) -> Fraction | None:
    try:
        return area()
    except UndefinedError:
        return None


# Closed forms: a normal distribution in d features, scored by the distance from its centre.


def normal_volume(d: int, mass: Any) -> Any:
    """MV(a): the ball whose radius is the quantile of the chi distribution."""
    return ball_volume(d) * chi2.ppf(mass, d) ** (d / 2)


def normal_excess(d: int, level: float) -> float:
    """EM(t): the ball where the density is at least t."""
    highest = (2 * math.pi) ** (-d / 2)
    if level >= highest:
        return 0.0
    square = -2 * math.log(level / highest) if level > 0 else math.inf
    if math.isinf(square):
        return 1.0
    return float(chi2.cdf(square, d) - level * ball_volume(d) * square ** (d / 2))


def normal_areas(d: int) -> tuple[float, float]:
    """EM down to 0.9 and MV between 0.9 and 0.999, in the whole space."""
    highest = (2 * math.pi) ** (-d / 2)
    end = brentq(lambda t: normal_excess(d, t) - 0.9, 1e-9 * highest, highest)
    at = np.linspace(0, end, 1001)
    em = float(np.trapezoid([normal_excess(d, t) for t in at.tolist()], at))
    masses = np.linspace(0.9, 0.999, 20_001)
    return em, float(np.trapezoid(normal_volume(d, masses), masses))


def curve_of(scored: Scored, volume: Any = 1) -> MassVolumeCurve:
    return fastad.mass_volume_curve(scored.test, scored.uniform, volume)


def counted(levels: fastad.unsupervised.LevelSets) -> Array:
    """Uniform points in each set."""
    assert levels.inside is not None
    return levels.inside


def curve_bits(curve: MassVolumeCurve) -> list[bytes]:
    levels = curve.levels
    arrays = (curve.mass, curve.volume, curve.thresholds, levels.masses, counted(levels))
    # The bytes of arrays of objects are addresses.
    return [repr(array.tolist()).encode() for array in arrays]


# Maps after which scores have the same order, of every type.
INCREASING: list[Any] = [
    lambda s: 3 * s - 7,
    lambda s: np.exp(s) * 1e300,
    lambda s: np.arctan(s - 1),
    lambda s: s.astype(np.float16),
    lambda s: (2 * s).astype(np.int64) + 2**62,
    lambda s: (2 * s).astype(np.int8),
    lambda s: (2 * s).astype(np.uint64) + np.uint64(2**63),
]


def large(kind: str, n: int, m: int) -> Scored:
    """Draw many scores of one of the kinds below."""
    rng = np.random.default_rng(7)
    both: Array = rng.normal(size=n + m)
    if kind == "ties":
        both = np.round(both, 2)
    elif kind == "float32":
        both = both.astype(np.float32)
    elif kind == "float16":
        both = both.astype(np.float16)
    elif kind == "wide":
        # More than the keys with a label can distinguish in one range.
        both = np.sign(both) * 10.0 ** rng.uniform(-320, 308, size=n + m)
    elif kind == "int64":
        both = rng.integers(-(2**63), 2**63 - 1, size=n + m)
    elif kind == "uint64":
        both = rng.integers(0, 2**64 - 1, size=n + m, dtype=np.uint64)
    elif kind == "int8":
        both = rng.integers(-128, 128, size=n + m).astype(np.int8)
    elif kind == "apart":
        both = np.concatenate([rng.random(n) - 2, rng.random(m)])
    elif kind == "apart, upside down":
        both = np.concatenate([rng.random(n) + 2, rng.random(m)])
    elif kind == "one score":
        both = np.full(n + m, 1.5)
    elif kind == "infinite":
        both[rng.integers(n + m, size=n)] = rng.choice([-np.inf, np.inf], size=n)
    return Scored(both[:n], both[n:])


KINDS = (
    *("plain", "ties", "float32", "float16", "wide", "int64", "uint64", "int8"),
    *("apart", "apart, upside down", "one score", "infinite"),
)
