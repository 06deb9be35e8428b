"""Checks of configurations and data, and their messages."""

from fastad.errors import InvalidInputError, InvalidTypeError


def refused(name: str, expected: str, found: object) -> InvalidInputError:
    """Return the error of an argument, which must do as expected and does not."""
    return InvalidInputError(f"{name} must {expected}; found {found}")


def mistyped(name: str, expected: str, found: object) -> InvalidTypeError:
    """Return the error of an argument of a wrong type."""
    return InvalidTypeError(f"{name} must {expected}; found {found}")
