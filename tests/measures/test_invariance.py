"""What must not change a measure, for every row of the registry."""

import inspect
import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fastad
from fastad.measures import auc_at_tpr
from fastad.measures.registry import MEASURES
from fastad.uncertainty import at_least, equivalence, noninferiority
from tests.support.agreement import numbers, outcome
from tests.support.loops import Test, loop
from tests.support.operating import domain

Vector = npt.NDArray[Any]

POINTS: dict[str, tuple[Any, ...]] = {
    "rate": (Fraction(1, 7), 0.29, 0.75),
    "count": (1, 5),
    "percentile": (25, 90.5),
    "positive": (0.8, 1.25),
}
# Where those of the domain have no value on the data below, or mean something else.
POINTS_OF: dict[str, tuple[Any, ...]] = {
    "precision_at_p": (Fraction(1, 7), 0.2),
    "recall_at_precision": (Fraction(2, 5), 0.6),
    "log_auc": (Fraction(1, 1000), 0.01),
    "rank_power": (5, 20),
    "confusion_at": (0.5, -1),
    "class_percentiles": ((0, 33, 100),),
}
RANGE = (-64, 64)
DATA_ARGUMENTS = {"y_true", "y_score", "sample_weight", "pos_label"}


def cases() -> list[Any]:
    """Every row of the registry at some operating points."""
    results = []
    for row in MEASURES.values():
        points = POINTS_OF.get(row.name, POINTS[domain(row)]) if row.operating_point else (None,)
        for point in points:
            parameters: dict[str, Any] = {} if point is None else {str(row.operating_point): point}
            if row.takes_score_range:
                parameters["score_range"] = RANGE
            results.append(pytest.param(row.name, parameters, id=f"{row.name}-{point}"))
    return results


CASES = cases()
EVERY = loop(("name", "parameters"), CASES)


def only(*, rank: bool = False, real_weights: bool = False) -> Callable[[Test], Test]:
    """Some of the cases: of the order alone, or of real weights that have no unit."""
    kept = []
    for case in CASES:
        row = MEASURES[str(case.values[0])]
        of_order = not row.reads_values and row.kind not in ("threshold", "counts")
        if rank and not of_order:
            continue
        if real_weights and (row.weights == "integer" or domain(row) == "count"):
            continue
        kept.append(case)
    return loop(("name", "parameters"), kept)


def is_value(case: Any) -> bool:
    return MEASURES[str(case.values[0])].kind == "value"


def dataset(seed: int, size: int = 60) -> tuple[Vector, Vector]:
    """Scores with ties within and across the classes, both signs and both zeros."""
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.3).astype(int)
    y[:2] = [0, 1]
    s = np.round(2 * rng.normal(size=size) + 2 * y, 0 if seed % 2 else 3)
    s[rng.random(size) < 0.1] = -0.0
    return y, s


SEEDS = (0, 1)


def measured(name: str, y: Any, s: Any, *, w: Any = None, **parameters: Any) -> Any:
    """The public function; what needs no labels takes the scores alone."""
    if name == "threshold_at_rate":
        if w is not None:
            return fastad.rank_scores(y, s, sample_weight=w).threshold_at_rate(**parameters)
        return fastad.measures.threshold_at_rate(s, **parameters)
    return getattr(fastad.measures, name)(y, s, sample_weight=w, **parameters)


@EVERY
def test_measure_has_a_value_on_the_test_data(name: str, parameters: dict[str, Any]) -> None:
    # Else the tests below would compare nothing.
    results = [outcome(measured, name, *dataset(seed), **parameters) for seed in SEEDS]
    assert results != ["undefined", "undefined"]
    assert results[0] != results[1]


@EVERY
def test_permutation_keeps_every_bit(name: str, parameters: dict[str, Any]) -> None:
    for seed in SEEDS:
        y, s = dataset(seed)
        w = np.random.default_rng(seed).integers(0, 4, len(y))
        for weights in (None, w, w.astype(float)):
            expected = outcome(measured, name, y, s, w=weights, **parameters)
            for turn in range(3):
                p = np.random.default_rng(turn).permutation(len(y))
                moved = None if weights is None else weights[p]
                assert outcome(measured, name, y[p], s[p], w=moved, **parameters) == expected


@EVERY
def test_whole_weights_are_repeated_rows(name: str, parameters: dict[str, Any]) -> None:
    for seed in SEEDS:
        y, s = dataset(seed)
        w = np.random.default_rng(seed).integers(0, 5, len(y))
        expected = outcome(measured, name, np.repeat(y, w), np.repeat(s, w), **parameters)
        assert outcome(measured, name, y, s, w=w, **parameters) == expected
        assert outcome(measured, name, y, s, w=w.astype(np.float32), **parameters) == expected


@EVERY
def test_a_row_of_weight_0_is_absent(name: str, parameters: dict[str, Any]) -> None:
    for seed in SEEDS:
        y, s = dataset(seed)
        w = np.ones(len(y), int)
        w[::3] = 0
        dirty = s.copy()
        dirty[::3] = np.nan
        expected = outcome(measured, name, y[w > 0], s[w > 0], **parameters)
        assert outcome(measured, name, y, dirty, w=w, **parameters) == expected


@only(real_weights=True)
def test_real_weights_have_no_unit(name: str, parameters: dict[str, Any]) -> None:
    # 0.1 k instead of k: only the rounding of sums differs.
    y, s = dataset(0)
    w = np.random.default_rng(1).integers(1, 5, len(y))
    result = numbers(measured(name, y, s, w=0.1 * w, **parameters))
    expected = numbers(measured(name, y, s, w=w, **parameters))
    if name == "confusion_at":
        expected = [0.1 * count for count in expected]
    assert result == pytest.approx(expected, rel=1e-13, abs=1e-14)


# Measures with a step at an operating point, and where the step lies.
STEPS = {
    "tpr_at_fpr": "fpr",
    "fpr_at_tpr": "tpr",
    "threshold_at_fpr": "fpr",
    "f1_at_fpr": "fpr",
    "precision_at_fpr": "fpr",
    "threshold_at_rate": "rate",
    "recall_at_precision": "precision",
    "precision_at_recall": "recall",
    "rp_distance": "p",
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("unit", [0.1, 1 / 3, 0.7, 10 / 19])
def test_multiples_of_a_real_weight_step_where_integers_do(name: str, unit: float) -> None:
    rng = np.random.default_rng(0)
    for size in (21, 60):
        y, s = np.arange(size) % 3 == 0, rng.normal(size=size)
        s[0] = 9  # an anomaly: every precision is reached
        for w in (np.ones(size), rng.integers(1, 4, size)):
            n_normals = int(w[~y].sum())
            # Half of the points as decimals, which may lie beside the step.
            for k in range(1, min(n_normals, 20)):
                point: Any = k / 20 if k % 2 else Fraction(k, n_normals)
                parameters = {STEPS[name]: 100 * point if name == "rp_distance" else point}
                result = numbers(measured(name, y, s, w=unit * w, **parameters))
                expected = numbers(measured(name, y, s, w=w, **parameters))
                assert result == pytest.approx(expected, rel=1e-13), point


def test_weights_equal_within_a_class_step_where_integers_do() -> None:
    y, s = np.arange(50) >= 40, np.arange(50.0) % 17
    balanced = np.where(y, 50 / 20, 50 / 80 / 3)
    for k in range(41):
        for fpr in (Fraction(k, 40), k / 40, k / 60):
            result = fastad.tpr_at_fpr(y, s, fpr=fpr, sample_weight=balanced)
            assert result == pytest.approx(fastad.tpr_at_fpr(y, s, fpr=fpr), rel=1e-14)


def test_k_is_a_sum_of_real_weights_whatever_rounding_makes_of_it() -> None:
    def lowest(tp: Any, fp: Any, n: Any, m: Any, threshold: Any) -> Any:
        return threshold + 0 * tp

    y, s = np.arange(400) % 3 == 0, -np.arange(400.0)
    measure = fastad.measures.from_counts("lowest", lowest, at="k", takes_threshold=True)
    for unit in (0.1, 0.2, 0.7):
        for k in (7, 14, 28):
            value = measure.of(y, s, sample_weight=np.full(400, unit), k=k)
            assert value == s[round(k / unit) - 1]


@only(real_weights=True)
def test_real_weights_in_any_order_to_1e_14(name: str, parameters: dict[str, Any]) -> None:
    y, s = dataset(1)
    rng = np.random.default_rng(3)
    w = rng.uniform(0.1, 2, len(y))
    expected = numbers(measured(name, y, s, w=w, **parameters))
    for _ in range(3):
        p = rng.permutation(len(y))
        result = numbers(measured(name, y[p], s[p], w=w[p], **parameters))
        assert result == pytest.approx(expected, rel=1e-14, abs=1e-14 * max(map(abs, expected)))


def increasing(s: Vector) -> Iterator[Vector]:
    yield np.exp(s)
    yield 1e300 * s / 64
    yield s * 1e-310  # subnormals
    yield np.unique(s, return_inverse=True)[1] + (2**62 - 100)
    yield np.where(s == s.max(), np.inf, np.where(s == s.min(), -np.inf, s))


@only(rank=True)
def test_increasing_transforms_of_the_scores_change_nothing(
    name: str, parameters: dict[str, Any]
) -> None:
    y, s = dataset(1)
    y[np.argmax(s)] = 1  # +inf, below, must not be a normal's
    expected = measured(name, y, s, **parameters)
    for transformed in increasing(s):
        assert len(np.unique(transformed)) == len(np.unique(s))
        result = measured(name, y, transformed, **parameters)
        for field in ("fpr", "tpr", "fnr", "precision", "recall", "score"):
            if hasattr(expected, field):
                assert getattr(result, field).tolist() == getattr(expected, field).tolist()
        if MEASURES[name].kind == "value":
            assert float(result) == float(expected)


@EVERY
def test_types_that_keep_order_and_ties_change_nothing(
    name: str, parameters: dict[str, Any]
) -> None:
    y, s = dataset(1)
    s = s - s.min()  # integers from 0
    expected = numbers(measured(name, y, s, **parameters))
    if MEASURES[name].kind == "threshold":
        parameters = {**parameters, "interpolation": "conservative"}
        expected = numbers(measured(name, y, s, **parameters))
    types = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", ">f8", ">f4", ">i4", ">u8")
    for dtype in types:
        assert numbers(measured(name, y, s.astype(dtype), **parameters)) == expected, dtype
    for labels in (y.astype(bool), y.astype(np.uint8), y.astype(">f4"), y.tolist()):
        assert numbers(measured(name, labels, s, **parameters)) == expected


@EVERY
def test_method_is_the_function_bit_for_bit(name: str, parameters: dict[str, Any]) -> None:
    for seed in SEEDS:
        y, s = dataset(seed)
        for w in (None, np.random.default_rng(seed).integers(0, 3, len(y))):
            ranked = fastad.rank_scores(y, s, sample_weight=w)
            expected = outcome(measured, name, y, s, w=w, **parameters)
            assert outcome(getattr(ranked, name), **parameters) == expected


@loop("name", MEASURES)
def test_method_has_the_signature_of_the_function(name: str) -> None:
    function = inspect.signature(getattr(fastad.measures, name))
    method = inspect.signature(getattr(fastad.evaluation.RankedScores, name))
    options = [p for p in function.parameters.values() if p.name not in DATA_ARGUMENTS]
    taken = [p for p in method.parameters.values() if p.name != "self"]
    assert [(p.name, p.default) for p in taken] == [(p.name, p.default) for p in options]
    assert all(p.kind is p.KEYWORD_ONLY for p in options + taken)
    data = [p.name for p in function.parameters.values() if p.kind is not p.KEYWORD_ONLY]
    assert data == (["y_score"] if name == "threshold_at_rate" else ["y_true", "y_score"])


@EVERY
def test_row_names_the_classes_it_needs(name: str, parameters: dict[str, Any]) -> None:
    _, s = dataset(0)
    classes = MEASURES[name].classes
    for label, needed in ((0, ("both", "anomalies")), (1, ("both", "normals"))):
        result = outcome(measured, name, np.full(len(s), label), s, **parameters)
        default_k = domain(MEASURES[name]) == "count" and not parameters
        if name != "threshold_at_rate" and not default_k:
            assert (result == "undefined") == (classes in needed)


@EVERY
def test_row_names_the_weights_it_takes(name: str, parameters: dict[str, Any]) -> None:
    y, s = dataset(0)
    w = np.linspace(0.5, 1.7, len(y))
    if MEASURES[name].weights == "integer":
        with pytest.raises(fastad.InvalidInputError, match="integer"):
            measured(name, y, s, w=w, **parameters)
    else:
        result = measured(name, y, s, w=w, **parameters)
        assert MEASURES[name].kind != "value" or math.isfinite(result)


@loop(("name", "parameters"), [q for q in CASES if is_value(q)])
def test_row_names_the_direction_of_merit(name: str, parameters: dict[str, Any]) -> None:
    y, s = dataset(0)
    s = s / 4
    best = outcome(measured, name, y, s + 10 * y, **parameters)  # anomalies above all normals
    worst = outcome(measured, name, y, s - 10 * y, **parameters)  # and below them
    assert best != "undefined"
    if worst == "undefined":
        assert name in ("recall_at_precision", "rank_power", "precision_at_fpr")
        return
    values = [float.fromhex(x[0] if isinstance(x, tuple) else x) for x in (best, worst)]
    assert (values[0] > values[1]) == MEASURES[name].higher_is_better


def test_negated_scores_mirror_the_area() -> None:
    for seed in range(6):
        y, s = dataset(seed)
        area = fastad.roc_auc(y, s)
        n, m = int(y.sum()), int((1 - y).sum())
        halves = round(area * 2 * n * m)
        assert area == halves / (2 * n * m)
        assert fastad.roc_auc(y, -s) == (2 * n * m - halves) / (2 * n * m)
        assert fastad.roc_auc(1 - y, -s) == area
        assert fastad.roc_auc(1 - y, s) == fastad.roc_auc(y, -s)


def test_negated_scores_with_swapped_labels_mirror_the_curve() -> None:
    y, s = dataset(1)
    curve, mirrored = fastad.roc_curve(y, s), fastad.roc_curve(1 - y, -s)
    assert mirrored.fpr.tolist() == pytest.approx((1 - curve.tpr)[::-1], abs=1e-15)
    assert mirrored.tpr.tolist() == pytest.approx((1 - curve.fpr)[::-1], abs=1e-15)
    for rate in (0.2, 0.55, 0.9):
        direct = auc_at_tpr(y, s, min_tpr=1 - rate, normalize="none")
        turned = fastad.auc_at_fpr(1 - y, -s, fpr=rate, normalize="none")
        assert turned == pytest.approx(direct, rel=1e-14)


@pytest.mark.parametrize("seed", range(4))
def test_partial_areas_add_up(seed: int) -> None:
    y, s = dataset(seed)
    ends: list[Any] = [0, 0.05, Fraction(1, 3), 0.5, 0.77, 1]
    spans = list(pairwise(ends))
    under = [fastad.auc_at_fpr(y, s, fpr=b, min_fpr=a, normalize="none") for a, b in spans]
    beside = [auc_at_tpr(y, s, min_tpr=a, max_tpr=b, normalize="none") for a, b in spans]
    assert sum(under) == pytest.approx(fastad.roc_auc(y, s), rel=1e-14)
    assert sum(beside) == pytest.approx(fastad.roc_auc(y, s), rel=1e-14)
    assert fastad.auc_at_fpr(y, s, fpr=1) == fastad.roc_auc(y, s)
    assert auc_at_tpr(y, s) == fastad.roc_auc(y, s)


@loop("weights", ["none", "integer", "real"])
@loop("seed", range(4))
def test_curves_are_monotone_with_fixed_ends(seed: int, weights: str) -> None:
    y, s = dataset(seed, 300)
    rng = np.random.default_rng(seed)
    w = {"none": None, "integer": rng.integers(0, 3, 300), "real": rng.random(300)}[weights]
    curve = fastad.roc_curve(y, s, sample_weight=w)
    assert (curve.fpr[0], curve.tpr[0], curve.thresholds[0]) == (0, 0, np.inf)
    assert (curve.fpr[-1], curve.tpr[-1]) == (1, 1)
    assert np.all(np.diff(curve.fpr) >= 0)
    assert np.all(np.diff(curve.tpr) >= 0)
    assert np.all(np.diff(curve.thresholds) < 0)
    recall = fastad.precision_recall_curve(y, s, sample_weight=w)
    assert (recall.recall[0], recall.recall[-1], recall.thresholds[0]) == (0, 1, np.inf)
    assert recall.precision[0] == recall.precision[1]
    assert np.all(np.diff(recall.recall) >= 0)
    assert np.all((recall.precision >= 0) & (recall.precision <= 1))


def test_arrays_of_results_are_read_only() -> None:
    y, s = dataset(0)
    for result in (fastad.roc_curve(y, s), fastad.precision_recall_curve(y, s)):
        with pytest.raises(ValueError, match="read-only"):
            result.thresholds[0] = 0
        with pytest.raises(AttributeError):
            result.thresholds = result.thresholds  # type: ignore[misc]


def test_tied_fraction_counts_the_rows_with_equal_scores() -> None:
    ranked = fastad.rank_scores([0, 1, 0, 1, 1], [1, 1, 2, -0.0, 0.0])
    assert ranked.tied_fraction == 0.8
    assert (ranked.n_anomalies, ranked.n_normals) == (3, 2)
    assert ranked.counts.fps.tolist() == [0, 1, 2, 2]
    assert ranked.counts.tps.tolist() == [0, 0, 1, 3]


@pytest.mark.slow
@EVERY
def test_threads_at_once_find_the_same_bits(name: str, parameters: dict[str, Any]) -> None:
    y, s = dataset(0)
    ranked = fastad.rank_scores(y, s)
    expected = outcome(measured, name, y, s, **parameters)

    def work(turn: int) -> Any:
        if turn % 2:
            return outcome(getattr(ranked, name), **parameters)
        return outcome(measured, name, y, s, **parameters)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [expected] * 8


# Intervals and comparisons.

SMOOTH = ("auc", "ap", "auc@0.2", "auc_w", "auc_pr")


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("measure", SMOOTH)
@pytest.mark.parametrize("weights", ["none", "integer"])
def test_permutation_keeps_every_bit_of_what_is_inferred(measure: str, weights: str) -> None:
    for seed in range(2):
        rng = np.random.default_rng(seed)
        n = 300
        y = (rng.random(n) < 0.3).astype(int)
        common, *own = rng.normal(size=(3, n))
        first, second = (common + 0.5 * each + y for each in own)
        if seed % 2:
            first, second = first.round(1), second.round(1)
        w = rng.integers(1, 4, n) if weights == "integer" else np.ones(n, int)
        results = []
        for rows in (np.arange(n), rng.permutation(n)):
            options: dict[str, Any] = {"measure": measure, "sample_weight": w[rows]}
            labels, a, b = y[rows], first[rows], second[rows]
            results.append(
                [
                    fastad.compare(labels, a, b, **options).to_dict(),
                    fastad.compare(labels, a, b, method="delong", **options).to_dict(),
                    noninferiority(labels, a, b, margin=0.1, **options).to_dict(),
                    equivalence(labels, a, b, margin=0.1, **options).to_dict(),
                    at_least(labels, a, value=0.5, n_resamples=99, rng=0, **options).to_dict(),
                    fastad.interval(labels, a, method="delong", **options).to_dict(),
                ]
            )
        assert results[0] == results[1]


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("weights", ["none", "integer", "real"])
def test_numbers_of_samples_are_sums_of_whole_weights_and_rows_of_others(
    weights: str, *, clustered: bool
) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 100)
    first, second = rng.normal(size=(2, 100)) + y
    w = {"none": None, "integer": rng.integers(1, 4, 100), "real": rng.uniform(0.5, 3, 100)}[
        weights
    ]
    counted = w if w is not None and weights == "integer" else np.ones(100, int)
    expected = int(counted[y == 1].sum()), int(counted[y == 0].sum())
    options: dict[str, Any] = {
        "measure": "auc",
        "sample_weight": w,
        "clusters": np.arange(100) // 2 if clustered else None,
    }
    comparison = fastad.compare(y, first, second, **options)
    assert (comparison.n_anomalies, comparison.n_normals) == expected
    test = noninferiority(y, first, second, margin=0.2, **options)
    assert list(zip(test.n_anomalies, test.n_normals, strict=True)) == 2 * [expected]
