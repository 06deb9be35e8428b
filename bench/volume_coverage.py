"""Errors and coverage of volumes whose true value is known, on shapes of many kinds.

    python -m bench.volume_coverage CALLS SEEDS [METHOD ...] [SHAPE ...]
    python -m bench.volume_coverage             puts the tables into the page

measures rows of ``docs/evidence/volumes.csv``, one for each shape, method and number of calls.
Methods are ``auto`` and ``splitting``; with ``+data`` they have 500 points, uniform in the region,
or in a part of it. Of the seeds it counts those that warned, those that ended in a bound, those
whose 95 % interval has the true value, those that did neither, and those whose interval by uniform
draws leaves it out. The errors are of the logarithm of the fraction, over seeds without a bound.
"""

import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from scipy.special import betainc, iv

import fastad
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad import Box
from fastad.errors import InsufficientMixingWarning
from tests.support import hidden, rare
from tests.support.rare import log_ball_volume

TABLE = EVIDENCE / "volumes.csv"
PAGE = EVIDENCE / "rare.md"
METHODS = ("splitting", "splitting+data", "auto")
# Weighted draws around the data, which were measured once more before they were removed.
WEIGHTED = "importance+data"
# Tables of the page, and the columns that they show.
TABLES = {"volumes": ("splitting", 100_000), "bounds": ("splitting", 10_000)}
SHOWN = {
    "shape": "region",
    "log_fraction": "ln fraction",
    "seeds": "seeds",
    "bounds": "bounds",
    "warned": "warned",
    "covered": "covered",
    "false_unwarned": "false, not warned",
    "uniform_false": "false by uniform draws",
    "error": "error",
    "median_error": "median",
    "half_width": "half-width",
    "chosen": "methods",
}
N_DATA = 500
_BLOCK = 1_000_000
# Centres of far clusters: of features with an even and with an odd number.
_CENTRES = np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2], [0.5, 0.5]])


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


@njit(cache=False)
def _in_logarithms(x: Any) -> float:
    return float(np.sqrt(np.sum(np.log(x) ** 2)))


@njit(cache=False)
def _far_clusters(x: Any) -> float:
    nearest = np.inf
    for k in range(_CENTRES.shape[0]):
        total = 0.0
        for j in range(x.shape[0]):
            total += (x[j] - _CENTRES[k, j % 2]) ** 2
        nearest = min(nearest, total)
    return float(math.sqrt(nearest))


@njit(cache=False)
def _in_quarters(x: Any) -> float:
    return float(np.sqrt(np.sum(((4 * x) % 1 - 0.5) ** 2)))


def _cube(d: int) -> Box:
    return Box(np.zeros(d), np.ones(d))


def _log_ball(d: int, radius: float) -> float:
    return log_ball_volume(d) + d * math.log(radius)


def _in_ball(rng: np.random.Generator, n: int, d: int, radius: float) -> Any:
    white = rng.standard_normal((n, d))
    white /= np.linalg.norm(white, axis=1)[:, None]
    return 0.5 + radius * white * rng.random((n, 1)) ** (1 / d)


def inner_box(d: int, side: float) -> Shape:
    """Return a box around the middle, with a part of each side."""
    return Shape(
        _farthest,
        side / 2,
        _cube(d),
        d * math.log(side),
        lambda rng, n: 0.5 + side * (rng.random((n, d)) - 0.5),
    )


def slab(d: int, width: float = 0.02) -> Shape:
    """Return a small part of one side, and all of the others."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        points = rng.random((n, d))
        points[:, 0] = 0.5 + width * (points[:, 0] - 0.5)
        return points

    return Shape(_first, width / 2, _cube(d), math.log(width), draw)


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


@njit(cache=False)
def _n_in_valley(rng: Any, d: int, threshold: float, half: float, n: int) -> int:
    """Count points in the valley, each coordinate within ``half`` of the square of the last."""
    n_inside, z = 0, np.empty(d)
    for _ in range(n):
        z[0] = 4 * rng.random() - 2
        for i in range(1, d):
            centre = z[i - 1] ** 2 if half < 2 else 0.0
            z[i] = centre + half * (2 * rng.random() - 1)
        if np.max(np.abs(z)) <= 2:
            n_inside += _valley((z + 2) / 4) < threshold
    return n_inside


def valley(d: int, threshold: float) -> Shape:
    """Return where Rosenbrock's function is low; the fraction is from 10⁸ draws."""
    n = 100_000_000
    # Farther from the square of the last coordinate each one is outside.
    half = min(math.sqrt(threshold) / 10, 2.0)

    def draw(rng: np.random.Generator, m: int) -> Any:
        kept: list[Any] = []
        while sum(map(len, kept)) < m:
            z = 4 * rng.random((_BLOCK // 10, d)) - 2
            scores = np.sum(100 * (z[:, 1:] - z[:, :-1] ** 2) ** 2 + (1 - z[:, :-1]) ** 2, axis=1)
            kept.append(z[scores < threshold] / 4 + 0.5)
        return np.concatenate(kept)[:m]

    n_inside = _n_in_valley(np.random.default_rng(7), d, threshold, half, n)
    log_fraction = math.log(n_inside / n) + (d - 1) * math.log(half / 2)
    return Shape(_valley, threshold, _cube(d), log_fraction, draw)


def mixed_features() -> Shape:
    """Return a ball in five features whose radius falls with five others of four values each."""
    threshold = 0.6
    values = [None] * 5 + [[0.0, 1.0, 2.0, 3.0]] * 5
    box = Box(np.zeros(10), np.array([1.0] * 5 + [3.0] * 5), values=values)
    sums = np.bincount(np.indices((4,) * 5).sum(axis=0).ravel()) / 4**5

    def in_cube(radius: float) -> float:
        """Return the fraction of the cube in a ball, whose caps outside do not meet."""
        whole = math.exp(_log_ball(5, radius))
        outside = betainc(3, 0.5, 1 - (0.5 / radius) ** 2) / 2 if radius > 0.5 else 0.0
        return float(whole * (1 - 10 * outside))

    radii = threshold - 0.05 * np.arange(sums.shape[0])
    fraction = math.fsum(p * in_cube(r) for p, r in zip(sums, radii, strict=True) if r > 0)

    def draw(rng: np.random.Generator, n: int) -> Any:
        results: list[Any] = []
        while sum(map(len, results)) < n:
            points = np.hstack([rng.random((_BLOCK // 4, 5)), rng.integers(0, 4, (_BLOCK // 4, 5))])
            score = np.linalg.norm(points[:, :5] - 0.5, axis=1) + 0.05 * points[:, 5:].sum(axis=1)
            results.append(points[score < threshold])
        return np.concatenate(results)[:n]

    return Shape(_mixed, threshold, box, math.log(fraction), draw)


def in_logarithms(d: int, radius: float = 1.0, side: float = 20.0) -> Shape:
    """Return a ball of the logarithms: the features of data are log-normal, the box is wide."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        kept: list[Any] = []
        while sum(map(len, kept)) < n:
            points = _in_ball(rng, _BLOCK // 10, d, radius) - 0.5
            likely = np.exp(points.sum(axis=1) - radius * math.sqrt(d))
            kept.append(np.exp(points[rng.random(points.shape[0]) < likely]))
        return np.concatenate(kept)[:n]

    # The integral of exp(x_1 + ... + x_d) over the ball.
    root = math.sqrt(d)
    log_volume = d / 2 * math.log(2 * math.pi * radius / root)
    log_volume += math.log(float(iv(d / 2, root * radius)))
    box = Box(np.full(d, 0.01), np.full(d, side))
    return Shape(_in_logarithms, radius, box, log_volume - d * math.log(side - 0.01), draw)


def far_clusters(d: int, radius: float = 0.05) -> Shape:
    """Return five small balls, far from one another, with data in one of them alone."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        return _in_ball(rng, n, d, radius) - 0.5 + _CENTRES[0, 0]

    log_fraction = math.log(_CENTRES.shape[0]) + _log_ball(d, radius)
    return Shape(_far_clusters, radius, _cube(d), log_fraction, draw)


def islands() -> Shape:
    """Return 64 balls in ten features, which do not touch."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        points = _in_ball(rng, n, 10, 0.2)
        points[:, :6] += rng.choice([-0.25, 0.25], (n, 6))
        return points

    return Shape(_islands, 0.2, _cube(10), math.log(64) + _log_ball(10, 0.2), draw)


def many_islands() -> Shape:
    """Return 256 balls in four features, of radius 1/400."""

    def draw(rng: np.random.Generator, n: int) -> Any:
        return 0.125 + 0.25 * rng.integers(0, 4, (n, 4)) + _in_ball(rng, n, 4, 0.0025) - 0.5

    return Shape(_in_quarters, 0.01, _cube(4), math.log(256) + _log_ball(4, 0.0025), draw)


def _known(name: str, d: int) -> Shape:
    region = {**rare.SHAPES, **hidden.SHAPES}[name](d)
    return Shape(
        *(region.jitted, region.threshold, region.box, region.log_fraction),
        lambda rng, n: region.inside(rng, n, d),
    )


def shapes() -> Iterator[tuple[str, Callable[[], Shape]]]:
    """Yield the makers of shapes, by name."""
    for name in rare.SHAPES:
        for d in (5, 10, 20):
            yield f"{name}, d = {d}", partial(_known, name, d)
    for name in hidden.SHAPES:
        yield f"{name}, d = 5", partial(_known, name, 5)
    yield "needle_in_valley, d = 10", partial(_known, "needle_in_valley", 10)
    yield from OTHERS.items()


OTHERS: Mapping[str, Callable[[], Shape]] = {
    "small ball, d = 5": lambda: ball(5),
    "diagonal slab, d = 2": lambda: diagonal_slab(2),
    "thin diagonal slab, d = 2": lambda: diagonal_slab(2, 1e-4),
    "thin diagonal slab, d = 5": lambda: diagonal_slab(5, 5e-5),
    "box nearly filled, d = 2": lambda: inner_box(2, 0.95),
    "box nearly filled, d = 10": lambda: inner_box(10, 0.95),
    "half of each side, d = 20": lambda: inner_box(20, 0.5),
    "half of each side, d = 60": lambda: inner_box(60, 0.5),
    "slab along an axis, d = 10": lambda: slab(10),
    "thin slab along an axis, d = 3": lambda: slab(3, 2e-6),
    "curved valley, d = 5": lambda: valley(5, 150.0),
    "lower curved valley, d = 5": lambda: valley(5, 20.0),
    "curved valley, d = 10": lambda: valley(10, 900.0),
    "star, d = 5": lambda: star(5),
    "discrete and continuous features, d = 10": mixed_features,
    "ball of logarithms, d = 5": lambda: in_logarithms(5),
    "five far clusters, d = 5": lambda: far_clusters(5),
    "64 islands, d = 10": islands,
    "256 islands, d = 4": many_islands,
}


class Run(NamedTuple):
    """An estimate of a shape's volume, and whether it warned."""

    estimate: fastad.regions.VolumeEstimate
    is_warned: bool


def run(shape: Shape, method: str, n_draws: int, seed: int) -> Run:
    """Estimate the volume of a shape."""
    name, plus, _ = method.partition("+")
    data = shape.draw(np.random.default_rng([1, seed]), N_DATA) if plus else None
    options: Any = {"method": name, "n_draws": n_draws, "rng": seed, "data": data}
    return Run(*volume_and_warning(shape.score, shape.threshold, shape.box, **options))


def row(name: str, shape: Shape, method: str, n_draws: int, n_seeds: int) -> dict[str, Any]:
    """Return a row of the table."""
    runs = [run(shape, method, n_draws, seed) for seed in range(n_seeds)]
    truth = shape.log_fraction
    covered = [x.log_low <= truth <= x.log_high for x, _ in runs]
    answers = [x for x, _ in runs if not x.is_bound]
    errors = np.array([x.log_value - truth for x in answers])
    halves = [(x.log_high - x.log_low) / 2 for x in answers]
    methods = Counter(x.method for x, _ in runs)
    return {
        "shape": name,
        "d": shape.box.n_features,
        "log_fraction": f"{truth:.5g}",
        "method": method,
        "calls": n_draws,
        "seeds": n_seeds,
        "bounds": n_seeds - len(answers),
        "warned": sum(x.is_warned for x in runs),
        "covered": sum(covered),
        "false_unwarned": sum(
            not has and not x.is_warned for has, x in zip(covered, runs, strict=True)
        ),
        "uniform_false": sum(
            x.uniform_high < math.exp(truth) or math.exp(truth) < x.uniform_low for x, _ in runs
        ),
        "error": _short(math.sqrt(np.mean(errors**2))) if answers else "",
        "median_error": _short(np.median(abs(errors))) if answers else "",
        "half_width": _short(np.median(halves)) if answers else "",
        "scored": round(float(np.mean([x.n_scored for x, _ in runs]))),
        "chosen": " ".join(f"{key} {n}" for key, n in methods.most_common()),
    }


def _short(value: float) -> str:
    return f"{value:.3g}"


def main(n_draws: int, n_seeds: int, *words: str) -> None:
    """Measure shapes, all by default, and write the table; other rows stay."""
    methods = [word for word in words if word in METHODS] or METHODS
    names = [word for word in words if word not in METHODS]
    for name, make in shapes():
        if names and name not in names:
            continue
        shape = make()
        for method in methods:
            rows = read_rows(TABLE) if TABLE.exists() else []
            key = name, method, str(n_draws)
            rows = [x for x in rows if (x["shape"], x["method"], x["calls"]) != key]
            rows.append(row(name, shape, method, n_draws, n_seeds))
            print(*rows[-1].values(), sep=", ", flush=True)
            write_rows(TABLE, rows)


def volume_and_warning(*region: Any, **options: Any) -> tuple[Any, bool]:
    """Return an estimate of the volume, and whether it came with a warning about its particles."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = fastad.volume(*region, **options)
    return estimate, any(issubclass(x.category, InsufficientMixingWarning) for x in caught)


def lines(rows: Iterable[Mapping[str, Any]], method: str, n_draws: int) -> str:
    """Return a table of the page."""
    shown = [x for x in rows if x["method"] == method and int(x["calls"]) == n_draws]
    return table(list(SHOWN.values()), [[row[name] for name in SHOWN] for row in shown])


def compared(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of errors by weighted draws, which were removed, and by splitting."""
    by_method: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        if row["calls"] == "100000":
            by_method.setdefault(row["method"], {})[row["shape"]] = row
    names = ("error", "covered", "seeds")
    head = ["region", *(f"{what}, {name}" for what in ("weighted", "splitting") for name in names)]
    cells = []
    for shape, weighted in by_method[WEIGHTED].items():
        both = weighted, by_method["splitting"][shape]
        cells.append([shape, *(row[name] for row in both for name in names)])
    return table(head, cells)


def tables(rows: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return all tables of the page, by name."""
    return {**{name: lines(rows, *of) for name, of in TABLES.items()}, "weighted": compared(rows)}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
    fill(PAGE, tables(read_rows(TABLE)))
