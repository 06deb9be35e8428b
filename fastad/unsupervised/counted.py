"""Level sets of counted volumes: scores of test and of uniform points in one order."""

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastad._core.arrays import (
    RowIndex,
    as_readonly,
    check_no_nan,
    real_vector,
    refuse_nan,
    set_readonly,
)
from fastad._core.buffers import ReusedBuffers
from fastad._core.threads import slices, thread_map
from fastad._core.types import ArrayLike, FloatVector, Point, ScoreVector
from fastad._kernels.curves import level_sets as kernels
from fastad.errors import InvalidInputError
from fastad.ordering.labels import Labels, score_name
from fastad.ordering.orders import Range, order_values
from fastad.regions.box import Box
from fastad.unsupervised.levels import Extent, LevelSets, check_extent

# Fewer points are sorted twice and merged; for more the packed order on threads is faster.
_FEW = 200_000
# Fraction above all test scores from which on leaving them out pays, and points that estimate it.
_ENOUGH_ABOVE, _SAMPLE = 0.2, 1024
# Products of both numbers of points must fit into 64 bits.
_LARGEST = 2**63
_ARGUMENTS = re.compile("y_score|uniform_score")


def counted_level_sets(
    y_score: ArrayLike | LevelSets,
    uniform_score: ArrayLike | None,
    volume: Point | Box | None,
    log_volume: Point | None,
) -> LevelSets:
    """Return level sets as they are, or level sets of scores of test and of uniform points."""
    if not isinstance(y_score, LevelSets):
        if uniform_score is None:
            raise InvalidInputError("uniform_score must be given beside y_score; found None")
        return level_sets_of_scores(y_score, uniform_score, check_extent(volume, log_volume))
    if uniform_score is not None or volume is not None or log_volume is not None:
        raise InvalidInputError(
            "uniform_score, volume and log_volume must not be given beside level sets; found some"
        )
    return y_score


def level_sets_of_scores(y_score: ArrayLike, uniform_score: ArrayLike, box: Extent) -> LevelSets:
    """Check scores of test and of uniform points, order them together, and count."""
    test = real_vector(y_score, "y_score")
    uniform = real_vector(uniform_score, "uniform_score")
    n, m = test.shape[0], uniform.shape[0]
    if n * m >= _LARGEST:
        raise InvalidInputError(
            f"y_score and uniform_score must have at most {_LARGEST} pairs of points; found {n} "
            f"and {m} points"
        )
    if test.dtype == uniform.dtype == np.float64:
        highest = float(test.max())
        if math.isnan(highest):
            refuse_nan(test, "y_score", None)
        uniform = _up_to(highest, uniform)
        if n + uniform.shape[0] < _FEW:
            return _merge(test, uniform, m, box)
    with ReusedBuffers():
        together = _together(test, uniform)
        try:
            return _count(together, n, m, box)
        except InvalidInputError:
            # NaN, of which only the order of both kinds of scores knows.
            check_no_nan(test, "y_score")
            check_no_nan(uniform, "uniform_score")
            raise


def check_same_detectors(y_score: Mapping[str, Any], uniform_score: Mapping[str, Any]) -> None:
    """Check that scores of test and of uniform points are of the same detectors."""
    if y_score.keys() != uniform_score.keys():
        raise InvalidInputError(
            "y_score and uniform_score must name the same detectors; found "
            f"{', '.join(y_score)} and {', '.join(uniform_score)}",
            argument="uniform_score",
        )


def level_sets_of_detector(
    name: str, y_score: ArrayLike, uniform_score: ArrayLike, box: Extent
) -> LevelSets:
    """Return the level sets of one detector of several; an error about its scores names it."""

    def named(text: str) -> str:
        return _ARGUMENTS.sub(lambda found: score_name(name, found[0]), text)

    try:
        return level_sets_of_scores(y_score, uniform_score, box)
    except InvalidInputError as error:
        argument = error.argument and named(error.argument)
        raise InvalidInputError(named(str(error)), argument=argument) from None


def _up_to(highest: float, uniform: FloatVector) -> FloatVector:
    """Leave out uniform points that lie in no level set, where a sample says that this pays.

    The number of points stays, but they are not put in order.
    """
    step = -(-uniform.shape[0] // _SAMPLE)
    if np.count_nonzero(uniform[::step] > highest) < _ENOUGH_ABOVE * _SAMPLE:
        return uniform
    scores = as_readonly(uniform)

    def keep(part: slice) -> FloatVector:
        kept = np.empty(part.stop - part.start)
        size, above = kernels.keep_up_to(scores[part], highest, kept)
        if size + above < kept.shape[0]:
            refuse_nan(uniform, "uniform_score", None)
        return kept[:size]

    parts = thread_map(keep, slices(uniform.shape[0]))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _merge(test: FloatVector, uniform: FloatVector, n_uniform: int, box: Extent) -> LevelSets:
    """Sort both kinds of scores by themselves, and merge them."""
    n = test.shape[0]
    rising = np.sort(test), np.sort(uniform)
    for ordered, scores, name in zip(
        rising, (test, uniform), ("y_score", "uniform_score"), strict=True
    ):
        if ordered.shape[0] and np.isnan(ordered[-1]):  # which sorts behind all numbers
            refuse_nan(scores, name, None)
    thresholds = np.empty(n + 1)
    masses, volumes = np.empty(n + 1, np.int64), np.empty(n + 1, np.int64)
    thresholds[0], masses[0], volumes[0] = -math.inf, 0, 0
    g = 1 + kernels.merge(
        as_readonly(rising[0]), as_readonly(rising[1]), thresholds, masses, volumes
    )
    columns = set_readonly(thresholds[:g]), set_readonly(masses[:g]), set_readonly(volumes[:g])
    return LevelSets(*columns, None, box, n_uniform)


def _together(test: ScoreVector, uniform: ScoreVector) -> ScoreVector:
    """Return both kinds of scores one after the other, in a type that represents both."""
    together = np.concatenate([test, uniform])
    if test.dtype != uniform.dtype:
        n = test.shape[0]
        for scores, widened in ((test, together[:n]), (uniform, together[n:])):
            if scores.dtype.kind != "f" and not _same(widened, scores):
                raise InvalidInputError(
                    "y_score and uniform_score must be of one type, or of types that one type "
                    f"holds; found {test.dtype} and {uniform.dtype}"
                )
    return together


def _same(widened: ScoreVector, scores: ScoreVector) -> bool:
    """Tell whether integers have kept their values in another type."""
    if widened.dtype.kind != "f":
        return True
    # Beyond the type nothing can be cast back.
    fits = widened < 2.0 ** (8 * scores.itemsize - (scores.dtype.kind == "i"))
    return bool(fits.all() and (widened.astype(scores.dtype) == scores).all())


def _count(scores: ScoreVector, n: int, n_uniform: int, box: Extent) -> LevelSets:
    """Put scores of test points, and of uniform points behind them, in one order."""
    m = scores.shape[0] - n
    is_uniform = np.ones(n + m, np.uint8)
    is_uniform[:n] = 0
    labels = Labels(is_uniform, m, None, None, RowIndex(n + m))
    order = order_values(scores, labels, "y_score")
    keys, fps, tps = (np.empty(n, np.int64) for _ in range(3))
    ends = [*(where.fp for where in order.ranges[1:]), n]

    def collect(part: tuple[Range, int]) -> int:
        where, end = part
        packed, free = order.packed[where.start : where.stop], slice(where.fp, end)
        size: int = kernels.collect(
            packed, where.centre, where.fp, where.tp, keys[free], fps[free], tps[free]
        )
        return size

    g = 0
    swept = thread_map(collect, list(zip(order.ranges, ends, strict=True)))
    for where, size in zip(order.ranges, swept, strict=True):
        if g < where.fp and size:
            # Ties have left room behind the range before.
            for counts in (keys, fps, tps):
                counts[g : g + size] = counts[where.fp : where.fp + size].copy()
        g += size
    thresholds = order.codec.decode_after(-math.inf, as_readonly(keys[:g][::-1]))
    masses, volumes = np.zeros(g + 1, np.int64), np.zeros(g + 1, np.int64)
    np.subtract(n, fps[:g][::-1], out=masses[1:])
    np.subtract(m, tps[:g][::-1], out=volumes[1:])
    columns = set_readonly(thresholds), set_readonly(masses), set_readonly(volumes)
    return LevelSets(*columns, None, box, n_uniform)
