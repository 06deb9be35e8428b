"""Progress of intervals, comparisons and chance levels: all of it, and the same numbers."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastad
from fastad.errors import InvalidTypeError
from tests.support.loops import loop

RNG = np.random.default_rng(4)
Y = RNG.permutation(np.repeat([0, 1], [300, 100]))
A, B = RNG.normal(Y, size=(2, 400))
GROUPS = np.arange(400) % 3
RANKED = fastad.rank_scores(Y, A)
N: dict[str, Any] = {"n_resamples": 400, "rng": 0}

# Call, and the replicates that it does, in all.
CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    "interval": (lambda **o: fastad.interval(Y, A, measure="eer", **N, **o), 400),
    "area": (lambda **o: fastad.interval(Y, A, measure="auc", method="bootstrap", **N, **o), 400),
    "part": (lambda **o: fastad.interval(Y, A, measure="tpr@0.2", method="basic", **N, **o), 400),
    "fiducial": (lambda **o: fastad.interval(Y, A, measure="ap", method="fiducial", **N, **o), 400),
    "ranked": (lambda **o: RANKED.interval(measure="f1@0.3", method="basic", **N, **o), 400),
    "chance": (lambda **o: fastad.chance_level(Y, A, measure="eer", **N, **o), 400),
    "compare": (
        lambda **o: fastad.compare(Y, A, B, measure="eer", method="bootstrap", **N, **o),
        800,
    ),
    "permutation": (
        lambda **o: fastad.compare_all(
            Y, {"a": A, "b": B, "c": A + B}, measure="ap", method="permutation", **N, **o
        ).to_dict(),
        1200,
    ),
    "evaluate": (
        lambda **o: fastad.evaluate(
            Y, {"a": A, "b": B}, confidence_level=0.9, chance=True, **N, **o
        ).to_dict(),
        1600,
    ),
    "groups": (
        lambda **o: fastad.evaluate(
            Y, {"a": A, "b": B}, groups=GROUPS, confidence_level=0.9, **N, **o
        ).to_dict(),
        2400,
    ),
    # What needs no replicates is done, too.
    "closed form": (
        lambda **o: fastad.evaluate(
            Y, A, measures=["auc"], confidence_level=0.9, **N, **o
        ).to_dict(),
        400,
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("n_threads", [1, 2])
def test_progress_rises_to_the_end_and_changes_nothing(name: str, n_threads: int) -> None:
    call, total = CALLS[name]
    calls: list[tuple[int, int | None]] = []
    busy = threading.Lock()

    def progress(done: int, of: int | None) -> None:
        # One thread at a time.
        assert busy.acquire(blocking=False)
        calls.append((done, of))
        busy.release()

    without: dict[str, Any] = {} if n_threads == 1 else {"progress": False}
    expected = call(n_threads=n_threads, **without)
    # Of strings, because NaN is not equal to itself.
    assert repr(call(progress=progress, n_threads=n_threads)) == repr(expected)
    assert calls[-1] == (total, total)
    assert {of for _, of in calls} == {total}
    done = [number for number, _ in calls]
    assert done == sorted(set(done))


@loop("name", CALLS)
def test_what_is_no_progress_is_refused(name: str) -> None:
    with pytest.raises(InvalidTypeError, match="progress must be True, False or a function"):
        CALLS[name][0](progress="yes")


@pytest.mark.parametrize("name", ["interval", "evaluate", "compare", "chance"])
def test_an_error_of_the_function_ends_the_call(name: str) -> None:
    def progress(done: int, of: int | None) -> None:
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        CALLS[name][0](progress=progress)
