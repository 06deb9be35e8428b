"""Configurations in TOML files, and checks of their tables and keys."""

import difflib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fastad._core.extras import import_extra
from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError, InvalidTypeError


def read_toml(file: Path) -> dict[str, Any]:
    """Return the content of a file."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors put a mark at the beginning
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file}: the file cannot be read: {error}") from None
    library = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    toml = import_extra(library, "a TOML file", extra="study")
    try:
        content: dict[str, Any] = toml.loads(text)
    except ValueError as error:  # of which the error of TOML is a kind
        raise InvalidInputError(f"{file}: the file is not TOML: {error}") from None
    return content


def check_table(values: Any, name: str) -> Mapping[str, Any]:
    """Check that a value of a configuration is a table."""
    if not isinstance(values, Mapping):
        raise InvalidTypeError(f"{name} must be a table; found {short_repr(values)}")
    return values


def check_tables(values: Any, name: str) -> Sequence[Mapping[str, Any]]:
    """Check that a value of a configuration is an array of tables."""
    if not isinstance(values, list | tuple):
        raise InvalidTypeError(f"{name} must be an array of tables; found {short_repr(values)}")
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
