"""Ranks with their intervals, compared with the numbers that they show."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex

import fastad
from fastad.errors import InvalidTypeError
from fastad.plot import RankIntervalsDisplay
from fastad.plot.drawing import COLOURS
from tests.support.drawn import draw, new_axes


def test_each_detector_has_a_row_with_its_interval() -> None:
    values = np.random.default_rng(0).normal([0.9, 0.89, 0.8, 0.7], 0.03, (12, 4))
    names = ["knn", "lof $x$", "svm", "_pca"]
    results = fastad.ResultTable.from_arrays({"auc": values}, detectors=names)
    ranks = fastad.benchmarking.rank_intervals(results, rng=0)
    display: Any = RankIntervalsDisplay(ranks).plot(new_axes())
    draw(display)
    for row, segment in enumerate(display.intervals_.get_segments()):
        assert segment.tolist() == [[ranks.low[row], row], [ranks.high[row], row]]
        line = display.lines_[ranks.detectors[row]]
        assert line.get_xydata().tolist() == [[ranks.rank[row], row]]
        is_tied = ranks.detectors[row] in ranks.tied_with_best
        assert (to_hex(line.get_color()).upper() == COLOURS[0]) == is_tied
    texts = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert texts == [r"lof \$x\$", "knn", "svm", " _pca"]
    assert display.ax_.get_xlabel() == "rank by auc, all intervals at 95 %"
    assert display.ax_.yaxis_inverted()
    assert all(float(tick).is_integer() for tick in display.ax_.get_xticks())
    with pytest.raises(InvalidTypeError, match=r"ranks must be a .*RankIntervals; found str"):
        RankIntervalsDisplay("auc")  # type: ignore[arg-type]
