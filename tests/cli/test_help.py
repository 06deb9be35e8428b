"""Help on the commands and on their options."""

from typing import Any

import pytest

from tests.cli.test_option_rules import COMMANDS
from tests.support.command_line import invoke, stdout_of
from tests.support.loops import loop


def section_of(line: str) -> bool:
    return line.endswith(":") and not line.startswith(" ")


def test_no_line_of_the_help_is_cut_and_each_command_is_in_a_section() -> None:
    shown = stdout_of("--help")
    assert "..." not in shown.partition("\n\n")[2]
    together = " ".join(shown.split())
    sections: dict[str, list[str]] = {}
    for line in shown.splitlines():
        if section_of(line):
            named = sections.setdefault(line.rstrip(":"), [])
        elif line.startswith("  ") and not line.startswith("   "):
            name = line.split()[0]
            if "Options" in sections:
                named.append(name)
    del sections["Options"]
    names = {words.partition(" ")[0] for words in COMMANDS}
    assert {name for named in sections.values() for name in named} == names
    assert "Commands" not in sections
    for words, command in COMMANDS.items():
        if " " not in words:
            assert " ".join(str(command.help).split()) in together


@loop("words", ["", "study", *COMMANDS])
def test_h_is_help_and_no_line_is_wider_than_80(words: str) -> None:
    shown = invoke(*words.split(), "-h", COLUMNS="80").stdout
    assert shown == invoke(*words.split(), "--help", COLUMNS="80").stdout
    assert shown.startswith("Usage: ")
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("words", ["study run", "study status", "study report"])
def test_the_commands_of_a_study_have_whole_lines(words: str) -> None:
    command: Any = COMMANDS[words]
    assert " ".join(str(command.help).split()) in " ".join(stdout_of("study", "-h").split())
