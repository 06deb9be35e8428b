"""Whatever is given row by row is refused where its index is that of other rows.

Arguments are read from the signatures of all that is public; each is either given row by row, or
stands below with the reason why it is not.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import cross_validate

import fastad
import fastad.study.papers
from fastad import InvalidInputError
from fastad.plot import DecisionRegionDisplay
from fastad.sklearn import ThresholdedDetector, evaluation_scorer, from_sklearn, roc_auc_scorer
from fastad.streaming import RateMonitor, ScoreSketch, SlidingEvaluation
from tests.plot.conftest import headless
from tests.support.loops import loop

__all__ = ["headless"]  # a fixture for all tests here

PACKAGES = [
    *(x for x in (getattr(fastad, name) for name in fastad.__all__) if isinstance(x, ModuleType)),
    fastad.study.papers,
]
# What takes arrays, or anything at all, and has no value for each row of another argument.
NOT_BY_ROW = {
    "Box.values": "what each feature may be",
    "X_test": "points of their own",
    "X_train": "points of their own",
    "bins": "edges of a histogram",
    "curves": "a table of a study",
    "data": "points of their own: the scores are computed",
    "datasets": "by name, each a pair of X and y that goix_cell checks",
    "detector": "a detector",
    "edges": "one more than bins",
    "estimator": "a detector",
    "factory": "makes a detector",
    "false_alarms": "points of a curve",
    "gate.new": "a table, whose rows an id joins",
    "gate.old": "a table, whose rows an id joins",
    "labels": "of the rows that were drawn",
    "point": "an operating point",
    "power_of_policy.old": "a table",
    "random_state": "a seed",
    "results": "a table that ResultTable.from_table reads",
    "rows": "numbers of rows",
    "scores": "of all rows, beside nothing else; columns of other rows are refused",
    "source": "a collection of Dask: its arrays have no index, the columns of its frames share one",
    "tasks": "a table of a study",
    "threshold": "points of an axis",
    "threshold_from": "samples of their own, as (y_true, y_score)",
    "uniform_score": "scores of other points than y_score",
}

# Enough for a model of the tail of the normals.
N = 1800
INDEX = pd.Index([f"row {i}" for i in range(N)])
RNG = np.random.default_rng(0)
Y = RNG.permutation(np.tile([0, 0, 1], N // 3))
S = 0.05 * RNG.standard_exponential(N) + 0.1 * Y
COLUMNS = RNG.normal(size=(N, 2)) + 2.0 * Y[:, None]


def series(values: Any) -> Any:
    return pd.Series(np.asarray(values), INDEX)


LABELS, SCORES = series(Y), series(S)
GRID = pd.DataFrame(S.reshape(-1, 3), INDEX[: N // 3])
BY_ROW: dict[str, Any] = {
    **dict.fromkeys(("y_true", "y"), LABELS),
    **dict.fromkeys(("y_score", "scores_a", "a", "criterion", "new"), SCORES),
    **dict.fromkeys(("scores_b", "b", "old"), series(S[::-1].copy())),
    "sample_weight": series(1 + np.arange(N) % 2),
    "clusters": series(np.arange(N) % 120),
    "folds": series(np.arange(N) % 6 // 3),
    "groups": {"fold": series(np.arange(N) % 6 // 3)},
    **{key: {"part": series(np.arange(N) % 6 // 3)} for key in ("kinds", "segments")},
    "references": (SCORES, SCORES),
    **dict.fromkeys(("normals", "anomalies"), series(np.arange(N))),
    "n_events": series(np.arange(N)),
    "n_samples": series(10 * np.arange(1, N + 1)),
    "sample_a": (LABELS, SCORES),
    "sample_b": (LABELS, SCORES),
    "time": series(np.arange(N)),
    "table": {
        "dataset": series(np.arange(N) // 2),
        "detector": series(np.tile(["knn", "lof"], N // 2)),
        "auc": SCORES,
    },
    "values": {"auc": GRID, "ap": GRID},
    "X": pd.DataFrame(COLUMNS, INDEX),
    "low": pd.Series([-9.0, -9.0], ["left", "right"]),
    "high": pd.Series([9.0, 9.0], ["left", "right"]),
    "mean": pd.Series([0.0, 0.0], ["left", "right"]),
    "covariance": pd.DataFrame(np.eye(2), ["left", "right"]),
}


def distance(points: Any) -> Any:
    return np.hypot(*points.T)


@cache
def forest() -> Any:
    return IsolationForest(n_estimators=5, random_state=0).fit(COLUMNS[Y == 0])


@cache
def cv_results() -> Any:
    return cross_validate(
        IsolationForest(n_estimators=5, random_state=0),
        COLUMNS,
        Y,
        scoring=roc_auc_scorer(),
        cv=2,
        return_estimator=True,
        return_indices=True,
    )


@cache
def regions() -> DecisionRegionDisplay:
    axes = Figure().subplots()
    return DecisionRegionDisplay.from_estimator(distance, COLUMNS, Y, fpr=(), ax=axes)


# Other arguments, by name, wherever a function has them and needs them.
OTHERS: dict[str, Callable[[], Any]] = {
    "box": lambda: fastad.Box([-9, -9], [9, 9]),
    "contamination": lambda: [0, 0.1],
    "cv_results": cv_results,
    "dataset": lambda: "made up",
    "edges": lambda: np.arange(N + 1),
    "estimator": forest,
    "detector": lambda: distance,
    "detectors": lambda: {"distance": distance},
    "value": lambda: 0.5,
    "margin": lambda: 0.5,
    "setting": lambda: "novelty",
    "score_map": lambda: regions().score_map,
    "regions": lambda: regions().regions,
    "score_range": lambda: (0, 1),
    "measure": lambda: "auc",
    "k": lambda: 5,
    **{name: (lambda: 0.5) for name in ("alpha", "fpr", "tpr", "p", "recall", "precision")},
    **{name: (lambda: 0.5) for name in ("fraction", "threshold", "cost_ratio")},
    "min_fpr": lambda: 0.1,
    "rng": lambda: 0,
    "n_resamples": lambda: 20,
}
# These also where they have a default, for speed.
FEW = {"rng", "n_resamples", "regions"}
FLAGGED = fastad.measures.from_counts(
    "n_alarms", lambda tp, fp, n_anomalies, n_normals: tp + fp, at="threshold"
)
TWO = {"y_score": {"a": SCORES, "b": BY_ROW["b"]}}
SENSITIVITY = {"measure": "auc", "contamination": [0, 0.1]}
UNIFORM = {"method": "uniform", "n_draws": 100}
# Options without which a call is refused, or an argument does not count.
OPTIONS: dict[str, dict[str, Any]] = {
    "dask.volume_at_fpr": {"fpr": 0.5, "n_draws": 100},
    "dask.volumes": {"n_draws": 100},
    # Kinds beside clusters are refused.
    "evaluation.evaluate": {"confidence_level": 0.9, "clusters": None},
    "measures.confusion_at": {"threshold": 1.0},
    "measures.precision_at_p": {"p": 0.2},
    "plot.ContaminationSensitivityDisplay.from_estimator": SENSITIVITY,
    "plot.ContaminationSensitivityDisplay.from_cv_results": SENSITIVITY,
    "plot.DecisionRegionDisplay.from_estimator": {"fpr": ()},
    "plot.RocVariationDisplay.from_estimator": {"groups": BY_ROW["groups"]},
    "plot.VolumeDisplay.from_estimator": {"volume_kw": UNIFORM},
    "regions.volume_at_fpr": UNIFORM,
    "regions.volumes": UNIFORM,
    # Weights beside clusters are refused.
    "uncertainty.chance_level": {"clusters": None},
    "benchmarking.score_rank_intervals": {**TWO, "groups": BY_ROW["folds"]},
    "study.papers.goix_cell": {
        "protocol": fastad.study.papers.GoixProtocol(n_uniform=1000, n_resamples=20)
    },
    "uncertainty.compare_all": TWO,
    "uncertainty.delong_covariance": TWO,
    "uncertainty.difference_band": {"measure": FLAGGED, "threshold": [0.05, 0.1]},
    "uncertainty.gate_power": {"margin": 0.5},
    "uncertainty.tail_model": {"fpr": 0.005},
    "uncertainty.threshold_with_guarantee": {"fpr": 0.5},
    "unsupervised.mass_volume_from_roc": {"volume": 1.0},
}


def refinement() -> Any:
    sketch = ScoreSketch()
    sketch.update(Y, S)
    return sketch.refine(measure="auc")


def unlabelled(sketch: Any, **options: Any) -> Any:
    sketch.update(None, S, sample_weight=BY_ROW["sample_weight"].to_numpy(), **options)
    return sketch


INSTANCES: dict[str, Callable[[], Any]] = {
    "AdaptedDetector": lambda: from_sklearn(forest()),
    "EvaluationScorer": lambda: evaluation_scorer(measures="auc"),
    "Measure": lambda: fastad.measures.registry.MEASURES["roc_auc"],
    "MeasureScorer": roc_auc_scorer,
    "RateMonitor": lambda: RateMonitor(rate="fpr", threshold=1.0, expected_rate=0.1),
    "Refinement": refinement,
    "ScoreSketch": lambda: unlabelled(ScoreSketch()),
    "SlidingEvaluation": lambda: unlabelled(
        SlidingEvaluation(pane="1min", window="1h"), time=np.arange(N)
    ),
    "ThresholdedDetector": lambda: ThresholdedDetector(forest(), fpr=0.2, pos_label=1),
}


def public() -> Iterator[tuple[str, str, str, Any]]:
    """Yield all that is called in public, with the names of package, class and function."""
    for package in PACKAGES:
        for name in package.__all__:
            value, home = getattr(package, name), package.__name__
            if inspect.isclass(value):
                for method, function in inspect.getmembers(value, callable):
                    is_ours = (getattr(function, "__module__", None) or "").startswith("fastad")
                    if is_ours and (method[0] != "_" or method == "__call__"):
                        yield home, name, method, function
                yield home, name, "", value
            elif callable(value):
                yield home, "", name, value


def by_row(function: Any) -> list[str]:
    """Return the arguments that take arrays, but for those that are listed with a reason."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a class of exceptions
        return []
    names = [
        each.name
        for each in parameters
        if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        and ("ArrayLike" in str(each.annotation) or each.annotation is Any)
    ]
    own = f"{function.__qualname__}."
    return [name for name in names if not {name, own + name} & NOT_BY_ROW.keys()]


# By the name without that of the project.
CALLS = {
    ".".join(filter(None, (package.removeprefix("fastad."), home, name))): (home, name, function)
    for package, home, name, function in public()
    if len(by_row(function)) > 1 or {*by_row(function)} & {"table", "values", "sample_a"}
}
CASES = [(call, name) for call in CALLS for name in by_row(CALLS[call][2])]


def run(call: str, changed: str = "") -> Any:
    """Call with the index of an argument changed; all have one index otherwise."""
    home, name, function = CALLS[call]
    if home in INSTANCES:
        function = getattr(INSTANCES[home](), name)
    arguments = {each: BY_ROW[each] for each in by_row(function)}
    for each in inspect.signature(function).parameters.values():
        if each.name in OTHERS and (each.default is each.empty or each.name in FEW):
            arguments[each.name] = OTHERS[each.name]()
    arguments |= OPTIONS.get(call, {})
    if changed:
        given = arguments[changed]
        arguments[changed] = shuffled(BY_ROW[changed] if given is None else given)
    return function(**arguments)


def shuffled(values: Any) -> Any:
    """Return a column with its names in another order, or the last column of several."""
    if isinstance(values, dict):
        *first, (name, last) = values.items()
        return {**dict(first), name: shuffled(last)}
    if isinstance(values, tuple):
        return (*values[:-1], shuffled(values[-1]))
    return values.set_axis(values.index[::-1])


def test_every_argument_that_takes_arrays_is_by_row_or_has_a_reason() -> None:
    found = {name for *_, function in public() for name in by_row(function)}
    assert found == BY_ROW.keys()


@pytest.mark.parametrize("call", CALLS)
def test_arguments_of_one_index_are_taken(call: str) -> None:
    run(call)


@pytest.mark.slow
@loop(("call", "name"), CASES)
def test_an_argument_of_another_index_is_refused(call: str, name: str) -> None:
    message = rf"^{name}\b.* must have the index of|the index of {name}\b"
    with pytest.raises(InvalidInputError, match=message):
        run(call, name)
