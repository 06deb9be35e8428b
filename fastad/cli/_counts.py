"""``fastad counts``: the query by which a database counts scores in bins."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fastad._tables.errors import TableError
from fastad._tables.table import Table
from fastad.cli._console import data_from, print_result
from fastad.errors import UndefinedMeasureError
from fastad.streaming.large_files.counts import is_counts
from fastad.streaming.large_files.evaluation import counted_cells
from fastad.streaming.sketches.refinement import split_query
from fastad.streaming.sketches.sketch import ScoreSketch
from fastad.streaming.sketches.sql import CountsQuery


def run(
    options: Mapping[str, Any], refine: Path | None, measure: str | None, tolerance: float
) -> None:
    """Print the query; where counts are refined, the one that splits what a measure depends on."""
    query = CountsQuery(**options)
    if refine is None:
        print_result(query.write().rstrip())
        return
    table = Table(refine)
    if not is_counts(table, ""):
        raise TableError(f"{refine}: there are no counts: columns low, high, normals, anomalies")
    with data_from(refine):
        cells = counted_cells(table, options["group_columns"])
        refinements = []
        for each in cells.values():
            with suppress(UndefinedMeasureError):
                sketch = ScoreSketch.of_bins([each])
                refinements.append(sketch.refine(measure=str(measure), tolerance=tolerance))
    print_result(split_query(refinements, query).rstrip())
