"""Wherever scores are cut into ranges, for threads or for a part of the curve: the same bits."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.threads import thread_limit
from fastad.ordering import counts as counting
from fastad.ordering.cuts import CurvePart
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.orders import order_values
from tests.support import oracles
from tests.support.ranges import tiny_ranges
from tests.support.strategies import Sample, samples

Array = npt.NDArray[Any]


def outcome(measure: Callable[[], Any]) -> Any:
    """The value, or what is said of an undefined or impossible one."""
    try:
        return measure()
    except (UndefinedMeasureError, InvalidInputError) as error:
        return str(error)


def everything(y: Array, s: Array) -> list[Any]:
    """The counts, and what is read from the order itself, as bits."""
    counts = counting.count(y, s)
    results = [x.tobytes() for x in (counts.fps, counts.tps, counts.thresholds())]
    return [
        *results,
        counts.n_tied,
        outcome(lambda: fastad.roc_auc(y, s).hex()),
        outcome(lambda: fastad.average_precision(y, s).hex()),
    ]


@given(samples(max_size=40), st.integers(2, 7))
def test_any_number_of_threads_finds_the_same_bits(sample: Sample, n_threads: int) -> None:
    with thread_limit(1):
        expected = everything(sample.y, sample.s)
    with tiny_ranges(n_threads):
        assert everything(sample.y, sample.s) == expected


@given(samples(max_size=40), st.permutations(range(40)), st.integers(1, 4))
def test_any_order_of_the_rows_finds_the_same_bits(
    sample: Sample, shuffled: list[int], n_threads: int
) -> None:
    rows = [row for row in shuffled if row < len(sample.y)]
    with tiny_ranges(n_threads):
        moved = everything(sample.y[rows], sample.s[rows])
    assert moved == everything(sample.y, sample.s)


@given(samples(max_size=14, both=True))
def test_measures_read_from_the_order_are_those_of_the_counts(sample: Sample) -> None:
    rows = oracles.rows(sample.y, sample.s)
    ranked = fastad.rank_scores(sample.y, sample.s)
    assert fastad.roc_auc(sample.y, sample.s) == ranked.roc_auc() == float(oracles.roc_auc(rows))
    assert fastad.average_precision(sample.y, sample.s) == ranked.average_precision()


PARTIAL: dict[str, dict[str, list[Any]]] = {
    "tpr_at_fpr": {"interpolation": ["linear", "conservative"]},
    "auc_at_fpr": {"min_fpr": [0, 0.02, 0.3]},
    "threshold_at_fpr": {"interpolation": ["linear", "conservative"]},
    "f1_at_fpr": {"prevalence": [None, 0.2]},
    "precision_at_fpr": {"prevalence": [None, 0.2]},
}
rates = st.one_of(st.integers(0, 20).map(lambda k: k / 20), st.just(0.001))


@given(samples(max_size=40), rates, st.sampled_from(sorted(PARTIAL)), st.integers(1, 3), st.data())
def test_a_part_of_the_curve_gives_the_values_of_the_whole(
    sample: Sample, fpr: float, measure: str, n_threads: int, data: st.DataObject
) -> None:
    name, options = next(iter(PARTIAL[measure].items()))
    keywords = {name: data.draw(st.sampled_from(options)), "fpr": fpr}
    ranked = fastad.rank_scores(sample.y, sample.s)
    expected = outcome(lambda: getattr(ranked, measure)(**keywords))
    with tiny_ranges(n_threads):
        function = getattr(fastad.measures, measure)
        result = outcome(lambda: function(sample.y, sample.s, **keywords))
    assert result == expected


def large(seed: int, n: int = 2**14) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.3
    return y, rng.normal(size=n) + y


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.01, 0.05, 0.2, 0.6, 1.0])
def test_parts_of_large_samples_are_ordered_alone(rate: float) -> None:
    y, s = large(0)
    labels = check_labels(y)
    exact = oracles.written(rate)
    order = order_values(check_scores(s, labels), labels, part=CurvePart(exact, exact))
    if 0 < rate <= 0.2:
        assert order.packed.shape[0] < 0.4 * len(y)
    assert (order.n_points, order.n_anomalies) == (len(y), y.sum())
    assert fastad.tpr_at_fpr(y, s, fpr=rate) == fastad.rank_scores(y, s).tpr_at_fpr(fpr=rate)


@pytest.mark.parametrize("lift", [-100.0, 100.0])
def test_a_sample_that_misleads_costs_time_only(lift: float) -> None:
    """Every row that the sample can see scores otherwise than the rest."""
    y, s = large(1)
    step = len(s) // (len(s) >> 5)
    s[::step] += lift
    with mock.patch.object(counting, "order_values", wraps=order_values) as spy:
        result = fastad.auc_at_fpr(y, s, fpr=0.2, min_fpr=0.1)
    assert spy.call_count == 2
    assert result == fastad.rank_scores(y, s).auc_at_fpr(fpr=0.2, min_fpr=0.1)


@pytest.mark.slow
def test_a_million_scores_in_threads_are_ordered_as_in_one() -> None:
    y, s = large(2, 10**6)
    for scores in (s, s.astype(np.float32), np.round(s, 2), (1000 * s).astype(np.int16)):
        with thread_limit(1):
            expected = everything(y, scores)
        for n_threads in (2, 5):
            with thread_limit(n_threads):
                assert everything(y, scores) == expected


def test_parts_of_a_million_scores_in_threads() -> None:
    y, s = large(3, 10**6)
    ranked = fastad.rank_scores(y, s)
    for rate in (0.01, 0.05, 0.3):
        for n_threads in (1, 2, 3):
            with thread_limit(n_threads):
                assert fastad.auc_at_fpr(y, s, fpr=rate) == ranked.auc_at_fpr(fpr=rate)
                assert fastad.tpr_at_fpr(y, s, fpr=rate) == ranked.tpr_at_fpr(fpr=rate)


# Groups.


def test_groups_in_blocks_for_threads_are_the_groups_of_one_thread() -> None:
    y, s = large(5)
    groups = np.random.default_rng(0).integers(0, 50, len(y))
    for measures in (["auc"], ["auc", "tpr@0.05", "ap"]):
        results = [
            fastad.evaluate(y, s, groups=groups, measures=measures, n_threads=n).to_json()
            for n in (1, 2, 5)
        ]
        assert results[0] == results[1] == results[2]
