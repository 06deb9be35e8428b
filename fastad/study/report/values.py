"""Section ``values``: the means of each detector on each data set, by one measure at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastad._core.results import Column, TableResult, frame_columns
from fastad._core.text_tables import best_detectors, count_text, mean_text
from fastad.benchmarking.reading import problem_names, problem_noun
from fastad.benchmarking.values import MeanValues, mean_values
from fastad.study.report.sections import Section, SectionBuilder
from fastad.study.report.study_results import Cell, StudyResults, file_names
from fastad.study.results import configuration_names


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ValuesByMeasure(TableResult):
    """Values by one measure: a row for each problem, a column for each detector, and their means.

    The mean row is over the problems on which every detector has a value that has any. Frames have
    the values.
    """

    values: MeanValues
    # 1 where higher is better, else -1.
    sign: float
    # Word for a problem.
    noun: str

    @property
    def notes(self) -> Sequence[str]:
        """Notes of missing rows, and of cells that lack some or all folds."""
        return self.values.notes

    def _declare_table(self) -> list[Column]:
        values = self.values
        names = problem_names(values.datasets, values.anomaly_classes)
        mean, std = values.mean[0], values.std[0]
        if len(names) > 1:
            has_values = ~np.isnan(mean).all(axis=0)
            common = ~np.isnan(mean[:, has_values]).any(axis=1)
            total = np.full(mean.shape[1], np.nan)
            if common.any():
                with np.errstate(invalid="ignore"):  # infinities of both signs have no mean
                    total[has_values] = mean[np.ix_(common, has_values)].mean(axis=0)
            names.append(f"mean of {count_text(int(common.sum()), self.noun)}")
            mean, std = np.vstack([mean, total]), np.vstack([std, np.full_like(total, np.nan)])
        marks = best_detectors(self.sign * mean.T).tolist()
        detectors = enumerate(values.detectors)
        return [
            Column(self.noun, names, str),
            *(
                Column(name, map(mean_text, mean[:, j], std[:, j]), str, marks=marks[j])
                for j, name in detectors
            ),
        ]

    def _declare_columns(self) -> list[Column]:
        return frame_columns(self.values.to_columns())


def values_section(results: StudyResults) -> Section:
    """Return the mean and the standard deviation of each measure, by data set and detector."""
    names = set(configuration_names(results.study.tasks))
    if len(names) > len(results.detectors):
        about = (
            "Mean ± standard deviation over repeats, of each detector's best configuration by the "
            "measure on each data set; the best three detectors are marked. The parameters were "
            "selected on the same splits, so that these values are optimistic."
        )
    else:
        about = (
            "Mean ± standard deviation over repeats; the best three detectors of each data set are "
            "marked."
        )
    means = (
        "The last row is the mean over the data sets, or their problems, on which all detectors "
        "have values, but for detectors that have none anywhere."
    )
    builder = SectionBuilder("values", "Values", about, means)
    for cell in results.cells(builder):
        tables = builder.attempt(cell.where, _by_measure, cell)
        if tables is not None:
            name, title = f"values-{cell.key}", f"Values of {cell.where}"
            builder.choice(name, title, tables, file_names(tables))
    return builder.section()


def _by_measure(cell: Cell) -> dict[str, ValuesByMeasure]:
    """Return the values by each measure, by its key."""
    noun = problem_noun(cell.table.clusters)
    return {
        measure.key: ValuesByMeasure(
            mean_values(cell.table, measures=[measure.key]), measure.sign, noun
        )
        for measure in cell.table.measures
    }
