"""``fastad gate``: the verdict of a policy, or its power."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastad._core.files import save_text
from fastad._core.results import TableResult
from fastad.cli._console import data_from, maybe_unread, print_result, print_table
from fastad.cli._saving import check_output, deliver, writes
from fastad.release.decision import gate, power_of_policy
from fastad.release.policy import read_policy
from fastad.release.results import GateResult

_JUNIT = ".xml"


def run_gate(
    policy: Path,
    new: Path,
    old: Path | None,
    loss: float,
    *,
    as_json: bool,
    outputs: Sequence[Path],
) -> int:
    """Print and save the result of a gate, or without an old table its power; return the code."""
    others = () if old is None else (_JUNIT,)
    for output in outputs:
        check_output(output, *others)
    rules = read_policy(policy)
    with data_from(new if old is None else f"{new} and {old}"):
        result: TableResult
        result = power_of_policy(rules, new, loss=loss) if old is None else gate(rules, new, old)

    def print_text() -> None:
        if isinstance(result, GateResult):
            print_result(f"gate: {result.verdict}\n")
        print_table(result.text_table())
        for note in result.notes:
            print_result(note)

    def make_json() -> str:
        return result.to_json(indent=2)

    for output in outputs:
        if isinstance(result, GateResult) and output.suffix.lower() == _JUNIT:
            with writes(output):
                save_text(result.to_junit(), output)
        else:
            options: Any = {"as_json": False, "output": output, "keys": {"gate": {}}}
            deliver({"gate": result}, make_json, lambda: None, **options)
    # The exit code is the verdict, whoever reads it.
    with maybe_unread():
        deliver({"gate": result}, make_json, print_text, as_json=as_json, output=None)
    return result.exit_code if isinstance(result, GateResult) else 0
