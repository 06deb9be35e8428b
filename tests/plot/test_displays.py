"""What all displays have in common: styles, axes, legends, errors, the optional library."""

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib import colors, pyplot
from matplotlib.figure import Figure

import fastad
from fastad import plot
from fastad.plot.drawing import COLOURS
from tests.support.drawn import draw, legend_of, new_axes, picture

LABELS = np.repeat([0, 1], [60, 30])
DISPLAYS: dict[str, Any] = {
    "roc": plot.RocCurveDisplay,
    "precision_recall": plot.PrecisionRecallDisplay,
    "det": plot.DetCurveDisplay,
    "rp": plot.RpCurveDisplay,
    "distribution": plot.ScoreDistributionDisplay,
}
CURVES = [name for name in DISPLAYS if name != "distribution"]


def scores_of(n: int) -> dict[str, npt.NDArray[np.float64]]:
    rng = np.random.default_rng(0)
    return {f"d{i}": rng.normal(size=90) + LABELS * i / 3 for i in range(n)}


# Several detectors.


@pytest.mark.parametrize("kind", CURVES)
@pytest.mark.parametrize("n", [1, 4, 12])
def test_each_detector_has_a_line_and_a_row_of_the_legend(kind: str, n: int) -> None:
    display = picture(DISPLAYS[kind], LABELS, scores_of(n))
    assert list(display.lines_) == [f"d{i}" for i in range(n)]
    assert display.line_ is display.lines_["d0"]
    shown = [text for text in legend_of(display.ax_) if text.startswith("d")]
    assert [text.split()[0].rstrip(",") for text in shown] == list(display.lines_)


@pytest.mark.parametrize("kind", CURVES)
def test_twelve_detectors_differ_in_colour_and_style(kind: str) -> None:
    display = picture(DISPLAYS[kind], LABELS, scores_of(12))
    dashes = [str(line._unscaled_dash_pattern) for line in display.lines_.values()]
    widths = [line.get_linewidth() for line in display.lines_.values()]
    drawn = [line.get_color() for line in display.lines_.values()]
    assert len(set(zip(drawn, dashes, strict=True))) == 12
    # In greyscale too.
    assert len(set(zip(dashes, widths, strict=True))) == 12
    assert set(drawn) <= set(COLOURS)


def test_colours_are_those_of_okabe_and_ito_that_are_seen_on_white() -> None:
    """As published: black, orange, sky blue, bluish green, blue, vermillion, reddish purple."""
    published = "0 0 0, 230 159 0, 86 180 233, 0 158 115, 0 114 178, 213 94 0, 204 121 167"
    rgb = {tuple(np.rint(255 * np.array(colors.to_rgb(colour)))) for colour in COLOURS}
    assert rgb == {tuple(map(float, colour.split())) for colour in published.split(", ")}


def test_a_second_display_on_the_same_axes_goes_on_with_styles() -> None:
    ax = new_axes()
    first = plot.RocCurveDisplay.from_predictions(LABELS, {"a": scores_of(2)["d0"]}, ax=ax)
    second = plot.RocCurveDisplay.from_predictions(LABELS, {"b": scores_of(2)["d1"]}, ax=ax)
    assert first.line_.get_color() != second.line_.get_color()
    assert [text[:2] for text in legend_of(ax)] == ["a ", "ch", "b "]


def test_a_line_of_the_user_stays() -> None:
    ax = new_axes()
    (mine,) = ax.plot([0, 1], [0, 1], label="chance")
    plot.RocCurveDisplay.from_predictions(LABELS, scores_of(1), ax=ax)
    assert mine in ax.lines


def test_properties_of_lines_are_handed_over() -> None:
    display = picture(plot.RocCurveDisplay, LABELS, scores_of(2), line_kw={"lw": 7, "alpha": 0.5})
    assert [line.get_linewidth() for line in display.lines_.values()] == [7, 7]


# Axes and legends.


@pytest.mark.parametrize("kind", DISPLAYS)
def test_axes_of_the_user_are_drawn_on_and_pyplot_stays_as_it_is(kind: str) -> None:
    ax = new_axes()
    display = DISPLAYS[kind].from_predictions(LABELS, scores_of(1), ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("kind", DISPLAYS)
def test_without_axes_there_is_a_new_figure(kind: str) -> None:
    display = DISPLAYS[kind].from_predictions(LABELS, scores_of(2))
    assert pyplot.get_fignums() == [display.figure_.number]
    assert display.ax_ in display.figure_.axes
    display.figure_.canvas.draw()


@pytest.mark.parametrize("kind", CURVES)
def test_a_long_legend_stands_beside_the_axes_and_inside_the_figure(kind: str) -> None:
    display = DISPLAYS[kind].from_predictions(LABELS, scores_of(12))
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.x0 >= display.ax_.get_window_extent().x1
    assert legend.x1 <= display.figure_.bbox.x1
    assert legend.y0 >= 0


def covered(display: Any) -> list[str]:
    """The detectors whose line passes below the legend, by points on it less than a pixel apart."""
    draw(display)
    box = display.ax_.get_legend().get_window_extent()
    names = []
    for name, line in display.lines_.items():
        ends = line.get_transform().transform(line.get_xydata())
        n = 1 + int(np.ceil(np.abs(np.diff(ends, axis=0)).max()))
        steps = np.linspace(0, 1, n)[:, None, None]
        x, y = ((1 - steps) * ends[:-1] + steps * ends[1:]).reshape(-1, 2).T
        if ((x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1)).any():
            names.append(name)
    return names


def place_of(ax: Any) -> Any:
    legend = ax.get_legend()
    assert legend is not None
    return legend.get_window_extent()


@pytest.mark.parametrize("xscale", ["linear", "log"])
@pytest.mark.parametrize("n", [1, 3, 4, 6])
def test_in_a_column_of_a_paper_the_legend_covers_no_curve(n: int, xscale: Any) -> None:
    ax = new_axes(figsize=(3.3, 2.7), layout="constrained")
    display = plot.RocCurveDisplay.from_predictions(LABELS, scores_of(n), xscale=xscale, ax=ax)
    assert covered(display) == []
    place, box = place_of(ax), ax.get_window_extent()
    assert len(legend_of(ax)) == n + 1 + (xscale == "log")
    assert not any("\n" in text for text in legend_of(ax))
    if n > 3:
        assert place.y0 >= box.y1
    assert ax.figure.bbox.y1 >= place.y1
    assert box.height > 0.4 * ax.figure.bbox.height
    assert box.width > 0.7 * ax.figure.bbox.width


def test_a_legend_goes_to_a_corner_without_a_curve() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=90) + 3 * LABELS
    display = plot.PrecisionRecallDisplay.from_predictions(LABELS, scores, prevalence=0.001)
    assert covered(display) == []
    place = place_of(display.ax_)
    assert place.x1 <= display.ax_.get_window_extent().x1


def test_a_wide_legend_stands_above_the_axes() -> None:
    measures = ["auc", "ap", "auc@0.1", "tpr@0.2", "precision@p0.9", "eer"]
    display = plot.RocCurveDisplay.from_predictions(LABELS, scores_of(2), measures=measures)
    assert covered(display) == []
    box = display.ax_.get_window_extent()
    assert place_of(display.ax_).y0 >= box.y1
    assert box.width > 0.7 * display.figure_.bbox.width


@pytest.mark.parametrize("kind", DISPLAYS)
def test_no_legend(kind: str) -> None:
    display = picture(DISPLAYS[kind], LABELS, scores_of(1), legend=False)
    assert display.ax_.get_legend() is None


def test_strange_names_are_shown_as_they_are() -> None:
    names = ["_hidden", "a $x$ and $y", "50%"]
    scores = dict(zip(names, scores_of(3).values(), strict=True))
    ax = new_axes()
    display = plot.RocCurveDisplay.from_predictions(LABELS, scores, measures=(), ax=ax)
    assert list(display.lines_) == names
    assert legend_of(ax) == ["chance", " _hidden", r"a \$x\$ and \$y", "50%"]
    ax.figure.canvas.draw()


@pytest.mark.parametrize("ax", ["axes", 3, [new_axes(), None]])
def test_what_is_no_axes_is_an_error(ax: Any) -> None:
    with pytest.raises(TypeError, match="ax must be matplotlib axes; found"):
        plot.RocCurveDisplay.from_predictions(LABELS, scores_of(1), ax=ax)


def test_the_number_of_axes_must_fit() -> None:
    axes = Figure().subplots(2)
    with pytest.raises(fastad.InvalidInputError, match="ax must contain 1 axes; found 2"):
        plot.RocCurveDisplay.from_predictions(LABELS, scores_of(1), ax=axes)
    with pytest.raises(fastad.InvalidInputError, match="ax must contain 3 axes; found 2"):
        plot.ScoreDistributionDisplay.from_predictions(LABELS, scores_of(3), ax=axes)


# Values in the legend.


def test_measures_are_those_of_evaluate() -> None:
    scores, measures = scores_of(2), ["auc", "auc@0.1", "precision@p0.9"]
    display = picture(plot.RocCurveDisplay, LABELS, scores, measures=measures)
    result = fastad.evaluate(LABELS, scores, measures=measures)
    for name, line in display.lines_.items():
        values = [f"{label} {result[name][label]:.3f}" for label in measures[:2]]
        assert line.get_label() == f"{name} ({', '.join(values)}, precision@p0.9 undefined)"


def test_a_result_of_evaluate_serves_as_values() -> None:
    scores = scores_of(2)
    result = fastad.evaluate(LABELS, scores, measures=["auc"])
    curves = {name: fastad.roc_curve(LABELS, values) for name, values in scores.items()}
    display = plot.RocCurveDisplay(curves, values=result).plot(new_axes())
    assert display.line_.get_label() == f"d0 (auc {result['d0']['auc']:.3f})"


# Errors come before anything is drawn.


def one_class(kind: str) -> npt.NDArray[np.int64]:
    # Precision and recall need no normal samples.
    return np.full(90, 0 if kind == "precision_recall" else 1)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_errors_leave_no_trace(kind: str) -> None:
    ax, scores = new_axes(), scores_of(2)
    draw = DISPLAYS[kind].from_predictions
    with pytest.raises(fastad.UndefinedMeasureError, match="undefined without"):
        draw(one_class(kind), scores, ax=ax)
    scores["d1"][3] = np.nan
    with pytest.raises(fastad.InvalidInputError, match=r"y_score\['d1'\] must not contain NaN"):
        draw(LABELS, scores, ax=ax)
    with pytest.raises(fastad.InvalidInputError, match="y_score must contain at least one column"):
        draw(LABELS, {}, ax=ax)
    with pytest.raises(fastad.InvalidInputError, match="one score for each label"):
        draw(LABELS, {"d0": [1.0, 2.0]}, ax=ax)
    with pytest.raises(fastad.InvalidInputError, match="y_true must contain 0"):
        draw(LABELS + 1, scores_of(1), ax=ax)
    assert not ax.has_data()
    with pytest.raises(fastad.UndefinedMeasureError):
        draw(one_class(kind), scores_of(1))
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize("kind", ["rp", "distribution"])
def test_infinite_scores_where_values_are_read(kind: str) -> None:
    scores = scores_of(2)
    scores["d1"][0] = np.inf
    with pytest.raises(fastad.InvalidInputError, match=r"y_score\['d1'\] must be finite"):
        picture(DISPLAYS[kind], LABELS, scores)


@pytest.mark.parametrize("kind", DISPLAYS)
def test_results_of_the_wrong_kind(kind: str) -> None:
    with pytest.raises(fastad.InvalidInputError, match="at least one result"):
        DISPLAYS[kind]({})
    with pytest.raises(TypeError, match="found list for 'score'"):
        DISPLAYS[kind]([1, 2])
    with pytest.raises(TypeError, match="found str for 'a'"):
        DISPLAYS[kind]({"a": "curve"})


def test_weights_and_labels_are_validated() -> None:
    scores = scores_of(1)["d0"]
    rows = np.repeat(np.arange(90), np.arange(90) % 3)
    weighted = picture(
        plot.RocCurveDisplay,
        np.where(LABELS, "bad", "good"),
        scores,
        sample_weight=np.arange(90) % 3,
        pos_label="bad",
    )
    plain = picture(plot.RocCurveDisplay, LABELS[rows], scores[rows])
    np.testing.assert_array_equal(weighted.line_.get_xydata(), plain.line_.get_xydata())


def test_operating_points_may_be_fractions() -> None:
    display = picture(plot.RocCurveDisplay, LABELS, scores_of(1), fpr=Fraction(1, 10))
    assert [mark.fpr for mark in display.marks["d0"]] == [0.1]


# Matplotlib is an extra.


@pytest.mark.system
def test_without_matplotlib_the_package_loads_and_says_what_is_missing() -> None:
    code = """
import sys
sys.modules["matplotlib"] = None
import fastad.plot
try:
    fastad.plot.RocCurveDisplay.from_predictions([0, 1], [0.0, 1.0])
except fastad.errors.MissingExtraError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == (
        "fastad.plot needs matplotlib: pip install matplotlib, or in a clone of fastad "
        "pip install '.[plot]'\n"
    )


@pytest.mark.system
def test_importing_the_package_does_not_import_matplotlib() -> None:
    code = "import sys, fastad.plot; print('matplotlib' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "False\n"
