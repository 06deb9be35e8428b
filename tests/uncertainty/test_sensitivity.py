"""A measure against the fraction of hidden anomalies."""

import json
import math
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import LowCoverageWarning
from fastad.uncertainty import contamination_sensitivity
from tests.support.uncertainty import contaminated

Y, S = contaminated(1, 200, 4000, 0.02, 3.0)
GRID = [0, 0.01, 0.02, 0.025]


@pytest.mark.parametrize("key", ["auc", "tpr@0.05", "ap", "fpr@tpr0.8"])
def test_each_row_is_the_measure_at_its_fraction(key: str) -> None:
    result = contamination_sensitivity(Y, S, measure=key, contamination=GRID)
    expected = [
        fastad.interval(Y, S, measure=key, contamination=c, rng=0, n_resamples=20).value
        for c in GRID
    ]
    assert result.value.tolist() == expected
    assert result.undefined == [None] * 4
    assert np.isnan(result.low).all()
    assert result.bounds == (min(expected), max(expected))
    assert (result.n_anomalies, result.n_normals) == (200, 4000)


def test_intervals_are_those_of_interval() -> None:
    options: dict[str, Any] = {"measure": "auc@0.05", "n_resamples": 100, "rng": 3}
    result = contamination_sensitivity(
        Y, S, contamination=GRID, confidence_level=0.9, method="bootstrap", **options
    )
    for i, fraction in enumerate(GRID):
        alone = fastad.interval(
            Y, S, contamination=fraction, confidence_level=0.9, method="bootstrap", **options
        )
        assert (result.low[i], result.high[i]) == (alone.low, alone.high)
    assert "90 % interval" in str(result)


def test_what_the_data_rule_out_and_do_not_identify_is_said() -> None:
    y, s = contaminated(2, 1000, 20_000, 0.02, 5.0)
    result = contamination_sensitivity(
        y, s, measure="tpr@0.001", contamination=[0, 0.0001, 0.02, 0.5], confidence_level=0.95
    )
    assert np.isfinite(result.value[:2]).all()
    assert np.isnan(result.value[2:]).all()
    assert np.isnan(result.low[2:]).all()
    assert "not identified" in str(result.undefined[2])
    assert result.undefined[3] == f"the data rule out fractions above {result.largest:.4g}"
    assert 0.02 < result.largest < 0.05
    assert f"at most {result.largest:.4g}" in str(result)
    assert "nan at 0.5: the data rule out" in str(result)
    rows = json.loads(result.to_json())["rows"]
    assert rows[3]["value"] is None
    assert rows[3]["undefined"] == result.undefined[3]
    assert list(rows[0]) == ["contamination", "value", "low", "high", "undefined"]


def test_bounds_contain_what_lies_between_the_fractions() -> None:
    """Below the diagonal the partial area does not rise throughout."""
    y, s = contaminated(4, 60, 500, 0.05, -0.5)
    result = contamination_sensitivity(
        y, s, measure="precision_at_k", k=50, contamination=[0.02, 0.2]
    )
    between = [
        fastad.rank_scores(y, s, contamination=c).precision_at_k(k=50)
        for c in np.linspace(0.02, 0.2, 19).round(3)
    ]
    assert result.bounds[0] <= min(between) + 1e-3
    assert result.bounds[1] >= max(between) - 1e-3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"contamination": []}, ValueError, "must contain increasing fractions; found none"),
        ({"contamination": [0.1, 0.1]}, ValueError, "the first at index 1: 0.1"),
        ({"contamination": [0, 1]}, ValueError, r"contamination\[1\] must lie in \[0, 1\)"),
        ({"contamination": 0.1}, TypeError, "contamination must be a sequence of numbers"),
        ({"contamination": [0.98, 0.99]}, ValueError, "a fraction that the data allow, at most"),
        ({"measure": "auc_w"}, ValueError, "not be given for weighted_auc"),
        ({"method": "order"}, ValueError, "method must be one of"),
        ({"confidence_level": 2}, ValueError, "confidence_level must lie"),
    ],
)
def test_bad_input_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        contamination_sensitivity(Y, S, **{"measure": "auc", "contamination": GRID, **options})


def test_a_class_that_is_absent_is_refused() -> None:
    with pytest.raises(UndefinedMeasureError, match="without anomalies"):
        contamination_sensitivity([0, 0], [1, 2], measure="auc", contamination=[0, 0.1])


def test_a_measure_may_be_defined_at_some_fractions_only() -> None:
    """Without correction the area is below chance, which McClish's formula does not allow."""
    y = np.repeat([1, 0], [20, 40])
    s = np.random.default_rng(19).normal(size=60) + 0.05 * y
    options: dict[str, Any] = {"measure": "auc_at_fpr", "fpr": 0.2, "normalize": "mcclish"}
    result = contamination_sensitivity(y, s, contamination=[0, 0.1, 0.3], **options)
    assert "below chance" in str(result.undefined[0])
    assert result.undefined[2] is None
    assert result.value[2] > 0.5


def test_the_figure_of_the_issue_is_that_of_the_population() -> None:
    """1 % hidden anomalies turn a TPR at FPR 0.1 % of 0.82 into 0.10; corrected it is back."""
    y, s = contaminated(0, 1000, 99_000, 0.01, 4.0)
    result = contamination_sensitivity(y, s, measure="tpr@0.001", contamination=[0, 0.01])
    assert result.value[0] < 0.13
    assert math.isclose(result.value[1], 0.818, abs_tol=0.09)


def test_real_weights_have_values_and_no_intervals() -> None:
    weights = np.where(Y == 1, 0.5, 1.5)
    result = contamination_sensitivity(
        Y, S, measure="auc", contamination=GRID, sample_weight=weights
    )
    assert np.isfinite(result.value).all()
    assert result.largest == 1
    with pytest.raises(InvalidInputError, match="sample_weight must contain integers"):
        contamination_sensitivity(
            Y, S, measure="auc", contamination=GRID, sample_weight=weights, confidence_level=0.95
        )


def test_an_unreliable_interval_says_so_at_its_fraction() -> None:
    y = np.repeat([0, 1], [400, 8])
    s = np.random.default_rng(0).normal(size=408) + 2 * y
    options: dict[str, Any] = {"measure": "ap", "n_resamples": 200, "rng": 0}
    with pytest.warns(LowCoverageWarning) as caught:
        result = contamination_sensitivity(
            y, s, contamination=[0, 0.002], confidence_level=0.95, **options
        )
    with pytest.warns(LowCoverageWarning):
        alone = [fastad.interval(y, s, contamination=c, **options) for c in (0, 0.002)]
    assert result.interval_notes == [each.reliability_note for each in alone]
    assert result.undefined == [None, None]
    (warning,) = caught
    note = result.interval_notes[1]
    assert note is not None
    assert str(warning.message) == f"ap: {note}"
    assert warning.filename == __file__
    assert f"interval at 0.002: {note}" in result.notes
    assert not any(line.startswith("nan at") for line in result.notes)
