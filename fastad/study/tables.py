"""``StudyTables``: what a study has found, as tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

# pyarrow ships no types.
ArrowTable: TypeAlias = Any


@dataclass(frozen=True, slots=True, eq=False)
class StudyTables:
    """What a study has found.

    Attributes
    ----------
    tasks : pyarrow.Table
        A row for each task that is done, failed ones included.
    curves : pyarrow.Table
        Curves of the first problem of each data set; without rows where none were kept.
    goix : pyarrow.Table
        Rows of goix's protocol, as `GoixRow.to_dict` makes them; without rows where it was not
        asked for.
    manifest : mapping
        The study as it was planned: what ``study.json`` holds.
    n_batches, n_done : int
        Batches that are planned, and those that are done.
    """

    tasks: ArrowTable
    curves: ArrowTable
    goix: ArrowTable
    manifest: Mapping[str, Any]
    n_batches: int
    n_done: int
