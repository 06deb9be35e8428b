"""``ResultTable``: measures of many models on many data sets and folds."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import check_rows, set_all_readonly, set_readonly
from fastad._core.frames import refuse_masked
from fastad._core.parameters import short_repr
from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import some_of
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, IntVector
from fastad.benchmarking.columns import (
    COLLECTION,
    CONTAMINATION,
    MeasureColumn,
    Names,
    columns_meant,
    find_columns,
    key_list,
)
from fastad.benchmarking.means import cell_means
from fastad.benchmarking.reading import (
    check_lengths,
    given_names,
    is_numeric,
    numbers,
    problem_names,
    problems_text,
    read_keys,
    table_of,
)
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.requests import suggestion_for

# A table of results, or one whose columns have the names that `ResultTable.from_table` expects.
Results: TypeAlias = Any
# Values of problems, models and measures, signed so that higher is better.
Merits: TypeAlias = npt.NDArray[np.float64]

_MAX_NAMES, _MAX_DOUBTS, _MAX_LISTED = 3, 8, 30
_AUC = "auc"
# A table has no numbers of samples: this many areas below this value are not chance.
_FAR_BELOW_CHANCE, _FEWEST_AREAS = 0.4, 3


def _with_lowest_contamination(cells: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """Return the rows of a study with the lowest contamination, and a note of the others."""
    rates = np.asarray(cells[CONTAMINATION])
    with suppress(ValueError):  # text of a file
        rates = rates.astype(np.float64)
    rates = numbers(rates, f"table[{CONTAMINATION!r}]")
    distinct = np.unique(rates).tolist()
    if len(distinct) == 1:
        return cells, ""
    rows = rates == distinct[0]
    others = some_of([f"{rate:g}" for rate in distinct[1:]], _MAX_NAMES)
    note = f"left out: rows of contamination {others}; those of {distinct[0]:g} are compared"
    return {name: np.asarray(column)[rows] for name, column in cells.items()}, note


def _names(column: str, given: Names | None) -> bool:
    """Return whether an argument names a column."""
    return column == given if given is None or isinstance(given, str) else column in given


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """Measures of models on data sets and folds, checked and brought in order.

    Made by `from_table` or `from_arrays`; every function of `fastad.benchmarking` takes one, or a
    table that `from_table` would read as it is.

    Attributes
    ----------
    measures : sequence of MeasureColumn
        Labels and directions, in the order of the columns.
    datasets : sequence
        Name of the data set of each problem.
    anomaly_classes : sequence or None
        Class of the anomalies of each problem, where data sets have several.
    detectors : sequence of str
        Each once.
    detector_of : numpy.ndarray of shape (n_models,)
        Index among ``detectors`` of each model.
    models : sequence of str
        Detector and parameters of each model.
    folds : sequence
        Each once.
    """

    measures: Sequence[MeasureColumn]
    datasets: Sequence[Any]
    anomaly_classes: Sequence[Any] | None
    detectors: Sequence[str]
    detector_of: IntVector
    models: Sequence[str]
    folds: Sequence[Any]
    _values: Mapping[str, FloatVector]  # row by row, in the order of the cells
    _starts: IntVector  # of each cell: problem, then model
    _fold_of: IntVector
    _unknown: Sequence[str]  # columns of numbers that are no measures
    _left_out: str = ""  # rows of a study that were not read

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        measures: Sequence[str] | None = None,
        dataset_columns: Names = "dataset",
        detector_column: str = "detector",
        params_columns: Names | None = None,
        fold_columns: Names | None = None,
        anomaly_class_column: str | None = None,
        higher_is_better: Mapping[str, bool] | None = None,
    ) -> "ResultTable":
        """Read a tidy table: a row for each data set, detector, parameters and fold.

        Parameters
        ----------
        table : pandas.DataFrame, polars.DataFrame, pyarrow.Table, mapping, or GroupedEvaluation
            Columns of equal length, such as `GroupedEvaluation.to_frame` returns.
        measures : sequence of str, optional
            Columns to read; by default all that are named by the key or the function of a measure:
            ``roc_auc`` is read as ``auc``. Notes name the other columns of numbers.
        dataset_columns : str or sequence of str, default "dataset"
            Column of the data set, or columns that name it together; none for one data set. In
            tables of a study several collections are part of the name, and rows of the lowest
            contamination are read, unless an argument names their column.
        detector_column : str, default "detector"
            Column of the detector.
        params_columns : str or sequence of str, optional
            Columns of its parameters; by default ``params`` where there is one. May be missing
            where a detector has none.
        fold_columns : str or sequence of str, optional
            Columns of the fold, split or repeat; by default ``fold`` and ``repeat`` where present.
        anomaly_class_column : str, optional
            Column of the class of the anomalies, for data sets with several; by default
            ``anomaly_class`` where there is one. Each is then a problem of its own, and
            intervals know which problems share a data set. Missing in rows of data sets with one
            class.
        higher_is_better : mapping of str to bool, optional
            Directions of measures that fastad does not know.

        Returns
        -------
        ResultTable

        Raises
        ------
        InvalidInputError
            If a column is absent, a row occurs twice, or there are fewer than two models.
        """
        cells: Mapping[str, Any] = table_of(table)
        note = ""
        given = (detector_column, params_columns, fold_columns, anomaly_class_column)
        if dataset_columns == "dataset" and COLLECTION in cells:
            # Named by an argument, rates tell rows apart.
            if CONTAMINATION in cells and not any(_names(CONTAMINATION, each) for each in given):
                check_lengths(cells, COLLECTION)
                cells, note = _with_lowest_contamination(cells)
            if len(set(map(str, cells[COLLECTION]))) > 1:
                dataset_columns = [COLLECTION, "dataset"]
        columns = find_columns(
            list(cells),
            measures=measures,
            dataset_columns=dataset_columns,
            detector_column=detector_column,
            params_columns=params_columns,
            fold_columns=fold_columns,
            anomaly_class_column=anomaly_class_column,
            higher_is_better=higher_is_better,
        )
        for name in columns.key_names:
            refuse_masked(cells[name], f"table[{name!r}]")
        n_rows = check_lengths(cells, columns.key_names[0])
        values = {
            measure.key: numbers(cells[measure.column], f"table[{measure.column!r}]")
            for measure in columns.measures
        }
        names, order, starts, folds = read_keys(cells, columns.keys, n_rows)
        return cls(
            columns.measures,
            **names,
            _values={key: set_readonly(column[order]) for key, column in values.items()},
            _starts=starts,
            _fold_of=folds,
            _unknown=[name for name in columns.unknown if is_numeric(cells[name])],
            _left_out=note,
        )

    @classmethod
    def from_arrays(
        cls,
        values: Mapping[str, ArrayLike],
        *,
        datasets: Sequence[Any] | None = None,
        detectors: Sequence[str] | None = None,
        params: Sequence[str] | None = None,
        higher_is_better: Mapping[str, bool] | None = None,
    ) -> "ResultTable":
        """Read arrays of measures.

        Parameters
        ----------
        values : mapping of str to array-like of shape (n_datasets, n_models[, n_folds])
            For each measure, by its key; all of one shape. NaN where a measure is undefined.
        datasets : sequence of length n_datasets, optional
            Names; by default integers from 0.
        detectors : sequence of str of length n_models, optional
            Name of the detector of each model; by default integers from 0.
        params : sequence of str of length n_models, optional
            Parameters of each model, where detectors have several.
        higher_is_better : mapping of str to bool, optional
            Directions of measures that fastad does not know.

        Returns
        -------
        ResultTable
            Data sets and models stand in the order of their names, not of the arrays.

        Raises
        ------
        InvalidInputError
            If shapes differ, a model occurs twice, or there are fewer than two models.

        Examples
        --------
        >>> import fastad
        >>> auc = [[0.9, 0.8], [0.7, 0.6], [0.8, 0.9]]
        >>> results = fastad.ResultTable.from_arrays({"auc": auc}, detectors=["knn", "lof"])
        >>> results.n_datasets, results.models
        (3, ['knn', 'lof'])
        """
        if not isinstance(values, Mapping):
            raise InvalidTypeError(f"values must map keys to arrays; found {type(values).__name__}")
        if not values:
            raise InvalidInputError("values must contain at least one measure; found none")
        arrays = {
            name: numbers(array, f"values[{name!r}]", kind="an array of numbers")
            for name, array in values.items()
        }
        for name in ("dataset", "anomaly_class", "detector", "params", "fold"):
            if name in arrays:
                raise InvalidInputError(
                    f"values must contain measures; found the key {short_repr(name)}"
                )
        shape = next(iter(arrays.values())).shape
        for name, array in arrays.items():
            if array.shape != shape or array.ndim not in (2, 3) or not array.size:
                raise InvalidInputError(
                    f"values[{name!r}] must have shape (n_datasets, n_models) or (n_datasets, "
                    f"n_models, n_folds), the same for all; found {array.shape} and {shape}"
                )
        check_rows({f"values[{name!r}]": array for name, array in values.items()})
        n_datasets, n_models, n_folds = (*shape, 1)[:3]
        table: dict[str, Any] = {
            "dataset": np.repeat(given_names(datasets, n_datasets, "datasets"), n_models * n_folds),
            "detector": np.tile(
                np.repeat(given_names(detectors, n_models, "detectors"), n_folds), n_datasets
            ),
            "fold": np.tile(np.arange(n_folds), n_datasets * n_models),
        }
        if params is not None:
            table["params"] = np.tile(
                np.repeat(given_names(params, n_models, "params"), n_folds), n_datasets
            )
        table |= {name: array.reshape(-1) for name, array in arrays.items()}
        return cls.from_table(table, measures=list(arrays), higher_is_better=higher_is_better)

    def __repr__(self) -> str:
        return (
            f"<ResultTable of {problems_text(self.clusters)}, {len(self.models)} models, "
            f"{len(self.folds)} folds: {', '.join(self.measure_keys)}>"
        )

    @property
    def n_datasets(self) -> int:
        """Number of problems: data sets, or anomaly classes of them."""
        return len(self.datasets)

    @property
    def measure_keys(self) -> list[str]:
        """Keys of the measures."""
        return [measure.key for measure in self.measures]

    @property
    def problems(self) -> list[str]:
        """Name of each problem: the data set, and the class of its anomalies."""
        return problem_names(self.datasets, self.anomaly_classes)

    @cached_property
    def clusters(self) -> IntVector:
        """Index of each problem's data set among the distinct ones."""
        indices: dict[Any, int] = {}
        clusters = np.array([indices.setdefault(name, len(indices)) for name in self.datasets])
        set_all_readonly(clusters)
        return clusters

    def measure(self, key: str, argument: str = "measure") -> MeasureColumn:
        """Return a measure by its key, or the name of its function."""
        if not isinstance(key, str):
            raise InvalidTypeError(f"{argument} must be a key; found {short_repr(key)}")
        meant = self._meant(key, argument)
        if len(meant) > 1:
            names = ", ".join(column.key for column in meant)
            raise InvalidInputError(
                f"{argument} must be one of {names}; found {short_repr(key)}, which is all of them"
            )
        return meant[0]

    def select(self, keys: Sequence[str], argument: str) -> list[MeasureColumn]:
        """Return measures by their keys or the names of their functions, each once."""
        meant = [self._meant(key, argument) for key in key_list(keys, argument)]
        return list({column.key: column for columns in meant for column in columns}.values())

    def only_measure(self) -> MeasureColumn:
        """Return the one measure of the table, for a function that is given none."""
        if len(self.measures) > 1:
            raise InvalidInputError(
                f"measure must be one of {some_of(self.measure_keys, _MAX_LISTED)}; found None, "
                f"and {len(self.measures)} measures"
            )
        return self.measures[0]

    def _meant(self, key: str, argument: str) -> list[MeasureColumn]:
        meant = columns_meant(key, self.measures)
        if not meant:
            known = ", ".join(self.measure_keys[:_MAX_LISTED]) + ", …" * (
                len(self.measure_keys) > _MAX_LISTED
            )
            near = did_you_mean(key, {each: each for each in self.measure_keys})
            raise InvalidInputError(
                f"{argument} must be one of {known}; found {short_repr(key)}"
                f"{near or suggestion_for(key)}"
            )
        return meant

    def means(self, key: str) -> FloatMatrix:
        """Return a measure of each problem and model, averaged over folds.

        Returns
        -------
        numpy.ndarray of shape (n_datasets, n_models)
            Means over the folds with a value; NaN where there are none. Rates whose sums over
            folds are equal have equal means, and the order of rows moves no bit.
        """
        name = self.measure(key, "key").key
        if name not in self._means:
            means, _ = cell_means(self._values[name], self._starts)
            self._means[name] = set_readonly(means.reshape(self.n_datasets, len(self.models)))
        return self._means[name]

    def merits(self, measures: Sequence[MeasureColumn]) -> Merits:
        """Return measures of each problem and model, averaged over folds; higher is better."""
        return np.stack([column.sign * self.means(column.key) for column in measures], axis=-1)

    def by_fold(self, key: str) -> FloatMatrix:
        """Return a measure of each problem, model and fold; NaN where it is missing.

        Returns
        -------
        numpy.ndarray of shape (n_datasets, n_models, n_folds)
        """
        values = np.full((len(self._starts) - 1, len(self.folds)), math.nan)
        values[self._cell_of, self._fold_of] = self._values[self.measure(key, "key").key]
        return values.reshape(self.n_datasets, len(self.models), len(self.folds))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._fold_of)

    @property
    def n_undefined(self) -> dict[str, int]:
        """For each key the number of rows in which it is undefined."""
        return {
            key: int(np.count_nonzero(np.isnan(self._values[key]))) for key in self.measure_keys
        }

    @property
    def n_missing(self) -> int:
        """Number of data set, model and fold that have no row."""
        return (len(self._starts) - 1) * len(self.folds) - self.n_rows

    @property
    def missing(self) -> list[tuple[str, str, Any]]:
        """Data set, model and fold of each row that is missing."""
        return self._first_missing(self.n_missing)

    def _first_missing(self, most: int) -> list[tuple[str, str, Any]]:
        present = np.zeros((len(self._starts) - 1, len(self.folds)), np.bool_)
        present[self._cell_of, self._fold_of] = True
        problems, n_models = self.problems, len(self.models)
        return [
            (problems[cell // n_models], self.models[cell % n_models], self.folds[fold])
            for cell, fold in np.argwhere(~present)[:most].tolist()
        ]

    def omissions(self) -> list[str]:
        """Return notes of columns and rows that were not read, and of areas that look wrong."""
        left_out = [self._left_out] if self._left_out else []
        return [*left_out, *self._unknown_columns(), *self._missing_rows(), *self._doubtful_areas()]

    def _unknown_columns(self) -> list[str]:
        if not self._unknown:
            return []
        names = some_of(self._unknown, _MAX_NAMES)
        verb = "is not a measure" if len(self._unknown) == 1 else "are not measures"
        first = self._unknown[0]
        return [
            f"left out: {names}, which {verb} that fastad knows: say which way is better "
            f"with higher_is_better={{{first!r}: True}}{suggestion_for(first)}"
        ]

    def _missing_rows(self) -> list[str]:
        if not self.n_missing:
            return []
        named = "; ".join(
            f"{i}, {model}, fold {j}" for i, model, j in self._first_missing(_MAX_NAMES)
        )
        more = "; …" * (self.n_missing > _MAX_NAMES)
        total = self.n_missing + self.n_rows
        return [f"missing: {self.n_missing} of {total} rows ({named}{more})"]

    def _doubtful_areas(self) -> list[str]:
        """Return notes of areas that are 0.5 in all folds, or far below 0.5 everywhere."""
        if _AUC not in self.measure_keys:
            return []
        areas, notes = self.by_fold(_AUC), []
        n_defined = np.count_nonzero(~np.isnan(areas), axis=2)
        # Scores that are all equal, whatever the fold.
        at_chance = (np.count_nonzero(areas == 0.5, axis=2) == n_defined) & (n_defined > 1)
        if at_chance.any():
            problems = self.problems
            cells = np.argwhere(at_chance).tolist()
            names = some_of([f"{problems[i]}, {self.models[j]}" for i, j in cells], _MAX_DOUBTS)
            notes.append(
                f"auc is exactly 0.5 in all folds, as of scores that are all equal: {names}"
            )
        below = []
        for j, name in enumerate(self.detectors):
            of_detector = areas[:, self.detector_of == j]
            defined = of_detector[~np.isnan(of_detector)]
            if len(defined) >= _FEWEST_AREAS and defined.max() < _FAR_BELOW_CHANCE:
                below.append(name)
        if below:
            notes.append(
                f"auc of {some_of(below, _MAX_DOUBTS)} is below {_FAR_BELOW_CHANCE} wherever it is "
                "defined: the orientation of the scores may be reversed (higher must be more "
                "anomalous)"
            )
        return notes

    @property
    def notes(self) -> list[str]:
        """Unread columns, missing rows, and undefined measures."""
        undefined = [(key, n) for key, n in self.n_undefined.items() if n]
        return self.omissions() + [
            f"nan: {key} is undefined in {n} of {self.n_rows} rows" for key, n in undefined
        ]

    @property
    def _cell_of(self) -> IntVector:
        """Index of the problem and model of each row."""
        return np.repeat(np.arange(len(self._starts) - 1), np.diff(self._starts))

    @cached_property
    def _means(self) -> dict[str, FloatMatrix]:
        return {}


def as_results(
    results: Results, measures: Sequence[str] | None, *, evaluated_by: Sequence[str] | None = None
) -> ResultTable:
    """Return the table of results that an argument is, or that its columns make.

    With the given measures; a table may have others where some evaluate.
    """
    if not isinstance(results, ResultTable):
        keys = None if measures is None else key_list(measures, "measures")
        if evaluated_by is not None and keys is not None:
            keys += key_list(evaluated_by, "evaluated_by")
        return ResultTable.from_table(table_of(results, "results"), measures=keys)
    if measures is None or evaluated_by is not None:
        return results
    return replace(results, measures=results.select(measures, "measures"))
