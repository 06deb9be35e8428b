"""The names of all kernels."""

import importlib
import pkgutil

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
