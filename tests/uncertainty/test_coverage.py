"""The tables that ``method="auto"`` follows: where they come from, and what is selected by them."""

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import binom

import fastad
from bench import auto_coverage, false_positives
from bench import coverage as study
from bench.families import FAMILIES
from bench.pages import read_rows
from fastad._core.types import ComparisonMethod
from fastad.errors import LowCoverageWarning
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.paired import rank_detectors
from fastad.uncertainty.intervals.interval_estimation import (
    Task,
    check_options,
    estimate_interval,
    intervals_of,
)
from fastad.uncertainty.intervals.methods import (
    ANY_SIZE,
    Coverage,
    Limits,
    best_method,
    coverage_table,
    delong_keeps_level,
    limits_of,
    methods_of,
    select_method,
)
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.bootstrap import IndependentSample

ROWS = read_rows(study.TABLE)
# Of 1000 pairs of equal detectors of which 6.5 % differ.
MOST = 0.065 + 3.1 * math.sqrt(0.065 * 0.935 / 1000)


def least(n_tried: int) -> float:
    """Return how many intervals with a coverage of 92 % cover, but for one cell of a thousand."""
    return 0.92 * n_tried - 3.1 * math.sqrt(0.92 * 0.08 * n_tried)


def row_of(key: str, method: str, cell: study.Cell) -> dict[str, str]:
    """Return the row of the table with the coverage of a cell."""
    (row,) = (
        row
        for row in ROWS
        if (row["key"], row["method"]) == (key, method)
        and (int(row["n_anomalies"]), int(row["n_normals"])) == cell[:2]
    )
    return dict(row)


def interval_by(counts: OrderedCounts, method: str, bound: BoundMeasure = study.AREA) -> Interval:
    """Return the interval of a sample by a method that draws nothing."""
    options = check_options("auto", 0.95, 1, 0)
    task = Task(bound, bound.value(counts), method)
    return estimate_interval(IndependentSample(counts), task, options, None)


def test_every_measure_and_method_is_in_the_table() -> None:
    tried = {(row["measure"], row["method"]) for row in ROWS}
    for bound in study.measures(study.Cell(*study.FEW_SIZES[0], "Gaussian")):
        for method in methods_of(bound):
            assert (bound.measure.name, method) in tried
    values = {row.name for row in MEASURES.values() if row.kind == "value"}
    if missing := sorted(values - {measure for measure, _ in tried}):
        pytest.skip(f"the coverage of intervals is not measured: {', '.join(missing)}")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "key", "methods"),
    [
        (study.Cell(30, 100, "Gaussian"), "auc", ("delong", "logit", "newcombe", "combined")),
        (study.Cell(10, 300, "half hidden"), "ap", ("delong", "logit")),
        (study.Cell(30, 30, "heavy-tailed"), "tpr@0.05", ("order",)),
        (study.Cell(30, 300, "tied"), "f1@0.05", ("order",)),
        (study.Cell(100, 100, "nearly perfect"), "auc@0.05", ("delong", "logit")),
    ],
)
def test_rows_come_from_the_study(cell: study.Cell, key: str, methods: tuple[str, ...]) -> None:
    bound = bind(key, {})
    sizes = cell.n_anomalies * study.SCALE, cell.n_normals * study.SCALE
    true = bound.value(FAMILIES[cell.family].population(*sizes, whole=False))
    n_seeds = study.N_SEEDS_OF_AREA if bound == study.AREA else study.N_SEEDS
    samples = [cell.sample(seed) for seed in range(n_seeds)]
    for method in methods:
        covered = []
        for counts in samples:
            interval = interval_by(counts, method, bound)
            covered.append(interval.low - 1e-12 <= true <= interval.high + 1e-12)
        row = row_of(key, method, cell)
        assert float(row[cell.family]) == pytest.approx(np.mean(covered), abs=1e-4)


@pytest.mark.slow
def test_resampled_rows_come_from_the_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few seeds of one cell by all methods: those over which the whole table averages."""
    cell = study.Cell(100, 300, "tied")
    monkeypatch.setattr(study, "N_SEEDS", 25)
    monkeypatch.setattr(study, "N_SEEDS_OF_CURVES", 25)
    monkeypatch.setattr(study, "measures", lambda *_: [bind("auc", {}), bind("ap", {})])
    methods = set()
    for row in study.measure(cell):
        whole = row_of(row["key"], row["method"], cell)
        assert abs(row["coverage"] - float(whole[cell.family])) < 0.2
        methods.add(row["method"])
    closed = {"delong", "logit", "newcombe", "pairs"}
    assert methods == {*closed, "combined", "fiducial", "bootstrap", "basic", "bca"}


def test_intervals_without_a_note_cover_the_true_value() -> None:
    """In every cell of the table of `auto`, over five families and both numbers."""
    few = [
        row
        for row in read_rows(auto_coverage.TABLE)
        if int(row["without_note"]) >= 100
        and int(row["covering"]) < least(int(row["without_note"]))
    ]
    assert few == []


def test_equal_detectors_seldom_differ_where_delong_is_selected() -> None:
    n_selected = 0
    for row in read_rows(false_positives.BY_FAMILY):
        if row["method"] != "delong":
            continue
        options = false_positives.RANGE if row["key"] in ("auc_rp", "auc_p", "auc_scored") else {}
        bound = bind(row["key"], options)
        sizes = int(row["n_anomalies"]), int(row["n_normals"])
        if delong_keeps_level(bound, *sizes):
            assert float(row["rate"]) <= MOST, row
            n_selected += 1
    assert n_selected > 100


def test_comparisons_that_call_equal_detectors_different_are_warned_of() -> None:
    """The gain of precision, by Student's method, in up to a third of such data sets."""
    labels = np.arange(3030) < 30
    a, b = false_positives.PAIRS["heavy-tailed"](np.random.default_rng(0), labels)
    with pytest.warns(LowCoverageWarning, match=r"equal detectors to differ in \d+ %"):
        fastad.compare(labels, a, b, measure="auc_prg")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowCoverageWarning)
        fastad.compare(labels, a, b, measure="auc")


@pytest.mark.parametrize("key", ["auc", "ap", "auc@0.05"])
def test_the_bench_has_the_p_values_of_both_methods_by_a_variance(key: str) -> None:
    labels = np.arange(130) < 30
    a, b = false_positives.PAIRS["tied"](np.random.default_rng(1), labels)
    detectors = rank_detectors(check_labels(labels), [("a", "a", a), ("b", "b", b)])
    options = check_options("student", 0.95, 1, 0, methods=("student",))
    first, second = (bind(key, {}).value(each.counts) for each in detectors.samples)
    p_values = false_positives._by_variance(detectors, bind(key, {}), options, first - second)
    methods: tuple[ComparisonMethod, ...] = ("delong", "student")
    for method in methods:
        result = fastad.compare(labels, a, b, measure=key, method=method)
        assert p_values[method] == result.p_value


def test_a_bench_that_was_stopped_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []

    def measure(cell: tuple[int, int]) -> list[dict[str, Any]]:
        measured.append(cell)
        return [{"sum": sum(cell)}]

    monkeypatch.setattr(study, "rows_of_cells", map)
    notes = tmp_path / "table.partial"
    assert study.resumed(measure, [(1, 2)], notes) == [{"sum": 3}]
    for _ in range(2):
        assert study.resumed(measure, [(3, 4), (1, 2)], notes) == [{"sum": 7}, {"sum": 3}]
    assert measured == [(1, 2), (3, 4)]


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("key", "cell"),
    [
        ("auc@0.01", study.Cell(400, 60, "Gaussian")),
        ("auc@0.01", study.Cell(30, 1000, "heavy-tailed")),
        ("auc@0.05", study.Cell(100, 1000, "nearly perfect")),
        ("tpr@0.001", study.Cell(100, 300, "Gaussian")),
        ("f1@0.01", study.Cell(30, 1000, "heavy-tailed")),
        ("precision@fpr0.05", study.Cell(100, 1000, "nearly perfect")),
        ("ap", study.Cell(100, 1000, "nearly perfect")),
        ("auc", study.Cell(100, 1000, "nearly perfect")),
        ("dcf@threshold1.5", study.Cell(30, 60, "Gaussian")),
        ("auc", study.Cell(15, 100, "half hidden")),
        ("auc", study.Cell(30, 1000, "half hidden")),
        ("auc", study.Cell(100, 2000, "Gaussian")),
        ("tpr@0.05", study.Cell(100, 300, "stepped")),
        ("tpr@0.05", study.Cell(100, 300, "five levels")),
        ("fpr@tpr0.9", study.Cell(200, 300, "eight levels")),
    ],
)
def test_auto_covers_the_true_value(
    key: str, cell: study.Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table of 1 000 normal samples at an FPR of 5 % had been taken for granted.

    Of methods that draw whole curves one cell is tried; the table has the others.
    """
    monkeypatch.setattr(auto_coverage, "measures", lambda _: [bind(key, {})])
    (row,) = auto_coverage.measure(cell, seeds=range(50_000, 50_120))
    assert row["without_note"] + row["noted"] >= 110
    if row["without_note"] >= 100:
        assert row["covering"] >= least(row["without_note"])


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("sizes", [(30, 30), (1000, 50)])
@pytest.mark.parametrize("key", ["auc@0.01", "auc@0.05", "auc@tpr0.9", "auc_prg"])
def test_equal_detectors_seldom_differ(key: str, sizes: tuple[int, int]) -> None:
    labels = np.arange(sum(sizes)) < sizes[0]
    n_tried, n_wrong = 100, 0
    for seed in range(n_tried):
        a, b = false_positives.PAIRS["Gaussian"](np.random.default_rng([seed, 77]), labels)
        result = fastad.compare(labels, a, b, measure=key, n_resamples=199, rng=seed)
        n_wrong += result.is_significant
    assert n_wrong <= n_tried * (0.065 + 3.1 * math.sqrt(0.065 * 0.935 / n_tried))


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(("n", "m"), [(10, 1000), (20, 1000), (30, 300), (1000, 100), (1000, 1000)])
def test_areas_are_covered_that_one_sample_decides(n: int, m: int, label: int) -> None:
    """One sample of this class in so many is on the wrong side of all others.

    Seldom enough that DeLong's variance excludes the true value wherever the sample has one: it
    covered in 88 to 90 %. Probabilities are binomial, nothing is drawn.
    """
    labels = np.arange(n + m) < n
    of_class = np.flatnonzero(labels == label)
    for expected in (0.1, 0.13):
        probability, n_without = 0.0, 0.0
        for k in range(7):
            scores = 2.0 * labels + np.linspace(0, 1, n + m)
            scores[of_class[:k]] = -9 if label else 9
            result = quiet_interval(labels, scores, measure="auc")
            part = binom.pmf(k, of_class.shape[0], expected / of_class.shape[0])
            if result.reliability_note is None:
                n_without += part
                covers = result.low <= 1 - expected / of_class.shape[0] <= result.high
                probability += part * covers
        assert n_without > 0.8
        assert probability >= 0.95 * n_without


@pytest.mark.parametrize("tpr", [0.97, 0.99])
def test_areas_of_two_levels_and_ten_anomalies_are_covered(tpr: float) -> None:
    """Most samples have a note; without one 0 and 87 % covered."""
    labels = np.arange(1010) < 10
    n_without, probability = 0.0, 0.0
    for k in range(11):
        scores = np.where(labels, np.arange(1010) < k, np.arange(1010) < 15).astype(float)
        result = quiet_interval(labels, scores, measure="auc")
        if result.reliability_note is None:
            n_without += binom.pmf(k, 10, tpr)
            covers = result.low <= (tpr + 0.995) / 2 <= result.high
            probability += binom.pmf(k, 10, tpr) * covers
    assert probability >= 0.95 * n_without


@pytest.mark.parametrize("measure", ["ap", "auc_pr"])
def test_precisions_are_covered_that_one_sample_decides(measure: str) -> None:
    """Half a percent of the anomalies above all others, which are below all normals."""
    n, m, part, times = 20, 10_000, 0.005, 1000
    labels = np.arange(n + m) < n
    at_rank = np.arange(1, n * times + 1)
    precisions = at_rank / (at_rank + m * times)
    precisions[: round(part * n * times)] = 1
    probability = 0.0
    for k in range(5):
        scores = np.where(labels, np.where(np.arange(n + m) < k, 9, -9), 0) + np.linspace(
            0, 1, n + m
        )
        result = quiet_interval(
            labels, scores, measure=measure, method="combined", n_resamples=200, rng=0
        )
        covers = result.low <= precisions.mean() <= result.high
        probability += binom.pmf(k, n, part) * covers
    assert probability >= 0.95


@pytest.mark.parametrize("measure", ["f1@0.2", "precision@fpr0.2"])
def test_a_rate_that_is_1_in_the_sample_is_covered_below_it(measure: str) -> None:
    """Of 30 anomalies that a threshold detects with 95 %, all are above it in a fifth of samples.

    Replicates of these have no other rate; their intervals left out the true value in half of them.
    """
    labels = np.arange(330) < 30
    scores = np.where(labels, np.linspace(81, 120, 330), (7 * np.arange(330) % 300) / 3)
    result = quiet_interval(labels, scores, measure=measure, rng=0)
    assert result.method == "order"
    assert result.reliability_note is None
    detected, flagged = 0.95 * 30, 0.95 * 30 + 60
    true = detected / flagged if measure[0] == "p" else 2 * detected / (flagged + 30)
    assert result.low <= true < result.value


def quiet_interval(labels: Any, scores: Any, **options: Any) -> Interval:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        return fastad.interval(labels, scores, **options)


def row(method: str, coverage: float, width: float, limit: int = 30) -> Coverage:
    return Coverage("average_precision", method, Limits(limit, 1000), coverage, width)


@pytest.mark.parametrize(
    ("rows", "method", "coverage"),
    [
        ([row("a", 0.95, 2.0), row("b", 0.94, 1.0)], "b", 0.94),
        ([row("a", 0.95, 1.04), row("b", 0.94, 1.0)], "a", 0.95),
        ([row("a", 0.95, 2.0), row("b", 0.92, 1.0)], "a", 0.95),
        ([row("a", 0.89, 2.0), row("b", 0.92, 3.0)], "b", 0.92),
        ([row("a", 0.95, 1.0), row("a", 0.8, 1.0), row("b", 0.93, 3.0)], "b", 0.93),
        # With many samples the lowest of some families is as low by chance.
        ([row("a", 0.95, 2.0, 100), row("b", 0.92, 1.0, 100)], "b", 0.92),
        # With few samples, what is valid for any size, or has more than the sample's variance.
        ([row("fiducial", 0.99, 2.0, 19), row("b", 0.95, 1.0, 19)], "fiducial", 0.99),
        ([row("fiducial", 0.99, 2.0, 15), row("combined", 0.95, 1.0, 15)], "combined", 0.95),
        ([row("fiducial", 0.99, 2.0, 15), row("combined", 0.92, 1.0, 15)], "fiducial", 0.99),
        ([row("fiducial", 0.99, 2.0, 20), row("b", 0.95, 1.0, 20)], "b", 0.95),
        ([row("a", 0.93, 2.0, 3), row("b", 0.95, 1.0, 3)], "b", 0.95),
        # Valid by theory; a table of some data sets does not refute it.
        ([row("a", 0.89, 2.0), row("order", 0.925, 3.0)], "order", 0.925),
    ],
)
def test_the_best_method_is_the_narrowest_with_sufficient_coverage(
    rows: list[Coverage], method: str, coverage: float
) -> None:
    assert best_method(rows) == (method, coverage)


def choose(bound: BoundMeasure, n: int, m: int, shift: float) -> tuple[str, float | None]:
    rng = np.random.default_rng(0)
    labels = np.arange(n + m) < n
    return select_method(bound, count(labels, rng.normal(size=n + m) + shift * labels))


@pytest.mark.parametrize("n", [1, 9, 10, 99, 5000])
@pytest.mark.parametrize("m", [1, 29, 30, 400, 5000])
@pytest.mark.parametrize("shift", [-3.0, 1.0, 5.0])
def test_a_method_is_selected_for_all_data(n: int, m: int, shift: float) -> None:
    cell = study.Cell(*study.FEW_SIZES[0], "Gaussian")
    for bound in [*study.measures(cell), bind("precision", {"threshold": 1.0})]:
        method, coverage = choose(bound, n, m, shift)
        assert method in methods_of(bound)
        if coverage is None:
            assert method in ANY_SIZE
        else:
            assert math.isnan(coverage) or 0 <= coverage <= 1
            assert (n, m) != (5000, 5000) or not math.isnan(coverage)


@pytest.mark.parametrize(
    ("key", "limits"),
    [
        ("auc", (40.0, 500.0)),
        ("auc@0.01", (40.0, 5.0)),
        ("tpr@0.001", (40.0, 0.5)),
        ("precision@fpr0.2", (40.0, 100.0)),
        ("np@0.05", (40.0, 25.0)),
        ("np@3", (40.0, 500.0)),
        ("auc@tpr0.9", (4.0, 500.0)),
        ("fpr@tpr0.95", (2.0, 500.0)),
        ("ht_auc@0.2", (40.0, 500.0)),
    ],
)
def test_samples_beyond_the_operating_point_limit_a_measure(
    key: str, limits: tuple[float, float]
) -> None:
    assert limits_of(bind(key, {}), 40, 500) == limits


def test_samples_of_a_size_in_the_table_follow_its_row() -> None:
    """Ten anomalies beyond a TPR of 0.9 are one: 1 - 0.9 as a float is less than 0.1."""
    rows = [x for x in ROWS if x["key"].split("@")[-1][0].isdigit() or "tpr" in x["key"]]
    assert len(rows) > 100
    for each in rows:
        limits = limits_of(bind(each["key"], {}), int(each["n_anomalies"]), int(each["n_normals"]))
        assert limits == (float(each["anomalies"]), float(each["normals"])), each


@pytest.mark.parametrize("key", ["auc", "auc@0.01", "tpr@0.05", "auc@tpr0.9", "ap"])
@pytest.mark.parametrize("shift", [1.0, 5.0])
def test_the_selection_follows_the_largest_data_within_both_limits(key: str, shift: float) -> None:
    bound = bind(key, {})
    table = coverage_table(nearly_perfect=shift == 5.0)[bound.measure.name]
    for n, m in ((10, 30), (29, 5000), (450, 299), (5000, 5000)):
        given = limits_of(bound, n, m)
        within = [
            row.limits
            for row in table
            if row.limits.anomalies <= given.anomalies and row.limits.normals <= given.normals
        ]
        nearest = max(within)
        assert all(limits.anomalies <= nearest.anomalies for limits in within)
        rows = [row for row in table if row.limits == nearest]
        expected: list[tuple[str, float | None]] = [best_method(rows)]
        if "order" in methods_of(bound):
            # Of few samples a step cannot be ruled out.
            expected.append(("order", None))
        assert choose(bound, n, m, shift) in expected


@pytest.mark.parametrize(("kinds", "method"), [(1, "newcombe"), (2, "logit")])
def test_the_method_of_the_larger_variance_is_selected(kinds: int, method: str) -> None:
    """Quantiles of N(1.5, 1), and of anomalies of which half are as normals and half far above."""
    n, m = 30, 1000
    middle = [ndtri((np.arange(size) + 0.5) / size) for size in (m, n)]
    shift = 1.5 if kinds == 1 else 3.0 * (np.arange(n) % 2)
    counts = count(np.arange(n + m) >= m, np.concatenate([middle[0], middle[1] + shift]))
    selected, coverage = select_method(study.AREA, counts)
    assert selected == "combined"
    assert coverage is not None
    assert coverage >= 0.93
    variances = {
        each: interval_by(counts, each).standard_error ** 2 for each in ("newcombe", "logit")
    }
    assert max(variances, key=lambda each: variances[each]) == method
    assert interval_by(counts, "combined").standard_error ** 2 == variances[method]


@pytest.mark.parametrize(
    ("key", "expected"),
    [("tpr@0.05", "fiducial"), ("fpr@tpr0.9", "fiducial"), ("f1@0.05", "order")],
)
def test_methods_that_are_selected_where_scores_have_few_levels(key: str, expected: str) -> None:
    conservative = bind("tpr_at_fpr", {"fpr": 0.05, "interpolation": "conservative"})
    for seed in range(5):
        counts = study.Cell(400, 1000, "five levels").sample(seed)
        assert select_method(bind(key, {}), counts) == (expected, None)
        assert select_method(conservative, counts) == ("order", None)
        smooth = study.Cell(400, 1000, "Gaussian").sample(seed)
        assert select_method(bind(key, {}), smooth)[0] != "order" or key == "f1@0.05"
        # Between scores that differ.
        stepped = study.Cell(400, 1000, "stepped").sample(seed)
        assert select_method(bind("tpr@0.05", {}), stepped) == ("order", None)


def test_intervals_of_partial_areas_reach_an_end_where_the_curve_steps() -> None:
    """All anomalies lie below exactly 5 % of the normals, so that the area up to there is 0."""
    bound = bind("auc@0.05", {})
    n_covering = 0
    for seed in range(40):
        counts = study.Cell(30, 1000, "anomalies between 95 and 5 % of the normals").sample(seed)
        options = check_options("auto", 0.95, 100, seed)
        (interval,) = intervals_of(IndependentSample.of(counts), [bound], options)
        assert isinstance(interval, Interval)
        n_covering += interval.low == 0
    assert n_covering >= 35


def test_the_best_precision_at_a_recall_of_few_levels_has_a_note() -> None:
    bound = bind("precision@recall0.9", {})
    for seed in range(20):
        for n, m in ((400, 1000), (30, 60)):
            counts = study.Cell(n, m, "five levels").sample(seed)
            method, coverage = select_method(bound, counts)
            assert method == "fiducial"
            assert math.isnan(coverage or 0)
