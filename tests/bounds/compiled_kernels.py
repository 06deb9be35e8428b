"""Which kernels were compiled by tests that have run before, in a cache of their own.

`.ci/run` names this file, which no other run collects.
"""

import importlib
import os
import pkgutil
from pathlib import Path

from numba.core.registry import CPUDispatcher

import fastad._kernels


def kernels() -> set[tuple[str, str]]:
    """Return the folder and the name of each kernel, with that of its module."""
    found = set()
    for module in pkgutil.walk_packages(fastad._kernels.__path__, "fastad._kernels."):
        *_, folder, stem = module.name.split(".")
        for name, function in vars(importlib.import_module(module.name)).items():
            if isinstance(function, CPUDispatcher) and function.__module__ == module.name:
                found.add((folder, f"{stem}.{name}"))
    return found


def test_every_kernel_was_compiled_with_its_bounds_checked() -> None:
    assert os.environ["NUMBA_BOUNDSCHECK"] == "1"
    files = Path(os.environ["NUMBA_CACHE_DIR"]).glob("*/*.kernel")
    # A folder is named by that of the sources and a digest.
    compiled = {
        (path.parent.name.rpartition("_")[0], path.name.rpartition("-")[0]) for path in files
    }
    assert kernels() - compiled == set()
