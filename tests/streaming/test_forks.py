"""Sketches, windows and monitors in a child that is forked while a thread uses them."""

import contextlib
import operator
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from fastad._core.interrupts import StateLock
from fastad.errors import ForkedStateError, InvalidInputError
from fastad.measures.requests import bind
from fastad.streaming import DriftMonitor, RateMonitor, ScoreSketch, SlidingEvaluation
from tests.core.test_locks import held
from tests.support.processes import in_forked_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]

RNG = np.random.default_rng(0)
SIZE, N_ANOMALIES = 2000, 300
Y = np.arange(SIZE) < N_ANOMALIES
SCORES = RNG.normal(size=SIZE) + Y
TIME = "2026-03-01T10:00"


class Shared(NamedTuple):
    """A class of objects that threads share.

    Attributes
    ----------
    make, update : callable
        Make an object of one batch; add another one.
    counts : callable
        Numbers of which each is that of the batches, where batches are whole.
    lock : callable
        Its lock.
    methods : mapping
        How to call each method that reads or changes the state.
    without_state : set of str
        Other public names.
    """

    make: Callable[[], Any]
    update: Callable[[Any], object]
    counts: Callable[[Any], list[float]]
    lock: Callable[[Any], StateLock]
    methods: Mapping[str, Callable[[Any], object]]
    without_state: frozenset[str]


def sketch() -> ScoreSketch:
    made = ScoreSketch("64kB")
    made.update(Y, SCORES)
    return made


def sliding() -> SlidingEvaluation:
    made = SlidingEvaluation(pane="1h", window="2h")
    made.update(Y, SCORES, time=TIME)
    return made


def rate_monitor() -> RateMonitor:
    made = RateMonitor("flagged_rate", expected_rate=0.5, threshold=0.0)
    made.update_counts(N_ANOMALIES, SIZE)
    return made


def drift_monitor() -> DriftMonitor:
    made = DriftMonitor(sketch())
    made.update(SCORES)
    return made


SHARED = {
    "ScoreSketch": Shared(
        sketch,
        lambda x: x.update(Y, SCORES),
        lambda x: [x.n_points / SIZE, x.n_anomalies / N_ANOMALIES],
        lambda x: x._lock,
        {
            "update": lambda x: x.update(Y, SCORES),
            "label": lambda x: x.label(SCORES, Y),
            "check_room": lambda x: x.check_room(1),
            "merge": lambda x: x.merge(sketch()),
            "copy": lambda x: x.copy(),
            "to_bytes": lambda x: x.to_bytes(),
            "evaluate": lambda x: x.evaluate(["auc"]),
            "interval": lambda x: x.interval(measure="auc"),
            "refine": lambda x: x.refine(measure="auc"),
            "roc_auc": lambda x: x.roc_auc(),
            "roc_curve": lambda x: x.roc_curve(),
            "roc_band": lambda x: x.roc_band(),
            "bounds": lambda x: x.bounds(bind("auc", {})),
            "score_cells": lambda x: x.score_cells(),
            "listed": lambda x: x.listed(),
        },
        frozenset({"memory", "from_bytes", "from_counts", "merged", "of_bins"}),
    ),
    "SlidingEvaluation": Shared(
        sliding,
        lambda x: x.update(Y, SCORES, time=TIME),
        lambda x: [x.sketch().n_points / SIZE, x.sketch().n_anomalies / N_ANOMALIES],
        lambda x: x._lock,
        {
            "update": lambda x: x.update(Y, SCORES, time=TIME),
            "label": lambda x: x.label(SCORES, Y, time=TIME),
            "advance": lambda x: x.advance(TIME),
            "sketch": lambda x: x.sketch(),
            "evaluate": lambda x: x.evaluate(["auc"]),
            "to_bytes": lambda x: x.to_bytes(),
            "save": lambda x: x.save(os.devnull),
        },
        frozenset({"from_bytes", "load"}),
    ),
    "RateMonitor": Shared(
        rate_monitor,
        lambda x: x.update_counts(N_ANOMALIES, SIZE),
        lambda x: [x.n_updates, x.n_samples / SIZE, x.n_events / N_ANOMALIES],
        lambda x: x._lock,
        {
            "update": lambda x: x.update(None, SCORES),
            "update_counts": lambda x: x.update_counts(N_ANOMALIES, SIZE),
            "reset": lambda x: x.reset(),
            "to_bytes": lambda x: x.to_bytes(),
        },
        frozenset(
            {
                *("alternative", "expected_range", "rate", "confidence_level", "threshold"),
                "from_bytes",
            }
        ),
    ),
    "DriftMonitor": Shared(
        drift_monitor,
        lambda x: x.update(SCORES),
        lambda x: [x.n_updates, x.n_samples / SIZE],
        lambda x: x._lock,
        {
            "update": lambda x: x.update(SCORES),
            "reset": lambda x: x.reset(),
            "to_bytes": lambda x: x.to_bytes(),
        },
        frozenset({"confidence_level", "window", "from_bytes"}),
    ),
}


def refused(shared: Shared, thing: Any) -> str:
    """Use all of an object that may be half changed; return what is not refused."""
    properties: dict[str, Callable[[Any], object]] = {
        name: operator.attrgetter(name)
        for name, value in vars(type(thing)).items()
        if isinstance(value, property) and name not in shared.without_state
    }
    answered = []
    for name, use in {**properties, **shared.methods, "repr": repr, "pickle": reduced}.items():
        try:
            use(thing)
            answered.append(name)
        except ForkedStateError:
            pass
    return f"answered: {answered}"


def reduced(thing: Any) -> object:
    return thing.__reduce__()


@pytest.mark.parametrize("name", SHARED)
def test_every_public_name_is_called_here_or_has_no_state(name: str) -> None:
    shared = SHARED[name]
    own = {
        name
        for name, value in vars(type(shared.make())).items()
        if not name.startswith("_") and not isinstance(value, property)
    }
    internal = {"count_points", "label_points", "unknown_points"}
    assert own - internal - set(shared.methods) <= shared.without_state


@pytest.mark.parametrize("name", SHARED)
def test_a_child_refuses_what_a_thread_was_using_at_the_fork(name: str) -> None:
    shared = SHARED[name]
    thing = shared.make()
    # Kernels that the child would load are loaded.
    for use in shared.methods.values():
        with contextlib.suppress(InvalidInputError):  # nothing waits for a label
            use(shared.make())
    with held(shared.lock(thing)):
        assert in_forked_child(lambda: refused(shared, thing)) == "answered: []"
    assert min(shared.counts(thing)) == 1


@pytest.mark.parametrize("name", SHARED)
def test_a_child_uses_what_no_thread_was_using_and_its_parent_goes_on(name: str) -> None:
    shared = SHARED[name]
    thing = shared.make()

    def update() -> str:
        shared.update(thing)
        return str({float(count) for count in shared.counts(thing)})

    # Kernels that the child would load are loaded.
    shared.update(shared.make())
    assert in_forked_child(update) == "{2.0}"
    assert set(shared.counts(thing)) == {1}
    assert update() == "{2.0}"


def test_a_copy_made_before_the_fork_is_usable() -> None:
    original = sketch()
    copied = original.copy()
    with held(original._lock):
        assert in_forked_child(lambda: str(copied.n_points)) == str(SIZE)


def whole_or_refused(shared: Shared, thing: Any) -> str:
    try:
        before = set(shared.counts(thing))
        shared.update(thing)
        after = set(shared.counts(thing))
    except ForkedStateError:
        return "refused"
    whole = len(before) == 1 and after == {before.pop() + 1}
    return "whole" if whole else "torn"


@pytest.mark.system
@pytest.mark.parametrize("name", SHARED)
def test_a_child_forked_amid_updates_neither_hangs_nor_has_half_of_one(name: str) -> None:
    shared = SHARED[name]
    thing = shared.make()
    shared.update(thing)
    end = threading.Event()

    def update() -> None:
        while not end.is_set():
            shared.update(thing)

    threads = [threading.Thread(target=update) for _ in range(2)]
    for thread in threads:
        thread.start()
    answers: list[str] = []
    start = time.monotonic()
    try:
        while len(answers) < 20 and time.monotonic() - start < 120:
            answers.append(in_forked_child(lambda: whole_or_refused(shared, thing), seconds=30))
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert set(answers) <= {"whole", "refused"}
    assert len(set(shared.counts(thing))) == 1
