"""The code that a study runs and that is not fastad's: versions of libraries, digests of the rest.

A module is a library's if it is installed (below ``site-packages``); its version says what it is.
Any other module, such as one beside the study's file, is the user's own and changes without one.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from fastad.errors import InvalidInputError

# Classes and functions.
Code: TypeAlias = Any

_INSTALLED = {"site-packages", "dist-packages"}
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, np.ndarray, np.ufunc)
# Attributes with the function that is wrapped, of the standard library and of Numba.
_WRAPPED = ("__wrapped__", "py_func")
# Digests of the file and of the compiled code of a module, when it was last imported.
_imported: WeakKeyDictionary[ModuleType, tuple[str, str]] = WeakKeyDictionary()


def own_code(values: Iterable[Any]) -> dict[str, str]:
    """Return digests of the code of classes, functions and objects, and of what these contain.

    Parameters
    ----------
    values : iterable
        Classes, with all classes that they inherit from; functions; objects, with their
        parameters or else their attributes; lists and mappings of such, and plain values.

    Returns
    -------
    dict of str to str
        By module, or by class for one of ``__main__``: of the file of the module; of the program
        that runs the study, the lines of the class alone. Libraries are left out.

    Raises
    ------
    InvalidInputError
        If a file changed after it was imported, so that other code runs than it contains.
    """
    digests: dict[str, str] = {}
    for code in _codes_of(values):
        if code.__module__ == "__main__":
            digests[f"__main__.{code.__qualname__}"] = _digest_of_lines(code)
        elif _library(code.__module__) is None:
            digests[code.__module__] = _digest_of_file(code)
    return dict(sorted(digests.items()))


def check_code(values: Iterable[Any], planned: Mapping[str, str]) -> None:
    """Raise `InvalidInputError` unless the code is what it was when a study was planned.

    That of ``__main__`` need not be checked: worker processes get it from there.
    """
    for module, digest in own_code(values).items():
        if not module.startswith("__main__.") and digest != planned.get(module, digest):
            raise InvalidInputError(
                "detectors and measures must run the code that they were planned with; "
                f"{module} changed",
                argument="detectors",
            )


def library_versions(values: Iterable[Any]) -> dict[str, str]:
    """Return the versions of the libraries of classes, functions and objects, where they say it."""
    libraries = {_library(code.__module__) or "" for code in _codes_of(values)}
    libraries -= {"", *sys.stdlib_module_names}
    versions = {_DISTRIBUTIONS.get(name, name): _version(name) for name in libraries}
    return {name: number for name, number in sorted(versions.items()) if number is not None}


def _codes_of(values: Iterable[Any]) -> list[Code]:
    """Return classes and functions of values, and of what these contain."""
    codes: dict[Code, None] = {}
    # Objects may contain each other. They are kept, so that ids are not used again.
    seen: dict[int, Any] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, _PLAIN):
            continue
        seen[id(value)] = value
        if isinstance(value, type):
            codes |= dict.fromkeys(value.__mro__)
        elif isinstance(value, FunctionType):
            codes[value] = None
        else:
            waiting += _contents(value)
    return list(codes)


def _contents(value: Any) -> list[Any]:
    """Return what an object is made of."""
    if isinstance(value, MethodType):
        return [value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, Mapping):
        return [*value.keys(), *value.values()]
    if hasattr(value, "get_params"):
        return [type(value), *value.get_params(deep=False).values()]
    # Of what a library has made of a function, the function.
    contents = [getattr(value, name, None) for name in _WRAPPED]
    # Objects of fastad too: a measure of the user's has his function as an attribute.
    if _library(type(value).__module__) in (None, "fastad"):
        contents += vars(value).values() if hasattr(value, "__dict__") else []
    return [type(value), *contents]


def _library(module: str) -> str | None:
    """Return the library of a module, None for a module of the user's own."""
    top = module.partition(".")[0]
    # What compiled code calls its module may be no module.
    if top in sys.stdlib_module_names or top == "fastad" or module not in sys.modules:
        return top
    return top if _INSTALLED.intersection(Path(_file_of(module) or "").parts) else None


def _version(library: str) -> str | None:
    try:
        return version(_DISTRIBUTIONS.get(library, library))
    except (PackageNotFoundError, ValueError):
        number = getattr(sys.modules.get(library), "__version__", None)
        return None if number is None else str(number)


def _file_of(module: str) -> str | None:
    return getattr(sys.modules.get(module), "__file__", None)


def _digest_of_file(code: Code) -> str:
    """Return the digest of the file of a class or function, which must be what was imported."""
    module = sys.modules[code.__module__]
    file = _file_of(code.__module__)
    if file is None or not Path(file).is_file():
        return _digest_of_lines(code)
    digest, loaded = _digest(Path(file).read_bytes()), _digest_of_module(module)
    first_digest, first_loaded = _imported.setdefault(module, (digest, loaded))
    current = _attribute(module, code.__qualname__)
    if (digest != first_digest and loaded == first_loaded) or (
        isinstance(current, type | FunctionType)
        and _digest_of_compiled(current) != _digest_of_compiled(code)
    ):
        raise InvalidInputError(
            f"detectors and measures must run the code of their files; found {file} changed since "
            f"{code.__qualname__} was imported: reload it, or start Python anew",
            argument="detectors",
        )
    _imported[module] = digest, loaded
    return digest


def _attribute(module: ModuleType, path: str) -> Any:
    """Return what a module calls by a name, without what it is wrapped in."""
    value: Any = module
    for name in path.split("."):
        value = getattr(value, name, None)
    return _unwrapped(value)


def _unwrapped(value: Any) -> Any:
    for name in _WRAPPED:
        value = getattr(value, name, value)
    return value


def _digest_of_lines(code: Code) -> str:
    """Return the digest of the source of a class or function, of its compiled code without it."""
    members = vars(code).values() if isinstance(code, type) else [code]
    if any(each.__code__.co_filename.startswith("<") for each in _functions(members)):
        # Typed at a prompt. Where a script was run before, a class would get lines of the script.
        return _digest_of_compiled(code)
    try:
        return _digest(inspect.getsource(code).encode())
    except (OSError, TypeError):  # typed at a prompt
        return _digest_of_compiled(code)


def _digest_of_module(module: ModuleType) -> str:
    """Return the digest of the compiled code of the functions and classes of a module."""
    own = {
        name: _digest_of_compiled(value)
        for name, value in zip(vars(module), map(_unwrapped, vars(module).values()), strict=True)
        if isinstance(value, type | FunctionType) and value.__module__ == module.__name__
    }
    return _digest(repr(sorted(own.items())).encode())


def _digest_of_compiled(code: Code) -> str:
    """Return the digest of what a class or function does, without places in memory or in files."""
    members = vars(code) if isinstance(code, type) else {code.__name__: code}
    parts = [
        (
            name,
            [_plain_function(each) for each in _functions([member])],
            repr(member) if isinstance(member, _PLAIN) and not name.startswith("__") else "",
        )
        for name, member in sorted(members.items())
    ]
    return _digest(repr(parts).encode())


def _plain_function(function: FunctionType) -> tuple[Any, ...]:
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return _plain_code(function.__code__), [x for x in defaults if isinstance(x, _PLAIN)]


def _functions(members: Iterable[Any]) -> Iterator[FunctionType]:
    for member in members:
        if isinstance(member, property):
            yield from _functions([member.fget, member.fset, member.fdel])
        elif isinstance(member, staticmethod | classmethod):
            yield from _functions([member.__func__])
        elif isinstance(member, FunctionType):
            yield member


def _plain_code(code: CodeType) -> tuple[Any, ...]:
    constants = [
        _plain_code(x)
        if isinstance(x, CodeType)
        else repr(sorted(map(repr, x)) if isinstance(x, frozenset) else x)
        for x in code.co_consts
    ]
    return code.co_code, code.co_names, code.co_varnames, constants


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
