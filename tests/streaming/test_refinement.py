"""Further passes: exact values to the bit, tolerances, and points that are wrong."""

import pickle
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.measures.measure import Measure
from fastad.measures.registry import MEASURES
from fastad.streaming import BoundedValue, Refinement, ScoreSketch
from tests.support.operating import options_of
from tests.support.strategies import Sample, samples

BOUNDED = [
    row
    for row in MEASURES.values()
    if row.kind in ("value", "threshold") and not isinstance(row.extremes, str)
]
LOCAL = [row for row in BOUNDED if not isinstance(row.extremes, str) and row.extremes.local]
# Room for some eight cells, and for two hundred.
TINY, SMALL = 512, 16_000
# Far more than the passes that are needed.
MOST_PASSES = 500

_RNG = np.random.default_rng(0)
Y = (_RNG.random(3000) < 0.1).astype(np.int64)
# Half of the scores are ties.
S = np.where(
    _RNG.random(3000) < 0.5, np.round(_RNG.normal(size=3000) + Y, 1), _RNG.normal(size=3000) + Y
)


def options(row: Measure[Any], s: npt.NDArray[Any]) -> dict[str, Any]:
    """Parameters of a measure, with a range that contains the scores."""
    chosen = options_of(row)
    if "score_range" in chosen:
        chosen["score_range"] = (float(s.min()) - 1, float(s.max()) + 1)
    if "k" in chosen:
        chosen["k"] = max(1, s.shape[0] // 3)
    return chosen


def sketch_of(y: Any, s: Any, memory: int | str) -> ScoreSketch:
    sketch = ScoreSketch(memory)
    sketch.update(y, s)
    return sketch


def give(refinement: Refinement, y: npt.NDArray[Any], s: npt.NDArray[Any], seed: int = 0) -> None:
    """Give all points in another order, in batches of other sizes."""
    order = np.random.default_rng(seed).permutation(len(y))
    for rows in np.array_split(order, 1 + seed % 7):
        refinement.update(y[rows], s[rows])


def passes(
    sketch: ScoreSketch, y: Any, s: Any, seed: int = 0, **request: Any
) -> Iterator[BoundedValue]:
    """Refine until nothing is left to count; yield the value after each pass."""
    refinement = sketch.refine(**request)
    for n_passes in range(MOST_PASSES):
        give(refinement, y, s, seed=seed + n_passes)
        yield refinement.result()
        refinement = refinement.refine()
        if not refinement.ranges:
            return
    raise AssertionError(f"{refinement} is not at its end after {MOST_PASSES} passes")


def defined(row: Measure[Any], y: Any, s: Any, parameters: dict[str, Any]) -> Any:
    """Value in memory, None where it is undefined."""
    try:
        return row.of(y, s, None, None, **parameters)
    except UndefinedMeasureError:
        return None


def same(value: BoundedValue, row: Measure[Any], expected: Any) -> bool:
    """Tell whether a value is exact, and has the bits of the one in memory."""
    if row.kind == "threshold":
        # Integers stay integers.
        return value.is_exact and repr(value.value) == repr(expected)
    return value.is_exact and float(value.value) == float(value.low) == float(expected)


@pytest.mark.parametrize(("n_rows", "memory"), [(200, TINY), (1500, SMALL)])
@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
def test_further_passes_give_the_bits_that_are_computed_in_memory(
    row: Measure[Any], n_rows: int, memory: int
) -> None:
    y, s = Y[:n_rows], S[:n_rows]
    parameters = options(row, s)
    expected = defined(row, y, s, parameters)
    assert expected is not None
    sketch = sketch_of(y, s, memory)
    assert sketch.resolution != "exact"
    values = list(passes(sketch, y, s, measure=row.name, **parameters))
    assert same(values[-1], row, expected)
    for value in values:
        assert value.low <= expected <= value.high


def request_of(row: Measure[Any], y: Any, s: Any) -> tuple[dict[str, Any], Any]:
    """Return parameters of a measure and its value; None where it is undefined or refused."""
    parameters = options(row, np.clip(s.astype(np.float64), -1e300, 1e300))
    try:
        return parameters, defined(row, y, s, parameters)
    except InvalidInputError:
        assert "score_range" in parameters
        return parameters, None  # scores beyond the range that a measure is given


@given(sample=samples(both=True), row=st.sampled_from(BOUNDED), seed=st.integers(0, 9))
def test_any_scores_become_exact(sample: Sample, row: Measure[Any], seed: int) -> None:
    y, s = np.asarray(sample.y), sample.s
    parameters, expected = request_of(row, y, s)
    if expected is None:
        return
    sketch = sketch_of(y, s, TINY)
    *_, value = passes(sketch, y, s, seed=seed, measure=row.name, **parameters)
    assert same(value, row, expected)


@pytest.mark.slow
def test_a_precision_may_hang_on_the_order_of_the_two_highest_scores() -> None:
    """They share a cell; where the normal is the first, nothing is flagged."""
    s = np.append(S[:400], [100.0, np.nextafter(100.0, 0)])
    name = "precision@fpr0.0001"
    y = np.append(Y[:400], [1, 0])
    *_, value = passes(sketch_of(y, s, TINY), y, s, measure=name)
    assert value == BoundedValue(1.0, 1.0, 1.0)
    y = np.append(Y[:400], [0, 1])
    with pytest.raises(UndefinedMeasureError, match="nothing is flagged"):
        list(passes(sketch_of(y, s, TINY), y, s, measure=name))


@pytest.mark.parametrize("tolerance", [0.1, 0.01, Fraction(1, 1000), 1e-6])
@pytest.mark.parametrize("name", ["auc", "ap", "auc_w", "auc@0.05", "tpr@0.01", "f1_best"])
def test_a_tolerance_is_reached(name: str, tolerance: Any) -> None:
    sketch = sketch_of(Y, S, SMALL)
    *_, value = passes(sketch, Y, S, measure=name, tolerance=tolerance)
    assert value.error <= Fraction(tolerance)
    exact = sketch_of(Y, S, 10_000_000).evaluate([name])[name].value
    assert abs(value.value - exact) <= Fraction(tolerance)


@given(
    sample=samples(both=True, max_size=30),
    row=st.sampled_from([row for row in BOUNDED if row.kind == "value"]),
    tolerance=st.sampled_from([0.3, 0.1, 0.01, 1e-6]),
    seed=st.integers(0, 9),
)
def test_any_scores_reach_a_tolerance(
    sample: Sample, row: Measure[Any], tolerance: float, seed: int
) -> None:
    y, s = np.asarray(sample.y), sample.s
    parameters, expected = request_of(row, y, s)
    if expected is None:
        return
    request = {"measure": row.name, "tolerance": tolerance, **parameters}
    *_, value = passes(sketch_of(y, s, TINY), y, s, seed=seed, **request)
    assert value.low <= expected <= value.high
    assert max(value.error, abs(value.value - expected)) <= tolerance


def test_a_wider_tolerance_asks_for_fewer_points_and_one_that_is_met_for_none() -> None:
    sketch = sketch_of(Y, S, SMALL)
    bounds = sketch.evaluate("auc")["auc"]
    numbers = [
        sketch.refine(measure="auc", tolerance=bounds.error * part).n_points
        for part in (0.25, 0.5, 0.75, 1.01)
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] > 0 == numbers[-1]
    assert sketch.refine(measure="auc", tolerance=1).result() == bounds


@pytest.mark.parametrize("row", LOCAL, ids=lambda row: row.name)
def test_a_point_of_the_curve_depends_on_few_points(row: Measure[Any]) -> None:
    rng = np.random.default_rng(5)
    y = rng.random(20_000) < 0.1
    s = rng.normal(size=20_000) + 2 * y
    refinement = sketch_of(y, s, "40kB").refine(measure=row.name, **options(row, s))
    assert refinement.n_points < 0.1 * len(y)
    give(refinement, y, s)
    assert refinement.n_counted == refinement.n_points


def test_an_infinite_threshold_is_infinitely_far_from_others() -> None:
    value = BoundedValue(np.inf, 2.0, np.inf)
    assert value.error == np.inf
    assert not value.is_exact
    assert value.to_dict() == {"value": "inf", "low": 2.0, "high": "inf"}
    assert BoundedValue(np.inf, np.inf, np.inf).error == 0
    assert np.isnan(BoundedValue(np.nan, 0.0, 1.0).error)


def test_ranges_are_those_of_the_points_that_count() -> None:
    refinement = sketch_of(Y, S, SMALL).refine(measure="tpr@0.01")
    inside = np.zeros(len(S), np.bool_)
    for low, high in refinement.ranges:
        inside |= (low <= S) & (high >= S)
    assert [*refinement.ranges] == sorted(refinement.ranges, reverse=True)
    assert inside.sum() == refinement.n_points > 0
    refinement.update(Y[inside], S[inside])
    assert same(
        refinement.result(),
        MEASURES["tpr_at_fpr"],
        MEASURES["tpr_at_fpr"].of(Y, S, None, None, fpr=0.01),
    )


@pytest.mark.parametrize("change", ["missing", "twice", "label", "score", "none"])
@pytest.mark.parametrize("name", ["auc", "tpr@0.01", "ap"])
def test_other_points_than_those_of_the_sketch_are_refused(name: str, change: str) -> None:
    refinement = sketch_of(Y, S, SMALL).refine(measure=name)
    low, high = refinement.ranges[0]
    one = int(np.flatnonzero((low <= S) & (high >= S))[0])
    y, s = Y.copy(), S.copy()
    if change == "missing":
        y, s = np.delete(y, one), np.delete(s, one)
    elif change == "twice":
        y, s = np.append(y, y[one]), np.append(s, s[one])
    elif change == "label":
        y[one] = 1 - y[one]
    elif change == "score":
        s[one] = 1e6
    else:
        y, s = y[:0], s[:0]
    give(refinement, y, s)
    with pytest.raises(
        InvalidInputError, match="update must have been given the points of the"
    ) as error:
        refinement.result()
    assert error.value.argument == "y_score"


def test_integer_weights_count_a_row_as_often_in_each_pass() -> None:
    weights = np.random.default_rng(3).integers(0, 4, len(Y))
    sketch = ScoreSketch(SMALL)
    sketch.update(Y, S, sample_weight=weights)
    refinement = sketch.refine(measure="tpr@0.01")
    refinement.update(Y, S, sample_weight=weights)
    repeated = MEASURES["tpr_at_fpr"].of(
        np.repeat(Y, weights), np.repeat(S, weights), None, None, fpr=0.01
    )
    assert same(refinement.result(), MEASURES["tpr_at_fpr"], repeated)


@pytest.mark.parametrize("name", ["auc", "tpr@0.01", "threshold_at_fpr"])
def test_workers_count_parts_and_merge_them_in_any_order(name: str) -> None:
    parameters = {"fpr": 0.01} if name == "threshold_at_fpr" else {}
    sketch = sketch_of(Y, S, SMALL)
    whole = sketch.refine(measure=name, **parameters)
    give(whole, Y, S)
    sent = pickle.dumps(sketch.refine(measure=name, **parameters))
    workers = [pickle.loads(sent) for _ in range(5)]
    for worker, rows in zip(
        workers, np.array_split(np.random.default_rng(1).permutation(len(Y)), 5), strict=True
    ):
        worker.update(Y[rows], S[rows])
    last, *others = [pickle.loads(pickle.dumps(worker)) for worker in workers[::-1]]
    for other in others:
        last.merge(other)
    assert last.n_counted == whole.n_points
    assert last.result() == whole.result()
    assert last.refine().ranges == whole.refine().ranges


def test_only_the_same_refinement_is_merged() -> None:
    sketch = sketch_of(Y, S, SMALL)
    refinement = sketch.refine(measure="tpr@0.01")
    others = [
        sketch.refine(measure="tpr@0.05"),
        sketch.refine(measure="auc"),
        sketch_of(Y[:2000], S[:2000], SMALL).refine(measure="tpr@0.01"),
    ]
    for other in others:
        with pytest.raises(InvalidInputError, match="must be a refinement of the same sketch and"):
            refinement.merge(other)
    wrong: Any = sketch
    with pytest.raises(InvalidTypeError, match="other must be a Refinement; found ScoreSketch"):
        refinement.merge(wrong)


def test_what_cannot_be_refined_is_refused() -> None:
    sketch = sketch_of(Y, S, SMALL)
    with pytest.raises(InvalidInputError, match="tolerance must not be negative; found -1"):
        sketch.refine(measure="auc", tolerance=-1)
    unproven = [
        row for row in MEASURES.values() if isinstance(row.extremes, str) and row.kind == "value"
    ]
    for row in unproven:
        with pytest.raises(InvalidInputError, match="whose bounds are known; found"):
            sketch.refine(measure=row.name, **options(row, S))
    refinement = sketch.refine(measure="auc")
    with pytest.raises(
        InvalidInputError, match="y_score must contain float64 as before; found float32"
    ):
        refinement.update(Y, S.astype(np.float32))
    missing: Any = None
    with pytest.raises(InvalidInputError, match="y_true must be given; found None"):
        refinement.update(missing, S)
    assert refinement.n_counted == 0
    with pytest.raises(UndefinedMeasureError):
        ScoreSketch().refine(measure="auc")
