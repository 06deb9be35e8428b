"""Displays of counts: the curve at the edges of bins, in the band of its certain bounds."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import fastad
from fastad.errors import InvalidTypeError, UndefinedMeasureError
from fastad.plot import RocCurveDisplay
from fastad.streaming import ScoreSketch
from tests.plot.conftest import headless

__all__ = ["headless"]

RNG = np.random.default_rng(0)
Y = RNG.random(2000) < 0.2
S = np.where(RNG.random(2000) < 0.3, 1.0, RNG.normal(size=2000) + Y)


def sketch_of(weight: float = 1) -> ScoreSketch:
    """Bins from the lowest to the highest score in each; one is a single value."""
    of_bin = np.digitize(S, [-1, 0, 1, np.nextafter(1, 2), 2])
    bins = [S[of_bin == i] for i in range(6)]
    edges = [(scores.min(), scores.max()) for scores in bins]
    counts = [[np.sum((of_bin == i) & (k == Y)) * weight for i in range(6)] for k in (0, 1)]
    return ScoreSketch.from_counts(edges, *counts, closed="both")


@pytest.mark.parametrize("weight", [1, 0.3])
@pytest.mark.parametrize("xscale", ["linear", "log"])
def test_the_band_contains_the_curve_of_all_scores(xscale: Any, weight: float) -> None:
    sketch = sketch_of(weight)
    axes = Figure().subplots()
    display = RocCurveDisplay.from_sketch({"knn": sketch}, ax=axes, xscale=xscale)
    assert display.values == {"knn": {"auc": sketch.roc_auc().value}}
    legend = axes.get_legend()
    assert legend is not None
    assert "certain bounds" in [text.get_text() for text in legend.get_texts()]
    drawn = np.asarray(display.bands_["knn"].get_paths()[0].vertices)
    assert drawn[:, 0].min() == (axes.get_xlim()[0] if xscale == "log" else 0)
    band = display.bands["knn"]
    curve, edges = fastad.roc_curve(Y, S), sketch.roc_curve()
    # Six rectangles from edge to edge; that of the single value is a straight line.
    assert [each.reshape(-1, 2).tolist() for each in (band.low, band.high)] == [
        [[a, b if i == 2 else a] for i, (a, b) in enumerate(pairwise(edges.tpr))],
        [[a if i == 2 else b, b] for i, (a, b) in enumerate(pairwise(edges.tpr))],
    ]
    corners = list(pairwise(zip(edges.fpr - 1e-12, edges.tpr - 1e-12, strict=True)))
    for fpr, tpr in zip(curve.fpr, curve.tpr, strict=True):
        assert any(
            left <= fpr <= right + 2e-12 and low <= tpr <= high + 2e-12
            for (left, low), (right, high) in corners
        )


def test_what_has_no_curve_is_refused() -> None:
    with pytest.raises(UndefinedMeasureError, match="roc_band"):
        ScoreSketch.from_counts([0, 1], [1], [0]).roc_band()
    with pytest.raises(InvalidTypeError, match="sketches must be a ScoreSketch"):
        RocCurveDisplay.from_sketch({"a": 1})  # type: ignore[dict-item]
