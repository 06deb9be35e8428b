import gc
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Jobs that a script runs in the background ignore Ctrl-C, and so would the tests of it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests run in as many processes as there are processors: more threads of BLAS and OpenMP wait for
# each other. This file is read before NumPy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Numba checks indices then, and no shifts.
if os.environ.get("NUMBA_BOUNDSCHECK") == "1":
    from tests.support.checked_shifts import check_shifts

    check_shifts()

# The same examples in every run and on every machine, however slow or busy it is; the first
# example may compile. With a seed the profile `seeded` draws others.
for name, examples in (("default", 5), ("thorough", 8), ("seeded", 10)):
    settings.register_profile(
        name,
        derandomize=name != "seeded",
        deadline=None,
        database=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile("default")


def pytest_configure(config: pytest.Config) -> None:
    """Compile in a new clone once what each process of tests would compile for itself.

    Whoever chooses the cache or how Numba compiles does so to see what the tests compile.
    """
    is_first = config.getoption("numprocesses", None) and not hasattr(config, "workerinput")
    chosen = [name for name in os.environ if name == "FASTAD_CACHE_DIR" or name[:6] == "NUMBA_"]
    home = Path(__file__).parents[1]
    if is_first and not chosen and not any((home / "fastad").glob("**/*.kernel")):
        subprocess.run([sys.executable, "-m", "fastad", "warmup"], cwd=home, check=False)
        if config.pluginmanager.hasplugin("cacheprovider"):
            compiled = [str(path) for path in (home / "fastad").glob("**/*.kernel")]
            config.cache.set("fastad/warmed", compiled)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep one case of each test in the default tier; the others are slow.

    So are the pages of the documentation; README is not.

    The tests of processes and builds, some of which take a minute, come first, and of these the
    tests of the whole project: at the end they would keep one worker busy while the others have
    nothing left.
    """
    items.sort(key=lambda item: (item.get_closest_marker("system") is None, len(item.path.parents)))
    seen: set[str] = set()
    for item in items:
        if item.path.suffix == ".md" and item.path.parent != item.config.rootpath:
            item.add_marker(pytest.mark.slow)
        name, _, case = item.nodeid.partition("[")
        if case and name in seen:
            item.add_marker(pytest.mark.slow)
        seen.add(name)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, which takes a fifth of that time.

    What was collected stays to the end, and is not looked through again and again.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
