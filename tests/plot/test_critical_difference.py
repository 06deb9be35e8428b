"""Critical-difference diagrams, compared with the comparison that they show."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

import fastad
from fastad.plot import CriticalDifferenceDisplay
from tests.support.demsar import demsar, results_of
from tests.support.drawn import draw, new_axes

LONG = "abcdefghijklmnopqrst"


def spread(k: int, n: int = 30, detectors: Sequence[str] | None = None) -> Any:
    values = np.random.default_rng(k).normal(size=(n, k)) + np.linspace(3, 0, k)
    return results_of(values, detectors=detectors or [f"detector-{one}" for one in LONG[:k]])


def data_of(line: Line2D) -> tuple[list[float], list[float]]:
    x, y = line.get_data()
    return np.asarray(x, float).tolist(), np.asarray(y, float).tolist()


def boxes(display: CriticalDifferenceDisplay) -> list[Bbox]:
    draw(display)
    return [name.get_window_extent() for name in display.names_.values()]


def test_lines_lead_from_ranks_to_names() -> None:
    result = fastad.benchmarking.nemenyi(spread(7), measure="auc", rng=0)
    display = CriticalDifferenceDisplay(result).plot(new_axes())
    assert list(display.lines_) == list(display.names_) == result.detectors
    rows = []
    for i, (name, line) in enumerate(display.lines_.items()):
        (x, along, end), (top, row, last) = data_of(line)
        assert (x, along) == (result.mean_ranks[i],) * 2
        assert (top, row) == (0, last)
        assert end == (1 if i < 4 else 7)
        text = display.names_[name]
        assert isinstance(text, Annotation)
        assert text.xy == (end, row)
        assert text.get_text() == f"{name} ({x:.2f})"
        assert text.get_horizontalalignment() == ("right" if i < 4 else "left")
        rows.append(row)
    # The outermost are the highest, so that no line crosses another.
    assert rows[:4] == sorted(rows[:4])
    assert rows[4:] == sorted(rows[4:], reverse=True)
    low, high = display.ax_.get_ylim()
    assert low > max(rows) > 0 > high
    assert display.line_ is display.lines_[result.detectors[0]]
    labels = {text.get_text() for text in display.ax_.texts}
    assert "mean rank by auc" in labels


def test_bars_are_the_groups_and_overlapping_ones_lie_on_levels_of_their_own() -> None:
    result = fastad.benchmarking.nemenyi(spread(20), measure="auc", rng=0)
    display = CriticalDifferenceDisplay(result).plot(new_axes())
    ranks = dict(zip(result.detectors, result.mean_ranks.tolist(), strict=True))
    assert len(result.groups) > 3
    spans = [data_of(bar) for bar in display.bars_]
    assert [x for x, _ in spans] == [[ranks[g[0]], ranks[g[-1]]] for g in result.groups]
    first_row = min(data_of(line)[1][1] for line in display.lines_.values())
    for (one, at), (other, there) in itertools.combinations(spans, 2):
        assert at[0] == at[1] < first_row
        if at[0] == there[0]:
            assert one[1] < other[0]
    # As many levels as bars that meet at one rank, with a fiftieth of the axis between, no more.
    deepest = max(
        sum(x[0] <= rank <= x[1] + 19 / 50 for x, _ in spans) for rank in result.mean_ranks
    )
    assert len({y[0] for _, y in spans}) == deepest < len(spans)


def test_the_ruler_is_as_long_as_the_critical_difference() -> None:
    result = fastad.benchmarking.nemenyi(demsar(), measure="auc", rng=0)
    display = CriticalDifferenceDisplay(result).plot(new_axes(layout="constrained"))
    assert display.ruler_ is not None
    assert result.critical_difference is not None
    assert data_of(display.ruler_)[0] == [1, 1 + result.critical_difference]
    assert "CD = 1.25" in {text.get_text() for text in display.ax_.texts}
    assert display.ax_.get_xlim() == (1, 4)
    wide = fastad.benchmarking.nemenyi(results_of([[1, 2]]), measure="auc", rng=0)
    display = CriticalDifferenceDisplay(wide).plot(new_axes(layout="constrained"))
    # A ruler that is longer than the axis is visible, but ranks end at 2.
    assert display.ax_.get_xlim() == (1, 1 + 3)
    assert display.ax_.get_xticks().tolist() == [1, 2]
    assert display.ax_.spines["top"].get_bounds() == (1, 2)
    without = fastad.benchmarking.wilcoxon_holm(demsar(), measure="auc", rng=0)
    assert CriticalDifferenceDisplay(without).plot(new_axes()).ruler_ is None


def test_a_control_has_its_interval_and_those_outside_stand_out() -> None:
    result = fastad.benchmarking.nemenyi(spread(8), measure="auc", control="detector-d", rng=0)
    assert result.critical_difference is not None
    display = CriticalDifferenceDisplay(result).plot(new_axes())
    middle = result.mean_ranks[result.detectors.index("detector-d")]
    (bar,) = display.bars_
    assert data_of(bar)[0] == [
        max(middle - result.critical_difference, 1),
        min(middle + result.critical_difference, 8),
    ]
    low, high = data_of(bar)[0]
    colours = {name: to_hex(text.get_color()) for name, text in display.names_.items()}
    assert len(set(colours.values())) == 3
    assert list(colours.values()).count(colours["detector-d"]) == 1
    outside = {
        name
        for name, rank in zip(result.detectors, result.mean_ranks, strict=True)
        if not low < rank < high
    }
    different = {name for pair in result.significant_pairs for name in pair} - {"detector-d"}
    assert outside == different
    (plain,) = {
        colour for name, colour in colours.items() if name not in different | {"detector-d"}
    }
    assert all(colours[name] != plain for name in different)
    pairwise = fastad.benchmarking.wilcoxon_holm(
        spread(8), measure="auc", control="detector-d", rng=0
    )
    assert CriticalDifferenceDisplay(pairwise).plot(new_axes()).bars_ == []


@pytest.mark.parametrize("k", [2, 3, 7, 10, 20])
def test_names_do_not_overlap(k: int) -> None:
    result = fastad.benchmarking.nemenyi(spread(k), measure="auc", rng=0, n_resamples=1)
    axes = [
        None,
        new_axes(layout="constrained"),
        new_axes(),
        new_axes(figsize=(4, 2.5), layout="constrained"),
    ]
    for ax in axes:
        display = CriticalDifferenceDisplay(result).plot(ax)
        extents = boxes(display)
        for one, other in itertools.combinations(extents, 2):
            assert not one.overlaps(other)
        whole = display.figure_.bbox
        for box in extents:
            assert whole.x0 <= box.x0 < box.x1 <= whole.x1
            assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    pyplot.close("all")


def test_ticks_are_round_and_not_too_many() -> None:
    for k in (2, 5, 12, 20, 50):
        ax = new_axes(layout="constrained")
        result = fastad.benchmarking.nemenyi(
            results_of(np.tile(np.arange(k), (3, 1)), detectors=[str(i) for i in range(k)]),
            measure="auc",
            rng=0,
            n_resamples=1,
        )
        CriticalDifferenceDisplay(result).plot(ax)
        ticks = ax.get_xticks().tolist()
        assert (ticks[0], ticks[-1]) == (1, k)
        assert len(ticks) <= 16
        steps = np.diff(ticks[1:-1])
        assert len(set(steps.tolist())) <= 1
        assert min(np.diff(ticks)) >= max(steps, default=1) / 2
    assert len(ticks) > 5


def test_names_are_shown_as_they_are_and_lines_take_options() -> None:
    names = ["$k$-nn", "_private", "a_very_long_name_of_a_detector" * 3]
    result = fastad.benchmarking.nemenyi(spread(3, detectors=names), measure="auc", rng=0)
    for ax in (None, new_axes(), new_axes(figsize=(20, 4), layout="constrained")):
        display = CriticalDifferenceDisplay(result).plot(ax, line_kw={"color": "#123456", "lw": 3})
        draw(display)
        assert display.names_["$k$-nn"].get_text().startswith(r"\$k\$-nn (")
        assert {line.get_color() for line in display.lines_.values()} == {"#123456"}
        assert {line.get_linewidth() for line in display.lines_.values()} == {3}
        assert display.ax_.get_window_extent().width > 200
    pyplot.close("all")


def test_errors_of_the_diagram() -> None:
    with pytest.raises(TypeError, match="comparison must be a RankComparison; found RankTable"):
        CriticalDifferenceDisplay(fastad.benchmarking.average_ranks(demsar(), rng=0))  # type: ignore[arg-type]
    nemenyi = fastad.benchmarking.nemenyi(demsar(), measure="auc", rng=0)
    with pytest.raises(TypeError, match="ax must be matplotlib axes; found int"):
        CriticalDifferenceDisplay(nemenyi).plot(3)  # type: ignore[arg-type]
