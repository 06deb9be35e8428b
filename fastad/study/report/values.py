"""Section ``values``: the values of detectors on each data set."""

from functools import partial

from fastad.benchmarking.values import mean_values
from fastad.study.report.sections import Section, SectionBuilder
from fastad.study.report.study_results import StudyResults


def values_section(results: StudyResults) -> Section:
    """Return the mean and the standard deviation of each measure, by data set and detector."""
    builder = SectionBuilder(
        "values",
        "Values",
        "Mean ± standard deviation over repeats, of each detector's best configuration by the "
        "measure on each data set; the best three detectors are marked. The parameters were "
        "selected on the same splits, so that these values are optimistic.",
    )
    for cell in results.cells(builder):
        values = builder.attempt(cell.where, partial(mean_values, cell.table))
        if values is not None:
            builder.table(f"values-{cell.key}", f"Values of {cell.where}", values)
    return builder.section()
