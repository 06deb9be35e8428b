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
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import index_of, real_vector, refuse_wrong, set_readonly
from fastad._core.parameters import check_type, short_repr
from fastad._core.results import Column, Result, ShortRepr, frame_columns
from fastad._core.types import ArrayLike, FloatVector, IntVector, ScoreVector
from fastad._tables.columns import Names, Numbers, Role, is_missing, label_of
from fastad._tables.errors import TableError
from fastad._tables.files import WRITTEN_FORMATS, save_columns
from fastad._tables.table import Table
from fastad.errors import InvalidInputError
from fastad.labeling.score_orders import COLUMNS, digest_of

_ROUNDING = 1e-9
# Beyond these, floats are no integers.
_LARGEST = 2.0**53


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DrawnRows(ShortRepr, Result):
    """Rows to label, in the order in which to label them, and the labels that came back.

    Attributes
    ----------
    row : numpy.ndarray of shape (n,)
        Number of each row among the scores, from 0.
    label : numpy.ndarray of shape (n,)
        1 for an anomaly, 0 for a normal sample, NaN where there is no label yet.
    size, priority : numpy.ndarray of shape (n,)
        The probability before it is cut off at 1; and the rising priorities, of which the first row
        that was not drawn has 1.
    least_size : float
        Size of the rows, also of those that were not drawn, with the lowest probability.
    round : int
        Number of the round, from 1.
    population : str
        Digest of all scores, and of the drawn rows.
    scores : mapping of str to numpy.ndarray of shape (n,)
        Scores of the drawn rows, by detector.
    """

    row: IntVector
    label: FloatVector
    size: FloatVector
    priority: FloatVector
    least_size: float
    round: int
    population: str
    scores: Mapping[str, ScoreVector]

    @property
    def probability(self) -> FloatVector:
        """Probability with which each row was drawn."""
        return np.minimum(self.size, 1.0)

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return int(np.count_nonzero(~np.isnan(self.label)))

    @property
    def n_complete(self) -> int:
        """Number of rows before the first one without a label: a sample that estimates use."""
        return int(np.argmax(np.append(np.isnan(self.label), True)))

    def _declare_columns(self) -> Iterable[Column]:
        n = self.row.shape[0]
        columns = {name: getattr(self, name) for name in COLUMNS}
        columns |= {name: [columns[name]] * n for name in ("least_size", "round", "population")}
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
            index, names = np.arange(given.shape[0]), index_of(labels)
            is_other = names is not None and names.tolist() != self.row[index].tolist()
            if is_other and np.isin(names, self.row).all():
                raise InvalidInputError(
                    "labels must be in the order of row; found an index with the same rows in "
                    "another order. Use rows=labels.index, or labels.to_numpy() if it is no index "
                    "of rows"
                )
        else:
            numbers = _check_row_numbers(real_vector(rows, "rows"), "rows")
            if numbers.shape != given.shape:
                raise InvalidInputError(
                    f"rows must have one number for each label; found {numbers.shape[0]} rows and "
                    f"{given.shape[0]} labels"
                )
            order = np.argsort(self.row)
            index = order[np.minimum(np.searchsorted(self.row, numbers, sorter=order), n - 1)]
            refuse_wrong(self.row[index] != numbers, numbers, "rows", "have been drawn")
        old = self.label[index]
        changed = ~np.isnan(old) & ~np.isnan(given) & (old != given)
        refuse_wrong(changed, given, "labels", "equal those that rows already have")
        label = self.label.copy()
        label[index] = np.where(np.isnan(given), old, given)
        return replace(self, label=set_readonly(label))

    def save(self, path: str | Path) -> None:
        """Save the rows, in the format of the extension: .csv, .parquet, .arrow or .feather.

        The column ``label`` is empty where there is no label: fill it with 0 and 1.
        """
        self._write(check_file(path))

    def _write(self, path: Path, *, is_new: bool = False) -> None:
        columns = self.to_columns()
        if path.suffix.lower() == ".csv":
            columns["label"] = ["" if math.isnan(x) else int(x) for x in columns["label"]]
        save_columns(columns, path, is_new=is_new)


def check_file(path: str | Path) -> Path:
    """Check the name of a file of rows, before any work."""
    check_type(path, (str, Path), "path", "a path")
    file = Path(path)
    if file.suffix.lower() not in WRITTEN_FORMATS:
        raise InvalidInputError(
            f"path must end in one of {', '.join(WRITTEN_FORMATS)}; found {str(path)!r}"
        )
    if not file.parent.is_dir():
        raise InvalidInputError(f"path must be in a directory that is there; found {str(path)!r}")
    return file


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
    table.check(COLUMNS, "path")
    roles: dict[str, Role] = dict.fromkeys(table.names, Names(may_miss=True))
    roles |= {**dict.fromkeys(COLUMNS, Numbers()), "population": Names()}
    columns = table.read({**roles, "label": Names(may_miss=True)})
    for name in ("least_size", "round", "population"):
        if len(set(columns[name].tolist())) > 1:
            raise TableError(f"{path}: column {name!r} must have one value; found several")
    try:
        return _checked(columns)
    except InvalidInputError as error:
        raise TableError(f"{path}: column {error}") from None


def _checked(columns: Mapping[str, Any]) -> DrawnRows:
    """Return rows of a file that can have been drawn, which another program may have sorted."""
    row = _check_row_numbers(columns["row"], "row")
    # Some programs write truths: "True".
    cells = ["" if each is None else str(each) for each in columns["label"].tolist()]
    known = [math.nan if is_missing(each) else label_of(each) for each in cells]
    label = _check_label_values(real_vector(known, "label"), "label")
    names = "probability", "size", "priority", "least_size"
    probability, size, priority, least = (columns[name].astype(np.float64) for name in names)
    for name, values, is_possible, expected in (
        ("row", row, row >= 0, "not be negative"),
        ("probability", probability, probability > 0, "lie above 0 where rows were drawn"),
        (
            "probability",
            probability,
            abs(probability - np.minimum(size, 1)) <= _ROUNDING,
            "be the size, or 1 if that is less",
        ),
        ("priority", priority, (priority >= 0) & (priority <= 1 + _ROUNDING), "lie in [0, 1]"),
        ("size", size, size >= least * (1 - _ROUNDING), "be at least least_size"),
    ):
        refuse_wrong(~is_possible, values, name, expected)
    order = np.argsort(priority, kind="stable")
    scores = {}
    for name in [name for name in columns if name not in COLUMNS]:
        with suppress(TypeError, ValueError):  # a comment, of whoever labels
            scores[name] = set_readonly(np.asarray(columns[name], np.float64)[order])
    row, label, size, priority = (
        set_readonly(each[order]) for each in (row, label, size, priority)
    )
    return DrawnRows(
        row,
        label,
        size,
        priority,
        least.item(0),
        _check_row_numbers(columns["round"][:1], "round").item(),
        str(columns["population"][0]),
        scores,
    )


def check_rounds(
    labeled: Any, scores: Mapping[str, ScoreVector], *, complete: bool
) -> list[DrawnRows]:
    """Check that rounds of drawn rows are of these scores, and follow each other."""
    given = [labeled] if isinstance(labeled, DrawnRows) else labeled
    if not isinstance(given, Sequence) or not all(isinstance(each, DrawnRows) for each in given):
        raise InvalidInputError(
            f"labeled must be rows that were drawn, of one round or several; found "
            f"{short_repr(labeled)}"
        )
    rounds = sorted(given, key=lambda each: each.round)
    for number, each in enumerate(rounds, 1):
        if each.round != number:
            found = ", ".join(str(x.round) for x in rounds)
            raise InvalidInputError(f"labeled must be the rounds from 1 on; found {found}")
        difference = _difference(each, scores)
        if difference is not None:
            raise InvalidInputError(f"labeled must be rows of these scores; found {difference}")
        if each.n_complete < each.row.shape[0] and (complete or number < len(rounds)):
            raise InvalidInputError(
                f"labeled must have all labels of a round before the next one; found "
                f"{each.row.shape[0] - each.n_labeled} missing in round {number}"
            )
    if rounds:
        _refuse_duplicates(np.concatenate([each.row for each in rounds]), "labeled")
    return rounds


def _difference(drawn: DrawnRows, scores: Mapping[str, ScoreVector]) -> str | None:
    """Return how scores differ from the scores by which rows were drawn, or None."""
    n = len(next(iter(scores.values())))
    if drawn.row.max() >= n:
        return f"row {drawn.row.max()} of {n}"
    if drawn.population == digest_of(scores, drawn.row):
        return None
    for name in filter(scores.__contains__, drawn.scores):
        values, others = drawn.scores[name], scores[name][drawn.row]
        # Spreadsheets round.
        is_same = np.isclose(values.astype(np.float64), others.astype(np.float64), _ROUNDING, 0)
        if not is_same.all():
            i = int(np.argmin(is_same))
            return f"{values[i]} and {others[i]} as the score of row {drawn.row[i]} by {name!r}"
    if drawn.scores.keys() != scores.keys():
        return f"detectors {', '.join(drawn.scores)} instead of {', '.join(scores)}"
    return "changed scores of other rows, or rows that were added or left out"


def _check_label_values(labels: npt.NDArray[Any], name: str) -> FloatVector:
    values = labels.astype(np.float64)
    refuse_wrong(~(np.isnan(values) | (values == 0) | (values == 1)), labels, name, "be 0 or 1")
    return values


def _check_row_numbers(values: npt.NDArray[Any], name: str) -> IntVector:
    is_integer = (abs(values) < _LARGEST) & (values == np.floor(values))
    refuse_wrong(~is_integer, values, name, "be integers")
    rows = values.astype(np.int64)
    _refuse_duplicates(rows, name)
    return rows


def _refuse_duplicates(rows: IntVector, name: str) -> None:
    is_double = np.ones(rows.shape[0], np.bool_)
    is_double[np.unique(rows, return_index=True)[1]] = False
    refuse_wrong(is_double, rows, name, "name each row once")
