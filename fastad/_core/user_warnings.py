"""Warnings that name the line of the user, however deep in fastad their reason is found."""

import sys
import warnings


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the first line up the stack that is not of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == "fastad":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
