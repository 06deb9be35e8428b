"""Values of parameters as strings that are the same in every process, and digests of values."""

import functools
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError

# Longer ones are cut, and a digest of the whole follows.
_MAX_TEXT = 200
# Version of the rows' content; another number makes every result new.
_LAYOUT = 1
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}")


def digest_of(*values: Any) -> str:
    """Return 16 hexadecimal digits that stand for plain values.

    A task is identified by the digest of all that its results depend on: equal digests are equal
    results, in any study. Versions of libraries are no part of it: the manifest has them.
    """
    text = json.dumps([_LAYOUT, *values], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def named_text(name: str, value: Any, where: str) -> str:
    """Return a parameter with its value; see `value_text`."""
    return f"{name}={value if isinstance(value, str) else value_text(value, where)}"


def value_text(value: Any, where: str) -> str:
    """Return a value as a string, equal for numbers that are equal.

    Functions and classes are written as ``module.name``, objects with their parameters.

    Raises
    ------
    InvalidInputError
        If the string would be another one in another process: a lambda, a function within a
        function, an object that is shown by its address in memory.
    """
    text = _text(value, where)
    if len(text) > _MAX_TEXT:
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        text = f"{text[: _MAX_TEXT // 2]}… (digest {digest})"
    return text


def object_text(value: Any, where: str) -> str:
    """Return an object by its class and its parameters, or else its attributes."""
    if hasattr(value, "get_params"):
        options = value.get_params(deep=False)
    else:
        options = getattr(value, "__dict__", {})
    inside = ", ".join(named_text(name, options[name], where) for name in sorted(options))
    return f"{class_name(value)}({inside})"


def class_name(value: Any) -> str:
    """Return the class of an object, or a class, as ``module.name``."""
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _text(value: Any, where: str) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
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
        parts += [named_text(name, item, where) for name, item in value.keywords.items()]
        return f"partial({', '.join(parts)})"
    if isinstance(value, np.ndarray):
        return f"array({_joined(value.tolist(), where)})"
    if isinstance(value, list):
        return f"[{_joined(value, where)}]"
    if type(value) is tuple:
        return f"({_joined(value, where)}{',' * (len(value) == 1)})"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(_text(item, where) for item in value))}}}"
    if isinstance(value, Mapping):
        pairs = (f"{_text(key, where)}: {_text(item, where)}" for key, item in value.items())
        return f"{{{', '.join(pairs)}}}"
    if hasattr(value, "get_params"):
        return object_text(value, where)
    text = " ".join(short_repr(value).split())
    if _ADDRESS.search(text):
        if hasattr(value, "__dict__"):
            return object_text(value, where)
        _refuse(value, where)
    return text


def _joined(values: Any, where: str) -> str:
    items: Iterable[Any] = values if isinstance(values, list | tuple) else [values]
    return ", ".join(_text(item, where) for item in items)


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
    raise InvalidInputError(
        f"{where} must be a value whose text is the same in every process, such as a function "
        f"that can be imported by its name; found {short_repr(value)}",
        argument=where,
    )
