"""Files that are either whole or not there."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """Give the path of a new file beside another, which it replaces if nothing fails.

    Whoever reads the path meanwhile sees the old file or none; after a failure (a full disk,
    Ctrl-C) nothing is left behind.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".fastad-", suffix=path.suffix)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        # A temporary file is for its owner alone; the result has the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        aside.chmod(0o666 & ~mask)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
