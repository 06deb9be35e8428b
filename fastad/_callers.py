"""Where a warning is to point: at the line of the user."""

import sys


def callers_level() -> int:
    """Return the ``stacklevel`` of the first caller that is not of this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(module: str) -> bool:
    return module == "fastad" or module.startswith("fastad.")
