"""Draws: what changes them and what does not, progress, and memory."""

import sys
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.volume_estimation import volume
from tests.support.processes import run
from tests.support.volumes import KINDS, Array, ball, drawn, fields, first, norm, steps, two_balls

# Seeds.


def test_a_generator_moves_on_and_a_seed_does_not() -> None:
    region = ball(2)
    rng = np.random.default_rng(5)
    options: dict[str, Any] = {"n_draws": 1000, "method": "uniform"}
    results = [
        volume(region.batch, 1.0, region.box, rng=rng, **options).n_inside,
        volume(region.batch, 1.0, region.box, rng=rng, **options).n_inside,
        volume(region.batch, 1.0, region.box, rng=5, **options).n_inside,
        volume(region.batch, 1.0, region.box, rng=5, **options).n_inside,
    ]
    assert results[0] == results[2] == results[3] != results[1]
    assert len({volume(norm, 1.0, region.box, **options).n_inside for _ in range(9)}) > 1


@pytest.mark.slow
def test_no_global_state_is_used() -> None:
    region = ball(2)
    before = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    for method in ("uniform", "sobol"):
        result: set[int] = set()
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002
            options: dict[str, Any] = {"method": method, "n_draws": 512, "rng": 0}
            result.add(volume(region.batch, 1.0, region.box, **options).n_inside)
        assert len(result) == 1
    np.random.seed(7)  # noqa: NPY002
    state = repr(np.random.get_state(legacy=False))  # noqa: NPY002
    volume(region.jitted, 1.0, region.box, n_draws=1000)
    assert repr(np.random.get_state(legacy=False)) == state != before  # noqa: NPY002


def test_the_first_points_of_a_longer_run_are_those_of_a_shorter_one() -> None:
    box = Box([0, 1], [1, 3])
    longer = drawn(box, 30_000, 2)
    for n in (1, 1000, 4096, 8192, 8193, 29_999):
        np.testing.assert_array_equal(drawn(box, n, 2), longer[:n])


# Threads, kinds of scores.


OPTIONS: list[dict[str, Any]] = [
    {"method": "uniform", "n_draws": 300_001},
    {"method": "uniform", "rtol": 0.004},
    {"method": "uniform", "rtol": 0.004, "n_draws": 200_000},
    {"method": "sobol", "n_draws": 2**14},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("region", [ball(3), steps(3)], ids=["ball", "steps"])
def test_neither_threads_nor_the_kind_of_score_change_anything(
    region: Any, options: dict[str, Any]
) -> None:
    thresholds = [region.threshold, region.threshold / 2]
    results = {
        tuple(field for estimate in estimates for field in fields(estimate))
        for kind in KINDS
        for n_threads in (1, 3)
        for estimates in [
            volume(
                region.score(kind), thresholds, region.box, rng=8, n_threads=n_threads, **options
            )
        ]
    }
    assert len(results) == 1


@pytest.mark.slow
def test_the_variable_limits_threads_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    region = two_balls(2)
    result = set()
    for n in "13":
        monkeypatch.setenv("FASTAD_NUM_THREADS", n)
        estimate = volume(region.jitted, 0.81, region.box, n_draws=300_000, rng=0)
        result.add(tuple(fields(estimate)))
    assert len(result) == 1


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_python_function_is_called_from_the_callers_thread(options: dict[str, Any]) -> None:
    callers = set()

    def score(X: Array) -> Array:
        callers.add(threading.get_ident())
        return norm(X)

    volume(score, 1.0, Box([-1, -1], [1, 1]), rng=0, n_threads=3, **options)
    assert callers == {threading.get_ident()}


@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_a_function_may_write_to_its_rows_and_keep_them(method: Any) -> None:
    kept: list[Array] = []
    copies: list[Array] = []

    def score(X: Array) -> Array:
        assert X.flags.c_contiguous
        assert X.dtype == np.float64
        kept.append(X)
        result = norm(X)
        X *= -3
        copies.append(X.copy())
        return result

    box = Box([-1, -1], [1, 1])
    options: dict[str, Any] = {"method": method, "n_draws": 2**15, "rng": 1}
    assert fields(volume(score, 1.0, box, **options)) == fields(volume(norm, 1.0, box, **options))
    volume(norm, 1.0, box, **options | {"rng": 2})
    for array, copy in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_a_function_may_return_a_view_of_its_rows_and_one_array_again_and_again() -> None:
    memory = np.empty(10**5)

    def score(X: Array) -> Array:
        memory[: len(X)] = X[:, 0]
        return memory[: len(X)]

    box = Box([0, 0], [1, 1])
    options: dict[str, Any] = {"method": "uniform", "n_draws": 30_000, "rng": 1}
    result = volume(score, [0.2, 0.7], box, **options)
    assert [fields(x) for x in result] == [
        fields(x) for x in volume(first, [0.2, 0.7], box, **options)
    ]


def test_a_score_may_ask_for_volumes_itself() -> None:
    box = Box([0, 0], [1, 1])
    options: dict[str, Any] = {"method": "uniform", "n_draws": 20_000, "rng": 1}

    def score(X: Array) -> Array:
        inner = volume(first, 0.5, Box([0] * 3, [1] * 3), n_draws=5000, rng=0, method="uniform")
        return first(X) + 0 * inner.value

    assert fields(volume(score, 0.3, box, **options)) == fields(volume(first, 0.3, box, **options))


# More draws.


@pytest.mark.slow
@given(
    st.lists(st.sampled_from([1, 2, 100, 8191, 8192, 8193, 20_000]), min_size=2, max_size=4),
    st.sampled_from(KINDS),
    st.sampled_from([0.05, 0.5, 1.0, 2.0]),
    st.integers(0, 2**32),
)
def test_extending_is_a_longer_run(
    sizes: list[int], kind: str, threshold: float, seed: int
) -> None:
    region = ball(2)
    score = region.score(kind)
    options: dict[str, Any] = {"method": "uniform", "rng": seed}
    result = volume(score, threshold, region.box, n_draws=sizes[0], **options)
    start = fields(result)
    longer = result
    for n in sizes[1:]:
        longer = longer.extend(n)
    alone = volume(score, threshold, region.box, n_draws=sum(sizes), **options)
    assert fields(longer) == fields(alone)
    # The shorter one stays what it was, and may be extended again.
    assert fields(result) == start
    assert fields(result.extend(sum(sizes[1:]))) == fields(alone)


@pytest.mark.slow
def test_extending_over_parts_of_threads() -> None:
    region = ball(3)
    options: dict[str, Any] = {"method": "uniform", "rng": 3}
    alone = volume(region.jitted, [1.0, 0.3], region.box, n_draws=400_000, **options)
    parts = volume(region.jitted, [1.0, 0.3], region.box, n_draws=70_000, n_threads=1, **options)
    assert [fields(x.extend(330_000)) for x in parts] == [fields(x) for x in alone]


def test_what_cannot_be_extended_says_so() -> None:
    box = Box([0, 0], [1, 1])
    sobol = volume(first, 0.5, box, method="sobol", n_draws=64, rng=0)
    until = volume(first, 0.5, box, rtol=0.5, rng=0)
    uniform = volume(first, 0.5, box, method="uniform", n_draws=64, rng=0)
    for estimate in (sobol, until, uniform.complement):
        with pytest.raises(InvalidInputError, match="can be extended"):
            estimate.extend(10)
    for n in (0, -1):
        with pytest.raises(InvalidInputError, match="n_draws must be at least 1"):
            uniform.extend(n)
    with pytest.raises(TypeError, match="n_draws must be an integer"):
        uniform.extend(1.5)  # type: ignore[arg-type]


# Progress.


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_progress_rises_to_the_number_of_points(kind: str, method: Any) -> None:
    region = ball(1)
    calls: list[tuple[int, int | None]] = []
    n = 2**15 if method == "sobol" or kind != "jitted" else 9_000_001
    result = volume(
        region.score(kind),
        1.0,
        region.box,
        method=method,
        n_draws=n,
        rng=0,
        progress=lambda *x: calls.append(x),
    )
    drawn_so_far = [x for x, _ in calls]
    assert drawn_so_far == sorted(set(drawn_so_far))
    assert calls[-1] == (n, n)
    assert {total for _, total in calls} == {n}
    assert result.n_drawn == n
    assert kind != "jitted" or len(calls) > 2
    plain = volume(region.score(kind), 1.0, region.box, method=method, n_draws=n, rng=0)
    assert fields(result) == fields(plain)


@pytest.mark.slow
def test_progress_without_a_known_end() -> None:
    region = ball(4)
    calls: list[tuple[int, int | None]] = []
    result = volume(
        region.jitted,
        0.4,
        region.box,
        method="uniform",
        rtol=0.02,
        rng=0,
        progress=lambda *x: calls.append(x),
    )
    drawn_so_far = [x for x, _ in calls]
    assert drawn_so_far == sorted(set(drawn_so_far))
    assert {total for _, total in calls} == {None}
    assert calls[-1][0] >= result.n_drawn


class EnoughError(Exception):
    """What a caller raises to stop."""


@pytest.mark.slow
@pytest.mark.parametrize("error", [EnoughError, KeyboardInterrupt])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_errors_of_progress_come_out_as_they_are(
    error: type[BaseException], options: dict[str, Any], kind: str
) -> None:
    region = ball(2)

    def stop(n: int, total: int | None) -> None:
        raise error(n)

    with pytest.raises(error):
        volume(region.score(kind), 1.0, region.box, rng=0, progress=stop, **options)
    assert volume(region.score(kind), 1.0, region.box, rng=0, n_draws=1000).n_drawn <= 1000


def test_progress_is_a_function_or_a_flag() -> None:
    with pytest.raises(TypeError, match="progress must be True, False or a function; found int"):
        volume(first, 1.0, Box([0], [1]), progress=5)  # type: ignore[call-overload]


# Memory, interruption.


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_memory_does_not_grow_with_the_number_of_points(kind: str, n_threads: int) -> None:
    region = ball(4)
    score = region.score(kind)

    def peak(**options: Any) -> int:
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        options |= {"method": "uniform", "rng": 0, "n_threads": n_threads}
        volume(score, 1.0, region.box, **options)
        return tracemalloc.get_traced_memory()[1] - start

    for options in ({}, {"rtol": 1e-9}):
        tracemalloc.start()
        try:
            peak(n_draws=100_000, **options)
            few = peak(n_draws=100_000, **options)
            many = peak(n_draws=1_000_000, **options)
        finally:
            tracemalloc.stop()
        # A million points of four features are 32 MB; a thread more or less holds some blocks.
        assert many < few + 2**23


@pytest.mark.system
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_an_interrupt_ends_a_long_run_at_once_and_later_calls_work() -> None:
    program = """
import os, signal, threading, time
import numpy as np
from fastad.regions.box import Box
from fastad.regions.volume_estimation import volume
from tests.support.volumes import KINDS, ball, fields
region = ball(3)
for kind in KINDS:
    for options in ({"n_draws": 10**11}, {"rtol": 1e-7, "n_draws": 10**11}):
        score = region.score(kind)
        def ask(**options):
            return volume(score, 0.9, region.box, rng=0, method="uniform", **options)
        expected = fields(ask(n_draws=200_000))
        sent = []
        def interrupt():
            time.sleep(0.05)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        try:
            ask(**options)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - sent[0] < 20)
        print(fields(ask(n_draws=200_000)) == expected)
"""
    assert run(program).split() == ["interrupted", "True", "True"] * 6
