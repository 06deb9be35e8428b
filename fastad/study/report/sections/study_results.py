"""The tables of results that the sections of a report are made of."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastad.benchmarking.result_table import ResultTable
from fastad.errors import InvalidInputError
from fastad.study.report.sections.draft import Draft
from fastad.study.tables import ArrowTable, StudyTables

# The measures of the papers' tables, in their order.
PAPER_MEASURES = tuple(
    ["auc", "auc_w"]
    + [
        f"{name}@{rate}"
        for rate in ("0.05", "0.01")
        for name in ("auc", "precision", "tpr", "f1", "cvol")
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """The results of a collection at one contamination.

    Attributes
    ----------
    collection : str
        Its name.
    contamination : float
        Share of anomalies among the training points.
    key : str
        What tells it from others in names of files.
    table : ResultTable
        Measures of all tasks that went well.
    """

    collection: str
    contamination: float
    key: str
    table: ResultTable

    @property
    def where(self) -> str:
        """Collection and contamination in words."""
        return in_words(self.collection, self.contamination)

    def present(self, wanted: Sequence[str], draft: Draft) -> list[str]:
        """Return the measures that there are, and note in a draft those that there are not."""
        known = set(self.table.labels)
        absent = [label for label in wanted if label not in known]
        if absent:
            draft.lacks(f"{', '.join(absent)} of {self.where}", "the study has not measured them")
        return [label for label in wanted if label in known]


class StudyResults:
    """The results of a study by collection and contamination, each table made once.

    Parameters
    ----------
    study : StudyTables
        What has been found.
    seed : int
        Of all intervals.
    n_resamples : int
        Number of times that data sets are drawn again.
    """

    def __init__(self, study: StudyTables, seed: int, n_resamples: int) -> None:
        self.study = study
        self.options: Mapping[str, Any] = {"rng": seed, "n_resamples": n_resamples}
        self._tables: dict[tuple[str, float], ResultTable | InvalidInputError] = {}

    @cached_property
    def collections(self) -> Mapping[str, Sequence[float]]:
        """Contaminations of each collection, rising; collections as they come in the table."""
        tasks = self.study.tasks
        if not tasks.num_rows:
            return {}
        found: dict[str, set[float]] = {}
        names, levels = (tasks[name].to_pylist() for name in ("collection", "contamination"))
        for name, level in zip(names, levels, strict=True):
            found.setdefault(name, set()).add(level)
        return {name: sorted(own) for name, own in found.items()}

    @property
    def without_rows(self) -> list[str]:
        """Collections that are planned, and have no row yet."""
        problems = self.study.manifest.get("problems", ())
        names = dict.fromkeys(str(one["collection"]) for one in problems)
        return [name for name in names if name not in self.collections]

    @cached_property
    def slugs(self) -> Mapping[str, str]:
        """The name of each collection in names of files; no two are alike."""
        found: dict[str, str] = {}
        for name in self.collections:
            slug = plain_name(name)
            while slug in found.values():
                slug += "_"
            found[name] = slug
        return found

    def rows_of(self, collection: str, contamination: float | None = None) -> ArrowTable:
        """Return the rows of a collection, at one contamination if that is given."""
        tasks = self.study.tasks
        kept = np.asarray(tasks["collection"]) == collection
        if contamination is not None:
            kept &= np.asarray(tasks["contamination"]) == contamination
        return tasks.filter(kept)

    def cells(self, draft: Draft, *, lowest: bool = True) -> Iterator[Cell]:
        """Yield the results of each collection, at the lowest contamination or at all.

        Parameters
        ----------
        draft : Draft
            Where is noted which of them cannot be compared, and why.
        lowest : bool, default True
            Whether one contamination alone is wanted.
        """
        if not self.collections:
            draft.words.append("Nothing can be shown yet: no task of the study is done.")
            return
        for collection in self.without_rows:
            draft.lacks(collection, "no task of it is done")
        for collection, levels in self.collections.items():
            for level in levels[:1] if lowest else levels:
                table = self._table(collection, level)
                if isinstance(table, ResultTable):
                    yield Cell(collection, level, f"{self.slugs[collection]}-{level:g}", table)
                else:
                    draft.lacks(in_words(collection, level), str(table))

    def _table(self, collection: str, contamination: float) -> ResultTable | InvalidInputError:
        key = (collection, contamination)
        if key not in self._tables:
            try:
                self._tables[key] = self.study.results(
                    collection=collection, contamination=contamination
                )
            except InvalidInputError as error:
                self._tables[key] = error
        return self._tables[key]


def in_words(collection: str, contamination: float) -> str:
    """Return collection and contamination in words."""
    return f"{collection} at {100 * contamination:g} % contamination"


def plain_name(text: str) -> str:
    """Return a text with no characters but those that every file system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)
