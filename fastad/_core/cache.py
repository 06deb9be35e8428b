"""Compiled kernels on disk: one file for each kernel, types of arguments and processor.

Numba chooses the folder, unless ``FASTAD_CACHE_DIR`` does, but its own files are not used: they
need a folder that can be written even when all is there to be read, as on the read-only disk of a
container. A file that is cut short raises. Two processes that fill an index at once can each name
the other's file, and load code for other types of arrays. A kernel's file does not notice that a
kernel of another module has changed.
"""

import hashlib
import inspect
import os
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, compiler, runtime, serialize

from fastad._core.files import written_aside
from fastad._core.version import __version__
from fastad.errors import CompilationCacheWarning

_VARIABLE = "FASTAD_CACHE_DIR"
# Some versions of Numba have types for a part of it, some for nothing.
_caching: Any = caching
_compiler: Any = compiler
_config: Any = numba.config
_serialize: Any = serialize
_runtime: Any = runtime
_SUFFIX = ".kernel"
_MARK_BYTES = 32
# Acquired by the first warning and never released: one warning a process, whatever the thread.
_warned = threading.Lock()


class KernelCache(caching.NullCache):
    """The cache of one kernel, as Numba's dispatcher uses it.

    Errors here cost time, not the result: the kernel is compiled in this process. Nothing
    is looked up or created before the first call, and nothing written before something is compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @property
    def cache_path(self) -> str | None:
        """The folder in use, None where there is none."""
        return next(map(str, self._folders), None)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types of arguments; None where there is none."""
        try:
            # What the code calls. Numba's implementations of functions, which a refresh of the
            # context imports in 0.3 s, compilation alone needs.
            _runtime.rtsys.initialize(target_context)
            name = self._file_name(sig, target_context)
            for folder in self._folders:
                data = _read(folder / name)
                if data is not None:
                    return _compiler.CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception as error:
            self._warn(error)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code compiled for these types of arguments, where that is possible."""
        try:
            if self._home is None:
                raise OSError("no folder can be written")
            if data.library.has_dynamic_globals:
                raise ValueError(f"{self._function.__name__} contains an address of this process")
            name = self._file_name(sig, data.target_context)
            _write(self._home / name, _serialize.dumps(data._reduce()))
        except Exception as error:
            self._warn(error)

    @cached_property
    def _home(self) -> Path | None:
        """The folder to write to, which need not exist yet."""
        named = os.environ.get(_VARIABLE)
        if named:
            return _version_folder(named)
        try:
            return Path(_caching.FunctionCache(self._function).cache_path)
        except RuntimeError as error:
            if "no locator available" not in str(error):
                raise
            return None

    @cached_property
    def _folders(self) -> list[Path]:
        """The folders to read from: a read-only install's folder may have been filled before."""
        folders = [] if self._home is None else [self._home]
        beside = Path(inspect.getfile(self._function)).parent / "__pycache__"
        chosen = os.environ.get(_VARIABLE) or _config.CACHE_DIR
        if not chosen and beside not in folders and any(beside.glob("*" + _SUFFIX)):
            folders.append(beside)
        return folders

    def _file_name(self, sig: Any, target_context: Any) -> str:
        """Name the dependencies of the machine code, other than the sources."""
        function = self._function
        key = (
            *(function.__module__, function.__qualname__, sig),
            *(numba.__version__, _config.BOUNDSCHECK, sys.implementation.cache_tag),
            target_context.codegen().magic_tuple(),  # system, processor and its features
        )
        digest = hashlib.sha256(repr(key).encode()).hexdigest()[:24]
        module = function.__module__.rpartition(".")[2]
        return f"{module}.{function.__name__}-{digest}{_SUFFIX}"

    def _warn(self, error: Exception) -> None:
        if _warned.acquire(blocking=False):
            named = os.environ.get(_VARIABLE)
            where = f"in {named}" if named else "on disk"
            warnings.warn(
                f"fastad cannot keep its compiled kernels {where}, so that every process compiles "
                f"them anew ({error}). Set {_VARIABLE} to a folder that can be written.",
                CompilationCacheWarning,
                stacklevel=2,
            )


@cache
def _version_folder(named: str) -> Path:
    """Return this version's folder, the same for all kernels if the process changes directory."""
    version = f"fastad-{__version__}-{_sources().hex()[:12]}"
    return Path(os.path.abspath(os.path.expanduser(named)), version)


@cache
def _sources() -> bytes:
    """Hash all kernels: a kernel contains the kernels of other files that it calls."""
    package = Path(str(files("fastad")))
    sources = [*package.glob("_kernels/**/*.py"), package / "_core" / "jit.py"]
    total = hashlib.sha256(__version__.encode())
    for source in sorted(sources, key=lambda path: path.as_posix()):
        content = source.read_bytes()
        total.update(f"{source.relative_to(package).as_posix()} {len(content)} ".encode() + content)
    return total.digest()


def _mark(data: bytes) -> bytes:
    return hashlib.sha256(_sources() + data).digest()


def _read(path: Path) -> bytes | None:
    """Return the content that the same sources wrote there, whole; None otherwise."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_MARK_BYTES:]
    return data if content[:_MARK_BYTES] == _mark(data) else None


def _write(path: Path, data: bytes) -> None:
    """Write a file that other processes find whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with written_aside(path) as aside:
            aside.write_bytes(_mark(data) + data)
    except OSError:
        if _read(path) is None:  # Windows refuses to replace a file that is just being read
            raise
