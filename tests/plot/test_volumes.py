"""The volume of decision regions against the false positive rate, and against the threshold."""

import math
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDOneClassSVM

import fastad
from fastad.errors import BatchScorerWarning
from fastad.plot import DecisionRegionDisplay, VolumeCurveDisplay, VolumeDisplay
from tests.support.drawn import legend_of, new_axes, x_of, y_of

X = np.random.default_rng(0).normal(size=(400, 2))
SCORES = {"round": lambda rows: np.hypot(*rows.T), "square": lambda rows: abs(rows).max(axis=1)}
RATES = [0.2, 0.01, 0.05]
VOLUMES = fastad.volumes(SCORES, X, np.zeros(400), fpr=RATES, n_draws=4096, rng=0)


def test_lines_are_the_volumes_by_rising_rate() -> None:
    display = VolumeDisplay(VOLUMES).plot(new_axes())
    assert list(display.lines_) == ["round", "square"]
    for name, line in display.lines_.items():
        assert x_of(line).tolist() == sorted(RATES)
        values = [VOLUMES[name][f"vol@{rate:g}"].value for rate in sorted(RATES)]
        assert y_of(line).tolist() == values
    assert display.ax_.get_xscale() == "log"
    assert legend_of(display.ax_) == ["round", "square", "95 % intervals"]


def test_intervals_are_filled_in_the_colour_of_the_line() -> None:
    display = VolumeDisplay(VOLUMES).plot(new_axes(), legend=False)
    assert len(display.ax_.collections) == 2
    assert display.ax_.get_legend() is None
    low = VOLUMES["round"]["vol@0.01"].low
    heights = display.ax_.collections[0].get_paths()[0].vertices[:, 1]  # type: ignore[index]
    assert np.isclose(heights, low).any()


def test_a_mere_bound_has_an_interval_and_no_value() -> None:
    """The normal region at FPR 0.6 is an edge of the box, on which no draw falls."""
    edge = {"a": lambda rows: (rows[:, 0] > 0).astype(float)}
    rows, box = np.eye(2).repeat(50, axis=0), fastad.Box([0, 0], [1, 1])
    volumes = fastad.volumes(
        edge, rows, np.zeros(100), fpr=[0.6, 0.4], box=box, method="uniform", n_draws=1000, rng=0
    )
    bound = volumes["a"]["vol@0.6"]
    assert bound.is_bound
    display = VolumeDisplay(volumes).plot(new_axes())
    assert np.isnan(y_of(display.line_)).tolist() == [False, True]
    assert display.line_.get_marker() == "."
    heights = np.asarray(display.ax_.collections[0].get_paths()[0].vertices)[:, 1]
    assert np.isclose(heights, bound.high).any()
    assert (heights == 0).any()


def test_what_is_no_table_of_volumes_is_refused() -> None:
    with pytest.raises(TypeError, match=r"volumes must be a fastad\.regions\.Volumes; found dict"):
        VolumeDisplay({"a": 1})  # type: ignore[arg-type]


# By threshold.

BOX = fastad.Box([-4, -4], [4, 4])
CURVES = {
    name: fastad.regions.volume_curve(score, 0.01, BOX, n_draws=20_000, rng=0, confidence_level=0.9)
    for name, score in SCORES.items()
}


def test_lines_are_the_logarithms_of_the_fractions() -> None:
    display = VolumeCurveDisplay(CURVES).plot(new_axes())
    assert list(display.lines_) == ["round", "square"]
    for name, line in display.lines_.items():
        assert np.array_equal(x_of(line), CURVES[name].threshold)
        assert np.allclose(y_of(line), CURVES[name].log_fraction / math.log(10))
    # A disc of radius 1 in a square of side 8.
    at_one = np.interp(1, x_of(display.line_)[::-1], y_of(display.line_)[::-1])
    assert at_one == pytest.approx(math.log10(math.pi / 64), abs=0.1)


def test_intervals_are_filled_around_the_curves() -> None:
    display = VolumeCurveDisplay(CURVES["round"]).plot(new_axes())
    (band,) = display.ax_.collections
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    for ends in (CURVES["round"].log_low, CURVES["round"].log_high):
        assert np.isclose(heights[:, None], ends / math.log(10)).any(axis=0).all()
    assert legend_of(display.ax_) == ["score", "90 %, each volume by itself"]


def test_the_legend_has_the_intervals_of_several_detectors_once() -> None:
    display = VolumeCurveDisplay(CURVES).plot(new_axes())
    assert len(display.ax_.collections) == 2
    assert legend_of(display.ax_) == ["round", "square", "90 %, each volume by itself"]


@pytest.mark.filterwarnings("ignore::fastad.errors.InsufficientMixingWarning")
def test_a_curve_that_ends_in_a_bound_is_drawn() -> None:
    curve = fastad.regions.volume_curve(
        lambda X: np.maximum(X[:, 0], 0.01), 0.01, BOX, n_draws=20_000, rng=0
    )
    assert curve.log_low[-1] == -math.inf
    display = VolumeCurveDisplay(curve).plot(new_axes())
    assert np.isfinite(display.ax_.get_ylim()).all()


@pytest.mark.parametrize(
    "draw", [DecisionRegionDisplay.from_estimator, VolumeCurveDisplay.from_estimator]
)
def test_a_detector_without_a_compiled_form_is_warned_of_once(draw: Any) -> None:
    detector = SGDOneClassSVM(random_state=0).fit(X)
    with pytest.warns(BatchScorerWarning) as warned:
        draw(detector, X, volume_kw={"n_draws": 10_000, "rng": 0}, ax=new_axes())
    assert len(warned) == 1


def test_what_is_no_curve_is_refused() -> None:
    with pytest.raises(TypeError, match=r"curves must be a VolumeCurve, .*; found int for 'a'"):
        VolumeCurveDisplay({"a": 1})  # type: ignore[dict-item]
    with pytest.raises(fastad.InvalidInputError, match="at least one result; found none"):
        VolumeCurveDisplay({})
