"""``fastad evaluate`` on files that do not fit in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastad._core.available_memory import available_memory
from fastad._core.results import json_text, with_versions
from fastad._core.text_cells import is_number
from fastad.cli._console import data_from, print_message, print_result, print_table, progress_bar
from fastad.cli._saving import save_results
from fastad.cli.table_files import ScoreColumns, check_columns, check_label, read_number
from fastad.streaming.evaluation import evaluate
from fastad.streaming.files import ScoreFiles
from fastad.streaming.streamed_evaluation import StreamedEvaluation

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
    """Tell whether there is a folder, or a file that would not fit in memory; say so."""
    for path in files:
        if path.is_dir():
            return True
        if path.is_file() and path.stat().st_size * _IN_MEMORY > available_memory():
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
    results = {}
    for path in files:
        pos_label = _pos_label(path, columns)
        with progress_bar("rows") as progress, data_from(path):
            results[str(path)] = evaluate(
                path,
                label=columns.label,
                score=columns.scores,
                measures=measures,
                groups=columns.groups or None,
                exact=passes.exact,
                memory=passes.memory or DEFAULT_MEMORY,
                pos_label=pos_label,
                progress=progress,
                **options,
            )
    if output is not None:
        save_results(results, output, lambda: _as_json(results))
    if as_json:
        print_result(_as_json(results))
        return
    for name, result in results.items():
        print_table(result.text_table(), name if len(results) > 1 else "")
        for note in result.notes:
            print_result(note)


def _pos_label(path: Path, columns: ScoreColumns) -> str | float | None:
    """Return the label of the anomalies, a number where the labels are numbers.

    Columns that are not there are wrong data, as in memory.
    """
    with data_from(path):
        files = ScoreFiles(path)
    check_label(path, files.names, columns.label)
    check_columns(path, files.names, [*columns.groups, *(columns.scores or ())])
    text = columns.pos_label
    if text is None or columns.label not in files.numbers() or not is_number(text):
        return text
    return read_number(text)


def _as_json(results: Mapping[str, StreamedEvaluation]) -> str:
    """Return one list of detectors, each with its file."""
    rows = [{"file": name, **row} for name, result in results.items() for row in result.plain()]
    return json_text(with_versions({"results": rows}), indent=2)
