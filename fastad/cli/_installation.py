"""``fastad warmup`` and ``fastad doctor``: the compilation cache, and what fastad runs on."""

import importlib.util
import itertools
import os
import platform
import time
import warnings
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

import fastad
from fastad._core.threads import available_threads
from fastad._kernels.ordering import keys
from fastad.cli._console import print_message, print_result
from fastad.errors import CompilationCacheWarning
from fastad.measures.registry import MEASURES
from fastad.measures.requests import example_key

_LABELS = (
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float32,
    np.float64,
)
# One type for each form in which the kernels see scores: 32 and 64 bits, floats and integers.
_SCORES: dict[npt.DTypeLike, tuple[float, float, float]] = {
    np.float32: (-1e38, 1e-38, 1e38),
    np.float64: (-1e300, 1e-300, 1e300),
    np.int32: (-(2**31), 0, 2**31 - 1),
    np.int64: (-(2**63), 0, 2**63 - 1),
}
_LIBRARIES = (
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
)
# A million scores, as in the benchmarks.
_SORTED = 1_000_000
# Without SIMD a sort takes about 60 ns a score, with it 3 to 10.
_SLOW_NS = 20.0


def warm_up() -> None:
    """Fill the cache. Where it cannot be kept is an error: no image must be built without it."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Libraries warn of such small data.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", CompilationCacheWarning)
        try:
            _call_everything()
        except CompilationCacheWarning as warning:
            raise OSError(str(warning)) from warning
    seconds = time.perf_counter() - start
    stats: Any = getattr(keys.label_counts, "stats", None)
    if stats is None:
        print_message("Nothing to compile: compilation is switched off.")
    else:
        print_message(f"Ready in {seconds:.1f} s; later processes load from {stats.cache_path}")


def _call_everything() -> None:
    """Call everything once on tiny data."""
    y_true = np.array([0, 1, 0, 1, 0])
    for label_type in _LABELS:
        fastad.roc_auc(y_true.astype(label_type), y_true)
    # The second kind of scores spans more than a key can hold beside the label.
    for (score_type, extremes), wide in itertools.product(_SCORES.items(), (False, True)):
        scores = np.array([0, 1, 2, 2, 3], score_type)
        if wide:
            scores[:3] = extremes
        fastad.roc_auc(y_true, scores)
        _resample_all(y_true, scores)
        _rank_all_unsupervised(scores)
        for weights in (None, np.array([1, 2, 1, 1, 1]), np.array([0.5, 1, 1, 1, 1])):
            _measure_all(y_true, scores, weights)
    _compare_all()
    _estimate_all()
    _score_all_neighbours()


def _compare_all() -> None:
    """Compare models on data sets and folds."""
    values = np.random.default_rng(0).uniform(size=(2, 3, 3))
    results = fastad.ResultTable.from_arrays({"tpr@0.1": values, "tpr@0.2": values[::-1]})
    fastad.benchmarking.kendall_matrix(results, n_resamples=2, rng=0)
    result = fastad.benchmarking.discriminability(results, n_resamples=2, rng=0)
    for test in ("welch", "tukey"):
        result.p_values("0", fpr=0.1, test=test)


def _rank_all_unsupervised(scores: npt.NDArray[Any]) -> None:
    """Evaluate scores of one type without labels."""
    curve = fastad.mass_volume_curve(scores, scores[1:], 1.0)
    curve.area()
    fastad.unsupervised.emmv({"it": scores}, {"it": scores[1:]}, 1.0, n_resamples=2, rng=0)


def _estimate_all() -> None:
    """Estimate volumes by each method, and those of scikit-learn's detectors where it is there."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    box = fastad.Box.from_data(X)

    def estimate(score: Any, threshold: float, *methods: str) -> None:
        for method in methods:
            how: Any = {"method": method, "n_draws": 10_000, "rng": 0, "data": X}
            fastad.volume(score, threshold, box, **how)

    estimate(lambda rows: np.hypot(*rows.T), 1.0, "uniform", "sobol", "importance", "splitting")
    # Level sets of counted volumes, most of them of no draw, and of estimated ones.
    wide = fastad.Box([-9.0, -9.0], [9.0, 9.0])
    how: Any = {"box": wide, "n_resamples": 2, "rng": 0, "n_draws": 20_000}
    for by in ("uniform", "splitting"):
        scores = {"it": lambda rows: np.hypot(*rows.T)}
        fastad.evaluate_unsupervised(scores, X, method=by, **how)
    for fitted in (fastad.detectors.KNNDetector(3).fit(X), *_detectors(X)):
        scorer = fastad.compile_scorer(fitted)
        threshold = float(np.median(scorer.score_samples(X)))
        estimate(scorer, threshold, "auto", "uniform", "splitting")


def _score_all_neighbours() -> None:
    """Score by the neighbours' rules that a study compares, in a tree and without one."""
    # Only this needs it, not the other commands of this module.
    from fastad.detectors.neighbours import Neighbourhood, Rule, RuleKind

    rules = [Rule(kind, 2) for kind in get_args(RuleKind)]
    for n_train in (1001, 20):
        X = np.arange(float(n_train))[:, None]
        Neighbourhood(X, rules).score_rows(X[:2])


def _detectors(X: npt.NDArray[Any]) -> list[Any]:
    if importlib.util.find_spec("sklearn") is None:
        return []
    from sklearn.covariance import EllipticEnvelope
    from sklearn.ensemble import IsolationForest
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KernelDensity, LocalOutlierFactor
    from sklearn.svm import OneClassSVM

    detectors = (
        *(OneClassSVM(kernel=kernel) for kernel in ("rbf", "linear", "poly", "sigmoid")),
        *(GaussianMixture(2, covariance_type=kind) for kind in ("full", "diag")),
        *(IsolationForest(n_estimators=5, random_state=0), LocalOutlierFactor(novelty=True)),
        *(EllipticEnvelope(random_state=0), KernelDensity()),
    )
    return [detector.fit(X) for detector in detectors]


def _resample_all(y_true: npt.NDArray[Any], scores: npt.NDArray[Any]) -> None:
    """Call what draws resamples, and what derives measures."""
    ranked = fastad.rank_scores(y_true, scores)
    ranked.interval(measure="auc", method="bootstrap", n_resamples=2, rng=0)
    for measure in ("auc", "ap"):
        ranked.interval(measure=measure, method="bca", n_resamples=2, rng=0)
    for measure in ("auc", "eer"):
        ranked.chance_level(measure=measure, n_resamples=2, rng=0)
        fastad.compare(
            y_true, scores, y_true, measure=measure, method="permutation", n_resamples=2, rng=0
        )
        fastad.compare(
            y_true, scores, y_true, measure=measure, method="bootstrap", n_resamples=2, rng=0
        )


def _measure_all(
    y_true: npt.NDArray[Any], scores: npt.NDArray[Any], weights: npt.NDArray[Any] | None
) -> None:
    values = [example_key(row) for row in MEASURES.values() if row.kind == "value"]
    values.append("precision@p0.4")  # of so few samples, a smaller fraction draws no anomaly
    for groups in (None, np.array([1, 0, 0, 1, 0])):
        fastad.evaluate(
            y_true,
            scores,
            groups=groups,
            measures=values,
            score_range=(-1e300, 1e300),
            sample_weight=weights,
            on_error="record",
        )
    ranked = fastad.rank_scores(y_true, scores, sample_weight=weights)
    ranked.roc_curve()
    ranked.pr_auc(prevalence=0.1)
    ranked.average_precision(prevalence=0.1)
    if weights is None:
        ranked.weighted_auc(quadrature="exact")
        fastad.evaluate(y_true, scores, groups=y_true * 0, measures=["auc"])


def diagnose() -> None:
    """Print versions, cache folder, threads, and what the sort runs on."""
    facts = {
        "fastad": fastad.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        **{name: _version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{available_threads()} of {os.cpu_count()} processors",
        "cache folder": _cache_folder(),
        "SIMD": _simd(),
        "sort": _sort_speed(),
    }
    width = max(map(len, facts))
    print_result("\n".join(f"{name.ljust(width)}  {value}" for name, value in facts.items()))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cache_folder() -> str:
    stats: Any = getattr(keys.label_counts, "stats", None)
    folder = getattr(stats, "cache_path", None)
    if folder is None:
        return "none: kernels are compiled in every process"
    parent = next(place for place in (Path(folder), *Path(folder).parents) if place.exists())
    return f"{folder} ({'writable' if os.access(parent, os.W_OK) else 'read-only'})"


def _simd() -> str:
    """Return the instruction sets beyond NumPy's baseline that this processor has."""
    config: Any = np.show_config(mode="dicts")
    extensions: Mapping[str, list[str]] = config.get("SIMD Extensions", {})
    return ", ".join([*extensions.get("baseline", []), *extensions.get("found", [])]) or "unknown"


def _sort_speed() -> str:
    """Measure NumPy's sort of 64-bit integers, which orders all scores."""
    values = np.random.default_rng(0).integers(0, 2**62, _SORTED)
    times = []
    for _ in range(3):
        copy = values.copy()
        start = time.perf_counter()
        copy.sort()
        times.append(time.perf_counter() - start)
    speed = 1e9 * min(times) / _SORTED
    return f"{speed:.1f} ns a score ({'SIMD' if speed < _SLOW_NS else 'no SIMD: slow'})"
