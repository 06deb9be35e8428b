"""Estimates against the measures of all labels, and intervals against what they should cover."""

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import betabinom, binom

import fastad
from fastad.errors import InvalidInputError
from fastad.labeling import DrawnRows, design, draw, estimate
from fastad.labeling.estimates import sequence_factor
from fastad.labeling.missed import missed_bound, missed_bound_if_uniform, missed_sequence
from tests.support.labeling import Scores, drawn_and_labeled, population
from tests.support.loops import loop

TARGETS = ["tpr@0.05 a vs b", "auc a", "precision@k30 b", "ap a", "fpr@tpr0.7 a", "f1@0.02 b"]


def truth(target: str, y_true: npt.NDArray[np.bool_], scores: Scores) -> float:
    key, _, names = target.partition(" ")
    values = [
        next(iter(fastad.evaluate(y_true, scores[name], measures=[key]).values()))[key]
        for name in names.split(" vs ")
    ]
    return float(values[0] - (values[1] if values[1:] else 0))


def test_anomalies_among_low_scores_have_a_note_where_one_would_decide() -> None:
    """Half of them lie below all normals, where a tenth of the labels finds none."""
    rng = np.random.default_rng(3)
    y_true = rng.random(5000) < 0.03
    scores = rng.normal(size=5000) + np.where(rng.random(5000) < 0.5, 4.0, -4.0) * y_true
    for target, is_noted in (("f1@threshold2", True), ("precision@threshold2", False)):
        plan = design(scores, budget=250, target=target, prevalence=0.03)
        is_narrow = []
        for seed in range(10):
            drawn = draw(plan, rng=seed)
            labeled = drawn.with_labels(y_true[drawn.row])
            (found,) = estimate(scores, labeled, target=target).estimates
            note = found.reliability_note or ""
            assert ("few rows decide" in note or "among low scores" in note) == is_noted
            # Where no anomaly was found there, the interval is narrow.
            is_narrow.append("among low scores" in note and found.high - found.low < 0.3)
        assert any(is_narrow) == is_noted


def test_labels_of_all_rows_give_the_measures() -> None:
    y_true, scores = population(500, 0.1, np.random.default_rng(0))
    drawn = drawn_and_labeled(y_true, scores, 500, "auc a", 0)
    found = estimate(scores, drawn, target=TARGETS)
    for each in found.estimates:
        assert each.value == pytest.approx(truth(each.target, y_true, scores), abs=1e-12)
        assert each.standard_error == 0
        assert each.low == pytest.approx(each.high)
        assert each.p_value > 0 or math.isnan(each.p_value)
    assert str(found).splitlines()[1].split()[-1] == "yes"
    assert "< 1e-16" in str(found).splitlines()[1]


def test_one_row_and_rows_of_one_class_have_values_or_a_reason() -> None:
    for scores, labels in (([1.0], [1]), ([1.0], [0]), ([1.0, 2.0], [1, 1])):
        n = len(labels)
        drawn = draw(design(scores, budget=n, target="auc"), rng=0)
        keys = "auc", "ap", "tpr@0.01", "precision@k1", "missed@threshold5", "missed@threshold0"
        found = estimate(scores, drawn.with_labels(labels), target=keys)
        assert found["missed@threshold5 score"].value == sum(labels)
        assert found["missed@threshold0 score"].sequence_high == 0
        for each in found.estimates:
            assert math.isnan(each.value) == (each.reliability_note is not None)
    with pytest.raises(KeyError):
        found["auc other"]


def test_weights_are_unbiased_and_their_variance_is_estimated() -> None:
    """The number of anomalies below a threshold is a sum, of which both are known."""
    y_true, scores = population(2000, 0.1, np.random.default_rng(1))
    plan = design(scores, budget=300, target="tpr@0.05 a", prevalence=0.1)
    values, variances = [], []
    for seed in range(400):
        drawn = draw(plan, rng=seed)
        weight = 1 / drawn.probability
        label = y_true[drawn.row]
        values.append((label * weight).sum())
        variances.append((label * (weight - 1) * weight).sum())
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - y_true.sum()) < 3.5 * error
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.25)


def test_the_first_rows_are_a_sample() -> None:
    y_true, scores = population(2000, 0.1, np.random.default_rng(1))
    plan = design(scores, budget=300, target="tpr@0.05 a", prevalence=0.1)
    values = []
    for seed in range(400):
        drawn = draw(plan, rng=seed)
        p = np.minimum(drawn.size[:150] * drawn.priority[150], 1)
        values.append((y_true[drawn.row[:150]] / p).sum())
    error = np.std(values) / math.sqrt(len(values))
    assert abs(np.mean(values) - y_true.sum()) < 3.5 * error


def test_a_second_round_adds_to_the_first() -> None:
    y_true, scores = population(20_000, 0.02, np.random.default_rng(2))
    target = "tpr@0.05 a vs b"
    first = drawn_and_labeled(y_true, scores, 400, target, 0)
    plan = design(scores, budget=400, target=target, labeled=first)
    assert plan.round == 2
    assert not plan.probability[first.row].any()
    assert plan.probability.sum() == pytest.approx(400)
    second = draw(plan, rng=0)
    assert not set(first.row) & set(second.row)
    second = second.with_labels(y_true[second.row])
    both = estimate(scores, [first, second], target=target).estimates[0]
    alone = estimate(scores, first, target=target).estimates[0]
    assert both.standard_error < alone.standard_error
    assert both.low < truth(target, y_true, scores) < both.high


def test_differences_of_areas_by_rounds_with_few_anomalies_have_a_note() -> None:
    y_true, scores = population(5000, 0.1, np.random.default_rng(2))
    first = drawn_and_labeled(y_true, scores, 200, "auc a vs b", 0)
    plan = design(scores, budget=200, target="auc a vs b", labeled=first)
    second = draw(plan, rng=0)
    rounds = [first, second.with_labels(y_true[second.row])]
    assert estimate(scores, rounds, target="auc a").n_anomalies < 100
    for target, each, is_noted in (
        ("auc a vs b", rounds, True),
        ("auc a vs b", first, False),
        ("auc a", rounds, False),
    ):
        note = estimate(scores, each, target=target).estimates[0].reliability_note
        assert ("by several rounds" in (note or "")) == is_noted


@pytest.mark.slow
def test_where_the_last_round_has_all_labels_that_matter_a_measure_is_exact() -> None:
    """Also where rows of the first round were certain but for some that it did not draw."""
    y_true, scores = population(20_000, 0.2, np.random.default_rng(11))
    target = "precision@k200 a"
    flagged = np.argsort(-scores["a"])[:200]
    true, n_exact = truth(target, y_true, scores), 0
    plan = design(scores, budget=400, target=target, prevalence=0.02, auc=0.97)
    for seed in range(12):
        first = draw(plan, rng=seed)
        first = first.with_labels(y_true[first.row])
        second = draw(design(scores, budget=400, target=target, labeled=first), rng=seed)
        second = second.with_labels(y_true[second.row])
        if set(flagged) <= {*first.row, *second.row}:
            (found,) = estimate(scores, [first, second], target=target).estimates
            assert found.value == pytest.approx(true, abs=1e-9)
            n_exact += 1
    assert n_exact > 3


@pytest.mark.slow
def test_rows_without_a_label_are_not_known_where_all_others_were_certain() -> None:
    y_true, scores = population(20_000, 0.02, np.random.default_rng(13))
    target = "precision@k200 a"
    flagged = np.argsort(-scores["a"])[:200]
    true, n_left = truth(target, y_true, scores), 0
    plan = design(scores, budget=400, target=target, prevalence=0.02)
    for seed in range(40):
        drawn = draw(plan, rng=seed)
        left = set(flagged) - {*drawn.row}
        (found,) = estimate(scores, drawn.with_labels(y_true[drawn.row]), target=target).estimates
        if left:
            assert found.low < true < found.high
            assert "few rows decide" in str(found.reliability_note)
        n_left += bool(left)
    assert n_left > 5


def test_labels_behind_a_missing_one_are_not_used() -> None:
    y_true, scores = population(5000, 0.05, np.random.default_rng(3))
    drawn = drawn_and_labeled(y_true, scores, 400, "auc a", 0)
    some = drawn.label.copy()
    some[200] = math.nan
    plan = design(scores, budget=400, target="auc a")
    partial = draw(plan, rng=0).with_labels(some)
    found = estimate(scores, partial, target="auc a")
    assert (found.n_labels, found.n_unused) == (200, 199)
    first = draw(plan, rng=0).with_labels(drawn.label[:200])
    assert estimate(scores, first, target="auc a").estimates == found.estimates
    assert "199 labels behind the first missing one" in str(found)


def test_without_anomalies_a_measure_is_undefined_and_the_missed_are_bounded() -> None:
    scores = np.random.default_rng(4).normal(size=3000)
    drawn = draw(design(scores, budget=300, target="missed@threshold2"), rng=0)
    found = estimate(scores, drawn.with_labels(np.zeros(300)), target=["auc", "missed@threshold2"])
    assert math.isnan(found["auc score"].value)
    assert "no label is an anomaly" in str(found["auc score"].reliability_note)
    missed = found["missed@threshold2 score"]
    assert (missed.value, missed.low) == (0, 0)
    # That a tenth of the rows has none of so many, has a probability of 5 %: 28 of them.
    assert missed.high == pytest.approx(math.log(20) / -math.log(0.9), abs=2)
    # At all numbers of labels the logarithm is that of 2 / alpha, where as many were planned.
    assert missed.sequence_high == pytest.approx(math.log(40) / -math.log(0.9), abs=2)


def test_without_normal_labels_a_note_says_so() -> None:
    scores = np.random.default_rng(4).normal(size=1000)
    drawn = draw(design(scores, budget=50, target="auc"), rng=0).with_labels(np.ones(50))
    found = estimate(scores, drawn, target=["auc", "fpr@threshold1"])
    for target in ("auc score", "fpr@threshold1 score"):
        assert f"{target}: no label is a normal sample" in str(found)


@loop("n_found, fraction", [(0, 0.1), (3, 0.05), (40, 0.5)])
def test_missed_bound_of_uniform_rows_is_exact(n_found: int, fraction: float) -> None:
    bound = n_found + missed_bound_if_uniform(n_found, fraction, 10**6, 0.05)
    assert binom.cdf(n_found, bound, fraction) > 0.05 >= binom.cdf(n_found, bound + 1, fraction)
    assert missed_bound_if_uniform(n_found, fraction, 2, 0.05) == 2


@loop("least, n_found", [(0.1, 0), (0.05, 3), (0.5, 2)])
def test_missed_bound_fails_no_more_often_than_it_says(least: float, n_found: int) -> None:
    """By the exact probability that as few or fewer of the bound's anomalies are found."""
    bound = missed_bound([(np.full(n_found, least), least)], 10**6, 0.05)
    assert binom.cdf(n_found, bound + n_found + 1, least) < 0.05
    # It is not so wide that nothing is told.
    assert binom.cdf(n_found, (bound + n_found) // 3, least) > 0.05


@loop("n_found, n_normal, planned", [(0, 30, 30.0), (4, 26, 60.0), (12, 3, 5.0), (0, 0, 10.0)])
def test_missed_sequence_is_where_the_prior_over_the_posterior_is_small(
    n_found: int, n_normal: int, planned: float
) -> None:
    n = n_found + n_normal
    k = np.arange(201 - n)
    prior = betabinom.pmf(k + n_found, 200, 1, planned)
    posterior = betabinom.pmf(k, 200 - n, 1 + n_found, planned + n_normal)
    expected = k[prior < posterior / 0.05].max()
    assert missed_sequence(n_found, n_normal, 200 - n, planned, 0.05) == expected


@pytest.mark.slow
@loop("n_anomalies, planned", [(3, 50.0), (20, 50.0), (20, 10.0)])
def test_missed_sequence_covers_at_all_numbers_of_labels(n_anomalies: int, planned: float) -> None:
    rng = np.random.default_rng(6)
    labels = np.arange(100) < n_anomalies
    failures = 0
    for _ in range(100):
        found = np.cumsum(rng.permutation(labels))
        bounds = [
            k + missed_sequence(int(k), i - int(k), 100 - i, planned, 0.1)
            for i, k in enumerate(found[:60], 1)
        ]
        failures += min(bounds) < n_anomalies
    # A tenth, and three standard errors.
    assert failures <= 10 + 3 * math.sqrt(9)


@pytest.mark.slow
def test_missed_bound_covers_under_unequal_probabilities() -> None:
    rng = np.random.default_rng(5)
    p = rng.uniform(0.05, 0.6, size=30)
    failures = 0
    for _ in range(500):
        is_found = rng.random(30) < p
        part = p[is_found], 0.05
        failures += int(is_found.sum()) + missed_bound([part], 1000, 0.1) < 30
    assert failures <= 50


def test_sequence_is_narrowest_when_all_labels_are_there() -> None:
    """The boundary, in standard errors, as a function of r s for the time s."""

    def factor(ratio: float, alpha: float) -> float:
        return math.sqrt((1 + ratio) * math.log((1 + ratio) / (ratio * alpha**2)))

    for alpha in (0.01, 0.05, 0.3):
        best = min(factor(ratio, alpha) for ratio in np.geomspace(1e-3, 10, 4000))
        assert sequence_factor(1.0, alpha) == pytest.approx(best, rel=1e-5)
        assert sequence_factor(10.0, alpha) > best


def test_a_sequence_contains_the_interval_at_each_number_of_labels() -> None:
    """Also near an end of the range, where the interval is one on the scale of the log odds."""
    y_true = np.arange(90) % 3 == 0
    scores = {"a": np.random.default_rng(5).normal(size=90) + 2 * y_true}
    for seed in range(10):
        drawn = drawn_and_labeled(y_true, scores, 45, "auc", seed)
        for each in estimate(scores, drawn, target=["auc", "ap", "fpr@tpr0.8"]).estimates:
            assert each.sequence_low <= each.low <= each.high <= each.sequence_high


def test_an_interval_near_the_end_of_the_range_is_not_the_whole_range() -> None:
    rng = np.random.default_rng(7)
    y_true = rng.random(20_000) < 0.01
    scores = {"a": rng.normal(size=20_000) + 6 * y_true}
    drawn = drawn_and_labeled(y_true, scores, 1000, "tpr@0.01", 0)
    (found,) = estimate(scores, drawn, target="tpr@0.01").estimates
    assert found.value > 0.97
    assert 0.5 < found.low <= fastad.tpr_at_fpr(y_true, scores["a"], fpr=0.01) <= found.high


def test_scores_that_changed_are_refused() -> None:
    y_true, scores = population(500, 0.1, np.random.default_rng(0))
    drawn = drawn_and_labeled(y_true, scores, 50, "auc a", 0)
    changed = {name: values.copy() for name, values in scores.items()}
    changed["b"][drawn.row[7]] += 1
    with pytest.raises(InvalidInputError, match=rf"score of row {drawn.row[7]} by 'b'"):
        estimate(changed, drawn, target="auc a")
    other = {name: values.copy() for name, values in scores.items()}
    other["b"][np.setdiff1d(np.arange(500), drawn.row)[0]] += 1
    with pytest.raises(InvalidInputError, match="changed scores of other rows, or rows that were"):
        estimate(other, drawn, target="auc a")
    with pytest.raises(InvalidInputError, match="detectors a, b instead of a"):
        estimate({"a": scores["a"]}, drawn, target="auc a")
    short = {name: values[:400] for name, values in scores.items()}
    with pytest.raises(InvalidInputError, match=r"found row \d+ of 400"):
        estimate(short, drawn, target="auc a")
    moved = replace(drawn, row=np.append(np.setdiff1d(np.arange(500), drawn.row)[0], drawn.row[1:]))
    with pytest.raises(InvalidInputError, match=rf"score of row {moved.row[0]} by 'a'"):
        estimate(scores, moved, target="auc a")


def test_rounds_must_follow_each_other() -> None:
    y_true, scores = population(500, 0.1, np.random.default_rng(0))
    first = drawn_and_labeled(y_true, scores, 50, "auc a", 0)
    with pytest.raises(InvalidInputError, match="rounds from 1 on; found 1, 1"):
        estimate(scores, [first, first], target="auc a")
    unlabeled = draw(design(scores, budget=50, target="auc a"), rng=0)
    with pytest.raises(InvalidInputError, match="50 missing in round 1"):
        design(scores, budget=50, target="auc a", labeled=unlabeled)
    with pytest.raises(InvalidInputError, match="label of the first row"):
        estimate(scores, unlabeled, target="auc a")
    wrong: DrawnRows = "rows"  # type: ignore[assignment]
    with pytest.raises(InvalidInputError, match="must be rows that were drawn"):
        estimate(scores, wrong, target="auc a")


@pytest.mark.slow
@loop("target", ["ap a vs b", "auc@0.05 a"])
def test_areas_are_covered_where_anomalies_lie_as_no_model_has_them(target: str) -> None:
    """All have one score by each detector, so that values on smooth labels are wrong."""
    rng = np.random.default_rng(8)
    y_true, scores = population(8000, 0.02, rng)
    scores = {
        name: np.where(y_true, 1.8 + 0.02 * rng.normal(size=8000) + shift, values)
        for (name, values), shift in zip(scores.items(), (0, 0.7), strict=True)
    }
    true, covered = truth(target, y_true, scores), 0
    plan = design(scores, budget=400, target=target, prevalence=0.02)
    for seed in range(40):
        drawn = draw(plan, rng=seed)
        (found,) = estimate(scores, drawn.with_labels(y_true[drawn.row]), target=target).estimates
        covered += found.low <= true <= found.high
        assert found.high - found.low < 1
    # Of 95 %, less three standard errors.
    assert covered >= 34


@pytest.mark.slow
def test_standard_errors_are_those_of_the_number_of_anomalies_that_labels_show() -> None:
    """Each detector misses another fifth, so that the working model has far too many anomalies."""
    rng = np.random.default_rng(3)
    y_true, noise, kind = rng.random(20_000) < 0.04, rng.normal(size=20_000), rng.random(20_000)
    other = 0.5 * noise + 0.87 * rng.normal(size=20_000)
    scores = {"a": noise + 3 * y_true * (kind > 0.2), "b": other + 3 * y_true * (kind < 0.8)}
    target, found = "auc a vs b", []
    true = truth(target, y_true, scores)
    plan = design(scores, budget=1500, target=target, prevalence=0.02)
    for seed in range(40):
        drawn = draw(plan, rng=seed)
        found += estimate(scores, drawn.with_labels(y_true[drawn.row]), target=target).estimates
    # Until November 2026 they were 0.69 of the errors, and 80 % were covered.
    errors = np.array([each.value - true for each in found])
    standard_errors = np.array([each.standard_error for each in found])
    assert 0.85 < math.sqrt(np.mean(standard_errors**2) / np.mean(errors**2)) < 1.3
    assert sum(each.low <= true <= each.high for each in found) >= 36


@pytest.mark.slow
def test_rates_are_covered_where_the_prevalence_is_guessed_far_too_low() -> None:
    """The threshold lies where few rows have labels, and the model is wrong about it."""
    rng = np.random.default_rng(12)
    y_true, scores = population(20_000, 0.02, rng)
    target, covered, n_notes = "precision@fpr0.01 a vs b", 0, 0
    true = truth(target, y_true, scores)
    plan = design(scores, budget=200, target=target, prevalence=0.0002)
    for seed in range(40):
        drawn = draw(plan, rng=seed)
        (found,) = estimate(scores, drawn.with_labels(y_true[drawn.row]), target=target).estimates
        covered += found.low <= true <= found.high
        n_notes += "few rows decide" in (found.reliability_note or "")
    assert covered >= 34
    assert n_notes >= 20


def test_without_labels_where_a_target_depends_on_them_nothing_is_told() -> None:
    y_true, scores = population(3000, 0.1, np.random.default_rng(10))
    threshold = float(np.sort(scores["a"])[-4])
    key = f"precision@threshold{threshold!r} a"
    drawn = draw(design(scores, budget=100, target="missed@threshold0 a"), rng=0)
    assert (scores["a"][drawn.row] < threshold).all()
    (found,) = estimate(scores, drawn.with_labels(y_true[drawn.row]), target=key).estimates
    assert (found.low, found.high) == (0, 1)


def two_rounds(target: str, n_labels: int, seed: int = 0) -> list[DrawnRows]:
    """Two rounds, of the second of which so many labels are there."""
    y_true, scores = population(2000, 0.2, np.random.default_rng(seed))
    first = drawn_and_labeled(y_true, scores, 200, target, seed)
    second = draw(design(scores, budget=200, target=target, labeled=first), rng=seed)
    labels = np.where(np.arange(200) < n_labels, y_true[second.row], math.nan)
    return [first, second.with_labels(labels)]


@pytest.mark.parametrize("target", ["missed@threshold1.5 a", "auc a", "precision@threshold1.5 a"])
def test_the_first_labels_of_a_second_round_leave_what_the_first_one_tells(target: str) -> None:
    """Also where the first row lies where the target does not depend on it."""
    for seed in (4, 6, 39):
        _, scores = population(2000, 0.2, np.random.default_rng(seed))
        for n_labels in (1, 2):
            first, second = two_rounds(target, n_labels, seed)
            (before,) = estimate(scores, first, target=target).estimates
            (after,) = estimate(scores, [first, second], target=target).estimates
            assert before.low <= after.value <= before.high
            assert after.standard_error > before.standard_error / 2


@pytest.mark.parametrize("target", ["missed@threshold1.5 a", "auc a", "precision@threshold1.5 a"])
def test_a_round_without_a_label_changes_no_estimate(target: str) -> None:
    _, scores = population(2000, 0.2, np.random.default_rng(0))
    first, second = two_rounds(target, 0)
    alone, both = (estimate(scores, x, target=target) for x in (first, [first, second]))
    assert both.estimates == alone.estimates


def test_as_many_are_missed_as_were_found_at_least() -> None:
    """Also of 20 rows, where those of the second round hardly count."""
    n_more, target = 0, "missed@threshold1.5"
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y_true = rng.random(20) < 0.3
        scores = rng.normal(size=20) + y_true
        first = draw(design(scores, budget=8, target=target, prevalence=0.3), rng=seed)
        first = first.with_labels(y_true[first.row])
        second = draw(design(scores, budget=8, target=target, labeled=first), rng=seed)
        second = second.with_labels(y_true[second.row])
        (found,) = estimate(scores, [first, second], target=target).estimates
        rows = np.append(first.row, second.row)
        n_found = int((y_true[rows] & (scores[rows] < 1.5)).sum())
        assert n_found == found.low <= found.value <= found.high
        n_more += found.value > n_found
    assert n_more > 0
