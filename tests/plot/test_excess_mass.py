"""Excess-mass curves as drawn, compared with the curves as computed."""

import math
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgba, to_rgba_array

import fastad
from fastad.plot import ExcessMassCurveDisplay
from tests.support.drawn import corners, legend_of, new_axes, x_of, y_of
from tests.support.level_set_scores import FAR, TEST, UNIFORM, VOLUME, inside


def test_excess_mass_curves_are_drawn_from_0_to_where_they_have_lost_a_tenth() -> None:
    display = ExcessMassCurveDisplay.from_scores(TEST, UNIFORM, VOLUME, ax=new_axes())
    end = 1.1 * max(curve.level_at(0.9) for curve in display.curves.values())
    for name, line in display.lines_.items():
        curve = fastad.excess_mass_curve(TEST[name], UNIFORM[name], VOLUME)
        np.testing.assert_array_equal(x_of(line), curve.level)
        np.testing.assert_array_equal(y_of(line), curve.excess_mass)
        assert line.get_drawstyle() == "default"
        assert line.get_label() == f"{name} (EM {curve.area():.3g})"
        assert display.ax_.get_ylim()[0] < curve(end)
    assert display.ax_.get_xscale() == "linear"
    assert display.ax_.get_xlim() == pytest.approx((-0.01 * end, end))
    assert display.ax_.get_ylim()[1] > 1
    assert display.ax_.get_xlabel() == "Level (one over units of the features)"
    assert display.ax_.get_ylabel() == "Excess mass"
    farther = ExcessMassCurveDisplay(display.curves).plot(new_axes(), excess_mass=0.3)
    end = 1.1 * max(curve.level_at(0.3) for curve in display.curves.values())
    assert farther.ax_.get_xlim()[1] == pytest.approx(end)
    # A tenth of what is lost is less than the last bit.
    nearest = ExcessMassCurveDisplay(display.curves).plot(new_axes(), excess_mass=1 - 2**-53)
    assert 0 < nearest.ax_.get_xlim()[1] < display.ax_.get_xlim()[1]


def test_after_its_last_corner_a_curve_is_level() -> None:
    """The first detector is done with long before the second has lost a tenth."""
    display = ExcessMassCurveDisplay.from_scores(*FAR, 1000.0, xscale="linear", ax=new_axes())
    line, end = display.lines_["far"], display.ax_.get_xlim()[1]
    assert x_of(line)[-1] == pytest.approx(end)
    assert y_of(line)[-1] == y_of(line)[-2] == display.curves["far"].excess_mass[-1]


def test_a_logarithmic_axis_where_levels_lie_far_apart() -> None:
    display = ExcessMassCurveDisplay.from_scores(*FAR, 1000.0, ax=new_axes())
    assert display.ax_.get_xscale() == "log"
    ends = [curve.level_at(0.9) for curve in display.curves.values()]
    low, high = display.ax_.get_xlim()
    assert high == pytest.approx(1.1 * max(ends))
    assert 0 < low < min(ends)
    for name, line in display.lines_.items():
        x, y = x_of(line), y_of(line)
        np.testing.assert_allclose(y, display.curves[name](x), atol=1e-12)
        assert (x[0], x[-1]) == pytest.approx((low, high))
        assert np.diff(np.log(x)).max() < 0.05
    assert {curve.area() for curve in display.curves.values()} == {
        fastad.excess_mass_curve(FAR[0][name], FAR[1][name], 1000.0).area() for name in FAR[0]
    }


@pytest.mark.parametrize("log_volume", [-2000.0, 2000.0])
def test_levels_beyond_all_floats_are_drawn_as_logarithms(log_volume: float) -> None:
    display = ExcessMassCurveDisplay.from_scores(
        TEST, UNIFORM, log_volume=log_volume, ax=new_axes()
    )
    assert display.ax_.get_xscale() == "linear"
    assert display.ax_.get_xlabel() == "log10 of level (one over units of the features)"
    same = ExcessMassCurveDisplay.from_scores(TEST, UNIFORM, 1.0, xscale="log", ax=new_axes())
    for name, line in display.lines_.items():
        expected = np.log10(x_of(same.lines_[name])) - log_volume / math.log(10)
        np.testing.assert_allclose(x_of(line), expected, rtol=1e-12)
        np.testing.assert_allclose(y_of(line), y_of(same.lines_[name]), atol=1e-9)
        logs = x_of(line) * math.log(10)
        np.testing.assert_allclose(y_of(line), display.curves[name](log_level=logs), atol=1e-9)
    with pytest.raises(fastad.InvalidInputError, match="Draw all detectors at once"):
        ExcessMassCurveDisplay.from_scores(TEST, UNIFORM, 1.0, ax=display.ax_)


def test_levels_some_of_which_lie_beyond_all_floats() -> None:
    """Those that are visible do not."""
    display = ExcessMassCurveDisplay.from_scores(TEST, UNIFORM, log_volume=-707.5, ax=new_axes())
    assert np.isinf(display.curves["round"].level[-1])
    assert display.ax_.get_xlabel() == "Level (one over units of the features)"
    end = display.ax_.get_xlim()[1]
    for name, line in display.lines_.items():
        assert np.isfinite(x_of(line)).all()
        assert x_of(line)[-1] >= end
        np.testing.assert_allclose(y_of(line), display.curves[name](x_of(line)), atol=1e-9)


def test_curves_that_never_come_down() -> None:
    test, uniform = {"never": [0, 1, 1], "late": [0, 0, 5]}, {"never": [2, 3], "late": [1, 6]}
    display = ExcessMassCurveDisplay.from_scores(test, uniform, 4.0)
    assert legend_of(display.ax_) == ["never (EM undefined)", "late (EM 0.0475)"]
    np.testing.assert_array_equal(y_of(display.line_), 1)
    assert x_of(display.line_)[-1] == pytest.approx(display.ax_.get_xlim()[1])
    options: Any
    for options in ({"volume": 4.0}, {"log_volume": 2000.0}, {"volume": 4.0, "xscale": "log"}):
        alone = ExcessMassCurveDisplay.from_scores([0, 1], [2, 3], **options)
        np.testing.assert_array_equal(y_of(alone.line_), 1)
        alone.figure_.canvas.draw()
    # It falls, but not by a tenth: the axis ends after the last corner.
    little = ExcessMassCurveDisplay.from_scores(np.r_[np.zeros(99), 5], [1, 6], 4.0, ax=new_axes())
    assert little.curves["score"].excess_mass[-1] == 0.99
    assert little.ax_.get_xlim()[1] == pytest.approx(1.1 * little.curves["score"].level[-1])


@pytest.mark.parametrize("xscale", ["linear", "log"])
def test_excess_mass_bands_cover_the_axis(xscale: Any) -> None:
    display = ExcessMassCurveDisplay.from_scores(
        TEST, UNIFORM, VOLUME, band="simultaneous", xscale=xscale, ax=new_axes()
    )
    for name, fill in display.bands_.items():
        band = display.bands[name]
        again = fastad.unsupervised.excess_mass_band(display.curves[name], level=band.level)
        np.testing.assert_array_equal(band.low, again.low)
        bounds = [*zip(band.level, band.low, strict=True), *zip(band.level, band.high, strict=True)]
        assert corners(fill) == {(float(x), float(y)) for x, y in bounds}
        low, high = display.ax_.get_xlim()
        assert band.level[0] == (0 if xscale == "linear" else pytest.approx(low))
        assert band.level[-1] == pytest.approx(high)
        assert inside(band.low, display.ax_.get_ylim())
        colour = to_rgba(display.lines_[name].get_color(), 0.15)
        np.testing.assert_allclose(to_rgba_array(fill.get_facecolor()), [colour])
    assert legend_of(display.ax_)[3:] == ["95 % simultaneous band"]
