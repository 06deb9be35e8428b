"""``fastad explain``: the definition by which a printed number was computed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastad._core.results import json_text, with_versions
from fastad.cli._console import data_from, print_message, print_result, print_table
from fastad.cli.table_files import ScoreColumns, read_scored_table
from fastad.evaluation.explanation import Explanation, explain


def run(
    files: Sequence[Path], columns: ScoreColumns, options: Mapping[str, Any], *, as_json: bool
) -> None:
    """Explain a number for each detector of each file."""
    results: list[tuple[Path, str, Explanation]] = []
    for path in files:
        table = read_scored_table(path, columns)
        for name, scores in table.scores.items():
            # The function takes the scores of one detector.
            named = {**table.columns, "y_score": name}
            with data_from(path, named):
                found = explain(
                    table.labels,
                    scores,
                    groups=table.groups or None,
                    pos_label=table.pos_label,
                    **options,
                )
            results.append((path, name, found))
        if table.message:
            print_message(table.message)
    if as_json:
        rows = [
            {"file": str(path), "detector": name, **_without_versions(found)}
            for path, name, found in results
        ]
        print_result(json_text(with_versions({"explanations": rows}), indent=2))
        return
    for path, name, found in results:
        where = f"{path}, " if len(files) > 1 else ""
        print_result(f"{where}{name}: {found.summary}" if len(results) > 1 else found.summary)
        print_result("")
        print_table(found.text_table())
        if found.notes:
            print_result("\n".join([*found.notes, ""]))


def _without_versions(found: Explanation) -> dict[str, object]:
    """Return the plain values of one answer, of which versions stand above all."""
    return {
        name: part
        for name, part in found.to_dict().items()
        if name not in ("schema_version", "fastad_version")
    }
