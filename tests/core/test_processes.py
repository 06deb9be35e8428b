"""Threads, forked and fresh processes, compiled signatures, and running without compilation."""

import json
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fastad
from fastad import InvalidInputError
from fastad._core.threads import available_threads, thread_limit
from fastad._kernels.curves import area
from fastad._kernels.ordering import sweep
from fastad.streaming import ScoreSketch
from tests.support.processes import CERTAINTY, EVERYTHING, MEASURES, SHOW, run

Array = npt.NDArray[Any]

_RNG = np.random.default_rng(11)
Y = _RNG.random(3000) < 0.1
SCORES: dict[str, Array] = {
    "float64": _RNG.normal(size=3000) + Y,
    "float32": (_RNG.normal(size=3000) + Y).astype(np.float32),
    "ties": np.round(_RNG.normal(size=3000) + Y),
    "int": _RNG.integers(0, 50, 3000) + 5 * Y,
}


def values_here(code: str) -> Any:
    """Return what a program finds by the compiled kernels, in this process."""
    names: dict[str, Any] = {}
    exec(code, names)
    return names["values"]


def values_without_compilation(code: str, warnings: str) -> Any:
    return json.loads(run(code + SHOW, "-W", warnings, NUMBA_DISABLE_JIT="1"))


def all_values(n_threads: int | None = 1) -> str:
    return fastad.evaluate(Y, SCORES, measures=MEASURES, n_threads=n_threads).to_json()


def sketched(n_threads: int) -> str:
    """The bytes of a sketch that several threads count at once."""
    rng = np.random.default_rng(0)
    labels, scores = rng.random(2**20) < 0.1, rng.normal(size=2**20)
    sketch = ScoreSketch("100kB")
    with thread_limit(n_threads):
        sketch.update(labels, scores)
    return sketch.to_bytes().hex()


@pytest.mark.system
def test_resamples_are_the_same_with_any_number_of_threads_and_without_compilation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    # Else one thread would draw all resamples of so few samples.
    monkeypatch.setattr("fastad._core.progress._SAMPLES", 500)
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("FASTAD_NUM_THREADS", n_threads)
        found.append(values_here(CERTAINTY))
    assert found[1:] == found[:1] * 2
    # Without compilation, NumPy warns of the overflow that random bits are made by.
    assert values_without_compilation(CERTAINTY, "ignore") == found[0]


# Threads.


def test_eight_threads_at_once_find_the_bits_of_one() -> None:
    ranked = {name: fastad.rank_scores(Y, scores) for name, scores in SCORES.items()}

    def measure(_: int) -> tuple[str, list[str]]:
        curves = [str(x.roc_curve().tpr.tobytes()) for x in ranked.values()]
        curves += [x.average_precision().hex() for x in ranked.values()]
        curves += [fastad.roc_auc(Y, scores).hex() for scores in SCORES.values()]
        return all_values(), curves

    alone = measure(0)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(measure, range(24))) == [alone] * 24


def test_evaluate_inside_a_worker_of_evaluate_ends() -> None:
    """Scores that are themselves computed by `evaluate`, more of them than threads."""

    class Lazy:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
            inner = fastad.evaluate(Y, SCORES, measures=["auc"], n_threads=2)
            return SCORES["float64"] * inner["float64"]["auc"]

    detectors: dict[str, Any] = {f"d{i}": Lazy() for i in range(6)}
    code = fastad.evaluate(Y, detectors, measures=["auc"], n_threads=2)
    assert {x["auc"] for x in code.values()} == {fastad.roc_auc(Y, SCORES["float64"])}


def test_an_error_in_a_thread_is_raised_and_later_calls_work() -> None:
    bad = {f"d{i}": SCORES["ties"] for i in range(8)} | {"bad": SCORES["ties"] * np.nan}
    with pytest.raises(InvalidInputError, match="bad"):
        fastad.evaluate(Y, bad, n_threads=2)
    assert all_values(2) == all_values(1)


def test_the_variable_sets_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FASTAD_NUM_THREADS", "7")
    assert available_threads() == 7
    assert all_values(None) == all_values(1)
    monkeypatch.delenv("FASTAD_NUM_THREADS")
    assert 1 <= available_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", " ", "²"])
def test_a_bad_variable_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("FASTAD_NUM_THREADS", text)
    with pytest.raises(InvalidInputError, match="FASTAD_NUM_THREADS must be an integer"):
        fastad.evaluate(Y, SCORES)


# Processes.


def put_values(queue: Any, values: Callable[[int], str]) -> None:
    queue.put(values(2))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("method", "values"),
    [
        pytest.param(method, values, id=f"{method}-{values.__name__}")
        for method, values in (
            *(("fork", all_values), ("fork", sketched)),
            # A process that starts anew knows nothing of the threads of this one.
            *(("spawn", sketched), ("forkserver", all_values)),
        )
        if method in multiprocessing.get_all_start_methods()
    ],
)
def test_a_child_process_finds_the_same_values_after_use_of_threads(
    method: str, values: Callable[[int], str]
) -> None:
    alone = values(2)
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=put_values, args=(queue, values))
    child.start()
    try:
        assert queue.get(timeout=300) == alone
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
    assert values(2) == alone


FORKED_AMID_COMPILATION = """
import os, signal, threading, time
import fastad
from fastad.streaming import ScoreSketch
def compile_all():
    fastad.roc_auc([0, 1], [0.1, 0.2])
    ScoreSketch().update([0, 1], [0.1, 0.2])
thread = threading.Thread(target=compile_all)
thread.start()
n_forked = 0
time.sleep(0.1)
while thread.is_alive() and n_forked < 2:
    n_forked += 1
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        assert fastad.average_precision([0, 1, 0], [0.1, 0.2, 0.3]) == 0.5
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
thread.join()
assert n_forked
"""


@pytest.mark.system
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_a_thread_compiles_does_not_wait_for_it(tmp_path: Path) -> None:
    run(FORKED_AMID_COMPILATION, "-W", "ignore", FASTAD_CACHE_DIR=str(tmp_path))


# Without compilation.


@pytest.mark.system
def test_without_compilation_values_are_the_same_and_nothing_warns() -> None:
    result = values_without_compilation(EVERYTHING, "error")
    expected = values_here(EVERYTHING)
    assert [name for name, values in expected.items() if result[name] != values] == []


@pytest.mark.system
def test_without_compilation_counts_of_many_samples_do_not_wrap() -> None:
    """Numbers of draws are bytes, whose sums were bytes, too."""
    code = """
import json, numpy as np, fastad
s, y = np.random.default_rng(0).normal(size=900), np.arange(900) < 400
options = dict(method="bootstrap", n_resamples=10, rng=0)
values = []
for measure in ("auc", "tpr@0.3"):
    values.append(str(fastad.interval(y, s, measure=measure, **options)))
    values.append(str(fastad.compare(y, s, s + y, measure=measure, **options)))
"""
    assert values_without_compilation(code, "ignore") == values_here(code)


# Compiled signatures.


def kernels() -> dict[str, Any]:
    return {
        f"{module.__name__}.{name}": kernel
        for module in (sweep, area)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures")
    }


@pytest.mark.system
def test_kernels_have_one_signature_for_each_width_or_kind_of_counts() -> None:
    """STYLE.md section 2: 32 and 64 bits for keys; whole and real counts for what reads counts."""
    code = EVERYTHING + (
        "labels = [y.astype(t) for t in 'i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 >i4 >f8'.split()]\n"
        "rows = [np.repeat(y, 2)[::2], np.ascontiguousarray(y)[::-1][::-1], y.tolist()]\n"
        "rows[1].flags.writeable = False\n"
        "for i, label in enumerate(labels + rows):\n"
        "    for s in scores.values():\n"
        "        layouts = [s, np.repeat(s, 2)[::2], s[::-1][::-1]]\n"
        "        layouts.append(s.astype(s.dtype.newbyteorder()))\n"
        "        # Every layout with two kinds of labels, every kind of labels with one layout.\n"
        "        for one in layouts[: 4 if i < 2 else 1]:\n"
        "            fastad.evaluate(label, one, measures=MEASURES)\n"
        "            fastad.roc_auc(label, one)\n"
        "from fastad._kernels.curves import area\n"
        "from fastad._kernels.ordering import sweep\n"
        "print(json.dumps({name: len(kernel.signatures) for module in (sweep, area)\n"
        "    for name, kernel in vars(module).items() if hasattr(kernel, 'signatures')}))\n"
    )
    result = json.loads(run(code))
    assert set(result) == {name.rpartition(".")[2] for name in kernels()}
    assert {name: n for name, n in result.items() if n > 2} == {}
    assert result["count_packed"] == result["twice_area_packed"] == 2
