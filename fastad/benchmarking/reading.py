"""Reading the columns of a table of results: names as codes, measures as numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import (
    RowIndex,
    as_readonly,
    check_rows,
    python_values,
    refuse_merged,
    set_all_readonly,
)
from fastad._core.frames import is_missing_entry, refuse_masked, table_columns
from fastad._core.parameters import short_repr
from fastad._core.results import Result
from fastad._core.text_tables import count_text
from fastad._core.types import FloatVector, IntVector
from fastad._kernels.ordering import groups as kernels
from fastad.benchmarking.columns import ONE_CLASS
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.ordering.groups import factorize

# Between the parameters of a model: no string contains it.
_SEPARATOR = "\x1f"
_COLUMN = "a column of numbers"


def table_of(table: Any, argument: str = "table") -> dict[str, Any]:
    """Return the columns of a table by name."""
    if isinstance(table, Result):
        return table.to_columns()
    columns = table_columns(table, argument)
    if columns is None:
        raise InvalidTypeError(
            f"{argument} must be a data frame, a mapping of columns or an evaluation of groups; "
            f"found {type(table).__name__}"
        )
    return dict(columns)


def _in_order(
    problem: IntVector, model: IntVector, fold: IntVector, names: Mapping[str, Any]
) -> tuple[IntVector, IntVector]:
    """Return the rows by problem, model and fold, and where each model of a problem starts.

    Repeated rows are refused, and different things of one name.
    """
    models, folds = names["models"], names["folds"]
    if len(models) < 2:
        raise InvalidInputError(
            f"table must contain at least two models to compare; found {len(models)}"
        )
    run = (problem * len(models) + model) * len(folds) + fold
    order = np.argsort(run, kind="stable")
    run = run[order]
    repeated = np.flatnonzero(run[1:] == run[:-1])
    if len(repeated):
        row = int(order[repeated + 1].min())
        raise InvalidInputError(
            "table must contain each data set, detector, params and fold once; found "
            f"{count_text(len(repeated), 'repeated row')}, the first at row {row}: "
            f"{names['datasets'][problem[row]]}, {models[model[row]]}, fold {folds[fold[row]]}"
        )
    problems = problem_names(names["datasets"], names["anomaly_classes"])
    for noun, each in (("model", models), ("data set", problems)):
        if len(set(each)) < len(each):
            twice = next(name for name in each if each.count(name) > 1)
            raise InvalidInputError(f"table must name each {noun} once; found two {twice!r}")
    starts = np.zeros(len(problems) * len(models) + 1, np.int64)
    kernels.group_starts(as_readonly(run // len(folds)), starts)
    return order, starts


def read_keys(
    table: Mapping[str, Any], keys: Mapping[str, Sequence[str]], n_rows: int
) -> tuple[dict[str, Any], IntVector, IntVector, IntVector]:
    """Read the problem, model and fold of each row, and the attributes of `ResultTable` with names.

    Returns also the order of rows by these, where each model of a problem starts, and the folds.
    """

    def read(key: str) -> tuple[IntVector, list[Any]]:
        parts = [factorize(table[name], f"table[{name!r}]", RowIndex(n_rows)) for name in keys[key]]
        return _combined(parts, n_rows)

    datasets, dataset_names = read("dataset")
    classes, class_names = np.zeros(n_rows, np.int64), [None]
    for name in keys["anomaly_class"][:1]:
        column = _with_one_class(table[name])
        if column is not None:
            codes, distinct = factorize(column, f"table[{name!r}]", RowIndex(n_rows))
            classes, class_names = codes, python_values(distinct)
    detectors, detector_names = read("detector")
    params, params_names = _parameters(table, keys["params"], n_rows)
    folds, fold_names = read("fold")
    problem, (dataset_of, class_of) = _numbered([datasets, classes])
    model, (detector_of, params_of) = _numbered([detectors, params])
    names = {
        "datasets": [dataset_names[i] for i in dataset_of],
        "anomaly_classes": [class_names[i] for i in class_of] if class_names != [None] else None,
        "detectors": [str(name) for name in detector_names],
        "detector_of": detector_of,
        "models": [
            f"{detector_names[i]} {params_names[j]}".rstrip()
            for i, j in zip(detector_of, params_of, strict=True)
        ],
        "folds": fold_names,
    }
    order, starts = _in_order(problem, model, folds, names)
    folds = folds[order]
    set_all_readonly(detector_of, starts, folds)
    return names, order, starts, folds


def _with_one_class(column: Any) -> Any:
    """Return classes of anomalies, named where a data set has one; None where all have one."""
    cells = strings(column, "table['anomaly_class']")
    if None not in cells:
        return column
    if not any(cells):
        return None
    return np.array([ONE_CLASS if cell is None else cell for cell in cells], object)


def check_lengths(table: Mapping[str, Any], key: str) -> int:
    """Check that all columns have as many rows as a key's column; return the number of rows."""
    lengths = {}
    for name, column in table.items():
        try:
            lengths[name] = len(column)
        except TypeError:
            raise InvalidInputError(
                f"table[{name!r}] must be a column; found {type(column).__name__}"
            ) from None
    n_rows = lengths[key]
    for name, n in lengths.items():
        if n != n_rows:
            raise InvalidInputError(
                f"table must have columns of one length; found {n_rows} rows of {key!r} and "
                f"{n} of {name!r}"
            )
    if n_rows == 0:
        raise InvalidInputError("table must not be empty; found no row")
    check_rows({f"table[{name!r}]": column for name, column in table.items()})
    return n_rows


def numbers(column: Any, name: str, *, kind: str = _COLUMN) -> FloatVector:
    """Return a column of a measure, or an array of any shape, with NaN for missing entries."""
    refuse_masked(column, name)
    try:
        values: npt.NDArray[Any] = np.asarray(column)
        if values.dtype == object:
            flat = [
                np.nan if is_missing_entry(cell) else cell for cell in values.reshape(-1).tolist()
            ]
            values = np.asarray(flat).reshape(values.shape)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must be {kind}; found {error}") from None
    if values.dtype.kind not in "biuf" or (kind == _COLUMN and values.ndim != 1):
        raise InvalidInputError(
            f"{name} must be {kind}; found {values.dtype} of shape {values.shape}"
        )
    return values.astype(np.float64)


def is_numeric(column: Any) -> bool:
    """Return whether `numbers` would read a column."""
    try:
        return bool(np.isfinite(numbers(column, "table")).any())
    except InvalidInputError:
        return False


def strings(column: Any, name: str) -> list[str | None]:
    """Return a column of parameters as strings; integers are the same string in every type."""
    values = np.asarray(column)
    refuse_merged(column, values, name)
    if values.ndim != 1:
        raise InvalidInputError(f"{name} must be a column; found shape {values.shape}")
    if values.dtype.kind in "fMm":  # of a float32 its own digits, of a date no number
        return [None if cell != cell else _string(cell) for cell in values]
    return [None if is_missing_entry(cell) else _string(cell) for cell in values.tolist()]


def _string(cell: Any) -> str:
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return f"{float(cell):.0f}"  # a missing value in the column has made integers floats
    return str(cell)


def _combined(
    columns: Sequence[tuple[IntVector, npt.NDArray[Any]]], n_rows: int
) -> tuple[IntVector, list[Any]]:
    """Return the code of each row and the names, tuples of several columns."""
    if not columns:
        return np.zeros(n_rows, np.int64), [None]
    if len(columns) == 1:
        codes, names = columns[0]
        return codes, python_values(names)
    codes, indices = _numbered([codes for codes, _ in columns])
    parts = [
        python_values(names[index]) for (_, names), index in zip(columns, indices, strict=True)
    ]
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
    """Return n names, by default integers, as an array of objects that may be tuples."""
    try:
        names = list(range(n)) if given is None else list(given)
    except TypeError:
        raise InvalidTypeError(
            f"{argument} must be a sequence of names; found {short_repr(given)}"
        ) from None
    if len(names) != n:
        raise InvalidInputError(f"{argument} must have {count_text(n, 'name')}; found {len(names)}")
    entries = np.empty(n, object)
    entries[:] = names
    return entries


def _parameters(
    table: Mapping[str, Any], names: Sequence[str], n_rows: int
) -> tuple[IntVector, list[str]]:
    """Return the code of each row's parameters, and each of them as a string."""
    if not names:
        return np.zeros(n_rows, np.int64), [""]
    rows = zip(*(strings(table[name], f"table[{name!r}]") for name in names), strict=True)
    # A missing value differs from every string.
    joined = [_SEPARATOR.join("" if cell is None else f"={cell}" for cell in row) for row in rows]
    codes, distinct = factorize(np.array(joined, object), "table", RowIndex(n_rows))
    descriptions = []
    for text in distinct.tolist():
        cells = text.split(_SEPARATOR)
        if len(names) == 1:
            descriptions.append(cells[0][1:])
        else:
            pairs = zip(names, cells, strict=True)
            descriptions.append(", ".join(f"{name}{cell}" for name, cell in pairs if cell))
    return codes, descriptions


def problem_names(datasets: Sequence[Any], classes: Sequence[Any] | None) -> list[str]:
    """Return the name of each data set as a string, with the class of its anomalies."""
    if classes is None:
        return [_joined(name) for name in datasets]
    return [f"{_joined(name)} {label}" for name, label in zip(datasets, classes, strict=True)]


def problems_text(clusters: IntVector) -> str:
    """Return how many problems there are, and of how many data sets where some have several."""
    data = count_text(len(np.unique(clusters)), "data set")
    noun = problem_noun(clusters)
    return data if noun == "data set" else f"{count_text(len(clusters), noun)} of {data}"


def problem_noun(clusters: IntVector) -> str:
    """Return the word for a problem: a data set, where none has several problems."""
    return "data set" if len(np.unique(clusters)) == len(clusters) else "problem"


def _joined(name: Any) -> str:
    return " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)
