"""Pictures of the displays of `fastad.plot`, on the data of the page on plotting."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.svm import OneClassSVM

import fastad
from fastad import plot

_Y_TRUE = np.repeat([0, 1], [400, 60])
_SHIFTS = {"knn": 1, "forest": 2}
_FPRS = [0.01, 0.02, 0.05, 0.1, 0.2]


def _scores() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=460) + shift * _Y_TRUE for name, shift in _SHIFTS.items()}


def _probabilities() -> dict[str, Any]:
    return {name: 1 / (1 + np.exp(2 - values)) for name, values in _scores().items()}


def _points() -> Any:
    return np.random.default_rng(0).normal(size=(460, 2))


def _detectors() -> dict[str, Any]:
    return {
        "round": lambda rows: np.hypot(*rows.T),
        "square": lambda rows: abs(rows).max(axis=1),
        "flat": lambda rows: abs(rows[:, 0]),
    }


def _level_sets() -> dict[str, Any]:
    box = fastad.Box([-4, -4], [4, 4])
    return {
        name: fastad.unsupervised.level_sets(score, _points(), box=box, rng=0)
        for name, score in _detectors().items()
    }


def _roc(ax: Axes) -> None:
    plot.RocCurveDisplay.from_predictions(_Y_TRUE, _scores(), xscale="log", band="pointwise", ax=ax)


def _precision_recall(ax: Axes) -> None:
    plot.PrecisionRecallDisplay.from_predictions(_Y_TRUE, _scores(), iso_f1=[0.5, 0.7], ax=ax)


def _det(ax: Axes) -> None:
    plot.DetCurveDisplay.from_predictions(_Y_TRUE, _scores(), ax=ax)


def _decision_curve(ax: Axes) -> None:
    plot.DecisionCurveDisplay.from_predictions(_Y_TRUE, _probabilities(), ax=ax)


def _rp_curve(ax: Axes) -> None:
    plot.RpCurveDisplay.from_predictions(_Y_TRUE, _probabilities(), score_range=(0, 1), ax=ax)


def _score_distribution(ax: Axes) -> None:
    forest = _probabilities()["forest"]
    plot.ScoreDistributionDisplay.from_predictions(
        _Y_TRUE, forest, percentiles=[25, 50, 75], rp=[60], ax=ax
    )


def _roc_variation(ax: Axes) -> None:
    groups = np.arange(460) % 5
    plot.RocVariationDisplay.from_predictions(_Y_TRUE, _scores(), groups=groups, ax=ax)


def _decision_region(ax: Axes) -> None:
    X = _points() + 2 * _Y_TRUE[:, None]
    svm = OneClassSVM().fit(X[_Y_TRUE == 0])
    plot.DecisionRegionDisplay.from_estimator(
        svm, X, _Y_TRUE, fpr=[0.01, 0.1], volume_kw={"rng": 0}, ax=ax
    )


def _volumes(ax: Axes) -> None:
    regions = fastad.volumes(_detectors(), _points(), np.zeros(460), fpr=_FPRS, rng=0)
    plot.VolumeDisplay(regions).plot(ax=ax)


def _mass_volume(ax: Axes) -> None:
    plot.MassVolumeCurveDisplay.from_level_sets(_level_sets(), ax=ax)


def _excess_mass(ax: Axes) -> None:
    plot.ExcessMassCurveDisplay.from_level_sets(_level_sets(), ax=ax)


def _critical_difference(ax: Axes) -> None:
    quality = np.random.default_rng(0).normal([0.9, 0.88, 0.85, 0.84, 0.8], 0.03, (12, 5))
    results = fastad.ResultTable.from_arrays(
        {"auc": quality[:, :, None]}, detectors=["knn", "svm", "forest", "lof", "pca"]
    )
    test = fastad.benchmarking.nemenyi(results, measure="auc", rng=0)
    plot.CriticalDifferenceDisplay(test).plot(ax)


def _rank_intervals(ax: Axes) -> None:
    quality = np.random.default_rng(0).normal([0.9, 0.88, 0.85, 0.84, 0.8], 0.03, (12, 5))
    results = fastad.ResultTable.from_arrays(
        {"auc": quality}, detectors=["knn", "svm", "forest", "lof", "pca"]
    )
    plot.RankIntervalsDisplay(fastad.benchmarking.rank_intervals(results, rng=0)).plot(ax)


def _rate_comparison(ax: Axes) -> None:
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [5000, 300])
    kinds = np.concatenate([[""] * 5000, rng.choice(["dos", "probe", "r2l", "u2r"], 300)])
    scores = rng.normal(size=5300) + 3 * labels - 2 * (kinds == "r2l")
    result = fastad.evaluate(labels, scores, kinds=kinds, measures=["auc"], fpr=[0.001, 0.01])
    plot.RateComparisonDisplay.from_evaluation(result["score"]).plot(ax)


_DISPLAYS = (
    _roc,
    _precision_recall,
    _det,
    _decision_curve,
    _rp_curve,
    _score_distribution,
    _roc_variation,
    _decision_region,
    _volumes,
    _mass_volume,
    _excess_mass,
    _critical_difference,
    _rank_intervals,
    _rate_comparison,
)


def _drawing(draw: Callable[[Axes], None]) -> Callable[[], Figure]:
    def in_new_figure() -> Figure:
        figure = Figure(figsize=(5.8, 3.6), layout="constrained")
        draw(figure.subplots())
        return figure

    return in_new_figure


# By the name that a page gives.
PICTURES: Mapping[str, Callable[[], Figure]] = {
    f"display{draw.__name__}": _drawing(draw) for draw in _DISPLAYS
}
