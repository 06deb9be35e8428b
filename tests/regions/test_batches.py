"""Functions of a batch: its size is measured, changes no number, and keeps the budget."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count, pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDOneClassSVM

import fastad
from fastad._core.threads import points_at_once
from fastad.errors import BatchScorerWarning
from fastad.regions import batches
from fastad.regions.batches import BATCH, Batches
from fastad.unsupervised import level_sets
from tests.support.volumes import Counting

BOX = fastad.Box([-2] * 3, [2] * 3)
X = np.random.default_rng(0).normal(size=(300, 3)) / 2
MOST_TWICE = 500


def radius(rows: Any) -> Any:
    return (rows**2).sum(axis=1)


def of_the_whole_batch(rows: Any) -> Any:
    """Round otherwise in batches of other sizes, as products of matrices do in some libraries."""
    return radius(rows) * (1 + len(rows) * 1e-9)


def in_place(rows: Any) -> Any:
    rows *= rows
    return rows.sum(axis=1)


TAKERS: Mapping[str, Callable[..., Any]] = {
    "uniform": lambda score, **options: fastad.volume(score, 1.0, BOX, method="uniform", **options),
    "sobol": lambda score, **options: fastad.volume(score, 1.0, BOX, method="sobol", **options),
    "splitting": lambda score, **options: fastad.volume(
        score, 1e-2, BOX, method="splitting", **options
    ),
    "data": lambda score, **options: fastad.volume(
        score, 1e-2, BOX, method="splitting", data=X, **options
    ),
    "auto": lambda score, **options: fastad.volume(score, 1e-2, BOX, data=X, **options),
    "curve": lambda score, **options: fastad.regions.volume_curve(score, 1e-2, BOX, **options),
}


@pytest.mark.parametrize("n_draws", [20_000, 250_000])
@pytest.mark.parametrize("name", TAKERS)
def test_every_method_keeps_to_its_budget_and_says_what_it_used(name: str, n_draws: int) -> None:
    score = Counting(radius)
    result = TAKERS[name](score, n_draws=n_draws, rng=0)
    calls = score.n_scored
    twice = MOST_TWICE if calls > 2**17 else 0
    assert result.n_scored <= calls <= result.n_scored + twice
    # Splitting spends the rest of its budget on whole levels.
    most = n_draws if name in ("uniform", "sobol") else 1.2 * n_draws
    assert calls - twice <= most


@pytest.mark.parametrize("fastest", [256, 16384])
@pytest.mark.parametrize("name", ["data", "splitting"])
def test_numbers_do_not_depend_on_the_size(
    name: str, fastest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = TAKERS[name](radius, n_draws=60_000, rng=0).to_dict()
    monkeypatch.setattr(batches, "BATCH", fastest)
    monkeypatch.setattr(batches, "_SCORED_BEFORE", 1e9)
    assert TAKERS[name](radius, n_draws=60_000, rng=0).to_dict() == expected


@pytest.mark.parametrize("function", [radius, in_place])
def test_the_fastest_size_is_taken(
    function: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(batches, "perf_counter", lambda: now[0])
    rows = np.random.default_rng(0).normal(size=(2**18, 2))
    expected = radius(rows)
    cases = ((0.0, 0.0, 256), (1e-4, 1e-11, 4096), (1e-2, 0.0, 16384))
    for overhead, quadratic, size in cases:

        def timed(some: Any, overhead: float = overhead, quadratic: float = quadratic) -> Any:
            now[0] += overhead + 1e-7 * len(some) + quadratic * len(some) ** 2
            return function(some)

        measured = Batches()
        scores = np.empty(len(rows))
        for start in range(0, len(rows), 2**15):
            block = slice(start, start + 2**15)
            measured.write(timed, rows[block].copy(), scores[block])
        np.testing.assert_array_equal(scores, expected)
        assert measured.size == size


def test_functions_that_round_otherwise_in_other_batches_have_the_same_ones_each_time() -> None:
    rows = np.random.default_rng(0).normal(size=(2**18 + 77, 2))
    measured, scores = Batches(), np.empty(len(rows))
    score = Counting(of_the_whole_batch)
    for part in measured.ranges(0, len(rows), 2):
        measured.write(score, rows[part.start : part.stop], scores[part.start : part.stop])
    expected = [of_the_whole_batch(rows[i : i + BATCH]) for i in range(0, len(rows), BATCH)]
    np.testing.assert_array_equal(scores, np.concatenate(expected))
    assert measured.size == BATCH
    assert len(rows) < sum(score.sizes) <= len(rows) + MOST_TWICE


@pytest.mark.parametrize("d", [1, 100, 3000])
@pytest.mark.parametrize("seconds", [1e-9, 1e-5, 1.0])
def test_ranges_take_a_tenth_of_a_second(
    seconds: float, d: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(batches, "perf_counter", lambda: now[0])

    def slow(rows: Any) -> Any:
        now[0] += seconds * len(rows)
        return rows[:, 0]

    measured, n, scores = Batches(), 30_000, np.empty(30_000)
    ranges = []
    for part in measured.ranges(100, n, d):
        ranges.append(part)
        measured.write(slow, np.ones((len(part), 1)), scores[part.start : part.stop])
    assert [one.stop for one in ranges[:-1]] == [one.start for one in ranges[1:]]
    assert (ranges[0].start, ranges[-1].stop) == (100, n)
    smallest = min(BATCH, points_at_once(d))
    assert len(ranges[0]) == smallest
    for before, part in pairwise(ranges[:-1]):
        assert len(part) <= points_at_once(d)
        assert len(part) == smallest or seconds * len(part) <= 0.1, before


def test_progress_of_slow_functions_is_shown_after_each_batch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = count()
    monkeypatch.setattr(batches, "perf_counter", lambda: float(next(seconds)))
    takers: dict[str, Callable[..., Any]] = {
        **TAKERS,
        "level_sets": partial(level_sets, X=X, method="uniform"),
    }
    del takers["curve"]
    for name, taker in takers.items():
        reports = [0]
        taker(radius, n_draws=20_000, rng=0, progress=lambda done, _, to=reports: to.append(done))
        most = BATCH if name in ("uniform", "sobol", "level_sets") else 3 * BATCH
        assert max(np.diff(reports)) <= most, name


def test_first_sobol_points_of_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of a second is that of three batches: SciPy warns of numbers like theirs."""
    now = [0.0]
    monkeypatch.setattr(batches, "perf_counter", lambda: now[0])

    def slow(rows: Any) -> Any:
        now[0] += 3e-5 * len(rows)
        return radius(rows)

    options: dict[str, Any] = {"n_draws": 2**16, "rng": 0}
    result, expected = (TAKERS["sobol"](score, **options) for score in (slow, radius))
    assert result.to_dict() == expected.to_dict()


def test_detectors_that_are_not_compiled_score_in_such_batches() -> None:
    fitted = SGDOneClassSVM(random_state=0).fit(X)
    reports: list[int] = []
    with pytest.warns(BatchScorerWarning):
        TAKERS["uniform"](
            fitted, n_draws=5000, rng=0, progress=lambda done, _: reports.append(done)
        )
    assert reports[0] == BATCH
