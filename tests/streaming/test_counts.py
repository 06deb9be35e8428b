"""Counts that somebody else made: bounds contain the exact value, and bad counts are refused."""

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

import fastad
from bench.warehouse import CASES, counts_of, printed_area, samples
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.streaming import ScoreSketch, kolmogorov_distance
from fastad.streaming.sketches.bounded_methods import bind_any
from tests.streaming.test_bounds import BOUNDED, parameters

KINDS = ("equal", "quantiles", "values", "rounded", "prometheus", "at scores", "extremes")


def draw_sample(rng: np.random.Generator) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Labels of both classes, and scores with ties on several scales."""
    n = int(rng.integers(2, 60))
    y = rng.permutation(np.append([0, 1], rng.random(n) < rng.random()).astype(np.int64))
    s = rng.normal(size=n + 2) + rng.integers(0, 3) * y
    s = (np.exp(s), s, np.round(s, 1), np.round(s), 0.01 * np.round(s) + 7)[rng.integers(5)]
    return y, s


def draw_bins(kind: str, s: npt.NDArray[Any], rng: np.random.Generator) -> tuple[Any, Any]:
    """Edges of a kind of bins that contain all scores, and which edges are part of a bin."""
    n, closed = int(rng.integers(1, 9)), ("left", "right")[rng.integers(2)]
    low, high = s.min(), max(s.max(), np.nextafter(s.min(), np.inf))
    if kind == "values":
        return np.repeat(np.unique(s), 2).reshape(-1, 2), "both"
    if kind == "extremes":
        of = np.floor(s * rng.choice([0.1, 1, 5]))
        return np.array([(s[of == x].min(), s[of == x].max()) for x in np.unique(of)]), "both"
    if kind == "rounded":
        rounded = np.unique(np.round(s * 2)) / 2
        return np.unique([rounded[0] - 1, *(rounded - 0.25), *(rounded + 0.25)]), closed
    if kind == "equal":
        return np.unique(np.linspace(low, high, n + 1)), closed
    if kind == "quantiles":
        return np.unique([low, high, *np.quantile(s, np.linspace(0, 1, n + 1))]), closed
    inner = np.unique(rng.choice(s, n))
    return np.array([-np.inf, *inner, np.inf]), closed


def count_in(edges: Any, closed: str, s: Any, w: Any) -> list[float]:
    """Total weight in each bin, from the definition."""
    pairs = edges if closed == "both" else list(pairwise(edges))
    totals = []
    for i, (low, high) in enumerate(pairs):
        above = s > low if closed == "right" and i > 0 else s >= low
        below = s < high if closed == "left" and i < len(pairs) - 1 else s <= high
        totals.append(w[above & below].sum().item())
    return totals


def counted(kind: str, y: Any, s: Any, w: Any, rng: np.random.Generator) -> ScoreSketch:
    edges, closed = draw_bins(kind, s, rng)
    normals, anomalies = (count_in(edges, closed, s[y == k], w[y == k]) for k in (0, 1))
    assert sum(normals) + sum(anomalies) == pytest.approx(w.sum())
    if kind == "prometheus":
        # Cumulative, as they are exported.
        cumulative = np.cumsum(normals), np.cumsum(anomalies)
        normals, anomalies = (np.diff(each, prepend=0).tolist() for each in cumulative)
    return ScoreSketch.from_counts(edges, normals, anomalies, closed=closed)


def check_all(rows: Any, kind: str, seed: int, *, weighted: bool = False) -> int:
    """Check that the bounds of measures contain the exact values; return how many were compared."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    y, s = draw_sample(rng)
    w = rng.uniform(0.5, 2, len(y)) if weighted else np.ones(len(y), np.int64)
    sketch = counted(kind, y, s, w, rng)
    rate = float(rng.choice([0, 0.01, 0.29, 0.5, 1]))
    n_compared = 0
    for row in rows:
        chosen = parameters(row, s, rate)
        if weighted and row.weights == "integer":
            with pytest.raises(UndefinedMeasureError, match="integer"):
                sketch.bounds(bind_any(row, chosen))
            continue
        try:
            value = row.of(y, s, w if weighted else None, None, **chosen)
        except UndefinedMeasureError:
            continue
        bounds = sketch.bounds(bind_any(row, chosen))
        if weighted and bounds.is_exact:
            # Weights were added in another order.
            assert bounds.value == pytest.approx(value, rel=1e-13)
        else:
            assert bounds.low <= value <= bounds.high, (row.name, chosen, kind, seed, bounds)
        if sketch.resolution == "exact" and not weighted:
            assert bounds.low == value == bounds.high, (row.name, kind, seed)
        n_compared += 1
    return n_compared


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_exact_values_lie_within(kind: str, weighted: bool) -> None:
    assert check_all(BOUNDED, kind, 0, weighted=weighted) > 20


@pytest.mark.evidence
@pytest.mark.parametrize(("weighted", "n_seeds"), [(False, 25), (True, 5)])
def test_exact_values_lie_within_many_random_bins(weighted: bool, n_seeds: int) -> None:
    cases = [(kind, seed) for seed in range(1, n_seeds + 1) for kind in KINDS]
    assert sum(check_all(BOUNDED, *case, weighted=weighted) for case in cases) > 40 * len(cases)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "printed", "exact"),
    [(0, 0.74, 0.87), (1, 0.966, 0.941), (2, 0.819, 0.824), (3, 0.846, 0.869)],
)
def test_areas_that_are_printed_of_counts_are_wrong_within_the_bounds(
    number: int, printed: float, exact: float
) -> None:
    case = CASES[number]
    y, s = samples(case)
    edges, normals, anomalies = counts_of(case, y, s)
    area = fastad.roc_auc(y, s)
    assert printed_area(case, normals, anomalies) == pytest.approx(printed, abs=6e-3)
    assert area == pytest.approx(exact, abs=2e-3)
    bounds = ScoreSketch.from_counts(edges, normals, anomalies).roc_auc()
    assert bounds.low <= area <= bounds.high
    assert bounds.error > abs(printed_area(case, normals, anomalies) - area)


# Bins of 0, 1, 2 and 3, closed on the left.
EDGES = [0.0, 1.0, 2.0, 3.0]
ONES = [1, 1, 1]


@pytest.mark.parametrize(
    ("edges", "normals", "anomalies", "closed", "message"),
    [
        ([0, 2, 1, 3], ONES, ONES, "left", "edges must rise; found 1 other values, the first at"),
        ([0, 1, 1, 3], ONES, ONES, "right", "edges must rise"),
        ([0, np.nan, 1, 3], ONES, ONES, "left", "edges must not contain NaN; found 1"),
        (EDGES, [1, np.nan, 1], ONES, "left", r"normals must be finite and not neg.* index 1: nan"),
        (EDGES, ONES, [1, -1, 1], "left", "anomalies must be finite and not negative; found 1"),
        (EDGES, [1, 1, np.inf], ONES, "left", "normals must be finite and not negative"),
        (EDGES, [1, 1, 1e16], ONES, "left", r"normals must be below 2\^53 where all are integers; "
         r"found 1 other values, the first at index 2: 1e\+16"),
        (EDGES, [1, 2**53, 1], ONES, "left", r"normals must be below 2\^53 where all are integers; "
         "found 1 other values, the first at index 1: 9007199254740992"),
        (EDGES, ONES, np.array([2**63, 1, 1], np.uint64), "left", r"anomalies must be below 2\^53"),
        (EDGES, ONES, [1e19, 1.0, 1e19], "left", r"anomalies must be below 2\^53 where all are"),
        (EDGES, ONES, [1, 0.5, 1e101], "left", "anomalies must be 0 or lie in"),
        (np.arange(1025), np.full(1024, 2**52), np.zeros(1024), "left",
         r"must be fewer than 2\^62 in all; found 4.61169e\+18"),
        (EDGES, ONES, [1, 1], "left", "anomalies must have one count for each bin; found 2"),
        (EDGES[:3], ONES, ONES, "left", r"edges must have an edge more, shape \(4,\)"),
        (EDGES, ONES, ONES, "both", r"edges must have lowest and highest score of each"),
        ([[0, 1], [1, 2]], [1, 1], [1, 1], "both", "edges must rise"),
        ([[0, 1], [3, 2]], [1, 1], [1, 1], "both", "edges must rise"),
        ([[0, 1], [2, 3]], [1, 1], [1, 1], "left", r"edges must have an edge more"),
        ([0, 2**53, 2**54], [1, 1], [1, 1], "left", "edges must be floats, or integers below"),
        (["a", "b"], [1], [1], "left", "edges must contain booleans, integers or floats"),
        (EDGES, ONES, ONES, "neither", "closed must be"),
    ],
)  # fmt: skip
def test_bad_counts_are_refused(
    edges: Any, normals: Any, anomalies: Any, closed: Any, message: str
) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ScoreSketch.from_counts(edges, normals, anomalies, closed=closed)


def test_counts_beyond_floats_stay_exact() -> None:
    most = 2**53 - 1
    edges = [[0, 0], [1, 1]]
    sketch = ScoreSketch.from_counts(edges, [most, 3], [5, most], closed="both")
    sketch.merge(sketch)
    pairs = (most + 3) * (most + 5)
    assert sketch.roc_auc().value == (2 * most**2 + 5 * most + 3 * most) / (2 * pairs)
    assert (sketch.n_anomalies, sketch.n_normals) == (2 * (most + 5), 2 * (most + 3))


def test_total_weights_may_be_large() -> None:
    """Where not all are integers, none is a count."""
    large = ScoreSketch.from_counts([0, 1, 2], [3.0 * 2**60, 2.0**60], [0.5, 2.5])
    small = ScoreSketch.from_counts([0, 1, 2], [3, 1], [0.5, 2.5])
    assert large.roc_auc().value == small.roc_auc().value


def test_infinite_scores_may_share_a_bin_with_numbers() -> None:
    y, s = np.array([0, 1, 0, 1, 1]), np.array([-np.inf, -3.0, 2.0, 5.0, np.inf])
    sketch = ScoreSketch.from_counts([-np.inf, 0, np.inf], [1, 1], [1, 2], closed="right")
    for key, value in fastad.evaluate(y, s)["score"].items():
        if key != "precision@p0.05":
            bounds = sketch.evaluate([key])[key]
            assert bounds.low <= value <= bounds.high
    threshold = sketch.threshold_at_fpr(fpr=1)
    assert (threshold.low, threshold.high) == (-np.inf, 0)
    # What reads values takes finite scores: those in the bins lie within the range.
    bounds = sketch.rp_auc(score_range=(-4, 6))
    assert 0 < bounds.low < bounds.high <= 1
    with pytest.raises(InvalidInputError, match="score_range"):
        ScoreSketch.from_counts(EDGES, [1, 1, 1], [1, 1, 1]).rp_auc(score_range=(1.5, 6))
    infinite = np.array([[0, 1], [np.inf, np.inf]])
    sketch = ScoreSketch.from_counts(infinite, ONES[:2], ONES[:2], closed="both")
    with pytest.raises(InvalidInputError, match="finite"):
        sketch.rp_distance(p=50)


def test_empty_bins_are_nothing() -> None:
    empty = ScoreSketch.from_counts(EDGES, [0, 0, 0], [0, 0, 0])
    with pytest.raises(UndefinedMeasureError, match="without points"):
        empty.roc_auc()
    sketch = ScoreSketch.from_counts(EDGES, [3, 0, 1], [1, 0, 2])
    assert len(sketch.score_cells().lowest) == 2
    empty.merge(sketch)
    assert empty.to_bytes() == sketch.to_bytes()
    sketch.merge(ScoreSketch())
    assert empty.to_bytes() == sketch.to_bytes()


@pytest.mark.parametrize("weight", [1, 0.75])
def test_merging_in_any_order_gives_the_same_bytes(weight: float) -> None:
    def parts() -> list[ScoreSketch]:
        fine = ScoreSketch.from_counts(
            np.linspace(0, 1, 9), np.arange(8), np.arange(8)[::-1] * weight
        )
        coarse = ScoreSketch.from_counts([0, 0.25, 0.3, 1], [5, 0, 1], [0, 2, 4])
        points = ScoreSketch()
        points.update([0, 1, 1], [0.1, 0.9, 2.0])
        return [fine, coarse, points]

    results = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        whole, *others = (parts()[i] for i in order)
        for other in others:
            whole.merge(pickle.loads(pickle.dumps(other)))
        results.append(whole)
    assert len({each.to_bytes() for each in results}) == 1
    assert (whole.n_normals, whole.n_anomalies) == (28 + 6 + 1, 28 * weight + 6 + 2)
    # Up to 0.25, from there to 1, and 2: edges are shared at 0.25 alone.
    assert len(whole.score_cells().lowest) == 3
    (note,) = whole.evaluate(["auc"]).notes
    assert note.startswith("bins of merged counts that overlap were joined, to 3 ranges")


def test_merged_counts_contain_the_value_of_all_points() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        samples = [draw_sample(rng) for _ in range(3)]
        parts = [counted("equal", y, s, np.ones(len(y), np.int64), rng) for y, s in samples[:2]]
        parts.append(ScoreSketch())
        parts[-1].update(*samples[2])
        for other in parts[1:]:
            parts[0].merge(other)
        y, s = (np.concatenate(each) for each in zip(*samples, strict=True))
        for name in ("roc_auc", "average_precision", "best_f1"):
            bounds = getattr(parts[0], name)()
            value = getattr(fastad.measures, name)(y, s)
            assert bounds.low <= value <= bounds.high, (seed, name)


def test_a_merge_that_cannot_be_is_refused() -> None:
    sketch, other = ScoreSketch.from_counts(EDGES, [3, 0, 1], [1, 0, 2]), ScoreSketch()
    other.update([0, 1], np.array([1, 2], np.int64))
    with pytest.raises(
        InvalidInputError, match="other must contain float64 as before; found int64"
    ):
        sketch.merge(other)
    half = ScoreSketch.from_counts(np.arange(513), np.full(512, 2**52), np.zeros(512))
    with pytest.raises(InvalidInputError, match="fewer than 2\\^62 points"):
        half.merge(half)
    with pytest.raises(InvalidInputError, match="counted its points itself"):
        kolmogorov_distance(sketch, sketch)


@pytest.mark.parametrize("edges", [[-10, 10], [-10, 0.5, 2, 10]])
def test_intervals_allow_for_every_order_within_bins(edges: list[float]) -> None:
    """The interval of tied scores lay inside the certain bounds, and never had the truth."""
    truth = float(ndtr(np.sqrt(2)))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        normals, anomalies = rng.normal(size=500), rng.normal(2, 1, size=500)
        counts = [np.histogram(scores, edges)[0] for scores in (normals, anomalies)]
        table = ScoreSketch.from_counts(edges, *counts).evaluate(["auc"], confidence_level=0.95)
        interval, value = table.intervals["auc"], table["auc"]
        assert interval.low < truth < interval.high
        of_scores = fastad.interval(np.repeat([0, 1], 500), [*normals, *anomalies], measure="auc")
        assert interval.low <= of_scores.low < of_scores.high <= interval.high
        assert 0 <= interval.low <= value.low <= value.high <= interval.high <= 1


def test_intervals_need_counts_of_samples() -> None:
    sketch = ScoreSketch.from_counts(EDGES, [30, 9, 1], [1, 5, 20])
    interval = sketch.interval(measure="auc", rng=0)
    assert interval.bounds == sketch.roc_auc()
    assert interval.interval.low < sketch.roc_auc().value < interval.interval.high
    table = sketch.evaluate(["auc", "tpr@0.1"], confidence_level=0.95, rng=0)
    assert table.intervals["auc"] == interval.interval
    assert table.intervals.keys() == {"auc", "tpr@0.1"}
    assert "95 % confidence" in str(table)
    columns = table.to_columns()
    assert columns["interval_low"][0] == interval.interval.low
    assert np.isnan(columns["interval_high"][-1])
    assert table.to_dict()["measures"]["auc"]["interval"] == interval.interval.to_dict()
    weighted = ScoreSketch.from_counts(EDGES, [30, 9.5, 1], [1, 5, 20])
    with pytest.raises(InvalidInputError, match="integers"):
        weighted.interval(measure="auc")
