"""Reading a tidy table: its columns, and numbers for what is named in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, set_all_readonly
from fastad._core.frames import table_columns
from fastad._core.results import Result
from fastad._core.types import IntVector
from fastad._kernels.ordering import groups as kernels
from fastad.benchmarking.columns import refuse_masked, texts
from fastad.errors import InvalidInputError
from fastad.ordering.groups import factorize

# Between the parameters of a model, where no text has it.
_BETWEEN = "\x1f"


def table_of(table: Any, argument: str = "table") -> dict[str, Any]:
    """Return the columns of a table by name."""
    if isinstance(table, Result):
        return table.to_columns()
    columns = table_columns(table, "table")
    if columns is None:
        raise TypeError(
            f"{argument} must be a data frame, a mapping of columns or an evaluation of groups; "
            f"found {type(table).__name__}"
        )
    return dict(columns)


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """Problem, model and fold of each row, by number, and their names.

    Attributes
    ----------
    problem, model, fold : numpy.ndarray of shape (n_rows,)
        Places among the names.
    datasets : list
        Data set of each problem.
    anomaly_classes : list or None
        Class of the anomalies of each problem.
    detectors : list of str
        Each once.
    detector_of : numpy.ndarray of shape (n_models,)
        Place among them of each model.
    models : list of str
        Detector and parameters of each model.
    folds : list
        Each once.
    """

    problem: IntVector
    model: IntVector
    fold: IntVector
    datasets: list[Any]
    anomaly_classes: list[Any] | None
    detectors: list[str]
    detector_of: IntVector
    models: list[str]
    folds: list[Any]

    def in_order(self) -> tuple[IntVector, IntVector]:
        """Return the rows by problem, model and fold, and where each model of a problem starts.

        Refuses repeated rows, and names that do not tell two things apart.
        """
        n_models, n_folds = len(self.models), len(self.folds)
        if n_models < 2:
            raise InvalidInputError(
                f"table must hold at least two models to compare; found {n_models}",
                argument="table",
            )
        place = (self.problem * n_models + self.model) * n_folds + self.fold
        order = np.argsort(place, kind="stable")
        place = place[order]
        repeated = np.flatnonzero(place[1:] == place[:-1])
        if len(repeated):
            row = int(order[repeated + 1].min())
            raise InvalidInputError(
                "table must hold each data set, detector, params and fold once; found "
                f"{len(repeated)} repeated rows, the first at row {row}: "
                f"{self.datasets[self.problem[row]]}, {self.models[self.model[row]]}, "
                f"fold {self.folds[self.fold[row]]}",
                argument="table",
            )
        problems = problem_names(self.datasets, self.anomaly_classes)
        for what, shown in (("model", self.models), ("data set", problems)):
            if len(set(shown)) < len(shown):
                twice = next(name for name in shown if shown.count(name) > 1)
                raise InvalidInputError(
                    f"table must name each {what} once; found two {twice!r}", argument="table"
                )
        starts = np.zeros(len(problems) * n_models + 1, np.int64)
        kernels.group_starts(as_readonly(place // n_folds), starts)
        set_all_readonly(self.detector_of, starts)
        return order, starts


def key_columns(
    columns: Mapping[str, Any], *, detector: Any, dataset: Any, **optional: Any
) -> dict[str, list[str]]:
    """Return the columns of each key; of one that is not given, that of its name if it is there."""
    if not isinstance(detector, str):
        raise TypeError(f"detector must be the name of a column; found {detector!r}")
    named = {"dataset": _names_of(dataset, "dataset"), "detector": [detector]}
    for key, wanted in optional.items():
        default = [key] if key in columns else []
        named[key] = default if wanted is None else _names_of(wanted, key)
    for argument, names in named.items():
        for name in names:
            if name not in columns:
                raise InvalidInputError(
                    f"{argument} must name a column of the table; found {name!r}, and the "
                    f"columns {', '.join(columns)}",
                    argument=argument,
                )
            refuse_masked(columns[name], f"table[{name!r}]")
    taken = [name for names in named.values() for name in names]
    if len(set(taken)) < len(taken):
        raise InvalidInputError(
            "dataset, detector, params, fold and anomaly_class must name different columns; found "
            f"{named}"
        )
    return named


def read_keys(columns: Mapping[str, Any], named: Mapping[str, Sequence[str]], n_rows: int) -> Keys:
    """Read the problem, model and fold of each row."""

    def read(key: str) -> tuple[IntVector, list[Any]]:
        parts = [factorize(columns[name], f"table[{name!r}]", n_rows) for name in named[key]]
        return _combined(parts, n_rows)

    datasets, dataset_names = read("dataset")
    classes, class_names = read("anomaly_class")
    detectors, detector_names = read("detector")
    params, params_names = _parameters(columns, named["params"], n_rows)
    folds, fold_names = read("fold")
    problem, (dataset_of, class_of) = _numbered([datasets, classes])
    model, (detector_of, params_of) = _numbered([detectors, params])
    return Keys(
        problem,
        model,
        folds,
        [dataset_names[i] for i in dataset_of],
        [class_names[i] for i in class_of] if named["anomaly_class"] else None,
        [str(name) for name in detector_names],
        detector_of,
        [
            f"{detector_names[i]} {params_names[j]}".rstrip()
            for i, j in zip(detector_of, params_of, strict=True)
        ],
        fold_names,
    )


def _names_of(wanted: Any, argument: str) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be the name of a column, or several; found {wanted!r}")
    return list(names)


def check_lengths(columns: Mapping[str, Any], keys: Sequence[str]) -> int:
    """Check that all columns are as long as that of the first key; return how long."""
    lengths = {}
    for name, column in columns.items():
        try:
            lengths[name] = len(column)
        except TypeError:
            raise InvalidInputError(
                f"table[{name!r}] must be a column; found {type(column).__name__}"
            ) from None
    n_rows = lengths[keys[0]]
    for name, n in lengths.items():
        if n != n_rows:
            raise InvalidInputError(
                f"table must have columns of one length; found {n_rows} rows of {keys[0]!r} and "
                f"{n} of {name!r}",
                argument="table",
            )
    if n_rows == 0:
        raise InvalidInputError("table must not be empty; found no row", argument="table")
    return n_rows


def _combined(
    columns: Sequence[tuple[IntVector, npt.NDArray[Any]]], n_rows: int
) -> tuple[IntVector, list[Any]]:
    """Return the code of each row and the names, tuples of several columns."""
    if not columns:
        return np.zeros(n_rows, np.int64), [None]
    if len(columns) == 1:
        codes, names = columns[0]
        return codes, names.tolist()
    codes, places = _numbered([codes for codes, _ in columns])
    parts = [names[place].tolist() for (_, names), place in zip(columns, places, strict=True)]
    return codes, list(zip(*parts, strict=True))


def _numbered(columns: Sequence[IntVector]) -> tuple[IntVector, list[IntVector]]:
    """Number the combinations of codes that occur; return also the codes of each."""
    joined = columns[0]
    for codes in columns[1:]:
        if codes.any():
            joined = np.unique(joined * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    joined = as_readonly(joined.astype(np.int64, copy=False))
    first = np.empty(int(joined.max()) + 1, np.int64)
    kernels.first_rows(joined, first)
    return joined, [codes[first] for codes in columns]


def given_names(given: Any, n: int, argument: str) -> npt.NDArray[Any]:
    """Return n names, by default whole numbers, as entries that may be tuples."""
    try:
        names = list(range(n)) if given is None else list(given)
    except TypeError:
        raise TypeError(f"{argument} must be a sequence of names; found {given!r}") from None
    if len(names) != n:
        raise InvalidInputError(
            f"{argument} must have {n} names; found {len(names)}", argument=argument
        )
    entries = np.empty(n, object)
    entries[:] = names
    return entries


def _parameters(
    columns: Mapping[str, Any], names: Sequence[str], n_rows: int
) -> tuple[IntVector, list[str]]:
    """Return the code of each row's parameters, and how they read."""
    if not names:
        return np.zeros(n_rows, np.int64), [""]
    rows = zip(*(texts(columns[name], f"table[{name!r}]") for name in names), strict=True)
    # What is missing differs from every text.
    whole = [_BETWEEN.join("" if cell is None else f"={cell}" for cell in row) for row in rows]
    codes, distinct = factorize(np.array(whole, object), "table", n_rows)
    shown = []
    for text in distinct.tolist():
        cells = text.split(_BETWEEN)
        if len(names) == 1:
            shown.append(cells[0][1:])
        else:
            given = zip(names, cells, strict=True)
            shown.append(", ".join(f"{name}{cell}" for name, cell in given if cell))
    return codes, shown


def problem_names(datasets: Sequence[Any], classes: Sequence[Any] | None) -> list[str]:
    """Return how each data set is named, with the class of its anomalies."""
    if classes is None:
        return [_as_text(name) for name in datasets]
    return [f"{_as_text(name)} {one}" for name, one in zip(datasets, classes, strict=True)]


def _as_text(name: Any) -> str:
    return " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
