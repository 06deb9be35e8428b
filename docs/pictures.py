"""Pictures of the documentation, drawn by fastad when it is built.

Each measure has one: by its operating point, as its declaration names it, for three detectors; by
the separation of the classes where it has none; or the curve that it returns.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import displays
import numpy as np
from matplotlib.figure import Figure
from scipy import stats

import fastad
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES
from fastad.plot.drawing import line_style

FOLDER = Path(__file__).parent / "_build" / "pictures"
# Of the normal samples, and of the anomalies.
_SIZES = 2000, 200
# Separation of the classes, in standard deviations, by detector.
_DETECTORS = {"weak": 0.8, "fair": 1.6, "good": 2.6}
_PREVALENCES = {"1 % anomalies": 20, "10 % anomalies": 222, "half anomalies": 2000}
# All scores lie in it.
_RANGE = (-4.0, 8.0)
_LOW_RATES = np.geomspace(0.001, 1, 31)
_ALL_RATES = np.linspace(0.02, 0.98, 33)
# By the name of an operating point: its values, and whether their axis is logarithmic.
_POINTS: Mapping[str, tuple[Any, bool]] = {
    "fpr": (_LOW_RATES[:-1], True),
    "rate": (_LOW_RATES[:-1], True),
    "fraction": (_LOW_RATES, True),
    "min_fpr": (np.geomspace(0.0001, 0.09, 30), True),
    "p": (np.geomspace(0.001, 0.09, 30), True),
    "tpr": (_ALL_RATES, False),
    "min_tpr": (_ALL_RATES, False),
    "precision": (_ALL_RATES, False),
    "recall": (_ALL_RATES, False),
    "prevalence": (np.geomspace(0.001, 0.5, 30), True),
    "cost_ratio": (np.geomspace(0.1, 10, 31), True),
    "k": (np.unique(np.geomspace(1, sum(_SIZES), 40).astype(int)), True),
    "threshold": (np.linspace(-2, 5, 50), False),
    "alpha": (_ALL_RATES, False),
}
# Of some measures the operating point is on another scale.
_OWN_POINTS: Mapping[str, tuple[Any, bool]] = {
    "bedroc": (np.geomspace(1, 200, 30), True),
    "robust_initial_enhancement": (np.geomspace(1, 200, 30), True),
    "rp_distance": (np.linspace(50, 99, 50), False),
}
# What axes are called; other names are written as they are.
_LABELS = {
    "fpr": "false positive rate",
    "tpr": "true positive rate",
    "fnr": "false negative rate",
    "min_fpr": "lowest false positive rate",
    "min_tpr": "lowest true positive rate",
    "rate": "fraction that is flagged",
    "fraction": "fraction that is flagged",
    "k": "number of flagged samples k",
}
# Horizontal and vertical field of the curves.
_FIELDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "roc_curve": ("fpr", ("tpr",)),
    "det_curve": ("fpr", ("fnr",)),
    "precision_recall_curve": ("recall", ("precision",)),
    "np_curve": ("thresholds", ("score",)),
    "class_percentiles": ("p", ("normals", "anomalies")),
    "rp_curve": ("p", ("distance",)),
}


def scores_of(separation: float, n_anomalies: int = _SIZES[1]) -> tuple[Any, Any]:
    """Return labels and scores of two normal distributions, by their quantiles."""
    normals, anomalies = (
        stats.norm.ppf((np.arange(n) + 0.5) / n) for n in (_SIZES[0], n_anomalies)
    )
    y_true = np.repeat([0, 1], [len(normals), len(anomalies)])
    return y_true, np.concatenate([normals, anomalies + separation])


def draw_measure(measure: Measure[Any]) -> Figure:
    """Draw a measure of detectors that anybody can imagine."""
    figure = Figure(figsize=(4.8, 3.2))
    axes = figure.subplots()
    figure.subplots_adjust(left=0.14, right=0.98, bottom=0.16, top=0.97)
    options = {"score_range": _RANGE} if measure.takes_score_range else {}
    if measure.kind == "curve":
        _draw_curves(axes, measure, options)
    elif measure.operating_point is not None:
        _draw_by_point(axes, measure, options)
    else:
        _draw_by_separation(axes, measure, options)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure


def _draw_curves(axes: Any, measure: Measure[Any], options: dict[str, Any]) -> None:
    across, up = _FIELDS[measure.name]
    if measure.operating_point == "p":
        options |= {"p": np.linspace(1, 99, 99)}
    elif measure.operating_point is not None:
        options |= {measure.operating_point: 0.05}
    for i, (name, separation) in enumerate(_DETECTORS.items()):
        curve = measure.of(*scores_of(separation), **options)
        for field in up:
            label = name if len(up) == 1 else f"{name}, {field}"
            style = line_style(i)
            style["linestyle"] = "solid" if field == up[0] else "dashed"
            axes.plot(getattr(curve, across), getattr(curve, field), label=label, **style)
    axes.set(xlabel=_label(across), ylabel=" or ".join(_label(field) for field in up))


def _draw_by_point(axes: Any, measure: Measure[Any], options: dict[str, Any]) -> None:
    point = str(measure.operating_point)
    points, is_log = _OWN_POINTS.get(measure.name, _POINTS[point])
    for i, (name, separation) in enumerate(_DETECTORS.items()):
        data = scores_of(separation)
        values = [value_of(measure, data, {**options, point: at}) for at in points.tolist()]
        axes.plot(points, values, label=name, **line_style(i))
    axes.set(
        xscale="log" if is_log else "linear", xlabel=_label(point), ylabel=_name_of_value(measure)
    )


def _draw_by_separation(axes: Any, measure: Measure[Any], options: dict[str, Any]) -> None:
    separations = np.linspace(0, 4, 25)
    for i, (name, n_anomalies) in enumerate(_PREVALENCES.items()):
        values = [
            value_of(measure, scores_of(separation, n_anomalies), options)
            for separation in separations.tolist()
        ]
        axes.plot(separations, values, label=name, **line_style(i))
    axes.set(xlabel="distance of the means, in standard deviations", ylabel=_name_of_value(measure))


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))


def _name_of_value(measure: Measure[Any]) -> str:
    return "precision" if measure.kind == "counts" else measure.name


def value_of(measure: Measure[Any], data: tuple[Any, Any], options: Mapping[str, Any]) -> float:
    """Return a measure's value, or NaN where it is undefined."""
    try:
        result = measure.of(*data, **options)
    except fastad.UndefinedMeasureError:
        return math.nan
    return float(result.precision if measure.kind == "counts" else result)


def draw_volume_by_dimension() -> Figure:
    """Draw the fraction of the cube that its ball fills, by the number of features."""
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    features = np.arange(1, 51)
    exact = features / 2 * math.log(math.pi) - [math.lgamma(d / 2 + 1) for d in features]
    axes.plot(features, (exact - features * math.log(2)) / math.log(10), color="0.4", label="exact")
    for i, (method, dimensions, n_draws) in enumerate(
        (("uniform", (2, 5, 8, 11, 14), 100_000), ("splitting", (3, 6, 12, 25, 45), 100_000))
    ):
        results = []
        for d in dimensions:
            box = fastad.Box([-1] * d, [1] * d)
            options: dict[str, Any] = {"method": method, "n_draws": n_draws, "rng": 0}
            results.append(fastad.volume(_squared, 1.0, box, **options))
        values = np.array([one.log_value for one in results]) / math.log(10)
        lows = np.array([max(one.log_low, one.log_value - 2) for one in results]) / math.log(10)
        highs = np.array([one.log_high for one in results]) / math.log(10)
        style = {"color": line_style(i)["color"], "markersize": 5, "capsize": 3}
        label = f"{method}, {n_draws:,} draws".replace(",000", " 000")
        axes.errorbar(
            dimensions, values, (values - lows, highs - values), fmt="o", label=label, **style
        )
    axes.set(xlabel="Features", ylabel="Volume (log₁₀ of the fraction of the box)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def _squared(X: Any) -> Any:
    return (X**2).sum(axis=1)


def draw_volume_curve() -> Figure:
    """Draw the volume curve of a detector in ten features."""
    from sklearn.neighbors import NearestNeighbors

    X = np.random.default_rng(0).normal(size=(500, 10))
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    fastad.plot.VolumeCurveDisplay.from_estimator(
        NearestNeighbors(n_neighbors=5).fit(X),
        X,
        name="distance to the fifth neighbour",
        volume_kw={"n_draws": 50_000, "rng": 0},
        ax=figure.subplots(),
    )
    return figure


def draw_labels() -> Figure:
    """Draw half-widths by the number of labels, chosen and uniform."""
    rng = np.random.default_rng(0)
    y_true = rng.random(200_000) < 0.005
    noise = 0.9 * rng.normal(size=200_000) + 0.44 * rng.normal(size=(2, 200_000))
    scores = {"a": noise[0] + 2.6 * y_true, "b": noise[1] + 2.4 * y_true}
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    budgets = np.geomspace(500, 50_000, 5).astype(int)
    for i, target in enumerate(("tpr@0.01 a", "tpr@0.01 a vs b")):
        options: dict[str, Any] = {"target": target, "prevalence": 0.005, "auc": 0.95}
        plans = [fastad.labeling.design(scores, budget=n, **options) for n in budgets.tolist()]
        estimates = []
        for plan in plans[::2]:
            drawn = fastad.labeling.draw(plan, rng=0)
            drawn = drawn.with_labels(y_true[drawn.row])
            estimates += fastad.labeling.estimate(scores, drawn, target=target).estimates
        color = line_style(i)["color"]
        uniform = [plan.uniform_half_width[0] for plan in plans]
        axes.plot(budgets, [plan.half_width[0] for plan in plans], color=color, label=target)
        axes.plot(budgets, uniform, "--", color=color, label=f"{target}, uniform")
        halves = [(each.high - each.low) / 2 for each in estimates]
        axes.plot(budgets[::2], halves, "o", color=color, markersize=5)
    axes.set(xscale="log", yscale="log", xlabel="Labels", ylabel="Half-width of the 95 % interval")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


# Of pages that are written by hand, by the name in their comment.
PICTURES: Mapping[str, Callable[[], Figure]] = {
    "volume_by_dimension": draw_volume_by_dimension,
    "volume_curve": draw_volume_curve,
    "labels": draw_labels,
    **displays.PICTURES,
}


def draw_all(folder: Path = FOLDER) -> None:
    """Draw all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in PICTURES.items():
        save(draw(), folder / f"{name}.svg")
    for measure in MEASURES.values():
        save(draw_measure(measure), folder / f"{measure.name}.svg")


def save(figure: Figure, path: Path) -> None:
    """Save a picture, with the same bytes each time."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": path.stem, "svg.fonttype": "path"}):
        figure.savefig(path, metadata={"Date": None})
