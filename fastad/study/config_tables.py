"""Checks of the tables of a configuration and of their keys."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError, InvalidTypeError


def check_table(values: Any, name: str) -> Mapping[str, Any]:
    """Check that a value of a configuration is a table."""
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"{name} must be a table; found {short_repr(values)}", argument=name)
    return values


def check_tables(values: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Check that a value of a configuration is an array of tables."""
    if not isinstance(values, list | tuple):
        raise InvalidTypeError(
            f"{name} must be an array of tables; found {short_repr(values)}", argument=name
        )
    return [check_table(value, f"{name}[{i}]") for i, value in enumerate(values)]


def check_keys(
    values: Mapping[str, Any], allowed: Iterable[str], prefix: str, *, of: str = "study"
) -> None:
    """Check the keys of a table; prefix is what messages put before a key."""
    names = list(allowed)
    for key in values:
        if key not in names:
            close = difflib.get_close_matches(str(key), names, n=1)
            meant = f"did you mean {prefix}{close[0]}? " if close else ""
            known = f"Known are {', '.join(names)}" if names else "no other key is known here"
            raise InvalidInputError(
                f"{prefix}{key} is no key of a {of}; {meant}{known}", argument=f"{prefix}{key}"
            )
