"""``fastad warmup``: all kernels compiled into the cache, by several processes."""

import importlib.util
import multiprocessing
import os
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

import fastad
from fastad._core.files import temporary_folder
from fastad._core.threads import available_threads
from fastad._kernels.ordering import keys
from fastad.cli._console import print_message, progress_bar
from fastad.errors import CompilationCacheWarning
from fastad.measures.registry import MEASURES
from fastad.measures.requests import example_key
from fastad.streaming.large_files.evaluation import evaluate as evaluate_files
from fastad.streaming.sketches.sketch import ScoreSketch

Step: TypeAlias = Callable[[], object]

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
_Y_TRUE = np.array([0, 1, 0, 1, 0])
_X = np.random.default_rng(0).normal(size=(60, 2))
# More processes compile the same again.
_MOST_PROCESSES = 4


def warm_up() -> None:
    """Fill the cache; fail if it cannot be written, so that no image is built without it."""
    start = time.perf_counter()
    steps = _steps()
    with progress_bar("compiled") as progress:
        progress(0, len(steps))
        for done, _ in enumerate(_run_all(steps), 1):
            progress(done, len(steps))
    seconds = time.perf_counter() - start
    stats: Any = getattr(keys.label_counts, "stats", None)
    if stats is None:
        print_message("Nothing to compile: compilation is switched off.")
    else:
        print_message(f"Ready in {seconds:.1f} s; later processes load from {stats.cache_path}")


def _run_all(steps: Sequence[Step]) -> Iterator[None]:
    """Run all steps, in processes of their own: Numba compiles one function at a time in each."""
    n_processes = min(available_threads(), _MOST_PROCESSES)
    if n_processes == 1:
        yield from map(_run, steps)
        return
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(n_processes, context, _begin_worker) as pool:
        futures = [pool.submit(_run, step) for step in steps]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BaseException as error:
            # Their current work takes seconds, and nobody waits for it any more.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            if isinstance(error, BrokenProcessPool):
                raise OSError(
                    "a process that compiled was ended, perhaps as memory ran out; "
                    "FASTAD_NUM_THREADS=1 compiles in one process"
                ) from None
            raise


def _begin_worker() -> None:
    """Make a worker exit silently on SIGINT, and when its parent dies."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def end_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _run(step: Step) -> None:
    with warnings.catch_warnings():
        # Libraries warn of such small data.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", CompilationCacheWarning)
        try:
            step()
        except CompilationCacheWarning as warning:
            raise OSError(str(warning)) from None


def _steps() -> list[Step]:
    """Return the steps that call everything once on tiny data, the longest first."""
    of_scores = (_rank, _resample, _measure, _sketch)
    return [
        _estimate_by_splitting,
        _compare_all,
        *(partial(_estimate_for_detectors, half) for half in (0, 1)),
        _estimate_by_draws,
        _score_by_neighbours,
        *(partial(step, kind) for kind in _SCORES for step in of_scores),
        _count_labels,
        _count_in_bins,
        _count_patterns,
    ]


def _scores(kind: npt.DTypeLike) -> Iterator[npt.NDArray[Any]]:
    """Yield scores of a type; the second ones span more than a key can hold beside the label."""
    scores = np.array([0, 1, 2, 2, 3], kind)
    yield scores
    wide = scores.copy()
    wide[:3] = _SCORES[kind]
    yield wide


def _count_labels() -> None:
    for label_type in _LABELS:
        fastad.roc_auc(_Y_TRUE.astype(label_type), _Y_TRUE)


def _count_patterns() -> None:
    """Count scores of 8 and 16 bits, as many as are not sorted."""
    many = np.arange(2**18)
    for kind in (np.uint8, np.uint16):
        fastad.roc_auc(many % 2, many.astype(kind))


def _compare_all() -> None:
    """Compare models on data sets and folds."""
    values = np.random.default_rng(0).uniform(size=(2, 3, 3))
    results = fastad.ResultTable.from_arrays({"tpr@0.1": values, "tpr@0.2": values[::-1]})
    fastad.benchmarking.rank_intervals(results, measure="tpr@0.1", n_resamples=2, rng=0)
    # Skewed differences are resampled.
    skewed = np.random.default_rng(0).lognormal(size=(30, 8)) * np.tile([1, 9], 4)
    skewed_results = fastad.ResultTable.from_arrays({"auc": skewed})
    fastad.benchmarking.rank_intervals(skewed_results, n_resamples=2, rng=0)
    fastad.benchmarking.bayesian_signed_rank(results, measure="tpr@0.1", n_draws=2, rng=0)
    fastad.benchmarking.kendall_matrix(results, n_resamples=2, rng=0)
    result = fastad.benchmarking.discriminability(results, n_resamples=2, rng=0)
    for test in ("welch", "tukey"):
        result.p_values("0", fpr=0.1, test=test)


def _rank(kind: npt.DTypeLike) -> None:
    """Evaluate scores of one type without labels."""
    for scores in _scores(kind):
        curve = fastad.mass_volume_curve(scores, scores[1:], 1.0)
        curve.area()
        fastad.unsupervised.emmv({"it": scores}, {"it": scores[1:]}, 1.0, n_resamples=2, rng=0)


def _sketch(kind: npt.DTypeLike) -> None:
    """Count scores of one type in a stream."""
    for scores in _scores(kind):
        sketch = ScoreSketch()
        sketch.update(_Y_TRUE, scores)
        sketch.update(None, scores)
        sketch.label(scores, _Y_TRUE)
        sketch.merge(ScoreSketch.from_bytes(sketch.to_bytes()))
        sketch.evaluate()
    # More scores than the memory has cells.
    many = np.arange(20_000).astype(kind)
    y_true = many % 9 == 0
    sketch = ScoreSketch("64kB")
    sketch.update(y_true, many)
    sketch.evaluate()
    if importlib.util.find_spec("pyarrow") is not None:
        _read_again({"y": y_true, "it": many, "group": y_true * 0})


def _count_in_bins() -> None:
    """Evaluate counts with real weights, and leave out points of a curve."""
    ScoreSketch.from_counts([0, 1, 2], [1.5, 2.5], [0.5, 3.5]).evaluate()
    scores = np.arange(20_000.0)
    fastad.roc_curve(scores % 9 == 0, scores).simplify(8)


def _read_again(columns: dict[str, npt.NDArray[Any]]) -> None:
    """Evaluate a file in little memory, exactly, by each way to do so."""
    # Inside, as pyarrow is an extra.
    import pyarrow as pa
    from pyarrow import feather

    with temporary_folder(Path(tempfile.gettempdir()), "fastad-warmup") as folder:
        path = folder / "scores.arrow"
        feather.write_feather(pa.table(columns), str(path), compression="uncompressed")
        options: Any = {"score_columns": "it", "exact": True}
        for memory in ("64kB", "1MB"):
            for groups in (None, "group"):
                evaluate_files(path, memory=memory, group_columns=groups, **options)
        # Anomalies are kept in memory where the corners of the curve are enough.
        evaluate_files(path, memory="1MB", measures=["auc"], **options)


def _estimate(score: Any, threshold: float, *methods: str) -> None:
    """Estimate a volume by several methods."""
    for method in methods:
        options: Any = {"method": method, "n_draws": 10_000, "rng": 0, "data": _X}
        fastad.volume(score, threshold, fastad.Box.from_data(_X), **options)


def _norm(rows: npt.NDArray[Any]) -> Any:
    return np.hypot(*rows.T)


def _rank_by_volumes(method: Literal["uniform", "splitting"]) -> None:
    """Evaluate level sets of counted volumes, most of them of no draw, or of estimated ones."""
    wide = fastad.Box([-9.0, -9.0], [9.0, 9.0])
    options: Any = {"box": wide, "n_resamples": 2, "rng": 0, "n_draws": 20_000}
    fastad.evaluate_unsupervised({"it": _norm}, _X, method=method, **options)


def _estimate_by_splitting() -> None:
    _estimate(_norm, 1.0, "splitting")
    # More calls, so that there is a bridge.
    box = fastad.Box.from_data(_X)
    fastad.volume(_norm, 0.1, box, method="splitting", n_draws=50_000, rng=0)
    # A region at a corner, whose density is cut at the sides of the box.
    corner = fastad.Box([0.0, 0.0], [9.0, 9.0])
    fastad.volume(_norm, 1.0, corner, method="splitting", n_draws=50_000, rng=0)
    normal = fastad.regions.Normal(np.zeros(2), np.eye(2))
    fastad.volume(_norm, 0.1, reference=normal, method="splitting", n_draws=50_000, rng=0)
    _rank_by_volumes("splitting")


def _estimate_by_draws() -> None:
    _estimate(_norm, 1.0, "uniform", "sobol")
    _rank_by_volumes("uniform")


def _estimate_for_detectors(half: int) -> None:
    """Estimate volumes of every second detector that has a compiled form."""
    for fitted in _detectors()[half::2]:
        scorer = fastad.compile_scorer(fitted.fit(_X))
        threshold = float(np.median(scorer.score_samples(_X)))
        _estimate(scorer, threshold, "auto", "uniform", "splitting")


def _score_by_neighbours() -> None:
    """Score by the neighbours' rules that a study compares, in a tree and without one."""
    # Only this needs it, not the other commands.
    from fastad.detectors.neighbours import Neighbourhood, Rule, RuleKind

    rules = [Rule(kind, 2) for kind in get_args(RuleKind)]
    for n_train in (1001, 20):
        X = np.arange(float(n_train))[:, None]
        Neighbourhood(X, rules).score_rows(X[:2])


def _detectors() -> list[Any]:
    """Return detectors that are not fitted, of scikit-learn where it is installed."""
    nearest = fastad.detectors.KNNDetector(3)
    if importlib.util.find_spec("sklearn") is None:
        return [nearest]
    from sklearn.covariance import EllipticEnvelope
    from sklearn.ensemble import IsolationForest
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KernelDensity, LocalOutlierFactor
    from sklearn.svm import OneClassSVM

    return [
        nearest,
        *(OneClassSVM(kernel=kernel) for kernel in ("rbf", "linear", "poly", "sigmoid")),
        *(GaussianMixture(2, covariance_type=kind) for kind in ("full", "diag")),
        *(IsolationForest(n_estimators=5, random_state=0), LocalOutlierFactor(novelty=True)),
        *(EllipticEnvelope(random_state=0), KernelDensity()),
    ]


def _resample(kind: npt.DTypeLike) -> None:
    """Call what draws resamples, and what derives measures."""
    for scores in _scores(kind):
        ranked = fastad.rank_scores(_Y_TRUE, scores)
        options: Any = {"n_resamples": 2, "rng": 0}
        ranked.interval(measure="auc", method="bootstrap", **options)
        for measure in ("auc", "ap"):
            ranked.interval(measure=measure, method="bca", **options)
        for measure in ("auc", "ap", "tpr@0.1", "fpr@tpr0.9", "eer"):
            ranked.interval(measure=measure, method="fiducial", **options)
        _resample_clusters(np.tile(scores, 10))
        for measure in ("auc", "eer"):
            fastad.chance_level(_Y_TRUE, scores, measure=measure, **options)
            for method in ("permutation", "bootstrap"):
                fastad.compare(_Y_TRUE, scores, _Y_TRUE, measure=measure, method=method, **options)


def _resample_clusters(scores: npt.NDArray[Any]) -> None:
    """Call what draws clusters of rows, and what plans labels."""
    y_true, clusters = np.tile(_Y_TRUE, 10), np.arange(50) // 2
    for method in ("auto", "bootstrap"):
        options: Any = {"method": method, "n_resamples": 2, "rng": 0}
        fastad.interval(y_true, scores, measure="auc", clusters=clusters, **options)
    fastad.labeling.design({"it": scores}, budget=10, target="tpr@0.1", prevalence=0.4)


def _measure(kind: npt.DTypeLike) -> None:
    """Call all measures, with weights and without."""
    values = [example_key(row) for row in MEASURES.values() if row.kind == "value"]
    values.append("precision@p0.4")  # of so few samples, a smaller fraction draws no anomaly
    for scores in _scores(kind):
        fastad.roc_auc(_Y_TRUE, scores)
        fastad.tpr_at_fpr(_Y_TRUE, scores, fpr=0.5)
        for weights in (None, np.array([1, 2, 1, 1, 1]), np.array([0.5, 1, 1, 1, 1])):
            for groups in (None, np.array([3, 0, 0, 3, 0])):
                fastad.evaluate(
                    _Y_TRUE,
                    scores,
                    groups=groups,
                    measures=values,
                    score_range=(-1e300, 1e300),
                    sample_weight=weights,
                    on_error="record",
                )
            ranked = fastad.rank_scores(_Y_TRUE, scores, sample_weight=weights)
            ranked.roc_curve()
            ranked.pr_auc(prevalence=0.1)
            ranked.average_precision(prevalence=0.1)
        fastad.rank_scores(_Y_TRUE, scores).weighted_auc(quadrature="exact")
        fastad.evaluate(_Y_TRUE, scores, groups=_Y_TRUE * 0, measures=["auc"])
        for measures in (["auc"], ["f1_best"]):
            fastad.evaluate(_Y_TRUE, scores, kinds=_Y_TRUE, segments=_Y_TRUE, measures=measures)
    # As many as are not sorted: of few anomalies, of few values, and far from each other. Others
    # are sorted in parts.
    many = np.arange(2**17)
    for scores in (many, many % 7, np.exp(np.minimum(many / 400, 80))):
        fastad.roc_auc(many % 100 == 0, scores.astype(kind))
    mixed = (many * 7919 % 2**17).astype(kind)
    fastad.average_precision(many % 2, mixed)
    fastad.rank_scores(many % 2, mixed, sample_weight=many % 3).roc_auc()
    fastad.tpr_at_fpr(many % 2, mixed, fpr=0.01)
