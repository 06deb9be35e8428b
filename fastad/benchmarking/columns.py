"""Columns of a table of results by their names: data set, detector and so on, and measures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

from fastad._core.parameters import check_flag, exact_rate, short_repr
from fastad._core.text_tables import some_of
from fastad._core.types import Point
from fastad.errors import InvalidInputError
from fastad.measures.requests import read_key

Names: TypeAlias = str | Sequence[str]

# Measures without labels, by what stands before their operating point.
_VOLUMES = {"cvol@": True, "vol@": False}
_CRITERIA = {"em": True, "mv": False}
# So many columns are named where one is missing.
_NAMED = 4


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column of the values of a measure.

    Attributes
    ----------
    name : str
        Its label.
    higher_is_better : bool
        Direction of merit.
    rate : Fraction or None
        The false positive rate, or the fraction of anomalies, at which it is read.
    """

    name: str
    higher_is_better: bool
    rate: Fraction | None = None

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1: values times it are merits."""
        return 1.0 if self.higher_is_better else -1.0


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table of results, by their part.

    Attributes
    ----------
    keys : mapping of str to sequence of str
        Columns of ``dataset``, ``detector``, ``anomaly_class``, ``params`` and ``fold``, the
        arguments of `ResultTable.from_table`; none where the table has none.
    measures : sequence of MeasureColumn
        Columns of measures.
    """

    keys: Mapping[str, Sequence[str]]
    measures: Sequence[MeasureColumn]

    @property
    def key_names(self) -> list[str]:
        """Names of all key columns."""
        return [name for names in self.keys.values() for name in names]


def find_columns(
    names: Sequence[str],
    *,
    measures: Sequence[str] | None = None,
    dataset: Names = "dataset",
    detector: str = "detector",
    params: Names | None = None,
    fold: Names | None = None,
    anomaly_class: Names | None = None,
    higher_is_better: Mapping[str, bool] | None = None,
) -> TableColumns:
    """Find the columns of a table of results among the names of its columns.

    The arguments are those of `ResultTable.from_table`, which calls this. Whoever reads a table
    from a file calls it first, to know which columns to read, and which of them as numbers.

    Raises
    ------
    InvalidInputError
        If a column is absent or named twice, or there is no measure; ``argument`` says by which
        argument.
    """
    if not isinstance(detector, str):
        raise TypeError(f"detector must be the name of a column; found {detector!r}")
    keys = {"dataset": _name_list(dataset, "dataset"), "detector": [detector]}
    for key, given in {"anomaly_class": anomaly_class, "params": params, "fold": fold}.items():
        default = [key] if key in names else []
        keys[key] = default if given is None else _name_list(given, key)
    for argument, columns in keys.items():
        for name in columns:
            if name not in names:
                raise InvalidInputError(
                    f"{argument} must name a column of the table; found {name!r}, and the "
                    f"columns {', '.join(names)}",
                    argument=argument,
                )
    used = [name for columns in keys.values() for name in columns]
    if len(set(used)) < len(used):
        raise InvalidInputError(
            "dataset, detector, params, fold and anomaly_class must name different columns; found "
            f"{keys}"
        )
    return TableColumns(keys, find_measures(names, used, measures, higher_is_better))


def find_measures(
    names: Sequence[str],
    keys: Sequence[str],
    measures: Sequence[str] | None,
    higher_is_better: Mapping[str, bool] | None,
) -> list[MeasureColumn]:
    """Return the measures with these labels; by default every column with the label of one."""
    directions = _directions(higher_is_better)
    candidates = [name for name in names if name not in keys]
    for name in directions:
        _check_candidate(name, candidates, "higher_is_better")
    if measures is None:
        columns = [_measure_column(name, directions) for name in candidates]
        defined = [column for column in columns if column is not None]
        if not defined:
            raise InvalidInputError(
                "table must have a column of a measure, such as auc or tpr@0.05; found "
                f"{', '.join(names)}: name others with higher_is_better={{name: True}}",
                argument="table",
            )
        return defined
    selected = []
    for name in label_list(measures, "measures"):
        _check_candidate(name, candidates, "measures")
        column = _measure_column(name, directions)
        if column is None:
            raise InvalidInputError(
                f"measures: {name!r} is no measure that fastad knows; say which way is better "
                f"with higher_is_better={{{name!r}: True}}",
                argument="measures",
            )
        selected.append(column)
    return selected


def columns_by_rate(measures: Sequence[MeasureColumn], name: str) -> list[MeasureColumn]:
    """Return the columns of a measure at false positive rates, such as ``tpr@``, by rising rate."""
    columns = [
        column
        for column in measures
        if column.rate is not None
        and column.name.partition("@")[0] == name
        and column.name.partition("@")[2][:1].isdigit()
    ]
    columns.sort(key=lambda column: column.rate or Fraction(0))
    for first, second in pairwise(columns):
        if first.rate == second.rate:
            raise InvalidInputError(
                f"results must have one column for each rate; found {first.name} and {second.name}",
                argument="results",
            )
    return columns


def tpr_column(measures: Sequence[MeasureColumn], operating_fpr: Point) -> MeasureColumn:
    """Return the column of the true positive rate at a false positive rate."""
    rate = exact_rate(operating_fpr, "operating_fpr")
    columns = columns_by_rate(measures, "tpr")
    for column in columns:
        if column.rate == rate:
            return column
    names = [column.name for column in columns]
    known = some_of(names, _NAMED) if names else "which has none"
    raise InvalidInputError(
        f"operating_fpr must be the rate of a column tpr@ of the table, {known}; found "
        f"{operating_fpr}: evaluate with fpr=({float(rate):g},) to get it",
        argument="operating_fpr",
    )


def label_list(labels: Any, argument: str) -> list[str]:
    """Check a sequence of labels; return each once."""
    if isinstance(labels, str):
        raise TypeError(f"{argument} must be a sequence of labels; found {labels!r} alone")
    try:
        names = list(labels)
    except TypeError:
        raise TypeError(
            f"{argument} must be a sequence of labels; found {short_repr(labels)}"
        ) from None
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{argument} must contain labels; found {short_repr(name)}")
    if not names:
        raise InvalidInputError(
            f"{argument} must name at least one measure; found none", argument=argument
        )
    return list(dict.fromkeys(names))


def _name_list(names: Any, argument: str) -> list[str]:
    columns = [names] if isinstance(names, str) else names
    if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"{argument} must be the name of a column, or several; found {names!r}")
    return list(columns)


def _measure_column(name: str, directions: Mapping[str, bool]) -> MeasureColumn | None:
    """Return the measure whose label is the name of a column; None if it is no label."""
    if name in directions:
        return MeasureColumn(name, directions[name], _rate(name))
    if name in _CRITERIA:
        return MeasureColumn(name, _CRITERIA[name])
    for prefix, higher_is_better in _VOLUMES.items():
        if name.startswith(prefix) and _rate(name) is not None:
            return MeasureColumn(name, higher_is_better, _rate(name))
    try:
        named = read_key(name)
    except InvalidInputError:  # "auc@7": no rate
        return None
    if named is None or named[0].higher_is_better is None:
        return None
    measure = named[0]
    in_table = measure.default_points is None and measure.operating_point is not None
    return MeasureColumn(name, named[0].higher_is_better, _rate(name) if in_table else None)


def _rate(name: str) -> Fraction | None:
    """Return the rate behind the @ of a label."""
    number = name.partition("@")[2].lstrip("fprt")
    try:
        return exact_rate(float(number), name)
    except (ValueError, TypeError):
        return None


def _directions(given: Mapping[str, bool] | None) -> dict[str, bool]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise TypeError(
            f"higher_is_better must map names to True or False; found {type(given).__name__}"
        )
    return {name: check_flag(flag, f"higher_is_better[{name!r}]") for name, flag in given.items()}


def _check_candidate(name: object, candidates: Sequence[str], argument: str) -> None:
    if name not in candidates:
        known = ", ".join(candidates) or "which has none"
        raise InvalidInputError(
            f"{argument} must name columns of the table, {known}; found {name!r}",
            argument=argument,
        )
