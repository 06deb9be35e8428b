"""An error about a single argument carries its name, as `.argument`."""

import ast
import re
from pathlib import Path

import pytest

from tests.support.imports import MODULES

# How a message about a single argument begins: "y_score must", "table[{name!r}] must",
# "{where}.name must". Not "low and high must", nor a class or an environment variable.
ONE_ARGUMENT = re.compile(r"(X|[a-z]\w*|{[a-z]\w*})([.\[{]\S*)? must ")


def text_of(message: ast.expr) -> str:
    """Return the string of an expression as its source has it, with values in braces."""
    match message:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(text_of(part) for part in parts)
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value).replace(" ", "") + "}"
        case ast.BinOp(left=left):
            return text_of(left)
    return ""


def silent_errors(source: str) -> list[str]:
    """Return the messages about a single argument that are raised without its name."""
    return [
        text_of(node.args[0])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"InvalidInputError", "InvalidTypeError", "TypeError"}
        and node.args
        and ONE_ARGUMENT.match(text_of(node.args[0]))
        and not any(keyword.arg == "argument" for keyword in node.keywords)
    ]


@pytest.mark.parametrize("path", MODULES.values(), ids=MODULES)
def test_errors_about_a_single_argument_name_it(path: Path) -> None:
    assert silent_errors(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("error", "is_silent"),
    [
        ('InvalidInputError("X must be finite; found NaN")', True),
        ('InvalidInputError("X must be finite; found NaN", argument="X")', False),
        ('InvalidTypeError(f"{name} must be a number; found {kind}")', True),
        ('InvalidTypeError(f"{name} must be a number; found {kind}", argument=name)', False),
        ('TypeError(f"{name} must be a number; found {kind}")', True),
        ('InvalidInputError(f"{name} must be finite; found {value}")', True),
        ('InvalidInputError(f"table[{name!r}] must be a column; found {kind}")', True),
        ('InvalidInputError(f"{where}.{key} must be given; " + "found none")', True),
        ('InvalidInputError(f"low and high must be equally long; found {n}")', False),
        ('InvalidInputError(f"{_VARIABLE} must be an integer from 1; found {text}")', False),
    ],
)
def test_what_is_about_a_single_argument(error: str, *, is_silent: bool) -> None:
    assert bool(silent_errors(error)) == is_silent
