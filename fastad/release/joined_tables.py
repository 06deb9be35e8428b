"""The new and the old detector's scores in two tables, joined by an id or by their order."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastad._core.arrays import RowIndex, check_no_nan, check_rows, real_vector
from fastad._core.frames import is_missing, table_columns
from fastad._core.suggestions import did_you_mean
from fastad._core.text_tables import some_of
from fastad._core.types import AnyVector, IntVector, LabelVector
from fastad._tables.columns import Labels, Names, Numbers, Role
from fastad._tables.table import N_NAMED, Table
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import check_labels
from fastad.release.policy import Policy


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRows:
    """Labels, scores and other columns of some samples; scores of both detectors, or of one.

    Labels are 1 for an anomaly, and None of an old table without them; ``columns`` are slices,
    clusters, weights and ids, ``names`` all columns of the table, and ``given`` those in use of a
    table in memory as they are, with the index of pandas. ``choose`` returns scores in some rows,
    and refuses those that are NaN.
    """

    labels: Any
    scores: Sequence[Any]
    columns: Mapping[str, AnyVector]
    names: Sequence[str]
    given: Mapping[str, Any]
    choose: Callable[[IntVector, Any], AnyVector]

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return len(self.scores[0])

    def part(self, chosen: IntVector) -> "ScoredRows":
        """Return some of the rows."""
        return replace(
            self,
            labels=None if self.labels is None else self.labels[chosen],
            scores=[scores[chosen] for scores in self.scores],
            columns={name: values[chosen] for name, values in self.columns.items()},
        )

    def checked(self, rows: IntVector) -> "ScoredRows":
        """Return some of the rows of a table; refuse scores that are NaN, and name the first."""
        part = replace(self, scores=[]).part(rows)
        return replace(part, scores=[self.choose(rows, scores) for scores in self.scores])


def read_rows(source: Any, argument: str, policy: Policy, *, needs_labels: bool) -> ScoredRows:
    """Read what a policy names in a table, which is a file or in memory."""
    score, label = getattr(policy, f"{argument}_score") or policy.score, policy.label
    # A table that needs no labels takes clusters and weights of the other one, too.
    design = [policy.clusters, policy.weights] if needs_labels else []
    wanted = dict.fromkeys([policy.id, *design, *policy.slice_columns])
    is_file = isinstance(source, str | os.PathLike)
    pairs = None if is_file else table_columns(source, argument)
    if not is_file and pairs is None:
        raise InvalidTypeError(
            f"{argument} must be the path of a table, or a table in memory; found "
            f"{type(source).__name__}"
        )
    in_memory = dict(pairs or ())
    table = Table(Path(source)) if is_file else None
    names = list(in_memory) if table is None else table.names
    others = [name for name in wanted if name is not None and name in names]
    needed = [score, *([label] if needs_labels or label in names else [])]
    if table is None:
        for name in needed:
            if name not in names:
                raise no_column(name, argument, names)
        values = {name: np.asarray(in_memory[name]) for name in others}
        title = f"{argument}[{score!r}]"
        values[score] = real_vector(in_memory[score], title)
        choose: Callable[..., AnyVector] = partial(_chosen, name=title)
        if label in needed:
            weights = in_memory[policy.weights] if policy.weights in others else None
            values[label] = _labels(in_memory[label], weights, policy)
        given = {f"{argument}[{name!r}]": in_memory[name] for name in values}
        check_rows(given)
    else:
        table.check([*needed, *others], argument)
        parts = policy.part_columns
        roles: dict[str, Role] = {name: Names(may_miss=name in parts) for name in others}
        choose = partial(table.numbers_in, name=score)
        roles |= {str(policy.weights): Numbers()} if policy.weights in others else {}
        roles[score] = Numbers(may_miss=policy.weights is not None)
        roles |= {name: Labels(policy.pos_label) for name in needed[1:]}
        values, given = table.read(roles), {}
        values |= {name: table.named(name, values[name]) for name in others}
    columns = {name: values[name] for name in others}
    return ScoredRows(values.get(label), [values[score]], columns, names, given, choose)


def _chosen(rows: IntVector, scores: AnyVector, name: str) -> AnyVector:
    chosen = scores[rows]
    check_no_nan(chosen, name, rows)
    return chosen


def _labels(labels: Any, weights: Any, policy: Policy) -> LabelVector:
    """Return checked labels, 0 in rows of weight 0, whose labels may be any."""
    checked = check_labels(labels, sample_weight=weights, pos_label=policy.pos_label)
    if checked.rows is None:
        return checked.values
    values = np.zeros(checked.n_rows, np.uint8)
    values[checked.rows] = checked.values
    return values


def rows_in_use(side: ScoredRows, policy: Policy) -> IntVector:
    """Return the rows but for weights of 0; all where there is no other, which is refused later."""
    rows = np.arange(side.n_rows)
    # The old table need not have them, whose power is estimated by itself.
    weights = None if policy.weights is None else side.columns.get(policy.weights)
    used = rows if weights is None else rows[weights != 0]
    return used if used.size else rows


def no_column(name: str, where: str, names: Sequence[str]) -> InvalidInputError:
    """Return the error that a table has no column of a name."""
    known = {each: each for each in names}
    return InvalidInputError(
        f"{where} must have a column {name!r}; found {some_of(names, N_NAMED)}"
        f"{did_you_mean(name, known)}",
        argument=where,
    )


def joined(new: ScoredRows, old: ScoredRows, policy: Policy) -> ScoredRows:
    """Return the rows of the new table that are in use, with the scores of both detectors."""
    rows = np.arange(old.n_rows)[_rows_of(new, old, policy)]
    for other in (policy.clusters, policy.weights):
        if other is not None and other not in new.columns:
            raise no_column(other, "new", new.names)
    used = rows_in_use(new, policy)
    new, old = new.checked(used), old.checked(rows[used])
    if old.labels is not None:
        _refuse_differing(new.labels, old.labels, "labels", new, policy, used)
    slices = policy.slice_columns
    of_old = {name: old.columns[name] for name in slices if name in old.columns}
    columns = {**of_old, **new.columns}
    for name in slices:
        if name not in columns:
            raise no_column(name, "new or old", list(dict.fromkeys([*new.names, *old.names])))
        if name in of_old:
            _refuse_differing(columns[name], of_old[name], f"column {name!r}", new, policy, used)
    return replace(new, scores=[new.scores[0], old.scores[0]], columns=columns)


def _rows_of(new: ScoredRows, old: ScoredRows, policy: Policy) -> IntVector | slice:
    """Return the row of the old table for each of the new one."""
    if policy.id is None:
        if new.n_rows != old.n_rows:
            raise InvalidInputError(
                "new and old must have the same rows; found "
                f"{new.n_rows} and {old.n_rows}. The policy's id names a column that joins them"
            )
        check_rows({**new.given, **old.given})
        return slice(None)
    ids = []
    for side, name in ((new, "new"), (old, "old")):
        if policy.id not in side.columns:
            raise no_column(policy.id, name, side.names)
        ids.append(side.columns[policy.id])
    if np.array_equal(ids[0], ids[1]):
        codes, distinct = factorize(ids[0], policy.id, RowIndex(new.n_rows))
        _refuse_repeated(codes, distinct, "new", policy)
        return slice(None)
    if np.result_type(*ids).kind == "f":
        # As one type of floats, large integers would be merged.
        ids = [values.astype(object) for values in ids]
    codes, distinct = factorize(np.concatenate(ids), policy.id, RowIndex(new.n_rows + old.n_rows))
    of_new, of_old = codes[: new.n_rows], codes[new.n_rows :]
    texts = []
    for name, own, other in (("new", of_new, of_old), ("old", of_old, of_new)):
        _refuse_repeated(own, distinct, name, policy)
        alone = np.setdiff1d(own, other, assume_unique=True)
        texts += [f"{alone.size} in {name} alone ({_some(distinct[alone])})"] * bool(alone.size)
    if texts:
        raise InvalidInputError(
            f"new and old must have the same values of {policy.id!r}; found {' and '.join(texts)}"
        )
    row = np.empty(len(distinct), np.int64)
    row[of_old] = np.arange(of_old.shape[0])
    result: IntVector = row[of_new]
    return result


def _refuse_repeated(codes: IntVector, distinct: AnyVector, side: str, policy: Policy) -> None:
    counts = np.bincount(codes, minlength=len(distinct))
    if counts.max(initial=0) > 1:
        raise InvalidInputError(
            f"{side} must have each {policy.id!r} once; found "
            f"{np.count_nonzero(counts > 1)} that repeat ({_some(distinct[counts > 1])})"
        )


def _refuse_differing(
    first: AnyVector, second: AnyVector, what: str, new: ScoredRows, policy: Policy, rows: IntVector
) -> None:
    # Of one type, as ids are: a file of text has strings where another has integers.
    first, second = np.split(np.concatenate([first, second]), 2)
    # An empty text is a missing value in a file of text.
    missing = [
        is_missing(each) | (each == "" if each.dtype.kind in "OUT" else False)
        for each in (first, second)
    ]
    differ = np.flatnonzero((first != second) & ~(missing[0] & missing[1]))
    if differ.size:
        where = f"index {rows[differ[0]]}"
        if policy.id is not None:
            where = f"{policy.id} {_some(new.columns[policy.id][differ])}"
        values = [each[differ[:1]].tolist()[0] for each in (first, second)]
        raise InvalidInputError(
            f"new and old must have the same {what}; found {differ.size} rows that differ, "
            f"{where}: {values[0]!r} and {values[1]!r} in the first"
        )


def _some(values: Any) -> str:
    return some_of([str(value) for value in np.asarray(values).tolist()], N_NAMED)
