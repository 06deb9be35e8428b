"""Measures corrected for anomalies hidden among the normals."""

import copy
import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.measures.contamination import (
    CorrectedMeasure,
    corrected,
    corrected_measure,
    refuse_unidentified,
)
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind, example_key
from fastad.ordering.counts import OrderedCounts, count
from fastad.ordering.hidden import ContaminatedCounts, largest_contamination
from tests.support.loops import loop


def without_hidden(counts: OrderedCounts, fraction: Fraction) -> OrderedCounts:
    """The corrected counts at all points."""
    observed = ContaminatedCounts.of(counts, fraction)
    return observed.all_points() if isinstance(observed, ContaminatedCounts) else observed


VALUES = [
    name
    for name, measure in MEASURES.items()
    if measure.kind == "value" and measure.rises_with_curve
]
CORRECTED = {
    *VALUES,
    *("roc_curve", "det_curve", "precision_recall_curve", "threshold_at_fpr", "confusion_at"),
}

scores = st.lists(st.integers(0, 12), min_size=1, max_size=9)


def mixture(anomalies: list[int], normals: list[int], k: int) -> tuple[Any, Any, Any, Fraction]:
    """Labels as they are seen, the true ones, and scores: each anomaly k times hidden."""
    s = np.array([*anomalies, *normals, *(k * anomalies)])
    seen = np.repeat([1, 0], [len(anomalies), len(s) - len(anomalies)])
    true = np.repeat([1, 0, 1], [len(anomalies), len(normals), k * len(anomalies)])
    n_hidden = k * len(anomalies)
    return seen, true, s, Fraction(n_hidden, n_hidden + len(normals))


# The correction is exact where the hidden anomalies are distributed as the labelled ones.


@given(scores, scores, st.integers(1, 3))
def test_counts_are_those_of_the_true_labels(a: list[int], b: list[int], k: int) -> None:
    seen, true, s, fraction = mixture(a, b, k)
    result, expected = without_hidden(count(seen, s), fraction), count(true, s)
    # Points where nothing but rounding adds to the true labels' counts may be left out, or not.
    at = np.searchsorted(-expected.thresholds(), -result.thresholds()) + 1
    np.testing.assert_allclose(result.fps[1:], expected.fps[at], atol=1e-9)
    np.testing.assert_allclose(result.tps[1:], expected.tps[at], atol=1e-9)
    assert result.n_anomalies == pytest.approx(expected.n_anomalies, rel=1e-12)
    assert result.n_normals == pytest.approx(expected.n_normals, rel=1e-12)
    assert result.keys is not None
    assert (np.diff(result.fps) >= 0).all()


SMALL = {
    name: bind(example_key(MEASURES[name]), {})
    for name in VALUES
    # At an operating point a last digit decides which point of the curve it is.
    if name in ("roc_auc", "average_precision", "pr_auc", "equal_error_rate", "best_f1")
} | {name: bind(name, {"threshold": 5}) for name in RATES}


@pytest.mark.parametrize("name", sorted(SMALL))
@given(scores, scores, st.integers(1, 3))
def test_measures_are_those_of_the_true_labels(
    name: str, a: list[int], b: list[int], k: int
) -> None:
    seen, true, s, fraction = mixture(a, b, k)
    bound = SMALL[name]
    expected = bound.value_or_nan(count(true, s))
    result = corrected(bound, fraction).value_or_nan(count(seen, s))
    assert result == pytest.approx(expected, abs=1e-9, nan_ok=True)


POINTS = [
    {"measure": "tpr_at_fpr", "fpr": 0.1},
    {"measure": "fpr_at_tpr", "tpr": 0.7},
    {"measure": "auc_at_fpr", "fpr": 0.1},
    {"measure": "auc_at_tpr", "min_tpr": 0.5},
    {"measure": "precision_at_fpr", "fpr": 0.1},
    {"measure": "f1_at_fpr", "fpr": 0.1},
    {"measure": "np_score", "alpha": 0.1},
    {"measure": "recall_at_precision", "precision": 0.4},
    {"measure": "log_auc", "min_fpr": 0.05, "max_fpr": 0.5},
    {"measure": "enrichment_factor", "fraction": 0.1},
    {"measure": "robust_initial_enhancement", "alpha": 5},
    {"measure": "bedroc", "alpha": 5},
    {"measure": "precision_at_recall", "recall": 0.6},
    {"measure": "min_detection_cost", "prevalence": 0.1, "cost_miss": 2, "cost_false_alarm": 1},
    {"measure": "recall_at_k", "k": 30},
    {"measure": "precision_at_k", "k": 30},
]


@loop("options", POINTS)
def test_measures_at_a_point_are_those_of_the_true_labels(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    # Distinct scores of normals, so that no two points of the curve lie near each other.
    a = (rng.integers(70, 110, 20) * 1000).tolist()
    b = rng.choice(99_000, 300, replace=False).tolist()
    seen, true, s, fraction = mixture(a, b, 2)
    parameters = {name: value for name, value in options.items() if name != "measure"}
    bound = bind(options["measure"], parameters)
    expected = bound.value(count(true, s))
    assert corrected(bound, fraction).value(count(seen, s)) == pytest.approx(expected, rel=1e-9)
    # Hidden anomalies leave alone which fraction of the anomalies is among the highest.
    ranks = ("recall_at_k", "enrichment_factor", "robust_initial_enhancement")
    if bound.measure.name not in ranks:
        assert bound.value_or_nan(count(seen, s)) != pytest.approx(expected, rel=1e-3)


def test_every_point_measure_is_tried() -> None:
    tried = {options["measure"] for options in POINTS} | {
        name for name in SMALL if name not in RATES
    }
    assert tried == set(VALUES)


def test_curves_and_thresholds_are_those_of_the_true_labels() -> None:
    a, b = [3, 5, 5, 8], [0, 1, 2, 4, 4, 7]
    seen, true, s, fraction = mixture(a, b, 1)
    result, expected = (
        fastad.rank_scores(labels, s, contamination=c)
        for labels, c in ((seen, fraction), (true, None))
    )
    for name in ("roc_curve", "det_curve", "precision_recall_curve"):
        one, other = getattr(result, name)(), getattr(expected, name)()
        for field in ("fpr", "tpr", "fnr", "precision", "recall", "thresholds"):
            if hasattr(one, field):
                np.testing.assert_allclose(
                    getattr(one, field), getattr(other, field), atol=1e-12, err_msg=name
                )
    assert result.contamination == float(fraction)


@given(scores, scores, st.integers(1, 3), st.fractions(0, 1).filter(lambda x: x < 1))
def test_the_area_is_linear_in_that_of_the_labels(
    a: list[int], b: list[int], k: int, fraction: Fraction
) -> None:
    seen, _, s, _ = mixture(a, b, k)
    counts = count(seen, s)
    observed = bind("auc", {}).value(counts)
    pi = float(fraction)
    expected = min(max((observed - pi / 2) / (1 - pi), 0), 1)
    assert corrected(bind("auc", {}), fraction).value(counts) == pytest.approx(expected, abs=1e-9)


# Curves that would fall.


def nearest_rising(values: Any, weights: Any) -> list[float]:
    """The least squares fit that rises: the max-min formula over all intervals."""
    n = len(values)

    def mean(i: int, j: int) -> float:
        return float(np.dot(values[i : j + 1], weights[i : j + 1]) / sum(weights[i : j + 1]))

    return [max(min(mean(i, j) for j in range(at, n)) for i in range(at + 1)) for at in range(n)]


@given(scores, scores, st.fractions(0, 1).filter(lambda x: x < Fraction(9, 10)))
def test_counts_are_the_nearest_that_rise(a: list[int], b: list[int], fraction: Fraction) -> None:
    y, s = [1] * len(a) + [0] * len(b), [*a, *b]
    counts, result = count(y, s), without_hidden(count(y, s), fraction)
    steps_of = np.diff(result.fps), np.diff(result.tps)
    assert (steps_of[0] + steps_of[1] > 0).all()
    pi = float(fraction)
    as_is = counts.fps - pi * len(b) / len(a) * counts.tps
    steps = np.diff(counts.tps)
    weights = np.append(steps, 0) + np.append(0, steps)
    corners = np.flatnonzero(weights)
    rising = np.clip(nearest_rising(as_is[corners], weights[corners]), 0, (1 - pi) * len(b))
    expected = np.empty(len(as_is))
    expected[corners] = rising
    assert (np.diff(result.fps) >= 0).all()
    assert result.fps[-1] == result.n_normals
    # Between corners the numbers are as they are, where those at the corners leave room.
    between = np.flatnonzero(weights == 0)
    for i in between.tolist():
        low = max([0.0, *rising[corners < i]])
        high = min([(1 - pi) * len(b), *rising[corners > i]])
        expected[i] = min(max(as_is[i], low), high)
    expected[-1] = result.n_normals
    # Of equal points the last is left, and of those where nothing is flagged the first.
    scores_kept = result.thresholds().tolist()
    for i, score in enumerate(counts.thresholds().tolist(), start=1):
        if score in scores_kept:
            assert result.fps[1 + scores_kept.index(score)] == pytest.approx(expected[i], abs=1e-9)
        else:
            same_as_next = i + 1 < len(expected) and (
                expected[i + 1] - expected[i] < 1e-9 and steps[i] == 0
            )
            assert same_as_next or (expected[i] < 1e-9 and counts.tps[i] == 0)


def test_the_area_under_the_corrected_curve_is_the_corrected_area() -> None:
    """But for what is cut off at the ends of the square: least squares keep it."""
    rng = np.random.default_rng(0)
    hidden = rng.random(3000) < 0.1
    y = np.repeat([1, 0], [400, 3000])
    s = rng.normal(size=3400) + 0.8 * np.r_[np.ones(400), hidden]
    counts = count(y, s)
    as_is = counts.fps - 0.1 * 3000 / 400 * counts.tps
    assert (np.diff(as_is) < 0).any()
    ranked = fastad.rank_scores(y, s, contamination=0.1)
    curve = ranked.roc_curve()
    area = np.trapezoid(curve.tpr, curve.fpr)
    assert area == pytest.approx(ranked.roc_auc(), abs=1e-4)


# Measures need few of the points.

NUMBERS: list[dict[str, Any]] = [
    *POINTS,
    *({"measure": name} for name in ("average_precision", "pr_auc", "best_f1", "equal_error_rate")),
    {"measure": "auc_at_fpr", "fpr": 0.3, "min_fpr": 0.1},
    {"measure": "tpr_at_fpr", "fpr": 0.25, "interpolation": "conservative"},
    {"measure": "fpr_at_tpr", "tpr": 0.5, "interpolation": "conservative"},
    *({"measure": name, "fpr": 0.3} for name in ("precision_at_fpr", "threshold_at_fpr")),
    {"measure": "threshold_at_fpr", "fpr": 0.02},
    {"measure": "threshold_at_fpr", "fpr": 0.0},
    {"measure": "f1_at_fpr", "fpr": 1.0},
]


@pytest.mark.parametrize("options", NUMBERS, ids=lambda x: x["measure"])
@given(st.integers(0, 100), st.sampled_from([0.01, 0.1, 0.4]), st.booleans())
def test_a_measure_is_the_same_at_the_points_it_needs(
    options: dict[str, Any], seed: int, fraction: float, tied: bool
) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 5, 300) == 0
    s = (rng.integers(0, 40, 300) if tied else rng.normal(size=300) * 20) + 10 * y
    counts = count(y, s)
    parameters = {name: value for name, value in options.items() if name != "measure"}
    measure = MEASURES[options["measure"]]
    checked = measure.check(parameters)
    result = corrected_measure(measure, Fraction(fraction)).compute
    expected: Any
    try:
        expected = measure.compute(without_hidden(counts, Fraction(fraction)), **checked)
    except UndefinedMeasureError as error:
        with pytest.raises(UndefinedMeasureError, match=str(error)[:30]):
            result(counts, **checked)
        return
    value = result(counts, **checked)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert getattr(value, "threshold", None) == getattr(expected, "threshold", None)


# Nothing moves without it.


def test_without_hidden_anomalies_nothing_moves() -> None:
    rng = np.random.default_rng(1)
    y, s = rng.integers(0, 2, 200), rng.normal(size=200)
    plain, zero = fastad.rank_scores(y, s), fastad.rank_scores(y, s, contamination=0)
    assert zero.weighted_auc() == plain.weighted_auc()
    for contamination in (None, 0, 0.0, (0, 0)):
        options: dict[str, Any] = {"measure": "ap", "rng": 0, "n_resamples": 100}
        result = fastad.interval(y, s, contamination=contamination, **options)
        assert result == fastad.interval(y, s, **options)
    assert str(fastad.evaluate(y, s, contamination=0)) == str(fastad.evaluate(y, s))
    assert fastad.evaluate(y, s).to_dict() == fastad.evaluate(y, s, contamination=0).to_dict()


# One threshold, one answer.


@loop("seed", range(20))
def test_all_doors_agree_on_what_a_threshold_flags(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [50, 400])
    s = np.round(rng.normal(size=450) + 2 * y, 1 + seed % 2)
    options: dict[str, Any] = {"measures": ["tpr@0.05"], "contamination": 0.02}
    (point,) = fastad.evaluate(y, s, **options)["score"].operating_points
    assert point.threshold is not None
    assert point.n_flagged == pytest.approx(np.count_nonzero(s >= point.threshold), rel=1e-12)
    given = fastad.evaluate(y, s, threshold=point.threshold, **options)["score"]
    other = given.operating_points[-1]
    assert (point.tp, point.fp) == (other.tp, other.fp)
    ranked = fastad.rank_scores(y, s, contamination=0.02)
    confusion = ranked.confusion_at(threshold=point.threshold)
    assert (confusion.tp, confusion.fp) == (point.tp, point.fp)
    expected = pytest.approx(ranked.precision_at_k(k=30), rel=1e-12)  # of counts as floats
    assert ranked.confusion_at(k=30).precision == expected


# Refusals.

Y, S = [0] * 60 + [1] * 40, [*range(60), *range(40, 80)]


@loop("name", sorted(MEASURES))
def test_each_measure_is_corrected_or_refused(name: str) -> None:
    measure = MEASURES[name]
    if name in CORRECTED:
        result = corrected_measure(measure, Fraction(1, 100))
        assert isinstance(result, CorrectedMeasure)
        assert (result.plain, result.from_order, result.curve_part) == (measure, None, None)
        return
    with pytest.raises(InvalidInputError, match=f"not be given for {name}: no correction"):
        corrected_measure(measure, Fraction(1, 100))


def test_what_is_not_derived_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="chance must not be True with contamination"):
        fastad.evaluate(Y, S, contamination=0.1, chance=True)
    with pytest.raises(InvalidInputError, match="not be given for weighted_auc"):
        fastad.evaluate(Y, S, contamination=0.1, measures=["auc_w"])
    table = fastad.evaluate(Y, S, contamination=0.1)
    assert "no correction is derived" in table["score"].undefined["auc_w"]
    assert "corrected for a fraction 0.1 of anomalies among normals" in str(table)


CALLS: list[Any] = [
    lambda c: fastad.rank_scores(Y, S, contamination=c),
    lambda c: fastad.evaluate(Y, S, contamination=c),
    lambda c: fastad.interval(Y, S, measure="auc", contamination=c),
]


@loop("call", CALLS)
@loop(
    ("value", "message"),
    [
        (1, r"contamination must lie in \[0, 1\); found 1"),
        (-0.1, r"contamination must lie in \[0, 1\); found -0.1"),
        (math.nan, "contamination must be finite; found nan"),
        ("x", "contamination must be a number; found str"),
        (True, "contamination must be a number; found bool"),
        (0.9, "must not exceed what the data allow: .* at most 0.* found 0.9"),
    ],
)
def test_bad_fractions_are_refused(call: Any, value: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call(value)
    assert getattr(caught.value, "argument", None) == "contamination"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((0.2, 0.1), "must not fall from its lowest to its highest; found 0.2 > 0.1"),
        ((0.1,), r"must be a number or a pair \(lowest, highest\); found 1 entries"),
        ((0, 1), r"contamination\[1\] must lie in \[0, 1\); found 1"),
        ((0.8, 0.9), "must not exceed what the data allow"),
    ],
)
def test_bad_ranges_are_refused(value: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.interval(Y, S, measure="auc", contamination=value)


def test_a_class_that_is_absent_is_refused_in_the_measures_words() -> None:
    for labels in (np.zeros(100, int), np.ones(100, int)):
        ranked = fastad.rank_scores(labels, S, contamination=0.1)
        with pytest.raises(UndefinedMeasureError, match="tpr_at_fpr is undefined without"):
            ranked.tpr_at_fpr(fpr=0.1)
        table = fastad.evaluate(labels, S, contamination=0.1)
        assert math.isnan(table["score"]["auc"])


# What the data allow, and what they tell.


def test_the_bound_on_the_fraction_is_that_of_beta_quantiles() -> None:
    """Twenty anomalies above all normals but two, by hand: the lowest over five ranks."""
    y = [0] * 1000 + [1] * 16
    s = [*range(998), 5000, 5001, *range(2000, 2016)]
    single = 1e-3 / (2 * 5)
    most = stats.beta.ppf(1 - single, 2 + 1, 1000 - 2)
    least = [stats.beta.ppf(single, r, 16 - r + 1) for r in (1, 2, 4, 8, 16)]
    expected = min(most / x for x in least)
    assert largest_contamination(count(y, s)) == pytest.approx(expected, rel=1e-9)
    assert largest_contamination(count(y, s, sample_weight=np.full(1016, 0.5))) == 1


@pytest.mark.evidence
def test_a_true_fraction_is_hardly_ever_refused() -> None:
    refused = 0
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        hidden = rng.random(2000) < 0.02
        y = np.repeat([1, 0], [50, 2000])
        s = rng.normal(size=2050) + 9 * np.r_[np.ones(50), hidden]
        refused += largest_contamination(count(y, s), alpha=0.05) < 0.02
    assert refused <= 0.05 * 2000


def test_a_rate_that_hidden_anomalies_drown_is_not_identified() -> None:
    rng = np.random.default_rng(2)
    hidden = rng.random(20_000) < 0.05
    y = np.repeat([1, 0], [500, 20_000])
    s = rng.normal(size=20_500) + 3 * np.r_[np.ones(500), hidden]
    ranked = fastad.rank_scores(y, s, contamination=0.05)
    assert 0.5 < ranked.tpr_at_fpr(fpr=0.02) < 0.95
    message = (
        "tpr_at_fpr is undefined at contamination 0.05: not identified, because about .* hidden "
        "anomalies are flagged beside 19 normals at FPR 0.001; these samples resolve FPR 0.00"
    )
    with pytest.raises(UndefinedMeasureError, match=message):
        ranked.tpr_at_fpr(fpr=0.001)
    with pytest.raises(UndefinedMeasureError, match=r"auc_at_fpr is undefined .* not identified"):
        fastad.interval(y, s, measure="auc@0.001", contamination=(0.04, 0.05))
    table = fastad.evaluate(y, s, contamination=0.05, fpr=[0.001, 0.02])
    assert "not identified" in table["score"].undefined["tpr@0.001"]
    assert "not identified" in str(table["score"].operating_points[0].undefined)
    assert table["score"]["tpr@0.02"] == ranked.tpr_at_fpr(fpr=0.02)


def test_where_it_begins_is_two_standard_deviations_of_the_hidden() -> None:
    """All anomalies score above all normals: at any FPR the TPR is 1."""
    y = [1] * 400 + [0] * 100 + [0] * 9900
    s = [10] * 500 + (np.arange(9900) / 9900).tolist()
    counts = count(y, s)
    deviation = math.sqrt(100 * (1 - 0.01))
    lowest = 2 * deviation / 9900
    observed, measure = ContaminatedCounts.of(counts, Fraction(1, 100)), MEASURES["tpr_at_fpr"]
    refuse_unidentified(observed, measure, {"fpr": Fraction(lowest * 1.01)})
    with pytest.raises(UndefinedMeasureError, match="not identified"):
        refuse_unidentified(observed, measure, {"fpr": Fraction(lowest * 0.99)})
    refuse_unidentified(counts, measure, {"fpr": Fraction(lowest * 0.99)})


def test_where_it_begins_does_not_depend_on_the_unit_of_weights() -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([1, 0], [500, 20_000])
    s = rng.normal(size=20_500) + 3 * np.r_[np.ones(500), rng.random(20_000) < 0.05]

    def reasons(weights: Any) -> dict[str, str]:
        rates = [0.0005, 0.001, 0.02]
        table = fastad.evaluate(
            y, s, contamination=0.05, measures="tpr_at_fpr", fpr=rates, sample_weight=weights
        )
        return dict(table["score"].undefined)

    expected = reasons(None)
    assert list(expected) == ["tpr@0.0005", "tpr@0.001"]
    for unit in (1e-3, 0.5, 1000.5):
        assert reasons(np.full(len(y), unit)) == expected


# Declarations.


def test_corrected_measures_are_copied_and_pickled() -> None:
    bound = corrected(bind("tpr@0.1", {}), Fraction(1, 20))
    counts = count(Y, S)
    for other in (copy.deepcopy(bound), pickle.loads(pickle.dumps(bound))):
        assert other.value(counts) == bound.value(counts)
        assert isinstance(other.measure, CorrectedMeasure)
        assert other.measure.contamination == Fraction(1, 20)
        assert other.key == "tpr@0.1"


def test_evaluate_shows_what_the_methods_of_ranked_scores_give() -> None:
    rng = np.random.default_rng(3)
    hidden = rng.random(5000) < 0.02
    y = np.repeat([1, 0], [300, 5000])
    s = rng.normal(size=5300) + 2 * np.r_[np.ones(300), hidden]
    groups = rng.integers(0, 2, 5300)
    keys = ["auc", "tpr@0.05", "ap", "precision"]
    table = fastad.evaluate(y, s, measures=keys, threshold=2.0, contamination=0.02)["score"]
    ranked = fastad.rank_scores(y, s, contamination=0.02)
    assert table["auc"] == ranked.roc_auc()
    assert table["tpr@0.05"] == ranked.tpr_at_fpr(fpr=0.05)
    assert table["ap"] == ranked.average_precision()
    point = table.operating_points[-1]
    assert point.tp is not None
    assert point.n_flagged is not None
    assert table["precision@threshold2"] == point.tp / point.n_flagged
    assert table.contamination == 0.02
    assert table.to_dict()["contamination"] == 0.02
    grouped = fastad.evaluate(y, s, groups=groups, measures=keys, threshold=2.0, contamination=0.02)
    own = fastad.rank_scores(y[groups == 1], s[groups == 1], contamination=0.02)
    assert grouped[1]["score"]["auc"] == own.roc_auc()
    assert "corrected for a fraction 0.02" in str(grouped)


def test_bad_data_of_one_group_may_be_recorded() -> None:
    groups = np.repeat([0, 1], 50)
    y = np.tile([0, 1], 50)
    s = np.where(groups == 0, np.arange(100) % 7, 100 * y + np.arange(100))
    with pytest.raises(InvalidInputError, match="what the data allow"):
        fastad.evaluate(y, s, groups=groups, contamination=0.7)
    table = fastad.evaluate(y, s, groups=groups, contamination=0.7, on_error="record")
    assert "what the data allow" in table[1]["score"].undefined["auc"]
