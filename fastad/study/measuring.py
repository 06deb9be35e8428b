"""Measures, volumes and curves of the scores of one detector on one split."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fastad._core.types import FloatVector, LabelVector
from fastad.errors import UndefinedMeasureError
from fastad.evaluation.entry import evaluate
from fastad.evaluation.ranked_scores import rank_scores
from fastad.measures.measure import MeasureLike
from fastad.measures.percentiles import class_percentiles
from fastad.measures.thresholds import threshold_at_fpr
from fastad.unsupervised.excess_mass import ExcessMassCurve, excess_mass_curve
from fastad.unsupervised.mass_volume import MassVolumeCurve, mass_volume_curve

Curves: TypeAlias = dict[str, list[float]]

EM, MV = "em", "mv"
# Abscissas at which curves are read, to be drawn.
_RATES = np.arange(101) / 100
_MASSES = 0.9 + np.arange(60) / 59 * 0.099
_LEVELS = 60


def cvol_key(rate: float) -> str:
    """Return the key of the volume outside of the decision region at a rate."""
    return f"cvol@{rate:g}"


@dataclass(frozen=True, slots=True)
class Measured:
    """Measured values and curves."""

    # By key; NaN where undefined, with the reasons.
    values: Mapping[str, float]
    undefined: Mapping[str, str]
    # Curves of `fastad.study.results.CURVES` by name; empty where they were not kept.
    curves: Curves = field(default_factory=dict)


def measure_scores(
    y_test: LabelVector,
    y_score: FloatVector,
    uniform_score: FloatVector | None,
    *,
    keys: Sequence[MeasureLike],
    rates: Sequence[float],
    with_curves: bool = False,
    without_uniform: str = "",
) -> Measured:
    """Measure the scores of one detector: of the test rows, and of uniform points in the box.

    Values are the measures of ``keys``; ``cvol@`` at each rate, the fraction of uniform points that
    score at or above the threshold; ``em`` and ``mv`` of the normal test rows, the volume of the
    box being 1. Without scores of uniform points all volumes are undefined, and ``without_uniform``
    is the reason.
    """
    evaluated = evaluate(y_test, y_score, measures=keys)["score"]
    values, undefined = dict(evaluated), dict(evaluated.undefined)

    def add(key: str, compute: Callable[[], float]) -> None:
        try:
            values[key] = compute()
        except UndefinedMeasureError as error:
            values[key], undefined[key] = float("nan"), str(error)

    if uniform_score is None:
        volumes, masses = None, None
        lacking = [*map(cvol_key, rates), EM, MV]
        values |= dict.fromkeys(lacking, float("nan"))
        undefined |= dict.fromkeys(lacking, without_uniform)
    else:
        for rate in rates:
            add(cvol_key(rate), partial(_outside, y_test, y_score, uniform_score, rate))
        normal = y_score[y_test == 0]
        volumes = mass_volume_curve(normal, uniform_score, 1.0)
        masses = excess_mass_curve(normal, uniform_score, 1.0)
        add(EM, masses.area)
        add(MV, volumes.area)
    if not with_curves:
        return Measured(values, undefined)
    return Measured(values, undefined, _curves(y_test, y_score, volumes, masses))


def _outside(
    y_test: LabelVector, y_score: FloatVector, uniform_score: FloatVector, rate: float
) -> float:
    threshold = threshold_at_fpr(y_test, y_score, fpr=rate)
    return float(np.count_nonzero(uniform_score >= threshold) / uniform_score.shape[0])


def _curves(
    y_test: LabelVector,
    y_score: FloatVector,
    volumes: MassVolumeCurve | None,
    masses: ExcessMassCurve | None,
) -> Curves:
    ranked = rank_scores(y_test, y_score)
    points = ranked.precision_recall_curve()
    # The first real point of at least that recall: nothing is drawn between points.
    indices = np.searchsorted(points.recall, _RATES[1:], side="left")
    curves: dict[str, Iterable[Any]] = {
        "roc": [ranked.tpr_at_fpr(fpr=rate) for rate in _RATES.tolist()],
        "pr": points.precision[np.minimum(indices, points.precision.shape[0] - 1)],
        "mv_mass": [] if volumes is None else _MASSES,
        "mv_volume": [] if volumes is None else volumes(_MASSES),
        "em_level": [],
        "em_mass": [],
        "normal_percentiles": [],
        "anomaly_percentiles": [],
    }
    if np.isfinite(y_score).all():
        percentiles = class_percentiles(y_test, y_score)
        curves["normal_percentiles"] = percentiles.normals
        curves["anomaly_percentiles"] = percentiles.anomalies
    # The measure has the reason if they are undefined.
    with suppress(UndefinedMeasureError):
        if masses is not None:
            levels = np.linspace(0.0, masses.level_at(), _LEVELS)
            curves["em_level"], curves["em_mass"] = levels, masses(levels)
    return {name: np.asarray(curve, np.float32).tolist() for name, curve in curves.items()}
