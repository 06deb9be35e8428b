"""Errors say what must be and what was found; about a single argument, they carry its name."""

import ast
import re
from collections.abc import Callable
from typing import Any

import pytest

import fastad
from fastad.benchmarking import pairwise_agreement, wilcoxon_holm
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.uncertainty import threshold_with_guarantee
from tests.support.imports import MODULES


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


# What stands in its place where the caller's own function failed.
FOUND = re.compile(r"\bfound\b|\braised\b|: {error}")
# In other packages errors are also about files and options of the command line.
OF_ARGUMENTS = (
    *("benchmarking", "evaluation", "measures", "ordering", "plot"),
    *("sklearn", "streaming", "uncertainty", "unsupervised"),
)


def shapeless_errors(source: str) -> list[str]:
    """Return the messages that do not say what must be, or what was found instead."""
    messages = [
        text_of(node.args[0])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"InvalidInputError", "InvalidTypeError"}
        and isinstance(node.args[0], ast.Constant | ast.JoinedStr)
    ]
    return [text for text in messages if not (" must " in text and FOUND.search(text))]


@pytest.mark.parametrize("package", OF_ARGUMENTS)
def test_errors_say_what_must_be_and_what_was_found(package: str) -> None:
    paths = [path for name, path in MODULES.items() if name.startswith(f"fastad.{package}.")]
    assert paths
    errors = [error for path in paths for error in shapeless_errors(path.read_text("utf-8"))]
    assert errors == []


@pytest.mark.parametrize(
    ("message", "is_shapeless"),
    [
        ("X must be finite; found NaN", False),
        ("function must return a number; it raised ValueError", False),
        ("X must be finite", True),
        ("correction takes at most 8 models; found 9", True),
    ],
)
def test_what_has_no_shape(message: str, *, is_shapeless: bool) -> None:
    assert bool(shapeless_errors(f'InvalidInputError("{message}", argument="X")')) == is_shapeless


@pytest.mark.parametrize(
    ("message", "item", "argument"),
    [
        ("X must be finite; found NaN", "X", "X"),
        ("y_score['a'] must be finite; found NaN", "y_score['a']", "y_score"),
        ("table['a[0]', 'b c'] must be a column", "table['a[0]', 'b c']", "table"),
        ("data.include[0] must be a name; found 3", "data.include[0]", "data.include"),
        ("low and high must be equally long; found 3", None, None),
        ("FASTAD_NUM_THREADS must be an integer from 1; found x", None, None),
        ("KNNDetector must be fitted; found an unfitted KNNDetector", None, None),
        ("3 rows must differ", None, None),
    ],
)
def test_an_error_is_about_the_argument_with_which_its_message_begins(
    message: str, item: str | None, argument: str | None
) -> None:
    error = InvalidInputError(message)
    assert (error.item, error.argument) == (item, argument)
    assert InvalidTypeError(message, argument="other").argument == "other"


# Python refuses to write it in digits.
ENDLESS: Any = 10**5000
Y, S = [0, 1, 0, 1], [0.1, 0.8, 0.3, 0.4]
RESULTS = {
    "dataset": ["a", "a", "b", "b"],
    "detector": ["k", "l", "k", "l"],
    "auc": [0.5, 0.6, 0.7, 0.8],
}
CALLS: dict[str, Callable[[], object]] = {
    "over": lambda: fastad.evaluate(Y, S, groups=[0, 0, 1, 1]).summary(ENDLESS),
    "library": lambda: fastad.evaluate(Y, S).to_frame(ENDLESS),
    "dataset_columns": lambda: fastad.ResultTable.from_table(RESULTS, dataset_columns=ENDLESS),
    "detector_column": lambda: fastad.ResultTable.from_table(RESULTS, detector_column=ENDLESS),
    "detectors": lambda: fastad.ResultTable.from_arrays({"auc": [[0.5]]}, detectors=ENDLESS),
    "control": lambda: wilcoxon_holm(RESULTS, control=ENDLESS),
    "higher_is_better": lambda: pairwise_agreement([1, 2], [1, 2], higher_is_better=ENDLESS),
    "fpr": lambda: threshold_with_guarantee(S, fpr=ENDLESS, tpr=ENDLESS),
}


@pytest.mark.parametrize("argument", CALLS)
def test_a_message_never_writes_a_number_without_end(argument: str) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
        CALLS[argument]()
    assert caught.value.argument == argument
