"""Mean and standard deviation over runs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastad._core.results import Column, ShortRepr, TableResult
from fastad._core.text_tables import best_three
from fastad._core.types import FloatVector, IntVector
from fastad.evaluation.notes import UNRESOLVED
from fastad.measures.requests import read_key


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Summary(ShortRepr, TableResult):
    """Means over runs; undefined values are left out and counted.

    Detectors are marked as the best three where all other keys, such as the data set, are equal.
    Frames have the keys, ``n_runs``, and for each label ``_mean``, ``_std``, ``_undefined`` and
    ``_unresolved``.

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
        """Reasons why values are undefined, and rows that were left out: a line each."""
        return self.reasons

    def _marks(self, label: str) -> list[int]:
        """Return 1, 2 and 3 for the best means of a data set, where it has several detectors."""
        marks = np.zeros(len(self.n_runs), np.int64)
        named = read_key(label)
        higher = None if named is None else named.measure.higher_is_better
        if higher is None:
            return []
        others = [column for name, column in self.keys.items() if name != "detector"]
        rows_of: dict[tuple[Any, ...], list[int]] = {}
        for i in range(len(marks)):
            rows_of.setdefault(tuple(column[i] for column in others), []).append(i)
        merits = self.mean[label] if higher else -self.mean[label]
        for rows in rows_of.values():
            if len(rows) > 1:
                marks[rows] = best_three(merits[rows, None])[:, 0]
        return marks.tolist() if marks.any() else []

    def _declare_columns(self) -> Iterator[Column]:
        # A measure that is undefined in all runs is not printed, unless all are.
        printed = [label for label, mean in self.mean.items() if not np.isnan(mean).all()]
        yield from (Column(name, values, str) for name, values in self.keys.items())
        yield Column("n_runs", self.n_runs, str, "runs")
        for label in self.mean:
            if label in (printed or self.mean):
                cells = [_cell(self, label, i) for i in range(len(self.n_runs))]
                yield Column(None, cells, str, label, self._marks(label))
            yield Column(f"{label}_mean", self.mean[label])
            yield Column(f"{label}_std", self.std[label])
            yield Column(f"{label}_undefined", self.n_undefined[label])
            yield Column(f"{label}_unresolved", self.n_unresolved[label])


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
