"""The command line ``fastad``: numbers on stdout, messages on stderr."""

import io
import sys

from fastad._core.extras import missing_extra


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        # It needs an extra, and who runs no command should not need that.
        from fastad.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(str(missing_extra("The command line", error.name, extra="cli")))
    # Names of files may hold what the terminal's encoding does not.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="fastad")
