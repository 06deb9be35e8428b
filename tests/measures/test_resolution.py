"""Operating points for which the samples are too few: what holds of every measure with a mark."""

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fastad.measures.measure import TAILS
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind, example_key
from fastad.ordering.counts import count
from tests.support.loops import loop

SIZES = [1, 2, 3, 9, 10, 11, 19, 20, 21, 43, 99, 100, 101, 999, 1000]
TWENTIETHS = Fraction(1, 20), Fraction(19, 20)
ERRORS = ["0.001", "0.01", "0.05", "0.1", "0.29", "0.5", "1"]


def normals_first(n_first: int, n_normals: int) -> tuple[list[int], list[int]]:
    """The highest scores are of normals, then come three anomalies, then the other normals."""
    n_first = min(n_first, n_normals)
    labels = [0] * n_first + [1, 1, 1] + [0] * (n_normals - n_first)
    return labels, list(range(len(labels), 0, -1))


def one_anomaly_last(n_anomalies: int) -> tuple[list[int], list[int]]:
    """The lowest score is an anomaly's, below three normals; the other anomalies stand first."""
    labels = [1] * (n_anomalies - 1) + [0, 0, 0, 1]
    return labels, list(range(len(labels), 0, -1))


@loop("error", ERRORS)
@loop("m", SIZES)
def test_of_too_few_normals_five_false_alarms_are_beyond(m: int, error: str) -> None:
    """Below FPR 5 / m nothing is detected here, and from there on everything."""
    counts = count(*normals_first(5, m))
    if m < 5:
        assert (bind(f"tpr@{error}", {}).unresolved(counts) is not None) == (error != "1")
        return
    for key in ("tpr@", "f1@"):
        bound = bind(f"{key}{error}", {})
        assert (bound.unresolved(counts) is not None) == (bound.value(counts) == 0)
    # It costs something.
    cost = bind(f"np@{error}", {})
    assert (cost.unresolved(counts) is not None) == (cost.value(counts) > 0)
    area = bind(f"auc@{error}", {})
    if area.unresolved(counts) is not None:
        assert area.value(counts) == 0
    elif Fraction(error) * m > 5:
        assert area.value(counts) > 0


@loop("error", ERRORS[:-1])
@loop("m", SIZES)
def test_an_area_of_which_no_normal_is_dropped_is_the_whole(m: int, error: str) -> None:
    counts = count(*normals_first(1, m))
    trimmed, plain = bind(f"ht_auc@{error}", {}), bind("auc", {})
    same = trimmed.value(counts) == plain.value(counts)
    assert (trimmed.unresolved(counts) is not None) == same


@loop("error", ERRORS)
@loop("n", SIZES)
def test_of_too_few_anomalies_the_first_miss_is_beyond(n: int, error: str) -> None:
    """At TPR 1 everything is flagged here, and down to TPR 1 - 1 / n no normal is."""
    counts = count(*one_anomaly_last(n))
    tpr = f"{float(1 - Fraction(error)):g}"
    rate, area = bind(f"fpr@tpr{tpr}", {}), bind(f"auc@tpr{tpr}", {})
    assert (rate.unresolved(counts) is not None) == (rate.value(counts) == 1)
    if area.unresolved(counts) is not None:
        assert area.value(counts) == 0
    elif Fraction(error) * n > 1:
        assert area.value(counts) > 0
    # A mean over no anomaly is 1, that over the first ones is not: they lie below a normal.
    labels, scores = [0] + [1] * n, list(range(n + 1, 0, -1))
    kept = bind(f"lf_auc@{error}", {})
    below = count(labels, scores)
    assert (kept.unresolved(below) is not None) == (kept.value(below) == 1)


@loop("measure", [x for x in MEASURES.values() if x.kind == "value" and not x.takes_score_range])
def test_a_measure_of_a_part_of_a_class_has_a_mark(measure: Any) -> None:
    """A twentieth has one sample at most of two, and some of 100."""
    tail = measure.tail or TAILS.get(measure.operating_point)
    point = next((x for x in TWENTIETHS if tail and tail.fraction(x) == Fraction(1, 20)), None)
    bound = bind(example_key(measure) if point is None else f"{measure.key}{float(point)}", {})
    few = count([0, 1, 0, 1], [1, 2, 3, 4])
    assert (bound.unresolved(few) is not None) == (tail is not None)
    many = count(np.arange(200) % 2, np.arange(200))
    assert bound.unresolved(many) is None


@pytest.mark.parametrize(
    "key", ["tpr@0", "f1@0", "tpr@1", "fpr@tpr1", "fpr@tpr0", "ht_auc@0", "lf_auc@0", "lf_auc@1"]
)
def test_the_ends_of_a_rate_are_what_they_say(key: str) -> None:
    assert bind(key, {}).unresolved(count([0, 1, 0, 1], [1, 2, 3, 4])) is None


def test_the_note_says_how_many_it_takes() -> None:
    few = count([0, 1, 0, 1], [1, 2, 3, 4])
    for key, note in {
        "tpr@0.01": "of fewer than 500 normals fewer than 5 are beyond FPR 0.01",
        "auc@0.03": "of fewer than 167 normals fewer than 5 are beyond FPR 0.03",
        "fpr@tpr0.95": "of fewer than 20 anomalies one miss is below TPR 0.95",
        "ht_auc@0.2": "of fewer than 5 normals alpha 0.2 drops none",
        "lf_auc@0.3": "of fewer than 4 anomalies alpha 0.3 keeps none",
    }.items():
        assert bind(key, {}).unresolved(few) == note


@pytest.mark.parametrize(
    ("weights", "marked"),
    [(np.full(20, 49), True), (np.full(20, 50), False), (np.full(20, 0.05), False)],
)
def test_integer_weights_count_and_real_ones_do_not_tell(
    weights: npt.NDArray[Any], marked: bool
) -> None:
    """Ten normals of weight 50 are 500."""
    counts = count(np.arange(20) % 2, np.arange(20), sample_weight=weights)
    assert (bind("tpr@0.01", {}).unresolved(counts) is not None) == marked
