"""Data frames of whatever library is installed, through narwhals."""

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fastad._validate import check_choice
from fastad.errors import MissingExtraError

FrameLibrary: TypeAlias = Literal["pandas", "polars", "pyarrow"]
LIBRARIES = ("pandas", "polars", "pyarrow")


def frame(columns: Mapping[str, Sequence[Any]], library: FrameLibrary | None) -> Any:
    """Return columns as a frame of a library, by default the first that is installed."""
    if library is not None:
        check_choice(library, LIBRARIES, "library")
    wanted = LIBRARIES if library is None else (library,)
    installed = [name for name in wanted if importlib.util.find_spec(name) is not None]
    if not installed:
        raise MissingExtraError(f"to_frame needs {' or '.join(wanted)}; install one of them")
    try:
        narwhals = importlib.import_module("narwhals")
    except ModuleNotFoundError:
        raise MissingExtraError("to_frame needs narwhals: pip install 'fastad[df]'") from None
    return narwhals.from_dict(columns, backend=installed[0]).to_native()
