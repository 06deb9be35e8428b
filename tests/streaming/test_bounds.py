"""Bounds of measures on cells: no order of the points leads beyond, and some order attains them."""

from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad import streaming
from fastad._core.declared import Choice
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import AREA, POINT, Measure
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.ordering.raw import KeyCodec
from fastad.streaming import BoundedValue, ScoreSketch
from fastad.streaming.large_files import exact as exact_passes
from fastad.streaming.sketches.bounded_methods import bind_any
from fastad.streaming.sketches.bounds import bounds_of
from fastad.streaming.sketches.cells import ScoreCells
from tests.support.operating import options_of
from tests.support.score_files import check_bounds, save
from tests.support.strategies import Sample, samples

BOUNDED = [
    row
    for row in {**MEASURES, **RATES}.values()
    if row.kind in ("value", "threshold") and not isinstance(row.extremes, str)
]
ATTAINED = [
    row
    for row in BOUNDED
    if row.extremes in (AREA, POINT)
    or row in RATES.values()
    or row.name in ("average_precision", "f1_at_fpr", "precision_at_fpr", "weighted_auc")
    or row.name in ("log_auc", "bedroc", "robust_initial_enhancement", "detection_cost")
]
# Room for some eight cells.
TINY = 512


def parameters(row: Measure[Any], s: Any, rate: float = 0.3) -> dict[str, Any]:
    """Parameters with an operating point that often lies within a cell."""
    chosen = options_of(row)
    if row.operating_point in ("fpr", "tpr", "rate"):
        chosen[row.operating_point] = rate
    if "score_range" in chosen:
        chosen["score_range"] = (float(s.min()) - 1, float(s.max()) + 1)
    if "k" in chosen:
        chosen["k"] = max(1, len(s) // 2)
    if "threshold" in chosen:
        chosen["threshold"] = s[len(s) // 2].item()
    return chosen


def variants(row: Measure[Any], rate: float) -> st.SearchStrategy[dict[str, Any]]:
    """Draw options beside the operating point; some are left at their default."""
    drawn: dict[str, st.SearchStrategy[Any]] = {}
    for name, parameter in row.parameters.items():
        if isinstance(parameter, Choice):
            drawn[name] = st.sampled_from(parameter.choices)
        elif name in _VARIED and not (name == "min_fpr" and rate == 0):
            drawn[name] = st.sampled_from(_VARIED[name])
    return st.fixed_dictionaries({}, optional=drawn)


# Ends of ranges that leave some of them, at every rate that is not 0.
_VARIED = {
    "prevalence": [0.002, 0.4, 0.97],
    "min_fpr": [0.005],
    "max_tpr": [0.995, 1],
    "subsample": [0.3, 0.9],
    "coverage": [0.5, 0.99],
}


def exact(row: Measure[Any], y: Any, s: Any, chosen: dict[str, Any]) -> Any:
    return row.of(y, s, None, None, **chosen)


@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
@settings(max_examples=8)
@given(
    sample=samples(max_size=40, both=True, weights="integer"),
    rate=st.sampled_from([0, 0.01, 0.29, 0.5, 1]),
    memory=st.sampled_from([TINY, 100_000]),
    data=st.data(),
)
def test_exact_value_lies_within(
    row: Measure[Any], sample: Sample, rate: float, memory: int, data: st.DataObject
) -> None:
    y, s, w = sample.y, sample.s, sample.w
    assert w is not None
    if row.reads_values and row not in RATES.values():
        # These take finite scores, and the range around them is given in floats.
        s = np.clip(s.astype(np.float64), -1e4, 1e4)
    repeats = np.asarray(w).astype(np.int64)
    many_y, many_s = np.repeat(y, repeats), np.repeat(s, repeats)
    chosen = parameters(row, many_s, rate) | data.draw(variants(row, rate))
    sketch = ScoreSketch(memory)
    sketch.update(y, s, sample_weight=w)
    try:
        value = exact(row, many_y, many_s, chosen)
    except UndefinedMeasureError:
        if sketch.resolution == "exact":
            with pytest.raises(UndefinedMeasureError):
                sketch.bounds(bind_any(row, chosen))
        return
    bounds = sketch.bounds(bind_any(row, chosen))
    assert bounds.low <= value <= bounds.high
    assert np.isnan(bounds.value) or bounds.low <= bounds.value <= bounds.high
    if sketch.resolution == "exact":
        assert bounds.low == bounds.value == bounds.high == value


def cells_of(normals: list[int], anomalies: list[int]) -> ScoreCells:
    """Cells that have as many scores as points: the first begins at 0, the second at 10."""
    sizes = [n + a for n, a in zip(normals, anomalies, strict=True)]
    lows = [10 * i for i in range(len(sizes))]
    highs = [low + size - 1 for low, size in zip(lows, sizes, strict=True)]

    def ranks(scores: list[int]) -> Any:
        ends = ScoreSketch(100_000)
        ends.update(np.zeros(len(scores), np.int64), np.array(scores, np.int64))
        return ends.score_cells().lowest

    return ScoreCells(
        ranks(lows),
        ranks(highs),
        np.array(normals[::-1], np.int64),
        np.array(anomalies[::-1], np.int64),
        KeyCodec(np.dtype(np.int64), 0),
    )


def all_orders(normals: list[int], anomalies: list[int]) -> Any:
    """Labels, and every way to give the points of each cell its scores: all weak orders.

    Points of one class and one cell are not told apart.
    """
    counts = list(zip(normals, anomalies, strict=True))
    y = [k for n, a in counts for k in [0] * n + [1] * a]
    ways = [
        combinations_with_replacement(range(10 * i, 10 * i + n + a), size)
        for i, (n, a) in enumerate(counts)
        for size in (n, a)
    ]
    return np.array(y), [np.concatenate(s).astype(np.int64) for s in product(*ways)]


small_cells = st.lists(
    st.sampled_from([(1, 1), (2, 1), (1, 2), (0, 1), (1, 0), (2, 0), (0, 2)]),
    min_size=1,
    max_size=3,
).filter(lambda cells: all(map(any, zip(*cells, strict=True))))


@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
@settings(max_examples=5)
@given(counts=small_cells, rate=st.sampled_from([0, 0.3, 0.5, 1]), data=st.data())
def test_bounds_hold_for_all_orders_and_are_attained(
    row: Measure[Any], counts: Any, rate: float, data: st.DataObject
) -> None:
    normals, anomalies = (list(each) for each in zip(*counts, strict=True))
    y, orders = all_orders(normals, anomalies)
    ends = np.array([0, 10 * len(counts)])
    chosen = parameters(row, ends, rate) | data.draw(variants(row, rate))
    chosen |= {"k": max(1, len(y) // 2)} if "k" in chosen else {}
    chosen |= {"threshold": 11} if "threshold" in chosen else {}
    values, undefined = [], 0
    for s in orders:
        try:
            values.append(exact(row, y, s, chosen))
        except UndefinedMeasureError:
            undefined += 1
    if not values:
        with pytest.raises(UndefinedMeasureError):
            bounds_of(cells_of(normals, anomalies), bind_any(row, chosen))
        return
    bounds = bounds_of(cells_of(normals, anomalies), bind_any(row, chosen))
    assert bounds.low <= min(values)
    assert max(values) <= bounds.high
    if row in ATTAINED and not undefined:
        assert bounds.low == pytest.approx(min(values), abs=1e-12)
        assert bounds.high == pytest.approx(max(values), abs=1e-12)


def test_average_precision_is_lowest_below_the_worst_curve() -> None:
    # Two normals above two anomalies: (1/3 + 2/4) / 2 = 5/12 one by one, 2/4 where these are tied.
    y, orders = all_orders([2], [2])
    values = [exact(MEASURES["average_precision"], y, s, {}) for s in orders]
    bounds = bounds_of(cells_of([2], [2]), MEASURES["average_precision"].bind())
    assert min(values) == pytest.approx(5 / 12, abs=1e-15)
    assert bounds.low == pytest.approx(min(values), abs=1e-12)
    assert bounds.high == pytest.approx(max(values), abs=1e-12)


def test_doubtful_scores_are_noted() -> None:
    y, s = np.arange(100) % 10 == 0, np.arange(100.0)
    for scores, note in (
        (np.full(100, np.inf), "all scores are equal and order nothing"),
        (np.where(y, 0.0, 1.0), "scores have two values and look like decisions"),
        (np.where(y, s - 200, s), "the AUC is far below 0.5: "),
    ):
        sketch = ScoreSketch("1MB")
        sketch.update(y, scores)
        assert any(line.startswith(note) for line in sketch.evaluate(["auc", "ap"]).notes)
    sketch = ScoreSketch("1MB")
    sketch.update(y, np.where(y, s + 50, s))
    assert not sketch.evaluate(["auc"]).notes


@pytest.mark.parametrize("unit", [0.001, 1000.5])
def test_doubts_do_not_depend_on_the_unit_of_real_weights(unit: float) -> None:
    """Of three bins three points of each class are certain, which may lie so by chance."""
    counts = unit * np.array([[1, 1, 8], [8, 2, 1]])
    assert not ScoreSketch.from_counts([0, 0.5, 1, 1.5], *counts).evaluate(["auc"]).notes
    bins = np.arange(101)
    counts = unit * np.array([bins[1:], bins[:0:-1]])
    (note,) = ScoreSketch.from_counts(bins, *counts).evaluate(["auc"]).notes
    assert note.startswith("the AUC is far below 0.5: ")


@pytest.mark.parametrize("source", ["sketch", "file"])
def test_missing_intervals_and_too_few_samples_are_noted(tmp_path: Path, source: str) -> None:
    y = np.repeat([0, 1], [60, 1])
    s = np.random.default_rng(0).normal(size=61) + 2 * y
    options: dict[str, Any] = {"measures": ["f1_best", "tpr@0.01"], "confidence_level": 0.95}
    expected = fastad.evaluate(y, s, **options)["score"]
    reasons = [expected.unresolved["tpr@0.01"], f"f1_best: {expected.interval_errors['f1_best']}"]
    if source == "sketch":
        sketch = ScoreSketch("1MB")
        sketch.update(y, s)
        table = sketch.evaluate(**options)
    else:
        path = save(tmp_path / "scores.parquet", {"y": y, "score": s})
        table = streaming.evaluate(path, score_columns="score", **options)["score"]
    assert set(table.notes) == set(reasons)
    assert list(table.intervals) == ["tpr@0.01"]
    assert all(reason in str(table) for reason in reasons)


# Scores of which the highest is a tie of more normals than one in a hundred.
TIED_RNG = np.random.default_rng(1)
TIED_Y = (TIED_RNG.random(5000) < 0.1).astype(np.int64)
TIED_S = np.where(TIED_RNG.random(5000) < 0.1, 5.0, np.minimum(TIED_RNG.normal(size=5000), 4))
NOTHING_IS_FLAGGED = BoundedValue(np.inf, np.inf, np.inf)


def test_a_tie_of_too_many_normals_at_the_top_leaves_no_doubt_of_the_threshold() -> None:
    sketch = ScoreSketch(4000)
    sketch.update(TIED_Y, TIED_S)
    assert sketch.resolution != "exact"
    assert sketch.threshold_at_fpr(fpr=0.01) == NOTHING_IS_FLAGGED
    counts = [90, 10], [2, 8]
    one_value = ScoreSketch.from_counts([(0, 1), (2, 2)], *counts, closed="both")
    assert one_value.threshold_at_fpr(fpr=0.01) == NOTHING_IS_FLAGGED
    # A threshold of 3 may flag nothing but anomalies.
    several = ScoreSketch.from_counts([(0, 1), (2, 3)], *counts, closed="both")
    assert several.threshold_at_fpr(fpr=0.01) == BoundedValue(np.inf, 2, np.inf)


def test_a_file_with_a_tie_of_too_many_normals_at_the_top_is_read_twice_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[object] = []
    begin = exact_passes.ScorePasses.next_pass

    def counted(self: exact_passes.ScorePasses, folder: Path | None) -> Any:
        passes.append(self)
        return begin(self, folder)

    monkeypatch.setattr(exact_passes.ScorePasses, "next_pass", counted)
    path = save(tmp_path / "scores.parquet", {"y": TIED_Y, "score": TIED_S})
    result = streaming.evaluate(
        path, score_columns="score", measures=["tpr@0.01", "auc"], exact=True, memory=8000
    )
    table = result["score"]
    assert table["threshold@0.01"] == NOTHING_IS_FLAGGED
    assert check_bounds(table, TIED_Y, TIED_S) == {"tpr@0.01", "auc", "threshold@0.01"}
    assert list(table.notes) == list(result.notes) == []
    assert len(passes) <= 2
