"""Error for a library of an optional extra that is not installed."""

from fastad.errors import MissingExtraError


def missing_extra(user: str, *libraries: str, extra: str) -> MissingExtraError:
    """Return the error that names the user of libraries, and the commands that install them.

    fastad is not published in a package index: its extras can be installed from a clone only.
    """
    return MissingExtraError(
        f"{user} needs {' and '.join(libraries)}: pip install {' '.join(libraries)}, "
        f"or in a clone of fastad pip install '.[{extra}]'"
    )
