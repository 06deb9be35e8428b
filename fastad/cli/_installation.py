"""``fastad doctor``: versions, the compilation cache, and what fastad runs on."""

import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import fastad
from fastad._core.threads import available_threads
from fastad._kernels.ordering import keys
from fastad.cli._console import print_result
from fastad.ordering.orders import numpy_sorts_fast, sort, sort_ratio

_LIBRARIES = (
    "numpy",
    "numba",
    "scipy",
    "scikit-learn",
    "matplotlib",
    "pandas",
    "polars",
    "pyarrow",
)
# A million scores, as in the benchmarks.
_SORTED = 1_000_000


def diagnose() -> None:
    """Print versions, cache folder, threads, and what the sort runs on."""
    facts = {
        "fastad": fastad.__version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        **{name: _version(name) for name in _LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
        "threads": f"{available_threads()} of {os.cpu_count()} processors",
        "cache folder": _cache_folder(),
        "SIMD": _simd(),
        "sort": _sort_speed(),
    }
    width = max(map(len, facts))
    print_result("\n".join(f"{name.ljust(width)}  {value}" for name, value in facts.items()))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cache_folder() -> str:
    stats: Any = getattr(keys.label_counts, "stats", None)
    folder = getattr(stats, "cache_path", None)
    if folder is None:
        return "none: kernels are compiled in every process"
    parent = next(path for path in (Path(folder), *Path(folder).parents) if path.exists())
    return f"{folder} ({'writable' if os.access(parent, os.W_OK) else 'read-only'})"


def _simd() -> str:
    """Return the instruction sets beyond NumPy's baseline that this processor has."""
    config: Any = np.show_config(mode="dicts")
    extensions: Mapping[str, list[str]] = config.get("SIMD Extensions", {})
    return ", ".join([*extensions.get("baseline", []), *extensions.get("found", [])]) or "unknown"


def _sort_speed() -> str:
    """Measure the sort of 64-bit integers that orders all scores, and tell whose it is."""
    values = np.random.default_rng(0).integers(0, 2**62, _SORTED)
    sort(values.copy())  # compiled, or loaded
    times = []
    for _ in range(3):
        copy = values.copy()
        start = time.perf_counter()
        sort(copy)
        times.append(time.perf_counter() - start)
    whose = "NumPy's" if numpy_sorts_fast() else "digit by digit, as NumPy's is slow here"
    ratio = f"NumPy's takes {100 * sort_ratio():.0f} % of the time of its stable sort"
    return f"{1e9 * min(times) / _SORTED:.1f} ns a score ({whose}; {ratio})"
