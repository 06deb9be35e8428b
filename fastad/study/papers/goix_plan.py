"""``GoixPlan``: goix's protocol on the data sets of a study, the table ``[goix]``."""

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from fastad._core.parameters import check_choice, mistyped, refused, short_repr
from fastad._core.toml_files import check_keys
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.study.digests import digest_of
from fastad.study.extensions import BatchResult
from fastad.study.fitting import ignore_warnings, reason_of
from fastad.study.papers.goix import goix_cell, undefined_rows
from fastad.study.papers.goix_data import SETTINGS, GoixProtocol, Setting
from fastad.study.papers.goix_results import GoixBenchmark
from fastad.study.problems import Problem
from fastad.study.results import NOT_APPLICABLE

# About how long a batch takes: seconds a subspace, and a subspace and uniform point.
_SUBSPACE_COST = (0.3, 1e-5)


@dataclass(frozen=True, slots=True)
class GoixPlan:
    """Goix's protocol on the data sets of a study.

    Attributes
    ----------
    settings : sequence of {"novelty", "unsupervised"}
        Settings to run.
    protocol : GoixProtocol
        Numbers of the protocol.
    """

    settings: Sequence[Setting] = SETTINGS
    protocol: GoixProtocol = field(default_factory=GoixProtocol)

    def __post_init__(self) -> None:
        if not self.settings:
            raise refused("goix.settings", "contain at least one setting", "none")
        for setting in self.settings:
            check_choice(setting, SETTINGS, "goix.settings")
        object.__setattr__(self, "settings", tuple(dict.fromkeys(self.settings)))

    def batches(self, problems: Sequence[Problem], seed: int) -> Iterator["GoixBatch"]:
        """Return a batch for each data set, with all its anomalies, and setting."""
        datasets: dict[str, Problem] = {}
        for problem in problems:
            datasets.setdefault(f"{problem.collection}/{problem.dataset}", problem)
        for problem in datasets.values():
            for setting in self.settings:
                whole = replace(problem, anomaly_class=None)
                yield GoixBatch(whole, setting, self.protocol, seed)

    def to_dict(self) -> dict[str, Any]:
        """Return settings and protocol as values that JSON can represent."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class GoixBatch:
    """A data set, with all its anomalies, in one setting of goix's protocol."""

    problem: Problem
    setting: Setting
    protocol: GoixProtocol
    seed: int

    @property
    def tasks(self) -> tuple[str]:
        """A digest of all that its rows depend on."""
        problem = self.problem
        data = [self._dataset, problem.digest, problem.difficulties]
        protocol = dataclasses.asdict(self.protocol)
        return (digest_of("goix", data, self.setting, protocol, self.seed),)

    @property
    def table(self) -> str:
        """The table of the study that its rows belong to."""
        return "goix"

    @property
    def title(self) -> str:
        """Description of the batch for people."""
        return f"goix's protocol on {self._dataset}, {self.setting}"

    def warm_up(self) -> None:
        """Load its rows, and run the protocol once in this process on a few generated ones."""
        self.problem.load()
        _run_on_few()

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
        # Without ROC and PR a detector has EM and MV nevertheless: it did not fail.
        rows = tuple(
            replace(row, reason=NOT_APPLICABLE + row.reason) if row.reason else row for row in rows
        )
        return BatchResult(GoixBenchmark(rows).to_columns())

    def only(self, tasks: Collection[str]) -> "GoixBatch":
        """Return itself."""
        return self

    def failed(self, reason: str) -> BatchResult:
        """Return a row for each detector, with the reason."""
        rows = undefined_rows(self._dataset, self.setting, self.protocol, reason)
        return BatchResult(GoixBenchmark(rows).to_columns())

    def estimated_seconds(self) -> float:
        """Return how long it takes on one core, about."""
        seconds = _SUBSPACE_COST[0] + _SUBSPACE_COST[1] * self.protocol.n_uniform
        return max(self._n_subspaces, 1) * seconds

    def time_limit(self, timeout: float) -> float:
        """Return how long it may take: so long for each fit of each of its detectors."""
        n_detectors = len(self.failed("").rows["detector"])
        return timeout * n_detectors * (1 + self._n_subspaces)

    @property
    def _n_subspaces(self) -> int:
        """At most: features that are dropped may leave so few that there are none."""
        protocol = self.protocol
        return 0 if self.problem.n_features <= protocol.max_direct else protocol.n_subspaces

    @property
    def _dataset(self) -> str:
        return f"{self.problem.collection}/{self.problem.dataset}"


@cache
def _run_on_few() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    few = GoixProtocol(max_direct=2, n_subspaces=1, n_features=2, n_uniform=100, n_resamples=10)
    with ignore_warnings(), suppress(Exception):  # the batch has the reason
        goix_cell(X, np.arange(100) < 10, dataset="few", setting="novelty", protocol=few, rng=0)


def read_goix_plan(values: Mapping[str, Any]) -> GoixPlan:
    """Return the plan that the table ``[goix]`` of a configuration describes."""
    options = dict(values)
    settings = options.pop("settings", list(SETTINGS))
    if not isinstance(settings, list):
        raise mistyped("goix.settings", "be an array", short_repr(settings))
    check_keys(options, [option.name for option in dataclasses.fields(GoixProtocol)], "goix.")
    try:
        protocol = GoixProtocol(**options)
    except (InvalidInputError, InvalidTypeError) as error:  # which names the key alone
        raise type(error)(f"goix.{error}", argument=f"goix.{error.item}") from None
    return GoixPlan(tuple(settings), protocol)
