"""``explain`` names the definition of a number, and never gives a right number a wrong name."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.types import AnyVector, FloatVector
from fastad.errors import InvalidTypeError
from fastad.explain import Explanation, explain
from fastad.explain.explanation import DEFINITIONS
from tests.support.loops import loop

AUC = "area under the ROC curve"
AP = "average precision"
TRAPEZOID = "trapezoid area under the precision-recall curve"
SORTED = f"{TRAPEZOID} sorted by recall"
PARTLY = f"{AUC} of the sigmoid of those scores that lie outside [0, 1]"
FLIPPED = f"{AUC} with scores negated, or classes exchanged"


def names(result: Explanation) -> list[str]:
    assert not result.right
    return [match.name for match in result.matches]


def normal_scores(seed: int, n: int, shift: float = 1.0) -> tuple[AnyVector, FloatVector]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rng.uniform(0.05, 0.5)).astype(int)
    y[:2] = 0, 1
    return y, rng.normal(size=n) + shift * y


# Numbers that were printed in public, with the data that were printed beside them.


def r_uniform(seed: int, n: int) -> FloatVector:
    """Return what ``set.seed(seed); runif(n)`` gives in R."""
    state = []
    for i in range(50 + 625):
        seed = (69069 * seed + 1) % 2**32
        if i >= 51:
            state.append(seed)
    generator = np.random.MT19937(0)
    generator.state = {**generator.state, "state": {"key": np.array(state, np.uint32), "pos": 624}}
    return np.array([generator.random_raw() for _ in range(n)]) * 2.3283064365386963e-10


def of_counts(tn: int, fp: int, fn: int, tp: int) -> tuple[AnyVector, FloatVector]:
    """Return labels and distinct scores with these counts at 0.5."""
    y = np.repeat([0, 0, 1, 1], [tn, fp, fn, tp])
    is_high = np.repeat([0, 1, 0, 1], [tn, fp, fn, tp])
    return y, (is_high + np.linspace(0.01, 0.99, len(y))) / 2


R_DRAWS = r_uniform(1, 200)
TEN = [0, 1, 1, 1, 0, 0, 0, 0, 1, 1]
TEN_SCORES = [0.59, 0.35, 0.72, 0.33, 0.73, 0.81, 0.30, 0.05, 0.04, 0.48]
RARE = np.repeat([0, 1], [1900, 100])
LOGITS = [98.0950, 98.4612, 98.1145, 98.1506, 97.6037, 98.9425, 99.2644, 99.5014]
LOGITS += [99.7280, 99.6595, 99.6931, 99.4667, 99.9623, 99.8949, 99.8768]
PUBLIC: dict[str, tuple[Any, Any, str, str]] = {
    "anomalib#3781, docstring": ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "0.8750", SORTED),
    "anomalib#3797, docstring": (TEN, TEN_SCORES, "0.4899", SORTED),
    "anomalib#3781, constant": (RARE, np.full(2000, 0.5), "0.5250", SORTED),
    "anomalib#3781, inverted": (RARE, 1 - RARE, "0.5250", SORTED),
    "anomalib#3781, perfect": (RARE, np.arange(2000) / 2000, "0.9952", SORTED),
    "anomalib#2003": (np.arange(-2, 2, 0.2) > 0, np.arange(-2, 2, 0.2), "0.8990", PARTLY),
    "torchmetrics#1989": ([1, 0, 1], [1.2, 0.9678, 1.7], "0.", PARTLY),
    "torchmetrics#2819": (
        [0] + [1] * 14,
        LOGITS,
        "0.5000",
        f"{AUC} of the sigmoid of the scores in single precision",
    ),
    "torchmetrics, docstring of binary_average_precision": (
        [0, 1, 1, 0],
        [0, 0.5, 0.7, 0.8],
        "0.6667",
        f"{AP} at 5 thresholds from 0 to 1",
    ),
    "simpletransformers#1239": (
        *of_counts(tn=1249, fp=3379, fn=20, tp=620),
        "0.6193144987035437",
        f"{AUC} of hard labels (score > 0.5)",
    ),
    "pROC#61": (
        np.floor(2 * R_DRAWS[100:]),
        R_DRAWS[:100],
        "0.543",
        f"{AUC} in the direction of the medians",
    ),
    "scikit-learn#9017, constant": ([0, 1] * 5, np.zeros(10), "0.75", TRAPEZOID),
    "cell-eval#208, constant": ([1, 0, 0, 0], np.ones(4), "0.625", TRAPEZOID),
}


@loop("thread", PUBLIC)
def test_public_discrepancies_are_named(thread: str) -> None:
    y, s, value, name = PUBLIC[thread]
    # An equal error rate of 0 is right where an area of 0 is not.
    measure = "auc" if value == "0." else None
    result = explain(y, s, value=value, measure=measure)
    assert name in names(result)
    decimals = len(value.partition(".")[2])
    (match,) = [match for match in result.matches if match.name == name]
    assert abs(match.value - float(value)) <= max(0.5 * 10.0**-decimals * 1.000001, 1e-6)


def test_data_of_proc_61_are_those_that_were_printed() -> None:
    y, x = np.floor(2 * R_DRAWS[100:]), R_DRAWS[:100]
    assert x[y == 0].mean() == pytest.approx(0.538855, abs=5e-7)
    assert x[y == 1].mean() == pytest.approx(0.4999514, abs=5e-8)
    # What the reporter computed is right.
    assert explain(y, x, value="0.457").right.keys() == {"auc"}


# Right numbers.


@pytest.mark.evidence
def test_right_values_get_no_other_name() -> None:
    rng = np.random.default_rng(0)
    n_compared = 0
    for seed in range(40):
        y, s = normal_scores(seed, int(rng.integers(10, 400)), shift=rng.uniform(-1, 3))
        if seed % 4 == 1:
            s = np.round(s, 1)
        if seed % 4 == 2:
            s = (s - s.min()) / np.ptp(s)
        groups = rng.integers(0, 3, len(y)) if seed % 5 == 0 else None
        values = explain(y, s, value="0.5", groups=groups).measures
        keys = [key for key, value in values.items() if not np.isnan(value)]
        for key in rng.choice(keys, 10):
            printed = f"{values[key]:.{rng.integers(6, 14)}f}"
            result = explain(y, s, value=printed, groups=groups)
            assert key in result.right, (seed, key)
            assert result.matches == ()
            assert all(abs(x - float(printed)) <= 5e-7 * 1.01 for x in result.right.values())
            n_compared += 1
    assert n_compared == 400


@pytest.mark.slow
def test_right_values_of_measures_that_are_not_compared_get_no_name() -> None:
    """With six digits, of continuous scores."""
    others = ("tpr@0.25", "fpr@tpr0.8", "auc@0.15", "auc_log@0.001", "bedroc@20", "precision@p0.1")
    for seed in range(10):
        y, s = normal_scores(seed, 3001)
        table = fastad.evaluate(y, s, measures=list(others))["score"]
        for key in others:
            result = explain(y, s, value=f"{table[key]:.9f}")
            assert not result.right
            assert result.matches == (), (seed, key)


@pytest.mark.slow
def test_other_numbers_get_no_name() -> None:
    rng = np.random.default_rng(1)
    y, s = normal_scores(7, 2003)
    for value in rng.random(40):
        result = explain(y, s, value=f"{value:.8f}")
        assert not result.right
        assert result.matches == ()
        assert result.summary == f"No definition that is known gives {value:.8f}."


def test_a_few_digits_are_said_to_be_few() -> None:
    y, s = normal_scores(0, 500)
    auc = fastad.roc_auc(y, s)
    result = explain(y, s, value=f"{auc:.2f}")
    assert "auc" in result.right
    assert result.n_similar > 0
    assert "more digits" in result.notes[0]
    exact = explain(y, s, value=f"{auc:.12f}")
    assert (exact.n_similar, list(exact.notes)) == (0, [])


# Names.


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_definition_is_found_by_its_value(seed: int) -> None:
    from fastad.explain.definition import Points, ScoredRows

    y, s = normal_scores(seed, 300)
    s = [s, np.round(s, 1), (s - s.min()) / np.ptp(s)][seed % 3]
    groups = np.arange(300) % 4
    labels = y.astype(np.uint8)
    parts = [np.flatnonzero(groups == group) for group in range(4)]
    rows = ScoredRows(labels, s, Points.from_rows(labels, s), parts)
    n_named = 0
    for one in DEFINITIONS:
        value = one.compute(rows)
        if np.isnan(value):
            continue
        result = explain(y, s, value=f"{value:.10f}", groups=groups)
        assert result.right or one.name in names(result)
        n_named += not result.right
        for match in result.matches:
            assert match.measure_value == result.measures[match.measure]
    assert n_named > 60


def test_definitions_that_cannot_be_told_apart_are_all_named() -> None:
    result = explain([0, 0, 0, 1], [1, 1, 1, 1], value="0.625")
    assert {TRAPEZOID, SORTED} <= set(names(result))
    assert "cannot tell apart" in result.summary


def test_a_measure_is_compared_alone() -> None:
    y, s = [0, 0, 1, 1], [0.9, 0.8, 0.2, 0.1]
    assert explain(y, s, value="1.0").right.keys() == {"eer", "fpr@tpr0.95"}
    result = explain(y, s, value="1.0", measure="auc")
    assert FLIPPED in names(result)
    assert {match.measure for match in result.matches} == {"auc"} == result.measures.keys()
    assert explain(y, s, value="0.0", measure="tpr@0.25").right == {"tpr@0.25": 0}
    with pytest.raises(InvalidInputError, match="measure must be") as caught:
        explain(y, s, value="1.0", measure="acu")
    assert caught.value.argument == "measure"


def test_groups_are_averaged() -> None:
    y = [0, 1, 0, 1, 1, 0]
    s = [1, 2, 2, 1, 3, 0]
    result = explain(y, s, value=0.875, groups=["a", "a", "b", "b", "b", "b"])
    assert f"mean of the {AUC} over groups" in names(result)
    assert names(explain(y, s, value=0.875)) == []


@pytest.mark.parametrize("value", ["0.1250", 0.125, np.float32(0.125), Fraction(1, 8), " 1.25e-1 "])
def test_a_number_may_come_in_many_forms(value: Any) -> None:
    result = explain([0, 0, 1, 1, 0, 0], [1, 2, 3, 0.5, 0.6, 4], value=value)
    expected = explain([0, 0, 1, 1, 0, 0], [1, 2, 3, 0.5, 0.6, 4], value="0.125")
    assert [match.name for match in result.matches] == [match.name for match in expected.matches]


@pytest.mark.parametrize(
    ("value", "tolerance"),
    [
        ("0.5250", 5e-5),
        ("0.525", 5e-4),
        ("0.5", 5e-3),
        ("1", 5e-3),
        ("0.52499999999", 5e-7),
        ("5.25e-1", 5e-4),
        ("1e300", 5e-3),
        ("1e-400", 5e-7),
    ],
)
def test_the_digits_decide_how_near_is_near(value: str, tolerance: float) -> None:
    result = explain([0, 1], [1, 2], value=value)
    assert result.tolerance == pytest.approx(tolerance, rel=1e-6)
    assert result.value == value


def test_scores_may_be_infinite() -> None:
    y, s = [0, 0, 1, 1, 0], [-np.inf, 1, np.inf, 0, 2]
    assert "auc" in explain(y, s, value=fastad.roc_auc(y, s)).right
    assert FLIPPED in names(explain(y, s, value=f"{1 - fastad.roc_auc(y, s):.6f}"))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("half", InvalidInputError, "value must be a number; found 'half'"),
        ("", InvalidInputError, "value must be a number; found ''"),
        ("nan", InvalidInputError, "value must be finite; found 'nan'"),
        (float("inf"), InvalidInputError, "value must be finite; found inf"),
        (None, InvalidTypeError, "value must be a number; found NoneType"),
        (True, InvalidTypeError, "value must be a number; found bool"),
    ],
)
def test_other_values_are_refused(value: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"^{message}$") as caught:
        explain([0, 1], [1, 2], value=value)
    assert caught.value.argument == "value"


def test_one_class_is_undefined_and_bad_data_are_named() -> None:
    with pytest.raises(UndefinedMeasureError, match="explain is undefined without anomalies"):
        explain([0, 0], [1, 2], value=0.5)
    with pytest.raises(InvalidInputError, match="y_score must not contain NaN"):
        explain([0, 1], [1, np.nan], value=0.5)
    with pytest.raises(InvalidInputError, match="must have one value for each label"):
        explain([0, 1], [1, 2], value=0.5, groups=["a"])


# How it prints.


def test_it_prints_the_answer_first() -> None:
    result = explain(TEN, TEN_SCORES, value="0.4899")
    lines = str(result).splitlines()
    assert lines[0] == f"0.4899 is the {SORTED}."
    assert "0.4899  ap 0.4610" in lines[3]
    assert "anomalib#3781" in lines[4]
    assert result.summary in result._repr_html_()


def test_a_right_value_prints_all_measures() -> None:
    result = explain([0, 1, 1], [1, 2, 0], value="0.5")
    assert result.summary.startswith("0.5 is right: it is auc")
    assert result.text_table().header == ["measure", "fastad"]
    assert ["auc", "0.5000"] in result.text_table().rows


def test_it_turns_into_plain_values_and_frames() -> None:
    result = explain(TEN, TEN_SCORES, value="0.4899")
    content = json.loads(result.to_json())
    assert content["value"] == "0.4899"
    assert content["matches"][0]["measure_value"] == content["measures"]["ap"]
    assert result.to_frame("pandas").shape == (1, 6)
    assert Decimal(content["value"]) == Decimal("0.4899")


def test_a_number_in_percent_is_recognized() -> None:
    y_true, y_score = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    result = explain(y_true, y_score, value="75.0")
    assert result.summary.endswith("If it is in percent, write 0.750.")
    assert result.to_dict()["as_fraction"] == "0.750"
    assert explain(y_true, y_score, value=result.as_fraction or "").right == {"auc": 0.75}
    for value in ("0.750", "12.3"):
        assert explain(y_true, y_score, value=value, measure="auc").as_fraction is None
