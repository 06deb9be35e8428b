"""Curves as drawn, compared by their data with the curves as computed."""

import itertools
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import norm

import fastad
from fastad.plot import (
    DetCurveDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    RocMark,
    RocVariationDisplay,
    RpCurveDisplay,
)
from fastad.plot.legends import legend_labels
from tests.support.drawn import legend_of, new_axes, picture, x_of, y_of

N_ANOMALIES, N_NORMALS = 25, 40
LABELS = np.repeat([0, 1], [N_NORMALS, N_ANOMALIES])
RNG = np.random.default_rng(1)
SMOOTH = RNG.normal(size=65) + LABELS
TIED = np.round(RNG.normal(size=65) + LABELS)
SCORES = {"smooth": SMOOTH, "tied": TIED, "constant": np.zeros(65)}


def reference(ax: Axes, label: str = "chance") -> Line2D:
    (line,) = [line for line in ax.lines if str(line.get_label()).startswith(label)]
    return line


def marks_on(ax: Axes) -> list[tuple[float, float]]:
    return [(x_of(m)[0], y_of(m)[0]) for m in ax.lines if m.get_marker() == "o"]


def is_on(point: tuple[float, float], x: Any, y: Any) -> bool:
    """Tell whether a point lies on a path of straight pieces."""
    path = list(zip(x, y, strict=True))
    for (x0, y0), (x1, y1) in itertools.pairwise(path):
        step = np.array([x1 - x0, y1 - y0])
        offset = np.array([point[0] - x0, point[1] - y0])
        length = float(step @ step)
        t = min(max(float(offset @ step) / length, 0), 1) if length else 0.0
        if np.abs(offset - t * step).max() < 1e-12:
            return True
    return False


# ROC.


def test_numbers_of_samples_are_integers_in_the_legend() -> None:
    key = "flagged@threshold0.5"
    values = fastad.evaluate([0, 1, 1], {"a": [0.1, 0.6, 0.7]}, measures=["auc", key])
    assert legend_labels(["a"], values) == {"a": f"a (auc 1.000, {key} 2)"}


def test_the_legend_has_the_notes_on_how_values_were_computed() -> None:
    """Of all detectors once, as below the table."""
    y, scores = np.arange(40) % 2, {"a": np.arange(40), "b": -np.arange(40)}
    for options in ({"contamination": 0.1}, {"threshold_from": (y, scores)}):
        values: Any = fastad.evaluate(y, scores, measures=["auc", "f1_best"], **options)
        (note,) = (each for each in values.notes if " corrected " in each or " chosen " in each)
        labels = [" ".join(label.split()) for label in legend_labels(values, values).values()]
        assert [note in label for label in labels] == [False, True]
        assert labels[1].count("note: ") == 1


def test_roc_on_linear_axes_is_the_curve() -> None:
    display = picture(RocCurveDisplay, LABELS, SCORES)
    for name, line in display.lines_.items():
        curve = fastad.roc_curve(LABELS, SCORES[name])
        np.testing.assert_array_equal(x_of(line), curve.fpr)
        np.testing.assert_array_equal(y_of(line), curve.tpr)
    assert display.ax_.get_xscale() == "linear"
    np.testing.assert_array_equal(x_of(reference(display.ax_)), [0, 1])
    assert display.ax_.get_xlabel() == "False positive rate"
    assert display.ax_.get_ylabel() == "True positive rate"


@pytest.mark.slow
def test_roc_on_a_logarithmic_axis_bends_what_was_straight() -> None:
    display = picture(RocCurveDisplay, LABELS, SCORES, xscale="log")
    lowest = 1 / N_NORMALS
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlim() == (lowest, 1)
    for name, line in display.lines_.items():
        curve = fastad.roc_curve(LABELS, SCORES[name])
        x, y = x_of(line), y_of(line)
        assert x[0] == lowest
        assert y[0] == pytest.approx(fastad.tpr_at_fpr(LABELS, SCORES[name], fpr=lowest))
        drawn = list(zip(x, y, strict=True))
        # All points of the curve that the axis shows, and between them only points on it.
        kept = [point for point in zip(curve.fpr, curve.tpr, strict=True) if point[0] >= lowest]
        assert set(kept) <= set(drawn)
        assert all(is_on(point, curve.fpr, curve.tpr) for point in drawn)
        # Close enough that straight lines on the logarithmic axis leave out nothing visible.
        assert np.diff(np.log(x)).max() < 0.02
    chance = reference(display.ax_)
    np.testing.assert_allclose(x_of(chance), y_of(chance))
    assert len(x_of(chance)) > 100


def test_a_logarithmic_axis_knows_the_number_of_normals_where_scores_are_tied() -> None:
    limits = []
    for weight in (None, np.full(65, 2)):
        display = picture(
            RocCurveDisplay, LABELS, SCORES["constant"], sample_weight=weight, xscale="log"
        )
        limits.append(display.ax_.get_xlim()[0])
    assert limits == [1 / N_NORMALS, 0.5 / N_NORMALS]
    curve = fastad.roc_curve(LABELS, SMOOTH)
    given = RocCurveDisplay(curve, n_normals=1000).plot(new_axes(), xscale="log")
    assert given.ax_.get_xlim()[0] == 0.001
    implied = RocCurveDisplay(curve).plot(new_axes(), xscale="log")
    assert implied.ax_.get_xlim()[0] == pytest.approx(1 / N_NORMALS)
    real = picture(RocCurveDisplay, LABELS, SMOOTH, sample_weight=np.full(65, 0.1), xscale="log")
    assert real.ax_.get_xlim()[0] == pytest.approx(1 / N_NORMALS)


def test_operating_points_lie_on_the_curve_and_in_the_legend() -> None:
    rates = [0.125, 0.2]
    display = picture(RocCurveDisplay, LABELS, SCORES, fpr=rates)
    expected = []
    for name, line in display.lines_.items():
        tprs = [fastad.tpr_at_fpr(LABELS, SCORES[name], fpr=rate) for rate in rates]
        thresholds = [fastad.threshold_at_fpr(LABELS, SCORES[name], fpr=rate) for rate in rates]
        expected += list(zip(rates, tprs, strict=True))
        auc = fastad.roc_auc(LABELS, SCORES[name])
        rows = [f"{name} (auc {auc:.3f})"]
        for rate, tpr, threshold in zip(rates, tprs, thresholds, strict=True):
            rows.append(f"  tpr@{rate:g} {tpr:.3f} at threshold {threshold:.4g}")
        assert line.get_label() == "\n".join(rows)
    assert marks_on(display.ax_) == expected


def test_marks_from_results() -> None:
    curve = fastad.roc_curve(LABELS, SMOOTH)
    mark = RocMark(0.001, 0.1, 7)
    display = RocCurveDisplay({"a": curve}, marks={"a": [mark]}).plot(new_axes(), xscale="log")
    assert display.line_.get_label() == "a\n  tpr@0.001 0.100 at threshold 7"
    assert marks_on(display.ax_) == [(0.001, 0.1)]
    assert display.ax_.get_xlim()[0] < 0.001
    with pytest.raises(
        fastad.InvalidInputError, match=r"marks must be of detectors; found \['b'\]"
    ):
        RocCurveDisplay({"a": curve}, marks={"b": [mark]})


def test_roc_options_are_checked() -> None:
    with pytest.raises(fastad.InvalidInputError, match="xscale must be one of"):
        picture(RocCurveDisplay, LABELS, SMOOTH, xscale="logit")
    with pytest.raises(fastad.InvalidInputError, match="fpr must be positive on a logarithmic"):
        picture(RocCurveDisplay, LABELS, SMOOTH, fpr=0, xscale="log")
    with pytest.raises(fastad.InvalidInputError, match=r"fpr must lie in \[0, 1\]"):
        picture(RocCurveDisplay, LABELS, SMOOTH, fpr=2)
    with pytest.raises(fastad.InvalidInputError, match="n_normals must lie above 0"):
        RocCurveDisplay(fastad.roc_curve(LABELS, SMOOTH), n_normals=0)
    alone = picture(RocCurveDisplay, LABELS, SMOOTH, chance=False)
    assert len(alone.ax_.lines) == 1


def test_a_second_display_does_not_cut_the_first_on_a_logarithmic_axis() -> None:
    ax = new_axes()
    RocCurveDisplay.from_predictions(LABELS, SMOOTH, xscale="log", ax=ax)
    RocCurveDisplay.from_predictions([0, 1], [0.0, 1.0], xscale="log", ax=ax)
    assert ax.get_xlim() == (1 / N_NORMALS, 1)
    # The line of chance has the length of the axis, not of the second display.
    assert (x_of(reference(ax))[0], x_of(reference(ax))[-1]) == (1 / N_NORMALS, 1)


def test_a_new_figure_has_room_for_all_that_a_logarithmic_axis_adds_to_the_legend() -> None:
    """Five detectors, chance and the shaded rates are more than fit into a corner."""
    display = RocCurveDisplay.from_predictions(LABELS, np.tile(SMOOTH, (5, 1)), xscale="log")
    assert display.figure_.bbox.width / display.figure_.dpi > 8


@pytest.mark.slow
@pytest.mark.parametrize("n_copies", [1, 3])
def test_a_logarithmic_axis_is_shaded_up_to_five_normals(n_copies: int) -> None:
    """Once, as far as the display of the fewest normals on the axes needs it."""
    ax = new_axes()
    for copies in (n_copies, 1):
        labels, scores = np.repeat(LABELS, copies), np.repeat(SMOOTH, copies)
        RocCurveDisplay.from_predictions(labels, scores, xscale="log", ax=ax)
    (span,) = ax.patches
    x = span.get_extents().transformed(ax.transData.inverted())
    assert (x.x0, x.x1) == pytest.approx((1 / (n_copies * N_NORMALS), 5 / N_NORMALS))
    assert legend_of(ax).count("fewer than 5 normals") == 1
    linear = picture(RocCurveDisplay, LABELS, SMOOTH)
    assert len(linear.ax_.patches) == 0


# Precision and recall.


def test_precision_recall_goes_through_the_points_and_has_the_area_of_pr_auc() -> None:
    display = picture(PrecisionRecallDisplay, LABELS, SCORES)
    for name, line in display.lines_.items():
        curve = fastad.precision_recall_curve(LABELS, SCORES[name])
        x, y = x_of(line), y_of(line)
        for point in zip(curve.recall, curve.precision, strict=True):
            assert np.hypot(x - point[0], y - point[1]).min() < 1e-12
        assert np.trapezoid(y, x) == pytest.approx(
            fastad.measures.pr_auc(LABELS, SCORES[name]), abs=2e-4
        )
    np.testing.assert_allclose(y_of(reference(display.ax_)), N_ANOMALIES / 65)


def test_precision_is_not_interpolated_straight() -> None:
    """One of two anomalies above ten normals, and one tied with them."""
    labels, scores = [1] + [0] * 10 + [1], [2] + [1] * 11
    line = picture(PrecisionRecallDisplay, labels, scores).line_
    halfway = np.interp(0.75, x_of(line), y_of(line))
    assert halfway == pytest.approx(1.5 / 6.5, abs=1e-3)
    assert halfway < (1 + 2 / 12) / 2 - 0.3


def test_normals_tied_with_the_first_anomaly_are_distinguished_from_those_above_it() -> None:
    labels, scores = [0, 0, 0, 1, 1], [3, 2, 2, 2, 1]
    labelled = picture(PrecisionRecallDisplay, labels, scores)
    np.testing.assert_array_equal(labelled.false_alarms["score"], [0, 0.5, 1.5, 1.5])
    curve = fastad.precision_recall_curve(labels, scores)
    # Without the labels, no normal is assumed to be tied.
    np.testing.assert_allclose(
        PrecisionRecallDisplay(curve).false_alarms["score"], [0, 1.5, 1.5, 1.5]
    )
    given = PrecisionRecallDisplay({"a": curve}, false_alarms={"a": [0, 0.5, 1.5, 1.5]})
    line = given.plot(new_axes()).line_
    np.testing.assert_allclose(y_of(line), y_of(labelled.line_))
    with pytest.raises(fastad.InvalidInputError, match=r"false_alarms must be of detectors; .*b"):
        PrecisionRecallDisplay({"a": curve}, false_alarms={"b": [0, 0.5, 1.5, 1.5]})
    with pytest.raises(fastad.InvalidInputError, match="false_alarms must have one number"):
        PrecisionRecallDisplay({"a": curve}, false_alarms={"a": [0]})


def test_where_the_first_anomaly_is_not_tied_the_curve_is_enough() -> None:
    curve = fastad.precision_recall_curve(LABELS, SMOOTH, prevalence=0.1)
    labelled = picture(PrecisionRecallDisplay, LABELS, SMOOTH, prevalence=0.1)
    implied = PrecisionRecallDisplay(curve).plot(new_axes())
    np.testing.assert_allclose(y_of(implied.line_), y_of(labelled.line_), atol=1e-12)
    assert labelled.line_.get_label() == "score"
    np.testing.assert_allclose(y_of(reference(labelled.ax_)), 0.1)


def test_lines_of_equal_f1() -> None:
    display = picture(PrecisionRecallDisplay, LABELS, SMOOTH, iso_f1=[0.3, 0.5], chance=False)
    lines = [line for line in display.ax_.lines if line is not display.line_]
    for level, line in zip([0.3, 0.5], lines, strict=True):
        recall, precision = x_of(line), y_of(line)
        np.testing.assert_allclose(2 * recall * precision / (recall + precision), level)
        assert (precision[0], recall[-1]) == (pytest.approx(1), 1)
    assert [text.get_text() for text in display.ax_.texts] == ["F1 = 0.3", "F1 = 0.5"]
    none = picture(PrecisionRecallDisplay, LABELS, SMOOTH, iso_f1=())
    assert len(none.ax_.lines) == 2
    with pytest.raises(fastad.InvalidInputError, match=r"iso_f1\[0\] must lie strictly"):
        none.plot(new_axes(), iso_f1=[0, 0.5])


def test_precision_without_normals_is_one() -> None:
    line = picture(PrecisionRecallDisplay, [1, 1], [0.1, 0.2]).line_
    np.testing.assert_array_equal(y_of(line), 1)


def test_the_level_of_chance_of_a_first_display_stays() -> None:
    ax = new_axes()
    for prevalence in (0.1, 0.4, 0.4):
        PrecisionRecallDisplay.from_predictions(LABELS, SMOOTH, prevalence=prevalence, ax=ax)
    labels = [text for text in legend_of(ax) if text.startswith("chance")]
    assert labels == ["chance (0.1)", "chance (0.4)"]
    np.testing.assert_allclose(y_of(reference(ax, labels[0])), 0.1)


# DET.


def test_det_is_drawn_at_normal_deviates() -> None:
    display = picture(DetCurveDisplay, LABELS, SCORES)
    for name, line in display.lines_.items():
        curve = fastad.measures.det_curve(LABELS, SCORES[name])
        x, y = x_of(line), y_of(line)
        assert np.isfinite(x).all()
        assert np.isfinite(y).all()
        inside = (curve.fpr > 0) & (curve.fpr < 1) & (curve.fnr > 0) & (curve.fnr < 1)
        for fpr, fnr in zip(curve.fpr[inside], curve.fnr[inside], strict=True):
            assert np.hypot(x - norm.ppf(fpr), y - norm.ppf(fnr)).min() < 1e-9
        drawn = zip(norm.cdf(x), norm.cdf(y), strict=True)
        assert all(is_on(point, curve.fpr, curve.fnr) for point in drawn)
        assert np.abs(np.diff(x)).max() < 0.05
        assert np.abs(np.diff(y)).max() < 0.05
    left, right = display.ax_.get_xlim()
    assert (norm.cdf(left), norm.cdf(right)) == pytest.approx((0.5 / 40, 1 - 0.5 / 40))
    assert norm.cdf(display.ax_.get_ylim()[0]) == pytest.approx(0.5 / N_ANOMALIES)
    np.testing.assert_allclose(
        x_of(reference(display.ax_)), -y_of(reference(display.ax_)), atol=1e-9
    )


def test_ticks_of_det_are_percents_at_their_deviates() -> None:
    ax = picture(DetCurveDisplay, LABELS, SMOOTH).ax_
    for axis in (ax.xaxis, ax.yaxis):
        texts = [text.get_text() for text in axis.get_ticklabels()]
        assert texts == ["5%", "20%", "50%", "80%", "95%"]
        np.testing.assert_allclose(axis.get_ticklocs(), norm.ppf([0.05, 0.2, 0.5, 0.8, 0.95]))


@pytest.mark.parametrize("labels", [[0, 1], [0, 0, 0, 1], [1, 1, 1, 0]])
def test_det_of_few_points(labels: list[int]) -> None:
    ax = picture(DetCurveDisplay, labels, range(len(labels))).ax_
    ax.figure.canvas.draw()
    left, right = ax.get_xlim()
    assert left < right


def test_det_from_a_curve_knows_the_sizes_by_its_steps() -> None:
    curve = fastad.measures.det_curve(LABELS, SMOOTH)
    implied, given = DetCurveDisplay(curve), DetCurveDisplay(curve, n_anomalies=25, n_normals=40)
    lines = [display.plot(new_axes()).line_ for display in (implied, given)]
    np.testing.assert_allclose(x_of(lines[0]), x_of(lines[1]))


def test_a_second_det_display_does_not_cut_the_first() -> None:
    ax = new_axes()
    DetCurveDisplay.from_predictions(LABELS, SMOOTH, ax=ax)
    limits = ax.get_xlim(), ax.get_ylim()
    DetCurveDisplay.from_predictions([0, 0, 1, 1], [1, 3, 2, 4], ax=ax)
    assert (ax.get_xlim(), ax.get_ylim()) == limits
    assert tuple(x_of(reference(ax))) == limits[0]
    assert len(ax.get_xticks()) == 5


# RP.


def test_rp_curve_and_its_zero() -> None:
    scores = {"smooth": SMOOTH, "tied": TIED}
    display = picture(RpCurveDisplay, LABELS, scores)
    for name, line in display.lines_.items():
        curve = fastad.measures.rp_curve(LABELS, scores[name])
        np.testing.assert_array_equal(x_of(line), curve.p)
        np.testing.assert_array_equal(y_of(line), curve.distance)
        assert line.get_label() == f"{name}, zero at {curve.zero:.3g}"
    assert marks_on(display.ax_) == [(c.zero, 0.0) for c in display.curves.values()]
    np.testing.assert_array_equal(y_of(reference(display.ax_, "no distance")), 0)


def test_rp_without_zero() -> None:
    display = picture(RpCurveDisplay, [0, 1], [0.25, 0.75], score_range=(0, 1))
    assert marks_on(display.ax_) == []
    assert display.line_.get_label() == "score (auc_rp 0.750)"
    with pytest.raises(fastad.InvalidInputError, match="must lie in score_range"):
        picture(RpCurveDisplay, [0, 1], [0.0, 2.0], score_range=(0, 1))


# Many runs.


GROUPS = np.tile(np.arange(5), 13)


def test_variation_is_mean_and_deviation_of_the_interpolated_curves() -> None:
    axes = Figure().subplots(2)
    display = RocVariationDisplay.from_predictions(LABELS, SCORES, groups=GROUPS, ax=axes)
    assert display.ax_ is axes[0]
    assert display.ratio_ax_ is axes[1]
    for name, variation in display.variations.items():
        assert variation.n_runs == 5
        grid = variation.fpr
        at_rates = [
            [fastad.tpr_at_fpr(LABELS[rows], SCORES[name][rows], fpr=rate) for rate in grid]
            for rows in (np.flatnonzero(run == GROUPS) for run in range(5))
        ]
        np.testing.assert_allclose(variation.mean, np.mean(at_rates, axis=0), atol=1e-12)
        np.testing.assert_allclose(variation.std, np.std(at_rates, axis=0, ddof=1), atol=1e-12)
        lowest = 1 / 8  # 8 normals in each run
        visible = grid >= lowest
        assert grid[visible][0] == lowest
        line, ratio = display.lines_[name], display.ratio_lines_[name]
        np.testing.assert_array_equal(y_of(line), variation.mean[visible])
        np.testing.assert_array_equal(x_of(ratio), grid[visible])
        np.testing.assert_array_equal(y_of(ratio), variation.mean[visible] / grid[visible])
        band = display.bands_[name].get_paths()[0].get_extents()
        assert band.ymax == pytest.approx((variation.mean + variation.std)[visible].max())
        assert line.get_color() == ratio.get_color()
        assert line.get_label() == f"{name} (5 runs)"
    assert [ax.get_xscale() for ax in axes] == ["log", "log"]
    axes[0].figure.canvas.draw()


def test_variation_on_one_pair_of_axes_and_on_a_linear_one() -> None:
    curves = [fastad.roc_curve(LABELS, scores) for scores in (SMOOTH, TIED)]
    display = RocVariationDisplay(curves, n_normals=40).plot(new_axes(), xscale="linear")
    assert display.ratio_ax_ is None
    assert display.ratio_lines_ == {}
    x = x_of(display.line_)
    assert (x[0], x[-1]) == (0, 1)
    np.testing.assert_array_equal(x, display.variations["score"].fpr)


def test_variation_with_weights_is_that_of_repeated_rows() -> None:
    weights = np.arange(65) % 3
    rows = np.repeat(np.arange(65), weights)
    folds = np.arange(65) % 2
    weighted = picture(RocVariationDisplay, LABELS, SMOOTH, groups=folds, sample_weight=weights)
    plain = picture(RocVariationDisplay, LABELS[rows], SMOOTH[rows], groups={"fold": folds[rows]})
    np.testing.assert_array_equal(y_of(weighted.line_), y_of(plain.line_))


def test_errors_of_variation() -> None:
    ax = new_axes()
    draw = RocVariationDisplay.from_predictions
    with pytest.raises(fastad.UndefinedMeasureError, match=r"in the run of fold 'b'"):
        draw([0, 1, 0, 0], [1, 2, 3, 4], groups={"fold": ["a", "a", "b", "b"]}, ax=ax)
    with pytest.raises(fastad.InvalidInputError, match="at least two runs; found 1 for 'score'"):
        draw([0, 1], [1, 2], groups=[7, 7], ax=ax)
    with pytest.raises(
        fastad.InvalidInputError, match=r"contain NaN; found 1, the first at index 2"
    ):
        draw([0, 1, 0, 1], [1, 2, np.nan, 4], groups=[1, 0, 1, 0], ax=ax)
    with pytest.raises(fastad.InvalidInputError, match="at least one detector"):
        RocVariationDisplay({})
    with pytest.raises(TypeError, match="must be sequences of RocCurve; found RocCurve"):
        RocVariationDisplay(fastad.roc_curve(LABELS, SMOOTH))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="found int"):
        RocVariationDisplay([1, 2])  # type: ignore[list-item]
    assert not ax.has_data()


def test_variation_of_runs_with_one_normal_point() -> None:
    display = RocVariationDisplay.from_predictions([0, 1] * 2, [1, 2, 2, 1], groups=[0, 0, 1, 1])
    assert display.ax_.get_xlim() == (0.5, 1)
    display.figure_.canvas.draw()
