"""Compiled kernels on disk: where they are kept, when they are used, and what may go wrong."""

import ctypes
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastad
from fastad._core import cache as _cache
from fastad._core.jit import kernel
from fastad.errors import CompilationCacheWarning
from tests.support.kernels import kernels
from tests.support.processes import CERTAINTY, COUNT_MISSES, EVERYTHING, environment, run
from tests.support.warmed_programs import WARMED

# One kernel in five forms, each of which takes little time to compile.
ONE = """
import json, fastad, numpy as np
from fastad._kernels.sums import add
for two in (2, 2.0, np.float32(2), np.int32(2), np.uint8(2)):
    assert add(1, 0, two) == (3, 0)
"""
ANOTHER_FORM = "\nassert add(1.5, 0, 2) == (3.5, 0)\n"
# A user's functions have no place in the cache: what they do may change from process to process.
USER_FUNCTIONS = """
import json, sys
import numba, numpy as np, fastad

@numba.njit
def score(point):
    return {expression}

@numba.njit(nogil=True)
def write(points, scores):
    for i in range(points.shape[1]):
        scores[i] = score(points[:, i])

class Scorer(fastad.detectors.CompiledScorer):
    n_features, name, kernel = 1, "scorer", write

box = fastad.Box([0], [1])
fractions = [
    fastad.volume(one, 0.5, box, method="uniform", n_draws=20_000, rng=0).value
    for one in (score, Scorer())
]
assert fractions[0] == fractions[1] and abs(fractions[0] - {fraction}) < 0.02, fractions
"""
# Kernels that only detectors of PyOD call.
PYOD = {
    *("centres.distance_to_large", "centres.mean_of_spheres"),
    *("histogram.sum_of_bins", "support.sum_distances"),
}
# Neither the user's folders nor those of who runs these tests.
NUMBA_CHOOSES = {"FASTAD_CACHE_DIR": "", "NUMBA_CACHE_DIR": ""}
HOMES = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "USERPROFILE")
HOMELESS = dict.fromkeys(HOMES, "/dev/null/home")


def misses(code: str = ONE, **options: Any) -> dict[str, int]:
    """Return what a new process compiled: kernels and how often. Warnings are errors."""
    result, hits = json.loads(run(code + COUNT_MISSES, **options))
    assert result or hits > 0
    return dict(result)


def only_warning(code: str = ONE, **options: Any) -> str:
    """Return the only warning of a process, which works all the same."""
    shown = run(code, "-W", "always", **options)
    assert shown.count("CompilationCacheWarning: ") == shown.count("Warning: ") == 1
    return shown


def copy_package(folder: Path) -> Path:
    source = Path(str(fastad.__file__)).parent
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(source, folder / "fastad", ignore=ignored))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, int]]:
    """A cache folder that holds what `ONE` calls, and what was compiled for it."""
    folder = tmp_path_factory.mktemp("filled")
    return folder, misses(FASTAD_CACHE_DIR=str(folder))


@pytest.fixture
def copied(filled: tuple[Path, dict[str, int]], tmp_path: Path) -> Path:
    """A copy of that folder, at another place."""
    return shutil.copytree(filled[0], tmp_path / "copied")


@pytest.fixture
def install(filled: tuple[Path, dict[str, int]], tmp_path: Path) -> Path:
    """Where a copy of the package is, filled at its default place."""
    package = copy_package(tmp_path / "install")
    (version,) = filled[0].iterdir()
    for group in (package / "_kernels").iterdir():
        if group.is_dir() and group.name != "__pycache__":
            shutil.copytree(version, group / "__pycache__", dirs_exist_ok=True)
    shutil.copytree(version, package / "_kernels" / "__pycache__", dirs_exist_ok=True)
    return package.parent


# Use.


@pytest.mark.system
def test_after_warmup_nothing_is_compiled(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """All in one test, so that one worker of pytest warms up.

    That takes a minute where the warm-up before all tests, which compiles the same, was not
    recorded in this clone; what has changed since then is compiled.
    """
    folder = tmp_path / "made" / "here"
    kept = _cache._version_folder(str(folder))
    kept.mkdir(parents=True)
    for path in request.config.cache.get("fastad/warmed", []):
        if Path(path).exists():
            shutil.copy(path, kept)
    said = run("from fastad.cli._warmup import warm_up; warm_up()", FASTAD_CACHE_DIR=str(folder))
    (version,) = folder.iterdir()
    assert re.fullmatch(rf"fastad-{re.escape(fastad.__version__)}-[0-9a-f]{{12}}", version.name)
    assert str(version) in said
    assert {path.suffix for path in version.iterdir()} == {".kernel"}
    compiled = {path.name.rpartition("-")[0] for path in version.iterdir()}
    missing = {name for _, name in kernels()} - compiled - PYOD
    # Sorting by digits is for processors on which NumPy sorts slowly.
    assert {name.partition(".")[0] for name in missing} <= {"radix"}
    # What is compiled is named, so one process does for all.
    programs = "\n".join((EVERYTHING, CERTAINTY, *WARMED))
    assert misses(programs, FASTAD_CACHE_DIR=str(folder)) == {}


@pytest.mark.system
def test_the_loops_of_a_users_functions_are_not_kept(tmp_path: Path) -> None:
    for expression, fraction in (("point[0]", 0.5), ("point[0] + 1", 0.0)):
        code = USER_FUNCTIONS.format(expression=expression, fraction=fraction)
        run(code, FASTAD_CACHE_DIR=str(tmp_path))
    assert any(tmp_path.rglob("draws.draw-*.kernel"))
    for loop in ("count", "write"):
        assert not any(tmp_path.rglob(f"draws.{loop}-*.kernel"))


@pytest.mark.system
@pytest.mark.parametrize("n_processes", ["1", "2"])
def test_warmup_that_cannot_keep_anything_is_an_error(tmp_path: Path, n_processes: str) -> None:
    (tmp_path / "file").touch()
    code = "from fastad.cli import main; import sys; sys.argv[1:] = ['warmup']\n"
    code += "try: main()\nexcept SystemExit as end: print('exit code', end.code)"
    folder = str(tmp_path / "file")
    said = run(code, FASTAD_CACHE_DIR=folder, FASTAD_NUM_THREADS=n_processes)
    assert "exit code 1" in said
    assert f"Error: fastad cannot keep its compiled kernels in {tmp_path / 'file'}" in said


@pytest.mark.slow
def test_importing_makes_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    code = "import sys, fastad.cli.app; assert 'numba' not in sys.modules; "
    code += "import fastad._kernels.ordering.keys"
    run(code, FASTAD_CACHE_DIR=str(folder))
    assert not folder.exists()


@pytest.mark.system
def test_a_relative_folder_stays_where_it_was_when_the_process_changes_directory(
    tmp_path: Path,
) -> None:
    (tmp_path / "elsewhere").mkdir()
    code = f"{ONE}\nimport os; os.chdir('elsewhere'){ANOTHER_FORM}"
    run(code, cwd=tmp_path, FASTAD_CACHE_DIR="cache")
    assert [path.name for path in tmp_path.iterdir() if any(path.iterdir())] == ["cache"]


@pytest.mark.system
@pytest.mark.parametrize("variable", ["FASTAD_CACHE_DIR", "NUMBA_CACHE_DIR"])
def test_a_folder_that_is_named_is_the_only_one(
    filled: tuple[Path, dict[str, int]], install: Path, tmp_path: Path, variable: str
) -> None:
    env = {**NUMBA_CHOOSES, variable: str(tmp_path / "named")}
    assert misses(cwd=install, **env) == filled[1]
    assert {path.suffix for path in (tmp_path / "named").glob("*/*")} == {".kernel"}
    assert misses(cwd=install, **env) == {}


# What decides whether a file is used.


@pytest.mark.system
@pytest.mark.parametrize(
    ("before", "env"),
    [
        ("", {"NUMBA_CPU_NAME": "generic"}),
        ("", {"NUMBA_CPU_FEATURES": ""}),
        ("", {"NUMBA_BOUNDSCHECK": "1"}),
        ("import numba; numba.__version__ = 'another'", {}),
        ("import sys, numpy, fastad._core.jit; sys.implementation.cache_tag = 'another'", {}),
    ],
    ids=["processor", "features", "bounds check", "numba", "python"],
)
def test_code_for_another_machine_is_not_used(
    filled: tuple[Path, dict[str, int]], copied: Path, before: str, env: dict[str, str]
) -> None:
    env = {**env, "FASTAD_CACHE_DIR": str(copied), "PYTHONDONTWRITEBYTECODE": "1"}
    files = {path: path.read_bytes() for path in copied.rglob("*.kernel")}
    assert misses(before + ONE, **env) == filled[1]
    assert misses(before + ONE, **env) == {}
    # What this machine uses is left as it was.
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.system
@pytest.mark.parametrize(
    ("changed", "is_named"),
    [
        ("_core/version.py", True),
        ("_core/jit.py", True),
        ("_kernels/resampling/subsample.py", True),
        ("_kernels/resampling/subsample.py", False),
    ],
)
def test_code_of_another_version_is_not_used(
    filled: tuple[Path, dict[str, int]], copied: Path, install: Path, changed: str, is_named: bool
) -> None:
    """`add` calls no kernel of the file `subsample`: any change of any kernel counts."""
    env = {**NUMBA_CHOOSES, **({"FASTAD_CACHE_DIR": str(copied)} if is_named else {})}
    assert misses(cwd=install, **env) == {}
    file = install / "fastad" / changed
    before = file.read_text(encoding="utf-8")
    version = f'__version__ = "{fastad.__version__}"'
    after = before.replace(version, '__version__ = "99.0"')
    file.write_text(after if after != before else before + "# changed\n", encoding="utf-8")
    assert misses(cwd=install, **env) == filled[1]
    assert len(list(copied.iterdir())) == 1 + is_named


# Folders that cannot be written.


@pytest.fixture
def no_cache(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the package beside which, and anywhere else, no cache folder can be made.

    A plain file stands where each folder would be, which stops even the superuser.
    """
    package = copy_package(tmp_path)
    for folder in [package, *package.rglob("*")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    blocked = tmp_path / "blocked"
    blocked.touch()
    return tmp_path, dict.fromkeys((*HOMES, "NUMBA_CACHE_DIR"), str(blocked / "folder"))


@pytest.mark.system
def test_without_a_cache_folder_one_warning_says_so(no_cache: tuple[Path, dict[str, str]]) -> None:
    folder, env = no_cache
    shown = only_warning(ONE + "print(fastad.__file__)", cwd=folder, **env)
    assert str(folder) in shown.splitlines()[0]
    assert "Set FASTAD_CACHE_DIR to a folder that can be written" in shown


@pytest.mark.system
def test_a_folder_that_cannot_be_made_is_named_in_one_warning(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    shown = only_warning(FASTAD_CACHE_DIR=str(folder))
    assert f"in {folder}, so that" in shown
    assert "FASTAD_CACHE_DIR" in shown


@pytest.mark.system
@pytest.mark.parametrize("call", ["pathlib.Path.write_bytes", "os.replace"])
def test_a_disk_that_is_full_does_not_stop_a_measure(tmp_path: Path, call: str) -> None:
    code = f"""
import errno, os, pathlib
def full(path, *args):
    pathlib.Path(path).touch()
    raise OSError(errno.ENOSPC, "No space left on device")
{call} = full
"""
    assert "No space left" in only_warning(code + ONE, FASTAD_CACHE_DIR=str(tmp_path))
    (version,) = tmp_path.iterdir()
    assert list(version.iterdir()) == []


@pytest.fixture
def by() -> tuple[str, ...]:
    """What starts a process that may not write where the permissions do not allow it."""
    if os.name == "nt":
        pytest.skip("on Windows the permissions of a folder do not forbid to write into it")
    if os.geteuid() != 0:
        return ()
    command = ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-all")
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the superuser may write anywhere, and setpriv cannot take that right away")
    return command


def make_read_only(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        path.chmod(path.stat().st_mode & ~0o222)


@pytest.mark.system
def test_a_read_only_folder_that_is_filled_is_used(copied: Path, by: tuple[str, ...]) -> None:
    make_read_only(copied)
    assert misses(by=by, FASTAD_CACHE_DIR=str(copied)) == {}


@pytest.mark.system
def test_a_read_only_folder_that_lacks_a_kernel_is_named_in_one_warning(
    copied: Path, by: tuple[str, ...]
) -> None:
    make_read_only(copied)
    shown = only_warning(ONE + ANOTHER_FORM, by=by, FASTAD_CACHE_DIR=str(copied))
    assert f"in {copied}, so that" in shown
    assert "Permission denied" in shown


@pytest.mark.system
def test_a_read_only_install_that_is_filled_is_used(install: Path, by: tuple[str, ...]) -> None:
    make_read_only(install)
    assert misses(cwd=install, by=by, **NUMBA_CHOOSES, **HOMELESS) == {}


@pytest.mark.system
def test_a_read_only_install_that_is_empty_works(install: Path, by: tuple[str, ...]) -> None:
    for path in install.rglob("*.kernel"):
        path.unlink()
    make_read_only(install)
    code = ONE + "print(fastad.__file__)"
    shown = only_warning(code, cwd=install, by=by, **NUMBA_CHOOSES, **HOMELESS)
    assert str(install) in shown.splitlines()[0]


@pytest.mark.system
def test_a_read_only_install_for_another_processor_is_completed_in_the_users_folder(
    filled: tuple[Path, dict[str, int]], install: Path, tmp_path: Path, by: tuple[str, ...]
) -> None:
    make_read_only(install)
    home = tmp_path / "home"
    home.mkdir()
    env = {**NUMBA_CHOOSES, **dict.fromkeys(HOMES, str(home)), "NUMBA_CPU_NAME": "generic"}
    assert misses(cwd=install, by=by, **env) == filled[1]
    assert misses(cwd=install, by=by, **env) == {}
    assert len(list(home.rglob("*.kernel"))) == len(list(filled[0].rglob("*.kernel")))


@pytest.mark.system
@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_other_users_may_read_what_the_umask_lets_them_read(tmp_path: Path) -> None:
    """An image is built by the superuser and run by another user."""
    run("import os; os.umask(0o027)\n" + ONE, FASTAD_CACHE_DIR=str(tmp_path))
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*.kernel")} == {0o640}


# Files that are damaged, processes at once.


@pytest.mark.system
def test_damaged_files_are_replaced(filled: tuple[Path, dict[str, int]], copied: Path) -> None:
    """Each is damaged in a way of its own."""
    damages: list[Callable[[bytes], bytes]] = [
        lambda content: b"",
        lambda content: content[:20],
        lambda content: content[: len(content) // 2],
        lambda content: bytes(len(content)),
        lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
    ]
    sizes = {path: path.stat().st_size for path in sorted(copied.rglob("*.kernel"))}
    assert len(sizes) >= len(damages)
    for path, damage in zip(sizes, itertools.cycle(damages), strict=False):
        path.write_bytes(damage(path.read_bytes()))
    assert misses(FASTAD_CACHE_DIR=str(copied)) == filled[1]
    assert {path for path in copied.rglob("*.kernel") if path.stat().st_size > 5000} == set(sizes)
    assert misses(FASTAD_CACHE_DIR=str(copied)) == {}


@pytest.mark.system
def test_processes_that_fill_one_folder_at_once_leave_it_whole(tmp_path: Path) -> None:
    """Each begins with another type, so that they save other forms of one kernel."""
    types = ["f8", "f4", "i8", "i4"]
    code = """
import json, sys
import numpy as np, fastad
from fastad._kernels.sums import add
for name in {types}:
    assert add(np.dtype(name).type(1), 0, 2) == (3, 0)
"""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code.format(types=types[i:] + types[:i])],
            env=environment(FASTAD_CACHE_DIR=str(tmp_path)),
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(4)
    ]
    errors = [process.communicate(timeout=600)[1] for process in processes]
    assert errors == [""] * 4
    assert misses(code.format(types=types), **{"FASTAD_CACHE_DIR": str(tmp_path)}) == {}
    assert {path.suffix for path in tmp_path.glob("*/*")} == {".kernel"}


# One kernel.


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder of this process, which has not warned yet."""
    monkeypatch.setenv("FASTAD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_cache, "_warned", threading.Lock())
    return tmp_path


def add(a: int, b: int) -> int:
    return a + b


def test_types_of_arguments_have_separate_files(folder: Path) -> None:
    first, second = kernel(add), kernel(add)
    assert [first(1, 2), first(1, 0.5), first(0.5, 0.5)] == [3, 1.5, 1.0]  # type: ignore[arg-type]
    assert len(list(folder.rglob("*.kernel"))) == 3
    assert [second(1, 2), second(1, 0.5), second(0.5, 0.5)] == [3, 1.5, 1.0]  # type: ignore[arg-type]
    stats: Any = second.stats  # type: ignore[attr-defined]
    assert (sum(stats.cache_hits.values()), sum(stats.cache_misses.values())) == (3, 0)


def test_a_file_that_another_process_reads_need_not_be_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows refuses; the file has been saved by then."""
    replace = os.replace

    def replace_and_refuse(source: Path, target: Path) -> None:
        replace(source, target)
        raise PermissionError(13, "Access is denied")

    monkeypatch.setattr(os, "replace", replace_and_refuse)
    assert kernel(add)(1, 2) == 3
    assert len(list(folder.rglob("*.kernel"))) == 1


def test_code_that_contains_an_address_of_the_process_is_not_kept(folder: Path) -> None:
    half = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(lambda x: x / 2)

    def call_half(x: float) -> float:
        return float(half(x))

    with pytest.warns(CompilationCacheWarning, match="call_half contains an address"):
        assert kernel(call_half)(3.0) == 1.5
    assert list(folder.rglob("*.kernel")) == []


def test_what_a_later_numba_refuses_does_not_stop_a_kernel(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_cache, "_serialize", None)
    with pytest.warns(CompilationCacheWarning, match="no attribute 'dumps'"):
        assert kernel(add)(1, 2) == 3
