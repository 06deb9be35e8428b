"""The command line in this process, in one of its own, and on a terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from typer.testing import CliRunner, Result

from fastad.cli.app import app

PLAIN = {"FORCE_COLOR": None, "TTY_COMPATIBLE": None, "COLUMNS": None, "FASTAD_NUM_THREADS": None}
FASTAD = [sys.executable, "-m", "fastad"]
# What is added to the error of a column of scores that no option named.
TAKEN_FOR_SCORES = "; the column was taken for scores, and --score names those that are"
PAGE = (Path(__file__).parents[2] / "docs" / "guide" / "cli.md").read_text("utf-8")

# Its runner makes all commands anew each time, which takes longer than most of them do.
_typer: Any = typer.testing
_typer._get_command = cache(typer.main.get_command)


def invoke(*arguments: object, **env: str) -> Result:
    """Run a command in this process; an exception that it does not handle escapes."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, env={**PLAIN, **env}, catch_exceptions=False)


def pipe(stdin: bytes, *arguments: object) -> Result:
    """Run a command in this process, with something to read on its standard input."""
    words = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, words, input=stdin, env=PLAIN, catch_exceptions=False)


def stdout_of(*arguments: object) -> str:
    """Run a command that must succeed."""
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def json_of(*arguments: object) -> Any:
    """Run a command with ``--json``, and read what it prints as strict JSON."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is not JSON")

    return json.loads(stdout_of(*arguments, "--json"), parse_constant=refuse)


def error_of(*arguments: object, code: int = 1) -> str:
    """Run a command that must fail with nothing printed; return its message in one line."""
    result = invoke(*arguments)
    if code == 1:
        assert_wrong_data(result, "")
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    return " ".join(result.stderr.split())


def save(path: Path, content: str | bytes) -> Path:
    """Write a file as it is, and return its path."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def examples_of(command: str) -> list[str]:
    """Return the arguments of the examples of a command in the docs."""
    start = f"$ fastad {command} "
    lines = PAGE.replace("\\\n", "").splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


def hide(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a module be one that is not installed, in this process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


def run_without(module: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command in a process where a module is not installed."""
    code = f"""
import importlib.util, sys
class Without:
    def find_spec(self, name, *rest):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == {module!r} else find(name, *rest)
sys.argv = ["fastad", *{[str(argument) for argument in arguments]!r}]
from fastad.cli import main; main()
"""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@contextmanager
def on_terminal(
    *arguments: object, stream: str = "stderr", columns: int = 120
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a command with a terminal as one of its streams; give the process and the terminal."""
    pty = pytest.importorskip("pty", reason="terminals of POSIX")
    ours, theirs = pty.openpty()
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": None, stream: theirs}
    env = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns)}
    with subprocess.Popen([*FASTAD, *map(str, arguments)], env=env, **streams) as process:
        os.close(theirs)
        yield process, ours
    os.close(ours)


def shown_on(terminal: int, until: bytes | None = None) -> bytes:
    """Read what is shown on a terminal, to its end or until something is."""
    shown = b""
    while until is None or until not in shown:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux: the other side has closed
            break
        if not piece:
            break
        shown += piece
    return shown


def assert_wrong_usage(result: Result, message: str) -> None:
    """Nothing was printed but how the command is used, with a message."""
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


def assert_wrong_data(result: Result, message: str) -> None:
    """Nothing was printed but one line with a message."""
    assert (result.exit_code, result.stdout) == (1, ""), result.stderr
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr


class TouchesWhenLoaded:
    """What a saved file may do when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)
