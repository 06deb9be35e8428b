"""Intervals over data sets: they contain their estimate, whatever is drawn, and cover the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import concordance_coverage as simulated
from fastad.benchmarking.concordance_interval import concordance_interval
from fastad.benchmarking.resampling import check_resampling

values_of_problems = st.integers(2, 8).flatmap(
    lambda n: st.tuples(
        st.lists(
            st.one_of(st.sampled_from([0.1, 0.2, 0.3, math.nan]), st.floats(-1e9, 1e9)),
            min_size=n,
            max_size=n,
        ),
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
    )
)


@given(values_of_problems, st.integers(1, 40), st.integers(0, 5))
def test_intervals_of_means_contain_the_mean(
    drawn: tuple[list[float], list[int]], n_resamples: int, seed: int
) -> None:
    values, names = drawn
    clusters = np.unique(names, return_inverse=True)[1].astype(np.int64)
    means = check_resampling(clusters, 0.95, n_resamples, seed).means(np.array(values)[:, None])
    if math.isnan(means.low[0]):
        assert math.isnan(means.high[0])
    else:
        assert means.low[0] <= means.value[0] <= means.high[0]


def deviations_of(orders: list[list[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return simulated.deviations(np.array(orders, float))


def w_of(deviations: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> float:
    total = deviations.sum(axis=0)
    return float(np.sum(total**2) / (len(deviations) * np.sum(deviations**2)))


problems = st.integers(2, 5).flatmap(
    lambda k: st.lists(
        st.tuples(st.lists(st.integers(0, 3), min_size=k, max_size=k), st.integers(0, 4)),
        min_size=1,
        max_size=12,
    )
)


@given(problems, st.floats(0.5, 0.999))
def test_intervals_of_the_concordance_contain_w(
    drawn: list[tuple[list[int], int]], level: float
) -> None:
    deviations = deviations_of([values for values, _ in drawn])
    clusters = np.array([cluster for _, cluster in drawn])
    if not deviations.any():
        return
    low, high = concordance_interval(deviations, clusters, level)
    if len(set(clusters.tolist())) < 3:
        assert math.isnan(low)
        assert math.isnan(high)
        return
    assert 0 <= low <= w_of(deviations) <= high <= 1
    # Names of data sets and the order of problems change nothing but rounding.
    other = concordance_interval(deviations[::-1], 7 - clusters[::-1], level)
    assert other == pytest.approx((low, high), abs=1e-9)
    wider = concordance_interval(deviations, clusters, (1 + level) / 2)
    assert wider[0] <= low + 1e-9
    assert high <= wider[1] + 1e-9


def test_problems_of_one_data_set_count_as_one() -> None:
    rng = np.random.default_rng(2)
    deviations = simulated.deviations(simulated.gaussian(rng, (8, 5), 0.8))
    alone = concordance_interval(deviations, np.arange(8), 0.95)
    thrice = concordance_interval(np.tile(deviations, (3, 1)), np.tile(np.arange(8), 3), 0.95)
    assert thrice == pytest.approx(alone, abs=1e-9)
    # Taken for different data sets they say more.
    apart = concordance_interval(np.tile(deviations, (3, 1)), np.arange(24), 0.95)
    assert apart[1] - apart[0] < 0.8 * (alone[1] - alone[0])


def test_the_interval_narrows_with_data_sets() -> None:
    rng = np.random.default_rng(3)
    widths = []
    for n in (8, 80, 800):
        deviations = simulated.deviations(simulated.gaussian(rng, (n, 6), 1.0))
        low, high = concordance_interval(deviations, np.arange(n), 0.95)
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1]
    assert widths[1] > 2.5 * widths[2]  # as their root, 3.2


@pytest.mark.evidence
@pytest.mark.parametrize("model", simulated.MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("target", [0.0, 0.6])
def test_the_interval_of_the_concordance_covers_the_true_value(
    model: simulated.Model, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "N_SAMPLES", 200)
    # A true value to a hundredth, where intervals are tenths wide.
    monkeypatch.setattr(simulated, "N_TRUE", 5_000)
    monkeypatch.setattr(simulated, "N_STEPS", 12)
    for n_detectors, n_datasets in ((3, 8), (6, 3), (20, 12)):
        result = simulated.strength_of(model, n_detectors, target)
        if result is not None:
            covers, _ = simulated.coverage(model, n_detectors, *result, n_datasets)
            # 0.92, less what 200 samples leave to chance in a hundred cells.
            assert covers >= 0.87, (n_detectors, n_datasets)
