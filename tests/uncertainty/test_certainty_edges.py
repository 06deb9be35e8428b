"""What once went wrong with intervals and comparisons."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from fastad.uncertainty.methods import select_method

Y = [0] * 30 + [1] * 30
PERFECT = list(range(60))
MIXED = np.random.default_rng(0).permutation(60).tolist()


@pytest.mark.parametrize("shift", [-5.0, 0.0, 100.0])
def test_rates_at_a_threshold_are_compared_by_scores_not_by_ranks(shift: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 8)) + shift
    y = [0] * 4 + [1] * 4
    options: dict[str, Any] = {"measure": "tpr", "threshold": 0.5 + shift, "rng": 0}
    found = fastad.compare(y, a, b, **options)
    assert found.method == "bootstrap"
    assert found.p_value == fastad.compare(y, a, b, **options, method="bootstrap").p_value > 0
    with pytest.raises(fastad.InvalidInputError, match="the scores' values"):
        fastad.compare(y, a, b, **options, method="permutation")


@pytest.mark.parametrize("method", ["auto", "wilson", "clopper-pearson", "jeffreys", "bootstrap"])
def test_a_rate_without_a_denominator_is_undefined(method: Any) -> None:
    with pytest.raises(fastad.UndefinedMeasureError, match="denominator is 0"):
        fastad.interval([0, 0, 1, 1], [1, 2, 3, 4], measure="precision", threshold=9, method=method)


@pytest.mark.parametrize("n_normals", [3, 29])
def test_few_normals_count_as_few_anomalies_do(n_normals: int) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(1000 + n_normals) >= n_normals
    auc = bind("auc", {})
    counts = count(labels, rng.normal(size=labels.shape[0]) + 0.7 * labels)
    few = count(np.arange(1010) < 10, rng.normal(size=1010) + 0.7 * (np.arange(1010) < 10))
    assert select_method(auc, counts) == select_method(auc, few)


def test_nothing_is_promised_at_another_prevalence() -> None:
    found = fastad.interval(Y, MIXED, measure="ap", prevalence=0.03, rng=0)
    assert found.method == "bootstrap"
    assert found.coverage is None


@pytest.mark.parametrize("level", [1 - 2**-53, 1e-9, Fraction(10**20 - 1, 10**20)])
@pytest.mark.parametrize("scores", [PERFECT, PERFECT[::-1], MIXED, [0] * 60])
@pytest.mark.parametrize("method", ["delong", "logit", "newcombe", "bootstrap", "basic", "bca"])
def test_extreme_levels_have_ends(level: Any, scores: list[int], method: Any) -> None:
    found = fastad.interval(
        Y, scores, measure="auc", method=method, confidence_level=level, n_resamples=50, rng=0
    )
    assert 0 <= found.low <= found.high <= 1


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson", "jeffreys"])
@pytest.mark.parametrize("threshold", [-1, 30, 99])
def test_extreme_levels_of_rates_have_ends(method: Any, threshold: int) -> None:
    found = fastad.interval(
        Y, PERFECT, measure="tpr", threshold=threshold, method=method, confidence_level=1 - 2**-53
    )
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_equal_detectors_have_no_difference_at_an_extreme_level() -> None:
    found = fastad.compare(Y, MIXED, MIXED, measure="auc", confidence_level=1 - 2**-53)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_bad_values_of_the_second_detector_are_its_own() -> None:
    good, bad = [0.1] * 60, [9.0] * 60
    with pytest.raises(fastad.InvalidInputError, match=r"^scores_b must lie in"):
        fastad.compare(Y, good, bad, measure="rp_auc", score_range=(0, 5))
    with pytest.raises(fastad.InvalidInputError, match=r"^y_score\['q'\] must lie in"):
        fastad.compare_all(Y, {"p": good, "q": bad}, measure="rp_auc", score_range=(0, 5))


def test_a_tiny_range_is_no_rounding() -> None:
    rng = np.random.default_rng(1)
    y = np.arange(2000) < 1000
    a, b = rng.normal(size=2000) + 3 * y, rng.normal(size=2000)
    options: dict[str, Any] = {"fpr": 1e-13, "normalize": "none"}
    found = fastad.compare(y, a, b, measure="auc_at_fpr", **options)
    wide = fastad.compare(y, a, b, measure="auc_at_fpr", fpr=1e-13)
    assert found.p_value == pytest.approx(wide.p_value)
    assert found.p_value < 1
    assert math.isfinite(found.low)


def test_an_interval_without_variance_holds_its_value() -> None:
    with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
        found = fastad.interval(Y, [0] * 60, measure="auc_at_tpr", min_tpr=0.9, method="logit")
    assert found.low == found.value == found.high
