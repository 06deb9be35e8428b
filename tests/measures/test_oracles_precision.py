"""Measures of precision and recall against their definitions."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from tests.support import oracles
from tests.support.agreement import assert_measure
from tests.support.strategies import Sample, samples

WEIGHTS = pytest.mark.parametrize("weights", ["none", "integer"])


@WEIGHTS
@given(data=st.data())
def test_average_precision(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    assert_measure("average_precision", sample, oracles.average_precision, relative=1e-15)


@WEIGHTS
@given(data=st.data())
def test_precision_recall_curve_holds_every_point(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    expected = oracles.attempt(lambda: oracles.precision_recall(sample.rows))
    if expected is None:
        with pytest.raises(fastad.UndefinedMeasureError):
            fastad.precision_recall_curve(sample.y, sample.s, sample_weight=sample.w)
        return
    curve = fastad.precision_recall_curve(sample.y, sample.s, sample_weight=sample.w)
    assert curve.precision.tolist() == [float(p) for p, _, _ in expected]
    assert curve.recall.tolist() == [float(r) for _, r, _ in expected]
    assert curve.thresholds.tolist() == [t for _, _, t in expected]


@WEIGHTS
@given(data=st.data())
def test_precision_at_k_and_recall_at_k(weights: str, data: st.DataObject) -> None:
    sample = data.draw(samples(weights=weights))
    size = int(sum(oracles.totals(sample.rows)))
    k = data.draw(st.one_of(st.none(), st.integers(1, size + 1)))
    assert_measure("precision_at_k", sample, lambda rows: oracles.precision_at_k(rows, k), k=k)
    assert_measure("recall_at_k", sample, lambda rows: oracles.recall_at_k(rows, k), k=k)


@given(sample=samples(weights="real"))
def test_precision_at_n_under_real_weights(sample: Sample) -> None:
    # The cut is a difference of sums of weights between 0.001 and 1000.
    to_1e_13: Any = {"relative": 1e-13, "absolute": 1e-13}
    assert_measure(
        "precision_at_k", sample, lambda rows: oracles.precision_at_k(rows, None), **to_1e_13
    )


@pytest.mark.parametrize("weights", [(0.7, 0.3), (0.9, 0.1), (0.1, 0.9), (0.6, 0.4), (1.9, 0.1)])
def test_all_points_under_real_weights_whose_sum_is_rounded(weights: tuple[float, float]) -> None:
    # The floats 0.7 and 0.3 add up to a little less than 1, their rounded sum is 1.
    k = round(sum(weights))
    arguments: Any = ([1, 0], [2, 1])
    result = fastad.precision_at_k(*arguments, k=k, sample_weight=weights)
    assert result == pytest.approx(weights[0] / k, rel=1e-14)
    result = fastad.recall_at_k(*arguments, k=k, sample_weight=weights)
    assert result == pytest.approx(1, rel=1e-14)
    counts = fastad.confusion_at(*arguments, k=k, sample_weight=weights)
    assert (counts.tp, counts.fp) == pytest.approx(weights, rel=1e-14)
    assert (counts.tn, counts.fn) == pytest.approx((0, 0), abs=1e-15)
    assert min(counts.tn, counts.fn) >= 0
    assert 0 <= counts.fpr <= 1
    assert np.isnan(counts.mcc) or -1 <= counts.mcc <= 1


FRACTIONS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0, 1, 0.05, 0.1, 0.2, 0.25, 0.3, 0.5, 0.6, 0.75]),
    st.fractions(0, 1, max_denominator=12),
)


@WEIGHTS
@settings(max_examples=60)
@given(data=st.data(), p=FRACTIONS)
def test_precision_at_p_is_the_mean_over_all_subsamples(
    weights: str, data: st.DataObject, p: Any
) -> None:
    sample = data.draw(samples(weights=weights, max_size=9 if weights == "none" else 5))
    exact = oracles.written(p)
    assert_measure(
        "precision_at_p",
        sample,
        lambda rows: oracles.precision_at_p(rows, exact),
        relative=1e-14,
        p=p,
    )


@given(sample=samples(max_size=9), p=FRACTIONS)
def test_three_definitions_of_precision_at_p_agree(sample: Sample, p: Any) -> None:
    rows, fraction = sample.rows, oracles.written(p)
    expected = oracles.attempt(lambda: oracles.precision_at_p(rows, fraction))
    assert oracles.attempt(lambda: oracles.precision_at_p_groups(rows, fraction)) == expected
    # The distribution in MEASURES.md is that without ties: every row gets a score of its own.
    untied: oracles.Rows = [(y, i, w) for i, (y, _, w) in enumerate(rows)]
    assert oracles.attempt(
        lambda: oracles.precision_at_p_untied(untied, fraction)
    ) == oracles.attempt(lambda: oracles.precision_at_p(untied, fraction))


def test_sampled_precision_at_p_scatters_around_the_exact_value() -> None:
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], [60, 40])
    s = np.round(rng.normal(size=100) + y, 1)
    exact = float(oracles.precision_at_p_groups(oracles.rows(y, s), Fraction(1, 10)))
    means = [fastad.precision_at_p(y, s, p=0.1, n_repeats=10, rng=seed) for seed in range(200)]
    # Precision over 6 points has a variance of at most 1/4, so the mean of 2000 draws has a
    # standard deviation of at most 0.0112; five of these.
    assert np.mean(means) == pytest.approx(exact, abs=0.056)
    assert len(set(means)) > 10
    assert means[3] == fastad.precision_at_p(y, s, p=0.1, n_repeats=10, rng=3)
    generator = np.random.default_rng(3)
    assert means[3] == fastad.precision_at_p(y, s, p=0.1, n_repeats=10, rng=generator)


def test_sampling_all_anomalies_gives_the_exact_value() -> None:
    # floor(4 · ½ / ½) = 4 of 4 anomalies are drawn: every draw is the whole sample.
    y, s = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 3, 4, 3.5, 5, 0, 4]
    expected = oracles.precision_at_k(oracles.rows(y, s), 4)
    assert fastad.precision_at_p(y, s, p=0.5, n_repeats=3, rng=1) == float(expected)
    assert fastad.precision_at_p(y, s, p=0.5) == float(expected)
