"""Coverage of the methods for tiny regions on shapes of many kinds.

95 % intervals, of importance sampling from 50 000 draws with 500 data points, uniform in the
region, of splitting from 100 000, of Sobol points from 65 536, and of ``auto`` with the data from
100 000. Of each shape: how many seeds were answered without a warning, how many of these intervals
covered the true volume, their mean width and the root mean square of the error, both of the
logarithm of the volume. With a relative error, as in ``importance@0.05``, a method draws until that
is reached, at most 3 000 000.

    python -m bench.volume_coverage METHOD[@RTOL] [SEEDS [SHAPE ...]]
"""

import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

import numpy as np
from numba import njit

import fastad
from bench.pages import line, table
from fastad import Box
from fastad.errors import InsufficientMixingWarning
from tests.support.rare import log_ball_volume

N_DRAWS = {"importance": 50_000, "splitting": 100_000, "sobol": 65_536, "auto": 100_000}
MOST = 3_000_000
N_DATA, N_SEEDS = 500, 60
_BLOCK = 1_000_000


class Shape(NamedTuple):
    """A region of the unit cube.

    Attributes
    ----------
    score : callable
        The region is where this function of one row is below the threshold.
    threshold : float
        Of the region.
    box : Box
        That its fraction is of.
    log_fraction : float
        True value.
    draw : callable
        Returns so many points, uniform in the region.
    """

    score: Callable[..., float]
    threshold: float
    box: Box
    log_fraction: float
    draw: Callable[[np.random.Generator, int], Any]


@njit(cache=False)
def _farthest(x: Any) -> float:
    return float(np.max(np.abs(x - 0.5)))


@njit(cache=False)
def _first(x: Any) -> float:
    return float(abs(x[0] - 0.5))


@njit(cache=False)
def _diagonal(x: Any) -> float:
    return float(abs(x[0] - x[1]))


@njit(cache=False)
def _distance(x: Any) -> float:
    return float(np.sqrt(np.sum((x - 0.5) ** 2)))


@njit(cache=False)
def _valley(x: Any) -> float:
    z = 4.0 * x - 2.0
    total = 0.0
    for i in range(z.shape[0] - 1):
        total += 100.0 * (z[i + 1] - z[i] ** 2) ** 2 + (1.0 - z[i]) ** 2
    return total


@njit(cache=False)
def _star(x: Any) -> float:
    return float(np.sum(np.sqrt(np.abs(x - 0.5))))


@njit(cache=False)
def _mixed(x: Any) -> float:
    return float(np.sqrt(np.sum((x[:5] - 0.5) ** 2)) + 0.05 * np.sum(x[5:]))


@njit(cache=False)
def _islands(x: Any) -> float:
    """Distance from the nearest of 64 points, at 1/4 or 3/4 of each of ten features."""
    total = 0.0
    for i in range(6):
        high = x[i] > 0.5
        total += (x[i] - (0.75 if high else 0.25)) ** 2
    for i in range(6, x.shape[0]):
        total += (x[i] - 0.5) ** 2
    return float(math.sqrt(total))


def _cube(d: int) -> Box:
    return Box(np.zeros(d), np.ones(d))


def _log_ball(d: int, radius: float) -> float:
    return log_ball_volume(d) + d * math.log(radius)


def _in_ball(rng: np.random.Generator, n: int, d: int, radius: float) -> Any:
    white = rng.standard_normal((n, d))
    white /= np.linalg.norm(white, axis=1)[:, None]
    return 0.5 + radius * white * rng.random((n, 1)) ** (1 / d)


def filled_box(d: int) -> Shape:
    """Return a box of 95 % of each side."""
    return Shape(
        _farthest,
        0.475,
        _cube(d),
        d * math.log(0.95),
        lambda rng, n: 0.5 + 0.95 * (rng.random((n, d)) - 0.5),
    )


def slab(d: int) -> Shape:
    """Return 2 % of one side, and all of the others."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        points = rng.random((n, d))
        points[:, 0] = 0.5 + 0.02 * (points[:, 0] - 0.5)
        return points

    return Shape(_first, 0.01, _cube(d), math.log(0.02), draw)


def diagonal_slab(d: int, width: float = 0.005) -> Shape:
    """Return where two features are nearly equal."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        points = rng.random((100 + int(n / width), d))
        points[:, 1] = points[:, 0] + width * (2 * points[:, 1] - 1)
        return points[(points[:, 1] >= 0) & (points[:, 1] < 1)][:n]

    return Shape(_diagonal, width, _cube(d), math.log1p(-((1 - width) ** 2)), draw)


def ball(d: int, radius: float = 0.2) -> Shape:
    """Return a ball."""
    return Shape(
        _distance,
        radius,
        _cube(d),
        _log_ball(d, radius),
        lambda rng, n: _in_ball(rng, n, d, radius),
    )


def star(d: int, reach: float = 0.5) -> Shape:
    """Return the ball of the norm with the power 1/2, whose arms are thin."""
    log_fraction = d * math.log(4 * reach) - math.lgamma(2 * d + 1)

    def draw(rng: np.random.Generator, n: int) -> Any:
        # As in every ball of a norm: gamma variables by their sum with one more.
        powers = rng.standard_gamma(2.0, (n, d))
        total = powers.sum(axis=1) + rng.standard_exponential(n)
        signs = rng.choice([-1.0, 1.0], (n, d))
        # Of |x| ** (1/2) = t the density is proportional to t, so t is gamma(2).
        return 0.5 + signs * reach * (powers / total[:, None]) ** 2

    return Shape(_star, math.sqrt(reach), _cube(d), log_fraction, draw)


def valley(d: int, threshold: float) -> Shape:
    """Return where Rosenbrock's function is low; the fraction is from 10⁸ uniform draws."""
    low: list[Any] = []
    n_inside, n = 0, 100_000_000
    for seed in range(n // _BLOCK):
        points = np.random.default_rng([7, seed]).random((_BLOCK, d))
        z = 4 * points - 2
        scores = np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1 - z[:, :-1]) ** 2, axis=1)
        inside = scores < threshold
        n_inside += int(np.count_nonzero(inside))
        if len(low) < 20:
            low.append(points[inside])
    kept = np.concatenate(low)
    return Shape(
        _valley,
        threshold,
        _cube(d),
        math.log(n_inside / n),
        lambda rng, m: kept[rng.choice(kept.shape[0], m, replace=kept.shape[0] < m)],
    )


def mixed_features() -> Shape:
    """Return a ball in five features whose radius falls with five others of four values each."""
    threshold = 0.6
    values = [None] * 5 + [[0.0, 1.0, 2.0, 3.0]] * 5
    box = Box(np.zeros(10), np.array([1.0] * 5 + [3.0] * 5), values=values)
    sums = np.bincount(np.indices((4,) * 5).sum(axis=0).ravel()) / 4**5
    radii = threshold - 0.05 * np.arange(sums.shape[0])
    parts = [
        math.log(p) + _log_ball(5, min(r, 0.5)) if r > 0 else -math.inf
        for p, r in zip(sums, radii, strict=True)
    ]
    # The largest radii leave the cube: the fraction is by integration over the cube there.
    fractions = [math.exp(x) for x in parts]
    rng = np.random.default_rng(3)
    distances = np.concatenate(
        [np.linalg.norm(rng.random((_BLOCK, 5)) - 0.5, axis=1) for _ in range(100)]
    )
    for i, radius in enumerate(radii):
        if radius > 0.5:
            fractions[i] = float(sums[i] * np.mean(distances < radius))

    def draw(rng: np.random.Generator, n: int) -> Any:
        results: list[Any] = []
        while sum(map(len, results)) < n:
            points = np.hstack([rng.random((_BLOCK // 4, 5)), rng.integers(0, 4, (_BLOCK // 4, 5))])
            score = np.linalg.norm(points[:, :5] - 0.5, axis=1) + 0.05 * points[:, 5:].sum(axis=1)
            results.append(points[score < threshold])
        return np.concatenate(results)[:n]

    return Shape(_mixed, threshold, box, math.log(math.fsum(fractions)), draw)


def islands() -> Shape:
    """Return 64 balls in ten features, which do not touch."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        points = _in_ball(rng, n, 10, 0.2)
        points[:, :6] += rng.choice([-0.25, 0.25], (n, 6))
        return points

    return Shape(_islands, 0.2, _cube(10), math.log(64) + _log_ball(10, 0.2), draw)


SHAPES: Mapping[str, Callable[[], Shape]] = {
    "ball, d = 5": lambda: ball(5),
    "ball, d = 20": lambda: ball(20),
    "diagonal slab, d = 2": lambda: diagonal_slab(2),
    "box nearly filled, d = 2": lambda: filled_box(2),
    "box nearly filled, d = 5": lambda: filled_box(5),
    "box nearly filled, d = 10": lambda: filled_box(10),
    "slab along an axis, d = 10": lambda: slab(10),
    "curved valley, d = 5": lambda: valley(5, 150.0),
    "curved valley, d = 10": lambda: valley(10, 900.0),
    "star, d = 5": lambda: star(5),
    "discrete and continuous features, d = 10": mixed_features,
    "64 islands, d = 10": islands,
}


def main(method: str = "importance", n_seeds: int = N_SEEDS, *names: str) -> None:
    """Print a row for each shape."""
    head = ["shape", "fraction", "answered", "covered", "width", "error", "score calls"]
    print(table([*head, "methods"], []))
    for name in names or SHAPES:
        shape = SHAPES[name]()
        results = []
        for seed in range(n_seeds):
            estimate = estimated(shape, method, seed)
            if estimate is not None:
                results.append(estimate)
        covered = sum(x.log_low <= shape.log_fraction <= x.log_high for x in results)
        widths = [x.log_high - x.log_low for x in results]
        errors = [x.log_value - shape.log_fraction for x in results]
        numbers = [
            f"{np.mean(widths):.3g}" if results else "-",
            f"{np.sqrt(np.mean(np.square(errors))):.3g}" if results else "-",
        ]
        cells = [name, f"{math.exp(shape.log_fraction):.3g}", f"{len(results)} of {n_seeds}"]
        methods = Counter(x.method for x in results)
        cells += [
            f"{covered} of {len(results)}",
            *numbers,
            f"{np.mean([x.n_scored for x in results]):.3g}" if results else "-",
            ", ".join(f"{method} {n}" for method, n in methods.most_common()),
        ]
        print(line(cells), flush=True)


def estimated(shape: Shape, method: str, seed: int) -> Any:
    """Return an estimate, or None where it is refused or comes with a warning."""
    name, _, rtol = method.partition("@")
    takes_data = name in ("importance", "auto")
    data = shape.draw(np.random.default_rng([1, seed]), N_DATA) if takes_data else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", InsufficientMixingWarning)
        try:
            return fastad.volume(
                shape.score,
                shape.threshold,
                shape.box,
                data=data,
                method=cast(Any, name),
                n_draws=MOST if rtol else N_DRAWS[name],
                rtol=float(rtol) if rtol else None,
                rng=seed,
            )
        except (ValueError, InsufficientMixingWarning):
            return None


def volume_and_warning(*region: Any, **options: Any) -> tuple[Any, bool]:
    """Return an estimate of the volume, and whether it came with a warning about its particles."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = fastad.volume(*region, **options)
    return estimate, any(issubclass(x.category, InsufficientMixingWarning) for x in caught)


if __name__ == "__main__":
    main(*(int(x) if x.isdigit() else x for x in sys.argv[1:]))  # type: ignore[arg-type]
