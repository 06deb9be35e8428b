"""Checks of configurations and data, and their messages."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError, InvalidTypeError


def refused(name: str, expected: str, found: object) -> InvalidInputError:
    """Return the error of an argument, which must do as expected and does not."""
    return InvalidInputError(f"{name} must {expected}; found {found}", argument=name)


def mistyped(name: str, expected: str, found: object) -> InvalidTypeError:
    """Return the error of an argument of a wrong type."""
    return InvalidTypeError(f"{name} must {expected}; found {found}", argument=name)


def check_table(values: Any, name: str) -> Mapping[str, Any]:
    """Check that a value of a configuration is a table."""
    if not isinstance(values, Mapping):
        raise mistyped(name, "be a table", short_repr(values))
    return values


def check_tables(values: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Check that a value of a configuration is an array of tables."""
    if not isinstance(values, list | tuple):
        raise mistyped(name, "be an array of tables", short_repr(values))
    return [check_table(value, f"{name}[{i}]") for i, value in enumerate(values)]


def check_keys(
    values: Mapping[str, Any], allowed: Iterable[str], prefix: str, *, of: str = "study"
) -> None:
    """Check the keys of a table; messages put ``prefix`` before a key."""
    names = list(allowed)
    for key in values:
        if key not in names:
            close = difflib.get_close_matches(str(key), names, n=1)
            meant = f"did you mean {prefix}{close[0]}? " if close else ""
            known = f"Known are {', '.join(names)}" if names else "no other key is known here"
            raise InvalidInputError(
                f"{prefix}{key} is no key of a {of}; {meant}{known}", argument=f"{prefix}{key}"
            )
