"""Measures that are sums along the curve, from piece to piece with the bits of the whole one."""

from collections.abc import Callable
from typing import Any, Protocol

from fastad._core.types import IntVector
from fastad._kernels.curves import area
from fastad.measures.measure import BoundMeasure
from fastad.measures.points import twice_area
from fastad.streaming.anomaly_ranks import Piece


class CurveSum(Protocol):
    """A measure that is a sum."""

    def add(self, piece: Piece) -> None:
        """Go on along the curve."""

    def value(self, n_normals: int, n_anomalies: int) -> float:
        """Return the measure, at the end of the curve."""


class _Area:
    """The area under a curve: a sum of integers."""

    def __init__(self) -> None:
        self._twice = 0

    def add(self, piece: Piece) -> None:
        self._twice += int(twice_area(piece.fps, piece.tps, 0, piece.fps.shape[0] - 1))

    def value(self, n_normals: int, n_anomalies: int) -> float:
        return self._twice / (2 * n_normals * n_anomalies)


_Kernel = Callable[[IntVector, IntVector, float, float], tuple[float, float]]


class _MeanOfAnomalies:
    """A sum over the anomalies, added in the same order as in memory."""

    def __init__(self, kernel: _Kernel) -> None:
        self._kernel = kernel
        self._total = self._lost = 0.0

    def add(self, piece: Piece) -> None:
        self._total, self._lost = self._kernel(piece.fps, piece.tps, self._total, self._lost)

    def value(self, n_normals: int, n_anomalies: int) -> float:
        del n_normals
        return (self._total + self._lost) / n_anomalies


def sum_of(bound: BoundMeasure) -> CurveSum | None:
    """Return the sum that a measure is; None where it is none."""
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
