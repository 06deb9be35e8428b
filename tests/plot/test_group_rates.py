"""Rates of kinds and segments as they are drawn, and the curve of each kind."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.plot import RateComparisonDisplay, RocCurveDisplay
from fastad.plot.drawing import COLOURS
from tests.support.drawn import draw, new_axes

RNG = np.random.default_rng(0)
Y = RNG.random(400) < 0.3
S = RNG.normal(size=400) + 2 * Y
KIND = RNG.choice(["a", "b $x$", "_c"], 400, p=[0.6, 0.3, 0.1])


def test_each_group_has_a_row_at_each_operating_point() -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, measures=["auc"], fpr=[0.05, 0.2])["score"]
    display: Any = RateComparisonDisplay.from_evaluation(result).plot(new_axes())
    draw(display)
    assert list(display.lines_) == ["FPR 0.05", "FPR 0.2"]
    rates: Any = [point.kinds for point in result.operating_points]
    worst_first = np.argsort(rates[0].value)
    for line, each, colour in zip(display.lines_.values(), rates, COLOURS, strict=False):
        assert line.get_xdata().tolist() == each.value[worst_first].tolist()
        assert to_hex(line.get_color()).upper() == colour
    drawn = [segments.get_segments() for segments in display.ax_.collections]
    for segments, each in zip(drawn, rates, strict=True):
        ends = [[x for x, _ in segment] for segment in segments]
        assert ends == np.stack([each.low, each.high], axis=1)[worst_first].tolist()
    names = {"a": "a", "b $x$": r"b \$x\$", "_c": " _c"}
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts == [names[rates[0].names[i]] for i in worst_first]
    assert display.ax_.get_xlabel() == "True positive rate, 95 % interval of all at once"
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == list(
        display.lines_
    )


def test_thresholds_that_are_integers_have_all_digits() -> None:
    scores, thresholds = 1_000_000 + np.arange(400), [1_000_100, 1_000_101]
    result = fastad.evaluate(Y, scores, kinds=KIND, threshold=thresholds, measures=["tpr"])
    display = RateComparisonDisplay.from_evaluation(result["score"])
    assert list(display.rates) == ["threshold 1000100", "threshold 1000101"]


def test_segments_have_the_highest_rate_at_the_top() -> None:
    result = fastad.evaluate(Y, S, segments=KIND, threshold=1.0, measures=["fpr"])["score"]
    display: Any = RateComparisonDisplay.from_evaluation(result, part="segments")
    display.plot(new_axes())
    values = display.lines_["threshold 1"].get_xdata().tolist()
    assert values == sorted(values, reverse=True)
    assert display.ax_.get_xlabel().startswith("False positive rate")
    assert display.ax_.get_legend() is None


def test_curve_of_each_kind_is_that_of_its_rows() -> None:
    display = RocCurveDisplay.from_predictions(Y, S, kinds=KIND, fpr=0.1, ax=new_axes())
    assert list(display.curves) == ["_c", "a", "b $x$"]
    for kind, curve in display.curves.items():
        rows = ~Y | (kind == KIND)
        expected = fastad.roc_curve(Y[rows], S[rows])
        assert (curve.fpr == expected.fpr).all()
        assert (curve.tpr == expected.tpr).all()


def test_curves_of_kinds_are_of_one_detector() -> None:
    with pytest.raises(InvalidInputError, match="y_score must be of one detector with kinds"):
        RocCurveDisplay.from_predictions(Y, {"a": S, "b": S}, kinds=KIND)


def test_an_evaluation_must_have_what_is_drawn() -> None:
    result = fastad.evaluate(Y, S, kinds=KIND, fpr=0.1)["score"]
    with pytest.raises(InvalidInputError, match="evaluation must have segments; found none"):
        RateComparisonDisplay.from_evaluation(result, part="segments")


def test_other_rates_are_refused() -> None:
    one, two = (fastad.uncertainty.compare_rates([1], [2], names=[name]) for name in "ab")
    with pytest.raises(InvalidInputError, match="rates must be of the same groups"):
        RateComparisonDisplay({"x": one, "y": two})
    narrow = fastad.uncertainty.compare_rates([1], [2], names=["a"], confidence_level=0.5)
    with pytest.raises(InvalidInputError, match="must have one confidence_level; found"):
        RateComparisonDisplay({"x": one, "y": narrow})
    with pytest.raises(InvalidTypeError, match="rates must be a RateComparison"):
        RateComparisonDisplay(0.5)  # type: ignore[arg-type]
