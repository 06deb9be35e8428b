"""Mean and standard deviation over runs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.results import ShortRepr, TableResult
from fastad._core.text_tables import TextTable, best_three
from fastad._core.types import FloatVector, IntVector
from fastad.evaluation.notes import UNRESOLVED
from fastad.measures.requests import read_key


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Summary(ShortRepr, TableResult):
    """Means over runs; undefined values are left out and counted.

    Attributes
    ----------
    keys : mapping of str to list
        Columns that tell the rows apart, such as data set and detector.
    mean, std : mapping of str to numpy.ndarray
        For each label the mean, and the standard deviation with n - 1; NaN where it is
        undefined.
    n_runs : numpy.ndarray
        Number of runs behind each row.
    n_undefined : mapping of str to numpy.ndarray
        For each label the number of runs in which it is undefined.
    n_unresolved : mapping of str to numpy.ndarray
        For each label the number of runs whose samples are too few for its operating point.
    reasons : sequence of str
        Why values are undefined and what was left out: a line each.
    """

    keys: Mapping[str, list[Any]]
    mean: Mapping[str, FloatVector]
    std: Mapping[str, FloatVector]
    n_runs: IntVector
    n_undefined: Mapping[str, IntVector]
    n_unresolved: Mapping[str, IntVector]
    reasons: Sequence[str] = ()

    @property
    def notes(self) -> Sequence[str]:
        """Why values are undefined and what was left out: a line each."""
        return self.reasons

    def text_table(self) -> TextTable:
        """Return means and standard deviations as strings, the best three detectors marked.

        Detectors are compared where all other keys, such as the data set, are equal. A measure
        that is undefined in all runs is left out, unless all are.
        """
        defined = [label for label, mean in self.mean.items() if not np.isnan(mean).all()]
        labels = defined or list(self.mean)
        head = [*self.keys, "runs", *labels]
        rows = []
        for i, n_runs in enumerate(self.n_runs):
            cells = [_cell(self, label, i) for label in labels]
            rows.append([*(str(values[i]) for values in self.keys.values()), str(n_runs), *cells])
        return TextTable(head, rows, self._marks(labels))

    def _marks(self, labels: Sequence[str]) -> list[list[int]]:
        """Return 1, 2 and 3 for the best means of a data set, where it has several detectors."""
        n_rows = len(self.n_runs)
        others = [column for name, column in self.keys.items() if name != "detector"]
        rows_of: dict[tuple[Any, ...], list[int]] = {}
        for i in range(n_rows):
            rows_of.setdefault(tuple(column[i] for column in others), []).append(i)
        # Before the measures stand the other keys and the number of runs.
        marks = np.zeros((n_rows, len(self.keys) + len(labels)), np.int64)
        for j, label in enumerate(labels):
            means, named = self.mean[label], read_key(label)
            higher = None if named is None else named.measure.higher_is_better
            for rows in rows_of.values() if higher is not None else ():
                if len(rows) > 1:
                    merits = means[rows] if higher else -means[rows]
                    marks[rows, len(self.keys) + j] = best_three(merits[:, None])[:, 0]
        return marks.tolist() if marks.any() else []

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists.

        Columns are the keys, ``n_runs``, and for each label ``_mean``, ``_std``, ``_undefined`` and
        ``_unresolved``.
        """
        columns: dict[str, list[Any]] = {name: list(values) for name, values in self.keys.items()}
        columns["n_runs"] = self.n_runs.tolist()
        for label in self.mean:
            columns[f"{label}_mean"] = self.mean[label].tolist()
            columns[f"{label}_std"] = self.std[label].tolist()
            columns[f"{label}_undefined"] = self.n_undefined[label].tolist()
            columns[f"{label}_unresolved"] = self.n_unresolved[label].tolist()
        return columns


def summarize(
    keys: Mapping[str, Sequence[Any]],
    values: Mapping[str, Sequence[float]],
    unresolved: Sequence[Collection[str]],
    reasons: Sequence[str] = (),
) -> Summary:
    """Average values over the rows that share all keys, in the order in which keys appear.

    ``unresolved`` has for each row the labels for which its samples are too few.
    """
    rows_of: dict[tuple[Any, ...], list[int]] = {}
    n_rows = len(next(iter(values.values())))
    for i in range(n_rows):
        rows_of.setdefault(tuple(column[i] for column in keys.values()), []).append(i)
    mean, std, undefined, n_unresolved = {}, {}, {}, {}
    for label, column in values.items():
        entries = np.asarray(column, np.float64)
        parts = [entries[rows] for rows in rows_of.values()]
        defined = [part[~np.isnan(part)] for part in parts]
        mean[label] = np.array([part.mean() if len(part) else np.nan for part in defined])
        std[label] = np.array([part.std(ddof=1) if len(part) > 1 else np.nan for part in defined])
        undefined[label] = np.array([np.count_nonzero(np.isnan(part)) for part in parts])
        n_unresolved[label] = np.array(
            [sum(label in unresolved[i] for i in rows) for rows in rows_of.values()]
        )
    return Summary(
        keys={name: [key[j] for key in rows_of] for j, name in enumerate(keys)},
        mean=mean,
        std=std,
        n_runs=np.array([len(rows) for rows in rows_of.values()]),
        n_undefined=undefined,
        n_unresolved=n_unresolved,
        reasons=reasons,
    )


def _cell(summary: Summary, label: str, row: int) -> str:
    mark = UNRESOLVED if summary.n_unresolved[label][row] else ""
    text = f"{mark}{summary.mean[label][row]:.4f} ± {summary.std[label][row]:.4f}"
    missing = summary.n_undefined[label][row]
    return f"{text} ({missing} undefined)" if missing else text
