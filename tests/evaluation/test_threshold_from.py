"""Tables at thresholds that were chosen on other samples."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError
from fastad.measures.best_thresholds import BEST_F1
from tests.support import oracles
from tests.support.loops import loop


def draw(seed: int, size: int = 200, decimals: int = 1) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < 0.2).astype(int)
    y[:4] = [0, 1, 0, 1]
    return y, {
        name: np.round(rng.normal(size=size) + shift * y, decimals)
        for name, shift in (("good", 2), ("poor", 0.5))
    }


VALIDATION, TEST = draw(0), draw(1)
# By key: what it is at a threshold, and the function that has the threshold on other samples.
CHOICES: Mapping[str, tuple[str, Any]] = {
    "f1_best": ("f1", lambda y, s: fastad.best_f1(y, s).threshold),
    "f1@0.05": ("f1", lambda y, s: fastad.threshold_at_fpr(y, s, fpr=0.05)),
    "tpr@0.05": ("tpr", lambda y, s: fastad.threshold_at_fpr(y, s, fpr=0.05)),
    "precision@fpr0.05": ("precision", lambda y, s: fastad.threshold_at_fpr(y, s, fpr=0.05)),
    "fpr@tpr0.9": ("fpr", lambda y, s: highest_reaching(y, s, 0.9)),
    "recall@precision0.6": (
        "tpr",
        lambda y, s: fastad.measures.recall_at_precision(y, s, precision=0.6).threshold,
    ),
    "precision@recall0.5": (
        "precision",
        lambda y, s: fastad.measures.precision_at_recall(y, s, recall=0.5).threshold,
    ),
}


def highest_reaching(y: npt.NDArray[Any], s: npt.NDArray[Any], tpr: float) -> float:
    return float(max(x for x in s if np.mean(s[y == 1] >= x) >= tpr))


def value_at(name: str, y: Any, s: Any, threshold: float) -> float:
    tp, fp, tn, fn = oracles.confusion(y, s, threshold)
    parts = {
        "tpr": (tp, tp + fn),
        "fpr": (fp, fp + tn),
        "precision": (tp, tp + fp),
        "f1": (2 * tp, 2 * tp + fp + fn),
    }
    part, whole = parts[name]
    return part / whole if whole else math.nan


@loop("key", CHOICES)
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_thresholds_are_chosen_there_and_judged_here(key: str, seed: int, decimals: int) -> None:
    other, own = draw(seed, 60, decimals), draw(seed + 1, 80, decimals)
    result = fastad.evaluate(*own, measures=["auc", key], threshold_from=other)
    name, choose = CHOICES[key]
    for detector, scores in own[1].items():
        assert result[detector]["auc"] == fastad.roc_auc(own[0], scores)
        (point,) = result[detector].operating_points
        if point.threshold is None:
            with pytest.raises(fastad.UndefinedMeasureError) as error:
                choose(other[0], other[1][detector])
            assert result[detector].undefined[key] == f"{error.value}, in threshold_from"
            continue
        threshold = choose(other[0], other[1][detector])
        expected = value_at(name, own[0], scores, threshold)
        assert result[detector][key] == pytest.approx(expected, rel=1e-15, nan_ok=True)
        assert (point.threshold, point.fpr) == (threshold, None)
        assert point.n_flagged == np.sum(scores >= threshold)


def test_a_cost_is_that_of_the_samples() -> None:
    costs = fastad.measures.min_detection_cost, fastad.measures.detection_cost
    bound = fastad.measures.registry.MEASURES["min_detection_cost"].bind(
        prevalence=0.01, cost_miss=10
    )
    result = fastad.evaluate(*TEST, measures=[bound], threshold_from=VALIDATION)
    for name, scores in TEST[1].items():
        options = {"prevalence": 0.01, "cost_miss": 10}
        chosen = costs[0](VALIDATION[0], VALIDATION[1][name], **options).threshold
        expected = costs[1](TEST[0], scores, threshold=chosen, **options)
        assert result[name]["mindcf@0.01"] == expected


def test_the_same_samples_give_the_best_value() -> None:
    plain = fastad.evaluate(*TEST, measures=["f1_best", "mindcf"])
    same = fastad.evaluate(*TEST, measures=["f1_best", "mindcf"], threshold_from=TEST)
    assert {name: dict(plain[name]) for name in plain} == {name: dict(same[name]) for name in same}


def test_a_table_says_what_was_chosen_elsewhere() -> None:
    keys = ["auc", "f1_best", "tpr@0.05", "f1@0.05"]
    result = fastad.evaluate(*TEST, measures=keys, threshold_from=VALIDATION)
    note = "note: thresholds chosen on the samples of threshold_from: f1_best, tpr@0.05, f1@0.05"
    assert note in str(result)
    # Measures at one false positive rate share the threshold.
    assert [point.rule for point in result["good"].operating_points] == ["f1_best", "fpr 0.05"]
    assert result["good"].to_dict()["chosen_elsewhere"] == keys[1:]
    assert result["good"].to_dict()["operating_points"][1]["rule"] == "fpr 0.05"
    assert "chosen_elsewhere" not in fastad.evaluate(*TEST, measures=keys)["good"].to_dict()
    grouped = fastad.evaluate(
        *TEST, measures=keys, threshold_from=VALIDATION, groups=np.arange(200) % 2
    )
    assert note in str(grouped)


def test_groups_share_the_thresholds() -> None:
    groups = np.arange(200) % 3
    grouped = fastad.evaluate(
        *TEST, measures=["f1_best"], threshold_from=VALIDATION, groups=groups, nan_policy="omit"
    )
    for group in grouped:
        for name, scores in TEST[1].items():
            chosen = fastad.best_f1(VALIDATION[0], VALIDATION[1][name]).threshold
            rows = groups == group
            expected = value_at("f1", TEST[0][rows], scores[rows], chosen)
            assert grouped[group][name]["f1_best"] == pytest.approx(expected, rel=1e-15)


def test_intervals_are_those_at_a_threshold() -> None:
    result = fastad.evaluate(
        *TEST, measures=["tpr@0.05"], threshold_from=VALIDATION, confidence_level=0.9
    )
    for name, scores in TEST[1].items():
        chosen = fastad.threshold_at_fpr(VALIDATION[0], VALIDATION[1][name], fpr=0.05)
        expected = fastad.interval(
            TEST[0], scores, measure="tpr", threshold=chosen, confidence_level=0.9
        )
        assert result[name].intervals["tpr@0.05"].to_dict() == expected.to_dict()


def test_own_thresholds_stay() -> None:
    own = {"good": 1.0, "poor": 0.5}
    result = fastad.evaluate(
        *TEST, measures=["f1_best", "tpr"], threshold=own, threshold_from=VALIDATION
    )
    assert result["poor"]["tpr@threshold"] == value_at("tpr", TEST[0], TEST[1]["poor"], 0.5)
    expected = fastad.evaluate(*TEST, measures=["f1_best"], threshold_from=VALIDATION)
    assert result["good"]["f1_best"] == expected["good"]["f1_best"]


def test_rows_without_a_score_are_left_out_there_too() -> None:
    y, scores = VALIDATION
    missing = {name: np.where(np.arange(200) % 7 == 3, np.nan, s) for name, s in scores.items()}
    kept = np.arange(200) % 7 != 3
    some = y[kept], {name: s[kept] for name, s in scores.items()}
    result = fastad.evaluate(
        *TEST, measures=["f1_best"], threshold_from=(y, missing), nan_policy="omit"
    )
    expected = fastad.evaluate(*TEST, measures=["f1_best"], threshold_from=some)
    assert dict(result["good"]) == dict(expected["good"])
    with pytest.raises(
        InvalidInputError, match=r"^threshold_from must .*y_score\['good'\] must not"
    ):
        fastad.evaluate(*TEST, measures=["f1_best"], threshold_from=(y, missing))


Y_VALIDATION, S_VALIDATION = VALIDATION


@loop(
    "case",
    [
        (Y_VALIDATION, {}, "must be a tuple"),
        ((Y_VALIDATION, S_VALIDATION, 1), {}, "must be a tuple"),
        ((Y_VALIDATION, {"good": S_VALIDATION["good"]}), {}, "must have the detectors good, poor"),
        ((Y_VALIDATION[1:], S_VALIDATION), {}, "threshold_from must have labels"),
        (VALIDATION, {"measures": ["auc", "ap"]}, "choose a threshold"),
        (VALIDATION, {"contamination": 0.01}, "contamination must not be given"),
        (VALIDATION, {"measures": BEST_F1.bind(prevalence=0.1)}, "^prevalence must not be given"),
    ],
)
def test_what_is_refused(case: Any) -> None:
    threshold_from, options, message = case
    with pytest.raises(InvalidInputError, match=message):
        fastad.evaluate(*TEST, threshold_from=threshold_from, **options)


def test_bad_scores_there_leave_the_other_detectors() -> None:
    y, scores = VALIDATION
    broken = {**scores, "poor": np.where(np.arange(200) == 3, np.nan, scores["poor"])}
    keys = ["auc", "f1_best", "tpr@0.05"]
    result = fastad.evaluate(*TEST, measures=keys, threshold_from=(y, broken), on_error="record")
    expected = fastad.evaluate(*TEST, measures=keys, threshold_from=VALIDATION)
    assert dict(result["good"]) == dict(expected["good"])
    poor = result["poor"]
    assert poor["auc"] == fastad.roc_auc(TEST[0], TEST[1]["poor"])
    assert poor.undefined.keys() == {"f1_best", "tpr@0.05"}
    for key, reason in poor.undefined.items():
        assert math.isnan(poor[key])
        assert reason.startswith("the samples of threshold_from are invalid: y_score['poor'] must")
        assert "NaN; found 1, the first at index 3" in reason
    assert [point.threshold for point in poor.operating_points] == [None, None]
    assert poor.error is None
    both = fastad.evaluate(
        TEST[0], {**TEST[1], "poor": [math.nan] * len(TEST[0])}, measures=keys,
        threshold_from=(y, broken), on_error="record",
    )["poor"]  # fmt: skip
    assert both.error is not None
    assert [point.threshold for point in both.operating_points] == [None, None]
