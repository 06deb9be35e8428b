"""``gate``: test the requirements of a policy on the scores of two detectors."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from fastad._core.arrays import RowIndex, python_values
from fastad._core.parameters import significance_level
from fastad._core.random import random_key
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import AnyVector
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels, check_labels
from fastad.ordering.membership import check_membership
from fastad.release.joined_tables import ScoredRows, joined, no_column, read_rows, rows_in_use
from fastad.release.policy import Policy, Requirement, read_policy
from fastad.release.results import GateResult, GateRow, PolicyPower
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from fastad.uncertainty.comparisons.margin_results import FAIL, UNDECIDED, MarginTest
from fastad.uncertainty.comparisons.noninferiority import (
    Rows,
    check_test_options,
    margin_test,
    read_samples,
)
from fastad.uncertainty.comparisons.paired import Detectors
from fastad.uncertainty.comparisons.planned_power import gate_power
from fastad.uncertainty.comparisons.unpaired import Pair
from fastad.uncertainty.samples.bootstrap import IndependentSample
from fastad.uncertainty.samples.sampling import DesignedSample, blocks_among

_NO_PARTS = "no sample has a kind or a segment"
# Replicates of the tests of a power, at least; and as multiples of those that can reject.
_RESAMPLES, _TIMES_THE_LEAST = 200, 10


@suggests_arguments
def gate(
    policy: str | os.PathLike[str] | Mapping[str, Any] | Policy,
    new: Any,
    old: Any,
    *,
    n_threads: int | None = None,
) -> GateResult:
    """Decide whether a new detector may replace the old one.

    Parameters
    ----------
    policy : path, mapping or Policy
        What the new detector must fulfil, as for `fastad.release.read_policy`.
    new, old : path or table
        Tables with the scores of each detector: files, data frames, or mappings of columns. The
        new one has the labels, and both have the same samples unless the policy says that they are
        independent.
    n_threads : int, optional
        Threads over replicates; the result is the same for any number.

    Returns
    -------
    GateResult
        ``verdict`` ("pass", "fail" or "not enough data"), ``exit_code``, and a row for each
        requirement and slice.

    Raises
    ------
    InvalidInputError
        If the policy or a table is invalid, or the tables have not the same samples.

    Notes
    -----
    All requirements must hold, each at the confidence level: the probability that a detector passes
    that violates one of them is at most its complement, whatever their number. The more slices, the
    more likely one of them is significantly worse by chance: a slice fails by its p-value adjusted
    for the number of slices of its requirement in all columns (Holm).

    Examples
    --------
    >>> import fastad
    >>> y = [0] * 500 + [1] * 100
    >>> old = {"y": y, "score": [*range(500), *range(400, 500)]}
    >>> new = {"y": y, "score": [*range(500), *range(402, 502)]}
    >>> margin, limit = {"measure": "auc", "margin": 0.05}, {"measure": "auc", "at_least": 0.8}
    >>> result = fastad.gate({"require": [margin, limit]}, new, old)
    >>> result.verdict, result.exit_code
    ('pass', 0)
    """
    rules = read_policy(policy)
    with thread_limit(n_threads):
        rows: list[GateRow] = []
        all_parts = _parts_of(rules, _read(rules, new=new, old=old))
        for requirement, of_requirement in zip(rules.require, all_parts, strict=True):
            made: list[GateRow] = []
            for column, parts in of_requirement:
                made += [_row(requirement, column, value, each) for value, each in parts]
                if not parts:  # a requirement that nothing tests is not fulfilled
                    text, verdict = requirement.text, rules.small_slices
                    made.append(GateRow(text, column, "", verdict, _NO_PARTS, None))
            rows += _adjusted(made, requirement, rules) if requirement.parts else made
    return GateResult(rows, float(rules.confidence_level))


class _Samples:
    """The samples of both detectors, or of a slice of them; they are ordered once."""

    def __init__(self, sides: Sequence[ScoredRows], rules: Policy) -> None:
        self.sides = sides  # one of both detectors, or one for each
        self.rules = rules

    @property
    def too_few(self) -> str:
        """Why a slice has too few samples; empty if it does not."""
        fewest = self.rules.min_anomalies, self.rules.min_normals
        for side, name in zip(self.sides, ("new", "old"), strict=False):
            sizes = self._labels_of(side).class_sizes if side.n_rows else (0, 0)
            if sizes[0] < fewest[0] or sizes[1] < fewest[1]:
                where = f" in {name}" if len(self.sides) > 1 else ""
                return (
                    f"{sizes[0]} anomalies and {sizes[1]} normal samples{where}; the policy takes "
                    f"{fewest[0]} and {fewest[1]}"
                )
        return ""

    @cached_property
    def ordered(self) -> Detectors | Pair:
        """The scores of both in their order."""
        rules, first = self.rules, self.sides[0]
        scores = [each for side in self.sides for each in side.scores]
        labels = tuple(side.labels for side in self.sides)
        blocks = blocks_among(rules.blocks, first.n_rows)
        clusters, weights = (_column_of(first, name) for name in (rules.clusters, rules.weights))
        rows = Rows(clusters, blocks, weights)
        y_true = labels if len(labels) > 1 else first.labels
        return read_samples(y_true, scores[0], scores[1], rows, random_key(rules.seed))

    @cached_property
    def of_new(self) -> Detectors:
        """The new detector's samples, numbered in their order where they are independent."""
        first: Any = self.ordered.samples[0]
        if not isinstance(first, DesignedSample):
            first = IndependentSample(first.counts)
        return Detectors(self._labels_of(self.sides[0]), ["new"], ["new"], [first])

    def _labels_of(self, side: ScoredRows) -> Labels:
        return check_labels(side.labels, sample_weight=_column_of(side, self.rules.weights))

    def test(self, requirement: Requirement) -> MarginTest:
        """Test a requirement."""
        rules, bound = self.rules, requirement.bound
        options = check_test_options(bound, rules.confidence_level, rules.n_resamples, rules.seed)
        samples = self.of_new if requirement.is_limit else self.ordered
        return margin_test(samples, bound, requirement.accepted, options, rules.contamination)


def _column_of(side: ScoredRows, name: str | None) -> AnyVector | None:
    return None if name is None else side.columns.get(name)


def _read(rules: Policy, **tables: Any) -> _Samples:
    """Read both tables, or the old one alone."""
    is_paired = rules.design == "paired" and len(tables) > 1
    sides = [
        read_rows(source, name, rules, needs_labels=name == "new" or not is_paired)
        for name, source in tables.items()
    ]
    if is_paired:
        sides = [joined(sides[0], sides[1], rules)]
    else:
        sides = [side.checked(rows_in_use(side, rules)) for side in sides]
    for side, name in zip(sides, tables, strict=False):
        for column in rules.slice_columns:
            if column not in side.columns:
                raise no_column(column, name, side.names)
    return _Samples(sides, rules)


def _parts_of(
    rules: Policy, samples: _Samples
) -> Iterator[list[tuple[str, list[tuple[str, _Samples]]]]]:
    """Yield the columns of each requirement with their parts, or all rows; all are made once."""
    made: dict[tuple[str, str], list[tuple[str, _Samples]]] = {}
    for requirement in rules.require:
        for part in requirement.parts:
            if part not in made:
                made[part] = _parts(samples, *part)
        parts = [(part[1], made[part]) for part in requirement.parts]
        yield parts or [("", [("", samples)])]


def _parts(samples: _Samples, part: str, column: str) -> list[tuple[str, _Samples]]:
    """Return slices; or kinds beside all normals, or segments beside all anomalies."""
    if part == "slices":
        return _slices(samples, column)
    label = int(part == "kinds")
    found: dict[str, list[ScoredRows]] = {}
    for i, side in enumerate(samples.sides):
        labels = check_labels(side.labels)
        members = check_membership(side.columns[column], labels, part, label, "raise")
        for name, rows in members.beside(labels.values != label):
            # Where the other side has none, the rows of its other class alone.
            empty = [x.part(np.flatnonzero(x.labels != label)) for x in samples.sides]
            found.setdefault(str(name), empty)[i] = side.part(np.flatnonzero(rows))
    return [(name, _Samples(found[name], samples.rules)) for name in sorted(found)]


def _slices(samples: _Samples, column: str) -> list[tuple[str, _Samples]]:
    """Return the samples of each value of a column, in the order of the values."""
    values = np.concatenate([side.columns[column] for side in samples.sides])
    codes, distinct = factorize(values, column, RowIndex(values.shape[0]))
    parts: list[list[ScoredRows]] = [[] for _ in distinct]
    start = 0
    for side in samples.sides:
        of_side = codes[start : start + side.n_rows]
        start += side.n_rows
        order = np.argsort(of_side, kind="stable")
        ends = np.cumsum(np.bincount(of_side, minlength=len(distinct)))
        for part, rows in zip(parts, np.split(order, ends[:-1]), strict=True):
            part.append(side.part(rows))
    names = map(str, python_values(distinct))
    return [(name, _Samples(part, samples.rules)) for name, part in zip(names, parts, strict=True)]


def _row(requirement: Requirement, column: str, value: str, samples: _Samples) -> GateRow:
    """Return the row of a requirement, without regard to other slices."""
    text, reason = requirement.text, samples.too_few if column else ""
    if reason:
        return GateRow(text, column, value, samples.rules.small_slices, reason, None)
    # A slice may refute the fraction of hidden anomalies.
    is_corrected = bool(column) and samples.rules.contamination > 0
    errors = (UndefinedMeasureError, *((InvalidInputError,) if is_corrected else ()))
    try:
        test = samples.test(requirement)
    except errors as error:
        return GateRow(text, column, value, UNDECIDED, str(error), None)
    verdict: str = test.verdict
    reason = test.reliability_note or ""
    if not column and verdict == UNDECIDED and not reason:
        verdict = requirement.undecided
    return GateRow(text, column, value, verdict, reason, test, test.p_value_inside)


def _adjusted(rows: list[GateRow], requirement: Requirement, rules: Policy) -> list[GateRow]:
    """Return the rows of slices, which fail by their p-value adjusted for the number of slices."""
    tested = [i for i, row in enumerate(rows) if row.test is not None]
    p_values = np.array([rows[i].adjusted_p_value for i in tested])
    level = significance_level(rules.confidence_level)
    for i, p_value in zip(tested, CORRECTIONS["holm"](p_values).tolist(), strict=True):
        row = replace(rows[i], adjusted_p_value=p_value)
        if row.verdict == FAIL and p_value > level:
            reason = f"significantly worse by itself, not among {len(tested)} slices (Holm)"
            row = replace(row, verdict=UNDECIDED, reason=reason)
        elif row.verdict == UNDECIDED and not row.reason:
            row = replace(row, verdict=requirement.undecided)
        rows[i] = row
    return rows


def _not_in_power(rules: Policy) -> str:
    """Return the parts of a policy for which the power does not allow, in words."""
    given = [name for name in ("clusters", "weights", "blocks") if getattr(rules, name) is not None]
    given += ["contamination"] * bool(rules.contamination)
    given += ["independent samples"] * (rules.design == "independent")
    return ", ".join(given)


def power_of_policy(
    policy: str | os.PathLike[str] | Mapping[str, Any] | Policy,
    old: Any,
    *,
    loss: float = 0.0,
    n_draws: int = 100,
) -> PolicyPower:
    """Estimate the power of each margin and limit of a policy from the old detector's scores alone.

    Parameters
    ----------
    policy : path, mapping or Policy
        As for `gate`.
    old : path or table
        Labels and scores of the old detector.
    loss : float, default 0
        Supposed loss of the new detector in each measure.
    n_draws : int, default 100
        Number of data sets that are drawn for each.

    Returns
    -------
    PolicyPower
        A row for each requirement but equivalence and each slice, from
        `fastad.uncertainty.gate_power`.

    Raises
    ------
    InvalidInputError
        If the policy or the table is invalid.

    Examples
    --------
    >>> import fastad
    >>> old = {"y": [0] * 500 + [1] * 100, "score": [*range(500), *range(400, 500)]}
    >>> policy = {"require": [{"measure": "auc", "margin": 0.05}]}
    >>> planned = fastad.release.power_of_policy(policy, old, n_draws=20)
    >>> planned.to_columns()["power"][0] > 0.9
    True
    """
    rules = read_policy(policy)
    rows, notes = [], []
    if unread := _not_in_power(rules):
        notes.append(
            "the power is that of independent rows which both detectors score; it does not allow "
            f"for {unread} of the policy"
        )
    # As many as can reject at this level, and a few times more.
    least = math.ceil(_TIMES_THE_LEAST / (1 - rules.confidence_level))
    n_resamples = min(rules.n_resamples, max(_RESAMPLES, least))
    all_parts = zip(rules.require, _parts_of(rules, _read(rules, old=old)), strict=True)
    for requirement, column, parts in ((each, *part) for each, x in all_parts for part in x):
        if requirement.equivalence is not None:
            notes.append(f"{requirement.text}: the power of margins and limits alone is estimated")
            continue
        limit = requirement.at_most if requirement.at_least is None else requirement.at_least
        if not parts:
            notes.append(f"{requirement.text}, {column}: {_NO_PARTS}")
        for value, part in parts:
            place = f"{column} {value}" if column else ""
            if column and part.too_few:
                notes.append(f"{requirement.text}, {place}: {part.too_few}")
                continue
            try:
                planned = gate_power(
                    part.sides[0].labels,
                    part.sides[0].scores[0],
                    measure=requirement.bound,
                    margin=requirement.margin,
                    value=limit,
                    loss=loss,
                    confidence_level=rules.confidence_level,
                    n_draws=n_draws,
                    n_resamples=n_resamples,
                    rng=rules.seed,
                )
            except (UndefinedMeasureError, InvalidInputError) as error:
                if not column:
                    raise
                notes.append(f"{requirement.text}, {place}: {error}")
                continue
            rows.append((requirement.text, place, planned))
    return PolicyPower(rows, notes)
