"""Suggestions for misspelt names."""

import difflib
from collections.abc import Iterable, Mapping

_MAX_SUGGESTIONS = 3
# Names of scikit-learn to which the letters of none of ours are near.
_MEANT = {"f1_score": ("f1_at_fpr", "best_f1")}


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
