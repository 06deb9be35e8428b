"""Suggestions for misspelt names."""

import difflib
import functools
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from fastad.errors import InvalidTypeError

P = ParamSpec("P")
R = TypeVar("R")

_MAX_SUGGESTIONS = 3
# Names of scikit-learn to which the letters of none of ours are near.
_MEANT = {"f1_score": ("f1_at_fpr", "best_f1")}
# Arguments of other libraries, by their names here.
_OTHER_ARGUMENTS = {
    **dict.fromkeys(("random_state", "seed"), "rng"),
    **dict.fromkeys(("n_jobs", "num_threads"), "n_threads"),
    **dict.fromkeys(("n_iter", "n_bootstraps", "n_permutations"), "n_resamples"),
}


def did_you_mean(name: str, known: Mapping[str, str]) -> str:
    """Return the end of a message: suggestions of known names near to one; nothing without any."""
    by_letters = {each.lower(): suggested for each, suggested in known.items()}
    meant = [known[each] for each in _MEANT.get(name, ()) if each in known]
    if meant:
        return suggestion(meant)
    near = difflib.get_close_matches(name.lower(), by_letters, n=_MAX_SUGGESTIONS)
    return suggestion([by_letters[each] for each in near])


def suggestion(names: Iterable[str]) -> str:
    """Return the end of a message that suggests names, each once; nothing without any."""
    quoted = [repr(name) for name in dict.fromkeys(names)][:_MAX_SUGGESTIONS]
    if not quoted:
        return ""
    *first, last = quoted
    return f"; did you mean {', '.join(first)}{' or ' * bool(first)}{last}?"


def meant_argument(name: str, allowed: Iterable[str]) -> str:
    """Return the end of a message: suggestions of arguments near to an unknown one."""
    known = {each: each for each in allowed}
    known |= {other: one for other, one in _OTHER_ARGUMENTS.items() if one in known}
    return did_you_mean(name, known)


def suggests_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function refuse an unknown argument, with the one that was probably meant."""
    code = cast("FunctionType", function).__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    allowed = frozenset(names)
    refuse = functools.partial(_refuse, code.co_name, names)

    def checked(*args: Any, **kwargs: Any) -> Any:
        if not kwargs.keys() <= allowed:
            refuse(kwargs)
        return function(*args, **kwargs)

    # With the globals of its module, to which what collects doctests assigns it by them.
    wrapper = FunctionType(
        checked.__code__, cast("FunctionType", function).__globals__, closure=checked.__closure__
    )
    return cast("Callable[P, R]", functools.update_wrapper(wrapper, function))


def _refuse(function: str, names: tuple[str, ...], arguments: Mapping[str, Any]) -> NoReturn:
    name = next(name for name in arguments if name not in names)
    listed = ", ".join(each for each in names if each not in ("self", "cls"))
    hint = meant_argument(name, names) or f", which has {listed}"
    raise InvalidTypeError(f"{name} must be an argument of {function}{hint}")
