"""Values from the papers and from the definitions, worked out outside fastad."""

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.measures import threshold_at_rate
from tests.support.loops import loop

GOLDEN = Path(__file__).parents[1] / "golden"


def cases() -> list[Any]:
    results = []
    for file in ("labelled.json", "by_hand.json"):
        for case in json.loads((GOLDEN / file).read_text("utf-8"))["cases"]:
            for name, parameters, value in case["values"]:
                label = f"{name}{parameters or ''}: {case['name']}"
                arguments = (case["y"], case["s"], name, parameters, Fraction(value))
                results.append(pytest.param(*arguments, id=label))
    return results


def as_given(parameters: dict[str, Any]) -> dict[str, Any]:
    """Fractions are strings in the file."""
    return {
        name: Fraction(value) if isinstance(value, str) and "/" in value else value
        for name, value in parameters.items()
    }


@loop(("y", "s", "name", "parameters", "expected"), cases())
def test_golden_value(
    y: list[int], s: list[float], name: str, parameters: dict[str, Any], expected: Fraction
) -> None:
    result = getattr(fastad.measures, name)(y, s, **as_given(parameters))
    # Within one rounding: the golden numbers are fractions, and so is what fastad counts.
    assert float(result) == pytest.approx(float(expected), rel=2**-52, abs=0)
    of_ranked = getattr(fastad.rank_scores(y, s), name)(**as_given(parameters))
    assert of_ranked == result


def test_golden_curve() -> None:
    curve = fastad.roc_curve([0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.5, 0.4])
    assert curve.fpr.tolist() == [0, 0.25, 0.25, 0.5, 0.75, 1]
    assert curve.tpr.tolist() == [0, 0, 1, 1, 1, 1]
    assert curve.thresholds.tolist() == [math.inf, 0.5, 0.4, 0.3, 0.2, 0.1]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0, 1, 1, 1, 0, 0, 0, 0], 1 - math.log(4) / 3),
        ([1, 1, 0, 0, 0, 1, 0, 0], 1 - math.log(6 / 5)),
    ],
)
def test_golden_area_of_the_interpolated_precision_recall_curve(
    y: list[int], expected: float
) -> None:
    assert fastad.measures.pr_auc(y, [8, 7, 6, 5, 4, 3, 2, 1]) == pytest.approx(expected, rel=1e-14)


def test_weighted_auc_in_closed_form_by_hand() -> None:
    # The curve is TPR = 0 up to 1/4 and 1 from there: the integral of 1/f over [1/4, 1].
    y, s = [0, 0, 0, 0, 1], [0.1, 0.2, 0.3, 0.5, 0.4]
    assert fastad.weighted_auc(y, s, quadrature="exact") == pytest.approx(math.log(4), rel=1e-15)
    # One tie: the diagonal, whose TPR / FPR is 1 over [1/3, 1].
    value = fastad.weighted_auc([0, 0, 0, 1], [5, 5, 5, 5], quadrature="exact")
    assert value == pytest.approx(2 / 3, rel=1e-15)


def test_a_rate_of_0_29_of_100_normals_is_29() -> None:
    y, s = np.zeros(100, int), np.arange(100)
    y[0] = 1  # the lowest score: 99 normals and one anomaly
    y, s = np.append(y, 0), np.append(s, 100)
    assert fastad.threshold_at_fpr(y, s, fpr=0.29, interpolation="conservative") == 72
    assert fastad.confusion_at(y, s, threshold=72).fp == 29


def test_first_point_of_the_precision_recall_curve_has_the_precision_of_the_next() -> None:
    curve = fastad.precision_recall_curve([1, 0, 1, 0], [3, 2, 2, 1])
    assert curve.precision.tolist() == [1, 1, 2 / 3, 0.5]
    assert curve.recall.tolist() == [0, 0.5, 1, 1]
    assert curve.thresholds.tolist() == [math.inf, 3, 2, 1]


def test_thresholds_at_the_ends() -> None:
    y, s = [0, 0, 1], [0.2, 0.4, 0.1]
    assert fastad.threshold_at_fpr(y, s, fpr=0) == math.inf
    assert fastad.f1_at_fpr(y, s, fpr=0) == 0
    assert fastad.threshold_at_fpr(y, s, fpr=1) == 0.1
    assert threshold_at_rate(s, rate=0.5) == pytest.approx(0.3, rel=2**-52)
    assert threshold_at_rate([1, 2, 3, 4], rate=0.25) == 4
