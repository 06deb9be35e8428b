"""Results of goix's benchmark: its rows, and how far criteria agree with labels."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import check_choice
from fastad._core.results import Column, TableResult, attribute_columns, frame_columns
from fastad._core.types import FloatMatrix
from fastad.benchmarking.agreement import (
    LabelAgreement,
    PairAgreement,
    pairwise_agreement,
    rank_label_agreement,
)
from fastad.errors import UndefinedMeasureError
from fastad.study.papers.goix_data import SETTINGS, Setting
from fastad.unsupervised.criteria import CRITERIA, SIGNS, Criterion, CriterionName

WhichPairs: TypeAlias = Literal["all", "significant", "not_significant"]
_PAIRS = ("all", "significant", "not_significant")
# Between names in a column.
SEPARATOR = "; "


@dataclass(frozen=True, slots=True, eq=False)
class GoixRow:
    """One detector on one data set in one setting.

    Attributes
    ----------
    dataset : str
        Name of the data set.
    setting : {"novelty", "unsupervised"}
        Whether it was trained on normal samples only.
    detector : str
        Name of the detector.
    roc, pr : float
        `roc_auc` and `pr_auc` of the test rows; NaN where undefined.
    em, mv : Criterion
        Criteria without labels; undefined ones have a ``reason``.
    em_better_than, mv_better_than : tuple of str
        Detectors than which it is significantly better, by each criterion.
    n_train, n_test, n_anomalies, n_evaluated : int
        Training rows, test rows, anomalies among these, and those that EM and MV are measured on.
    n_features : int
        Features after dropping.
    n_subspaces : int
        Random subspaces; 0 where EM and MV use all features together.
    reason : str
        Reason of undefined ROC and PR.
    """

    dataset: str
    setting: Setting
    detector: str
    roc: float
    pr: float
    em: Criterion
    mv: Criterion
    em_better_than: tuple[str, ...]
    mv_better_than: tuple[str, ...]
    n_train: int
    n_test: int
    n_anomalies: int
    n_evaluated: int
    n_features: int
    n_subspaces: int
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values in one level, None for NaN.

        ``em`` and ``mv`` are values; their other fields have names such as ``em_low``.
        """
        result: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Criterion):
                plain = value.to_dict()
                result[field.name] = plain.pop("value")
                result |= {f"{field.name}_{name}": part for name, part in plain.items()}
            elif isinstance(value, tuple):
                result[field.name] = SEPARATOR.join(value)
            else:
                result[field.name] = None if value != value else value
        return result

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "GoixRow":
        """Return the row of which `to_dict` made plain values, or strings (of a CSV file)."""
        result: dict[str, Any] = {}
        for field in fields(cls):
            if field.name in CRITERIA:
                parts = {part.name: f"{field.name}_{part.name}" for part in fields(Criterion)}
                parts["value"] = field.name
                result[field.name] = Criterion(
                    **{
                        part.name: _read(values[parts[part.name]], part.type)
                        for part in fields(Criterion)
                    }
                )
            elif field.name.endswith("better_than"):
                result[field.name] = tuple(
                    name for name in values[field.name].split(SEPARATOR) if name
                )
            else:
                result[field.name] = _read(values[field.name], field.type)
        return cls(**result)


@dataclass(frozen=True, slots=True)
class GoixAgreement:
    """Agreement of a criterion without labels with the order of detectors by labels.

    Attributes
    ----------
    roc, pr : PairAgreement or None
        Pairs of detectors that it orders as the area under the ROC curve, and under the
        precision-recall curve; None where no pair counts.
    both : PairAgreement or None
        Pairs that the criterion orders as both areas do, among those that both strictly order
        the same way.
    labels : LabelAgreement or None
        The labels best, between and worst that it recovers, of those on which the two agree;
        None also where only some pairs are selected.
    """

    roc: PairAgreement | None
    pr: PairAgreement | None
    both: PairAgreement | None
    labels: LabelAgreement | None


class GoixBenchmark(TableResult):
    """Rows of goix's benchmark; prints as a table.

    Attributes
    ----------
    rows : tuple of GoixRow
        One for each data set, setting and detector.
    """

    def __init__(self, rows: Iterable[GoixRow]) -> None:
        self.rows = tuple(rows)

    def __repr__(self) -> str:
        return f"<GoixBenchmark of {len(self.rows)} rows>"

    def _declare_table(self) -> list[Column]:
        names = ("dataset", "setting", "detector", "roc", "pr", "em", "mv")
        heads = ("data", "setting", "detector", "ROC", "PR", "EM", "MV")
        return [
            replace(
                column, form="{:.3f}".format if column.name in ("roc", "pr") else str, head=head
            )
            for column, head in zip(attribute_columns(self.rows, *names), heads, strict=True)
        ]

    def _declare_columns(self) -> list[Column]:
        rows = [row.to_dict() for row in self.rows]
        return frame_columns(
            {name: [row[name] for row in rows] for name in rows[0]} if rows else {}
        )

    def agreement(
        self,
        criterion: CriterionName = "em",
        *,
        setting: Setting | None = None,
        pairs: WhichPairs = "all",
    ) -> GoixAgreement:
        """Return how far a criterion orders detectors as ROC and PR do.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            The criterion.
        setting : {"novelty", "unsupervised"}, optional
            Setting of the rows; both by default.
        pairs : {"all", "significant", "not_significant"}, default "all"
            Pairs of detectors on a data set: all, those whose difference is significant
            by the criterion, or those whose difference is not.

        Returns
        -------
        GoixAgreement
            Fractions with their counts.

        Raises
        ------
        InvalidInputError
            If ``criterion`` or ``pairs`` is none of the names.
        """
        check_choice(criterion, CRITERIA, "criterion")
        check_choice(pairs, _PAIRS, "pairs")
        if setting is not None:
            check_choice(setting, SETTINGS, "setting")
        cells: dict[tuple[str, str], list[GoixRow]] = {}
        for row in self.rows:
            if setting in (None, row.setting):
                cells.setdefault((row.dataset, row.setting), []).append(row)
        selected = [
            pair
            for cell in cells.values()
            for pair in combinations(cell, 2)
            if pairs == "all" or (pairs == "significant") == _is_significant(*pair, criterion)
        ]
        values = _Values.of(selected, criterion)
        return GoixAgreement(
            roc=_of_pairs(values.criterion, values.roc),
            pr=_of_pairs(values.criterion, values.pr),
            both=_of_pairs(values.criterion, values.roc, (values.roc, values.pr)),
            labels=_of_labels(list(cells.values()), criterion) if pairs == "all" else None,
        )


class _Values(NamedTuple):
    """Values of a criterion and of both references, higher is better; a row for each data set."""

    criterion: FloatMatrix
    roc: FloatMatrix
    pr: FloatMatrix

    @classmethod
    def of(cls, cells: Sequence[Sequence[GoixRow]], criterion: CriterionName) -> "_Values":
        """Collect them; NaN where a data set has fewer detectors than others."""
        size = max((len(cell) for cell in cells), default=0)
        values = np.full((3, len(cells), size), np.nan)
        for i, cell in enumerate(cells):
            for j, row in enumerate(cell):
                # The logarithm, which is finite beyond the range of floats too.
                log_value = getattr(row, criterion).log_value
                values[:, i, j] = SIGNS[criterion] * log_value, row.roc, row.pr
        return cls(*values)


def _of_pairs(
    values: FloatMatrix,
    labelled: FloatMatrix,
    references: tuple[FloatMatrix, FloatMatrix] | None = None,
) -> PairAgreement | None:
    """Count pairs that are ordered the same way; each is like a data set of two detectors."""
    if not values.size:
        return None
    try:
        return pairwise_agreement(values, labelled, references=references)
    except UndefinedMeasureError:
        return None


def _of_labels(cells: list[list[GoixRow]], criterion: CriterionName) -> LabelAgreement | None:
    """Count the labels that are recovered."""
    values = _Values.of(cells, criterion)
    if not values.criterion.size:
        return None
    try:
        return rank_label_agreement(values.criterion, (values.roc, values.pr))
    except UndefinedMeasureError:
        return None


def _is_significant(first: GoixRow, second: GoixRow, criterion: CriterionName) -> bool:
    """Return whether the difference of two detectors is significant by a criterion."""
    ahead = (getattr(row, f"{criterion}_better_than") for row in (first, second))
    return any(row.detector in names for row, names in zip((second, first), ahead, strict=True))


def _read(value: Any, kind: Any) -> Any:
    """Return a value of a field from its written form."""
    if kind is float:
        return math.nan if value in (None, "") else float(value)
    if kind is int:
        return int(value)
    if kind == int | None:
        return None if value in (None, "") else int(value)
    return value
