"""Sorting by digits where NumPy's sort has no fast instructions: every way against a plain sort."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from fastad._core.threads import thread_limit
from fastad._core.types import KeyVector
from fastad._kernels.ordering import radix
from fastad._kernels.ordering.radix import radix_sort
from fastad.ordering import orders as sorting
from fastad.ordering.counts import count_sorted
from fastad.ordering.labels import check_labels, check_scores
from fastad.ordering.orders import pack_values
from fastad.ordering.raw import view_raw
from tests.support import oracles
from tests.support.strategies import Sample, samples

Array = npt.NDArray[Any]

RNG = np.random.default_rng(0)
N = 2**17


@contextmanager
def sorted_by_digits(cached: int) -> Iterator[None]:
    """Sort few keys by digits, too, and in blocks as if so many fitted the cache."""
    with (
        mock.patch.object(sorting, "numpy_sorts_fast", return_value=False),
        mock.patch.multiple(sorting, _FEWEST_KEYS=1, CACHED_KEYS=cached),
    ):
        yield


# Keys of n bits, from random ones.
KEYS: dict[str, Callable[[Array, int], Array]] = {
    "even": lambda keys, n_bits: keys,
    "rising": lambda keys, n_bits: np.sort(keys),
    "constant": lambda keys, n_bits: np.full_like(keys, keys[0]),
    "of two scores": lambda keys, n_bits: keys & (1 << n_bits // 2) | keys & 1,
    "of ties": lambda keys, n_bits: keys >> n_bits // 2 << n_bits // 2 | keys & 1,
    "uneven": lambda keys, n_bits: keys >> np.arange(keys.shape[0]) % n_bits,
    "close": lambda keys, n_bits: keys & 63,
    "close and far": lambda keys, n_bits: np.where(np.arange(keys.shape[0]) % 99, keys & 255, keys),
    "at the edges of blocks": lambda keys, n_bits: (keys >> n_bits - 4 << n_bits - 4) - keys % 2,
}


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
@given(
    st.integers(5, 64),
    st.sampled_from([*range(1, 40), 300, 3000]),
    st.integers(0, 2**32),
    st.sampled_from(list(KEYS)),
    st.sampled_from([1, 16, 200, 2**16]),
)
def test_digit_by_digit_is_sorted(
    dtype: Any, n_bits: int, size: int, seed: int, kind: str, cached: int
) -> None:
    n_bits = min(n_bits, 8 * np.dtype(dtype).itemsize)
    drawn = np.random.default_rng(seed).integers(
        -(2 ** (n_bits - 1)), 2 ** (n_bits - 1), size, dtype
    )
    keys = KEYS[kind](drawn, n_bits).astype(dtype)
    expected = sorted(keys.tolist())
    radix_sort(keys, np.empty_like(keys), cached)
    assert keys.tolist() == expected


@pytest.mark.slow
@given(samples(max_size=60), st.sampled_from([1, 20, 2**16]))
def test_counts_by_digits_are_those_of_the_curve(sample: Sample, cached: int) -> None:
    labels = check_labels(sample.y)
    with sorted_by_digits(cached):
        counts = count_sorted(check_scores(sample.s, labels), labels)
    found = zip(counts.fps.tolist(), counts.tps.tolist(), strict=True)
    expected = oracles.points(oracles.rows(sample.y, sample.s))
    assert list(found) == [(int(fp), int(tp)) for fp, tp, _ in expected]
    assert counts.thresholds().tolist() == [threshold for _, _, threshold in expected[1:]]


SCORES = RNG.normal(size=N)
KINDS: dict[str, tuple[Array, str]] = {
    "Gaussian": (SCORES, "highest digits"),
    "uniform": (RNG.random(N), "highest digits"),
    "heavy-tailed": (RNG.standard_t(1.5, N), "highest digits"),
    "exponential": (RNG.exponential(size=N), "highest digits"),
    "rising": (np.sort(SCORES), "highest digits"),
    "one of 1e-300": (np.append(SCORES[1:], 1e-300), "all digits"),
    "tied": (np.round(SCORES, 2), "highest digits"),
    "near 1": (1 / (1 + np.exp(-8 * SCORES)), "all digits"),
    "integers of many magnitudes": (np.exp(42 * RNG.random(N)).astype(np.int64), "all digits"),
    "few leading digits": (1e6 + RNG.integers(0, 256, N) * 2.0**-30, "few digits"),
    "few integers": (RNG.integers(0, 1000, N), "few digits"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_are_sorted_by_as_many_digits_as_tell_them_apart(kind: str) -> None:
    """Of those in one block: all digits where many keys differ by the lowest ones alone."""
    scores, way = KINDS[kind]
    labels = check_labels(np.arange(N) % 2)
    packed = pack_values(view_raw(scores), labels, "y_score")
    assert packed is not None
    block: KeyVector = packed[0][: 2**14].copy()
    lowest, n_bits = radix._range(block)
    dropped = n_bits - 20
    if dropped <= 0:
        taken = "few digits"
    else:
        is_uneven = radix._are_uneven(block, np.uint64(lowest), dropped)
        taken = "all digits" if is_uneven else "highest digits"
    assert taken == way


@pytest.mark.parametrize("kind", KINDS)
def test_many_scores_sorted_by_digits_have_the_same_bits(kind: str) -> None:
    scores, labels = KINDS[kind][0], check_labels(np.arange(N) % 2)
    order = RNG.permutation(N)
    expected = count_sorted(check_scores(scores, labels), labels)
    for n_threads, rows in ((1, slice(None)), (2, slice(None)), (1, order)):
        of_rows = check_labels((np.arange(N) % 2)[rows])
        with (
            thread_limit(n_threads),
            mock.patch.object(sorting, "numpy_sorts_fast", return_value=False),
            mock.patch.object(sorting, "radix_sort", wraps=radix_sort) as spy,
        ):
            counts = count_sorted(check_scores(scores[rows], of_rows), of_rows)
        assert spy.called
        for name in ("fps", "tps", "keys"):
            np.testing.assert_array_equal(getattr(counts, name), getattr(expected, name))
        assert counts.n_tied == expected.n_tied


@pytest.mark.parametrize(
    ("quick", "stable", "expected"),
    [
        ([1, 1, 1], [10, 10, 10], True),
        ([10, 10, 10], [10, 10, 10], False),
        ([7, 7, 7], [10, 10, 10], False),
        ([90, 1, 90], [90, 90, 10], True),
        ([10, 90, 90], [90, 10, 90], False),
    ],
    ids=["fast", "no SIMD", "slow SIMD", "fast while busy", "no SIMD while busy"],
)
def test_the_trial_compares_the_fastest_runs_of_both_sorts(
    monkeypatch: pytest.MonkeyPatch, quick: list[int], stable: list[int], expected: bool
) -> None:
    """By a clock that only the sorts move on."""
    now, durations = 0, {"quicksort": iter(quick), "stable": iter(stable)}

    def sort(values: Array, kind: str) -> Array:
        nonlocal now
        assert len(np.unique(values)) == len(values) == 2**16
        now += next(durations[kind])
        return values

    monkeypatch.setattr(np, "sort", sort)
    monkeypatch.setattr(sorting, "perf_counter", lambda: now)
    monkeypatch.setattr(sorting, "sort_ratio", sorting.sort_ratio.__wrapped__)
    assert sorting.numpy_sorts_fast() == expected


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("low", [-1, 0])
@pytest.mark.parametrize("distance", [-(2**13), -(2**12) - 1, -(2**12), -1, 0, 1])
def test_keys_are_packed_as_far_as_they_leave_a_bit_for_the_label(
    dtype: type, low: int, distance: int
) -> None:
    limit = 2 ** (8 * np.dtype(dtype).itemsize - 1)
    high = low + limit + distance
    if high >= limit:
        low, high = low - limit // 2, high - limit // 2
    scores: npt.NDArray[Any] = np.array(
        [low, low + 1, high - 1, high, low + (high - low) // 2], dtype
    )
    packed = pack_values(view_raw(scores), check_labels([0, 1, 0, 1, 1]), "y_score")
    assert packed is None or distance < 0
    assert packed is not None or distance >= -(2**12) - 1024
    assert fastad.roc_auc([0, 1, 0, 1, 1], scores) == 4 / 6
