"""Threads, forked and fresh processes, the cache of compiled kernels, and running without it."""

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fastad
from fastad import InvalidInputError
from fastad._kernels import area, sweep
from fastad._threads import available_threads, thread_limit, thread_map

Array = npt.NDArray[Any]

_RNG = np.random.default_rng(11)
Y = _RNG.random(3000) < 0.1
SCORES: dict[str, Array] = {
    "float64": _RNG.normal(size=3000) + Y,
    "float32": (_RNG.normal(size=3000) + Y).astype(np.float32),
    "ties": np.round(_RNG.normal(size=3000) + Y),
    "int": _RNG.integers(0, 50, 3000) + 5 * Y,
}
MEASURES = [
    *("auc", "auc_w", "ap", "auc@0.05", "tpr@0.01", "precision@0.05", "f1@0.05"),
    *("precision@fpr0.05", "fpr@tpr0.9", "auc@tpr0.9", "precision@n", "recall@k100"),
]

# All kinds of scores that the kernels see, small enough to run without compilation.
EVERYTHING = f"""
import json, sys
import numpy as np
import fastad
MEASURES = {MEASURES!r}
rng = np.random.default_rng(0)
y = rng.random(40) < 0.4
f = rng.normal(size=40)
f[::7] = f[0]
f[[3, 4, 8]] = [-0.0, 0.0, 5e-324]
scores = {{"f64": f, "f32": f.astype(np.float32), "f16": f.astype(np.float16), "bool": f > 0}}
infinite = f.copy()
infinite[[5, 6]] = [np.inf, -np.inf]
scores["infinite"] = infinite
scores["infinite32"] = infinite.astype(np.float32)
scores["wide64"] = np.where(np.arange(40) % 2, 1e308, -1e-308) * rng.random(40)
scores["wide32"] = (np.where(np.arange(40) % 2, 1e38, -1e-38) * rng.random(40)).astype(np.float32)
for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
    info = np.iinfo(name)
    scores[name] = rng.integers(0, 5, 40).astype(name)
    scores[name + " full"] = rng.integers(info.min, info.max, 40, dtype=name, endpoint=True)
    scores[name + " full"][:2] = info.min, info.max
values = {{}}
for name, s in scores.items():
    for kind, weights in [("none", None), ("whole", np.arange(40) % 4), ("real", f * f)]:
        result = fastad.evaluate(y, s, measures=MEASURES, sample_weight=weights)["score"]
        ranked = fastad.rank_scores(y, s, sample_weight=weights)
        curve, pr = ranked.roc_curve(drop_collinear=True), ranked.precision_recall_curve()
        values[name + " " + kind] = [
            *map(float.hex, result.values()),
            *map(str, result.operating_points),
            str([curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist()]),
            str(pr.precision.tolist()),
            str(ranked.threshold_at_rate(rate=[0.1, 0.5])),
            str(ranked.confusion_at(k=7)),
        ]
    values[name] = [fastad.roc_auc(y, s).hex(), fastad.weighted_auc(y, s, quadrature="exact").hex()]
"""
SHOW = "print(json.dumps(values))\n"
COUNT_MISSES = """
import importlib, pkgutil
import fastad._kernels
misses, hits = {}, 0
for module in pkgutil.iter_modules(fastad._kernels.__path__):
    for name, kernel in vars(importlib.import_module("fastad._kernels." + module.name)).items():
        if hasattr(kernel, "stats"):
            hits += sum(kernel.stats.cache_hits.values())
            if kernel.stats.cache_misses:
                misses[module.name + "." + name] = sum(kernel.stats.cache_misses.values())
print(json.dumps([misses, hits]))
"""


def run(code: str, *options: str, cwd: Path | None = None, **env: str) -> str:
    """Run code in a new process, warnings being errors; return its stdout."""
    result = subprocess.run(
        [sys.executable, *(options or ("-W", "error")), "-c", code],
        env={**{k: v for k, v in os.environ.items() if k != "FASTAD_NUM_THREADS"}, **env},
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


@pytest.fixture(scope="module")
def expected() -> str:
    """All values, as found by the compiled kernels."""
    return run(EVERYTHING + SHOW)


@pytest.fixture(scope="module")
def after_warmup(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A cache folder that ``fastad warmup`` has filled, and what the next process missed there."""
    folder = tmp_path_factory.mktemp("cache")
    run("from fastad.cli.warmup import run; run()", NUMBA_CACHE_DIR=str(folder))
    misses, hits = json.loads(run(EVERYTHING + COUNT_MISSES, NUMBA_CACHE_DIR=str(folder)))
    assert hits > 0
    return folder, misses


def all_values(n_threads: int | None = 1) -> str:
    return fastad.evaluate(Y, SCORES, measures=MEASURES, n_threads=n_threads).to_json()


# --- threads


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


def test_results_of_threads_come_in_the_order_of_the_items() -> None:
    items = list(range(200))
    with thread_limit(4):
        assert thread_map(lambda i: i * i, items) == [i * i for i in items]


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
    with pytest.raises(InvalidInputError, match="FASTAD_NUM_THREADS must be a whole number"):
        fastad.evaluate(Y, SCORES)


# --- processes


def put_values(queue: Any, values: Callable[[int], str]) -> None:
    queue.put(values(2))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    "method",
    [x for x in ("fork", "spawn", "forkserver") if x in multiprocessing.get_all_start_methods()],
)
def test_a_child_process_finds_the_same_values_after_use_of_threads(method: str) -> None:
    alone = all_values(2)
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=put_values, args=(queue, all_values))
    child.start()
    try:
        assert queue.get(timeout=60) == alone
        child.join(60)
        assert child.exitcode == 0
    finally:
        child.kill()
    assert all_values(2) == alone


# --- the cache of compiled kernels


def test_a_second_process_compiles_nothing(after_warmup: tuple[Path, dict[str, int]]) -> None:
    folder = str(after_warmup[0])
    misses, hits = json.loads(run(EVERYTHING + COUNT_MISSES, NUMBA_CACHE_DIR=folder))
    assert misses == {}
    assert hits > 0


def test_warmup_compiles_everything(after_warmup: tuple[Path, dict[str, int]]) -> None:
    assert after_warmup[1] == {}


@pytest.fixture
def no_cache(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the package beside which, and anywhere else, no cache folder can be made.

    A plain file stands where each folder would be, which stops even the superuser.
    """
    source = Path(str(fastad.__file__)).parent
    shutil.copytree(source, tmp_path / "fastad", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "fastad", *(tmp_path / "fastad").rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    blocked = tmp_path / "blocked"
    blocked.touch()
    places = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE", "NUMBA_CACHE_DIR")
    return tmp_path, dict.fromkeys(places, str(blocked / "folder"))


def test_without_a_cache_folder_one_warning_says_so_and_values_are_right(
    no_cache: tuple[Path, dict[str, str]],
) -> None:
    folder, env = no_cache
    code = (
        "import sys, fastad; print(fastad.__file__)\n"
        "print(fastad.evaluate([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])['score']['auc'])"
    )
    shown = run(code, "-W", "default", cwd=folder, **env)
    lines = shown.splitlines()
    assert Path(lines[0]).is_relative_to(folder)
    assert lines[1] == "0.75"
    assert shown.count("NUMBA_CACHE_DIR") == shown.count("CompilationCacheWarning") >= 1
    assert shown.count("CompilationCacheWarning") == 1


def test_a_cache_folder_that_fills_up_does_not_stop_a_measure(tmp_path: Path) -> None:
    """Writing a compiled kernel fails, as on a full disk."""
    code = """
import errno, numba.core.caching as caching
def full(self, *args):
    raise OSError(errno.ENOSPC, "No space left on device")
caching.IndexDataCacheFile._save_data = full
import fastad
print(fastad.roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]))
"""
    assert "0.75" in run(code, "-W", "default", NUMBA_CACHE_DIR=str(tmp_path))


# --- without compilation


def test_without_compilation_values_are_the_same(expected: str) -> None:
    found = json.loads(run(EVERYTHING + SHOW, "-W", "ignore", NUMBA_DISABLE_JIT="1"))
    assert [name for name, values in json.loads(expected).items() if found[name] != values] == []


def test_without_compilation_nothing_warns() -> None:
    run(EVERYTHING, "-W", "error", NUMBA_DISABLE_JIT="1")


# --- compiled signatures


def kernels() -> dict[str, Any]:
    return {
        f"{module.__name__}.{name}": kernel
        for module in (sweep, area)
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures")
    }


def test_kernels_have_one_signature_for_each_width_or_kind_of_counts() -> None:
    """STYLE.md section 2: 32 and 64 bits for keys; whole and real counts for what reads counts."""
    code = EVERYTHING + (
        "labels = [y.astype(t) for t in 'i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 >i4 >f8'.split()]\n"
        "rows = [np.repeat(y, 2)[::2], np.ascontiguousarray(y)[::-1][::-1], y.tolist()]\n"
        "rows[1].flags.writeable = False\n"
        "for label in labels + rows:\n"
        "    for s in scores.values():\n"
        "        swapped = s.astype(s.dtype.newbyteorder())\n"
        "        for one in (s, np.repeat(s, 2)[::2], s[::-1][::-1], swapped):\n"
        "            fastad.evaluate(label, one, measures=MEASURES)\n"
        "            fastad.roc_auc(label, one)\n"
        "from fastad._kernels import sweep, area\n"
        "print(json.dumps({name: len(kernel.signatures) for module in (sweep, area)\n"
        "    for name, kernel in vars(module).items() if hasattr(kernel, 'signatures')}))\n"
    )
    found = json.loads(run(code))
    assert set(found) == {name.rpartition(".")[2] for name in kernels()}
    assert {name: n for name, n in found.items() if n > 2} == {}
    assert found["count_packed"] == found["twice_area_packed"] == 2
