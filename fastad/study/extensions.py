"""Additions of packages above to a study: presets, batches, and sections of the report.

The study itself knows no paper. `fastad.study.papers` is an extension, known by its name and
imported where a configuration or a report asks for it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol, TypeAlias

from fastad.study.problems import Problem

Columns: TypeAlias = dict[str, list[Any]]

# Modules with an object ``EXTENSION``. Names, not imports: lower packages do not depend on higher
# ones, and nothing is loaded before it is used. The test of the layers has the same list.
_MODULES = ("fastad.study.papers.extension",)


@dataclass(slots=True)
class BatchResult:
    """Columns of the rows of a batch, and how many of its tasks failed."""

    rows: Columns = field(default_factory=dict)
    n_failed: int = 0

    @classmethod
    def joined(cls, parts: "Sequence[BatchResult]") -> "BatchResult":
        """Return the rows of the parts of a batch, in their order."""
        columns = {
            name: [value for part in parts for value in part.rows[name]] for name in parts[0].rows
        }
        return cls(columns, sum(part.n_failed for part in parts))


class Batch(Protocol):
    """Work that is run in one piece and saved at once; it is sent to processes by pickle.

    Attributes
    ----------
    table : str
        Table of the study that its rows belong to.
    tasks : tuple of str
        For each of its tasks a digest of all that the rows depend on: a task with an equal digest
        was done. Each has as many rows as the others, which come in this order.
    """

    @property
    def table(self) -> str:
        """Name of its table."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Digests of its tasks."""

    @property
    def title(self) -> str:
        """Description of the batch for people."""

    def only(self, tasks: Collection[str]) -> "Batch":
        """Return the batch of some of its tasks, whose rows are the same."""

    def run(self) -> BatchResult:
        """Return its rows, the same whenever and wherever it runs, but for times."""

    def failed(self, reason: str) -> BatchResult:
        """Return its rows if it could not be run."""

    def estimated_seconds(self) -> float:
        """Return how long it takes on one core, about."""

    def time_limit(self, timeout: float) -> float:
        """Return how long it may take where a task may take so long."""


class ExtraPlan(Protocol):
    """Additional work of a study; the table of its configuration that has its name."""

    def batches(self, problems: Sequence[Problem], seed: int) -> Iterable[Batch]:
        """Return its batches in the order of their results."""

    def to_dict(self) -> dict[str, Any]:
        """Return all settings that its results depend on, as values that JSON can represent."""


class Extension:
    """Additions to a study; each method may load what it needs."""

    def profiles(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the values of each profile by its name, beside the study's own."""
        return {}

    def detectors(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Return by name of a preset its tables ``[[detectors]]``; the first is the default."""
        return {}

    def measures(self) -> Sequence[str]:
        """Return the keys of measures that are the default."""
        return ()

    def compared_measures(self) -> Sequence[str]:
        """Return the keys of the measures that the report compares, of those that there are."""
        return ()

    def plans(self) -> Mapping[str, Callable[[Mapping[str, Any]], ExtraPlan]]:
        """Return the reader of each additional table of a configuration, by its name."""
        return {}

    def sections(self) -> Sequence[Callable[[Any], Any]]:
        """Return functions from `StudyResults` to a `Section`, in the order of the report."""
        return ()


def extensions() -> tuple[Extension, ...]:
    """Return all extensions, imported."""
    return tuple(import_module(module).EXTENSION for module in _MODULES)
