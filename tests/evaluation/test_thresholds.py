"""Measures at thresholds that were fixed beforehand, for each detector and each group."""

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError
from tests.support import oracles
from tests.support.loops import loop

N = 300
_RNG = np.random.default_rng(71)
Y = (_RNG.random(N) < 0.2).astype(int)
SCORES: dict[str, npt.NDArray[Any]] = {
    "forest": np.round(_RNG.normal(size=N) + Y, 1),
    "svm": _RNG.normal(size=N).astype(np.float32) + np.float32(2) * Y,
    "counts": _RNG.poisson(3 + 4 * Y),
}
GROUPS = _RNG.integers(0, 3, N)
STANDARD = ["tpr", "fpr", "precision", "f1", "flagged"]


def by_definition(y: Any, s: Any, threshold: Any, w: Any = None) -> dict[str, float]:
    tp, fp, tn, fn = oracles.confusion(y, s, threshold, w)
    n, m, flagged = tp + fn, fp + tn, tp + fp

    def ratio(part: Any, whole: Any) -> float:
        return part / whole if whole else math.nan

    return {
        "tpr": ratio(tp, n),
        "fpr": ratio(fp, m),
        "precision": ratio(tp, flagged),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
        "flagged": flagged,
    }


def agree(result: Any, expected: dict[str, float], suffix: str) -> None:
    values = {name: result[f"{name}@threshold{suffix}"] for name in expected}
    assert values == pytest.approx(expected, rel=1e-15, nan_ok=True)
    for name, value in expected.items():
        assert math.isnan(value) == (f"{name}@threshold{suffix}" in result.undefined)


@loop("weights", [None, "integer", "real"])
@loop("name", SCORES)
@loop("threshold", [0.5, 3, -2.5, 1e9, -1e9, math.inf, -math.inf])
def test_values_are_those_of_the_definition(name: str, threshold: Any, weights: Any) -> None:
    drawn: dict[Any, Any] = {
        None: None,
        "integer": _RNG.integers(0, 3, N),
        "real": _RNG.integers(1, 9, N) / 8,
    }
    result = fastad.evaluate(
        Y, SCORES[name], threshold=threshold, measures=["auc"], sample_weight=drawn[weights]
    )["score"]
    suffix = f"{threshold:g}"
    assert list(result) == ["auc", *(f"{x}@threshold{suffix}" for x in STANDARD)]
    expected = by_definition(Y, SCORES[name], threshold, drawn[weights])
    agree(result, expected, suffix)
    (point,) = result.operating_points
    assert (point.fpr, point.threshold, point.n_flagged) == (None, threshold, expected["flagged"])


@given(
    st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=12),
    st.lists(st.integers(-8, 8).map(lambda x: x / 2), min_size=1, max_size=3, unique=True),
)
def test_any_data_at_several_thresholds(
    rows: list[tuple[bool, int]], thresholds: list[float]
) -> None:
    y, s = (np.array(column) for column in zip(*rows, strict=True))
    for scores in (s, s.astype(np.float64)):
        result = fastad.evaluate(y, scores, threshold=thresholds)["score"]
        for threshold in thresholds:
            agree(result, by_definition(y, scores, threshold), f"{threshold:g}")


def test_the_default_set_stays_beside_them() -> None:
    plain, added = fastad.evaluate(Y, SCORES), fastad.evaluate(Y, SCORES, threshold=[0.5, 1])
    assert added.measure_keys == plain.measure_keys + [
        f"{name}@threshold{x}" for x in ("0.5", "1") for name in STANDARD
    ]
    for name in SCORES:
        assert {label: added[name][label] for label in plain.measure_keys} == pytest.approx(
            dict(plain[name]), nan_ok=True
        )


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_each_detector_may_have_its_own(groups: Any) -> None:
    own = {"svm": 1.5, "counts": 6, "forest": 0.7}
    result: Any = fastad.evaluate(Y, SCORES, threshold=own, measures=["auc"], groups=groups)
    parts = [(result, slice(None))] if groups is None else [
        (result[g], groups == g) for g in result
    ]  # fmt: skip
    for estimate, rows in parts:
        for name, threshold in own.items():
            agree(estimate[name], by_definition(Y[rows], SCORES[name][rows], threshold), "")
    columns = result.to_columns()
    assert columns["threshold"][:3] == [0.7, 1.5, 6]
    assert columns["flagged@threshold"][0] == parts[0][0]["forest"]["flagged@threshold"]


def test_each_group_has_what_its_rows_have_alone() -> None:
    options: Any = {"threshold": [0.5, 2], "confidence_level": 0.9, "rng": 0, "n_resamples": 99}
    runs = fastad.evaluate(Y, SCORES, groups=GROUPS, **options)
    for group in runs:
        rows = group == GROUPS
        alone = fastad.evaluate(Y[rows], {k: s[rows] for k, s in SCORES.items()}, **options)
        assert runs[group].to_dict() == alone.to_dict()


def test_rates_that_are_named_are_all_that_is_computed() -> None:
    result = fastad.evaluate(Y, SCORES, threshold=1, measures=["mcc", "auc", "tpr"])
    assert result.measure_keys == ["mcc@threshold1", "auc", "tpr@threshold1"]
    two = fastad.evaluate(Y, SCORES, measures=["mcc@threshold1", "auc"])
    assert two.measure_keys == result.measure_keys[:2]
    one = fastad.evaluate(Y, SCORES, measures="tpr@threshold-1.5")
    assert one.measure_keys == ["tpr@threshold-1.5"]
    with pytest.raises(InvalidInputError, match="threshold must be given for 'tpr'"):
        fastad.evaluate(Y, SCORES, measures=["auc", "tpr"])


def test_the_key_of_a_large_integer_is_exact() -> None:
    s = np.array([2**60, 2**60 + 1, 2**60 + 2])
    key = f"flagged@threshold{2**60 + 1}"
    assert fastad.evaluate([0, 1, 1], s, measures=[key])["score"][key] == 2
    assert key in fastad.evaluate([0, 1, 1], s, threshold=2**60 + 1)["score"]


@pytest.mark.parametrize(
    ("threshold", "suffix", "shown"),
    [
        (Fraction(1, 3), "0.333333", 1 / 3),
        (Fraction(10**400, 3), "inf", "inf"),
        (10**400, *2 * ["big"]),
    ],
)
def test_a_threshold_may_be_any_real_number(threshold: Any, suffix: str, shown: Any) -> None:
    suffix = str(threshold) if suffix == "big" else suffix
    result = fastad.evaluate(Y, SCORES, threshold=threshold, measures=["auc"])
    for name, scores in SCORES.items():
        n = int(np.sum([Fraction(x) >= threshold for x in scores.tolist()]))
        assert result[name][f"flagged@threshold{suffix}"] == n
    (point,) = json.loads(result.to_json())["detectors"][0]["operating_points"]
    assert point["threshold"] == (threshold if shown == "big" else shown)
    assert str(result)
    own = fastad.evaluate(Y, SCORES, threshold=dict.fromkeys(SCORES, threshold))
    assert own.to_columns()["threshold"] == [threshold if shown == "big" else float(shown)] * 3


@pytest.mark.parametrize(("n", "m", "tp", "fp"), [(20, 80, 7, 4), (30, 30, 30, 0), (9, 50, 0, 3)])
def test_every_value_has_a_binomial_interval(n: int, m: int, tp: int, fp: int) -> None:
    y = np.repeat([1, 0], [n, m])
    s = np.concatenate([np.arange(n) < tp, np.arange(m) < fp]).astype(float)
    result = fastad.evaluate(y, s, measures=["tpr", "fpr", "precision", "f1", "n_flagged"],
                             threshold=1, confidence_level=0.9, rng=0)["score"]  # fmt: skip
    trials = {"tpr": (tp, n), "fpr": (fp, m), "precision": (tp, tp + fp),
              "f1": (tp, n + fp), "flagged": (tp + fp, n + m)}  # fmt: skip
    of: dict[str, Any] = {"f1": lambda p: 2 * p / (1 + p), "flagged": lambda p: (n + m) * p}
    for name, (k, size) in trials.items():
        interval = result.intervals[f"{name}@threshold1"]
        binomial = {
            "wilson": stats.binomtest(k, size).proportion_ci(0.9, "wilson"),
            "clopper-pearson": stats.binomtest(k, size).proportion_ci(0.9, "exact"),
            "jeffreys": stats.beta(k + 0.5, size - k + 0.5).interval(0.9),
        }[interval.method]
        ends = [0 if k == 0 else binomial[0], 1 if k == size else binomial[1]]
        expected = [of.get(name, float)(end) for end in ends]
        assert [interval.low, interval.high] == pytest.approx(expected, abs=1e-8)


def test_forms_hold_the_alarms_as_integers() -> None:
    result = fastad.evaluate(
        Y, SCORES["forest"], threshold=1, confidence_level=0.95, chance=True, rng=0, n_resamples=99
    )
    n = int(np.sum(SCORES["forest"] >= 1))
    (detector,) = json.loads(result.to_json())["detectors"]
    assert type(detector["values"]["flagged@threshold1"]) is int
    assert detector["values"]["flagged@threshold1"] == n
    point = detector["operating_points"][-1]
    assert (point["fpr"], point["threshold"], point["n_flagged"]) == (None, 1, n)
    assert "flagged@threshold1" in detector["intervals"]
    assert "flagged@threshold1" not in detector["chance"]
    assert "tpr@threshold1" in detector["chance"]
    text = str(result)
    assert any(line.split()[:2] == ["flagged@threshold1", str(n)] for line in text.splitlines())
    frame = result.to_frame("pandas")
    assert frame["flagged@threshold1"].tolist() == [n]
    assert {"tpr@threshold1_low", "tpr@threshold1_high"} <= set(frame.columns)


def test_recorded_errors_have_their_thresholds() -> None:
    bad = {"forest": SCORES["forest"], "broken": np.full(N, np.nan)}
    own = {"forest": 1, "broken": 2}
    result = fastad.evaluate(Y, bad, threshold=own, on_error="record")
    assert math.isnan(result["broken"]["flagged@threshold"])
    assert [point.threshold for point in result["broken"].operating_points][-1] == 2
    assert result.to_columns()["threshold"] == [1, 2]


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        (math.nan, "threshold must be a number; found NaN"),
        ([1, math.nan], r"threshold\[1\] must be a number; found NaN"),
        ([], r"threshold must be a number or a sequence of at least one; found shape \(0,\)"),
        ({"forest": 1, "svm": 2}, "each of forest, svm, counts; found none for 'counts'"),
        ({**dict.fromkeys(SCORES, 1), "x": 1}, "one number for each of .*; found one for 'x'"),
        ({**dict.fromkeys(SCORES, 1), "svm": math.nan}, r"threshold\['svm'\] must be a number"),
        ([1, 1 + 1e-9], "must differ in six digits; found two for 'tpr@threshold1'"),
    ],
)  # fmt: skip
def test_bad_thresholds_are_refused(threshold: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate(Y, SCORES, threshold=threshold)


@pytest.mark.parametrize("threshold", ["1", b"1", 1j, [None], {"svm": "1"}, {"svm": [1, 2]}])
def test_what_is_no_number_is_a_type_error(threshold: Any) -> None:
    with pytest.raises(TypeError, match=r"threshold.* must be a number"):
        fastad.evaluate(Y, SCORES, threshold=threshold)
