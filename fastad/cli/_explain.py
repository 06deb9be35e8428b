"""``fastad explain``: the definition by which a printed number was computed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastad._core.results import json_text, with_versions
from fastad.cli._console import data_from, print_message, print_result, print_table
from fastad.cli._saving import check_output, save_results
from fastad.cli._scored_tables import ScoreColumns, read_scored_table
from fastad.explain.explanation import Explanation, explain


def run(
    files: Sequence[Path],
    columns: ScoreColumns,
    options: Mapping[str, Any],
    *,
    as_json: bool,
    output: Path | None,
) -> None:
    """Explain a number for each detector of each file."""
    check_output(output)
    results: list[tuple[Path, str, Explanation]] = []
    for path in files:
        table = read_scored_table(path, columns)
        for name, scores in table.scores.items():
            # The function takes the scores of one detector.
            named = {**table.columns, "y_score": name}
            with data_from(path, named):
                explanation = explain(
                    table.labels,
                    scores,
                    groups=table.groups or None,
                    **options,
                )
            results.append((path, name, explanation))
        if table.message:
            print_message(table.message)
    if output is not None:
        titles = {f"{path}, {name}": explanation for path, name, explanation in results}
        keys = {
            f"{path}, {name}": {"file": str(path), "detector": name} for path, name, _ in results
        }
        save_results(titles, output, lambda: _as_json(results), keys=keys)
    if as_json:
        print_result(_as_json(results))
        return
    for path, name, explanation in results:
        where = f"{path}, " if len(files) > 1 else ""
        print_result(
            f"{where}{name}: {explanation.summary}" if len(results) > 1 else explanation.summary
        )
        print_result("")
        print_table(explanation.text_table())
        if explanation.notes:
            print_result("\n".join([*explanation.notes, ""]))


def _as_json(results: Sequence[tuple[Path, str, Explanation]]) -> str:
    rows = [
        {"file": str(path), "detector": name, **_without_versions(explanation)}
        for path, name, explanation in results
    ]
    return json_text(with_versions({"explanations": rows}), indent=2)


def _without_versions(explanation: Explanation) -> dict[str, object]:
    """Return the plain values of an explanation, of which versions stand above all."""
    return {
        name: part
        for name, part in explanation.to_dict().items()
        if name not in ("schema_version", "fastad_version")
    }
