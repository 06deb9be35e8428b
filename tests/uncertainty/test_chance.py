"""`chance_level`: against all permutations, its p-values, seeds and arguments."""

import json
import math
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.chance.chance_level import ChanceLevel, chance_level, chance_of, chances_of
from fastad.uncertainty.samples.bootstrap import IndependentSample
from tests.support.uncertainty import SCORES, VALUES, Vector, labelled, point_options


def value(name: str, y: Vector, s: Vector, options: dict[str, Any]) -> float:
    try:
        if name in RATES:
            return float(getattr(fastad.confusion_at(y, s, **options), name))
        return float(getattr(fastad.measures, name)(y, s, **options))
    except UndefinedMeasureError:
        return math.nan


def every_value(name: str, n: int, s: Vector, options: dict[str, Any]) -> Vector:
    """The values of all choices of n anomalies."""
    choices = combinations(range(len(s)), n)
    return np.array([value(name, labelled(len(s), chosen), s, options) for chosen in choices])


def better(name: str, values: Vector, than: Any) -> Any:
    row = RATES[name] if name in RATES else MEASURES[name]
    sign = -1 if row.higher_is_better is False else 1
    return sign * values >= sign * than - 1e-12


def agrees(result: ChanceLevel, name: str, values: Vector) -> None:
    """The distribution of the values, as `every_value` gives them."""
    defined = values[~np.isnan(values)]
    assert result.expected == pytest.approx(np.mean(defined), abs=1e-12)
    # A deviation of 0 is the root of what rounding has left.
    assert result.standard_deviation == pytest.approx(np.std(defined), abs=1e-8, rel=1e-10)
    assert result.p_value == pytest.approx(np.mean(better(name, defined, result.value)), abs=1e-12)
    assert result.undefined_fraction == pytest.approx(np.mean(np.isnan(values)), abs=1e-12)
    assert (result.method, result.n_resamples) == ("exact", 0)


@pytest.mark.parametrize("row", VALUES, ids=lambda row: row.name)
@pytest.mark.parametrize("ties", SCORES)
def test_every_choice_of_anomalies(ties: str, row: Any) -> None:
    rng = np.random.default_rng(3)
    s, options = SCORES[ties], point_options(row.name)
    for n in (1, 5):
        values = every_value(row.name, n, s, options)
        for _ in range(2):
            y = labelled(8, rng.choice(8, n, replace=False))
            if math.isnan(value(row.name, y, s, options)):
                with pytest.raises(UndefinedMeasureError, match="undefined"):
                    chance_level(y, s, measure=row.name, **options)
            elif np.mean(np.isnan(values)) > 0.5:
                with pytest.raises(UndefinedMeasureError, match="more than half"):
                    chance_level(y, s, measure=row.name, **options)
            else:
                agrees(chance_level(y, s, measure=row.name, **options), row.name, values)


@pytest.mark.parametrize("name", sorted(set(RATES) - {"n_flagged"}))
def test_rates_at_a_threshold(name: str) -> None:
    s, y = SCORES["tied"], labelled(8, [0, 2, 5])
    options: dict[str, Any] = {"threshold": 3.5}
    result = chance_level(y, s, measure=name, **options, n_resamples=1)
    agrees(result, name, every_value(name, 3, s, options))
    best = value(name, labelled(8, [0, 1, 2]), s, options)
    assert result.adjusted == pytest.approx(
        (result.value - result.expected) / (best - result.expected), abs=1e-12
    )


def test_no_labels_change_the_number_of_alarms() -> None:
    result = chance_level(labelled(8, [0, 2]), range(8), measure="n_flagged", threshold=5)
    assert (result.value, result.expected, result.standard_deviation, result.p_value) == (
        3,
        3,
        0,
        1,
    )
    assert math.isnan(result.adjusted)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("auc_at_fpr", {"fpr": 0.7, "min_fpr": 0.3}),
        ("auc_at_fpr", {"fpr": 0.55, "normalize": "none"}),
        ("auc_at_tpr", {"min_tpr": 0.25, "max_tpr": 0.9}),
        ("auc_at_tpr", {"min_tpr": 0.5, "normalize": "none"}),
        ("auc_at_fpr", {"fpr": 0.7, "normalize": "mcclish"}),
        ("weighted_auc", {"quadrature": "exact"}),
        ("tpr_at_fpr", {"fpr": 0.3, "interpolation": "conservative"}),
        ("tpr_at_fpr", {"fpr": 0}),
        ("tpr_at_fpr", {"fpr": 1}),
        ("fpr_at_tpr", {"tpr": 0}),
        ("fpr_at_tpr", {"tpr": 1, "interpolation": "conservative"}),
        ("f1_at_fpr", {"fpr": 0}),
        ("f1_at_fpr", {"fpr": 0.4, "prevalence": 0.1}),
        ("precision_at_fpr", {"fpr": 0.4, "prevalence": 0.1}),
        ("average_precision", {"prevalence": 0.1}),
        ("precision_at_k", {"k": 8}),
        ("precision_at_k", {}),
        ("recall_at_k", {"k": 1}),
        ("recall_at_k", {"k": 5}),
        ("ht_auc", {"alpha": 1}),
        ("lf_auc", {"alpha": 0}),
    ],
)
@pytest.mark.parametrize("ties", ["distinct", "tied"])
def test_options(ties: str, name: str, options: dict[str, Any]) -> None:
    s, y = SCORES[ties], labelled(8, [0, 1, 4])
    agrees(chance_level(y, s, measure=name, **options), name, every_value(name, 3, s, options))


@pytest.mark.parametrize("name", ["f1_at_fpr", "precision_at_fpr", "tpr_at_fpr", "roc_auc"])
@pytest.mark.parametrize("fpr", [0, 0.4])
def test_infinite_scores(name: str, fpr: float) -> None:
    s, y = np.array([np.inf, 3, 2, 1, 0, -np.inf]), labelled(6, [0, 1, 3])
    options: dict[str, Any] = {"fpr": fpr} if name != "roc_auc" else {}
    agrees(chance_level(y, s, measure=name, **options), name, every_value(name, 3, s, options))


def test_no_order_of_distinct_scores_is_better_than_the_perfect_one() -> None:
    s = SCORES["distinct"]
    for row in VALUES:
        for n in (1, 3, 5):
            options = point_options(row.name)
            values = every_value(row.name, n, s, options)
            defined = values[~np.isnan(values)]
            perfect = value(row.name, labelled(8, range(n)), s, options)
            assert np.all(better(row.name, np.array(perfect), defined))


@pytest.mark.parametrize("label", ["auc", "ap", "auc_w", "f1@0.3", "fpr@tpr0.9", "eer", "auc_prg"])
def test_the_perfect_order_adjusts_to_one(label: str) -> None:
    result = chance_level(np.arange(40) >= 30, np.arange(40), measure=label, n_resamples=9, rng=0)
    assert result.adjusted == 1
    worst = chance_level(np.arange(40) < 10, np.arange(40), measure=label, n_resamples=9, rng=0)
    assert worst.adjusted < 0


def test_ties_that_prevent_a_perfect_order_lower_the_adjusted_value() -> None:
    """One anomaly tied with a normal: of four pairs half a one is lost."""
    result = chance_level([1, 1, 0, 0], [2, 1, 1, 0], measure="auc")
    assert (result.value, result.adjusted) == (0.875, 0.75)
    assert chance_level([1, 1, 0, 0], [2, 1, 1, 0], measure="fpr@tpr1").adjusted < 1


def test_adjusted_is_nan_where_the_best_value_is_the_expected_one() -> None:
    result = chance_level([1, 0, 0], [3, 2, 1], measure="recall_at_k", k=3)
    assert (result.value, result.expected, result.p_value) == (1, 1, 1)
    assert math.isnan(result.adjusted)
    result = chance_level([1, 0, 0], [1, 1, 1], measure="auc")
    assert (result.adjusted, result.standard_deviation, result.p_value) == (0, 0, 1)
    assert chance_level([1, 1], [2, 1], measure="ap").p_value == 1


def test_adjustment_against_a_published_one() -> None:
    """Campos et al. 2016, supplement: InternetAds 10 %, version 9, KNNW with k = 17 and 26.

    1775 objects, 177 outliers: P@n 0.50847 and its adjusted value 0.45403, 0.52542 and 0.47286.
    """
    for hits, published, adjusted in ((90, 0.50847, 0.45403), (93, 0.52542, 0.47286)):
        y = labelled(1775, [*range(hits), *range(1000, 1177 - hits)])
        result = chance_level(y, -np.arange(1775.0), measure="precision@n")
        assert result.value == pytest.approx(published, abs=5e-6)
        assert result.adjusted == pytest.approx(adjusted, abs=5e-6)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("label", "digits"), [("auc", 9), ("ap", 0), ("tpr@0.2", 0), ("eer", 0), ("auc_pr", 9)]
)
def test_p_values_keep_their_level(label: str, digits: int) -> None:
    """Without a difference p <= 0.05 in at most 5 % of 250 samples, and values adjust to 0."""
    rng = np.random.default_rng(8)
    results = []
    for i in range(250):
        y, s = np.arange(25) < 8, rng.normal(size=25).round(digits)
        results.append(chance_level(y, s, measure=label, n_resamples=59, rng=i))
    low = np.mean([one.p_value <= 0.05 for one in results])
    assert low <= 0.05 + 4 * (0.05 * 0.95 / 250) ** 0.5
    adjusted = np.array([one.adjusted for one in results])
    assert abs(np.mean(adjusted)) < 4 * np.std(adjusted) / 250**0.5


def test_the_smallest_p_value_of_permutations() -> None:
    y, s = np.arange(60) >= 40, np.arange(60)
    assert chance_level(y, s, measure="auc_pr", n_resamples=99, rng=0).p_value == 0.01
    assert chance_level(y, s, measure="eer", n_resamples=99, rng=0).p_value == 0.01
    assert chance_level(~y, s, measure="auc_pr", n_resamples=99, rng=0).p_value == 1
    assert chance_level(~y, s, measure="eer", n_resamples=99, rng=0).p_value == 1


def test_a_seed_has_one_result_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    y, s = rng.random(300) < 0.2, rng.normal(size=300)
    first = asdict(chance_level(y, s, measure="auc_pr", rng=7, n_resamples=333, n_threads=1))
    for n_threads in (2, 5):
        again = chance_level(y, s, measure="auc_pr", rng=7, n_resamples=333, n_threads=n_threads)
        assert asdict(again) == first
    other = chance_level(y, s, measure="auc_pr", rng=8, n_resamples=333)
    assert other.expected != first["expected"]
    generator = np.random.default_rng(7)
    assert asdict(chance_level(y, s, measure="auc_pr", rng=generator, n_resamples=333)) == first
    order = rng.permutation(300)
    assert (
        asdict(chance_level(y[order], s[order], measure="auc_pr", rng=7, n_resamples=333)) == first
    )


@pytest.mark.slow
def test_measures_share_their_permutations() -> None:
    rng = np.random.default_rng(0)
    counts = count(rng.random(300) < 0.2, rng.normal(size=300))
    labels = ["auc", "ap", "auc_pr", "tpr@0.1", "eer"]
    measures = [bind(label, {}) for label in labels]
    options: dict[str, Any] = {"n_resamples": 99, "key": np.uint64(5)}
    for one, result in zip(
        measures, chances_of(IndependentSample(counts), measures, **options), strict=True
    ):
        assert isinstance(result, ChanceLevel)
        assert asdict(result) == asdict(chance_of(IndependentSample(counts), one, **options))
    assert chances_of(IndependentSample(counts), [], **options) == []


def test_an_undefined_measure_does_not_affect_the_others() -> None:
    counts = count([1, 0, 0], [3, 2, 1])
    measures = [bind("precision_at_fpr", {"fpr": 0}), bind("auc", {})]
    undefined, result = chances_of(
        IndependentSample(counts), measures, n_resamples=9, key=np.uint64(0)
    )
    assert isinstance(undefined, UndefinedMeasureError)
    assert isinstance(result, ChanceLevel)
    real = count([0, 0, 1], [1, 2, 3], sample_weight=[0.5, 1, 1])
    for one in chances_of(IndependentSample(real), measures, n_resamples=9, key=np.uint64(0)):
        assert isinstance(one, UndefinedMeasureError)


def test_plain_values() -> None:
    result = chance_level([1, 0, 0], [3, 2, 1], measure="recall_at_k", k=3)
    assert result.to_dict() == {
        "value": 1.0,
        "expected": 1.0,
        "standard_deviation": 0.0,
        "p_value": 1.0,
        "adjusted": None,
        "method": "exact",
        "n_resamples": 0,
        "undefined_fraction": 0.0,
    }
    assert json.loads(json.dumps(result.to_dict())) == result.to_dict()


def test_whole_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(0)
    y, s, w = rng.random(50) < 0.3, rng.integers(0, 30, 50), rng.integers(0, 4, 50)
    for label in ("auc", "ap", "auc_pr", "precision@n", "tpr@0.1"):
        options: dict[str, Any] = {"measure": label, "n_resamples": 49, "rng": 5}
        weighted = chance_level(y, s, sample_weight=w, **options)
        repeated = chance_level(np.repeat(y, w), np.repeat(s, w), **options)
        assert asdict(weighted) == asdict(repeated)


def test_labels_are_not_exchangeable_between_weights() -> None:
    y, s, clusters = [0, 1] * 20, range(40), np.repeat(range(20), 2)
    cases: list[tuple[Any, Any]] = [([0.5, 1] * 20, {}), ([1, 2] * 20, {"clusters": clusters})]
    for weights, options in cases:
        with pytest.raises(UndefinedMeasureError, match="undefined for sample weights"):
            chance_level(y, s, measure="auc", sample_weight=weights, **options)


def test_real_weights_cannot_be_permuted() -> None:
    counts = count([0, 0, 1], [1, 2, 3], sample_weight=[0.5, 1, 1])
    with pytest.raises(UndefinedMeasureError, match="not integers"):
        chance_of(IndependentSample(counts), bind("auc", {}), n_resamples=9, key=np.uint64(0))


def test_undefined_permutations_are_left_out() -> None:
    """Nothing is flagged at FPR 0 where a normal is highest: in four of ten permutations."""
    y, s = [1, 1, 1, 0, 0], [5, 4, 3, 2, 1]
    result = chance_level(y, s, measure="precision_at_fpr", fpr=0)
    assert result.undefined_fraction == pytest.approx(0.4)
    assert (result.expected, result.p_value) == (1, 1)
    drawn = chance_level(
        y * 20, [x + i for i in range(20) for x in s], measure="precision_at_fpr", fpr=0, rng=0
    )
    assert drawn.n_resamples == 9999
    with pytest.raises(UndefinedMeasureError, match="more than half"):
        chance_level([1, 0, 0], [3, 2, 1], measure="precision_at_fpr", fpr=0)


@pytest.mark.parametrize(
    ("y", "s", "keywords", "message"),
    [
        ([1, 0], [1, 2], {"n_resamples": 0}, "n_resamples must be at least 1"),
        ([1, 0], [1, 2], {"n_resamples": 9.5}, "n_resamples must be an integer"),
        ([1, 0], [1, 2], {"rng": "seed"}, "rng must be"),
        ([1, 0], [1, 2], {"rng": -1}, "rng must not be negative"),
        ([1, 0], [1, 2], {"n_threads": 0}, "n_threads"),
        ([1, 0], [1, 2], {"fpr": 0.1}, "fpr"),
        ([1, 0], [1, np.nan], {}, "y_score"),
        ([1, 0], [1, 2, 3], {}, "y_score"),
        ([1, 2], [1, 2], {}, "y_true"),
    ],
)
def test_invalid_input_is_named(y: Any, s: Any, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        chance_level(y, s, measure="auc", **keywords)


@pytest.mark.parametrize("measure", ["no_such", "roc_curve", "threshold_at_fpr", 5])
def test_invalid_measures_are_named(measure: Any) -> None:
    with pytest.raises((InvalidInputError, TypeError), match="measure"):
        chance_level([1, 0], [1, 2], measure=measure)


@pytest.mark.parametrize(("y", "label"), [([0, 0], "ap"), ([1, 1], "auc"), ([0, 0], "precision@n")])
def test_a_class_that_is_absent(y: list[int], label: str) -> None:
    with pytest.raises(UndefinedMeasureError, match="undefined"):
        chance_level(y, [1, 2], measure=label)
