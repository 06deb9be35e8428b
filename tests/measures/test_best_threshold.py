"""The best threshold by each criterion equals the best of all points, in fractions."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from tests.support import oracles
from tests.support.uncertainty import PROC, PROC_Y

best_threshold = fastad.measures.best_threshold
ONE = Fraction(1)
# Merits of a point by its false positives and true positives, of m normals and n anomalies.
Merit = Callable[[Fraction, Fraction, Fraction, Fraction], Fraction]


def youden(fp: Fraction, tp: Fraction, m: Fraction, n: Fraction) -> Fraction:
    return tp / n - fp / m


def closest(fp: Fraction, tp: Fraction, m: Fraction, n: Fraction) -> Fraction:
    return -((ONE - tp / n) ** 2) - (fp / m) ** 2


def f1_at(prevalence: Fraction | None) -> Merit:
    def f1(fp: Fraction, tp: Fraction, m: Fraction, n: Fraction) -> Fraction:
        weight = ONE if prevalence is None else (1 - prevalence) / prevalence * n / m
        return 2 * tp / (tp + weight * fp + n)

    return f1


def saving_at(prevalence: Fraction | None, miss: int, false_alarm: int) -> Merit:
    def saving(fp: Fraction, tp: Fraction, m: Fraction, n: Fraction) -> Fraction:
        share = n / (n + m) if prevalence is None else prevalence
        return -miss * share * (1 - tp / n) - false_alarm * (1 - share) * fp / m

    return saving


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[int], list[int], list[int] | None]:
    """Labels of both classes, scores with heavy ties, and weights or none."""
    labels = [0, 1, *draw(st.lists(st.integers(0, 1), max_size=20))]
    size = len(labels)
    scores = draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size))
    weights = draw(st.none() | st.lists(st.integers(1, 3), min_size=size, max_size=size))
    return labels, scores, weights


prevalences = st.none() | st.integers(1, 19).map(lambda k: k / 20)
costs = st.integers(1, 9)


@pytest.mark.slow
@given(samples(), st.sampled_from(["youden", "closest", "f1", "cost"]), prevalences, costs, costs)
def test_it_is_the_highest_of_the_best_of_all_points(
    sample: tuple[list[int], list[int], list[int] | None],
    criterion: Any,
    prevalence: float | None,
    miss: int,
    false_alarm: int,
) -> None:
    y, s, w = sample
    share = None if prevalence is None else oracles.written(prevalence)
    options: dict[str, Any] = {"prevalence": prevalence} if criterion in ("f1", "cost") else {}
    if criterion == "cost":
        options |= {"cost_miss": miss, "cost_false_alarm": false_alarm}
    merit = {
        "youden": youden,
        "closest": closest,
        "f1": f1_at(share),
        "cost": saving_at(share, miss, false_alarm),
    }[criterion]
    points = oracles.points(oracles.rows(y, s, w))
    m, n, _ = points[-1]
    merits = [merit(fp, tp, m, n) for fp, tp, _ in points]
    expected = points[merits.index(max(merits))][2]
    found = best_threshold(y, s, criterion=criterion, sample_weight=w, **options)
    assert found == expected
    assert type(found) is type(expected)


def test_it_is_the_threshold_of_the_measures_of_the_best_point() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.1).astype(int)
    s = (rng.normal(size=3000) + 1.5 * y).astype(np.float32)
    f1 = fastad.best_f1(y, s, prevalence=0.01)
    assert best_threshold(y, s, criterion="f1", prevalence=0.01) == f1.threshold
    cost = fastad.measures.min_detection_cost(y, s, prevalence=0.2, cost_miss=7)
    assert best_threshold(y, s, criterion="cost", prevalence=0.2, cost_miss=7) == cost.threshold
    # Youden's index, and the distance, of all points of the curve in floats.
    fpr, tpr, thresholds = fastad.roc_curve(y, s)
    assert best_threshold(y, s) == thresholds[np.argmax(tpr - fpr)]
    nearest = np.argmin(np.hypot(1 - tpr, fpr))
    assert best_threshold(y, s, criterion="closest") == thresholds[nearest]
    # An affine transform moves it, and labels of another name do not.
    names = np.where(y == 1, "bad", "good")
    assert best_threshold(names, s, pos_label="bad") == best_threshold(y, s)


def test_points_that_rounding_cannot_tell_apart_are_told_apart() -> None:
    """Of 3 anomalies and 3 normals, (0, 1/3) and (1/3, 2/3) have one Youden index."""
    y, s = [1, 0, 1, 0, 1, 0], [6, 5, 4, 3, 2, 1]
    assert best_threshold(y, s) == 6
    # Nothing is better than to flag no sample.
    assert best_threshold([1, 0], [3, 3]) == np.inf
    assert best_threshold([1, 0], [1, 2], criterion="closest") == np.inf


def test_what_is_undefined_or_not_read_is_refused() -> None:
    with pytest.raises(UndefinedMeasureError, match="best_threshold is undefined without anom"):
        best_threshold([0, 0], [1, 2])
    with pytest.raises(UndefinedMeasureError, match="best_threshold is undefined without normal"):
        best_threshold([1, 1], [1, 2], criterion="f1")
    with pytest.raises(
        InvalidInputError,
        match="prevalence must not be given with criterion='youden', which does not read it; "
        r"found 0\.1",
    ):
        best_threshold([0, 1], [1, 2], prevalence=0.1)
    with pytest.raises(InvalidInputError, match="cost_miss must not be given with criterion='f1'"):
        best_threshold([0, 1], [1, 2], criterion="f1", cost_miss=1)
    with pytest.raises(InvalidInputError, match="criterion must be"):
        best_threshold([0, 1], [1, 2], criterion="gmean")  # type: ignore[arg-type]


def test_youdens_threshold_flags_what_that_of_proc_does() -> None:
    """pROC: tests/testthat/test-coords.R, coords(r.s100b, "best") and the counts at its 0.205."""
    scores = PROC["markers"]["s100b"]["scores"]
    at = fastad.confusion_at(PROC_Y, scores, threshold=best_threshold(PROC_Y, scores))
    assert (at.tp, at.fp, at.tn, at.fn) == (26, 14, 58, 15)
