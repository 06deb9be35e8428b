"""Confidence bands as drawn, compared by their corners with the bands as computed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.colors import to_rgba, to_rgba_array

import fastad
from fastad.plot import PrecisionRecallDisplay, RocCurveDisplay
from fastad.uncertainty.rates import bands
from fastad.uncertainty.rates.bands import (
    PrecisionRecallBand,
    RocBand,
    precision_recall_band,
    roc_band,
)
from tests.support.drawn import corners, legend_of, new_axes, picture

LABELS = np.repeat([0, 1], [40, 25])
RNG = np.random.default_rng(2)
SCORES = {"smooth": RNG.normal(size=65) + LABELS, "tied": np.round(RNG.normal(size=65) + LABELS)}


def bounds(
    x: npt.NDArray[np.float64], band: RocBand | PrecisionRecallBand, lowest: float = 0
) -> set[tuple[float, float]]:
    results = [*zip(x, band.low, strict=True), *zip(x, band.high, strict=True)]
    return {(float(x), float(y)) for x, y in results if x >= lowest}


@pytest.mark.parametrize("kind", ["pointwise", "simultaneous"])
def test_roc_bands_are_drawn_in_the_colours_of_their_lines(kind: Any) -> None:
    display = picture(RocCurveDisplay, LABELS, SCORES, band=kind, confidence_level=0.9)
    assert list(display.bands_) == list(SCORES)
    for name, fill in display.bands_.items():
        band = roc_band(
            LABELS, SCORES[name], simultaneous=kind == "simultaneous", confidence_level=0.9
        )
        assert corners(fill) == bounds(band.fpr, band)
        colour = to_rgba(display.lines_[name].get_color(), 0.15)
        np.testing.assert_allclose(to_rgba_array(fill.get_facecolor()), [colour])
        assert display.bands[name].confidence_level == 0.9
    # One line of the legend says what all of them are.
    assert legend_of(display.ax_)[-1] == f"90 % {kind} band"
    assert len(legend_of(display.ax_)) == 4


def test_a_logarithmic_axis_shows_the_band_from_its_start() -> None:
    display = picture(RocCurveDisplay, LABELS, SCORES["smooth"], band="pointwise", xscale="log")
    band, lowest = roc_band(LABELS, SCORES["smooth"]), 1 / 40
    assert display.ax_.get_xlim()[0] == lowest
    start = max(x for x in band.fpr if 0 < x <= lowest)
    assert corners(display.bands_["score"]) == bounds(band.fpr, band, start)


@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_precision_recall_bands(prevalence: float | None) -> None:
    display = picture(
        PrecisionRecallDisplay, LABELS, SCORES, band="simultaneous", prevalence=prevalence
    )
    for name, fill in display.bands_.items():
        band = precision_recall_band(LABELS, SCORES[name], simultaneous=True, prevalence=prevalence)
        assert corners(fill) == bounds(band.recall, band)
    assert legend_of(display.ax_)[-1] == "95 % simultaneous band"


def test_without_a_band_there_is_none() -> None:
    for display in (
        picture(RocCurveDisplay, LABELS, SCORES),
        picture(PrecisionRecallDisplay, LABELS, SCORES),
    ):
        assert (display.bands, display.bands_) == ({}, {})
        assert not [text for text in legend_of(display.ax_) if "band" in text]


def test_bands_from_results_in_any_order() -> None:
    ax = new_axes()
    curve = fastad.roc_curve(LABELS, SCORES["smooth"])
    band = roc_band(LABELS, SCORES["smooth"], fpr=[0.5, 0, 1])
    display = RocCurveDisplay(curve, bands=band).plot(ax)
    vertices = np.asarray(display.bands_["score"].get_paths()[0].vertices)
    assert corners(display.bands_["score"]) == bounds(band.fpr, band)
    # The outline goes once there and once back.
    assert np.count_nonzero(np.diff(np.sign(np.diff(vertices[:, 0]))) != 0) <= 4
    other = roc_band(LABELS, SCORES["tied"], confidence_level=0.5)
    curves = {name: fastad.roc_curve(LABELS, SCORES[name]) for name in SCORES}
    RocCurveDisplay(curves, bands={"tied": other}).plot(ax)
    assert [text for text in legend_of(ax) if "band" in text] == [
        "95 % pointwise band",
        "50 % pointwise band",
    ]
    recall = precision_recall_band(LABELS, SCORES["smooth"])
    pr_curve = fastad.precision_recall_curve(LABELS, SCORES["smooth"])
    drawn = PrecisionRecallDisplay({"a": pr_curve}, bands={"a": recall}).plot(new_axes())
    assert list(drawn.bands_) == ["a"]


def test_integer_weights_count_rows_and_real_ones_are_those_of_the_bands() -> None:
    weights = np.random.default_rng(0).uniform(0.5, 1.5, 400)
    weights[7] = 0
    y, s = LABELS.repeat(400)[::65], np.random.default_rng(1).normal(size=400)
    roc = picture(RocCurveDisplay, y, s, sample_weight=weights, band="pointwise")
    of_tpr = roc_band(y, s, sample_weight=weights)
    assert corners(roc.bands_["score"]) == bounds(of_tpr.fpr, of_tpr)
    pr = picture(PrecisionRecallDisplay, y, s, sample_weight=weights, band="pointwise")
    of_precision = precision_recall_band(y, s, sample_weight=weights)
    assert corners(pr.bands_["score"]) == bounds(of_precision.recall, of_precision)
    for show in (RocCurveDisplay, PrecisionRecallDisplay):
        weights = np.full(65, 2)
        display = picture(show, LABELS, SCORES["tied"], sample_weight=weights, band="pointwise")
        twice = picture(show, LABELS.repeat(2), SCORES["tied"].repeat(2), band="pointwise")
        assert corners(display.bands_["score"]) == corners(twice.bands_["score"])


@pytest.mark.parametrize("show", [RocCurveDisplay, PrecisionRecallDisplay])
@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 1.5, 260)])
def test_rows_are_read_once_for_a_curve_and_its_band(
    show: Any, weights: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("labels are read again")

    monkeypatch.setattr(bands, "check_labels", refuse)
    y, scores = LABELS.repeat(4), SCORES["smooth"].repeat(4)
    assert picture(show, y, scores, sample_weight=weights, band="pointwise").bands_


def test_bad_bands_are_named() -> None:
    curve = fastad.roc_curve(LABELS, SCORES["smooth"])
    band = roc_band(LABELS, SCORES["smooth"])
    pr_curve = fastad.precision_recall_curve(LABELS, SCORES["smooth"])
    bad: Any = precision_recall_band(LABELS, SCORES["smooth"])
    with pytest.raises(fastad.InvalidInputError, match=r"bands must be of detectors; found \['b'"):
        RocCurveDisplay({"a": curve}, bands={"b": band})
    with pytest.raises(TypeError, match="bands must be a RocBand"):
        RocCurveDisplay(curve, bands=bad)
    with pytest.raises(TypeError, match="bands must be a PrecisionRecallBand"):
        PrecisionRecallDisplay(pr_curve, bands={"score": band})  # type: ignore[dict-item]
    for show in (RocCurveDisplay, PrecisionRecallDisplay):
        options: Any = {"band": "both"}
        with pytest.raises(fastad.InvalidInputError, match="band must be one of 'pointwise'"):
            show.from_predictions(LABELS, SCORES, **options)
        with pytest.raises(fastad.InvalidInputError, match="confidence_level must lie strictly"):
            show.from_predictions(LABELS, SCORES, band="pointwise", confidence_level=1)
