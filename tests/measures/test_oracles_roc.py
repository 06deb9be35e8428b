"""Curves, areas and rates against their definitions: exact where counts are whole."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.counts import count
from tests.support import oracles, strategies
from tests.support.agreement import assert_measure
from tests.support.oracles import written
from tests.support.strategies import Sample, rates_of, samples

INTERPOLATIONS = st.sampled_from(["linear", "conservative"])
NORMALIZATIONS = st.sampled_from(["width", "none", "mcclish"])
WEIGHTS = pytest.mark.parametrize("weights", ["none", "integer"])


@WEIGHTS
@given(data=st.data())
def test_auc_is_the_fraction_of_ordered_pairs(weights: str, data: st.DataObject) -> None:
    assert_measure("roc_auc", data.draw(samples(weights=weights)), oracles.roc_auc)


@given(sample=samples(weights="real"))
def test_areas_under_real_weights_to_1e_14(sample: Sample) -> None:
    # The weight of a step is a difference of sums, exact to a unit in the last place of the
    # total: an area that is a small fraction of 1 has this absolute, not relative, error.
    for name in ("roc_auc", "weighted_auc", "average_precision"):
        assert_measure(name, sample, getattr(oracles, name), relative=1e-14, absolute=1e-14)


@WEIGHTS
@given(data=st.data())
def test_roc_curve_holds_every_point(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    expected = oracles.attempt(lambda: oracles.rates(sample.rows))
    if expected is None:
        with pytest.raises(fastad.UndefinedMeasureError):
            fastad.roc_curve(sample.y, sample.s, sample_weight=sample.w)
        return
    curve = fastad.roc_curve(sample.y, sample.s, sample_weight=sample.w)
    assert curve.fpr.tolist() == [float(x) for x, _ in expected]
    assert curve.tpr.tolist() == [float(y) for _, y in expected]
    # The scores themselves, exact for integers of any size.
    assert curve.thresholds.tolist() == [t for _, _, t in oracles.points(sample.rows)]


@given(sample=samples(both=True))
def test_dropping_collinear_points_keeps_corners_and_area(sample: Sample) -> None:
    full = oracles.rates(sample.rows)
    corners = [full[0]]
    for before, here, after in zip(full, full[1:], full[2:], strict=False):
        turn = (here[0] - before[0]) * (after[1] - here[1]) - (here[1] - before[1]) * (
            after[0] - here[0]
        )
        if turn:
            corners.append(here)
    corners.append(full[-1])
    curve = fastad.roc_curve(sample.y, sample.s, drop_collinear=True)
    result = list(zip(curve.fpr.tolist(), curve.tpr.tolist(), strict=True))
    assert result == [(float(x), float(y)) for x, y in corners]


@WEIGHTS
@given(data=st.data(), how=INTERPOLATIONS)
def test_rates_at_a_rate(weights: str, data: st.DataObject, how: Any) -> None:
    sample = data.draw(samples(weights=weights))
    fpr = data.draw(rates_of(sample.n_normals))
    tpr = data.draw(rates_of(len(sample.y) - sample.n_normals))
    assert_measure(
        "tpr_at_fpr",
        sample,
        lambda rows: oracles.tpr_at_fpr(rows, written(fpr), how),
        fpr=fpr,
        interpolation=how,
    )
    assert_measure(
        "fpr_at_tpr",
        sample,
        lambda rows: oracles.fpr_at_tpr(rows, written(tpr), how),
        tpr=tpr,
        interpolation=how,
    )


@WEIGHTS
@given(data=st.data(), normalize=NORMALIZATIONS)
def test_partial_areas(weights: str, data: st.DataObject, normalize: Any) -> None:
    sample = data.draw(samples(weights=weights))
    ends = [data.draw(rates_of(sample.n_normals)) for _ in range(2)]
    low, high = sorted(ends, key=written)
    assert_measure(
        "auc_at_fpr",
        sample,
        lambda rows: oracles.auc_at_fpr(rows, written(high), written(low), normalize),
        fpr=high,
        min_fpr=low,
        normalize=normalize,
    )
    ends = [data.draw(rates_of(len(sample.y) - sample.n_normals)) for _ in range(2)]
    least, most = sorted(ends, key=written)
    assert_measure(
        "auc_at_tpr",
        sample,
        lambda rows: oracles.auc_at_tpr(rows, written(least), written(most), normalize),
        min_tpr=least,
        max_tpr=most,
        normalize=normalize,
    )


@settings(max_examples=30)
@given(
    sample=samples(weights="real"), k=st.integers(1, 996), how=st.sampled_from(["width", "none"])
)
def test_partial_areas_and_rates_under_real_weights(sample: Sample, k: int, how: Any) -> None:
    # At a point of the curve a sum of floats may fall to either side: the curve is continuous
    # there unless it is vertical, and this rate is no fraction of sums of the drawn weights.
    alpha = Fraction(k, 997)
    to_1e_13 = {"relative": 1e-13, "absolute": 1e-13}
    assert_measure(
        "auc_at_fpr",
        sample,
        lambda rows: oracles.auc_at_fpr(rows, alpha, Fraction(0), how),
        **to_1e_13,
        fpr=alpha,
        normalize=how,
    )
    assert_measure(
        "auc_at_tpr",
        sample,
        lambda rows: oracles.auc_at_tpr(rows, alpha, Fraction(1), how),
        **to_1e_13,
        min_tpr=alpha,
        normalize=how,
    )
    assert_measure(
        "tpr_at_fpr",
        sample,
        lambda rows: oracles.tpr_at_fpr(rows, alpha, "linear"),
        **to_1e_13,
        fpr=alpha,
    )


def test_a_perfect_order_has_no_more_than_1_under_real_weights() -> None:
    """Sums of weights are rounded; areas stay in their ranges."""
    rng = np.random.default_rng(0)
    measures = [bind(key, {}) for key in ("auc", "auc@1", "auc@tpr0", "ap", "auc_pr")]
    for _ in range(300):
        s = np.append(rng.integers(0, 10, 11), [0, 9])
        counts = count(s > 5, s, sample_weight=rng.uniform(0.1, 3, 13))
        for bound in measures:
            assert 1 - 1e-14 <= bound.value(counts) <= 1, bound.key


@pytest.mark.parametrize("name", ["auc_at_fpr", "auc_at_tpr"])
def test_the_range_of_an_area_that_is_not_normalised_is_its_exact_width(name: str) -> None:
    ends = ("min_fpr", "fpr") if name == "auc_at_fpr" else ("min_tpr", "max_tpr")
    bound = MEASURES[name].bind(**dict(zip(ends, (0.1, 0.3), strict=True)), normalize="none")
    # As floats, 0.3 - 0.1 is less than 0.2.
    assert bound.bounds == (0, bound.value(count([0, 0, 1, 1], [1, 2, 3, 4]))) == (0, 0.2)


@WEIGHTS
@given(data=st.data())
def test_weighted_auc_by_the_right_end(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    assert_measure("weighted_auc", sample, oracles.weighted_auc, relative=1e-15)


@given(sample=samples(max_size=25))
def test_weighted_auc_in_closed_form(sample: Sample) -> None:
    exact = oracles.weighted_auc_exact
    assert_measure("weighted_auc", sample, exact, relative=1e-14, quadrature="exact")


@given(size=st.integers(1, 12), data=st.data())
def test_layout_in_memory_changes_nothing(size: int, data: st.DataObject) -> None:
    scores = data.draw(strategies.score_vectors(size))
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    labels = np.concatenate([labels, 1 - labels])
    scores = np.concatenate([scores, scores])
    expected = fastad.roc_auc(labels, scores)
    for layout in strategies.LAYOUTS:
        moved = strategies.in_layout(scores, layout)
        assert fastad.roc_auc(strategies.in_layout(labels, layout), moved) == expected
