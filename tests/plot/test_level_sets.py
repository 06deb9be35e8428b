"""What displays of mass-volume and excess-mass curves have in common."""

import math
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot

import fastad
from fastad.plot import ExcessMassCurveDisplay, MassVolumeCurveDisplay
from fastad.plot.level_sets import exp_text
from tests.support.drawn import legend_of, new_axes
from tests.support.level_set_scores import DETECTORS, DRAWN, FAR, TEST, UNIFORM, VOLUME, X

DISPLAYS: dict[str, Any] = {"mv": MassVolumeCurveDisplay, "em": ExcessMassCurveDisplay}
CURVES: dict[str, Any] = {"mv": fastad.mass_volume_curve, "em": fastad.excess_mass_curve}
BANDS: dict[str, Any] = {
    "mv": fastad.unsupervised.mass_volume_band,
    "em": fastad.unsupervised.excess_mass_band,
}


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
    result = fastad.unsupervised.emmv(TEST, UNIFORM, VOLUME, n_resamples=20, rng=0)
    curves = {name: CURVES[kind](TEST[name], UNIFORM[name], VOLUME) for name in TEST}
    display = DISPLAYS[kind](curves, values=result).plot(new_axes())
    label = kind.upper()
    assert legend_of(display.ax_) == [f"{n} ({label} {getattr(result[n], kind)})" for n in TEST]
    some = DISPLAYS[kind](curves, values={"flat": result["flat"]}).plot(new_axes())
    assert [text.partition(" ")[0] for text in legend_of(some.ax_)] == list(TEST)
    assert legend_of(some.ax_)[0] == "round"
    alone = DISPLAYS[kind](curves["flat"], values=result["flat"]).plot(new_axes())
    assert legend_of(alone.ax_) == [f"score ({label} {getattr(result['flat'], kind)})"]
    none = DISPLAYS[kind](curves, values={}).plot(new_axes())
    assert legend_of(none.ax_) == list(TEST)


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
    assert [text for text in legend_of(ax) if "band" in text] == ["95 % simultaneous band"]
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
    assert len(legend_of(display.ax_)) == 13
    assert {line.get_linewidth() for line in display.lines_.values()} == {3}
    box = display.ax_.get_legend().get_window_extent()
    assert box.x0 >= display.ax_.get_window_extent().x1
    assert box.x1 <= display.figure_.bbox.x1


@pytest.mark.parametrize("kind", DISPLAYS)
def test_errors_leave_no_trace(kind: str) -> None:
    show, ax = DISPLAYS[kind], new_axes()

    def refuses(match: str, *data: Any, error: Any = fastad.InvalidInputError, **kw: Any) -> None:
        with pytest.raises(error, match=match):
            show.from_scores(*(data or (TEST, UNIFORM, VOLUME)), ax=ax, **kw)

    refuses("volume must be given, or log_volume, and not both", TEST, UNIFORM)
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
    refuses("y_score must contain at least one column", {}, {}, 1.0)
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


def test_masses_and_the_excess_mass_are_checked() -> None:
    curve = fastad.mass_volume_curve(TEST["flat"], UNIFORM["flat"], VOLUME)
    masses: Any
    for masses in (0.5, (0.1, 0.5, 0.9)):
        with pytest.raises(TypeError, match="mass must be a pair of masses"):
            MassVolumeCurveDisplay(curve).plot(new_axes(), mass=masses)
    with pytest.raises(fastad.InvalidInputError, match="mass must be a pair of rising masses"):
        MassVolumeCurveDisplay(curve).plot(new_axes(), mass=(0.9, 0.9))
    with pytest.raises(fastad.InvalidInputError, match=r"mass must lie in \[0, 1\]"):
        MassVolumeCurveDisplay(curve).plot(new_axes(), mass=(0.9, 2))
    excess = fastad.excess_mass_curve(TEST["flat"], UNIFORM["flat"], VOLUME)
    with pytest.raises(fastad.InvalidInputError, match="excess_mass must lie strictly"):
        ExcessMassCurveDisplay(excess).plot(new_axes(), excess_mass=1)


def test_numbers_from_their_logarithms() -> None:
    assert exp_text(math.log(1234.0)) == "1.23e+03"
    assert exp_text(-math.inf) == "0"
    assert exp_text(math.nan) == "undefined"
    assert exp_text(1000 * math.log(10) + math.log(2.5)) == "2.5e+1000"
    assert exp_text(-1000 * math.log(10) + math.log(2.5)) == "2.5e-1000"
