"""No option is silently ignored: alone, or beside any other."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from fastad.cli._option_rules import RULES, CheckedCommand, Excludes, Needs
from fastad.cli.app import app
from tests.support.command_line import error_of, invoke

N = 120


def commands(command: Any, words: Sequence[str] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command of the application, and the words that name it."""
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, (*words, name))
    if not hasattr(command, "commands"):
        yield " ".join(words), command


COMMANDS = dict(commands(get_command(app)))


def test_every_command_and_option_has_its_rules() -> None:
    assert COMMANDS.keys() == RULES.keys()
    for words, command in COMMANDS.items():
        assert isinstance(command, CheckedCommand), words
        assert {parameter.name for parameter in command.params} == RULES[words].keys(), words
        for rules in RULES[words].values():
            named = [
                name
                for rule in rules
                for name in (
                    rule.options
                    if isinstance(rule, Needs)
                    else [rule.option, *([rule.unless] if rule.unless else [])]
                )
            ]
            assert set(named) <= RULES[words].keys()


def words_of(command: Any, name: str, value: str = "1") -> list[str]:
    """Return how an option is written on the command line; rules are checked before values."""
    (parameter,) = (row for row in command.params if row.name == name)
    if parameter.param_type_name == "argument":
        return []
    values = [] if parameter.is_flag else [value] * parameter.nargs
    return [parameter.opts[0], *values]


def start_of(words: str) -> list[str]:
    """Return a command with a file and all options that it needs anyway."""
    start = words.split()
    for row in COMMANDS[words].params:
        if row.param_type_name == "argument":
            start.append("absent.csv")
        elif row.required:
            start += [row.opts[0], "x"]
    return start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "name", "rule"),
    [
        (words, name, rule)
        for words, rules in RULES.items()
        for name, row in rules.items()
        for rule in row
    ],
)
def test_every_rule_refuses_before_any_file_is_read(words: str, name: str, rule: Any) -> None:
    command = COMMANDS[words]
    arguments = words_of(command, name)
    if isinstance(rule, Excludes):
        for value in rule.values or ["1"]:
            beside = words_of(command, rule.option, value)
            # The other has what it needs itself.
            for needed in (row for row in RULES[words][rule.option] if isinstance(row, Needs)):
                beside += words_of(command, needed.options[0])
            message = error_of(*start_of(words), *arguments, *beside, code=2)
            assert f"{arguments[0]}: would be ignored" in message
            assert rule.because in message
    else:
        message = error_of(*start_of(words), *arguments, code=2)
        assert f"{arguments[0]}: is of use only with" in message
        for option in rule.options:
            # Beside any of those it needs it is not refused for this.
            result = invoke(*start_of(words), *arguments, *words_of(command, option))
            assert "of use only" not in result.stderr


def test_the_default_written_out_is_not_ignored_either() -> None:
    for arguments, option in (
        (("evaluate", "absent.csv", "--seed", 0), "--seed"),
        (("evaluate", "absent.csv", "--n-resamples", 2000), "--n-resamples"),
        (("evaluate", "absent.csv", "--confidence-level", 0.95), "--confidence-level"),
        (("study", "run", "absent.toml", "--profile", "quick"), "--profile"),
    ):
        assert f"{option}: " in error_of(*arguments, code=2)


# Options with values that change what is printed, and what they need.
EVALUATE = {
    "score": ["--score", "a"],
    "group": ["--group", "fold"],
    "summary": ["--summary", "--group", "fold"],
    "fpr": ["--fpr", "0.2"],
    "measure": ["--measure", "auc"],
    "function": ["--measure", "tpr_at_fpr"],
    "threshold": ["--threshold", "0.5"],
    "score_range": ["--measure", "scored_auc", "--score-range", "-9", "9"],
    "ci": ["--ci"],
    "chance": ["--chance"],
    "confidence_level": ["--ci", "--confidence-level", "0.5"],
    "n_resamples": ["--chance", "--n-resamples", "50"],
    "label": ["--label", "z"],
    "pos_label": ["--pos-label", "0"],
}
COMPARE = {
    "group": ["--group", "fold"],
    "score": ["--score", "a", "--score", "b"],
    "measure": ["--measure", "ap"],
    "method": ["--method", "bootstrap"],
    "seed": ["--method", "bootstrap", "--seed", "5"],
    "correction": ["--correction", "none"],
    "confidence_level": ["--confidence-level", "0.5"],
    "min_difference": ["--min-difference", "0.1"],
    "n_resamples": ["--method", "permutation", "--n-resamples", "50"],
    "label": ["--label", "z"],
    "pos_label": ["--pos-label", "0"],
}
# Together they are one: with two detectors there is one comparison, and nothing to correct.
NO_EFFECT = {("score", "correction")}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(8)
    y = np.arange(N) % 3 == 0
    path = tmp_path_factory.mktemp("pairs") / "scores.npz"
    columns = {
        name: rng.normal(size=N) + shift * y for name, shift in {"a": 2, "b": 1, "c": 0.5}.items()
    }
    columns |= {"y": y.astype(int), "z": np.roll(y, 1).astype(int), "fold": np.arange(N) // 60}
    np.savez(path, **columns)
    return path


@pytest.mark.evidence
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize(
    # One column of scores is enough where each is evaluated alone.
    ("command", "options", "scores"),
    [("evaluate", EVALUATE, "b"), ("compare", COMPARE, "abc")],
)
def test_of_every_pair_both_have_an_effect_or_one_is_refused(
    command: str, options: dict[str, list[str]], scores: str, file: Path
) -> None:
    def run(*names: str) -> tuple[int, str]:
        # The columns that are no scores are named, for those that name scores.
        words = [word for name in names for word in options[name]]
        columns = [] if "score" in names else [word for x in scores for word in ("--score", x)]
        result = invoke(command, file, *columns, *words, "--json")
        return result.exit_code, result.stdout

    alone = {name: run(name) for name in options}
    for name, (code, _) in alone.items():
        assert code == 0, name
    for first, second in combinations(options, 2):
        written = [{word for word in options[name] if word[:2] == "--"} for name in (first, second)]
        if (first, second) in NO_EFFECT or not written[0].isdisjoint(written[1]):
            continue
        code, printed = run(first, second)
        assert code == 2 or printed not in (alone[first][1], alone[second][1]), (first, second)


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("volume", "absent.csv", "--fpr", 0.1, "--rtol", 0.01), "--rtol"),
        (("compare", "a.csv", "--independent", "b.csv", "--n-resamples", 50), "--n-resamples"),
        (("compare", "a.csv", "--independent", "b.csv", "--seed", 1), "--seed"),
    ],
)
def test_exact_methods_draw_nothing(arguments: tuple[object, ...], option: str) -> None:
    message = error_of(*arguments, "--method", "exact", code=2)
    assert f"{option}: would be ignored beside --method exact: " in message
    assert "draws nothing" in message
