"""Mass-volume and excess-mass curves as drawn, compared with the curves as computed."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import pytest
from matplotlib import cbook, pyplot
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

import fastad
from fastad.plot import ExcessMassCurveDisplay, MassVolumeCurveDisplay
from fastad.plot.level_sets import number_text

RNG = np.random.default_rng(3)
X, DRAWN, VOLUME = RNG.normal(size=(300, 2)), RNG.uniform(-4, 4, size=(2000, 2)), 64.0
DETECTORS: dict[str, Callable[[Any], Any]] = {
    "round": lambda rows: np.hypot(*rows.T),
    "flat": lambda rows: abs(rows[:, 0]),
    "tied": lambda rows: np.ceil(2 * np.hypot(*rows.T)),
}
TEST = {name: score(X) for name, score in DETECTORS.items()}
UNIFORM = {name: score(DRAWN) for name, score in DETECTORS.items()}
DISPLAYS: dict[str, Any] = {"mv": MassVolumeCurveDisplay, "em": ExcessMassCurveDisplay}
CURVES: dict[str, Any] = {"mv": fastad.mass_volume_curve, "em": fastad.excess_mass_curve}
BANDS: dict[str, Any] = {
    "mv": fastad.unsupervised.mass_volume_band,
    "em": fastad.unsupervised.excess_mass_band,
}
# One detector has only volumes that are a thousandth of those of the other.
FAR = (
    {"near": np.linspace(0, 1, 100), "far": np.linspace(0, 1000, 100)},
    {"near": np.linspace(0.001, 1000, 10_000), "far": np.linspace(0.001, 1000, 10_000)},
)


@pytest.fixture(autouse=True)
def headless() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
    pyplot.close("all")


def new_axes() -> Axes:
    return Figure().subplots()


def x_of(line: Line2D) -> npt.NDArray[np.float64]:
    return np.asarray(line.get_xdata(), np.float64)


def y_of(line: Line2D) -> npt.NDArray[np.float64]:
    return np.asarray(line.get_ydata(), np.float64)


def corners(fill: Any) -> set[tuple[float, float]]:
    (path,) = fill.get_paths()
    return {(float(x), float(y)) for x, y in path.vertices}


def legend(ax: Axes) -> list[str]:
    drawn = ax.get_legend()
    assert drawn is not None
    return [text.get_text() for text in drawn.get_texts()]


def inside(values: npt.NDArray[np.float64], limits: tuple[float, float]) -> bool:
    return bool(np.all((limits[0] <= values) & (values <= limits[1])))


# --- mass and volume


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


def test_masses_in_sight_decide_on_the_volumes_in_sight() -> None:
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
    assert legend(display.ax_)[0] == f"round (MV {display.curves['round'].area():.3g})"


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
    asked = MassVolumeCurveDisplay(alone.curves).plot(new_axes(), yscale="log")
    assert asked.ax_.get_yscale() == "log"


@pytest.mark.parametrize("log_volume", [-2000.0, 2000.0])
def test_volumes_beyond_all_floats_are_drawn_as_logarithms(log_volume: float) -> None:
    display = MassVolumeCurveDisplay.from_scores(
        TEST, UNIFORM, log_volume=log_volume, ax=new_axes()
    )
    assert display.ax_.get_yscale() == "linear"
    assert display.ax_.get_ylabel() == "log10 of volume (in units of the features)"
    same = MassVolumeCurveDisplay.from_scores(TEST, UNIFORM, 1.0, ax=new_axes())
    for name, line in display.lines_.items():
        seen = y_of(same.lines_[name]) > 0
        expected = np.log10(y_of(same.lines_[name])[seen]) + log_volume / math.log(10)
        np.testing.assert_allclose(y_of(line)[seen], expected, rtol=1e-12)
        assert inside(y_of(line)[seen], display.ax_.get_ylim())
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
        with pytest.raises(fastad.InvalidInputError, match="draw all detectors at once"):
            MassVolumeCurveDisplay.from_scores(TEST, UNIFORM, log_volume=other, ax=ax)
        assert len(ax.lines) == n_lines


@pytest.mark.parametrize("yscale", ["auto", "log", "linear"])
@pytest.mark.parametrize("log_volume", [1.0, -2000.0, 2000.0])
def test_no_volume_in_sight(yscale: Any, log_volume: float) -> None:
    """No uniform point scores as low as any test point."""
    options: Any = {"log_volume": log_volume, "yscale": yscale}
    if yscale == "linear" and log_volume != 1:
        with pytest.raises(fastad.InvalidInputError, match="outside the range of floats"):
            MassVolumeCurveDisplay.from_scores([0, 1], [2, 3], **options)
        return
    display = MassVolumeCurveDisplay.from_scores([0, 1], [2, 3], **options)
    np.testing.assert_array_equal(display.curves["score"].volume, 0)
    display.figure_.canvas.draw()


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_mass_volume_bands_hold_between_the_masses_where_they_are_known(kind: Any) -> None:
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
        there = fastad.unsupervised.mass_volume_band(
            display.curves[name],
            mass=middles,
            simultaneous=kind == "simultaneous",
            confidence_level=0.9,
        )
        assert (band.low[:-1] <= there.low).all()
        assert (there.high <= band.high[1:]).all()
    assert legend(display.ax_)[3:] == [f"90% {kind} band"]


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


# --- excess mass


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
    with pytest.raises(fastad.InvalidInputError, match="draw all detectors at once"):
        ExcessMassCurveDisplay.from_scores(TEST, UNIFORM, 1.0, ax=display.ax_)


def test_levels_some_of_which_lie_beyond_all_floats() -> None:
    """Those in sight do not."""
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
    assert legend(display.ax_) == ["never (EM undefined)", "late (EM 0.0475)"]
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
    assert legend(display.ax_)[3:] == ["95% simultaneous band"]


# --- both


@pytest.mark.parametrize("kind", DISPLAYS)
def test_scores_level_sets_and_curves_give_the_same_picture(kind: str) -> None:
    from_scores = DISPLAYS[kind].from_scores(TEST, UNIFORM, VOLUME, ax=new_axes())
    curves = {name: CURVES[kind](TEST[name], UNIFORM[name], VOLUME) for name in TEST}
    levels = {name: curve.levels for name, curve in curves.items()}
    from_levels = DISPLAYS[kind].from_level_sets(levels, ax=new_axes())
    drawn = DISPLAYS[kind](curves).plot(new_axes())
    for display in (from_levels, drawn):
        for name, line in from_scores.lines_.items():
            np.testing.assert_array_equal(line.get_xydata(), display.lines_[name].get_xydata())
            assert line.get_label() == display.lines_[name].get_label()
        assert display.ax_.get_xlim() == from_scores.ax_.get_xlim()
        assert display.ax_.get_ylim() == from_scores.ax_.get_ylim()
    alone = DISPLAYS[kind].from_level_sets(levels["flat"])
    assert list(alone.lines_) == list(alone.curves) == ["score"]
    assert pyplot.get_fignums() == [alone.figure_.number]
    arrays = DISPLAYS[kind].from_scores(TEST["flat"], UNIFORM["flat"], VOLUME, legend=False)
    assert arrays.ax_.get_legend() is None
    np.testing.assert_array_equal(arrays.line_.get_xydata(), alone.line_.get_xydata())


@pytest.mark.parametrize("kind", DISPLAYS)
def test_volumes_of_splitting(kind: str) -> None:
    levels = fastad.unsupervised.level_sets(
        DETECTORS["round"], X, method="splitting", n_draws=20_000, rng=0
    )
    display = DISPLAYS[kind].from_level_sets(levels)
    display.figure_.canvas.draw()
    with pytest.raises(fastad.InvalidInputError, match="curve must be made of counted volumes"):
        DISPLAYS[kind].from_level_sets(levels, band="simultaneous")


@pytest.mark.parametrize("kind", DISPLAYS)
def test_criteria_with_intervals_serve_as_values(kind: str) -> None:
    found = fastad.unsupervised.emmv(TEST, UNIFORM, VOLUME, n_resamples=20, rng=0)
    curves = {name: CURVES[kind](TEST[name], UNIFORM[name], VOLUME) for name in TEST}
    display = DISPLAYS[kind](curves, values=found).plot(new_axes())
    label = kind.upper()
    assert legend(display.ax_) == [f"{n} ({label} {getattr(found[n], kind)})" for n in TEST]
    some = DISPLAYS[kind](curves, values={"flat": found["flat"]}).plot(new_axes())
    assert [text.partition(" ")[0] for text in legend(some.ax_)] == list(TEST)
    assert legend(some.ax_)[0] == "round"
    alone = DISPLAYS[kind](curves["flat"], values=found["flat"]).plot(new_axes())
    assert legend(alone.ax_) == [f"score ({label} {getattr(found['flat'], kind)})"]
    none = DISPLAYS[kind](curves, values={}).plot(new_axes())
    assert legend(none.ax_) == list(TEST)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_a_second_display_goes_on_and_hides_nothing(kind: str) -> None:
    ax = new_axes()
    first = DISPLAYS[kind].from_scores(
        {"near": FAR[0]["near"]}, {"near": FAR[1]["near"]}, 1000.0, ax=ax
    )
    limits = ax.get_xlim(), ax.get_ylim()
    second = DISPLAYS[kind].from_scores(
        {"far": FAR[0]["far"]}, {"far": FAR[1]["far"]}, 1000.0, band="simultaneous", ax=ax
    )
    assert first.line_.get_color() != second.line_.get_color()
    assert {ax.get_xscale(), ax.get_yscale()} == {"linear"}
    for old, new in zip(limits, (ax.get_xlim(), ax.get_ylim()), strict=True):
        assert new[0] <= old[0]
        assert new[1] >= old[1]
    DISPLAYS[kind](second.curves, bands=second.bands).plot(ax)
    assert [text for text in legend(ax) if "band" in text] == ["95% simultaneous band"]
    # To a logarithmic axis, and on with it.
    scale = {"mv": "yscale", "em": "xscale"}[kind]
    DISPLAYS[kind](first.curves).plot(ax, **{scale: "log"})
    DISPLAYS[kind](first.curves).plot(ax)
    assert (ax.get_yscale() if kind == "mv" else ax.get_xscale()) == "log"
    # And back.
    DISPLAYS[kind](first.curves).plot(ax, **{scale: "linear"})
    assert {ax.get_xscale(), ax.get_yscale()} == {"linear"}
    ax.figure.canvas.draw()


@pytest.mark.parametrize("kind", DISPLAYS)
def test_many_detectors(kind: str) -> None:
    test = {f"d{i}": TEST["round"] + i * X[:, 1] ** 2 / 10 for i in range(12)}
    uniform = {f"d{i}": UNIFORM["round"] + i * DRAWN[:, 1] ** 2 / 10 for i in range(12)}
    display = DISPLAYS[kind].from_scores(
        test, uniform, VOLUME, band="simultaneous", line_kw={"lw": 3}
    )
    display.figure_.canvas.draw()
    assert len(legend(display.ax_)) == 13
    assert {line.get_linewidth() for line in display.lines_.values()} == {3}
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 >= display.ax_.get_window_extent().x1
    assert box.x1 <= display.figure_.bbox.x1


def test_properties_of_lines_may_have_a_style_of_steps() -> None:
    curve = fastad.mass_volume_curve(TEST["round"], UNIFORM["round"], VOLUME)
    display = MassVolumeCurveDisplay(curve).plot(
        new_axes(), line_kw={"ds": "default", "alpha": 0.5}
    )
    assert display.line_.get_drawstyle() == "default"


@pytest.mark.parametrize("kind", DISPLAYS)
def test_errors_leave_no_trace(kind: str) -> None:
    show, ax = DISPLAYS[kind], new_axes()

    def refuses(match: str, *data: Any, error: Any = fastad.InvalidInputError, **kw: Any) -> None:
        with pytest.raises(error, match=match):
            show.from_scores(*(data or (TEST, UNIFORM, VOLUME)), ax=ax, **kw)

    refuses("either volume or log_volume must be given", TEST, UNIFORM)
    refuses("must name the same detectors; found a and score", {"a": [1.0]}, [1.0], 1.0)
    bad = {**UNIFORM, "flat": np.array([1.0, np.nan])}
    refuses(r"^uniform_score\['flat'\] must not contain NaN; found 1", TEST, bad, 1.0)
    refuses(
        r"^y_score\['flat'\] must not contain NaN; found 1",
        {**TEST, "flat": bad["flat"]},
        UNIFORM,
        1.0,
    )
    refuses("^y_score must not contain NaN", [np.nan], [1.0], 1.0)
    refuses("y_score must hold at least one column", {}, {}, 1.0)
    refuses("band must be one of", band="both")
    refuses("confidence_level must lie strictly", confidence_level=1)
    scale = {"mv": "yscale", "em": "xscale"}[kind]
    refuses(f"{scale} must be one of 'auto', 'linear', 'log'", **{scale: "cubic"})
    beyond = (TEST, UNIFORM, None)
    refuses(f"{scale} must be 'auto' or 'log' for", *beyond, log_volume=2e3, **{scale: "linear"})
    refuses(
        "bands must be of volumes in the range of floats",
        *beyond,
        log_volume=2e3,
        band="simultaneous",
    )
    with pytest.raises(TypeError, match="levels must be a LevelSets"):
        show.from_level_sets(3, ax=ax)
    with pytest.raises(TypeError, match="curves must be a "):
        show({"a": 3})
    curve = CURVES[kind](TEST["flat"], UNIFORM["flat"], VOLUME)
    with pytest.raises(TypeError, match="values must be a Criteria"):
        show(curve, values={"score": 3.0})
    with pytest.raises(TypeError, match="bands must be a "):
        show(curve, bands=curve)
    band = BANDS[kind](curve)
    with pytest.raises(fastad.InvalidInputError, match=r"bands must be of detectors; found \['b'"):
        show({"a": curve}, bands={"b": band})
    assert show({"a": curve}, bands={}).bands == {}
    assert not ax.has_data()
    assert pyplot.get_fignums() == []


def test_what_is_in_sight_is_checked() -> None:
    curve = fastad.mass_volume_curve(TEST["flat"], UNIFORM["flat"], VOLUME)
    masses: Any
    for masses in (0.5, (0.1, 0.5, 0.9)):
        with pytest.raises(TypeError, match="mass must be a pair of masses"):
            MassVolumeCurveDisplay(curve).plot(new_axes(), mass=masses)
    with pytest.raises(fastad.InvalidInputError, match="mass must be a pair of increasing masses"):
        MassVolumeCurveDisplay(curve).plot(new_axes(), mass=(0.9, 0.9))
    with pytest.raises(fastad.InvalidInputError, match=r"mass must lie in \[0, 1\]"):
        MassVolumeCurveDisplay(curve).plot(new_axes(), mass=(0.9, 2))
    excess = fastad.excess_mass_curve(TEST["flat"], UNIFORM["flat"], VOLUME)
    with pytest.raises(fastad.InvalidInputError, match="excess_mass must lie strictly"):
        ExcessMassCurveDisplay(excess).plot(new_axes(), excess_mass=1)


def test_numbers_from_their_logarithms() -> None:
    assert number_text(math.log(1234.0)) == "1.23e+03"
    assert number_text(-math.inf) == "0"
    assert number_text(math.nan) == "undefined"
    assert number_text(1000 * math.log(10) + math.log(2.5)) == "2.5e+1000"
    assert number_text(-1000 * math.log(10) + math.log(2.5)) == "2.5e-1000"


def test_a_volume_that_does_not_change_is_seen_where_it_is() -> None:
    display = MassVolumeCurveDisplay.from_scores([1, 1], [0, 2], 2e-6, ax=new_axes())
    low, high = display.ax_.get_ylim()
    assert 0.9e-6 < low < 1e-6 < high < 1.1e-6
    none = MassVolumeCurveDisplay.from_scores([0, 0], [1, 2], 2e-6, band="pointwise", ax=new_axes())
    low, high = none.ax_.get_ylim()
    assert -1e-6 < low < 0
    assert high > 2e-6  # the band goes as far as the box
