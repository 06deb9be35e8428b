"""``fastad evaluate``: the measures of detectors whose scores are in files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import typer

from fastad._core.parameters import check_choice
from fastad._core.progress import LATE
from fastad._core.results import TableResult, plain_rows
from fastad._core.threads import available_memory
from fastad._tables.columns import read_number
from fastad._tables.errors import TableError
from fastad._tables.files import STDIN, paths_of
from fastad._tables.table import Table
from fastad.cli._console import (
    data_from,
    print_message,
    print_notes,
    print_result,
    print_table,
    progress_bar,
)
from fastad.cli._saving import PAGE, check_groups, check_output, deliver, versioned_json
from fastad.cli._scored_tables import (
    ScoreColumns,
    open_scored_table,
    read_scored_table,
    reads_found_scores,
)
from fastad.evaluation.entry import evaluate
from fastad.evaluation.groups import GroupedEvaluation
from fastad.evaluation.results import Evaluation
from fastad.measures.registry import MEASURES
from fastad.measures.requests import function_of
from fastad.ordering.labels import NAN_POLICIES
from fastad.streaming.large_files.counts import is_counts
from fastad.streaming.large_files.evaluation import evaluate as evaluate_files

Result: TypeAlias = Evaluation | GroupedEvaluation
# Options of `evaluate`, of which those that are None are left out.
Options: TypeAlias = Mapping[str, Any]

# Memory for files that do not fit, where none is given.
DEFAULT_MEMORY = "512MB"
# Bytes of memory for a byte of a file: Parquet may be compressed, and scores are read, ordered and
# counted.
_IN_MEMORY = 6


def run(
    files: Sequence[Path],
    columns: ScoreColumns,
    options: Options,
    *,
    thresholds: Sequence[str],
    summary: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Evaluate each file, print the results and save them; average over the last group."""
    check_output(output)
    check_groups(columns.groups, output, has_json_rows=summary)
    check_choice(options["nan_policy"], NAN_POLICIES, "nan_policy")
    given = {name: value for name, value in options.items() if value is not None}
    given["threshold"] = _thresholds(thresholds)
    results: dict[str, Result] = {}
    messages = []
    for path in files:
        table = read_scored_table(path, columns)
        own = {**given, "clusters": table.clusters, **table.parts}
        if table.groups:
            own["groups"] = table.groups
        elif output is not None and not table.parts:
            own["curves"] = output.suffix.lower() == PAGE
        with data_from(path, table.columns), progress_bar("replicates", after=LATE) as progress:
            result: Result = evaluate(table.labels, table.scores, **own, progress=progress)
        results[str(path)] = result
        messages.append(table.message)
    for message in filter(None, messages):
        print_message(message)
    shown: dict[str, TableResult] = {
        name: (
            result.summary(columns.groups[-1])
            if summary and isinstance(result, GroupedEvaluation)
            else result
        )
        for name, result in results.items()
    }

    def make_json() -> str:
        if summary:
            return _rows_as_json(
                "summary", {name: plain_rows(each.to_columns()) for name, each in shown.items()}
            )
        return _detectors_as_json(results)

    def print_text() -> None:
        for name, result in results.items():
            print_table(shown[name].text_table(), name if len(results) > 1 else "")
            if isinstance(result, Evaluation):
                for table in (result.operating_table(), result.chance_table()):
                    if table.rows:
                        print_table(table)
            print_notes(result.notes)
            if result.breakdown is not None:
                print_result(str(result.breakdown))

    deliver(shown, make_json, print_text, as_json=as_json, output=output)


def run_streamed(
    files: Sequence[Path],
    columns: ScoreColumns,
    options: Options,
    *,
    counts: bool,
    as_json: bool,
    output: Path | None,
) -> None:
    """Evaluate files, folders or counts batch by batch, print the results and save them."""
    check_output(output)
    check_groups(columns.groups, output, has_json_rows=False)
    results, messages = {}, []
    for path in files:
        if path == STDIN and not counts:
            raise typer.BadParameter(
                "reads files several times, and the standard input can be read once",
                param_hint="--memory",
            )
        scores = None
        if not counts:
            _, scores, message = open_scored_table(path, columns)
            messages.append(message)
        found = reads_found_scores(columns, scores or ())
        with progress_bar("rows") as progress, data_from(path), found:
            results[str(path)] = evaluate_files(
                path,
                label_column=columns.label,
                score_columns=scores,
                group_columns=columns.groups or None,
                kind_columns=columns.kinds or None,
                segment_columns=columns.segments or None,
                pos_label=columns.pos_label,
                progress=progress,
                **{name: value for name, value in options.items() if value is not None},
            )
    for message in filter(None, messages):
        print_message(message)

    def print_text() -> None:
        for name, result in results.items():
            print_table(result.text_table(), name if len(results) > 1 else "")
            for note in result.notes:
                print_result(note)
            if result.breakdown is not None:
                print_result(str(result.breakdown))

    def make_json() -> str:
        return _detectors_as_json(results)

    deliver(results, make_json, print_text, as_json=as_json, output=output)


def refuse_for_counts(files: Sequence[Path], options: Mapping[str, Any]) -> None:
    """Refuse options for labels and scores, by how they are written, beside tables of counts."""
    given = [name for name, value in options.items() if value]
    if given:
        raise typer.BadParameter(
            f"would be ignored: {files[0]} has counts in place of labels and scores",
            param_hint=given[0],
        )


def have_counts(files: Sequence[Path], label: str) -> bool:
    """Tell whether files have counts in place of labels and scores; all or none of them must."""
    found = [is_counts(Table(path), label) for path in files]
    if any(found) and not all(found):
        without = files[found.index(False)]
        raise TableError(f"{without}: all files must have counts, as {files[found.index(True)]}")
    return any(found)


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


def check_measures(options: Options, *, has_parts: bool) -> None:
    """Check that some measure reads each option of measures, or that kinds or segments do."""
    texts = options["measures"]
    if texts is None:
        return
    # Others are rates at a threshold, or are refused later.
    functions = {name for name in map(function_of, texts) if name is not None}
    measures = [MEASURES[name] for name in functions & MEASURES.keys()]
    named = [MEASURES[text] for text in texts if text in MEASURES]
    if (
        options["fpr"] is not None
        and not has_parts
        and not any(
            measure.operating_point is not None and measure.default_points is None
            for measure in named
        )
    ):
        raise typer.BadParameter(
            "would be ignored: no --measure is a function that takes it, such as tpr_at_fpr; "
            f"found {', '.join(texts)}",
            param_hint="--fpr",
        )
    scales = any(measure.takes_score_range for measure in measures)
    if options["score_range"] is not None and not scales:
        raise typer.BadParameter(
            f"would be ignored: no --measure scales scores; found {', '.join(texts)}",
            param_hint="--score-range",
        )


def _thresholds(texts: Sequence[str]) -> list[float] | dict[str, float] | None:
    """Read thresholds: numbers, or one for each detector by its name."""
    # Names may contain the sign.
    named = [text.rpartition("=") for text in texts]
    by_name = {name: _number(number) for name, sign, number in named if sign}
    if not by_name:
        return [_number(text) for text in texts] or None
    if len(by_name) < len(texts):
        raise typer.BadParameter(
            f"must be numbers, or name each detector once (NAME=0.5); found {', '.join(texts)}",
            param_hint="--threshold",
        )
    return by_name


def _number(text: str) -> float:
    try:
        return read_number(text)
    except ValueError:
        raise typer.BadParameter(
            f"must be a number, or a detector with its number (NAME=0.5); found {text!r}",
            param_hint="--threshold",
        ) from None


def _detectors_as_json(results: Mapping[str, TableResult]) -> str:
    plain = {name: each.to_dict() for name, each in results.items()}
    of_file = "{0}: {1}" if len(results) > 1 else "{1}"
    notes = [
        of_file.format(name, note) for name, each in plain.items() for note in each.get("notes", ())
    ]
    detectors = {name: each["detectors"] for name, each in plain.items()}
    return _rows_as_json("detectors", detectors, **({"notes": notes} if notes else {}))


def _rows_as_json(
    kind: str, rows_of: Mapping[str, Sequence[Mapping[str, Any]]], **others: Any
) -> str:
    """Return one list of the rows of all files, each with its file."""
    rows = [{"file": name, **row} for name, rows in rows_of.items() for row in rows]
    return versioned_json(**{kind: rows}, **others)
