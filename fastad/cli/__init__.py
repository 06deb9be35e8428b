"""The command line ``fastad``: numbers on stdout, messages on stderr."""

import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from fastad.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "click"):
            raise
        sys.exit(f"The command line needs {error.name}: pip install 'fastad[cli]'")
    app(prog_name="fastad")
