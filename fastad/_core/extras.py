"""Libraries of optional extras, and the error where one is not installed."""

import importlib
from typing import Any

from fastad.errors import MissingExtraError


def import_extra(module: str, user: str, *, extra: str) -> Any:
    """Import a module of an optional extra; where it is missing, the error names its user."""
    top = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != top:
            raise
        library = "scikit-learn" if top == "sklearn" else top
        raise missing_extra(user, library, extra=extra) from None


def missing_extra(user: str, *libraries: str, extra: str) -> MissingExtraError:
    """Return the error that names the user of libraries, and the commands that install them.

    fastad is not published in a package index: its extras can be installed from a clone only.
    """
    return MissingExtraError(
        f"{user} needs {' and '.join(libraries)}: pip install {' '.join(libraries)}, "
        f"or in a clone of fastad pip install '.[{extra}]'"
    )
