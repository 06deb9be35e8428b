"""Texts and digests of values and code, equal in every process if the values are equal.

A module is a library's if it is installed (below ``site-packages``); its version identifies it.
Any other module, such as one beside the study's file, is the user's own and changes without one.
"""

import dataclasses
import functools
import hashlib
import inspect
import json
import re
import sys
from collections.abc import Iterable, Mapping
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, MemberDescriptorType, MethodType
from typing import Any, TypeAlias

import numpy as np

from fastad._core.parameters import refused, short_repr
from fastad.errors import InvalidInputError

# Longer ones are cut, and a digest of the whole follows.
_MAX_TEXT = 200
# Version of the rows' content; another number makes every result new.
_LAYOUT = 1
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}")
# Classes and functions.
Code: TypeAlias = Any

_INSTALLED = {"site-packages", "dist-packages"}
_DISTRIBUTIONS = {"sklearn": "scikit-learn"}
_PLAIN = (str, bytes, bool, int, float, complex, type(None), np.generic, np.ndarray, np.ufunc)
_VALUES = (*_PLAIN, list, tuple, set, frozenset, Mapping)
# Attributes with the function that is wrapped, of the standard library and of Numba.
_WRAPPED = ("__wrapped__", "py_func")
# By module the digest of its file when it was last imported, and the spec that the import made.
_imported: dict[str, tuple[ModuleSpec | None, str]] = {}


def digest_of(*values: Any) -> str:
    """Return 16 hexadecimal digits that stand for plain values.

    A task is identified by the digest of all that its results depend on: equal digests are equal
    results, in any study. Versions of libraries are no part of it: the manifest has them.
    """
    text = json.dumps([_LAYOUT, *values], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def value_text(value: Any, where: str) -> str:
    """Return a value as a string, equal for values of one type that are equal.

    Detectors tell 1 from 1.0, one feature from all of them; numbers of NumPy are those of Python.
    Functions and classes are written as ``module.name``, objects with their parameters. Refused is
    what would be another string in another process: a lambda, a function within a function, an
    object that is shown by its address in memory.
    """
    text = _text(value, where)
    if len(text) > _MAX_TEXT:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{text[: _MAX_TEXT // 2]}… (digest {digest})"
    return text


def object_text(value: Any, where: str) -> str:
    """Return an object by its class and its parameters, or else its attributes."""
    has_params = hasattr(value, "get_params")
    options = value.get_params(deep=False) if has_params else _attributes(value)
    inside = ", ".join(f"{name}={value_text(options[name], where)}" for name in sorted(options))
    return f"{class_name(value)}({inside})"


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object, in slots too."""
    members = (item for kind in type(value).__mro__ for item in vars(kind).items())
    slots = [name for name, member in members if isinstance(member, MemberDescriptorType)]
    in_slots = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**in_slots, **getattr(value, "__dict__", {})}


def class_name(value: Any) -> str:
    """Return the class of an object, or a class, as ``module.name``."""
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _text(value: Any, where: str) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool | int | float | bytes | complex):
        return short_repr(value)
    if callable(value):
        name = _imported_name(value)
        if name is not None:
            return name
    if isinstance(value, FunctionType | BuiltinFunctionType | type | np.ufunc):
        _refuse(value, where)
    if isinstance(value, MethodType):
        return f"{_text(value.__self__, where)}.{value.__name__}"
    if isinstance(value, functools.partial):
        parts = [_text(part, where) for part in (value.func, *value.args)]
        parts += [f"{name}={_text(item, where)}" for name, item in value.keywords.items()]
        return f"partial({', '.join(parts)})"
    if isinstance(value, np.ndarray):
        return f"array({_text(value.tolist(), where)}, {value.dtype})"
    if isinstance(value, list):
        return f"[{_joined(value, where)}]"
    if type(value) is tuple:
        return f"({_joined(value, where)}{',' * (len(value) == 1)})"
    if isinstance(value, set | frozenset):
        return f"set({', '.join(sorted(_text(item, where) for item in value))})"
    if isinstance(value, Mapping):
        pairs = (f"{_text(key, where)}: {_text(item, where)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if hasattr(value, "get_params"):
        return object_text(value, where)
    text = " ".join(short_repr(value).split())
    if _ADDRESS.search(text):
        if hasattr(value, "__dict__") or hasattr(value, "__slots__"):
            return object_text(value, where)
        _refuse(value, where)
    return text


def _joined(values: Iterable[Any], where: str) -> str:
    return ", ".join(_text(item, where) for item in values)


def _imported_name(value: Any) -> str | None:
    """Return the name by which a function or a class can be imported, also one that is wrapped."""
    module = getattr(value, "__module__", None) or "numpy"  # which ufuncs do not say
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))
    if not isinstance(name, str):
        return None
    imported: Any = sys.modules.get(module)
    for part in name.split("."):
        imported = getattr(imported, part, None)
    return f"{module}.{name}" if imported is value else None


def _refuse(value: Any, where: str) -> None:
    raise refused(
        where,
        "be a value whose text is the same in every process, such as a function that can be "
        "imported by its name",
        short_repr(value),
    )


def own_code(values: Iterable[Any]) -> dict[str, str]:
    """Return digests of the code of classes, functions and objects, and of their contents.

    Classes count with all classes that they inherit from, objects with their parameters or else
    their attributes, lists and mappings with their values. Digests are by module, of its file; the
    definitions of the program or notebook that runs the study have digests of their own lines, by
    their names in ``__main__``. Libraries are left out. Refused is code within a function, code
    without a file or a source, and code whose file changed after it was imported, so that other
    code runs than it contains.
    """
    digests: dict[str, str] = {}
    for code in _codes_of(values):
        is_program = code.__module__ == "__main__"
        if not is_program and _library(code.__module__) is not None:
            continue
        if "<locals>" in code.__qualname__:
            raise InvalidInputError(
                "detectors and measures must not be defined within a function, since no digest has "
                f"the values of its variables; found {code.__qualname__}",
                argument="detectors",
            )
        if is_program:
            digests[f"__main__.{code.__qualname__}"] = _digest_of_source(code)
        else:
            digests[code.__module__] = _digest_of_file(code)
    return dict(sorted(digests.items()))


def check_code(values: Iterable[Any], planned: Mapping[str, str]) -> None:
    """Raise `InvalidInputError` unless the code is the same as when a study was planned.

    The code of ``__main__`` need not be checked: worker processes get it from there.
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
    """Return classes and functions of values, and of their contents."""
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
    """Return the components of an object."""
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
    # For a library's wrapper of a function, the function.
    contents = [getattr(value, name, None) for name in _WRAPPED]
    # Objects of fastad too: a measure of the user's has his function as an attribute.
    if _library(type(value).__module__) in (None, "fastad"):
        contents += _attributes(value).values()
    return [type(value), *contents]


def _library(module: str) -> str | None:
    """Return the library of a module, None for a module of the user's own."""
    top = module.partition(".")[0]
    # The name that compiled code has for its module may be no module.
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
    """Return the digest of the file of a class or function, which must match the imported code."""
    name = code.__module__
    module, file = sys.modules[name], Path(_file_of(name) or "")
    if not file.is_file():
        raise _error_without_source(code)
    digest = _digest(file.read_bytes())
    spec, first_digest = _imported.get(name, (None, ""))
    current: Any = module
    for part in code.__qualname__.split("."):
        current = getattr(current, part, None)
        for attribute in _WRAPPED:
            current = getattr(current, attribute, current)
    # A module has a new spec when it is imported anew; its old classes do not change by that.
    if (spec is module.__spec__ and digest != first_digest) or (
        isinstance(current, type | FunctionType) and _compiled(current) != _compiled(code)
    ):
        raise InvalidInputError(
            f"detectors and measures must run the code of their files; found {file} changed since "
            f"{code.__qualname__} was imported: reload it, or start Python anew",
            argument="detectors",
        )
    _imported[name] = module.__spec__, digest
    return digest


def _digest_of_source(code: Code) -> str:
    """Return the digest of the functions of a class or function, and of its values."""
    members = vars(code) if isinstance(code, type) else {}
    parts = [
        f"{name} = {_text(value, f'{code.__qualname__}.{name}')}"
        for name, value in members.items()
        if isinstance(value, _VALUES) and not name.startswith("__")
    ]
    for function in _functions(code):
        try:
            parts.append(inspect.getsource(function))
        except OSError:  # typed at a prompt, or generated from the attributes of a dataclass
            if not (dataclasses.is_dataclass(code) and function.__name__.startswith("__")):
                raise _error_without_source(code) from None
    return _digest("\n".join(parts).encode())


def _error_without_source(code: Code) -> InvalidInputError:
    return InvalidInputError(
        "detectors and measures must be defined in a file, whose digest tells when they change; "
        f"found {code.__qualname__} without",
        argument="detectors",
    )


def _compiled(code: Code) -> list[CodeType]:
    return [function.__code__ for function in _functions(code)]


def _functions(code: Code) -> list[FunctionType]:
    """Return the functions of a class, its properties' functions too, or a function itself."""
    members = list(vars(code).values()) if isinstance(code, type) else [code]
    functions = []
    for member in members:
        if isinstance(member, property):
            members += [member.fget, member.fset, member.fdel]
        elif isinstance(member, FunctionType | staticmethod | classmethod):
            functions.append(getattr(member, "__func__", member))
    return [each for each in functions if isinstance(each, FunctionType)]


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
