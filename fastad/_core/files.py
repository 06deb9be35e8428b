"""Files that are either whole or not there."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from fastad._core.temporary import removed_afterwards


@contextlib.contextmanager
def written_aside(path: Path, *, is_new: bool = False) -> Iterator[Path]:
    """Give the path of a new file beside another, which it replaces if nothing fails.

    With ``is_new`` it replaces none: FileExistsError is raised where another process was faster.
    Whoever reads the path meanwhile sees the old file or none; after a failure (a full disk,
    Ctrl-C, SIGTERM) nothing is left behind.
    """
    # A short name: the other may be as long as names can be.
    aside = path.parent / f".fastad-{secrets.token_hex(8)}{path.suffix}"
    with removed_afterwards(aside):
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        # The usual permissions, once the file is whole; until then it is for its owner alone.
        usual = aside.stat().st_mode
        aside.chmod(0o600)
        yield aside
        aside.chmod(usual)
        if is_new:
            try:
                os.link(aside, path)
            except FileExistsError:
                raise
            except OSError:  # a file system without links
                os.replace(aside, path)
        else:
            os.replace(aside, path)


def save_text(text: str, path: Path) -> None:
    """Save a string, completely or not at all."""
    with written_aside(path) as aside:
        # Names may contain what UTF-8 does not.
        aside.write_text(text, encoding="utf-8", errors="backslashreplace")
