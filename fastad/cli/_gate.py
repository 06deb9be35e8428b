"""``fastad gate``: the verdict of a policy, and its power."""

from collections.abc import Sequence
from pathlib import Path

from fastad._core.files import save_text
from fastad._core.results import TableResult
from fastad.cli._console import DataError, data_from, print_result, print_table
from fastad.cli._saving import check_output, deliver
from fastad.release.decision import gate, power_of_policy
from fastad.release.policy import read_policy
from fastad.release.results import GateResult

_JUNIT = ".xml"


def run_gate(policy: Path, new: Path, old: Path, *, as_json: bool, outputs: Sequence[Path]) -> int:
    """Print and save the result of a gate; return the exit code."""
    for output in outputs:
        if output.suffix.lower() != _JUNIT:
            check_output(output)
    rules = read_policy(policy)
    with data_from(f"{new} and {old}"):
        result = gate(rules, new, old)
    _deliver(result, f"gate: {result.verdict}", as_json=as_json, outputs=outputs)
    return result.exit_code


def run_power(
    policy: Path, old: Path, loss: float, *, as_json: bool, outputs: Sequence[Path]
) -> None:
    """Print and save the power of a policy."""
    for output in outputs:
        check_output(output)
    rules = read_policy(policy)
    with data_from(old):
        result = power_of_policy(rules, old, loss=loss)
    _deliver(result, "", as_json=as_json, outputs=outputs)


def _deliver(result: TableResult, title: str, *, as_json: bool, outputs: Sequence[Path]) -> None:
    def print_text() -> None:
        if title:
            print_result(f"{title}\n")
        print_table(result.text_table())
        for note in result.notes:
            print_result(note)

    def make_json() -> str:
        return result.to_json(indent=2)

    for output in outputs:
        if isinstance(result, GateResult) and output.suffix.lower() == _JUNIT:
            try:
                save_text(result.to_junit(), output)
            except OSError as error:
                raise DataError(f"{output}: the file cannot be written: {error.strerror}") from None
        else:
            deliver(
                {"gate": result},
                make_json,
                lambda: None,
                as_json=False,
                output=output,
                keys={"gate": {}},
            )
    deliver({"gate": result}, make_json, print_text, as_json=as_json, output=None)
