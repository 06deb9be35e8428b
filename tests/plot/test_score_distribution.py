"""Distributions of scores as drawn, compared with their definitions."""

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

import fastad
from fastad.plot import RpSpan, ScoreDistributionDisplay
from fastad.plot.score_distribution import _spread
from tests.support.drawn import new_axes, picture

LABELS = np.repeat([0, 1], [60, 30])
RNG = np.random.default_rng(2)
SCORES = {"a": RNG.normal(size=90) + LABELS, "b": np.round(RNG.normal(size=90))}


def data_of(steps: Any) -> Any:
    # matplotlib types it as a plain tuple.
    return steps.get_data()


def test_both_histograms_are_densities_on_common_bins() -> None:
    display = ScoreDistributionDisplay.from_predictions(LABELS, SCORES, bins=7)
    for name, scores in SCORES.items():
        shown = display.distributions[name]
        normal, anomaly = map(data_of, display.steps_[name])
        np.testing.assert_array_equal(normal.edges, np.histogram_bin_edges(scores, 7))
        np.testing.assert_array_equal(normal.edges, anomaly.edges)
        for density, drawn, label in ((shown.normals, normal, 0), (shown.anomalies, anomaly, 1)):
            of_class = scores[np.flatnonzero(label == LABELS)]
            expected, _ = np.histogram(of_class, normal.edges, density=True)
            np.testing.assert_allclose(drawn.values, expected)
            np.testing.assert_array_equal(drawn.values, density)
        assert display.axes_[name].get_title(loc="left") == name
    assert display.ax_ is display.axes_["a"]
    legend = display.ax_.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["normal", "anomaly"]


def test_percentiles_are_marked_where_they_are() -> None:
    marked = [10, 25, 99.5]
    display = picture(ScoreDistributionDisplay, LABELS, SCORES["a"], percentiles=marked)
    expected = fastad.measures.class_percentiles(LABELS, SCORES["a"], p=marked)
    feet = [float(np.asarray(line.get_xdata())[0]) for line in display.ax_.lines]
    assert feet == [*expected.normals, *expected.anomalies]
    tags = [text.get_text() for text in display.ax_.texts]
    assert tags == ["p10", "p25", "p99.5"] * 2


def test_distances_run_from_the_normals_to_the_anomalies() -> None:
    display = picture(ScoreDistributionDisplay, LABELS, SCORES["a"], percentiles=(), rp=[50, 99])
    spans = display.distributions["score"].spans
    distances = [fastad.measures.rp_distance(LABELS, SCORES["a"], p=p) for p in (50, 99)]
    assert [span.distance for span in spans] == distances
    arrows = [text for text in display.ax_.texts if isinstance(text, Annotation)]
    assert [(a.xyann[0], a.xy[0]) for a in arrows] == [(s.normal, s.anomaly) for s in spans]
    texts = [t.get_text() for t in display.ax_.texts if not isinstance(t, Annotation)]
    minus = "\N{MINUS SIGN}"
    assert texts == [f"RP@50 = {distances[0]:.3g}", f"RP@99 = {minus}{-distances[1]:.3g}"]
    assert RpSpan(50, 30.0, 70.0).distance == 40


def test_a_distance_alone_may_be_a_number() -> None:
    display = picture(ScoreDistributionDisplay, LABELS, SCORES["a"], rp=60)
    assert [span.p for span in display.distributions["score"].spans] == [60]


def test_weights_count_rows() -> None:
    weights = np.arange(90) % 3
    rows = np.repeat(np.arange(90), weights)
    weighted, plain = (
        picture(ScoreDistributionDisplay, y, s, bins=5, sample_weight=w)
        for y, s, w in ((LABELS, SCORES["b"], weights), (LABELS[rows], SCORES["b"][rows], None))
    )
    for one, other in zip(weighted.steps_["score"], plain.steps_["score"], strict=True):
        np.testing.assert_allclose(data_of(one).values, data_of(other).values)


def test_bins_are_checked() -> None:
    display = picture(ScoreDistributionDisplay, LABELS, SCORES["a"])
    again = ScoreDistributionDisplay(display.distributions["score"]).plot(new_axes())
    assert list(again.axes_) == ["score"]
    with pytest.raises(TypeError, match="bins must be an integer; found list"):
        picture(ScoreDistributionDisplay, LABELS, SCORES["a"], bins=[0, 1])
    with pytest.raises(fastad.InvalidInputError, match="bins must be at least 1"):
        picture(ScoreDistributionDisplay, LABELS, SCORES["a"], bins=0)
    with pytest.raises(fastad.InvalidInputError, match="must have a finite range"):
        picture(ScoreDistributionDisplay, [0, 1], [-1e308, 1e308])
    scores = {"a": [0, 1], "b": [1, np.nextafter(1, 2)]}
    with pytest.raises(
        fastad.InvalidInputError,
        match=r"the range of y_score\['b'\]; found 40 from 1.0 to 1.0000000000000002",
    ):
        ScoreDistributionDisplay.from_predictions([0, 1], scores)


@pytest.mark.parametrize("scores", [[5, 5, 5], [0, 2**60, 2**61], [1e-300, 2e-300, 0], [1, 2, 9]])
def test_strange_scales_of_scores(scores: list[float]) -> None:
    display = picture(ScoreDistributionDisplay, [0, 1, 1], scores)
    display.figure_.canvas.draw()
    for density in map(data_of, display.steps_["score"]):
        assert np.sum(density.values * np.diff(density.edges)) == pytest.approx(1)


def test_tags_keep_their_distance() -> None:
    positions = _spread(np.array([0.0, 0.5, 0.51, 0.52, 0.99, 1.0]), 0.1)
    assert np.diff(positions).min() > 0.1 - 1e-12
    assert max(positions) <= 1
    assert positions[:2] == [0.0, 0.5]


@pytest.mark.slow
def test_twelve_detectors_have_axes_of_their_own() -> None:
    scores = {f"d{i}": SCORES["a"] for i in range(12)}
    display = ScoreDistributionDisplay.from_predictions(LABELS, scores)
    assert len(display.figure_.axes) == 12
    axes = np.array(Figure().subplots(3, 4))
    given = ScoreDistributionDisplay.from_predictions(LABELS, scores, ax=axes)
    assert list(given.axes_.values()) == list(axes.flat)
