"""Exceptions and warnings of fastad."""

import re

# The name of an argument, perhaps with a field or an index, with which a message begins.
_ITEM = re.compile(r"(?:X|[a-z])\w*(?:\.\w+|\[.*?\])*(?= must )")


class _ArgumentError(Exception):
    """Base of errors about arguments, which carry the name of the argument.

    By default the message begins with the name.
    """

    def __init__(self, message: str = "", *, argument: str | None = None) -> None:
        super().__init__(message)
        found = _ITEM.match(message) if argument is None else None
        self.item = argument if found is None else found[0]
        self.argument = None if self.item is None else self.item.partition("[")[0]


class InvalidInputError(_ArgumentError, ValueError):
    """An argument has a value that the function does not take.

    The message names the argument, what was expected and what was found.

    Attributes
    ----------
    argument : str or None
        Name of the argument without an index, where it is a single one.
    item : str or None
        Name with its index, such as ``y_score['forest']``, as the message begins.
    """


class InvalidTypeError(_ArgumentError, TypeError):
    """An argument has a type that the function does not take, or the function has no such option.

    The message names the argument, what was expected and what was found.

    Attributes
    ----------
    argument : str or None
        Name of the argument without an index, where it is a single one.
    item : str or None
        Name with its index, such as ``fpr[1]``, as the message begins.
    """


class UndefinedMeasureError(ValueError):
    """The data do not determine the measure, for example because one class is absent."""


class MissingExtraError(ImportError):
    """A feature needs a library of an optional extra that is not installed."""


class ForkedStateError(RuntimeError):
    """A thread was using the object when the process was forked: it may be half changed here.

    Give the child a copy or bytes that were made before, or fork before threads use the object, or
    start processes by spawn or forkserver.
    """


class CompilationCacheWarning(UserWarning):
    """Compiled kernels cannot be kept on disk, so that every process compiles them anew."""


class LowCoverageWarning(UserWarning):
    """An interval covers the true value less often than its level; no better method is known."""


class BatchScorerWarning(UserWarning):
    """A detector has no compiled form: its own method scores batch by batch."""


class InsufficientMixingWarning(UserWarning):
    """Particles of a splitting run may not represent the regions they were in."""


__all__ = [
    "BatchScorerWarning",
    "CompilationCacheWarning",
    "ForkedStateError",
    "InsufficientMixingWarning",
    "InvalidInputError",
    "InvalidTypeError",
    "LowCoverageWarning",
    "MissingExtraError",
    "UndefinedMeasureError",
]
