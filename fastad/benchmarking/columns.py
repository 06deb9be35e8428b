"""Which columns of a table are measures, and which way is better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_flag, exact_rate, short_repr
from fastad._core.types import FloatVector
from fastad.errors import InvalidInputError
from fastad.measures.requests import read_key

# Measures without labels, by what stands before their operating point.
_VOLUMES = {"cvol@": True, "vol@": False}
_CRITERIA = {"em": True, "mv": False}
_COLUMN = "a column of numbers"


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """A column that holds a measure.

    Attributes
    ----------
    name : str
        Its label.
    higher_is_better : bool
        Direction of merit.
    rate : Fraction or None
        The false positive rate, or the share of anomalies, at which it is read.
    """

    name: str
    higher_is_better: bool
    rate: Fraction | None = None

    @property
    def sign(self) -> float:
        """1 where higher is better, else -1: values times it are merits."""
        return 1.0 if self.higher_is_better else -1.0


def find_measures(
    names: Sequence[str],
    keys: Sequence[str],
    wanted: Sequence[str] | None,
    higher_is_better: Mapping[str, bool] | None,
) -> list[MeasureColumn]:
    """Return the measures that are asked for; by default every column that is known as one."""
    stated = _directions(higher_is_better)
    free = [name for name in names if name not in keys]
    for name in stated:
        _check_there(name, free, "higher_is_better")
    if wanted is None:
        found = [_measure(name, stated) for name in free]
        measures = [measure for measure in found if measure is not None]
        if not measures:
            raise InvalidInputError(
                "table must have a column of a measure, such as auc or tpr@0.05; found "
                f"{', '.join(names)}: name others with higher_is_better={{name: True}}",
                argument="table",
            )
        return measures
    measures = []
    for name in label_list(wanted, "measures"):
        _check_there(name, free, "measures")
        measure = _measure(name, stated)
        if measure is None:
            raise InvalidInputError(
                f"measures: {name!r} is no measure that fastad knows; say which way is better "
                f"with higher_is_better={{{name!r}: True}}"
            )
        measures.append(measure)
    return measures


def label_list(labels: Any, argument: str) -> list[str]:
    """Check a sequence of labels; return each once."""
    if isinstance(labels, str):
        raise TypeError(f"{argument} must be a sequence of labels; found {labels!r} alone")
    try:
        found = list(labels)
    except TypeError:
        raise TypeError(
            f"{argument} must be a sequence of labels; found {short_repr(labels)}"
        ) from None
    for label in found:
        if not isinstance(label, str):
            raise TypeError(f"{argument} must hold labels; found {short_repr(label)}")
    if not found:
        raise InvalidInputError(
            f"{argument} must name at least one measure; found none", argument=argument
        )
    return list(dict.fromkeys(found))


def numbers(column: Any, name: str, *, what: str = _COLUMN) -> FloatVector:
    """Return a column of a measure, or an array of any shape; what is missing becomes NaN."""
    refuse_masked(column, name)
    try:
        values: npt.NDArray[Any] = np.asarray(column)
        if values.dtype == object:
            flat = [np.nan if _is_missing(cell) else cell for cell in values.reshape(-1).tolist()]
            values = np.asarray(flat).reshape(values.shape)
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"{name} must be {what}; found {error}", argument=name) from None
    if values.dtype.kind not in "biuf" or (what == _COLUMN and values.ndim != 1):
        raise InvalidInputError(
            f"{name} must be {what}; found {values.dtype} of shape {values.shape}",
            argument=name,
        )
    return values.astype(np.float64)


def texts(column: Any, name: str) -> list[str | None]:
    """Return a column of parameters as texts; whole numbers read alike in every type."""
    values = np.asarray(column)
    if values.ndim != 1:
        raise InvalidInputError(
            f"{name} must be a column; found shape {values.shape}", argument=name
        )
    if values.dtype.kind in "fMm":  # of a float32 its own digits, of a date no number
        return [None if cell != cell else _text(cell) for cell in values]
    return [None if _is_missing(cell) else _text(cell) for cell in values.tolist()]


def refuse_masked(column: Any, name: str) -> None:
    """Refuse what would lose its mask."""
    if isinstance(column, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} must not be masked; found a masked array: fill it", argument=name
        )


def _text(cell: Any) -> str:
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return (
            f"{float(cell):.0f}"  # a missing value in the column has made floats of whole numbers
        )
    return str(cell)


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, float) and cell != cell


def _measure(name: str, stated: Mapping[str, bool]) -> MeasureColumn | None:
    if name in stated:
        return MeasureColumn(name, stated[name], _rate(name))
    if name in _CRITERIA:
        return MeasureColumn(name, _CRITERIA[name])
    for prefix, better in _VOLUMES.items():
        if name.startswith(prefix) and _rate(name) is not None:
            return MeasureColumn(name, better, _rate(name))
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


def _directions(stated: Mapping[str, bool] | None) -> dict[str, bool]:
    if stated is None:
        return {}
    if not isinstance(stated, Mapping):
        raise TypeError(
            f"higher_is_better must map names to True or False; found {type(stated).__name__}"
        )
    return {name: check_flag(flag, f"higher_is_better[{name!r}]") for name, flag in stated.items()}


def _check_there(name: object, free: Sequence[str], argument: str) -> None:
    if name not in free:  # a label, or whatever was given for one
        raise InvalidInputError(
            f"{argument} must name columns of the table, {', '.join(free) or 'which has none'}; "
            f"found {name!r}",
            argument=argument,
        )
