"""``fastad evaluate`` on files that do not fit in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from fastad._core.limits import available_memory
from fastad._core.results import json_text, with_versions
from fastad._tables.files import STDIN, paths_of
from fastad.cli._console import data_from, print_message, print_result, print_table, progress_bar
from fastad.cli._saving import save_results
from fastad.cli._scored_tables import ScoreColumns, open_scored_table
from fastad.streaming.large_files.evaluation import evaluate
from fastad.streaming.sketches.results import StreamedEvaluation

# Where no memory is given.
DEFAULT_MEMORY = "512MB"
# Bytes of memory for a byte of a file: Parquet may be compressed, and scores are read, ordered and
# counted.
_IN_MEMORY = 6


@dataclass(frozen=True, slots=True)
class Passes:
    """How files that do not fit in memory are read.

    Attributes
    ----------
    memory : str or None
        Bytes for what is counted; None where the files are to be read into memory.
    exact : bool
        Whether to read the files again until values are exact.
    """

    memory: str | None = None
    exact: bool = False


def needs_passes(files: Sequence[Path]) -> bool:
    """Tell whether a file, or all files of a folder, would not fit in memory; say so."""
    for path in files:
        if path == STDIN:
            continue
        n_bytes = sum(each.path.stat().st_size for each in paths_of(path))
        if n_bytes * _IN_MEMORY > available_memory():
            print_message(
                f"{path} would not fit in memory: it is read batch by batch, and values have "
                f"bounds that are certain (--memory {DEFAULT_MEMORY}). With --memory and --exact "
                "it is read again until they are exact."
            )
            return True
    return False


def run(
    files: Sequence[Path],
    columns: ScoreColumns,
    passes: Passes,
    *,
    measures: Sequence[str] | None,
    fpr: Sequence[float] | None,
    as_json: bool,
    output: Path | None,
) -> None:
    """Evaluate each file or folder, print the results and save them."""
    options: dict[str, Any] = {} if fpr is None else {"fpr": fpr}
    results, messages = {}, []
    for path in files:
        if path == STDIN:
            raise typer.BadParameter(
                "reads files several times, and the standard input can be read once",
                param_hint="--memory",
            )
        _, scores, message = open_scored_table(path, columns)
        messages.append(message)
        with progress_bar("rows") as progress, data_from(path):
            results[str(path)] = evaluate(
                path,
                label_column=columns.label,
                score_columns=scores,
                measures=measures,
                group_columns=columns.groups or None,
                exact=passes.exact,
                memory=passes.memory or DEFAULT_MEMORY,
                pos_label=columns.pos_label,
                progress=progress,
                **options,
            )
    for message in filter(None, messages):
        print_message(message)
    if output is not None:
        save_results(results, output, lambda: _as_json(results))
    if as_json:
        print_result(_as_json(results))
        return
    for name, result in results.items():
        print_table(result.text_table(), name if len(results) > 1 else "")
        for note in result.notes:
            print_result(note)


def _as_json(results: Mapping[str, StreamedEvaluation]) -> str:
    """Return one list of detectors, each with its file."""
    rows = [{"file": name, **row} for name, result in results.items() for row in result.plain()]
    return json_text(with_versions({"results": rows}), indent=2)
