"""Mean and standard deviation over runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.results import Column, ShortRepr, TableResult
from fastad._core.text_tables import best_three, fixed_text
from fastad._core.types import FloatVector, IntVector
from fastad.evaluation.notes import UNRESOLVED
from fastad.measures.requests import read_key

# Endings of the columns of a measure.
STATISTICS = ("_mean", "_std", "_undefined", "_unresolved")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Summary(ShortRepr, TableResult):
    """Means over runs; undefined values are left out and counted.

    Detectors are marked as the best three where all other groups, such as the data set, are equal.
    Frames have the groups, ``n_runs``, and for each key ``_mean``, ``_std``, ``_undefined`` and
    ``_unresolved``.

    Attributes
    ----------
    groups : mapping of str to list
        Columns that tell the rows apart, such as data set and detector.
    mean, std : mapping of str to numpy.ndarray
        For each key the mean, and the standard deviation with n - 1; NaN where it is
        undefined.
    n_runs : numpy.ndarray
        Number of runs behind each row.
    n_undefined : mapping of str to numpy.ndarray
        For each key the number of runs in which it is undefined.
    n_unresolved : mapping of str to numpy.ndarray
        For each key the number of runs whose samples are too few for its operating point.
    reasons : sequence of str
        Why values are undefined and what was left out: a line each.
    """

    groups: Mapping[str, list[Any]]
    mean: Mapping[str, FloatVector]
    std: Mapping[str, FloatVector]
    n_runs: IntVector
    n_undefined: Mapping[str, IntVector]
    n_unresolved: Mapping[str, IntVector]
    reasons: Sequence[str] = ()

    @property
    def notes(self) -> Sequence[str]:
        """Reasons why values are undefined, and rows that were left out: a line each."""
        return self.reasons

    def _marks(self, key: str) -> list[int]:
        """Return 1, 2 and 3 for the best means of a data set, where it has several detectors."""
        marks = np.zeros(len(self.n_runs), np.int64)
        named = read_key(key)
        higher = None if named is None else named.measure.higher_is_better
        if higher is None:
            return []
        others = [column for name, column in self.groups.items() if name != "detector"]
        rows_of: dict[tuple[Any, ...], list[int]] = {}
        for i in range(len(marks)):
            rows_of.setdefault(tuple(column[i] for column in others), []).append(i)
        merits = self.mean[key] if higher else -self.mean[key]
        for rows in rows_of.values():
            if len(rows) > 1:
                marks[rows] = best_three(merits[rows, None])[:, 0]
        return marks.tolist() if marks.any() else []

    def _declare_columns(self) -> Iterator[Column]:
        # A measure that is undefined in all runs is not printed, unless all are.
        printed = [key for key, mean in self.mean.items() if not np.isnan(mean).all()]
        yield from (Column(name, values, str) for name, values in self.groups.items())
        yield Column("n_runs", self.n_runs, str, "runs")
        for key in self.mean:
            if key in (printed or self.mean):
                cells = [_cell(self, key, i) for i in range(len(self.n_runs))]
                yield Column(None, cells, str, key, self._marks(key))
            numbers = self.mean, self.std, self.n_undefined, self.n_unresolved
            for statistic, by_key in zip(STATISTICS, numbers, strict=True):
                yield Column(f"{key}{statistic}", by_key[key])


def summarize(
    groups: Mapping[str, Sequence[Any]],
    values: Mapping[str, Sequence[float]],
    unresolved: Sequence[Collection[str]],
    reasons: Sequence[str] = (),
) -> Summary:
    """Average values over the rows that share all groups, in the order in which these appear.

    ``unresolved`` has for each row the keys for which its samples are too few.
    """
    rows_of: dict[tuple[Any, ...], list[int]] = {}
    n_rows = len(next(iter(values.values())))
    for i in range(n_rows):
        rows_of.setdefault(tuple(column[i] for column in groups.values()), []).append(i)
    mean, std, undefined, n_unresolved = {}, {}, {}, {}
    for key, column in values.items():
        entries = np.asarray(column, np.float64)
        parts = [entries[rows] for rows in rows_of.values()]
        defined = [part[~np.isnan(part)] for part in parts]
        mean[key] = np.array([part.mean() if len(part) else np.nan for part in defined])
        std[key] = np.array([part.std(ddof=1) if len(part) > 1 else np.nan for part in defined])
        undefined[key] = np.array([np.count_nonzero(np.isnan(part)) for part in parts])
        n_unresolved[key] = np.array(
            [sum(key in unresolved[i] for i in rows) for rows in rows_of.values()]
        )
    return Summary(
        groups={name: [group[j] for group in rows_of] for j, name in enumerate(groups)},
        mean=mean,
        std=std,
        n_runs=np.array([len(rows) for rows in rows_of.values()]),
        n_undefined=undefined,
        n_unresolved=n_unresolved,
        reasons=reasons,
    )


def _cell(summary: Summary, key: str, row: int) -> str:
    mark = UNRESOLVED if summary.n_unresolved[key][row] else ""
    text = f"{mark}{fixed_text(summary.mean[key][row])} ± {fixed_text(summary.std[key][row])}"
    missing = summary.n_undefined[key][row]
    return f"{text} ({missing} undefined)" if missing else text
