"""Comparisons whose variance says too little, and p-values that are too small for floats."""

import json
import warnings
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.errors import LowCoverageWarning

MANY = np.arange(8000) < 4000


def sample(n: int, m: int, *shifts: float) -> tuple[np.ndarray, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    labels = np.arange(n + m) < n
    return labels, [rng.normal(size=n + m) + shift * labels for shift in shifts]


@pytest.mark.parametrize("measure", ["ap", "auc", "bedroc@20"])
def test_a_difference_to_a_detector_in_the_reversed_order_has_a_note(measure: str) -> None:
    """Of average precision the interval was 0.0004 wide, and missed the true value always."""
    labels, (good, reverse) = sample(20, 400, 9.0, -3.0)
    with pytest.warns(LowCoverageWarning, match="AUC of b is far below 0.5"):
        fastad.compare(labels, good, reverse, measure=measure, rng=0)
    with pytest.warns(LowCoverageWarning, match="AUC of a is far below 0.5"):
        fastad.compare(labels, reverse, good, measure=measure, rng=0)


def test_a_value_near_an_end_that_has_most_of_the_variance_has_a_note() -> None:
    """Three of 100 anomalies below all normals: 1.8 standard deviations from an area of 1."""
    labels, (perfect, weak) = sample(100, 300, 9.0, 1.5)
    strong = np.where(np.arange(400) < 3, -9.0, perfect)
    with pytest.warns(LowCoverageWarning, match="b is so near an end of the range"):
        fastad.compare(labels, perfect, strong, measure="auc")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowCoverageWarning)
        fastad.compare(labels, perfect, weak, measure="auc")
        fastad.compare(labels, strong, weak, measure="auc")
        # Asked for by name.
        fastad.compare(labels, perfect, strong, measure="auc", method="delong")


@pytest.mark.parametrize("measure", ["ap", "best_f1", "bedroc@20"])
def test_a_value_without_variance_has_a_note_where_that_has_most_of_the_difference(
    measure: str,
) -> None:
    """16 of 100 samples of 100 anomalies have none of a kind of 1.8 % of them."""
    labels, (perfect, chance, _) = sample(100, 2000, 9.0, 0.0, 0.0)
    for pair, name in (((perfect, chance), "a"), ((chance, perfect), "b")):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fastad.compare(labels, *pair, measure=measure, n_resamples=200, rng=0)
        allowed = min(result.difference - result.low, result.high - result.difference)
        has_note = result.reliability_note == f"the estimated variance of {name} is zero"
        assert has_note == (len(caught) == 1) == (allowed < 1 - 0.16 ** (1 / 100))


@pytest.mark.parametrize("measure", ["f1@0.01", "precision@fpr0.01", "ap"])
def test_differences_to_a_reversed_detector_have_a_note_by_any_method(measure: str) -> None:
    labels, (good, reverse) = sample(200, 2000, 8.0, -8.0)
    pair = (labels, good), (labels, reverse)
    with pytest.warns(LowCoverageWarning, match="AUC of b is far below 0.5"):
        fastad.compare(labels, good, reverse, measure=measure, n_resamples=200, rng=0)
    with pytest.warns(LowCoverageWarning, match="AUC of b is far below 0.5"):
        fastad.compare_independent(*pair, measure=measure, n_resamples=200, rng=0)
    with pytest.warns(LowCoverageWarning, match="AUC of a is far below 0.5"):
        fastad.compare_independent(*pair[::-1], measure=measure, n_resamples=200, rng=0)


def test_only_pairs_with_a_reversed_detector_have_its_note() -> None:
    labels, (a, b, c) = sample(100, 300, 1.5, 1.4, -2.0)
    with pytest.warns(LowCoverageWarning, match="AUC of c is far below"):
        result = fastad.compare_all(labels, {"a": a, "b": b, "c": c}, measure="auc")
    notes = {names: each.reliability_note for names, each in result.items()}
    assert notes["a", "b"] is None
    assert "AUC of c" in str(notes["a", "c"])
    assert "AUC of c" in str(notes["b", "c"])


def test_measures_of_the_highest_ranks_need_normals_among_them() -> None:
    labels, (a, b) = sample(100, 150, 1.5, 1.2)
    with pytest.warns(LowCoverageWarning, match="too few normal samples are among the ranks"):
        fastad.compare(labels, a, b, measure="bedroc@20")
    with warnings.catch_warnings():
        warnings.simplefilter("error", LowCoverageWarning)
        fastad.compare(labels, a, b, measure="bedroc@5")


@pytest.mark.parametrize(("n", "has_note"), [(10, True), (20, True), (21, False), (100, False)])
def test_an_area_of_few_anomalies_that_excludes_a_missing_kind_has_a_note(
    n: int, has_note: bool
) -> None:
    """Where 0.16^(1/n) of the area is below the interval: the others are all below the normals."""
    labels, (strong, weak) = sample(n, 500, 3.0, 0.5)
    for scores, expected in ((strong, has_note), (weak, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fastad.interval(labels, scores, measure="auc")
        assert (result.reliability_note is not None) == bool(caught) == expected
        if n <= 20:
            assert (result.low > result.value * 0.16 ** (1 / n)) == expected


@pytest.mark.parametrize("measure", ["ap", "auc_pr"])
def test_precisions_without_a_kind_above_all_have_a_note(measure: str) -> None:
    """Where 1 - 0.16^(1/12) more of the anomalies above all would be above the interval."""
    labels, (weak, fair) = sample(12, 200, -3.0, 1.5)
    missing = 1 - 0.16 ** (1 / 12)
    for scores, expected in ((weak, True), (fair, False)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fastad.interval(labels, scores, measure=measure, rng=0)
        assert result.method == "combined"
        assert (result.reliability_note is not None) == bool(caught) == expected
        assert (result.high < result.value + missing * (1 - result.value)) == expected


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("method", ["auto", "delong", "student", "bootstrap", "permutation"])
@pytest.mark.parametrize("is_perfect", [True, False])
def test_no_p_value_of_a_comparison_is_0(method: Any, is_perfect: bool) -> None:
    rng = np.random.default_rng(0)
    a = 9.0 * MANY + (0 if is_perfect else rng.normal(size=8000))
    b = -a if is_perfect else rng.normal(size=8000) - a
    scores = {"a": a, "b": b}
    result = fastad.compare_all(MANY, scores, measure="auc", method=method, n_resamples=20, rng=0)
    assert result["a", "b"].to_dict()["p_value"] >= 2.2e-308
    (content,) = json.loads(result.to_json())["comparisons"]
    assert content["p_value"] >= 2.2e-308
    assert min(result.adjusted_p_values.values()) >= 2.2e-308
    assert result.to_frame()["p_value"].min() >= 2.2e-308


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("method", ["auto", "delong", "hybrid", "bootstrap", "permutation"])
def test_no_p_value_of_independent_samples_is_0(method: Any) -> None:
    rng = np.random.default_rng(0)
    a = 9.0 * MANY + rng.normal(size=8000)
    result = fastad.compare_independent(
        (MANY, a), (MANY, -a), measure="auc", method=method, n_resamples=20, rng=0
    )
    assert result.p_value >= 2.2e-308


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["auc", "tpr@0.1", "ap"])
def test_no_p_value_of_the_chance_level_is_0(measure: str) -> None:
    scores = 9.0 * MANY + np.random.default_rng(0).normal(size=8000)
    assert fastad.chance_level(MANY, scores, measure=measure, rng=0).p_value >= 2.2e-308
    table = fastad.evaluate(MANY, scores, measures=["auc"], chance=True)
    assert "< 1e-16" in str(table)
    assert table.to_frame()["auc_p_value"].min() >= 2.2e-308


@pytest.mark.parametrize(
    ("misplaced", "has_note"),
    [((0.9, 0.95), True), ((0.9, 1.9), True), ((1.1, 1.9), False), ((0.2, 2.1), False)],
)
def test_two_detectors_with_hardly_a_misplaced_sample_have_a_note(
    misplaced: tuple[float, float], has_note: bool
) -> None:
    """One anomaly of 20, or more, has so many of 2 000 normals above it; all others have none."""
    labels = np.arange(2020) < 20
    scores = []
    for each in misplaced:
        above = np.minimum(np.maximum(each - np.arange(20.0), 0), 1)
        scores.append(np.append(1 - above + (above == 0), np.arange(2000) / 2000))
    for measure in ("auc", "ap"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fastad.compare(labels, *scores, measure=measure)
        found = any("nearly all anomalies lie above" in str(each.message) for each in caught)
        assert found == has_note


@pytest.mark.parametrize(("n_above", "has_note"), [((2, 1), True), ((4, 1), False)])
@pytest.mark.parametrize("measure", ["ap", "auc_pr", "auc"])
def test_precisions_that_few_anomalies_have_decided_have_a_note(
    measure: str, n_above: tuple[int, int], has_note: bool
) -> None:
    """Of 12 anomalies few are above all normals, with a precision of 1; the others below half."""
    labels = np.arange(2012) < 12
    rng = np.random.default_rng(0)
    scores = []
    for n in n_above:
        anomalies = np.where(rng.permutation(12) < n, 2.0, 0.6 + 0.01 * np.arange(12))
        scores.append(np.append(anomalies, np.arange(2000) / 2000))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fastad.compare(labels, *scores, measure=measure)
    found = any("one more or less decides" in str(each.message) for each in caught)
    assert found == (has_note and measure != "auc")


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("measure", ["auc", "ap", "bedroc@20", "tpr@0.1"])
def test_notes_of_a_pair_are_the_same_beside_other_detectors(measure: str) -> None:
    """Beside a weak detector two that are nearly perfect, and two that find one anomaly."""
    labels, (first, second, weak) = sample(20, 2000, 9.0, 4.5, 1.0)
    single = [np.where(np.arange(2020) == i, 9.0, weak - 0.5 * labels) for i in (0, 1)]
    detectors = {"first": first, "second": second, "weak": weak, "one": single[0], "two": single[1]}
    table = fastad.compare_all(labels, detectors, measure=measure, rng=0, n_resamples=200)
    notes = set()
    for (a, b), of_table in table.items():
        pair = {a: detectors[a], b: detectors[b]}
        alone = fastad.compare_all(labels, pair, measure=measure, rng=0, n_resamples=200)[a, b]
        assert of_table.reliability_note == alone.reliability_note
        notes.add(alone.reliability_note)
    assert len(notes) > 1


def test_precision_gains_of_few_normals_have_a_note() -> None:
    labels, (scores,) = sample(400, 60, 1.5)
    with pytest.warns(LowCoverageWarning, match="auc_prg"):
        fastad.interval(labels, scores, measure="auc_prg", rng=0)
