"""Hooks by which a caller has work done in other processes, on other machines for example."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class RemoteHook(Generic[Parameters, Result]):
    """A function that does some work in place of this process, for the length of a block.

    Its result must equal this process's own, to the last bit.
    """

    def __init__(self, name: str) -> None:
        self._function: ContextVar[Callable[Parameters, Result] | None] = ContextVar(
            name, default=None
        )

    def get(self) -> Callable[Parameters, Result] | None:
        """Return the function, or None where the work is done here."""
        return self._function.get()

    @contextmanager
    def use(self, function: Callable[Parameters, Result] | None) -> Iterator[None]:
        """Use a function for the length of a block; None does the work here again."""
        token = self._function.set(function)
        try:
            yield
        finally:
            self._function.reset(token)
