"""Hundreds of cases as one test: to run and report each alone takes longer than its check."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., None]


def loop(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Call a test with each of the cases, and list those that fail.

    In the place of ``pytest.mark.parametrize``, where a case leaves nothing behind for the next.
    """
    keys = names.replace(",", " ").split() if isinstance(names, str) else names
    every = [dict(zip(keys, _values(case, len(keys)), strict=True)) for case in cases]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def test_each(**fixtures: Any) -> None:
            failures = []
            for case in every:
                try:
                    test(**fixtures, **case)
                except (Exception, pytest.fail.Exception) as error:
                    failures.append(f"{case}: {error!r}")
            assert not failures, f"{len(failures)} of {len(every)} cases\n" + "\n".join(failures)

        signature = inspect.signature(test)
        kept = [each for name, each in signature.parameters.items() if name not in keys]
        test_each.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return test_each

    return decorate


def _values(case: Any, n: int) -> Sequence[Any]:
    if hasattr(case, "values") and hasattr(case, "marks"):  # of pytest.param
        values: Sequence[Any] = case.values
        return values
    return case if n > 1 else (case,)
