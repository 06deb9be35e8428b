"""Text tables for every command: separators, compression, the standard input.

`tests.tables` has odd and large ones.
"""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from fastad.cli.app import app
from tests.support.command_line import error_of, pipe, save
from tests.support.runs import RUNS

N = 120
RNG = np.random.default_rng(3)
Y = (np.arange(N) % 4 == 0).astype(int)
SCORES = pd.DataFrame({"y": Y, "forest": RNG.normal(size=N) + Y, "lof": RNG.normal(size=N)})
SCORES["site, or town"] = np.array(["a", "b; c", 'd "e"'])[np.arange(N) % 3]
POINTS = pd.DataFrame({"y": Y, "a": RNG.normal(size=N), "b": RNG.normal(size=N)})
FEW = ("--detector", "knn", "--n-draws", 2000)
# A table for every command that reads one, and the options behind it.
COMMANDS: dict[str, tuple[pd.DataFrame, tuple[object, ...]]] = {
    "evaluate": (SCORES, ("--group", "site, or town")),
    "compare": (SCORES, ()),
    "compare-runs": (RUNS, ("--n-resamples", 20)),
    "explain": (SCORES, ("--value", 0.5, "--group", "site, or town")),
    "volume": (POINTS, FEW),
    "evaluate-unsupervised": (POINTS, (*FEW, "--n-resamples", 20)),
}
COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
each_command = pytest.mark.parametrize("command", COMMANDS)


def text_of(table: pd.DataFrame, separator: str = ",") -> bytes:
    return table.to_csv(index=False, sep=separator).encode()


def printed(command: str, path: object, stdin: bytes = b"") -> str:
    """Return what a command prints, without the name of the file."""
    result = pipe(stdin, command, path, *COMMANDS[command][1], "--json")
    assert result.exit_code == 0, result.stderr
    return result.stdout.replace(f'"{path}"', '"FILE"')


def test_no_command_that_reads_a_table_is_left_out() -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, typer.core.TyperGroup)
    reading = {
        name
        for name, command in group.commands.items()
        if any(str(parameter.metavar).startswith("FILE") for parameter in command.params)
    }
    assert reading == set(COMMANDS)


@each_command
def test_a_table_is_the_same_however_it_comes(command: str, tmp_path: Path) -> None:
    text = text_of(COMMANDS[command][0])
    expected = printed(command, save(tmp_path / "table.csv", text))
    for separator in ";\t|":
        other = text_of(COMMANDS[command][0], separator)
        assert printed(command, save(tmp_path / "other.csv", other)) == expected, separator
    for extension, compress in COMPRESSORS.items():
        path = save(tmp_path / f"table.CSV{extension}", compress(text))
        assert printed(command, path) == expected, extension
    assert printed(command, "-", text) == expected
    assert printed(command, "-", b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n")) == expected


@pytest.mark.parametrize("command", ["volume", "evaluate-unsupervised"])
def test_the_table_to_train_on_may_come_so_too(command: str, tmp_path: Path) -> None:
    text = text_of(POINTS)
    path = save(tmp_path / "points.csv", text)
    packed = save(tmp_path / "train.csv.gz", gzip.compress(text))
    results = [pipe(text, command, path, *FEW, "--train", train) for train in (path, packed, "-")]
    assert [result.exit_code for result in results] == [0, 0, 0]
    assert len({result.stdout for result in results}) == 1


# Damage, and misuse.


@pytest.mark.parametrize("extension", COMPRESSORS)
def test_a_damaged_compressed_file_is_named(extension: str, tmp_path: Path) -> None:
    whole = COMPRESSORS[extension](text_of(SCORES))
    path = tmp_path / f"scores.csv{extension}"
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 255
    for content in (b"", b"y,s\n0,1\n", whole[: len(whole) // 2], bytes(flipped)):
        message = error_of("evaluate", save(path, content))
        assert message.startswith(f"Error: {path}: ")


def test_other_compressed_files_are_refused(tmp_path: Path) -> None:
    for name in ("scores.gz", "scores.npz.gz", "scores.txt.gz", "scores.csv.zip"):
        assert "unsupported file extension" in error_of("evaluate", save(tmp_path / name, b""))


def test_the_standard_input_can_be_read_once() -> None:
    for words in (
        ("evaluate", "-", "-"),
        ("compare-runs", "-", "-"),
        ("volume", "-", *FEW, "--train", "-"),
    ):
        assert "the standard input (-) can be read once" in error_of(*words, code=2)


def test_an_empty_standard_input_is_said() -> None:
    result = pipe(b"", "evaluate", "-")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == ("Error: -: the file is empty; its first line must name the columns\n")
