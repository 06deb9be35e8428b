"""``fastad compare --independent``: a detector's measure on two independent samples."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.parameters import check_choice
from fastad._core.progress import LATE
from fastad._core.results import json_text, with_versions
from fastad._core.text_tables import format_p
from fastad.cli._console import DataError, data_from, print_message, print_result, progress_bar
from fastad.cli._scored_tables import ScoreColumns, ScoredTable, read_scored_table
from fastad.errors import InvalidTypeError
from fastad.uncertainty.comparisons.comparison_results import IndependentComparison
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from fastad.uncertainty.comparisons.independent import compare_independent


def run_compare_independent(
    files: tuple[Path, Path],
    columns: ScoreColumns,
    options: Mapping[str, Any],
    *,
    correction: str,
    as_json: bool,
) -> None:
    """Compare each detector's measure on the samples of two files, and print where it is better."""
    check_choice(correction, tuple(CORRECTIONS), "correction")
    tables = [read_scored_table(path, columns) for path in files]
    detectors = [name for name in tables[0].scores if name in tables[1].scores]
    if not detectors:
        raise DataError(
            f"{files[1]}: it must have a column of scores of {files[0]}; found "
            f"{', '.join(tables[1].scores) or 'none'} beside {', '.join(tables[0].scores)}"
        )
    with progress_bar("replicates", after=LATE) as progress:
        results = {
            name: _compare(files, tables, name, {**options, "progress": progress})
            for name in detectors
        }
    p_values = np.array([result.p_value for result in results.values()])
    adjusted = CORRECTIONS[correction](p_values).tolist()
    for table in tables:
        if table.message:
            print_message(table.message)
    if as_json:
        rows = [
            {"detector": name, **result.to_dict(), "adjusted_p_value": p_value}
            for (name, result), p_value in zip(results.items(), adjusted, strict=True)
        ]
        print_result(
            json_text(with_versions({"correction": correction, "comparisons": rows}), indent=2)
        )
        return
    for (name, result), p_value in zip(results.items(), adjusted, strict=True):
        several = len(results) > 1
        suffix = f" Of {len(results)} comparisons, {correction}: {format_p(p_value, 'p')}."
        print_result(f"{name}: {result.summary}{suffix if several else ''}")


def _compare(
    files: tuple[Path, Path],
    tables: list[ScoredTable],
    detector: str,
    options: Mapping[str, Any],
) -> IndependentComparison:
    first, second = tables
    with data_from(" and ".join(map(str, files))):
        try:
            result = compare_independent(
                (first.labels, first.scores[detector]),
                (second.labels, second.scores[detector]),
                **options,
            )
        except InvalidTypeError as error:
            # A function in place of the key of a measure.
            raise typer.BadParameter(str(error), param_hint="--measure") from None
    names = [path.stem for path in files]
    if names[0] == names[1]:
        names = list(map(str, files))
    return replace(result, names=(names[0], names[1]))
