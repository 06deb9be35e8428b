"""Mass-volume curves as drawn, compared with the curves as computed."""

import math
from typing import Any

import numpy as np
import pytest
from matplotlib import cbook
from matplotlib.colors import to_rgba, to_rgba_array

import fastad
from fastad.plot import MassVolumeCurveDisplay
from tests.support.drawn import corners, legend_of, new_axes, x_of, y_of
from tests.support.level_set_scores import FAR, RNG, TEST, UNIFORM, VOLUME, inside


def test_mass_volume_curves_are_drawn_as_steps() -> None:
    display = MassVolumeCurveDisplay.from_scores(TEST, UNIFORM, VOLUME, ax=new_axes())
    masses = RNG.uniform(size=200)
    for name, line in display.lines_.items():
        curve = fastad.mass_volume_curve(TEST[name], UNIFORM[name], VOLUME)
        np.testing.assert_array_equal(x_of(line), curve.mass)
        np.testing.assert_array_equal(y_of(line), curve.volume)
        assert line.get_drawstyle() == "steps-pre"
        # As the line is drawn, no mass lies on a riser.
        x, y = cbook.pts_to_prestep(curve.mass, curve.volume)
        np.testing.assert_allclose(np.interp(masses, x, y), curve(masses), rtol=1e-12)
        assert line.get_label() == f"{name} (MV {curve.area():.3g})"
        assert inside(y_of(line), display.ax_.get_ylim())
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_xlabel() == "Mass"
    assert display.ax_.get_ylabel() == "Volume (in units of the features)"
    low, high = display.ax_.get_xlim()
    assert low < 0
    assert high > 1


def test_visible_masses_decide_on_the_visible_volumes() -> None:
    display = MassVolumeCurveDisplay.from_scores(
        TEST, UNIFORM, VOLUME, mass=(0.9, 0.999), ax=new_axes()
    )
    assert display.ax_.get_xlim() == (0.9, 0.999)
    low, high = display.ax_.get_ylim()
    ends = [curve([0.9001, 0.999]) for curve in display.curves.values()]
    lowest, highest = min(end[0] for end in ends), max(end[1] for end in ends)
    assert low < lowest < highest < high
    assert high - low < 1.2 * (highest - lowest)
    # The criterion is that of the curve.
    assert legend_of(display.ax_)[0] == f"round (MV {display.curves['round'].area():.3g})"


def test_a_logarithmic_axis_where_volumes_lie_far_apart() -> None:
    display = MassVolumeCurveDisplay.from_scores(*FAR, 1000.0, ax=new_axes())
    assert display.ax_.get_yscale() == "log"
    low, high = display.ax_.get_ylim()
    positive = np.concatenate([y_of(line) for line in display.lines_.values()])
    positive = positive[positive > 0]
    assert 0 < low < positive.min()
    assert high > positive.max()
    np.testing.assert_array_equal(y_of(display.line_), display.curves["near"].volume)
    linear = MassVolumeCurveDisplay.from_scores(*FAR, 1000.0, yscale="linear", ax=new_axes())
    assert linear.ax_.get_yscale() == "linear"
    # Without the other curve a linear axis does.
    alone = MassVolumeCurveDisplay.from_scores(FAR[0]["far"], FAR[1]["far"], 1000.0, ax=new_axes())
    assert alone.ax_.get_yscale() == "linear"
    logarithmic = MassVolumeCurveDisplay(alone.curves).plot(new_axes(), yscale="log")
    assert logarithmic.ax_.get_yscale() == "log"


@pytest.mark.parametrize("log_volume", [-2000.0, 2000.0])
def test_volumes_beyond_all_floats_are_drawn_as_logarithms(log_volume: float) -> None:
    display = MassVolumeCurveDisplay.from_scores(
        TEST, UNIFORM, log_volume=log_volume, ax=new_axes()
    )
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_ylabel() == "log10 of volume (in units of the features)"
    same = MassVolumeCurveDisplay.from_scores(TEST, UNIFORM, 1.0, ax=new_axes())
    for name, line in display.lines_.items():
        positive = y_of(same.lines_[name]) > 0
        expected = np.log10(y_of(same.lines_[name])[positive]) + log_volume / math.log(10)
        np.testing.assert_allclose(y_of(line)[positive], expected, rtol=1e-12)
        assert inside(y_of(line)[positive], display.ax_.get_ylim())
    exponent = int(str(line.get_label()).rpartition("e")[2].rstrip(")"))
    assert abs(exponent - log_volume / math.log(10)) < 5
    # A second display goes on with logarithms, and one of other volumes is refused.
    second = MassVolumeCurveDisplay.from_scores(
        TEST["flat"], UNIFORM["flat"], log_volume=log_volume + 20, ax=display.ax_
    )
    for line in (display.line_, second.line_):
        assert inside(y_of(line)[np.isfinite(y_of(line))], display.ax_.get_ylim())
    for ax, other in ((display.ax_, 0.0), (same.ax_, log_volume)):
        n_lines = len(ax.lines)
        with pytest.raises(fastad.InvalidInputError, match="Draw all detectors at once"):
            MassVolumeCurveDisplay.from_scores(TEST, UNIFORM, log_volume=other, ax=ax)
        assert len(ax.lines) == n_lines


@pytest.mark.parametrize("yscale", ["auto", "log", "linear"])
@pytest.mark.parametrize("log_volume", [1.0, -2000.0, 2000.0])
def test_no_volume_is_visible(yscale: Any, log_volume: float) -> None:
    """No uniform point scores as low as any test point."""
    options: Any = {"log_volume": log_volume, "yscale": yscale}
    if yscale == "linear" and log_volume != 1:
        with pytest.raises(fastad.InvalidInputError, match="outside the range of floats"):
            MassVolumeCurveDisplay.from_scores([0, 1], [2, 3], **options)
        return
    display = MassVolumeCurveDisplay.from_scores([0, 1], [2, 3], **options)
    np.testing.assert_array_equal(display.curves["score"].volume, 0)
    display.figure_.canvas.draw()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_mass_volume_bands_are_valid_between_their_masses(kind: Any) -> None:
    display = MassVolumeCurveDisplay.from_scores(
        TEST, UNIFORM, VOLUME, band=kind, confidence_level=0.9, ax=new_axes()
    )
    for name, fill in display.bands_.items():
        band = fastad.unsupervised.mass_volume_band(
            display.curves[name], simultaneous=kind == "simultaneous", confidence_level=0.9
        )
        expected = set()
        for i in range(band.mass.shape[0] - 1):
            for at in (i, i + 1):
                expected |= {(band.mass[at], band.low[i]), (band.mass[at], band.high[i + 1])}
        assert corners(fill) >= expected
        assert corners(fill) <= expected | {(band.mass[0], band.high[0])}
        colour = to_rgba(display.lines_[name].get_color(), 0.15)
        np.testing.assert_allclose(to_rgba_array(fill.get_facecolor()), [colour])
        # Midway between two masses the curve lies inside, and so does the band of that mass.
        middles = (band.mass[1:] + band.mass[:-1]) / 2
        between = fastad.unsupervised.mass_volume_band(
            display.curves[name],
            mass=middles,
            simultaneous=kind == "simultaneous",
            confidence_level=0.9,
        )
        assert (band.low[:-1] <= between.low).all()
        assert (between.high <= band.high[1:]).all()
    assert legend_of(display.ax_)[3:] == [f"90 % {kind} band"]


@pytest.mark.slow
def test_bands_from_results_in_any_order() -> None:
    curve = fastad.mass_volume_curve(TEST["round"], UNIFORM["round"], VOLUME)
    band = fastad.unsupervised.mass_volume_band(curve, mass=[0.9, 0.2, 0.5])
    display = MassVolumeCurveDisplay({"a": curve}, bands={"a": band}).plot(
        new_axes(), mass=(0.2, 0.9)
    )
    rising = fastad.unsupervised.mass_volume_band(curve, mass=[0.2, 0.5, 0.9])
    other = MassVolumeCurveDisplay(curve, bands=rising).plot(new_axes())
    assert corners(display.bands_["a"]) == corners(other.bands_["score"])
    one = fastad.unsupervised.mass_volume_band(curve, mass=0.5)
    MassVolumeCurveDisplay(curve, bands=one).plot().figure_.canvas.draw()


def test_a_band_does_not_flatten_the_lines_on_a_linear_axis() -> None:
    box = {"yscale": "linear", "band": "pointwise"}
    uniform = np.concatenate([UNIFORM["round"], np.full(200_000, 9.0)])
    display = MassVolumeCurveDisplay.from_scores(TEST["round"], uniform, 64.0, ax=new_axes(), **box)  # type: ignore[arg-type]
    assert display.bands["score"].high.max() == 64
    assert display.ax_.get_ylim()[1] < 2 * display.curves["score"].volume.max() < 10


def test_properties_of_lines_may_have_a_style_of_steps() -> None:
    curve = fastad.mass_volume_curve(TEST["round"], UNIFORM["round"], VOLUME)
    display = MassVolumeCurveDisplay(curve).plot(
        new_axes(), line_kw={"ds": "default", "alpha": 0.5}
    )
    assert display.line_.get_drawstyle() == "default"


def test_a_volume_that_does_not_change_is_seen_where_it_is() -> None:
    display = MassVolumeCurveDisplay.from_scores([1, 1], [0, 2], 2e-6, ax=new_axes())
    low, high = display.ax_.get_ylim()
    assert 0.9e-6 < low < 1e-6 < high < 1.1e-6
    none = MassVolumeCurveDisplay.from_scores([0, 0], [1, 2], 2e-6, band="pointwise", ax=new_axes())
    low, high = none.ax_.get_ylim()
    assert -1e-6 < low < 0
    assert high > 2e-6  # the band goes as far as the box
