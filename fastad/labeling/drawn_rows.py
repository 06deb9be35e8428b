"""Rows that were drawn to be labelled: their probabilities, their labels, and their files.

A row has the priority u / size, with a uniform random number u and a size that is proportional to
its probability; the rows of the lowest priorities are drawn. Given the priority t of the next row,
each was drawn with the probability min(1, t size) as if by itself: inverse probabilities are
unbiased, and the errors of rows uncorrelated (Duffield, Lund and Thorup 2007, "Priority sampling
for estimation of arbitrary subset sums"). So the number of rows is fixed, and the first of them are
a sample, too. Sizes and priorities are in units in which t is 1 for all rows that were drawn.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import real_vector, set_all_readonly, set_readonly
from fastad._core.parameters import check_type, short_repr
from fastad._core.results import Column, Result, ShortRepr, frame_columns
from fastad._core.types import ArrayLike, BoolVector, FloatVector, IntVector, ScoreVector
from fastad._tables.columns import Names, Numbers, Role
from fastad._tables.errors import TableError
from fastad._tables.table import Table
from fastad._tables.writing import save_columns
from fastad.errors import InvalidInputError
from fastad.labeling.score_orders import digest_of

_COLUMNS = ("row", "label", "probability", "size", "priority", "least_size", "round", "population")
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DrawnRows(ShortRepr, Result):
    """Rows to label, in the order in which to label them, and the labels that came back.

    Attributes
    ----------
    row : numpy.ndarray of shape (n,)
        Number of each row among the scores, from 0.
    label : numpy.ndarray of shape (n,)
        1 for an anomaly, 0 for a normal sample, NaN where there is no label yet.
    probability : numpy.ndarray of shape (n,)
        Probability with which the row was drawn.
    size, priority : numpy.ndarray of shape (n,)
        The probability before it is cut off at 1; and the rising priorities, of which the first row
        that was not drawn has 1.
    least_size : float
        Size of the rows, also of those that were not drawn, with the lowest probability.
    round : int
        Number of the round, from 1.
    population : str
        Digest of all scores.
    scores : mapping of str to numpy.ndarray of shape (n,)
        Scores of the drawn rows, by detector.
    """

    row: IntVector
    label: FloatVector
    probability: FloatVector
    size: FloatVector
    priority: FloatVector
    least_size: float
    round: int
    population: str
    scores: Mapping[str, ScoreVector]

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return int(np.count_nonzero(~np.isnan(self.label)))

    @property
    def n_complete(self) -> int:
        """Number of rows before the first one without a label: a sample that estimates use."""
        missing = np.isnan(self.label)
        return int(np.argmax(missing)) if missing.any() else missing.shape[0]

    def _declare_columns(self) -> Iterable[Column]:
        n = self.row.shape[0]
        same = {"least_size": self.least_size, "round": self.round, "population": self.population}
        columns = {name: getattr(self, name) for name in _COLUMNS[:5]}
        columns |= {name: [value] * n for name, value in same.items()}
        return frame_columns({**columns, **self.scores})

    def with_labels(self, labels: ArrayLike, *, rows: ArrayLike | None = None) -> "DrawnRows":
        """Return the rows with labels.

        Parameters
        ----------
        labels : array-like of shape (n_labels,)
            1 for an anomaly, 0 for a normal sample, NaN for a row without a label; in the order of
            ``row``, of the first rows where there are fewer.
        rows : array-like of shape (n_labels,), optional
            Numbers of the rows that the labels are of.

        Returns
        -------
        DrawnRows
            The same rows.

        Raises
        ------
        InvalidInputError
            If a row was not drawn, has two labels or a different one already.
        """
        given = _check_label_values(real_vector(labels, "labels"), "labels")
        n = self.row.shape[0]
        if rows is None:
            if given.shape[0] > n:
                raise InvalidInputError(
                    f"labels must be at most as many as rows were drawn, {n}; found "
                    f"{given.shape[0]}"
                )
            places = np.arange(given.shape[0])
        else:
            asked = _whole(real_vector(rows, "rows"), "rows")
            if asked.shape != given.shape:
                raise InvalidInputError(
                    f"rows must have one number for each label; found {asked.shape[0]} rows and "
                    f"{given.shape[0]} labels"
                )
            _refuse_duplicates(asked, "rows")
            order = np.argsort(self.row)
            places = order[np.minimum(np.searchsorted(self.row, asked, sorter=order), n - 1)]
            _refuse(self.row[places] != asked, asked, "rows", "have been drawn")
        old = self.label[places]
        changed = ~np.isnan(old) & ~np.isnan(given) & (old != given)
        _refuse(changed, given, "labels", "equal those that rows already have")
        label = self.label.copy()
        label[places] = np.where(np.isnan(given), old, given)
        return replace(self, label=set_readonly(label))

    def save(self, path: str | Path) -> None:
        """Save the rows, in the format of the extension: .csv, .parquet, .arrow or .feather.

        The column ``label`` is empty where there is no label: fill it with 0 and 1.
        """
        target = Path(path)
        columns = self.to_columns()
        if target.suffix.lower() == ".csv":
            columns["label"] = ["" if math.isnan(x) else int(x) for x in columns["label"]]
        save_columns(columns, target)


def read_drawn(path: str | Path) -> DrawnRows:
    """Read rows that `draw` has saved, with the labels that were filled in.

    Parameters
    ----------
    path : str or path
        File.

    Returns
    -------
    DrawnRows
        Rows and labels.

    Raises
    ------
    InvalidInputError
        If the file is not one of `draw`, or its rows, probabilities or labels are not possible.

    Examples
    --------
    >>> import tempfile, fastad
    >>> plan = fastad.labeling.design([3, 1, 2], budget=2, target="auc", prevalence=0.4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     drawn = fastad.labeling.draw(plan, path=f"{folder}/rows.csv", rng=0)
    ...     fastad.labeling.read_drawn(f"{folder}/rows.csv").row.tolist() == drawn.row.tolist()
    True
    """
    check_type(path, (str, Path), "path", "a path")
    table = Table(path)
    table.check(_COLUMNS, "path")
    roles: dict[str, Role] = dict.fromkeys(table.names, Numbers())
    columns = table.read({**roles, "label": Numbers(may_miss=True), "population": Names()})
    names = [name for name in table.names if name not in _COLUMNS]
    for name in ("least_size", "round", "population"):
        if len(set(columns[name].tolist())) > 1:
            raise TableError(f"{path}: column {name!r} must have one value; found several")
    try:
        return _checked(columns, names)
    except InvalidInputError as error:
        raise TableError(f"{path}: column {error}") from None


def _checked(columns: Mapping[str, Any], names: Sequence[str]) -> DrawnRows:
    """Return rows of a file that can have been drawn."""
    row = _whole(columns["row"], "row")
    _refuse(row < 0, row, "row", "not be negative")
    _refuse_duplicates(row, "row")
    label = _check_label_values(columns["label"], "label")
    probability, size, priority = (
        columns[name].astype(np.float64) for name in ("probability", "size", "priority")
    )
    _refuse(~(probability > 0), probability, "probability", "lie above 0 where rows were drawn")
    _refuse(~(size > 0), size, "size", "lie above 0 where rows were drawn")
    is_cut = np.abs(probability - np.minimum(size, 1)) > _ROUNDING
    _refuse(is_cut, probability, "probability", "be the size, or 1 if that is less")
    possible = (priority >= 0) & (priority <= 1 + _ROUNDING)
    _refuse(~possible, priority, "priority", "lie in [0, 1]")
    falls = np.append(False, np.diff(priority) < 0)
    _refuse(falls, priority, "priority", "rise, as rows were drawn")
    least = float(columns["least_size"][0])
    _refuse(~(size >= least * (1 - _ROUNDING)), size, "size", "be at least least_size")
    set_all_readonly(row, label, probability, size, priority)
    return DrawnRows(
        row,
        label,
        probability,
        size,
        priority,
        least,
        int(_whole(columns["round"][:1], "round")[0]),
        str(columns["population"][0]),
        {name: set_readonly(columns[name]) for name in names},
    )


def check_rounds(
    labeled: Any, scores: Mapping[str, ScoreVector], *, complete: bool
) -> list[DrawnRows]:
    """Check that rounds of drawn rows are of these scores, and follow each other."""
    given = [labeled] if isinstance(labeled, DrawnRows) else labeled
    if not isinstance(given, Sequence) or not all(isinstance(each, DrawnRows) for each in given):
        raise InvalidInputError(
            f"labeled must be rows that were drawn, of one round or several; found "
            f"{short_repr(labeled)}",
            argument="labeled",
        )
    rounds = sorted(given, key=lambda each: each.round)
    digest = digest_of(scores) if rounds else ""
    for number, each in enumerate(rounds, 1):
        if each.round != number:
            found = ", ".join(str(x.round) for x in rounds)
            raise InvalidInputError(
                f"labeled must be the rounds from 1 on; found {found}", argument="labeled"
            )
        difference = _difference(each, scores, is_same=each.population == digest)
        if difference is not None:
            raise InvalidInputError(
                f"labeled must be rows of these scores; found {difference}", argument="labeled"
            )
        if each.n_complete < each.row.shape[0] and (complete or number < len(rounds)):
            raise InvalidInputError(
                f"labeled must have all labels of a round before the next one; found "
                f"{each.row.shape[0] - each.n_labeled} missing in round {number}",
                argument="labeled",
            )
    if rounds:
        _refuse_duplicates(np.concatenate([each.row for each in rounds]), "labeled")
    return rounds


def _difference(
    drawn: DrawnRows, scores: Mapping[str, ScoreVector], *, is_same: bool
) -> str | None:
    """Return how scores differ from those of which rows were drawn, or None.

    Where all scores are the same, the numbers of rows may have changed.
    """
    if drawn.scores.keys() != scores.keys():
        return f"detectors {', '.join(drawn.scores)} instead of {', '.join(scores)}"
    n = len(next(iter(scores.values())))
    if drawn.row.max() >= n:
        return f"row {drawn.row.max()} of {n}"
    for name, values in drawn.scores.items():
        changed = np.asarray(values, np.float64) != scores[name][drawn.row].astype(np.float64)
        if changed.any():
            first = int(np.argmax(changed))
            row = drawn.row[first]
            return f"{values[first]} and {scores[name][row]} as the score of row {row} by {name!r}"
    return None if is_same else "changed scores of other rows, or more rows"


def _check_label_values(labels: npt.NDArray[Any], name: str) -> FloatVector:
    values = labels.astype(np.float64)
    _refuse(~(np.isnan(values) | (values == 0) | (values == 1)), values, name, "be 0 or 1")
    return values


def _whole(values: npt.NDArray[Any], name: str) -> IntVector:
    _refuse(values != np.floor(values), values, name, "be integers")
    return values.astype(np.int64)


def _refuse_duplicates(rows: IntVector, name: str) -> None:
    is_double = np.ones(rows.shape[0], np.bool_)
    is_double[np.unique(rows, return_index=True)[1]] = False
    _refuse(is_double, rows, name, "name each row once")


def _refuse(wrong: BoolVector, values: npt.NDArray[Any], name: str, expected: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{name} must {expected}; found {np.count_nonzero(wrong)} others, the first at index "
            f"{first}: {values[first]:g}",
            argument=name,
        )
