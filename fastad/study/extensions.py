"""Additions of packages above to a study: presets, batches, and sections of the report.

The study itself knows no paper. An extension is a module, such as `fastad.study.papers.extension`,
known by its name and imported where a configuration or a report asks for it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeAlias

from fastad.study.problems import Problem
from fastad.study.results import is_failure

Columns: TypeAlias = dict[str, list[Any]]

# Names, not imports: lower packages do not depend on higher ones, and nothing is loaded before it
# is used. The test of the layers has the same list.
_MODULES = ("fastad.study.papers.extension",)


@dataclass(slots=True)
class BatchResult:
    """Columns of the rows of a batch; a row failed if its column ``reason`` says so."""

    rows: Columns = field(default_factory=dict)

    @property
    def n_failed(self) -> int:
        """Number of rows that failed."""
        return sum(map(is_failure, self.rows.get("reason", ())))

    @classmethod
    def joined(cls, parts: "Sequence[BatchResult]") -> "BatchResult":
        """Return the rows of the parts of a batch, in their order."""
        columns = {
            name: [value for part in parts for value in part.rows[name]] for name in parts[0].rows
        }
        return cls(columns)


class Batch(Protocol):
    """Work that is run in one piece and saved at once; it is sent to processes by pickle."""

    @property
    def table(self) -> str:
        """Table of the study that its rows belong to."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """For each of its tasks a digest of all that the rows depend on.

        A task with an equal digest was done. Each has as many rows as the others, which come in
        this order.
        """

    @property
    def title(self) -> str:
        """Description of the batch for people."""

    def only(self, tasks: Collection[str]) -> "Batch":
        """Return the batch of some of its tasks, whose rows are the same."""

    def warm_up(self) -> None:
        """Load data, libraries and kernels, which are no part of its tasks."""

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


def extensions() -> tuple[ModuleType, ...]:
    """Return the modules of all extensions, imported."""
    return tuple(map(import_module, _MODULES))
