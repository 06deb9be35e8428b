"""``fastad explain``: the definition by which a printed number was computed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastad.cli._console import data_from, print_message, print_notes, print_result, print_table
from fastad.cli._saving import check_output, deliver, versioned_json
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
                explanation = explain(table.labels, scores, groups=table.groups or None, **options)
            results.append((path, name, explanation))
        if table.message:
            print_message(table.message)

    def make_json() -> str:
        rows = [
            {"file": str(path), "detector": name, **explanation.to_dict()}
            for path, name, explanation in results
        ]
        for row in rows:  # versions stand above all
            del row["schema_version"], row["fastad_version"]
        return versioned_json(explanations=rows)

    def print_text() -> None:
        for path, name, explanation in results:
            where = f"{path}, " if len(files) > 1 else ""
            head = f"{where}{name}: " if len(results) > 1 else ""
            print_result(f"{head}{explanation.summary}\n")
            print_table(explanation.text_table())
            print_notes(explanation.notes)

    deliver(
        {f"{path}, {name}": explanation for path, name, explanation in results},
        make_json,
        print_text,
        as_json=as_json,
        output=output,
        keys={
            f"{path}, {name}": {"file": str(path), "detector": name} for path, name, _ in results
        },
    )
