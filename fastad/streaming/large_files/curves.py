"""Exact curves that come in pieces, and measures of them with the bits of the whole curve."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import IntVector
from fastad._kernels.curves import area
from fastad.measures.measure import BoundMeasure
from fastad.measures.points import twice_area
from fastad.ordering.counts import OrderedCounts, corners_of
from fastad.ordering.raw import KeyCodec
from fastad.streaming.sketches.bounds import extremes_of

# Bytes of a point of a curve in memory: its counts, and what a measure makes of them.
BYTES_A_POINT = 64


class CurveSegment(NamedTuple):
    """Points of a curve, from above down; the first is the last of the previous segment."""

    # (n + 1,) normals and anomalies that are flagged.
    fps: IntVector
    tps: IntVector
    # (n,) rising keys of the scores; without them, normals that no anomaly separates are one step.
    keys: IntVector | None = None


class _Area:
    """The area under a curve: a sum of integers."""

    def __init__(self) -> None:
        self._twice = 0

    def add(self, piece: CurveSegment) -> None:
        self._twice += int(twice_area(piece.fps, piece.tps, 0, piece.fps.shape[0] - 1))

    def value(self, n_normals: int, n_anomalies: int) -> float:
        return self._twice / (2 * n_normals * n_anomalies)


_Kernel = Callable[[IntVector, IntVector, float, float], tuple[float, float]]


class _MeanOfAnomalies:
    """A sum over the anomalies, added in the same order as in memory."""

    def __init__(self, kernel: _Kernel) -> None:
        self._kernel = kernel
        self._total = self._lost = 0.0

    def add(self, piece: CurveSegment) -> None:
        self._total, self._lost = self._kernel(piece.fps, piece.tps, self._total, self._lost)

    def value(self, n_normals: int, n_anomalies: int) -> float:
        del n_normals
        return (self._total + self._lost) / n_anomalies


def sum_of(bound: BoundMeasure) -> _Area | _MeanOfAnomalies | None:
    """Return the sum along the curve that gives a measure, or None."""
    match bound.measure.name:
        case "roc_auc":
            return _Area()
        case "average_precision" if bound.parameters.get("prevalence") is None:
            return _MeanOfAnomalies(area.precision_sum)
        case "weighted_auc":
            kernels: dict[Any, _Kernel] = {
                "right": area.inverse_fpr_area,
                "exact": area.logarithmic_area,
            }
            return _MeanOfAnomalies(kernels[bound.parameters["quadrature"]])
    return None


def curve_values(
    measures: Sequence[BoundMeasure], pieces: Iterable[CurveSegment], codec: KeyCodec, memory: int
) -> Iterator[tuple[BoundMeasure, Callable[[], float]]]:
    """Yield the computations of measures of an exact curve: sums, and others if its points fit.

    Of measures that depend on its corners, only these have to.
    """
    sums = {bound: sum_of(bound) for bound in measures}
    others = [bound for bound, each in sums.items() if each is None]
    of_corners = all(map(has_corners, others))
    kept: list[CurveSegment] | None = [] if others else None
    room = memory // BYTES_A_POINT
    fp = tp = 0
    for piece in pieces:
        for each in sums.values():
            if each is not None:
                each.add(piece)
        fp, tp = int(piece.fps[-1]), int(piece.tps[-1])
        if kept is not None:
            kept.append(_corners(piece) if of_corners else piece)
            room -= kept[-1].fps.shape[0]
            kept = kept if room >= 0 else None
    counts = None if kept is None else _joined(kept, codec)
    for bound, each in sums.items():
        if each is not None:
            yield bound, partial(each.value, fp, tp)
        elif counts is not None:
            yield bound, partial(bound.value, counts)


def has_corners(bound: BoundMeasure) -> bool:
    """Tell whether a measure depends only on how many normals lie between the anomalies."""
    return extremes_of(bound.measure).corners


def _corners(piece: CurveSegment) -> CurveSegment:
    """Return a segment in which normals that no anomaly separates are one step."""
    if piece.keys is None:
        return piece
    corners = corners_of(piece.tps)
    return CurveSegment(as_readonly(piece.fps[corners]), as_readonly(piece.tps[corners]))


def _joined(pieces: Sequence[CurveSegment], codec: KeyCodec) -> OrderedCounts:
    fps = np.concatenate([pieces[0].fps[:1], *(piece.fps[1:] for piece in pieces)])
    tps = np.concatenate([pieces[0].tps[:1], *(piece.tps[1:] for piece in pieces)])
    keys = [piece.keys for piece in pieces if piece.keys is not None]
    has_keys = len(keys) == len(pieces)
    n_normals, n_anomalies = int(fps[-1]), int(tps[-1])
    return OrderedCounts(
        fps=as_readonly(fps),
        tps=as_readonly(tps),
        # Corners have no scores, and measures of corners read none.
        keys=as_readonly(np.concatenate(keys) if has_keys else np.arange(fps.shape[0] - 1)),
        codec=codec,
        n_anomalies=n_anomalies,
        n_normals=n_normals,
        n_points=n_normals + n_anomalies,
        n_tied=0,
        weighting="none",
    )
