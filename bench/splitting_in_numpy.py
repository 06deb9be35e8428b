"""Splitting with NumPy in place of all that fastad compiles: the same algorithm, step by step.

Levels, numbers of moves, ways down, bridges and their fits are fastad's own; what it does with
points is done by vectorised NumPy, SciPy and LAPACK, and scores are a function's of a batch.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.special import ndtr, ndtri

import fastad.regions.algebra
import fastad.regions.scores
from fastad._kernels.geometry import moves as kinds
from fastad.regions.splitting import marginals, moves

_LEAST = 1e-300
_rng = np.random.default_rng(0)


@contextmanager
def numpy_only() -> Iterator[None]:
    """Let splitting use NumPy."""
    compiled = {name: getattr(kinds, name) for name in dir(kinds) if name.isupper()}
    steps = SimpleNamespace(to_round=_to_round, propose=_propose, settle=_settle, **compiled)
    normals = SimpleNamespace(
        standardize=_standardize,
        to_probabilities=_to_probabilities,
        write_normal=_write_normal,
        from_probabilities=_from_probabilities,
        write_coordinates=_write_coordinates,
    )
    algebra: dict[str, Any] = {
        "multiply": lambda left, right, product: np.matmul(left, right, out=product),
        "add_products": _add_products,
        "cholesky": lambda matrix, factor: np.copyto(factor, np.linalg.cholesky(matrix)),
        "diagonalize": _diagonalize,
        "compare": _compare,
        "write_normals": lambda key, numbers: _rng.standard_normal(out=numbers),
    }
    with (
        patch.object(moves, "kernels", steps),
        patch.object(marginals, "kernels", normals),
        patch.object(marginals, "to_normal_tails", lambda x: ndtr(-x, out=x)),
        patch.object(marginals, "to_normal_quantiles", lambda p: ndtri(p, out=p)),
        patch.dict(vars(fastad.regions.algebra), algebra),
        patch.dict(vars(fastad.regions.scores), scale_to_box=_scale, write_rows=_transpose),
    ):
        yield


def _to_round(points: Any, mean: Any, factor: Any, rounded: Any) -> None:
    # A product with the inverse is many times as fast as SciPy's triangular solution.
    np.matmul(np.linalg.inv(factor), points - mean[:, None], out=rounded)


def _propose(
    kind: int,
    scale: float,
    key: Any,
    cloud: Any,
    points: Any,
    rounded: Any,
    chosen: Any,
    packed: Any,
) -> int:
    d, n = points.shape
    allowed = np.ones(n, np.bool_)
    if kind in (kinds.AUTOREGRESSIVE, kinds.WALK, kinds.DIFFERENCE):
        if kind == kinds.AUTOREGRESSIVE:
            fresh = np.sqrt(1 - scale * scale) * rounded + scale * _rng.standard_normal((d, n))
            shorter = (rounded**2).sum(axis=0) - (fresh**2).sum(axis=0)
            allowed = shorter <= 2 * _rng.standard_exponential(n)
        elif kind == kinds.WALK:
            fresh = rounded + 2 * scale / np.sqrt(d) * _rng.standard_normal((d, n))
        else:
            first, second = _rng.integers(cloud.rounded.shape[1], size=(2, n))
            part = np.where(_rng.random(n) < 0.1, 1.0, 1.5 * scale / np.sqrt(d))
            fresh = rounded + part * (cloud.rounded[:, first] - cloud.rounded[:, second])
        proposed = cloud.mean[:, None] + cloud.factor @ fresh
        if kind != kinds.AUTOREGRESSIVE:
            proposed -= np.floor(proposed)
    elif kind == kinds.REDRAW:
        drawn = _rng.random((d, n)) < scale
        drawn[_rng.integers(d, size=n), np.arange(n)] = True
        proposed = np.where(drawn, _rng.random((d, n)), points)
    else:
        if kind == kinds.REFLECTED_WALK:
            steps = 2 * scale / np.sqrt(d) * cloud.spread[:, None]
            proposed = points + steps * _rng.standard_normal((d, n))
        else:
            j = _rng.integers(d, size=n)
            proposed = points.copy()
            proposed[j, np.arange(n)] += 2 * scale * cloud.spread[j] * _rng.standard_normal(n)
        proposed = np.abs(proposed - 2 * np.floor(0.5 * proposed + 0.5))
    allowed &= ((proposed >= 0) & (proposed < 1)).all(axis=0)
    who = np.flatnonzero(allowed)
    chosen[: len(who)] = who
    packed[: d * len(who)] = proposed[:, who].ravel()
    return len(who)


def _settle(
    candidates: Any,
    scores: Any,
    chosen: Any,
    level: float,
    cloud: Any,
    points: Any,
    rounded: Any,
    particle_scores: Any,
) -> tuple[int, float]:
    new = np.empty_like(candidates)
    _to_round(candidates, cloud.mean, cloud.factor, new)
    moved = scores < level
    who = chosen[moved]
    steps = new[:, moved] - rounded[:, who]
    points[:, who], rounded[:, who] = candidates[:, moved], new[:, moved]
    particle_scores[who] = scores[moved]
    return len(who), float((steps**2).sum())


def _add_products(points: Any, mean: Any, products: Any) -> None:
    deviations = points - mean[:, None]
    products += np.tril(deviations @ deviations.T)


def _compare(left: Any, right: Any, squares: Any) -> None:
    squares[:] = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=0) - 2 * left @ right
    np.maximum(squares, 0.0, out=squares)


def _diagonalize(matrix: Any, values: Any, vectors: Any) -> None:
    values[:], columns = np.linalg.eigh(matrix)
    vectors[:] = columns.T


def _standardize(
    points: Any, indices: Any, centres: Any, widths: Any, deviations: Any, sizes: Any
) -> None:
    deviations[:] = (points[indices] - centres) / widths
    sizes[:] = np.abs(deviations)


def _to_probabilities(deviations: Any, outside: Any, masses: Any, parts: Any, is_low: Any) -> None:
    below, not_below, above, not_above = (outside[:, [k]] for k in range(4))
    low = np.where(deviations > 0, not_below - parts, parts - below)
    high = np.where(deviations > 0, parts - above, not_above - parts)
    parts[:] = np.maximum(np.minimum(low, high) / masses, _LEAST)
    is_low[:] = low < high


def _write_normal(
    deviations: Any, normal: Any, is_low: Any, constants: Any, indices: Any, out: Any, jacobian: Any
) -> None:
    out[indices] = np.where(is_low, normal, -normal)
    jacobian += (constants + 0.5 * (normal * normal - deviations * deviations)).sum(axis=0)


def _from_probabilities(normal: Any, outside: Any, masses: Any, parts: Any, is_low: Any) -> None:
    low = outside[:, [0]] + np.where(normal < 0, parts, 1 - parts) * masses
    high = outside[:, [2]] + np.where(normal < 0, 1 - parts, parts) * masses
    parts[:] = np.maximum(np.minimum(low, high), _LEAST)
    is_low[:] = low < high


def _write_coordinates(
    deviations: Any, is_low: Any, centres: Any, widths: Any, highest: float, indices: Any, out: Any
) -> None:
    x = centres + widths * np.where(is_low, deviations, -deviations)
    out[indices] = np.clip(x, 0.0, highest)


def _scale(ranges: Any, points: Any) -> None:
    """Scale to a box of continuous features."""
    lows, highs = ranges.lows[:, None], ranges.highs[:, None]
    points[:] = np.minimum(lows + (highs - lows) * points, highs)


def _transpose(points: Any, rows: Any) -> None:
    rows[:] = points.T
