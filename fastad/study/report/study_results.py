"""The tables of results that the sections of a report are made of."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.benchmarking.posthoc import nemenyi
from fastad.benchmarking.rank_comparison import RankComparison
from fastad.benchmarking.recommendation import Recommendation, recommend
from fastad.benchmarking.result_table import ResultTable
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.study.extensions import extensions
from fastad.study.files import ArrowTable
from fastad.study.measuring import EM, MV
from fastad.study.report.sections import SectionBuilder
from fastad.study.results import StudyTables, rows_with

# Measures that are compared: for tests of detectors, and for the application of a detector.
_PRINCIPAL = ("auc", "auc@0.05")
_TARGETS = ("tpr@0.01", "tpr@0.05")
_ALL = "all collections"


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The results of a collection at one contamination."""

    collection: str
    contamination: float
    # Part of the names of its files.
    key: str
    # Measures of all tasks that succeeded.
    table: ResultTable
    # Keys of the measures that the configuration lists; None where it lists none.
    planned: Collection[str] | None

    @property
    def has_several_datasets(self) -> bool:
        """True if there is a sample of data sets, so that detectors can be tested."""
        return len(set(self.table.datasets)) > 1

    @property
    def where(self) -> str:
        """Collection and contamination in words."""
        return describe_cell(self.collection, self.contamination)

    def present(self, keys: Sequence[str], builder: SectionBuilder) -> list[str]:
        """Return the given measures that the study has, and note the missing ones.

        Measures that the configuration does not list are not missing.
        """
        measured = set(self.table.measure_keys)
        planned = keys if self.planned is None else self.planned
        absent = [key for key in keys if key not in measured and key in planned]
        if absent:
            builder.lacks(f"{', '.join(absent)} of {self.where}", "the study has not measured them")
        return [key for key in keys if key in measured]


class StudyResults:
    """The results of a study by collection and contamination, each table made once.

    The seed and the number of times that data sets are drawn again are of all intervals.
    """

    def __init__(self, study: StudyTables, seed: int, n_resamples: int) -> None:
        self.study = study
        self.options: Mapping[str, Any] = {"rng": seed, "n_resamples": n_resamples}
        self._tables: dict[tuple[str | None, float], ResultTable | InvalidInputError] = {}
        self._comparisons: dict[tuple[str, str], RankComparison] = {}
        self._recommendations: dict[tuple[str, str], Recommendation] = {}

    @cached_property
    def collections(self) -> Mapping[str, Sequence[float]]:
        """Contaminations of each collection, rising; collections in the order of the table."""
        tasks = self.study.tasks
        if not tasks.num_rows:
            return {}
        levels_of: dict[str, set[float]] = {}
        names, levels = (tasks[name].to_pylist() for name in ("collection", "contamination"))
        for name, level in zip(names, levels, strict=True):
            levels_of.setdefault(name, set()).add(level)
        return {name: sorted(levels) for name, levels in levels_of.items()}

    @cached_property
    def detectors(self) -> Sequence[str]:
        """All detectors that have rows, in the order of the table."""
        tasks = self.study.tasks
        return tasks["detector"].unique().to_pylist() if tasks.num_rows else []

    @property
    def _planned(self) -> Collection[str] | None:
        measures: Sequence[str] | None = self.study.manifest.get("config", {}).get("measures")
        return measures

    @property
    def without_rows(self) -> list[str]:
        """Collections that are planned, and have no row yet."""
        problems = self.study.manifest.get("problems", ())
        names = dict.fromkeys(str(problem["collection"]) for problem in problems)
        return [name for name in names if name not in self.collections]

    @cached_property
    def slugs(self) -> Mapping[str, str]:
        """The name of each collection in names of files, all different."""
        return dict(zip(self.collections, file_names(self.collections), strict=True))

    def rows_of(self, collection: str, contamination: float | None = None) -> ArrowTable:
        """Return the rows of a collection, at one contamination if that is given."""
        rows = rows_with(self.study.tasks, "collection", collection)
        return rows if contamination is None else rows_with(rows, "contamination", contamination)

    def cells(self, builder: SectionBuilder, *, lowest: bool = True) -> Iterator[Cell]:
        """Yield the results of each collection, at the lowest contamination or at all.

        The builder notes which of them cannot be compared, and why.
        """
        if not self.collections:
            builder.paragraphs.append("Nothing can be shown yet: no task of the study is done.")
            return
        for collection in self.without_rows:
            builder.lacks(collection, "no task of it is done")
        for collection, levels in self.collections.items():
            for level in levels[:1] if lowest else levels:
                table = self._table(collection, level)
                if isinstance(table, ResultTable):
                    # Tables that are made meanwhile are of this cell.
                    builder.group = collection
                    builder.without_values = self._without_values(collection, level)
                    key = f"{self.slugs[collection]}-{level:g}"
                    yield Cell(collection, level, key, table, self._planned)
                    builder.group, builder.without_values = "", ()
                else:
                    builder.lacks(describe_cell(collection, level), str(table))

    def _without_values(self, collection: str, contamination: float) -> list[str]:
        """Return the detectors, or else their configurations, of which no task succeeded."""
        rows = self.rows_of(collection, contamination)
        succeeded: dict[str, dict[str, bool]] = {}
        columns = (rows[name].to_pylist() for name in ("detector", "params", "reason"))
        for detector, params, reason in zip(*columns, strict=True):
            by_params = succeeded.setdefault(detector, {})
            by_params[params] = by_params.get(params, False) or not reason
        names = []
        for detector, by_params in succeeded.items():
            if not any(by_params.values()):
                names.append(detector)
            else:
                names += [f"{detector} {params}" for params, any_ in by_params.items() if not any_]
        return names

    def whole(self) -> Cell | None:
        """Return the results of all collections together; None where there is one alone."""
        if len(self.collections) < 2:
            return None
        lowest = min(levels[0] for levels in self.collections.values())
        table = self._table(None, lowest)
        if not isinstance(table, ResultTable):
            return None
        return Cell(_ALL, lowest, "", table, self._planned)

    def compared_measures(self, cell: Cell) -> list[str]:
        """Return the measures that are compared: the extensions' choice, and others."""
        keys = cell.table.measure_keys
        wanted = [key for each in extensions() for key in each.compared_measures()]
        of_papers = {*wanted, EM, MV}.union(*(each.measures() for each in extensions()))
        others = [key for key in keys if key not in of_papers]
        return [key for key in wanted if key in keys] + others or list(keys)

    def principal_measures(self, cell: Cell) -> list[str]:
        """Return the measures by which detectors are tested."""
        keys = self.compared_measures(cell)
        return [key for key in _PRINCIPAL if key in keys] or keys[:1]

    def targets(self, cell: Cell) -> list[str]:
        """Return the measures that count in applications, which others may select for."""
        keys = self.compared_measures(cell)
        rates = [key for key in keys if key.startswith("tpr@")]
        return [key for key in _TARGETS if key in keys] or rates[:1]

    def comparison(self, cell: Cell, measure: str) -> RankComparison:
        """Compare detectors by their ranks, once; of one data set alone it is undefined."""
        if not cell.has_several_datasets:
            raise UndefinedMeasureError("a single data set is no sample of data sets to test on")
        key = (cell.key, measure)
        if key not in self._comparisons:
            self._comparisons[key] = nemenyi(cell.table, measure=measure, **self.options)
        return self._comparisons[key]

    def recommendation(self, cell: Cell, target: str) -> Recommendation:
        """Return which measure to select models by where another counts, once."""
        key = (cell.key, target)
        if key not in self._recommendations:
            self._recommendations[key] = recommend(
                cell.table,
                target_measure=target,
                measures=self.compared_measures(cell),
                **self.options,
            )
        return self._recommendations[key]

    def _table(
        self, collection: str | None, contamination: float
    ) -> ResultTable | InvalidInputError:
        key = (collection, contamination)
        if key not in self._tables:
            try:
                self._tables[key] = self.study.results(
                    collection=collection, contamination=contamination
                )
            except InvalidInputError as error:
                self._tables[key] = error
        return self._tables[key]


def describe_cell(collection: str, contamination: float) -> str:
    """Return collection and contamination in words."""
    return f"{collection} at {100 * contamination:g} % contamination"


def file_name(text: str) -> str:
    """Return a string with no characters but those that every file system allows."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def file_names(texts: Iterable[str]) -> list[str]:
    """Return names for files; those that would be equal, also in lower case, get numbers."""
    names: list[str] = []
    used: set[str] = set()
    for text in texts:
        plain = file_name(text).strip("-.") or "data"
        name, number = plain, 2
        while name.lower() in used:
            name, number = f"{plain}-{number}", number + 1
        used.add(name.lower())
        names.append(name)
    return names


def reasons_by_measure(cells: Iterable[str], keys: Sequence[str]) -> dict[str, Counter[str]]:
    """Return the number of times that each measure is undefined, by reason; empty if defined.

    Cells come from the column ``undefined``, with key and reason of each measure, such as
    ``"auc: no anomaly; em: no volume"``; ``keys`` are all measures that may occur in them.
    """
    alternatives = "|".join(re.escape(key) for key in sorted(keys, key=len, reverse=True))
    # A reason may contain a semicolon, but no key after it.
    start = re.compile(rf"(?:^|; )({alternatives}): ")
    reasons: dict[str, Counter[str]] = {key: Counter() for key in keys}
    for cell, n in Counter(cells).items():
        parts = start.split(cell)
        for key, reason in zip(parts[1::2], parts[2::2], strict=True):
            reasons[key][reason] += n
    return reasons


def undefined_measures(
    rows: ArrowTable, keys: Sequence[str], all_keys: Sequence[str]
) -> Iterator[tuple[str, npt.NDArray[np.bool_], list[str]]]:
    """Yield each measure that is undefined somewhere, in which rows, and why."""
    reasons = reasons_by_measure(rows["undefined"].to_pylist(), all_keys)
    for key in keys:
        is_undefined = np.isnan(np.asarray(rows[key].to_numpy(), np.float64))
        if is_undefined.any():
            yield key, is_undefined, [reason for reason, _ in reasons[key].most_common()]
