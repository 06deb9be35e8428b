"""``GoixPlan``: goix's protocol on the data sets of a study, the table ``[goix]``."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastad._core.parameters import check_choice, short_repr
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.study.config import check_keys
from fastad.study.extensions import BatchResult
from fastad.study.fitting import ignore_warnings, reason_of
from fastad.study.papers.goix import goix_cell, undefined_rows
from fastad.study.papers.goix_data import SETTINGS, GoixProtocol, Setting
from fastad.study.papers.goix_results import GoixBenchmark
from fastad.study.problems import Problem

# About how long a batch takes: seconds a subspace, and a subspace and uniform point.
_SUBSPACE_COST = (0.3, 1e-5)


@dataclass(frozen=True, slots=True)
class GoixPlan:
    """Goix's protocol on the data sets of a study.

    Attributes
    ----------
    settings : sequence of {"novelty", "unsupervised"}
        In which settings.
    protocol : GoixProtocol
        Its numbers.
    """

    settings: Sequence[Setting] = SETTINGS
    protocol: GoixProtocol = field(default_factory=GoixProtocol)

    def __post_init__(self) -> None:
        if not self.settings:
            raise InvalidInputError(
                "goix.settings must contain at least one setting; found none",
                argument="goix.settings",
            )
        for setting in self.settings:
            check_choice(setting, SETTINGS, "goix.settings")
        object.__setattr__(self, "settings", tuple(dict.fromkeys(self.settings)))

    def batches(self, problems: Sequence[Problem], seed: int) -> Iterator["GoixBatch"]:
        """Return a batch for each data set, with all its anomalies, and setting."""
        datasets: dict[str, Problem] = {}
        for problem in problems:
            datasets.setdefault(f"{problem.collection}/{problem.dataset}", problem)
        for name, problem in datasets.items():
            for setting in self.settings:
                whole = replace(problem, anomaly_class=None)
                yield GoixBatch(f"goix-{name}-{setting}", whole, setting, self.protocol, seed)

    def to_dict(self) -> dict[str, Any]:
        """Return settings and protocol as values that JSON can represent."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class GoixBatch:
    """A data set in one setting of goix's protocol.

    Attributes
    ----------
    name : str
        Unique in the study, of characters that names of files may have.
    problem : Problem
        The data set with all its anomalies.
    setting : {"novelty", "unsupervised"}
        How detectors are trained.
    protocol : GoixProtocol
        Its numbers.
    seed : int
        That of the study.
    """

    name: str
    problem: Problem
    setting: Setting
    protocol: GoixProtocol
    seed: int

    @property
    def table(self) -> str:
        """The table of the study that its rows belong to."""
        return "goix"

    @property
    def title(self) -> str:
        """What it is, for people."""
        return f"goix's protocol on {self._dataset}, {self.setting}"

    def run(self) -> BatchResult:
        """Return a row for each detector, with the reason where the protocol is not possible."""
        X, y = self.problem.load()
        try:
            with ignore_warnings():
                rows = goix_cell(
                    *(X, y),
                    dataset=self._dataset,
                    setting=self.setting,
                    protocol=self.protocol,
                    rng=self.seed,
                )
        except Exception as error:  # whatever it is, the other batches go on
            return self.failed(reason_of(error))
        return BatchResult(GoixBenchmark(rows).to_columns())

    def parts(self) -> "Sequence[GoixBatch]":
        """Return itself: its detectors have their data in common."""
        return [self]

    def failed(self, reason: str) -> BatchResult:
        """Return a row for each detector, with the reason."""
        rows = undefined_rows(self._dataset, self.setting, self.protocol, reason)
        return BatchResult(GoixBenchmark(rows).to_columns())

    def estimated_seconds(self) -> float:
        """Return how long it takes on one core, about."""
        protocol = self.protocol
        n_subspaces = 1 if self.problem.n_features <= protocol.max_direct else protocol.n_subspaces
        return n_subspaces * (_SUBSPACE_COST[0] + _SUBSPACE_COST[1] * protocol.n_uniform)

    def time_limit(self, timeout: float) -> float:
        """Return no limit: its detectors are known."""
        return math.inf

    @property
    def _dataset(self) -> str:
        return f"{self.problem.collection}/{self.problem.dataset}"


def read_goix_plan(values: Mapping[str, Any]) -> GoixPlan:
    """Return the plan that the table ``[goix]`` of a configuration describes."""
    options = dict(values)
    settings = options.pop("settings", list(SETTINGS))
    if not isinstance(settings, list):
        raise InvalidTypeError(
            f"goix.settings must be an array; found {short_repr(settings)}",
            argument="goix.settings",
        )
    check_keys(options, [option.name for option in dataclasses.fields(GoixProtocol)], "goix.")
    try:
        protocol = GoixProtocol(**options)
    except (InvalidInputError, TypeError) as error:  # which names the key alone
        raise type(error)(f"goix.{error}") from None
    return GoixPlan(tuple(settings), protocol)
