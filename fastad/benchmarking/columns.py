"""Columns of a table of results by their names: data set, detector and so on, and measures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn, TypeAlias

from fastad._core.parameters import check_column_names, check_flag, exact_rate, short_repr
from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import some_of
from fastad._core.types import Point
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import function_of, suggestion_for

Names: TypeAlias = str | Sequence[str]

# Measures without labels, by the text before their operating point.
_VOLUMES = {"cvol@": True, "vol@": False}
_CRITERIA = {"em": True, "mv": False}
# Columns that `evaluate` writes beside the measures or behind their keys, and pandas beside both.
_WRITTEN = (
    *("n_anomalies", "n_normals", "n_omitted", "tied_fraction"),
    *("threshold", "unresolved", "error", "contamination"),
)
_WRITTEN_PREFIXES = ("threshold@", "flagged@", "__index_level_", "Unnamed: ")
_ENDINGS = ("_low", "_high", "_adjusted", "_p_value")
_MAX_NAMES, _MAX_COLUMNS = 4, 12
# Further columns of a study: several collections are part of the names of data sets, and of several
# contaminations the lowest is compared.
COLLECTION, CONTAMINATION = "collection", "contamination"
# Arguments of `ResultTable.from_table`, by the content of their columns.
_ARGUMENTS = {
    "dataset": "dataset_columns",
    "detector": "detector_column",
    "params": "params_columns",
    "fold": "fold_columns",
    "anomaly_class": "anomaly_class_column",
}
# The class of anomalies of data sets that have one, beside others that have several.
ONE_CLASS = "anomalies"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of the values of a measure."""

    key: str  # short name of the measure
    higher_is_better: bool
    # The false positive rate, or the fraction of anomalies, at which it is read.
    rate: Fraction | None = None
    column: str = ""  # name of the column in the table: its key, or the name of the function

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1: values times it are merits."""
        return 1.0 if self.higher_is_better else -1.0


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table of results, by their part."""

    # Columns of ``dataset``, ``detector``, ``anomaly_class``, ``params`` and ``fold``; none where
    # the table has none.
    keys: Mapping[str, Sequence[str]]
    measures: Sequence[MeasureColumn]
    # Columns that are neither, and that fastad does not write itself; none where measures were
    # named.
    unknown: Sequence[str] = ()

    @property
    def key_names(self) -> list[str]:
        """Names of all key columns."""
        return [name for names in self.keys.values() for name in names]


def find_columns(
    names: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    dataset_columns: Names = "dataset",
    detector_column: str = "detector",
    params_columns: Names | None = None,
    fold_columns: Names | None = None,
    anomaly_class_column: Names | None = None,
    higher_is_better: Mapping[str, bool] | None = None,
) -> TableColumns:
    """Find the columns of a table of results among the names of its columns.

    The arguments are the same as in `ResultTable.from_table`, which calls this. A reader of files
    calls it first, to learn which columns to read, and which of them as numbers. Errors are
    `InvalidInputError` with the argument.
    """
    if not isinstance(detector_column, str):
        raise InvalidTypeError(
            f"detector_column must be the name of a column; found {short_repr(detector_column)}"
        )
    keys = {
        "dataset": check_column_names(dataset_columns, _ARGUMENTS["dataset"]),
        "detector": [detector_column],
    }
    optional = {
        "anomaly_class": anomaly_class_column,
        "params": params_columns,
        "fold": fold_columns,
    }
    for key, given in optional.items():
        defaults = ("fold", "repeat") if key == "fold" else (key,)
        default = [name for name in defaults if name in names]
        keys[key] = default if given is None else check_column_names(given, _ARGUMENTS[key])
    for key, key_columns in keys.items():
        argument = _ARGUMENTS[key]
        for name in key_columns:
            if name not in names:
                raise InvalidInputError(
                    f"{argument} must name a column of the table; found {name!r}, and the "
                    f"columns {some_of(names, _MAX_COLUMNS)}{_wide_hint(key, name, names, keys)}"
                )
    used = [name for key_columns in keys.values() for name in key_columns]
    if len(set(used)) < len(used):
        raise InvalidInputError(
            f"{', '.join(_ARGUMENTS.values())} must name different columns; found {keys}"
        )
    columns = find_measures(names, used, measures, higher_is_better)
    if measures is not None:
        return TableColumns(keys, columns)
    read = {*used, *(column.column for column in columns)}
    unknown = [name for name in names if name not in read and not _is_written(name, read)]
    return TableColumns(keys, columns, unknown)


def find_measures(
    names: Sequence[str],
    keys: Sequence[str],
    measures: Sequence[str] | None,
    higher_is_better: Mapping[str, bool] | None,
) -> list[MeasureColumn]:
    """Return the measures with these keys or names; by default every column that is one."""
    directions = _directions(higher_is_better)
    candidates = [name for name in names if name not in keys]
    for name in directions:
        if name not in candidates:
            _refuse_candidate(name, candidates, "higher_is_better")
    defined: dict[str, MeasureColumn] = {}
    for name in candidates:
        column = _measure_column(name, directions)
        if column is not None and defined.setdefault(column.key, column) is not column:
            raise InvalidInputError(
                f"table must have one column for each measure; found {defined[column.key].column} "
                f"and {name}, which are both {column.key}"
            )
    if measures is None:
        if not defined:
            raise InvalidInputError(
                "table must have a column of a measure, such as auc or tpr@0.05; found "
                f"{some_of(names, _MAX_COLUMNS)}: name others with higher_is_better={{name: True}}"
            )
        return list(defined.values())
    selected: dict[str, MeasureColumn] = {}
    for name in key_list(measures, "measures"):
        meant = columns_meant(name, defined.values())
        if not meant and name in candidates:
            raise InvalidInputError(
                f"measures must be known, or say which way is better, with "
                f"higher_is_better={{{name!r}: True}}; found {name!r}{suggestion_for(name)}"
            )
        if not meant:
            _refuse_candidate(name, candidates, "measures")
        selected |= {column.key: column for column in meant}
    return list(selected.values())


def columns_meant(text: str, columns: Iterable[MeasureColumn]) -> list[MeasureColumn]:
    """Return the columns that a key stands for, or the name of a function, as in `evaluate`.

    A function with an operating point stands for its columns at all of them.
    """
    columns = list(columns)
    exact = [column for column in columns if text in (column.key, column.column)]
    return exact or [
        column for column in columns if text in MEASURES and function_of(column.key) == text
    ]


def columns_by_rate(measures: Sequence[MeasureColumn], name: str) -> list[MeasureColumn]:
    """Return the columns of a measure at false positive rates, such as ``tpr@``, by rising rate."""
    columns = [
        column
        for column in measures
        if column.rate is not None
        and column.key.partition("@")[0] == name
        and column.key.partition("@")[2][:1].isdigit()
    ]
    columns.sort(key=lambda column: column.rate or Fraction(0))
    for first, second in pairwise(columns):
        if first.rate == second.rate:
            raise InvalidInputError(
                f"results must have one column for each rate; found {first.key} and {second.key}"
            )
    return columns


def tpr_column(measures: Sequence[MeasureColumn], operating_fpr: Point) -> MeasureColumn:
    """Return the column of the true positive rate at a false positive rate."""
    rate = exact_rate(operating_fpr, "operating_fpr")
    columns = columns_by_rate(measures, "tpr")
    for column in columns:
        if column.rate == rate:
            return column
    names = [column.key for column in columns]
    known = some_of(names, _MAX_NAMES) if names else "which has none"
    raise InvalidInputError(
        f"operating_fpr must be the rate of a column tpr@ of the table, {known}; found "
        f"{operating_fpr}: evaluate with fpr=({float(rate):g},) to get it"
    )


def key_list(keys: Any, argument: str) -> list[str]:
    """Check a sequence of keys; return each once."""
    if isinstance(keys, str):
        raise InvalidTypeError(f"{argument} must be a sequence of keys; found {keys!r} alone")
    try:
        names = list(keys)
    except TypeError:
        raise InvalidTypeError(
            f"{argument} must be a sequence of keys; found {short_repr(keys)}"
        ) from None
    for name in names:
        if not isinstance(name, str):
            raise InvalidTypeError(f"{argument} must contain keys; found {short_repr(name)}")
    if not names:
        raise InvalidInputError(f"{argument} must name at least one measure; found none")
    return list(dict.fromkeys(names))


def _measure_column(name: str, directions: Mapping[str, bool]) -> MeasureColumn | None:
    """Return the measure whose key is the name of a column; None if it is no key."""
    if name in directions:
        return MeasureColumn(name, directions[name], _rate(name), name)
    if name in _CRITERIA:
        return MeasureColumn(name, _CRITERIA[name], None, name)
    for prefix, higher_is_better in _VOLUMES.items():
        if name.startswith(prefix) and _rate(name) is not None:
            return MeasureColumn(name, higher_is_better, _rate(name), name)
    function = function_of(name)
    if function is None:
        return None
    measure = MEASURES.get(function, RATES.get(function))
    assert measure is not None
    needs_point = measure.operating_point is not None and measure.default_points != (None,)
    if measure.higher_is_better is None or (name in MEASURES and needs_point):
        return None
    key = measure.key if name in MEASURES else name
    in_table = measure.default_points is None and measure.operating_point is not None
    rate = _rate(name) if in_table else None
    return MeasureColumn(key, measure.higher_is_better, rate, name)


def _is_written(name: str, read: Iterable[str]) -> bool:
    """Return whether a column is one that fastad writes beside measures, or an index of pandas."""
    if name in _WRITTEN or name.startswith(_WRITTEN_PREFIXES):
        return True
    return any(name == f"{key}{ending}" for key in read for ending in _ENDINGS)


def _wide_hint(key: str, name: str, names: Sequence[str], keys: Mapping[str, Sequence[str]]) -> str:
    """Return how to read a table with a column for each detector, where this may be one."""
    if name != key or key not in ("dataset", "detector") or "detector" in names:
        return ""
    used = [each for columns in keys.values() for each in columns]
    detectors = [each for each in names if each not in used]
    # A table whose index has the data sets names none in a column.
    datasets = "".join(
        f", datasets=table[{each!r}]" for each in keys["dataset"][:1] if each in names
    )
    listed = str(detectors)
    if len(detectors) > _MAX_COLUMNS:
        listed = f"[{', '.join(map(repr, detectors[:3]))}, ...]"
    return (
        ". If each detector has a column, pass ResultTable.from_arrays({'auc': "
        f"table[{listed}]}}{datasets}, detectors={listed})"
    )


def _rate(name: str) -> Fraction | None:
    """Return the rate behind the @ of a key."""
    number = name.partition("@")[2].lstrip("fprt")
    try:
        return exact_rate(float(number), name)
    except (ValueError, TypeError):
        return None


def _directions(given: Mapping[str, bool] | None) -> dict[str, bool]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"higher_is_better must map names to True or False; found {type(given).__name__}"
        )
    return {name: check_flag(flag, f"higher_is_better[{name!r}]") for name, flag in given.items()}


def _refuse_candidate(name: str, candidates: Sequence[str], argument: str) -> NoReturn:
    known = ", ".join(candidates) or "which has none"
    near = did_you_mean(str(name), {each: each for each in candidates})
    raise InvalidInputError(
        f"{argument} must name columns of the table, {known}; found {name!r}{near}"
    )
