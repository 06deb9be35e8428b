"""Hypothesis strategies for the arguments of every public function, by the names of parameters."""

import copy
import inspect
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad
from fastad.cli._warmup import _detectors
from fastad.streaming import ScoreSketch
from tests.benchmarking.test_every_function import columns
from tests.detectors.test_compiled_more_pyod import CASES, of_pyod
from tests.streaming.test_memory import LARGEST, SMALLEST
from tests.support.strategies import Sample, samples, score_vectors, weight_vectors
from tests.test_fuzz_arguments import USUAL, rates
from tests.test_public_api import PUBLIC

# Optional parameters that choose other kernels, and those that say how much is to be done.
CHOSEN = ("clusters", "sample_weight", "groups", "method", "data")
ALWAYS = (
    *("rng", "n_resamples", "n_draws", "n_uniform", "n_subspaces", "n_features"),
    *("fpr", "volume", "uniform_score", "operating_fpr"),
)
LABELS = ["auc", "tpr@0.1", "tpr@0.2", "auc@0.1"]
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n_resamples": st.just(3),
    "rng": st.integers(0, 2**32 - 1),
    "volume": st.just(1.0),
    "n_draws": st.sampled_from([1000, 20_000]),
    "n_uniform": st.just(500),
    "n_subspaces": st.just(3),
    "n_features": st.just(2),
    "fpr": st.sampled_from([0.1, 0.5]),
    "rtol": st.just(0.1),
    "k": st.integers(1, 9),
    "value": st.just("0.8"),
    "margin": st.sampled_from([0.05, 0.4]),
    "volume_fraction": st.floats(1e-6, 1),
    "reference": st.just("tpr@0.1"),
    "test_fraction": st.just(0.2),
    "operating_fpr": st.just(0.1),
    "contamination": st.just([0.0, 0.01]),
}
_VOLUME_METHODS = ["auto", "uniform", "sobol", "splitting"]
METHODS = {
    **dict.fromkeys(("volume", "volumes", "level_sets", "evaluate_unsupervised"), _VOLUME_METHODS),
    "interval": ["auto", "bootstrap", "basic", "bca", "delong"],
    "compare": ["auto", "delong", "bootstrap", "permutation"],
}


class Detectors(NamedTuple):
    """Detectors that are fitted to some points."""

    X: npt.NDArray[np.float64]
    fitted: list[Any]


@cache
def detectors(d: int) -> Detectors:
    """Fit a detector of each kind that is compiled; the last two share support vectors."""
    X = np.random.default_rng(d).normal(size=(60, d))
    of_pyods = [*(detector for detector, _ in CASES.values()), of_pyod("HBOS"), of_pyod("KDE")]
    machines = [OneClassSVM(gamma=gamma, nu=0.3) for gamma in (0.1, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of so few points
        every = [*_detectors(), *of_pyods, of_pyod("PCA"), of_pyod("KNN"), *machines]
        return Detectors(X, [copy.deepcopy(detector).fit(X) for detector in every])


def results(rng: np.random.Generator) -> fastad.ResultTable:
    """Return results of few models, many of which tie."""
    shape = (int(rng.integers(2, 5)), int(rng.integers(2, 9)), int(rng.integers(2, 6)))
    digits = int(rng.integers(1, 4))
    return fastad.ResultTable.from_arrays(
        {label: rng.uniform(size=shape).round(digits) for label in LABELS}
    )


def sketch(sample: Sample, rng: np.random.Generator) -> ScoreSketch:
    """Count the scores in as many bytes as chance has it."""
    result = ScoreSketch(int(rng.integers(SMALLEST, LARGEST)))
    result.update(sample.y, rng.permutation(sample.s))
    return result


def curve(name: str, sample: Sample) -> Any:
    """Return the curve that a function takes."""
    make = fastad.excess_mass_curve if name == "excess_mass_band" else fastad.mass_volume_curve
    return make(sample.s, sample.s[1:], 1.0)


def net_benefit(tp: Any, fp: Any, n_anomalies: Any, n_normals: Any, threshold: Any) -> Any:
    return (tp - fp * threshold / (1 - threshold)) / (n_anomalies + n_normals)


def labeling_call(name: str, sample: Sample, rng: np.random.Generator) -> dict[str, Any]:
    """Return the arguments of a function of `fastad.labeling`."""
    scores = {"a": sample.s, "b": rng.permutation(sample.s)}
    targets = "auc a vs b", "tpr@0.1 a", "precision@k1 b", ["auc b", "tpr@0.1 a vs b"]
    target = targets[rng.integers(len(targets))]
    given = {"scores": scores, "budget": max(sample.y.shape[0] // 2, 1), "target": target}
    if name == "design":
        return given
    plan = fastad.labeling.design(**given)
    if name == "draw":
        return {"design": plan}
    drawn = fastad.labeling.draw(plan, rng=0)
    labeled = drawn.with_labels(sample.y[drawn.row])
    return {"scores": scores, "labeled": labeled, "target": target}


def special(name: str, sample: Sample, rng: np.random.Generator) -> dict[str, Any]:
    """Return what a function wants under a name that says another thing elsewhere."""
    benefit = fastad.measures.from_counts("b", net_benefit, at="threshold", takes_threshold=True)
    one, two, counts = sample.s, rng.permutation(sample.s), np.sort(rng.integers(50, size=(2, 5)))
    large = {"y_true": np.arange(1200) % 9 == 0, "y_score": rng.normal(size=1200), "fpr": 0.004}
    is_tied = bool(rng.integers(2))
    pairs: Any = rng.random((3, 4, 5)).round(1)
    new, old = ({"y": sample.y, "score": scores} for scores in (one, two))
    policy = {"require": [{"measure": "auc", "margin": 0.1}, {"measure": "auc", "at_least": 0.5}]}
    values: Mapping[str, dict[str, Any]] = {
        "nemenyi": {"measure": "auc"},
        "wilcoxon_holm": {"measure": "auc"},
        "rank_intervals": {"measure": "auc"},
        "bayesian_signed_rank": {"measure": "auc"},
        "bayesian_hierarchical_t": {"measure": "auc"},
        "multi_comparison_matrix": {"measure": "auc"},
        "variance_components": {"measure": "auc"},
        "resampled_t_test": {"measure": "auc", "dataset": "0"},
        "class_sensitivity": {"results": columns(tied=is_tied, classes=True)},
        "compare_all": {"y_score": {"one": one, "two": two}},
        "score_rank_intervals": {"y_score": {"one": one, "two": two}},
        "at_least": {"value": 0.5},
        "confusion_at": {"threshold": sample.s[0]},
        "difference_band": {"measure": benefit, "threshold": [0.2, 0.5]},
        "emmv": {"y_score": {"it": one}, "uniform_score": {"it": two}},
        "gate": {"policy": policy, "new": new, "old": old},
        "gate_power": {"n_draws": 2, ("margin", "value")[rng.integers(2)]: 0.1},
        "power_of_policy": {"policy": policy, "old": old, "n_draws": 2},
        "read_policy": {"policy": policy},
        "pairwise_agreement": {"a": pairs[0], "b": pairs[1]},
        "rank_label_agreement": {"criterion": pairs[0], "references": (pairs[1], pairs[2])},
        "compare_rates": {"n_events": counts[0], "n_samples": counts[1] + 50},
        "rate_confidence_sequence": {"n_events": counts[0], "n_samples": counts[1] + 50},
        "tail_model": large,
    }
    return values.get(name, {})


@st.composite
def arguments(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Arguments of a public function."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sample = draw(samples(max_size=60, both=True))
    n = sample.y.shape[0]
    X, fitted = detectors(draw(st.sampled_from([2, 14])))
    rows = X[rng.integers(60, size=rng.integers(5, 60))] + rng.normal(size=X.shape[1]) / 9
    detector = draw(st.sampled_from(fitted))
    several = fitted[-2:] if draw(st.booleans()) else [detector, lambda rows: rows[:, 0]]
    named = {str(i): each for i, each in enumerate(several)}
    # Functions that train detectors.
    unfitted = {"it": LocalOutlierFactor(novelty=True), "other": OneClassSVM()}
    parts = "integer", "real"
    given: Mapping[str, Callable[[], Any]] = {
        "y_true": lambda: rng.integers(2, size=len(rows)) if name == "volumes" else sample.y,
        "y_score": lambda: sample.s,
        "uniform_score": lambda: sample.s[1:],
        **dict.fromkeys(("scores_a", "new", "old"), lambda: rng.permutation(sample.s)),
        "scores_b": lambda: rng.permutation(sample.s),
        "sample_a": lambda: (sample.y, sample.s),
        "sample_b": lambda: (sample.y[::-1], draw(score_vectors(n))),
        "sample_weight": lambda: draw(weight_vectors(n, draw(st.sampled_from(parts)))),
        **dict.fromkeys(("clusters", "groups", "folds"), lambda: rng.integers(3, size=n)),
        "measure": lambda: draw(st.sampled_from(LABELS)),
        "method": lambda: draw(st.sampled_from(METHODS.get(name, ["auto"]))),
        "results": lambda: results(rng),
        "detector": lambda: unfitted["it"] if name == "feature_importance" else detector,
        "detectors": lambda: named if name == "volumes" else unfitted,
        "threshold": lambda: np.median(fastad.compile_scorer(detector).score_samples(X)),
        "box": lambda: fastad.Box.from_data(X),
        **dict.fromkeys(("data", "X_train"), lambda: X),
        **dict.fromkeys(("X", "X_test"), lambda: rows),
        "curve": lambda: curve(name, sample),
        "levels": lambda: curve(name, sample).levels,
        **dict.fromkeys(("a", "b"), lambda: sketch(sample, rng)),
    }
    values = special(name, sample, rng)
    if name in ("design", "draw", "estimate"):
        values = labeling_call(name, sample, rng)
    if name == "volume":
        d = X.shape[1]
        reference = fastad.regions.Normal(X.mean(axis=0), np.eye(d) + 1 / d)
        both = {"box": fastad.Box.from_data(X)}, {"reference": reference}
        values = draw(st.sampled_from(both))
    if name == "evaluate_unsupervised":
        # Fitted detectors; or those that are trained in subspaces, in the boxes of these.
        values = draw(
            st.sampled_from(
                [
                    {"detectors": named, "n_subspaces": None, "n_features": None},
                    {"X_train": X, "n_features": 2, "method": "auto"},
                ]
            )
        )
    for key, parameter in inspect.signature(PUBLIC[name]).parameters.items():
        is_needed = parameter.default is parameter.empty or key in ALWAYS
        if key in values or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if is_needed or (key in CHOSEN and draw(st.booleans())):
            usual = VALUES.get(key, USUAL.get(key, rates))
            values[key] = given[key]() if key in given else draw(usual)
    return values
