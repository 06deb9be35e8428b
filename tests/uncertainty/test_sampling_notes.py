"""Notes of samples in clusters, in time, and with real weights: those of rows too."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fastad
from fastad import UndefinedMeasureError
from fastad.uncertainty import at_least, noninferiority
from tests.support.uncertainty import correlated_detectors

DESIGNS = ("blocks", "clusters", "weights")


def designed(rng: np.random.Generator, n: int, design: str) -> dict[str, Any]:
    """Return arguments by which rows that are independent are designed samples."""
    if design == "weights":
        return {"sample_weight": rng.choice([1.0, 1.2], n)}
    return {"blocks": 1} if design == "blocks" else {"clusters": np.arange(n) // 2}


def exchangeable(seed: int, n_anomalies: int, n_normals: int) -> tuple[Any, Any, Any]:
    """Return labels, and the scores of two detectors that do not differ."""
    y, (a, b) = correlated_detectors(seed, n_anomalies, n_normals, [math.sqrt(2)] * 2)
    return y, a, b


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize(
    ("measure", "n_anomalies", "n_normals"),
    [
        *(("log_auc", 100, 60), ("auc@0.02", 100, 100), ("best_f1", 40, 400)),
        *(("mcc@threshold1.0", 20, 400), ("bedroc@20", 40, 60), ("ap", 12, 900)),
    ],
)
def test_what_makes_a_comparison_of_rows_unreliable_does_of_units_too(
    measure: str, n_anomalies: int, n_normals: int
) -> None:
    y, a, b = exchangeable(1, n_anomalies, n_normals)
    options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 99}
    assert fastad.compare(y, a, b, **options).reliability_note is not None
    for design in DESIGNS:
        more = designed(np.random.default_rng(0), y.shape[0], design)
        result = fastad.compare(y, a, b, **options, **more)
        assert result.reliability_note is not None, design
        assert noninferiority(y, a, b, margin=0.1, **options, **more).reliability_note, design


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("measure", ["auc", "auc@0.1"])
def test_rows_in_blocks_of_one_have_the_notes_of_rows(measure: str) -> None:
    """Of detectors near an end of the range, and in the reversed order."""
    noted = set()
    for seed in range(40):
        y, a, b = exchangeable(seed, 30, 120)
        a, b = a + (seed % 4) * y, b - (seed % 5) * y
        plain = fastad.compare(y, a, b, measure=measure, rng=0)
        assert fastad.compare(y, a, b, measure=measure, rng=0, blocks=1).reliability_note == (
            plain.reliability_note
        ), seed
        noted.add(plain.reliability_note)
    assert len(noted) >= 2


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.05", "auc@0.05"])
@pytest.mark.parametrize("design", DESIGNS)
def test_many_units_have_no_note_and_the_width_of_rows(measure: str, design: str) -> None:
    y, a, b = exchangeable(3, 200, 2000)
    options: dict[str, Any] = {"measure": measure, "rng": 0, "n_resamples": 400}
    plain = fastad.compare(y, a, b, **options)
    more = designed(np.random.default_rng(0), y.shape[0], design)
    result = fastad.compare(y, a, b, **options, **more)
    assert result.reliability_note is None
    assert 0.8 < (result.high - result.low) / (plain.high - plain.low) < 1.15


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("label", [0, 1])
def test_one_class_alone_is_refused_or_has_its_rates(design: str, label: int) -> None:
    y, s = np.full(600, label), np.random.default_rng(0).normal(size=600)
    more = designed(np.random.default_rng(0), 600, design)
    with pytest.raises(UndefinedMeasureError):
        fastad.interval(y, s, measure="auc", **more)
    table = fastad.evaluate(y, s, threshold=[1.0], confidence_level=0.95, rng=0, **more)
    point = table["score"].operating_points[-1]
    n_flagged = np.sum(more.get("sample_weight", 1.0) * (s >= 1))
    assert (point.fp, point.tp)[label] == pytest.approx(n_flagged)


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("design", DESIGNS)
def test_few_units_beyond_a_rate_find_no_difference(design: str) -> None:
    n_wrong, n = 0, 100
    for seed in range(n):
        y, a, b = exchangeable(seed, 100, 60)
        more = designed(np.random.default_rng(seed), y.shape[0], design)
        n_wrong += fastad.compare(y, a, b, measure="log_auc", rng=0, **more).is_significant
    assert n_wrong <= stats.binom.ppf(0.999, n, 0.05)


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("design", DESIGNS)
def test_an_interval_that_covers_rows_too_seldom_has_a_note_of_units_too(design: str) -> None:
    y, s, _ = exchangeable(2, 120, 280)
    options: dict[str, Any] = {"measure": "best_f1", "rng": 0, "n_resamples": 99}
    options |= designed(np.random.default_rng(0), y.shape[0], design)
    result = fastad.interval(y, s, **options)
    assert "cover the true value in" in str(result.reliability_note)
    # Of measures that are covered often enough there is none.
    assert fastad.interval(y, s, **{**options, "measure": "auc"}).reliability_note is None


@pytest.mark.filterwarnings("ignore:auc. the estimated variance is zero")
@pytest.mark.parametrize("design", ["clusters", "weights", "blocks"])
def test_detectors_without_an_error_are_known_no_better_by_units_than_by_rows(design: str) -> None:
    """Of 20 anomalies all are right by both: another kind may be a sixth of them."""
    rng = np.random.default_rng(5)
    y = np.arange(10_020) % 501 == 0
    a, b = rng.random((2, 10_020)) + 10 * y
    plain = fastad.compare(y, a, b, measure="auc", rng=0)
    options = {"blocks": 5} if design == "blocks" else designed(rng, 10_020, design)
    result = fastad.compare(y, a, b, measure="auc", rng=0, **options)
    assert plain.method == result.method == "pairs"
    assert plain.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert result.high >= plain.high - 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
def test_the_unit_of_weights_changes_no_test_and_no_note() -> None:
    rng = np.random.default_rng(6)
    y = np.arange(1100) < 100
    a, b = rng.normal(size=(2, 1100)) + np.outer([-0.7, 0.9], y)
    w = rng.random(1100) + 0.5
    tests, notes = set(), set()
    for unit in (0.01, 1.003, 1000.0):
        options: dict[str, Any] = {"sample_weight": unit * w, "n_resamples": 300}
        test = at_least(y, b, measure="tpr@0.1", value=0.3, rng=0, **options)
        tests.add((round(test.low, 9), round(test.p_value, 9)))
        notes.add(fastad.compare(y, a, b, measure="auc", sample_weight=unit * w).reliability_note)
    assert len(tests) == 1
    assert len(notes) == 1
    assert "far below 0.5" in str(notes.pop())
